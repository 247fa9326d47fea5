/* SPDX-License-Identifier: Apache-2.0 */
/* lookups.c - print random look-ups per second as JSON. */
#include <math.h>
#include "report/json/json.h"
#include "report/render.h"

static void device(cm__ctx *ctx, json_t *o, const cm__lookups_row *row)
{
    const cm_lookup_rate *rate = &row->rate;
    bool                  rated = !row->reason;
    cm__json_set(ctx, o, "device", cm__json_text(ctx, row->id));
    cm__json_set(ctx, o, "lookups_s", cm__json_number(rated ? rate->lookups_s : NAN));
    cm__json_set(ctx, o, "lookups_s_low", cm__json_number(rated ? rate->low_s : NAN));
    cm__json_set(ctx, o, "lookups_s_high", cm__json_number(rated ? rate->high_s : NAN));
    cm__json_set(ctx, o, "bandwidth_time_s", cm__json_number(rated ? rate->times_s[CM_LOOKUP_BANDWIDTH] : NAN));
    cm__json_set(ctx, o, "latency_time_s", cm__json_number(rated ? rate->times_s[CM_LOOKUP_LATENCY] : NAN));
    cm__json_set(ctx, o, "instruction_time_s", cm__json_number(rated ? rate->times_s[CM_LOOKUP_INSTRUCTIONS] : NAN));
    cm__json_set(ctx, o, "table_bytes", cm__json_number(rated ? rate->table_bytes : NAN));
    cm__json_set(ctx, o, "traffic_bytes", cm__json_number(rated ? rate->traffic_bytes : NAN));
    cm__json_set(ctx, o, "memory", cm__json_text(ctx, rated ? rate->memory : NULL));
    cm__json_set(ctx, o, "limited_by", cm__json_text(ctx, rated ? cm__lookup_bound_name(rate->bound) : NULL));
    cm__json_set(ctx, o, "reason", cm__json_text(ctx, row->reason));
}

void cm__lookups_json(cm__ctx *ctx, const cm__lookups_report *r, FILE *out)
{
    json_t *answer = cm__json_answer(ctx, "lookups");
    json_t *list = cm__json_set(ctx, answer, "devices", json_array());
    for (int32_t i = 0; i < r->n_rows; i++) device(ctx, cm__json_append(ctx, list, json_object()), &r->rows[i]);
    cm__json_print(ctx, answer, out);
}
