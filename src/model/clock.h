/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clock.h - how far a device lowers its clock to keep to its power limit.
 *
 * Tables hold times at the full clock. A step whose products and traffic would draw more than the limit runs slower:
 * all of what is not waiting for memory is stretched until the power fits. Energy per FLOP falls with the clock
 * (voltage does), per byte with its square root: the memory's part does not.
 */
#ifndef CM_MODEL_CLOCK_H
#define CM_MODEL_CLOCK_H

#include "device/calls.h"

typedef struct cm__load {
    double fixed_s, clocked_s;   /* time that does not, and that does, follow the clock */
    double flop_j, byte_j;       /* dynamic energy at the full clock */
    double least_s;              /* the step lasts this long in any case: the host */
} cm__load;

typedef struct cm__power {
    double limit_w, idle_w, byte_j, flop_j[CM_RATES]; /* limit 0: not known, no throttling */
    double memory_bytes_s;
} cm__power;

cm__power cm__power_of(const cm_device *device);

/* The part of a call's time that follows the clock: all but waiting for memory. */
double cm__clocked_part(const cm__power *power, const cm__call *call, double time_s);
void   cm__load_add(cm__load *load, const cm__power *power, const cm__call *call, double time_s, double runs);

/* Clock over full clock, at most 1. */
double cm__clock_of(const cm__power *power, const cm__load *load);
/* Joules of a step at that clock. */
double cm__energy_at(const cm__power *power, const cm__load *load, double clock, double step_s);

#endif
