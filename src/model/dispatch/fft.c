/* SPDX-License-Identifier: Apache-2.0 */
/* fft.c - kernel calls of Fourier transforms and of their gradients. */
#include "model/dispatch/rules.h"

static int32_t axis_at(const cm__attr *axes, int32_t i, int32_t rank)
{
    int64_t axis = axes->ints[i] < 0 ? axes->ints[i] + rank : axes->ints[i];
    return axis < 0 || axis >= rank ? 0 : (int32_t)axis;
}

/* The last axis is n1, whose spectrum has half as many points; further axes than three count as n3. */
static void transform(cm__dispatch *d, int32_t node, cm__variant kind, const cm_tensor *whole, const cm__attr *axes)
{
    cm__sized_call c = cm__call_begin(d, CM__CALL_FFT, CM__PASS_FORWARD, kind, CM_FP32, false);
    bool           gone[CM__RANK_MAX] = {false};
    for (int32_t i = CM__FFT_BATCH; i <= CM__FFT_N3; i++) c.sizes[i] = cm__poly_const(1);
    for (int32_t i = 0; i < axes->count; i++) {
        int32_t axis = axis_at(axes, axes->count - 1 - i, whole->rank), to = i < 2 ? CM__FFT_N1 + i : CM__FFT_N3;
        if (gone[axis]) continue;
        gone[axis] = true;
        c.sizes[to] = cm__poly_mul(c.sizes[to], cm__poly_dim(whole->dims[axis]));
    }
    for (int32_t i = 0; i < whole->rank; i++)
        if (!gone[i]) c.sizes[CM__FFT_BATCH] = cm__poly_mul(c.sizes[CM__FFT_BATCH], cm__poly_dim(whole->dims[i]));
    cm__dispatch_add(d, node, &c);
}

static void complex_call(cm__dispatch *d, int32_t node, cm__variant variant, cm_poly outer, cm_poly inner)
{
    cm__call_typed(d, node, variant, CM__ALL(CM_COMPLEX64), outer, inner);
}

/* Inductor leaves complex numbers to PyTorch's operators, in their functional form: what writes into a part of a tensor
   (slice_scatter) copies all of it first. */
static bool is_functional(const cm__dispatch *d) { return cm__compiles(d->runtime); }

void cm__call_whole_copy(cm__dispatch *d, int32_t node, int32_t tensor)
{
    if (is_functional(d) && cm__t(d->g, tensor)->dtype == CM_COMPLEX64)
        complex_call(d, node, CM__V_COPY, cm__poly_const(1), cm_tensor_elements(cm__t(d->g, tensor)));
}

static void part(cm__dispatch *d, int32_t node, cm__variant function, const cm_tensor *half, int32_t last)
{
    complex_call(d, node, function, cm__poly_product(half->dims, last),
                 cm__poly_product(half->dims + last, half->rank - last));
}

/* The gradient of real numbers: half a spectrum is copied into zeros, and all of it is transformed. */
static void spectrum_back(cm__dispatch *d, int32_t node, const cm_tensor *x, const cm_tensor *half,
                          const cm__attr *axes)
{
    int32_t last = axis_at(axes, axes->count - 1, half->rank);
    complex_call(d, node, CM__V_FILL, cm__poly_const(1), cm_tensor_elements(x));
    if (is_functional(d)) { /* of the half, and of the zeros */
        complex_call(d, node, CM__V_COPY, cm__poly_const(1), cm_tensor_elements(half));
        complex_call(d, node, CM__V_COPY, cm__poly_const(1), cm_tensor_elements(x));
    }
    part(d, node, CM__V(COPY, PART), half, last);
    transform(d, node, CM__V_C2C, x, axes);
}

/* The gradient of a spectrum: all points but the first and the last count twice. */
static void real_back(cm__dispatch *d, int32_t node, const cm_tensor *half, const cm_tensor *y, const cm__attr *axes)
{
    int32_t last = axis_at(axes, axes->count - 1, half->rank);
    transform(d, node, CM__V_R2C, y, axes);
    part(d, node, CM__V(SCALE, PART), half, last);
    if (!is_functional(d)) return;
    complex_call(d, node, CM__V_COPY, cm__poly_const(1), cm_tensor_elements(half));
    part(d, node, CM__V(COPY, PART), half, last);
}

void cm__dispatch_fft(cm__dispatch *d, int32_t node)
{
    const cm_node   *n = cm__node(d, node), *forward = cm__forward_of(d, n);
    const cm_tensor *x = cm__in(d->g, forward, 0), *y = cm__t(d->g, forward->outputs[0]);
    const cm__attr  *axes = cm__attr_find(forward, CM_ATTR_AXES);
    bool             from_real = cm__is_float(x->dtype), to_real = cm__is_float(y->dtype), back = n != forward;
    if (!axes || axes->count < 1 || !x->rank) return;
    if (back && from_real) spectrum_back(d, node, x, y, axes);
    else if (back && to_real) real_back(d, node, x, y, axes);
    else transform(d, node, from_real ? CM__V_R2C : to_real ? CM__V_C2R : CM__V_C2C, to_real ? y : x, axes);
    if (!cm__attr_int(forward, CM_ATTR_SCALE, 0)) return;
    cm_poly made = cm_tensor_elements(cm__t(d->g, n->outputs[0]));
    if (to_real && !back) cm__call_over(d, node, CM__V_SCALE, forward->outputs[0], -1, forward->outputs[0]);
    else complex_call(d, node, CM__V_SCALE, cm__poly_const(1), made);
}
