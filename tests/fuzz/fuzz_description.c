/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_description.c - one-line descriptions from arbitrary bytes. */
#include "fuzz.h"

static cm_graph *description(cm__ctx *ctx, const uint8_t *bytes, size_t size)
{
    return cm__import_description(ctx, fuzz_text(ctx, bytes, size), &(cm_load_options){0});
}

FUZZ_TARGET(description)
