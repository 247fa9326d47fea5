/* SPDX-License-Identifier: Apache-2.0 */
/*
 * state_space.c - shape, cost and gradient of state-space layers.
 *
 * One operator is what the packages mamba-ssm and flash-linear-attention run as one autograd function: convolution,
 * scan, gate and norm. It saves its inputs and the result before gate and norm; backward computes the states again.
 * Mamba 2 (arXiv:2405.21060, section 6) divides tokens into chunks of L: products inside a chunk, and one state per
 * chunk that is passed on. The gated delta rule (arXiv:2412.06464) does the same with two more products for the inverse
 * that joins a chunk's updates. Mamba's recurrence (arXiv:2312.00752) is no product.
 */
#include "graph/rules/state_space.h"

#include "graph/rules/backward.h"
#include "graph/rule.h"
#include "graph/rules/rules.h"

/* Per number of Mamba's state and token: exp(dt A) 5, dt x B 2, the state's update 2, y += C h 2. */
#define RECURRENCE_FLOP 11.0

cm__scan cm__scan_of(const cm_node *n)
{
    const cm__attr *a = cm__attr_find(n, CM_ATTR_SCAN);
    cm__scan        s = {.heads = 0};
    if (a && a->count == CM__SCAN_SIZES)
        s = (cm__scan){a->ints[0], a->ints[1], a->ints[2], a->ints[3], a->ints[4], a->ints[5], a->ints[6]};
    return s;
}

int64_t cm__scan_width(const cm__scan *s) { return s->heads * s->dim; }

int64_t cm__scan_channels(const cm__scan *s)
{
    return cm__scan_width(s) + (s->kind == CM__SCAN_MAMBA ? 0 : 2 * s->groups * s->state);
}

int32_t cm__scan_products(const cm__scan *s, cm__scan_product out[CM__SCAN_PRODUCTS])
{
    double L = (double)s->chunk, half = L / 2, n = (double)s->state, p = (double)s->dim, H = (double)s->heads,
           G = (double)s->groups;
    const cm__scan_product mamba2[] = {
        {G, L, L, n, 1, 1},        /* C B^T; again in backward */
        {H, p, n, L, 1, 2},        /* states x^T B; again, and their gradient */
        {H, L, p, half + n, 1, 1}, /* (C B^T, causal) x and C times the state; the gradient of x */
        {H, L, n, p, 0, 2},        /* gradients of B and C by the states */
        {H, L, half, p, 0, 1},     /* gradient of C B^T */
        {G, L, n, L, 0, 2}};       /* gradients of B and C by it */
    const cm__scan_product delta[] = {
        {H, L, L, n, 2, 4},  /* k k^T and q k^T */
        {H, L, n, L, 1, 3},  /* the inverse by k; again in backward, as all that follows from it */
        {H, L, p, L, 2, 5},  /* the inverse by v, and (q k^T) v */
        {H, L, p, n, 2, 5},  /* what a state predicts, and q times the state */
        {H, n, p, L, 1, 3}}; /* the state's update */
    const cm__scan_product *from = s->kind == CM__SCAN_DELTA ? delta : mamba2;
    int32_t count = s->kind == CM__SCAN_MAMBA ? 0 : s->kind == CM__SCAN_DELTA ? 5 : 6;
    for (int32_t i = 0; i < count; i++) out[i] = from[i];
    return count;
}

double cm__scan_functions(const cm__scan *s)
{
    double scan = s->kind == CM__SCAN_MAMBA ? RECURRENCE_FLOP * (double)(cm__scan_width(s) * s->state) : 0;
    return scan + 2 * (double)(s->kernel * cm__scan_channels(s));
}

cm_poly cm__scan_tokens(const cm_graph *g, const cm_node *forward)
{
    return cm__poly_product(cm__in(g, forward, CM__SCAN_PROJECTED)->dims, 2);
}

void cm__shape_state_space(cm_graph *g, cm_node *n)
{
    const cm_tensor *x = cm__in(g, n, CM__SCAN_PROJECTED);
    cm__scan         s = cm__scan_of(n);
    if (x->rank != 3 || s.heads < 1 || s.dim < 1 || s.chunk < 1 || s.state < 1)
        cm__fail(g->ctx, CM_ERR_FORMAT, "a state space over %s without sizes", cm__dims_text(g, x));
    if (x->dims[2].per_batch || x->dims[2].fixed < cm__scan_width(&s) + cm__scan_channels(&s))
        cm__fail(g->ctx, CM_ERR_FORMAT, "%s does not contain %lld channels and a gate", cm__dims_text(g, x),
                 (long long)cm__scan_channels(&s));
    cm_dim dims[] = {x->dims[0], x->dims[1], cm__fixed(cm__scan_width(&s))};
    cm__set_output(g, n, 0, x->dtype, 3, dims);
    cm__set_output(g, n, 1, x->dtype, 3, dims); /* before gate and norm */
    cm__t(g, n->outputs[1])->role = CM_ROLE_SAVED;
}

static double flop_of(const cm__scan *s, bool backward)
{
    cm__scan_product p[CM__SCAN_PRODUCTS];
    int32_t          count = cm__scan_products(s, p);
    double           sum = cm__scan_functions(s) * (backward ? 3 : 1); /* again, and two gradients */
    for (int32_t i = 0; i < count; i++)
        sum += 2 * p[i].stack * p[i].m * p[i].n * p[i].k / (double)s->chunk * (backward ? p[i].backward : p[i].forward);
    return sum;
}

static void add_cost(const cm_graph *g, cm_node *n, const cm_node *forward)
{
    cm__scan s = cm__scan_of(forward);
    cm__cost_stream(g, n);
    n->flop = cm__poly_scale(cm__scan_tokens(g, forward), flop_of(&s, n != forward));
}

void cm__cost_state_space(const cm_graph *g, cm_node *n)
{
    add_cost(g, n, n->source >= 0 && n->phase == CM_BACKWARD ? &g->nodes[n->source] : n);
}

void cm__gradient_state_space(cm__backward *b, const cm_node *n)
{
    int32_t inputs[CM__SCAN_INPUTS + 2] = {cm__gradient_of_output(b, n, 0)}, count = 1;
    for (int32_t i = 0; i < n->n_inputs; i++)
        if (cm__has(n, i)) inputs[count++] = cm__kept(b, n->inputs[i]);
    inputs[count++] = cm__kept(b, n->outputs[1]);
    cm__back_joint(b, n, CM_OP_STATE_SPACE_GRAD, inputs, count, 0, CM__SCAN_INPUTS - 1);
}
