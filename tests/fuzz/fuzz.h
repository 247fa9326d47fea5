/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz.h - the entry point of fuzz targets that make a graph.
 *
 * A target defines its importer and ends with FUZZ_TARGET(importer), which defines libFuzzer's entry point. A model that
 * an importer accepts must also survive the passes and the training step. A refusal must have a reason.
 */
#ifndef CM_TESTS_FUZZ_FUZZ_H
#define CM_TESTS_FUZZ_FUZZ_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "import/import.h"

typedef cm_graph *fuzz_import(cm__ctx *ctx, const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void refused_with_reason(const cm_diag *diag)
{
    if (*diag->reason) return;
    fprintf(stderr, "refused without a reason\n");
    abort();
}

static void train(const cm_graph *forward)
{
    cm_graph *step;
    cm_diag   diag;
    cm_totals totals;
    if (cm_graph_train(forward, &(cm_train_options){0}, &step, &diag) != CM_OK) {
        refused_with_reason(&diag);
        return;
    }
    cm_graph_totals(step, 3, &totals);
    cm_graph_free(step);
}

static int fuzz_one(fuzz_import *import, const uint8_t *bytes, size_t size)
{
    cm_diag  diag = {0};
    cm__ctx *ctx = cm__ctx_new(&diag);
    if (!ctx) return 0;
    if (setjmp(ctx->trap)) {
        refused_with_reason(&diag);
        cm__ctx_free(ctx);
        return 0;
    }
    cm_graph *g = import(ctx, bytes, size);
    cm__finish(g, CM_FUSE_ALL);
    train(g);
    cm__ctx_free(ctx);
    return 0;
}

/* A zero-terminated copy, for importers of text. */
static inline char *fuzz_text(cm__ctx *ctx, const uint8_t *bytes, size_t size)
{
    return cm__text_copy_n(ctx, (const char *)bytes, size);
}

#define FUZZ_TARGET(import)                                                                                            \
    int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) { return fuzz_one(import, bytes, size); }

#endif
