/* SPDX-License-Identifier: Apache-2.0 */
/*
 * timer.h - the device time of a call, the best way there is.
 *
 * Measured: the device's table for the runtime has it. Interpolated: it has neighbours; what they take beyond the
 * roofline is taken over, weighted by how near they are. Transferred: a reference device's table has it or neighbours; what
 * they take beyond the reference device's roofline is applied to this device's. Roofline: nobody measured anything like it.
 */
#ifndef CM_MODEL_TIMER_H
#define CM_MODEL_TIMER_H

#include "device/device.h"
#include "model/time/memo.h"
#include "model/time/roofline.h"

typedef struct cm__timer cm__timer;

/* reference NULL: none. Both must outlive the timer. */
cm__timer *cm__timer_new(cm__ctx *ctx, const cm_device *device, const cm_device *reference, cm_runtime runtime);
/* What tables say of calls is asked of, and told to, others too. */
void       cm__timer_share(cm__timer *timer, cm__memo *memo);
cm__timed  cm__timer_time(cm__timer *timer, const cm__call *call);

/* The time on a device of these limits of a call that takes `time_s` on one of those. */
double cm__transferred(const cm__limits *to, const cm__limits *from, const cm__call *call, double time_s);

/* Each row of the device's own tables against what its other rows say. */
typedef void cm__left_out(void *user, const cm__kernel_table *table, const cm__call *call, double measured,
                          double predicted);
void cm__timer_cross_validate(cm__timer *timer, cm__left_out *visit, void *user);

#endif
