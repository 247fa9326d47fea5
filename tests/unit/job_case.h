/* SPDX-License-Identifier: Apache-2.0 */
/* job_case.h - a small job, for tests of whole jobs. */
#ifndef CM_TESTS_UNIT_JOB_CASE_H
#define CM_TESTS_UNIT_JOB_CASE_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "job/job.h"
#include "job/tables.h"
#include "refuses.h"

#define GPT "gpt:layers=4,hidden=256,heads=8,seq=128,vocab=1024"

static cm_diag diag;

static inline void is(double got, double expected)
{
    if (!(fabs(got - expected) <= 1e-9 * fabs(expected))) fail_msg("%.12g, expected %.12g", got, expected);
}

static inline cm__ctx *context(void)
{
    cm__ctx *ctx = cm__ctx_new(&diag);
    assert_non_null(ctx);
    return ctx;
}

static inline cm_job *job_of(const char *model, cm_job_options o)
{
    cm_job *j;
    if (cm_job_run(model, &o, &j, &diag)) fail_msg("%s", diag.reason);
    return j;
}

/* An H100 for 2 USD/h; 12,800 sequences. */
static const cm_rank_price h100_price = {"nvidia-h100", 2};
static inline cm_job_options h100(int32_t most)
{
    return (cm_job_options){.max_devices = most, .global_batch = 64, .clusters = "dgx-h100",
                            .rank = {.samples = 12800, .prices = &h100_price, .n_prices = 1}};
}

#endif
