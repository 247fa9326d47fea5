/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compiled.h - the built-in devices as constants of the program.
 *
 * tools/precompute_devices.c writes them as C when the program is built, after device_read.c has read their profiles.
 * Loading a built-in device therefore parses no JSON. Its profile is parsed only for callers that need its text, and
 * for profiles that are based on it.
 */
#ifndef CM_DEVICE_COMPILED_H
#define CM_DEVICE_COMPILED_H

#include "device/device.h"

/* In the order of cm_device_id(), without context, tables and tree. */
extern const cm_device cm__compiled_devices[];
extern const int32_t   cm__n_compiled_devices;

/* A built-in device by id; NULL: none. */
const cm_device *cm__compiled_find(const char *id);
/* A device that the context owns. */
cm_device       *cm__compiled_load(cm__ctx *ctx, const cm_device *compiled);

#endif
