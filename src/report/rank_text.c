/* SPDX-License-Identifier: Apache-2.0 */
/* rank_text.c - a ranking as text: the order, how sure it is, who has no place and why, and the answer in words. */
#include <math.h>
#include <string.h>
#include "base/text.h"
#include "report/report.h"
#include "report/table.h"

#define NAME_MOST 36 /* characters of a model that fit a line with what is said about it */

#define COLUMNS_MOST 12

static const char *short_number(cm__ctx *ctx, double value)
{
    char buf[32];
    if (isnan(value)) return "-";
    return cm__text_copy(ctx, cm__cell(buf, sizeof buf, value));
}

static double pace(const cm_rank_entry *e, double step_s) { return (double)e->prediction.batch / step_s; }

static const char *device_text(cm__ctx *ctx, const cm_rank_entry *e)
{
    const char *id = cm_device_get_info(e->device)->id;
    return e->prediction.devices > 1 ? cm__format(ctx, "%s x%d", id, e->prediction.devices) : id;
}

/* ---- the table -------------------------------------------------------------------------------------------------- */

typedef struct view {
    const cm__rank_report *r;
    bool                   job, relative, porting;
} view;

typedef struct part {
    cm__column column;
    bool (*shown)(const view *v);
    const char *(*cell)(cm__ctx *ctx, const view *v, const cm_rank_entry *e, int32_t place);
} part;

static bool always(const view *v) { return v != NULL; }
static bool with_job(const view *v) { return v->job && !v->porting; }
static bool with_cost(const view *v) { return v->job; }
static bool without_job(const view *v) { return !v->job && !v->porting; }
static bool with_baseline(const view *v) { return v->relative; }
static bool with_porting(const view *v) { return v->porting; }

static const char *place_cell(cm__ctx *ctx, const view *v, const cm_rank_entry *e, int32_t place)
{
    (void)v;
    return cm__format(ctx, "%d%s%s", place, e->tied_with_next ? "~" : " ", e->pareto ? "*" : " ");
}

static const char *device_cell(cm__ctx *ctx, const view *v, const cm_rank_entry *e, int32_t place)
{
    (void)v, (void)place;
    return device_text(ctx, e);
}

static const char *batch_cell(cm__ctx *ctx, const view *v, const cm_rank_entry *e, int32_t place)
{
    (void)v, (void)place;
    return cm__format(ctx, "%lld", (long long)e->prediction.batch);
}

static const char *within_cell(cm__ctx *ctx, const view *v, const cm_rank_entry *e, int32_t place)
{
    (void)v, (void)place;
    const double *s = e->prediction.interval_s;
    return cm__format(ctx, "%s - %s", short_number(ctx, pace(e, s[1])), short_number(ctx, pace(e, s[0])));
}

#define NUMBER_CELL(name, value)                                                                                       \
    static const char *name##_cell(cm__ctx *ctx, const view *v, const cm_rank_entry *e, int32_t place)                 \
    {                                                                                                                  \
        (void)v, (void)place;                                                                                          \
        return short_number(ctx, value);                                                                               \
    }
NUMBER_CELL(samples, e->prediction.throughput_samples_s)
NUMBER_CELL(relative, e->relative)
NUMBER_CELL(price, e->price_hour)
NUMBER_CELL(per_usd, e->samples_per_usd)
NUMBER_CELL(energy, e->energy_j_per_sample)
NUMBER_CELL(hours, e->hours)
NUMBER_CELL(usd, e->usd + e->port_usd)
NUMBER_CELL(kwh, e->kwh)
NUMBER_CELL(even_price, e->break_even_price_hour)

static const char *even_cell(cm__ctx *ctx, const view *v, const cm_rank_entry *e, int32_t place)
{
    (void)v, (void)place;
    return isinf(e->break_even_hours) ? "never" : short_number(ctx, e->break_even_hours);
}

static const part parts[] = {
    {{"#", "1", false}, always, place_cell},
    {{"device", NULL, false}, always, device_cell},
    {{"batch", "1", false}, always, batch_cell},
    {{"samples/s", "1/s", false}, always, samples_cell},
    {{"nine of ten", "1/s", false}, always, within_cell},
    {{"x base", "1", false}, with_baseline, relative_cell},
    {{"price", "USD/h", false}, always, price_cell},
    {{"samples", "1/USD", false}, without_job, per_usd_cell},
    {{"energy", "J/sample", false}, without_job, energy_cell},
    {{"time", "h", false}, with_job, hours_cell},
    {{"cost", "USD", false}, with_cost, usd_cell},
    {{"energy", "kWh", false}, with_job, kwh_cell},
    {{"pays in", "h of base", false}, with_porting, even_cell},
    {{"even", "USD/h", false}, with_porting, even_price_cell},
};
#define PARTS ((int)(sizeof parts / sizeof *parts))

static void print_order(cm__ctx *ctx, const view *v, FILE *out)
{
    cm__column columns[COLUMNS_MOST];
    int        shown[COLUMNS_MOST], n = 0;
    for (int i = 0; i < PARTS && n < COLUMNS_MOST; i++) {
        if (!parts[i].shown(v)) continue;
        columns[n] = parts[i].column;
        shown[n++] = i;
    }
    cm__table table = cm__table_new(ctx, out, columns, n, false);
    for (int32_t k = 0; k < cm_ranking_placed(v->r->ranking); k++) {
        const cm_rank_entry *e = cm_ranking_entry(v->r->ranking, k);
        const char          *cells[COLUMNS_MOST];
        for (int i = 0; i < n; i++) cells[i] = parts[shown[i]].cell(ctx, v, e, k + 1);
        cm__table_row(&table, cells);
    }
    cm__table_print(&table);
}

/* ---- without a place -------------------------------------------------------------------------------------------- */

static void print_unplaced(cm__ctx *ctx, const cm__rank_report *r, FILE *out)
{
    static const char *const heads[] = {[CM_RANK_NO_VALUE] = "not placed", [CM_RANK_OVER] = "excluded",
                                        [CM_RANK_NO_FIT] = "does not fit", [CM_RANK_CANNOT] = "cannot run it"};
    cm_rank_state            last = CM_RANK_PLACED;
    for (int32_t k = cm_ranking_placed(r->ranking); k < cm_ranking_entries(r->ranking); k++) {
        const cm_rank_entry *e = cm_ranking_entry(r->ranking, k);
        if (e->state != last) fprintf(out, "\n%s\n", heads[e->state]);
        last = e->state;
        cm__print_note(ctx, out, "  ", cm_device_get_info(e->device)->id, 23, e->reason ? e->reason : "-");
    }
}

/* ---- in words --------------------------------------------------------------------------------------------------- */

static const char *amount(cm__ctx *ctx, cm_goal goal, const cm_rank_entry *e)
{
    static const char *const units[CM_GOALS] = {"samples/s per device", "samples/USD", "J/sample", "h", "USD"};
    return cm__format(ctx, "%s %s", short_number(ctx, e->value), units[goal]);
}

static void print_answer(cm__ctx *ctx, const cm__rank_report *r, FILE *out)
{
    const cm_ranking_info *i = cm_ranking_get_info(r->ranking);
    const cm_rank_entry   *best = cm_ranking_entry(r->ranking, 0);
    int32_t                placed = cm_ranking_placed(r->ranking);
    if (!placed) {
        fputs("\nno device has a place: the lists above say why\n", out);
        return;
    }
    const char *text = cm__format(ctx, "%s, %s", cm_device_get_info(best->device)->id, amount(ctx, i->goal, best));
    fputc('\n', out);
    cm__print_note(ctx, out, "", "best", 11, text);
    const char *ties = "", *pareto = "";
    for (int32_t k = 1; k < placed && cm_ranking_entry(r->ranking, k)->interval[0] <= best->interval[1] &&
                        best->interval[0] <= cm_ranking_entry(r->ranking, k)->interval[1]; k++)
        ties = cm__format(ctx, "%s%s%s", ties, *ties ? ", " : "",
                          cm_device_get_info(cm_ranking_entry(r->ranking, k)->device)->id);
    if (*ties) cm__print_note(ctx, out, "", "too close", 11, cm__format(ctx, "to call between it and %s", ties));
    for (int32_t k = 0; k < placed; k++)
        if (cm_ranking_entry(r->ranking, k)->pareto)
            pareto = cm__format(ctx, "%s%s%s", pareto, *pareto ? ", " : "",
                                cm_device_get_info(cm_ranking_entry(r->ranking, k)->device)->id);
    if (*pareto)
        cm__print_note(ctx, out, "", "trade-offs", 11,
                       cm__format(ctx, "nothing is both faster and cheaper than %s", pareto));
}

static void print_head(cm__ctx *ctx, const cm__rank_report *r, FILE *out)
{
    const cm_ranking_info *i = cm_ranking_get_info(r->ranking);
    const cm_rank_options *a = r->asked;
    const char *model = cm__printable(ctx, r->model), *between = strlen(model) > NAME_MOST ? "\n# " : " ";
    fprintf(out, "# centimani %s, which accelerator to %s%s%s%son, by %s\n", CM_VERSION,
            a->train.inference ? "run" : "train", between, model, between, cm_goal_name(i->goal));
    const char *batch = a->batch ? cm__format(ctx, "batch %lld", (long long)a->batch) : "each at its best batch size";
    fprintf(out, "# %s, %s\n", batch,
            a->train.precision ? cm_precision_name(a->train.precision) : "in its usual precision");
    if (i->job)
        fprintf(out, "# the job: %s%s\n", i->job,
                i->job_assumed ? ", taken since none was told (--samples, --tokens)" : "");
    if (a->baseline) fprintf(out, "# x base: in favour, beside %s\n", cm__printable(ctx, a->baseline));
    if (a->port_hours > 0)
        fprintf(out, "# porting from it: %g h at %g USD/h\n", a->port_hours, a->port_usd_hour);
    if (a->provider) fprintf(out, "# prices of %s\n", cm__printable(ctx, a->provider));
    if (i->left_out) fprintf(out, "# %d devices left out, as asked\n", i->left_out);
    fputc('\n', out);
}

void cm__rank_text(cm__ctx *ctx, const cm__rank_report *r, FILE *out)
{
    const cm_ranking_info *i = cm_ranking_get_info(r->ranking);
    view                   v = {.r = r, .job = i->job != NULL, .relative = r->asked->baseline != NULL,
                                .porting = r->asked->port_hours > 0};
    print_head(ctx, r, out);
    if (cm_ranking_placed(r->ranking)) {
        print_order(ctx, &v, out);
        fputs("~ the interval overlaps the next one's: too close to call   * nothing is both faster and cheaper\n",
              out);
    }
    if (!r->brief) print_unplaced(ctx, r, out);
    print_answer(ctx, r, out);
}
