/* SPDX-License-Identifier: Apache-2.0 */
/*
 * traffic.c - bytes that the kernels of a fusing compiler move.
 *
 * A kernel reads once each tensor that another kernel made, and writes the results that other kernels read. Pools, and
 * gradients of resized images and of look-ups, read or add the same element several times. The time of that is counted
 * in bytes (data/factors.tsv).
 */
#include "model/dispatch/fusing.h"
#include "graph/rules.h"
#include "model/time/factors.h"

#include <math.h>

#define FUNCTION_FLOP 4 /* of an exponential, in ops.def: operators with fewer have no function */

int32_t cm__fusing_logits(const cm_graph *g, int32_t tensor)
{
    int32_t        from = cm__t(g, cm__t(g, tensor)->storage)->producer;
    const cm_node *n = from < 0 ? NULL : &g->nodes[from];
    bool           kind = n && (n->op == CM_OP_CROSS_ENTROPY || n->op == CM_OP_LOG_SOFTMAX) && n->phase == CM_FORWARD;
    if (!kind || !cm__fusible(g, n) || !cm__has(n, 0)) return -1;
    if (n->op == CM_OP_CROSS_ENTROPY && tensor == n->outputs[0]) return -1; /* the loss itself */
    int32_t        logits = n->inputs[0], made = cm__t(g, cm__t(g, logits)->storage)->producer;
    const cm_node *cast = made < 0 ? NULL : &g->nodes[made];
    return cast && cast->op == CM_OP_CAST ? cast->inputs[0] : logits;
}

/* Marks the tensors that are read outside the kernel that makes them, and those that a library reads in backward. */
static void find_outside(cm__fusing *f)
{
    const cm_graph *g = f->d->g;
    for (int32_t i = 0; i < g->n_nodes; i++) {
        const cm_node *n = &g->nodes[i];
        for (int32_t k = 0; !n->view && k < n->n_inputs; k++) {
            int32_t base = n->inputs[k] < 0 ? -1 : cm__fusing_base(f, n->inputs[k]);
            int32_t from = base < 0 ? -1 : cm__t(g, base)->producer;
            if (base >= 0 && n->phase == CM_BACKWARD && cm__fusing_logits(g, n->inputs[k]) >= 0) continue;
            if (from >= 0 && (f->kernel[from] < 0 || f->kernel[from] != f->kernel[i])) f->outside[base] = true;
            if (base >= 0 && n->phase == CM_BACKWARD && f->kernel[i] < 0) f->library[base] = true;
        }
    }
    for (int32_t i = 0; i < g->n_outputs; i++) f->outside[cm__fusing_base(f, g->outputs[i])] = true;
}

cm_poly cm__fusing_bytes(const cm_graph *g, int32_t tensor)
{
    const cm_tensor *t = cm__t(g, tensor);
    bool             indices = t->producer >= 0 && g->nodes[t->producer].op == CM_OP_MAX_POOL && t->dtype == CM_INT64;
    return indices ? cm_tensor_elements(t) : cm_tensor_bytes(t);
}

cm_poly cm__fusing_read(const cm_graph *g, int32_t tensor)
{
    cm_poly view = cm__fusing_bytes(g, tensor), base = cm__fusing_bytes(g, cm__t(g, tensor)->storage);
    return cm__poly_at(&view, 1) < cm__poly_at(&base, 1) ? view : base;
}

static bool looks_up(const cm_node *n)
{
    return n->op == CM_OP_GATHER || n->op == CM_OP_GATHER_ELEMENTS || n->op == CM_OP_INDEX;
}

/* A look-up reads the rows that it wants, if they are less than the table. */
static bool looked_up(const cm_graph *g, const cm_node *n, int32_t input)
{
    if (input || !looks_up(n)) return false;
    cm_poly table = cm_tensor_bytes(cm__t(g, n->inputs[0])), rows = cm_tensor_bytes(cm__t(g, n->outputs[0]));
    return cm__poly_at(&rows, 1) < cm__poly_at(&table, 1);
}

static cm_poly smaller(cm_poly a, cm_poly b) { return cm__poly_at(&a, 1) < cm__poly_at(&b, 1) ? a : b; }

/* Bytes of input k that the kernel has not read yet. Several views of a tensor may cover it, but no more than that. */
static cm_poly newly_read(cm__fusing *f, const cm_node *n, int32_t k, int32_t kernel)
{
    const cm_graph *g = f->d->g;
    int32_t         logits = n->phase == CM_BACKWARD ? cm__fusing_logits(g, n->inputs[k]) : -1;
    int32_t         tensor = logits >= 0 ? logits : n->inputs[k], base = cm__fusing_base(f, tensor);
    cm_poly         all = cm__fusing_bytes(g, base);
    cm_poly         before = f->reader[base] == kernel + 1 ? f->taken[base] : cm__poly_const(0);
    cm_poly         part = looked_up(g, n, k) ? cm_tensor_bytes(cm__t(g, n->outputs[0])) : cm__fusing_read(g, tensor);
    if (f->seen[tensor] == kernel + 1) return cm__poly_const(0);
    f->seen[tensor] = f->reader[base] = kernel + 1;
    f->taken[base] = smaller(all, cm__poly_add(before, part));
    return cm__poly_add(f->taken[base], cm__poly_scale(before, -1));
}

/* Bytes that a node reads from outside its kernel and that no earlier node of the kernel has read. */
static cm_poly bytes_read(cm__fusing *f, int32_t node)
{
    const cm_node *n = cm__node(f->d, node);
    cm_poly        bytes = cm__poly_const(0);
    for (int32_t k = 0; k < n->n_inputs; k++) {
        int32_t from = n->inputs[k] < 0 ? -1 : cm__t(f->d->g, cm__fusing_base(f, n->inputs[k]))->producer;
        if (n->inputs[k] < 0 || (from >= 0 && f->kernel[from] == f->kernel[node])) continue;
        if (n->op == CM_OP_POOL_GRAD && k == 1) continue; /* the image: only its shape is needed */
        bytes = cm__poly_add(bytes, newly_read(f, n, k, f->kernel[node]));
    }
    return bytes;
}

static cm_poly bytes_written(const cm__fusing *f, int32_t node)
{
    const cm_node *n = cm__node(f->d, node);
    cm_poly        bytes = cm__poly_const(0);
    for (int32_t k = 0; k < n->n_outputs; k++)
        if (n->outputs[k] >= 0 && (f->outside[cm__fusing_base(f, n->outputs[k])] || n->phase == CM_UPDATE))
            bytes = cm__poly_add(bytes, cm__fusing_bytes(f->d->g, n->outputs[k]));
    return bytes;
}

/* ---- elements that are touched more than once ------------------------------------------------------------------- */

static cm__window window_of(const cm__fusing *f, const cm_node *forward)
{
    cm__window w;
    cm__window_read((cm_graph *)(uintptr_t)f->d->g, forward, cm__in(f->d->g, forward, 0)->rank - 2, NULL, &w);
    return w;
}

/* A pool reads the elements of its window one by one, mostly from the cache. Up to four are free. */
static double pool(const cm__fusing *f, const cm_node *n, const cm_node *forward)
{
    cm__window w = window_of(f, forward);
    double     window = 1, windows = 1; /* elements of a window, windows that contain an element */
    for (int32_t i = 0; i < w.dims; i++) {
        window *= (double)w.kernel[i];
        windows *= (double)((w.kernel[i] + w.stride[i] - 1) / w.stride[i]);
    }
    if (n == forward) return window > 4 ? window * cm__time_factors.pool_read : 0;
    return windows * cm__time_factors.pool_gradient;
}

/* Each element of the gradient is added to its neighbours in the smaller image, by atomic additions. */
static double resized(const cm__fusing *f, const cm_node *n, const cm_node *forward)
{
    static const double along[CM__MODES] = {[CM__MODE_LINEAR] = 2, [CM__MODE_CUBIC] = 4};
    int64_t             mode = cm__attr_int(forward, CM_ATTR_MODE, CM__MODE_NEAREST);
    double              each = mode >= 0 && mode < CM__MODES && along[mode] > 0 ? along[mode] : 1, neighbours = 1;
    if (n == forward) return 0;
    for (int32_t i = 2; i < cm__in(f->d->g, forward, 0)->rank; i++) neighbours *= each;
    return neighbours * (f->d->nhwc ? cm__time_factors.atomic_add_nhwc : cm__time_factors.atomic_add);
}

/* Many indices add to the same few numbers, which all samples share. */
static bool is_contended(const cm_graph *g, const cm_node *n)
{
    cm_poly given = cm_tensor_elements(cm__in(g, n, 0)), table = cm_tensor_elements(cm__t(g, n->outputs[0]));
    bool    many = cm__poly_at(&given, 1) > cm__time_factors.contended_adds * cm__poly_at(&table, 1);
    return many && cm__poly_at(&table, 2) == cm__poly_at(&table, 1);
}

static double gathered(const cm__fusing *f, const cm_node *n, const cm_node *forward)
{
    return n != forward && is_contended(f->d->g, n) ? cm__time_factors.atomic_add_contended : 0;
}

/* In 16 bits an addition is tried again whenever another one came first. */
static cm_poly tried_again(const cm__fusing *f, const cm_node *n)
{
    bool generated = f->d->runtime == CM_RUNTIME_TORCH_COMPILE && n->op == CM_OP_GATHER_GRAD;
    bool narrow = generated && cm_dtype_size(cm__t(f->d->g, n->outputs[0])->dtype) < 4 && is_contended(f->d->g, n);
    return cm__poly_const(narrow ? cm__time_factors.contended_narrow : 0);
}

/* Bytes that a node moves beyond reading its inputs and writing its outputs once. In vendors' stacks libraries have
   better kernels for these. */
static cm_poly bytes_again(const cm__fusing *f, int32_t node)
{
    static double (*const rules[CM_OPS])(const cm__fusing *, const cm_node *, const cm_node *) = {
        [CM_OP_MAX_POOL] = pool,          [CM_OP_AVERAGE_POOL] = pool, [CM_OP_POOL_GRAD] = pool,
        [CM_OP_RESIZE_GRAD] = resized, [CM_OP_GATHER_GRAD] = gathered};
    const cm_node *n = cm__node(f->d, node);
    bool           generated = f->d->runtime == CM_RUNTIME_TORCH_COMPILE;
    double         bytes = generated && rules[n->op] ? rules[n->op](f, n, cm__forward_of(f->d, n)) : 0;
    bool           of_output = n->op == CM_OP_MAX_POOL || n->op == CM_OP_AVERAGE_POOL || n->op == CM_OP_POOL_GRAD;
    int32_t        over = of_output ? n->outputs[0] : n->inputs[0];
    return bytes > 0 && over >= 0 ? cm__poly_scale(cm_tensor_elements(cm__t(f->d->g, over)), bytes) : cm__poly_const(0);
}

/* ---- arithmetic ------------------------------------------------------------------------------------------------- */

/* Functions (exponentials and the like) and random numbers take the time of so many bytes per element. Sums and
   products hide behind the traffic. */
static cm_poly arithmetic_of(const cm__fusing *f, int32_t node)
{
    const cm_node *n = cm__node(f->d, node), *forward = cm__forward_of(f->d, n);
    bool           again = n == forward || cm__ops[forward->op].gradient == cm__gradient_input;
    bool           counts = again && cm__class(forward) == CM_CLASS_ELEMENTWISE && !f->by_row[f->kernel[node]];
    double         flop = counts ? cm__ops[forward->op].flop_per_element : 0;
    double         bytes = flop >= FUNCTION_FLOP ? flop * cm__time_factors.function_flop : 0;
    if (n->op == CM_OP_DROPOUT && f->d->trains) bytes = cm__time_factors.random_number;
    return cm__poly_scale(cm_tensor_elements(cm__t(f->d->g, n->outputs[0])), bytes);
}

/* Arithmetic and traffic overlap: what is longer counts, with a soft corner. Kernels that reduce rows have functions of
   their own, which their tables contain; random numbers come on top of them. */
static void add_arithmetic(cm__fusing *f, int32_t kernel)
{
    cm_poly arithmetic = cm__poly_const(0);
    for (int32_t i = kernel; i >= 0; i = f->next[i]) arithmetic = cm__poly_add(arithmetic, arithmetic_of(f, i));
    double bytes = cm__poly_at(&f->bytes[kernel], 1), ratio = bytes > 0 ? cm__poly_at(&arithmetic, 1) / bytes : 0;
    f->bytes[kernel] = cm__poly_scale(f->bytes[kernel], f->by_row[kernel] ? 1 + ratio : cbrt(1 + ratio * ratio * ratio));
}

/* ---- all kernels ------------------------------------------------------------------------------------------------- */

/* Kernel by kernel, so that each counts a tensor once. */
void cm__fusing_add_traffic(cm__fusing *f)
{
    find_outside(f);
    for (int32_t kernel = 0; kernel < f->d->g->n_nodes; kernel++) {
        for (int32_t i = f->kernel[kernel] == kernel ? kernel : -1; i >= 0; i = f->next[i]) {
            cm_poly in = bytes_read(f, i);
            cm_poly again = cm__poly_add(bytes_again(f, i), tried_again(f, cm__node(f->d, i)));
            cm_poly other = cm__poly_add(bytes_written(f, i), again);
            f->bytes[kernel] = cm__poly_add(f->bytes[kernel], cm__poly_add(in, other));
            if (i <= f->norm[kernel]) f->summed[kernel] = cm__poly_add(f->summed[kernel], in);
        }
        bool generated = f->d->runtime == CM_RUNTIME_TORCH_COMPILE && f->kernel[kernel] == kernel;
        if (generated && !f->columns[kernel]) add_arithmetic(f, kernel);
    }
}
