/* SPDX-License-Identifier: Apache-2.0 */
/* viewers.h - predicted steps in the formats of other programs' viewers: Perfetto, PyTorch's memory_viz. */
#ifndef CM_REPORT_VIEWERS_H
#define CM_REPORT_VIEWERS_H

#include "report/render.h"

/* One pass of one micro-batch on one pipeline stage. */
typedef struct cm__slot {
    int32_t stage, micro_batch;
    bool    backward;
    double  begin_s, end_s;
} cm__slot;

/* The schedule of a pipeline, 1F1B or GPipe: 2 * stages * micro_batches slots; the caller frees them. NULL: out of
   memory. */
cm__slot *cm__pipeline_slots(int32_t stages, int32_t micro_batches, double forward_s, double backward_s, bool gpipe);

/* A kernel call: the host launches it at host_begin_s; the device begins it at begin_s. */
typedef struct cm__launch {
    const cm_op_time *op;
    double            host_begin_s, launch_s, begin_s;
} cm__launch;

typedef void cm__visit_launch(void *user, const cm__launch *launch);

/* Visit every kernel call of a step in its order. `repeats`: micro-batches, all or the first ones; the update follows
   the last one. */
void cm__step_schedule(const cm__predict_report *report, int32_t repeats, cm__visit_launch *visit, void *user);

/* The timeline of a step for the HTML pages: a few hundred slices, in the arena of ctx. */
void cm__lanes_of(cm__ctx *ctx, const cm__predict_report *report, cm__lanes *lanes);

/* Bytes that the runtime stores at each node of a step, and beyond the last one; in the arena of ctx. */
double *cm__live_bytes(cm__ctx *ctx, const cm__predict_report *report);

#endif
