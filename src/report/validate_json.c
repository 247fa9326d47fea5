/* SPDX-License-Identifier: Apache-2.0 */
/* validate_json.c - results of others against predictions, as JSON. */
#include "report/json.h"
#include "report/report.h"

static void row(cm__ctx *ctx, json_t *o, const cm_validation *v, const cm_validation_row *r)
{
    cm__json_set(ctx, o, "model", cm__json_text(ctx, r->model));
    cm__json_set(ctx, o, "device", cm__json_text(ctx, r->device));
    cm__json_set(ctx, o, "setting", cm__json_text(ctx, r->setting));
    cm__json_set(ctx, o, "measured", cm__json_number(r->measured));
    cm__json_set(ctx, o, "predicted", cm__json_number(r->predicted[0]));
    cm__json_set(ctx, o, "error", cm__json_number(r->predicted[0] / r->measured - 1));
    json_t *baselines = cm__json_set(ctx, o, "baselines", json_object());
    for (int32_t p = 1; p < cm_validation_summaries(v); p++)
        cm__json_set(ctx, baselines, cm_validation_summary_of(v, p)->predictor, cm__json_number(r->predicted[p]));
}

static void summary(cm__ctx *ctx, json_t *o, const cm_validation_summary *s)
{
    cm__json_set(ctx, o, "predictor", cm__json_text(ctx, s->predictor));
    cm__json_set(ctx, o, "what", cm__json_text(ctx, s->what));
    cm__json_set(ctx, o, "n", json_integer(s->n));
    cm__json_set(ctx, o, "equal", json_integer(s->equal));
    cm__json_set(ctx, o, "mape", cm__json_number(s->mape));
    cm__json_set(ctx, o, "bias", cm__json_number(s->bias));
    cm__json_set(ctx, o, "p90", cm__json_number(s->p90));
    cm__json_set(ctx, o, "worst", cm__json_number(s->worst));
    static const char *const of_rankings[] = {"top1", "regret", "tau"};
    for (int i = 0; i < 3; i++) cm__json_set(ctx, o, of_rankings[i], json_null());
}

void cm__validate_json(cm__ctx *ctx, const cm_validation *v, FILE *out)
{
    cm_validation_info info = cm_validation_get_info(v);
    json_t            *answer = cm__json_answer(ctx, "validate");
    cm__json_set(ctx, answer, "set", cm__json_text(ctx, info.set));
    cm__json_set(ctx, answer, "title", cm__json_text(ctx, info.title));
    cm__json_set(ctx, answer, "metric", cm__json_text(ctx, info.metric));
    cm__json_set(ctx, answer, "source", cm__json_text(ctx, info.where));
    json_t *rows = cm__json_set(ctx, answer, "rows", json_array());
    for (int32_t i = 0; i < cm_validation_rows(v); i++)
        row(ctx, cm__json_append(ctx, rows, json_object()), v, cm_validation_get_row(v, i));
    json_t *summaries = cm__json_set(ctx, answer, "summaries", json_array());
    for (int32_t p = 0; p < cm_validation_summaries(v); p++)
        summary(ctx, cm__json_append(ctx, summaries, json_object()), cm_validation_summary_of(v, p));
    json_t *notes = cm__json_set(ctx, answer, "notes", json_array());
    for (int32_t i = 0; i < cm_validation_notes(v); i++)
        cm__json_append(ctx, notes, cm__json_text(ctx, cm_validation_note(v, i)));
    cm__json_print(ctx, answer, out);
}
