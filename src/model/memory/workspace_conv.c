/* SPDX-License-Identifier: Apache-2.0 */
/*
 * workspace_conv.c - memory that cuDNN's convolutions allocate while they run, with cudnn.benchmark on.
 *
 * cuDNN takes the fastest algorithm, however much it allocates. The sizes decide which one that is
 * (data/workspaces.tsv). The workspaces were measured on an H200 (cuDNN 9.19, 522 calls at 32 images,
 * tools/confirm_batch.py --workspaces); most are predicted within 1 %:
 *
 *     layout     tensor cores need channels last: other data needs copies of input, output and filter; with fewer than
 *                8 channels they are padded to 8
 *     product    1 x 1 filters multiply images of many pixels without a copy; the gradient of the filter is first one
 *                product per image, in fp32
 *     Winograd   backward of 3 x 3 filters in fp32: tiles of 6 x 6 for every 4 x 4 outputs, of input, output and filter
 *     FFT        forward in fp32, images that fill a power of two: two sets of spectra of input and filter
 *     FFT tiles  backward to the input in fp32: spectra of the filter and of one or two tiles of 32 x 32 of the images
 */
#include <math.h>
#include "graph/rule.h"
#include "model/memory/workspace.h"

#define COMPLEX 8 /* bytes */

static const cm__cudnn_rules *const rules = &cm__cudnn_versions[0];

typedef struct conv {
    cm_poly n;
    double  c, k, h, w, out_h, out_w, r, s, groups, element; /* element: bytes */
    bool    unit_stride, transposed, volume;
    double  depth, filter_depth; /* 1 for images */
    cm_poly x, y, filter; /* bytes */
} conv;

static double size_of(const cm_tensor *t, int32_t axis) { return axis < t->rank ? (double)t->dims[axis].fixed : 1; }

static bool ones(const cm_node *n, cm__attr_key key)
{
    const cm__attr *a = cm__attr_find(n, key);
    for (int32_t i = 0; a && i < a->count; i++)
        if (a->ints[i] != 1) return false;
    return true;
}

/* A transposed convolution is the gradient of a convolution whose input is its output. */
static conv conv_of(const cm_graph *g, const cm_node *n)
{
    bool             transposed = n->op == CM_OP_CONV_TRANSPOSE;
    const cm_tensor *x = transposed ? cm__t(g, n->outputs[0]) : cm__in(g, n, 0), *filter = cm__in(g, n, 1);
    const cm_tensor *y = transposed ? cm__in(g, n, 0) : cm__t(g, n->outputs[0]);
    cm_dim           groups = cm__conv_groups(n); /* of a batch with more than one sample */
    return (conv){.n = cm__poly_dim(x->dims[0]), .c = size_of(x, 1), .k = size_of(y, 1), .h = size_of(x, 2),
                  .w = size_of(x, 3), .out_h = size_of(y, 2), .out_w = size_of(y, 3), .r = size_of(filter, 2),
                  .s = size_of(filter, 3), .groups = (double)(groups.fixed + 2 * groups.per_batch),
                  .element = (double)cm_dtype_size(filter->dtype), .transposed = transposed,
                  .volume = x->rank > 4, .depth = size_of(x, 4), .filter_depth = size_of(filter, 4),
                  .unit_stride = ones(n, CM_ATTR_STRIDES) && ones(n, CM_ATTR_DILATIONS), .x = cm_tensor_bytes(x),
                  .y = cm_tensor_bytes(y), .filter = cm_tensor_bytes(filter)};
}

/* ---- algorithms -------------------------------------------------------------------------------------------------- */

static const cm__temporary nothing = {.least_batch = 0};

static cm__temporary of_images(const conv *c, double per_image, double fixed)
{
    return (cm__temporary){.bytes = cm__poly_add(cm__poly_scale(c->n, per_image), cm__poly_const(fixed))};
}

static double spectrum(double side) { return side * (side / 2 + 1) * COMPLEX; }

/* The number of images from which an FFT pays off: the cost of the filters' spectra is spread over the outputs. */
static double images_that_pay(const conv *c, double side)
{
    return rules->fft_outputs * spectrum(side) / spectrum(32) / (c->h * c->w) / (c->n.c[1] > 0 ? c->n.c[1] : 1);
}

static cm__temporary winograd(const conv *c)
{
    double tiles = ceil(c->out_h / 4) * ceil(c->out_w / 4), tile = 36 * c->element;
    return of_images(c, tile * tiles * (c->c + c->k), tile * c->c * c->k);
}

static cm__temporary fft_tiles(const conv *c)
{
    double        tiles = c->h <= 30 && c->w <= 30 ? 1 : 2, tile = spectrum(32);
    cm__temporary t = of_images(c, tile * tiles * (c->c + c->k), tile * c->c * c->k);
    t.least_batch = images_that_pay(c, 32);
    return t;
}

static double power_of_two(double least)
{
    double side = 1;
    while (side < least) side *= 2;
    return side;
}

static cm__temporary fft(const conv *c)
{
    double        side = power_of_two(c->h + 2), planes = 2 * spectrum(side);
    cm__temporary t = of_images(c, planes * c->c, planes * c->c * c->k);
    t.bytes = cm__poly_add(t.bytes, c->filter);
    t.least_batch = images_that_pay(c, side);
    return t;
}

/* Channels as tensor cores need them in 16 bits, over those that there are. */
static double padding(double channels, const conv *c)
{
    double multiple = rules->padded_channels;
    return c->element < 4 && channels > 0 ? ceil(channels / multiple) * multiple / channels : 1;
}

static cm__temporary copies(const conv *c)
{
    double  image = padding(c->c, c), output = padding(c->k, c);
    cm_poly images = cm__poly_add(cm__poly_scale(c->x, image), cm__poly_scale(c->y, output));
    return (cm__temporary){.bytes = cm__poly_add(images, cm__poly_scale(c->filter, image * output))};
}

static cm__temporary padded(const conv *c)
{
    return of_images(c, rules->padded_channels * c->h * c->w * c->depth * c->element, 0);
}

static cm__temporary sums_of_images(const conv *c) { return of_images(c, c->c * c->k * sizeof(float), 0); }

/* ---- choice of the algorithm ------------------------------------------------------------------------------------- */

static bool fills_power_of_two(const conv *c)
{
    double side = power_of_two(c->h + 2);
    return side <= rules->fft_side_most && c->h >= rules->fft_filled * side && c->w == c->h;
}

/* Volumes in fp32: of wide layers, the gradient of the filter alone runs channels-last. */
static cm__temporary full_volume(const conv *c, cm__conv_pass pass)
{
    bool wide = fmin(c->c, c->k) >= rules->volume_channels && c->groups == 1;
    return pass == CM__CONV_WEIGHT && wide ? copies(c) : nothing;
}

static cm__temporary full_precision(const conv *c, cm__conv_pass pass)
{
    double fewer = fmin(c->c, c->k), more = fmax(c->c, c->k), product = c->c * c->k;
    bool   small = product < rules->winograd_product || fewer < rules->winograd_channels;
    bool   wide = c->c >= rules->fft_channels && product >= rules->fft_product;
    bool   narrow = fewer < rules->fft_tiles_channels || more <= rules->fft_tiles_channels;
    if (c->volume) return full_volume(c, pass);
    if (c->r != 3 || c->s != 3 || !c->unit_stride || c->groups > 1) return nothing;
    if (pass == CM__CONV_WEIGHT) return small ? nothing : winograd(c);
    if (pass == CM__CONV_FORWARD) return wide && fills_power_of_two(c) ? fft(c) : nothing;
    return c->h >= rules->fft_tiles_side && !narrow ? fft_tiles(c) : nothing;
}

/* Copies cost as much as the channels are few: c k / (c + k) operations for each number that is copied. */
static bool is_product(const conv *c)
{
    bool point = c->r * c->s * c->filter_depth == 1 && c->unit_stride && c->groups == 1;
    bool few = c->c * c->k < rules->product_channels * (c->c + c->k);
    return point && few && c->h * c->w * c->depth >= rules->product_pixels;
}

cm__temporary cm__workspace_conv(const cm_graph *g, const cm_node *forward, cm__conv_pass pass, bool channels_last)
{
    conv c = conv_of(g, forward);
    if (c.transposed && pass != CM__CONV_WEIGHT) pass = pass == CM__CONV_FORWARD ? CM__CONV_INPUT : CM__CONV_FORWARD;
    bool sixteen = c.element < 4, few = c.c < rules->padded_channels;
    if (!sixteen && g->precision != CM_PRECISION_TF32) return full_precision(&c, pass);
    if (c.groups > 1 && c.groups == c.c) return nothing; /* depthwise: direct */
    if (channels_last) return few ? padded(&c) : nothing;
    /* one-dimensional images of many channels to few: all three that were recorded copied, one of six others */
    bool to_few = sixteen && c.k < rules->padded_channels && fmin(c.h, c.w) == 1 && pass == CM__CONV_FORWARD;
    if (is_product(&c) && !to_few) return pass == CM__CONV_WEIGHT ? sums_of_images(&c) : nothing;
    return few && !c.volume ? nothing : copies(&c);
}
