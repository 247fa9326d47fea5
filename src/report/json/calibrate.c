/* SPDX-License-Identifier: Apache-2.0 */
/* calibrate.c - print a calibration as JSON. */
#include "report/json/json.h"
#include "report/render.h"

static void one_row(cm__ctx *ctx, json_t *o, const cm_calibration_row *r)
{
    cm__json_set(ctx, o, "model", cm__json_text(ctx, r->model));
    cm__json_set(ctx, o, "batch", json_integer(r->batch));
    cm__json_set(ctx, o, "measured_s", cm__json_number(r->measured_s));
    cm__json_set(ctx, o, "before_s", cm__json_number(r->before_s));
    cm__json_set(ctx, o, "after_s", cm__json_number(r->after_s));
}

static void error(cm__ctx *ctx, json_t *answer, const char *when, double mape)
{
    cm__json_set(ctx, cm__json_set(ctx, answer, when, json_object()), "mape", cm__json_number(mape));
}

void cm__calibrate_json(cm__ctx *ctx, const cm__calibrate_report *r, FILE *out)
{
    json_t *answer = cm__json_answer(ctx, "calibrate");
    cm__json_set(ctx, answer, "device", cm__json_text(ctx, r->device));
    cm__json_set(ctx, answer, "log", cm__json_text(ctx, r->log));
    error(ctx, answer, "before", cm_calibration_before(r->calibration));
    error(ctx, answer, "after", cm_calibration_after(r->calibration));
    json_t *changed = cm__json_set(ctx, answer, "changed", json_array());
    for (int32_t i = 0; i < cm_calibration_changes(r->calibration); i++) {
        const cm_calibration_change *c = cm_calibration_get_change(r->calibration, i);
        json_t                      *o = cm__json_append(ctx, changed, json_object());
        cm__json_set(ctx, o, "what", json_string(c->what));
        cm__json_set(ctx, o, "from", cm__json_number(c->from));
        cm__json_set(ctx, o, "to", cm__json_number(c->to));
    }
    json_t *rows = cm__json_set(ctx, answer, "rows", json_array());
    for (int32_t i = 0; i < cm_calibration_rows(r->calibration); i++)
        one_row(ctx, cm__json_append(ctx, rows, json_object()), cm_calibration_get_row(r->calibration, i));
    cm__json_print(ctx, answer, out);
}
