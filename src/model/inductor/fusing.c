/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fusing.c - which operators of a step a fusing compiler makes one kernel of: the rules of PyTorch's Inductor.
 *
 * An operator joins the kernels of all its producers that are in the same pass, iterate over the same elements, and are
 * not needed by something else that must run before the operator. The last condition is checked by levels: a kernel has
 * the level at which its first operator could run, each library call or other kernel in between raises the level by
 * one, and operators join only kernels of the level that they need. A reduction of rows may be followed by operators on
 * its result and again on whole rows, as norms are written. Sums over columns join a producer whose result nothing else
 * reads, but not a kernel that reduces rows. Kernels of one level that read the same tensor are joined. What one
 * operator alone reads is computed where it is read, also if that has another size: the halves that a rotary embedding
 * joins, or a gate that is spread over an image. What is added to any places of a tensor is a kernel by itself, and what
 * reads that tensor another one.
 */
#include "model/inductor/fusing.h"
#include "graph/runtimes.h"
#include "model/dispatch/routing.h"

#include <math.h>
#include <string.h>

bool cm__fusible(const cm_graph *g, const cm_node *n)
{
    static const bool classes[CM_CLASSES] = {
        [CM_CLASS_NORM] = true, [CM_CLASS_ELEMENTWISE] = true, [CM_CLASS_REDUCTION] = true, [CM_CLASS_MOVEMENT] = true,
        [CM_CLASS_EMBEDDING] = true};
    if (cm__outside_of(g, n)) return false;
    if (!classes[cm__class(n)] || n->view || n->n_outputs < 1 || n->outputs[0] < 0) return false;
    if (cm__is_scaled_cast(g, n) || cm__falls_back(g, n)) return false;
    for (int32_t k = 0; k < n->n_inputs; k++)
        if (n->inputs[k] >= 0 && cm__t(g, n->inputs[k])->dtype == CM_COMPLEX64) return false;
    return cm__t(g, n->outputs[0])->dtype != CM_COMPLEX64;
}

/* An activation function, or the product of one with what it gates. */
static bool is_gated(const cm_graph *g, const cm_node *n)
{
    const cm_node *forward = n->source >= 0 ? &g->nodes[n->source] : n;
    bool           gated = cm__ops[forward->op].gate;
    for (int32_t k = 0; forward->op == CM_OP_MUL && k < forward->n_inputs && !gated; k++) {
        int32_t from = forward->inputs[k] < 0 ? -1 : cm__t(g, forward->inputs[k])->producer;
        gated = from >= 0 && cm__ops[g->nodes[from].op].gate;
    }
    return gated;
}

/* The kernels that people add to eager PyTorch (--fused-kernels) are of norms and rotary positions. That the activation
   and its product with the other half are apart shows in the peak of such runs: both factors, the product's gradient
   and two more of the inner width (fms-acceleration). */
bool cm__in_chain(const cm_graph *g, const cm_node *n)
{
    cm_class c = cm__class(n);
    if (g->asked.script.fused_kernels && is_gated(g, n)) return false;
    bool     adapter = g->tuned && strstr(n->name, "lora"); /* PEFT's modules are called one by one */
    if (n->op == CM_OP_UNPACK) return false;                /* of a product's own weight */
    return n->block >= 0 && (c == CM_CLASS_ELEMENTWISE || c == CM_CLASS_MOVEMENT) && !adapter;
}

static bool compiles(const cm__dispatch *d, const cm_node *n)
{
    bool all = cm__compiles(d->runtime) || cm__is_tuned(d->runtime);
    if (cm__is_megatron_core(d->runtime, d->g->asked.software) && cm__routes(d->g, n)) return false;
    return cm__fusible(d->g, n) && (all || cm__in_chain(d->g, n));
}

/* The gradient of a loss spreads one number over all classes; a pool computes each of its results from a few elements.
   */
static bool reduces(const cm_node *n)
{
    static const bool pointwise[CM_OPS] = {[CM_OP_LOSS_GRAD] = true, [CM_OP_MAX_POOL] = true,
                                           [CM_OP_AVERAGE_POOL] = true, [CM_OP_POOL_GRAD] = true,
                                           [CM_OP_LP_POOL] = true};
    return cm__class(n) == CM_CLASS_REDUCTION && !pointwise[n->op] && n->n_inputs > 0 && n->inputs[0] >= 0;
}

static cm_poly size_of(const cm_graph *g, const cm_node *n)
{
    bool over_input = reduces(n) || n->op == CM_OP_GATHER_GRAD;
    return cm_tensor_elements(cm__t(g, over_input ? n->inputs[0] : n->outputs[0]));
}

static bool same_dim(cm_dim a, cm_dim b) { return memcmp(&a, &b, sizeof a) == 0; }

/* The dimension whose elements are neighbours in memory is kept: whole rows are added up. It is the last one, or that
   of the channels. Softmax keeps all of them. */
static bool adds_columns(const cm__dispatch *d, const cm_node *n)
{
    if (!reduces(n)) return false;
    const cm_tensor *x = cm__t(d->g, n->inputs[0]), *y = cm__t(d->g, n->outputs[0]);
    if (cm__same_size(cm_tensor_elements(x), cm_tensor_elements(y))) return false;
    if (d->nhwc && x->rank == 4 && y->rank) return same_dim(x->dims[1], y->dims[y->rank == 1 ? 0 : 1]);
    return x->rank && y->rank && same_dim(x->dims[x->rank - 1], y->dims[y->rank - 1]);
}

/* Whether the channels of a tensor are rows: not if it views a channels-last filter of several pixels. */
static bool comes_in_rows(const cm__fusing *f, int32_t tensor)
{
    const cm_tensor *base = cm__t(f->d->g, cm__t(f->d->g, tensor)->storage);
    if (!f->d->nhwc || f->d->from_rows || base->rank != 4) return true;
    return cm__dim_is(base->dims[2], 1) && cm__dim_is(base->dims[3], 1);
}

/* A norm of each channel of one sample: an instance norm, or standardised filters, which are written as a batch norm of
   one sample. Images whose planes stay on the chip, and filters, are normalised by one kernel. */
static bool is_norm_of_channels(const cm__fusing *f, const cm_node *forward)
{
    const cm_tensor *x = cm__has(forward, 0) ? cm__in(f->d->g, forward, 0) : NULL;
    if (!x || x->rank < 3 || !cm__compiles(f->d->runtime)) return false;
    cm_poly plane = cm__poly_product(x->dims + 2, x->rank - 2);
    if (forward->op == CM_OP_INSTANCE_NORM) return !f->d->nhwc && cm__poly_at(&plane, 1) <= CM__LONGEST_ROW;
    return forward->op == CM_OP_BATCH_NORM && cm__dim_is(x->dims[0], 1) && comes_in_rows(f, forward->inputs[0]);
}

bool cm__fusing_group_norm(const cm__fusing *f, const cm_node *n)
{
    const cm_node *forward = cm__forward_of(f->d, n);
    bool groups = forward->op == CM_OP_GROUP_NORM || forward->op == CM_OP_INSTANCE_NORM;
    return groups && !is_norm_of_channels(f, forward) && cm__class(n) == CM_CLASS_NORM && cm__compiles(f->d->runtime);
}

/* A norm with sums over more than a row: a batch norm that computes its statistics from the batch, a group norm. */
static bool needs_sums(const cm__fusing *f, const cm_node *n)
{
    const cm_node *forward = cm__forward_of(f->d, n);
    bool           itself = cm__class(n) == CM_CLASS_NORM; /* not a sum of gradients */
    bool           batch_norm = f->d->trains && itself && forward->op == CM_OP_BATCH_NORM && cm__has(n, 0);
    return (batch_norm && !is_norm_of_channels(f, forward)) || cm__fusing_group_norm(f, n);
}

/* The gradient of a loss by words: its sum over a row is that of one label, so that logits are read once. */
static bool is_loss_gradient(const cm__fusing *f, const cm_node *n)
{
    if (n->phase != CM_BACKWARD || !cm__compiles(f->d->runtime)) return false;
    int32_t from = cm__has(n, 0) ? cm__t(f->d->g, cm__t(f->d->g, n->inputs[0])->storage)->producer : -1;
    bool    spread = n->op == CM_OP_SOFTMAX_GRAD && from >= 0 && cm__node(f->d, from)->op == CM_OP_LOSS_GRAD;
    return spread || cm__forward_of(f->d, n)->op == CM_OP_CROSS_ENTROPY;
}

static bool reduces_rows(const cm__fusing *f, const cm_node *n)
{
    if (is_loss_gradient(f, n)) return false;
    const cm_node *forward = cm__forward_of(f->d, n);
    bool           batch_norm = forward->op == CM_OP_BATCH_NORM && !is_norm_of_channels(f, forward);
    bool           row_norm = cm__class(n) == CM_CLASS_NORM && !batch_norm && !cm__fusing_group_norm(f, n);
    return (reduces(n) && !adds_columns(f->d, n)) || row_norm;
}

/* Elements that one sum of a node adds up. */
static double row_length(const cm__fusing *f, const cm_node *n)
{
    const cm_node   *forward = cm__forward_of(f->d, n);
    const cm_tensor *x = cm__in(f->d->g, forward, 0);
    cm_poly          in = cm_tensor_elements(x), out = cm_tensor_elements(cm__t(f->d->g, n->outputs[0]));
    double           samples = x->rank ? cm__poly_at(&in, 1) : 1;
    double           last = x->rank ? (double)x->dims[x->rank - 1].fixed : 1;
    if (forward->op == CM_OP_GROUP_NORM || forward->op == CM_OP_INSTANCE_NORM)
        return samples / (double)cm__attr_int(forward, CM_ATTR_NUM_GROUPS, x->dims[1].fixed);
    if (is_norm_of_channels(f, forward)) return samples / (double)(x->dims[1].fixed + x->dims[1].per_batch);
    return cm__class(n) == CM_CLASS_REDUCTION && cm__poly_at(&out, 1) < samples ? samples / cm__poly_at(&out, 1) : last;
}

double cm__lanes_of_row(double row)
{
    return row < 1 || row > CM__LONGEST_ROW ? 1 : exp2(ceil(log2(row))) / row;
}

bool cm__fusing_has_weight_sums(const cm__fusing *f, int32_t node)
{
    const cm_node *n = cm__node(f->d, node), *forward = cm__forward_of(f->d, n);
    bool           weights = forward->n_inputs > 1 && forward->inputs[1] >= 0 &&
                   cm__t(f->d->g, forward->inputs[1])->role == CM_ROLE_PARAMETER;
    /* itself, not a sum of gradients */
    bool           gradient = n->phase == CM_BACKWARD && cm__class(n) == CM_CLASS_NORM;
    return gradient && cm__class(forward) == CM_CLASS_NORM && forward->op != CM_OP_BATCH_NORM && weights &&
           !cm__fusing_group_norm(f, n);
}

/* ---- joining ---------------------------------------------------------------------------------------------------- */

static int32_t producer_of(const cm__fusing *f, const cm_node *n, int32_t k)
{
    const cm_graph *g = f->d->g;
    return n->inputs[k] < 0 ? -1 : cm__t(g, cm__t(g, n->inputs[k])->storage)->producer;
}

/* Whether a node reads what its kernel computes after sums. */
static bool reads_after_sums(const cm__fusing *f, int32_t kernel, const cm_node *n)
{
    for (int32_t k = 0; k < n->n_inputs; k++) {
        int32_t from = producer_of(f, n, k);
        if (from >= 0 && f->kernel[from] == kernel && from >= f->norm[kernel]) return true;
    }
    return false;
}

/* Several branches that end in batch norms get the same gradient: generated code sums for all of them at once. */
static bool shares_gradient(const cm__fusing *f, int32_t kernel, const cm_node *n)
{
    bool generated = cm__compiles(f->d->runtime) && !cm__fusing_group_norm(f, n);
    return generated && !cm__fusing_group_norm(f, cm__node(f->d, f->norm[kernel])) && !reads_after_sums(f, kernel, n);
}

/* Operators before the sums of a batch norm would be computed twice: for the sums, and again after them. That pays off
   only in backward, where they are gradients of activations, and for the cast that autocast puts before a group norm:
   it reads one tensor, and Inductor computes what has few reads wherever it is read (realize_reads_threshold in
   torch/_inductor/config.py). */
static bool suits(const cm__fusing *f, int32_t kernel, const cm_node *n)
{
    cm_poly size = size_of(f->d->g, n);
    bool    cast = f->next[kernel] < 0 && cm__fusing_casts_for(f, kernel, n);
    if (f->d->g->nodes[kernel].phase != n->phase) return false;
    if (needs_sums(f, n) && n->phase != CM_BACKWARD && !cast) return false;
    if (needs_sums(f, n) && f->norm[kernel] >= 0 && !shares_gradient(f, kernel, n)) return false;
    if (adds_columns(f->d, n) ? f->by_row[kernel] : reduces_rows(f, n) && f->columns[kernel]) return false;
    return cm__same_size(f->size[kernel], size) || (f->by_row[kernel] && cm__same_size(f->rows[kernel], size));
}

/* Input k is made elementwise by a kernel of another size, and nothing else reads it: it is computed where it is read.
   */
static bool inlined(const cm__fusing *f, const cm_node *n, int32_t k, int32_t kernel)
{
    cm_class class = cm__class(n);
    if (class != CM_CLASS_ELEMENTWISE && class != CM_CLASS_MOVEMENT) return false;
    if (f->d->g->nodes[kernel].phase != n->phase) return false;
    bool pointwise = !f->by_row[kernel] && !f->columns[kernel] && f->norm[kernel] < 0;
    return pointwise && f->uses[cm__t(f->d->g, n->inputs[k])->storage] == 1;
}

/* Generated code that adds to or writes numbers at any places of its result: what reads the result has to wait for all
   of them. */
static bool scatters(const cm__fusing *f, const cm_node *n)
{
    static const bool ops[CM_OPS] = {[CM_OP_GATHER_GRAD] = true, [CM_OP_SCATTER] = true, [CM_OP_SCATTER_ND] = true,
                                     [CM_OP_SCATTER_ELEMENTS] = true, [CM_OP_RESIZE_GRAD] = true};
    return ops[n->op] && cm__compiles(f->d->runtime);
}

/* A sum over columns is divided among blocks, which iterate over other elements than the kernel that writes what it
   adds up: Inductor makes one kernel of them only if nothing else reads that. Vendors write such kernels by hand. */
static bool joins(const cm__fusing *f, const cm_node *n, int32_t k, int32_t kernel)
{
    bool generated = cm__compiles(f->d->runtime);
    if (scatters(f, cm__node(f->d, producer_of(f, n, k)))) return false;
    if (generated && adds_columns(f->d, n) && f->uses[cm__t(f->d->g, n->inputs[k])->storage] > 1) return false;
    return suits(f, kernel, n) || inlined(f, n, k, kernel);
}

/* The suitable kernel of the highest level among the producers; -1: none. */
static int32_t candidate(const cm__fusing *f, const cm_node *n)
{
    int32_t best = -1;
    for (int32_t k = 0; k < n->n_inputs; k++) {
        int32_t from = producer_of(f, n, k), kernel = from < 0 ? -1 : f->kernel[from];
        if (kernel >= 0 && joins(f, n, k, kernel) && (best < 0 || f->level[kernel] > f->level[best])) best = kernel;
    }
    return best;
}

/* The node that makes input k, if it is part of the same graph; -1: none. torch.compile makes a graph of forward and
   another one of backward: what backward reads of forward is there when it begins. */
static int32_t waits_for(const cm__fusing *f, const cm_node *n, int32_t k)
{
    int32_t from = producer_of(f, n, k);
    bool    separate_graphs = cm__compiles(f->d->runtime) && n->phase == CM_BACKWARD;
    return from >= 0 && separate_graphs && cm__node(f->d, from)->phase == CM_FORWARD ? -1 : from;
}

/* The level that a node needs if it joins this kernel and the others of its level; kernel -1: if it joins none. */
static int32_t level_needed(const cm__fusing *f, const cm_node *n, int32_t kernel)
{
    int32_t needed = 0;
    for (int32_t k = 0; k < n->n_inputs; k++) {
        int32_t from = waits_for(f, n, k), other = from < 0 ? -1 : f->kernel[from];
        if (from < 0) continue;
        bool    together = kernel >= 0 && other >= 0 && f->level[other] == f->level[kernel] && joins(f, n, k, other);
        int32_t after = f->level[other >= 0 ? other : from] + !together;
        if (after > needed) needed = after;
    }
    return needed;
}

static void append(cm__fusing *f, int32_t kernel, int32_t first)
{
    int32_t last = kernel;
    while (f->next[last] >= 0) last = f->next[last];
    f->next[last] = first;
}

/* Adds norms, a list by `later`, to the end of a kernel's list of norms. */
static void add_norms(cm__fusing *f, int32_t kernel, int32_t first)
{
    int32_t *last = &f->norm[kernel];
    while (*last >= 0) last = &f->later[*last];
    *last = first;
}

/* All of `other` becomes part of `kernel`. */
static void merge(cm__fusing *f, int32_t kernel, int32_t other)
{
    for (int32_t i = other; i >= 0; i = f->next[i]) f->kernel[i] = kernel;
    append(f, kernel, other);
    f->by_row[kernel] |= f->by_row[other];
    f->columns[kernel] |= f->columns[other];
    f->row[kernel] = fmax(f->row[kernel], f->row[other]);
    if (f->by_row[other]) f->rows[kernel] = f->rows[other];
    add_norms(f, kernel, f->norm[other]);
}

/* In forward, generated code normalises several branches where they are added up; each has sums of its own. */
static bool mergeable(const cm__fusing *f, int32_t a, int32_t b)
{
    bool rows = f->by_row[a] || f->by_row[b], columns = f->columns[a] || f->columns[b];
    bool forward = cm__compiles(f->d->runtime) && cm__node(f->d, a)->phase == CM_FORWARD;
    return a != b && f->level[a] == f->level[b] && !(rows && columns) &&
           (forward || f->norm[a] < 0 || f->norm[b] < 0);
}

/* Elementwise operators whose result this node alone reads: they can wait until it runs. So can a norm of forward: its
   sums are another kernel. */
static bool can_wait(const cm__fusing *f, int32_t kernel)
{
    bool forward = cm__compiles(f->d->runtime) && cm__node(f->d, kernel)->phase == CM_FORWARD;
    bool sums = f->norm[kernel] >= 0 && !forward;
    if (f->by_row[kernel] || f->columns[kernel] || sums) return false;
    for (int32_t i = kernel; i >= 0; i = f->next[i]) {
        const cm_node *n = cm__node(f->d, i);
        for (int32_t k = 0; k < n->n_outputs; k++)
            if (n->outputs[k] >= 0 && f->uses[cm__t(f->d->g, n->outputs[k])->storage] > 1) return false;
    }
    return true;
}

/* Merges the kernels of all producers that suit; returns the first of them. */
static int32_t merge_producers(cm__fusing *f, const cm_node *n, int32_t kernel)
{
    for (int32_t k = 0; k < n->n_inputs; k++) {
        int32_t from = producer_of(f, n, k), other = from < 0 ? -1 : f->kernel[from];
        if (other >= 0 && f->level[other] < f->level[kernel] && can_wait(f, other)) f->level[other] = f->level[kernel];
        if (other < 0 || !joins(f, n, k, other) || !mergeable(f, kernel, other)) continue;
        int32_t first = kernel < other ? kernel : other, second = kernel < other ? other : kernel;
        merge(f, first, second);
        kernel = first;
    }
    return kernel;
}

/* A kernel of the same level and size that reads one of the node's inputs: both are made one, so that it is read once.
   */
static int32_t neighbour(const cm__fusing *f, const cm_node *n)
{
    int32_t level = level_needed(f, n, -1);
    if (scatters(f, n)) return -1;
    for (int32_t k = 0; k < n->n_inputs; k++) {
        int32_t base = n->inputs[k] < 0 ? -1 : cm__t(f->d->g, n->inputs[k])->storage;
        int32_t kernel = base < 0 ? -1 : f->reads[base] - 1;
        if (kernel < 0 || f->kernel[kernel] != kernel || f->level[kernel] != level) continue;
        cm_poly bytes = cm_tensor_bytes(cm__t(f->d->g, base)), size = size_of(f->d->g, n);
        if (cm__poly_at(&bytes, 1) < cm__poly_at(&size, 1)) continue; /* shared numbers of a row or a channel */
        if (suits(f, kernel, n) && f->norm[kernel] < 0 && !needs_sums(f, n) && !adds_columns(f->d, n)) return kernel;
    }
    return -1;
}

static void note_reads(cm__fusing *f, const cm_node *n, int32_t kernel)
{
    for (int32_t k = 0; k < n->n_inputs; k++)
        if (n->inputs[k] >= 0) f->reads[cm__t(f->d->g, n->inputs[k])->storage] = kernel + 1;
}

static void place(cm__fusing *f, int32_t node)
{
    const cm_node *n = cm__node(f->d, node);
    int32_t        kernel = candidate(f, n), needed = kernel < 0 ? 0 : level_needed(f, n, kernel);
    if (kernel >= 0 && needed > f->level[kernel] && can_wait(f, kernel)) f->level[kernel] = needed;
    if (kernel < 0 || needed > f->level[kernel]) kernel = neighbour(f, n);
    if (kernel >= 0) {
        kernel = merge_producers(f, n, kernel);
        append(f, kernel, node);
        if (!suits(f, kernel, n)) f->size[kernel] = size_of(f->d->g, n);
    } else {
        kernel = node;
        f->level[node] = level_needed(f, n, -1);
        f->size[node] = size_of(f->d->g, n);
    }
    f->kernel[node] = kernel;
    note_reads(f, n, kernel);
    if (reduces_rows(f, n)) {
        f->by_row[kernel] = true;
        f->rows[kernel] = cm_tensor_elements(cm__t(f->d->g, n->outputs[0]));
        f->row[kernel] = fmax(f->row[kernel], row_length(f, n));
    }
    if (adds_columns(f->d, n)) f->columns[kernel] = true;
    if (needs_sums(f, n)) add_norms(f, kernel, node);
}

/* A library call needs no level of its own: what reads its result does. */
static int32_t level_of_call(const cm__fusing *f, const cm_node *n)
{
    int32_t level = 0;
    for (int32_t k = 0; k < n->n_inputs; k++) {
        int32_t from = waits_for(f, n, k), kernel = from < 0 ? -1 : f->kernel[from];
        if (from >= 0 && f->level[kernel >= 0 ? kernel : from] > level) level = f->level[kernel >= 0 ? kernel : from];
    }
    return level;
}

cm__fusing *cm__fusing_new(cm__dispatch *d)
{
    cm__ctx        *ctx = d->ctx;
    const cm_graph *g = d->g;
    size_t          nodes = (size_t)g->n_nodes + 1, tensors = (size_t)g->n_tensors + 1;
    cm__fusing     *f = cm__alloc(ctx, sizeof *f);
    *f = (cm__fusing){.d = d, .kernel = cm__alloc_array(ctx, nodes, sizeof *f->kernel),
                      .next = cm__alloc_array(ctx, nodes, sizeof *f->next),
                      .level = cm__alloc_array(ctx, nodes, sizeof *f->level),
                      .size = cm__alloc_array(ctx, nodes, sizeof *f->size),
                      .rows = cm__alloc_array(ctx, nodes, sizeof *f->rows),
                      .by_row = cm__alloc_array(ctx, nodes, sizeof *f->by_row),
                      .columns = cm__alloc_array(ctx, nodes, sizeof *f->columns),
                      .row = cm__alloc_array(ctx, nodes, sizeof *f->row),
                      .strided = cm__alloc_array(ctx, nodes, sizeof *f->strided),
                      .later = cm__alloc_array(ctx, nodes, sizeof *f->later),
                      .norm = cm__alloc_array(ctx, nodes, sizeof *f->norm),
                      .uses = cm__alloc_array(ctx, tensors, sizeof *f->uses),
                      .outside = cm__alloc_array(ctx, tensors, sizeof *f->outside),
                      .library = cm__alloc_array(ctx, tensors, sizeof *f->library),
                      .again = cm__alloc_array(ctx, tensors, sizeof *f->again),
                      .back = cm__alloc_array(ctx, tensors, sizeof *f->back),
                      .reader = cm__alloc_array(ctx, tensors, sizeof *f->reader),
                      .reads = cm__alloc_array(ctx, tensors, sizeof *f->reads),
                      .seen = cm__alloc_array(ctx, tensors, sizeof *f->seen),
                      .taken = cm__alloc_array(ctx, tensors, sizeof *f->taken),
                      .does = cm__alloc_array(ctx, nodes, sizeof *f->does),
                      .sums = cm__alloc_array(ctx, nodes, sizeof *f->sums)};
    for (int32_t i = 0; i < g->n_nodes; i++)
        for (int32_t k = 0; !g->nodes[i].view && k < g->nodes[i].n_inputs; k++)
            if (g->nodes[i].inputs[k] >= 0) f->uses[cm__t(g, g->nodes[i].inputs[k])->storage]++;
    for (int32_t i = 0; i < g->n_nodes; i++) {
        f->kernel[i] = f->norm[i] = f->later[i] = f->next[i] = -1;
        if (compiles(d, &g->nodes[i]) && !cm__inside_stack(d, i)) place(f, i);
        else f->level[i] = level_of_call(f, &g->nodes[i]);
    }
    return f;
}

cm__fusing *cm__fusing_kernels(cm__ctx *ctx, const cm_graph *g, cm_layout layout)
{
    cm__dispatch *d = cm__alloc(ctx, sizeof *d);
    *d = (cm__dispatch){.ctx = ctx, .g = g, .runtime = CM_RUNTIME_TORCH_COMPILE, .stacks = cm__stacks_of(ctx, g),
                        .nhwc = cm__in_nhwc(g, layout) || cm__compiler_prefers_nhwc(g),
                        .trains = g->n_nodes && g->nodes[g->n_nodes - 1].phase != CM_FORWARD};
    return cm__fusing_new(d);
}
