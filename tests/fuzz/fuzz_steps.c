/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_steps.c - logs of steps from arbitrary bytes; whatever is accepted is a step of something that took a time. */
#include <math.h>
#include <stdlib.h>
#include "model/steps.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

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
    const cm__steps *s = cm__steps_read(ctx, (const char *)bytes, size);
    if (s->n_rows < 1 || s->n_rows > CM__STEPS_MAX) abort();
    for (int32_t i = 0; i < s->n_rows; i++)
        if (!*s->rows[i].model || s->rows[i].batch < 1 || s->rows[i].seq < 0 || !(s->rows[i].measured_s > 0) ||
            !isfinite(s->rows[i].measured_s))
            abort();
    cm__ctx_free(ctx);
    return 0;
}
