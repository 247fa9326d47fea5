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

/* A heading, a sentence and a canvas. Open sections end with end_figure() or end_section(). */
static void section(cm__ctx *ctx, FILE *out, const char *id, const char *title, const char *words)
{
    fprintf(out, "<section aria-labelledby=\"h-%s\"><h2 id=\"h-%s\">", id, id);
    cm__html_text(ctx, out, title);
    fputs("</h2><p class=\"soft\">", out);
    cm__html_text(ctx, out, words);
    fputs("</p>", out);
}

static void canvas(cm__ctx *ctx, FILE *out, const char *id, const char *label)
{
    fprintf(out, "<div class=\"chart\"><canvas id=\"c-%s\" role=\"img\" aria-label=\"", id);
    cm__html_text(ctx, out, label);
    fputs("\"></canvas></div>\n", out);
}

static void numbers(FILE *out) { fputs("<details class=\"table\" open><summary>Numbers</summary>\n", out); }
static void end_numbers(FILE *out) { fputs("</details>\n", out); }
static void end_section(FILE *out) { fputs("</section>\n", out); }

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

/* ---- sections --------------------------------------------------------------------------------------------------- */

static void prices(cm__ctx *ctx, FILE *out, const cm__page_report *p)
{
    cm__page_price(ctx, out, p, true);
    cm__page_price(ctx, out, p, false);
}

/* The sections about all candidates; the ones about single devices follow. */
static const struct {
    const char *id, *title, *words;
    void (*table)(cm__ctx *ctx, FILE *out, const cm__page_report *page);
    bool of_details; /* about the devices that the report has details of */
} sections[] = {
    {"ranking", "Candidates", "Dot: prediction. Bar: 90 % interval, which 90 % of measured values are expected in. "
     "Logarithmic axis; the best 40.", cm__page_ranking, false},
    {"pareto", "Time against money", "The job, or a million samples if none is given. Diamonds: no other candidate is "
     "both faster and cheaper.", prices, false},
    {"memory", "Memory",
     "Memory at the peak by category, and what is free, at the batch size of the ranking, or for one "
     "micro-batch if the device divides the batch.", cm__page_memory, true},
    {"levels", "Memory by level",
     "Used part of each memory that the program manages. Above 100 %: the device recomputes "
     "activations instead of storing them.", cm__page_levels, true},
    {"scaling", "On more devices",
     "Data parallel, as far as the interconnect is known: each replica with the batch size "
     "of the ranking, or the same global batch if the ranking has plans. Dashed: linear scaling.", cm__page_scaling,
     true},
    {"counts", "Numbers of devices",
     "The job on other numbers of devices at the place of the best candidate, each with its best "
     "plan. Dashed: linear scaling.", cm__page_counts, true},
    {"batch", "Batch size", "Throughput at batch sizes up to the first that does not fit into memory.", cm__page_batch,
     true},
};
#define SECTIONS (sizeof sections / sizeof *sections)

static bool has_prices(const cm__page_report *p)
{
    for (int32_t i = 0; i < cm__page_placed(p); i++)
        if (!isnan(p->n_networks ? cm__page_entry(p, i)->usd : cm__page_entry(p, i)->samples_per_usd)) return true;
    return false;
}

/* Plans fix the batch size, so a job has no curve over batch sizes, and one of its own over numbers of devices. */
static bool has_section(const cm__page_report *p, size_t i)
{
    if (sections[i].of_details && !p->n_details) return false;
    if (sections[i].table == cm__page_counts) return p->job != NULL;
    if (sections[i].table == prices) return has_prices(p);
    return !(p->job || p->mix) || (sections[i].table != cm__page_batch && sections[i].table != cm__page_scaling);
}

static const char *device_section(cm__ctx *ctx, int32_t index) { return cm__format(ctx, "device-%d", index); }

static const char *device_title(cm__ctx *ctx, const cm__page_report *p, int32_t index)
{
    const cm__detail *d = p->details[index];
    int32_t devices = cm_prediction_get_info(d->explain->sides[0]->prediction)->plan.devices;
    const char *of = p->n_networks ? cm__format(ctx, " of %s", cm__page_detail_name(ctx, p, index)) : "";
    return cm__format(ctx, "One step%s on %s%s", of, devices > 1 ? cm__format(ctx, "%d x ", devices) : "",
                      cm_device_get_info(d->explain->sides[0]->device)->name);
}

static void contents(cm__ctx *ctx, FILE *out, const cm__page_report *p)
{
    fputs("<nav class=\"contents\" aria-label=\"Contents\"><ol>\n", out);
    for (size_t i = 0; i < SECTIONS; i++)
        if (has_section(p, i))
            fprintf(out, "<li><a href=\"#h-%s\">%s</a></li>\n", sections[i].id, sections[i].title);
    for (int32_t i = 0; i < p->n_details; i++) {
        fprintf(out, "<li><a href=\"#h-%s\">", device_section(ctx, i));
        cm__html_text(ctx, out, device_title(ctx, p, i));
        fputs("</a></li>\n", out);
    }
    fputs("</ol></nav>\n", out);
}

/* ---- one device ------------------------------------------------------------------------------------------------- */

static void subsection(cm__ctx *ctx, FILE *out, const char *id, const char *title, const char *words)
{
    fprintf(out, "<h3>%s</h3><p class=\"soft\">%s</p>", title, words);
    canvas(ctx, out, id, cm__format(ctx, "%s. %s", title, words));
}

static void device_figures(cm__ctx *ctx, FILE *out, const cm__page_report *p, int32_t index)
{
    const cm__detail         *d = p->details[index];
    const cm_prediction_info *i = cm_prediction_get_info(d->explain->sides[0]->prediction);
    section(ctx, out, device_section(ctx, index), device_title(ctx, p, index),
            cm__format(ctx, "%.4g ms for %lld samples (90 %% interval %.4g to %.4g ms). Limited by %s.",
                       1e3 * i->step_time_s, (long long)i->batch, 1e3 * i->interval_s[0], 1e3 * i->interval_s[1],
                       d->explain->bottleneck));
    subsection(ctx, out, cm__format(ctx, "fall-%d", index), "Waterfall",
               "By operator type; each part starts where the previous one ends.");
    numbers(out);
    cm__page_step(ctx, out, d->explain);
    end_numbers(out);
    subsection(ctx, out, cm__format(ctx, "time-%d", index), "Timeline",
               "Host, device and network during the step.");
    subsection(ctx, out, cm__format(ctx, "roof-%d", index), "Roofline",
               "Each mark is an operator; its area is its share of the step.");
    numbers(out);
    cm__page_roof(ctx, out, d->explain);
    end_numbers(out);
    fputs("<details class=\"table\" open><summary>Sources</summary>\n", out);
    sources(ctx, out, d);
    end_numbers(out);
    end_section(out);
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
    fputs(": where to train it</title>\n", out);
    file_into(out, "<style>", "style.css", "</style>\n");
    fputs("</head><body><a class=\"skip\" href=\"#main\">To the figures</a><header class=\"top\">\n"
          "<h1>Where to train ", out);
    cm__html_text(ctx, out, p->model);
    const cm_ranking_info *i = p->ranking ? cm_ranking_get_info(p->ranking) : NULL;
    double      seq = p->n_networks ? 0 : i ? i->tokens_per_sample : cm_job_get_info(p->job)->tokens_per_sample;
    const char *who = "each device at its best batch size";
    if (p->job && p->job_asked->max_devices > 1)
        who = cm__format(ctx, "the best parallel plan on up to %d devices", p->job_asked->max_devices);
    else if (p->job) who = "one device";
    fprintf(out, "</h1><p class=\"soft\">By %s, %s%s. Prices: %s. Predicted by centimani %s; every number has a 90 %% "
                 "interval and sources.</p>\n",
                 cm_objective_name(i ? i->objective : p->mix ? cm_mix_objective(p->mix) : cm_job_get_info(p->job)->objective),
            who, seq > 0 ? cm__format(ctx, ", sequence length %.0f", seq) : "", cm_basis_name(p->asked->price_basis),
            CM_VERSION);
    for (int32_t k = 0; k < cm__page_graphs(p); k++) warnings(ctx, out, cm__page_graph(p, k));
}

static const char *unit_of(const cm__page_report *p)
{
    return p->job ? cm__job_unit(p->job) : p->mix ? cm__mix_unit(p->mix) : cm_ranking_unit(p->ranking);
}

/* "in 11 h for 13.76 USD" if there is a job, otherwise the value that the ranking is by. */
static const char *achieved(cm__ctx *ctx, const cm__page_report *p, const cm_rank_entry *e)
{
    const char *job = p->job   ? cm_job_get_info(p->job)->text
                      : p->mix ? cm__format(ctx, "%d networks", p->n_networks)
                               : cm_ranking_get_info(p->ranking)->job;
    if (!job || isnan(e->hours)) return cm__format(ctx, " at %s %s", cm__page_number(ctx, e->value), unit_of(p));
    return cm__format(ctx, " in %s h%s (%s)", cm__page_number(ctx, e->hours),
                      isnan(e->usd) ? "" : cm__format(ctx, " for %s USD", cm__page_number(ctx, e->usd)), job);
}

static const char *place_of(cm__ctx *ctx, const cm_job_entry *job)
{
    if (job && job->provider) return cm__format(ctx, " at %s", job->provider);
    return job && job->cluster && !strchr(job->cluster, '=') ? cm__format(ctx, " on %s", job->cluster) : "";
}

static void answer(cm__ctx *ctx, FILE *out, const cm__page_report *p)
{
    if (!cm__page_placed(p)) {
        fputs("<p class=\"answer\">Nothing meets the limits; the table gives the reasons.</p>\n", out);
        return;
    }
    const cm_rank_entry *best = cm__page_entry(p, 0);
    const cm_job_entry  *job = cm__page_job_entry(p, 0);
    bool                 many = job && job->n > 1;
    int32_t              close = 0;
    for (int32_t k = 1; k < cm__page_placed(p); k++) close += cm__page_entry(p, k)->tied_with_best;
    fputs("<p class=\"answer\">", out);
    cm__html_text(ctx, out, cm__format(ctx, "%s%s%s %s %s%s. 90 %% interval %s to %s %s.",
                                       many ? cm__format(ctx, "%d x ", job->n) : "",
                                       cm_device_get_info(best->device)->name,
                                       place_of(ctx, job),
                                       many ? "train" : "trains", p->model, achieved(ctx, p, best),
                                       cm__page_number(ctx, best->interval[0]), cm__page_number(ctx, best->interval[1]),
                                       unit_of(p)));
    if (close)
        fprintf(out, " Too close to call: the %s of %d other candidate%s overlap%s it.",
                close > 1 ? "intervals" : "interval", close, close > 1 ? "s" : "", close > 1 ? "" : "s");
    const char *place = job ? cm__place_sentence(ctx, job) : NULL;
    if (place) cm__html_text(ctx, out, cm__format(ctx, " %s", place));
    fputs("</p>\n", out);
}

static json_t *data_of(cm__ctx *ctx, const cm__page_report *p)
{
    json_t         *data = cm__json_answer(ctx, "report");
    cm__rank_report rank = {.model = p->model, .asked = p->asked, .ranking = p->ranking};
    cm__job_report  job = {.asked = p->job_asked, .job = p->job};
    json_t         *ranking = cm__json_set(ctx, data, "rank", json_object());
    cm__mix_report  mix = {.models = p->model, .asked = p->asked, .mix = p->mix};
    if (p->job) cm__job_json_fill(ctx, ranking, &job);
    else if (p->mix) cm__mix_json_fill(ctx, ranking, &mix);
    else cm__rank_json_fill(ctx, ranking, &rank);
    json_t *details = cm__json_set(ctx, data, "details", json_array());
    for (int32_t i = 0; i < p->n_details; i++) {
        json_t *detail = cm__json_append(ctx, details, json_object());
        cm__detail_json_fill(ctx, detail, p->details[i]);
        if (p->n_networks) cm__json_set(ctx, detail, "network", cm__json_text(ctx, p->networks[i].model));
    }
    return data;
}

static void figures(cm__ctx *ctx, FILE *out, const cm__page_report *p)
{
    for (size_t i = 0; i < SECTIONS; i++) {
        if (!has_section(p, i)) continue;
        section(ctx, out, sections[i].id, sections[i].title, sections[i].words);
        canvas(ctx, out, sections[i].id, cm__format(ctx, "%s. The table below has the numbers.", sections[i].title));
        numbers(out);
        sections[i].table(ctx, out, p);
        all_sources(ctx, out, p);
        end_numbers(out);
        end_section(out);
    }
    for (int32_t i = 0; i < p->n_details; i++) device_figures(ctx, out, p, i);
}

cm_status cm__page_report_print(const cm__page_report *p, FILE *out, cm_diag *diag)
{
    cm__ctx *ctx = cm__ctx_new(diag);
    if (!ctx) return CM_ERR_MEMORY;
    if (setjmp(ctx->trap)) return cm__ctx_abandon(ctx);
    head(ctx, out, p);
    answer(ctx, out, p);
    contents(ctx, out, p);
    fputs("</header><main id=\"main\">\n", out);
    figures(ctx, out, p);
    fputs("</main><footer><p class=\"soft\">Made offline by <code>centimani report</code>; this file is "
          "self-contained.</p></footer>\n", out);
    cm__html_data(ctx, out, data_of(ctx, p));
    static const char *const scripts[] = {"chart.js", "format.js", "charts.js", "figures.js", "step_figures.js",
                                          "report.js"};
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++)
        file_into(out, "<script>", scripts[i], "</script>\n");
    fputs("</body></html>\n", out);
    cm__ctx_free(ctx);
    return CM_OK;
}
