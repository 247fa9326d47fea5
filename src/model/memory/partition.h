/* SPDX-License-Identifier: Apache-2.0 */
/* partition.h - what torch.compile stores between forward and backward. */
#ifndef CM_MODEL_PARTITION_H
#define CM_MODEL_PARTITION_H

#include "model/memory/footprint.h"

/* Per tensor (by storage) that forward makes: the last node of backward that needs it, or needs what is computed again
   from it; -1: it is not stored for backward. */
typedef struct cm__partition {
    int32_t *stored;
    int32_t *mask;    /* the same for truth values about it, of a byte each */
    int32_t *centred; /* per norm of forward: the same for its input less the mean, in fp32 */
} cm__partition;

cm__partition cm__partition_of(cm__ctx *ctx, const cm_footprint *footprint);

/* shared.c: per tensor, the first one that forward computes in the same way. */
const int32_t *cm__shared_tensors(cm__ctx *ctx, const cm_graph *graph);

#endif
