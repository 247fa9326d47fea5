/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layout.c - which reshapes move data.
 *
 * Transposing, slicing and broadcasting change strides only. A reshape can do so too unless what it joins does not lie
 * side by side in memory: then PyTorch copies. Strides are followed through the graph at one batch size; the question
 * has the same answer at all others.
 */
#include "graph/rule.h"

#include <string.h>

#define AT_BATCH 7 /* small, so that 2^53 elements fit; odd, so that it is no other size by chance */

typedef struct layout {
    cm_graph      *g;
    int64_t      **strides; /* per tensor */
} layout;

static int64_t size_at(cm_dim d) { return d.per_batch * AT_BATCH + d.fixed; }

static int64_t *strides_new(const layout *l, int32_t rank)
{
    return cm__alloc_array(l->g->ctx, (size_t)rank, sizeof(int64_t));
}

static int64_t *contiguous(const layout *l, const cm_tensor *t)
{
    int64_t *s = strides_new(l, t->rank), step = 1;
    for (int32_t i = t->rank - 1; i >= 0; i--) {
        s[i] = step;
        step *= size_at(t->dims[i]);
    }
    return s;
}

static int64_t *strides_of(layout *l, int32_t tensor)
{
    if (!l->strides[tensor]) l->strides[tensor] = contiguous(l, cm__t(l->g, tensor));
    return l->strides[tensor];
}

/* ---- views ------------------------------------------------------------------------------------------------------ */

/* Strides of `y` over the memory of `x`, dimension by dimension from the last, in runs that lie side by side; NULL: it
   takes a copy. */
static int64_t *reshaped(const layout *l, const cm_tensor *x, const int64_t *old, const cm_tensor *y)
{
    int64_t *s = contiguous(l, y), run = 1, taken = 1, base = x->rank ? old[x->rank - 1] : 1;
    int32_t  to = y->rank - 1;
    cm_poly  elements = cm_tensor_elements(x);
    if (cm_poly_at(&elements, AT_BATCH) <= 1) return s;
    for (int32_t from = x->rank - 1; from >= 0; from--) {
        run *= size_at(x->dims[from]);
        bool ends = from == 0 || (size_at(x->dims[from - 1]) != 1 && old[from - 1] != run * base);
        if (!ends) continue;
        for (; to >= 0 && (taken < run || size_at(y->dims[to]) == 1); to--) {
            s[to] = taken * base;
            taken *= size_at(y->dims[to]);
        }
        if (taken != run) return NULL;
        if (from) base = old[from - 1];
        run = taken = 1;
    }
    return to < 0 ? s : NULL;
}

static int64_t *transposed(const layout *l, const cm_node *n, int32_t rank, const int64_t *old)
{
    const cm__attr *perm = cm__attr_find(n, CM_ATTR_PERM);
    int64_t        *s = strides_new(l, rank);
    for (int32_t i = 0; i < rank; i++) s[i] = old[perm ? (perm->ints[i] + rank) % rank : rank - 1 - i];
    return s;
}

static int64_t *expanded(const layout *l, const cm_tensor *x, const int64_t *old, const cm_tensor *y)
{
    int64_t *s = strides_new(l, y->rank);
    for (int32_t i = 0; i < y->rank; i++) {
        int32_t own = i - (y->rank - x->rank);
        s[i] = own < 0 || (cm__dim_is(x->dims[own], 1) && !cm__dim_is(y->dims[i], 1)) ? 0 : old[own];
    }
    return s;
}

static int64_t *sliced(const layout *l, const cm_node *n, int32_t rank, const int64_t *old)
{
    int64_t   *s = strides_new(l, rank);
    cm__slices slices;
    if (rank) memcpy(s, old, (size_t)rank * sizeof *s);
    cm__slices_read(l->g, n, &slices);
    for (int32_t i = 0; i < slices.count; i++) {
        if (slices.step[i] < 0) return NULL; /* backwards: PyTorch has no negative strides */
        if (slices.step[i] < CM__DIM_MAX && s[slices.axis[i]] < CM__DIM_MAX) s[slices.axis[i]] *= slices.step[i];
    }
    return s;
}

/* One slice of an axis, without it. */
static int64_t *selected(const layout *l, const cm_node *n, const cm_tensor *x, const int64_t *old)
{
    int64_t *s = strides_new(l, x->rank), axis = cm__axis(l->g, cm__attr_int(n, CM_ATTR_AXIS, 0), x->rank);
    for (int32_t i = 0, o = 0; i < x->rank; i++)
        if (i != axis) s[o++] = old[i];
    return s;
}

static int64_t *view_strides(layout *l, const cm_node *n, int32_t output)
{
    const cm_tensor *x = cm__in(l->g, n, 0), *y = cm__t(l->g, output);
    const int64_t   *old = strides_of(l, n->inputs[0]);
    switch (n->op) {
    case CM_OP_TRANSPOSE: return transposed(l, n, x->rank, old);
    case CM_OP_EXPAND: return expanded(l, x, old, y);
    case CM_OP_SLICE: return sliced(l, n, x->rank, old);
    case CM_OP_SPLIT:
    case CM_OP_IDENTITY: return l->strides[n->inputs[0]];
    case CM_OP_GATHER: return selected(l, n, x, old);
    case CM_OP_VIEW: return n->phase == CM_FORWARD ? reshaped(l, x, old, y) : contiguous(l, y);
    default: return reshaped(l, x, old, y);
    }
}

/* ---- what operators write --------------------------------------------------------------------------------------- */

/* Fused attention writes [B, S, heads, d], whatever its result is called. */
static int64_t *attention_strides(const layout *l, const cm_tensor *y)
{
    int64_t *s = strides_new(l, 4), heads = size_at(y->dims[1]), d = size_at(y->dims[3]);
    s[0] = heads * size_at(y->dims[2]) * d;
    s[1] = d;
    s[2] = heads * d;
    s[3] = 1;
    return s;
}

static void place(layout *l, cm_node *n)
{
    bool can_view = n->view;
    for (int32_t o = 0; o < n->n_outputs; o++) {
        int32_t t = n->outputs[o];
        if (t < 0) continue;
        cm_tensor *y = cm__t(l->g, t);
        l->strides[t] = can_view ? view_strides(l, n, t) : NULL;
        if (can_view && !l->strides[t]) n->view = false;
        if (n->op == CM_OP_ATTENTION && o == 0 && y->rank == 4) l->strides[t] = attention_strides(l, y);
        y->storage = n->view ? cm__t(l->g, n->inputs[0])->storage : t;
    }
}

void cm__layout(cm_graph *g)
{
    layout l = {.g = g, .strides = cm__alloc_array(g->ctx, (size_t)g->n_tensors, sizeof *l.strides)};
    for (int32_t i = 0; i < g->n_nodes; i++) place(&l, &g->nodes[i]);
}
