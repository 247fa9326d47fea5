/* SPDX-License-Identifier: Apache-2.0 */
/* abilities.c - the precisions, runtimes and operators that a device supports; other requests fail. */
#include <stdio.h>
#include <string.h>
#include "device/device.h"

#define NAMES_SIZE 256

/* ---- precisions -------------------------------------------------------------------------------------------------- */

static bool has_peak(const cm_device *d, cm_rate rate)
{
    return d->peaks[CM_ENGINE_MATRIX][rate].known || d->peaks[CM_ENGINE_VECTOR][rate].known;
}

/* Units for one 16-bit type have the same peak in the other. A device without any known peak is predicted from its
   tables, or not at all. */
static bool speed_known(const cm_device *d, cm_precision precision)
{
    static const cm_rate rates[CM_PRECISIONS][2] = {
        [CM_PRECISION_FP32] = {CM_RATE_FP32, CM_RATE_TF32},     [CM_PRECISION_TF32] = {CM_RATE_TF32, CM_RATE_FP32},
        [CM_PRECISION_AMP_BF16] = {CM_RATE_BF16, CM_RATE_FP16}, [CM_PRECISION_AMP_FP16] = {CM_RATE_FP16, CM_RATE_BF16},
        [CM_PRECISION_BF16] = {CM_RATE_BF16, CM_RATE_FP16},     [CM_PRECISION_FP16] = {CM_RATE_FP16, CM_RATE_BF16},
        [CM_PRECISION_FP8] = {CM_RATE_FP8, CM_RATE_BF16},
    };
    bool any = false;
    for (int r = 0; r < CM_RATES; r++) any = any || has_peak(d, (cm_rate)r);
    return !any || has_peak(d, rates[precision][0]) || has_peak(d, rates[precision][1]);
}

bool cm_device_supports(const cm_device *device, cm_precision precision)
{
    return (unsigned)precision < CM_PRECISIONS && device->precisions[precision] && speed_known(device, precision);
}

/* ---- runtimes ---------------------------------------------------------------------------------------------------- */

bool cm_device_supports_runtime(const cm_device *device, cm_runtime runtime)
{
    if (runtime <= CM_RUNTIME_DEFAULT || runtime >= CM_RUNTIMES) return false;
    runtime = cm_runtime_base(runtime);
    for (int32_t i = 0; i < device->n_runtimes; i++)
        if (device->runtimes[i] == runtime) return true;
    return !device->n_runtimes; /* the profile lists no runtimes */
}

cm_runtime cm_device_runtime(const cm_device *device)
{
    return device->n_runtimes ? device->runtimes[0] : device->usual_runtime;
}

static bool compiles(const cm_device *device)
{
    return cm_device_runtime(device) == CM_RUNTIME_TORCH_EAGER &&
           cm_device_supports_runtime(device, CM_RUNTIME_TORCH_COMPILE);
}

cm_runtime cm__runtime_on(const cm_device *device, cm_runtime asked)
{
    if (asked == CM_RUNTIME_USUAL && compiles(device)) return CM_RUNTIME_TORCH_COMPILE;
    return asked == CM_RUNTIME_DEFAULT || asked == CM_RUNTIME_USUAL ? cm_device_runtime(device) : asked;
}

/* ---- operators --------------------------------------------------------------------------------------------------- */

bool cm_device_runs(const cm_device *device, const char *operator_name)
{
    for (int32_t i = 0; i < device->n_unsupported; i++)
        if (strcmp(device->unsupported[i], operator_name) == 0) return false;
    return true;
}

/* ---- refusal ----------------------------------------------------------------------------------------------------- */

typedef struct names {
    const char *all[CM_PRECISIONS + CM_RUNTIMES];
    int         count;
} names;

/* A list as text: "fp32, amp-fp16 or fp16". */
static const char *joined(const names *n, char *buf)
{
    size_t used = 0;
    buf[0] = 0;
    for (int i = 0; i < n->count; i++) {
        const char *before = !i ? "" : i == n->count - 1 ? " or " : ", ";
        used += (size_t)snprintf(buf + used, NAMES_SIZE - used, "%s%s", before, n->all[i]);
    }
    return buf;
}

static const char *supported_precisions(const cm_device *d, char *buf)
{
    names n = {.count = 0};
    for (int p = CM_PRECISION_FP32; p < CM_PRECISIONS; p++)
        if (cm_device_supports(d, (cm_precision)p)) n.all[n.count++] = cm_precision_name((cm_precision)p);
    return joined(&n, buf);
}

static const char *supported_runtimes(const cm_device *d, char *buf)
{
    names n = {.count = 0};
    for (int r = CM_RUNTIME_TORCH_EAGER; r < CM_RUNTIMES; r++)
        if (cm_runtime_base((cm_runtime)r) == (cm_runtime)r && cm_device_supports_runtime(d, (cm_runtime)r))
            n.all[n.count++] = cm_runtime_name((cm_runtime)r);
    return joined(&n, buf);
}

/* Mixed precision computes in the 16-bit type in its name. */
static const char *type_of(cm_precision precision)
{
    const char *name = cm_precision_name(precision);
    return strncmp(name, "amp-", 4) == 0 ? name + 4 : name;
}

cm_status cm_device_refusal(const cm_device *d, cm_precision precision, cm_runtime runtime, cm_diag *diag)
{
    char buf[NAMES_SIZE];
    if ((unsigned)precision >= CM_PRECISIONS || (unsigned)runtime >= CM_RUNTIMES)
        return cm__diag_set(diag, CM_ERR_ARGUMENT, "no such precision or runtime");
    if (precision && !d->precisions[precision])
        return cm__diag_set(diag, CM_ERR_UNSUPPORTED, "%s has no %s units: --precision %s", d->info.id,
                            type_of(precision), supported_precisions(d, buf));
    if (precision && !cm_device_supports(d, precision))
        return cm__diag_set(diag, CM_ERR_UNSUPPORTED, "the speed of %s in %s is unknown: --precision %s", d->info.id,
                            type_of(precision), supported_precisions(d, buf));
    if (runtime && !cm_device_supports_runtime(d, runtime))
        return cm__diag_set(diag, CM_ERR_UNSUPPORTED, "%s does not run %s: --runtime %s", d->info.id,
                            cm_runtime_name(runtime), supported_runtimes(d, buf));
    return CM_OK;
}
