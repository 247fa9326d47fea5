/* SPDX-License-Identifier: Apache-2.0 */
/* compiled.c - find a compiled device and make it a device of a context. */
#include "device/compiled.h"

#include "base/text.h"

const cm_device *cm__compiled_find(const char *id)
{
    for (int32_t i = 0; i < cm__n_compiled_devices; i++)
        if (cm__same_name(id, cm__compiled_devices[i].info.id)) return &cm__compiled_devices[i];
    return NULL;
}

/* Those of the device itself, or of its nearest base that has some. */
static cm__kernels tables_of(const cm__lineage *lineage)
{
    cm__kernels found = {0};
    for (int32_t i = 0; i < lineage->count && !found.count; i++) found = cm__kernels_built_in(lineage->all[i].id);
    return found;
}

cm_device *cm__compiled_load(cm__ctx *ctx, const cm_device *compiled)
{
    cm_device *d = cm__device_new(ctx);
    *d = *compiled;
    d->ctx = ctx;
    d->built_in_kernels = tables_of(&d->lineage);
    return d;
}
