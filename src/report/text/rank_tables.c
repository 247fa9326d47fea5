/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rank_tables.c - the two tables of a ranking: the answers, and how they are reached.
 *
 * If one copy of the model needs several devices, speeds are per device because the ranking is by throughput per
 * device; prices and costs are for all of them.
 */
#include <math.h>
#include <string.h>
#include "base/text.h"
#include "report/text/rank_parts.h"
#include "report/table.h"

#define COLUMNS_MOST 14

const char *cm__rank_number(cm__ctx *ctx, double value)
{
    char buf[32];
    return isfinite(value) ? cm__text_copy(ctx, cm__cell(buf, sizeof buf, value)) : "-";
}

static double per_device(const cm_rank_entry *e, double step_s)
{
    return (double)e->prediction.batch / step_s / (e->one_device ? 1 : e->prediction.devices);
}

typedef struct view {
    const cm__rank_report *r;
    bool                   job, relative, porting;
    double                 seq;
} view;

/* Samples per second, or tokens of a model of token sequences. */
static double speed(const cm_rank_entry *e, const view *v, double step_s)
{
    return per_device(e, step_s) * (v->seq > 0 ? v->seq : 1);
}

/* "GCP"; with the basis if it is not the one that was asked for: "paper: Emani et al.", "given". */
static const char *seller(cm__ctx *ctx, const view *v, const cm_rank_entry *e)
{
    const char *basis = cm__rank_basis(e), *by = cm__rank_seller(ctx, e);
    bool        usual = strcmp(basis, cm_basis_name(v->r->asked->price_basis)) == 0;
    return usual || strcmp(basis, "-") == 0 ? by : strcmp(by, "-") == 0 ? basis : cm__format(ctx, "%s: %s", basis, by);
}

typedef struct part {
    cm__column column;
    bool (*shown)(const view *v);
    const char *(*cell)(cm__ctx *ctx, const view *v, const cm_rank_entry *e, int32_t place);
} part;

static bool always(const view *v) { return v != NULL; }
static bool with_tokens(const view *v) { return v->seq > 0; }
static bool without_tokens(const view *v) { return !(v->seq > 0); }
static bool with_job(const view *v) { return v->job && !v->porting; }
static bool with_cost(const view *v) { return v->job; }
static bool without_job(const view *v) { return !v->job && !v->porting; }
static bool with_baseline(const view *v) { return v->relative; }
static bool with_recompute(const view *v) { return v->r->asked->try_recompute; }
static bool with_porting(const view *v) { return v->porting; }

#define CELL(name, value)                                                                                              \
    static const char *name##_cell(cm__ctx *ctx, const view *v, const cm_rank_entry *e, int32_t place)                 \
    {                                                                                                                  \
        (void)ctx, (void)v, (void)place;                                                                               \
        return value;                                                                                                  \
    }
#define NUMBER_CELL(name, value) CELL(name, cm__cell_number(ctx, value))

CELL(place, cm__format(ctx, "%d%s%s", place, e->tied_with_next ? "~" : " ", e->pareto ? "*" : " "))
CELL(device, e->prediction.devices > 1
                 ? cm__format(ctx, "%s x%d", cm_device_get_info(e->device)->id, e->prediction.devices)
                 : cm_device_get_info(e->device)->id)
CELL(precision, cm_precision_name(e->precision))
CELL(runtime, cm_runtime_name(e->prediction.runtime))
CELL(batch, cm__format(ctx, "%lld", (long long)e->prediction.batch))
CELL(recompute, cm_recompute_name(e->recompute))
CELL(speed, cm__cell_si(ctx, speed(e, v, e->prediction.step_time_s)))
CELL(within, cm__cell_interval(ctx, (const double[2]){speed(e, v, e->prediction.interval_s[1]),
                                                      speed(e, v, e->prediction.interval_s[0])}))
NUMBER_CELL(relative, e->relative)
NUMBER_CELL(price, e->price_hour)
CELL(seller, seller(ctx, v, e))
CELL(per_usd, cm__cell_si(ctx, e->samples_per_usd))
CELL(energy, cm__cell_si(ctx, e->energy_j_per_sample))
NUMBER_CELL(hours, e->hours)
NUMBER_CELL(usd, e->usd + e->port_usd)
NUMBER_CELL(kwh, e->kwh)
NUMBER_CELL(even_price, e->break_even_price_hour)
CELL(even, isinf(e->break_even_hours) ? "never" : cm__cell_number(ctx, e->break_even_hours))

/* The answers; then how each device runs the model, and who sells it. Both fit into 80 columns. */
static const part answers[] = {
    {{"#", ""}, always, place_cell},
    {{"device"}, always, device_cell},
    {{"samples", "1/s"}, without_tokens, speed_cell},
    {{"tokens", "1/s"}, with_tokens, speed_cell},
    {{"90 %", "1/s"}, always, within_cell},
    {{"over base", ""}, with_baseline, relative_cell},
    {{"price", "USD/h"}, always, price_cell},
    {{"samples", "1/USD"}, without_job, per_usd_cell},
    {{"energy", "J/sample"}, without_job, energy_cell},
    {{"time", "h"}, with_job, hours_cell},
    {{"cost", "USD"}, with_cost, usd_cell},
    {{"energy", "kWh"}, with_job, kwh_cell},
    {{"break-even", "h on base"}, with_porting, even_cell},
    {{"break-even", "USD/h"}, with_porting, even_price_cell},
};

static const part settings[] = {
    {{"#", ""}, always, place_cell},
    {{"device"}, always, device_cell},
    {{"precision"}, always, precision_cell},
    {{"runtime"}, always, runtime_cell},
    {{"batch", ""}, always, batch_cell},
    {{"recompute"}, with_recompute, recompute_cell},
    {{"price of", NULL, true}, always, seller_cell},
};

static void print_table(cm__ctx *ctx, const view *v, const part *parts, size_t count, FILE *out)
{
    cm__column columns[COLUMNS_MOST];
    size_t     shown[COLUMNS_MOST];
    int        n = 0;
    for (size_t i = 0; i < count && n < COLUMNS_MOST; i++) {
        if (!parts[i].shown(v)) continue;
        columns[n] = parts[i].column;
        shown[n++] = i;
    }
    cm__table table = cm__table_new(ctx, out, columns, n);
    for (int32_t k = 0; k < cm_ranking_placed(v->r->ranking); k++) {
        const cm_rank_entry *e = cm_ranking_entry(v->r->ranking, k);
        const char          *cells[COLUMNS_MOST];
        for (int i = 0; i < n; i++) cells[i] = parts[shown[i]].cell(ctx, v, e, k + 1);
        cm__table_row(&table, cells);
    }
    cm__table_print(&table);
}

void cm__rank_tables(cm__ctx *ctx, const cm__rank_report *r, FILE *out)
{
    const cm_ranking_info *i = cm_ranking_get_info(r->ranking);
    const view             v = {.r = r, .job = i->job != NULL, .relative = r->asked->baseline != NULL,
                                .porting = r->asked->port_hours > 0, .seq = i->tokens_per_sample};
    print_table(ctx, &v, answers, sizeof answers / sizeof *answers, out);
    fputc('\n', out);
    print_table(ctx, &v, settings, sizeof settings / sizeof *settings, out);
}
