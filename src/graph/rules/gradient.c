/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gradient.c - the gradient rules that ops.def names: what each operator's backward computes and reads.
 *
 * A rule reads the gradient of the node's output, requests the forward tensors it needs (which keeps them in memory
 * until then) and sets the gradient of each input that needs one. The tensors it reads are those that PyTorch's
 * autograd saves.
 */
#include "graph/rules/backward.h"
#include "graph/releases.h"
#include "graph/rules/rules.h"

static int32_t dy_of(cm__backward *b, const cm_node *n) { return cm__gradient_of_output(b, n, 0); }

static int32_t kept_in(cm__backward *b, const cm_node *n, int32_t input) { return cm__kept(b, n->inputs[input]); }

/* One kernel over the gradient and the saved tensors. Its output is as large as `input`, or as the gradient if that is
   larger: then it is summed when it is given. */
static int32_t computed(cm__backward *b, const cm_node *n, int32_t input, const int32_t *kept, int32_t n_kept)
{
    int32_t inputs[8] = {dy_of(b, n)}, count = 1, like;
    for (int32_t i = 0; i < n_kept; i++) inputs[count++] = kept[i];
    cm_poly dy = cm_tensor_elements(cm__t(b->g, inputs[0])), x = cm_tensor_elements(cm__t(b->g, n->inputs[input]));
    like = cm__poly_larger(&dy, &x) ? inputs[0] : n->inputs[input];
    return cm__back(b, n, CM_OP_ELEMENTWISE_GRAD, like, inputs, count);
}

static void elementwise(cm__backward *b, const cm_node *n, int32_t input, const int32_t *kept, int32_t n_kept)
{
    cm__give(b, n, n->inputs[input], computed(b, n, input, kept, n_kept));
}

/* PyTorch computes all gradients of an operator before it sums those of broadcast operands, so that all are in memory
   at once. */
static void give_both(cm__backward *b, const cm_node *n, const int32_t gradients[2])
{
    for (int32_t i = 0; i < 2; i++)
        if (gradients[i] >= 0) cm__give(b, n, n->inputs[i], gradients[i]);
}

void cm__gradient_input(cm__backward *b, const cm_node *n)
{
    if (cm__attr_find(n, CM_ATTR_KEEPS_RESULT)) cm__gradient_output(b, n);
    else elementwise(b, n, 0, (int32_t[]){kept_in(b, n, 0)}, 1);
}

void cm__gradient_output(cm__backward *b, const cm_node *n)
{
    elementwise(b, n, 0, (int32_t[]){cm__kept(b, n->outputs[0])}, 1);
}

void cm__gradient_linear(cm__backward *b, const cm_node *n) { elementwise(b, n, 0, NULL, 0); }

void cm__gradient_cast(cm__backward *b, const cm_node *n) { cm__give(b, n, n->inputs[0], dy_of(b, n)); }

void cm__gradient_add(cm__backward *b, const cm_node *n)
{
    for (int32_t i = 0; i < n->n_inputs; i++) {
        if (!cm__wants(b, n, i)) continue;
        bool changes = (n->op == CM_OP_SUB && i == 1) || n->op == CM_OP_MEAN;
        if (changes) elementwise(b, n, i, NULL, 0);
        else cm__give(b, n, n->inputs[i], dy_of(b, n));
    }
}

void cm__gradient_mul(cm__backward *b, const cm_node *n)
{
    int32_t made[2] = {-1, -1};
    for (int32_t i = 0; i < 2; i++)
        if (cm__wants(b, n, i)) made[i] = computed(b, n, i, (int32_t[]){kept_in(b, n, 1 - i)}, 1);
    give_both(b, n, made);
}

void cm__gradient_div(cm__backward *b, const cm_node *n)
{
    int32_t made[2] = {-1, -1};
    if (cm__wants(b, n, 0)) made[0] = computed(b, n, 0, (int32_t[]){kept_in(b, n, 1)}, 1);
    if (cm__wants(b, n, 1)) made[1] = computed(b, n, 1, (int32_t[]){kept_in(b, n, 0), kept_in(b, n, 1)}, 2);
    give_both(b, n, made);
}

void cm__gradient_pow(cm__backward *b, const cm_node *n)
{
    int32_t made[2] = {-1, -1};
    if (cm__wants(b, n, 0)) made[0] = computed(b, n, 0, (int32_t[]){kept_in(b, n, 0), kept_in(b, n, 1)}, 2);
    if (cm__wants(b, n, 1)) made[1] = computed(b, n, 1, (int32_t[]){kept_in(b, n, 0), cm__kept(b, n->outputs[0])}, 2);
    give_both(b, n, made);
}

void cm__gradient_prelu(cm__backward *b, const cm_node *n)
{
    int32_t kept[] = {kept_in(b, n, 0), kept_in(b, n, 1)};
    for (int32_t i = 0; i < 2; i++)
        if (cm__wants(b, n, i)) elementwise(b, n, i, kept, 2);
}

/* Minimum and maximum pass the gradient to the operand that was chosen. */
void cm__gradient_select(cm__backward *b, const cm_node *n)
{
    for (int32_t i = 0; i < n->n_inputs; i++)
        if (cm__wants(b, n, i))
            elementwise(
                b, n, i,
                (int32_t[]){kept_in(b, n, i), n->n_inputs == 2 ? kept_in(b, n, 1 - i) : cm__kept(b, n->outputs[0])}, 2);
}

void cm__gradient_where(cm__backward *b, const cm_node *n)
{
    for (int32_t i = 1; i < 3; i++)
        if (cm__wants(b, n, i)) elementwise(b, n, i, (int32_t[]){kept_in(b, n, 0)}, 1);
}

void cm__gradient_dropout(cm__backward *b, const cm_node *n)
{
    int32_t inputs[] = {dy_of(b, n), cm__kept(b, n->outputs[1])};
    cm__give(b, n, n->inputs[0], cm__back(b, n, CM_OP_DROPOUT_GRAD, n->inputs[0], inputs, 2));
}

/* ---- matrix products -------------------------------------------------------------------------------------------- */

static void product(cm__backward *b, const cm_node *n, int op, int32_t input, int32_t dy, int32_t other)
{
    if (!cm__wants(b, n, input)) return;
    cm__give(b, n, n->inputs[input], cm__back(b, n, op, n->inputs[input], (int32_t[]){dy, kept_in(b, n, other)}, 2));
}

static void bias(cm__backward *b, const cm_node *n, int32_t input)
{
    if (input < n->n_inputs && cm__wants(b, n, input)) cm__give(b, n, n->inputs[input], dy_of(b, n));
}

/* The incoming gradient of an 8-bit product is cast to 8 bits too. */
static int32_t dy_in_type_of(cm__backward *b, const cm_node *n, int32_t input)
{
    int32_t dy = dy_of(b, n);
    return cm__t(b->g, n->inputs[input])->dtype == CM_FP8 ? cm__emit_cast(b->g, n->name, dy, CM_FP8) : dy;
}

/* bitsandbytes' product of 4-bit weights saved its input too until July 2024 (its pull request 1270). */
static bool saves_needlessly(const cm__backward *b, const cm_node *n)
{
    int32_t from = cm__t(b->g, n->inputs[1])->producer;
    bool    unpacked = from >= 0 && b->g->nodes[from].op == CM_OP_UNPACK;
    return unpacked && !cm__provides(b->g->asked.software, CM__FEATURE_DROPS_INPUTS) && !cm__unpacks_by_operators(b->g, &b->g->nodes[from]);
}

void cm__gradient_gemm(cm__backward *b, const cm_node *n)
{
    int32_t dy = dy_in_type_of(b, n, 0);
    product(b, n, CM_OP_GEMM_GRAD_INPUT, 0, dy, 1);
    if (saves_needlessly(b, n) && cm__last(b->g)->op == CM_OP_GEMM_GRAD_INPUT)
        cm__hold(b->g, kept_in(b, n, 0), cm__last(b->g)->outputs[0]);
    product(b, n, CM_OP_GEMM_GRAD_WEIGHT, 1, dy, 0);
    bias(b, n, 2);
}

void cm__gradient_matmul(cm__backward *b, const cm_node *n)
{
    if (cm__product_under_autocast(b, n)) return;
    int32_t dy = dy_in_type_of(b, n, 0);
    product(b, n, CM_OP_MATMUL_GRAD, 0, dy, 1);
    product(b, n, CM_OP_MATMUL_GRAD, 1, dy, 0);
}

void cm__gradient_einsum(cm__backward *b, const cm_node *n)
{
    if (n->n_inputs > 8) {
        cm__gradient_unsupported(b, n);
        return;
    }
    for (int32_t i = 0; i < n->n_inputs; i++) {
        if (!cm__wants(b, n, i)) continue;
        int32_t inputs[8] = {dy_of(b, n)}, count = 1;
        for (int32_t k = 0; k < n->n_inputs; k++)
            if (k != i) inputs[count++] = kept_in(b, n, k);
        cm__give(b, n, n->inputs[i], cm__back(b, n, CM_OP_EINSUM_GRAD, n->inputs[i], inputs, count));
    }
}

/* PyTorch saves the image also if only the image needs a gradient. */
void cm__gradient_conv(cm__backward *b, const cm_node *n)
{
    int32_t dy = dy_of(b, n), image = kept_in(b, n, 0);
    product(b, n, CM_OP_CONV_GRAD_INPUT, 0, dy, 1);
    if (!cm__wants(b, n, 1) && cm__last(b->g)->op == CM_OP_CONV_GRAD_INPUT)
        cm__hold(b->g, image, cm__last(b->g)->outputs[0]);
    product(b, n, CM_OP_CONV_GRAD_WEIGHT, 1, dy, 0);
    bias(b, n, 2);
}

void cm__back_joint(cm__backward *b, const cm_node *n, int op, const int32_t *inputs, int32_t count, int32_t first,
                    int32_t last)
{
    int32_t wanted[8], n_wanted = 0;
    for (int32_t i = first; i <= last; i++)
        if (i < n->n_inputs && cm__wants(b, n, i) && n_wanted < 8) wanted[n_wanted++] = n->inputs[i];
    if (n_wanted == 0) return;
    cm__back(b, n, op, wanted[0], inputs, count);
    cm_node *node = cm__last(b->g);
    for (int32_t i = 1; i < n_wanted; i++) {
        const cm_tensor *like = cm__t(b->g, wanted[i]);
        cm__set_output(b->g, node, i, like->dtype, like->rank, like->dims);
        cm__t(b->g, node->outputs[i])->role = CM_ROLE_GRADIENT;
    }
    const int32_t *gradients = node->outputs;
    for (int32_t i = 0; i < n_wanted; i++) cm__give(b, n, wanted[i], gradients[i]);
}

/* The kernel that computes the gradients of queries, keys and values also writes that of all scores, to which a trained
   mask was added. */
static void bias_of_scores(cm__backward *b, const cm_node *n, int32_t kernel)
{
    const cm_tensor *q = cm__in(b->g, n, 0), *k = cm__in(b->g, n, 1);
    if (kernel == b->g->n_nodes || q->rank != 4 || k->rank != 4) return;
    cm_node *node = &b->g->nodes[kernel];
    int32_t  at = node->n_outputs;
    cm_dim   scores[] = {q->dims[0], q->dims[1], q->dims[2], k->dims[2]};
    cm__set_output(b->g, node, at, q->dtype, 4, scores);
    int32_t gradient = node->outputs[at];
    cm__t(b->g, gradient)->role = CM_ROLE_GRADIENT;
    cm__give(b, n, n->inputs[3], gradient);
}

void cm__gradient_attention(cm__backward *b, const cm_node *n)
{
    int32_t inputs[7] = {dy_of(b, n), kept_in(b, n, 0), kept_in(b, n, 1), kept_in(b, n, 2),
                         cm__kept(b, n->outputs[0]), cm__kept(b, n->outputs[1])};
    int32_t count = 6;
    if (cm__has(n, 3)) inputs[count++] = kept_in(b, n, 3);
    int32_t kernel = b->g->n_nodes;
    cm__back_joint(b, n, CM_OP_ATTENTION_GRAD, inputs, count, 0, 2);
    if (cm__wants(b, n, 3)) bias_of_scores(b, n, kernel);
}

void cm__gradient_rnn(cm__backward *b, const cm_node *n)
{
    int32_t inputs[16], count = 0;
    for (int32_t o = 0; o < 3; o++)
        if (cm__gradient_of_output(b, n, o) >= 0) inputs[count++] = cm__gradient_of_output(b, n, o);
    for (int32_t i = 0; i < n->n_inputs && i < 8; i++)
        if (cm__has(n, i)) inputs[count++] = kept_in(b, n, i);
    inputs[count++] = cm__kept(b, n->outputs[0]);
    inputs[count++] = cm__kept(b, n->outputs[3]);
    cm__back_joint(b, n, CM_OP_RNN_GRAD, inputs, count, 0, 7);
}

/* ---- normalisation, softmax, reductions ------------------------------------------------------------------------- */

/* PyTorch saves the input, the scale and the statistics, not the shift. */
void cm__gradient_norm(cm__backward *b, const cm_node *n)
{
    int32_t inputs[8] = {dy_of(b, n), kept_in(b, n, 0)}, count = 2;
    if (cm__has(n, 1)) inputs[count++] = kept_in(b, n, 1);
    for (int32_t o = 1; o < n->n_outputs && o < 3; o++)
        if (n->outputs[o] >= 0) inputs[count++] = cm__kept(b, n->outputs[o]);
    cm__back_joint(b, n, CM_OP_NORM_GRAD, inputs, count, 0, 2);
}

void cm__gradient_softmax(cm__backward *b, const cm_node *n)
{
    int32_t inputs[] = {dy_of(b, n), cm__kept(b, n->outputs[0])};
    cm__give(b, n, n->inputs[0], cm__back(b, n, CM_OP_SOFTMAX_GRAD, n->inputs[0], inputs, 2));
}

void cm__gradient_reduce(cm__backward *b, const cm_node *n)
{
    elementwise(b, n, 0, (int32_t[]){kept_in(b, n, 0), cm__kept(b, n->outputs[0])}, 2);
}

/* The gradient of a sum is a broadcast view, without a copy; that of a mean is divided first. */
void cm__gradient_reduce_linear(cm__backward *b, const cm_node *n)
{
    int32_t dy = dy_of(b, n);
    if (n->op != CM_OP_REDUCE_SUM) elementwise(b, n, 0, NULL, 0);
    else cm__give(b, n, n->inputs[0], cm__back(b, n, CM_OP_VIEW, n->inputs[0], &dy, 1));
}

void cm__gradient_pool(cm__backward *b, const cm_node *n)
{
    int32_t inputs[] = {dy_of(b, n), kept_in(b, n, 0)};
    cm__give(b, n, n->inputs[0], cm__back(b, n, CM_OP_POOL_GRAD, n->inputs[0], inputs, 2));
}

void cm__gradient_max_pool(cm__backward *b, const cm_node *n)
{
    int32_t inputs[] = {dy_of(b, n), kept_in(b, n, 0), cm__kept(b, n->outputs[1])};
    cm__give(b, n, n->inputs[0], cm__back(b, n, CM_OP_POOL_GRAD, n->inputs[0], inputs, 3));
}

/* ---- movement --------------------------------------------------------------------------------------------------- */

static void same_data(cm__backward *b, const cm_node *n, int op, int32_t input)
{
    int32_t dy = dy_of(b, n);
    cm__give(b, n, n->inputs[input], cm__back(b, n, op, n->inputs[input], &dy, 1));
}

void cm__gradient_reshape(cm__backward *b, const cm_node *n) { same_data(b, n, CM_OP_VIEW, 0); }
void cm__gradient_transpose(cm__backward *b, const cm_node *n) { same_data(b, n, CM_OP_VIEW, 0); }
void cm__gradient_permute(cm__backward *b, const cm_node *n) { same_data(b, n, CM_OP_ELEMENTWISE_GRAD, 0); }

/* An expansion to the shape that its input has, as of what `copy_` writes, is a view both ways. */
void cm__gradient_expand(cm__backward *b, const cm_node *n)
{
    bool same = cm__same_shape(cm__t(b->g, n->inputs[0]), cm__t(b->g, n->outputs[0]));
    same_data(b, n, same ? CM_OP_VIEW : CM_OP_SUM_TO, 0);
}

void cm__gradient_slice(cm__backward *b, const cm_node *n) { same_data(b, n, CM_OP_SLICE_GRAD, 0); }
void cm__gradient_resize(cm__backward *b, const cm_node *n) { same_data(b, n, CM_OP_RESIZE_GRAD, 0); }

/* PyTorch copies the part of the gradient that is not padding. */
/* The gradient of a padding that takes something off is a padding too, with the opposite signs. */
static bool pads_back(cm__backward *b, const cm_node *n)
{
    const cm__attr *pads = cm__attr_find(n, CM_ATTR_PADS);
    int64_t         back[2 * CM__RANK_MAX];
    bool            takes = false;
    for (int32_t i = 0; pads && i < pads->count && i < 2 * CM__RANK_MAX; i++) {
        back[i] = -pads->ints[i];
        takes |= pads->ints[i] < 0;
    }
    if (!takes) return false;
    cm__attr attr = {.key = CM_ATTR_PADS, .count = pads->count, .ints = back};
    int32_t  dy = dy_of(b, n), dx = cm__emit(b->g, CM_OP_PAD, n->name, &dy, 1, &attr, 1);
    cm__t(b->g, dx)->role = CM_ROLE_GRADIENT;
    cm__give(b, n, n->inputs[0], dx);
    return true;
}

void cm__gradient_pad(cm__backward *b, const cm_node *n)
{
    if (pads_back(b, n)) return;
    int32_t dy = dy_of(b, n), part = cm__back(b, n, CM_OP_VIEW, n->inputs[0], &dy, 1);
    cm__give(b, n, n->inputs[0], cm__back(b, n, CM_OP_ELEMENTWISE_GRAD, n->inputs[0], &part, 1));
}

/* Concatenate the outputs' gradients; outputs without a gradient contribute zeros. */
void cm__gradient_split(cm__backward *b, const cm_node *n)
{
    int32_t parts[CM__VALUE_MAX], count = 0;
    for (int32_t o = 0; o < n->n_outputs; o++) {
        int32_t dy = cm__gradient_of_output(b, n, o);
        if (dy >= 0) parts[count++] = dy;
    }
    cm__attr axis = CM__INTS(CM_ATTR_AXIS, cm__attr_int(n, CM_ATTR_AXIS, 0));
    if (count == n->n_outputs)
        cm__give(b, n, n->inputs[0], cm__emit(b->g, CM_OP_CONCAT, n->name, parts, count, &axis, 1));
    for (int32_t i = 0; count < n->n_outputs && i < count; i++)
        cm__give(b, n, n->inputs[0], cm__back(b, n, CM_OP_SLICE_GRAD, n->inputs[0], &parts[i], 1));
}

void cm__gradient_concat(cm__backward *b, const cm_node *n)
{
    for (int32_t i = 0; i < n->n_inputs; i++)
        if (cm__wants(b, n, i)) same_data(b, n, CM_OP_VIEW, i);
}

void cm__gradient_gather(cm__backward *b, const cm_node *n)
{
    int32_t inputs[] = {dy_of(b, n), kept_in(b, n, 1)};
    if (n->view) same_data(b, n, CM_OP_SLICE_GRAD, 0);
    else cm__give(b, n, n->inputs[0], cm__back(b, n, CM_OP_GATHER_GRAD, n->inputs[0], inputs, 2));
}

static bool is_extreme(const cm_node *n)
{
    return n->op == CM_OP_SCATTER_ELEMENTS && cm__attr_int(n, CM_ATTR_REDUCTION, 0) == CM__EXTREME;
}

/* PyTorch's index_add and index_copy, which have a dimension, save what they add or copy, only for its shape; extremes
   compare it to the result. */
static bool saves_source(const cm_node *n)
{
    return (n->op == CM_OP_SCATTER_ND && cm__attr_find(n, CM_ATTR_AXIS)) || is_extreme(n);
}

/* Scatter operators: each float input gets a gradient of its own shape, gathered by the indices. The gradient of what
   is added to is that of the sum. */
void cm__gradient_scatter(cm__backward *b, const cm_node *n)
{
    int32_t index = n->op == CM_OP_TOP_K ? n->outputs[1] : n->inputs[1];
    for (int32_t i = 0; i < n->n_inputs; i++) {
        if (!cm__wants(b, n, i)) continue;
        int32_t inputs[] = {dy_of(b, n), cm__kept(b, index)};
        bool    adds = n->op != CM_OP_TOP_K && i == 0 && cm__attr_int(n, CM_ATTR_REDUCTION, 0) == CM__ADDS;
        int32_t made = adds ? inputs[0] : cm__back(b, n, CM_OP_GATHER_GRAD, n->inputs[i], inputs, 2);
        if (i == 2 && saves_source(n)) cm__hold(b->g, n->inputs[i], made);
        if (is_extreme(n)) cm__hold(b->g, n->outputs[0], made);
        cm__give(b, n, n->inputs[i], made);
    }
}

/* ---- losses ----------------------------------------------------------------------------------------------------- */

void cm__gradient_loss(cm__backward *b, const cm_node *n)
{
    int32_t inputs[] = {dy_of(b, n), kept_in(b, n, 0), kept_in(b, n, 1)};
    cm__give(b, n, n->inputs[0], cm__back(b, n, CM_OP_LOSS_GRAD, n->inputs[0], inputs, 3));
}

/* Two kernels: the gradient of the likelihood, as large as the logits, then that of the log-softmax. */
void cm__gradient_cross_entropy(cm__backward *b, const cm_node *n)
{
    int32_t likelihood = cm__back(b, n, CM_OP_LOSS_GRAD, n->inputs[0], (int32_t[]){dy_of(b, n), kept_in(b, n, 1)}, 2);
    int32_t inputs[] = {likelihood, cm__kept(b, n->outputs[1])};
    cm__give(b, n, n->inputs[0], cm__back(b, n, CM_OP_SOFTMAX_GRAD, n->inputs[0], inputs, 2));
}

void cm__gradient_fused_cross_entropy(cm__backward *b, const cm_node *n)
{
    int32_t inputs[] = {kept_in(b, n, 0), kept_in(b, n, 1), cm__kept(b, n->outputs[1])};
    cm__give(b, n, n->inputs[0], cm__back(b, n, CM_OP_LOSS_GRAD, n->inputs[0], inputs, 3));
}

void cm__gradient_unsupported(cm__backward *b, const cm_node *n)
{
    cm__not_supported(b->g, cm__format(b->g->ctx, "gradient of %s", cm_node_type(n)));
    for (int32_t i = 0; i < n->n_inputs; i++) {
        if (!cm__wants(b, n, i)) continue;
        int32_t inputs[] = {dy_of(b, n), kept_in(b, n, i)};
        cm__give(b, n, n->inputs[i], cm__back(b, n, CM_OP_UNKNOWN_GRAD, n->inputs[i], inputs, 2));
    }
}
