/* SPDX-License-Identifier: Apache-2.0 */
/* json.c - build and print JSON with jansson. */
#include "report/json/json.h"

#include <math.h>
#include "report/render.h"

#define SCHEMA 1
#define EXACT 9007199254740992.0 /* 2^53: every whole number up to here is a double */

static void release(void *answer) { json_decref(answer); }

json_t *cm__json_set(cm__ctx *ctx, json_t *object, const char *key, json_t *value)
{
    if (json_object_set_new_nocheck(object, key, value) != 0)
        cm__fail(ctx, CM_ERR_MEMORY, "out of memory while writing JSON");
    return value;
}

json_t *cm__json_append(cm__ctx *ctx, json_t *array, json_t *value)
{
    if (json_array_append_new(array, value) != 0) cm__fail(ctx, CM_ERR_MEMORY, "out of memory while writing JSON");
    return value;
}

json_t *cm__json_text(cm__ctx *ctx, const char *text)
{
    return text ? json_string_nocheck(cm__printable(ctx, text)) : json_null();
}

json_t *cm__json_number(double value)
{
    if (!isfinite(value)) return json_null();
    bool whole = value == floor(value) && fabs(value) < EXACT;
    return whole ? json_integer((json_int_t)value) : json_real(value);
}

json_t *cm__json_answer(cm__ctx *ctx, const char *command)
{
    json_t *answer = json_object();
    if (!answer) cm__fail(ctx, CM_ERR_MEMORY, "out of memory while writing JSON");
    cm__defer(ctx, release, answer);
    cm__json_set(ctx, answer, "schema", json_integer(SCHEMA));
    cm__json_set(ctx, answer, "command", json_string(command));
    cm__json_set(ctx, answer, "version", json_string(CM_VERSION));
    return answer;
}

void cm__json_sequence(cm__ctx *ctx, json_t *object, int64_t seq, double samples_s)
{
    cm__json_set(ctx, object, "seq", seq ? json_integer(seq) : json_null());
    cm__json_set(ctx, object, "tokens_s", cm__json_number(seq ? (double)seq * samples_s : NAN));
}

void cm__json_storage(cm__ctx *ctx, json_t *object, cm_dtype stored)
{
    cm__json_set(ctx, object, "storage", stored == CM_DTYPES ? json_null() : json_string(cm_dtype_name(stored)));
}

void cm__json_precision(cm__ctx *ctx, json_t *object, const cm_graph *step)
{
    cm__json_set(ctx, object, "precision", json_string(cm_precision_name(cm_graph_precision(step))));
    cm__json_storage(ctx, object, cm_graph_storage(step));
}

void cm__json_samples(cm__ctx *ctx, json_t *object, const cm_load_options *load)
{
    static const char *const ways[CM_SAMPLES] = {"padded", "unpadded", "packed"};
    if (!(load->tokens > 0)) return;
    cm__json_set(ctx, object, "tokens_per_sample", cm__json_number(load->tokens));
    cm__json_set(ctx, object, "samples", json_string(ways[load->samples]));
}

void cm__json_lengths(cm__ctx *ctx, json_t *object, const cm_load_options *load, int64_t row_tokens, double samples_s)
{
    if (!(load->tokens > 0)) return;
    cm__json_samples(ctx, object, load);
    cm__json_set(ctx, object, "row_tokens", json_integer(row_tokens));
    cm__json_set(ctx, object, "tokens_s", cm__json_number(cm_load_tokens(load, row_tokens) * samples_s));
}

void cm__json_assumed(cm__ctx *ctx, json_t *object, const cm_device *device)
{
    json_t *list = cm__json_set(ctx, object, "assumed", json_array());
    for (int32_t i = 0; i < cm_device_assumptions(device); i++) {
        const cm_assumption *a = cm_device_assumption(device, i);
        json_t              *o = cm__json_append(ctx, list, json_object());
        cm__json_set(ctx, o, "member", json_string(a->member));
        cm__json_set(ctx, o, "value", a->text ? json_string(a->text) : cm__json_number(a->number.value));
        cm__json_set(ctx, o, "unit", a->text ? json_null() : json_string(a->number.unit));
        cm__json_set(ctx, o, "kind", json_string(a->number.kind));
        cm__json_set(ctx, o, "note", json_string(a->number.note));
    }
}

void cm__json_warnings(cm__ctx *ctx, json_t *object, const cm_graph *graph)
{
    json_t *list = cm__json_set(ctx, object, "warnings", json_array());
    for (int32_t i = 0; graph && i < cm_graph_warnings(graph); i++)
        cm__json_append(ctx, list, cm__json_text(ctx, cm_graph_warning(graph, i)));
}

void cm__json_interval(cm__ctx *ctx, json_t *object, const double interval_s[2])
{
    json_t *interval = cm__json_set(ctx, object, "interval_s", interval_s ? json_array() : json_null());
    for (int k = 0; interval_s && k < 2; k++) cm__json_append(ctx, interval, cm__json_number(interval_s[k]));
}

void cm__json_gates(cm__ctx *ctx, json_t *object, const cm__gates *gates)
{
    json_t *list = gates->count ? cm__json_set(ctx, object, "gates", json_array()) : NULL;
    for (int32_t i = 0; i < gates->count; i++) {
        const cm__gate *g = &gates->all[i];
        json_t         *o = cm__json_append(ctx, list, json_object()), *interval;
        cm__json_set(ctx, o, "name", json_string(g->name));
        cm__json_set(ctx, o, "limit", cm__json_number(g->limit));
        cm__json_set(ctx, o, "value", cm__json_number(g->value));
        interval = cm__json_set(ctx, o, "interval", json_array());
        for (int k = 0; k < 2; k++) cm__json_append(ctx, interval, cm__json_number(g->interval[k]));
        cm__json_set(ctx, o, "held", json_boolean(g->held));
        cm__json_set(ctx, o, "sure", json_boolean(g->sure));
    }
}

/* Write errors stay in the stream; the caller checks it once for all formats. */
void cm__json_print(cm__ctx *ctx, const json_t *answer, FILE *out)
{
    if (json_dumpf(answer, out, JSON_INDENT(2) | JSON_REAL_PRECISION(17)) != 0 && !ferror(out))
        cm__fail(ctx, CM_ERR_MEMORY, "out of memory while writing JSON");
    putc('\n', out);
}
