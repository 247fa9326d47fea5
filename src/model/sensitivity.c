/* SPDX-License-Identifier: Apache-2.0 */
/* sensitivity.c - predict the step again on a device that has one number improved by 10 %. */
#include "model/sensitivity.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "device/changed.h"
#include "model/execution/execution.h"

#define NOTICED 5e-4 /* fraction of the step time: smaller gains are not listed */

static int by_time(const void *a, const void *b)
{
    double x = ((const cm_sensitivity *)a)->step_time_s, y = ((const cm_sensitivity *)b)->step_time_s;
    return (x > y) - (x < y);
}

static void add(cm__sensitivities *all, const cm_prediction_info *base, const char *what, bool is_time, double step_s)
{
    if (step_s < base->step_time_s * (1 - NOTICED))
        all->items[all->count++] = (cm_sensitivity){
            .what = what, .factor = is_time ? 1 / CM__BETTER : CM__BETTER, .step_time_s = step_s};
}

static void add_loading(cm__sensitivities *all, const cm__loading *loading, const cm_prediction_info *base)
{
    cm__loading        faster = *loading;
    cm_prediction_info info = *base;
    if (!loading->on) return;
    faster.read_s /= CM__BETTER, faster.prepare_s /= CM__BETTER, faster.copy_s /= CM__BETTER;
    info.step_time_s = base->compute_s;
    cm__loading_add(&faster, &info);
    add(all, base, "time to load samples", true, info.step_time_s);
}

static cm__sensitivities sorted(cm__sensitivities all)
{
    if (all.count) qsort(all.items, (size_t)all.count, sizeof *all.items, by_time);
    return all;
}

/* ---- devices that run kernel by kernel -------------------------------------------------------------------------- */

static void faster_vector(cm_device *d)
{
    for (int r = 0; r < CM_RATES; r++) cm__number_scale(&d->peaks[CM_ENGINE_VECTOR][r], CM__BETTER);
    cm__number_scale(&d->numbers[CM_CLOCK_HZ], CM__BETTER); /* kernel time beyond the roofline scales with the cores */
}

static void faster_memory(cm_device *d)
{
    if (cm__device_main(d)) cm__number_scale(&cm__device_main(d)->bw_bytes_s, CM__BETTER);
}

static void larger_cache(cm_device *d)
{
    if (cm__device_cache(d)) cm__number_scale(&cm__device_cache(d)->capacity_bytes, CM__BETTER);
}

static void faster_cache(cm_device *d)
{
    if (cm__device_cache(d)) cm__number_scale(&cm__device_cache(d)->bw_bytes_s, CM__BETTER);
}

static void more_power(cm_device *d) { cm__number_scale(&d->numbers[CM_TDP_W], CM__BETTER); }
static void shorter_launch(cm_device *d) { cm__number_scale(&d->numbers[CM_LAUNCH_S], 1 / CM__BETTER); }
static void shorter_gaps(cm__step_model *m) { m->gap_s /= CM__BETTER; }
static void faster_host(cm__step_model *m)
{
    m->host_s /= CM__BETTER;
    m->host_launch_s /= CM__BETTER;
}

/* Either function may be NULL. */
static const struct {
    const char *what;
    void (*change)(cm_device *device);
    void (*change_model)(cm__step_model *m);
    bool is_time;
} knobs[] = {{"memory bandwidth", faster_memory, NULL, false},
             {"rate of vector units", faster_vector, NULL, false},
             {"cache size", larger_cache, NULL, false},
             {"cache bandwidth", faster_cache, NULL, false},
             {"time between kernels", shorter_launch, shorter_gaps, true},
             {"time of the host", NULL, faster_host, true},
             {"power limit", more_power, NULL, false}};
#define KNOBS (sizeof knobs / sizeof *knobs)

/* The inputs that all trials share. */
typedef struct trial {
    cm__ctx                  *ctx;
    const cm__step_model     *m;
    const cm__timed          *full;
    const cm__common         *common;
    const cm__loading        *loading;
    const cm_prediction_info *base;
    cm__timed                *timed;
} trial;

/* Marks the types in which the step computes its products. */
static void find_rates(const cm__step_model *m, int64_t batch, bool used[CM_RATES])
{
    for (int32_t i = 0; i < m->calls->n_calls; i++) {
        cm__call call;
        cm__call_at(&m->calls->calls[i], (double)batch, &call);
        if (cm__call_kinds[call.op].engine == CM_ENGINE_MATRIX)
            used[cm__rate_available(&m->limits, CM_ENGINE_MATRIX, cm__call_rate(&call))] = true;
    }
}

/* A type for which only the vector units have a peak gets a matrix peak of its own. */
static void faster_products(cm_device *d, cm_rate rate)
{
    cm_number *peak = &d->peaks[CM_ENGINE_MATRIX][rate];
    if (!peak->known) *peak = d->peaks[CM_ENGINE_VECTOR][rate];
    cm__number_scale(peak, CM__BETTER);
}

static cm__step_model model_on(const trial *t, const cm_device *changed)
{
    return cm__step_model_changed(t->ctx, t->m, changed, t->common);
}

/* Calls are timed again only if the device's limits differ. */
static double again(const trial *t, const cm__step_model *changed)
{
    cm_prediction_info info = *t->base;
    size_t             count = (size_t)t->m->calls->n_calls;
    bool               same = memcmp(&changed->limits, &t->m->limits, sizeof changed->limits) == 0;
    if (!same) cm__step_time(changed, (double)t->base->batch, t->timed);
    else if (count) memcpy(t->timed, t->full, count * sizeof *t->timed);
    cm__step_finish(changed, t->timed, &info);
    cm__loading_add(t->loading, &info);
    return info.step_time_s;
}

cm__sensitivities cm__call_sensitivities(cm__ctx *ctx, const cm__step_model *m, const cm__timed *full,
                                         const cm__common *common, const cm__loading *loading,
                                         const cm_prediction_info *base)
{
    cm__sensitivities all = {.items = cm__alloc_array(ctx, KNOBS + CM_RATES + 1, sizeof *all.items)};
    trial             t = {ctx, m, full, common, loading, base,
                           cm__alloc_array(ctx, (size_t)m->calls->n_calls + 1, sizeof *t.timed)};
    bool              used[CM_RATES] = {false};
    find_rates(m, base->batch, used);
    for (int r = 0; r < CM_RATES; r++) {
        if (!used[r] || !(m->limits.peak[CM_ENGINE_MATRIX][r] > 0)) continue;
        cm_device *changed = cm__device_copy(ctx, m->device);
        faster_products(changed, (cm_rate)r);
        cm__step_model model = model_on(&t, changed);
        add(&all, base, cm__format(ctx, "peak of %s products", cm_rate_name((cm_rate)r)), false, again(&t, &model));
    }
    for (size_t k = 0; k < KNOBS; k++) {
        cm_device *changed = cm__device_copy(ctx, m->device);
        if (knobs[k].change) knobs[k].change(changed);
        cm__step_model model = model_on(&t, changed);
        if (knobs[k].change_model) knobs[k].change_model(&model);
        add(&all, base, knobs[k].what, knobs[k].is_time, again(&t, &model));
    }
    add_loading(&all, loading, base);
    return sorted(all);
}

/* ---- devices with an execution model ---------------------------------------------------------------------------- */

static void style_peak(cm_device *d)
{
    for (int e = 0; e < CM_ENGINES; e++)
        for (int r = 0; r < CM_RATES; r++) cm__number_scale(&d->peaks[e][r], CM__BETTER);
}

static void scale_memory(cm_device *d, cm_category category, bool capacity)
{
    int32_t at = d->placement[category].memory;
    if (at < 0) return;
    cm__number_scale(capacity ? &d->memories[at].capacity_bytes : &d->memories[at].bw_bytes_s, CM__BETTER);
}

static void style_near(cm_device *d) { scale_memory(d, CM_CATEGORY_EPHEMERAL, false); }
static void style_far(cm_device *d)
{
    if (d->placement[CM_CATEGORY_WEIGHTS_BIASES].memory != d->placement[CM_CATEGORY_EPHEMERAL].memory)
        scale_memory(d, CM_CATEGORY_WEIGHTS_BIASES, false);
}
static void style_capacity(cm_device *d) { scale_memory(d, CM_CATEGORY_EPHEMERAL, true); }
static void style_host(cm_device *d) { cm__number_scale(&d->execution.step_s, 1 / CM__BETTER); }

static void style_pieces(cm_device *d)
{
    cm_number *times[] = {&d->execution.section_s, &d->execution.layer_s, &d->execution.superstep};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) cm__number_scale(times[i], 1 / CM__BETTER);
}

static const struct {
    const char *what;
    void (*change)(cm_device *device);
    bool is_time;
} style_knobs[] = {{"peak of products", style_peak, false},
                   {"bandwidth to activations", style_near, false},
                   {"bandwidth to weights", style_far, false},
                   {"on-chip capacity", style_capacity, false},
                   {"time per section, superstep or layer", style_pieces, true},
                   {"time per step", style_host, true}};
#define STYLE_KNOBS (sizeof style_knobs / sizeof *style_knobs)

cm__sensitivities cm__execution_sensitivities(cm__ctx *ctx, const cm_graph *g, const cm_device *device,
                                          const cm__loading *loading, const cm_prediction_info *base)
{
    cm__sensitivities all = {.items = cm__alloc_array(ctx, STYLE_KNOBS + 1, sizeof *all.items)};
    cm__run_request   request = {.batch = base->batch, .sparsity = base->sparsity};
    for (size_t k = 0; k < STYLE_KNOBS; k++) {
        cm_device         *changed = cm__device_copy(ctx, device);
        cm_prediction_info info = *base;
        style_knobs[k].change(changed);
        cm__run run = cm__execution_run(ctx, g, changed, &request, NULL);
        info.step_time_s = run.device_s + run.host_s / loading->per_call;
        cm__loading_add(loading, &info);
        if (run.devices == base->devices)
            add(&all, base, style_knobs[k].what, style_knobs[k].is_time, info.step_time_s);
    }
    add_loading(&all, loading, base);
    return sorted(all);
}
