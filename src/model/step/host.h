/* SPDX-License-Identifier: Apache-2.0 */
/* host.h - the time that the thread which launches kernels spends on a step. */
#ifndef CM_MODEL_HOST_H
#define CM_MODEL_HOST_H

#include "device/device.h"
#include "graph/graph.h"

/* Operators of a step by kinds that take the host equally long (host.c), in forward, recomputation and backward. */
#define CM__HOST_KINDS 7
typedef struct cm__host_counts {
    double forward[CM__HOST_KINDS], again[CM__HOST_KINDS], backward[CM__HOST_KINDS];
    double checkpoints;   /* layers that are recomputed */
    bool   known, trains; /* known false: not counted */
} cm__host_counts;
cm__host_counts cm__host_count(const cm_graph *graph);

/* Seconds per step; 0 if neither the profile nor the reference device's has numbers for the runtime. counts: of the
   graph; NULL or not known: they are counted here. */
double cm__host_time(const cm_device *device, const cm_device *reference, cm_runtime runtime, const cm_graph *graph,
                     const cm__host_counts *counts);

/* The part that runs once per update, however many micro-batches there are. */
double cm__host_update(const cm_device *device, const cm_device *reference, cm_runtime runtime, const cm_graph *graph);

/* The same under torch-compile. `generated`: number of kernels that the compiler generated. */
double cm__host_time_compiled(cm__ctx *ctx, const cm_device *device, const cm_device *reference, const cm_graph *graph,
                              double generated);
/* The same of a runtime that replays CUDA graphs. */
double cm__host_time_graphs(cm__ctx *ctx, const cm_device *device, const cm_device *reference, const cm_graph *graph,
                            cm_runtime base);

/* A number of the profile's `host`, or of the reference device's if the profile has none; 0: neither has it. */
double cm__host_number(const cm_device *device, const cm_device *reference, cm_runtime runtime, const char *what);

/* How the device's host compares with the host on which the profile's host times were measured. */
typedef struct cm__hosting {
    double slower; /* factor of host times; 1: the same host, or one of them is unknown */
    double error;  /* log error of host times */
} cm__hosting;

/* `id`: the host that the user names; NULL: the usual host of the device. asked: the releases of the question. */
cm__hosting cm__hosting_of(cm__ctx *ctx, const cm_device *device, const cm_device *reference, cm_runtime runtime,
                           const char *id, cm_versions asked);

#endif
