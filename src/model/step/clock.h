/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clock.h - how far a device lowers its clock to stay within its power limit.
 *
 * Kernel tables have times of calls in short bursts, at the full clock unless the call alone draws more than the power
 * that the device allows for a moment (`burst` in profiles): then at the highest clock that does not. A step that would draw more power than the limit runs at the highest
 * clock at which the power fits. A call scales with the clock as it scales between devices (cm__transferred()). A
 * product overlaps arithmetic with memory traffic and takes the longer of both, with the smooth corner of the roofline.
 * Other kernels take the memory's time plus the cores' time. Energy per FLOP falls with a power of the clock, because
 * the voltage does, down to the voltage's minimum. Energy per byte falls with its square root, because the memory's
 * part does not change. The average power of a throttled step is a little below the limit: the regulator acts on its
 * peaks.
 */
#ifndef CM_MODEL_CLOCK_H
#define CM_MODEL_CLOCK_H

#include "model/dispatch/dispatch.h"

typedef struct cm__workload {
    double flop, bytes;
} cm__workload;

/* A call's time in the tables: the memory's part, and the part that scales with the clock. */
typedef struct cm__stretch {
    double memory_s, clocked_s, runs;
    double own;    /* clock at which the call was timed alone, over the full clock */
    bool   beside; /* both parts overlap */
} cm__stretch;

typedef struct cm__load {
    cm__stretch *calls;          /* the caller provides room for all calls */
    int32_t      count;
    double       flop_j, byte_j; /* dynamic energy at the full clock */
    double       least_s;        /* minimum duration of the step: the host's time */
    double       waits_s;        /* waiting for other devices, independent of the clock */
} cm__load;

typedef struct cm__power {
    double limit_w, idle_w, byte_j, flop_j[CM_RATES]; /* limit 0: unknown, no throttling */
    /* while a kernel runs, beyond idle power and the energy of its work: clocks, scheduling */
    double active_w;
    double held_w;            /* average power of a throttled step */
    double burst_w;           /* dynamic power that a call alone may draw for some milliseconds; INFINITY: any */
    double exponent, floor;   /* energy per FLOP over the clock; clock below which the energy does not fall */
    double memory_bytes_s, cache_bytes;
} cm__power;

cm__power cm__power_of(const cm_device *device);

/* Adds a call of kind `op` with this work; rate: type of its products. */
void   cm__load_add(cm__load *load, const cm__power *power, int op, cm_rate rate, cm__workload work, double time_s,
                    double runs);
/* The time of one run of a call, and of the whole load, at a fraction of the full clock. */
double cm__stretched(const cm__stretch *call, double clock);
double cm__load_time(const cm__load *load, double clock);

/* Clock under the power limit over full clock, at most 1. */
double cm__clock_of(const cm__power *power, const cm__load *load);
/* Energy of a load at that clock beyond idle power, in joules. */
double cm__dynamic_energy(const cm__power *power, const cm__load *load, double clock);

#endif
