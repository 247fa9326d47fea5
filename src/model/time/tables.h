/* SPDX-License-Identifier: Apache-2.0 */
/*
 * library.h - the kernel tables of a device for a runtime: which one a call is looked up in, and what it says.
 *
 * A call has a row, or neighbours: of its own table, and, from further off, of the other tables of its operator.
 */
#ifndef CM_MODEL_LIBRARY_H
#define CM_MODEL_LIBRARY_H

#include "device/device.h"
#include "model/time/kriging.h"
#include "model/time/memo.h"
#include "model/time/roofline.h"

/* The tables of an operator: what one does not know of a call, the others may. Products in 16 and in 32 bits are other
   kernels, and so are elementwise ones over contiguous numbers and over others: these are two families. */
#define CM__KINDS 2

typedef struct cm__family {
    int32_t   first, count;
    cm__rows *rows; /* of the tables, in their order; NULL: not ready yet */
} cm__family;

typedef struct cm__library {
    cm__ctx                 *ctx;
    const cm__kernel_table **tables; /* op by op */
    int32_t                  count;
    cm__family               families[CM__CALLS][CM__KINDS];
    cm__limits               limits;   /* of the device that the tables were measured on */
    cm_runtime               runtime;
    bool                     reference; /* another device's */
    bool                     moved;    /* measured on a base of the device, which differs from it in its limits */
} cm__library;

/* The device must outlive it. Tables of compiled programs and Megatron are eager ones' where there are none. */
void cm__library_open(cm__ctx *ctx, cm__library *library, cm__kernels kernels, const cm_device *of, cm_runtime runtime,
                      bool reference);

/* A kernel over contiguous numbers does not know their shape: the same call, as a row of numbers. */
cm__call cm__without_shape(const cm__call *call);

/* The table of a call: its own, one that differs in its variant or type only, that of any function. -1: none. */
int32_t cm__library_own(const cm__library *library, const cm__call *call);
int32_t cm__library_stand_in(const cm__library *library, const cm__call *call);
int32_t cm__library_any_function(const cm__library *library, const cm__call *call);

/* The row that a call without shape is; -1: none. */
int32_t cm__library_row(const cm__library *library, int32_t table, const cm__call *call);

/* What the neighbours of a call in a table say, on the library's device. memo: NULL for none. */
cm__memo_value cm__library_neighbours(cm__library *library, int32_t table, const cm__call *call, cm__memo *memo);

/* Row `row` of a table, as the other rows tell it, in seconds. */
double cm__library_left_out(cm__library *library, int32_t table, int32_t row, cm__call *call);

#endif
