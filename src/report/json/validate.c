/* SPDX-License-Identifier: Apache-2.0 */
/* validate.c - print a comparison with published results as JSON: one set, or all sets under `sets`. */
#include <math.h>
#include "report/json/json.h"
#include "report/render.h"

#define PUT(key, value) cm__json_set(ctx, o, key, value)

static void row(cm__ctx *ctx, json_t *o, const cm_validation *v, const cm_validation_row *r)
{
    PUT("where", cm__json_text(ctx, r->where));
    PUT("model", cm__json_text(ctx, r->model));
    PUT("device", cm__json_text(ctx, r->device));
    PUT("devices", json_integer(r->devices));
    PUT("setting", cm__json_text(ctx, r->setting));
    PUT("metric", cm__json_text(ctx, r->metric));
    PUT("unit", cm__json_text(ctx, r->unit));
    PUT("evidence", cm__json_text(ctx, cm_evidence_name(r->evidence)));
    PUT("note", cm__json_text(ctx, r->note));
    PUT("compare", cm__json_text(ctx, r->compare));
    PUT("measured", cm__json_number(r->measured));
    PUT("predicted", cm__json_number(r->predicted[0]));
    PUT("error", cm__json_number(r->kind == CM_ROW_FIGURE ? r->predicted[0] / r->measured - 1 : NAN));
    json_t *interval = PUT("interval", json_array());
    for (int side = 0; side < 2; side++) cm__json_append(ctx, interval, cm__json_number(r->interval[side]));
    PUT("reason", cm__json_text(ctx, r->reason));
    PUT("refused", json_boolean(r->refused));
    PUT("fits", r->fits < 0 ? json_null() : json_boolean(r->fits));
    json_t *baselines = PUT("baselines", json_object());
    for (int32_t p = 1; p < cm_validation_summaries(v); p++)
        cm__json_set(ctx, baselines, cm_validation_get_summary(v, p)->predictor, cm__json_number(r->predicted[p]));
}

static void summary(cm__ctx *ctx, json_t *o, const cm_validation_summary *s)
{
    PUT("predictor", cm__json_text(ctx, s->predictor));
    if (s->device) PUT("device", cm__json_text(ctx, s->device));
    else PUT("what", cm__json_text(ctx, s->what));
    PUT("n", json_integer(s->n));
    PUT("equal", json_integer(s->equal));
    PUT("refused", json_integer(s->refused));
    PUT("headline", json_boolean(s->headline));
    PUT("mape", cm__json_number(s->mape));
    PUT("accuracy", cm__json_number(s->accuracy));
    PUT("median", cm__json_number(s->median));
    PUT("bias", cm__json_number(s->bias));
    PUT("p90", cm__json_number(s->p90));
    PUT("worst", cm__json_number(s->worst));
    PUT("median_factor", cm__json_number(s->median_factor));
    PUT("within_two", json_integer(s->within_two));
    PUT("shared", json_integer(s->shared));
    PUT("shared_accuracy", cm__json_number(s->shared_accuracy));
    PUT("own_accuracy", cm__json_number(s->own_accuracy));
    PUT("inside", json_integer(s->inside));
    PUT("intervals", json_integer(s->intervals));
    PUT("coverage", cm__json_number(s->intervals ? (double)s->inside / s->intervals : NAN));
    PUT("decisions", json_integer(s->decisions));
    PUT("top1", cm__json_number(s->top1));
    PUT("regret", cm__json_number(s->regret));
    PUT("tau", cm__json_number(s->tau));
    PUT("pairs", json_integer(s->pairs));
    PUT("pairs_right", json_integer(s->pairs_right));
    PUT("false_oom", json_integer(s->false_oom));
    PUT("missed_oom", json_integer(s->missed_oom));
}

static void one_set(cm__ctx *ctx, json_t *o, const cm_validation *v)
{
    cm_validation_info info = cm_validation_get_info(v);
    PUT("set", cm__json_text(ctx, info.set));
    PUT("title", cm__json_text(ctx, info.title));
    PUT("metric", cm__json_text(ctx, info.metric));
    PUT("source", cm__json_text(ctx, info.where));
    json_t *rows = PUT("rows", json_array());
    for (int32_t i = 0; i < cm_validation_rows(v); i++)
        row(ctx, cm__json_append(ctx, rows, json_object()), v, cm_validation_get_row(v, i));
    json_t *summaries = PUT("summaries", json_array());
    for (int32_t p = 0; p < cm_validation_summaries(v); p++)
        summary(ctx, cm__json_append(ctx, summaries, json_object()), cm_validation_get_summary(v, p));
    json_t *devices = PUT("devices", json_array());
    for (int32_t i = 0; i < cm_validation_device_summaries(v); i++)
        if (cm_validation_device_summary(v, i)->n)
            summary(ctx, cm__json_append(ctx, devices, json_object()), cm_validation_device_summary(v, i));
    json_t *notes = PUT("notes", json_array());
    for (int32_t i = 0; i < cm_validation_notes(v); i++)
        cm__json_append(ctx, notes, cm__json_text(ctx, cm_validation_note(v, i)));
}

void cm__validate_json(cm__ctx *ctx, const cm_scoreboard *b, FILE *out)
{
    json_t *answer = cm__json_answer(ctx, "validate");
    if (cm_scoreboard_sets(b) == 1) one_set(ctx, answer, cm_scoreboard_set(b, 0));
    else {
        json_t *sets = cm__json_set(ctx, answer, "sets", json_array());
        for (int32_t i = 0; i < cm_scoreboard_sets(b); i++)
            one_set(ctx, cm__json_append(ctx, sets, json_object()), cm_scoreboard_set(b, i));
    }
    cm__json_print(ctx, answer, out);
}
