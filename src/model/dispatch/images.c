/* SPDX-License-Identifier: Apache-2.0 */
/* images.c - kernel calls of pooling, resizing, padding and sampling, and of windows as columns. */
#include <math.h>
#include "graph/rewrite/fuse.h"
#include "model/dispatch/rules.h"

/* Kernels of volumes are the same in both orders. There are none of cubic interpolation with channels last, nor of
   reflections and replications. */
static cm__variant image_call(const cm__dispatch *d, int32_t image, cm__variant kind)
{
    bool rows = kind == CM__V_BICUBIC || kind == CM__V_REFLECT || kind == CM__V_REPLICATE;
    bool last = cm__t(d->g, image)->rank == 4 && cm__strides_channels_last(d->strides, image) && !rows;
    return cm__variant_in(kind, last ? CM__FORM_NHWC : CM__FORM_NCHW);
}

static cm_poly last_but(const cm_tensor *t, int32_t back)
{
    return t->rank > 2 + back ? cm__poly_dim(t->dims[t->rank - 1 - back]) : cm__poly_const(1);
}

/* Kernels have one size of windows. An image of one column is a signal, which is as good as a row. */
static void pool_call(cm__dispatch *d, int32_t node, cm__sized_call c, const cm_tensor *x, const cm__window *w)
{
    cm_poly width = last_but(x, 0);
    bool    column = x->rank == 4 && width.c[0] == 1 && cm__poly_at(&width, 1) == 1;
    int32_t axis = w->dims - 1 - column;
    c.sizes[CM__POOL_N] = cm__poly_dim(x->dims[0]);
    c.sizes[CM__POOL_C] = x->rank > 4 ? cm__poly_product(x->dims + 1, x->rank - 3) : cm__poly_dim(x->dims[1]);
    c.sizes[CM__POOL_H] = last_but(x, !column);
    c.sizes[CM__POOL_W] = last_but(x, column);
    /* a window that reaches beyond the padded image ends with it */
    double pad = (double)w->pad_begin[axis], reach = c.sizes[CM__POOL_W].c[0] + 2 * pad;
    c.sizes[CM__POOL_WINDOW] = cm__poly_const(fmin((double)w->kernel[axis], reach));
    c.sizes[CM__POOL_STRIDE] = cm__poly_const(fmin((double)w->stride[axis], reach));
    c.sizes[CM__POOL_PAD] = cm__poly_const(pad);
    cm__dispatch_add(d, node, &c);
}

#define BLOCK_COLUMNS 32 /* threads of a block of a pool of volumes */
#define BLOCK_ROWS 8

/* Pools of volumes (ATen/native/cuda/DilatedMaxPool3d.cu and AveragePool3d.cu): a thread for each result, in blocks of 32 x 8
   in each plane, reads or writes its window. Backward adds to zeros; maxima add to one number each, and threads beside the
   plane do nothing. */
static void volume_pool(cm__dispatch *d, int32_t node, const cm_node *forward, const cm__window *w)
{
    const cm_tensor *y = cm__t(d->g, forward->outputs[0]);
    bool             back = cm__node(d, node) != forward;
    bool             average = cm__forward_kernel(forward->op, CM__V_AVG) == CM__V_AVG;
    double           window = 1, rows = ceil((double)y->dims[3].fixed / BLOCK_ROWS) * BLOCK_ROWS;
    double           columns = ceil((double)y->dims[4].fixed / BLOCK_COLUMNS) * BLOCK_COLUMNS;
    for (int32_t i = 0; i < w->dims; i++) window *= (double)w->kernel[i];
    cm_poly     threads = cm__poly_scale(cm__poly_product(y->dims, 3), rows * columns);
    bool           one = back && !average;
    cm__sized_call c = cm__call_begin(d, CM__CALL_POOL3D, back ? CM__PASS_BACKWARD : CM__PASS_FORWARD,
                                      average ? CM__V_AVG : CM__V_MAX, y->dtype, false);
    if (back) cm__call_over(d, node, CM__V_FILL, forward->inputs[0], -1, forward->inputs[0]);
    CM__CALL_SIZED(d, node, c, one ? cm_tensor_elements(y) : threads, cm__poly_const(one ? 1 : window));
}

void cm__dispatch_pool(cm__dispatch *d, int32_t node)
{
    const cm_node   *n = cm__node(d, node), *forward = cm__forward_of(d, n);
    const cm_tensor *x = cm__in(d->g, forward, 0);
    cm__window       w;
    cm__window_read((cm_graph *)(uintptr_t)d->g, forward, x->rank - 2, NULL, &w);
    if (x->rank == 5) {
        volume_pool(d, node, forward, &w);
        return;
    }
    cm__variant variant = image_call(d, forward->inputs[0], cm__forward_kernel(forward->op, CM__V_AVG));
    pool_call(d, node, cm__call_begin(d, CM__CALL_POOL, cm__pass_of(n, forward), variant, x->dtype, false), x, &w);
}

/* Windows as columns; the sum of columns into an image is the gradient of that. */
void cm__dispatch_columns(cm__dispatch *d, int32_t node)
{
    const cm_node   *n = cm__node(d, node), *forward = cm__forward_of(d, n);
    bool             sums = forward->op == CM_OP_COLUMNS_TO_IMAGE;
    const cm_tensor *image = sums ? cm__t(d->g, forward->outputs[0]) : cm__in(d->g, forward, 0);
    cm__window       w;
    if (image->rank != 4) {
        cm__dispatch_copy(d, node);
        return;
    }
    cm__window_read((cm_graph *)(uintptr_t)d->g, forward, 2, NULL, &w);
    cm__call_in_rows(d, node, n->inputs[0]);
    cm__pass pass = (n == forward) == sums ? CM__PASS_BACKWARD : CM__PASS_FORWARD;
    pool_call(d, node, cm__call_begin(d, CM__CALL_POOL, pass, CM__V(IM2COL, NCHW), image->dtype, false), image, &w);
}

/* A padded image is filled, and then the image is copied into it (constant_pad_nd in ATen/native/PadNd.cpp): rows are
   as long as nothing inside them is padded. Without padding, a part of the image is copied. */
/* The numbers that a padding removes from an axis, and whether it adds some: x[:-1] behind a zero is a padding of 1
   and -1. */
static int64_t taken_off(const cm_node *n, int32_t rank, int32_t axis, bool *adds)
{
    const cm__attr *pads = cm__attr_find(n, CM_ATTR_PADS);
    int64_t         off = 0;
    for (int32_t i = axis; pads && pads->count == 2 * rank && i < 2 * rank; i += rank) {
        if (pads->ints[i] < 0) off -= pads->ints[i];
        *adds |= pads->ints[i] > 0;
    }
    return off;
}

void cm__dispatch_pad(cm__dispatch *d, int32_t node)
{
    const cm_node   *n = cm__node(d, node);
    const cm_tensor *x = cm__in(d->g, n, 0), *y = cm__t(d->g, n->outputs[0]);
    bool             last = x->rank > 2 && cm__strides_channels_last(d->strides, n->outputs[0]);
    bool             grows = false, split = false;
    cm_poly          inner = cm__poly_const(1), outer = cm__poly_const(1);
    for (int32_t i = x->rank - 1; i >= 0; i--) { /* from the innermost dimension */
        int32_t axis = last && i > 0 ? (i == x->rank - 1 ? 1 : i + 1) : i;
        cm_poly have = cm__poly_dim(x->dims[axis]), get = cm__poly_dim(y->dims[axis]);
        int64_t off = taken_off(n, x->rank, axis, &grows);
        cm_poly read = cm__poly_add(have, cm__poly_const(-(double)off));
        cm_poly least = cm__poly_at(&read, 1) < cm__poly_at(&get, 1) ? read : get;
        *(split ? &outer : &inner) = cm__poly_mul(split ? outer : inner, least);
        grows |= cm__poly_at(&get, 1) > cm__poly_at(&have, 1);
        split |= off || cm__poly_at(&get, 1) != cm__poly_at(&have, 1);
    }
    if (grows) cm__call_over(d, node, CM__V_FILL, n->outputs[0], -1, n->outputs[0]);
    cm__call_map(d, node, split ? CM__V(COPY, PART) : CM__V_COPY, n->outputs[0], -1, n->outputs[0], outer, inner);
}

/* Kernels of PyTorch by mode, for one, two and three dimensions. Those that do not exist have the next simpler one. */
static const cm__variant kinds[CM__MODES][3] = {
    [CM__MODE_NEAREST] = {CM__V_NEAREST1D, CM__V_NEAREST, CM__V_NEAREST},
    [CM__MODE_LINEAR] = {CM__V_LINEAR1D, CM__V_BILINEAR, CM__V_TRILINEAR},
    [CM__MODE_CUBIC] = {CM__V_LINEAR1D, CM__V_BICUBIC, CM__V_TRILINEAR},
    [CM__MODE_LINEAR_SMOOTH] = {CM__V_LINEAR1D, CM__V_BILINEAR_AA, CM__V_TRILINEAR},
    [CM__MODE_CUBIC_SMOOTH] = {CM__V_LINEAR1D, CM__V_BICUBIC_AA, CM__V_TRILINEAR},
    [CM__MODE_REFLECT] = {CM__V_REFLECT, CM__V_REFLECT, CM__V_REFLECT},
    [CM__MODE_REPLICATE] = {CM__V_REPLICATE, CM__V_REPLICATE, CM__V_REPLICATE},
    [CM__MODE_AVERAGE] = {CM__V_ADAPTIVE_AVG, CM__V_ADAPTIVE_AVG, CM__V_ADAPTIVE_AVG},
    [CM__MODE_MAX] = {CM__V_ADAPTIVE_MAX, CM__V_ADAPTIVE_MAX, CM__V_ADAPTIVE_MAX},
    [CM__MODE_SAMPLE] = {CM__V_SAMPLE, CM__V_SAMPLE, CM__V_SAMPLE},
};

static cm__variant kind_of(const cm_node *forward, int32_t dims)
{
    int64_t mode = cm__attr_int(forward, CM_ATTR_MODE, CM__MODE_NEAREST);
    if (forward->op == CM_OP_GRID_SAMPLE) mode = CM__MODE_SAMPLE; /* importers need not set it */
    if (mode < 0 || mode >= CM__MODES) mode = CM__MODE_NEAREST;
    return kinds[mode][dims - 1];
}

static void volumes(cm__dispatch *d, int32_t node, cm__sized_call c, const cm_tensor *x, const cm_tensor *y)
{
    CM__CALL_SIZED(d, node, c, cm__poly_dim(x->dims[0]), cm__poly_dim(x->dims[1]), cm__poly_dim(x->dims[2]),
                   cm__poly_dim(x->dims[3]), cm__poly_dim(x->dims[4]), cm__poly_dim(y->dims[2]), cm__poly_dim(y->dims[3]),
                   cm__poly_dim(y->dims[4]));
}

/* Samples by cuDNN: a thread reads a place and four pixels of each channel. Backward adds to four pixels of zeros and
   reads as many for the gradient of the place. What it moves, as a copy: numbers are read and written. */
static void samples(cm__dispatch *d, int32_t node, const cm_node *forward, bool back)
{
    const cm_tensor *y = cm__t(d->g, forward->outputs[0]);
    cm_poly          results = cm_tensor_elements(y),
            places = cm__poly_mul(cm__poly_dim(y->dims[0]), cm__poly_product(y->dims + 2, 2));
    cm_poly          moved = cm__poly_add(cm__poly_scale(results, back ? 13 : 5), cm__poly_scale(places, back ? 4 : 2));
    int32_t          x = forward->inputs[0];
    if (back) cm__call_over(d, node, CM__V_FILL, x, -1, x);
    cm__call_map(d, node, CM__V_COPY, x, -1, x, cm__poly_const(1), cm__poly_scale(moved, 0.5));
}

/* Sampled volumes, as planes: a thread reads eight numbers of each channel, or adds to as many, where one of an image has
   four (grid_sampler_3d_kernel in ATen/native/cuda/GridSampler.cu). So there are twice as many places. */
static void volume_samples(cm__dispatch *d, int32_t node, cm__sized_call c, const cm_tensor *x, const cm_tensor *y)
{
    CM__CALL_SIZED(d, node, c, cm__poly_dim(x->dims[0]), cm__poly_dim(x->dims[1]), cm__poly_product(x->dims + 2, 2),
                   cm__poly_dim(x->dims[4]), cm__poly_scale(cm__poly_product(y->dims + 2, 2), 2), cm__poly_dim(y->dims[4]));
}

/* A sampled image that needs no gradient, as a frame of a video: backward adds to no pixels, and reads and writes about
   as much as forward (grid_sampler_2d_backward_kernel in ATen/native/cuda/GridSampler.cu). */
static cm__pass resize_pass(const cm__dispatch *d, const cm_node *n, const cm_node *forward)
{
    bool places = n != forward && forward->op == CM_OP_GRID_SAMPLE &&
                  !cm__same_shape(cm__t(d->g, n->outputs[0]), cm__in(d->g, forward, 0));
    return places ? CM__PASS_FORWARD : cm__pass_of(n, forward);
}

/* Pads that repeat pixels have kernels for rows only: with channels last, a reflection copies what it reads first, and a
   replication takes as long as a copy from one order to the other. Returns true if nothing else follows. */
static bool border_read(cm__dispatch *d, int32_t node, const cm_node *forward)
{
    const cm_node *n = cm__node(d, node);
    if (!cm__repeats_pixels(forward) || !cm__strides_channels_last(d->strides, n->inputs[0])) return false;
    bool reflects = cm__attr_int(forward, CM_ATTR_MODE, 0) == CM__MODE_REFLECT;
    if (!reflects && n != forward) cm__call_over(d, node, CM__V_FILL, n->outputs[0], -1, n->outputs[0]);
    cm__call_as_image(d, node, n->inputs[0], false);
    return !reflects;
}

/* From the size of x to that of y. */
void cm__dispatch_resize(cm__dispatch *d, int32_t node)
{
    const cm_node   *n = cm__node(d, node), *forward = cm__forward_of(d, n);
    const cm_tensor *x = cm__in(d->g, forward, 0), *y = cm__t(d->g, forward->outputs[0]);
    if (x->rank < 3 || x->rank > 5) {
        cm__dispatch_copy(d, node);
        return;
    }
    if (cm__attr_int(forward, CM_ATTR_MODE, 0) == CM__MODE_SAMPLE_CORNERS) {
        samples(d, node, forward, n != forward);
        return;
    }
    if (border_read(d, node, forward)) return;
    cm__variant    variant = image_call(d, forward->inputs[0], kind_of(forward, x->rank - 2));
    bool           sampled = forward->op == CM_OP_GRID_SAMPLE, volume = x->rank == 5;
    cm__sized_call c = cm__call_begin(d, volume && !sampled ? CM__CALL_RESIZE3D : CM__CALL_RESIZE, resize_pass(d, n, forward),
                                      variant, x->dtype, false);
    if (volume) {
        (sampled ? volume_samples : volumes)(d, node, c, x, y);
        return;
    }
    CM__CALL_SIZED(d, node, c, cm__poly_dim(x->dims[0]), cm__poly_dim(x->dims[1]), last_but(x, 1), last_but(x, 0),
                   last_but(y, 1), last_but(y, 0));
}

/* The gradient of overlapping windows: zeros, to which every window is added. */
void cm__dispatch_unfold_grad(cm__dispatch *d, int32_t node)
{
    const cm_node *n = cm__node(d, node);
    cm__call_over(d, node, CM__V_FILL, n->outputs[0], -1, n->outputs[0]);
    cm__call_map(d, node, CM__V_UNFOLD_GRAD, n->inputs[0], -1, n->inputs[0], cm__poly_const(1),
                 cm_tensor_elements(cm__in(d->g, n, 0)));
}
