/* SPDX-License-Identifier: Apache-2.0 */
/* kernels.h - tables of measured kernel calls, from profiles (docs/devices.md) and built in. */
#ifndef CM_DEVICE_KERNELS_H
#define CM_DEVICE_KERNELS_H

#include <jansson.h>
#include "device/calls.h"
#include "device/locate.h"

/* Kernel calls of one runtime, operator, pass, variant and type. */
typedef struct cm__kernel_table {
    const char    *runtime, *kind, *source, *date;
    int16_t        op, pass;
    cm__variant    variant;
    cm__types      types;
    int32_t        n_rows;
    int32_t        built_in; /* number of a built-in table, from 1; 0: the table is read from a profile */
    cm_versions    software; /* that it was measured with */
    bool           sorted; /* by sizes */
    bool           trended; /* data/trends.json was fitted to it */
    uint8_t        row_bytes, widths[CM__CALL_SIZES]; /* bytes of the sizes of a row, and of each of them */
    const uint8_t  *sizes;         /* of all rows, or of all shapes that tables share; row_sizes.h reads them */
    const uint16_t *shapes;        /* the shape of each row; NULL: the sizes are those of the rows */
    const float    *time_s;        /* of tables of profiles, and if a time has no number */
    const uint16_t *times;         /* otherwise: numbers of times for cm__short_time() */
    const uint8_t  *launches;      /* kernels per call, unless one has more than 255 of them */
    const uint16_t *many_launches; /* then these are given, and so in tables of profiles */
} cm__kernel_table;

/* Seconds with four digits in 16 bits. Numbers below 10,000 count tenths of a nanosecond. Of the others, the first
   9,000 are 1.000 to 9.999 microseconds, the next 9,000 are ten times as long, and so on. tools/embed.py finds them. */
float cm__short_time(uint16_t number);

static inline float cm__row_time(const cm__kernel_table *t, int32_t row)
{
    return t->time_s ? t->time_s[row] : cm__short_time(t->times[row]);
}

static inline int32_t cm__row_launches(const cm__kernel_table *t, int32_t row)
{
    return t->many_launches ? t->many_launches[row] : t->launches[row];
}

typedef struct cm__kernels {
    const cm__kernel_table *tables;
    int32_t                 count;
} cm__kernels;

/* Tables built in for a device. */
typedef struct cm__embedded_kernels {
    const char             *device;
    const cm__kernel_table *tables;
    int32_t                 count;
} cm__embedded_kernels;

extern const cm__embedded_kernels cm__all_embedded_kernels[];
extern const int32_t              cm__n_embedded_kernels;

cm__kernels cm__kernels_built_in(const char *device);

/* How many tables there are of each runtime, and the software that they were measured with; NULL: none. */
const char *cm__kernels_text(cm__ctx *ctx, cm__kernels kernels);

/* Read the tables of a profile; an invalid one fails with its location. sources: of the profile. */
cm__kernels cm__kernels_of(cm__ctx *ctx, const json_t *array, const json_t *sources, const cm__origin *origin);

#endif
