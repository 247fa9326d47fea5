/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lookups.c - random look-ups per second: the longest of three times.
 *
 * Bandwidth: the bytes that caches do not have, at the part of the memory's bandwidth that random reads reach, or the
 * sectors that each thread reads alone, which a core takes one after the other, as it does sums that are kept in
 * memory. A cache holds the upper levels of the searches and, of the points, its share. Latency: reads that depend on
 * each other, over the chains that run at the same time. Instructions: those of the searches and of the interpolations,
 * over what all cores start; threads that run together take as long as the longest of their look-ups. If look-ups are
 * sorted by energy, threads that run together read the same places. docs/dev/lookups.md derives the terms. Devices with
 * memory in their cores bring each look-up to the core that has its data: a part of a nuclide's points, one of `bands`.
 */
#include <math.h>
#include <string.h>
#include "base/sized.h"
#include "base/ctx.h"
#include "base/text.h"
#include "device/device.h"
#include "model/lookups.h"

#define COLUMNS      6   /* an energy and five cross sections */
#define INDEX_BYTES  4   /* of a position in a nuclide's grid */
#define SUMS         5   /* of a look-up, one for each cross section */

double cm__sectors_touched(int64_t span, int64_t stride, int64_t sector)
{
    int64_t touched = 0;
    for (int64_t i = 0; i < sector; i++) touched += (i * stride % sector + span + sector - 1) / sector;
    return (double)touched / (double)sector;
}

typedef struct question {
    cm_lookup_options       o;
    const cm__known_lookup *known;
    const cm_memory        *memory;
    double                  clock_hz, cores, cache_bytes, width, rows_bytes, index_bytes;
} question;

static const cm__known_lookup *known_of(const char *device_class)
{
    for (int32_t i = 0; i < cm__n_known_lookups; i++)
        if (strcmp(cm__known_lookups[i].device_class, device_class) == 0) return &cm__known_lookups[i];
    return NULL;
}

/* The memory of samples and activations, and the largest cache that all cores share. */
static void find_memory(question *q, const cm_device *device)
{
    int32_t at = cm_device_placement(device, CM_CATEGORY_INPUT_OUTPUT).memory;
    q->memory = at >= 0 ? cm_device_memory(device, at) : cm_device_main_memory(device);
    for (int32_t i = 0; i < cm_device_memories(device); i++) {
        const cm_memory *m = cm_device_memory(device, i);
        if (!m->cache || m->per_core || !m->capacity_bytes.known || m->capacity_bytes.value <= q->cache_bytes) continue;
        q->cache_bytes = m->capacity_bytes.value;
    }
}

static void settle(question *q, cm__ctx *ctx, const cm_device *device, const cm_lookup_options *asked)
{
    const cm_device_info *info = cm_device_get_info(device);
    cm_number             clock = cm_device_number(device, CM_CLOCK_HZ), cores = cm_device_number(device, CM_CORES);
    q->o = *asked;
    if (!(q->o.longest > 0)) q->o.longest = q->o.visited > 0 ? q->o.visited : 321; /* XSBench: the fuel */
    if (!(q->o.visited > 0)) q->o.visited = 55.7; /* XSBench: nuclides of 12 materials, weighted by their volumes */
    if (!q->o.nuclides) q->o.nuclides = 355;
    if (!q->o.points) q->o.points = 11303;
    if (!q->o.bits) q->o.bits = 64;
    if (q->o.bits != 32 && q->o.bits != 64)
        cm__fail(ctx, CM_ERR_ARGUMENT, "numbers have 32 or 64 bits, not %d", q->o.bits);
    if (q->o.nuclides < 1 || q->o.points < 2 || q->o.visited > (double)q->o.nuclides)
        cm__fail(ctx, CM_ERR_ARGUMENT, "a look-up cannot visit %g of %lld nuclides with %lld points each", q->o.visited,
                 (long long)q->o.nuclides, (long long)q->o.points);
    if (q->o.longest < q->o.visited)
        cm__fail(ctx, CM_ERR_ARGUMENT, "the longest look-up visits %g nuclides, fewer than the average of %g",
                 q->o.longest, q->o.visited);
    q->known = known_of(info->device_class);
    if (q->known && q->o.drawn && isnan(q->known->drawn))
        cm__fail(ctx, CM_ERR_UNSUPPORTED, "points drawn by the hardware are counted for wafers alone");
    find_memory(q, device);
    if (!q->known || !q->memory)
        cm__fail(ctx, CM_ERR_UNSUPPORTED, "no rate of random reads is known of class %s", info->device_class);
    if (q->memory->per_core && !q->o.nuclide_grid)
        cm__fail(ctx, CM_ERR_UNSUPPORTED, "a unionized grid refers to memories of other cores; use --grid nuclide");
    q->clock_hz = clock.known ? clock.value : q->known->clock_hz;
    q->cores = cores.known ? cores.value * q->known->usable : NAN;
    q->width = q->o.bits / 8.0;
    double all = (double)q->o.nuclides * (double)q->o.points;
    q->rows_bytes = all * COLUMNS * q->width;
    q->index_bytes = q->o.nuclide_grid ? 0 : all * (q->width + INDEX_BYTES * (double)q->o.nuclides);
}

static void require_room(const question *q, cm__ctx *ctx)
{
    char   needs[32], has[32];
    double bytes = q->rows_bytes + q->index_bytes;
    if (!q->memory->capacity_bytes.known || bytes <= q->memory->capacity_bytes.value) return;
    cm__fail(ctx, CM_ERR_FIT, "the tables need %sB, %s has %sB%s", cm__binary(needs, sizeof needs, bytes),
             q->memory->name, cm__binary(has, sizeof has, q->memory->capacity_bytes.value),
             q->o.nuclide_grid ? "" : "; --grid nuclide needs less");
}

/* Steps of one search, and the number of searches. */
static double steps_of(const question *q)
{
    double points = (double)q->o.points;
    return fmax(1, log2(q->o.nuclide_grid ? points / q->known->bands : points * (double)q->o.nuclides));
}

static double searches_of(const question *q) { return q->o.nuclide_grid ? q->o.visited : 1; }

/* Bytes that the last steps of a search read: upper levels are in the cache, and the last ones share a sector. */
static double search_bytes(const question *q)
{
    double sector = q->known->sector_bytes, trees = q->o.nuclide_grid ? (double)q->o.nuclides : 1;
    double apart = q->o.nuclide_grid ? COLUMNS * q->width : q->width;
    double cached = log2(fmax(1, q->cache_bytes / sector / trees)), shared = fmax(0, log2(sector / apart));
    return fmax(0, steps_of(q) - cached - shared) * sector;
}

/* Sectors of the points that a look-up reads. */
static double point_sectors(const question *q)
{
    int64_t row = (int64_t)(COLUMNS * q->width);
    return q->o.visited * cm__sectors_touched(2 * row, row, (int64_t)q->known->sector_bytes);
}

/* Positions of a look-up's nuclides in their grids: a row of the unionized grid's index. */
static double position_bytes(const question *q) { return q->o.nuclide_grid ? 0 : q->o.visited * INDEX_BYTES; }

/* Bytes from memory. Sorted look-ups read all points from the cache, and positions in their order. */
static double traffic(const question *q)
{
    double missed = fmax(0, 1 - q->cache_bytes / q->rows_bytes);
    if (q->o.sorted) return position_bytes(q);
    return point_sectors(q) * q->known->sector_bytes * missed + position_bytes(q) + searches_of(q) * search_bytes(q);
}

/* Cycles of a core for what its threads read alone: points, positions, and those levels of a search of which there are
   more places than threads, but the last, which reads one of the points. Sorted threads that run together share all of
   it but the positions. 0: nothing but bandwidth limits reads. */
static double path_cycles(const question *q)
{
    const cm__known_lookup *known = q->known;
    double levels = fmax(0, steps_of(q) - 1 - log2(known->chains)), shared = q->o.sorted ? known->together : 1;
    double sectors = (point_sectors(q) + searches_of(q) * levels) / shared + position_bytes(q) / known->sector_bytes;
    double touched = fmin(1, COLUMNS * q->width / known->sector_bytes); /* sectors of a sum, records one by one */
    double sums = q->o.sums_in_memory ? SUMS * q->o.visited * touched : 0;
    return isnan(known->apart) ? 0 : sectors * known->apart + sums * known->sum;
}

static double transfer_time(const question *q)
{
    double share = q->o.sorted ? 1 : q->known->reached, cycles = path_cycles(q);
    double memory = q->memory->bw_bytes_s.known ? traffic(q) / (share * q->memory->bw_bytes_s.value) : NAN;
    double longest = fmax(memory, cycles / (q->cores * q->clock_hz)); /* ignores an unknown one */
    return longest > 0 ? longest : NAN;
}

/* The work that threads which run together repeat as often as the longest of them. */
static double longest_of(const question *q) { return q->known->together > 1 ? q->o.longest : q->o.visited; }

static double chain(const question *q)
{
    double visits = longest_of(q);
    return q->o.nuclide_grid ? visits * (steps_of(q) + 1) : steps_of(q) + 2 * visits;
}

static double instructions(const question *q)
{
    double visits = longest_of(q), point = q->o.bits == 64 ? q->known->point64 : q->known->point32;
    if (q->o.drawn) point = q->known->drawn;
    return q->known->step * (q->o.nuclide_grid ? visits : 1) * steps_of(q) + point * visits;
}

static void answer(const question *q, cm__ctx *ctx, cm_lookup_rate *rate)
{
    double *times = rate->times_s;
    *rate = (cm_lookup_rate){.table_bytes = q->rows_bytes + q->index_bytes,
                             .traffic_bytes = traffic(q),
                             .memory = q->memory->name};
    times[CM_LOOKUP_BANDWIDTH] = transfer_time(q);
    times[CM_LOOKUP_LATENCY] = chain(q) * q->known->cycles / q->clock_hz / (q->cores * q->known->chains);
    times[CM_LOOKUP_INSTRUCTIONS] = instructions(q) / (q->cores * q->known->lanes * q->clock_hz);
    for (int i = 1; i < CM_LOOKUP_BOUNDS; i++)
        if (times[i] > times[rate->bound] || isnan(times[rate->bound])) rate->bound = (cm_lookup_bound)i;
    double longest = times[rate->bound];
    if (!(longest > 0)) cm__fail(ctx, CM_ERR_UNSUPPORTED, "neither bandwidth nor clock are known");
    rate->lookups_s = 1 / longest;
    rate->low_s = rate->lookups_s / q->known->spread;
    rate->high_s = rate->lookups_s * q->known->spread;
}

cm_status cm_device_lookups(const cm_device *device, const cm_lookup_options *options, cm_lookup_rate *rate,
                            cm_diag *diag)
{
    cm_lookup_options              own;
    question                       q = {0};
    cm__ctx                       *ctx = cm__ctx_new(diag);
    if (!ctx) return CM_ERR_MEMORY;
    if (setjmp(ctx->trap)) return cm__ctx_abandon(ctx);
    cm__take_options(&own, sizeof own, options);
    settle(&q, ctx, device, &own);
    require_room(&q, ctx);
    answer(&q, ctx, rate);
    cm__ctx_free(ctx);
    return CM_OK;
}
