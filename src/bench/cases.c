/* SPDX-License-Identifier: Apache-2.0 */
/* cases.c - read the calls to measure from a file: {"schema": 1, "cases": [{op, pass, variant, dtype, dims, rows}]},
   or the output of `predict --missing --json`. */
#include <jansson.h>
#include <math.h>
#include <string.h>
#include "base/file.h"
#include "bench/bench.h"
#include "device/profile.h"

#define FILE_MOST ((int64_t)64 << 20)
#define CALL_MOST 400
#define SIZE_MOST ((json_int_t)1 << 40)

static const char *word(cm__ctx *ctx, const json_t *entry, const char *key, const char *otherwise)
{
    const json_t *value = json_object_get(entry, key);
    if (!value && otherwise) return otherwise;
    const char *text = json_string_value(value);
    if (!text || strlen(text) >= CM__CALL_TEXT || strpbrk(text, " \t\n\v\f\r") || (!otherwise && !*text))
        cm__fail(ctx, CM_ERR_FORMAT, "'%s' must be one word of at most %d letters", key, CM__CALL_TEXT - 1);
    return text;
}

/* "dims" is optional. If present, it must name the operator's sizes in their order. */
static void check_dims(cm__ctx *ctx, const json_t *entry, const cm__call_kind *kind)
{
    const json_t *dims = json_object_get(entry, "dims");
    if (!dims) return;
    bool same = json_is_array(dims) && json_array_size(dims) == (size_t)kind->n_sizes;
    for (int i = 0; same && i < kind->n_sizes; i++) {
        const char *name = json_string_value(json_array_get(dims, (size_t)i));
        same = name && strcmp(name, kind->sizes[i]) == 0;
    }
    if (!same)
        cm__fail(ctx, CM_ERR_FORMAT, "'dims' must be the sizes of '%s' as docs/devices.md lists them", kind->name);
}

static void read_row(cm__ctx *ctx, const json_t *row, cm__call *call)
{
    const cm__call_kind *kind = &cm__call_kinds[call->op];
    if (!json_is_array(row) || json_array_size(row) != (size_t)kind->n_sizes)
        cm__fail(ctx, CM_ERR_FORMAT, "a row of '%s' must have %d sizes", kind->name, kind->n_sizes);
    for (int i = 0; i < kind->n_sizes; i++) {
        const json_t *size = json_array_get(row, (size_t)i);
        json_int_t    value = json_integer_value(size);
        if (!json_is_integer(size) || value < 0 || value > SIZE_MOST)
            cm__fail(ctx, CM_ERR_FORMAT, "'%s' must be a whole number from 0 to 2^40", kind->sizes[i]);
        call->sizes[i] = value;
    }
}

static void read_entry(cm__ctx *ctx, const json_t *entry, void (*take)(void *user, const cm__call *call), void *user)
{
    const json_t *rows = json_object_get(entry, "rows");
    cm__call      call = {0};
    const char   *op = word(ctx, entry, "op", NULL), *pass = word(ctx, entry, "pass", NULL);
    int           op_row = cm__call_find(op), pass_row = cm__pass_find(pass);
    if (op_row < 0) cm__fail(ctx, CM_ERR_FORMAT, "no call '%s'; docs/devices.md lists them", op);
    if (pass_row < 0) cm__fail(ctx, CM_ERR_FORMAT, "no pass '%s'", pass);
    call.op = (int16_t)op_row;
    call.pass = (int16_t)pass_row;
    const char *variant = word(ctx, entry, "variant", ""), *types = word(ctx, entry, "dtype", NULL);
    call.variant = cm__variant_find(variant);
    call.types = cm__types_find(types);
    if (call.variant == CM__NO_VARIANT) cm__fail(ctx, CM_ERR_FORMAT, "no variant '%s'", variant);
    if (call.types == CM__NO_TYPES) cm__fail(ctx, CM_ERR_FORMAT, "no types '%s'", types);
    check_dims(ctx, entry, &cm__call_kinds[op_row]);
    if (!json_is_array(rows)) cm__fail(ctx, CM_ERR_FORMAT, "'rows' must be an array of arrays of sizes");
    for (size_t i = 0; i < json_array_size(rows); i++) {
        read_row(ctx, json_array_get(rows, i), &call);
        take(user, &call);
    }
}

/* `predict --missing --json` writes each call as one text instead of as rows of sizes. */
static void read_missing(cm__ctx *ctx, const json_t *missing, void (*take)(void *user, const cm__call *call),
                         void *user)
{
    for (size_t i = 0; i < json_array_size(missing); i++) {
        const char *text = json_string_value(json_object_get(json_array_get(missing, i), "call"));
        cm__call    call;
        cm__place(ctx, "missing call %zu", i + 1);
        if (!text || strlen(text) > CALL_MOST || !cm__call_parse(text, &call))
            cm__fail(ctx, CM_ERR_FORMAT, "'call' must be a text such as \"gemm forward nt fp32 1,64,64,64\"");
        take(user, &call);
    }
}

void cm__cases_parse(cm__ctx *ctx, const char *text, size_t size, void (*take)(void *user, const cm__call *call),
                     void *user)
{
    const json_t *tree = cm__json_read(ctx, text, size, JSON_REJECT_DUPLICATES);
    const json_t *cases = json_object_get(tree, "cases"), *missing = json_object_get(tree, "missing");
    bool          list = json_is_array(cases) || json_is_array(missing);
    if (json_integer_value(json_object_get(tree, "schema")) != 1 || !list)
        cm__fail(ctx, CM_ERR_FORMAT, "no list of cases: it must be {\"schema\": 1, \"cases\": [...]}");
    for (size_t i = 0; i < json_array_size(cases); i++) {
        cm__place(ctx, "case %zu", i + 1);
        read_entry(ctx, json_array_get(cases, i), take, user);
    }
    read_missing(ctx, missing, take, user);
    cm__place(ctx, "%s", "");
}

static void take_call(void *user, const cm__call *call)
{
    cm__add_requested_call(user, "cases", cm__call_kinds[call->op].name, call, 1, NAN);
}

void cm__add_cases_of_file(cm_bench *b, const char *path)
{
    b->ctx->file = path;
    cm__mapping *file = cm__file_map(b->ctx, path, FILE_MOST, "split it");
    cm__cases_parse(b->ctx, (const char *)file->bytes, file->size, take_call, b);
    b->ctx->file = NULL;
}
