/* SPDX-License-Identifier: Apache-2.0 */
/*
 * assumed.c - numbers that a profile does not state, from those that it states.
 *
 * Without them a prediction would take a device of one core. The rules hold wherever a profile comes from, when it is
 * read. Built-in devices state every number that has a rule here, so the rules change none of them.
 */
#include "device/assumed.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "device/changed.h"
#include "device/defaults.h"
#include "device/number.h"

/* A constant of the device's class; NAN: it has none. */
static double constant(const cm_device *d, const char *member)
{
    const char *text = cm__default_of(d->info.device_class, member);
    return text ? strtod(text, NULL) : NAN;
}

static double fp32_peak(const cm_device *d) { return cm__value_or(d->peaks[CM_ENGINE_VECTOR][CM_RATE_FP32], NAN); }

static cm_number assumed(double value, const char *unit, const char *note)
{
    return (cm_number){.value = value, .known = true, .unit = unit, .kind = "assumed", .note = note};
}

static void list(cm_device *d, const char *member, cm_number number, const char *text)
{
    d->assumed[d->n_assumed++] = (cm_assumption){member, number, text};
}

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

/* The fp32 peak of the vector units: from cores and clock, or from the 16-bit peak of the matrix units. */
static double vector_fp32(const cm_device *d)
{
    double hertz = cm__value_or(d->numbers[CM_CORES], NAN) * cm__value_or(d->numbers[CM_CLOCK_HZ], NAN);
    double matrix = fmax(cm__value_or(d->peaks[CM_ENGINE_MATRIX][CM_RATE_BF16], NAN),
                         cm__value_or(d->peaks[CM_ENGINE_MATRIX][CM_RATE_FP16], NAN));
    return isnan(hertz) ? matrix / constant(d, "matrix_speed") : hertz * constant(d, "flop_per_core_cycle");
}

static double clock_hz(const cm_device *d)
{
    double cores = cm__value_or(d->numbers[CM_CORES], NAN);
    return isnan(cores) ? constant(d, "clock_hz") : fp32_peak(d) / (cores * constant(d, "flop_per_core_cycle"));
}

static double cores(const cm_device *d)
{
    double clock = cm__value_or(d->numbers[CM_CLOCK_HZ], NAN);
    return fmax(1, round(fp32_peak(d) / (clock * constant(d, "flop_per_core_cycle"))));
}

static double launch_s(const cm_device *d) { return constant(d, "launch"); }

#define FP32 (-1)

/* In this order: a rule uses the numbers of earlier ones. */
static const struct {
    const char *member, *unit;
    int         quantity; /* of cm_quantity; FP32: the peak of the vector units */
    double (*value)(const cm_device *device);
    const char *note;
} rules[] = {
    {"peak.vector.fp32", "FLOP/s", FP32, vector_fp32,
     "from cores and clock, or else from the matrix units' 16-bit peak"},
    {"clock_hz", "Hz", CM_CLOCK_HZ, clock_hz, "that of the fp32 peak of vector units; without cores, of other GPUs"},
    {"cores", "1", CM_CORES, cores, "from the fp32 peak of vector units and the clock"},
    {"launch", "s", CM_LAUNCH_S, launch_s, "as other GPUs"},
};

static void assume_numbers(cm_device *d)
{
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        cm_number *number = rules[i].quantity == FP32 ? &d->peaks[CM_ENGINE_VECTOR][CM_RATE_FP32]
                                                      : &d->numbers[rules[i].quantity];
        double     value = number->known ? NAN : rules[i].value(d);
        if (!isfinite(value)) continue;
        *number = assumed(value, rules[i].unit, rules[i].note);
        list(d, rules[i].member, *number, NULL);
    }
}

/* ---- the cache --------------------------------------------------------------------------------------------------- */

static bool has_base_device(const cm_device *d)
{
    for (int32_t i = 0; i < d->lineage.count; i++)
        if (d->lineage.all[i].built_in && !d->lineage.all[i].abstract) return true;
    return false;
}

/* Built-in devices without a known cache are predicted without one, and so are profiles based on them. */
static void assume_cache(cm_device *d)
{
    bool             fp8 = d->peaks[CM_ENGINE_MATRIX][CM_RATE_FP8].known;
    double           bytes = constant(d, fp8 ? "cache_per_core_fp8" : "cache_per_core") * cm__value_or(d->numbers[CM_CORES], NAN);
    const cm_memory *main = cm_device_main_memory(d);
    if (!isfinite(bytes) || !main || !main->bw_bytes_s.known || has_base_device(d) || cm__device_cache(d)) return;
    int32_t    at = (int32_t)(main - d->memories);
    cm_memory *all = cm__alloc_array(d->ctx, (size_t)d->n_memories + 1, sizeof *all);
    for (int32_t i = 0; i < d->n_memories; i++) all[i] = d->memories[i];
    all[d->n_memories] = (cm_memory){
        .name = CM__ASSUMED_CACHE,
        .place = CM_PLACE_ON_CHIP,
        .cache = true,
        .capacity_bytes = assumed(bytes, "B", "that of other GPUs with as many cores"),
        .bw_bytes_s = assumed(all[at].bw_bytes_s.value * constant(d, "cache_speed"), "B/s",
                              "that of other GPUs beside the bandwidth of their memory")};
    d->memories = all;
    list(d, "cache capacity", all[d->n_memories].capacity_bytes, NULL);
    list(d, "cache bandwidth", all[d->n_memories].bw_bytes_s, NULL);
    d->n_memories++;
}

/* ---- words ------------------------------------------------------------------------------------------------------- */

static double peak_16bit(const cm_device *d, cm_rate rate)
{
    bool listed = d->precisions[rate == CM_RATE_BF16 ? CM_PRECISION_AMP_BF16 : CM_PRECISION_AMP_FP16] ||
                  d->precisions[rate == CM_RATE_BF16 ? CM_PRECISION_BF16 : CM_PRECISION_FP16];
    double matrix = cm__value_or(d->peaks[CM_ENGINE_MATRIX][rate], 0);
    return listed ? fmax(matrix, cm__value_or(d->peaks[CM_ENGINE_VECTOR][rate], 0)) : 0;
}

static void assume_layout(cm_device *d)
{
    const char *layout = cm__default_of(d->info.vendor, "layout");
    if (!layout || d->layout != CM_LAYOUT_AUTO) return;
    d->layout = strcmp(layout, "nchw") == 0 ? CM_LAYOUT_NCHW : CM_LAYOUT_NHWC;
    list(d, "layout", assumed(NAN, "", "as other devices of the vendor"), layout);
}

/* The faster of both; bf16, whose training needs no loss scaling, if they are equally fast. */
static void assume_16bit(cm_device *d)
{
    double bf16 = peak_16bit(d, CM_RATE_BF16), fp16 = peak_16bit(d, CM_RATE_FP16);
    if (d->best_16bit != CM_PRECISION_DEFAULT || (bf16 == 0 && fp16 == 0)) return;
    d->best_16bit = bf16 >= fp16 ? CM_PRECISION_BF16 : CM_PRECISION_FP16;
    list(d, "best_16bit", assumed(NAN, "", "the faster one of the listed 16-bit types"),
         bf16 >= fp16 ? "bf16" : "fp16");
}

void cm__device_assume(cm_device *d)
{
    d->assumed = cm__alloc_array(d->ctx, sizeof rules / sizeof *rules + 4, sizeof *d->assumed);
    assume_numbers(d);
    assume_cache(d);
    assume_16bit(d);
    assume_layout(d);
    if (!d->n_assumed) d->assumed = NULL;
}
