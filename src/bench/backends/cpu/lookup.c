/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lookup.c - the look-up pattern of XSBench: draw an energy, find it in a sorted grid by bisection, and interpolate
 * five cross sections between the two rows around it. A row is six doubles: the energy and the cross sections.
 */
#include "bench/backends/cpu/cpu.h"

#define COLUMNS 6

static uint64_t scramble(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static double uniform(uint64_t x) { return (double)(scramble(x) >> 11) / 9007199254740992.0; }

static int64_t rows_of(int64_t bytes) { return bytes / (COLUMNS * (int64_t)sizeof(double)); }

static double energy_of(int64_t lookup) { return uniform(0x5eedu + (uint64_t)lookup); }

/* Row i has an energy within the i-th of equal intervals, so that the reference can find it without bisection. */
void cm__lookup_table(cm__cpu_probe *p)
{
    double *table = (double *)p->buffer;
    int64_t rows = rows_of(p->request.bytes);
    for (int64_t i = 0; i < rows; i++)
        for (int k = 0; k < COLUMNS; k++) {
            double u = uniform((uint64_t)(i * COLUMNS + k));
            table[i * COLUMNS + k] = k ? 1 + u : ((double)i + u) / (double)rows;
        }
}

static double interpolate(const double *row, double energy)
{
    double part = (energy - row[0]) / (row[COLUMNS] - row[0]), sum = 0;
    for (int k = 1; k < COLUMNS; k++) sum += row[k] + part * (row[COLUMNS + k] - row[k]);
    return sum;
}

/* The row below the energy, clamped to the first and last rows. */
static int64_t bisect(const double *table, int64_t rows, double energy)
{
    int64_t low = 0, high = rows - 1;
    while (high - low > 1) {
        int64_t middle = (low + high) / 2;
        if (table[middle * COLUMNS] > energy) high = middle;
        else low = middle;
    }
    return low;
}

static void look_up(void *arg, int64_t first, int64_t last)
{
    cm__cpu_probe *p = arg;
    const double  *table = (const double *)p->buffer;
    int64_t        rows = rows_of(p->request.bytes);
    for (int64_t i = first; i < last; i++) {
        double energy = energy_of(i);
        p->results[i] = interpolate(table + bisect(table, rows, energy) * COLUMNS, energy);
    }
}

void cm__lookup_once(cm__cpu_probe *p) { cm__pool_run(p->cpu->pool, look_up, p, CM__LOOKUPS, 256); }

int64_t cm__lookup_check(cm__cpu_probe *p)
{
    const double *table = (const double *)p->buffer;
    int64_t       rows = rows_of(p->request.bytes), wrong = 0;
    for (int64_t i = 0; i < CM__LOOKUPS; i++) {
        double  energy = energy_of(i);
        int64_t row = (int64_t)(energy * (double)rows);
        if (table[row * COLUMNS] > energy) row--;
        if (row > rows - 2) row = rows - 2;
        if (row < 0) row = 0;
        wrong += cm__differs(p->results[i], interpolate(table + row * COLUMNS, energy), 1);
    }
    return wrong;
}
