/* SPDX-License-Identifier: Apache-2.0 */
/* hosted.c - a device beside another host, whose times were measured, or with host times of another release. */
#include <string.h>
#include "base/versions.h"
#include "device/device.h"

static bool is_among(const cm__host_cost *costs, int32_t count, const cm__host_cost *one)
{
    for (int32_t i = 0; i < count; i++)
        if (strcmp(costs[i].runtime, one->runtime) == 0 && strcmp(costs[i].what, one->what) == 0) return true;
    return false;
}

/* Rates of loading, and the time of a tiny operator. Times of launches one after the other, which other suites measure,
   say little of steps. */
static bool is_of_host(const cm__host_cost *h)
{
    return strcmp(h->runtime, cm_runtime_name(CM_RUNTIME_NATIVE)) == 0 || strcmp(h->what, "probe") == 0;
}

/* The measured times come first, then those of the device that the profile lacks. Returns how many were measured. */
static int32_t take(cm_device *d, const cm_device *measured)
{
    cm__host_cost *all = cm__alloc_array(d->ctx, (size_t)measured->n_host + (size_t)d->n_host, sizeof *all);
    int32_t        count = 0;
    for (int32_t i = 0; i < measured->n_host; i++)
        if (is_of_host(&measured->host[i])) all[count++] = measured->host[i];
    int32_t taken = count;
    for (int32_t i = 0; i < d->n_host; i++)
        if (!is_among(all, taken, &d->host[i])) all[count++] = d->host[i];
    if (taken) d->host = all, d->n_host = count;
    return taken;
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
        if (!take(d, measured))
            cm__fail(d->ctx, CM_ERR_UNKNOWN, "'%.200s' has no times of a host; 'bench --suite host -o FILE' measures them", file);
    } else status = d->ctx->status;
    d->ctx->diag = NULL;
    return status;
}

cm_status cm__device_use_launcher(cm_device *d, const char *file, cm_diag *diag)
{
    return file && cm_device_get_info(d)->style == CM_STYLE_KERNELS ? cm_device_use_host(d, file, diag) : CM_OK;
}

const cm_device *cm__device_of_release(cm__ctx *ctx, const cm_device *d, cm_versions asked)
{
    bool several = false;
    for (int32_t i = 1; d && i < d->n_host; i++)
        several |= cm__versions_differ(d->host[i].software, d->host[0].software);
    if (!several) return d;
    cm_device *ordered = cm__alloc(ctx, sizeof *ordered);
    *ordered = *d;
    ordered->host = cm__alloc_array(ctx, (size_t)d->n_host, sizeof *ordered->host);
    for (int32_t i = 0, at; i < d->n_host; i++) {
        for (at = i; at > 0 && cm__versions_better(d->host[i].software, ordered->host[at - 1].software, asked); at--)
            ordered->host[at] = ordered->host[at - 1];
        ordered->host[at] = d->host[i];
    }
    return ordered;
}
