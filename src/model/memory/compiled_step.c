/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compiled_step.c - memory of a captured step as the chip's own compiler said it (capture_jax(compile_for=...)).
 *
 * At the batch size of the compiled program its bytes are exact, and the compiler's word decides whether it fits. At another
 * batch size the model's bytes are scaled by the ratio at the compiled one: what the model gets wrong of a step grows with it.
 * Bytes that a refused step would need are no sum of its buffers, so they scale nothing.
 */
#include <math.h>
#include <string.h>
#include "device/device.h"
#include "model/memory/footprint.h"

static bool is_of(const cm_footprint *f, const cm__compiled_step *c)
{
    const cm_plan *asked = &f->options.plan, *of = &c->plan;
    bool same = asked->tp == of->tp && asked->dp == of->dp && asked->cp == of->cp && asked->pp == of->pp;
    bool plain = asked->accumulate < 2 && !asked->offload_optimizer && !asked->offload_activations && !asked->offload_weights;
    return same && plain && asked->zero == of->zero && strcmp(f->device->info.id, c->device) == 0;
}

static double modelled(const cm_footprint *f, int64_t batch)
{
    cm_memory_use use;
    double        bytes = cm__peak_at(f, (double)batch, &use);
    return bytes > 0 ? bytes + f->library_bytes + f->slack_bytes : 0;
}

static void decide(cm_memory_use *use, bool fits, double lacking)
{
    use->fits = use->sure = fits;
    use->shortfall_bytes = fits ? 0 : fmax(lacking, 1);
}

void cm__use_compiled(const cm_footprint *f, int64_t batch, double modelled_bytes, cm_memory_use *use)
{
    const cm__compiled_step *c = f->step->compiled;
    bool                     same = c && batch == c->batch;
    cm_level_use            *level = NULL;
    for (int32_t i = 0; i < use->n_levels; i++)
        if (f->levels[i].holds[CM_CATEGORY_WEIGHTS_BIASES]) level = &use->levels[i];
    if (!c || !level || !is_of(f, c) || (!same && !c->fits)) return;
    double before = same ? modelled_bytes : modelled(f, c->batch), ratio = before > 0 ? c->peak_bytes / before : 1;
    for (cm_category i = 0; i < CM_CATEGORIES; i++) use->categories[i] *= ratio;
    use->peak_bytes *= ratio;
    use->reserved_bytes *= ratio;
    level->used_bytes = use->reserved_bytes + use->context_bytes;
    if (c->capacity_bytes > 0) level->capacity_bytes = c->capacity_bytes;
    double lacking = level->used_bytes - level->capacity_bytes;
    use->compiled = same ? CM_COMPILED_SAME : CM_COMPILED_SCALED;
    decide(use, same ? c->fits : !(lacking > 0), lacking);
}
