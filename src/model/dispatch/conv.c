/* SPDX-License-Identifier: Apache-2.0 */
/* conv.c - kernel calls of one- to three-dimensional convolutions, as PyTorch makes them. */
#include "model/dispatch/rules.h"

typedef struct shape {
    /* a transposed convolution is described by the convolution whose gradient it is; x is then its output */
    const cm_tensor *x, *w, *y;
    cm__window       window;
    int64_t          padded[CM__SPATIAL_MAX]; /* 1 along axes whose two paddings have an odd sum, else 0 */
    cm_dim           groups;
    bool             transposed;
} shape;

/* Kernel calls have one padding for both ends: half of the sum. Where the sum is odd, x gets one more row of
   padding. */
static void even_padding(shape *s, int32_t axis)
{
    cm__window *w = &s->window;
    int64_t     both = w->pad_begin[axis] + w->pad_end[axis], in = s->x->dims[2 + axis].fixed;
    int64_t     reach = w->dilation[axis] * (w->kernel[axis] - 1) + 1;
    if (w->auto_pad >= 2) both = (s->y->dims[2 + axis].fixed - 1) * w->stride[axis] + reach - in; /* SAME */
    if (both < 0) both = 0;
    w->pad_begin[axis] = both / 2;
    s->padded[axis] = both % 2;
}

static shape shape_of(const cm__dispatch *d, const cm_node *n)
{
    shape   s = {.x = cm__in(d->g, n, 0),
                 .w = cm__in(d->g, n, 1),
                 .y = cm__t(d->g, n->outputs[0]),
                 .groups = cm__conv_groups(n),
                 .transposed = n->op == CM_OP_CONV_TRANSPOSE};
    int64_t kernel[CM__SPATIAL_MAX];
    for (int32_t i = 0; i < s.x->rank - 2; i++) kernel[i] = s.w->dims[2 + i].fixed;
    cm__window_read((cm_graph *)(uintptr_t)d->g, n, s.x->rank - 2, kernel, &s.window);
    if (s.transposed) {
        const cm_tensor *x = s.x;
        s.x = s.y;
        s.y = x;
    }
    for (int32_t i = 0; i < s.window.dims; i++) even_padding(&s, i);
    return s;
}

/* Spatial axis `axis` of two. PyTorch runs a one-dimensional convolution as a two-dimensional one of height 1. */
static int32_t plane_axis(const shape *s, int axis) { return s->window.dims == 1 ? axis - 1 : axis; }

static cm_poly image_size(const shape *s, int32_t axis)
{
    return cm__poly_add(cm__poly_dim(s->x->dims[2 + axis]), cm__poly_const((double)s->padded[axis]));
}

static void plane_sizes(const shape *s, cm__sized_call *c)
{
    c->sizes[CM__CONV_N] = cm__poly_dim(s->x->dims[0]);
    c->sizes[CM__CONV_C] = cm__poly_dim(s->x->dims[1]);
    c->sizes[CM__CONV_K] = cm__poly_dim(s->y->dims[1]);
    for (int axis = 0; axis < 2; axis++) {
        int32_t a = plane_axis(s, axis);
        c->sizes[CM__CONV_H + axis] = a < 0 ? cm__poly_const(1) : image_size(s, a);
        c->sizes[CM__CONV_R + axis] = cm__poly_const(a < 0 ? 1 : (double)s->window.kernel[a]);
        c->sizes[CM__CONV_STRIDE_H + axis] = cm__poly_const(a < 0 ? 1 : (double)s->window.stride[a]);
        c->sizes[CM__CONV_PAD_H + axis] = cm__poly_const(a < 0 ? 0 : (double)s->window.pad_begin[a]);
        c->sizes[CM__CONV_DIL_H + axis] = cm__poly_const(a < 0 ? 1 : (double)s->window.dilation[a]);
    }
    c->sizes[CM__CONV_GROUPS] = cm__poly_dim(s->groups);
}

static void volume_sizes(const shape *s, cm__sized_call *c)
{
    c->sizes[CM__CONV3D_N] = cm__poly_dim(s->x->dims[0]);
    c->sizes[CM__CONV3D_C] = cm__poly_dim(s->x->dims[1]);
    c->sizes[CM__CONV3D_K] = cm__poly_dim(s->y->dims[1]);
    for (int axis = 0; axis < 3; axis++) {
        c->sizes[CM__CONV3D_D + axis] = image_size(s, axis);
        c->sizes[CM__CONV3D_T + axis] = cm__poly_const((double)s->window.kernel[axis]);
        c->sizes[CM__CONV3D_STRIDE_D + axis] = cm__poly_const((double)s->window.stride[axis]);
        c->sizes[CM__CONV3D_PAD_D + axis] = cm__poly_const((double)s->window.pad_begin[axis]);
        c->sizes[CM__CONV3D_DIL_D + axis] = cm__poly_const((double)s->window.dilation[axis]);
    }
    c->sizes[CM__CONV3D_GROUPS] = cm__poly_dim(s->groups);
}

/* Channels are last if the image or the weight has them last, or if a compiler converts both. */
static bool channels_last(const cm__dispatch *d, const cm_node *forward)
{
    return cm__strides_converts(d->strides, forward->inputs[0]) ||
           cm__strides_channels_last(d->strides, forward->inputs[0]) ||
           cm__strides_channels_last(d->strides, forward->inputs[1]);
}

static void convolution(cm__dispatch *d, int32_t node, const shape *s, cm__pass pass)
{
    const cm_node *n = cm__node(d, node);
    cm_dtype       dtype = cm__in(d->g, n, 0)->dtype;
    bool           volume = s->window.dims >= 3, last = channels_last(d, cm__forward_of(d, n));
    cm__sized_call c =
        cm__call_begin(d, volume ? CM__CALL_CONV3D : CM__CALL_CONV, pass, last ? CM__V_NHWC : CM__V_NCHW, dtype, true);
    cm__call_as_image(d, node, n->op == CM_OP_CONV_GRAD_WEIGHT ? n->inputs[1] : n->inputs[0], last);
    (volume ? volume_sizes : plane_sizes)(s, &c);
    cm__dispatch_add(d, node, &c);
}

/* The bias is a separate kernel: over rows of channels (channels last), or one value per plane. */
static void add_bias(cm__dispatch *d, int32_t node)
{
    const cm_node   *n = cm__node(d, node);
    const cm_tensor *y = cm__t(d->g, n->outputs[0]);
    cm_poly          channels = cm__poly_dim(y->dims[1]), images = cm__poly_dim(y->dims[0]),
            pixels = cm__poly_product(y->dims + 2, y->rank - 2);
    if (channels_last(d, n))
        cm__call_map(d, node, CM__V(ADD, ROW), n->outputs[0], -1, n->outputs[0], cm__poly_mul(images, pixels), channels);
    else cm__call_map(d, node, CM__V(ADD, COL), n->outputs[0], -1, n->outputs[0], cm__poly_mul(images, channels), pixels);
}

void cm__dispatch_conv(cm__dispatch *d, int32_t node)
{
    const cm_node *n = cm__node(d, node);
    shape          s = shape_of(d, n);
    convolution(d, node, &s, s.transposed ? CM__PASS_BWD_INPUT : CM__PASS_FORWARD);
    bool fused = cm__compiles(d->runtime) || cm__is_tuned(d->runtime); /* with what reads it */
    if (cm__has(n, 2) && n->op != CM_OP_CONV_INTEGER && !fused) add_bias(d, node);
}

/* The second derivative of a convolution: autograd computes the gradient of its filters by a convolution whose samples are
   the channels and whose filters are the gradient of the image, with strides and dilations exchanged
   (_convolution_double_backward in ATen/native/Convolution.cpp). */
static void filters_twice(cm__dispatch *d, int32_t node, const shape *s)
{
    cm__variant    layout = channels_last(d, cm__forward_of(d, cm__node(d, node))) ? CM__V_NHWC : CM__V_NCHW;
    cm__sized_call c = cm__call_begin(d, CM__CALL_CONV, CM__PASS_FORWARD, layout, s->x->dtype, true);
    plane_sizes(s, &c);
    c.sizes[CM__CONV_N] = cm__poly_dim(s->x->dims[1]);
    c.sizes[CM__CONV_C] = cm__poly_dim(s->x->dims[0]);
    for (int axis = 0; axis < 2; axis++) {
        int32_t a = plane_axis(s, axis);
        if (a < 0) continue;
        c.sizes[CM__CONV_R + axis] = cm__poly_dim(s->y->dims[2 + a]);
        c.sizes[CM__CONV_STRIDE_H + axis] = cm__poly_const((double)s->window.dilation[a]);
        c.sizes[CM__CONV_DIL_H + axis] = cm__poly_const((double)s->window.stride[a]);
    }
    cm__dispatch_add(d, node, &c);
}

void cm__dispatch_conv_grad(cm__dispatch *d, int32_t node)
{
    const cm_node *n = cm__node(d, node), *forward = cm__forward_of(d, n);
    shape          s = shape_of(d, forward);
    bool           twice = cm__attr_int(forward, CM_ATTR_DERIVED, 0) && s.window.dims < 3 && cm__dim_is(s.groups, 1);
    if (n->op == CM_OP_CONV_GRAD_WEIGHT && twice) filters_twice(d, node, &s);
    else if (n->op == CM_OP_CONV_GRAD_WEIGHT) convolution(d, node, &s, CM__PASS_BWD_WEIGHT);
    else convolution(d, node, &s, s.transposed ? CM__PASS_FORWARD : CM__PASS_BWD_INPUT);
}
