/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_html.c - a report as one HTML file that needs nothing else.
 *
 * Every figure is a canvas with the same numbers as a table under it, and the sources under that. Without JavaScript
 * the canvases are not shown and the tables are open.
 */
#include <math.h>
#include <string.h>
#include "base/text.h"
#include "report/detail.h"
#include "report/html.h"
#include "report/json.h"

#define TABLE_OPS 15
#define COUNT(array) ((int32_t)(sizeof(array) / sizeof *(array)))

static const char *number(cm__ctx *ctx, double value)
{
    char buf[32];
    if (isnan(value)) return "-";
    if (isinf(value)) return "never";
    if (fabs(value) >= 99999.5) return cm__text_copy(ctx, cm__si(buf, sizeof buf, value));
    return cm__format(ctx, "%.*f", fabs(value) < 9.995 ? 2 : fabs(value) < 99.95 ? 1 : 0, value);
}

static const char *bytes(cm__ctx *ctx, double value)
{
    char buf[32];
    return isnan(value) ? "-" : cm__format(ctx, "%sB", cm__binary(buf, sizeof buf, value));
}

static const char *device_id(const cm__detail *d) { return cm_device_get_info(d->explain->sides[0]->device)->id; }

/* ---- figures ---------------------------------------------------------------------------------------------------- */

static void figure(cm__ctx *ctx, FILE *out, const char *id, const char *title, const char *words, bool tall)
{
    fprintf(out, "<section aria-labelledby=\"h-%s\"><h2 id=\"h-%s\">", id, id);
    cm__html_text(ctx, out, title);
    fputs("</h2><p class=\"soft\">", out);
    cm__html_text(ctx, out, words);
    fprintf(out, "</p><div class=\"chart%s\"><canvas id=\"c-%s\" role=\"img\" aria-label=\"", tall ? " tall" : "", id);
    cm__html_text(ctx, out, title);
    fputs(". The table below holds the numbers.\"></canvas></div>\n<details class=\"table\" open><summary>Numbers"
          "</summary>\n", out);
}

static void end_figure(FILE *out) { fputs("</details></section>\n", out); }

static void sources(cm__ctx *ctx, FILE *out, const cm__detail *d)
{
    fputs("<p class=\"soft\">Sources of ", out);
    cm__html_text(ctx, out, device_id(d));
    fputs(":</p><ul class=\"sources\">", out);
    for (int32_t i = 0; i < d->n_sources; i++) {
        const cm_source *s = d->sources[i];
        fputs("<li>", out);
        cm__html_text(ctx, out, s->title ? s->title : s->key);
        if (s->where) fputs(". ", out), cm__html_text(ctx, out, s->where);
        if (s->date) fputs(", ", out), cm__html_text(ctx, out, s->date);
        fputs("</li>", out);
    }
    fputs("</ul>\n", out);
}

static void all_sources(cm__ctx *ctx, FILE *out, const cm__page_report *p)
{
    fputs("<details><summary>Sources</summary>\n", out);
    for (int32_t i = 0; i < p->n_details; i++) sources(ctx, out, p->details[i]);
    fputs("</details>\n", out);
}

/* ---- the ranking ------------------------------------------------------------------------------------------------ */

static void ranking_table(cm__ctx *ctx, FILE *out, const cm__page_report *p)
{
    static const cm__column columns[] = {
        {"device", NULL, false}, {"place", "", false}, {"batch", "", false}, {"throughput", "samples/s", false},
        {"nine of ten in", "samples/s", false}, {"beside the baseline", "times", false}, {"price", "USD/h", false},
        {"samples", "per USD", false}, {"energy", "J/sample", false}, {"time", "h", false}, {"cost", "USD", false},
        {"memory", "B", false}, {"", NULL, true}};
    cm__html_table_begin(ctx, out, "All devices, best first", columns, COUNT(columns));
    for (int32_t i = 0; i < cm_ranking_entries(p->ranking); i++) {
        const cm_rank_entry      *e = cm_ranking_entry(p->ranking, i);
        const cm_prediction_info *t = &e->prediction;
        bool                      placed = i < cm_ranking_placed(p->ranking);
        const char *cells[] = {
            t->devices > 1 ? cm__format(ctx, "%s x%d", cm_device_get_info(e->device)->id, t->devices)
                           : cm_device_get_info(e->device)->id,
            placed ? cm__format(ctx, "%d", i + 1) : "-",
            e->fits ? cm__format(ctx, "%lld", (long long)t->batch) : "-",
            e->fits ? number(ctx, t->throughput_samples_s) : "-",
            e->fits ? cm__format(ctx, "%s to %s", number(ctx, (double)t->batch / t->interval_s[1]),
                                 number(ctx, (double)t->batch / t->interval_s[0])) : "-",
            number(ctx, e->relative), number(ctx, e->price_hour), number(ctx, e->samples_per_usd),
            number(ctx, e->energy_j_per_sample), number(ctx, e->hours), number(ctx, e->usd), bytes(ctx, e->peak_bytes),
            e->reason ? e->reason : e->tied_with_next ? "too close to call with the next" : e->pareto
                                  ? "nothing is both faster and cheaper" : ""};
        cm__html_row(ctx, out, columns, COUNT(columns), cells);
    }
    cm__html_table_end(out);
}

static void price_table(cm__ctx *ctx, FILE *out, const cm__page_report *p, bool only_pareto)
{
    static const cm__column columns[] = {{"device", NULL, false}, {"price", "USD/h", false}, {"of", NULL, false},
                                         {"seen", NULL, false}, {"samples", "per USD", false},
                                         {"million samples", "h", false}, {"million samples", "USD", false}};
    cm__html_table_begin(ctx, out, only_pareto ? "Nothing is both faster and cheaper than these" : "Prices",
                         columns, COUNT(columns));
    for (int32_t i = 0; i < cm_ranking_placed(p->ranking); i++) {
        const cm_rank_entry *e = cm_ranking_entry(p->ranking, i);
        if (isnan(e->samples_per_usd) || (only_pareto && !e->pareto)) continue;
        const char *cells[] = {cm_device_get_info(e->device)->id, number(ctx, e->price_hour),
                               e->price ? e->price->provider : "told by you",
                               e->price && e->price->date ? e->price->date : "-", number(ctx, e->samples_per_usd),
                               number(ctx, 1e6 / e->prediction.throughput_samples_s / 3600),
                               number(ctx, 1e6 / e->samples_per_usd)};
        cm__html_row(ctx, out, columns, COUNT(columns), cells);
    }
    cm__html_table_end(out);
}

/* ---- details ---------------------------------------------------------------------------------------------------- */

static void memory_tables(cm__ctx *ctx, FILE *out, const cm__page_report *p)
{
    cm__column columns[2 + CM_CATEGORIES] = {{"device", NULL, false}, {"all", "at the peak", false}};
    for (int c = 0; c < CM_CATEGORIES; c++)
        columns[2 + c] = (cm__column){cm_category_name((cm_category)c), "", false};
    cm__html_table_begin(ctx, out, "Memory by category", columns, COUNT(columns));
    for (int32_t i = 0; i < p->n_details; i++) {
        const char *cells[2 + CM_CATEGORIES] = {device_id(p->details[i]), bytes(ctx, p->details[i]->use.peak_bytes)};
        for (int c = 0; c < CM_CATEGORIES; c++) cells[2 + c] = bytes(ctx, p->details[i]->use.categories[c]);
        cm__html_row(ctx, out, columns, COUNT(columns), cells);
    }
    cm__html_table_end(out);
    static const cm__column levels[] = {{"device", NULL, false}, {"memory", NULL, false}, {"used", "", false},
                                        {"there", "", false}};
    cm__html_table_begin(ctx, out, "Memory by level", levels, COUNT(levels));
    for (int32_t i = 0; i < p->n_details; i++)
        for (int32_t l = 0; l < p->details[i]->use.n_levels; l++) {
            const cm_level_use *use = &p->details[i]->use.levels[l];
            const cm_device    *device = p->details[i]->explain->sides[0]->device;
            const char *cells[] = {device_id(p->details[i]), cm_device_memory(device, use->memory)->name,
                                   bytes(ctx, use->used_bytes), bytes(ctx, use->capacity_bytes)};
            cm__html_row(ctx, out, levels, COUNT(levels), cells);
        }
    cm__html_table_end(out);
}

static void batch_table(cm__ctx *ctx, FILE *out, const cm__page_report *p)
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
                                   b->fits ? "yes" : "no"};
            cm__html_row(ctx, out, columns, COUNT(columns), cells);
        }
    cm__html_table_end(out);
}

static void roof_table(cm__ctx *ctx, FILE *out, const cm__explain_report *r)
{
    static const cm__column columns[] = {{"operator", NULL, false}, {"phase", NULL, false}, {"time", "ms", false},
                                         {"intensity", "FLOP/B", false}, {"rate", "FLOP/s", false},
                                         {"bound by", NULL, false}, {"of ceiling", "%", false}, {"found", NULL, false}};
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

static void step_table(cm__ctx *ctx, FILE *out, const cm__explain_report *r)
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

static void device_figures(cm__ctx *ctx, FILE *out, const cm__detail *d, int32_t index)
{
    const cm_prediction_info *i = cm_prediction_get_info(d->explain->sides[0]->prediction);
    figure(ctx, out, cm__format(ctx, "roof-%d", index), cm__format(ctx, "Roofline of %s", device_id(d)),
           cm__format(ctx, "Each mark is an operator at batch %lld; its size is its share of the step. Limited by %s.",
                      (long long)i->batch, d->explain->bottleneck), false);
    roof_table(ctx, out, d->explain);
    sources(ctx, out, d);
    end_figure(out);
    figure(ctx, out, cm__format(ctx, "fall-%d", index), cm__format(ctx, "One step on %s", device_id(d)),
           cm__format(ctx, "%.4g ms for %lld samples, kind of operator by kind.", 1e3 * i->step_time_s,
                      (long long)i->batch), true);
    step_table(ctx, out, d->explain);
    sources(ctx, out, d);
    end_figure(out);
}

/* ---- the page --------------------------------------------------------------------------------------------------- */

static void file_into(FILE *out, const char *open, const char *name, const char *close)
{
    const cm__web_file *f = cm__web_file_named(name);
    if (!f || !f->size) return;
    fputs(open, out);
    fwrite(f->text, 1, f->size, out);
    fputs(close, out);
}

static void head(cm__ctx *ctx, FILE *out, const cm__page_report *p)
{
    fputs("<!DOCTYPE html>\n<html lang=\"en\" class=\"no-script\"><head><meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
          "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
          "script-src 'unsafe-inline'; img-src data:\">\n<title>", out);
    cm__html_text(ctx, out, p->model);
    fputs(": which accelerator</title>\n", out);
    file_into(out, "<style>", "style.css", "</style>\n");
    fputs("</head><body><a class=\"skip\" href=\"#main\">To the figures</a><header>\n<h1>Which accelerator to train ",
          out);
    cm__html_text(ctx, out, p->model);
    fprintf(out, " on</h1><p class=\"soft\">By %s, each device at its best batch size. Predicted by centimani %s; "
                 "every number with its interval, in which nine of ten measured values are expected, and its "
                 "sources.</p>\n",
            cm_goal_name(cm_ranking_get_info(p->ranking)->goal), CM_VERSION);
}

static void answer(cm__ctx *ctx, FILE *out, const cm__page_report *p)
{
    const cm_ranking_info *i = cm_ranking_get_info(p->ranking);
    const cm_rank_entry   *best = cm_ranking_entry(p->ranking, 0);
    if (!cm_ranking_placed(p->ranking)) {
        fputs("<p class=\"answer\">No device has a place; the table says why.</p></header><main id=\"main\">\n", out);
        return;
    }
    int32_t close = 0;
    while (close + 1 < cm_ranking_placed(p->ranking) &&
           cm_ranking_entry(p->ranking, close + 1)->interval[0] <= best->interval[1] &&
           best->interval[0] <= cm_ranking_entry(p->ranking, close + 1)->interval[1])
        close++;
    fputs("<p class=\"answer\">", out);
    cm__html_text(ctx, out, cm__format(ctx, "%s: %s %s%s.", cm_device_get_info(best->device)->name,
                                       number(ctx, best->value), cm_goal_unit(i->goal),
                                       i->job ? cm__format(ctx, " for %s", i->job) : ""));
    if (close)
        fprintf(out, " Too close to call: the intervals of the next %d overlap its own.", close);
    fputs("</p></header><main id=\"main\">\n", out);
}

static json_t *data_of(cm__ctx *ctx, const cm__page_report *p)
{
    json_t         *data = cm__json_answer(ctx, "report");
    cm__rank_report rank = {.model = p->model, .asked = p->asked, .ranking = p->ranking};
    cm__rank_json_fill(ctx, cm__json_set(ctx, data, "rank", json_object()), &rank);
    json_t *details = cm__json_set(ctx, data, "details", json_array());
    for (int32_t i = 0; i < p->n_details; i++)
        cm__detail_json_fill(ctx, cm__json_append(ctx, details, json_object()), p->details[i]);
    return data;
}

static void figures(cm__ctx *ctx, FILE *out, const cm__page_report *p)
{
    figure(ctx, out, "ranking", "Ranking", "The best 24. Whiskers: nine of ten measured values are expected within. "
           "Paler bars overlap a neighbour's: too close to call.", true);
    ranking_table(ctx, out, p);
    all_sources(ctx, out, p);
    end_figure(out);
    figure(ctx, out, "price", "Price and performance", "Samples that a dollar buys.", true);
    price_table(ctx, out, p, false);
    all_sources(ctx, out, p);
    end_figure(out);
    figure(ctx, out, "pareto", "Time against money", "For a million samples; the line joins those that nothing else "
           "beats in both.", false);
    price_table(ctx, out, p, true);
    all_sources(ctx, out, p);
    end_figure(out);
    if (!p->n_details) return;
    figure(ctx, out, "memory", "Memory", "At the batch size of the ranking, by what it is for, beside what there is.",
           false);
    memory_tables(ctx, out, p);
    all_sources(ctx, out, p);
    end_figure(out);
    figure(ctx, out, "batch", "Throughput against batch size", "As far as memory goes.", false);
    batch_table(ctx, out, p);
    all_sources(ctx, out, p);
    end_figure(out);
    for (int32_t i = 0; i < p->n_details; i++) device_figures(ctx, out, p->details[i], i);
}

cm_status cm__page_report_print(const cm__page_report *p, FILE *out, cm_diag *diag)
{
    cm__ctx *ctx = cm__ctx_new(diag);
    if (!ctx) return CM_ERR_MEMORY;
    if (setjmp(ctx->trap)) return cm__ctx_abandon(ctx);
    head(ctx, out, p);
    answer(ctx, out, p);
    figures(ctx, out, p);
    fputs("</main><footer><p class=\"soft\">Made offline by <code>centimani report</code>; this file needs nothing "
          "else.</p></footer>\n", out);
    cm__html_data(ctx, out, data_of(ctx, p));
    file_into(out, "<script>", "chart.js", "</script>\n");
    file_into(out, "<script>", "charts.js", "</script>\n");
    file_into(out, "<script>", "report.js", "</script>\n");
    fputs("</body></html>\n", out);
    cm__ctx_free(ctx);
    return CM_OK;
}
