/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_onnx.c - ONNX models from arbitrary bytes, and the passes a loaded model goes through. */
#include "fuzz.h"

static cm_graph *onnx(cm__ctx *ctx, const uint8_t *bytes, size_t size)
{
    cm_graph *g = cm__import_onnx(ctx, "fuzz.onnx", bytes, size, &(cm_load_options){0});
    cm__check(g);
    cm__fuse(g);
    cm__prune(g);
    cm__cost_all(g);
    cm__lifetimes(g);
    cm__review(g);
    return g;
}

FUZZ_TARGET(onnx)
