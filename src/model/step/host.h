/* SPDX-License-Identifier: Apache-2.0 */
/* host.h - what the thread that feeds a device spends on a step. */
#ifndef CM_MODEL_HOST_H
#define CM_MODEL_HOST_H

#include "device/device.h"
#include "graph/graph.h"

/* Seconds per step; 0 where the profile (or the reference device's) says nothing of the runtime. */
double cm__host_time(const cm_device *device, const cm_device *reference, cm_runtime runtime, const cm_graph *graph);

/* The part of it that comes once per update, however many micro-batches there are. */
double cm__host_update(const cm_device *device, const cm_device *reference, cm_runtime runtime, const cm_graph *graph);

/* The same under torch-compile; `generated`: kernels that the compiler wrote. */
double cm__host_time_compiled(cm__ctx *ctx, const cm_device *device, const cm_device *reference, const cm_graph *graph,
                              double generated);

/* A number of the profile's `host`, of the reference device's where it has none; 0: neither has. */
double cm__host_number(const cm_device *device, const cm_device *reference, cm_runtime runtime, const char *what);

#endif
