/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_steps.c - logs of steps from arbitrary bytes; an accepted step has a model and a positive time. */
#include <math.h>
#include "model/calibrate/log.h"
#include "reader.h"

static void steps(cm__ctx *ctx, const uint8_t *bytes, size_t size)
{
    const cm__steps *s = cm__steps_read(ctx, (const char *)bytes, size);
    if (s->n_rows < 1 || s->n_rows > CM__STEPS_MAX) abort();
    for (int32_t i = 0; i < s->n_rows; i++)
        if (!*s->rows[i].model || s->rows[i].batch < 1 || s->rows[i].seq < 0 || !(s->rows[i].measured_s > 0) ||
            !isfinite(s->rows[i].measured_s))
            abort();
}

FUZZ_READER(steps)
