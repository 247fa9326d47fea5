/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_calls.c - tables of timed calls from arbitrary bytes; an accepted call can be written and parsed again. */
#include <math.h>
#include <string.h>
#include "model/calibrate/check.h"
#include "reader.h"

static void take(void *user, const cm__call *call, double time_s)
{
    char     text[512];
    cm__call again;
    (void)user;
    if (!(time_s > 0) || !isfinite(time_s) || call->op < 0 || call->op >= CM__CALLS) abort();
    if (!cm__call_parse(cm__call_text(call, text, sizeof text), &again)) abort();
    if (memcmp(again.sizes, call->sizes, sizeof again.sizes) != 0) abort();
}

static void timed_calls(cm__ctx *ctx, const uint8_t *bytes, size_t size)
{
    cm__timed_calls_read(ctx, (const char *)bytes, size, take, NULL);
}

FUZZ_READER(timed_calls)
