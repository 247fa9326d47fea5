/* SPDX-License-Identifier: Apache-2.0 */
/* operands.c - operands of a case: check that they fit into memory, fill them with random numbers, and make copies for
   cold-cache runs. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "bench/backends/cpu/cpu.h"

#define PAGE     4096
#define PATTERN  262139 /* numbers that repeat; a prime, so that rows of any length differ */
#define PART     0.8    /* fraction of free memory that a case may take */
#define SETS_MAX 4096

/* ---- free memory ------------------------------------------------------------------------------------------------- */

static double number_in(const char *path, const char *format)
{
    char   line[256];
    double value = NAN;
    FILE  *file = fopen(path, "re");
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    while (file && isnan(value) && fgets(line, sizeof line, file))
        if (sscanf(line, format, &value) != 1) value = NAN;
#pragma GCC diagnostic pop
    if (file) fclose(file);
    return value;
}

double cm__free_bytes(void)
{
    double available = 1024 * number_in("/proc/meminfo", "MemAvailable: %lf");
    double most = number_in("/sys/fs/cgroup/memory.max", "%lf"),
           used = number_in("/sys/fs/cgroup/memory.current", "%lf");
    double cached = number_in("/sys/fs/cgroup/memory.stat", "inactive_file %lf");
    if (!isnan(most) && !isnan(used)) available = fmin(available, most - used + (isnan(cached) ? 0 : cached));
    return available;
}

cm_status cm__need_memory(double bytes, cm_diag *diag)
{
    double available = cm__free_bytes();
    if (isnan(available) || bytes <= PART * available) return CM_OK;
    return cm__diag_set(diag, CM_ERR_LIMIT,
                        "needs %.2f GiB of memory, %.2f GiB are free; --scale makes primitives smaller",
                        bytes / 1073741824, available / 1073741824);
}

/* ---- filling ----------------------------------------------------------------------------------------------------- */

float *cm__buffer_new(int64_t elements)
{
    size_t bytes = ((size_t)elements * sizeof(float) + PAGE - 1) / PAGE * PAGE;
    return aligned_alloc(PAGE, bytes ? bytes : PAGE);
}

static uint32_t hash(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u; /* splitmix64 */
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return (uint32_t)(x >> 33);
}

typedef struct filling {
    float             *buffer;
    const cm__operand *operand;
    const float       *pattern;
    uint64_t           seed;
} filling;

static void fill_indices(const filling *f, int64_t first, int64_t last)
{
    int32_t *to = (int32_t *)f->buffer;
    for (int64_t i = first; i < last; i++)
        to[i] = (int32_t)(hash(f->seed + (uint64_t)i) % (uint64_t)f->operand->below);
}

static void fill_part(void *arg, int64_t first, int64_t last)
{
    const filling *f = arg;
    if (f->operand->fill == CM__FILL_INDEX) {
        fill_indices(f, first, last);
        return;
    }
    for (int64_t i = first; i < last;) {
        int64_t at = i % PATTERN, count = last - i < PATTERN - at ? last - i : PATTERN - at;
        memcpy(f->buffer + i, f->pattern + at, (size_t)count * sizeof(float));
        i += count;
    }
}

void cm__fill_buffer(cm__pool *pool, float *buffer, const cm__operand *operand, uint64_t seed)
{
    static float pattern[PATTERN];
    bool         positive = operand->fill == CM__FILL_POSITIVE || operand->fill == CM__FILL_STATE;
    int64_t      count = operand->elements < PATTERN ? operand->elements : PATTERN;
    if (operand->fill == CM__FILL_RESULT) {
        memset(buffer, 0, (size_t)operand->elements * sizeof(float));
        return;
    }
    for (int64_t i = 0; operand->fill != CM__FILL_INDEX && i < count; i++) {
        uint32_t bits = hash(seed * 0x100000001b3u + (uint64_t)i);
        float    size = 0.1f + 0.9f * (float)(bits >> 8) / 8388608;
        pattern[i] = positive || bits & 1 ? size : -size;
    }
    filling f = {buffer, operand, pattern, seed};
    cm__pool_run(pool, fill_part, &f, operand->elements, 1 << 16);
}

/* ---- sets -------------------------------------------------------------------------------------------------------- */

float **cm__operand_set(const cm__cpu_case *c, int32_t set) { return c->sets + set * c->n_operands; }

static double set_bytes(const cm__cpu_case *c)
{
    double bytes = 0;
    for (int i = 0; i < c->n_operands; i++) bytes += (double)c->operands[i].elements * sizeof(float);
    return bytes;
}

/* For cold runs: enough sets that those used between two uses of one set exceed the last cache. */
static int32_t sets_for(const cm__cpu_case *c, bool cold, double bytes)
{
    if (!cold) return 1;
    double sets = ceil(2 * c->cpu->last_cache_bytes / fmax(bytes, PAGE)) + 1;
    return (int32_t)fmin(sets, SETS_MAX);
}

cm_status cm__make_operands(cm__cpu_case *c, bool cold, cm_diag *diag)
{
    double bytes = set_bytes(c);
    c->n_sets = sets_for(c, cold, bytes);
    cm_status status = cm__need_memory(bytes * c->n_sets, diag);
    if (status != CM_OK) return status;
    c->sets = calloc((size_t)c->n_sets * (size_t)c->n_operands, sizeof *c->sets);
    for (int32_t i = 0; c->sets && i < c->n_sets * c->n_operands; i++) {
        const cm__operand *operand = &c->operands[i % c->n_operands];
        c->sets[i] = cm__buffer_new(operand->elements);
        if (!c->sets[i]) break;
        cm__fill_buffer(c->cpu->pool, c->sets[i], operand, c->cpu->seed + (uint64_t)(i % c->n_operands));
    }
    bool whole = c->sets && c->sets[c->n_sets * c->n_operands - 1];
    return whole ? CM_OK
                 : cm__diag_set(diag, CM_ERR_LIMIT, "the system gives no %.2f GiB", bytes * c->n_sets / 1073741824);
}

void cm__free_operands(cm__cpu_case *c)
{
    for (int32_t i = 0; c->sets && i < c->n_sets * c->n_operands; i++) free(c->sets[i]);
    free(c->sets);
    c->sets = NULL;
}

/* ---- checking ---------------------------------------------------------------------------------------------------- */

#define ROUNDING 1e-5 /* relative; larger than fp32's 6e-8 because of long sums and approximated functions */

int64_t cm__samples(int64_t n) { return n < CM__SAMPLES ? n : CM__SAMPLES; }

int64_t cm__sample(int64_t i, int64_t n)
{
    if (n <= CM__SAMPLES) return i;
    return (int64_t)((double)i / (CM__SAMPLES - 1) * (double)(n - 1));
}

int64_t cm__differs(double got, double want, double scale)
{
    return !(fabs(got - want) <= ROUNDING * fmax(scale, fabs(want)) + 1e-7);
}
