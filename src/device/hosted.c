/* SPDX-License-Identifier: Apache-2.0 */
/* hosted.c - a device beside another host, whose times were measured. */
#include <string.h>
#include "device/device.h"

static bool is_among(const cm__host_cost *costs, int32_t count, const cm__host_cost *one)
{
    for (int32_t i = 0; i < count; i++)
        if (strcmp(costs[i].runtime, one->runtime) == 0 && strcmp(costs[i].what, one->what) == 0) return true;
    return false;
}

/* The measured times come first, then those of the device that the profile lacks. */
static void take(cm_device *d, const cm_device *measured)
{
    cm__host_cost *all = cm__alloc_array(d->ctx, (size_t)measured->n_host + (size_t)d->n_host, sizeof *all);
    int32_t        count = measured->n_host;
    memcpy(all, measured->host, (size_t)count * sizeof *all);
    for (int32_t i = 0; i < d->n_host; i++)
        if (!is_among(measured->host, measured->n_host, &d->host[i])) all[count++] = d->host[i];
    d->host = all;
    d->n_host = count;
}

static void free_measured(void *device) { cm_device_free(device); }

cm_status cm_device_use_host(cm_device *d, const char *file, cm_diag *diag)
{
    cm_device *measured = NULL;
    cm_status  status = cm_device_load(file, &measured, diag);
    if (status) return status;
    d->ctx->diag = diag;
    if (!setjmp(d->ctx->trap)) {
        cm__defer(d->ctx, free_measured, measured); /* the device reads its texts */
        if (!measured->n_host)
            cm__fail(d->ctx, CM_ERR_UNKNOWN, "'%.200s' has no times of a host; 'bench --suite host -o FILE' measures them", file);
        take(d, measured);
    } else status = d->ctx->status;
    d->ctx->diag = NULL;
    return status;
}
