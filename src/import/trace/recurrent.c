/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recurrent.c - a recorded recurrent layer as one operator per layer and direction.
 *
 * PyTorch's inputs: x, hidden states, weights; per layer and direction four weights with biases, two without. Its
 * output is [batch, steps, directions * H] if batch_first, else [steps, batch, ...]. Our inputs: x, W[1, gates H, I],
 * R[1, gates H, H], bias, initial states. PyTorch's second bias is passed as an input that PyTorch has no use for: an
 * LSTM's peepholes, the other layers' lengths. Initial states are passed only if the model computes them: backward has
 * to reach the layers that they come from. States of zeros have no gradient.
 *
 * A recorded cell, one step of a layer, becomes what a GPU runs: two products and one kernel for the rest.
 */
#include <string.h>
#include "import/trace/rules.h"

typedef struct layers {
    cm__trace          *t;
    const cm__trace_op *o;
    int                 op;
    int32_t             at;       /* index of the next weight among the inputs */
    bool                biases, batch_first;
    int64_t             hidden;
    double              dropout;
    int32_t            *initial[2], *last[2]; /* state and cell of each layer and direction; initial: NULL if zeros */
    int32_t             n_last;
} layers;

#define INITIAL_STATE 5 /* index of a recurrent node's input for its first hidden state; an LSTM's first cell follows */

static int32_t lifted(layers *l, int32_t weight)
{
    const cm_tensor *w = cm__t(l->t->g, weight);
    cm_dim           dims[] = {cm__fixed(1), w->dims[0], w->rank > 1 ? w->dims[1] : cm__fixed(1)};
    int32_t          rank = w->rank + 1;
    if (rank > 3) cm__fail(l->t->ctx, CM_ERR_FORMAT, "a recurrent weight of %d dimensions", w->rank);
    int32_t inputs[] = {weight, cm__trace_shape(l->t, rank, dims)};
    return cm__emit(l->t->g, CM_OP_RESHAPE, cm__t(l->t->g, weight)->name, inputs, 2, NULL, 0);
}

/* One direction of one layer: y[steps, 1, batch, H], reshaped like x with width H. */
static int32_t direction(layers *l, int32_t x, bool backwards)
{
    cm_graph *g = l->t->g;
    int32_t   w = lifted(l, cm__trace_need(l->t, l->o, l->at)), r = lifted(l, cm__trace_need(l->t, l->o, l->at + 1));
    int32_t   inputs[] = {x, w, r, -1, -1, -1, -1, -1}, count = 3;
    if (l->biases) {
        inputs[3] = cm__trace_need(l->t, l->o, l->at + 2);
        int32_t spare = l->op == CM_OP_LSTM ? 7 : 4;
        inputs[spare] = cm__trace_need(l->t, l->o, l->at + 3);
        count = spare + 1;
    }
    for (int s = 0; s < 2; s++)
        if (l->initial[s]) {
            inputs[INITIAL_STATE + s] = l->initial[s][l->n_last];
            count = count > INITIAL_STATE + s + 1 ? count : INITIAL_STATE + s + 1;
        }
    l->at += l->biases ? 4 : 2;
    cm__attr attrs[] = {CM__INTS(CM_ATTR_HIDDEN_SIZE, l->hidden), CM__INTS(CM_ATTR_LAYOUT, l->batch_first),
                        CM__INTS(CM_ATTR_DIRECTION, backwards)};
    int32_t          y = cm__emit(g, l->op, cm__trace_name(l->t, l->o), inputs, count, attrs, 3);
    for (int s = 0; s < 2; s++) l->last[s][l->n_last] = cm__last(g)->outputs[s + 1];
    l->n_last++;
    const cm_tensor *from = cm__t(g, x);
    cm_dim           dims[] = {from->dims[0], from->dims[1], cm__fixed(l->hidden)};
    int32_t          flat[] = {y, cm__trace_shape(l->t, 3, dims)};
    return cm__emit(g, CM_OP_RESHAPE, cm__trace_name(l->t, l->o), flat, 2, NULL, 0);
}

static int32_t layer(layers *l, int32_t x, bool both)
{
    int32_t  halves[] = {direction(l, x, false), -1};
    cm__attr axis = CM__INTS(CM_ATTR_AXIS, 2);
    if (!both) return halves[0];
    halves[1] = direction(l, x, true);
    return cm__emit(l->t->g, CM_OP_CONCAT, cm__trace_name(l->t, l->o), halves, 2, &axis, 1);
}

/* Final states [layers * directions, batch, H], concatenated from [1, batch, H] (or [batch, 1, H]) each. */
static int32_t final_states(layers *l, const int32_t *each, const cm__trace_tensor *y)
{
    cm_dim   one[] = {cm__fixed(1), y->dims[1], y->dims[2]};
    int32_t *parts = cm__alloc_array(l->t->ctx, (size_t)l->n_last, sizeof *parts);
    for (int32_t i = 0; i < l->n_last; i++) {
        int32_t inputs[] = {each[i], cm__trace_shape(l->t, 3, one)};
        parts[i] = cm__emit(l->t->g, CM_OP_RESHAPE, cm__trace_name(l->t, l->o), inputs, 2, NULL, 0);
    }
    cm__attr axis = CM__INTS(CM_ATTR_AXIS, 0);
    if (l->n_last == 1) return parts[0];
    return cm__emit(l->t->g, CM_OP_CONCAT, cm__trace_name(l->t, l->o), parts, l->n_last, &axis, 1);
}

/* The initial states of each layer and direction: parts of [layers * directions, batch, H]; NULL if they are zeros. */
static int32_t *initial_states(cm__trace *t, const cm__trace_op *o, int32_t index, int64_t count)
{
    int32_t          whole = cm__trace_need(t, o, index);
    const cm_tensor *x = cm__t(t->g, whole);
    bool             zeros = x->producer < 0 ? x->role == CM_ROLE_CONSTANT
                                             : t->g->nodes[x->producer].op == CM_OP_CONSTANT_OF_SHAPE;
    if (zeros || x->rank != 3 || x->dims[0].per_batch || x->dims[0].fixed != count) return NULL;
    int64_t *ones = cm__alloc_array(t->ctx, (size_t)count, sizeof *ones);
    for (int64_t i = 0; i < count; i++) ones[i] = 1;
    int32_t *each = cm__alloc_array(t->ctx, (size_t)count, sizeof *each);
    cm__attr attrs[] = {CM__INTS(CM_ATTR_AXIS, 0), {.key = CM_ATTR_SPLIT, .count = (int32_t)count, .ints = ones}};
    each[0] = whole;
    if (count > 1)
        memcpy(each,
               cm__emit_node(t->g, CM_OP_SPLIT, cm__trace_name(t, o), &whole, 1, attrs, 2, (int32_t)count)->outputs,
               (size_t)count * sizeof *each);
    return each;
}

void cm__aten_recurrent(cm__trace *t, const cm__trace_op *o, int op)
{
    int64_t count = cm__trace_int(t, o, "num_layers", 1), states = op == CM_OP_LSTM ? 2 : 1;
    int32_t x = cm__trace_need(t, o, 0);
    bool    both = cm__trace_int(t, o, "bidirectional", 0) != 0;
    layers  l = {.t = t, .o = o, .op = op, .at = (int32_t)(1 + states),
                 .biases = cm__trace_int(t, o, "has_biases", 1) != 0,
                 .batch_first = cm__trace_int(t, o, "batch_first", 0) != 0,
                 .dropout = cm__trace_real(o, "dropout", 0)};
    const cm_tensor *y = cm__t(t->g, cm__trace_need(t, o, 1));
    cm__need_rank(t->g, y, 3);
    cm__need_rank(t->g, cm__t(t->g, x), 3);
    l.hidden = y->dims[2].fixed;
    if (count < 1 || count > CM__TRACE_ARGUMENTS_MAX) cm__fail(t->ctx, CM_ERR_LIMIT, "%lld layers", (long long)count);
    for (int s = 0; s < 2; s++) l.last[s] = cm__alloc_array(t->ctx, (size_t)count * 2, sizeof *l.last[s]);
    for (int32_t s = 0; s < states; s++) l.initial[s] = initial_states(t, o, 1 + s, count * (both + 1));
    for (int64_t i = 0; i < count; i++) {
        x = layer(&l, x, both);
        cm__attr ratio = CM__REAL(CM_ATTR_RATIO, l.dropout);
        if (l.dropout > 0 && i + 1 < count) x = cm__emit(t->g, CM_OP_DROPOUT, cm__trace_name(t, o), &x, 1, &ratio, 1);
    }
    cm__trace_made(t, o, 0, x);
    for (int32_t i = 0; i < states && i + 1 < o->n_out; i++) {
        const cm__trace_tensor *last = o->out[i + 1] < 0 ? NULL : &t->tensors[o->out[i + 1]];
        if (last && last->rank == 3) cm__trace_made(t, o, i + 1, final_states(&l, l.last[i], last));
    }
}

/* (x, states, W, R[, biases]): the fused kernel adds the biases, not the products. */
void cm__aten_cell(cm__trace *t, const cm__trace_op *o, int op)
{
    const cm__attr transposed = CM__INTS(CM_ATTR_TRANS_B, 1);
    int32_t        states = op == CM_OP_LSTM_CELL ? 2 : 1, inputs[5];
    for (int32_t i = 0; i < 2; i++) {
        int32_t operands[] = {cm__trace_need(t, o, i), cm__trace_need(t, o, states + 1 + i)};
        inputs[i] = cm__emit(t->g, CM_OP_GEMM, cm__trace_name(t, o), operands, 2, &transposed, 1);
        inputs[3 + i] = cm__trace_in(t, o, states + 3 + i);
    }
    inputs[2] = cm__trace_need(t, o, states);
    cm__trace_made(t, o, 0, cm__emit(t->g, op, cm__trace_name(t, o), inputs, inputs[3] < 0 ? 3 : 5, NULL, 0));
    if (states == 2) cm__trace_made(t, o, 1, cm__last(t->g)->outputs[1]);
}
