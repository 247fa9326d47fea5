/* SPDX-License-Identifier: Apache-2.0 */
/* kriging.c - features of calls, and interpolation between them. */
#include "model/kriging.h"

#include <math.h>
#include <string.h>

#define NEIGHBOURS 16
#define DEFAULT_SCALE 3.0f
#define DEFAULT_NOISE 0.02
#define OF_A_KIND 5.0f /* between kinds of grouped convolutions */
#define SQRT3 1.7320508075688772

static const struct {
    double noise;
    float  scales[CM__FEATURES];
} table[CM__CALLS] = {
#define SCALES(id, noise, ...) [CM__CALL_##id] = {noise, {__VA_ARGS__}},
#include "model/scales.def"
#undef SCALES
};

/* ---- features --------------------------------------------------------------------------------------------------- */

/* Halves of the powers of two in a size, up to the eight that vector loads want. */
static float alignment(int64_t size)
{
    return size <= 0 ? 1.5f : 0.5f * (float)__builtin_ctzll((unsigned long long)size | 8);
}

/* Of a convolution's groups: one, as many as channels in (the second size), or others: three kinds of kernels. */
static float kind_of_groups(const int64_t *sizes, int at)
{
    return OF_A_KIND * (float)(sizes[at] <= 1 ? 0 : sizes[at] == sizes[1] ? 1 : 2);
}

/* Which sizes are read in vectors. */
static void alignments(const cm__call *c, float *out)
{
    const int64_t *s = c->sizes;
    bool           rows = cm__call_kinds[c->op].n_sizes == 2 && c->op != CM__CALL_OPTIMIZER;
    int64_t        gemm[] = {s[1], s[2], s[3]}, conv[] = {s[1], s[2], 8}, row[] = {s[1], 8, 8}, none[] = {8, 8, 8};
    const int64_t *of = c->op == CM__CALL_GEMM ? gemm : c->op == CM__CALL_CONV ? conv : rows ? row : none;
    for (int i = 0; i < 3; i++) out[i] = alignment(of[i]);
}

int cm__features(const cm__call *c, double roofline_s, float *f)
{
    const cm__call_kind *kind = &cm__call_kinds[c->op];
    int                  n = kind->n_sizes;
    double               flop, bytes;
    for (int i = 0; i < n; i++) f[i] = c->sizes[i] > 0 ? logf((float)c->sizes[i]) : -1;
    if (c->op == CM__CALL_CONV || c->op == CM__CALL_CONV3D) f[n - 1] = kind_of_groups(c->sizes, n - 1);
    alignments(c, f + n);
    cm__call_work(c, &flop, &bytes);
    f[n + 3] = (float)log(roofline_s);
    f[n + 4] = (float)log(fmax(flop, 1) / fmax(bytes, 1));
    for (int i = 0; i < n + 5; i++) f[i] /= table[c->op].scales[i] > 0 ? table[c->op].scales[i] : DEFAULT_SCALE;
    return n + 5;
}

/* ---- neighbours ------------------------------------------------------------------------------------------------- */

typedef struct neighbours {
    float   squared[NEIGHBOURS]; /* distances, nearest first */
    int32_t row[NEIGHBOURS];
    int     count;
} neighbours;

static void keep(neighbours *n, int32_t row, float squared)
{
    int at = n->count < NEIGHBOURS ? n->count++ : NEIGHBOURS - 1;
    for (; at > 0 && n->squared[at - 1] > squared; at--) {
        n->squared[at] = n->squared[at - 1];
        n->row[at] = n->row[at - 1];
    }
    n->squared[at] = squared;
    n->row[at] = row;
}

static float squared_distance(const float *a, const float *b, int count, float most)
{
    float sum = 0;
    for (int i = 0; i < count && sum < most; i++) sum += (a[i] - b[i]) * (a[i] - b[i]);
    return sum;
}

static neighbours find(const float *rows, int32_t n_rows, const float *features, int count, int32_t without)
{
    neighbours n = {.count = 0};
    for (int32_t row = 0; row < n_rows; row++) {
        float most = n.count < NEIGHBOURS ? INFINITY : n.squared[NEIGHBOURS - 1];
        float d =
            row == without ? INFINITY : squared_distance(features, rows + (size_t)row * (size_t)count, count, most);
        if (d < most) keep(&n, row, d);
    }
    return n;
}

/* ---- kriging ---------------------------------------------------------------------------------------------------- */

/* Matern's covariance, once differentiable. */
static double covariance(double squared)
{
    double q = SQRT3 * sqrt(squared);
    return (1 + q) * exp(-q);
}

/* K = L L^T in place; K is positive definite by its noise. */
static void factor(double k[NEIGHBOURS][NEIGHBOURS], int n)
{
    for (int j = 0; j < n; j++) {
        for (int i = j; i < n; i++) {
            double sum = k[i][j];
            for (int m = 0; m < j; m++) sum -= k[i][m] * k[j][m];
            k[i][j] = i == j ? sqrt(fmax(sum, 1e-12)) : sum / k[j][j];
        }
    }
}

static void solve(double l[NEIGHBOURS][NEIGHBOURS], int n, double *x)
{
    for (int i = 0; i < n; i++) {
        for (int m = 0; m < i; m++) x[i] -= l[i][m] * x[m];
        x[i] /= l[i][i];
    }
    for (int i = n - 1; i >= 0; i--) {
        for (int m = i + 1; m < n; m++) x[i] -= l[m][i] * x[m];
        x[i] /= l[i][i];
    }
}

static void covariances(const neighbours *n, const float *rows, int count, double noise,
                        double k[NEIGHBOURS][NEIGHBOURS])
{
    for (int i = 0; i < n->count; i++)
        for (int j = 0; j <= i; j++) {
            const float *a = rows + (size_t)n->row[i] * (size_t)count, *b = rows + (size_t)n->row[j] * (size_t)count;
            k[i][j] = i == j ? 1 + noise : covariance((double)squared_distance(a, b, count, INFINITY));
        }
}

cm__kriged cm__krige(int op, const float *rows, const float *values, int32_t n_rows, const float *features, int count,
                     int32_t without)
{
    neighbours n = find(rows, n_rows, features, count, without);
    double     k[NEIGHBOURS][NEIGHBOURS], ones[NEIGHBOURS], near[NEIGHBOURS], weights[NEIGHBOURS];
    double     noise = table[op].noise > 0 ? table[op].noise : DEFAULT_NOISE, mean = 0, sum = 0, value = 0, told = 0;
    cm__kriged result = {.nearest = sqrt((double)n.squared[0]), .row = n.row[0]};
    covariances(&n, rows, count, noise, k);
    factor(k, n.count);
    for (int i = 0; i < n.count; i++) {
        ones[i] = 1;
        near[i] = weights[i] = covariance((double)n.squared[i]);
    }
    solve(k, n.count, ones);
    solve(k, n.count, weights);
    for (int i = 0; i < n.count; i++) {
        mean += ones[i] * (double)values[n.row[i]];
        sum += ones[i];
    }
    mean /= sum;
    for (int i = 0; i < n.count; i++) {
        value += weights[i] * ((double)values[n.row[i]] - mean);
        told += weights[i] * near[i];
    }
    result.value = mean + value;
    result.unknown = fmin(1, fmax(0, 1 - told));
    return result;
}
