/* SPDX-License-Identifier: Apache-2.0 */
/* timeline.h - steps of a trace, and what the kernels of a step are: kernel calls with their times. */
#ifndef CM_TIMELINE_TIMELINE_H
#define CM_TIMELINE_TIMELINE_H

#include "timeline/events.h"

/* One row: a kernel call, or kernels that no call is known for. */
typedef struct cm__traced {
    cm__call    call;    /* if is_call */
    bool        is_call;
    bool        is_stated; /* `what` is the text of a call in a predicted trace */
    const char *what;    /* "gemm"; of other kernels the operator or the kind: "aten::cat", "communication" */
    cm_phase    phase;
    double      time_s, runs, kernels; /* totals over all steps */
} cm__traced;

struct cm_timeline {
    cm__ctx         *ctx;
    cm__events       events;
    cm_timeline_info info;
    cm__traced      *rows;
    cm_timeline_call *calls;
    int32_t          n_rows, cap_rows;
    int8_t          *parts; /* of the kernels of one operator: which of its calls (rows.c) */
    char            *profile;
};

/* timeline_join.c: which operator launched each kernel, and in which step. */
void cm__timeline_join(cm__events *events);
/* Whether a point of a thread's time lies in a span of a kind: its index, or -1. Spans must be sorted. */
int32_t cm__span_at(const cm__events *events, cm__span_kind kind, double thread, double at_us, bool any_thread);

/* timeline_rows.c */
void cm__timeline_rows(struct cm_timeline *t);

/* bytes NULL: those of the file. */
cm_status cm__timeline_read(const cm__bytes *bytes, const char *path, struct cm_timeline **timeline, cm_diag *diag);

#endif
