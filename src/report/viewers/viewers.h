/* SPDX-License-Identifier: Apache-2.0 */
/* viewers.h - predicted steps in the formats of other programs' viewers: Perfetto, PyTorch's memory_viz. */
#ifndef CM_REPORT_VIEWERS_H
#define CM_REPORT_VIEWERS_H

#include "report/report.h"

/* One pass of one micro-batch on one pipeline stage. */
typedef struct cm__slot {
    int32_t stage, micro_batch;
    bool    backward;
    double  begin_s, end_s;
} cm__slot;

/* The schedule of a pipeline, 1F1B or GPipe: 2 * stages * micro_batches slots; the caller frees them. NULL: out of
   memory. */
cm__slot *cm__pipeline_slots(int32_t stages, int32_t micro_batches, double forward_s, double backward_s, bool gpipe);

/* Bytes of live tensors at each node of a step, and beyond the last one; in the arena of ctx. */
double *cm__live_bytes(cm__ctx *ctx, const cm_graph *step, double batch);

#endif
