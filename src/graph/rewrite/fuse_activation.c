/* SPDX-License-Identifier: Apache-2.0 */
/* fuse_activation.c - fuse written-out GELU (by erf and by tanh) and SiLU. */
#include <math.h>
#include "graph/rewrite/fuse.h"

#define GELU_DEPTH 6 /* most operators from x to the erf or tanh: tanh(c (x + c' x^3)) */

static bool near(double a, double b) { return fabs(a - b) < 1e-3 * fabs(b); }
static bool is_half(const cm__fuser *f, int32_t node) { return near(cm__scale_of(f, node), 0.5); }

/* The other operand of the Mul at `node`: x itself or half of it. */
static int32_t factor_of(const cm__fuser *f, int32_t node, int32_t tensor)
{
    int32_t other = cm__other_input(&f->g->nodes[node], tensor), made = other < 0 ? -1 : cm__t(f->g, other)->producer;
    int32_t scaled = made < 0 ? -1 : cm__scaled_input(f, made);
    return scaled >= 0 && is_half(f, made) ? scaled : other;
}

/* Follow 1 + erf(...) to the end: times x and times one half, in either order. Returns the last node. */
static int32_t last_of_gelu(const cm__fuser *f, int32_t one_plus, int32_t inside, int32_t *x)
{
    int32_t mul = cm__only_reader_op(f, one_plus, CM_OP_MUL);
    if (mul < 0) return -1;
    bool halved_first = cm__scaled_input(f, mul) >= 0 && is_half(f, mul);
    if (halved_first) {
        one_plus = f->g->nodes[mul].outputs[0];
        mul = cm__only_reader_op(f, one_plus, CM_OP_MUL);
        if (mul < 0) return -1;
    }
    *x = factor_of(f, mul, one_plus);
    if (*x < 0 || !cm__comes_from(f, inside, *x, GELU_DEPTH)) return -1;
    bool    halved_before = halved_first || *x != cm__other_input(&f->g->nodes[mul], one_plus);
    int32_t half = halved_before ? -1 : cm__only_reader(f, f->g->nodes[mul].outputs[0]);
    if (halved_before) return mul;
    return half >= 0 && cm__scaled_input(f, half) >= 0 && is_half(f, half) ? half : -1;
}

static bool cubed_by_pow(const cm__fuser *f, int32_t tensor, int depth)
{
    int32_t node = tensor < 0 ? -1 : cm__t(f->g, tensor)->producer;
    if (node < 0 || depth == 0) return false;
    const cm_node *n = &f->g->nodes[node];
    if (n->op == CM_OP_POW) return true;
    for (int32_t i = 0; i < n->n_inputs && i < 2; i++)
        if (cubed_by_pow(f, n->inputs[i], depth - 1)) return true;
    return false;
}

void cm__fuse_gelu(cm__fuser *f, int32_t node)
{
    const cm_node *n = &f->g->nodes[node];
    if (n->op != CM_OP_ERF && n->op != CM_OP_TANH) return;
    if (f->eager && cubed_by_pow(f, n->inputs[0], 4)) return; /* written by hand */
    int32_t add = cm__only_reader_op(f, n->outputs[0], CM_OP_ADD), inner = cm__t(f->g, n->inputs[0])->producer, x;
    if (n->op == CM_OP_ERF && (inner < 0 || cm__scaled_input(f, inner) < 0 || !near(cm__scale_of(f, inner), M_SQRT1_2)))
        return;
    double one;
    if (add < 0 || !cm__is_number(f, cm__other_input(&f->g->nodes[add], n->outputs[0]), &one) || one != 1) return;
    int32_t last = last_of_gelu(f, f->g->nodes[add].outputs[0], n->inputs[0], &x);
    if (last >= 0) cm__rewrite(f, last, CM_OP_GELU, &x, 1, NULL, 0);
}

/* x * sigmoid(x), or x * sigmoid(c x) */
void cm__fuse_silu(cm__fuser *f, int32_t node)
{
    const cm_node *n = &f->g->nodes[node];
    if (n->op != CM_OP_SIGMOID) return;
    int32_t mul = cm__only_reader_op(f, n->outputs[0], CM_OP_MUL), made = cm__t(f->g, n->inputs[0])->producer;
    if (mul < 0) return;
    int32_t x = cm__other_input(&f->g->nodes[mul], n->outputs[0]), scaled = made < 0 ? -1 : cm__scaled_input(f, made);
    if (x >= 0 && (x == n->inputs[0] || x == scaled)) cm__rewrite(f, mul, CM_OP_SILU, &x, 1, NULL, 0);
}
