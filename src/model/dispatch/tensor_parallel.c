/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tensor_parallel.c - the kernel calls of one device of a parallel plan, after Megatron-LM.
 *
 * Tensor parallelism divides products with a parameter by columns or rows, attention by heads, losses by classes, and
 * operators between them by elements. Tensors that are not split are computed by every device; sequence parallelism
 * divides them by tokens. Expert parallelism divides experts among replicas, which send each other the tokens. Context
 * parallelism divides the tokens of every call; in attention only the queries, which use the keys of all devices. With
 * a causal mask early queries have fewer scores: each device takes one early and one late block, so that all devices
 * have equally many. A device updates the parameters it has; ZeRO divides the update among replicas.
 */
#include <math.h>
#include "model/dispatch/rules.h"
#include "model/dispatch/tensor_parallel.h"

/* ---- parameters of a device ------------------------------------------------------------------------------------- */

bool cm__plan_shares(const cm_plan *p)
{
    return p->tp > 1 || p->ep > 1 || p->cp > 1 || p->pp > 1 || (p->zero && cm__replicas(p) > 1);
}

/* The fraction of a parameter that this device has. */
static double part_of_parameter(const cm_graph *g, const cm__shards *s, const cm_node *n)
{
    bool expert = s->ep > 1 && cm__is_expert(g, n);
    bool divided = s->tp > 1 && (cm__division_of(g, n, s->split) != CM__WHOLE || cm__is_table(n));
    return 1.0 / ((divided && !(expert && s->whole_experts) ? s->tp : 1) * (expert ? s->ep : 1));
}

/* Finds the fraction of all parameters that this device has. A parameter is divided as by the first forward node that
   reads it. */
static void find_parameters(cm__ctx *ctx, const cm_graph *g, cm__shards *s)
{
    bool  *seen = cm__alloc_array(ctx, (size_t)g->n_tensors + 1, sizeof *seen);
    double all = 0;
    s->here = s->experts = 0;
    for (int32_t i = 0; i < g->n_nodes; i++)
        for (int32_t k = 0; g->nodes[i].phase == CM_FORWARD && k < g->nodes[i].n_inputs; k++) {
            int32_t parameter = cm__parameter_read(g, &g->nodes[i], k);
            if (parameter < 0 || seen[parameter]) continue;
            double elements = cm_tensor_elements(cm__t(g, parameter)).c[0];
            seen[parameter] = true;
            all += elements;
            double here = elements * part_of_parameter(g, s, &g->nodes[i]);
            s->here += here;
            if (cm__is_expert(g, &g->nodes[i])) s->experts += here;
        }
    s->here = all > 0 ? s->here / all : 1;
    s->experts = all > 0 ? s->experts / all : 0;
}

static void find_updated(cm__shards *s, const cm_plan *p)
{
    s->updated = 1.0 / ((p->pp > 1 ? p->pp : 1) * (p->zero ? cm__sharing(p, s->experts / s->here) : 1));
    s->update = s->updated * s->here;
}

static const bool *split_of(cm__ctx *ctx, const cm_graph *g, const cm_plan *p, const cm__shards *other)
{
    if (other && other->split && (other->tp > 1) == (p->tp > 1)) return other->split;
    bool *split = cm__alloc_array(ctx, (size_t)g->n_tensors + 1, sizeof *split);
    if (p->tp > 1) cm__find_split(g, split);
    return split;
}

bool cm__same_parameters(const cm__shards *a, const cm__shards *b)
{
    return b && a->split && a->split == b->split && a->tp == b->tp && a->ep == b->ep &&
           a->whole_experts == b->whole_experts;
}

cm__shards cm__shards_new(cm__ctx *ctx, const cm_graph *g, const cm_plan *p, const cm__shards *other)
{
    cm__shards s = {.tp = p->tp, .ep = p->ep, .split = split_of(ctx, g, p, other), .in_pieces = p->async_tensor,
                    .routes_behind = p->async_experts,
                    .imbalance = p->expert_imbalance > 1 ? p->expert_imbalance : 1, .cp = p->cp > 1 ? p->cp : 1,
                    .sequence = p->sequence_parallel && p->tp > 1, .whole_experts = cm__whole_experts(p)};
    if (cm__same_parameters(&s, other)) s.here = other->here, s.experts = other->experts;
    else find_parameters(ctx, g, &s);
    find_updated(&s, p);
    return s;
}

cm__shards cm__shards_like(cm__ctx *ctx, const cm_graph *g, const cm__shards *like, const cm_plan *p)
{
    cm__shards s = *like;
    if (!s.split || s.whole_experts != cm__whole_experts(p)) return cm__shards_new(ctx, g, p, NULL);
    find_updated(&s, p);
    return s;
}

/* ---- kernel calls ----------------------------------------------------------------------------------------------- */

static void divide(cm__sized_call *c, int size, int32_t by)
{
    c->sizes[size] = cm__poly_scale(c->sizes[size], 1.0 / by);
    for (int i = CM__WORK_NUMBERS; cm__has_work(c) && i < CM__WORK_END; i++)
        c->sizes[i] = cm__poly_scale(c->sizes[i], 1.0 / by);
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

/* Returns which of batch, m, n, k of a product is divided. The gradient of the input is m x k over n; that of the
   parameter is n x k over m, or k x n if the parameter is stored transposed. */
static int divided_size(const cm_node *n, const cm_node *forward, cm__division division)
{
    bool columns = division == CM__COLUMNS;
    if (n->phase != CM_BACKWARD) return columns ? CM__GEMM_N : CM__GEMM_K;
    if (cm__is_input_gradient(n, forward)) return columns ? CM__GEMM_K : CM__GEMM_N;
    bool n_first = cm__ops[n->op].shard == CM__SHARD_weight_gradient && stored_nk(forward);
    return columns == n_first ? CM__GEMM_M : CM__GEMM_N;
}

/* An embedding table, which is divided by rows of the vocabulary. */
static bool is_table(const cm__dispatch *d, const cm_node *n)
{
    const cm_node *forward = cm__forward_of(d, n);
    return cm__is_table(forward) && cm__parameter_read(d->g, forward, 0) >= 0;
}

/* The rank of the parameter that a cast, or the gradient of one, covers; -1: another node. */
static int8_t cast_rank(const cm__dispatch *d, const cm_node *n)
{
    const cm_node   *forward = cm__forward_of(d, n);
    const cm_tensor *x = cm__ops[forward->op].shard == CM__SHARD_copy ? cm__in(d->g, forward, 0) : NULL;
    return x && (x->role == CM_ROLE_PARAMETER || x->role == CM_ROLE_CAST) ? (int8_t)x->rank : -1;
}

static cm__way way_of_product(const cm__dispatch *d, const cm_node *n)
{
    const cm_node *forward = cm__forward_of(d, n);
    cm__division   division = cm__division_of(d->g, forward, d->shards.split);
    bool           expert = cm__is_expert(d->g, forward);
    return (cm__way){.product = division != CM__WHOLE ? (int8_t)divided_size(n, forward, division)
                                : touches_split(d, n) ? CM__GEMM_BATCH
                                                      : -1,
                     .expert = expert,
                     .of_weight = expert && n->phase == CM_BACKWARD && !cm__is_input_gradient(n, forward)};
}

cm__way cm__way_of(const cm__dispatch *d, int32_t node, int16_t op)
{
    const cm_node *n = cm__node(d, node);
    if (n->phase == CM_UPDATE) return (cm__way){.update = true};
    cm__way way = op == CM__CALL_GEMM ? way_of_product(d, n)
                                      : (cm__way){.cast = op == CM__CALL_ELEMENTWISE ? cast_rank(d, n) : -1,
                                                  .split = is_table(d, n) || touches_split(d, n)};
    way.attention = cm__class(n) == CM_CLASS_ATTENTION;
    return way;
}

/* A device has 1/ep of the experts, and each of these gets the tokens of ep times as many replicas, or of ep / tp times
   as many if each tensor-parallel device sends a part of its replica's tokens. All wait for the device with the most
   tokens. */
static void divide_experts(const cm__shards *s, bool of_weight, cm__sized_call *c)
{
    int tokens = of_weight ? CM__GEMM_K : CM__GEMM_M;
    divide(c, CM__GEMM_BATCH, s->ep);
    double from = s->whole_experts ? (double)s->ep / s->tp : s->ep;
    c->sizes[tokens] = cm__poly_scale(c->sizes[tokens], from * s->imbalance);
}

static void divide_product(const cm__shards *s, cm__way way, cm__sized_call *c)
{
    bool expert = s->ep > 1 && way.expert;
    if (way.product >= 0 && !(expert && s->whole_experts)) divide(c, way.product, s->tp);
    if (expert) divide_experts(s, way.of_weight, c);
}

static void divide_heads(const cm__shards *s, cm__sized_call *c)
{
    divide(c, CM__ATTENTION_HEADS, s->tp);
    divide(c, CM__ATTENTION_KV_HEADS, s->tp);
    /* if there are fewer key heads than devices, devices store copies of the same head */
    if (c->sizes[CM__ATTENTION_KV_HEADS].c[0] < 1) c->sizes[CM__ATTENTION_KV_HEADS] = cm__poly_const(1);
}

/* For each kind of call: the size that is divided if its tensors are split, and by sequence parallelism; -1: none. */
static const struct {
    int8_t split, tokens;
} sizes[CM__CALLS] = {
#define CALL(id, name, engine, work, split, tokens) [CM__CALL_##id] = {CM__##id##_##split, CM__##id##_##tokens},
#include "device/calls.def"
};

/* A kernel over one run of elements, which has no other size to divide. */
static bool is_run(const cm__sized_call *c)
{
    const double *outer = c->sizes[CM__ELEMENTWISE_OUTER].c;
    return c->op == CM__CALL_ELEMENTWISE && outer[0] == 1 && outer[1] == 0 && outer[2] == 0;
}

/* The preferred size, or the largest one if the preferred size is smaller than the number of devices. */
static int large_enough(const cm__sized_call *c, int at, int32_t by)
{
    int largest = at;
    if (is_run(c)) return CM__ELEMENTWISE_INNER;
    if (cm__poly_at(&c->sizes[at], 1) >= by) return at;
    for (int i = 0; i < cm__call_kinds[c->op].n_sizes; i++)
        if (cm__poly_at(&c->sizes[i], 1) > cm__poly_at(&c->sizes[largest], 1)) largest = i;
    return largest;
}

/* The size that counts a call's tokens: one that grows with the batch and has at least one token per device.
   Otherwise the largest size: such a call runs once per sample over all tokens. */
static int tokens_of(const cm__sized_call *c, int32_t cp)
{
    int largest = 0;
    if (is_run(c)) return CM__ELEMENTWISE_INNER;
    for (int i = 0; i < cm__call_kinds[c->op].n_sizes; i++) {
        if (c->sizes[i].c[1] >= cp) return i;
        if (c->sizes[i].c[0] > c->sizes[largest].c[0]) largest = i;
    }
    return largest;
}

static bool grows_with_batch(const cm__sized_call *c)
{
    for (int i = 0; i < cm__call_kinds[c->op].n_sizes; i++)
        if (c->sizes[i].c[1] > 0 || c->sizes[i].c[2] > 0) return true;
    return false;
}

/* Unfused attention is skipped here: cm__dispatch_math() already divides its queries. */
static void divide_tokens(const cm__shards *s, cm__way way, cm__sized_call *c)
{
    if (c->op == CM__CALL_ATTENTION) divide(c, CM__ATTENTION_Q, s->cp);
    else if (!way.attention && grows_with_batch(c)) divide(c, tokens_of(c, s->cp), s->cp);
}

/* An update has at least one tensor of one element. */
static void divide_update(const cm__shards *s, cm__sized_call *c)
{
    c->sizes[CM__OPTIMIZER_ELEMENTS].c[0] = fmax(1, c->sizes[CM__OPTIMIZER_ELEMENTS].c[0] * s->update);
}

/* Casts of a matrix, and their gradients, cover only the device's own part of it. */
static void divide_cast(const cm__shards *s, int rank, cm__sized_call *call)
{
    bool    whole = rank == 3 && s->whole_experts;
    int32_t by = (s->tp > 1 && !whole ? s->tp : 1) * (rank == 3 ? s->ep : 1);
    if (rank > 1) divide(call, CM__ELEMENTWISE_INNER, by);
}

/* Divides a call among the devices that share a layer. */
static void divide_layer(const cm__shards *s, cm__way way, cm__sized_call *call)
{
    int  at = way.split ? sizes[call->op].split : s->sequence ? sizes[call->op].tokens : -1;
    bool along = call->op == CM__CALL_REDUCE && call->sizes[CM__REDUCE_INNER].c[0] == 1; /* the split dimension */
    if (way.split && along) at = CM__REDUCE_REDUCE;
    if (call->op == CM__CALL_GEMM) divide_product(s, way, call);
    else if (call->op == CM__CALL_ATTENTION) divide_heads(s, call);
    else if (call->op == CM__CALL_ELEMENTWISE && way.cast >= 0) divide_cast(s, way.cast, call);
    else if (at >= 0) divide(call, large_enough(call, at, s->tp), s->tp);
}

void cm__shard_call(const cm__shards *s, cm__way way, cm__sized_call *call)
{
    if (way.update) {
        divide_update(s, call);
        return;
    }
    if (s->tp > 1 || s->ep > 1) divide_layer(s, way, call);
    if (s->cp > 1) divide_tokens(s, way, call);
}

/* ---- gradients --------------------------------------------------------------------------------------------------- */

double cm__gradient_copies(const cm_graph *g, cm_runtime runtime)
{
    bool bf16 = g->precision == CM_PRECISION_BF16 || g->precision == CM_PRECISION_FP8;
    for (int32_t t = 0; bf16 && t < g->n_tensors; t++)
        if (cm__t(g, t)->role == CM_ROLE_PARAMETER && cm_dtype_size(cm__t(g, t)->dtype) > 2) return 1;
    /* arguments.py: accumulate_allreduce_grads_in_fp32 */
    bool wide = cm__is_megatron(runtime) && !g->asked.megatron.narrow_gradients;
    return bf16 && wide ? 2 : 1;
}
