/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plausible.c - compare a profile with the built-in devices.
 *
 * The limits are the least and the greatest number of the built-in devices, with a margin. They are computed when a
 * profile is checked, so a new device moves them.
 */
#include "device/plausible.h"

#include <math.h>
#include "base/text.h"
#include "device/assumed.h"
#include "device/changed.h"
#include "device/number.h"

#define MARGIN 8.0       /* beyond the built-in devices of the class; missing prefixes are factors of 1000 */
#define WIDE_MARGIN 1e3  /* beyond all built-in devices, for a class with fewer than FEW of them */
#define FEW 3

/* ---- what is compared -------------------------------------------------------------------------------------------- */

static double best_peak(const cm_device *d, cm_rate rate)
{
    double matrix = cm__value_or(d->peaks[CM_ENGINE_MATRIX][rate], NAN);
    return fmax(matrix, cm__value_or(d->peaks[CM_ENGINE_VECTOR][rate], NAN)); /* of a number and NAN: the number */
}

static double stated(const cm_device *d, cm_quantity q)
{
    bool known = d->numbers[q].known && !cm__same_name(d->numbers[q].kind, "assumed");
    return known ? d->numbers[q].value : NAN;
}

static double capacity(const cm_device *d)
{
    const cm_memory *m = cm_device_main_memory(d);
    return m ? cm__value_or(m->capacity_bytes, NAN) : NAN;
}

static double bandwidth(const cm_device *d)
{
    const cm_memory *m = cm_device_main_memory(d);
    return m ? cm__value_or(m->bw_bytes_s, NAN) : NAN;
}

static const cm_memory *cache(const cm_device *d)
{
    const cm_memory *main = cm_device_main_memory(d), *found = NULL;
    for (int32_t i = 0; i < d->n_memories; i++)
        if (&d->memories[i] != main && d->memories[i].place == CM_PLACE_ON_CHIP &&
            !cm__same_name(d->memories[i].name, CM__ASSUMED_CACHE))
            found = &d->memories[i];
    return found;
}

static double peak_16bit(const cm_device *d) { return fmax(best_peak(d, CM_RATE_BF16), best_peak(d, CM_RATE_FP16)); }
static double peak_fp32(const cm_device *d) { return best_peak(d, CM_RATE_FP32); }
static double cores(const cm_device *d) { return stated(d, CM_CORES); }
static double clock_hz(const cm_device *d) { return stated(d, CM_CLOCK_HZ); }
static double launch(const cm_device *d) { return stated(d, CM_LAUNCH_S); }
static double tdp(const cm_device *d) { return stated(d, CM_TDP_W); }
static double cache_bytes(const cm_device *d) { return cache(d) ? cm__value_or(cache(d)->capacity_bytes, NAN) : NAN; }
static double cache_share(const cm_device *d) { return cache_bytes(d) / capacity(d); }
static double cache_speed(const cm_device *d)
{
    return cache(d) ? cm__value_or(cache(d)->bw_bytes_s, NAN) / bandwidth(d) : NAN;
}
static double intensity(const cm_device *d) { return peak_16bit(d) / bandwidth(d); }
static double cycle(const cm_device *d) { return peak_fp32(d) / cores(d) / clock_hz(d); }
static double power(const cm_device *d) { return peak_16bit(d) / tdp(d); }
static double link_share(const cm_device *d)
{
    return d->links.count ? cm__value_or(d->links.items[0].bw_bytes_s, NAN) / bandwidth(d) : NAN;
}

static double price(const cm_device *d)
{
    const cm_price *p = cm_device_cheapest(d, 1, CM_BASIS_ANY, NULL);
    return p ? p->usd_hour : NAN;
}

static const struct {
    const char *what, *unit;
    double (*of)(const cm_device *device);
} compared[] = {
    {"the memory", "B", capacity},
    {"the memory's bandwidth", "B/s", bandwidth},
    {"the 16-bit peak", "FLOP/s", peak_16bit},
    {"the fp32 peak", "FLOP/s", peak_fp32},
    {"the cores", "", cores},
    {"the clock", "Hz", clock_hz},
    {"the launch time", "s", launch},
    {"the power limit", "W", tdp},
    {"the cache", "B", cache_bytes},
    {"the cache beside the memory", "", cache_share},
    {"the cache's bandwidth beside the memory's", "", cache_speed},
    {"the 16-bit peak beside the bandwidth", "FLOP/B", intensity},
    {"the fp32 peak of a core in a cycle", "FLOP", cycle},
    {"the 16-bit peak beside the power limit", "FLOP/J", power},
    {"the link's bandwidth beside the memory's", "", link_share},
    {"the price", "USD/h", price},
};

/* ---- limits ------------------------------------------------------------------------------------------------------ */

typedef struct devices {
    const cm_device **all;
    int32_t           count;
    double            margin;
} devices;

typedef struct range {
    double      low, high;
    const char *lowest, *highest;
} range;

static void free_device(void *device) { cm_device_free(device); }

/* Those of the device's class, or all if it has few. */
static devices known_devices(cm__ctx *ctx, const cm_device *d)
{
    devices known = {cm__alloc_array(ctx, (size_t)cm_devices() + 1, sizeof *known.all), 0, MARGIN};
    int32_t n = 0, total = 0;
    for (const char *id; (id = cm_device_id(total)); total++) {
        cm_device *one;
        if (cm_device_load(id, &one, NULL)) continue;
        cm__defer(ctx, free_device, one);
        bool same = cm__same_name(one->info.device_class, d->info.device_class);
        known.all[known.count++] = known.all[n];
        known.all[same ? n++ : known.count - 1] = one;
    }
    if (n >= FEW) known.count = n;
    else known.margin = WIDE_MARGIN;
    return known;
}

static range range_of(const devices *known, double (*of)(const cm_device *))
{
    range r = {.low = INFINITY, .high = -INFINITY};
    for (int32_t i = 0; i < known->count; i++) {
        double value = of(known->all[i]);
        if (value < r.low) r.low = value, r.lowest = known->all[i]->info.id;
        if (value > r.high) r.high = value, r.highest = known->all[i]->info.id;
    }
    return r;
}

/* ---- warnings ---------------------------------------------------------------------------------------------------- */

typedef struct doubts {
    char (*texts)[CM_PROFILE_WARNING_SIZE];
    int32_t count;
} doubts;

static void say(doubts *w, const char *text)
{
    if (w->count < CM_PROFILE_WARNINGS) snprintf(w->texts[w->count++], CM_PROFILE_WARNING_SIZE, "%s", text);
}

static const char *amount(cm__ctx *ctx, double value, const char *unit)
{
    char buf[32];
    if (!*unit) return cm__format(ctx, "%.3g", value);
    cm__si_small(buf, sizeof buf, value);
    return cm__format(ctx, "%s%s", buf, unit);
}

static void compare(cm__ctx *ctx, const cm_device *d, const devices *known, doubts *w)
{
    for (size_t i = 0; i < sizeof compared / sizeof *compared; i++) {
        double value = compared[i].of(d);
        range  r = range_of(known, compared[i].of);
        bool   low = value * known->margin < r.low, high = value > r.high * known->margin;
        if (!r.lowest || (!low && !high)) continue;
        say(w, cm__format(ctx, "%s is %s, but built-in devices have %s (%s) to %s (%s): check the unit and the prefix",
                          compared[i].what, amount(ctx, value, compared[i].unit),
                          amount(ctx, r.low, compared[i].unit), r.lowest, amount(ctx, r.high, compared[i].unit),
                          r.highest));
    }
}

/* No built-in device computes faster in a wider type. */
static void compare_types(cm__ctx *ctx, const cm_device *d, doubts *w)
{
    static const cm_rate orders[][2] = {{CM_RATE_FP64, CM_RATE_FP32}, {CM_RATE_FP32, CM_RATE_BF16},
                                        {CM_RATE_FP32, CM_RATE_FP16}, {CM_RATE_TF32, CM_RATE_BF16},
                                        {CM_RATE_TF32, CM_RATE_FP16}, {CM_RATE_BF16, CM_RATE_FP8},
                                        {CM_RATE_FP16, CM_RATE_FP8},  {CM_RATE_FP8, CM_RATE_FP4}};
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        double wide = best_peak(d, orders[i][0]), narrow = best_peak(d, orders[i][1]);
        if (wide > narrow)
            say(w, cm__format(ctx, "the %s peak, %s, is above the %s peak, %s", cm_rate_name(orders[i][0]),
                              amount(ctx, wide, "FLOP/s"), cm_rate_name(orders[i][1]), amount(ctx, narrow, "FLOP/s")));
    }
}

int32_t cm__device_doubts(cm__ctx *ctx, const cm_device *d, char warnings[][CM_PROFILE_WARNING_SIZE])
{
    doubts  w = {warnings, 0};
    devices known = known_devices(ctx, d);
    compare(ctx, d, &known, &w);
    compare_types(ctx, d, &w);
    return w.count;
}
