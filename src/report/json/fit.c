/* SPDX-License-Identifier: Apache-2.0 */
/* fit.c - print the errors of fitted or checked operator models as JSON. */
#include "report/json/json.h"
#include "report/render.h"

static void one_class(cm__ctx *ctx, json_t *o, const cm_fit_class *c)
{
    cm__json_set(ctx, o, "device", cm__json_text(ctx, c->device));
    cm__json_set(ctx, o, "runtime", cm__json_text(ctx, c->runtime));
    cm__json_set(ctx, o, "op", cm__json_text(ctx, c->op));
    cm__json_set(ctx, o, "pass", cm__json_text(ctx, c->pass));
    cm__json_set(ctx, o, "dtype", cm__json_text(ctx, c->dtype));
    cm__json_set(ctx, o, "n", json_integer(c->n));
    cm__json_set(ctx, o, "mape", cm__json_number(c->mape));
    cm__json_set(ctx, o, "bias", cm__json_number(c->bias));
    cm__json_set(ctx, o, "p90", cm__json_number(c->p90));
    if (c->measured_s > 0) cm__json_set(ctx, o, "by_time", cm__json_number(c->off_s / c->measured_s));
}

void cm__fit_json(cm__ctx *ctx, const cm__fit_report *r, FILE *out)
{
    const char *first;
    json_t     *answer = cm__json_answer(ctx, "fit");
    cm__json_set(ctx, answer, "timings", cm__json_text(ctx, r->path));
    cm__json_set(ctx, answer, "device", cm__json_text(ctx, r->device));
    cm__json_set(ctx, answer, "check", json_boolean(r->check));
    cm__json_set(ctx, answer, "skipped_rows", json_integer(cm_fitting_skipped(r->fitting, &first)));
    json_t *classes = cm__json_set(ctx, answer, "classes", json_array());
    for (int32_t i = 0; i < cm_fitting_classes(r->fitting); i++)
        one_class(ctx, cm__json_append(ctx, classes, json_object()), cm_fitting_class(r->fitting, i));
    cm__json_print(ctx, answer, out);
}
