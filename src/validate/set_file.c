/* SPDX-License-Identifier: Apache-2.0 */
/* set_file.c - a set of results that a user wrote: read, and held against the schema before anything believes it. */
#include <string.h>
#include "device/file.h"
#include "device/profile.h"
#include "device/schema.h"
#include "validate/validate.h"

/* What the schema cannot say: a set without rows, rows that are but names, predictors of none. */
static void check_lists(cm__ctx *ctx, const json_t *set, const cm__origin *origin)
{
    static const char *const lists[] = {"rows", "predictors"};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        const json_t *list = json_object_get(set, lists[i]);
        cm__step      step = {NULL, lists[i], 0};
        if (list && !json_array_size(list)) cm__refuse(ctx, origin, &step, "the list is empty");
    }
    const json_t *rows = json_object_get(set, "rows");
    for (size_t i = 0; i < json_array_size(rows); i++) {
        cm__step list = {NULL, "rows", 0}, row = {&list, NULL, i};
        if (!json_is_object(json_array_get(rows, i))) cm__refuse(ctx, origin, &row, "a row is an object");
        if (!cm__metric_of(set, json_array_get(rows, i)))
            cm__refuse(ctx, origin, &row, "measures nothing: a row has a member named after its metric, as "
                                          "throughput_samples_s, or 'measured' where the set has a 'metric'");
    }
}

void cm__set_check(cm__ctx *ctx, const json_t *set, const cm__origin *origin)
{
    cm__schema_check(ctx, cm__schema_named(ctx, "results.schema"), set, origin);
    check_lists(ctx, set, origin);
}

const json_t *cm__set_read(cm__store *store, const char *path)
{
    cm__ctx     *ctx = store->ctx;
    cm__origin   origin = cm__file_read(ctx, path);
    json_error_t error;
    json_t      *set = json_loadb(origin.text, origin.size, JSON_REJECT_DUPLICATES, &error);
    if (!set && json_error_code(&error) != json_error_out_of_memory) {
        cm__place(ctx, "line %d, column %d", error.line, error.column);
        cm__fail(ctx, CM_ERR_FORMAT, "not JSON: %s", error.text);
    }
    if (!cm__store_json(store, set)) cm__fail(ctx, CM_ERR_MEMORY, "out of memory for a set of results");
    cm__set_check(ctx, set, &origin);
    ctx->file = NULL;
    return set;
}
