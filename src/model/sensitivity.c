/* SPDX-License-Identifier: Apache-2.0 */
/* sensitivity.c - the step again, on a device of which one number is better by a tenth. */
#include "model/sensitivity.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "model/style.h"

#define NOTICED 5e-4 /* of the step: what helps less is not told */

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

/* ---- calls ------------------------------------------------------------------------------------------------------ */

static void faster_vector(cm__step_model *m)
{
    for (int r = 0; r < CM_RATES; r++) m->limits.peak[CM_ENGINE_VECTOR][r] *= CM__BETTER;
    m->limits.clock_hz *= CM__BETTER; /* what kernels take beyond the roofline is the cores' */
}

static void faster_memory(cm__step_model *m)
{
    m->limits.memory_bytes_s *= CM__BETTER;
    m->limits.cache_bytes_s = fmax(m->limits.cache_bytes_s, m->limits.memory_bytes_s);
    m->power.memory_bytes_s *= CM__BETTER;
}

static void larger_cache(cm__step_model *m) { m->limits.cache_bytes *= CM__BETTER; }
static void faster_cache(cm__step_model *m) { m->limits.cache_bytes_s *= CM__BETTER; }
static void faster_host(cm__step_model *m) { m->host_s /= CM__BETTER; }
static void more_power(cm__step_model *m) { m->power.limit_w *= CM__BETTER; }

static void shorter_gaps(cm__step_model *m)
{
    m->gap_s /= CM__BETTER;
    m->limits.floor_s /= CM__BETTER;
}

static const struct {
    const char *what;
    void (*change)(cm__step_model *m);
    bool is_time;
} knobs[] = {{"memory bandwidth", faster_memory, false}, {"rate of vector units", faster_vector, false},
             {"cache size", larger_cache, false},        {"cache bandwidth", faster_cache, false},
             {"time between kernels", shorter_gaps, true}, {"time of the host", faster_host, true},
             {"power limit", more_power, false}};
#define KNOBS (sizeof knobs / sizeof *knobs)

/* What stays the same whatever is changed. */
typedef struct trial {
    const cm__step_model     *m;
    const cm__timed          *full;
    const cm__loading        *loading;
    const cm_prediction_info *base;
    cm__call                 *calls;
    cm__timed                *timed;
    bool                      used[CM_RATES]; /* types that the step's products are computed in */
} trial;

static trial trial_of(cm__ctx *ctx, const cm__step_model *m, const cm__timed *full, const cm__loading *loading,
                      const cm_prediction_info *base)
{
    size_t count = (size_t)m->calls->n_calls + 1;
    trial  t = {.m = m, .full = full, .loading = loading, .base = base,
                .calls = cm__alloc_array(ctx, count, sizeof *t.calls),
                .timed = cm__alloc_array(ctx, count, sizeof *t.timed)};
    for (int32_t i = 0; i < m->calls->n_calls; i++) {
        cm__call_at(&m->calls->calls[i], (double)base->batch, &t.calls[i]);
        if (cm__call_kinds[t.calls[i].op].engine == CM_ENGINE_MATRIX)
            t.used[cm__rate_there(&m->limits, CM_ENGINE_MATRIX, cm__call_rate(&t.calls[i]))] = true;
    }
    return t;
}

static double again(const trial *t, const cm__step_model *changed)
{
    cm_prediction_info info = *t->base;
    bool               same = memcmp(&changed->limits, &t->m->limits, sizeof changed->limits) == 0;
    for (int32_t i = 0; i < t->m->calls->n_calls; i++) {
        t->timed[i] = t->full[i];
        if (!same)
            t->timed[i].time_s = cm__transferred(&changed->limits, &t->m->limits, &t->calls[i], t->full[i].time_s);
    }
    cm__step_finish(changed, t->timed, &info);
    cm__loading_add(t->loading, &info);
    return info.step_time_s;
}

cm__sensitivities cm__call_sensitivities(cm__ctx *ctx, const cm__step_model *m, const cm__timed *full,
                                         const cm__loading *loading, const cm_prediction_info *base)
{
    cm__sensitivities all = {.items = cm__alloc_array(ctx, KNOBS + CM_RATES + 1, sizeof *all.items)};
    trial             t = trial_of(ctx, m, full, loading, base);
    for (int r = 0; r < CM_RATES; r++) {
        cm__step_model changed = *m;
        if (!t.used[r] || !(m->limits.peak[CM_ENGINE_MATRIX][r] > 0)) continue;
        changed.limits.peak[CM_ENGINE_MATRIX][r] *= CM__BETTER;
        add(&all, base, cm__format(ctx, "peak of %s products", cm_rate_name((cm_rate)r)), false,
            again(&t, &changed));
    }
    for (size_t k = 0; k < KNOBS; k++) {
        cm__step_model changed = *m;
        knobs[k].change(&changed);
        add(&all, base, knobs[k].what, knobs[k].is_time, again(&t, &changed));
    }
    add_loading(&all, loading, base);
    return sorted(all);
}

/* ---- styles ----------------------------------------------------------------------------------------------------- */

static void scale(cm_number *n, double factor)
{
    if (n->known) n->value *= factor;
}

static void style_peak(cm_device *d)
{
    for (int e = 0; e < CM_ENGINES; e++)
        for (int r = 0; r < CM_RATES; r++) scale(&d->peaks[e][r], CM__BETTER);
}

static void scale_memory(cm_device *d, cm_category category, bool capacity)
{
    int32_t at = d->placement[category].memory;
    if (at < 0) return;
    scale(capacity ? &d->memories[at].capacity_bytes : &d->memories[at].bw_bytes_s, CM__BETTER);
}

static void style_near(cm_device *d) { scale_memory(d, CM_CATEGORY_EPHEMERAL, false); }
static void style_far(cm_device *d)
{
    if (d->placement[CM_CATEGORY_WEIGHTS_BIASES].memory != d->placement[CM_CATEGORY_EPHEMERAL].memory)
        scale_memory(d, CM_CATEGORY_WEIGHTS_BIASES, false);
}
static void style_capacity(cm_device *d) { scale_memory(d, CM_CATEGORY_EPHEMERAL, true); }
static void style_host(cm_device *d) { scale(&d->execution.step_s, 1 / CM__BETTER); }

static void style_pieces(cm_device *d)
{
    cm_number *times[] = {&d->execution.section_s, &d->execution.layer_s, &d->execution.superstep};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) scale(times[i], 1 / CM__BETTER);
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

cm__sensitivities cm__style_sensitivities(cm__ctx *ctx, const cm_graph *g, const cm_device *device,
                                          const cm__loading *loading, const cm_prediction_info *base)
{
    cm__sensitivities all = {.items = cm__alloc_array(ctx, STYLE_KNOBS + 1, sizeof *all.items)};
    size_t            bytes = (size_t)device->n_memories * sizeof *device->memories;
    for (size_t k = 0; k < STYLE_KNOBS; k++) {
        cm_device          changed = *device;
        cm_prediction_info info = *base;
        changed.memories = cm__alloc(ctx, bytes + 1);
        if (bytes) memcpy(changed.memories, device->memories, bytes);
        style_knobs[k].change(&changed);
        cm__run run = cm__style_run(ctx, g, &changed, &base->sparsity, base->batch, 0);
        info.step_time_s = run.device_s + run.host_s / loading->together;
        cm__loading_add(loading, &info);
        if (run.devices == base->devices)
            add(&all, base, style_knobs[k].what, style_knobs[k].is_time, info.step_time_s);
    }
    add_loading(&all, loading, base);
    return sorted(all);
}
