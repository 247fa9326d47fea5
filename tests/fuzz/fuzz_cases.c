/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_cases.c - lists of calls to measure from arbitrary bytes; the name of an accepted call can be parsed again. */
#include <string.h>
#include "bench/bench.h"
#include "reader.h"

static void take(void *user, const cm__call *call)
{
    char     text[512], again[512];
    cm__call back;
    (void)user;
    if (!cm__call_parse(cm__call_text(call, text, sizeof text), &back)) abort();
    if (strcmp(text, cm__call_text(&back, again, sizeof again)) != 0) abort();
}

static void cases(cm__ctx *ctx, const uint8_t *bytes, size_t size)
{
    cm__cases_parse(ctx, (const char *)bytes, size, take, NULL);
}

FUZZ_READER(cases)
