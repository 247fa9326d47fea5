/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_timings.c - tables of timings from arbitrary bytes; whatever is accepted has work that takes a time. */
#include <math.h>
#include <stdlib.h>
#include "device/fit.h"

#define PARAMETERS_MAX 48

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void times_are_times(const cm__timings *t)
{
    static const cm__ceilings ceilings = {.cores = 108, .peak_flop_s = 3e14, .bandwidth_bytes_s = 2e12, .cache_bytes = 4e7};
    for (int32_t i = 0; i < t->n_rows; i++) {
        const cm__form *form = t->groups[t->rows[i].group].form;
        double          p[PARAMETERS_MAX];
        cm__form_first(form, p);
        double time_s = form->time(p, &t->rows[i].work, &ceilings);
        if (!(time_s > 0) || !isfinite(time_s)) abort();
    }
}

/* libFuzzer's bytes end where they end: no zero behind them. */
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
    times_are_times(cm__timings_read(ctx, (const char *)bytes, size));
    cm__ctx_free(ctx);
    return 0;
}
