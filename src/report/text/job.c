/* SPDX-License-Identifier: Apache-2.0 */
/* job.c - print a whole job as text: the answer, the best number of devices of each place, trade-offs, and reasons. */
#include <math.h>
#include <string.h>
#include "base/text.h"
#include "report/render.h"
#include "report/table.h"

#define SHOWN 20   /* places in the table */
#define EXCUSED 12 /* places that are not ranked, with reasons */

const char *cm__job_unit(const cm_job *job)
{
    cm_objective objective = cm_job_get_info(job)->objective;
    static const char *const units[CM_OBJECTIVES] = {
        [CM_OBJECTIVE_THROUGHPUT] = "samples/s", [CM_OBJECTIVE_PRICE] = "samples/USD",
                                    [CM_OBJECTIVE_ENERGY] = "J/sample",
        [CM_OBJECTIVE_DEVICES] = "devices", [CM_OBJECTIVE_TIME] = "h", [CM_OBJECTIVE_COST] = "USD"};
    return objective == CM_OBJECTIVE_ENERGY && cm_job_networks(job) ? "kWh" : units[objective];
}

/* ---- cells ------------------------------------------------------------------------------------------------------ */

#define SMALL 0.00995 /* cm__cell() prints smaller numbers with a prefix, and "2.13 m USD" looks like millions */

static const char *number(cm__ctx *ctx, double value)
{
    char buf[32];
    if (!isfinite(value)) return "-";
    if (value > 0 && value < SMALL) return value < 1e-4 ? "<0.0001" : cm__format(ctx, "%.4f", value);
    return cm__text_copy(ctx, cm__cell(buf, sizeof buf, value));
}

/* "3.2 days", "5.1 h", "12 min", "45 s": in the unit that suits `like_s`. */
static const char *duration_like(cm__ctx *ctx, double s, double like_s)
{
    char buf[48];
    return cm__text_copy(ctx, cm__duration(buf, sizeof buf, s, like_s, 3));
}

const char *cm__duration_text(cm__ctx *ctx, double s) { return duration_like(ctx, s, s); }

/* The unit of a table's times: hours, or a smaller one if the best entry takes less than six minutes. */
static const cm__time_unit *table_unit(const cm__job_report *r)
{
    double best_s = cm_job_get_entry(r->job, 0)->time_s;
    return cm__time_unit_for(best_s >= 360 ? 5400 : best_s);
}

static const char *plan_text(cm__ctx *ctx, const cm_plan *p)
{
    const char *text = "";
    const struct {
        const char *name;
        int64_t     value, shown_from;
    } parts[] = {{"tp", p->tp, 2}, {"cp", p->cp, 2}, {"pp", p->pp, 2}, {"ep", p->ep, 2}, {"dp", p->dp, 1},
                 {"zero", p->zero, 1},
                 {"mb", p->micro_batch, 1}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (parts[i].value >= parts[i].shown_from)
            text = cm__format(ctx, "%s%s%s%lld", text, *text ? " " : "", parts[i].name, (long long)parts[i].value);
    if (p->recompute)
        text = cm__format(ctx, "%s %s", text, p->recompute == CM_RECOMPUTE_FULL ? cm__recompute_text(ctx, p) : "sel");
    return text;
}

static const char *place_text(cm__ctx *ctx, const cm_job_entry *e)
{
    if (e->provider) return cm__printable(ctx, cm__format(ctx, "%s, %s", e->provider, e->instance));
    return e->cluster ? cm__printable(ctx, e->cluster) : "-";
}

static const char *id_of(const cm_job_entry *e) { return cm_device_get_info(e->at.device)->id; }

/* ---- tables ----------------------------------------------------------------------------------------------------- */

#define COLUMNS 10

/* The last columns: the plan, or with several networks the time of each. */
static int32_t last_columns(cm__ctx *ctx, const cm__job_report *r, const cm__time_unit *unit, cm__column *columns)
{
    int32_t n = cm_job_networks(r->job);
    if (!n) columns[0] = (cm__column){"plan", NULL, true};
    for (int32_t i = 0; i < n; i++)
        columns[i] = (cm__column){cm__network_name(ctx, cm_job_network(r->job, i)), unit->name};
    return n ? n : 1;
}

static void last_cells(cm__ctx *ctx, const cm__job_report *r, int32_t k, const cm__time_unit *unit, const char **cells)
{
    int32_t n = cm_job_networks(r->job);
    if (!n) cells[0] = plan_text(ctx, &cm_job_get_entry(r->job, k)->at.prediction.plan);
    for (int32_t i = 0; i < n; i++)
        cells[i] = cm__cell_number(ctx, cm_job_network(r->job, i)->weight * cm_job_part(r->job, k, i)->time_s / unit->seconds);
}

static void print_table(cm__ctx *ctx, const cm__job_report *r, bool pareto, FILE *out)
{
    const cm__time_unit *unit = table_unit(r);
    const cm__column first[COLUMNS - 1] = {{"#", ""}, {"device"}, {"n", ""}, {"place", NULL, true}, {"time", unit->name},
                                           {"90 %", unit->name}, {"cost", "USD"}, {"energy", "kWh"}, {"CO2", "kg"}};
    size_t       most = COLUMNS + (size_t)cm_job_networks(r->job);
    cm__column  *columns = cm__alloc_array(ctx, most, sizeof *columns);
    const char **cells = cm__alloc_array(ctx, most, sizeof *cells);
    memcpy(columns, first, sizeof first);
    int32_t   last = last_columns(ctx, r, unit, columns + COLUMNS - 1);
    cm__table table = cm__table_new(ctx, out, columns, (size_t)(COLUMNS - 1 + last));
    for (int32_t k = 0, rows = 0; k < cm_job_placed(r->job) && rows < SHOWN; k++) {
        const cm_job_entry *e = cm_job_get_entry(r->job, k);
        if (pareto ? !e->at.pareto : !e->best_here) continue;
        const char *of_all[COLUMNS - 1] = {
            cm__format(ctx, "%d%s%s", k + 1, e->at.tied_with_next ? "~" : " ", e->at.pareto ? "*" : " "),
            id_of(e), cm__format(ctx, "%d", e->n), place_text(ctx, e),
            cm__cell_number(ctx, e->time_s / unit->seconds),
            cm__cell_number_interval(ctx, (const double[2]){e->interval_s[0] / unit->seconds,
                                                            e->interval_s[1] / unit->seconds}),
            cm__cell_number(ctx, e->cost_usd), cm__cell_number(ctx, e->at.kwh), cm__cell_number(ctx, e->co2_kg)};
        memcpy(cells, of_all, sizeof of_all);
        last_cells(ctx, r, k, unit, cells + COLUMNS - 1);
        cm__table_row(&table, cells);
        rows++;
    }
    cm__table_print(&table);
}

static bool dominated_anywhere(const cm__job_report *r)
{
    int32_t fronts = 0;
    for (int32_t k = 0; k < cm_job_placed(r->job); k++) fronts += cm_job_get_entry(r->job, k)->at.pareto;
    return fronts > 1;
}

/* One line per device: the reason of its largest count. */
static void print_excused(cm__ctx *ctx, const cm__job_report *r, FILE *out)
{
    int32_t printed = 0, left = 0;
    for (int32_t k = cm_job_placed(r->job); k < cm_job_entries(r->job); k++) {
        const cm_job_entry *e = cm_job_get_entry(r->job, k), *next = cm_job_get_entry(r->job, k + 1);
        bool                last = !next || next->at.device != e->at.device || next->at.state != e->at.state;
        bool                ranked = false;
        for (int32_t i = 0; i < cm_job_placed(r->job) && !ranked; i++)
            ranked = cm_job_get_entry(r->job, i)->at.device == e->at.device;
        if (!last || ranked) continue;
        if (printed == EXCUSED) {
            left++;
            continue;
        }
        if (!printed) fputs("\nnot ranked\n", out);
        cm__print_note(ctx, out, "  ", cm__format(ctx, "%d x %s", e->n, id_of(e)), 28,
                       e->at.reason ? e->at.reason : "-");
        printed++;
    }
    if (left) fprintf(out, "  and %d more; --json lists all\n", left);
}

/* ---- the answer ------------------------------------------------------------------------------------------------- */

static bool all_too_large(const cm_job *j)
{
    for (int32_t k = 0; k < cm_job_entries(j); k++)
        if (cm_job_get_entry(j, k)->at.state != CM_RANK_NO_FIT) return false;
    return true;
}

static void print_nothing(const cm__job_report *r, FILE *out)
{
    const cm_job_options *a = r->asked;
    bool                  limited = a->within_s > 0 || a->budget_usd > 0 || a->rank.where;
    if (all_too_large(r->job))
        fputs("Nothing fits into memory: allow more devices (--max-devices), or train adapters only (--lora r=16).\n",
              out);
    else fputs(limited ? "Nothing meets the limits.\n" : "Nothing can be ranked.\n", out);
    for (int32_t k = 0; k < cm_job_advices(r->job); k++)
        fprintf(out, "%s %s\n", k ? "or" : "->", cm_job_get_advice(r->job, k)->text);
}

static void print_answer(cm__ctx *ctx, const cm__job_report *r, FILE *out)
{
    const cm_job_entry *best = cm_job_get_entry(r->job, 0);
    if (!cm_job_placed(r->job)) {
        print_nothing(r, out);
        return;
    }
    const char *cost = isnan(best->cost_usd) ? "" : cm__format(ctx, ", %s USD", number(ctx, best->cost_usd));
    fprintf(out, "Best by %s: %d x %s (%s), %s (90 %% interval %s to %s)%s.\n",
            cm_objective_name(cm_job_get_info(r->job)->objective), best->n, cm_device_get_info(best->at.device)->name,
            place_text(ctx, best), cm__duration_text(ctx, best->time_s),
            duration_like(ctx, best->interval_s[0], best->time_s),
            duration_like(ctx, best->interval_s[1], best->time_s), cost);
    for (int32_t i = 0; i < cm_job_networks(r->job); i++) {
        const cm_network   *n = cm_job_network(r->job, i);
        const cm_job_entry *part = cm_job_part(r->job, 0, i);
        cm__print_note(ctx, out, "  ", cm__network_name(ctx, n), 28,
                       cm__format(ctx, "%s, plan %s", cm__duration_text(ctx, n->weight * part->time_s),
                                  plan_text(ctx, &part->at.prediction.plan)));
    }
}

const char *cm__place_sentence(cm__ctx *ctx, const cm_job_entry *e)
{
    if (e->overhead > 0 && !(e->checkpoint_s > 0)) /* of adapters alone */
        return cm__format(ctx, "Interruptions: restarts add %.2g %% of the time; writing a checkpoint takes none.",
                          100 * e->overhead);
    if (e->overhead > 0)
        return cm__format(ctx, "Interruptions: %.2g %% of the time is added, with a checkpoint every %s.",
                          100 * e->overhead, cm__duration_text(ctx, e->checkpoint_s));
    if (!e->queue) return NULL;
    bool        routed = e->queue_class && strcmp(e->queue_class, e->queue) != 0;
    const char *class = routed ? cm__format(ctx, " (%s)", e->queue_class) : "";
    const char *jobs = e->jobs > 1 ? cm__format(ctx, "%d jobs in a row", e->jobs) : "one job";
    const char *note = e->queue_note ? cm__format(ctx, " Note: %s.", e->queue_note) : "";
    return cm__format(ctx, "Queue %s%s: %s of at most %s; %s %s.%s", e->queue, class, jobs,
                      cm__duration_text(ctx, e->queue_wall_s), number(ctx, e->charge), e->charge_unit, note);
}

/* The precisions of the ranked entries: "amp-bf16 or amp-fp16". */
static const char *precisions_of(cm__ctx *ctx, const cm__job_report *r)
{
    bool        used[CM_PRECISIONS] = {false};
    const char *text = "";
    for (int32_t k = 0; k < cm_job_placed(r->job); k++) used[cm_job_get_entry(r->job, k)->at.precision] = true;
    for (int p = 0; p < CM_PRECISIONS; p++)
        if (used[p]) text = cm__format(ctx, "%s%s%s", text, *text ? " or " : "", cm_precision_name((cm_precision)p));
    return text;
}

/* The oldest and the newest date of the prices; false: no entry has a price of a provider. */
static bool find_dates(const cm__job_report *r, const char **from, const char **to)
{
    *from = *to = NULL;
    for (int32_t k = 0; k < cm_job_entries(r->job); k++) {
        const char *date = cm_job_get_entry(r->job, k)->price_date; /* year first, so that texts sort by time */
        if (!date) continue;
        if (!*from || strcmp(date, *from) < 0) *from = date;
        if (!*to || strcmp(date, *to) > 0) *to = date;
    }
    return *from != NULL;
}

static void print_size(cm__ctx *ctx, const char *name, double weight, const cm_job_info *i, FILE *out)
{
    const char *times = weight == 1 ? "" : cm__format(ctx, "%.6g times ", weight);
    fprintf(out, "# %s: %s%s%s, global batch %lld%s\n", cm__printable(ctx, name), times, i->text,
            i->assumed ? " (assumed: --samples, --tokens)" : "", (long long)i->global_batch,
            i->batch_assumed ? " (assumed: --global-batch)" : "");
    if (i->tokens_per_sample > 0) fprintf(out, "# sequence length %.0f\n", i->tokens_per_sample);
}

static void print_head(cm__ctx *ctx, const cm__job_report *r, FILE *out)
{
    const cm_job_info    *i = cm_job_get_info(r->job);
    const cm_job_options *a = r->asked;
    const char           *precisions = precisions_of(ctx, r), *from, *to;
    fprintf(out, "# centimani %s, where to train %s on %s\n", CM_VERSION, cm__printable(ctx, i->model),
            a->max_devices > 1 ? cm__format(ctx, "up to %d devices", a->max_devices) : "one device");
    if (!cm_job_networks(r->job)) print_size(ctx, "the job", 1, i, out);
    for (int32_t k = 0; k < cm_job_networks(r->job); k++) {
        const cm_network *n = cm_job_network(r->job, k);
        print_size(ctx, n->model, n->weight, cm_job_get_info(cm_job_of_network(r->job, k)), out);
    }
    if (*precisions)
        fprintf(out, "# precision: %s%s\n", precisions, a->rank.train.precision ? "" : " (assumed: --precision)");
    if (i->within_s > 0)
        fprintf(out, "# deadline: %s%s\n", cm__duration_text(ctx, i->within_s),
                i->within_assumed ? " (assumed: --within)" : "");
    if (a->budget_usd > 0) fprintf(out, "# budget: %.0f USD\n", a->budget_usd);
    if (find_dates(r, &from, &to))
        fprintf(out, "# prices: %s, per whole instance, of %s%s%s\n", cm_basis_name(a->rank.price_basis), from,
                strcmp(from, to) ? " to " : "", strcmp(from, to) ? to : "");
    fprintf(out, "# energy: of the accelerators alone; %.0f g CO2/kWh (%s)\n\n", i->g_co2_kwh, i->region);
}

/* The meaning of the marks, if there are any. */
static void print_marks(const cm__job_report *r, FILE *out)
{
    bool close = false, front = false;
    for (int32_t k = 0; k < cm_job_placed(r->job); k++) {
        close |= cm_job_get_entry(r->job, k)->at.tied_with_next;
        front |= cm_job_get_entry(r->job, k)->at.pareto;
    }
    if (close) fputs("~ too close to call: the next may be better (90 % interval)", out);
    if (front) fprintf(out, "%s* nothing is faster and cheaper", close ? "   " : "");
    if (close || front) fputc('\n', out);
}

void cm__job_text(cm__ctx *ctx, const cm__job_report *r, FILE *out)
{
    print_head(ctx, r, out);
    print_answer(ctx, r, out);
    if (cm_job_placed(r->job)) {
        const char *place = cm__place_sentence(ctx, cm_job_get_entry(r->job, 0));
        if (place) fprintf(out, "%s\n", place);
        fputs("\nThe best number of devices at each place:\n", out);
        print_table(ctx, r, false, out);
        print_marks(r, out);
        if (dominated_anywhere(r)) {
            fputs("\nTrade-offs of time and money:\n", out);
            print_table(ctx, r, true, out);
        }
    }
    print_excused(ctx, r, out);
    if (r->gates) cm__print_gates(ctx, out, 12, r->gates);
}
