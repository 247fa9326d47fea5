/* SPDX-License-Identifier: Apache-2.0 */
/* events.h - the events of a torch.profiler trace that matter for times: operators, launches, kernels, annotations. */
#ifndef CM_TIMELINE_EVENTS_H
#define CM_TIMELINE_EVENTS_H

#include "base/map.h"
#include "timeline/aten.h"
#include "timeline/split.h"

/* An operator on the host. */
typedef struct cm__host_op {
    double  begin_us, end_us, thread;
    int32_t what; /* index of cm__events.kinds */
    bool    wraps; /* an operator of the same name runs inside it, after autocast's casts */
} cm__host_op;

/* A call of the driver that starts a kernel or a copy. */
typedef struct cm__launch {
    double  begin_us, thread, correlation;
    int32_t op; /* the operator that it belongs to; -1: none */
} cm__launch;

/* A kernel, copy or fill on the device. */
typedef struct cm__kernel {
    double  begin_us, time_us, correlation, stream;
    int32_t name;         /* index of cm__events.names */
    int8_t  group;        /* cm__kernel_group */
    int32_t op;           /* the operator that launched it: index of cm__events.ops; -1: unknown */
    int32_t step;         /* -1: outside of all steps */
    double  launch_us;    /* NAN: unknown */
    int8_t  phase;        /* cm_phase that a predicted trace states, in which the kernel's name is its call; -1: none */
} cm__kernel;

typedef enum cm__kernel_group { CM__KERNEL, CM__KERNEL_LAYOUT, CM__KERNEL_COMM, CM__KERNEL_COPY,
                               CM__KERNEL_FILL } cm__kernel_group;

/* A span of the host that says what it is doing. */
typedef enum cm__span_kind { CM__SPAN_STEP, CM__SPAN_BACKWARD, CM__SPAN_UPDATE, CM__SPAN_LOADING,
                            CM__SPANS } cm__span_kind;
typedef struct cm__host_span {
    double  begin_us, end_us, thread;
    int32_t name; /* of an optimizer: index of names */
} cm__host_span;

#define CM__EVENTS_STORED 2000000 /* operators, launches and kernels of a trace: about 100 MB of arrays */

/* Growing arrays on the heap, freed with the context. */
typedef struct cm__events {
    cm__ctx       *ctx;
    double         to_us, kernels_to_us; /* what begins later is not stored: on the host, on the device */
    int64_t        most, seen;     /* operators, launches and kernels: may be stored; would be */
    char          *key;            /* of the operator that is being read */
    cm__host_op   *ops;
    cm__launch    *launches;
    cm__kernel    *kernels;
    cm__host_span *spans[CM__SPANS];
    cm__op_kind  **kinds; /* distinct operators: name, shapes, types, strides and numbers */
    const char   **names;
    cm__map        kind_of, name_of;
    int32_t        n_ops, cap_ops, n_launches, cap_launches, n_kernels, cap_kernels, n_kinds, cap_kinds, n_names,
                   cap_names, n_spans[CM__SPANS], cap_spans[CM__SPANS];
    const char    *device;     /* name; NULL: not recorded */
    double         peak_bytes; /* of allocated device memory; 0: not recorded */
    cm__split_counts counts;
    bool           shapes, predicted;
} cm__events;

/* A trace with more than `most` operators, launches and kernels is read again, and only its first steps are stored.
   Without marked steps it is stored as a whole, up to a limit. */
void cm__events_read(cm__events *events, cm__ctx *ctx, const cm__bytes *bytes, int64_t most);

#endif
