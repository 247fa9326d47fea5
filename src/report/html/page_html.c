/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_html.c - write a ranking as one self-contained HTML file.
 *
 * Every figure is a canvas; a table with the same numbers and the list of sources follow it. Without JavaScript the
 * canvases are hidden and the tables are open.
 */
#include <math.h>
#include <string.h>
#include "base/text.h"
#include "report/detail.h"
#include "report/json/json.h"
#include "report/html/page.h"

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
    cm__html_text(ctx, out, cm__page_device(d));
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

/* ---- one device ------------------------------------------------------------------------------------------------- */

static void device_figures(cm__ctx *ctx, FILE *out, const cm__detail *d, int32_t index)
{
    const cm_prediction_info *i = cm_prediction_get_info(d->explain->sides[0]->prediction);
    figure(ctx, out, cm__format(ctx, "roof-%d", index), cm__format(ctx, "Roofline of %s", cm__page_device(d)),
           cm__format(ctx, "Each mark is an operator at batch %lld; its size is its share of the step. Limited by %s.",
                      (long long)i->batch, d->explain->bottleneck), false);
    cm__page_roof(ctx, out, d->explain);
    sources(ctx, out, d);
    end_figure(out);
    figure(ctx, out, cm__format(ctx, "fall-%d", index), cm__format(ctx, "One step on %s", cm__page_device(d)),
           cm__format(ctx, "%.4g ms for %lld samples, by operator type.", 1e3 * i->step_time_s,
                      (long long)i->batch), true);
    cm__page_step(ctx, out, d->explain);
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

static void warnings(cm__ctx *ctx, FILE *out, const cm_graph *graph)
{
    for (int32_t i = 0; graph && i < cm_graph_warnings(graph); i++) {
        fputs("<p class=\"soft\">Warning: ", out);
        cm__html_text(ctx, out, cm_graph_warning(graph, i));
        fputs("</p>\n", out);
    }
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
    const cm_ranking_info *i = cm_ranking_get_info(p->ranking);
    fprintf(out, " on</h1><p class=\"soft\">By %s, each device at its best batch size%s. Prices: %s. Predicted by "
                 "centimani %s; every number has a 90 %% interval and sources.</p>\n",
            cm_objective_name(i->objective),
            i->tokens_per_sample > 0 ? cm__format(ctx, ", sequence length %.0f", i->tokens_per_sample) : "",
            cm_basis_name(p->asked->price_basis), CM_VERSION);
    warnings(ctx, out, cm_ranking_graph(p->ranking, 0));
}

static void answer(cm__ctx *ctx, FILE *out, const cm__page_report *p)
{
    const cm_ranking_info *i = cm_ranking_get_info(p->ranking);
    const cm_rank_entry   *best = cm_ranking_entry(p->ranking, 0);
    if (!cm_ranking_placed(p->ranking)) {
        fputs("<p class=\"answer\">No device could be ranked; the table gives the reasons.</p></header>"
              "<main id=\"main\">\n", out);
        return;
    }
    int32_t close = 0;
    for (int32_t k = 1; k < cm_ranking_placed(p->ranking); k++)
        close += cm_ranking_entry(p->ranking, k)->tied_with_best;
    fputs("<p class=\"answer\">", out);
    cm__html_text(ctx, out, cm__format(ctx, "%s: %s %s%s.", cm_device_get_info(best->device)->name,
                                       cm__page_number(ctx, best->value), cm_ranking_unit(p->ranking),
                                       i->job ? cm__format(ctx, " for %s", i->job) : ""));
    if (close)
        fprintf(out, " Too close to call: %d other devices may be better (90 %% interval).", close);
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
    figure(ctx, out, "ranking", "Ranking", "The best 24 devices. Whiskers: 90 % intervals; arrows: the interval "
           "extends beyond the figure. Paler bars: too close to call with a neighbour.", true);
    cm__page_ranking(ctx, out, p);
    all_sources(ctx, out, p);
    end_figure(out);
    figure(ctx, out, "price", "Price and performance", "Samples per US dollar.", true);
    cm__page_price(ctx, out, p, false);
    all_sources(ctx, out, p);
    end_figure(out);
    figure(ctx, out, "pareto", "Time and cost", "For a million samples. The line connects the devices that no other "
           "device beats in both.", false);
    cm__page_price(ctx, out, p, true);
    all_sources(ctx, out, p);
    end_figure(out);
    if (!p->n_details) return;
    figure(ctx, out, "memory", "Memory", "Memory at the peak by category, and the capacity of the device, at the batch "
           "size of the ranking, or for one micro-batch if the device divides the batch.", false);
    cm__page_memory(ctx, out, p);
    all_sources(ctx, out, p);
    end_figure(out);
    figure(ctx, out, "levels", "Memory by level", "Used part of each memory that the program manages. Above 100 %: the "
           "device recomputes activations instead of storing them.", false);
    cm__page_levels(ctx, out, p);
    all_sources(ctx, out, p);
    end_figure(out);
    figure(ctx, out, "batch", "Throughput and batch size", "Batch sizes up to the first that does not fit into memory.",
           false);
    cm__page_batch(ctx, out, p);
    all_sources(ctx, out, p);
    end_figure(out);
    figure(ctx, out, "scaling", "Throughput on more devices", "Data parallel, each replica with the batch size of the "
           "ranking, as far as the interconnect is known. Dashed: linear scaling.", false);
    cm__page_scaling(ctx, out, p);
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
    fputs("</main><footer><p class=\"soft\">Made offline by <code>centimani report</code>; this file is "
          "self-contained.</p></footer>\n", out);
    cm__html_data(ctx, out, data_of(ctx, p));
    file_into(out, "<script>", "chart.js", "</script>\n");
    file_into(out, "<script>", "charts.js", "</script>\n");
    file_into(out, "<script>", "report.js", "</script>\n");
    fputs("</body></html>\n", out);
    cm__ctx_free(ctx);
    return CM_OK;
}
