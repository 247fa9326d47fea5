/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_dataset.c - data sets from arbitrary texts; whatever is accepted has no size and no time below zero. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "model/loading.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static const cm_graph nothing;
    cm_diag               diag = {0};
    cm__ctx              *ctx = cm__ctx_new(&diag);
    if (!ctx) return 0;
    if (setjmp(ctx->trap)) {
        if (!*diag.reason) abort(); /* refused without a reason */
        cm__ctx_free(ctx);
        return 0;
    }
    char *text = cm__alloc(ctx, size + 1);
    if (size) memcpy(text, bytes, size);
    /* What is in folders of this machine is no test's affair. */
    bool folder = strncmp(text, "files:", 6) == 0 && !strchr(text, '=');
    if (!folder) {
        cm__dataset d = cm__dataset_of(ctx, text, &nothing);
        if (!(d.bytes >= 0) || !(d.prepare_s >= 0) || !(isnan(d.samples) || d.samples >= 0)) abort();
    }
    cm__ctx_free(ctx);
    return 0;
}
