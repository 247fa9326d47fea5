/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cost.c - FLOP and bytes of every node, as polynomials of the batch size.
 *
 * A multiply and an add are two FLOP. Bytes are what must cross the memory interface once if nothing stays on chip:
 * each distinct input read once, each output written once. Views cost nothing. Matrix products:
 *
 *     Gemm, MatMul   2 M N K                       backward: the same again for each operand that needs a gradient
 *     Conv           2 |Y| (C/groups) R S          likewise
 *     Attention      2 B H Sq Sk (d + dv)          backward: 2.5 times that; the scores are computed again. A causal
 *                                                  mask is not discounted, as in the frameworks' own counters.
 *     LSTM, GRU, RNN 2 S B (|W| + |R|)             backward: twice that
 */
#include "graph/rule.h"
#include "graph/rules/rules.h"

#include <math.h>

#define ATTENTION_BACKWARD 2.5 /* five products, two in forward: scores again, dV, dP, dQ, dK */

/* Reading a broadcast view transfers no more bytes than the tensor it is a view of. */
static cm_poly bytes_touched(const cm_graph *g, int32_t tensor)
{
    const cm_tensor *t = cm__t(g, tensor), *base = cm__t(g, t->storage);
    cm_poly          own = cm_tensor_bytes(t);
    if (base == t) return own;
    cm_poly stored = cm_tensor_bytes(base);
    return cm__poly_larger(&own, &stored) ? stored : own;
}

#define REPEATS_LOOKED_FOR 64 /* x * x, x + x: repeats are close together; do not compare thousands of inputs */

static bool seen_before(const cm_node *n, int32_t input)
{
    for (int32_t i = input > REPEATS_LOOKED_FOR ? input - REPEATS_LOOKED_FOR : 0; i < input; i++)
        if (n->inputs[i] == n->inputs[input]) return true;
    return false;
}

static void add_read(const cm_graph *g, cm_node *n, int32_t tensor)
{
    n->read_bytes = cm__poly_add(n->read_bytes, bytes_touched(g, tensor));
}

static void add_traffic(const cm_graph *g, cm_node *n)
{
    for (int32_t i = 0; i < n->n_inputs; i++)
        if (cm__has(n, i) && !seen_before(n, i)) add_read(g, n, n->inputs[i]);
    for (int32_t i = 0; i < n->n_outputs; i++)
        if (n->outputs[i] >= 0) n->write_bytes = cm__poly_add(n->write_bytes, cm_tensor_bytes(cm__t(g, n->outputs[i])));
}

static cm_poly output_elements(const cm_graph *g, const cm_node *n)
{
    return cm_tensor_elements(cm__t(g, n->outputs[0]));
}

static void per_element(const cm_graph *g, cm_node *n, cm_poly elements)
{
    n->flop = cm__poly_scale(elements, cm__ops[n->op].flop_per_element);
    add_traffic(g, n);
}

void cm__cost_none(const cm_graph *g, cm_node *n) { (void)g, (void)n; }

void cm__cost_stream(const cm_graph *g, cm_node *n) { per_element(g, n, output_elements(g, n)); }

void cm__cost_reduce(const cm_graph *g, cm_node *n) { per_element(g, n, cm_tensor_elements(cm__in(g, n, 0))); }

void cm__cost_pool(const cm_graph *g, cm_node *n)
{
    const cm__attr *kernel = cm__attr_find(n, CM_ATTR_KERNEL_SHAPE);
    cm_poly         work = output_elements(g, n);
    for (int32_t i = 0; kernel && i < kernel->count; i++) work = cm__poly_scale(work, (double)kernel->ints[i]);
    per_element(g, n, work);
}

/* Frameworks keep the pooled input, but the kernel reads only its shape. */
void cm__cost_pool_grad(const cm_graph *g, cm_node *n)
{
    n->flop = output_elements(g, n);
    add_read(g, n, n->inputs[0]);
    if (cm__has(n, 2)) add_read(g, n, n->inputs[2]);
    n->write_bytes = cm_tensor_bytes(cm__t(g, n->outputs[0]));
}

void cm__cost_gather(const cm_graph *g, cm_node *n)
{
    const cm_tensor *y = cm__t(g, n->outputs[0]);
    n->read_bytes = cm__poly_add(cm_tensor_bytes(y), bytes_touched(g, n->inputs[1]));
    n->write_bytes = cm_tensor_bytes(y);
}

/* 5 N log2 N for N complex points, half of that for real ones. The gradient of a transform of real numbers transforms
   complex ones. */
void cm__cost_fft(const cm_graph *g, cm_node *n)
{
    const cm_node   *forward = n->source >= 0 && n->phase == CM_BACKWARD ? &g->nodes[n->source] : n;
    const cm_tensor *x = cm__in(g, forward, 0), *y = cm__t(g, forward->outputs[0]),
                    *whole = cm__is_float(x->dtype) ? x : y;
    const cm__attr  *axes = cm__attr_find(forward, CM_ATTR_AXES);
    double           points = 1;
    bool             complex_points = x->dtype == y->dtype || (forward != n && cm__is_float(x->dtype));
    for (int32_t i = 0; axes && i < axes->count; i++)
        points *= (double)whole->dims[axes->ints[i] < 0 ? axes->ints[i] + whole->rank : axes->ints[i]].fixed;
    n->flop = cm__poly_scale(cm_tensor_elements(whole), (complex_points ? 5 : 2.5) * log2(fmax(2, points)));
    add_traffic(g, n);
}

#define CLASS_FLOP 5 /* of the gradient per class: exp(x), times the gradient of the loss */

/* Per state: a sum of three numbers by their logarithms. The gradient computes as many from the last frame on. */
void cm__cost_ctc_loss(const cm_graph *g, cm_node *n)
{
    const cm_node *forward = n->source >= 0 && n->phase == CM_BACKWARD ? &g->nodes[n->source] : n;
    per_element(g, n, cm_tensor_elements(cm__t(g, forward->outputs[1])));
    if (n != forward)
        n->flop = cm__poly_add(n->flop, cm__poly_scale(cm_tensor_elements(cm__in(g, forward, 0)), CLASS_FLOP));
}

/* For each pair and coordinate. */
void cm__cost_distances(const cm_graph *g, cm_node *n)
{
    const cm_node   *forward = n->source >= 0 && n->phase == CM_BACKWARD ? &g->nodes[n->source] : n;
    const cm_tensor *x = cm__in(g, forward, 0);
    double           width = x->rank ? (double)x->dims[x->rank - 1].fixed : 1;
    per_element(g, n, cm__poly_scale(cm_tensor_elements(cm__t(g, forward->outputs[0])), width));
}

/* Only the part is read and written; nothing is if it is in place already. */
void cm__cost_written(const cm_graph *g, cm_node *n)
{
    if (cm__attr_int(n, CM_ATTR_IN_PLACE, 0)) return;
    add_read(g, n, n->inputs[1]);
    n->write_bytes = cm_tensor_bytes(cm__in(g, n, 1));
}

/* ---- matrix products -------------------------------------------------------------------------------------------- */

/* A product of complex numbers is four products of real ones. */
static void product(const cm_graph *g, cm_node *n, const cm_tensor *rows, cm_dim inner)
{
    double flop = rows->dtype == CM_COMPLEX64 ? 8 : 2;
    n->flop = cm__poly_scale(cm__poly_mul(cm_tensor_elements(rows), cm__poly_dim(inner)), flop);
    add_traffic(g, n);
}

void cm__cost_gemm(const cm_graph *g, cm_node *n)
{
    const cm_tensor *x = cm__in(g, n, 0);
    bool             by_column = n->op == CM_OP_GEMM && cm__attr_int(n, CM_ATTR_TRANS_A, 0);
    product(g, n, cm__t(g, n->outputs[0]), x->dims[by_column ? 0 : x->rank - 1]);
}

static void conv_of(const cm_graph *g, cm_node *n, const cm_tensor *positions, const cm_tensor *w)
{
    n->flop =
        cm__poly_scale(cm__poly_mul(cm_tensor_elements(positions), cm__poly_product(w->dims + 1, w->rank - 1)), 2);
    add_traffic(g, n);
}

void cm__cost_conv(const cm_graph *g, cm_node *n)
{
    bool transposed = n->op == CM_OP_CONV_TRANSPOSE; /* every input position spreads over the kernel */
    conv_of(g, n, transposed ? cm__in(g, n, 0) : cm__t(g, n->outputs[0]), cm__in(g, n, 1));
}

void cm__cost_qlinear(const cm_graph *g, cm_node *n)
{
    const cm_tensor *x = cm__in(g, n, 0), *y = cm__t(g, n->outputs[0]);
    if (n->op == CM_OP_QLINEAR_CONV) conv_of(g, n, y, cm__in(g, n, 3));
    else product(g, n, y, x->dims[x->rank - 1]);
}

void cm__cost_einsum(const cm_graph *g, cm_node *n) { add_traffic(g, n); } /* the shape rule sets the FLOP */

void cm__cost_attention(const cm_graph *g, cm_node *n)
{
    const cm_tensor *q = cm__in(g, n, 0), *k = cm__in(g, n, 1), *y = cm__t(g, n->outputs[0]);
    cm_poly          elements = cm__poly_add(cm_tensor_elements(q), cm_tensor_elements(y));
    n->flop = cm__poly_scale(cm__poly_mul(elements, cm__poly_dim(k->dims[k->rank - 2])), 2);
    add_traffic(g, n);
}

void cm__cost_rnn(const cm_graph *g, cm_node *n)
{
    const cm_tensor *x = cm__in(g, n, 0);
    cm_poly          weights = cm__poly_add(cm_tensor_elements(cm__in(g, n, 1)), cm_tensor_elements(cm__in(g, n, 2)));
    n->flop = cm__poly_scale(cm__poly_mul(weights, cm__poly_product(x->dims, 2)), 2);
    add_traffic(g, n);
}

static void as_forward(const cm_graph *g, cm_node *n, double times)
{
    n->flop = cm__poly_scale(g->nodes[n->source].flop, times);
    add_traffic(g, n);
}

void cm__cost_conv_grad(const cm_graph *g, cm_node *n) { as_forward(g, n, 1); }
void cm__cost_gemm_grad(const cm_graph *g, cm_node *n) { as_forward(g, n, 1); }
void cm__cost_attention_grad(const cm_graph *g, cm_node *n) { as_forward(g, n, ATTENTION_BACKWARD); }
void cm__cost_deformed_grad(const cm_graph *g, cm_node *n) { as_forward(g, n, 2); }
void cm__cost_rnn_grad(const cm_graph *g, cm_node *n) { as_forward(g, n, 2); }

/* ---- update ----------------------------------------------------------------------------------------------------- */

/* FLOP of PyTorch's update formulas, per parameter. */
static const double update_flop[CM_OPTIMIZERS] = {
    [CM_OPTIMIZER_SGD] = 2, [CM_OPTIMIZER_MOMENTUM] = 4, [CM_OPTIMIZER_ADAM] = 14, [CM_OPTIMIZER_ADAMW] = 16,
    [CM_OPTIMIZER_ADAMW_8BIT] = 24, [CM_OPTIMIZER_PAGED_ADAMW] = 16, [CM_OPTIMIZER_PAGED_ADAMW_8BIT] = 24,
};

void cm__cost_update(const cm_graph *g, cm_node *n)
{
    for (int32_t i = 0; i < n->n_inputs; i++) {
        const cm_tensor *t = cm__in(g, n, i);
        add_read(g, n, n->inputs[i]);
        if (t->role == CM_ROLE_PARAMETER)
            n->flop = cm__poly_add(n->flop, cm__poly_scale(cm_tensor_elements(t), update_flop[g->optimizer]));
        if (t->role == CM_ROLE_PARAMETER || t->role == CM_ROLE_STATE)
            n->write_bytes = cm__poly_add(n->write_bytes, cm_tensor_bytes(t));
    }
}

void cm__cost_all(cm_graph *g)
{
    for (int32_t i = 0; i < g->n_nodes; i++) {
        cm_node *n = &g->nodes[i];
        if (n->op != CM_OP_EINSUM) n->flop = cm__poly_const(0);
        n->read_bytes = n->write_bytes = cm__poly_const(0);
        if (n->view) continue;
        if (cm__ops[n->op].view) cm__cost_stream(g, n); /* this reshape copies */
        else cm__ops[n->op].cost(g, n);
    }
}
