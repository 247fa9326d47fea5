/* SPDX-License-Identifier: Apache-2.0 */
/* validate.c - write a comparison with published results as one self-contained HTML page. */
#include <math.h>
#include <string.h>
#include "report/render.h"

static const char head[] =
    "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
    "<title>Centimani: predictions compared with published results</title>\n"
    "<style>\n"
    "body{font:14px/1.45 system-ui,sans-serif;max-width:76em;margin:2em auto;padding:0 1em;color:#222;"
    "background:#fff}\n"
    "table{border-collapse:collapse;margin:.6em 0 1.4em;font-variant-numeric:tabular-nums}\n"
    "th,td{padding:.15em .7em;border-bottom:1px solid #ddd;text-align:right;vertical-align:top}\n"
    "th:first-child,td.w{text-align:left}td.out{color:#a00}tr.fitted{color:#888}\n"
    "details{margin:.3em 0}summary{cursor:pointer}.note{color:#555;max-width:60em}\n"
    "@media(prefers-color-scheme:dark){body{background:#161616;color:#ddd}th,td{border-color:#333}td.out{color:#f88}}\n"
    "</style>\n<h1>Predictions compared with published results</h1>\n";

static void text(FILE *out, const char *s)
{
    static const char *const entities[256] = {['<'] = "&lt;", ['>'] = "&gt;", ['&'] = "&amp;", ['"'] = "&quot;"};
    for (; s && *s; s++) {
        const char *entity = entities[(unsigned char)*s];
        if (entity) fputs(entity, out);
        else putc(*s, out);
    }
}

static void words(FILE *out, const char *s)
{
    fputs("<td class=w>", out);
    text(out, s);
}

static void percent(FILE *out, double part)
{
    if (isnan(part)) fputs("<td>", out);
    else fprintf(out, "<td>%.1f", 100 * part);
}

static void figure(FILE *out, double value)
{
    if (isnan(value)) fputs("<td>", out);
    else fprintf(out, "<td>%.5g", value);
}

static void sums(FILE *out, const cm_validation_summary *s)
{
    fprintf(out, "<td>%d", s->n);
    figure(out, s->median_factor);
    fprintf(out, "<td>%d", s->within_two);
    percent(out, s->mape);
    percent(out, s->accuracy);
    percent(out, s->bias);
    percent(out, s->p90);
    percent(out, s->worst);
    fprintf(out, "<td>%d/%d", s->inside, s->intervals);
    percent(out, s->top1);
    percent(out, s->regret);
    figure(out, s->tau);
    fprintf(out, "<td>%d/%d<td>%d<td>%d\n", s->pairs_right, s->pairs, s->false_oom, s->missed_oom);
}

static const char sum_heads[] = "<th>n<th>median factor<th>within 2<th>error %<th>accuracy %<th>bias %<th>p90 %"
                                "<th>worst %<th>in 90 %"
                                "<th>best chosen %<th>regret %<th>tau<th>orders<th>false OOM<th>missed OOM\n";

static void summary_table(const cm_validation *v, FILE *out)
{
    fprintf(out, "<table><tr><th>predictor%s", sum_heads);
    for (int32_t p = 0; p < cm_validation_summaries(v); p++) {
        const cm_validation_summary *s = cm_validation_get_summary(v, p);
        fputs("<tr>", out);
        words(out, s->predictor);
        sums(out, s);
    }
    for (int32_t i = 0; i < cm_validation_device_summaries(v); i += cm_validation_summaries(v)) {
        const cm_validation_summary *s = cm_validation_device_summary(v, i);
        if (!s->n) continue;
        fputs("<tr>", out);
        words(out, s->device);
        sums(out, s);
    }
    fputs("</table>\n", out);
}

static void row(const cm_validation *v, const cm_validation_row *r, FILE *out)
{
    bool outside = r->measured < r->interval[0] || r->measured > r->interval[1];
    fprintf(out, "<tr%s>", r->evidence > CM_EVIDENCE_FIRST_SIGHT ? " class=fitted" : "");
    words(out, r->where);
    words(out, r->model);
    words(out, r->device);
    fprintf(out, "<td>%d", r->devices);
    words(out, r->setting);
    words(out, r->unit);
    figure(out, r->measured);
    fputs(outside ? "<td class=out>" : "<td>", out);
    if (!isnan(r->predicted[0])) fprintf(out, "%.5g", r->predicted[0]);
    for (int32_t p = 0; p < cm_validation_summaries(v); p++)
        percent(out, r->kind == CM_ROW_FIGURE ? r->predicted[p] / r->measured - 1 : NAN);
    words(out, cm_evidence_name(r->evidence));
    words(out, r->reason ? r->reason : r->note ? r->note : "");
    putc('\n', out);
}

static void one_set(cm__ctx *ctx, const cm_validation *v, FILE *out)
{
    cm_validation_info info = cm_validation_get_info(v);
    fprintf(out, "<h2 id=\"%s\">%s</h2>\n<p>", info.set, info.set);
    text(out, info.title);
    fputs(". Source: ", out);
    text(out, info.where);
    fputs("\n", out);
    summary_table(v, out);
    fputs("<details><summary>rows</summary><table><tr><th>where<th>model<th>device<th>n<th>run<th>of<th>measured"
          "<th>predicted", out);
    for (int32_t p = 0; p < cm_validation_summaries(v); p++) {
        fputs("<th>", out);
        text(out, cm_validation_get_summary(v, p)->predictor);
        fputs(" error %", out);
    }
    fputs("<th>evidence<th>why\n", out);
    for (int32_t i = 0; i < cm_validation_rows(v); i++) row(v, cm_validation_get_row(v, i), out);
    fputs("</table></details>\n", out);
    for (int32_t i = 0; i < cm_validation_notes(v); i++) {
        fputs("<p class=note>", out);
        text(out, cm__printable(ctx, cm_validation_note(v, i)));
        putc('\n', out);
    }
}

void cm__validate_html(cm__ctx *ctx, const cm_scoreboard *b, FILE *out)
{
    fputs(head, out);
    fprintf(out, "<p>centimani %s. Errors are predicted / measured &minus; 1. Rows that a profile was fitted to, "
                 "look-ups and siblings are grey and not counted; a refusal of what ran counts as 100 %%. If a profile "
                 "was fitted to other rows of a model, its rows are predicted by a profile fitted "
                 "without that model.\n", CM_VERSION);
    fprintf(out, "<table><tr><th>set%s", sum_heads);
    for (int32_t i = 0; i < cm_scoreboard_sets(b); i++) {
        const cm_validation *v = cm_scoreboard_set(b, i);
        const char          *id = cm_validation_get_info(v).set;
        fprintf(out, "<tr><td class=w><a href=\"#%s\">%s</a>", id, id);
        sums(out, cm_validation_get_summary(v, 0));
    }
    fputs("</table>\n", out);
    for (int32_t i = 0; i < cm_scoreboard_sets(b); i++) one_set(ctx, cm_scoreboard_set(b, i), out);
}
