/* SPDX-License-Identifier: Apache-2.0 */
/* set_file.c - read a user's set of results and check it against the schema. */
#include <string.h>
#include "device/file.h"
#include "device/profile.h"
#include "device/schema.h"
#include "validate/validate.h"

/* Checks that the schema cannot express: no rows, rows with names only, unknown predictors. */
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
            cm__refuse(ctx, origin, &row, "has no metric: a row needs a member named after its metric, such as "
                                          "throughput_samples_s, or 'measured' if the set has a 'metric'");
    }
}

void cm__set_check(cm__ctx *ctx, const json_t *set, const cm__origin *origin)
{
    cm__schema_check(ctx, cm__schema_named(ctx, "results.schema"), set, origin);
    check_lists(ctx, set, origin);
}

const json_t *cm__set_read(cm__store *store, const char *path)
{
    cm__ctx      *ctx = store->ctx;
    cm__origin    origin = cm__file_read(ctx, path);
    const json_t *set = cm__json_read(ctx, origin.text, origin.size, JSON_REJECT_DUPLICATES);
    cm__set_check(ctx, set, &origin);
    ctx->file = NULL;
    return set;
}
