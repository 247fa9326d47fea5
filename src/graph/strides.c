/* SPDX-License-Identifier: Apache-2.0 */
/*
 * strides.c - strides of views.
 *
 * Transposing, slicing and broadcasting change strides only. A reshape does too, unless the dimensions it merges are
 * not contiguous in memory: then PyTorch copies.
 */
#include "graph/strides.h"

#include <string.h>

#define AT_BATCH 7 /* small, so that 2^53 elements fit; odd, so that no other size is likely to equal it */

int64_t cm__strides_size(cm_dim d) { return d.per_batch * AT_BATCH + d.fixed; }

static int64_t *strides_new(const cm__strides *s, int32_t rank)
{
    return cm__alloc_array(s->ctx, (size_t)rank, sizeof(int64_t));
}

static cm_graph *graph_of(const cm__strides *s) { return (cm_graph *)(uintptr_t)s->g; } /* for rules that may fail */

int64_t *cm__strides_rows(const cm__strides *s, const cm_tensor *t)
{
    int64_t *strides = strides_new(s, t->rank), step = 1;
    for (int32_t i = t->rank - 1; i >= 0; i--) {
        strides[i] = step;
        step *= cm__strides_size(t->dims[i]);
    }
    return strides;
}

/* Strides in channels-last order, of planes and volumes: images, then pixels, then channels. */
int64_t *cm__strides_image(const cm__strides *s, const cm_tensor *t)
{
    int64_t *strides = strides_new(s, t->rank), step = cm__strides_size(t->dims[1]);
    strides[1] = 1;
    for (int32_t i = t->rank - 1; i >= 2; i--) {
        strides[i] = step;
        step *= cm__strides_size(t->dims[i]);
    }
    strides[0] = step;
    return strides;
}

const int64_t *cm__strides_of(cm__strides *s, int32_t tensor)
{
    if (!s->of[tensor]) s->of[tensor] = cm__strides_rows(s, cm__t(s->g, tensor));
    return s->of[tensor];
}

bool cm__strides_in_rows(cm__strides *s, int32_t tensor)
{
    const cm_tensor *t = cm__t(s->g, tensor);
    int64_t          step = 1;
    for (int32_t i = t->rank - 1; s->of[tensor] && i >= 0; i--) {
        int64_t size = cm__strides_size(t->dims[i]);
        if (size != 1 && s->of[tensor][i] != step) return false;
        step *= size;
    }
    return true;
}

bool cm__strides_joined(cm__strides *s, int32_t tensor, int32_t inner)
{
    const cm_tensor *t = cm__t(s->g, tensor);
    const int64_t   *strides = cm__strides_of(s, tensor);
    int64_t          next = -1; /* stride required of the next outer dimension */
    for (int32_t i = t->rank - 1 - inner; i >= 0; i--) {
        int64_t size = cm__strides_size(t->dims[i]);
        if (size == 1) continue;
        if (next >= 0 && strides[i] != next) return false;
        next = strides[i] * size;
    }
    return true;
}

/* As c10's is_channels_last_strides_2d and _3d: dimensions of size one are ignored, and the ambiguous case returns
   false. */
bool cm__strides_channels_last(cm__strides *s, int32_t tensor)
{
    static const int32_t orders[][5] = {{1, 3, 2, 0}, {1, 4, 3, 2, 0}};
    const cm_tensor     *t = cm__t(s->g, tensor);
    const int64_t       *strides = cm__is_image_rank(t->rank) ? s->of[tensor] : NULL;
    int64_t              least = 0;
    if (!strides || strides[1] == 0) return false;
    for (int i = 0; i < t->rank; i++) {
        int32_t d = orders[t->rank == 5][i];
        if (strides[d] < least || (d == 0 && least == strides[1])) return false;
        int64_t size = cm__strides_size(t->dims[d]);
        least = strides[d] * (size > 1 ? size : 1);
    }
    return true;
}

/* ---- views ------------------------------------------------------------------------------------------------------ */

/* A view `y` of `x`, whose strides are `old`. In VIEW_BACK the node is the forward node, and y and x are the gradients
   of its input and output. */
typedef struct view {
    const cm_node   *node;
    const cm_tensor *x, *y;
    const int64_t   *old;
} view;

/* A rule of the columns VIEW and VIEW_BACK: the strides of y; NULL: it needs a copy. */
typedef int64_t *view_rule(const cm__strides *s, const view *v);

/* Strides of `y` over the memory of `x`, from the last dimension to the first, in contiguous runs; NULL: it needs a
   copy. */
static int64_t *reshaped(const cm__strides *s, const view *v)
{
    const cm_tensor *x = v->x, *y = v->y;
    const int64_t   *old = v->old;
    int64_t *made = cm__strides_rows(s, y), run = 1, taken = 1, base = x->rank ? old[x->rank - 1] : 1;
    int32_t  to = y->rank - 1;
    cm_poly  elements = cm_tensor_elements(x);
    if (cm__poly_at(&elements, AT_BATCH) <= 1) return made;
    for (int32_t from = x->rank - 1; from >= 0; from--) {
        run *= cm__strides_size(x->dims[from]);
        bool ends = from == 0 || (cm__strides_size(x->dims[from - 1]) != 1 && old[from - 1] != run * base);
        if (!ends) continue;
        for (; to >= 0 && (taken < run || cm__strides_size(y->dims[to]) == 1); to--) {
            made[to] = taken * base;
            taken *= cm__strides_size(y->dims[to]);
        }
        if (taken != run) return NULL;
        if (from) base = old[from - 1];
        run = taken = 1;
    }
    return to < 0 ? made : NULL;
}

static int32_t from_axis(const cm_node *n, int32_t rank, int32_t i)
{
    const cm__attr *perm = cm__attr_find(n, CM_ATTR_PERM);
    return perm ? (int32_t)((perm->ints[i] + rank) % rank) : rank - 1 - i;
}

static int64_t *transposed(const cm__strides *s, const view *v)
{
    int32_t  rank = v->x->rank;
    int64_t *made = strides_new(s, rank);
    for (int32_t i = 0; i < rank; i++) made[i] = v->old[from_axis(v->node, rank, i)];
    return made;
}

static int64_t *transposed_back(const cm__strides *s, const view *v)
{
    int32_t  rank = v->x->rank;
    int64_t *made = strides_new(s, rank);
    for (int32_t i = 0; i < rank; i++) made[from_axis(v->node, rank, i)] = v->old[i];
    return made;
}

static int64_t *expanded(const cm__strides *s, const view *v)
{
    const cm_tensor *x = v->x, *y = v->y;
    int64_t         *made = strides_new(s, y->rank);
    for (int32_t i = 0; i < y->rank; i++) {
        int32_t own = i - (y->rank - x->rank);
        made[i] = own < 0 || (cm__dim_is(x->dims[own], 1) && !cm__dim_is(y->dims[i], 1)) ? 0 : v->old[own];
    }
    return made;
}

static int64_t *kept(const cm__strides *s, const view *v)
{
    int64_t *made = strides_new(s, v->x->rank);
    if (v->x->rank) memcpy(made, v->old, (size_t)v->x->rank * sizeof *made);
    return made;
}

static int64_t *sliced(const cm__strides *s, const view *v)
{
    int64_t   *made = kept(s, v);
    cm__slices slices;
    cm__slices_read(graph_of(s), v->node, &slices);
    for (int32_t i = 0; i < slices.count; i++) {
        if (slices.step[i] < 0) return NULL; /* reversed: PyTorch has no negative strides */
        if (slices.step[i] < CM__DIM_MAX && made[slices.axis[i]] < CM__DIM_MAX) made[slices.axis[i]] *= slices.step[i];
    }
    return made;
}

/* Select one index of an axis and remove the axis. */
static int64_t *selected(const cm__strides *s, const view *v)
{
    int32_t  rank = v->x->rank, axis = cm__axis(graph_of(s), cm__attr_int(v->node, CM_ATTR_AXIS, 0), rank);
    int64_t *made = strides_new(s, rank);
    for (int32_t i = 0, o = 0; i < rank; i++)
        if (i != axis) made[o++] = v->old[i];
    return made;
}

/* Real and imaginary parts are neighbours: as a dimension of their own they are the last one, and the steps of the
   others count twice as many numbers; or the reverse (ATen/native/ComplexHelper.h). */
static int64_t *parted(const cm__strides *s, const view *v)
{
    int32_t  splits = v->y->rank > v->x->rank, rank = splits ? v->x->rank : v->y->rank;
    int64_t *made = strides_new(s, v->y->rank);
    for (int32_t i = 0; i < rank; i++) {
        if (!splits && v->old[i] % 2) return NULL;
        made[i] = splits ? 2 * v->old[i] : v->old[i] / 2;
    }
    if (splits) made[rank] = 1;
    return splits || v->old[rank] == 1 ? made : NULL;
}

static int64_t *whole(const cm__strides *s, const view *v) { return cm__strides_rows(s, v->y); }

static view_rule *const back_rules[CM_OPS] = {
#define VIEW_BACK(rule) rule,
#define ROW(id, ...) [CM_OP_##id] = CM__FIRST(__VA_ARGS__ reshaped, 0),
#include "graph/ops.def"
};

/* A view of a forward tensor; or the gradient of a view, viewed with the shape of the view's input. */
static int64_t *viewed(const cm__strides *s, const view *v)
{
    const cm_node *forward = v->node->source >= 0 ? &s->g->nodes[v->node->source] : NULL;
    if (v->node->phase == CM_FORWARD) return reshaped(s, v);
    return forward ? back_rules[forward->op](s, &(view){forward, v->x, v->y, v->old}) : whole(s, v);
}

static view_rule *const rules[CM_OPS] = {
#define VIEW(rule) rule,
#define MAY_VIEW(rule) rule,
#define ROW(id, ...) [CM_OP_##id] = CM__FIRST(__VA_ARGS__ reshaped, 0),
#include "graph/ops.def"
};

static int64_t *view_strides(cm__strides *s, const cm_node *n, int32_t output)
{
    view v = {n, cm__in(s->g, n, 0), cm__t(s->g, output), cm__strides_of(s, n->inputs[0])};
    return rules[n->op](s, &v);
}

/* ---- all of them ------------------------------------------------------------------------------------------------- */

void cm__strides_place(cm__strides *s, int32_t node)
{
    const cm_node *n = &s->g->nodes[node];
    for (int32_t o = 0; o < n->n_outputs; o++) {
        int32_t t = n->outputs[o];
        if (t < 0) continue;
        s->of[t] = n->view ? view_strides(s, n, t) : cm__strides_written(s, n, o);
        if (n->view && !s->of[t]) s->copied[node] = true;
    }
}

/* JAX's images have their channels last already and are permuted for each convolution, so rows are in order. */
static bool permuted(const cm_graph *g, int32_t tensor)
{
    for (int32_t i = 0; i < g->n_nodes; i++)
        if (g->nodes[i].op == CM_OP_TRANSPOSE && g->nodes[i].inputs[0] == tensor) return true;
    return false;
}

cm__strides *cm__strides_new(cm__ctx *ctx, const cm_graph *g, bool channels_last)
{
    cm__strides *s = cm__alloc(ctx, sizeof *s);
    *s = (cm__strides){.ctx = ctx, .g = g};
    s->of = cm__alloc_array(ctx, (size_t)g->n_tensors + 1, sizeof *s->of);
    s->copied = cm__alloc_array(ctx, (size_t)g->n_nodes + 1, sizeof *s->copied);
    for (int32_t t = 0; channels_last && t < g->n_tensors; t++) {
        const cm_tensor *leaf = cm__t(g, t);
        bool             given = leaf->role == CM_ROLE_INPUT || leaf->role == CM_ROLE_PARAMETER ||
                     leaf->role == CM_ROLE_BUFFER; /* Module.to() converts frozen weights and buffers as well */
        if (leaf->producer < 0 && given && leaf->rank == 4 && !(leaf->role == CM_ROLE_INPUT && permuted(g, t)))
            s->of[t] = cm__strides_image(s, leaf);
    }
    return s;
}

/* The image that a convolution reads, or the gradient of the one that it wrote; -1: none. */
static int32_t image_of(const cm_node *n)
{
    return cm__class(n) != CM_CLASS_CONV ? -1 : n->inputs[n->op == CM_OP_CONV_GRAD_WEIGHT ? 1 : 0];
}

void cm__strides_relay(cm__strides *s)
{
    s->relaid = true;
    s->as_image = cm__alloc_array(s->ctx, (size_t)s->g->n_tensors + 1, sizeof *s->as_image);
    for (int32_t i = 0; i < s->g->n_nodes; i++) {
        int32_t image = image_of(&s->g->nodes[i]);
        if (image >= 0 && cm__strides_converts(s, image)) s->as_image[image] = true;
    }
}

/* The tensor whose memory `tensor` is a view of. */
static int32_t viewed_tensor(const cm_graph *g, int32_t tensor)
{
    int32_t maker = cm__t(g, tensor)->producer;
    while (maker >= 0 && g->nodes[maker].view) {
        tensor = g->nodes[maker].inputs[0];
        maker = cm__t(g, tensor)->producer;
    }
    return tensor;
}

/* Whether backward reads a result of the forward pass. */
static bool is_stored(const cm_graph *g, const cm_node *reader, int32_t tensor)
{
    int32_t maker = cm__t(g, tensor)->producer;
    return reader->phase == CM_BACKWARD && maker >= 0 && g->nodes[maker].phase == CM_FORWARD;
}

/* torch/_inductor/graph.py, run_node: need_fixed_layout for operands of convolutions, is_output for what the compiled
   forward pass returns to autograd, which stores it for backward. */
void cm__strides_want(cm__strides *s, const cm__strides *traced)
{
    s->wanted = cm__alloc_array(s->ctx, (size_t)s->g->n_tensors + 1, sizeof *s->wanted);
    for (int32_t i = 0; i < s->g->n_nodes; i++) {
        const cm_node *n = &s->g->nodes[i];
        for (int32_t k = 0; k < n->n_inputs; k++) {
            int32_t t = n->inputs[k] < 0 ? -1 : viewed_tensor(s->g, n->inputs[k]);
            if (t < 0 || !(cm__class(n) == CM_CLASS_CONV || is_stored(s->g, n, t))) continue;
            s->wanted[t] = traced->of[t] ? traced->of[t] : cm__strides_rows(s, cm__t(s->g, t));
        }
    }
}

/* ---- layout of images -------------------------------------------------------------------------------------------- */

/* Inputs of the model, without the targets of its loss. */
static bool model_reads(const cm_graph *g, int32_t tensor)
{
    for (int32_t i = 0; i < g->n_nodes; i++) {
        const cm_node *n = &g->nodes[i];
        bool           loss = n->op == CM_OP_MSE_LOSS || n->op == CM_OP_BCE_LOSS;
        for (int32_t k = 0; n->phase == CM_FORWARD && !loss && k < n->n_inputs; k++)
            if (n->inputs[k] == tensor) return true;
    }
    return false;
}

/* Assume that users give 16-bit colour images to convolutions in channels-last format, as PyTorch recommends. */
bool cm__channels_last(const cm_graph *g)
{
    if (g->channels_last) return true;
    bool sixteen = g->precision == CM_PRECISION_AMP_BF16 || g->precision == CM_PRECISION_AMP_FP16 ||
                   g->precision == CM_PRECISION_BF16 || g->precision == CM_PRECISION_FP16;
    for (int32_t i = 0; sixteen && i < g->n_inputs; i++) {
        const cm_tensor *x = cm__t(g, g->inputs[i]);
        if (x->rank == 4 && cm__dim_is(x->dims[1], 3) && model_reads(g, g->inputs[i])) return true;
    }
    return false;
}
