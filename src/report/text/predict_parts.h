/* SPDX-License-Identifier: Apache-2.0 */
/* predict_parts.h - the parts a prediction's text is made of. */
#ifndef CM_REPORT_PREDICT_PARTS_H
#define CM_REPORT_PREDICT_PARTS_H

#include "report/report.h"

/* Calls alike, summed. */
typedef struct cm__call_sum {
    char    name[96];
    int32_t phase, calls;
    double  time_s, flop, bytes, by_how[CM_HOWS];
} cm__call_sum;

typedef struct cm__call_sums {
    cm__call_sum *items; /* longest first */
    int32_t       count, capacity;
} cm__call_sums;

/* By phase and all but the sizes ("gemm forward nt-bias bf16"), or, `short_names`, by the operator ("gemm"). */
cm__call_sums cm__sum_calls(cm__ctx *ctx, const cm__predict_report *report, bool short_names);

/* The step from left to right: phases, the longest operators in them, the host, the loading. */
void cm__predict_waterfall(cm__ctx *ctx, const cm__predict_report *report, FILE *out);
/* What a tenth more of something would save. */
void cm__predict_help(cm__ctx *ctx, const cm__predict_report *report, FILE *out);

/* "2.20 us" */
const char *cm__seconds(cm__ctx *ctx, double seconds);

#endif
