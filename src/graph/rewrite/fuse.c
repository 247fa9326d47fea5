/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuse.c - replace written-out sequences of operators by the single operator that runtimes execute.
 *
 * In this order: exporters' no-ops (zero biases expanded from a scalar, casts and reshapes that change nothing,
 * inactive dropout, recurrent weights whose gates are reordered), linear layers (MatMul by a parameter, then Add),
 * GELU, SiLU, layer, RMS and group normalisation, attention, and what JAX writes out. A match rewrites its last node in place; nodes whose
 * outputs nobody reads any more are pruned.
 *
 * For eager PyTorch, only sequences that PyTorch ran as one kernel are fused. scaled_dot_product_attention is
 * recognised by what its export adds (both factors scaled, a guard against NaN); products and softmax written by hand
 * stay separate, and so do GELU with a cube by Pow and RMS normalisation.
 */
#include "graph/rewrite/fuse.h"
#include "graph/function.h"

#include <string.h>

/* ---- matching --------------------------------------------------------------------------------------------------- */

int32_t cm__made_by(const cm__fuser *f, int32_t tensor, int op)
{
    int32_t node = tensor < 0 ? -1 : cm__t(f->g, tensor)->producer;
    return node >= 0 && f->g->nodes[node].op == op ? node : -1;
}

int32_t cm__only_reader(const cm__fuser *f, int32_t tensor)
{
    if (tensor >= f->tensors) return -1; /* made by this pass: nobody reads it yet */
    int32_t first = f->uses.first[tensor];
    if (f->uses.first[tensor + 1] - first != 1 || f->returned[tensor]) return -1;
    return f->uses.list[first].node;
}

int32_t cm__only_reader_op(const cm__fuser *f, int32_t tensor, int op)
{
    int32_t node = cm__only_reader(f, tensor);
    return node >= 0 && f->g->nodes[node].op == op ? node : -1;
}

bool cm__is_number(const cm__fuser *f, int32_t tensor, double *value)
{
    if (tensor < 0) return false;
    const cm_tensor *t = cm__t(f->g, tensor);
    if (!t->value || cm__small_count(t) != 1) return false;
    *value = cm__is_float(t->dtype) ? t->value->f : (double)t->value->i.fixed;
    return true;
}

int32_t cm__other_input(const cm_node *n, int32_t tensor)
{
    if (n->n_inputs != 2) return -1;
    return n->inputs[0] == tensor ? n->inputs[1] : n->inputs[1] == tensor ? n->inputs[0] : -1;
}

int32_t cm__scaled_input(const cm__fuser *f, int32_t node)
{
    const cm_node *n = &f->g->nodes[node];
    double         c;
    if ((n->op == CM_OP_MUL || n->op == CM_OP_DIV) && cm__is_number(f, n->inputs[1], &c)) return n->inputs[0];
    if (n->op == CM_OP_MUL && cm__is_number(f, n->inputs[0], &c)) return n->inputs[1];
    return -1;
}

double cm__scale_of(const cm__fuser *f, int32_t node)
{
    const cm_node *n = &f->g->nodes[node];
    double         c = 0;
    if (!cm__is_number(f, n->inputs[1], &c)) cm__is_number(f, n->inputs[0], &c);
    return n->op == CM_OP_DIV ? 1 / c : c;
}

bool cm__comes_from(const cm__fuser *f, int32_t tensor, int32_t ancestor, int depth)
{
    if (tensor == ancestor) return true;
    int32_t node = tensor < 0 ? -1 : cm__t(f->g, tensor)->producer;
    if (node < 0 || depth == 0) return false;
    const cm_node *n = &f->g->nodes[node];
    for (int32_t i = 0; i < n->n_inputs && i < 2; i++)
        if (cm__comes_from(f, n->inputs[i], ancestor, depth - 1)) return true;
    return false;
}

/* ---- rewriting -------------------------------------------------------------------------------------------------- */

/* The new node, which is in no list yet. */
static cm_node made_in_place(cm__fuser *f, const cm_node *old, int op, const int32_t *inputs, int32_t n, const cm__attr *attrs,
                             int32_t n_attrs)
{
    cm_graph *g = f->g;
    int32_t   block = g->block, made = g->n_nodes;
    f->changed = true;
    g->block = old->block;
    g->segment = old->segment >= 0 ? old->segment : g->nodes[f->anchor].segment; /* backward may need all but the last node */
    g->function = old->function;
    g->plain = old->plain;
    g->outside = old->outside;
    cm__place_names(g->ctx, "node '%s' as %s", old->name, cm__ops[op].name);
    cm_node fused = *cm__emit_node(g, op, old->name, inputs, n, attrs, n_attrs, 0); /* last, for its shape */
    cm__place(g->ctx, "%s", "");
    g->block = block;
    g->segment = g->function = -1;
    g->plain = false;
    g->outside = CM__COMPILED;
    g->n_nodes = made;
    return fused;
}

int32_t cm__put(cm__fuser *f, int32_t node, int op, const int32_t *inputs, int32_t n, const cm__attr *attrs, int32_t n_attrs)
{
    cm_node old = f->g->nodes[node], made = made_in_place(f, &old, op, inputs, n, attrs, n_attrs);
    for (int32_t o = 0; o < made.n_outputs; o++) cm__t(f->g, made.outputs[o])->producer = node;
    f->g->nodes[node] = made;
    return made.outputs[0];
}

bool cm__rewrite(cm__fuser *f, int32_t node, int op, const int32_t *inputs, int32_t n, const cm__attr *attrs,
                 int32_t n_attrs)
{
    cm_graph *g = f->g;
    cm_node   old = g->nodes[node], fused = made_in_place(f, &old, op, inputs, n, attrs, n_attrs);
    int32_t   result = old.outputs[0];
    if (!cm__same_shape(cm__t(g, fused.outputs[0]), cm__t(g, result))) return false;
    cm__t(g, fused.outputs[0])->producer = -1;
    ((int32_t *)fused.outputs)[0] = result;
    for (int32_t o = 0; o < fused.n_outputs; o++) {
        cm__t(g, fused.outputs[o])->producer = node;
        cm__t(g, fused.outputs[o])->storage = fused.outputs[o];
    }
    g->nodes[node] = fused;
    return true;
}

/* Make all readers of `from` read `to` instead. */
static void replace(cm__fuser *f, int32_t from, int32_t to)
{
    f->changed = true;
    for (int32_t u = f->uses.first[from]; u < f->uses.first[from + 1]; u++) {
        cm__use use = f->uses.list[u];
        ((int32_t *)f->g->nodes[use.node].inputs)[use.slot] = to;
    }
    cm__functions_follow(f->g, from, to);
    if (!f->returned[from]) return;
    for (int32_t i = 0; i < f->g->n_outputs; i++)
        if (f->g->outputs[i] == from) f->g->outputs[i] = to;
    f->returned[to] = true;
}

/* ---- noise ------------------------------------------------------------------------------------------------------ */

static bool keeps_order(const cm_node *n, int32_t rank)
{
    const cm__attr *perm = cm__attr_find(n, CM_ATTR_PERM);
    for (int32_t i = 0; i < rank; i++)
        if ((perm ? perm->ints[i] : rank - 1 - i) != i) return false;
    return true;
}

static bool changes_nothing(const cm__fuser *f, const cm_node *n)
{
    const cm_tensor *x = cm__in(f->g, n, 0), *y = cm__t(f->g, n->outputs[0]);
    double           ratio, active;
    switch (n->op) {
    case CM_OP_IDENTITY: return true;
    case CM_OP_CAST:
    case CM_OP_CAST_LIKE:
        return x->dtype == y->dtype && x->converted == y->converted && !cm__attr_find(n, CM_ATTR_UNDER_AUTOCAST);
    case CM_OP_EXPAND:
    case CM_OP_RESHAPE: return cm__same_shape(x, y);
    case CM_OP_TRANSPOSE: return keeps_order(n, x->rank);
    case CM_OP_DROPOUT:
        ratio = cm__has(n, 1) && cm__is_number(f, n->inputs[1], &ratio) ? ratio : cm__attr_real(n, CM_ATTR_RATIO, 0.5);
        if (!(cm__has(n, 2) && cm__is_number(f, n->inputs[2], &active))) active = 1;
        return ratio == 0 || active == 0 || cm__attr_int(n, CM_ATTR_IS_TEST, 0);
    default: return false;
    }
}

/* A custom autograd function's output stays: its gradient is what the function's backward is given, which may differ
   from that of the tensor it is a view of, even if it is the whole forward, as where gradients are reversed. */
static void drop_noise(cm__fuser *f, int32_t node)
{
    const cm_node *n = &f->g->nodes[node];
    if (n->n_inputs < 1 || n->inputs[0] < 0 || !changes_nothing(f, n)) return;
    if (cm__is_function_output(f->g, n, n->outputs[0])) return;
    replace(f, n->outputs[0], n->inputs[0]); /* in a chain of no-ops, inputs[0] is final already */
}

/* Whether the readers of a tensor lead to a recurrent layer through concatenations and reshapes only. */
static bool feeds_recurrence(const cm__fuser *f, int32_t tensor)
{
    for (int step = 0; step < 4; step++) {
        int32_t reader = cm__only_reader(f, tensor);
        if (reader < 0) return false;
        const cm_node *n = &f->g->nodes[reader];
        if (cm__class(n) == CM_CLASS_RNN) return true;
        if (n->op != CM_OP_UNSQUEEZE && n->op != CM_OP_CONCAT) return false;
        tensor = n->outputs[0];
    }
    return false;
}

/* Exporters reorder the gates of a recurrent weight for ONNX: slices of one parameter, concatenated again. */
static void drop_regrouping(cm__fuser *f, int32_t node)
{
    const cm_node *n = &f->g->nodes[node];
    int32_t        whole = -1;
    for (int32_t i = 0; n->op == CM_OP_CONCAT && i < n->n_inputs; i++) {
        int32_t part = cm__made_by(f, n->inputs[i], CM_OP_SLICE), of = part < 0 ? -1 : f->g->nodes[part].inputs[0];
        if (of < 0 || (i && of != whole)) return;
        whole = of;
    }
    if (whole < 0 || cm__t(f->g, whole)->role != CM_ROLE_PARAMETER) return;
    if (!cm__same_shape(cm__t(f->g, whole), cm__t(f->g, n->outputs[0])) || !feeds_recurrence(f, n->outputs[0])) return;
    replace(f, n->outputs[0], whole);
}

/* A bias that is a constant zero, expanded over the channels, is no bias. */
static void drop_zero_bias(cm__fuser *f, int32_t node)
{
    cm_node *n = &f->g->nodes[node];
    if ((n->op != CM_OP_CONV && n->op != CM_OP_CONV_TRANSPOSE && n->op != CM_OP_GEMM) || !cm__has(n, 2)) return;
    int32_t t = n->inputs[2], from;
    double  zero;
    while ((from = cm__t(f->g, t)->producer) >= 0 &&
           (f->g->nodes[from].op == CM_OP_EXPAND || f->g->nodes[from].op == CM_OP_CAST_LIKE ||
            f->g->nodes[from].op == CM_OP_CAST))
        t = f->g->nodes[from].inputs[0];
    const cm_tensor *b = cm__t(f->g, t);
    bool known_zero = cm__is_number(f, t, &zero) && zero == 0;
    if (b->value && cm__is_float(b->dtype) && cm__small_count(b) > 1) {
        known_zero = b->role == CM_ROLE_CONSTANT || b->producer >= 0;
        for (int64_t i = 0; i < cm__small_count(b); i++) known_zero &= b->value[i].f == 0;
    }
    if (!known_zero || b->role == CM_ROLE_PARAMETER) return;
    n->n_inputs = 2;
    f->changed = true;
}

/* ---- linear layers ---------------------------------------------------------------------------------------------- */

/* The parameter that a weight operand comes from, and whether it is transposed on the way. */
static int32_t weight_of(const cm__fuser *f, int32_t tensor, bool *transposed)
{
    int32_t view = cm__made_by(f, tensor, CM_OP_TRANSPOSE); /* transposes that change nothing are already removed */
    *transposed = view >= 0 && cm__t(f->g, tensor)->rank == 2;
    int32_t w = *transposed ? f->g->nodes[view].inputs[0] : tensor;
    return cm__t(f->g, w)->role == CM_ROLE_PARAMETER && cm__t(f->g, w)->rank == 2 ? w : -1;
}

static void fuse_product(cm__fuser *f, int32_t node)
{
    const cm_node *n = &f->g->nodes[node];
    bool           transposed;
    int32_t        w = n->op == CM_OP_MATMUL || n->op == CM_OP_GEMM ? weight_of(f, n->inputs[1], &transposed) : -1;
    if (w < 0 || (n->op == CM_OP_GEMM && !transposed)) return;
    int64_t  trans_b = transposed != (n->op == CM_OP_GEMM && cm__attr_int(n, CM_ATTR_TRANS_B, 0));
    int32_t  inputs[3] = {n->inputs[0], w, cm__has(n, 2) ? n->inputs[2] : -1};
    /* MatMul by a parameter is a linear layer whose weight the exporter transposed; a Gemm states the transposition. */
    cm__attr attrs[3] = {CM__INTS(CM_ATTR_TRANS_B, trans_b),
                         CM__INTS(CM_ATTR_TRANS_A, cm__attr_int(n, CM_ATTR_TRANS_A, 0)),
                         CM__INTS(CM_ATTR_STORED_TURNED, n->op == CM_OP_MATMUL && !transposed)};
    cm__rewrite(f, node, CM_OP_GEMM, inputs, inputs[2] >= 0 ? 3 : 2, attrs, 3);
}

static void fuse_bias(cm__fuser *f, int32_t node)
{
    const cm_node *n = &f->g->nodes[node];
    if (n->op != CM_OP_GEMM || n->n_inputs != 2) return;
    int32_t add = cm__only_reader_op(f, n->outputs[0], CM_OP_ADD);
    if (add < 0) return;
    int32_t          bias = cm__other_input(&f->g->nodes[add], n->outputs[0]);
    const cm_tensor *b = bias < 0 ? NULL : cm__t(f->g, bias);
    if (!b || b->role != CM_ROLE_PARAMETER || b->rank != 1) return;
    cm__attr attrs[3] = {CM__INTS(CM_ATTR_TRANS_B, cm__attr_int(n, CM_ATTR_TRANS_B, 0)),
                         CM__INTS(CM_ATTR_TRANS_A, cm__attr_int(n, CM_ATTR_TRANS_A, 0)),
                         CM__INTS(CM_ATTR_STORED_TURNED, cm__attr_int(n, CM_ATTR_STORED_TURNED, 0))};
    cm__rewrite(f, add, CM_OP_GEMM, (int32_t[]){n->inputs[0], n->inputs[1], bias}, 3, attrs, 3);
}

/* ---- the pass --------------------------------------------------------------------------------------------------- */

static void (*const passes[])(cm__fuser *, int32_t) = {
    drop_noise, drop_regrouping, drop_zero_bias, fuse_product,  fuse_bias,
    cm__fuse_gelu, cm__fuse_silu, cm__fuse_norm, cm__fuse_group_norm, cm__fuse_attention,
    cm__fuse_softmax, cm__fuse_loss, cm__fuse_written_norm,
};

static cm__fuser fuser_of(cm_graph *g, cm_fuse what)
{
    cm__fuser f = {.g = g, .uses = cm__uses_of(g), .tensors = g->n_tensors, .norms = what != CM_FUSE_EAGER};
    f.eager = what == CM_FUSE_EAGER || what == CM_FUSE_NORMS;
    f.returned = cm__alloc_array(g->ctx, (size_t)g->n_tensors, sizeof *f.returned);
    for (int32_t i = 0; i < g->n_outputs; i++) f.returned[g->outputs[i]] = true;
    return f;
}

void cm__fuse(cm_graph *g, cm_fuse what)
{
    cm__fuser f = fuser_of(g, what);
    f.changed = true; /* the graph may have nodes that lead to no output */
    for (size_t p = 0; p < sizeof passes / sizeof *passes; p++) {
        int32_t nodes = g->n_nodes;
        for (int32_t i = 0; i < nodes; i++) {
            f.anchor = i;
            passes[p](&f, i);
        }
        if (!f.changed) continue;
        cm__prune(g);
        f = fuser_of(g, what);
    }
}

void cm__mark_norms(cm_graph *g)
{
    cm__fuser f = fuser_of(g, CM_FUSE_EAGER);
    f.marks_only = true;
    for (int32_t i = 0; i < g->n_nodes; i++) cm__fuse_norm(&f, i);
}
