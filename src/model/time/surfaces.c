/* SPDX-License-Identifier: Apache-2.0 */
/* surfaces.c - features of products and convolutions, and the networks over them. tools/fit_surfaces.py has the same
   features in the same order. */
#include "model/time/surfaces.h"

#include <math.h>
#include <string.h>
#include "model/time/factors.h"
#include "model/time/four.h"

#define ERROR_OUTSIDE 0.1 /* for each factor e beyond the fitted range, up to ERROR_MOST */
#define ERROR_MOST 0.5
#define SCALING_NOT_TOLD 0.5 /* between 0: a scale for all or for each row, and 1: a scale for each block */

/* ---- features --------------------------------------------------------------------------------------------------- */

typedef struct features {
    double value[CM__SURFACE_WIDTH];
    int    count;
    double flop, elements;
    int    is_transposed; /* index of the feature for products with a transposed left operand; 0: none */
} features;

static void put(features *f, double value) { f->value[f->count++] = value; }

static double aligned(int64_t size, int64_t most)
{
    int64_t part = size & -size;
    return log((double)(part <= 0 || part > most ? most : part));
}

static double filled(double size, double tile) { return log(size / (tile * ceil(size / tile))); }

static bool is(const cm__call *c, int type) { return c->types == CM__ALL(type); }

static void put_all(features *f, const double *values, size_t count)
{
    for (size_t i = 0; i < count; i++) put(f, values[i]);
}
#define PUT(f, ...) put_all(f, (double[]){__VA_ARGS__}, sizeof(double[]){__VA_ARGS__} / sizeof(double))

/* Training scales fp8 operands as a whole or by row, inference of linear layers as the model was made. */
static void of_product(const cm__call *c, const cm__surface *s, bool trains, features *f)
{
    const int64_t *z = c->sizes;
    double         b = (double)z[0], m = (double)z[1], n = (double)z[2], k = (double)z[3];
    cm__variant    form = cm__product_variant(c);
    if (b >= s->times) b = ceil(b / s->times);
    else m = ceil(m / s->times);
    double tiles[3], size = 64;
    for (int i = 0; i < 3; i++, size *= 2) tiles[i] = b * ceil(m / size) * ceil(n / size);
    f->flop = 2 * b * m * n * k, f->elements = b * (m * k + k * n + m * n);
    PUT(f, log(b), log(m), log(n), log(k), log(f->flop), log(f->elements), log(f->flop / f->elements), filled(m, 16),
        filled(m, 64), filled(m, 256), filled(n, 64), filled(n, 256), aligned((int64_t)m, 8), aligned(z[2], 8),
        aligned(z[2], 128), aligned(z[3], 8), aligned(z[3], 256), log(tiles[1] / s->cores));
    for (int i = 0; i < 3; i++) put(f, filled(tiles[i], s->cores));
    PUT(f, b > 1, is(c, CM_FP32), is(c, CM_FP16), is(c, CM_FP8), form == CM__V_NN);
    f->is_transposed = f->count;
    PUT(f, form == CM__V_TN, log(s->cores),
        !trains && is(c, CM_FP8) && form == CM__V_NT ? SCALING_NOT_TOLD : 0);
}

typedef struct conv {
    double images, in, out, groups, pixels, places, taps; /* channels of a group; pixels in and out of all images */
    double window[2], image_out, depth, image_depth;
    bool   plain; /* a 3 x 3 window with stride 1 */
} conv;

/* Sizes: n, c, k, then image, window, stride, padding and dilation along each axis, then groups. */
static conv conv_of(const cm__call *c, double times)
{
    int            axes = c->op == CM__CALL_CONV3D ? 3 : 2;
    const int64_t *z = c->sizes, *image = z + 3, *window = image + axes, *stride = window + axes, *pad = stride + axes,
                  *dilation = pad + axes;
    conv v = {.images = ceil((double)z[0] / times), .groups = fmax(1, (double)z[3 + 5 * axes]), .taps = 1,
              .image_out = 1, .plain = stride[axes - 1] == 1 && stride[axes - 2] == 1 && dilation[axes - 1] == 1};
    v.in = (double)z[1] / v.groups, v.out = (double)z[2] / v.groups, v.pixels = v.images;
    for (int i = 0; i < axes; i++) {
        double reach = (double)(image[i] + 2 * pad[i] - dilation[i] * (window[i] - 1) - 1);
        v.pixels *= (double)image[i];
        v.taps *= (double)window[i];
        v.image_out *= fmax(1, floor(reach / fmax(1, (double)stride[i])) + 1);
        if (i >= axes - 2) v.window[i - axes + 2] = (double)window[i], v.plain &= window[i] == 3;
    }
    v.places = v.images * v.image_out;
    if (axes == 3) v.depth = log((double)window[0]), v.image_depth = log((double)image[0]);
    return v;
}

static void of_conv(const cm__call *c, const cm__surface *s, bool trains, features *f)
{
    (void)trains;
    conv           v = conv_of(c, s->times);
    const int64_t *z = c->sizes, *after = z + (c->op == CM__CALL_CONV3D ? 12 : 9); /* paddings, then dilations */
    int            axes = c->op == CM__CALL_CONV3D ? 3 : 2;
    double         in = v.in * v.taps, forward[] = {v.places, v.out, in}, by_weight[] = {in, v.out, v.places};
    double         by_input[] = {v.pixels, v.in, v.out * v.taps};
    bool           weight = c->pass == CM__PASS_BWD_WEIGHT, input = c->pass == CM__PASS_BWD_INPUT;
    const double  *p = weight ? by_weight : input ? by_input : forward;
    double         tiles = v.groups * ceil(p[0] / 128) * ceil(p[1] / 128);
    f->flop = 2 * v.groups * in * v.out * v.places;
    f->elements = v.groups * (v.pixels * v.in + v.places * v.out + v.out * in);
    PUT(f, log(v.images), log(v.places), log(v.image_out), log(v.in), log(v.out), log(v.taps),
        log(v.window[0] / v.window[1]), log(v.pixels / v.places), log(v.groups), v.groups > 1,
        v.groups > 1 && v.in <= 1, v.taps <= 1, v.groups <= 1 && v.plain, log((double)after[2 * axes - 1]),
        log(1 + (double)after[axes - 1]), log(f->flop), log(f->elements), log(f->flop / f->elements), log(p[0]),
        log(p[1]), log(p[2]), filled(p[1], 64), filled(p[1], 128), filled(p[1], 256), log(tiles / s->cores),
        filled(tiles, s->cores), aligned(z[1], 8), aligned(z[2], 8), aligned((int64_t)(v.pixels / v.images), 8),
        v.depth, v.image_depth, input, weight, is(c, CM_FP32), is(c, CM_BF16), c->variant == CM__V_NHWC);
}

/* ---- the network ------------------------------------------------------------------------------------------------ */

/* Cuts features to the fitted range. Returns how far the farthest was outside. */
static double cut(const cm__surface *s, features *f)
{
    double outside = 0;
    for (int i = 0; i < f->count; i++) {
        double x = f->value[i], inside = x > s->low[i] ? (x < s->high[i] ? x : s->high[i]) : s->low[i];
        double away = fabs(x - inside);
        if (away > outside) outside = away;
        f->value[i] = inside;
    }
    return outside;
}

typedef double four_units __attribute__((vector_size(32), aligned(8), may_alias));
#define TOGETHER 8 /* units whose sums stay in registers */

/* sums[u] := the bias of unit u and its weighted inputs, in the order of the inputs. */
static inline void weigh(const double *w, const double *from, int n, int units, double *sums)
{
    const double *biases = w + n * units;
    int           u = 0;
    for (; u + TOGETHER <= units; u += TOGETHER) {
        four_units a = *(const four_units *)(biases + u), b = *(const four_units *)(biases + u + 4);
        for (int i = 0; i < n; i++) {
            const double *of = w + i * units + u;
            a += from[i] * *(const four_units *)of;
            b += from[i] * *(const four_units *)(of + 4);
        }
        *(four_units *)(sums + u) = a;
        *(four_units *)(sums + u + 4) = b;
    }
    for (; u < units; u++) {
        sums[u] = biases[u];
        for (int i = 0; i < n; i++) sums[u] += w[i * units + u] * from[i];
    }
}

CM__FAST static double network(const cm__surface *s, const double *in)
{
    double        layers[2][CM__SURFACE_WIDTH];
    const double *w = s->weights, *from = in;
    for (int l = 0; l < CM__SURFACE_LAYERS; l++) {
        int     n = s->widths[l], units = s->widths[l + 1];
        double *to = layers[l % 2];
        weigh(w, from, n, units, to);
        for (int u = 0; l < CM__SURFACE_LAYERS - 1 && u < units; u++) to[u] = tanh(to[u]);
        w += (n + 1) * units;
        from = to;
    }
    return from[0];
}

static const struct {
    int op;
    void (*make)(const cm__call *call, const cm__surface *surface, bool trains, features *f);
} kinds[] = {{CM__CALL_GEMM, of_product}, {CM__CALL_CONV, of_conv}, {CM__CALL_CONV3D, of_conv}};

static bool has_type(const cm__call *c)
{
    static const int types[] = {CM_FP32, CM_BF16, CM_FP16, CM_FP8};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (is(c, types[i])) return c->op == CM__CALL_GEMM || i < 3;
    return false;
}

/* From arithmetic and traffic, without cache and tiles: the surface has these. */
static double plain_roofline(const cm__limits *l, const cm__call *c, double *compute)
{
    double flop, bytes, peak = l->peak[CM_ENGINE_MATRIX][cm__rate_available(l, CM_ENGINE_MATRIX, cm__call_rate(c))];
    cm__call_work(c, &flop, &bytes);
    if (peak <= 0 || l->memory_bytes_s <= 0) return NAN;
    double square = flop / peak * (flop / peak), traffic = bytes / l->memory_bytes_s;
    *compute = flop / peak;
    return l->floor_s + sqrt(sqrt(square * square + traffic * traffic * traffic * traffic));
}

/* On times of other sources. Surfaces of convolutions are of the fastest solvers, which PyTorch does not search for by
   itself. What it takes instead is slower still for groups and volumes, of which MIOpen's heuristics know little. */
static double source_error(const cm__call *c)
{
    bool grouped = c->op == CM__CALL_CONV && c->sizes[CM__CONV_GROUPS] > 1;
    if (c->op == CM__CALL_GEMM) return cm__time_factors.fit_source_error;
    return cm__time_factors.unsearched_conv_error * (grouped || c->op == CM__CALL_CONV3D ? 2 : 1);
}

static double time_on(const cm__surface *s, const cm__limits *limits, const cm__call *c, int kind, bool trains,
                      double *error)
{
    features f = {.count = 0};
    double   compute = 0, least = plain_roofline(limits, c, &compute);
    for (int i = 0; i < cm__call_kinds[c->op].n_sizes; i++)
        if (c->sizes[i] < (i < 3 ? 1 : 0)) return NAN;
    kinds[kind].make(c, s, trains, &f);
    if (f.count < s->widths[0]) return NAN;
    f.count = s->widths[0]; /* older surfaces lack the last features */
    double outside = cut(s, &f), time_s = least * exp(network(s, f.value));
    bool   unfitted = f.is_transposed && s->high[f.is_transposed] <= 0 && c->variant == CM__V_TN;
    *error = hypot(source_error(c), s->mape) + fmin(ERROR_MOST, ERROR_OUTSIDE * outside);
    return fmax(unfitted ? time_s * cm__time_factors.transposed_product : time_s, compute);
}

/* Libraries of these devices compute TF32 as fp32 by default. */
double cm__surface_time(const cm_device *device, const cm__limits *limits, const cm__call *given, bool trains,
                        double *error)
{
    size_t k = 0;
    while (k < sizeof kinds / sizeof *kinds && kinds[k].op != given->op) k++;
    if (!device->surfaces.count || k == sizeof kinds / sizeof *kinds) return NAN;
    cm__call c = *given;
    if (is(&c, CM__TF32)) c.types = CM__ALL(CM_FP32);
    for (int32_t i = 0; i < device->surfaces.count && has_type(&c); i++)
        if (strcmp(device->surfaces.all[i].op, cm__call_kinds[c.op].name) == 0)
            return time_on(&device->surfaces.all[i], limits, &c, (int)k, trains, error);
    return NAN;
}
