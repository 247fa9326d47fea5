/* SPDX-License-Identifier: Apache-2.0 */
/* features.c - features of kernel calls, divided by their scales. */
#include "model/time/features.h"

#include <math.h>
#include <string.h>

#define DEFAULT_SCALE 3.0f
/* extra weight of alignment for concatenation; the common scale is fitted to kernels that hardly depend on it */
#define OF_JOINED 20.0f
#define OF_A_KIND 5.0f /* distance between kinds of grouped convolutions, and of grouped attention heads */

static const cm__scales by_default = {.noise = 0.02, .alike = 0.1, .variant = 0.4, .dtype = 0.4, .pass = 0.4};

static const cm__scales table[CM__CALLS] = {
#define SCALES(id, noise, alike, variant, dtype, pass, ...) \
    [CM__CALL_##id] = {noise, alike, variant, dtype, pass, {__VA_ARGS__}},
#include "model/time/scales.def"
#undef SCALES
};

const cm__scales *cm__scales_of(int op) { return table[op].noise > 0 ? &table[op] : &by_default; }

/* Approximates the logarithm: exact at powers of two, linear in between. There are many rows, and a small error of a
   feature does not matter. */
static float about_log(float x)
{
    int32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return (float)(bits - (127 << 23)) * (0.69314718f / (1 << 23));
}

/* ---- alignments ------------------------------------------------------------------------------------------------- */

/* Half of the number of factors of 2 in a size, which is capped at 8, the width of vector loads. */
static float alignment(int64_t size)
{
    return size <= 0 ? 1.5f : 0.5f * (float)__builtin_ctzll((unsigned long long)size | 8);
}

/* Which sizes are read with vector loads, counted from 1. */
static const int8_t aligned[CM__CALLS][3] = {
    [CM__CALL_GEMM] = {2, 3, 4},      [CM__CALL_CONV] = {2, 3},   [CM__CALL_RNN] = {1, 3, 4},
    [CM__CALL_LAYER_NORM] = {2},      [CM__CALL_RMS_NORM] = {2},  [CM__CALL_SOFTMAX] = {2},
    [CM__CALL_CROSS_ENTROPY] = {2},   [CM__CALL_ELEMENTWISE] = {2},
};

/* A concatenation is timed with two halves: vector loads need the half to be aligned. */
static void alignments(const cm__call *c, float *out)
{
    bool  joined = c->op == CM__CALL_ELEMENTWISE && strncmp(c->variant, "cat", 3) == 0;
    float apart = joined ? OF_JOINED : 1;
    for (int i = 0; i < 3; i++) {
        int place = aligned[c->op][i];
        out[i] = apart * alignment(place ? c->sizes[place - 1] / (joined ? 2 : 1) : 0);
    }
}

/* Convolutions have three kinds of kernels: one group, as many groups as input channels (the second size), or
   others. */
static float kind_of_groups(const int64_t *sizes, int at)
{
    return OF_A_KIND * (float)(sizes[at] <= 1 ? 0 : sizes[at] == sizes[1] ? 1 : 2);
}

/* ---- tiles ------------------------------------------------------------------------------------------------------ */

/* Utilisation of the cores if this many tiles run in whole waves. */
static double waves(double tiles, double cores) { return tiles / (cores * ceil(tiles / cores)); }

static double filled(double size, double tile) { return size / (tile * ceil(size / tile)); }

/* Utilisation of the cores for each of the tile sizes that libraries choose among. */
static void tiles_of_product(const cm__call *c, double cores, float *out)
{
    static const double tiles[][2] = {{64, 64}, {128, 64}, {64, 128}, {128, 128}, {128, 256}, {256, 128}};
    double batch = (double)c->sizes[0], m = (double)c->sizes[1], n = (double)c->sizes[2];
    for (int i = 0; i < 6; i++) {
        double count = batch * ceil(m / tiles[i][0]) * ceil(n / tiles[i][1]);
        bool   some = count >= 1;
        out[i] = some ? about_log((float)(filled(m, tiles[i][0]) * filled(n, tiles[i][1]) * waves(count, cores))) : 0;
    }
}

/* Attention processes blocks of queries for each head. */
static void blocks_of_attention(const cm__call *c, double cores, float *out)
{
    static const double blocks[] = {64, 128, 192};
    const int64_t      *s = c->sizes; /* batch, queries, keys, heads, heads of keys, width, causal */
    double              queries = fmax(1, (double)s[1]), heads = fmax(1, (double)s[0] * (double)s[3]);
    for (int i = 0; i < 3; i++) out[i] = about_log((float)waves(heads * ceil(queries / blocks[i]), cores));
    out[3] = about_log((float)filled(queries, 128));
    out[4] = alignment(s[1]);
    out[5] = s[3] == s[4] ? 0 : OF_A_KIND;
}

/* The product of the sizes before and after the middle one, for normalisations and reductions. */
static void outer_and_inner(const cm__call *c, double cores, float *out)
{
    (void)cores;
    out[0] = about_log(fmaxf(1, (float)c->sizes[0] * (float)c->sizes[2]));
}

/* Reductions along the last axis use other kernels than those along other axes. */
static void sides_of_sum(const cm__call *c, double cores, float *out)
{
    outer_and_inner(c, cores, out);
    out[1] = c->sizes[2] == 1 ? OF_A_KIND : 0;
}

/* Additional features of some operators. */
static const struct {
    int count;
    void (*make)(const cm__call *call, double cores, float *out);
} further[CM__CALLS] = {
    [CM__CALL_GEMM] = {6, tiles_of_product},
    [CM__CALL_ATTENTION] = {6, blocks_of_attention},
    [CM__CALL_BATCH_NORM] = {1, outer_and_inner},
    [CM__CALL_REDUCE] = {2, sides_of_sum},
};

/* ---- all features ----------------------------------------------------------------------------------------------- */

static int n_features(int op) { return cm__call_kinds[op].n_sizes + 5 + further[op].count; }

int cm__n_features(int op) { return (n_features(op) + 3) / 4 * 4; }

_Static_assert(CM__CALL_SIZES + 5 + 6 <= CM__FEATURES, "features of the largest call");

double cm__features(const cm__call *c, const cm__limits *limits, float *f)
{
    int          n = cm__call_kinds[c->op].n_sizes, count = n_features(c->op);
    const float *scales = cm__scales_of(c->op)->scales;
    double       flop, bytes;
    for (int i = 0; i < n; i++) f[i] = c->sizes[i] > 0 ? about_log((float)c->sizes[i]) : -1;
    if (c->op == CM__CALL_CONV || c->op == CM__CALL_CONV3D) f[n - 1] = kind_of_groups(c->sizes, n - 1);
    alignments(c, f + n);
    cm__call_work(c, &flop, &bytes);
    double roofline_s = cm__roofline_of(limits, c, flop, bytes);
    f[n + 3] = about_log((float)roofline_s);
    f[n + 4] = about_log((float)(fmax(flop, 1) / fmax(bytes, 1)));
    if (further[c->op].make) further[c->op].make(c, fmax(1, limits->cores), f + n + 5);
    for (int i = 0; i < count; i++) f[i] /= scales[i] > 0 ? scales[i] : DEFAULT_SCALE;
    for (; count % 4; count++) f[count] = 0;
    return roofline_s;
}
