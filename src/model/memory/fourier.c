/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fourier.c - memory of Fourier transforms, as PyTorch calls cuFFT (ATen/native/cuda/SpectralOps.cpp).
 *
 * A transform to real numbers copies the spectrum first, because cuFFT may overwrite it. The gradient of a transform of
 * real numbers fills a whole spectrum with zeros, copies half of one into it and transforms it; the result is a
 * view of the real parts, so that the gradient takes the memory of complex numbers. Sizes for which cuFFT has no single
 * kernel need a work area. All of this is as in 145 transforms and spectral layers on an H200
 * (evidence/kernels.tar.xz: layers.jsonl). There, products of 2, 3, 5, 7 and 11 and primes up to 127 need no area, except
 * 75 x 75 and 16,000.
 */
#include "graph/rule.h"
#include "model/memory/footprint.h"

static bool has_own_kernel(int64_t size)
{
    static const int64_t primes[] = {2, 3, 5, 7, 11};
    int64_t              rest = size, divisor = 2;
    for (size_t i = 0; size > 0 && i < sizeof primes / sizeof *primes; i++)
        while (rest % primes[i] == 0) rest /= primes[i];
    while (divisor * divisor <= size && size % divisor) divisor++;
    return rest == 1 || (size <= 127 && divisor * divisor > size);
}

static bool needs_area(const cm_node *n, const cm_tensor *whole)
{
    const cm__attr *axes = cm__attr_find(n, CM_ATTR_AXES);
    for (int32_t i = 0; axes && i < axes->count; i++) {
        int64_t axis = axes->ints[i] < 0 ? axes->ints[i] + whole->rank : axes->ints[i];
        if (axis >= 0 && axis < whole->rank && !has_own_kernel(whole->dims[axis].fixed)) return true;
    }
    return false;
}

/* Real numbers along one axis of even size are transformed as half as many complex ones. Complex numbers have an area
   with several axes only. */
static cm_poly area_of(const cm_node *n, const cm_tensor *whole, cm_poly full, bool complex_numbers)
{
    const cm__attr *axes = cm__attr_find(n, CM_ATTR_AXES);
    int64_t         axis = axes->ints[0] < 0 ? axes->ints[0] + whole->rank : axes->ints[0];
    if (axes->count > 1) return full;
    if (complex_numbers) return (cm_poly){{0}};
    return whole->dims[axis].fixed % 2 ? full : cm__poly_scale(full, 0.5);
}

cm__temporary cm__workspace_fourier(const cm_footprint *f, const cm_node *n)
{
    cm__temporary    t = {.least_batch = 0};
    bool             backward = n->op == CM_OP_FFT_GRAD;
    const cm_node   *forward = backward && n->source >= 0 ? &f->step->nodes[n->source] : n;
    const cm_tensor *x = cm__in(f->step, forward, 0), *y = cm__t(f->step, forward->outputs[0]);
    bool             from_real = cm__is_float(x->dtype), to_real = cm__is_float(y->dtype);
    const cm_tensor *whole = to_real ? y : x, *half = to_real ? x : y;
    cm_poly          full = cm__poly_scale(cm_tensor_elements(whole), (double)cm_dtype_size(CM_COMPLEX64));
    if (to_real && !backward) t.bytes = cm_tensor_bytes(half);
    if (from_real && backward) t.bytes = full;
    bool complex_numbers = backward ? !to_real : !from_real && !to_real;
    if (needs_area(forward, whole)) t.bytes = cm__poly_add(t.bytes, area_of(forward, whole, full, complex_numbers));
    return t;
}

void cm__fourier_pieces(cm_footprint *f, const int32_t *piece_of)
{
    for (int32_t i = 0; f->caching && i < f->n_nodes; i++) {
        const cm_node *n = &f->step->nodes[i];
        if (n->op != CM_OP_FFT_GRAD || n->outputs[0] < 0) continue;
        const cm_tensor *gradient = cm__t(f->step, n->outputs[0]);
        int32_t          piece = piece_of[gradient->storage];
        if (piece >= 0 && cm__is_float(gradient->dtype))
            f->pieces[piece].bytes =
                cm__poly_scale(cm_tensor_elements(gradient), (double)cm_dtype_size(CM_COMPLEX64));
    }
}
