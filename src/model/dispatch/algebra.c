/* SPDX-License-Identifier: Apache-2.0 */
/*
 * algebra.c - kernel calls of factorisations and solutions of linear systems.
 *
 * The kernels of a gradient follow torch/csrc/autograd/FunctionsManual.cpp (cholesky_backward,
 * linalg_solve_triangular_backward and others). Kernels that touch only a few numbers are not counted. The matrix A is
 * n x n, the other operand n x k.
 */
#include "model/dispatch/rules.h"

typedef enum step {
    END,
    COPY_A, COPY_B, /* in the column order of the library */
    FILL_A, ADD_A, SCALE_A, NEGATE_A,
    TRIANGLE_A,     /* keeps one half of it */
    CHOLESKY, LU,
    SUBSTITUTE_B, SUBSTITUTE_A, /* a triangular system with k, with n right-hand sides */
    PRODUCT_B, PRODUCT_A,       /* (n x k) (k x n), (n x n) (n x n) */
} step;

#define STEPS 10

static const struct {
    int16_t op;
    uint8_t forward[STEPS], backward[STEPS];
} factorised[] = {
    {CM_OP_CHOLESKY, {COPY_A, CHOLESKY, TRIANGLE_A},
     {PRODUCT_A, TRIANGLE_A, SCALE_A, COPY_A, SUBSTITUTE_A, COPY_A, SUBSTITUTE_A, ADD_A, TRIANGLE_A}},
    {CM_OP_TRIANGULAR_SOLVE, {COPY_B, SUBSTITUTE_B}, {COPY_B, SUBSTITUTE_B, PRODUCT_B, NEGATE_A, TRIANGLE_A}},
    {CM_OP_CHOLESKY_SOLVE, {COPY_B, SUBSTITUTE_B, SUBSTITUTE_B},
     {COPY_B, SUBSTITUTE_B, SUBSTITUTE_B, PRODUCT_B, ADD_A, PRODUCT_A, NEGATE_A}},
    {CM_OP_LINEAR_SOLVE, {COPY_A, LU, COPY_B, SUBSTITUTE_B, SUBSTITUTE_B},
     {COPY_B, SUBSTITUTE_B, SUBSTITUTE_B, COPY_B, COPY_B, PRODUCT_B, NEGATE_A}},
    {CM_OP_DETERMINANT, {COPY_A, LU}, {FILL_A, ADD_A, COPY_A, SUBSTITUTE_A, SUBSTITUTE_A, COPY_A, COPY_A}},
    {CM_OP_INVERSE, {COPY_A, LU, SUBSTITUTE_A, SUBSTITUTE_A}, {PRODUCT_A, PRODUCT_A, NEGATE_A}},
};

typedef struct system {
    cm__dispatch *d;
    int32_t       node, a, x; /* tensors: the matrices; the solution, or -1 */
    cm_poly       batch, n, k;
} system;

/* The kernel of a step: elementwise over a matrix, a loop over rows, or a product. `other`: of the other operand. */
typedef struct kernel {
    enum { ELEMENTWISE, LOOP, PRODUCT } how;
    cm__variant name;
    bool        other;
} kernel;

static const kernel kernels[] = {
    [COPY_A] = {ELEMENTWISE, CM__V_COPY, false},     [COPY_B] = {ELEMENTWISE, CM__V_COPY, true},
    [FILL_A] = {ELEMENTWISE, CM__V_FILL, false},     [ADD_A] = {ELEMENTWISE, CM__V_ADD, false},
    [SCALE_A] = {ELEMENTWISE, CM__V_SCALE, false},   [NEGATE_A] = {ELEMENTWISE, CM__V_NEG, false},
    [TRIANGLE_A] = {ELEMENTWISE, CM__V_COPY, false}, [CHOLESKY] = {LOOP, CM__V_CHOLESKY, false},
    [LU] = {LOOP, CM__V_LU, false},                  [SUBSTITUTE_B] = {LOOP, CM__V_SUBSTITUTE, true},
    [SUBSTITUTE_A] = {LOOP, CM__V_SUBSTITUTE, false}, [PRODUCT_B] = {PRODUCT, CM__V_NONE, true},
    [PRODUCT_A] = {PRODUCT, CM__V_NONE, false},
};

static void run(const system *s, step what)
{
    const kernel *k = &kernels[what];
    cm_poly       columns = k->other ? s->k : s->n;
    int32_t       x = k->other && s->x >= 0 ? s->x : s->a;
    cm_dtype      dtype = cm__t(s->d->g, s->a)->dtype;
    if (k->how == LOOP)
        CM__CALL_SIZED(s->d, s->node, cm__call_begin(s->d, CM__CALL_FACTOR, CM__PASS_FORWARD, k->name, dtype, false), s->batch, s->n,
                       columns);
    else if (k->how == PRODUCT)
        cm__call_product(s->d, s->node, CM__V_NT, dtype, (cm_poly[]){s->batch, s->n, s->n, columns});
    else cm__call_over(s->d, s->node, k->name, x, what == ADD_A ? s->a : -1, x);
}

/* The right-hand sides are the columns of the solution, or its rows if the matrix is on its right. */
static cm_poly sides(const cm_tensor *a, const cm_tensor *x)
{
    if (x->rank < a->rank) return cm__poly_const(1);
    bool left = cm__dim_same(x->dims[x->rank - 2], a->dims[a->rank - 1]);
    return cm__poly_dim(x->dims[x->rank - (left ? 1 : 2)]);
}

void cm__dispatch_algebra(cm__dispatch *d, int32_t node)
{
    const cm_node *n = cm__node(d, node), *forward = cm__forward_of(d, n);
    bool           given = forward->op == CM_OP_CHOLESKY_SOLVE; /* of which the matrix is the second operand */
    system         s = {.d = d, .node = node, .a = forward->inputs[given], .x = -1};
    const cm_tensor *a = cm__t(d->g, s.a);
    if (a->rank < 2) return;
    if (forward->n_inputs > 1) s.x = forward->outputs[0];
    s.n = cm__poly_dim(a->dims[a->rank - 1]);
    s.k = s.x < 0 ? s.n : sides(a, cm__t(d->g, s.x));
    s.batch = cm__poly_product(a->dims, a->rank - 2);
    for (size_t i = 0; i < sizeof factorised / sizeof *factorised; i++)
        for (int k = 0; factorised[i].op == forward->op && k < STEPS; k++) {
            step what = (n == forward ? factorised[i].forward : factorised[i].backward)[k];
            if (what != END) run(&s, what);
        }
}
