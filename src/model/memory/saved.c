/* SPDX-License-Identifier: Apache-2.0 */
/*
 * saved.c - activations that a loop over layers stores for backward in JAX.
 *
 * Forward is one loop, backward another. What passes from one to the other are tensors of all layers, and the compiler
 * cannot compute them again: it sees each loop alone. JAX's differentiation decides what they are. Every primitive
 * stores what its derivative reads, so an operator of several primitives stores more than PyTorch's autograd does:
 * the values are those that jax.ad_checkpoint.print_saved_residuals() prints of jax.nn's and Flax's functions, and the
 * loops of steps that Google's compiler compiled have the same (tools/compiled_memory.py).
 */
#include "graph/rule.h"
#include "model/memory/footprint.h"

/* How many tensors an elementwise function stores beside its operand. Each has the size and type of its result. */
static const int8_t inside[CM_OPS] = {
    [CM_OP_GELU] = 4, [CM_OP_SILU] = 2, [CM_OP_SWISH] = 2, [CM_OP_MISH] = 4, [CM_OP_ELU] = 1, [CM_OP_CELU] = 1,
    [CM_OP_SELU] = 1, [CM_OP_SOFTPLUS] = 1, [CM_OP_TANH] = 1, [CM_OP_HARD_SWISH] = 2};

/* Bytes for each number of a norm's input. A layer norm stores the input, what it centred and the factor of each number
   in fp32; an RMS norm the input in fp32 and the result before the weight in 16 bits. */
#define OF_LAYER_NORM (3 * 4)
#define OF_RMS_NORM   (4 + 2)

/* Scores of attention by matrix products: the exponentials in fp32 and the probabilities in 16 bits are stored, and
   backward has their gradient in 16 bits. */
#define OF_SCORES   (4 + 2)
#define OF_GRADIENT 2

/* The last two dimensions of a tensor, in the order that the compiler chooses, are multiples of a tile. */
#define ROWS    8
#define COLUMNS 128

static double filled(int64_t n, int64_t unit) { return (double)((n + unit - 1) / unit * unit) / (double)n; }

/* Bytes of a tensor over those of its numbers: the order with least padding. Where the batch is one of the two, or a
   dimension is not known, no padding is assumed. */
static double padding(const cm_tensor *t)
{
    double least = 0;
    for (int32_t i = 1; i < t->rank; i++)
        for (int32_t k = 1; k < t->rank; k++) {
            int64_t rows = t->dims[i].fixed, columns = t->dims[k].fixed;
            if (i == k || t->dims[i].per_batch || t->dims[k].per_batch || rows < 1 || columns < 1) continue;
            double all = filled(rows, ROWS) * filled(columns, COLUMNS);
            if (least == 0 || all < least) least = all;
        }
    return least > 1 ? least : 1;
}

/* An operator that a kernel runs reads and writes rows of its last dimension. */
static double row_padding(const cm_tensor *t)
{
    cm_dim last = t->rank ? t->dims[t->rank - 1] : (cm_dim){0};
    return last.per_batch || last.fixed < 1 ? 1 : filled(last.fixed, COLUMNS);
}

static bool is_of_layer(const cm_graph *g, int32_t node)
{
    return node >= 0 && g->nodes[node].phase == CM_FORWARD && g->nodes[node].block >= 0;
}

static bool grows(const cm_tensor *t)
{
    for (int32_t i = 0; i < t->rank; i++)
        if (t->dims[i].per_batch) return true;
    return false;
}

/* The tensor of a layer's forward pass that an operand is a view or a cast of; -1: it is none. */
static int32_t origin(const cm_graph *g, int32_t tensor)
{
    for (int32_t t = tensor; t >= 0;) {
        t = cm__t(g, t)->storage;
        int32_t from = cm__t(g, t)->producer;
        if (!is_of_layer(g, from) || !grows(cm__t(g, t))) return -1;
        if (g->nodes[from].op != CM_OP_CAST) return t;
        t = g->nodes[from].inputs[0];
    }
    return -1;
}

static double width(const cm_graph *g, const cm_tensor *t)
{
    bool mixed = g->autocast != CM_FP32;
    return mixed && t->dtype == CM_FP32 ? cm_dtype_size(CM_BF16) : (double)cm_dtype_size(t->dtype);
}

typedef struct saver {
    cm_footprint *f;
    int32_t       end;     /* last node of backward's loop */
    double       *stored;  /* per tensor: bytes for each of its numbers; 0: none */
    int32_t      *read, *again; /* per tensor: the first and the last node of backward that read it */
    bool         *counted; /* per node of forward: what is inside it has been added */
    const uint8_t *tensors; /* per node of forward: its name in a policy; NULL: none is in the host's memory */
    bool         *repeated; /* per node of forward: backward computes it again */
} saver;

static void add(const saver *s, int32_t tensor, cm_poly bytes, int32_t born, int32_t dies)
{
    cm_footprint *f = s->f;
    if (cm__poly_at(&bytes, 1) <= 0) return;
    f->pieces[f->n_pieces++] = (cm__piece){bytes, tensor, born, dies, CM_CATEGORY_INPUT_OUTPUT};
}

/* A kernel has a result of its own beside the one that the next product reads. */
static void add_of(const saver *s, int32_t node)
{
    const cm_graph *g = s->f->step;
    const cm_node  *n = &g->nodes[node];
    if (s->counted[node] || n->outputs[0] < 0) return;
    s->counted[node] = true;
    const cm_tensor *out = cm__t(g, n->outputs[0]);
    bool             centres = n->op == CM_OP_LAYER_NORM || n->op == CM_OP_GROUP_NORM;
    double           each = inside[n->op] * width(g, out);
    if (cm__class(n) == CM_CLASS_NORM) each = centres ? OF_LAYER_NORM : OF_RMS_NORM;
    each *= padding(out);
    if (n->op == CM_OP_ATTENTION && !s->f->math) each = width(g, out) * row_padding(out);
    add(s, n->outputs[0], cm__poly_scale(cm_tensor_elements(out), each), node, s->end);
}

/* What a node of backward reads of a layer's forward pass; of a norm its input is among what is inside. */
static void read_by(const saver *s, const cm_node *n)
{
    const cm_graph *g = s->f->step;
    bool            again = n->phase == CM_RECOMPUTE || s->repeated[n->source];
    bool            kernel = n->op == CM_OP_ATTENTION_GRAD && !s->f->math;
    for (int32_t k = 0; k < n->n_inputs; k++) {
        int32_t t = n->op == CM_OP_NORM_GRAD && !again ? -1 : origin(g, n->inputs[k]);
        if (t < 0 || (kernel && cm__t(g, t)->producer == n->source)) continue;
        const cm_tensor *x = cm__t(g, t), *read = cm__t(g, n->inputs[k]);
        double           each = width(g, x) * (kernel ? row_padding(read) : padding(read));
        if (each > s->stored[t]) s->stored[t] = each;
        s->again[t] = (int32_t)(n - g->nodes);
        if (!s->read[t]) s->read[t] = s->again[t];
    }
    if (!again && is_of_layer(g, n->source)) add_of(s, n->source);
}

/* Scores live from the attention to its gradient if it is computed again there. */
static void add_scores(const saver *s, int32_t node)
{
    const cm_graph  *g = s->f->step;
    const cm_node   *n = &g->nodes[node];
    const cm_tensor *q = cm__in(g, n, 0), *k = cm__in(g, n, 1);
    int32_t          forward = n->phase == CM_RECOMPUTE ? n->source : node, gradient = node;
    if (q->rank != 4 || k->rank != 4) return;
    for (int32_t i = node + 1; i < g->n_nodes && gradient == node; i++)
        if (g->nodes[i].source == forward && g->nodes[i].op == CM_OP_ATTENTION_GRAD) gradient = i;
    cm_dim    dims[] = {q->dims[0], q->dims[1], q->dims[2], k->dims[2]};
    cm_tensor scores = {.dims = dims, .rank = 4};
    cm_poly   all = cm__poly_scale(cm__poly_product(dims, 4), padding(&scores));
    bool      saved = n->phase == CM_FORWARD && !s->repeated[node], ends = n->phase == CM_FORWARD && !saved;
    add(s, n->outputs[0], cm__poly_scale(all, OF_SCORES), node, saved ? s->end : ends ? node : gradient);
    if (!ends) add(s, n->outputs[0], cm__poly_scale(all, OF_GRADIENT), gradient, gradient);
}

/* Pieces of forward that backward no longer reads end where forward last reads them; stored ones are added anew. */
static void shorten(const saver *s, const int32_t *last)
{
    const cm_graph *g = s->f->step;
    for (int32_t i = 0; i < s->f->n_pieces; i++) {
        cm__piece       *x = &s->f->pieces[i];
        const cm_tensor *t = cm__t(g, x->tensor);
        if (!is_of_layer(g, t->producer) || !grows(t) || x->category != CM_CATEGORY_INPUT_OUTPUT) continue;
        int32_t until = last[x->tensor] > x->born ? last[x->tensor] : x->born;
        if (s->stored[x->tensor] > 0) x->bytes = (cm_poly){{0}}, x->born = x->dies = -1;
        else if (x->born >= 0 && x->dies > until) x->dies = until;
    }
}

/* A policy stores it in the host's memory: while a layer's backward runs, the next one's is transferred. */
#define BUFFERED 2.0

static bool is_moved(const saver *s, int32_t tensor)
{
    int32_t from = cm__t(s->f->step, tensor)->producer;
    return from >= 0 && s->tensors && s->tensors[from] & s->f->step->asked.recompute_moved;
}

const int32_t *cm__last_readers(const cm_graph *g, cm__ctx *scratch)
{
    int32_t *last = cm__alloc_array(scratch, (size_t)g->n_tensors + 1, sizeof *last);
    for (int32_t i = 0; i < g->n_nodes && g->nodes[i].phase == CM_FORWARD; i++)
        for (int32_t k = 0; k < g->nodes[i].n_inputs; k++)
            if (g->nodes[i].inputs[k] >= 0) last[cm__t(g, g->nodes[i].inputs[k])->storage] = i;
    return last;
}

void cm__saved_pieces(cm_footprint *f, cm__ctx *scratch, int32_t end)
{
    const cm_graph *g = f->step;
    saver           s = {.f = f, .end = end,
                         .stored = cm__alloc_array(scratch, (size_t)g->n_tensors + 1, sizeof *s.stored),
                         .read = cm__alloc_array(scratch, (size_t)g->n_tensors + 1, sizeof *s.read),
                         .again = cm__alloc_array(scratch, (size_t)g->n_tensors + 1, sizeof *s.again),
                         .counted = cm__alloc_array(scratch, (size_t)g->n_nodes + 1, sizeof *s.counted),
                         .repeated = cm__alloc_array(scratch, (size_t)g->n_nodes + 1, sizeof *s.repeated)};
    int32_t         before = f->n_pieces;
    if (g->asked.recompute_moved) s.tensors = cm__policy_tensors(scratch, g, g->n_nodes);
    for (int32_t i = 0; i < g->n_nodes; i++)
        if (g->nodes[i].phase == CM_RECOMPUTE && g->nodes[i].source >= 0) s.repeated[g->nodes[i].source] = true;
    for (int32_t i = 0; i < g->n_nodes; i++) {
        const cm_node *n = &g->nodes[i];
        bool           reads = !n->view && n->op != CM_OP_CAST && n->source >= 0;
        if (reads && (n->phase == CM_BACKWARD || n->phase == CM_RECOMPUTE)) read_by(&s, n);
        if (n->op == CM_OP_ATTENTION && f->math) add_scores(&s, i);
    }
    int32_t after = f->n_pieces;
    f->n_pieces = before;
    const int32_t *last = cm__last_readers(g, scratch);
    shorten(&s, last);
    f->n_pieces = after;
    for (int32_t t = 0; t < g->n_tensors; t++) {
        cm_poly elements = cm_tensor_elements(cm__t(g, t));
        cm_poly bytes = cm__poly_scale(elements, s.stored[t]);
        int32_t from = cm__t(g, t)->producer;
        if (s.stored[t] > 0) add(&s, t, bytes, from, is_moved(&s, t) ? (last[t] > from ? last[t] : from) : end);
        if (is_moved(&s, t)) add(&s, t, cm__poly_scale(bytes, BUFFERED), s.read[t], s.again[t]);
    }
}
