/* SPDX-License-Identifier: Apache-2.0 */
/* kriging.c - interpolation between rows of kernel tables. */
#include "model/time/kriging.h"

#include <math.h>
#include <string.h>
#include "model/time/four.h"

#define SQRT3 1.7320508f
#define LEAST 1e-7f /* lower bound of a variance after rounding */

/* Squared distance between two tables, in addition to that between features. */
static float table_distance(const cm__scales *s, const cm__rows *a, const cm__rows *b)
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

#define EIGHT 8
enum { WIDE = (CM__NEIGHBOURS + 4 + EIGHT - 1) / EIGHT * EIGHT };

/* The equations of kriging: a row for each neighbour, with its covariances to the neighbours, and behind them the
   columns for which the equations are solved. Only the upper part of the covariances is used. */
enum { ONES = CM__NEIGHBOURS, NEAR, VALUES };
typedef float equations[CM__NEIGHBOURS][WIDE];

/* Data of the neighbours, a number for each: its features, and for each table that one of them is from, the
   squared distance of its table to that one, and the covariance of rows of one table. */
typedef struct described {
    float of[CM__FEATURES][WIDE];
    float distances[CM__NEIGHBOURS][WIDE], alike[CM__NEIGHBOURS][WIDE];
    int   table[CM__NEIGHBOURS]; /* of each neighbour: the row of `distances` and `alike` */
} described;

/* The tables that neighbours are from, each once. */
typedef struct sources {
    int32_t of[CM__NEIGHBOURS];
    int     count;
} sources;

/* Notes a neighbour's table and returns its place. */
static int note_source(sources *s, int32_t table)
{
    int at = 0;
    s->of[s->count] = table; /* ends the search */
    while (s->of[at] != table) at++;
    s->count += at == s->count;
    return at;
}

/* Data of the tables: the numbers of two tables for all neighbours of the second. */
static void describe_tables(const sources *from, int neighbours, const cm__rows *tables, const cm__scales *s,
                            described *d)
{
    for (int a = 0; a < from->count; a++) {
        float away[CM__NEIGHBOURS], alike[CM__NEIGHBOURS] = {0};
        for (int b = 0; b < from->count; b++)
            away[b] = a == b ? 0 : table_distance(s, &tables[from->of[a]], &tables[from->of[b]]);
        alike[a] = (float)s->alike;
        for (int j = 0; j < neighbours; j++) {
            d->distances[a][j] = away[d->table[j]];
            d->alike[a][j] = alike[d->table[j]];
        }
        memset(d->distances[a] + neighbours, 0, (size_t)(WIDE - neighbours) * sizeof(float));
        memset(d->alike[a] + neighbours, 0, (size_t)(WIDE - neighbours) * sizeof(float));
    }
}

static void describe(const cm__neighbours *n, const cm__rows *tables, int count, const cm__scales *s, described *d)
{
    sources from;
    from.count = 0;
    if (n->count < CM__NEIGHBOURS) memset(d->of, 0, (size_t)count * sizeof *d->of);
    for (int f = 0; f < count; f++) memset(d->of[f] + CM__NEIGHBOURS, 0, (WIDE - CM__NEIGHBOURS) * sizeof **d->of);
    for (int i = 0; i < n->count; i++) {
        cm__row_features(&tables[n->of[i].table], n->of[i].row, count, &d->of[0][i], WIDE);
        d->table[i] = note_source(&from, n->of[i].table);
    }
    describe_tables(&from, n->count, tables, s, d);
}

static inline void put(float *to, cm__four x) { memcpy(to, &x, sizeof x); }

_Static_assert(CM__NEIGHBOURS % 4 == 0 && VALUES < ONES + 4, "rows are divided four numbers at a time");

/* Matérn covariance, once differentiable, of squared distances. */
static inline void eight_covariances(float *x)
{
    cm__eight q, covariance;
    for (int i = 0; i < EIGHT; i++) x[i] = sqrtf(x[i]);
    q = SQRT3 * *(cm__eight *)x;
    covariance = -q;
    cm__eight_exp(&covariance);
    *(cm__eight *)x = (1 + q) * covariance;
}

/* Squared distances of neighbour i and those from `from` on. The order of the sum is that of nearest.c. */
static inline void distances(const described *d, int count, int i, int from, float *out)
{
    cm__eight sum[WIDE / EIGHT];
    for (int at = from; at < WIDE; at += EIGHT) sum[at / EIGHT] = (cm__eight){0};
    for (int f = count - 4; f >= 0; f -= 4) {
        const float *x = d->of[f];
        for (int at = from; at < WIDE; at += EIGHT) {
            cm__eight a = x[i] - *(const cm__eight *)(x + at);
            cm__eight b = x[WIDE + i] - *(const cm__eight *)(x + WIDE + at);
            cm__eight c = x[2 * WIDE + i] - *(const cm__eight *)(x + 2 * WIDE + at);
            cm__eight e = x[3 * WIDE + i] - *(const cm__eight *)(x + 3 * WIDE + at);
            sum[at / EIGHT] += (a * a + b * b) + (c * c + e * e);
        }
    }
    for (int at = from; at < WIDE; at += EIGHT)
        *(cm__eight *)(out + at) = sum[at / EIGHT] + *(const cm__eight *)(d->distances[d->table[i]] + at);
}

/* For the rows whose first covariance is among the eight from `from` on: a constant, so that the loops over columns
   have no branches. */
static inline void covariances_of_rows(const described *d, int neighbours, int count, equations k, int from)
{
    for (int i = from; i < neighbours && i < from + EIGHT; i++) {
        const float *alike = d->alike[d->table[i]];
        distances(d, count, i, from, k[i]);
        for (int at = from; at < WIDE; at += EIGHT) {
            eight_covariances(k[i] + at);
            *(cm__eight *)(k[i] + at) += *(const cm__eight *)(alike + at);
        }
    }
}

_Static_assert(CM__NEIGHBOURS > 2 * EIGHT && CM__NEIGHBOURS <= 3 * EIGHT, "there are three groups of rows");

CM__FAST static void covariances(const described *d, int neighbours, int count, equations k)
{
    covariances_of_rows(d, neighbours, count, k, 0);
    covariances_of_rows(d, neighbours, count, k, EIGHT);
    covariances_of_rows(d, neighbours, count, k, 2 * EIGHT);
}

/* Row i of the equations from column `from` on, less its projections on the rows before. */
static inline void project(equations k, int i, int from)
{
    cm__eight left[WIDE / EIGHT];
    for (int at = from; at < WIDE; at += EIGHT) left[at / EIGHT] = *(const cm__eight *)&k[i][at];
    for (int j = 0; j < i; j++)
        for (int at = from; at < WIDE; at += EIGHT) left[at / EIGHT] -= k[j][i] * *(const cm__eight *)&k[j][at];
    for (int at = from; at < WIDE; at += EIGHT) *(cm__eight *)&k[i][at] = left[at / EIGHT];
}

/* As covariances_of_rows(). */
static inline void reduce_rows(equations k, int n, int from)
{
    for (int i = from; i < n && i < from + EIGHT; i++) {
        project(k, i, from);
        float root = sqrtf(k[i][i] > LEAST ? k[i][i] : LEAST), pivot = k[i][i] / root;
        for (int c = from; c < ONES; c += 4) put(&k[i][c], cm__four_at(&k[i][c]) / root);
        put(&k[i][ONES], cm__four_at(&k[i][ONES]) / pivot);
    }
}

/* Cholesky factorisation K = U^T U of the covariances in place, and x := U^-T x for the columns behind them. The upper
   part of K is given; the noise makes it positive definite. */
CM__FAST static void reduce(equations k, int n)
{
    reduce_rows(k, n, 0);
    reduce_rows(k, n, EIGHT);
    reduce_rows(k, n, 2 * EIGHT);
}

/* Products of the solved columns. */
typedef struct products {
    double ones_values, ones, near_values, near_ones, near;
} products;

static products products_of(equations k, int n)
{
    products p = {0};
    for (int i = 0; i < n; i++) {
        double one = (double)k[i][ONES], near = (double)k[i][NEAR], value = (double)k[i][VALUES];
        p.ones_values += one * value;
        p.ones += one * one;
        p.near_values += near * value;
        p.near_ones += near * one;
        p.near += near * near;
    }
    return p;
}

/* Ordinary kriging of the neighbours' values. Half of the factorisation is enough: only products of pairs are
   needed. */
static cm__kriged krige(const cm__neighbours *n, const cm__rows *tables, int32_t home, int count, const cm__scales *s)
{
    equations k;
    described d;
    float     near[WIDE] = {0};
    for (int i = 0; i < n->count; i++) near[i] = n->of[i].squared;
    for (int i = 0; i < n->count; i += EIGHT) eight_covariances(near + i);
    describe(n, tables, count, s, &d);
    covariances(&d, n->count, count, k);
    for (int i = 0; i < n->count; i++) {
        k[i][i] = (float)(1 + s->alike + s->noise);
        k[i][ONES] = 1;
        k[i][NEAR] = near[i] + (float)s->alike * (float)(n->of[i].table == home); /* no branch: it is hard to predict */
        k[i][VALUES] = cm__row_value(&tables[n->of[i].table], n->of[i].row);
        k[i][VALUES + 1] = 0;
    }
    reduce(k, n->count);
    products p = products_of(k, n->count);
    double   mean = p.ones_values / p.ones, value = mean + p.near_values - mean * p.near_ones;
    return (cm__kriged){.value = value, .unknown = s->spread * fmin(1, fmax(0, 1 + s->alike - p.near))};
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
                cm__nearest_beside(&n, tables, i, table_distance(s, &tables[i], &tables[home]), features, count);
    cm__kriged result = krige(&n, tables, home, count, s);
    result.row = at_home.number;
    result.nearest = sqrt((double)at_home.squared);
    return result;
}
