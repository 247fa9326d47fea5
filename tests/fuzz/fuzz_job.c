/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_job.c - job files from arbitrary bytes: they are refused with a reason, or name models and settings in range. */
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/ctx.h"
#include "cli.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int run_bench(settings *s) { return s->n_operands; }
int run_serve(settings *s) { return s->n_operands; }

static void check(const settings *s)
{
    size_t length;
    if (s->n_operands < 1 || s->n_operands > OPERANDS_MAX || s->rank.n_prices > PRICES_MAX) abort();
    for (int i = 0; i < s->n_operands; i++) {
        const network_size *n = &s->sizes[i];
        if (!*s->operands[i] || n->samples < 0 || n->tokens < 0 || n->epochs < 0 || n->seq < 0 || n->batch < 0) abort();
        weight_in(s->operands[i], &length);
        if (length > strlen(s->operands[i])) abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static FILE *nowhere;
    settings    *s = calloc(1, sizeof *s);
    cm_diag      diag = {0};
    cm__ctx     *ctx = cm__ctx_new(&diag);
    if (!nowhere) nowhere = fopen("/dev/null", "w");
    if (!s || !ctx || !nowhere) abort();
    divert_output(nowhere, nowhere);
    if (setjmp(ctx->trap)) cm__ctx_abandon(ctx);
    else {
        job_parse(ctx, find_command("rank"), s, "job.yaml", (const char *)bytes, size);
        check(s);
        cm__ctx_free(ctx);
    }
    free(s);
    return 0;
}
