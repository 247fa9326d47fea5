/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shards.c - what one device of a plan holds of each piece.
 *
 * Tensor parallel, after Megatron-LM: a product with a parameter splits its output's columns if its input is whole, and
 * gives a whole output if its input is split; attention and elementwise operators stay as split as what they read;
 * what is whole everywhere else (norms, dropouts, sums of residuals) is split too under sequence parallelism.
 * Pipeline: a stage has its share of the layers; the first one keeps the activations of as many micro-batches as there
 * are stages (more with interleaving). ZeRO: data-parallel devices share states, gradients, weights.
 */
#include "graph/rule.h"
#include "model/footprint.h"
#include "model/parts.h"
#include "model/shards.h"

/* ---- tensor parallel --------------------------------------------------------------------------------------------- */

static bool any_input_split(const cm_graph *g, const cm_node *n, const bool *split)
{
    for (int32_t k = 0; k < n->n_inputs; k++)
        if (cm__has(n, k) && cm__t(g, n->inputs[k])->role != CM_ROLE_PARAMETER && split[n->inputs[k]]) return true;
    return false;
}

static bool has_parameter(const cm_graph *g, const cm_node *n)
{
    for (int32_t k = 1; k < n->n_inputs; k++)
        if (cm__has(n, k) &&
            (cm__in(g, n, k)->role == CM_ROLE_PARAMETER || cm__in(g, n, k)->role == CM_ROLE_CAST))
            return true;
    return false;
}

static bool same_shape(const cm_tensor *a, const cm_tensor *b)
{
    bool same = a->rank == b->rank;
    for (int32_t i = 0; same && i < a->rank; i++) same = cm__dim_same(a->dims[i], b->dims[i]);
    return same;
}

/* A gradient is split as the forward tensor of its shape is. */
static bool gradient_split(const cm_graph *g, const cm_node *n, const cm_tensor *y, const bool *split)
{
    const cm_node *forward = n->source >= 0 ? &g->nodes[n->source] : NULL;
    for (int32_t k = 0; forward && k < forward->n_inputs; k++)
        if (cm__has(forward, k) && same_shape(cm__in(g, forward, k), y)) return split[forward->inputs[k]];
    return any_input_split(g, n, split);
}

#define CHAIN_MAX 4 /* casts and a softmax or sigmoid between a router's product and its choice */

/* A router's product is whole on every device: each has to choose the same experts. */
static bool is_router(const cm_graph *g, const cm_node *product)
{
    int32_t at = (int32_t)(product - g->nodes), tensor = product->outputs[0];
    for (int32_t i = at + 1; i < g->n_nodes && i <= at + CHAIN_MAX; i++) {
        const cm_node *n = &g->nodes[i];
        if (n->n_inputs < 1 || n->inputs[0] != tensor) return false;
        if (n->op == CM_OP_TOP_K) return true;
        tensor = n->outputs[0];
    }
    return false;
}

static bool is_divided_product(const cm_graph *g, const cm_node *n)
{
    return cm_node_class(n) == CM_CLASS_GEMM && has_parameter(g, n) && !is_router(g, n);
}

cm__division cm__division_of(const cm_graph *g, const cm_node *forward, const bool *split)
{
    if (!is_divided_product(g, forward)) return CM__WHOLE;
    return any_input_split(g, forward, split) ? CM__ROWS : CM__COLUMNS;
}

void cm__find_split(const cm_graph *g, bool *split)
{
    for (int32_t i = 0; i < g->n_nodes; i++) {
        const cm_node *n = &g->nodes[i];
        bool           inputs = any_input_split(g, n, split);
        bool           product = is_divided_product(g, n);
        for (int32_t o = 0; o < n->n_outputs; o++) {
            if (n->outputs[o] < 0) continue;
            const cm_tensor *y = cm__t(g, n->outputs[o]);
            split[n->outputs[o]] =
                n->phase == CM_BACKWARD ? gradient_split(g, n, y, split) : product ? !inputs : inputs;
        }
    }
}

/* ---- factors ----------------------------------------------------------------------------------------------------- */

static bool is_activation(const cm__piece *x) { return x->category == CM_CATEGORY_INPUT_OUTPUT && x->born >= 0; }

/* Kept from forward to backward: so many micro-batches of it as are on their way. */
static double in_flight(const cm_footprint *f, const cm__piece *x)
{
    const cm_plan *p = &f->options.plan;
    bool           kept = f->step->nodes[x->born].phase == CM_FORWARD && x->dies < f->n_nodes &&
                f->step->nodes[x->dies].phase != CM_FORWARD;
    if (kept && p->offload_activations) return 2.0 / cm__part_count(f->step); /* one layer's are used, one's come */
    if (!kept || p->pp == 1) return 1;
    double stages = p->pp, first = p->gpipe ? p->accumulate : stages;
    if (p->gpipe) return first / stages;
    if (p->interleave > 1) first = stages * (1 + (stages - 1) / (stages * p->interleave));
    if (first > p->accumulate && p->accumulate > 1) first = p->accumulate;
    return first / stages;
}

static double share(const cm_footprint *f, const cm__piece *x, const bool *split)
{
    const cm_plan *p = &f->options.plan;
    cm_role        role = cm__t(f->step, x->tensor)->role;
    if (is_activation(x)) return in_flight(f, x) / p->cp / (split[x->tensor] || p->sequence_parallel ? p->tp : 1);
    if (role == CM_ROLE_STATE && p->offload_optimizer) return 0;
    if ((role == CM_ROLE_PARAMETER || role == CM_ROLE_CAST) && p->offload_weights)
        return 2.0 / cm__part_count(f->step) / p->tp;
    static const int8_t shared_from[CM_ROLES] = {
        [CM_ROLE_STATE] = 1, [CM_ROLE_PARAMETER_GRADIENT] = 2, [CM_ROLE_PARAMETER] = 3, [CM_ROLE_CAST] = 3};
    if (!shared_from[role]) return 1;
    bool   expert = p->ep > 1 && cm__t(f->step, x->tensor)->rank == 3; /* a matrix for each */
    double experts = expert ? p->ep : 1;
    return 1.0 / experts / ((double)p->tp * p->pp * (p->zero >= shared_from[role] ? p->dp : 1));
}

/* Gradients of earlier micro-batches are there before backward. */
static void keep_gradients(cm_footprint *f)
{
    for (int32_t i = 0; i < f->n_pieces; i++) {
        if (f->pieces[i].category != CM_CATEGORY_GRADIENTS) continue;
        f->pieces[i].born = -1;
        f->pieces[i].dies = f->n_nodes;
    }
}

/* Gradients are copied into buckets to be summed over devices; gathered weights of ZeRO 3 stand beside their shards. */
static void add_buckets(cm_footprint *f)
{
    const cm_plan *p = &f->options.plan;
    double         gradients = 0, largest = 0;
    for (int32_t i = 0; i < f->n_pieces; i++) {
        const cm__piece *x = &f->pieces[i];
        if (x->category == CM_CATEGORY_GRADIENTS) gradients += x->bytes.c[0];
        if (x->category == CM_CATEGORY_WEIGHTS_BIASES && x->bytes.c[0] > largest) largest = x->bytes.c[0];
    }
    double bytes = p->zero == 3 ? 2 * largest * p->dp : p->zero ? 2.0 * 25 * 1024 * 1024 : gradients; /* DDP: 25 MiB */
    if (p->dp > 1 && f->n_pieces)
        f->pieces[f->n_pieces++] = (cm__piece){cm__poly_const(bytes), 0, -1, f->n_nodes, CM_CATEGORY_EPHEMERAL};
}

void cm__shard(cm_footprint *f)
{
    const cm_plan *p = &f->options.plan;
    if (p->accumulate > 1) keep_gradients(f);
    if (p->devices == 1 && !p->offload_optimizer && !p->offload_activations && !p->offload_weights) return;
    bool *split = cm__alloc_array(f->ctx, (size_t)f->step->n_tensors + 1, sizeof *split);
    if (p->tp > 1) cm__find_split(f->step, split);
    for (int32_t i = 0; i < f->n_pieces; i++)
        f->pieces[i].bytes = cm__poly_scale(f->pieces[i].bytes, share(f, &f->pieces[i], split));
    add_buckets(f);
}
