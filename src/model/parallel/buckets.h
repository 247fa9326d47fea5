/* SPDX-License-Identifier: Apache-2.0 */
/* buckets.h - gradients in the order in which backward completes them, and their sum behind it. */
#ifndef CM_MODEL_BUCKETS_H
#define CM_MODEL_BUCKETS_H

#include "model/parallel/layers.h"

#define CM__BUCKET_BYTES (25.0 * 1024 * 1024) /* PyTorch's DistributedDataParallel, bucket_cap_mb */

/* How a bucket is sent. */
typedef struct cm__channel {
    const cm_fabric *fabric;
    cm__operation    operation;
    cm__group        group;
    double           part; /* of a bucket's bytes that is sent */
} cm__channel;

typedef struct cm__sent {
    double time_s, after_s; /* all of it, and what is left when backward is done */
} cm__sent;

/* Fills in parts->gradients; elements: per tensor, those that this device has of a parameter. */
void cm__gradients_find(cm__ctx *ctx, const cm_graph *g, const cm__dispatch *d, const cm__timed *timed,
                        const int32_t *part, const double *elements, cm__parts *parts);

/* The gradients of the first so many parts; backward takes `stretch` times what the device alone would. */
cm__sent cm__buckets_send(const cm__parts *parts, int32_t stage_parts, double stretch, const cm__channel *channel);

#endif
