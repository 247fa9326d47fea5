/* SPDX-License-Identifier: Apache-2.0 */
/* losses.c - kernel calls of softmax and of losses. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "model/dispatch/rules.h"

/* Classes are along `axis`; the rest are rows. */
static void along(cm__dispatch *d, int32_t node, cm__sized_call c, const cm_tensor *x, int32_t axis)
{
    cm_poly rows =
        cm__poly_mul(cm__poly_product(x->dims, axis), cm__poly_product(x->dims + axis + 1, x->rank - axis - 1));
    cm__call_two(d, node, c, rows, cm__poly_dim(x->dims[axis]));
}

static const char *sixteen_bits(const cm_graph *g)
{
    static const char *const names[CM_PRECISIONS] = {
        [CM_PRECISION_AMP_BF16] = "bf16", [CM_PRECISION_BF16] = "bf16", [CM_PRECISION_FP8] = "bf16",
        [CM_PRECISION_AMP_FP16] = "fp16", [CM_PRECISION_FP16] = "fp16"};
    return names[g->precision];
}

static void converted(cm__dispatch *d, int32_t node, const cm_tensor *x, const char *to)
{
    cm__sized_call c = cm__call_begin(d, CM__CALL_ELEMENTWISE, CM__PASS_FORWARD, "copy", x->dtype, false);
    snprintf(c.dtype, sizeof c.dtype, "%s>%s", cm_dtype_name(x->dtype), to);
    cm__call_two(d, node, c, cm__poly_const(1), cm_tensor_elements(x));
}

/* Additional kernels of PyTorch's unfused attention. Fully masked rows must give zero, so one kernel finds them and
   another selects. A reduction of booleans is timed as one of numbers. The probabilities are also returned, in the
   requested type. */
static void inside_attention(cm__dispatch *d, int32_t node, const cm_tensor *x)
{
    cm_poly        rows = cm__poly_product(x->dims, x->rank - 1), cols = cm__poly_dim(x->dims[x->rank - 1]);
    cm__sized_call all = cm__call_begin(d, CM__CALL_REDUCE, CM__PASS_FORWARD, "sum", x->dtype, false),
                   choose = cm__call_begin(d, CM__CALL_ELEMENTWISE, CM__PASS_FORWARD, "where:col", x->dtype, false);
    converted(d, node, x, cm_dtype_name(CM_BOOL));
    all.sizes[CM__REDUCE_INNER] = cm__poly_const(1);
    cm__call_two(d, node, all, rows, cols);
    cm__call_two(d, node, choose, rows, cols);
    if (sixteen_bits(d->g)) converted(d, node, x, sixteen_bits(d->g));
}

#define INNER_THREADS 64 /* numbers after the axis, up to which a block divides an axis of as many among threads */

/* A softmax over the last axis has contiguous rows. Over others, one thread computes each ("planes"), or a block those of
   one index before the axis ("blocks"; SpatialSoftMax_getBlockSize in ATen/native/cuda/SoftMax.cu). */
static void softmax(cm__dispatch *d, int32_t node, cm__sized_call c, const cm_tensor *x, int32_t axis)
{
    cm_poly     inner = cm__poly_product(x->dims + axis + 1, x->rank - axis - 1), length = cm__poly_dim(x->dims[axis]);
    double      after = cm__poly_at(&inner, 1), along_axis = cm__poly_at(&length, 1);
    const char *kernel = after <= INNER_THREADS && along_axis >= INNER_THREADS ? "blocks" : "planes";
    if (after > 1) {
        memset(c.variant, 0, sizeof c.variant);
        memcpy(c.variant, kernel, strlen(kernel));
    }
    if (after > 1 && *kernel == 'b')
        cm__call_two(d, node, c, cm__poly_product(x->dims, axis), cm__poly_mul(length, inner));
    else along(d, node, c, x, axis);
}

void cm__dispatch_softmax(cm__dispatch *d, int32_t node)
{
    const cm_node *n = cm__node(d, node), *forward = cm__forward_of(d, n);
    if (forward->op == CM_OP_CROSS_ENTROPY) return; /* part of the loss's gradient */
    const cm_tensor *x = cm__in(d->g, forward, 0), *y = cm__t(d->g, forward->outputs[0]);
    int64_t          axis = cm__attr_int(forward, CM_ATTR_AXIS, -1);
    if (x->rank == 0) return;
    cm__call_in_rows(d, node, n->inputs[0]); /* kernels read contiguous rows, so PyTorch copies others */
    softmax(d, node,
            cm__call_begin(d, CM__CALL_SOFTMAX, cm__pass_of(n, forward), cm__forward_kernel(forward->op, ""),
                           x->dtype == CM_FP16 ? y->dtype : x->dtype, false), /* from fp16 to fp32: as that of fp32 */
            x, (int32_t)(axis < 0 ? axis + x->rank : axis));
    if (n == forward && cm__attr_find(n, CM_ATTR_MATH)) inside_attention(d, node, x);
}

/* The classes of a sample form a row, or each class forms a plane; the two cases run different kernels. */
static void cross_entropy(cm__dispatch *d, int32_t node, const cm_node *forward, cm__pass pass)
{
    const cm_tensor *x = cm__in(d->g, forward, 0);
    const char      *variant = x->rank > 2 ? "nchw" : "";
    along(d, node, cm__call_begin(d, CM__CALL_CROSS_ENTROPY, pass, variant, x->dtype, false), x, x->rank > 1 ? 1 : 0);
}

/* Trainers such as Composer compute metrics from the outputs of each micro-batch with PyTorch's own cross_entropy(),
   which autocast runs in fp32, each from the logits again (LanguageCrossEntropy and LanguagePerplexity of
   composer/metrics/nlp.py). They run after backward, in memory that it has left. */
static void metrics(cm__dispatch *d, int32_t node, const cm_node *forward)
{
    const cm_tensor *x = cm__in(d->g, forward, 0);
    bool             casts = d->g->precision == CM_PRECISION_AMP_BF16 || d->g->precision == CM_PRECISION_AMP_FP16;
    cm__sized_call   rate = cm__call_begin(d, CM__CALL_CROSS_ENTROPY, CM__PASS_FORWARD, "",
                                           casts ? CM_FP32 : x->dtype, false);
    cm__sized_call   cast = cm__call_begin(d, CM__CALL_ELEMENTWISE, CM__PASS_FORWARD, "copy", x->dtype, false);
    if (d->g->loss_kernel == CM_LOSS_KERNEL_CHUNKED || x->rank != 2) return;
    if (casts) snprintf(cast.dtype, sizeof cast.dtype, "%s>fp32", sixteen_bits(d->g));
    for (int32_t i = 0; i < d->g->metrics; i++) {
        if (casts) cm__call_two(d, node, cast, cm__poly_const(1), cm_tensor_elements(x));
        along(d, node, rate, x, 1);
    }
}

void cm__dispatch_cross_entropy(cm__dispatch *d, int32_t node)
{
    cross_entropy(d, node, cm__node(d, node), CM__PASS_FORWARD);
    metrics(d, node, cm__node(d, node));
}

/* Forward reads the logits once, as a sum of each row does. Backward reads them again and writes their gradient. */
void cm__dispatch_fused_cross_entropy(cm__dispatch *d, int32_t node)
{
    const cm_node   *n = cm__node(d, node), *forward = cm__forward_of(d, n);
    int32_t          logits = forward->inputs[0];
    const cm_tensor *x = cm__t(d->g, logits);
    if (n != forward) {
        cm__call_over(d, node, "exp", logits, -1, logits);
        return;
    }
    cm__sized_call c = cm__call_begin(d, CM__CALL_REDUCE, CM__PASS_FORWARD, "sum", x->dtype, false);
    c.sizes[CM__REDUCE_INNER] = cm__poly_const(1);
    cm__call_two(d, node, c, cm__poly_dim(x->dims[0]), cm__poly_dim(x->dims[1]));
    metrics(d, node, forward);
}

/* Kernels of PyTorch's loss functions before the mean, or of their gradients. */
static void loss_kernels(cm__dispatch *d, int32_t node, const char *const *kernels)
{
    int32_t x = cm__forward_of(d, cm__node(d, node))->inputs[0];
    for (; *kernels; kernels++) cm__call_over(d, node, *kernels, x, -1, x);
}

void cm__dispatch_loss(cm__dispatch *d, int32_t node)
{
    const cm_node   *n = cm__node(d, node);
    const cm_tensor *x = cm__in(d->g, n, 0);
    loss_kernels(d, node, cm__forward_kernels(n->op));
    cm__sized_call c = cm__call_begin(d, CM__CALL_REDUCE, CM__PASS_FORWARD, "mean", x->dtype, false);
    c.sizes[CM__REDUCE_OUTER] = c.sizes[CM__REDUCE_INNER] = cm__poly_const(1);
    c.sizes[CM__REDUCE_REDUCE] = cm_tensor_elements(x);
    cm__dispatch_add(d, node, &c);
}

#define SAMPLE_BLOCKS 128 /* blocks of 1,024 labels that one block treats (nll_loss2d in ATen/native/cuda/NLLLoss2d.cu) */

/* The likelihood reads one number per label. One block treats all rows; images have one for each sample, or more if
   they are large. The call's sizes are the blocks, and the labels of a block. */
static void labels(cm__dispatch *d, int32_t node, const cm_node *forward, const char *kernel)
{
    const cm_tensor *x = cm__in(d->g, forward, 0), *y = cm__in(d->g, forward, 1);
    bool             planes = x->rank > 2;
    cm_poly          of_sample = planes ? cm__poly_product(y->dims + 1, y->rank - 1) : cm_tensor_elements(y);
    double           parts = planes ? fmax(1, floor(ceil(cm__poly_at(&of_sample, 1) / 1024) / SAMPLE_BLOCKS)) : 1;
    cm__sized_call   c = cm__call_begin(d, CM__CALL_REDUCE, CM__PASS_FORWARD, kernel, x->dtype, false);
    c.sizes[CM__REDUCE_OUTER] = planes ? cm__poly_scale(cm__poly_dim(y->dims[0]), parts) : cm__poly_const(1);
    c.sizes[CM__REDUCE_REDUCE] = cm__poly_scale(of_sample, 1 / parts);
    c.sizes[CM__REDUCE_INNER] = cm__poly_const(1);
    cm__dispatch_add(d, node, &c);
}

void cm__dispatch_nll_loss(cm__dispatch *d, int32_t node) { labels(d, node, cm__node(d, node), "nll"); }

void cm__dispatch_loss_grad(cm__dispatch *d, int32_t node)
{
    const cm_node *forward = cm__forward_of(d, cm__node(d, node));
    if (forward->op == CM_OP_CROSS_ENTROPY) cross_entropy(d, node, forward, CM__PASS_BACKWARD);
    else if (forward->op == CM_OP_FUSED_CROSS_ENTROPY) cm__dispatch_fused_cross_entropy(d, node);
    else loss_kernels(d, node, cm__backward_kernels(forward->op));
    if (forward->op == CM_OP_NLL_LOSS) labels(d, node, forward, "nll_grad");
}
