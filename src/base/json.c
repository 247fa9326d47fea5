/* SPDX-License-Identifier: Apache-2.0 */
/* json.c - parse JSON texts into trees that a context owns. */
#include "base/json.h"

static void drop(void *slot) { json_decref(*(json_t **)slot); }

json_t **cm__json_slot(cm__ctx *ctx)
{
    json_t **slot = cm__alloc(ctx, sizeof *slot);
    cm__defer(ctx, drop, slot);
    return slot;
}

json_t *cm__json_read(cm__ctx *ctx, const char *text, size_t size, size_t flags)
{
    json_error_t error;
    json_t     **tree = cm__json_slot(ctx);
    *tree = json_loadb(text, size, flags, &error);
    if (*tree) return *tree;
    if (json_error_code(&error) == json_error_out_of_memory) cm__fail(ctx, CM_ERR_MEMORY, "out of memory for JSON");
    cm__place(ctx, "line %d, column %d", error.line, error.column);
    cm__fail(ctx, CM_ERR_FORMAT, "not JSON: %s", error.text);
}
