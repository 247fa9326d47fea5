/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_config.c - Hugging Face config.json from arbitrary bytes. */
#include "fuzz.h"

static cm_graph *config(cm__ctx *ctx, const uint8_t *bytes, size_t size)
{
    return cm__import_config(ctx, "config.json", fuzz_text(ctx, bytes, size), size, &(cm_load_options){0});
}

FUZZ_TARGET(config)
