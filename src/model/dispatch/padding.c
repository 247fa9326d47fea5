/* SPDX-License-Identifier: Apache-2.0 */
/*
 * padding.c - which dimensions of matrix products torch.compile pads.
 *
 * Tensor cores load 16 bytes at once. Where rows of a matrix do not begin at multiples of that, libraries have slower
 * kernels. Inductor times such a product with and without padding, the copies of operands included
 * (torch/_inductor/fx_passes/pad_mm.py), and pads it if that is faster by a tenth. It does so for every product: with
 * PyTorch 2.11 its balance of arithmetic and bandwidth, below which it would not try, is 0.06 on an H200. 988 products
 * there (docs/results/first-sight/padded-products.json.xz) show what it decides:
 *
 *   columns of the result              padded, in 16 bits 145 of 178, in TF32 26 of 57
 *   inner dimension, if a kernel of
 *   the compiler wrote the operand     padded, 157 of 180 and 45 of 65
 *   columns of a gradient of weights   padded, 172 of 184 and 42 of 60
 *   its rows                           26 of 196 and 6 of 68: the first operand would be transposed
 *
 * The rest are small products, or in TF32 multiples of 4, which need no padding.
 */
#include "model/dispatch/rules.h"

#include <math.h>
#include "model/time/factors.h"

/* A type whose products Inductor pads: numbers in 16 bytes, and bytes of a number. */
typedef struct padding {
    int64_t aligned;
    double  bytes;
} padding;

#define STRIDED 1024 /* rows from this length on are aligned in memory (padding_stride_threshold of Inductor) */

static bool is_batched(cm_poly length) { return cm__poly_at(&length, 1) != cm__poly_at(&length, 2); }
static bool is_odd(cm_poly length) { return !is_batched(length) && (int64_t)cm__poly_at(&length, 1) % 2 != 0; }

/* A length that does not depend on the batch size and is no multiple of what is loaded at once. */
static bool is_unaligned(cm_poly length, const padding *type)
{
    return !is_batched(length) && (int64_t)cm__poly_at(&length, 1) % type->aligned != 0;
}

/* Whether a product is large enough to be padded. Calls are made for all batch sizes at once, so this is decided for one
   number of rows. Stacks of products, as in attention, were not measured; recorded steps do not pad them. */
static bool is_large(const cm_poly sizes[CM__GEMM_SIZES])
{
    double all = 1, thinnest = INFINITY;
    bool   odd = false;
    for (int i = CM__GEMM_M; i < CM__GEMM_SIZES; i++) {
        double length = is_batched(sizes[i]) ? cm__time_factors.padded_rows : cm__poly_at(&sizes[i], 1);
        all *= length;
        thinnest = fmin(thinnest, length);
        odd |= is_odd(sizes[i]);
    }
    bool single = !is_batched(sizes[CM__GEMM_BATCH]) && cm__poly_at(&sizes[CM__GEMM_BATCH], 1) == 1;
    double least = odd ? cm__time_factors.padded_odd : cm__time_factors.padded_even;
    return single && thinnest >= cm__time_factors.padded_thinnest && all >= least;
}

static void round_up(cm_poly *length, const padding *type)
{
    int64_t pieces = ((int64_t)cm__poly_at(length, 1) + type->aligned - 1) / type->aligned;
    *length = cm__poly_const((double)(pieces * type->aligned));
}

/* A generated kernel that copies a matrix of rows x columns into rows of another length. */
static void copy(cm__dispatch *d, int32_t node, cm_poly rows, cm_poly columns, const padding *type)
{
    cm__call_generated(d, node, "fused", cm__poly_scale(cm__poly_mul(rows, columns), 2 * type->bytes));
}

/* Whether a kernel of the compiler wrote an operand: it comes neither from the caller nor from code that is not compiled. */
static bool is_made_inside(const cm__dispatch *d, int32_t tensor)
{
    int32_t made = tensor < 0 ? -1 : cm__t(d->g, cm__t(d->g, tensor)->storage)->producer;
    return made >= 0 && cm__is_compiled(d, &d->g->nodes[made]);
}

/* A result that leaves the compiled code is copied into rows of its own length. */
static bool leaves(const cm__dispatch *d, const cm_node *n)
{
    int32_t result = cm__t(d->g, n->outputs[0])->storage;
    for (int32_t i = 0; i < d->g->n_outputs; i++)
        if (cm__t(d->g, d->g->outputs[i])->storage == result) return true;
    return false;
}

static void pad_result(cm__dispatch *d, int32_t node, cm_poly sizes[CM__GEMM_SIZES], const padding *type)
{
    copy(d, node, sizes[CM__GEMM_K], sizes[CM__GEMM_N], type);
    if (leaves(d, cm__node(d, node))) copy(d, node, sizes[CM__GEMM_M], sizes[CM__GEMM_N], type);
    round_up(&sizes[CM__GEMM_N], type);
}

static void pad_inner(cm__dispatch *d, int32_t node, cm_poly sizes[CM__GEMM_SIZES], const padding *type)
{
    copy(d, node, sizes[CM__GEMM_M], sizes[CM__GEMM_K], type);
    copy(d, node, sizes[CM__GEMM_K], sizes[CM__GEMM_N], type);
    round_up(&sizes[CM__GEMM_K], type);
}

/* Gradients of weights. The rows of the first operand, a gradient, are aligned in memory if the compiler wrote it. */
static void pad_weights(cm__dispatch *d, int32_t node, cm_poly sizes[CM__GEMM_SIZES], const padding *type)
{
    const cm_node *n = cm__node(d, node);
    cm_poly       *m = &sizes[CM__GEMM_M];
    bool           inside = is_made_inside(d, n->inputs[0]), strided = inside && cm__poly_at(m, 1) >= STRIDED;
    if (is_unaligned(sizes[CM__GEMM_N], type) && n->n_inputs > 1 && inside && is_made_inside(d, n->inputs[1]))
        pad_result(d, node, sizes, type);
    bool wide = cm__poly_at(&sizes[CM__GEMM_N], 1) >= cm__time_factors.padded_transposed;
    bool transposed = !strided && is_odd(*m) && wide;
    if (!is_unaligned(*m, type) || (!strided && !transposed)) return;
    if (transposed) copy(d, node, sizes[CM__GEMM_K], *m, type);
    round_up(m, type);
}

static bool pads_inner(const cm__dispatch *d, const cm_node *n, const cm_poly sizes[CM__GEMM_SIZES], const padding *type)
{
    bool copied = is_odd(sizes[CM__GEMM_K]) && cm__poly_at(&sizes[CM__GEMM_N], 1) >= cm__time_factors.padded_copied;
    return is_unaligned(sizes[CM__GEMM_K], type) && (copied || is_made_inside(d, n->inputs[0]));
}

void cm__pad_product(cm__dispatch *d, int32_t node, const char *variant, cm_dtype dtype, cm_poly sizes[CM__GEMM_SIZES])
{
    static const padding narrow = {8, 2}, wide = {4, 4};
    const padding       *type = dtype == CM_BF16 || dtype == CM_FP16 ? &narrow : &wide;
    const cm_node       *n = cm__node(d, node);
    if (!cm__is_compiled(d, n) || (dtype == CM_FP32 && !d->tf32) || cm_dtype_size(dtype) < 2 || !is_large(sizes)) return;
    if (*variant == 't') {
        pad_weights(d, node, sizes, type);
        return;
    }
    if (is_unaligned(sizes[CM__GEMM_N], type)) pad_result(d, node, sizes, type);
    if (pads_inner(d, n, sizes, type)) pad_inner(d, node, sizes, type);
}
