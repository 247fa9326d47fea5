/* SPDX-License-Identifier: Apache-2.0 */
/* page_tables.c - tables with the numbers of each figure of a page. */
#include <math.h>
#include <string.h>
#include "base/text.h"
#include "report/html/page.h"

#define TABLE_OPS 15
#define COUNT(array) ((int32_t)(sizeof(array) / sizeof *(array)))

static const char *number(cm__ctx *ctx, double value)
{
    char buf[32];
    if (isnan(value)) return "-";
    if (isinf(value)) return "never";
    return cm__text_copy(ctx, cm__cell(buf, sizeof buf, value));
}

static const char *bytes(cm__ctx *ctx, double value)
{
    char buf[32];
    return isnan(value) ? "-" : cm__format(ctx, "%sB", cm__binary(buf, sizeof buf, value));
}

static const char *device_id(const cm__detail *d) { return cm_device_get_info(d->explain->sides[0]->device)->id; }

const char *cm__page_number(cm__ctx *ctx, double value) { return number(ctx, value); }
const char *cm__page_device(const cm__detail *detail) { return device_id(detail); }

/* Details are of devices, or of several networks on one. */
const char *cm__page_detail_name(cm__ctx *ctx, const cm__page_report *p, int32_t i)
{
    return p->n_networks ? cm__printable(ctx, p->networks[i].model) : device_id(p->details[i]);
}

static cm__column detail_column(const cm__page_report *p)
{
    return (cm__column){p->n_networks ? "network" : "device", NULL, false};
}

/* ---- the ranking ------------------------------------------------------------------------------------------------ */

#define RANKING_COLUMNS 20

static const struct {
    cm__column column;
    enum { ALWAYS, WITH_BASELINE, WITH_JOB, WITH_TOKENS, WITH_PLAN } when;
} ranking_columns[RANKING_COLUMNS] = {
    {{"device", NULL, false}, ALWAYS},
    {{"rank", "", false}, ALWAYS},
    {{"precision", NULL, false}, ALWAYS},
    {{"runtime", NULL, false}, ALWAYS},
    {{"batch", "", false}, ALWAYS},
    {{"throughput", "samples/s", false}, ALWAYS},
    {{"throughput", "tokens/s", false}, WITH_TOKENS},
    {{"90 % interval", "samples/s", false}, ALWAYS},
    {{"over baseline", "times", false}, WITH_BASELINE},
    {{"price", "USD/h", false}, ALWAYS},
    {{"basis", NULL, false}, ALWAYS},
    {{"provider", NULL, false}, ALWAYS},
    {{"samples", "per USD", false}, ALWAYS},
    {{"energy", "J/sample", false}, ALWAYS},
    {{"time", "h", false}, WITH_JOB},
    {{"cost", "USD", false}, WITH_JOB},
    {{"CO2", "kg", false}, WITH_PLAN},
    {{"plan", NULL, false}, WITH_PLAN},
    {{"memory", "", false}, ALWAYS},
    {{"", NULL, true}, ALWAYS},
};

static const char *remark(cm__ctx *ctx, const cm_rank_entry *e)
{
    if (e->reason) return e->reason;
    return cm__format(ctx, "%s%s%s", e->tied_with_next ? "too close to call with the next" : "",
                      e->tied_with_next && e->pareto ? "; " : "",
                      e->pareto ? "no device is both faster and cheaper" : "");
}

static const char *plan_words(cm__ctx *ctx, const cm_plan *p)
{
    const struct {
        const char *name;
        int64_t     size;
    } parts[] = {{"tensor-parallel", p->tp}, {"pipeline stages", p->pp}, {"data-parallel", p->dp},
                 {"context-parallel", p->cp}, {"expert-parallel", p->ep}};
    const char *text = "";
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (parts[i].size > 1)
            text = cm__format(ctx, "%s%s%s %lld", text, *text ? ", " : "", parts[i].name, (long long)parts[i].size);
    if (p->zero) text = cm__format(ctx, "%s%sZeRO %d", text, *text ? ", " : "", (int)p->zero);
    return *text ? text : "one device";
}

static const char *provider_of(cm__ctx *ctx, const cm_rank_entry *e, const cm_job_entry *job)
{
    if (job && job->provider && !job->instance) return job->provider;
    if (job && job->provider) return cm__format(ctx, "%s, %s", job->provider, job->instance);
    if (job) return job->cluster ? job->cluster : "-";
    return cm__rank_seller(ctx, e);
}

static const char *basis_of(const cm_rank_entry *e, const cm_job_entry *job)
{
    return !job ? cm__rank_basis(e) : job->basis ? job->basis : "-";
}

static void ranking_cells(cm__ctx *ctx, const cm_rank_entry *e, const cm_job_entry *job, int32_t place, double seq,
                          const char **cells)
{
    const cm_prediction_info *t = &e->prediction;
    const char               *id = cm_device_get_info(e->device)->id;
    const char *all[RANKING_COLUMNS] = {
        t->devices > 1 ? cm__format(ctx, "%s x%d", id, t->devices) : id,
        place ? cm__format(ctx, "%d", place) : "-",
        cm_precision_name(e->precision),
        e->fits ? cm_runtime_name(t->runtime) : "-",
        e->fits ? cm__format(ctx, "%lld", (long long)t->batch) : "-",
        e->fits ? number(ctx, t->throughput_samples_s) : "-",
        e->fits ? number(ctx, seq * t->throughput_samples_s) : "-",
        e->fits ? cm__format(ctx, "%s to %s", number(ctx, (double)t->batch / t->interval_s[1]),
                             number(ctx, (double)t->batch / t->interval_s[0])) : "-",
        number(ctx, e->relative), number(ctx, e->price_hour), basis_of(e, job), provider_of(ctx, e, job),
        number(ctx, e->samples_per_usd), number(ctx, e->energy_j_per_sample), number(ctx, e->hours),
        number(ctx, e->usd), job ? number(ctx, job->co2_kg) : "-", job && e->fits ? plan_words(ctx, &t->plan) : "-",
        bytes(ctx, e->peak_bytes), remark(ctx, e)};
    memcpy(cells, all, sizeof all);
}

/* ---- several networks -------------------------------------------------------------------------------------------- */

#define TOTALS 9

/* Totals, and the hours of each network. */
static void totals(cm__ctx *ctx, FILE *out, const cm__page_report *p, bool only_pareto)
{
    const cm__column first[TOTALS] = {{"device", NULL, false}, {"rank", "", false}, {"provider", NULL, false},
                                      {"price", "USD/h", false}, {"total", "h", false}, {"90 % interval", "h", false},
                                      {"cost", "USD", false}, {"energy", "kWh", false}, {"memory", "", false}};
    int32_t      count = TOTALS + p->n_networks + !only_pareto;
    cm__column  *columns = cm__alloc_array(ctx, (size_t)count, sizeof *columns);
    const char **cells = cm__alloc_array(ctx, (size_t)count, sizeof *cells);
    memcpy(columns, first, sizeof first);
    for (int32_t i = 0; i < p->n_networks; i++)
        columns[TOTALS + i] = (cm__column){cm__network_name(ctx, &p->networks[i]), "h", false};
    if (!only_pareto) columns[count - 1] = (cm__column){"", NULL, true};
    cm__html_table_begin(ctx, out, only_pareto ? "No candidate is both faster and cheaper than these" : "All candidates, best first",
                         columns, count);
    for (int32_t k = 0; k < (only_pareto ? cm__page_placed(p) : cm__page_entries(p)); k++) {
        const cm_rank_entry *e = cm__page_entry(p, k);
        const cm_job_entry  *job = cm__page_job_entry(p, k);
        const char          *id = cm_device_get_info(e->device)->id;
        const double        *ends = e->prediction.interval_s;
        if (only_pareto && !e->pareto) continue;
        const char *all[TOTALS] = {
            job && job->n > 1 ? cm__format(ctx, "%s x%d", id, job->n) : id,
            k < cm__page_placed(p) ? cm__format(ctx, "%d", k + 1) : "-", provider_of(ctx, e, job),
            number(ctx, e->price_hour), e->fits ? number(ctx, e->hours) : "-",
            e->fits ? cm__format(ctx, "%s to %s", number(ctx, ends[0] / 3600), number(ctx, ends[1] / 3600)) : "-",
            e->fits ? number(ctx, e->usd) : "-", e->fits ? number(ctx, e->kwh) : "-", bytes(ctx, e->peak_bytes)};
        memcpy(cells, all, sizeof all);
        for (int32_t i = 0; i < p->n_networks; i++) {
            const cm_rank_entry *part = cm__page_part(p, k, i);
            cells[TOTALS + i] = part->fits ? number(ctx, p->networks[i].weight * part->hours) : "-";
        }
        if (!only_pareto) cells[count - 1] = remark(ctx, e);
        cm__html_row(ctx, out, columns, count, cells);
    }
    cm__html_table_end(out);
}

/* ---- one network ------------------------------------------------------------------------------------------------- */

void cm__page_ranking(cm__ctx *ctx, FILE *out, const cm__page_report *p)
{
    if (p->n_networks) {
        totals(ctx, out, p, false);
        return;
    }
    const cm_ranking_info *info = p->ranking ? cm_ranking_get_info(p->ranking) : NULL;
    double     seq = info ? info->tokens_per_sample : cm_job_get_info(p->job)->tokens_per_sample;
    const bool there[] = {[ALWAYS] = true, [WITH_BASELINE] = info && info->baseline, [WITH_JOB] = p->job || info->job,
                          [WITH_TOKENS] = seq > 0, [WITH_PLAN] = p->job};
    cm__column columns[RANKING_COLUMNS];
    int32_t    of[RANKING_COLUMNS], count = 0;
    for (int32_t c = 0; c < RANKING_COLUMNS; c++) {
        if (!there[ranking_columns[c].when]) continue;
        columns[count] = ranking_columns[c].column;
        of[count++] = c;
    }
    cm__html_table_begin(ctx, out, "All candidates, best first", columns, count);
    for (int32_t i = 0; i < cm__page_entries(p); i++) {
        const char *all[RANKING_COLUMNS], *cells[RANKING_COLUMNS];
        int32_t     place = i < cm__page_placed(p) ? i + 1 : 0;
        ranking_cells(ctx, cm__page_entry(p, i), cm__page_job_entry(p, i), place, seq, all);
        for (int32_t c = 0; c < count; c++) cells[c] = all[of[c]];
        cm__html_row(ctx, out, columns, count, cells);
    }
    cm__html_table_end(out);
}

void cm__page_price(cm__ctx *ctx, FILE *out, const cm__page_report *p, bool only_pareto)
{
    static const cm__column columns[] = {{"device", NULL, false}, {"price", "USD/h", false},
                                         {"basis", NULL, false}, {"provider", NULL, false},
                                         {"date", NULL, false}, {"samples", "per USD", false},
                                         {"million samples", "h", false}, {"million samples", "USD", false}};
    if (p->n_networks) {
        if (only_pareto) totals(ctx, out, p, true);
        return;
    }
    cm__html_table_begin(ctx, out, only_pareto ? "No candidate is both faster and cheaper than these" : "Prices",
                         columns, COUNT(columns));
    for (int32_t i = 0; i < cm__page_placed(p); i++) {
        const cm_rank_entry *e = cm__page_entry(p, i);
        const cm_job_entry  *job = cm__page_job_entry(p, i);
        const char          *id = cm_device_get_info(e->device)->id;
        const char          *date = job ? job->price_date : e->price ? e->price->date : NULL;
        if (isnan(e->samples_per_usd) || (only_pareto && !e->pareto)) continue;
        if (job && job->n > 1) id = cm__format(ctx, "%s x%d", id, job->n);
        const char *cells[] = {id, number(ctx, e->price_hour), basis_of(e, job),
                               job || e->price ? provider_of(ctx, e, job) : "your own", date ? date : "-",
                               number(ctx, e->samples_per_usd),
                               number(ctx, 1e6 / e->prediction.throughput_samples_s / 3600),
                               number(ctx, 1e6 / e->samples_per_usd)};
        cm__html_row(ctx, out, columns, COUNT(columns), cells);
    }
    cm__html_table_end(out);
}

/* ---- details ---------------------------------------------------------------------------------------------------- */

void cm__page_memory(cm__ctx *ctx, FILE *out, const cm__page_report *p)
{
    cm__column columns[2 + CM_CATEGORIES] = {detail_column(p), {"total", "at the peak", false}};
    for (int c = 0; c < CM_CATEGORIES; c++)
        columns[2 + c] = (cm__column){cm__category_words((cm_category)c), "", false};
    cm__html_table_begin(ctx, out, "Memory by category", columns, COUNT(columns));
    for (int32_t i = 0; i < p->n_details; i++) {
        const char *cells[2 + CM_CATEGORIES] = {cm__page_detail_name(ctx, p, i), bytes(ctx, p->details[i]->use.peak_bytes)};
        for (int c = 0; c < CM_CATEGORIES; c++) cells[2 + c] = bytes(ctx, p->details[i]->use.categories[c]);
        cm__html_row(ctx, out, columns, COUNT(columns), cells);
    }
    cm__html_table_end(out);
}

void cm__page_levels(cm__ctx *ctx, FILE *out, const cm__page_report *p)
{
    const cm__column levels[] = {detail_column(p), {"memory", NULL, false}, {"used", "", false},
                                        {"capacity", "", false}};
    cm__html_table_begin(ctx, out, "Memory by level", levels, COUNT(levels));
    for (int32_t i = 0; i < p->n_details; i++)
        for (int32_t l = 0; l < p->details[i]->use.n_levels; l++) {
            const cm_level_use *use = &p->details[i]->use.levels[l];
            const cm_device    *device = p->details[i]->explain->sides[0]->device;
            const char *cells[] = {cm__page_detail_name(ctx, p, i), cm_device_memory(device, use->memory)->name,
                                   bytes(ctx, use->used_bytes), bytes(ctx, use->capacity_bytes)};
            cm__html_row(ctx, out, levels, COUNT(levels), cells);
        }
    cm__html_table_end(out);
}

void cm__page_batch(cm__ctx *ctx, FILE *out, const cm__page_report *p)
{
    static const cm__column columns[] = {{"device", NULL, false}, {"batch", "", false},
                                         {"throughput", "samples/s", false}, {"memory", "", false},
                                         {"fits", NULL, false}};
    cm__html_table_begin(ctx, out, "Throughput at batch sizes", columns, COUNT(columns));
    for (int32_t i = 0; i < p->n_details; i++)
        for (int32_t k = 0; k < p->details[i]->n_curve; k++) {
            const cm__batch_point *b = &p->details[i]->curve[k];
            const char *cells[] = {device_id(p->details[i]), cm__format(ctx, "%lld", (long long)b->batch),
                                   number(ctx, b->throughput_samples_s), bytes(ctx, b->peak_bytes),
                                   cm__fits_word(&b->chance)};
            cm__html_row(ctx, out, columns, COUNT(columns), cells);
        }
    cm__html_table_end(out);
}

void cm__page_scaling(cm__ctx *ctx, FILE *out, const cm__page_report *p)
{
    static const cm__column columns[] = {{"device", NULL, false}, {"devices", "", false}, {"batch", "", false},
                                         {"throughput", "samples/s", false}, {"efficiency", "%", false},
                                         {"communication", "% of a step", false}, {"", NULL, true}};
    cm__html_table_begin(ctx, out, "Throughput on more devices", columns, COUNT(columns));
    for (int32_t i = 0; i < p->n_details; i++) {
        const cm__detail *d = p->details[i];
        for (int32_t k = 0; k < d->n_scaling; k++) {
            const cm__scale_point *s = &d->scaling[k];
            const char *cells[] = {device_id(d), cm__format(ctx, "%d", s->info.devices),
                                   cm__format(ctx, "%lld", (long long)s->info.batch),
                                   number(ctx, s->info.throughput_samples_s), number(ctx, 100 * s->efficiency),
                                   number(ctx, 100 * s->lost[0]),
                                   k == d->n_scaling - 1 && d->scaling_ends ? d->scaling_ends : ""};
            cm__html_row(ctx, out, columns, COUNT(columns), cells);
        }
    }
    cm__html_table_end(out);
}

static bool same_text(const char *a, const char *b) { return strcmp(a ? a : "", b ? b : "") == 0; }

static bool same_place(const cm_job_entry *a, const cm_job_entry *b)
{
    return a->at.device == b->at.device && same_text(a->cluster, b->cluster) && same_text(a->provider, b->provider) &&
           same_text(a->instance, b->instance) && same_text(a->basis, b->basis);
}

void cm__page_counts(cm__ctx *ctx, FILE *out, const cm__page_report *p)
{
    static const cm__column columns[] = {{"device", NULL, false}, {"devices", "", false}, {"time", "h", false},
                                         {"90 % interval", "h", false}, {"cost", "USD", false},
                                         {"efficiency", "%", false}, {"plan", NULL, true}};
    const cm_job_entry *best = cm_job_get_entry(p->job, 0), *least = best;
    cm__html_table_begin(ctx, out, "The job on other numbers of devices", columns, COUNT(columns));
    for (int32_t k = 0; k < cm_job_entries(p->job); k++) {
        const cm_job_entry *e = cm_job_get_entry(p->job, k);
        if (same_place(e, best) && e->at.fits && e->n < least->n) least = e;
    }
    for (int32_t k = 0; k < cm_job_entries(p->job); k++) {
        const cm_job_entry *e = cm_job_get_entry(p->job, k);
        if (!same_place(e, best) || !e->at.fits) continue;
        const char *cells[] = {
            cm_device_get_info(e->at.device)->id, cm__format(ctx, "%d", e->n), number(ctx, e->at.hours),
            cm__format(ctx, "%s to %s", number(ctx, e->interval_s[0] / 3600),
                       number(ctx, e->interval_s[1] / 3600)),
            number(ctx, e->cost_usd),
            number(ctx, 100 * least->time_s * least->n / (e->time_s * e->n)),
            p->n_networks ? "each network has its own" : plan_words(ctx, &e->at.prediction.plan)};
        cm__html_row(ctx, out, columns, COUNT(columns), cells);
    }
    cm__html_table_end(out);
}

void cm__page_roof(cm__ctx *ctx, FILE *out, const cm__explain_report *r)
{
    static const cm__column columns[] = {{"operator", NULL, false}, {"phase", NULL, false}, {"time", "ms", false},
                                         {"intensity", "FLOP/B", false}, {"rate", "FLOP/s", false},
                                         {"bound by", NULL, false}, {"of ceiling", "%", false},
                                         {"estimated by", NULL, false}};
    cm__html_table_begin(ctx, out, "The longest operators", columns, COUNT(columns));
    for (int32_t i = 0; i < r->n_ops && i < TABLE_OPS; i++) {
        const cm__explain_op   *op = &r->ops[i];
        const cm__explain_side *s = &op->on[0];
        const char *cells[] = {op->name, cm_phase_name(op->phase), number(ctx, 1e3 * s->time_s),
                               number(ctx, s->intensity), number(ctx, s->flop / s->time_s),
                               s->memory_bound ? "memory" : "compute", number(ctx, 100 * s->of_ceiling),
                               cm_how_name(s->how)};
        cm__html_row(ctx, out, columns, COUNT(columns), cells);
    }
    cm__html_table_end(out);
}

void cm__page_step(cm__ctx *ctx, FILE *out, const cm__explain_report *r)
{
    static const cm__column columns[] = {{"operators", NULL, false}, {"phase", NULL, false}, {"time", "ms", false},
                                         {"at the ceiling", "ms", false}};
    cm__html_table_begin(ctx, out, "Where a step's time goes", columns, COUNT(columns));
    for (int32_t i = 0; i < r->n_kinds; i++) {
        const cm__explain_kind *k = &r->kinds[i];
        const char *cells[] = {k->type, cm_phase_name(k->phase), number(ctx, 1e3 * k->time_s[0]),
                               number(ctx, 1e3 * k->best_s[0])};
        cm__html_row(ctx, out, columns, COUNT(columns), cells);
    }
    cm__html_table_end(out);
}
