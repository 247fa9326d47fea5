/* SPDX-License-Identifier: Apache-2.0 */
/* plan.c - print the best parallel plans as text. */
#include <math.h>
#include <string.h>
#include "base/text.h"
#include "report/render.h"
#include "report/table.h"

/* "3.2 d", "5.1 h", "12 min", "41 s" */
static const char *duration(cm__ctx *ctx, double s)
{
    return s >= 172800 ? cm__format(ctx, "%.1f d", s / 86400)
           : s >= 7200 ? cm__format(ctx, "%.1f h", s / 3600)
           : s >= 120  ? cm__format(ctx, "%.0f min", s / 60)
                       : cm__format(ctx, "%.3g s", s);
}

/* The other settings of a plan: "v3 sp zero1 overlap" (3 virtual stages, sequence parallel, ZeRO 1, overlap). */
static const char *choices(cm__ctx *ctx, const cm_plan *p)
{
    const char *schedule = p->gpipe ? "gpipe " : p->interleave > 1 ? cm__format(ctx, "v%d ", p->interleave) : "";
    const char *experts = p->ep > 1 ? cm__format(ctx, "ep%d ", p->ep) : "";
    const char *zero = p->zero ? cm__format(ctx, "zero%d ", p->zero) : "";
    bool        any = p->offload_optimizer || p->offload_activations || p->offload_weights;
    const char *host = any ? cm__format(ctx, "host:%s%s%s ", p->offload_optimizer ? "o" : "",
                                        p->offload_activations ? "a" : "", p->offload_weights ? "w" : "")
                           : "";
    char *all = cm__format(ctx, "%s%s%s%s%s%s", experts, schedule, p->sequence_parallel ? "sp " : "", zero,
                           p->overlap ? "overlap " : "", host);
    if (!*all) return "-";
    all[strlen(all) - 1] = 0; /* the last space */
    return all;
}

/* 1: all plans have as many devices as were asked for. */
static int32_t same_counts(const cm__plan_report *r)
{
    for (int32_t i = 0; i < cm_search_plans(r->search); i++)
        if (cm_search_plan(r->search, i)->plan.devices != r->asked.options.devices) return 0;
    return 1;
}

static void print_best(cm__ctx *ctx, const cm__plan_report *r, FILE *out)
{
    double           seq = cm_load_tokens(&r->asked.options.load, cm_graph_seq(r->forward)), unit = seq > 0 ? seq : 1;
    const cm__column columns[] = {{"n", ""}, {"tp", ""}, {"cp", ""}, {"pp", ""}, {"dp", ""}, {"micro", ""},
                                  {"recompute", NULL, true}, {"settings", NULL, true}, {"step", "s"}, {"90 %", "s"},
                                  {seq > 0 ? "tokens" : "samples", "1/s"}, {"MFU", "%"}, {"waits", "%"},
                                  {"memory", "B"}};
    int32_t   skipped = same_counts(r); /* the head has the number of devices */
    cm__table table = cm__table_new(ctx, out, columns + skipped, sizeof columns / sizeof *columns - (size_t)skipped);
    for (int32_t i = 0; i < cm_search_plans(r->search); i++) {
        const cm_found *f = cm_search_plan(r->search, i);
        const cm_plan  *p = &f->plan;
        if (r->asked.pareto && !f->pareto) continue;
        const char *cells[] = {cm__cell_count(ctx, p->devices),
                               cm__cell_count(ctx, p->tp),
                               cm__cell_count(ctx, p->cp),
                               cm__cell_count(ctx, p->pp),
                               cm__cell_count(ctx, p->dp),
                               cm__cell_count(ctx, p->micro_batch),
                               cm__recompute_text(ctx, p),
                               choices(ctx, p),
                               cm__cell_si(ctx, f->step_time_s),
                               cm__cell_interval(ctx, f->interval_s),
                               cm__cell_si(ctx, unit * f->throughput_samples_s),
                               cm__cell_percent(ctx, f->mfu, 1),
                               cm__cell_percent(ctx, f->communication_s + f->bubble_s, f->step_time_s),
                               cm__cell_binary(ctx, f->peak_bytes)};
        cm__table_row(&table, cells + skipped);
    }
    cm__table_print(&table);
}

static void print_job(cm__ctx *ctx, const cm__plan_report *r, FILE *out)
{
    const cm_found          *f = cm_search_plan(r->search, 0);
    const cm_search_options *a = &r->asked.options;
    char                     buf[32];
    if (a->tokens <= 0) return;
    fprintf(out, "\nThe best plan trains on %s tokens in %s", cm__si(buf, sizeof buf, r->asked.options.tokens),
            duration(ctx, f->training_s));
    const cm_price *price = cm_device_cheapest(r->device, a->devices, a->price_basis, NULL);
    if (!isnan(f->cost_usd) && price)
        fprintf(out, ", for %.0f USD (%.4g USD/h each, %s, %s)", f->cost_usd, price->usd_hour, price->basis,
                cm__printable(ctx, price->provider));
    if (!isnan(f->energy_j)) fprintf(out, ", using %.0f kWh in the devices", f->energy_j / 3.6e6);
    fprintf(out, ".\n");
}

void cm__plan_text(cm__ctx *ctx, const cm__plan_report *r, FILE *out)
{
    const cm_search_options *a = &r->asked.options;
    const cm_search_info    *i = cm_search_get_info(r->search);
    bool                     fsdp = a->train.mixed_precision == CM_MIXED_PRECISION_FSDP;
    char                     buf[32];
    fprintf(out, "# centimani %s, parallel plans for %s\n", CM_VERSION, cm__printable(ctx, r->asked.graph.model));
    fprintf(out, "# %d x %s, global batch %lld%s%s, %s%s, %s, best by %s\n", a->devices,
            cm_device_get_info(r->device)->name, (long long)a->global_batch, cm__seq_text(ctx, r->forward),
            cm__lengths_text(ctx, &a->load, NULL, 0),
            cm_precision_name(a->train.precision), fsdp ? " (without autocast under ZeRO 2 and 3)" : "",
            cm_runtime_name(a->runtime), cm_objective_name(a->objective));
    fprintf(out, "# %llu plans evaluated in %ss on %d thread%s", (unsigned long long)i->evaluated,
            cm__si_small(buf, sizeof buf, i->setup_s + i->search_time_s), i->threads, i->threads > 1 ? "s" : "");
    if (i->ranks > 1) fprintf(out, " in each of %d ranks", i->ranks);
    fprintf(out, ", %llu fit%s\n\n", (unsigned long long)i->feasible, i->stopped ? "; search stopped early" : "");
    if (!cm_search_plans(r->search)) {
        fprintf(out, strncmp(i->reason, "no plan ", 8) == 0 ? "No plan %s.\n" : "No plan found: %s.\n",
                i->reason + (strncmp(i->reason, "no plan ", 8) == 0 ? 8 : 0));
        return;
    }
    print_best(ctx, r, out);
    print_job(ctx, r, out);
}
