/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clock.h - how far a device lowers its clock to keep to its power limit.
 *
 * Tables hold times at the full clock. A step whose products and traffic would draw more than the limit runs at a lower
 * clock until the power fits. A call follows the clock as it follows a device's ceilings (cm__transferred()): a product
 * computes while it waits for memory, and takes the longer of both with the corner of the roofline; other kernels take
 * what the memory takes and, after that, what their cores do. Energy per FLOP falls with the clock (voltage does), per
 * byte with its square root: the memory's part does not.
 */
#ifndef CM_MODEL_CLOCK_H
#define CM_MODEL_CLOCK_H

#include "device/calls.h"

/* A call's time at the full clock: what the memory takes, and what follows the clock. */
typedef struct cm__stretch {
    double memory_s, clocked_s, runs;
    bool   beside; /* both at the same time */
} cm__stretch;

typedef struct cm__load {
    cm__stretch *calls;          /* room for as many as are added */
    int32_t      count;
    double       flop_j, byte_j; /* dynamic energy at the full clock */
    double       least_s;        /* the step lasts this long in any case: the host */
    double       waits_s;        /* for other devices, whatever the clock */
} cm__load;

typedef struct cm__power {
    double limit_w, idle_w, byte_j, flop_j[CM_RATES]; /* limit 0: not known, no throttling */
    double memory_bytes_s, cache_bytes;
} cm__power;

cm__power cm__power_of(const cm_device *device);

void   cm__load_add(cm__load *load, const cm__power *power, const cm__call *call, double time_s, double runs);
/* One run of a call, and all of the load, at a fraction of the full clock. */
double cm__stretched(const cm__stretch *call, double clock);
double cm__load_time(const cm__load *load, double clock);

/* Clock over full clock, at most 1. */
double cm__clock_of(const cm__power *power, const cm__load *load);
/* Joules of a step at that clock. */
double cm__energy_at(const cm__power *power, const cm__load *load, double clock, double step_s);

#endif
