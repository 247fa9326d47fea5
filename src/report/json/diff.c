/* SPDX-License-Identifier: Apache-2.0 */
/* diff.c - print what changed between two answers as JSON. */
#include <math.h>
#include "report/json/json.h"
#include "report/render.h"

/* A number, a word, or null where an answer lacks the field. */
static json_t *value_of(cm__ctx *ctx, double number, const char *words)
{
    return isnan(number) ? cm__json_text(ctx, words) : cm__json_number(number);
}

static void list(cm__ctx *ctx, json_t *answer, const char *key, const cm__changes *changes)
{
    json_t *rows = cm__json_set(ctx, answer, key, json_array());
    for (int32_t i = 0; i < changes->count; i++) {
        const cm__changed *c = &changes->rows[i];
        json_t            *o = cm__json_append(ctx, rows, json_object());
        cm__json_set(ctx, o, "name", cm__json_text(ctx, c->name));
        cm__json_set(ctx, o, "old", value_of(ctx, c->before, c->old_words));
        cm__json_set(ctx, o, "new", value_of(ctx, c->after, c->new_words));
        cm__json_set(ctx, o, "change", cm__json_number(isfinite(c->change) ? c->change : NAN));
        cm__json_set(ctx, o, "counts", json_boolean(c->counts));
    }
}

void cm__diff_json(cm__ctx *ctx, const cm__diff_report *r, FILE *out)
{
    json_t *answer = cm__json_answer(ctx, "diff");
    cm__json_set(ctx, answer, "old", cm__json_text(ctx, r->paths[0]));
    cm__json_set(ctx, answer, "new", cm__json_text(ctx, r->paths[1]));
    cm__json_set(ctx, answer, "of", cm__json_text(ctx, r->command));
    list(ctx, answer, "fields", &r->fields);
    list(ctx, answer, "kernels", &r->kernels);
    json_t *gates = cm__json_set(ctx, answer, "gates", json_array());
    if (r->limit > 0) {
        json_t *g = cm__json_append(ctx, gates, json_object());
        cm__json_set(ctx, g, "name", json_string("fail-above"));
        cm__json_set(ctx, g, "limit", cm__json_number(r->limit));
        cm__json_set(ctx, g, "value", cm__json_number(isfinite(r->largest) ? r->largest : NAN));
        cm__json_set(ctx, g, "held", json_boolean(!r->exceeded));
    }
    cm__json_print(ctx, answer, out);
}
