/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_cases.c - lists of calls to measure from arbitrary bytes; whatever is accepted has a name that reads back. */
#include <stdlib.h>
#include <string.h>
#include "bench/bench.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void take(void *user, const cm__call *call)
{
    char     text[512], again[512];
    cm__call back;
    (void)user;
    if (!cm__call_parse(cm__call_text(call, text, sizeof text), &back)) abort();
    if (strcmp(text, cm__call_text(&back, again, sizeof again)) != 0) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    cm_diag  diag = {0};
    cm__ctx *ctx = cm__ctx_new(&diag);
    if (!ctx) return 0;
    if (setjmp(ctx->trap)) {
        if (!*diag.reason) abort(); /* refused without a reason */
        cm__ctx_free(ctx);
        return 0;
    }
    cm__cases_parse(ctx, (const char *)bytes, size, take, NULL);
    cm__ctx_free(ctx);
    return 0;
}
