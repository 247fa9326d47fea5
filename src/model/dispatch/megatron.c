/* SPDX-License-Identifier: Apache-2.0 */
/*
 * megatron.c - kernel calls that differ under Megatron-LM.
 *
 * A dropout before a residual sum is fused with it. Labels are shifted before the model runs. The loss, which devices
 * share by vocabulary, runs as separate kernels: subtract the maximum, exponentials, their sum, probabilities; backward
 * scales these. Weights are 16-bit copies of fp32 master weights: gradients are cast, unscaled, clipped and given to a
 * fused optimizer, and the new weights are cast back. Megatron Core (since 2024) also runs each chain of elementwise
 * operators of a layer as one kernel, as Inductor would (fusing.c).
 */
#include "graph/runtimes.h"
#include "model/dispatch/compiler.h"
#include "model/dispatch/routing.h"

/* ---- dropouts, losses, updates ---------------------------------------------------------------------------------- */

/* True: this node is a dropout and the next one the residual sum that reads it. The two run as one kernel. */
static bool joins_sum(const cm_graph *g, int32_t node)
{
    const cm_node *n = &g->nodes[node], *next = node + 1 < g->n_nodes ? n + 1 : NULL;
    if (node < 0 || n->op != CM_OP_DROPOUT || !next || next->op != CM_OP_ADD || next->phase != n->phase) return false;
    for (int32_t k = 0; k < next->n_inputs; k++)
        if (next->inputs[k] == n->outputs[0]) return true;
    return false;
}

static void dropout(cm__dispatch *d, int32_t node)
{
    if (!joins_sum(d->g, node)) cm__dispatch_map(d, node);
}

static void sum(cm__dispatch *d, int32_t node)
{
    const cm_node *n = cm__node(d, node);
    if (joins_sum(d->g, node - 1)) cm__call_over(d, node, CM__V_DROPOUT_ADD, n->inputs[0], n->inputs[1], n->outputs[0]);
    else cm__dispatch_map(d, node);
}

static void sum_classes(cm__dispatch *d, int32_t node, const cm_tensor *x)
{
    int32_t classes = x->rank > 1 ? 1 : 0;
    cm_poly rows = cm__poly_mul(cm__poly_product(x->dims, classes), cm__poly_product(x->dims + classes + 1, x->rank - classes - 1));
    cm__call_reduce(d, node, CM__V_SUM, x->dtype, rows, cm__poly_dim(x->dims[classes]), cm__poly_const(1));
}

static void loss(cm__dispatch *d, int32_t node)
{
    const cm_node *n = cm__node(d, node), *forward = cm__forward_of(d, n);
    int32_t        logits = forward->inputs[0];
    if (forward->op != CM_OP_CROSS_ENTROPY) {
        cm__dispatch_one(d, node);
        return;
    }
    cm__call_over(d, node, CM__V_SCALE, logits, -1, logits); /* forward: subtract the maximum */
    if (n->phase == CM_BACKWARD) return;
    sum_classes(d, node, cm__t(d->g, logits)); /* finding the maximum takes as long as the sum */
    cm__call_over(d, node, CM__V_EXP, logits, -1, logits);
    sum_classes(d, node, cm__t(d->g, logits));
    cm__call_over(d, node, CM__V_SCALE, logits, -1, logits);
}

static void shift(cm__dispatch *d, int32_t node)
{
    if (cm__node(d, node)->block >= 0) cm__dispatch_slice_grad(d, node);
}

static void update(cm__dispatch *d, int32_t node)
{
    const cm_node *n = cm__node(d, node);
    cm_poly        elements = cm__poly_const(0);
    int32_t        tensors = 0;
    /* half: fp16, which needs loss scaling */
    bool           half = d->g->precision == CM_PRECISION_FP16, sixteen = false;
    for (int32_t i = 0; i < n->n_inputs; i++) {
        const cm_tensor *t = cm__in(d->g, n, i);
        if (t->role != CM_ROLE_PARAMETER) continue;
        elements = cm__poly_add(elements, cm_tensor_elements(t));
        sixteen |= cm_dtype_size(t->dtype) == 2;
        tensors++;
    }
    cm__sized_call all = cm__call_begin(d, CM__CALL_OPTIMIZER, CM__PASS_UPDATE, cm__optimizer_variant(d->g->optimizer),
                                        CM_FP32, false);
    if (sixteen) cm__call_pass(d, node, CM__V_COPY, cm__types_cast(half ? CM_FP16 : CM_BF16, CM_FP32), elements);
    if (half) cm__call_pass(d, node, CM__V_SCALE, CM__ALL(CM_FP32), elements);
    cm__call_clip(d, node, CM_FP32, elements);
    CM__CALL_SIZED(d, node, all, cm__poly_const(tensors), elements);
    if (sixteen) cm__call_pass(d, node, CM__V_COPY, cm__types_cast(CM_FP32, half ? CM_FP16 : CM_BF16), elements);
    if (d->g->precision == CM_PRECISION_FP8 && cm__is_megatron_core(d->runtime, d->g->asked.software))
        cm__call_joined_cast(d, node, elements, true);
}

static cm__dispatch_rule *const rules[CM_OPS] = {
#define MEGATRON(rule) rule,
#define ROW(id, ...) [CM_OP_##id] = CM__FIRST(__VA_ARGS__ cm__dispatch_one, 0),
#include "graph/ops.def"
};

/* ---- Megatron Core ---------------------------------------------------------------------------------------------- */

/* Transformer Engine casts an input once for all products that read it (query, key and value are one product there),
   and weights once per update, whatever the number of micro-batches: see update(). */
static bool was_cast(const cm__dispatch *d, int32_t node)
{
    const cm_node *n = cm__node(d, node);
    if (!cm__is_scaled_cast(d->g, n)) return false;
    int32_t from = cm__t(d->g, n->inputs[0])->storage;
    for (int32_t i = node - 1; i >= 0 && d->g->nodes[i].block == n->block && d->g->nodes[i].phase == n->phase; i--)
        if (cm__is_scaled_cast(d->g, cm__node(d, i)) && cm__t(d->g, cm__node(d, i)->inputs[0])->storage == from)
            return true;
    return cm__t(d->g, from)->role == CM_ROLE_PARAMETER;
}

void cm__dispatch_megatron(cm__dispatch *d, int32_t node)
{
    const cm_node *n = cm__node(d, node);
    bool           core = cm__is_megatron_core(d->runtime, d->g->asked.software);
    if (n->view || (core && was_cast(d, node))) return;
    if (core && cm__routes(d->g, n)) cm__dispatch_route(d, node);
    else rules[n->op](d, node);
}
