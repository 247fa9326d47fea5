/* SPDX-License-Identifier: Apache-2.0 */
/* explain.c - print `explain` as text: time by operator type, the largest operators on the roofline, the bottleneck. */
#include <math.h>
#include "base/text.h"
#include "report/text/predict_parts.h"
#include "report/render.h"
#include "report/table.h"

#define TOP_OPS 12

static const char *milliseconds(cm__ctx *ctx, double s)
{
    double ms = 1e3 * s;
    if (!isfinite(ms)) return "-";
    return cm__format(ctx, "%.*f", fabs(ms) < 9.995 ? 3 : fabs(ms) < 99.95 ? 2 : 1, ms);
}

static const char *device_id(const cm__explain_report *r, int side)
{
    return cm_device_get_info(r->sides[side]->device)->id;
}

/* ---- operator types --------------------------------------------------------------------------------------------- */

static void print_kinds(cm__ctx *ctx, const cm__explain_report *r, FILE *out)
{
    bool             two = r->sides[1] != NULL;
    const cm__column columns[] = {{"operator", NULL, true}, {"phase", NULL, false}, {"time", "ms", false},
                                  {"of ceiling", "%", false}, {"versus", "ms", false}, {"of ceiling", "%", false},
                                  {"difference", "ms", false}};
    cm__table        table = cm__table_new(ctx, out, columns, two ? 7 : 4);
    for (int32_t i = 0; i < r->n_kinds && i < TOP_OPS; i++) {
        const cm__explain_kind *k = &r->kinds[i];
        const char *cells[] = {k->type, cm_phase_name(k->phase), milliseconds(ctx, k->time_s[0]),
                               cm__cell_percent(ctx, k->best_s[0], k->time_s[0]), milliseconds(ctx, k->time_s[1]),
                               cm__cell_percent(ctx, k->best_s[1], k->time_s[1]),
                               cm__format(ctx, "%+.*f", 3, 1e3 * (k->time_s[1] - k->time_s[0]))};
        cm__table_row(&table, cells);
    }
    cm__table_print(&table);
    if (r->n_kinds > TOP_OPS)
        fprintf(out, "... and %d more; --json lists every operator\n", r->n_kinds - TOP_OPS);
}

/* ---- operators on the roofline ---------------------------------------------------------------------------------- */

static void print_ops(cm__ctx *ctx, const cm__explain_report *r, FILE *out)
{
    bool             two = r->sides[1] != NULL;
    const cm__column columns[] = {{"operator", NULL, true}, {"phase", NULL, false}, {"time", "ms", false},
                                  {"intensity", "FLOP/B", false}, {"bound by", NULL, false}, {"of ceiling", "%", false},
                                  {"estimated by", NULL, false}, {"difference", "ms", false}};
    cm__table        table = cm__table_new(ctx, out, columns, two ? 8 : 7);
    for (int32_t i = 0; i < r->n_ops && i < TOP_OPS; i++) {
        const cm__explain_op   *op = &r->ops[i];
        const cm__explain_side *s = &op->on[0];
        bool                    here = s->time_s > 0;
        const char *cells[] = {cm__printable(ctx, op->name), cm_phase_name(op->phase), milliseconds(ctx, s->time_s),
                               cm__cell_ratio(ctx, s->intensity), !here ? "-" : s->memory_bound ? "memory" : "compute",
                               here ? cm__cell_percent(ctx, s->of_ceiling, 1) : "-",
                               here ? cm_how_name(s->how) : "-", cm__format(ctx, "%+.3f", 1e3 * op->weight)};
        cm__table_row(&table, cells);
    }
    cm__table_print(&table);
}

/* ---- the report ------------------------------------------------------------------------------------------------- */

static void print_step(cm__ctx *ctx, const cm__explain_report *r, int side, FILE *out)
{
    const cm__predict_report *p = r->sides[side];
    const cm_prediction_info *i = cm_prediction_get_info(p->prediction);
    double                    seq = (double)cm_graph_seq(p->graph->step);
    char                      peak[32], bw[32], pace[32], buf[32];
    fprintf(out, "%-22s  %s ms for %lld samples, %ssamples/s%s; ceilings %sFLOP/s, %sB/s\n", device_id(r, side),
            milliseconds(ctx, i->step_time_s), (long long)i->batch, cm__si(pace, sizeof pace, i->throughput_samples_s),
            seq > 0 ? cm__format(ctx, ", %s tokens/s", cm__cell(buf, sizeof buf, seq * i->throughput_samples_s)) : "",
            cm__si(peak, sizeof peak, r->roofs[side].peak_flop_s), cm__si(bw, sizeof bw, r->roofs[side].bw_bytes_s));
}

/* One roof per memory level. */
static void print_roofs(cm__ctx *ctx, const cm__explain_report *r, int side, FILE *out)
{
    const cm__roof *roof = &r->roofs[side];
    for (int32_t i = 0; i < roof->n_levels; i++) {
        const cm__roof_level *m = &roof->levels[i];
        char                  room[32], bw[32];
        fprintf(out, "  roof of %-20s %sB, %sB/s: compute-bound from %s FLOP/B\n", cm__printable(ctx, m->name),
                cm__binary(room, sizeof room, m->capacity_bytes), cm__si(bw, sizeof bw, m->bw_bytes_s),
                cm__cell_ratio(ctx, m->ridge_flop_byte));
    }
}

void cm__explain_text(cm__ctx *ctx, const cm__explain_report *r, FILE *out)
{
    const cm__predict_report *p = r->sides[0];
    fprintf(out, "# centimani %s, where the time of %s goes on %s", CM_VERSION,
            cm__printable(ctx, p->asked.graph.model), device_id(r, 0));
    if (r->sides[1]) fprintf(out, ", versus %s", device_id(r, 1));
    fprintf(out, "\n# times for %.0f samples%s; of ceiling: roofline time as a percentage of the time\n", r->samples,
            cm__seq_text(ctx, p->graph->step));
    int32_t parts = cm_prediction_get_info(p->prediction)->plan.accumulate;
    if (parts > 1) fprintf(out, "# times of operators: for one of the %d micro-batches of a step\n", parts);
    fputc('\n', out);
    for (int side = 0; side < 2 && r->sides[side]; side++) {
        print_step(ctx, r, side, out);
        print_roofs(ctx, r, side, out);
    }
    fputc('\n', out);
    print_kinds(ctx, r, out);
    fputc('\n', out);
    print_ops(ctx, r, out);
    fputc('\n', out);
    cm__predict_help(ctx, p, out);
    if (cm_prediction_sensitivities(p->prediction)) fputc('\n', out);
    cm__print_note(ctx, out, "", "limited by", 11, r->bottleneck);
}
