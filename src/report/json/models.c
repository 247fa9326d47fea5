/* SPDX-License-Identifier: Apache-2.0 */
/* models.c - print the named models, or one of them, as JSON. */
#include "report/json/json.h"
#include "report/render.h"

static void model(cm__ctx *ctx, json_t *o, const cm__known_model *known)
{
    const cm_model_info *m = known->info;
    cm__json_set(ctx, o, "id", cm__json_text(ctx, m->id));
    cm__json_set(ctx, o, "family", cm__json_text(ctx, m->family));
    cm__json_set(ctx, o, "title", cm__json_text(ctx, m->title));
    cm__json_set(ctx, o, "params", cm__json_number(known->parameters));
    cm__json_set(ctx, o, "definition", cm__json_text(ctx, m->definition));
    cm__json_set(ctx, o, "source", cm__json_text(ctx, m->source));
}

void cm__models_json(cm__ctx *ctx, const cm__models_report *r, FILE *out)
{
    json_t *answer = cm__json_answer(ctx, "models");
    json_t *models = cm__json_set(ctx, answer, "models", json_array());
    for (int32_t i = 0; i < r->n_models; i++) model(ctx, cm__json_append(ctx, models, json_object()), &r->models[i]);
    cm__json_print(ctx, answer, out);
}
