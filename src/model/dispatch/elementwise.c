/* SPDX-License-Identifier: Apache-2.0 */
/* elementwise.c - kernel calls of elementwise functions, casts, copies, and of their gradients. */
#include <string.h>
#include "graph/training/train.h"
#include "model/dispatch/rules.h"

static cm_dtype type_of(const cm__dispatch *d, int32_t tensor) { return cm__t(d->g, tensor)->dtype; }

static cm__types types_of(const cm__dispatch *d, int32_t a, int32_t b, int32_t out)
{
    cm_dtype result = type_of(d, out), first = a < 0 ? result : type_of(d, a), second = b < 0 ? first : type_of(d, b);
    /* both operand orders are the same kernel: the narrower type comes first */
    bool wider = cm_dtype_size(first) > cm_dtype_size(second);
    return CM__TYPES(wider ? second : first, wider ? first : second, result);
}

void cm__call_typed(cm__dispatch *d, int32_t node, cm__variant function, cm__types types, cm_poly outer,
                    cm_poly inner)
{
    cm__sized_call c = cm__call_begin(d, CM__CALL_ELEMENTWISE, CM__PASS_FORWARD, function, CM_FP32, false);
    c.types = types;
    CM__CALL_SIZED(d, node, c, outer, inner);
}

void cm__call_pass(cm__dispatch *d, int32_t node, cm__variant function, cm__types types, cm_poly elements)
{
    cm__call_typed(d, node, function, types, cm__poly_const(1), elements);
}

void cm__call_map(cm__dispatch *d, int32_t node, cm__variant function, int32_t a, int32_t b, int32_t out, cm_poly outer,
                  cm_poly inner)
{
    cm__call_typed(d, node, function, types_of(d, a, b, out), outer, inner);
}

void cm__call_over(cm__dispatch *d, int32_t node, cm__variant function, int32_t a, int32_t b, int32_t out)
{
    cm__call_map(d, node, function, a, b, out, cm__poly_const(1), cm_tensor_elements(cm__t(d->g, out)));
}

/* ---- broadcasts ------------------------------------------------------------------------------------------------- */

static bool is_one(const cm_tensor *t)
{
    for (int32_t i = 0; i < t->rank; i++)
        if (!cm__dim_is(t->dims[i], 1)) return false;
    return true;
}

/* A concatenation with a part that is not dense has a separate kernel, which finds the place of each element. */
static bool has_gaps(cm__dispatch *d, const cm_node *n)
{
    for (int32_t i = 0; i < n->n_inputs; i++)
        if (!cm__strides_in_rows(d->strides, n->inputs[i])) return true;
    return false;
}

/* PyTorch copies channels-last parts one by one if one of them is not dense (cat_out_cuda in
   ATen/native/cuda/Shape.cu). */
static bool copied_parts(cm__dispatch *d, int32_t node)
{
    const cm_node *n = cm__node(d, node);
    bool           dense = true;
    for (int32_t i = 0; i < n->n_inputs; i++) dense = dense && cm__is_image(d, n->inputs[i], true);
    if (dense || cm__is_compiled(d, n)) return false;
    for (int32_t i = 0; i < n->n_inputs; i++) {
        int32_t          part = n->inputs[i];
        const cm_tensor *x = cm__t(d->g, part);
        cm_poly          pixels = cm__poly_mul(cm__poly_dim(x->dims[0]), cm__poly_product(x->dims + 2, x->rank - 2));
        cm__call_map(d, node, CM__V(COPY, PART), part, -1, part, pixels, cm__poly_dim(x->dims[1]));
    }
    return true;
}

/* Concatenation along an axis: the dimensions before the axis are the rows. */
static void joined(cm__dispatch *d, int32_t node)
{
    const cm_node   *n = cm__node(d, node);
    const cm_tensor *y = cm__t(d->g, n->outputs[0]);
    int64_t          given = cm__attr_int(n, CM_ATTR_AXIS, 0);
    int32_t          axis = (int32_t)(given < 0 ? given + y->rank : given);
    bool             channels = axis == 1 && cm__strides_channels_last(d->strides, n->outputs[0]);
    if (axis < 0 || axis > y->rank) axis = 0;
    if (channels && copied_parts(d, node)) return;
    cm_poly outer = channels ? cm__poly_mul(cm__poly_dim(y->dims[0]), cm__poly_product(y->dims + 2, y->rank - 2))
                             : cm__poly_product(y->dims, axis);
    cm_poly inner = channels ? cm__poly_dim(y->dims[1]) : cm__poly_product(y->dims + axis, y->rank - axis);
    bool    gaps = !channels && y->rank && has_gaps(d, n), along_rows = axis == y->rank - 1;
    if (gaps) {
        outer = cm__poly_product(y->dims, y->rank - 1);
        inner = cm__poly_dim(y->dims[y->rank - 1]);
    }
    cm__variant_form form = channels     ? CM__FORM_NHWC
                            : !gaps      ? CM__FORM_NONE
                            : along_rows ? CM__FORM_PART
                                         : CM__FORM_STRIDED;
    cm__call_map(d, node, cm__variant_in(CM__V_CAT, form), n->outputs[0], -1, n->outputs[0], outer, inner);
}

/* A comparison writes truth values, and "and" joins two of them. "select" chooses between a tensor and a number in
   memory: its kernel computes where each operand lies, which takes as long in 16 bits as in 32. False: another
   function. */
static bool truth(cm__dispatch *d, int32_t node, cm__variant function, int32_t over)
{
    static const struct {
        cm__variant function, kernel;
        cm__types   types; /* CM__NO_TYPES: from the tensor's type to truth values */
    } rows[] = {{CM__V_COMPARE, CM__V_COMPARE, CM__NO_TYPES}, {CM__V_AND, CM__V_AND, CM__ALL(CM_BOOL)},
                {CM__V_SELECT, CM__V_WHERE, CM__ALL(CM_FP32)}};
    size_t i = 0, count = sizeof rows / sizeof *rows;
    while (i < count && function != rows[i].function) i++;
    if (i == count) return false;
    cm__types types = rows[i].types == CM__NO_TYPES ? cm__types_cast(type_of(d, over), CM_BOOL) : rows[i].types;
    cm__call_pass(d, node, rows[i].kernel, types, cm_tensor_elements(cm__t(d->g, over)));
    return true;
}

void cm__dispatch_map(cm__dispatch *d, int32_t node)
{
    const cm_node *n = cm__node(d, node);
    cm__variant    function = cm__forward_kernel(n->op, CM__V_COPY); /* a function not listed costs as much as a copy */
    int32_t        y = n->n_outputs ? n->outputs[0] : -1, a = cm__has(n, 0) ? n->inputs[0] : -1,
            b = n->n_inputs == 2 && cm__has(n, 1) ? n->inputs[1] : -1;
    if (y < 0) return;
    if (n->op == CM_OP_CONCAT) {
        if (!cm__joins_directions(d->g, n)) joined(d, node); /* a recurrent layer writes both into one tensor */
        return;
    }
    cm__function m = {function, a, b, -1, y, y};
    if (n->op == CM_OP_WHERE && cm__has(n, 2)) m.a = n->inputs[1], m.b = -1;
    else if (a < 0 || b < 0 || n->op == CM_OP_DROPOUT_GRAD) m.b = -1;
    else if (is_one(cm__t(d->g, a)) || is_one(cm__t(d->g, b))) {
        m.a = is_one(cm__t(d->g, b)) ? a : b;
        m.b = -1;
        if (n->op != CM_OP_POW) m.function = CM__V_SCALE;
    }
    if (n->op == CM_OP_DROPOUT || n->op == CM_OP_CONSTANT_OF_SHAPE) m.a = y, m.b = -1; /* of the result's type */
    bool cloned = d->trains && n->phase == CM_FORWARD && cm__attr_int(n, CM_ATTR_IN_PLACE, 0); /* for its gradient */
    if (cloned || cm__attr_find(n, CM_ATTR_COPIES)) cm__call_over(d, node, CM__V_COPY, y, -1, y);
    if (!truth(d, node, function, y)) cm__call_strided(d, node, &m);
}

/* A gradient multiplied by a scalar has one operand less. */
static bool by_number(const cm__dispatch *d, const cm_node *n, const cm_node *forward)
{
    return forward->op != CM_OP_POW && n->n_inputs > 1 && cm__has(n, 1) && is_one(cm__in(d->g, n, 1));
}

/* True: the gradient is multiplied by the other operand of forward, whose type the kernel reads. */
static bool by_operand(const cm__dispatch *d, const cm_node *n, const cm_node *forward, int32_t result)
{
    bool multiplied = forward->op == CM_OP_MUL || forward->op == CM_OP_DIV ||
                      (forward->op == CM_OP_LERP && n->n_inputs == 2);
    if (n->n_inputs < 2 || !cm__has(n, 1) || !multiplied) return false;
    const cm_tensor *kept = cm__in(d->g, n, 1);
    return !is_one(kept) && kept->rank <= cm__t(d->g, result)->rank;
}

/* The gradient of a mean, broadcast over the averaged elements. Its name includes the variant. */
static bool is_undone(cm__variant function) { return cm__form_of(function) != CM__FORM_NONE; }

/* Kernels of the gradient of an operand that has others than that of the first. Of a divisor: -dy ((x / y) / y). Of the
   input or result in a gradient: sigmoid_backward, tanh_backward and softplus_double_backward in
   tools/autograd/derivatives.yaml and FunctionsManual.cpp of PyTorch. Of an interpolation: 1 - w alone; dy (b - a). */
static const struct {
    int16_t     op;
    int32_t     inputs;
    cm__variant kernels[9];
} others[] = {
    {CM_OP_DIV, 3, {CM__V_DIV, CM__V_DIV, CM__V_NEG, CM__V_MUL}},
    {CM_OP_LERP, 1, {CM__V_FILL, CM__V_SUB}},
    {CM_OP_LERP, 3, {CM__V_SUB, CM__V_MUL}},
    {CM_OP_SIGMOID_SLOPE, 3, {CM__V_MUL, CM__V_SCALE, CM__V_SCALE, CM__V_MUL}},
    {CM_OP_TANH_SLOPE, 3, {CM__V_SCALE, CM__V_MUL, CM__V_MUL}},
    {CM_OP_SOFTPLUS_SLOPE, 3, {CM__V_SCALE, CM__V_SIGMOID, CM__V_SIGMOID_GRAD, CM__V_MUL, CM__V_MUL, CM__V_SCALE,
                               CM__V_COMPARE, CM__V_COPY}},
};

static const cm__variant *kernels_of(const cm_node *n, const cm_node *forward)
{
    static const cm__variant of_copy[] = {CM__V_COPY, CM__V_WHERE, CM__V_NONE};
    if (cm__attr_find(forward, CM_ATTR_COPIES)) return of_copy;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (others[i].op == forward->op && n->n_inputs == others[i].inputs) return others[i].kernels;
    return cm__backward_kernels(forward->op);
}

void cm__dispatch_map_grad(cm__dispatch *d, int32_t node)
{
    const cm_node *n = cm__node(d, node), *forward = cm__forward_of(d, n);
    int32_t        y = n->outputs[0], dy = n->inputs[0];
    bool           cast = type_of(d, y) != type_of(d, dy); /* computed in the gradient's type, then cast */
    if (forward->op == CM_OP_REDUCE_MAX || forward->op == CM_OP_REDUCE_MIN) {
        cm__call_extreme_grad(d, node);
        return;
    }
    if (forward->op == CM_OP_REDUCE_PROD) {
        cm__call_product_grad(d, node);
        return;
    }
    if (forward->op == CM_OP_GLU) { /* a thread reads a gradient and writes both halves */
        cm__call_over(d, node, CM__V_GLU_GRAD, dy, -1, dy);
        return;
    }
    if (forward->op == CM_OP_REDUCE_VAR) cm__call_mean(d, node);
    for (const cm__variant *f = kernels_of(n, forward); *f; f++) {
        if (truth(d, node, *f, y)) continue;
        bool         product = by_operand(d, n, forward, y), scaled = by_number(d, n, forward);
        bool         beside = !product && !scaled && cm__has(n, 1) && *f != CM__V_COPY;
        cm__function m = {*f, dy, product ? n->inputs[1] : -1, beside ? n->inputs[1] : -1, y, cast ? dy : y};
        if (scaled && *f == CM__V_MUL) m.function = CM__V_SCALE;
        if (is_undone(m.function)) cm__call_map(d, node, m.function, dy, -1, m.type, cm__poly_const(1),
                                                cm_tensor_elements(cm__t(d->g, y)));
        else cm__call_strided(d, node, &m);
    }
    if (cast) cm__call_over(d, node, CM__V_COPY, dy, -1, y);
}

/* ---- copies ----------------------------------------------------------------------------------------------------- */

/* Copies the data of a view operator whose strides do not allow a view. */
void cm__dispatch_copy(cm__dispatch *d, int32_t node)
{
    const cm_node *n = cm__node(d, node);
    if (!n->n_outputs || n->outputs[0] < 0) return;
    if (cm__has(n, 0)) cm__call_copied(d, node, n->inputs[0], cm__strides_rows(d->strides, cm__in(d->g, n, 0)));
    else cm__call_over(d, node, CM__V_COPY, n->outputs[0], -1, n->outputs[0]);
}

/* One kernel for each dimension that is rolled. */
void cm__dispatch_roll(cm__dispatch *d, int32_t node)
{
    const cm_node  *n = cm__node(d, node);
    const cm__attr *axes = cm__attr_find(n, CM_ATTR_AXES);
    for (int32_t i = 0; i < (axes && axes->count > 1 ? axes->count : 1); i++)
        cm__call_over(d, node, CM__V_ROLL, n->inputs[0], -1, n->outputs[0]);
}

/* Copies of 16-bit numbers that move as many bytes as PyTorch's operators that unpack 4-bit weights: a shift to int32
   (4.5 bytes of each weight), a cast to int8 (5), a mask, a difference (2 each), a product in 16 bits (3). */
#define UNPACKING_COPIES 4

/* One kernel reads the packed weights and writes them in 16 bits. */
void cm__dispatch_unpack(cm__dispatch *d, int32_t node)
{
    const cm_node *n = cm__node(d, node);
    for (int i = 0; i < UNPACKING_COPIES && cm__unpacks_by_operators(d->g, n); i++)
        cm__call_over(d, node, CM__V_COPY, n->outputs[0], -1, n->outputs[0]);
    if (cm__unpacks_by_operators(d->g, n)) return;
    cm__call_over(d, node, CM__V_COPY, n->inputs[0], -1, n->outputs[0]);
}

/* The strides of a part in the rows of the whole: a part of lower rank is one index of an axis. */
static const int64_t *place_of(const cm__dispatch *d, const cm_node *n, int32_t rank, const cm_tensor *whole)
{
    int64_t *place = cm__strides_rows(d->strides, whole), axis = cm__attr_int(cm__forward_of(d, n), CM_ATTR_AXIS, 0);
    if (axis < 0) axis += whole->rank;
    if (rank < whole->rank && axis < whole->rank)
        memmove(place + axis, place + axis + 1, (size_t)(whole->rank - 1 - axis) * sizeof *place);
    return place;
}

/* Fills with zeros, then copies the gradient into the slice. */
void cm__dispatch_slice_grad(cm__dispatch *d, int32_t node)
{
    const cm_node   *n = cm__node(d, node);
    const cm_tensor *part = cm__in(d->g, n, 0), *whole = cm__t(d->g, n->outputs[0]);
    cm__call_over(d, node, CM__V_FILL, n->outputs[0], -1, n->outputs[0]);
    cm__call_whole_copy(d, node, n->outputs[0]);
    if (part->rank == whole->rank || part->rank == whole->rank - 1)
        cm__call_copied(d, node, n->inputs[0], place_of(d, n, part->rank, whole));
    else if (part->rank)
        cm__call_map(d, node, CM__V(COPY, PART), n->inputs[0], -1, n->inputs[0],
                     cm__poly_product(part->dims, part->rank - 1), cm__poly_dim(part->dims[part->rank - 1]));
}
