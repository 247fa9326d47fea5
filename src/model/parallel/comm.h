/* SPDX-License-Identifier: Apache-2.0 */
/*
 * comm.h - the time of collective operations on the links of a machine.
 *
 * Every algorithm is a latency and a volume, t = steps α + passes n / w (α: one step between neighbours, w: bytes/s
 * of one device in one direction, n: bytes of the whole buffer); whichever is fastest at a size is taken, as libraries do.
 * Where a profile has measured rows of an operation, these stand for the formulas inside of a node.
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

/* Of one algorithm among p devices; NAN: it has no such operation. */
double cm__algorithm_time(cm__algorithm algorithm, cm__operation operation, int32_t p, double bytes, double latency_s,
                          double bw_bytes_s);
/* Bytes over time, times this, is what each link carries; as nccl-tests define it. */
double cm__bus_part(cm__operation operation, int32_t p);

/* Devices that communicate with each other: so many in all, so many of them in one node. All groups of the machine
   communicate at once, and share what joins the nodes. */
typedef struct cm__group {
    int32_t size, per_node;
} cm__group;

/* Refuses so many devices where what joins them is not known. */
void cm__plan_needs(cm__ctx *ctx, const cm_fabric *fabric, int32_t devices);
/* Refuses more devices than a named cluster has. */
void cm__plan_within(cm__ctx *ctx, const cm_fabric *fabric, int32_t devices);

double cm__comm_time(const cm_fabric *fabric, cm__operation operation, cm__group group, double bytes);

/* A row of data/shares.tsv: what is reached of links, where no profile tells. */
typedef struct cm__known_share {
    const char *id;
    double      value;
    const char *source;
} cm__known_share;

extern const cm__known_share cm__known_shares[];
extern const int32_t         cm__n_known_shares;

double cm__share_of(const char *id); /* of a row that is there */

/* Gradients before they are sent: in so many bits, or only so large a fraction of them, each with its position. */
typedef struct cm__compression {
    double bits, fraction;   /* 0: as they are, all of them */
    double compute_bytes_s;  /* at which a device compresses and restores; 0: at no cost */
} cm__compression;

/* What is sent of `bytes` of fp32 numbers that are `bits` each otherwise, and the time that compressing takes. */
double cm__compressed_bytes(const cm__compression *c, double bytes, double bits);
double cm__compression_time(const cm__compression *c, double bytes);

#endif
