/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_calls.c - tables of timed calls from arbitrary bytes; what is accepted can be written down and read again. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "model/check.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void take(void *user, const cm__call *call, double time_s)
{
    char     text[512];
    cm__call again;
    (void)user;
    if (!(time_s > 0) || !isfinite(time_s) || call->op < 0 || call->op >= CM__CALLS) abort();
    if (!cm__call_parse(cm__call_text(call, text, sizeof text), &again)) abort();
    if (memcmp(again.sizes, call->sizes, sizeof again.sizes) != 0) abort();
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
    cm__timed_calls_read(ctx, (const char *)bytes, size, take, NULL);
    cm__ctx_free(ctx);
    return 0;
}
