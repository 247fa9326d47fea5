/* SPDX-License-Identifier: Apache-2.0 */
/* buckets.h - gradients in the order in which backward completes them, and their all-reduce overlapped with
   backward. */
#ifndef CM_MODEL_BUCKETS_H
#define CM_MODEL_BUCKETS_H

#include "model/parallel/layering.h"
#include "model/parallel/layers.h"

#define CM__BUCKET_BYTES (25.0 * 1024 * 1024) /* PyTorch's DistributedDataParallel, bucket_cap_mb */

/* How a bucket is sent. */
typedef struct cm__channel {
    const cm_fabric *fabric;
    cm__operation    operation;
    cm__group        group;
    double           part;    /* fraction of a bucket's bytes that is sent */
    cm__group        experts; /* the group that has the same experts; gradients of experts have buckets of their own */
} cm__channel;

typedef struct cm__sent {
    double time_s, after_s; /* total; the part after the end of backward */
} cm__sent;

/* Fills in parts->gradients. */
void cm__gradients_find(cm__ctx *ctx, const cm__dispatch *d, const cm__timed *timed, const cm__layering *layering,
                        cm__parts *parts);

/* Sends the gradients of the first `stage_parts` parts. Backward takes `stretch` times its device time. */
cm__sent cm__buckets_send(const cm__parts *parts, int32_t stage_parts, double stretch, const cm__channel *channel);

#endif
