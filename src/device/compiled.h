/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compiled.h - the built-in devices as constants of the program.
 *
 * tools/precompute_devices.c writes them as C when the program is built, after device_read.c has read their profiles.
 * Loading a built-in device therefore parses no JSON. Its profile is parsed only for callers that need its text, and
 * for profiles that are based on it.
 *
 * The constants contain no addresses, which would be changed at each start of the program for all devices: a text is
 * its place in cm__compiled_texts, a list the index of its first item. Both are stored where a loaded device has
 * pointers. compiled.def lists the members.
 */
#ifndef CM_DEVICE_COMPILED_H
#define CM_DEVICE_COMPILED_H

#include "device/device.h"

typedef struct cm__word {
    const char *text;
} cm__word;

/* The items of all lists of a struct. */
#define RECORD(type, name, ...) typedef type cm__record_##name;
#define LISTED(name) extern const cm__record_##name cm__compiled_##name[];
#include "device/compiled.def"
#undef RECORD
#undef LISTED

/* In the order of cm_device_id(), without context, tables and tree. built_in_kernels_of is the number of a device, from
   1. */
extern const cm_device cm__compiled_devices[];
extern const int32_t   cm__n_compiled_devices;
extern const double    cm__compiled_double[];
extern const int64_t   cm__compiled_int64_t[];
extern const char      cm__compiled_texts[]; /* the first one is empty; place 0 is no text */

/* The number of a built-in device by id, from 0; -1: none. */
int32_t    cm__compiled_find(const char *id);
/* A device that the context owns. */
cm_device *cm__compiled_load(cm__ctx *ctx, int32_t number);

#endif
