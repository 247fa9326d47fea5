/* SPDX-License-Identifier: Apache-2.0 */
/* kriging.c - interpolation between rows of kernel tables. */
#include "model/time/kriging.h"

#include <math.h>
#include <string.h>
#include "model/time/four.h"

#define SQRT3 1.7320508f
#define LEAST 1e-7f /* lower bound of a variance after rounding */

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

/* ---- kriging ---------------------------------------------------------------------------------------------------- */

/* Matérn covariance, once differentiable. */
static float covariance(float squared)
{
    float q = SQRT3 * sqrtf(squared);
    return (1 + q) * expf(-q);
}

typedef float matrix[CM__NEIGHBOURS][CM__NEIGHBOURS];

_Static_assert(CM__NEIGHBOURS % 4 == 0, "rows are processed four numbers at a time");

/* row := row - factor * by, from the group of four numbers that contains `from` */
static void subtract(float *row, float factor, const float *by, int from)
{
    for (int i = from & ~3; i < CM__NEIGHBOURS; i += 4) {
        cm__four left = cm__four_at(row + i) - factor * cm__four_at(by + i);
        memcpy(row + i, &left, sizeof left);
    }
}

/* Cholesky factorisation K = U^T U in place. The upper part of K is given; the noise makes it positive definite. The
   lower part is zero before and after. */
static void factor(matrix k, int n)
{
    for (int j = 0; j < n; j++) {
        float root = sqrtf(fmaxf(k[j][j], LEAST));
        for (int i = j & ~3; i < j; i++) k[j][i] = 0;
        for (int i = j; i < n; i++) k[j][i] /= root;
        for (int i = j + 1; i < n; i++) subtract(k[i], k[j][i], k[j], i);
    }
}

/* x := U^-T x */
static void solve(matrix u, int n, float *x)
{
    for (int j = 0; j < n; j++) {
        float solved = x[j] / u[j][j];
        subtract(x, solved, u[j], j + 1);
        x[j] = solved;
    }
}

static double dot(const float *a, const float *b, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++) sum += (double)a[i] * (double)b[i];
    return sum;
}

static const float *features_of(const cm__rows *tables, const cm__neighbour *n, int count)
{
    return tables[n->table].features + (size_t)n->row * (size_t)count;
}

/* Squared distances of neighbour i to neighbours 0 to i - 1, four of these at a time. of: each feature of all
   neighbours. The order of the sum is that of cm__squared_distance(). */
static void distances(float of[][CM__NEIGHBOURS], int count, int i, float *out)
{
    for (int j = 0; j < i; j += 4) {
        cm__four sum = {0};
        for (int f = count - 4; f >= 0; f -= 4) {
            cm__four d[4];
            for (int k = 0; k < 4; k++) {
                d[k] = of[f + k][i] - cm__four_at(of[f + k] + j);
                d[k] *= d[k];
            }
            sum += (d[0] + d[1]) + (d[2] + d[3]);
        }
        memcpy(out + j, &sum, sizeof sum);
    }
}

static void covariances(const cm__neighbours *n, const cm__rows *tables, int count, const cm__scales *s, matrix k)
{
    float of[CM__FEATURES][CM__NEIGHBOURS] = {{0}}, squared[CM__NEIGHBOURS];
    for (int i = 0; i < n->count; i++) {
        const float *features = features_of(tables, &n->of[i], count);
        for (int f = 0; f < count; f++) of[f][i] = features[f];
    }
    for (int i = 0; i < n->count; i++) {
        distances(of, count, i, squared);
        for (int j = 0; j < i; j++) {
            int32_t a = n->of[i].table, b = n->of[j].table;
            k[j][i] = a == b ? covariance(squared[j]) + (float)s->alike
                             : covariance(squared[j] + apart(s, &tables[a], &tables[b]));
        }
        k[i][i] = (float)(1 + s->alike + s->noise);
    }
}

/* Ordinary kriging of the neighbours' values. Half of the factorisation is enough: only products of pairs are
   needed. */
static cm__kriged krige(const cm__neighbours *n, const cm__rows *tables, int32_t home, int count, const cm__scales *s)
{
    matrix k = {{0}};
    float  ones[CM__NEIGHBOURS] = {0}, near[CM__NEIGHBOURS] = {0}, values[CM__NEIGHBOURS] = {0};
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
    cm__neighbours n = {.count = 0};
    cm__nearest_at_home(&n, tables, home, features, count, without);
    cm__neighbour at_home = n.count ? n.of[0] : (cm__neighbour){.squared = INFINITY};
    for (int differing = 1; differing <= 3 && (differing == 1 || n.count < CM__NEIGHBOURS); differing++)
        /* first tables that differ in one property; others only if there are too few neighbours */
        for (int32_t i = 0; i < n_tables; i++)
            if (i != home && differences(&tables[i], &tables[home]) == differing)
                cm__nearest_beside(&n, tables, i, apart(s, &tables[i], &tables[home]), features, count);
    cm__kriged result = krige(&n, tables, home, count, s);
    result.row = at_home.number;
    result.nearest = sqrt((double)at_home.squared);
    return result;
}
