/* SPDX-License-Identifier: Apache-2.0 */
/*
 * comm.h - the time of collective operations on the links of a machine.
 *
 * Every algorithm is a latency and a volume, t = steps α + passes n / w (α: latency of one step between neighbours, w:
 * bytes/s of one device in one direction, n: bytes of the whole buffer). The fastest algorithm at each size is taken,
 * as libraries do. If a profile has measured rows of an operation, they replace the formulas inside a node.
 */
#ifndef CM_MODEL_COMM_H
#define CM_MODEL_COMM_H

#include "base/ctx.h"

typedef enum cm__operation {
    CM__ALL_REDUCE, CM__REDUCE_SCATTER, CM__ALL_GATHER, CM__ALL_TO_ALL, CM__BROADCAST, CM__POINT_TO_POINT,
    CM__OPERATIONS
} cm__operation;

typedef enum cm__algorithm {
    CM__RING, CM__TREE, CM__DOUBLE_TREE, CM__DIRECT, CM__IN_NETWORK, CM__PARAMETER_SERVER, CM__ALGORITHMS
} cm__algorithm;

extern const char *const cm__operation_names[CM__OPERATIONS]; /* as in profiles: "all-reduce" */
extern const char *const cm__algorithm_names[CM__ALGORITHMS];

/* Time of one algorithm among p devices; NAN: it does not support the operation. */
double cm__algorithm_time(cm__algorithm algorithm, cm__operation operation, int32_t p, double bytes, double latency_s,
                          double bw_bytes_s);
/* Bus bandwidth over algorithm bandwidth (bytes / time), as nccl-tests define it. */
double cm__bus_part(cm__operation operation, int32_t p);

/* A group of communicating devices: `size` in all, `per_node` of them in one node. All groups of the machine
   communicate at the same time and share the network between nodes. */
typedef struct cm__group {
    int32_t size, per_node;
} cm__group;

/* Fails if the plan has more devices than a node and the network between nodes is unknown. */
void cm__plan_needs(cm__ctx *ctx, const cm_fabric *fabric, int32_t devices);
/* Fails if the plan has more devices than a named cluster. */
void cm__plan_within(cm__ctx *ctx, const cm_fabric *fabric, int32_t devices);

double cm__comm_time(const cm_fabric *fabric, cm__operation operation, cm__group group, double bytes);

/* A row of data/shares.tsv: the fraction of a link's bandwidth that is reached, for profiles that do not give one. */
typedef struct cm__known_share {
    const char *id;
    double      value;
    const char *source;
} cm__known_share;

extern const cm__known_share cm__known_shares[];
extern const int32_t         cm__n_known_shares;

double cm__share_of(const char *id); /* the row must exist */

/* Gradient compression: each gradient in `bits` bits, or only a fraction of the gradients, each with its position. */
typedef struct cm__compression {
    double bits, fraction;   /* bits 0: uncompressed; fraction 0: all gradients */
    double compute_bytes_s;  /* rate at which a device compresses and decompresses; 0: at no cost */
} cm__compression;

/* Bytes sent for `bytes` of fp32 gradients that otherwise have `bits` bits each; and the time to compress them. */
double cm__compressed_bytes(const cm__compression *c, double bytes, double bits);
double cm__compression_time(const cm__compression *c, double bytes);

#endif
