/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tables.h - the kernel tables of a device for a runtime: choose the table for a call and read its time.
 *
 * A call has an exact row, or it has neighbours: rows of its own table and, at an added distance, of the other tables
 * of its operator.
 */
#ifndef CM_MODEL_TABLES_H
#define CM_MODEL_TABLES_H

#include "device/device.h"
#include "model/time/catalogue.h"
#include "model/time/kriging.h"
#include "model/time/memo.h"
#include "model/time/roofline.h"
#include "model/time/rows.h"

typedef struct cm__library {
    cm__ctx                 *ctx;
    const cm__catalogue     *catalogue;
    const cm__kernel_table **tables; /* of the catalogue */
    int32_t                  count;
    const cm__rows          *rows[CM__CALLS][CM__KINDS]; /* of each table of a family; NULL: not prepared yet */
    cm__limits               limits;   /* of the device on which the tables were measured */
    cm_runtime               runtime;
    bool                     reference; /* measured on another device */
    bool                     transfers; /* measured on the device's base, which has other limits */
} cm__library;

/* The device must outlive the library. Without tables for compiled PyTorch or Megatron-LM, the eager tables are
   used. asked: the releases that the question names. memo: NULL for none. */
void cm__library_open(cm__ctx *ctx, cm__library *library, cm__kernels kernels, const cm_device *of, cm_runtime runtime,
                      cm_versions asked, bool reference, cm__memo *memo);

/* The shape does not matter to a kernel over contiguous data: returns the same call with one row. */
cm__call cm__without_shape(const cm__call *call);

/* The table for a call: its own; one that differs only in variant or type; that of any function. -1: none. */
int32_t cm__library_own(const cm__library *library, const cm__call *call);
int32_t cm__library_stand_in(const cm__library *library, const cm__call *call);
int32_t cm__library_any_function(const cm__library *library, const cm__call *call);

/* The exact row of a call (cm__without_shape()); -1: none. */
int32_t cm__library_row(const cm__library *library, int32_t table, const cm__call *call);

/* The rows of a table with their features. */
const cm__rows *cm__library_rows(cm__library *library, int32_t table);

/* The rows of a table that are nearest to a call of it. */
void cm__library_nearest(cm__library *library, int32_t table, const cm__call *call, cm__neighbours *found);

/* The time predicted from a call's neighbours, on the library's device. memo: NULL for none. */
cm__memo_value cm__library_neighbours(cm__library *library, int32_t table, const cm__call *call, cm__memo *memo);

/* Row `row` of a table predicted from the other rows, in seconds. */
double cm__library_left_out(cm__library *library, int32_t table, int32_t row, cm__call *call);

#endif
