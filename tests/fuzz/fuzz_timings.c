/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_timings.c - tables of timings from arbitrary bytes; accepted rows have work with a positive time. */
#include <math.h>
#include "device/fits/fit.h"
#include "reader.h"

#define PARAMETERS_MAX 48

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

static void timings(cm__ctx *ctx, const uint8_t *bytes, size_t size)
{
    times_are_times(cm__timings_read(ctx, (const char *)bytes, size));
}

FUZZ_READER(timings)
