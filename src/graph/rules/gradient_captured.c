/* SPDX-License-Identifier: Apache-2.0 */
/* gradient_captured.c - gradient rules of operators that only captures have: what PyTorch's autograd computes. */
#include "graph/rules/backward.h"
#include "graph/rules/rules.h"

static int32_t dy_of(cm__backward *b, const cm_node *n) { return cm__gradient_of_output(b, n, 0); }

static int32_t like_input(cm__backward *b, const cm_node *n, int op, const int32_t *inputs, int32_t count)
{
    int32_t gradient = cm__back(b, n, op, n->inputs[0], inputs, count);
    cm__give(b, n, n->inputs[0], gradient);
    return gradient;
}

/* A max pool saves the indices of its maxima, and its gradient reads them. Pools and pads that repeat pixels also save what
   they read, for its shape (reflection_pad1d and _adaptive_avg_pool2d in derivatives.yaml). */
void cm__gradient_resample(cm__backward *b, const cm_node *n)
{
    int32_t inputs[2] = {dy_of(b, n)}, count = 1;
    if (n->n_outputs > 1 && n->outputs[1] >= 0) inputs[count++] = cm__kept(b, n->outputs[1]);
    int32_t gradient = like_input(b, n, n->op == CM_OP_RESAMPLE ? CM_OP_RESAMPLE_GRAD : CM_OP_COLUMNS_GRAD, inputs, count);
    if (n->op == CM_OP_RESAMPLE) cm__hold(b->g, cm__kept(b, n->inputs[0]), gradient);
}

void cm__gradient_grid_sample(cm__backward *b, const cm_node *n)
{
    int32_t inputs[] = {dy_of(b, n), cm__kept(b, n->inputs[0]), cm__kept(b, n->inputs[1])};
    cm__back_joint(b, n, CM_OP_GRID_SAMPLE_GRAD, inputs, 3, 0, 1);
}

/* All gradients at once, of what forward read; the bias is not read. */
void cm__gradient_deformed(cm__backward *b, const cm_node *n)
{
    int32_t inputs[CM__DEFORMED_INPUTS] = {dy_of(b, n)}, count = 1;
    for (int32_t i = CM__DEFORMED_IMAGE; i <= CM__DEFORMED_MASK; i++)
        if (cm__has(n, i)) inputs[count++] = cm__kept(b, n->inputs[i]);
    cm__back_joint(b, n, CM_OP_DEFORMED_CONV_GRAD, inputs, count, CM__DEFORMED_IMAGE, CM__DEFORMED_BIAS);
}

void cm__gradient_unfold(cm__backward *b, const cm_node *n)
{
    like_input(b, n, CM_OP_UNFOLD_GRAD, (int32_t[]){dy_of(b, n)}, 1);
}

/* A transform is linear: its gradient is a transform, which reads nothing that forward computed. PyTorch saves real
   numbers nevertheless, for their shape (_fft_r2c in derivatives.yaml). */
void cm__gradient_fft(cm__backward *b, const cm_node *n)
{
    int32_t gradient = cm__back(b, n, CM_OP_FFT_GRAD, n->inputs[0], (int32_t[]){dy_of(b, n)}, 1);
    if (cm__is_float(cm__t(b->g, n->inputs[0])->dtype)) cm__hold(b->g, cm__kept(b, n->inputs[0]), gradient);
    cm__give(b, n, n->inputs[0], gradient);
}

/* The gradient of the whole is copied; the part's is a copy of its part. If the whole needs its gradient, the part of it
   becomes zero (CopySlices in torch/csrc/autograd/functions/tensor.cpp). */
void cm__gradient_written(cm__backward *b, const cm_node *n)
{
    int32_t          whole = cm__back(b, n, CM_OP_SLICE_WRITE_GRAD, n->inputs[0], (int32_t[]){dy_of(b, n)}, 1);
    cm_node         *node = cm__last(b->g);
    const cm_tensor *like = cm__t(b->g, n->inputs[1]);
    cm__set_output(b->g, node, 1, like->dtype, like->rank, like->dims);
    int32_t part = node->outputs[1];
    cm__t(b->g, part)->role = CM_ROLE_GRADIENT;
    if (cm__wants(b, n, 1)) cm__give(b, n, n->inputs[1], part);
    if (!cm__wants(b, n, 0)) return;
    cm__attr_add(b->g->ctx, node, CM__INTS(CM_ATTR_COPIES, 1));
    cm__give(b, n, n->inputs[0], whole);
}

/* The operator itself, in the other direction. */
void cm__gradient_again(cm__backward *b, const cm_node *n)
{
    int32_t n_attrs = 0, dy = dy_of(b, n);
    while (n->attrs[n_attrs].key < CM_ATTRS) n_attrs++;
    int32_t gradient = cm__emit(b->g, n->op, n->name, &dy, 1, n->attrs, n_attrs);
    cm__t(b->g, gradient)->role = CM_ROLE_GRADIENT;
    cm__give(b, n, n->inputs[0], gradient);
}

/* x + a b: the gradient itself, and its products with b and a. */
void cm__gradient_add_product(cm__backward *b, const cm_node *n)
{
    int32_t dy = dy_of(b, n);
    if (cm__wants(b, n, 0)) cm__give(b, n, n->inputs[0], dy);
    for (int32_t i = 1; i < 3; i++) {
        if (!cm__wants(b, n, i)) continue;
        int32_t inputs[] = {dy, cm__kept(b, n->inputs[3 - i])};
        cm__give(b, n, n->inputs[i], cm__back(b, n, CM_OP_ELEMENTWISE_GRAD, n->outputs[0], inputs, 2));
    }
}

/* a + w (b - a): the gradient times 1 - w, w and b - a. A weight that is a number needs no kernel for 1 - w. */
void cm__gradient_lerp(cm__backward *b, const cm_node *n)
{
    int32_t dy = dy_of(b, n), w = n->inputs[2], made[3] = {-1, -1, -1};
    bool    tensor = cm__t(b->g, w)->role != CM_ROLE_CONSTANT;
    for (int32_t i = 0; i < 2; i++) {
        if (!cm__wants(b, n, i)) continue;
        int32_t by = cm__kept(b, w);
        if (i == 0 && tensor) by = cm__back(b, n, CM_OP_ELEMENTWISE_GRAD, w, &by, 1);
        made[i] = cm__back(b, n, CM_OP_ELEMENTWISE_GRAD, n->outputs[0], (int32_t[]){dy, by}, 2);
    }
    int32_t read[] = {dy, -1, -1};
    for (int32_t i = 0; cm__wants(b, n, 2) && i < 2; i++) read[1 + i] = cm__kept(b, n->inputs[i]);
    if (cm__wants(b, n, 2)) made[2] = cm__back(b, n, CM_OP_ELEMENTWISE_GRAD, n->outputs[0], read, 3);
    for (int32_t i = 0; i < 3; i++)
        if (made[i] >= 0) cm__give(b, n, n->inputs[i], made[i]);
}

void cm__gradient_weight_norm(cm__backward *b, const cm_node *n)
{
    int32_t norms = n->n_outputs > 1 && n->outputs[1] >= 0 ? n->outputs[1] : n->inputs[1];
    int32_t inputs[] = {dy_of(b, n), cm__kept(b, n->inputs[0]), cm__kept(b, n->inputs[1]), cm__kept(b, norms)};
    cm__back_joint(b, n, CM_OP_WEIGHT_NORM_GRAD, inputs, 4, 0, 1);
}

/* Sums from the other end; those of a product read its operand and result. */
void cm__gradient_cumulative(cm__backward *b, const cm_node *n)
{
    int32_t inputs[3] = {dy_of(b, n)}, count = 1;
    if (n->op != CM_OP_CUM_SUM) {
        inputs[count++] = cm__kept(b, n->inputs[0]);
        inputs[count++] = cm__kept(b, n->outputs[0]);
    }
    like_input(b, n, CM_OP_CUMULATIVE_GRAD, inputs, count);
}

/* For a factorisation or a solution: the gradient of the first result that has one, an operand and the first
   result. */
void cm__gradient_algebra(cm__backward *b, const cm_node *n)
{
    int32_t dy = -1;
    for (int32_t o = 0; dy < 0 && o < n->n_outputs; o++) dy = cm__gradient_of_output(b, n, o);
    int32_t inputs[] = {dy, cm__kept(b, n->inputs[0]), cm__kept(b, n->outputs[0])};
    cm__back_joint(b, n, CM_OP_ALGEBRA_GRAD, inputs, 3, 0, n->n_inputs - 1);
}

/* ---- recurrent cells -------------------------------------------------------------------------------------------- */

/* Another output of the last node, a gradient of this tensor. */
static int32_t also(cm__backward *b, int32_t index, int32_t tensor)
{
    const cm_tensor *like = cm__t(b->g, tensor);
    cm_node         *node = cm__last(b->g);
    cm__set_output(b->g, node, index, like->dtype, like->rank, like->dims);
    cm__t(b->g, node->outputs[index])->role = CM_ROLE_GRADIENT;
    return node->outputs[index];
}

static void give_wanted(cm__backward *b, const cm_node *n, int32_t input, int32_t gradient)
{
    if (cm__has(n, input) && cm__wants(b, n, input)) cm__give(b, n, n->inputs[input], gradient);
}

/* One kernel computes the gradients of the gates and of the state. Both products of an LSTM have the same gradient, and
   so have both biases: it is summed once. Autograd saves both products too, for a second derivative. */
void cm__gradient_cell(cm__backward *b, const cm_node *n)
{
    bool    lstm = n->op == CM_OP_LSTM_CELL;
    int32_t inputs[5], count = 0, products[2], gates[2];
    for (int32_t i = 0; i <= lstm; i++)
        if (cm__gradient_of_output(b, n, i) >= 0) inputs[count++] = cm__gradient_of_output(b, n, i);
    if (lstm) inputs[count++] = cm__kept(b, n->inputs[2]);
    for (int32_t i = 1; i <= 1 + lstm; i++) inputs[count++] = cm__kept(b, n->outputs[i]);
    for (int32_t i = 0; i < 2; i++) products[i] = cm__kept(b, n->inputs[i]);
    gates[0] = gates[1] = cm__back(b, n, CM_OP_CELL_GRAD, n->inputs[0], inputs, count);
    if (!lstm) gates[1] = also(b, 1, n->inputs[1]);
    int32_t state = also(b, lstm ? 1 : 2, n->inputs[2]);
    for (int32_t i = 0; i < 2; i++) cm__hold(b->g, products[i], gates[0]);
    give_wanted(b, n, 2, state);
    int32_t sum = -1;
    for (int32_t i = 0; i < 2; i++) {
        give_wanted(b, n, i, gates[i]);
        if (!cm__has(n, 3 + i) || !cm__wants(b, n, 3 + i)) continue;
        if (sum < 0 || !lstm) sum = cm__back(b, n, CM_OP_SUM_TO, n->inputs[3 + i], &gates[i], 1);
        give_wanted(b, n, 3 + i, sum);
    }
}

void cm__gradient_ctc_loss(cm__backward *b, const cm_node *n)
{
    int32_t inputs[] = {dy_of(b, n), cm__kept(b, n->inputs[0]), cm__kept(b, n->inputs[1]), cm__kept(b, n->outputs[0]),
                        cm__kept(b, n->outputs[1])};
    like_input(b, n, CM_OP_CTC_LOSS_GRAD, inputs, 5);
}

/* The gradient of either points, each by a kernel of its own. */
void cm__gradient_distances(cm__backward *b, const cm_node *n)
{
    for (int32_t i = 0; i < 2; i++) {
        if (!cm__wants(b, n, i)) continue;
        int32_t far = cm__kept(b, n->outputs[0]);
        int32_t inputs[] = {dy_of(b, n), cm__kept(b, n->inputs[i]), cm__kept(b, n->inputs[1 - i]), far, far};
        int32_t count = CM__SECOND_POINTS - (i == 0);
        cm__give(b, n, n->inputs[i], cm__back(b, n, CM_OP_DISTANCES_GRAD, n->inputs[i], inputs, count));
    }
}
