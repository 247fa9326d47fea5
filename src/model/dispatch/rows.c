/* SPDX-License-Identifier: Apache-2.0 */
/* rows.c - kernel calls of normalisation, reductions, pooling, look-ups and updates. */
#include <stdio.h>
#include <string.h>
#include "model/dispatch/rules.h"

/* ---- normalisation ---------------------------------------------------------------------------------------------- */

/* A batch norm increments its batch counter in a separate kernel. */
void cm__dispatch_count_batch(cm__dispatch *d, int32_t node)
{
    cm__sized_call c = cm__call_begin(d, CM__CALL_ELEMENTWISE, CM__PASS_FORWARD, "scale", CM_INT64, false);
    cm__call_two(d, node, c, cm__poly_const(1), cm__poly_const(1));
}

/* Group norms have the sizes of batch norms, and their groups. */
_Static_assert((int)CM__BATCH_NORM_N == CM__GROUP_NORM_N && (int)CM__BATCH_NORM_C == CM__GROUP_NORM_C &&
                   (int)CM__BATCH_NORM_HW == CM__GROUP_NORM_HW, "sizes of channel norms");
/* The layout a channel norm runs in; it copies what it reads if that is laid out otherwise. Group and instance norms run
   on contiguous planes. Only PyTorch's own kernels, which it uses in bf16, read a gradient that is laid out otherwise
   than the input. */
static const char *norm_layout(cm__dispatch *d, int32_t node, const cm_node *forward, cm__pass pass)
{
    bool    batch = forward->op == CM_OP_BATCH_NORM;
    bool    last = batch && cm__strides_channels_last(d->strides, forward->inputs[0]);
    int32_t read = cm__node(d, node)->inputs[0];
    bool    own_kernels = batch && cm__in(d->g, forward, 0)->dtype == CM_BF16;
    if (own_kernels && pass == CM__PASS_BACKWARD && !cm__is_image(d, read, last)) return "mixed";
    cm__call_as_image(d, node, read, last);
    return last ? "nhwc" : "nchw";
}

static void channel_norm(cm__dispatch *d, int32_t node, const cm_node *forward, cm__pass pass)
{
    const cm_tensor *x = cm__in(d->g, forward, 0);
    bool             grouped = forward->op == CM_OP_GROUP_NORM, instance = forward->op == CM_OP_INSTANCE_NORM;
    cm_poly images = cm__poly_dim(x->dims[0]), channels = x->rank > 1 ? cm__poly_dim(x->dims[1]) : cm__poly_const(1);
    cm__sized_call c = cm__call_begin(d, grouped ? CM__CALL_GROUP_NORM : CM__CALL_BATCH_NORM, pass,
                                      norm_layout(d, node, forward, pass), x->dtype, false);
    /* an instance norm runs as a batch norm of one image */
    c.sizes[CM__BATCH_NORM_N] = instance ? cm__poly_const(1) : images;
    c.sizes[CM__BATCH_NORM_C] = instance ? cm__poly_mul(images, channels) : channels;
    c.sizes[CM__BATCH_NORM_HW] = x->rank > 2 ? cm__poly_product(x->dims + 2, x->rank - 2) : cm__poly_const(1);
    if (grouped) c.sizes[CM__GROUP_NORM_GROUPS] = cm__poly_const((double)cm__attr_int(forward, CM_ATTR_NUM_GROUPS, 1));
    cm__dispatch_add(d, node, &c);
    if (forward->op == CM_OP_BATCH_NORM && pass == CM__PASS_FORWARD && d->trains) cm__dispatch_count_batch(d, node);
}

static void row_norm(cm__dispatch *d, int32_t node, const cm_node *forward, cm__pass pass)
{
    const cm_tensor *x = cm__in(d->g, forward, 0);
    int64_t          axis = cm__attr_int(forward, CM_ATTR_AXIS, -1);
    int32_t          first = (int32_t)(axis < 0 ? axis + x->rank : axis);
    int              op = forward->op == CM_OP_LAYER_NORM ? CM__CALL_LAYER_NORM : CM__CALL_RMS_NORM;
    cm__call_two(d, node, cm__call_begin(d, op, pass, "", x->dtype, false), cm__poly_product(x->dims, first),
              cm__poly_product(x->dims + first, x->rank - first));
}

void cm__dispatch_norm(cm__dispatch *d, int32_t node)
{
    const cm_node *n = cm__node(d, node), *forward = cm__forward_of(d, n);
    bool           rows =
        forward->op == CM_OP_LAYER_NORM || forward->op == CM_OP_RMS_NORM || forward->op == CM_OP_SIMPLIFIED_LAYER_NORM;
    (rows ? row_norm : channel_norm)(d, node, forward, cm__pass_of(n, forward));
}

/* ---- reductions ------------------------------------------------------------------------------------------------- */

static void reduction(cm__dispatch *d, int32_t node, const char *variant, cm_poly outer, cm_poly reduced, cm_poly inner)
{
    const cm_node *n = cm__node(d, node);
    cm__sized_call c = cm__call_begin(d, CM__CALL_REDUCE, CM__PASS_FORWARD, variant, cm__in(d->g, n, 0)->dtype, false);
    c.sizes[CM__REDUCE_OUTER] = outer;
    c.sizes[CM__REDUCE_REDUCE] = reduced;
    c.sizes[CM__REDUCE_INNER] = inner;
    cm__dispatch_add(d, node, &c);
}

static const char *reduction_name(int op) { return cm__forward_kernel(op, "sum"); }

/* Reduces from the first to the last reduced axis. The call's sizes are the dimensions before, between and after. */
void cm__dispatch_reduce(cm__dispatch *d, int32_t node)
{
    const cm_node   *n = cm__node(d, node);
    const cm_tensor *x = cm__in(d->g, n, 0);
    int64_t          axes[CM__RANK_MAX], one = cm__attr_int(n, CM_ATTR_AXIS, 0);
    int32_t          count =
        cm__int_list((cm_graph *)(uintptr_t)d->g, n, CM_ATTR_AXES, n->n_inputs > 1 ? 1 : -1, axes, CM__RANK_MAX);
    if (count < 0 && (n->op == CM_OP_ARG_MAX || n->op == CM_OP_ARG_MIN)) axes[0] = one, count = 1;
    int32_t first = x->rank, last = -1;
    for (int32_t i = 0; i < count; i++) {
        int32_t axis = (int32_t)(axes[i] < 0 ? axes[i] + x->rank : axes[i]);
        if (axis < first) first = axis;
        if (axis > last) last = axis;
    }
    if (count <= 0 || last < first) first = 0, last = x->rank - 1;
    /* mean over a plane, channels last */
    if (first == 2 && last == 3 && cm__strides_channels_last(d->strides, n->inputs[0]))
        reduction(d, node, reduction_name(n->op), cm__poly_dim(x->dims[0]), cm__poly_product(x->dims + 2, 2),
                  cm__poly_dim(x->dims[1]));
    else
        reduction(d, node, reduction_name(n->op), cm__poly_product(x->dims, first),
                  cm__poly_product(x->dims + first, last - first + 1),
                  cm__poly_product(x->dims + last + 1, x->rank - last - 1));
}

void cm__dispatch_global_pool(cm__dispatch *d, int32_t node)
{
    const cm_node   *n = cm__node(d, node);
    const cm_tensor *x = cm__in(d->g, n, 0);
    cm_poly          images = cm__poly_dim(x->dims[0]), channels = cm__poly_dim(x->dims[1]),
            pixels = cm__poly_product(x->dims + 2, x->rank - 2), one = cm__poly_const(1);
    if (cm__strides_channels_last(d->strides, n->inputs[0]))
        reduction(d, node, reduction_name(n->op), images, pixels, channels);
    else reduction(d, node, reduction_name(n->op), cm__poly_mul(images, channels), pixels, one);
}

/* Sums a gradient over broadcast dimensions: all but the channels for a convolution's bias, otherwise the leading
   dimensions, or all but the leading ones. */
void cm__dispatch_sum_to(cm__dispatch *d, int32_t node)
{
    const cm_node   *n = cm__node(d, node), *forward = cm__forward_of(d, n);
    const cm_tensor *x = cm__in(d->g, n, 0), *y = cm__t(d->g, n->outputs[0]);
    bool             channels = cm_node_class(forward) == CM_CLASS_CONV && x->rank >= 3;
    cm_poly          one = cm__poly_const(1);
    if (channels) {
        cm_poly images = cm__poly_dim(x->dims[0]), pixels = cm__poly_product(x->dims + 2, x->rank - 2),
                kept = cm__poly_dim(x->dims[1]);
        if (cm__strides_channels_last(d->strides, n->inputs[0]))
            reduction(d, node, "sum", one, cm__poly_mul(images, pixels), kept);
        else reduction(d, node, "sum:nchw", images, kept, pixels);
        return;
    }
    int32_t keep = 0; /* number of trailing dimensions that are kept */
    while (keep < y->rank && keep < x->rank && cm__dim_same(y->dims[y->rank - 1 - keep], x->dims[x->rank - 1 - keep]))
        keep++;
    int32_t lead = x->rank - keep;
    if (keep) reduction(d, node, "sum", one, cm__poly_product(x->dims, lead), cm__poly_product(x->dims + lead, keep));
    else {
        int32_t same = 0; /* number of leading dimensions that are kept */
        while (same < y->rank && same < x->rank && cm__dim_same(y->dims[same], x->dims[same])) same++;
        reduction(d, node, "sum", cm__poly_product(x->dims, same), cm__poly_product(x->dims + same, x->rank - same),
                  one);
    }
}

/* ---- pooling, resizing ------------------------------------------------------------------------------------------ */

static void image_call(const cm__dispatch *d, int32_t image, const char *kind, char *variant, size_t size)
{
    snprintf(variant, size, "%s:%s", kind, cm__strides_channels_last(d->strides, image) ? "nhwc" : "nchw");
}

static cm_poly last_but(const cm_tensor *t, int32_t back)
{
    return t->rank > 2 + back ? cm__poly_dim(t->dims[t->rank - 1 - back]) : cm__poly_const(1);
}

void cm__dispatch_pool(cm__dispatch *d, int32_t node)
{
    const cm_node   *n = cm__node(d, node), *forward = cm__forward_of(d, n);
    const cm_tensor *x = cm__in(d->g, forward, 0);
    cm__window       w;
    char             variant[CM__CALL_TEXT];
    cm__window_read((cm_graph *)(uintptr_t)d->g, forward, x->rank - 2, NULL, &w);
    image_call(d, forward->inputs[0], cm__forward_kernel(forward->op, "avg"), variant, sizeof variant);
    cm__sized_call c = cm__call_begin(d, CM__CALL_POOL, cm__pass_of(n, forward), variant, x->dtype, false);
    c.sizes[CM__POOL_N] = cm__poly_dim(x->dims[0]);
    c.sizes[CM__POOL_C] = x->rank > 4 ? cm__poly_product(x->dims + 1, x->rank - 3) : cm__poly_dim(x->dims[1]);
    c.sizes[CM__POOL_H] = last_but(x, 1);
    c.sizes[CM__POOL_W] = last_but(x, 0);
    c.sizes[CM__POOL_WINDOW] = cm__poly_const((double)w.kernel[w.dims - 1]);
    c.sizes[CM__POOL_STRIDE] = cm__poly_const((double)w.stride[w.dims - 1]);
    c.sizes[CM__POOL_PAD] = cm__poly_const((double)w.pad_begin[w.dims - 1]);
    cm__dispatch_add(d, node, &c);
}

void cm__dispatch_resize(cm__dispatch *d, int32_t node)
{
    const cm_node   *n = cm__node(d, node), *forward = cm__forward_of(d, n);
    const cm_tensor *x = cm__in(d->g, forward, 0), *y = cm__t(d->g, forward->outputs[0]);
    char             variant[CM__CALL_TEXT];
    if (x->rank < 3) {
        cm__dispatch_copy(d, node);
        return;
    }
    image_call(d, forward->inputs[0], cm__attr_int(forward, CM_ATTR_MODE, 0) ? "bilinear" : "nearest", variant,
               sizeof variant);
    cm__sized_call c = cm__call_begin(d, CM__CALL_RESIZE, cm__pass_of(n, forward), variant, x->dtype, false);
    c.sizes[CM__RESIZE_N] = cm__poly_dim(x->dims[0]);
    c.sizes[CM__RESIZE_C] = cm__poly_dim(x->dims[1]);
    c.sizes[CM__RESIZE_H] = last_but(x, 1);
    c.sizes[CM__RESIZE_W] = last_but(x, 0);
    c.sizes[CM__RESIZE_OUT_H] = last_but(y, 1);
    c.sizes[CM__RESIZE_OUT_W] = last_but(y, 0);
    cm__dispatch_add(d, node, &c);
}

/* ---- look-ups, updates ------------------------------------------------------------------------------------------ */

void cm__dispatch_gather(cm__dispatch *d, int32_t node)
{
    const cm_node   *n = cm__node(d, node), *forward = cm__forward_of(d, n);
    const cm_tensor *table = cm__in(d->g, forward, 0), *index = cm__in(d->g, forward, 1);
    bool rows = forward->op == CM_OP_GATHER && table->rank == 2 && cm__attr_int(forward, CM_ATTR_AXIS, 0) == 0;
    if (!rows) {
        cm__dispatch_copy(d, node);
        return;
    }
    cm__sized_call c = cm__call_begin(d, CM__CALL_EMBEDDING, cm__pass_of(n, forward), "", table->dtype, false);
    c.sizes[CM__EMBEDDING_TOKENS] = cm_tensor_elements(index);
    c.sizes[CM__EMBEDDING_VOCAB] = cm__poly_dim(table->dims[0]);
    c.sizes[CM__EMBEDDING_WIDTH] = cm__poly_dim(table->dims[1]);
    cm__dispatch_add(d, node, &c);
}

void cm__dispatch_update(cm__dispatch *d, int32_t node)
{
    const cm_node *n = cm__node(d, node);
    cm_poly        elements = cm__poly_const(0);
    int32_t        tensors = 0;
    cm_dtype       dtype = CM_FP32;
    for (int32_t i = 0; i < n->n_inputs; i++) {
        const cm_tensor *t = cm__in(d->g, n, i);
        if (t->role != CM_ROLE_PARAMETER) continue;
        elements = cm__poly_add(elements, cm_tensor_elements(t));
        dtype = t->dtype;
        tensors++;
    }
    cm__call_two(d, node,
              cm__call_begin(d, CM__CALL_OPTIMIZER, CM__PASS_UPDATE, cm_optimizer_name(d->g->optimizer), dtype, false),
              cm__poly_const(tensors), elements);
}
