/* SPDX-License-Identifier: Apache-2.0 */
/* changed.c - copies of devices with modified numbers. */
#include "device/changed.h"

#include <string.h>

static void *copy_of(cm__ctx *ctx, const void *items, int32_t count, size_t size)
{
    void *copy = cm__alloc_array(ctx, (size_t)count + 1, size);
    if (count) memcpy(copy, items, (size_t)count * size);
    return copy;
}

cm_device *cm__device_copy(cm__ctx *ctx, const cm_device *device)
{
    cm_device *d = cm__alloc(ctx, sizeof *d);
    *d = *device;
    d->memories = copy_of(ctx, device->memories, device->n_memories, sizeof *d->memories);
    if (!d->kernels_of) d->kernels_of = device;
    if (!d->built_in_kernels_of) d->built_in_kernels_of = device;
    return d;
}

cm_device *cm__device_without_results(cm__ctx *ctx, const cm_device *device)
{
    cm_device *copy = cm__device_copy(ctx, device);
    memset(copy->corrections, 0, sizeof copy->corrections);
    copy->n_fits = copy->surfaces.count = 0;
    copy->chip = NULL; /* other cards with its chip count as the same device */
    return copy;
}

void cm__number_scale(cm_number *number, double factor)
{
    if (number->known) number->value *= factor;
}

cm_memory *cm__device_main(cm_device *device)
{
    const cm_memory *main = cm_device_main_memory(device);
    return main ? &device->memories[main - device->memories] : NULL;
}

cm_memory *cm__device_cache(cm_device *device)
{
    const cm_memory *main = cm_device_main_memory(device);
    cm_memory       *cache = NULL;
    for (int32_t i = 0; i < device->n_memories; i++) {
        cm_memory *m = &device->memories[i];
        if (m != main && m->place == CM_PLACE_ON_CHIP && !m->per_core) cache = m;
    }
    return cache;
}
