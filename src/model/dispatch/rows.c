/* SPDX-License-Identifier: Apache-2.0 */
/* rows.c - kernel calls of normalisation and updates. */
#include <math.h>
#include "model/dispatch/rules.h"

/* ---- normalisation ---------------------------------------------------------------------------------------------- */

/* A batch norm increments its batch counter in a separate kernel. */
void cm__dispatch_count_batch(cm__dispatch *d, int32_t node)
{
    cm__call_pass(d, node, CM__V_SCALE, CM__ALL(CM_INT64), cm__poly_const(1));
}

/* Group norms have the sizes of batch norms, and their groups. */
_Static_assert((int)CM__BATCH_NORM_N == CM__GROUP_NORM_N && (int)CM__BATCH_NORM_C == CM__GROUP_NORM_C &&
                   (int)CM__BATCH_NORM_HW == CM__GROUP_NORM_HW, "sizes of channel norms");
/* The layout a channel norm runs in; it copies what it reads if that is laid out otherwise. Group and instance norms
   run on contiguous planes. Only PyTorch's own kernels, which it uses in bf16, read a gradient that is laid out
   otherwise than the input. A batch norm of [N, C] runs its own kernels in all types, other ones if its gradient has
   gaps (batch_norm_use_channels_last_kernels in ATen/native/cuda/Normalization.cu), and so does one of planes without
   scale or shift (`plain`; in bf16 these are the kernels of all batch norms). */
static bool is_absent(const cm__dispatch *d, const cm_node *forward, int32_t input)
{
    return !cm__has(forward, input) || cm__in(d->g, forward, input)->role == CM_ROLE_CONSTANT;
}

static bool is_plain(const cm__dispatch *d, const cm_node *forward)
{
    return forward->op != CM_OP_GROUP_NORM && cm__in(d->g, forward, 0)->dtype != CM_BF16 &&
           (is_absent(d, forward, 1) || is_absent(d, forward, 2));
}

static cm__variant norm_layout(cm__dispatch *d, int32_t node, const cm_node *forward, cm__pass pass)
{
    bool    batch = forward->op == CM_OP_BATCH_NORM;
    const cm_tensor *x = cm__in(d->g, forward, 0);
    bool    last = batch && cm__strides_channels_last(d->strides, forward->inputs[0]);
    int32_t read = cm__node(d, node)->inputs[0];
    bool    own_kernels = batch && x->dtype == CM_BF16;
    bool    strided = pass == CM__PASS_BACKWARD && !cm__strides_in_rows(d->strides, read); /* a slice of a wider one */
    if (batch && x->rank == 2) return strided ? CM__V_APART : CM__V_ROWS;
    if (own_kernels && pass == CM__PASS_BACKWARD && !cm__is_image(d, read, last)) return CM__V_MIXED;
    cm__call_as_image(d, node, read, last);
    return last ? CM__V_NHWC : is_plain(d, forward) ? CM__V_PLAIN : CM__V_NCHW;
}

/* Inference uses the statistics that training has stored, if any: one pass scales and shifts the input. Instance norms
   and norms of weights have none. */
static bool is_scaling(const cm__dispatch *d, const cm_node *forward)
{
    return !d->trains && forward->op == CM_OP_BATCH_NORM && cm__in(d->g, forward, 3)->role != CM_ROLE_CONSTANT;
}

static void channel_norm(cm__dispatch *d, int32_t node, const cm_node *forward, cm__pass pass)
{
    const cm_tensor *x = cm__in(d->g, forward, 0);
    if (is_scaling(d, forward)) {
        cm__call_pass(d, node, CM__V_SCALE, CM__ALL(x->dtype), cm_tensor_elements(x));
        return;
    }
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

/* Row-wise kernels read contiguous rows, so PyTorch copies other operands: in backward the gradient, and the input once
   more. */
static void in_rows(cm__dispatch *d, int32_t node, const cm_node *forward)
{
    const cm_node *n = cm__node(d, node);
    cm__call_in_rows(d, node, n->inputs[0]);
    if (n != forward) cm__call_in_rows(d, node, forward->inputs[0]);
}

/* The model's input needs no gradient. Backward of a norm that reads it only computes the gradients of scale and shift, which
   are sums over columns (dX_data in ATen/native/cuda/layer_norm_kernel.cu). Without scale and shift nothing adds up columns. */
static void row_norm(cm__dispatch *d, int32_t node, const cm_node *forward, cm__pass pass)
{
    const cm_tensor *x = cm__in(d->g, forward, 0);
    in_rows(d, node, forward);
    int64_t          axis = cm__attr_int(forward, CM_ATTR_AXIS, -1);
    int32_t          first = (int32_t)(axis < 0 ? axis + x->rank : axis);
    int              op = forward->op == CM_OP_LAYER_NORM ? CM__CALL_LAYER_NORM : CM__CALL_RMS_NORM;
    cm_poly          rows = cm__poly_product(x->dims, first), columns = cm__poly_product(x->dims + first, x->rank - first);
    if (pass == CM__PASS_BACKWARD && cm__t(d->g, cm__node(d, node)->outputs[0])->rank < x->rank)
        cm__call_reduce(d, node, CM__V_SUM, x->dtype, cm__poly_const(1), rows, cm__poly_scale(columns, 2));
    else {
        bool plain = pass == CM__PASS_BACKWARD && op == CM__CALL_LAYER_NORM && cm__is_eager(d->runtime) &&
                     is_absent(d, forward, 1) && is_absent(d, forward, 2);
        CM__CALL_SIZED(d, node, cm__call_begin(d, op, pass, plain ? CM__V_PLAIN : CM__V_NONE, x->dtype, false), rows, columns);
    }
}

/* Rows are the slices of the dimension that has one norm each. */
void cm__dispatch_weight_norm(cm__dispatch *d, int32_t node)
{
    const cm_node   *n = cm__node(d, node), *forward = cm__forward_of(d, n);
    const cm_tensor *v = cm__in(d->g, forward, 0), *norms = cm__in(d->g, forward, 1);
    cm_poly          rows = cm_tensor_elements(norms), elements = cm_tensor_elements(v);
    cm__sized_call   c = cm__call_begin(d, CM__CALL_RMS_NORM, cm__pass_of(n, forward), CM__V_WEIGHT, v->dtype, false);
    CM__CALL_SIZED(d, node, c, rows, cm__poly_const(rows.c[0] > 0 ? elements.c[0] / rows.c[0] : 1));
}

void cm__dispatch_norm(cm__dispatch *d, int32_t node)
{
    const cm_node *n = cm__node(d, node), *forward = cm__forward_of(d, n);
    bool           rows =
        forward->op == CM_OP_LAYER_NORM || forward->op == CM_OP_RMS_NORM || forward->op == CM_OP_SIMPLIFIED_LAYER_NORM;
    (rows ? row_norm : channel_norm)(d, node, forward, cm__pass_of(n, forward));
}

/* ---- updates ----------------------------------------------------------------------------------------------------- */

/* bitsandbytes: a kernel for each parameter reads weight, gradient and both states, and writes all but the gradient.
   Timed as x + a b, which reads three and writes one, over as many elements as give the same bytes. */
static void update_each(cm__dispatch *d, int32_t node)
{
    const cm_node *n = cm__node(d, node);
    double         moved = 0;
    int32_t        last = -1;
    for (int32_t i = 0; i <= n->n_inputs; i++) {
        bool done = i == n->n_inputs || cm__in(d->g, n, i)->role == CM_ROLE_PARAMETER;
        if (done && last >= 0) {
            const cm_tensor *p = cm__in(d->g, n, last);
            cm__call_pass(d, node, CM__V_ADDCMUL, CM__ALL(p->dtype),
                          cm__poly_const(ceil(moved / (4 * (double)cm_dtype_size(p->dtype)))));
        }
        if (i == n->n_inputs) return;
        const cm_tensor *t = cm__in(d->g, n, i);
        double bytes = cm_tensor_bytes(t).c[0];
        if (done) last = i, moved = 0;
        moved += t->role == CM_ROLE_PARAMETER || t->role == CM_ROLE_STATE ? 2 * bytes : bytes;
    }
}

void cm__call_clip(cm__dispatch *d, int32_t node, cm_dtype dtype, cm_poly elements)
{
    cm__call_reduce(d, node, CM__V_SUM, dtype, cm__poly_const(1), elements, cm__poly_const(1));
    cm__call_pass(d, node, CM__V_SCALE, CM__ALL(dtype), elements);
}

/* clip_grad_norm_() reads all gradients for their norm, then scales them (_foreach_norm() and _foreach_mul_()). */
static void clip_gradients(cm__dispatch *d, int32_t node)
{
    const cm_node *n = cm__node(d, node);
    cm_poly        elements = cm__poly_const(0);
    cm_dtype       dtype = CM_FP32;
    for (int32_t i = 0; i < n->n_inputs; i++) {
        const cm_tensor *t = cm__in(d->g, n, i);
        if (t->role != CM_ROLE_PARAMETER_GRADIENT) continue;
        elements = cm__poly_add(elements, cm_tensor_elements(t));
        dtype = t->dtype;
    }
    cm__call_clip(d, node, dtype, elements);
}

void cm__dispatch_update(cm__dispatch *d, int32_t node)
{
    const cm_node *n = cm__node(d, node);
    if (d->g->asked.script.clip_gradients) clip_gradients(d, node);
    if (d->g->optimizer >= CM_OPTIMIZER_ADAMW_8BIT) {
        update_each(d, node);
        return;
    }
    cm_poly        elements = cm__poly_const(0);
    int32_t        tensors = 0;
    cm_dtype       dtype = CM_FP32;
    for (int32_t i = 0; i < n->n_inputs; i++) {
        const cm_tensor *t = cm__in(d->g, n, i);
        if (t->role != CM_ROLE_PARAMETER) continue;
        elements = cm__poly_add(elements, cm_tensor_elements(t));
        dtype = d->g->master ? CM_FP32 : t->dtype;
        tensors++;
    }
    cm__sized_call all = cm__call_begin(d, CM__CALL_OPTIMIZER, CM__PASS_UPDATE, cm__optimizer_variant(d->g->optimizer),
                                        dtype, false);
    CM__CALL_SIZED(d, node, all, cm__poly_const(tensors), elements);
}
