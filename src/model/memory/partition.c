/* SPDX-License-Identifier: Apache-2.0 */
/*
 * partition.c - which activations torch.compile stores for backward, and which it computes again there.
 *
 * PyTorch's partitioner (torch/_functorch/partitioners.py, solve_min_cut) cuts forward from backward where the fewest
 * bytes cross: a minimum cut between what cannot be computed again (inputs, products, random numbers, reductions, ...)
 * and what backward reads. The same cut is made here. A tensor has two vertices with an edge of its bytes between them:
 * if the cut goes through that edge, it is stored. PyTorch's heuristics are kept: bytes far from backward count more,
 * what no library call needs in memory counts twice, and nothing is computed again that a library call of backward
 * needs in memory, that a reduction made small, or that depends on a tensor whose first use lies far before.
 */
#include "model/memory/partition.h"

#include <math.h>
#include "base/min_cut.h"
#include "graph/rule.h"
#include "model/inductor/fusing.h"

#define GROWTH 1.1      /* of a tensor's weight with each operator between it and backward */
#define FARTHEST 100
#define BESIDE_KERNEL 2 /* of the weight of a tensor that fusion need not write */
#define REDUCED 4       /* an operator whose result is this much smaller is not run again */

typedef struct partition {
    const cm_footprint *f;
    const cm_graph *g;
    cm__ctx        *ctx;
    cm__min_cut    *cut;
    int32_t        *distance; /* per tensor (by storage): operators until backward */
    bool           *library;  /* per tensor (by storage): a library call reads it */
    bool           *needed;   /* per tensor (by storage): a library call of backward reads it */
    bool           *read;     /* per tensor (by storage): backward reads it */
    bool           *compared; /* per tensor (by storage): backward compares it with numbers */
    bool           *viewed;   /* per tensor (by storage): a library call of backward reads a view of it */
    bool           *joined;   /* per tensor (by storage): an operator of forward reads it */
    bool           *distant;  /* per node: reads a tensor that was first used far before */
    const int32_t  *same;     /* per tensor: the first that is computed in the same way (shared.c) */
    int32_t        *seen;     /* per node: last tensor whose uses reach it, plus one */
    int32_t        *stack;    /* of tensors */
} partition;

/* ---- which operators are computed again -------------------------------------------------------------------------- */

/* Generated code has kernels of these, but the partitioner's list of cheap operators does not name them. */
static const bool unlisted[CM_OPS] = {
    [CM_OP_MAX_POOL] = true, [CM_OP_AVERAGE_POOL] = true, [CM_OP_LP_POOL] = true, [CM_OP_POOL_GRAD] = true,
    [CM_OP_CUM_SUM] = true, [CM_OP_CUM_PROD] = true, [CM_OP_CUM_LOG_SUM_EXP] = true, [CM_OP_CUMULATIVE_GRAD] = true,
    [CM_OP_TOP_K] = true,
    [CM_OP_CONCAT] = true, [CM_OP_PAD] = true, [CM_OP_FLIP] = true, [CM_OP_GATHER] = true, [CM_OP_GATHER_GRAD] = true,
    [CM_OP_SCATTER] = true, [CM_OP_SCATTER_ELEMENTS] = true, [CM_OP_SCATTER_ND] = true, [CM_OP_SLICE_WRITE] = true,
    [CM_OP_RESIZE] = true, [CM_OP_UPSAMPLE] = true, [CM_OP_RESIZE_GRAD] = true, [CM_OP_RESAMPLE] = true,
    [CM_OP_RESAMPLE_GRAD] = true, [CM_OP_GRID_SAMPLE] = true, [CM_OP_GRID_SAMPLE_GRAD] = true,
    [CM_OP_COL2IM] = true, [CM_OP_COLUMNS_TO_IMAGE] = true, [CM_OP_COLUMNS_GRAD] = true,
    [CM_OP_BERNOULLI] = true, [CM_OP_RANDOM_NORMAL] = true, [CM_OP_RANDOM_UNIFORM] = true,
    [CM_OP_RANDOM_NORMAL_LIKE] = true, [CM_OP_RANDOM_UNIFORM_LIKE] = true};

/* Their gradients only compare the tensor that they read: a truth value per number is enough. */
static const bool compares[CM_OPS] = {[CM_OP_RELU] = true, [CM_OP_LEAKY_RELU] = true, [CM_OP_THRESHOLDED_RELU] = true,
                                      [CM_OP_CLIP] = true};

/* x.index_select() is an index like x[index] in the partitioner's graph; look-ups in a table of weights are not listed. */
static bool selects(const cm_graph *g, const cm_node *n)
{
    return n->op == CM_OP_GATHER && cm__has(n, 0) && cm__t(g, cm__in(g, n, 0)->storage)->role != CM_ROLE_PARAMETER;
}

static bool is_listed(const cm_graph *g, const cm_node *n)
{
    return cm__fusible(g, n) && (!unlisted[n->op] || selects(g, n));
}

/* Kernels can write into a concatenation, but what reads it is another kernel. */
static bool fuse(const cm_graph *g, const cm_node *a, const cm_node *b)
{
    return b->op == CM_OP_CONCAT || (is_listed(g, a) && is_listed(g, b));
}

static int32_t base_of(const cm_graph *g, int32_t tensor) { return tensor < 0 ? -1 : cm__t(g, tensor)->storage; }

/* The compiled node of forward that makes a tensor; NULL: none. */
static const cm_node *maker_of(const cm_graph *g, int32_t base)
{
    int32_t        from = base < 0 ? -1 : cm__t(g, base)->producer;
    const cm_node *n = from < 0 ? NULL : &g->nodes[from];
    return n && n->phase == CM_FORWARD && !n->outside ? n : NULL;
}

static bool is_reduced(const cm_graph *g, const cm_node *n, int32_t base)
{
    cm_poly made = cm_tensor_bytes(cm__t(g, base));
    double  in = 0;
    for (int32_t k = 0; k < n->n_inputs; k++) {
        cm_poly bytes = n->inputs[k] < 0 ? cm__poly_const(0) : cm_tensor_bytes(cm__t(g, n->inputs[k]));
        in += cm__poly_at(&bytes, 1);
    }
    return REDUCED * cm__poly_at(&made, 1) < in;
}

/* Statistics and masks, which are a node's outputs after the first, are not computed again either. */
static bool is_banned(const partition *p, const cm_node *n, int32_t base)
{
    bool result = n->n_outputs > 0 && base_of(p->g, n->outputs[0]) == base;
    if (!is_listed(p->g, n) || !result || p->needed[base] || p->distant[n - p->g->nodes]) return true;
    return is_reduced(p->g, n, base);
}

static bool is_comparison(const cm_graph *g, const cm_node *n)
{
    return n->source >= 0 && compares[g->nodes[n->source].op] && is_listed(g, n);
}

/* ---- readers ----------------------------------------------------------------------------------------------------- */

/* A norm whose input was first used far before stores what it centred, in fp32, instead of its input. */
static bool reads_centred(const partition *p, const cm_node *n, int32_t k)
{
    const cm_node *forward = n->source >= 0 && n->op == CM_OP_NORM_GRAD ? &p->g->nodes[n->source] : NULL;
    return forward && p->distant[n->source] && base_of(p->g, n->inputs[k]) == base_of(p->g, forward->inputs[0]);
}

/* The copy that a linear layer made of its input is stored instead of it (copies.c). */
static bool reads_copy(const partition *p, const cm_node *n, int32_t k)
{
    const cm_node *forward = n->op == CM_OP_GEMM_GRAD_WEIGHT && n->source >= 0 ? &p->g->nodes[n->source] : NULL;
    return forward && base_of(p->g, n->inputs[k]) == base_of(p->g, forward->inputs[0]) &&
           cm__copies_input(p->f, forward);
}

static bool is_operand(const partition *p, const cm_node *n, int32_t k)
{
    return n->inputs[k] >= 0 && !reads_copy(p, n, k) && !reads_centred(p, n, k);
}

/* A library call that reads the result of generated code through a view: tokens of all samples are the rows of a linear
   layer's product, while products of batches of matrices take them as they are. The partitioner weighs the view beside
   the result. It is the view that the call needs in memory; the result seems to be read by generated code only, and
   counts twice. */
static bool reads_view(const partition *p, const cm_node *n, int32_t k)
{
    int32_t        base = base_of(p->g, n->inputs[k]);
    const cm_node *maker = maker_of(p->g, base);
    bool           linear = n->op == CM_OP_GEMM || n->op == CM_OP_GEMM_GRAD_INPUT || n->op == CM_OP_GEMM_GRAD_WEIGHT;
    bool           rows = linear && cm__in(p->g, n, k)->rank > 2;
    if (!maker || !is_listed(p->g, maker) || fuse(p->g, maker, n)) return false;
    return cm__same_size(cm_tensor_elements(cm__in(p->g, n, k)), cm_tensor_elements(cm__t(p->g, base))) &&
           (rows || n->inputs[k] != base);
}

static bool *kind_of_reader(partition *p, const cm_node *n, bool view)
{
    if (is_comparison(p->g, n)) return p->compared;
    return view ? p->viewed : p->read;
}

/* Google's compiler computes the operands of convolutions inside their kernels, so that these need nothing in memory.
   What several operators of forward read is in memory already. */
static bool is_inside(const partition *p, const cm_node *n)
{
    return cm__loops_layers(p->f->device) && cm__class(n) == CM_CLASS_CONV;
}

static void note_reader(partition *p, const cm_node *n, int32_t k)
{
    int32_t        base = base_of(p->g, n->inputs[k]);
    const cm_node *maker = maker_of(p->g, base);
    bool           view = !cm__loops_layers(p->f->device) && reads_view(p, n, k); /* to Google's compiler it is a layout */
    bool           alone = maker ? !fuse(p->g, maker, n) : !is_listed(p->g, n) && n->op != CM_OP_CONCAT;
    if (alone && !view) p->library[base] = true;
    if (n->phase == CM_FORWARD && cm__loops_layers(p->f->device) && maker)
        p->needed[base] |= p->joined[base], p->joined[base] = true;
    if (n->phase == CM_FORWARD || cm__outside_of(p->g, n)) return;
    kind_of_reader(p, n, view)[base] = true;
    if (!is_listed(p->g, n) && n->op != CM_OP_CONCAT && !is_inside(p, n)) p->needed[base] = true;
}

static void find_readers(partition *p)
{
    const cm_graph *g = p->g;
    for (int32_t i = 0; i < g->n_nodes; i++)
        for (int32_t k = 0; !g->nodes[i].view && k < g->nodes[i].n_inputs; k++)
            if (is_operand(p, &g->nodes[i], k)) note_reader(p, &g->nodes[i], k);
    for (int32_t i = 0; i < g->n_outputs; i++) p->library[base_of(g, g->outputs[i])] = true;
}

static void find_distances(partition *p)
{
    const cm_graph *g = p->g;
    for (int32_t t = 0; t < g->n_tensors; t++) {
        p->distance[t] = p->viewed[t] ? 2 : FARTHEST;
        if (p->read[t] || p->compared[t]) p->distance[t] = 1;
    }
    for (int32_t i = g->n_nodes - 1; i >= 0; i--) {
        const cm_node *n = &g->nodes[i];
        int32_t        nearest = FARTHEST;
        for (int32_t k = 0; k < n->n_outputs && n->phase == CM_FORWARD; k++)
            if (n->outputs[k] >= 0 && p->distance[base_of(g, n->outputs[k])] < nearest)
                nearest = p->distance[base_of(g, n->outputs[k])];
        for (int32_t k = 0; k < n->n_inputs && !n->view; k++)
            if (n->inputs[k] >= 0 && nearest + 1 < p->distance[base_of(g, n->inputs[k])])
                p->distance[base_of(g, n->inputs[k])] = nearest + 1;
    }
}

/* Whether node i reads what an earlier node that the uses of a tensor reach has made; *fused: in one kernel with all of
   them. */
static bool is_reached(const partition *p, int32_t i, int32_t tensor, bool *fused)
{
    const cm_node *n = &p->g->nodes[i];
    bool           reached = false;
    *fused = true;
    for (int32_t k = 0; k < n->n_inputs; k++) {
        const cm_node *maker = maker_of(p->g, base_of(p->g, n->inputs[k]));
        if (!maker || p->seen[maker - p->g->nodes] != tensor + 1) continue;
        reached = true;
        if (!fuse(p->g, maker, n)) *fused = false;
    }
    return reached;
}

static bool reads(const partition *p, const cm_node *n, int32_t tensor)
{
    for (int32_t k = 0; k < n->n_inputs; k++)
        if (n->inputs[k] >= 0 && p->same[n->inputs[k]] == tensor) return true;
    return false;
}

/* Bans the uses of a tensor that come after the first library call among what its uses lead to. */
static void ban_far_uses(partition *p, int32_t tensor, int32_t first, int32_t last)
{
    const cm_graph *g = p->g;
    const cm_node  *maker = maker_of(g, base_of(g, tensor));
    int32_t         call = last;
    bool            leaf = cm__t(g, base_of(g, tensor))->producer < 0 && base_of(g, tensor) != tensor; /* a view of it */
    if (!leaf && (!maker || !is_listed(g, maker))) return;
    if (leaf && cm__is_float(cm__t(g, tensor)->dtype)) return;
    for (int32_t i = first; i <= last; i++) {
        bool fused, reached = !g->nodes[i].view && g->nodes[i].phase == CM_FORWARD && is_reached(p, i, tensor, &fused);
        if (reached && !fused) {
            call = i;
            break;
        }
        if (reached || (!g->nodes[i].view && reads(p, &g->nodes[i], tensor))) p->seen[i] = tensor + 1;
    }
    for (int32_t i = call + 1; i <= last; i++) {
        const cm_node *n = &g->nodes[i];
        if (!n->view && reads(p, n, tensor) && (leaf ? is_listed(g, n) : fuse(g, maker, n))) p->distant[i] = true;
    }
}

static void find_far_uses(partition *p)
{
    const cm_graph *g = p->g;
    int32_t        *first = cm__alloc_array(p->ctx, (size_t)g->n_tensors + 1, sizeof *first);
    int32_t        *last = cm__alloc_array(p->ctx, (size_t)g->n_tensors + 1, sizeof *last);
    for (int32_t i = 0; i < g->n_nodes && g->nodes[i].phase == CM_FORWARD; i++)
        for (int32_t k = 0; !g->nodes[i].view && !g->nodes[i].outside && k < g->nodes[i].n_inputs; k++) {
            int32_t t = g->nodes[i].inputs[k] < 0 ? -1 : p->same[g->nodes[i].inputs[k]];
            if (t < 0) continue;
            if (!last[t]) first[t] = i + 1;
            last[t] = i + 1;
        }
    for (int32_t t = 0; t < g->n_tensors; t++)
        if (last[t] > first[t]) ban_far_uses(p, t, first[t] - 1, last[t] - 1);
}

/* Scores of attention to which a model adds a mask when a compiler traces it, and else none (graph.h, omits_open). All
   layers add the same mask: it is first used far before those after the first. */
static void find_masked(partition *p)
{
    const cm_graph *g = p->g;
    bool            first = true;
    for (int32_t i = 0; (g->omits_open || g->omits_causal) && i < g->n_nodes && g->nodes[i].phase == CM_FORWARD; i++) {
        const cm_node *n = &g->nodes[i];
        if (n->op != CM_OP_SOFTMAX || n->outside || !cm__has(n, 0) || cm__in(g, n, 0)->rank != 4) continue;
        if (!first) p->distant[i] = true;
        first = false;
    }
}

/* ---- the cut ----------------------------------------------------------------------------------------------------- */

static int32_t into(int32_t base) { return CM__FIRST_VERTEX + 6 * base; }
static int32_t out_of(int32_t base) { return CM__FIRST_VERTEX + 6 * base + 1; }
static int32_t into_mask(int32_t base) { return CM__FIRST_VERTEX + 6 * base + 2; }
static int32_t out_of_mask(int32_t base) { return CM__FIRST_VERTEX + 6 * base + 3; }
static int32_t into_view(int32_t base) { return CM__FIRST_VERTEX + 6 * base + 4; }
static int32_t out_of_view(int32_t base) { return CM__FIRST_VERTEX + 6 * base + 5; }

static double weight_of(const partition *p, int32_t base)
{
    const cm_tensor *t = cm__t(p->g, base);
    cm_poly          bytes = cm_tensor_bytes(t);
    if (t->role == CM_ROLE_PARAMETER) return 0;
    return cm__poly_at(&bytes, 1) * pow(GROWTH, p->distance[base]) * (p->library[base] ? 1 : BESIDE_KERNEL);
}

static void add_operands(partition *p, const cm_node *n, int32_t base)
{
    for (int32_t k = 0; k < n->n_inputs; k++)
        if (n->inputs[k] >= 0) cm__min_cut_edge(p->cut, out_of(base_of(p->g, n->inputs[k])), into(base), CM__UNCUT);
    for (int32_t k = 1; k < n->n_outputs; k++)
        if (n->outputs[k] >= 0) cm__min_cut_edge(p->cut, out_of(base_of(p->g, n->outputs[k])), into(base), CM__UNCUT);
}

/* Truth values are made where they are stored, or where backward needs them. */
static void add_mask(partition *p, int32_t base)
{
    cm_poly elements = cm_tensor_elements(cm__t(p->g, base));
    cm__min_cut_edge(p->cut, out_of(base), into_mask(base), CM__UNCUT);
    cm__min_cut_edge(p->cut, into_mask(base), out_of_mask(base), cm__poly_at(&elements, 1) * GROWTH * BESIDE_KERNEL);
    cm__min_cut_edge(p->cut, out_of_mask(base), CM__SINK, CM__UNCUT);
}

static void add_view(partition *p, int32_t base)
{
    cm_poly bytes = cm_tensor_bytes(cm__t(p->g, base));
    cm__min_cut_edge(p->cut, out_of(base), into_view(base), CM__UNCUT);
    cm__min_cut_edge(p->cut, into_view(base), out_of_view(base), cm__poly_at(&bytes, 1) * GROWTH);
    cm__min_cut_edge(p->cut, out_of_view(base), CM__SINK, CM__UNCUT);
}

static void add_edges(partition *p)
{
    const cm_graph *g = p->g;
    for (int32_t t = 0; t < g->n_tensors; t++) {
        const cm_tensor *x = cm__t(g, t);
        const cm_node   *n = maker_of(g, t);
        if (x->storage != t || (x->producer >= 0 && !n)) continue;
        cm__min_cut_edge(p->cut, into(t), out_of(t), weight_of(p, t));
        if (!n || is_banned(p, n, t)) cm__min_cut_edge(p->cut, CM__SOURCE, into(t), CM__UNCUT);
        else add_operands(p, n, t);
        if (p->read[t]) cm__min_cut_edge(p->cut, out_of(t), CM__SINK, CM__UNCUT);
        if (p->compared[t]) add_mask(p, t);
        if (p->viewed[t]) add_view(p, t);
    }
}

static partition prepared(cm__ctx *ctx, const cm_footprint *f)
{
    const cm_graph *g = f->step;
    size_t    tensors = (size_t)g->n_tensors + 1, nodes = (size_t)g->n_nodes + 1;
    partition p = {.f = f, .g = g, .ctx = ctx, .cut = cm__min_cut_new(ctx, into(g->n_tensors)),
                   .distance = cm__alloc_array(ctx, tensors, sizeof *p.distance),
                   .library = cm__alloc_array(ctx, tensors, sizeof *p.library),
                   .needed = cm__alloc_array(ctx, tensors, sizeof *p.needed),
                   .read = cm__alloc_array(ctx, tensors, sizeof *p.read),
                   .compared = cm__alloc_array(ctx, tensors, sizeof *p.compared),
                   .viewed = cm__alloc_array(ctx, tensors, sizeof *p.viewed),
                   .joined = cm__alloc_array(ctx, tensors, sizeof *p.joined),
                   .distant = cm__alloc_array(ctx, nodes, sizeof *p.distant),
                   .seen = cm__alloc_array(ctx, nodes, sizeof *p.seen),
                   .stack = cm__alloc_array(ctx, tensors, sizeof *p.stack)};
    return p;
}

/* ---- what follows from it ---------------------------------------------------------------------------------------- */

/* Notes that backward needs a tensor until a node: itself, or what it is computed from. */
static void need(const partition *p, const bool *sink_side, int32_t base, int32_t until, int32_t *last)
{
    int32_t *stack = p->stack, count = 0;
    if (last[base] < 0) stack[count++] = base, last[base] = until;
    while (count) {
        int32_t        t = stack[--count];
        const cm_node *n = sink_side[into(t)] ? maker_of(p->g, t) : NULL;
        for (int32_t k = 0; n && k < n->n_inputs + n->n_outputs; k++) {
            int32_t from = base_of(p->g, k < n->n_inputs ? n->inputs[k] : n->outputs[k - n->n_inputs]);
            if (from < 0 || last[from] >= 0) continue;
            last[from] = until;
            stack[count++] = from;
        }
    }
}

/* The tensor that a node of backward reads, or the truth values that are stored instead. */
static void need_operands(const partition *p, const bool *sink_side, int32_t node, cm__partition *result)
{
    const cm_node *n = &p->g->nodes[node];
    bool           compares_only = is_comparison(p->g, n);
    for (int32_t k = 0; k < n->n_inputs; k++) {
        int32_t base = base_of(p->g, n->inputs[k]);
        if (base >= 0 && reads_centred(p, n, k)) result->centred[n->source] = node;
        if (!is_operand(p, n, k)) continue;
        bool mask = compares_only && !sink_side[into_mask(base)] && sink_side[out_of_mask(base)];
        if (mask && result->mask[base] < 0) result->mask[base] = node;
        if (!mask) need(p, sink_side, base, node, result->stored);
    }
}

static int32_t *unneeded(cm__ctx *ctx, int32_t count)
{
    int32_t *last = cm__alloc_unset(ctx, (size_t)count + 1, sizeof *last);
    for (int32_t i = 0; i <= count; i++) last[i] = -1;
    return last;
}

cm__partition cm__partition_of(cm__ctx *ctx, const cm_footprint *f)
{
    const cm_graph *g = f->step;
    partition       p = prepared(ctx, f);
    cm__partition   result = {.stored = unneeded(ctx, g->n_tensors), .mask = unneeded(ctx, g->n_tensors),
                              .centred = unneeded(ctx, g->n_nodes)};
    p.same = cm__shared_tensors(ctx, g);
    find_far_uses(&p);
    find_masked(&p);
    find_readers(&p);
    find_distances(&p);
    add_edges(&p);
    const bool *sink_side = cm__min_cut_sink_side(p.cut);
    for (int32_t i = g->n_nodes - 1; i >= 0; i--)
        if (g->nodes[i].phase != CM_FORWARD && !g->nodes[i].view && !cm__outside_of(g, &g->nodes[i]))
            need_operands(&p, sink_side, i, &result);
    for (int32_t t = 0; t < g->n_tensors; t++)
        if (sink_side[into(t)]) result.stored[t] = -1;
    return result;
}
