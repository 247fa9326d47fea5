/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recurrent.c - memory of recurrent layers that cuDNN runs as one call.
 *
 * With u the bytes of the states of all steps in one direction, x those of the inputs, s those of one step's states and
 * W those of the weights, a stack of L layers in D directions allocates, each time it runs,
 *
 *     W + D L 8 MiB + (a - 2) u + 2 x + b D L s,
 *
 * and more if cuDNN keeps small weights in registers. The numbers are from 129 layers on an H200 (cuDNN 9.19,
 * evidence/kernels.tar.xz). PyTorch also copies inputs whose first dimension is the batch. Backward allocates the
 * workspace, the gradient of the input and a buffer for the gradients of all weights. Between two layers only states
 * are stored: no concatenated directions, no copy with dropped values, and one or two bits for each of them.
 */
#include "graph/rule.h"
#include "model/dispatch/dispatch.h"
#include "model/memory/footprint.h"

#define STREAM (8.0 * (1 << 20))

/* whole: a of one layer in one direction; deep: of several; drops: added with dropout in one direction. both: a of one
   layer in two directions, both_deep: of several. steps: b in one direction, both_steps: in two. small: added to a if
   the hidden size is at most small_back, in forward up to small_forward (use_rnn_persist_small_h in
   ATen/native/cudnn/RNN.cpp). A plain cell in two directions was not measured; it is taken as a GRU. */
static const struct {
    int16_t op;
    double  gates, whole, deep, drops, both, both_deep, steps, both_steps, small, small_forward, small_back;
} cells[] = {
    {CM_OP_LSTM, 4, 6, 6, 1, 15, 15, 11, 12, 16, 192, 128},
    {CM_OP_GRU, 3, 6, 5, 1, 13, 14, 5, 7, 14, 192, 128},
    {CM_OP_RNN, 1, 6, 6, 0, 13, 14, 5, 7, 9, 384, 256},
};

static int cell_of(int op)
{
    int i = 0;
    while (cells[i].op != op) i++;
    return i;
}

static double states_of(int cell, const cm__stack *s, double hidden, bool backward)
{
    bool   deep = s->layers > 1, small = hidden <= (backward ? cells[cell].small_back : cells[cell].small_forward);
    double a = deep ? cells[cell].deep : cells[cell].whole;
    if (s->drops) a += cells[cell].drops;
    if (s->directions > 1) a = deep ? cells[cell].both_deep : cells[cell].both;
    return a + (small ? cells[cell].small : 0);
}

/* Weights of all layers, without biases; and those of the last one, whose node has gradients of its own. */
static double weights_of(int cell, const cm__stack *s, double input, double hidden)
{
    double above = (s->layers - 1) * (hidden * s->directions + hidden);
    return s->directions * cells[cell].gates * hidden * (input + hidden + above);
}

static double last_weights(const cm_node *first, const cm_graph *g, int cell, const cm__stack *s, double hidden)
{
    double input = s->layers > 1 ? hidden * s->directions : (double)cm__in(g, first, 0)->dims[2].fixed;
    return (double)cm__in(g, first, 1)->dims[0].fixed * cells[cell].gates * hidden * (input + hidden);
}

cm__temporary cm__workspace_recurrent(const cm_footprint *f, const cm_node *n)
{
    cm__temporary   t = {.least_batch = 0};
    const cm_graph *g = f->step;
    bool            backward = n->op == CM_OP_RNN_GRAD;
    int32_t         layer = backward ? n->source : (int32_t)(n - g->nodes);
    if (!f->stacks || n->phase == CM_RECOMPUTE || layer < 0) return t;
    cm__stack s = cm__stack_of(f->stacks, g, layer);
    if (layer != s.last) return t;
    const cm_node   *first = &g->nodes[s.first];
    const cm_tensor *x = cm__in(g, first, 0);
    bool             batch_first = cm__attr_int(first, CM_ATTR_LAYOUT, 0) != 0;
    int              cell = cell_of(first->op);
    double           size = (double)cm_dtype_size(x->dtype), hidden = (double)cm__in(g, first, 2)->dims[2].fixed,
           input = (double)x->dims[2].fixed, weights = size * weights_of(cell, &s, input, hidden);
    cm_poly steps = cm__poly_scale(cm__poly_product(x->dims, 2), size), inputs = cm__poly_scale(steps, input);
    double  b = (s.directions > 1 ? cells[cell].both_steps : cells[cell].steps) * s.layers * s.directions;
    t.bytes = cm__poly_scale(steps, (states_of(cell, &s, hidden, backward) - 2) * hidden);
    t.bytes = cm__poly_add(t.bytes, cm__poly_scale(inputs, 2 + (batch_first ? 1 : 0) + (backward ? 1 : 0)));
    t.bytes = cm__poly_add(t.bytes, cm__poly_scale(cm__poly_dim(x->dims[batch_first ? 0 : 1]), b * hidden * size));
    t.bytes.c[0] += weights + STREAM * s.layers * s.directions;
    if (backward) t.bytes.c[0] += weights - size * last_weights(first, g, cell, &s, hidden);
    return t;
}

static void leave_out(cm_footprint *f, const int32_t *piece_of, int32_t tensor)
{
    int32_t piece = tensor < 0 ? -1 : piece_of[cm__t(f->step, tensor)->storage];
    if (piece >= 0) f->pieces[piece].bytes = (cm_poly){{0}};
}

void cm__recurrent_pieces(cm_footprint *f, const int32_t *piece_of)
{
    for (int32_t i = 0; f->stacks && i < f->n_nodes; i++) {
        const cm_node *n = &f->step->nodes[i];
        int32_t        forward = n->phase == CM_BACKWARD && n->source >= 0 ? n->source : i;
        bool           inner = n->op == CM_OP_RNN_GRAD && cm__stack_of(f->stacks, f->step, forward).first != forward;
        if (inner) leave_out(f, piece_of, n->outputs[0]); /* the gradient of its input */
        for (int32_t o = 0; cm__between_layers(f->stacks, forward) && o < n->n_outputs; o++)
            leave_out(f, piece_of, n->outputs[o]);
    }
}
