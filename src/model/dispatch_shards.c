/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dispatch_shards.c - calls of one of several devices that share each layer (tensor parallel, after Megatron-LM).
 *
 * Products with a parameter are divided by columns or rows, attention by heads, losses by classes, what lies between
 * them by elements. What is whole on every device is done by each, or with sequence parallelism divided by tokens.
 * Experts are divided among replicas, who send each other the tokens for them.
 */
#include "model/rules.h"
#include "model/shards.h"

static void divide(cm__sized_call *c, int size, int32_t by)
{
    c->sizes[size] = cm__poly_scale(c->sizes[size], 1.0 / by);
}

static bool touches_split(const cm__dispatch *d, const cm_node *n)
{
    for (int32_t k = 0; k < n->n_inputs; k++)
        if (cm__has(n, k) && cm__in(d->g, n, k)->role != CM_ROLE_PARAMETER && d->shards.split[n->inputs[k]])
            return true;
    for (int32_t o = 0; o < n->n_outputs; o++)
        if (n->outputs[o] >= 0 && d->shards.split[n->outputs[o]]) return true;
    return false;
}

static bool stored_nk(const cm_node *forward)
{
    return cm__attr_int(forward, CM_ATTR_TRANS_B, 0) || cm__attr_int(forward, CM_ATTR_STORED_TURNED, 0);
}

bool cm__is_input_gradient(const cm_node *n, const cm_node *forward)
{
    return n->op == CM_OP_GEMM_GRAD_INPUT || (n->op == CM_OP_MATMUL_GRAD && n->inputs[1] == forward->inputs[1]);
}

/* Which of batch, m, n, k of a product is divided. The gradient of the input is m x k over n; that of the parameter
   n x k over m, or k x n where it is stored so. */
static int divided_size(const cm_node *n, const cm_node *forward, cm__division division)
{
    bool columns = division == CM__COLUMNS;
    if (n->phase != CM_BACKWARD) return columns ? 2 : 3;
    if (cm__is_input_gradient(n, forward)) return columns ? 3 : 2;
    bool n_first = n->op == CM_OP_GEMM_GRAD_WEIGHT && stored_nk(forward);
    return columns == n_first ? 1 : 2;
}

bool cm__is_expert(const cm_graph *g, const cm_node *forward)
{
    const cm_tensor *w = cm_node_class(forward) == CM_CLASS_GEMM && cm__has(forward, 1) ? cm__in(g, forward, 1) : NULL;
    return w && w->rank == 3 && (w->role == CM_ROLE_PARAMETER || w->role == CM_ROLE_CAST);
}

/* Fewer experts, each with the tokens of as many more replicas. */
static void divide_experts(const cm__dispatch *d, const cm_node *n, const cm_node *forward, cm__sized_call *c)
{
    bool of_weight = n->phase == CM_BACKWARD && !cm__is_input_gradient(n, forward);
    int  tokens = of_weight ? 3 : 1;
    divide(c, 0, d->shards.ep);
    c->sizes[tokens] = cm__poly_scale(c->sizes[tokens], d->shards.ep);
}

static void divide_product(const cm__dispatch *d, const cm_node *n, cm__sized_call *c)
{
    const cm_node *forward = cm__forward_of(d, n);
    cm__division   division = cm__division_of(d->g, forward, d->shards.split);
    if (division != CM__WHOLE) divide(c, divided_size(n, forward, division), d->shards.tp);
    else if (touches_split(d, n)) divide(c, 0, d->shards.tp);
    if (d->shards.ep > 1 && cm__is_expert(d->g, forward)) divide_experts(d, n, forward, c);
}

static void divide_heads(const cm__dispatch *d, cm__sized_call *c)
{
    divide(c, 3, d->shards.tp);
    divide(c, 4, d->shards.tp);
    if (c->sizes[4].c[0] < 1) c->sizes[4] = cm__poly_const(1); /* key heads fewer than devices are kept twice */
}

/* Of each call: the size that is divided where its tensors are, and by sequence parallelism; -1: none. */
static const struct {
    int8_t split, tokens;
} sizes[CM__CALLS] = {
    [CM__CALL_GEMM] = {-1, -1},       [CM__CALL_CONV] = {-1, -1},     [CM__CALL_CONV3D] = {-1, -1},
    [CM__CALL_ATTENTION] = {-1, -1},  [CM__CALL_BATCH_NORM] = {1, 0}, [CM__CALL_LAYER_NORM] = {0, 0},
    [CM__CALL_RMS_NORM] = {0, 0},     [CM__CALL_GROUP_NORM] = {1, 0}, [CM__CALL_SOFTMAX] = {0, 0},
    [CM__CALL_CROSS_ENTROPY] = {1, 0}, [CM__CALL_ELEMENTWISE] = {1, 1}, [CM__CALL_REDUCE] = {2, 1},
    [CM__CALL_POOL] = {1, 0},         [CM__CALL_RESIZE] = {1, 0},     [CM__CALL_EMBEDDING] = {1, -1},
    [CM__CALL_RNN] = {-1, -1},        [CM__CALL_OPTIMIZER] = {1, 1},
};

void cm__shard_call(const cm__dispatch *d, int32_t node, cm__sized_call *call)
{
    const cm_node *n = cm__node(d, node);
    bool           split = call->op == CM__CALL_EMBEDDING || touches_split(d, n);
    int            at = split ? sizes[call->op].split : d->shards.sequence ? sizes[call->op].tokens : -1;
    bool           by_class = call->op == CM__CALL_REDUCE && split && call->sizes[2].c[0] == 1; /* a sum along them */
    if (n->phase == CM_UPDATE || by_class) at = 1; /* elements, in all of an update's calls */
    if (call->op == CM__CALL_GEMM) divide_product(d, n, call);
    else if (call->op == CM__CALL_ATTENTION) divide_heads(d, call);
    else if (at >= 0) divide(call, at, d->shards.tp);
}
