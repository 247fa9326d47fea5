/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chance.c - how likely it is that a step fits into the memory, and the verdict of all commands.
 *
 * The logarithm of the measured need over the predicted one is taken to be normal. Its deviation is that of published
 * runs (data/factors.tsv): one for a single device, one for plans that shard. If it is open which loss the script has,
 * or whether a trainer keeps fp32 shards of its weights, each kind of script has its own probability: their mean would
 * be true of no script.
 */
#include "model/chance.h"

#include <float.h>
#include <math.h>
#include "base/ctx.h"
#include "model/step/step.h"
#include "model/time/factors.h"

const char *cm_verdict_name(cm_verdict verdict)
{
    static const char *const names[CM_VERDICTS] = {"does not fit", "unsure", "fits"};
    return verdict < CM_VERDICTS ? names[verdict] : NULL;
}

/* Blocks that the allocator holds without need are returned before it fails. */
static double fullest_level(const cm_memory_use *u)
{
    double most = NAN;
    for (int32_t i = 0; i < u->n_levels; i++) {
        const cm_level_use *l = &u->levels[i];
        bool   frees = !(u->shortfall_bytes > 0) && u->n_levels == 1 && u->reserved_bytes > u->peak_bytes;
        double freed = frees ? u->reserved_bytes - u->peak_bytes : 0;
        most = fmax(most, (l->used_bytes - freed) / l->capacity_bytes);
    }
    return most;
}

/* Above 1 if the allocator fails, however little memory is used, and 1 at most if it does not. A device that refuses a
   step for another reason than bytes refuses it surely. */
double cm__fullness(const cm_memory_use *u)
{
    double most = fullest_level(u);
    if (u->shortfall_bytes > 0) return fmax(most, 1 + DBL_EPSILON);
    if (!u->fits) return INFINITY;
    return most > 1 ? 1 : most; /* NAN: no capacity is known */
}

static double error_of(const cm_memory_use *u)
{
    return u->plan_devices > 1 ? cm__time_factors.sharded_memory_error : cm__time_factors.memory_error;
}

static cm_chance chance_at(const cm_memory_use *u, double full, double peak)
{
    if (u->compiled == CM_COMPILED_SAME)
        return (cm_chance){u->fits, {peak, peak}, u->fits ? CM_FITS : CM_DOES_NOT_FIT, u->fits};
    double sigmas = isnan(full) || full <= 0 ? INFINITY : -log(full) / error_of(u);
    double p = 0.5 * erfc(-sigmas / sqrt(2)), wide = exp(CM__SIGMAS_OF_90_PERCENT * error_of(u));
    cm_verdict verdict = p >= CM_SURE ? CM_FITS : p <= 1 - CM_SURE ? CM_DOES_NOT_FIT : CM_UNSURE;
    return (cm_chance){p, {peak / wide, peak * wide}, verdict, p >= 0.5};
}

cm_chance cm_alternative_chance(const cm_memory_use *u, int32_t at)
{
    return chance_at(u, u->alternatives[at].fullness, u->alternatives[at].peak_bytes);
}

cm_chance cm_memory_chance(const cm_memory_use *u)
{
    if (!u->n_alternatives) return chance_at(u, cm__fullness(u), u->peak_bytes);
    cm_chance asked = cm_alternative_chance(u, 0);
    for (int32_t i = 1; i < u->n_alternatives; i++) {
        cm_chance other = cm_alternative_chance(u, i);
        if (other.verdict != asked.verdict) asked.verdict = CM_UNSURE;
        asked.likely |= u->alternatives[i].open == CM_OPEN_MEMORY && other.likely;
    }
    return asked;
}

bool cm__hopeless(const cm_memory_use *u, double saved_bytes)
{
    cm_memory_use less = *u;
    less.shortfall_bytes = 0;
    for (int32_t i = 0; i < u->n_levels; i++) less.levels[i].used_bytes -= saved_bytes;
    return chance_at(u, fullest_level(&less), u->peak_bytes).verdict == CM_DOES_NOT_FIT;
}

void cm__add_alternative(cm_memory_use *u, cm_open open, const char *asked, const char *name, const cm_memory_use *other)
{
    if (!u->n_alternatives) u->alternatives[u->n_alternatives++] = (cm_alternative){asked, open, u->peak_bytes, cm__fullness(u)};
    if (u->n_alternatives < CM_ALTERNATIVES_MAX)
        u->alternatives[u->n_alternatives++] = (cm_alternative){name, open, other->peak_bytes, cm__fullness(other)};
}

void cm_memory_add(cm_memory_use *u, double bytes)
{
    if (!(bytes > 0)) return;
    u->peak_bytes += bytes;
    u->reserved_bytes += bytes;
    cm_level_use *l = u->n_levels ? &u->levels[u->n_levels - 1] : NULL;
    if (l) l->used_bytes += bytes;
    bool fits = !l || !(l->used_bytes > l->capacity_bytes), lacks = false;
    for (int32_t i = 0; i < u->n_alternatives; i++) {
        cm_alternative *a = &u->alternatives[i];
        a->peak_bytes += bytes;
        if (l) a->fullness += bytes / l->capacity_bytes;
        if (i && a->open == CM_OPEN_LOSS) fits |= !(a->fullness > 1);
        if (i && a->open == CM_OPEN_SHARDS) lacks |= a->fullness > 1;
    }
    u->fits = u->fits && fits && !lacks;
    if (!u->fits) u->shortfall_bytes = fmax(u->shortfall_bytes, l->used_bytes - l->capacity_bytes);
}
