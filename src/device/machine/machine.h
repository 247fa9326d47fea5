/* SPDX-License-Identifier: Apache-2.0 */
/* machine.h - a profile of the machine on which the program runs. */
#ifndef CM_DEVICE_MACHINE_H
#define CM_DEVICE_MACHINE_H

#include <jansson.h>
#include "base/ctx.h"

#define CM__CACHES_MAX 4

/* Values reported by the operating system. 0 or an empty text: unknown. */
typedef struct cm__machine {
    char   name[128], vendor[64];
    double cores, memory_bytes;
    struct {
        double bytes; /* total of all caches of this level */
        bool   per_core;
    } caches[CM__CACHES_MAX]; /* level 1 first */
    const char *interface; /* that reported the values */
} cm__machine;

/* From hwloc if it is installed, else from sysconf and /sys. */
void cm__machine_discover(cm__machine *machine);
void cm__machine_from_system(cm__machine *machine); /* only from these two */

/* The profile lives as long as the context. Peaks and bandwidths are unknown: benchmarks measure them. */
const json_t *cm__machine_profile(cm__ctx *ctx);

#endif
