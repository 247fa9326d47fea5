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

/* Matérn covariance, once differentiable, of four squared distances. */
static inline cm__four covariance(cm__four squared)
{
    cm__four q;
    for (int i = 0; i < 4; i++) q[i] = SQRT3 * sqrtf(squared[i]);
    return (1 + q) * cm__four_exp(-q);
}

_Static_assert(CM__NEIGHBOURS % 4 == 0, "rows are processed four numbers at a time");

/* The equations of kriging: a row for each neighbour, with its covariances to the neighbours, and behind them the
   columns for which the equations are solved. */
enum { ONES = CM__NEIGHBOURS, NEAR, VALUES, COLUMNS = CM__NEIGHBOURS + 4 };
typedef float equations[CM__NEIGHBOURS][COLUMNS];

static inline void put(float *to, cm__four x) { memcpy(to, &x, sizeof x); }

/* Columns from `column` to column + 3 of row i, less their projections on the rows before. */
static inline cm__four reduced(equations k, int i, int column)
{
    cm__four left = cm__four_at(&k[i][column]);
    for (int j = 0; j < i; j++) left -= k[j][i] * cm__four_at(&k[j][column]);
    return left;
}

/* Cholesky factorisation K = U^T U of the covariances in place, and x := U^-T x for the columns behind them. The upper
   part of K is given; the noise makes it positive definite. */
CM__FAST static void reduce(equations k, int n)
{
    for (int i = 0; i < n; i++) {
        int      group = i & ~3;
        cm__four left = reduced(k, i, group);
        float    root = sqrtf(fmaxf(left[i & 3], LEAST)), pivot = left[i & 3] / root;
        put(&k[i][group], left / root);
        for (int at = group + 4; at < n; at += 4) put(&k[i][at], reduced(k, i, at) / root);
        put(&k[i][ONES], reduced(k, i, ONES) / pivot);
    }
}

static double dot(equations k, int a, int b, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++) sum += (double)k[i][a] * (double)k[i][b];
    return sum;
}

/* Squared distances of neighbour i to neighbours 0 to i - 1, four of these at a time. of: each feature of all
   neighbours. The order of the sum is that of nearest.c. */
static inline void distances(float of[][CM__NEIGHBOURS], int count, int i, float *out)
{
    cm__four sum[CM__NEIGHBOURS / 4] = {{0}};
    for (int f = count - 4; f >= 0; f -= 4) {
        cm__four x[4];
        for (int n = 0; n < 4; n++) x[n] = of[f + n][i] - (cm__four){0};
        for (int j = 0; j < i; j += 4) {
            cm__four a = x[0] - cm__four_at(of[f] + j), b = x[1] - cm__four_at(of[f + 1] + j),
                     c = x[2] - cm__four_at(of[f + 2] + j), d = x[3] - cm__four_at(of[f + 3] + j);
            sum[j / 4] += (a * a + b * b) + (c * c + d * d);
        }
    }
    memcpy(out, sum, sizeof sum);
}

/* Neighbours of one table often follow each other, so that the distance between two tables is used again. squared: on
   entry between features alone. */
static inline void covariances_of(const cm__neighbours *n, const cm__rows *tables, const cm__scales *s, int i, float *squared,
                           equations k)
{
    int32_t a = n->of[i].table, last = a;
    float   between = 0, alike = (float)s->alike;
    for (int j = 0; j < i; j++) {
        int32_t b = n->of[j].table;
        if (b != last) between = a == b ? 0 : apart(s, &tables[a], &tables[b]);
        last = b;
        squared[j] += between;
    }
    for (int j = 0; j < i; j += 4) {
        cm__four four = covariance(cm__four_at(squared + j));
        for (int at = j; at < i && at < j + 4; at++) k[at][i] = four[at - j] + (n->of[at].table == a ? alike : 0);
    }
    k[i][i] = (float)(1 + s->alike + s->noise);
}

CM__FAST static void covariances(const cm__neighbours *n, const cm__rows *tables, int count, const cm__scales *s, equations k)
{
    float of[CM__FEATURES][CM__NEIGHBOURS], squared[CM__NEIGHBOURS];
    memset(of, 0, (size_t)count * sizeof *of);
    for (int i = 0; i < n->count; i++)
        cm__row_features(&tables[n->of[i].table], n->of[i].row, count, &of[0][i], CM__NEIGHBOURS);
    for (int i = 0; i < n->count; i++) {
        distances(of, count, i, squared);
        covariances_of(n, tables, s, i, squared, k);
    }
}

/* Ordinary kriging of the neighbours' values. Half of the factorisation is enough: only products of pairs are
   needed. */
static cm__kriged krige(const cm__neighbours *n, const cm__rows *tables, int32_t home, int count, const cm__scales *s)
{
    equations k = {{0}};
    covariances(n, tables, count, s, k);
    for (int i = 0; i < n->count; i++) {
        k[i][ONES] = 1;
        k[i][NEAR] = covariance((cm__four){n->of[i].squared})[0] + (n->of[i].table == home ? (float)s->alike : 0);
        k[i][VALUES] = tables[n->of[i].table].values[n->of[i].row];
    }
    reduce(k, n->count);
    double mean = dot(k, ONES, VALUES, n->count) / dot(k, ONES, ONES, n->count);
    double value = mean + dot(k, NEAR, VALUES, n->count) - mean * dot(k, NEAR, ONES, n->count);
    double explained = dot(k, NEAR, NEAR, n->count);
    return (cm__kriged){.value = value, .unknown = s->spread * fmin(1, fmax(0, 1 + s->alike - explained))};
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
