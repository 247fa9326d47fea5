/* SPDX-License-Identifier: Apache-2.0 */
/*
 * deformed.c - kernel calls of torchvision's convolution whose filters read at places of their own.
 *
 * After deform_conv2d_forward_kernel and deform_conv2d_backward_kernel in
 * torchvision/csrc/ops/cuda/deform_conv2d_kernel.cu: windows become columns, columns are multiplied by the filters.
 * Backward computes the columns again. torchvision does so for up to 32 images at a time, which are counted as one call.
 */
#include "model/dispatch/rules.h"

typedef struct deformed {
    cm__dispatch    *d;
    int32_t          node;
    const cm_node   *forward;
    const cm_tensor *x, *w;
    cm_poly          images, filters, pixels, window, columns; /* window: numbers that a group's filter reads */
    int64_t          groups;
} deformed;

static deformed deformed_of(cm__dispatch *d, int32_t node)
{
    const cm_node   *forward = cm__forward_of(d, cm__node(d, node));
    const cm_tensor *y = cm__t(d->g, forward->outputs[0]);
    deformed         s = {.d = d, .node = node, .forward = forward, .x = cm__in(d->g, forward, 0)};
    s.w = cm__in(d->g, forward, 1);
    s.images = cm__poly_dim(y->dims[0]);
    s.filters = cm__poly_dim(y->dims[1]);
    s.pixels = cm__poly_product(y->dims + 2, 2);
    s.window = cm__poly_product(s.w->dims + 1, 3);
    s.groups = s.w->dims[1].fixed > 0 ? s.x->dims[1].fixed / s.w->dims[1].fixed : 1;
    if (s.groups < 1) s.groups = 1;
    s.columns = cm__poly_mul(cm__poly_scale(s.window, (double)s.groups), cm__poly_mul(s.images, s.pixels));
    return s;
}

/* A kernel over as many numbers, of the image's type. */
static void over(const deformed *s, cm__variant kernel, cm_poly outer, cm_poly inner)
{
    int32_t x = s->forward->inputs[0];
    cm__call_map(s->d, s->node, kernel, x, -1, x, outer, inner);
}

static void fill(const deformed *s, cm_poly numbers) { over(s, CM__V_FILL, cm__poly_const(1), numbers); }

static void fill_like(const deformed *s, int32_t input)
{
    if (cm__has(s->forward, input)) fill(s, cm_tensor_elements(cm__in(s->d->g, s->forward, input)));
}

/* One product for each group of filters. */
static void products(const deformed *s, cm__variant variant, cm_poly m, cm_poly n, cm_poly k)
{
    for (int64_t i = 0; i < s->groups; i++)
        cm__call_product(s->d, s->node, variant, s->x->dtype, (cm_poly[]){cm__poly_const(1), m, n, k});
}

/* A kernel of torchvision: threads, each of which loops over numbers. */
static void own(const deformed *s, cm__variant kernel, cm_poly threads, cm_poly numbers)
{
    cm__sized_call c = cm__call_begin(s->d, CM__CALL_DEFORM, CM__PASS_FORWARD, kernel, s->x->dtype, false);
    CM__CALL_SIZED(s->d, s->node, c, threads, numbers);
}

/* The places of a window are two coordinates each. A thread for each coordinate adds up the channels of its group. */
static void offset_gradients(const deformed *s)
{
    cm_poly threads = cm_tensor_elements(cm__in(s->d->g, s->forward, CM__DEFORMED_OFFSETS));
    cm_poly added = cm__poly_scale(s->columns, 2);
    double  at_one = cm__poly_at(&threads, 1), channels = at_one > 0 ? cm__poly_at(&added, 1) / at_one : 1;
    own(s, CM__V_PLACES, threads, cm__poly_const(channels));
}

/* A thread for each channel and place copies a window. */
static void columns(const deformed *s)
{
    cm_poly area = cm__poly_product(s->w->dims + 2, 2);
    double  numbers = cm__poly_at(&area, 1);
    cm_poly threads = cm__poly_scale(s->columns, numbers > 0 ? 1 / numbers : 1);
    own(s, CM__V_COLUMNS, threads, area);
}

static void forward_calls(const deformed *s, cm_poly pixels)
{
    cm_poly per_filter = cm__poly_scale(s->filters, 1.0 / (double)s->groups);
    cm_poly results = cm__poly_mul(s->filters, pixels), planes = cm__poly_mul(s->images, s->filters);
    cm__call_in_rows(s->d, s->node, s->forward->inputs[0]);
    fill(s, results);
    fill(s, results);
    fill(s, s->columns);
    columns(s);
    products(s, CM__V_NN, per_filter, pixels, s->window);
    over(s, CM__V(COPY, PART), planes, s->pixels);
    over(s, CM__V(ADD, COL), planes, s->pixels);
}

static void backward_calls(const deformed *s, cm_poly pixels)
{
    cm_poly per_filter = cm__poly_scale(s->filters, 1.0 / (double)s->groups);
    cm_poly planes = cm__poly_mul(s->images, s->filters);
    fill_like(s, CM__DEFORMED_IMAGE);
    fill_like(s, CM__DEFORMED_OFFSETS);
    fill_like(s, CM__DEFORMED_MASK);
    fill(s, s->columns);
    over(s, CM__V(COPY, PART), planes, s->pixels);
    products(s, CM__V_TN, s->window, pixels, per_filter);
    offset_gradients(s);
    own(s, CM__V_IMAGE, s->columns, cm__poly_const(1));
    fill_like(s, CM__DEFORMED_FILTERS);
    over(s, CM__V(COPY, PART), planes, s->pixels);
    columns(s);
    products(s, CM__V_NT, per_filter, s->window, pixels);
    cm__call_reduce(s->d, s->node, CM__V(SUM, NCHW), s->x->dtype, s->images, s->filters, s->pixels);
}

void cm__dispatch_deformed(cm__dispatch *d, int32_t node)
{
    deformed s = deformed_of(d, node);
    cm_poly  pixels = cm__poly_mul(s.images, s.pixels);
    (cm__node(d, node) == s.forward ? forward_calls : backward_calls)(&s, pixels);
}
