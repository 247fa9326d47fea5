/* SPDX-License-Identifier: Apache-2.0 */
/* json.c - JSON answers by jansson. */
#include "report/json.h"

#include <math.h>
#include "report/report.h"

#define SCHEMA 1
#define EXACT 9007199254740992.0 /* 2^53: doubles are whole numbers without gaps up to here */

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

/* A failed write shows as the stream's error, which the caller looks at once for all formats. */
void cm__json_print(cm__ctx *ctx, const json_t *answer, FILE *out)
{
    if (json_dumpf(answer, out, JSON_INDENT(2) | JSON_REAL_PRECISION(17)) != 0 && !ferror(out))
        cm__fail(ctx, CM_ERR_MEMORY, "out of memory while writing JSON");
    putc('\n', out);
}
