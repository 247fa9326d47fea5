/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chance.c - how likely it is that a step fits into the memory.
 *
 * The logarithm of the measured need over the predicted one is taken to be normal. Its deviation is that of published
 * runs (data/factors.tsv): one for a single device, one for plans that shard. If it is open which loss the script has,
 * both are taken to be equally likely.
 */
#include <math.h>
#include "base/ctx.h"
#include "model/step/step.h"
#include "model/time/factors.h"

static double below(double sigmas) { return 0.5 * erfc(-sigmas / sqrt(2)); }

/* Bytes of each level over its capacity, at most; NAN: no capacity is known. `least`: with the loss that stores
   less. */
static double fullness(const cm_memory_use *u, double least)
{
    double most = NAN;
    for (int32_t i = 0; i < u->n_levels; i++) {
        const cm_level_use *l = &u->levels[i];
        bool   lacks = l->used_bytes > l->capacity_bytes; /* the allocator returned all that it could */
        double freed = u->reserved_bytes > u->peak_bytes && u->n_levels == 1 ? u->reserved_bytes - u->peak_bytes : 0;
        double need = (lacks ? l->used_bytes : l->used_bytes - freed) - (u->peak_bytes - least);
        most = fmax(most, need / l->capacity_bytes);
    }
    return u->shortfall_bytes > 0 ? fmax(most, 1 + u->shortfall_bytes / u->levels[0].capacity_bytes) : most;
}

static double chance_of(const cm_memory_use *u, double least, double error)
{
    double full = fullness(u, least);
    return isnan(full) || full <= 0 ? 1 : below(-log(full) / error);
}

cm_chance cm_memory_chance(const cm_memory_use *use, int32_t devices)
{
    double    error = devices > 1 ? cm__time_factors.sharded_memory_error : cm__time_factors.memory_error;
    double    wide = exp(CM__SIGMAS_OF_90_PERCENT * error);
    cm_chance c = {chance_of(use, use->peak_bytes, error), {use->least_bytes / wide, use->peak_bytes * wide}};
    if (!use->sure) c.probability = 0.5 * (c.probability + chance_of(use, use->least_bytes, error));
    return c;
}
