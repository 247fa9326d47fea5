/* SPDX-License-Identifier: Apache-2.0 */
/* mix.c - print a ranking for several networks as text: totals, and a column for each network. */
#include <math.h>
#include <string.h>
#include "report/text/rank_parts.h"
#include "report/table.h"

#define FIRST_COLUMNS 6
#define BASE_COLUMNS 3

const char *cm__network_name(cm__ctx *ctx, const cm_network *n)
{
    const char *name = cm__printable(ctx, n->model);
    return n->weight == 1 ? name : cm__format(ctx, "%s*%.6g", name, n->weight);
}

const char *cm__mix_unit(const cm_mix *mix)
{
    cm_objective o = cm_mix_objective(mix);
    return o == CM_OBJECTIVE_COST ? "USD" : o == CM_OBJECTIVE_ENERGY ? "kWh" : "h";
}

static double of_network(const cm_mix *mix, const cm_rank_entry *part, double weight)
{
    cm_objective o = cm_mix_objective(mix);
    return weight * (o == CM_OBJECTIVE_COST ? part->usd : o == CM_OBJECTIVE_ENERGY ? part->kwh : part->hours);
}

static void print_head(cm__ctx *ctx, const cm__mix_report *r, FILE *out)
{
    const cm_rank_options *a = r->asked;
    int32_t                n = cm_mix_networks(r->mix);
    fprintf(out, "# centimani %s, which accelerator to %s %d networks on, by total %s\n", CM_VERSION,
            a->train.inference ? "run" : "train", n, cm_objective_name(cm_mix_objective(r->mix)));
    for (int32_t i = 0; i < n; i++) {
        const cm_network      *network = cm_mix_network(r->mix, i);
        const cm_ranking_info *info = cm_ranking_get_info(cm_mix_ranking(r->mix, i));
        const char *times = network->weight == 1 ? "" : cm__format(ctx, "%.6g times ", network->weight);
        const char *seq = info->seq ? cm__format(ctx, ", sequence length %lld", (long long)info->seq) : "";
        fprintf(out, "# %s: %s%s%s%s\n", cm__printable(ctx, network->model), times, info->job ? info->job : "-", seq,
                info->job_assumed ? ", assumed because no size was given (--samples, --tokens)" : "");
    }
    const char *batch = a->batch ? cm__format(ctx, "batch %lld", (long long)a->batch)
                                 : "best batch size of each device and network";
    fprintf(out, "# %s, %s\n", batch,
            a->train.precision ? cm_precision_name(a->train.precision) : "usual precision of each device");
    cm__rank_basis_line(ctx, a, out);
    const cm_mix_entry *base = cm_mix_baseline(r->mix);
    if (base)
        fprintf(out, "# baseline %s: %s %s for all networks; above 1 is better than it\n",
                cm_device_get_info(base->total.device)->id, cm__rank_number(ctx, base->total.value), cm__mix_unit(r->mix));
    if (a->port_hours > 0)
        fprintf(out, "# porting from the baseline: %g h at %g USD/h, once for all networks\n", a->port_hours, a->port_usd_hour);
    fputc('\n', out);
}

/* Columns that compare with the baseline; returns how many. */
static int32_t compared(cm__ctx *ctx, const cm__mix_report *r, const cm_rank_entry *e, cm__column *columns,
                        const char **cells)
{
    const cm__column all[BASE_COLUMNS] = {{"over base", ""}, {"90 %", ""}, {"break-even", "h on base"}};
    const char      *values[BASE_COLUMNS] = {cm__cell_number(ctx, e->relative),
                                             cm__cell_number_interval(ctx, e->relative_interval),
                                             isinf(e->break_even_hours) ? "never" : cm__cell_number(ctx, e->break_even_hours)};
    int32_t count = !cm_mix_baseline(r->mix) ? 0 : r->asked->port_hours > 0 ? BASE_COLUMNS : BASE_COLUMNS - 1;
    if (columns) memcpy(columns, all, (size_t)count * sizeof *all);
    else memcpy(cells, values, (size_t)count * sizeof *values);
    return count;
}

static void print_table(cm__ctx *ctx, const cm__mix_report *r, FILE *out)
{
    int32_t      n = cm_mix_networks(r->mix), all = FIRST_COLUMNS + BASE_COLUMNS + n;
    const char  *unit = cm__mix_unit(r->mix);
    cm__column  *columns = cm__alloc_array(ctx, (size_t)all, sizeof *columns);
    const char **cells = cm__alloc_array(ctx, (size_t)all, sizeof *cells);
    const cm__column first[FIRST_COLUMNS] = {{"#", ""}, {"device"}, {"total", "h"}, {"90 %", unit}, {"cost", "USD"},
                                             {"energy", "kWh"}};
    memcpy(columns, first, sizeof first);
    int32_t own = FIRST_COLUMNS + compared(ctx, r, &cm_mix_get_entry(r->mix, 0)->total, columns + FIRST_COLUMNS, NULL);
    for (int32_t i = 0; i < n; i++)
        columns[own + i] = (cm__column){cm__network_name(ctx, cm_mix_network(r->mix, i)), unit};
    cm__table table = cm__table_new(ctx, out, columns, own + n);
    for (int32_t k = 0; k < cm_mix_placed(r->mix); k++) {
        const cm_mix_entry  *entry = cm_mix_get_entry(r->mix, k);
        const cm_rank_entry *e = &entry->total;
        cells[0] = cm__format(ctx, "%d%s%s", k + 1, e->tied_with_next ? "~" : " ", e->pareto ? "*" : " ");
        cells[1] = cm_device_get_info(e->device)->id;
        cells[2] = cm__cell_number(ctx, e->hours);
        cells[3] = cm__cell_number_interval(ctx, e->interval);
        cells[4] = cm__cell_number(ctx, e->usd + e->port_usd);
        cells[5] = cm__cell_number(ctx, e->kwh);
        compared(ctx, r, e, NULL, cells + FIRST_COLUMNS);
        for (int32_t i = 0; i < n; i++)
            cells[own + i] =
                cm__cell_number(ctx, of_network(r->mix, entry->parts[i], cm_mix_network(r->mix, i)->weight));
        cm__table_row(&table, cells);
    }
    cm__table_print(&table);
    fputs("~ too close to call: the next may be better (90 % interval)   * no device is faster and cheaper\n", out);
}

static const char *joined(cm__ctx *ctx, const char *list, const cm_rank_entry *e)
{
    return cm__format(ctx, "%s%s%s", list, *list ? ", " : "", cm_device_get_info(e->device)->id);
}

static void print_answer(cm__ctx *ctx, const cm__mix_report *r, FILE *out)
{
    const char *ties = "", *pareto = "";
    int32_t     placed = cm_mix_placed(r->mix);
    if (!placed) {
        fputs("\nno device could be ranked; the lists above give the reasons\n", out);
        return;
    }
    const cm_rank_entry *best = &cm_mix_get_entry(r->mix, 0)->total;
    for (int32_t k = 0; k < placed; k++) {
        const cm_rank_entry *e = &cm_mix_get_entry(r->mix, k)->total;
        if (e->tied_with_best) ties = joined(ctx, ties, e);
        if (e->pareto) pareto = joined(ctx, pareto, e);
    }
    fputc('\n', out);
    cm__print_note(ctx, out, "", "best", 12,
                   cm__format(ctx, "%s, %s %s for all networks", cm_device_get_info(best->device)->id,
                              cm__rank_number(ctx, best->value), cm__mix_unit(r->mix)));
    if (*ties) cm__print_note(ctx, out, "", "too close", 12, cm__format(ctx, "to call between it and %s", ties));
    if (*pareto)
        cm__print_note(ctx, out, "", "trade-offs", 12,
                       cm__format(ctx, "no device is both faster and cheaper than %s", pareto));
}

void cm__mix_text(cm__ctx *ctx, const cm__mix_report *r, FILE *out)
{
    cm_rank_state last = CM_RANK_PLACED;
    print_head(ctx, r, out);
    if (cm_mix_placed(r->mix)) print_table(ctx, r, out);
    for (int32_t k = cm_mix_placed(r->mix); k < cm_mix_entries(r->mix); k++)
        cm__rank_unplaced(ctx, &cm_mix_get_entry(r->mix, k)->total, &last, out);
    print_answer(ctx, r, out);
    if (r->gates) cm__print_gates(ctx, out, 12, r->gates);
}
