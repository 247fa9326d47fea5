/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chance.c - how likely it is that a step fits into the memory.
 *
 * The logarithm of the measured need over the predicted one is taken to be normal. Its deviation is that of published
 * runs (data/factors.tsv): one for a single device, one for plans that shard. If it is open which loss the script has,
 * or whether a trainer keeps fp32 shards of its weights, both are taken to be equally likely.
 */
#include <math.h>
#include "base/ctx.h"
#include "model/step/step.h"
#include "model/time/factors.h"

static double below(double sigmas) { return 0.5 * erfc(-sigmas / sqrt(2)); }

/* Bytes of each level over its capacity, at most; NAN: no capacity is known. `peak`: with another loss, or other
   weights. */
static double fullness(const cm_memory_use *u, double peak, double shortfall)
{
    double most = NAN;
    for (int32_t i = 0; i < u->n_levels; i++) {
        const cm_level_use *l = &u->levels[i];
        bool   lacks = l->used_bytes > l->capacity_bytes; /* the allocator returned all that it could */
        double freed = u->reserved_bytes > u->peak_bytes && u->n_levels == 1 ? u->reserved_bytes - u->peak_bytes : 0;
        double need = (lacks ? l->used_bytes : l->used_bytes - freed) - (u->peak_bytes - peak);
        most = fmax(most, need / l->capacity_bytes);
    }
    return shortfall > 0 ? fmax(most, 1 + shortfall / u->levels[0].capacity_bytes) : most;
}

static double chance_of(const cm_memory_use *u, double peak, double shortfall, double error)
{
    double full = fullness(u, peak, shortfall);
    return isnan(full) || full <= 0 ? 1 : below(-log(full) / error);
}

cm_chance cm_memory_chance(const cm_memory_use *use, int32_t devices)
{
    double    error = devices > 1 ? cm__time_factors.sharded_memory_error : cm__time_factors.memory_error;
    double    wide = exp(CM__SIGMAS_OF_90_PERCENT * error);
    bool      masters = use->most_bytes > 0; /* what is lacking is lacking then */
    double    least = use->least_bytes, most = masters ? use->most_bytes : use->peak_bytes;
    double    literal = chance_of(use, use->peak_bytes, masters ? 0 : use->shortfall_bytes, error);
    double    other = masters      ? chance_of(use, most, use->shortfall_bytes, error)
                      : use->sure ? literal
                                  : chance_of(use, least, use->shortfall_bytes, error);
    return (cm_chance){0.5 * (literal + other), {least / wide, most * wide}};
}
