/* SPDX-License-Identifier: Apache-2.0 */
/* kriging.c - interpolation between rows of kernel tables. */
#include "model/time/kriging.h"

#include <math.h>

#define NEIGHBOURS 20
#define SQRT3 1.7320508f
#define LEAST 1e-7f /* lower bound of a variance after rounding */

/* ---- neighbours ------------------------------------------------------------------------------------------------- */

typedef struct neighbour {
    float   squared; /* squared distance */
    int32_t row;
    int32_t table;
} neighbour;

typedef struct neighbours {
    neighbour of[NEIGHBOURS]; /* nearest first */
    int       count;
} neighbours;

static void keep(neighbours *n, neighbour found)
{
    int at = n->count < NEIGHBOURS ? n->count++ : NEIGHBOURS - 1;
    for (; at > 0 && n->of[at - 1].squared > found.squared; at--) n->of[at] = n->of[at - 1];
    n->of[at] = found;
}

/* Compares four features at a time (they are padded to four), the last ones first: they differ most between rows. */
typedef float four __attribute__((vector_size(16), aligned(4), may_alias));

static inline float squared_distance(const float *a, const float *b, int count, float most)
{
    float sum = 0;
    for (int i = count - 4; i >= 0 && sum < most; i -= 4) {
        four d = *(const four *)(a + i) - *(const four *)(b + i);
        d *= d;
        sum += (d[0] + d[1]) + (d[2] + d[3]);
    }
    return sum;
}

/* Squared distance between two tables, in addition to that between features. */
static float apart(const cm__scales *s, const cm__rows *a, const cm__rows *b)
{
    double variant = a->variant != b->variant ? s->variant : 0, dtype = a->dtype != b->dtype ? s->dtype : 0,
           pass = a->pass != b->pass ? s->pass : 0;
    return (float)(variant * variant + dtype * dtype + pass * pass);
}

static int differences(const cm__rows *a, const cm__rows *b)
{
    int count = (a->variant != b->variant) + (a->dtype != b->dtype) + (a->pass != b->pass);
    return count ? count : 1; /* two tables of one kind from two runtimes */
}

static void find_in(neighbours *n, const cm__rows *tables, int32_t table, float offset, const float *features,
                    int count, int32_t without)
{
    const float *rows = tables[table].features;
    float        most = (n->count < NEIGHBOURS ? INFINITY : n->of[NEIGHBOURS - 1].squared) - offset;
    for (int32_t row = 0; row < tables[table].count && most > 0; row++, rows += count) {
        float d = squared_distance(features, rows, count, most);
        if (d >= most || row == without) continue;
        keep(n, (neighbour){.squared = d + offset, .row = row, .table = table});
        if (n->count == NEIGHBOURS) most = n->of[NEIGHBOURS - 1].squared - offset;
    }
}

/* ---- kriging ---------------------------------------------------------------------------------------------------- */

/* Matérn covariance, once differentiable. */
static float covariance(float squared)
{
    float q = SQRT3 * sqrtf(squared);
    return (1 + q) * expf(-q);
}

/* Cholesky factorisation K = U^T U in place. The upper part of K is given; the noise makes it positive definite. */
static void factor(float k[NEIGHBOURS][NEIGHBOURS], int n)
{
    for (int j = 0; j < n; j++) {
        float root = sqrtf(fmaxf(k[j][j], LEAST));
        for (int i = j; i < n; i++) k[j][i] /= root;
        for (int i = j + 1; i < n; i++)
            for (int m = i; m < n; m++) k[i][m] -= k[j][i] * k[j][m];
    }
}

/* x := U^-T x */
static void solve(float u[NEIGHBOURS][NEIGHBOURS], int n, float *x)
{
    for (int j = 0; j < n; j++) {
        x[j] /= u[j][j];
        for (int i = j + 1; i < n; i++) x[i] -= u[j][i] * x[j];
    }
}

static double dot(const float *a, const float *b, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++) sum += (double)a[i] * (double)b[i];
    return sum;
}

static const float *features_of(const cm__rows *tables, const neighbour *n, int count)
{
    return tables[n->table].features + (size_t)n->row * (size_t)count;
}

static void covariances(const neighbours *n, const cm__rows *tables, int count, const cm__scales *s,
                        float k[NEIGHBOURS][NEIGHBOURS])
{
    for (int i = 0; i < n->count; i++) {
        const neighbour *a = &n->of[i];
        for (int j = 0; j < i; j++) {
            const neighbour *b = &n->of[j];
            float d = squared_distance(features_of(tables, a, count), features_of(tables, b, count), count, INFINITY);
            k[j][i] = covariance(d + apart(s, &tables[a->table], &tables[b->table]));
            if (a->table == b->table) k[j][i] += (float)s->alike;
        }
        k[i][i] = (float)(1 + s->alike + s->noise);
    }
}

/* Ordinary kriging of the neighbours' values. Half of the factorisation is enough: only products of pairs are
   needed. */
static cm__kriged krige(const neighbours *n, const cm__rows *tables, int32_t home, int count, const cm__scales *s)
{
    float k[NEIGHBOURS][NEIGHBOURS], ones[NEIGHBOURS], near[NEIGHBOURS], values[NEIGHBOURS];
    covariances(n, tables, count, s, k);
    factor(k, n->count);
    for (int i = 0; i < n->count; i++) {
        ones[i] = 1;
        near[i] = covariance(n->of[i].squared) + (n->of[i].table == home ? (float)s->alike : 0);
        values[i] = tables[n->of[i].table].values[n->of[i].row];
    }
    solve(k, n->count, ones);
    solve(k, n->count, near);
    solve(k, n->count, values);
    double mean = dot(ones, values, n->count) / dot(ones, ones, n->count);
    double value = mean + dot(near, values, n->count) - mean * dot(near, ones, n->count);
    double explained = dot(near, near, n->count);
    return (cm__kriged){.value = value, .unknown = fmin(1, fmax(0, 1 + s->alike - explained))};
}

cm__kriged cm__krige(const cm__scales *s, const cm__rows *tables, int32_t n_tables, int32_t home,
                     const float *features, int count, int32_t without)
{
    neighbours n = {.count = 0};
    find_in(&n, tables, home, 0, features, count, without);
    neighbour at_home = n.count ? n.of[0] : (neighbour){.squared = INFINITY};
    for (int differing = 1; differing <= 3 && (differing == 1 || n.count < NEIGHBOURS); differing++)
        /* first tables that differ in one property; others only if there are too few neighbours */
        for (int32_t i = 0; i < n_tables; i++)
            if (i != home && differences(&tables[i], &tables[home]) == differing)
                find_in(&n, tables, i, apart(s, &tables[i], &tables[home]), features, count, -1);
    cm__kriged result = krige(&n, tables, home, count, s);
    result.row = at_home.row;
    result.nearest = sqrt((double)at_home.squared);
    return result;
}
