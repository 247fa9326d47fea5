/* SPDX-License-Identifier: Apache-2.0 */
/* rank.c - print a ranking as text: ranked devices with intervals, the others with reasons, and a conclusion. */
#include <math.h>
#include <string.h>
#include "base/text.h"
#include "report/text/rank_parts.h"

/* ---- devices that are not ranked -------------------------------------------------------------------------------- */

void cm__rank_unplaced(cm__ctx *ctx, const cm_rank_entry *e, cm_rank_state *last, FILE *out)
{
    static const char *const heads[] = {[CM_RANK_UNCERTAIN] = "too uncertain to rank (90 % intervals)",
                                        [CM_RANK_NOT_OFFERED] = "not offered (90 % intervals); --devices all ranks them",
                                        [CM_RANK_NO_VALUE] = "not ranked", [CM_RANK_OVER] = "excluded",
                                        [CM_RANK_RECOMPUTED] = "fits only if recomputed or offloaded, which takes longer",
                                        [CM_RANK_NO_FIT] = "does not fit", [CM_RANK_CANNOT] = "cannot run it"};
    if (e->state != *last) fprintf(out, "\n%s\n", heads[e->state]);
    *last = e->state;
    cm__print_note(ctx, out, "  ", cm_device_get_info(e->device)->id, 28, e->reason ? e->reason : "-");
}

static void print_unplaced(cm__ctx *ctx, const cm__rank_report *r, FILE *out)
{
    cm_rank_state last = CM_RANK_PLACED;
    for (int32_t k = cm_ranking_placed(r->ranking); k < cm_ranking_entries(r->ranking); k++)
        cm__rank_unplaced(ctx, cm_ranking_entry(r->ranking, k), &last, out);
}

/* ---- what profiles do not state ---------------------------------------------------------------------------------- */

static void print_assumed(cm__ctx *ctx, const cm__rank_report *r, FILE *out)
{
    const char *head = "\nassumed, because profiles do not state it\n";
    for (int32_t k = 0; k < cm_ranking_entries(r->ranking); k++) {
        const cm_device *device = cm_ranking_entry(r->ranking, k)->device;
        const char      *text = cm__assumed_text(ctx, device);
        if (!text) continue;
        fputs(head, out);
        head = "";
        cm__print_note(ctx, out, "  ", cm_device_get_info(device)->id, 28, text);
    }
}

/* ---- the conclusion --------------------------------------------------------------------------------------------- */

static const char *amount(cm__ctx *ctx, cm_objective objective, const cm_rank_entry *e)
{
    static const char *const units[CM_OBJECTIVES] = {
        [CM_OBJECTIVE_THROUGHPUT] = "samples/s per device", [CM_OBJECTIVE_PRICE] = "samples per USD",
        [CM_OBJECTIVE_ENERGY] = "J/sample", [CM_OBJECTIVE_TIME] = "h", [CM_OBJECTIVE_COST] = "USD"};
    return cm__format(ctx, "%s %s", cm__rank_number(ctx, e->value), units[objective]);
}

/* Devices without a place whose interval reaches the best one's value. */
static const char *maybe_better(cm__ctx *ctx, const cm__rank_report *r, const cm_rank_entry *best)
{
    bool        less = cm_objective_is_less(cm_ranking_get_info(r->ranking)->objective);
    const char *names = "";
    for (int32_t k = cm_ranking_placed(r->ranking); k < cm_ranking_entries(r->ranking); k++) {
        const cm_rank_entry *e = cm_ranking_entry(r->ranking, k);
        if (e->state != CM_RANK_UNCERTAIN || (less ? e->interval[0] > best->value : e->interval[1] < best->value)) continue;
        names = cm__format(ctx, "%s%s%s", names, *names ? ", " : "", cm_device_get_info(e->device)->id);
    }
    return names;
}

static double copy_samples_s(const cm_rank_entry *e) { return (double)e->prediction.batch / e->prediction.step_time_s; }

/* What the place of the best of the named devices hides: uncertain ones, and a copy of the model on several devices that
   is faster than the best device alone. */
static void print_rivals(cm__ctx *ctx, const cm__rank_report *r, FILE *out)
{
    const cm_rank_entry *best = cm_ranking_entry(r->ranking, 0), *fastest = best;
    const char          *named = r->asked->devices, *names = maybe_better(ctx, r, best);
    if (!r->asked->as && (!named || strcmp(named, "all") == 0)) return;
    for (int32_t k = 1; k < cm_ranking_placed(r->ranking); k++) {
        const cm_rank_entry *e = cm_ranking_entry(r->ranking, k);
        if (copy_samples_s(e) > copy_samples_s(fastest)) fastest = e;
    }
    if (*names) cm__print_note(ctx, out, "", "uncertain", 12, cm__format(ctx, "%s may be better (intervals above)", names));
    if (fastest->prediction.devices > best->prediction.devices && !fastest->one_device)
        cm__print_note(ctx, out, "", "per copy", 12,
                       cm__format(ctx, "%s x%d is the fastest, %s samples/s", cm_device_get_info(fastest->device)->id,
                                  fastest->prediction.devices, cm__rank_number(ctx, copy_samples_s(fastest))));
}

static void print_answer(cm__ctx *ctx, const cm__rank_report *r, FILE *out)
{
    const cm_ranking_info *i = cm_ranking_get_info(r->ranking);
    const cm_rank_entry   *best = cm_ranking_entry(r->ranking, 0);
    int32_t                placed = cm_ranking_placed(r->ranking);
    if (!placed) {
        fputs("\nno device could be ranked; the lists above give the reasons\n", out);
        return;
    }
    const char *text = cm__format(ctx, "%s, %s", cm_device_get_info(best->device)->id, amount(ctx, i->objective, best));
    fputc('\n', out);
    cm__print_note(ctx, out, "", "best", 12, text);
    const char *ties = "", *pareto = "";
    for (int32_t k = 1; k < placed; k++)
        if (cm_ranking_entry(r->ranking, k)->tied_with_best)
            ties = cm__format(ctx, "%s%s%s", ties, *ties ? ", " : "",
                          cm_device_get_info(cm_ranking_entry(r->ranking, k)->device)->id);
    if (*ties) cm__print_note(ctx, out, "", "too close", 12, cm__format(ctx, "to call between it and %s", ties));
    print_rivals(ctx, r, out);
    for (int32_t k = 0; k < placed; k++)
        if (cm_ranking_entry(r->ranking, k)->pareto)
            pareto = cm__format(ctx, "%s%s%s", pareto, *pareto ? ", " : "",
                                cm_device_get_info(cm_ranking_entry(r->ranking, k)->device)->id);
    if (*pareto)
        cm__print_note(ctx, out, "", "trade-offs", 12,
                       cm__format(ctx, "no device is both faster and cheaper than %s", pareto));
}

#define COMMAND_WIDTH 76

/* Lines that a shell joins. */
static void print_command(const char *command, FILE *out)
{
    size_t used = (size_t)fprintf(out, " ");
    for (const char *at = command; *at; at += strspn(at, " ")) {
        size_t length = strcspn(at, " ");
        if (used + length > COMMAND_WIDTH) used = (size_t)fprintf(out, " \\\n   ");
        used += (size_t)fprintf(out, " %.*s", (int)length, at);
        at += length;
    }
    fputc('\n', out);
}

/* Commands that measure what the device's tables lack for this model. */
static void print_commands(cm__ctx *ctx, const cm__rank_report *r, const cm_measurement *m, FILE *out)
{
    const char *id = cm_device_get_info(m->entry->device)->id;
    char       *commands[2];
    cm__rank_commands(ctx, r->model, m, commands);
    fprintf(out, "\n%s: about %.0f minutes; %s to %s -> %s to %s %s\n", id, ceil(m->minutes),
            cm__rank_number(ctx, m->entry->interval[0]), cm__rank_number(ctx, m->entry->interval[1]),
            cm__rank_number(ctx, m->interval[0]), cm__rank_number(ctx, m->interval[1]), cm_ranking_unit(r->ranking));
    for (int i = 0; i < 2; i++)
        if (commands[i]) print_command(commands[i], out);
}

static void print_advice(cm__ctx *ctx, const cm__rank_report *r, FILE *out)
{
    const cm_rank_advice a = cm_ranking_advise(r->ranking);
    const char          *text = a.tied < 2 ? "nothing: the best ranked device is known (90 % intervals)"
                                           : "nothing: no benchmark would tell these devices apart";
    if (a.count)
        text = cm__format(ctx, "%d device%s, %.0f minutes in all; the best one is known then with a probability of %.0f %%",
                          a.count, a.count == 1 ? "" : "s", ceil(a.minutes), 100 * a.probability);
    cm__print_note(ctx, out, "", "measure", 12, text);
    for (int32_t i = 0; i < a.count; i++) print_commands(ctx, r, &a.items[i], out);
}

static bool several_devices(const cm_ranking *ranking)
{
    for (int32_t k = 0; k < cm_ranking_placed(ranking); k++)
        if (cm_ranking_entry(ranking, k)->prediction.devices > 1) return true;
    return false;
}

static bool large_instances(const cm_ranking *ranking)
{
    for (int32_t k = 0; k < cm_ranking_placed(ranking); k++)
        if (cm__rank_in_larger(cm_ranking_entry(ranking, k))) return true;
    return false;
}

void cm__rank_basis_line(cm__ctx *ctx, const cm_rank_options *a, FILE *out)
{
    fprintf(out, "# prices: %s", a->price_basis == CM_BASIS_ANY ? "any basis" : cm_basis_name(a->price_basis));
    if (a->provider) fprintf(out, ", of %s", cm__printable(ctx, a->provider));
    fputs(", cheapest provider (median of its regions); --price-basis selects another\n", out);
}

static void print_basis(cm__ctx *ctx, const cm__rank_report *r, FILE *out)
{
    cm__rank_basis_line(ctx, r->asked, out);
    if (large_instances(r->ranking))
        fputs("# (Nx): sold in instances of N devices; --max-devices counts the cost of whole instances\n", out);
}

static void print_head(cm__ctx *ctx, const cm__rank_report *r, FILE *out)
{
    const cm_ranking_info *i = cm_ranking_get_info(r->ranking);
    const cm_rank_options *a = r->asked;
    fprintf(out, "# centimani %s, which accelerator to %s %s on, by %s%s\n", CM_VERSION,
            a->train.inference ? "run" : "train", cm__printable(ctx, r->model), cm_objective_name(i->objective),
            i->objective == CM_OBJECTIVE_THROUGHPUT ? " per device" : "");
    const char *batch = a->batch ? cm__format(ctx, "batch %lld", (long long)a->batch)
                                 : a->as ? "batch sizes of the preset" : "best batch size of each device";
    fprintf(out, "# %s, %s\n", batch,
            a->train.precision ? cm_precision_name(a->train.precision) : a->as ? "its precisions" : "usual precision of each device");
    if (i->job)
        fprintf(out, "# the job: %s%s\n", i->job,
                i->job_assumed ? ", assumed because no size was given (--samples, --tokens)" : "");
    if (i->seq)
        fprintf(out, "# sequence length %lld%s\n", (long long)i->seq, cm__lengths_text(ctx, &a->load, NULL, 0));
    if (!a->as) print_basis(ctx, r, out);
    if (a->as)
        fprintf(out, "# as %s: devices and prices of the study; xN counts as one device\n", cm__printable(ctx, a->as));
    else if (several_devices(r->ranking))
        fputs("# xN: one copy of the model needs N devices; speeds are per device, prices and costs for all N\n", out);
    if (a->baseline)
        fprintf(out, "# over base: improvement of the objective over %s (2: twice as good)\n",
                cm__printable(ctx, a->baseline));
    if (a->port_hours > 0)
        fprintf(out, "# porting from the baseline: %g h at %g USD/h\n", a->port_hours, a->port_usd_hour);
    if (i->left_out) fprintf(out, "# %d devices excluded by --vendor or --where\n", i->left_out);
    fputc('\n', out);
}

void cm__rank_text(cm__ctx *ctx, const cm__rank_report *r, FILE *out)
{
    print_head(ctx, r, out);
    if (cm_ranking_placed(r->ranking)) {
        cm__rank_tables(ctx, r, out);
        fputs("~ too close to call: the next may be better (90 % interval)   * no device is faster and cheaper\n",
              out);
    }
    if (!r->brief) print_unplaced(ctx, r, out);
    print_assumed(ctx, r, out);
    print_answer(ctx, r, out);
    if (r->gates) cm__print_gates(ctx, out, 12, r->gates);
    if (r->advise) print_advice(ctx, r, out);
}
