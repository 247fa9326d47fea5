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
 * The rest are small products, or in TF32 multiples of 4, which need no padding. Padding the columns copies the weights,
 * which few rows do not pay for. So it depends on the batch size whether a product is padded, and calls are made for all
 * batch sizes: they say from which one on (`from`). Of these products the rules decide 438 of 480 as Inductor does.
 */
#include "model/dispatch/rules.h"

#include <math.h>
#include "model/time/factors.h"

/* A type whose products Inductor pads: numbers in 16 bytes, bytes of a number, and how much larger products must be. */
typedef struct padding {
    int64_t aligned;
    double  bytes, larger;
} padding;

#define STRIDED 1024 /* rows from this length on are aligned in memory (padding_stride_threshold of Inductor) */

static bool is_batched(cm_poly length) { return cm__poly_at(&length, 1) != cm__poly_at(&length, 2); }
static bool is_odd(cm_poly length) { return !is_batched(length) && (int64_t)cm__poly_at(&length, 1) % 2 != 0; }

/* A length that does not depend on the batch size and is no multiple of what is loaded at once. */
static bool is_unaligned(cm_poly length, const padding *type)
{
    return !is_batched(length) && (int64_t)cm__poly_at(&length, 1) % type->aligned != 0;
}

static bool has_odd(const cm_poly sizes[CM__GEMM_SIZES])
{
    return is_odd(sizes[CM__GEMM_M]) || is_odd(sizes[CM__GEMM_N]) || is_odd(sizes[CM__GEMM_K]);
}

/* The batch size from which on a number, linear in the batch size, is at least this; INFINITY: none. */
static double batch_of(cm_poly number, double least)
{
    double one = cm__poly_at(&number, 1), more = cm__poly_at(&number, 2) - one;
    if (more <= 0) return one >= least ? 0 : INFINITY;
    return fmax(0, 1 + (least - one) / more);
}

static cm_poly multiplications(const cm_poly sizes[CM__GEMM_SIZES])
{
    return cm__poly_mul(cm__poly_mul(sizes[CM__GEMM_M], sizes[CM__GEMM_N]), sizes[CM__GEMM_K]);
}

/* The batch size from which on a product is large enough to be padded. Stacks of products, as in attention, are not: Inductor
   pads some of them, but what softmax kernels take on padded rows is not known (docs/results/first-sight.md). */
static double is_large_from(const cm_poly sizes[CM__GEMM_SIZES], const padding *type)
{
    double least = has_odd(sizes) ? cm__time_factors.padded_odd : cm__time_factors.padded_even;
    double from = batch_of(multiplications(sizes), type->larger * least);
    bool   single = !is_batched(sizes[CM__GEMM_BATCH]) && cm__poly_at(&sizes[CM__GEMM_BATCH], 1) == 1;
    for (int i = CM__GEMM_M; i < CM__GEMM_SIZES; i++)
        if (!is_batched(sizes[i]) && cm__poly_at(&sizes[i], 1) < cm__time_factors.padded_thinnest) return INFINITY;
    return single ? from : INFINITY;
}

/* The batch size from which on a product has enough rows for a copy of its weights. */
static double has_rows_from(const cm_poly sizes[CM__GEMM_SIZES], const padding *type)
{
    double rows = has_odd(sizes) ? cm__time_factors.padded_odd_rows : cm__time_factors.padded_even_rows;
    return batch_of(sizes[CM__GEMM_M], type->larger * rows);
}

/* From this batch size on a size of a product is padded. */
static void round_up(cm__sized_call *c, int size, double from, const padding *type)
{
    c->padded |= 1 << size;
    c->aligned = (int32_t)type->aligned;
    c->from = fmax(c->from, from);
}

/* A generated kernel that copies a matrix of rows x columns into rows of another length, from this batch size on. */
static void copy(cm__dispatch *d, int32_t node, cm_poly rows, cm_poly columns, const padding *type, double from)
{
    cm__call_generated_from(d, node, "fused", cm__poly_scale(cm__poly_mul(rows, columns), 2 * type->bytes), from);
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

static void pad_result(cm__dispatch *d, int32_t node, cm__sized_call *c, const padding *type, double from)
{
    copy(d, node, c->sizes[CM__GEMM_K], c->sizes[CM__GEMM_N], type, from);
    if (leaves(d, cm__node(d, node))) copy(d, node, c->sizes[CM__GEMM_M], c->sizes[CM__GEMM_N], type, from);
    round_up(c, CM__GEMM_N, from, type);
}

static void pad_inner(cm__dispatch *d, int32_t node, cm__sized_call *c, const padding *type, double from)
{
    copy(d, node, c->sizes[CM__GEMM_M], c->sizes[CM__GEMM_K], type, from);
    copy(d, node, c->sizes[CM__GEMM_K], c->sizes[CM__GEMM_N], type, from);
    round_up(c, CM__GEMM_K, from, type);
}

/* Gradients of weights. The rows of the first operand, a gradient, are aligned in memory if the compiler wrote it. */
static void pad_weights(cm__dispatch *d, int32_t node, cm__sized_call *c, const padding *type, double from)
{
    const cm_node *n = cm__node(d, node);
    cm_poly        m = c->sizes[CM__GEMM_M], columns = c->sizes[CM__GEMM_N];
    bool           inside = is_made_inside(d, n->inputs[0]), strided = inside && cm__poly_at(&m, 1) >= STRIDED;
    if (is_unaligned(columns, type) && n->n_inputs > 1 && inside && is_made_inside(d, n->inputs[1]))
        pad_result(d, node, c, type, from);
    bool wide = cm__poly_at(&columns, 1) >= cm__time_factors.padded_transposed;
    bool transposed = !strided && is_odd(m) && wide;
    if (!is_unaligned(m, type) || (!strided && !transposed)) return;
    if (transposed) copy(d, node, c->sizes[CM__GEMM_K], m, type, from);
    round_up(c, CM__GEMM_M, from, type);
}

/* The batch size from which on the inner dimension is padded. An operand that the compiler did not write is copied. */
static double pads_inner_from(const cm__dispatch *d, const cm_node *n, const cm_poly sizes[CM__GEMM_SIZES],
                              const padding *type)
{
    bool copied = is_odd(sizes[CM__GEMM_K]) && cm__poly_at(&sizes[CM__GEMM_N], 1) >= cm__time_factors.padded_copied;
    if (!is_unaligned(sizes[CM__GEMM_K], type)) return INFINITY;
    if (is_made_inside(d, n->inputs[0])) return 0;
    return copied ? has_rows_from(sizes, type) : INFINITY;
}

void cm__pad_product(cm__dispatch *d, int32_t node, const char *variant, cm_dtype dtype, cm__sized_call *c)
{
    static const padding narrow = {8, 2, 1}, wide = {4, 4, 2.5};
    const padding       *type = dtype == CM_BF16 || dtype == CM_FP16 ? &narrow : &wide;
    const cm_node       *n = cm__node(d, node);
    if (!cm__is_compiled(d, n) || (dtype == CM_FP32 && !d->tf32) || cm_dtype_size(dtype) < 2) return;
    double large = is_large_from(c->sizes, type);
    if (isinf(large)) return;
    if (*variant == 't') {
        pad_weights(d, node, c, type, large);
        return;
    }
    double rows = has_rows_from(c->sizes, type), inner = pads_inner_from(d, n, c->sizes, type);
    if (is_unaligned(c->sizes[CM__GEMM_N], type) && !isinf(rows)) pad_result(d, node, c, type, fmax(large, rows));
    if (!isinf(inner)) pad_inner(d, node, c, type, fmax(large, inner));
}
