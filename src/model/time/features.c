/* SPDX-License-Identifier: Apache-2.0 */
/* features.c - features of kernel calls, divided by their scales. */
#include "model/time/features.h"

#include <math.h>
#include <string.h>
#include "model/time/folded.h"
#include "model/time/four.h"
#include "model/time/groups.h"
#include "model/time/recurrent.h"
#include "model/time/tiles.h"

const cm__scales *cm__scales_of(int op)
{
    return op >= 0 && cm__call_scales[op].noise > 0 ? &cm__call_scales[op] : &cm__default_scales;
}

/* Approximates the logarithm: exact at powers of two, linear in between. There are many rows, and a small error of a
   feature does not matter. */
#define ONE (127 << 23)                     /* the bits of 1.0f */
#define LOG_STEP (0.69314718f / (1 << 23)) /* by which the logarithm grows with the lowest bit */
static inline float about_log(float x)
{
    int32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return (float)(bits - ONE) * LOG_STEP;
}

static float log_of_size(int64_t size) { return size > 0 ? about_log((float)size) : -1; }

/* ---- alignments ------------------------------------------------------------------------------------------------- */

/* The number of factors of 2 in a size, which is capped at 8, the width of vector loads. */
#define FACTORS 3
static int factors_of_two(int64_t size)
{
    return size <= 0 ? FACTORS : __builtin_ctzll((unsigned long long)size | 1 << FACTORS);
}

static float alignment(int64_t size) { return 0.5f * (float)factors_of_two(size); }

/* The size along which neither operand nor result of a product is contiguous, or -1. Results have rows of n numbers,
   the operands of `nt` and `nn` have rows of k, and the first operand of `tn` has rows of m. */
static int free_size(const cm__call *c)
{
    if (c->op != CM__CALL_GEMM) return -1;
    return c->variant == CM__V_TN ? CM__GEMM_K : c->variant == CM__V_TT ? -1 : CM__GEMM_M;
}

/* The size, counted from 1, whose alignment is the i-th; 0: none. */
static int aligned_place(const cm__call *c, int i)
{
    int place = cm__feature_facts.aligned[c->op][i];
    return place - 1 == free_size(c) ? 0 : place;
}

/* A concatenation is timed with two halves: vector loads need the half to be aligned. */
static bool joins(const cm__call *c)
{
    return c->op == CM__CALL_ELEMENTWISE && cm__variant_name(c->variant) == CM__NAME_CAT;
}

static void alignments(const cm__call *c, float *out)
{
    bool  halves = joins(c);
    float factor = halves ? cm__feature_facts.joined_factor : 1;
    for (int i = 0; i < CM__ALIGNED; i++) {
        int place = aligned_place(c, i);
        out[i] = factor * alignment(place ? c->sizes[place - 1] / (halves ? 2 : 1) : 0);
    }
}

/* A filter of one place multiplies filters and pixels. With channels first the rows of such a product are the pixels of
   an image, or the channels if it has one pixel. Aligned rows are left to cuBLAS; others make cuDNN turn images to
   channels last and back, or take kernels with narrow loads. In fp32 it was not seen to matter. The alignment of these
   products. Folded filters, of which cuBLAS knows nothing, are not aligned; other convolutions count as aligned. */
#define PRODUCT_AT (CM__CONV_SIZES + CM__ALIGNED - 1)
static bool is_product(const cm__call *c)
{
    const int64_t *sizes = c->sizes;
    return sizes[CM__CONV_R] == 1 && sizes[CM__CONV_S] == 1 && sizes[CM__CONV_STRIDE_H] == 1 &&
           sizes[CM__CONV_STRIDE_W] == 1 && sizes[CM__CONV_GROUPS] <= 1 && c->variant == CM__V_NCHW &&
           c->types != CM__ALL(CM_FP32);
}

static float alignment_of_product(const int64_t *sizes, bool folded)
{
    int64_t pixels = (int64_t)((uint64_t)sizes[CM__CONV_H] * (uint64_t)sizes[CM__CONV_W]); /* any size may be given */
    int64_t row = pixels == 1 ? sizes[CM__CONV_K] : pixels;
    return alignment(folded ? 1 : row | sizes[CM__CONV_C]);
}

/* The place of the alignment of a recurrent layer's input, which does not matter: the algorithm takes it. */
#define ALGORITHM_AT (CM__RNN_SIZES + 1)

/* Features that separate rows of different kernels. Trends do not have them: they were fitted without. */
static void add_kernels(const cm__call *c, bool folded, float *f)
{
    if (folded || (c->op == CM__CALL_CONV && is_product(c)))
        f[PRODUCT_AT] = alignment_of_product(c->sizes, folded);
    if (c->op == CM__CALL_RNN) f[ALGORITHM_AT] = (float)cm__recurrent_kind_of(c);
}

/* ---- groups of convolutions ------------------------------------------------------------------------------------- */

/* Which size is the number of groups; 0: none. */
static const int groups_at[CM__CALLS] = {[CM__CALL_CONV] = CM__CONV_GROUPS, [CM__CALL_CONV3D] = CM__CONV3D_GROUPS};

/* A feature that groups decide, and its place. */
typedef struct placed {
    int   place;
    float value;
} placed;

#define PLACED 7
#define COUNT_AT (CM__CONV_SIZES + CM__ALIGNED + CM__WORK_FEATURES) /* of a convolution: the number of wide groups */

/* Kinds of a convolution of volumes: one group; one filter for each channel; others; several filters for each channel;
   one for each of an odd number. */
static int kind_in_volumes(const cm__call *c)
{
    int64_t groups = c->sizes[CM__CONV3D_GROUPS], channels = c->sizes[CM__CONV3D_C];
    if (groups <= 1 || groups != channels) return groups <= 1 ? 0 : 2;
    return c->sizes[CM__CONV3D_K] != channels ? 3 : cm__groups_odd(c, channels) ? 4 : 1;
}

/* The features that groups decide: the kind of the kernels; of wide groups, the channels and filters of one group and
   their alignments in place of those of all, and the number of groups; without kernels of their own, how much longer
   the ways around take than the roofline. Returns how many. */
static int features_of_groups(const cm__call *c, const cm__limits *limits, placed out[PLACED])
{
    int64_t groups = c->sizes[groups_at[c->op]];
    bool    volume = c->op == CM__CALL_CONV3D;
    int     kind = volume ? kind_in_volumes(c) : (int)cm__groups_kind_of(c);
    out[0] = (placed){groups_at[c->op], cm__feature_facts.kinds_apart * (float)kind};
    if (volume) return 1;
    out[1] = (placed){COUNT_AT, 0};
    if (!cm__groups_wide((cm__groups_kind)kind)) return 2;
    int64_t channels = c->sizes[CM__CONV_C] / groups, filters = c->sizes[CM__CONV_K] / groups;
    out[1].value = log_of_size(groups);
    out[2] = (placed){CM__CONV_C, log_of_size(channels)};
    out[3] = (placed){CM__CONV_K, log_of_size(filters)};
    out[4] = (placed){CM__CONV_SIZES, alignment(channels)};
    out[5] = (placed){CM__CONV_SIZES + 1, alignment(filters)};
    if (kind != CM__GROUPS_SLICES) return PLACED - 1;
    double longer = cm__groups_composed(limits, c) / cm__roofline(limits, c);
    out[6] = (placed){CM__CONV_SIZES + 2, about_log((float)longer)};
    return PLACED;
}

/* ---- tiles ------------------------------------------------------------------------------------------------------ */

/* Utilisation of the cores for each of the tile sizes that libraries choose among. */
CM__FAST static void tiles_of_product(const cm__call *c, double cores, float *out)
{
    const double(*tiles)[2] = cm__feature_facts.product_tiles;
    double batch = cm__size(c, CM__GEMM_BATCH), m = cm__size(c, CM__GEMM_M), n = cm__size(c, CM__GEMM_N);
    for (int i = 0; i < CM__PRODUCT_TILES; i++) {
        double count = batch * ceil(m / tiles[i][0]) * ceil(n / tiles[i][1]);
        double used = cm__filled(m, tiles[i][0]) * cm__filled(n, tiles[i][1]);
        out[i] = count >= 1 ? about_log((float)(used * cm__waves(count, cores))) : 0;
    }
}

/* A product with one row or one column is one of a matrix and a vector. */
CM__FAST static void shape_of_product(const cm__call *c, double cores, float *out)
{
    tiles_of_product(c, cores, out);
    bool vector = c->sizes[CM__GEMM_M] == 1 || c->sizes[CM__GEMM_N] == 1;
    out[CM__PRODUCT_TILES] = vector ? cm__feature_facts.kinds_apart : 0;
}

/* Attention processes blocks of queries for each head. */
static void blocks_of_attention(const cm__call *c, double cores, float *out)
{
    const double *blocks = cm__feature_facts.attention_blocks;
    double        queries = fmax(1, cm__size(c, CM__ATTENTION_Q)),
           heads = fmax(1, cm__size(c, CM__ATTENTION_BATCH) * cm__size(c, CM__ATTENTION_HEADS));
    for (int i = 0; i < CM__ATTENTION_BLOCKS; i++)
        *out++ = about_log((float)cm__waves(heads * ceil(queries / blocks[i]), cores));
    *out++ = about_log((float)cm__filled(queries, blocks[1])); /* the usual block */
    *out++ = alignment(c->sizes[CM__ATTENTION_Q]);
    *out = c->sizes[CM__ATTENTION_HEADS] == c->sizes[CM__ATTENTION_KV_HEADS] ? 0 : cm__feature_facts.kinds_apart;
}

/* The product of the sizes before and after the middle one, for normalisations and reductions. */
_Static_assert((int)CM__BATCH_NORM_N == CM__REDUCE_OUTER && (int)CM__BATCH_NORM_HW == CM__REDUCE_INNER,
               "sizes beside the middle one");
static void outer_and_inner(const cm__call *c, double cores, float *out)
{
    (void)cores;
    out[0] = about_log(fmaxf(1, (float)c->sizes[CM__REDUCE_OUTER] * (float)c->sizes[CM__REDUCE_INNER]));
}

/* cuDNN keeps all numbers of a channel between the mean and the result if they fit into shared memory: of one tensor in
   forward, of two in backward. A batch norm of single numbers has kernels of its own. */
static void sides_of_norm(const cm__call *c, double cores, float *out)
{
    outer_and_inner(c, cores, out);
    double tensors = c->pass == CM__PASS_BACKWARD ? 2 : 1;
    double bytes = tensors * cm__size(c, CM__BATCH_NORM_N) * cm__size(c, CM__BATCH_NORM_HW) * cm__call_element(c, 0);
    bool   image = c->variant == CM__V_NCHW || c->variant == CM__V_NHWC, single = c->sizes[CM__BATCH_NORM_HW] == 1 && image;
    int    kind = single ? 2 : bytes <= cm__feature_facts.kept_bytes;
    out[1] = cm__feature_facts.kinds_apart * (float)kind;
}

/* Reductions along the last axis use other kernels than those along other axes. */
static void sides_of_sum(const cm__call *c, double cores, float *out)
{
    outer_and_inner(c, cores, out);
    out[1] = c->sizes[CM__REDUCE_INNER] == 1 ? cm__feature_facts.kinds_apart : 0;
}

/* Kernels of resizing run a thread for each place of the smaller or of the larger image, for all images. To the same size
   they copy. */
static void growth_of_image(const cm__call *c, double cores, float *out)
{
    float before = (float)c->sizes[CM__RESIZE_H] * (float)c->sizes[CM__RESIZE_W],
          after = (float)c->sizes[CM__RESIZE_OUT_H] * (float)c->sizes[CM__RESIZE_OUT_W];
    (void)cores;
    out[0] = about_log(fmaxf(1, after)) - about_log(fmaxf(1, before));
    out[1] = about_log(fmaxf(1, (float)c->sizes[CM__RESIZE_N] * (float)c->sizes[CM__RESIZE_C]));
    out[2] = about_log(fmaxf(1, after));
    bool same = c->sizes[CM__RESIZE_H] == c->sizes[CM__RESIZE_OUT_H] && c->sizes[CM__RESIZE_W] == c->sizes[CM__RESIZE_OUT_W];
    out[3] = same ? cm__feature_facts.kinds_apart : 0;
}

static int64_t largest_prime(int64_t n)
{
    int64_t largest = 1;
    for (int64_t p = 2; p * p <= n; p++)
        for (; n % p == 0; n /= p) largest = p;
    return n > largest ? n : largest;
}

/* cuFFT's kernels are by prime factor: large ones take more steps. */
static void primes_of_transform(const cm__call *c, double cores, float *out)
{
    (void)cores;
    out[0] = 0;
    for (int i = CM__FFT_N1; i <= CM__FFT_N3; i++)
        out[0] = fmaxf(out[0], about_log((float)largest_prime(c->sizes[i])));
}

/* Additional features of some operators. */
static const struct {
    int count;
    void (*make)(const cm__call *call, double cores, float *out);
} further[CM__CALLS] = {
    [CM__CALL_GEMM] = {CM__PRODUCT_TILES + 1, shape_of_product},
    [CM__CALL_ATTENTION] = {CM__ATTENTION_BLOCKS + 3, blocks_of_attention},
    [CM__CALL_BATCH_NORM] = {2, sides_of_norm},
    [CM__CALL_REDUCE] = {2, sides_of_sum},
    [CM__CALL_RESIZE] = {4, growth_of_image},
    [CM__CALL_FFT] = {1, primes_of_transform},
    [CM__CALL_CONV] = {1, NULL}, /* by features_of_groups() */
};

/* ---- all features ----------------------------------------------------------------------------------------------- */

int cm__n_features_unpadded(int op) { return cm__call_kinds[op].n_sizes + 5 + further[op].count; }

int cm__n_features(int op) { return (cm__n_features_unpadded(op) + 3) / 4 * 4; }

_Static_assert(CM__CALL_SIZES + 5 + 6 <= CM__FEATURES, "features of the largest call");

/* All features but those of the work, which are the slowest to compute. */
static void features_of_sizes(const cm__call *c, const cm__limits *limits, float *f)
{
    int    n = cm__call_kinds[c->op].n_sizes;
    placed groups[PLACED];
    for (int i = 0; i < n; i++) f[i] = log_of_size(c->sizes[i]);
    alignments(c, f + n);
    if (further[c->op].make) further[c->op].make(c, fmax(1, limits->cores), f + n + 5);
    for (int i = groups_at[c->op] ? features_of_groups(c, limits, groups) : 0; i-- > 0;)
        f[groups[i].place] = groups[i].value;
}

/* Also returns the roofline time. */
static double features_of_work(const cm__call *c, const cm__limits *limits, float *f)
{
    double flop, bytes;
    cm__call_work(c, &flop, &bytes);
    double roofline_s = cm__roofline_of(limits, c, flop, bytes);
    f[0] = about_log((float)roofline_s);
    f[1] = about_log((float)(fmax(flop, 1) / fmax(bytes, 1)));
    return roofline_s;
}

int cm__work_features_at(int op) { return cm__call_kinds[op].n_sizes + CM__ALIGNED; }

static double unscaled(const cm__call *c, const cm__limits *limits, float *f)
{
    features_of_sizes(c, limits, f);
    return features_of_work(c, limits, f + cm__work_features_at(c->op));
}

double cm__unscaled_features(const cm__call *given, const cm__limits *limits, float *f)
{
    cm__call room;
    return unscaled(cm__with_folded(given, &room), limits, f);
}

/* Features are padded with zeros, so that whole groups of four can be divided. */
static void divide_by_scales(int op, float *f)
{
    const float *scales = cm__scales_of(op)->scales, usual = cm__feature_facts.default_scale;
    int          count = cm__n_features_unpadded(op), padded = cm__n_features(op);
    for (int i = count; i < padded; i++) f[i] = 0;
    for (int i = 0; i < padded; i += 4) {
        cm__four scale = cm__four_at(scales + i), x = cm__four_at(f + i);
        x /= cm__four_choose(scale > 0, scale, usual + (cm__four){0});
        memcpy(f + i, &x, sizeof x);
    }
}

double cm__features(const cm__call *given, const cm__limits *limits, float *f)
{
    cm__call        room;
    const cm__call *c = cm__with_folded(given, &room);
    double          roofline_s = unscaled(c, limits, f);
    add_kernels(c, c == &room, f);
    divide_by_scales(c->op, f);
    float *of_work = f + cm__work_features_at(c->op);
    for (int i = 0; i < CM__WORK_FEATURES; i++) of_work[i] = nearbyintf(of_work[i] * CM__WORK_STEPS) / CM__WORK_STEPS + 0.0f; /* no -0 */
    return roofline_s;
}

void cm__features_beside_work(const cm__call *given, const cm__limits *limits, const float work[CM__WORK_FEATURES],
                              float *f)
{
    cm__call        room;
    const cm__call *c = cm__with_folded(given, &room);
    float          *of_work = f + cm__work_features_at(c->op);
    features_of_sizes(c, limits, f);
    for (int i = 0; i < CM__WORK_FEATURES; i++) of_work[i] = 0;
    add_kernels(c, c == &room, f);
    divide_by_scales(c->op, f);
    memcpy(of_work, work, CM__WORK_FEATURES * sizeof *work);
}
