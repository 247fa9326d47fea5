/* SPDX-License-Identifier: Apache-2.0 */
/* what_if.c - copies of devices with numbers multiplied by factors. */
#include "device/what_if.h"

#include <string.h>
#include "base/text.h"
#include "device/changed.h"

#define SEPARATORS "&,"
#define FACTOR_MOST 1e6
#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ---- numbers of a device ---------------------------------------------------------------------------------------- */

/* Each returns whether the device has such a number. */
static bool scale(cm_number *number, double factor)
{
    cm__number_scale(number, factor);
    return number->known;
}

static bool scale_peaks(cm_device *d, cm_engine engine, double factor)
{
    bool any = false;
    for (int r = 0; r < CM_RATES; r++) any |= scale(&d->peaks[engine][r], factor);
    return any;
}

static bool matrix(cm_device *d, double factor) { return scale_peaks(d, CM_ENGINE_MATRIX, factor); }

/* Kernel time beyond the roofline scales with the cores. */
static bool vector(cm_device *d, double factor)
{
    cm__number_scale(&d->numbers[CM_CLOCK_HZ], factor);
    return scale_peaks(d, CM_ENGINE_VECTOR, factor);
}

static bool compute(cm_device *d, double factor)
{
    bool products = matrix(d, factor);
    return vector(d, factor) || products;
}

static bool bandwidth(cm_device *d, double factor)
{
    return cm__device_main(d) && scale(&cm__device_main(d)->bw_bytes_s, factor);
}

static bool memory(cm_device *d, double factor)
{
    return cm__device_main(d) && scale(&cm__device_main(d)->capacity_bytes, factor);
}

static bool cache(cm_device *d, double factor)
{
    return cm__device_cache(d) && scale(&cm__device_cache(d)->capacity_bytes, factor);
}

static bool cache_bandwidth(cm_device *d, double factor)
{
    return cm__device_cache(d) && scale(&cm__device_cache(d)->bw_bytes_s, factor);
}

static bool links(cm_device *d, double factor)
{
    bool     any = false;
    cm_link *own = cm__alloc_array(d->ctx, (size_t)d->links.count + 1, sizeof *own);
    if (d->links.count) memcpy(own, d->links.items, (size_t)d->links.count * sizeof *own);
    d->links.items = own;
    for (int32_t i = 0; i < d->links.count; i++) any |= scale(&own[i].bw_bytes_s, factor);
    return any;
}

static bool power(cm_device *d, double factor) { return scale(&d->numbers[CM_TDP_W], factor); }
static bool launch(cm_device *d, double factor) { return scale(&d->numbers[CM_LAUNCH_S], factor); }

static const struct {
    const char *key;
    bool (*change)(cm_device *device, double factor);
} keys[] = {{"bandwidth", bandwidth}, {"compute", compute}, {"matrix", matrix}, {"vector", vector},
            {"memory", memory},       {"cache", cache},     {"cache-bandwidth", cache_bandwidth},
            {"links", links},         {"power", power},     {"launch", launch}};

/* ---- changes ---------------------------------------------------------------------------------------------------- */

/* "2x", or "2". */
static double factor_of(cm__ctx *ctx, cm__span text)
{
    double factor;
    if (text.length && text.text[text.length - 1] == 'x') text.length--;
    if (!cm__parse_real(text, &factor) || !(factor > 0) || factor > FACTOR_MOST)
        cm__fail(ctx, CM_ERR_ARGUMENT, "'%.*s' is no factor; write bandwidth=2x or power=0.8x", (int)text.length,
                 text.text);
    return factor;
}

static void apply(cm__ctx *ctx, cm_device *d, cm__span change)
{
    const char *names[COUNT(keys)], *equals = memchr(change.text, '=', change.length);
    char        key[32];
    size_t      length = equals ? (size_t)(equals - change.text) : change.length, i = 0;
    cm__join(key, sizeof key, cm__format(ctx, "%.*s", (int)length, change.text), NULL);
    while (i < COUNT(keys) && strcmp(keys[i].key, key) != 0) names[i] = keys[i].key, i++;
    if (i == COUNT(keys)) {
        const char *meant = cm__nearest(key, names, COUNT(keys));
        if (meant) cm__fail(ctx, CM_ERR_UNKNOWN, "a device has no '%s'; did you mean '%s'?", key, meant);
        cm__fail(ctx, CM_ERR_UNKNOWN,
                 "a device has no '%s'; there are bandwidth, compute, matrix, vector, memory, cache, cache-bandwidth, "
                 "links, power and launch", key);
    }
    if (!equals) cm__fail(ctx, CM_ERR_ARGUMENT, "'%s' has no factor; write %s=2x", key, key);
    double factor = factor_of(ctx, (cm__span){equals + 1, change.length - length - 1});
    if (!keys[i].change(d, factor))
        cm__fail(ctx, CM_ERR_UNSUPPORTED, "the profile of %s has no number for '%s'", d->info.id, key);
}

cm_device *cm__device_what_if(cm__ctx *ctx, const cm_device *device, const char *changes)
{
    cm_device *d = cm__device_copy(ctx, device);
    for (const char *at = changes; *at; at += strspn(at, SEPARATORS)) {
        size_t size = strcspn(at, SEPARATORS);
        if (size) apply(ctx, d, (cm__span){at, size});
        at += size;
    }
    d->info.id = cm__format(ctx, "%s%c%s", device->info.id, CM__WHAT_IF, changes);
    d->info.name = cm__format(ctx, "%s with %s", device->info.name, changes);
    return d;
}
