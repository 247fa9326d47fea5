/* SPDX-License-Identifier: Apache-2.0 */
/*
 * strides_ops.c - strides of operators' outputs: PyTorch keeps the memory format of the inputs where it can.
 *
 * Elementwise operators write in the order of their operands (TensorIterator). Convolutions write channels-last if
 * image or weight is channels-last. Normalisation and pooling keep their input's order. Recurrent layers write step by
 * step. Products and row-wise operators write contiguous rows. In code that torch.compile generates, the operands of a
 * kernel vote on the order of its result, and row-wise operators keep the order of their input.
 */
#include "graph/strides.h"

typedef int64_t *rule(cm__strides *s, const cm_node *n, int32_t output);

static const cm_node *forward_of(const cm__strides *s, const cm_node *n)
{
    return n->source >= 0 ? &s->g->nodes[n->source] : n;
}

static int64_t *image_if(cm__strides *s, bool channels_last, const cm_tensor *y)
{
    return channels_last && cm__is_image_rank(y->rank) ? cm__strides_image(s, y) : NULL;
}

/* ---- elementwise ------------------------------------------------------------------------------------------------- */

#define OPERANDS_MAX 4

/* The strides of an operand in the dimensions of the result; 0 where it is broadcast. */
typedef struct operands {
    int32_t count;
    int64_t stride[OPERANDS_MAX][CM__RANK_MAX];
} operands;

static void add_operand(cm__strides *s, operands *o, const cm_tensor *y, int32_t tensor)
{
    const cm_tensor *x = cm__t(s->g, tensor);
    if (o->count == OPERANDS_MAX || x->rank > y->rank) return;
    const int64_t *old = cm__strides_of(s, tensor);
    for (int32_t i = 0; i < y->rank; i++) {
        int32_t own = i - (y->rank - x->rank);
        bool    spread = own < 0 || (cm__dim_is(x->dims[own], 1) && !cm__dim_is(y->dims[i], 1));
        o->stride[o->count][i] = spread ? 0 : old[own];
    }
    o->count++;
}

/* Whether dimension a is outside dimension b: 1, 0 (undecided), -1. */
static int outside(const operands *o, const cm_tensor *y, int32_t a, int32_t b)
{
    for (int32_t i = 0; i < o->count; i++) {
        int64_t one = o->stride[i][a], other = o->stride[i][b];
        if (one == 0 || other == 0) continue;
        if (one != other) return one < other ? -1 : 1;
        if (cm__strides_size(y->dims[a]) > cm__strides_size(y->dims[b])) return 1;
    }
    return 0;
}

/* The order of dimensions from the innermost, by TensorIterator's sort; its order decides undecided pairs. */
static void order_of(const operands *o, const cm_tensor *y, int32_t *order)
{
    for (int32_t i = 0; i < y->rank; i++) order[i] = y->rank - 1 - i;
    for (int32_t i = 1; i < y->rank; i++) {
        int32_t moving = i;
        for (int32_t before = i - 1; before >= 0; before--) {
            int c = outside(o, y, order[before], order[moving]);
            if (c < 0) break;
            if (c == 0) continue;
            int32_t swapped = order[before];
            order[before] = order[moving];
            order[moving] = swapped;
            moving = before;
        }
    }
}

/* Whether torch.compile puts dimension a inside dimension b: as most operands have it, else as the result has it. */
static bool inside(const operands *o, const cm_tensor *y, int32_t a, int32_t b)
{
    int  votes = 0;
    bool one = cm__strides_size(y->dims[a]) == 1, other = cm__strides_size(y->dims[b]) == 1;
    for (int32_t i = 0; i < o->count; i++) {
        int64_t of_a = o->stride[i][a], of_b = o->stride[i][b];
        votes += (of_b == 0 || of_a < of_b) - (of_a == 0 || of_b < of_a);
    }
    if (one || other) return other && !one;
    return votes ? votes > 0 : a > b;
}

/* The same by the votes of Inductor (pick_loop_order): dimensions of size one are outermost. */
static void voted_order(const operands *o, const cm_tensor *y, int32_t *order)
{
    for (int32_t i = 0; i < y->rank; i++) {
        int32_t to = i, moving = y->rank - 1 - i;
        for (; to > 0 && inside(o, y, moving, order[to - 1]); to--) order[to] = order[to - 1];
        order[to] = moving;
    }
}

/* Strides of a tensor without gaps, in the order of its operands. */
static int64_t *dense(cm__strides *s, const operands *o, const cm_tensor *y)
{
    int32_t  order[CM__RANK_MAX];
    int64_t *made = cm__strides_rows(s, y), step = 1;
    (s->compiled ? voted_order : order_of)(o, y, order);
    for (int32_t i = 0; i < y->rank; i++) {
        made[order[i]] = step;
        step *= cm__strides_size(y->dims[order[i]]);
    }
    return made;
}

/* PyTorch's gradients of threshold functions have the saved tensor as first operand, all others the incoming
   gradient. */
static bool kept_first(const cm_node *n, const cm_node *forward)
{
    return n->op == CM_OP_ELEMENTWISE_GRAD && n->n_inputs == 2 && cm__ops[forward->op].saved_first;
}

static int64_t *like_operands(cm__strides *s, const cm_node *n, int32_t output)
{
    const cm_tensor *y = cm__t(s->g, n->outputs[output]);
    const cm_node   *forward = forward_of(s, n);
    operands         o = {.count = 0};
    bool             mean_undone = n->op == CM_OP_ELEMENTWISE_GRAD && cm__class(forward) == CM_CLASS_REDUCTION;
    bool             plain = true;
    for (int32_t i = 0; i < n->n_inputs; i++)
        if (n->inputs[i] >= 0) plain &= s->of[n->inputs[i]] == NULL;
    if (plain || mean_undone || y->rank < 2) return NULL;
    for (int32_t i = 0; i < n->n_inputs; i++) {
        int32_t from = n->inputs[kept_first(n, forward) ? 1 - i : i];
        if (from >= 0) add_operand(s, &o, y, from);
    }
    return dense(s, &o, y);
}

/* ---- images ------------------------------------------------------------------------------------------------------ */

static int64_t *convolved(cm__strides *s, const cm_node *n, int32_t output)
{
    const cm_node *forward = forward_of(s, n);
    bool           last = cm__strides_converts(s, forward->inputs[0]) ||
                cm__strides_channels_last(s, forward->inputs[0]) ||
                cm__strides_channels_last(s, forward->inputs[1]);
    return image_if(s, last, cm__t(s->g, n->outputs[output]));
}

static int64_t *like_image(cm__strides *s, const cm_node *n, int32_t output)
{
    const cm_node *forward = forward_of(s, n);
    return output ? NULL : image_if(s, cm__strides_channels_last(s, forward->inputs[0]), cm__t(s->g, n->outputs[0]));
}

bool cm__repeats_pixels(const cm_node *forward)
{
    int64_t mode = forward->op == CM_OP_RESAMPLE ? cm__attr_int(forward, CM_ATTR_MODE, CM__MODE_NEAREST) : CM__MODE_NEAREST;
    return mode == CM__MODE_REFLECT || mode == CM__MODE_REPLICATE;
}

/* Pads that repeat pixels write images and gradients in rows, whatever they read (ReflectionPad.cu and ReplicationPadding.cu
   in ATen/native/cuda). Generated ones keep the order. */
static int64_t *resampled(cm__strides *s, const cm_node *n, int32_t output)
{
    return cm__repeats_pixels(forward_of(s, n)) && !s->compiled ? NULL : like_image(s, n, output);
}

/* torch.compile resizes an image by an index, whose result has contiguous planes, and brings it back into the order of
   the image: repeated pixels only of planes with 4 channels and more, others with 16 and more (_upsample_nearest() and
   _upsample_linear() in torch/_decomp/decompositions.py). */
static int64_t *resized(cm__strides *s, const cm_node *n, int32_t output)
{
    const cm_node   *forward = forward_of(s, n);
    const cm_tensor *x = cm__t(s->g, forward->inputs[0]);
    bool             repeats = cm__attr_int(forward, CM_ATTR_MODE, CM__MODE_NEAREST) == CM__MODE_NEAREST;
    bool             few = x->rank > 1 && cm__strides_size(x->dims[1]) < (repeats ? 4 : 16);
    return s->traced && (few || (repeats && x->rank != 4)) ? NULL : like_image(s, n, output);
}

static const cm_node *maker_of(const cm_graph *g, int32_t tensor)
{
    int32_t maker = tensor < 0 ? -1 : cm__t(g, tensor)->producer;
    return maker < 0 ? NULL : &g->nodes[maker];
}

bool cm__joins_directions(const cm_graph *g, const cm_node *n)
{
    if (n->op != CM_OP_CONCAT || n->n_inputs != 2 || n->phase != CM_FORWARD) return false;
    for (int32_t i = 0; i < 2; i++) {
        const cm_node *half = maker_of(g, n->inputs[i]);
        if (half && half->op == CM_OP_CAST) half = maker_of(g, half->inputs[0]); /* from fp16 under autocast */
        const cm_node *layer = half && half->op == CM_OP_RESHAPE ? maker_of(g, half->inputs[0]) : NULL;
        if (!layer || cm_node_class(layer) != CM_CLASS_RNN || half->inputs[0] != layer->outputs[0]) return false;
    }
    return true;
}

/* Both directions of a recurrent layer lie side by side, in the order of the steps. */
static int64_t *directions(cm__strides *s, const cm_node *n)
{
    const cm_tensor *y = cm__t(s->g, n->outputs[0]);
    if (cm__strides_in_rows(s, n->inputs[0]) || y->rank != 3) return NULL;
    int64_t *made = cm__strides_rows(s, y), of_step = made[1];
    made[0] = of_step;
    made[1] = of_step * cm__strides_size(y->dims[0]);
    return made;
}

static int64_t *joined(cm__strides *s, const cm_node *n, int32_t output)
{
    bool last = true;
    if (cm__joins_directions(s->g, n)) return directions(s, n);
    for (int32_t i = 0; i < n->n_inputs; i++) last &= cm__has(n, i) && cm__strides_channels_last(s, n->inputs[i]);
    return image_if(s, last, cm__t(s->g, n->outputs[output]));
}

/* ---- attention --------------------------------------------------------------------------------------------------- */

/* Fused attention writes [B, S, heads, d] in memory, although its result is [B, heads, S, d]. */
static int64_t *attended(cm__strides *s, const cm_node *n, int32_t output)
{
    const cm_tensor *y = cm__t(s->g, n->outputs[output]);
    if (output || y->rank != 4) return NULL;
    int64_t *made = cm__strides_rows(s, y), heads = cm__strides_size(y->dims[1]), d = cm__strides_size(y->dims[3]);
    made[1] = d;
    made[2] = heads * d;
    return made;
}

/* Kernels for 16 bits write gradients in the order of the tensors they belong to, the memory-efficient one as it writes
   its result. */
static int64_t *attended_back(cm__strides *s, const cm_node *n, int32_t output)
{
    const cm_tensor *y = cm__t(s->g, n->outputs[output]);
    const cm_node   *forward = forward_of(s, n);
    operands         o = {.count = 0};
    if (y->rank != 4) return NULL;
    bool known = forward != n && output < forward->n_inputs && forward->inputs[output] >= 0;
    if (y->dtype == CM_FP32 || !known) return attended(s, &(cm_node){.outputs = &n->outputs[output]}, 0);
    add_operand(s, &o, y, forward->inputs[output]);
    return dense(s, &o, y);
}

/* ---- recurrent layers -------------------------------------------------------------------------------------------- */

/* Layers compute step by step, so the result is in the order of the steps in memory, even if the batch comes first: [B,
   S, directions, H] is [S, B, directions, H]. */
static int64_t *recurrent(cm__strides *s, const cm_node *n, int32_t output)
{
    const cm_tensor *y = cm__t(s->g, n->outputs[output]);
    if (output || y->rank != 4 || !cm__attr_int(n, CM_ATTR_LAYOUT, 0)) return NULL;
    int64_t *made = cm__strides_rows(s, y), of_step = made[1];
    made[0] = of_step;
    made[1] = of_step * cm__strides_size(y->dims[0]);
    return made;
}

static int64_t *as_forward(cm__strides *s, const cm_node *n, int32_t output);

static rule *const rules[CM_OPS] = {
#define LAYOUT(name) name,
#define ROW(id, ...) [CM_OP_##id] = CM__FIRST(__VA_ARGS__ NULL, 0),
#include "graph/ops.def"
};

/* The gradient of a normalisation has the strides that the normalisation's rule gives. */
static int64_t *as_forward(cm__strides *s, const cm_node *n, int32_t output)
{
    const cm_node *forward = forward_of(s, n);
    return forward != n && rules[forward->op] ? rules[forward->op](s, n, output) : NULL;
}

/* A norm or softmax over rows: a library's kernel wants contiguous rows, a generated one takes them in any order. */
static bool is_row_wise(const cm_node *forward)
{
    bool norm = cm__class(forward) == CM_CLASS_NORM && forward->op != CM_OP_BATCH_NORM;
    return norm || forward->op == CM_OP_SOFTMAX || forward->op == CM_OP_LOG_SOFTMAX;
}

/* Code that torch.compile generates can write in any order. */
static bool is_generated(const cm_node *n)
{
    cm_class class = cm__class(n);
    return class == CM_CLASS_ELEMENTWISE || class == CM_CLASS_NORM || class == CM_CLASS_REDUCTION || class == CM_CLASS_MOVEMENT;
}

int64_t *cm__strides_written(cm__strides *s, const cm_node *n, int32_t output)
{
    int32_t y = n->outputs[output];
    if (s->as_image && s->as_image[y] && is_generated(n)) return image_if(s, true, cm__t(s->g, y));
    if (s->wanted && s->wanted[y] && is_generated(n)) return s->wanted[y];
    if (s->compiled && output == 0 && n->n_inputs && is_row_wise(forward_of(s, n))) return like_operands(s, n, output);
    if (rules[n->op]) return rules[n->op](s, n, output);
    return cm__class(n) == CM_CLASS_ELEMENTWISE && n->n_inputs ? like_operands(s, n, output) : NULL;
}
