/* SPDX-License-Identifier: Apache-2.0 */
/* loop.c - print the phases of a step of post-training as JSON. */
#include <math.h>
#include "report/json/json.h"
#include "report/report.h"

void cm__json_loop(cm__ctx *ctx, json_t *answer, const cm__predict_request *asked, const cm__loop *loop, bool timed)
{
    if (!asked->loop.kind) return;
    json_t *o = cm__json_set(ctx, answer, "loop", json_object());
    cm__json_set(ctx, o, "kind", json_string(cm__loop_name(asked->loop.kind)));
    cm__json_set(ctx, o, "prompt", json_integer(asked->prompt));
    cm__json_set(ctx, o, "generate", json_integer(asked->generate));
    cm__json_set(ctx, o, "resident_bytes", cm__json_number(loop->resident_bytes));
    if (timed) {
        cm__json_set(ctx, o, "total_s", cm__json_number(loop->total_s));
        cm__json_interval(ctx, o, loop->interval_s);
        cm__json_set(ctx, o, "new_tokens_s", cm__json_number(loop->new_tokens_s));
    }
    json_t *phases = cm__json_set(ctx, o, "phases", json_array());
    for (int p = 0; p < CM__PHASES; p++) {
        const cm__phase *x = &loop->phases[p];
        json_t          *item = cm__json_append(ctx, phases, json_object());
        cm__json_set(ctx, item, "name", json_string(x->name));
        if (timed) cm__json_set(ctx, item, "time_s", cm__json_number(x->time_s));
        if (timed) cm__json_interval(ctx, item, x->interval_s);
        cm__json_set(ctx, item, "peak_bytes", cm__json_number(x->peak_bytes));
    }
}
