/* SPDX-License-Identifier: Apache-2.0 */
/* bench.h - sections of the text report of `bench`. */
#ifndef CM_REPORT_BENCH_TEXT_H
#define CM_REPORT_BENCH_TEXT_H

#include "report/render.h"

/* "4.09 GFLOP/s"; a fraction as "12.5". NAN is "-". */
const char *cm__bench_si(cm__ctx *ctx, double value, const char *unit);
const char *cm__bench_percent(cm__ctx *ctx, double fraction);

void cm__bench_calls(cm__ctx *ctx, const cm_bench *b, const char *suite, FILE *out);
void cm__bench_cases(cm__ctx *ctx, const cm_bench *b, FILE *out);
void cm__bench_model(cm__ctx *ctx, const cm_bench *b, FILE *out);
void cm__bench_sweep(cm__ctx *ctx, const cm_bench *b, FILE *out);

#endif
