/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rank_tables.c - the two tables of a ranking: speed, and cost.
 *
 * If one copy of the model needs several devices, speeds are per device because the ranking is by throughput per
 * device; prices and costs are for all of them.
 */
#include <math.h>
#include "base/text.h"
#include "report/text/rank_parts.h"
#include "report/table.h"

#define COLUMNS_MOST 12

const char *cm__rank_number(cm__ctx *ctx, double value)
{
    char buf[32];
    return isfinite(value) ? cm__text_copy(ctx, cm__cell(buf, sizeof buf, value)) : "-";
}

static double per_device(const cm_rank_entry *e, double step_s)
{
    return (double)e->prediction.batch / step_s / e->prediction.devices;
}

typedef struct view {
    const cm__rank_report *r;
    bool                   job, relative, porting;
    double                 seq;
} view;

typedef struct part {
    cm__column column;
    bool (*shown)(const view *v);
    const char *(*cell)(cm__ctx *ctx, const view *v, const cm_rank_entry *e, int32_t place);
} part;

static bool always(const view *v) { return v != NULL; }
static bool with_tokens(const view *v) { return v->seq > 0; }
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
#define NUMBER_CELL(name, value) CELL(name, cm__rank_number(ctx, value))

CELL(place, cm__format(ctx, "%d%s%s", place, e->tied_with_next ? "~" : " ", e->pareto ? "*" : " "))
CELL(device, e->prediction.devices > 1
                 ? cm__format(ctx, "%s x%d", cm_device_get_info(e->device)->id, e->prediction.devices)
                 : cm_device_get_info(e->device)->id)
CELL(precision, cm_precision_name(e->precision))
CELL(runtime, cm_runtime_name(e->prediction.runtime))
CELL(batch, cm__format(ctx, "%lld", (long long)e->prediction.batch))
CELL(recompute, cm_recompute_name(e->recompute))
NUMBER_CELL(samples, per_device(e, e->prediction.step_time_s))
NUMBER_CELL(tokens, per_device(e, e->prediction.step_time_s) * v->seq)
CELL(within, cm__format(ctx, "%s - %s", cm__rank_number(ctx, per_device(e, e->prediction.interval_s[1])),
                        cm__rank_number(ctx, per_device(e, e->prediction.interval_s[0]))))
NUMBER_CELL(relative, e->relative)
NUMBER_CELL(price, e->price_hour)
CELL(basis, cm__rank_basis(e))
CELL(provider, cm__rank_seller(ctx, e))
NUMBER_CELL(per_usd, e->samples_per_usd)
NUMBER_CELL(energy, e->energy_j_per_sample)
NUMBER_CELL(hours, e->hours)
NUMBER_CELL(usd, e->usd + e->port_usd)
NUMBER_CELL(kwh, e->kwh)
NUMBER_CELL(even_price, e->break_even_price_hour)
CELL(even, isinf(e->break_even_hours) ? "never" : cm__rank_number(ctx, e->break_even_hours))

static const part speeds[] = {
    {{"#", "1", false}, always, place_cell},
    {{"device", NULL, false}, always, device_cell},
    {{"precision", NULL, false}, always, precision_cell},
    {{"runtime", NULL, true}, always, runtime_cell},
    {{"batch", "1", false}, always, batch_cell},
    {{"recompute", NULL, false}, with_recompute, recompute_cell},
    {{"samples/s", "1/s", false}, always, samples_cell},
    {{"tokens/s", "1/s", false}, with_tokens, tokens_cell},
    {{"90 % interval", "samples/s", false}, always, within_cell},
};

static const part costs[] = {
    {{"#", "1", false}, always, place_cell},
    {{"device", NULL, false}, always, device_cell},
    {{"over base", "1", false}, with_baseline, relative_cell},
    {{"price", "USD/h", false}, always, price_cell},
    {{"basis", NULL, false}, always, basis_cell},
    {{"provider", NULL, true}, always, provider_cell},
    {{"samples", "1/USD", false}, without_job, per_usd_cell},
    {{"energy", "J/sample", false}, without_job, energy_cell},
    {{"time", "h", false}, with_job, hours_cell},
    {{"cost", "USD", false}, with_cost, usd_cell},
    {{"energy", "kWh", false}, with_job, kwh_cell},
    {{"break-even", "h on base", false}, with_porting, even_cell},
    {{"break-even", "USD/h", false}, with_porting, even_price_cell},
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
    cm__table table = cm__table_new(ctx, out, columns, n, false);
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
    print_table(ctx, &v, speeds, sizeof speeds / sizeof *speeds, out);
    fputc('\n', out);
    print_table(ctx, &v, costs, sizeof costs / sizeof *costs, out);
}
