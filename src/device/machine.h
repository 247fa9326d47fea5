/* SPDX-License-Identifier: Apache-2.0 */
/* machine.h - the machine the program runs on, as a profile. */
#ifndef CM_DEVICE_MACHINE_H
#define CM_DEVICE_MACHINE_H

#include <jansson.h>
#include "base/ctx.h"

#define CM__CACHES_MAX 4

/* What the operating system says. 0 or an empty text: nothing. */
typedef struct cm__machine {
    char   name[128], vendor[64];
    double cores, memory_bytes;
    struct {
        double bytes; /* of all such caches together */
        bool   per_core;
    } caches[CM__CACHES_MAX]; /* level 1 first */
    const char *asked; /* where the answers are from */
} cm__machine;

/* One of two: machine_hwloc.c where hwloc is there, machine_sysfs.c otherwise. */
void cm__machine_discover(cm__machine *machine);

/* Lives as long as the context. Peaks and bandwidths are not known: they are for benchmarks to find. */
const json_t *cm__machine_profile(cm__ctx *ctx);

#endif
