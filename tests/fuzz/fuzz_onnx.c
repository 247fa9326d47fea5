/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_onnx.c - ONNX models from arbitrary bytes, and the passes over a loaded model. */
#include "fuzz.h"

static cm_graph *onnx(cm__ctx *ctx, const uint8_t *bytes, size_t size)
{
    return cm__import_onnx(ctx, "fuzz.onnx", bytes, size, &(cm_load_options){0});
}

FUZZ_TARGET(onnx)
