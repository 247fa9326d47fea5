/* SPDX-License-Identifier: Apache-2.0 */
/*
 * timer.h - the device time of a kernel call, by the best available method.
 *
 *     measured      the device's table for the runtime has the call
 *     interpolated  the table has neighbours; their ratio to the roofline is interpolated
 *     transferred   a reference device's table has the call or neighbours; their ratio to its roofline is applied here
 *     roofline      no similar call was measured
 */
#ifndef CM_MODEL_TIMER_H
#define CM_MODEL_TIMER_H

#include "device/device.h"
#include "model/time/memo.h"
#include "model/time/roofline.h"

typedef struct cm__timer cm__timer;

/* reference NULL: none. memo: table look-ups that other timers of the same question share; NULL: none. All must outlive
   the timer. */
cm__timer *cm__timer_new(cm__ctx *ctx, const cm_device *device, const cm_device *reference, cm_runtime runtime,
                         cm__memo *memo);
/* Take tables of these releases, which the question names; without a call, the newest. If there are none of them, others
   serve, with a larger error. */
void       cm__timer_asks(cm__timer *timer, cm_versions versions);
/* The release of tables that serve for want of those that the question names, "torch 2.11"; NULL: there are none. */
const char *cm__timer_other_release(const cm__timer *timer);
/* Whether the calls are of a training step, not of inference (default). */
void       cm__timer_trains(cm__timer *timer, bool trains);
/* Keeps the time of each call: for a search that asks for the same calls many times. */
void       cm__timer_remember(cm__timer *timer);
cm__timed  cm__timer_time(cm__timer *timer, const cm__call *call);

/* The entry of a timer that remembers, for a call with a number (dispatch/numbers.h). */
typedef struct cm__kept_call {
    cm__timed timed;
    double    flop, bytes;
    bool      known; /* false: the caller fills it in */
} cm__kept_call;

/* At a batch size of 2^power; NULL: nothing is kept. Later calls of the function leave it where it is. */
cm__kept_call *cm__timer_kept(cm__timer *timer, int32_t number, int power);

/* Lower bounds of time and kernels of cm__timer_time() without interpolation: those of the call's row in a table of the
   device, or what its traffic and other limits take at least; 0: none. cm__timer_bounds(): whether calls may have some. */
bool      cm__timer_bounds(const cm__timer *timer);
cm__timed cm__timer_least(const cm__timer *timer, const cm__call *call);

/* Visits each row of the device's own tables with its measured time and its prediction from the other rows. */
typedef void cm__left_out(void *user, const cm__kernel_table *table, const cm__call *call, double measured,
                          double predicted);
void cm__timer_cross_validate(cm__timer *timer, cm__left_out *visit, void *user);

#endif
