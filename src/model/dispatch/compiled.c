/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compiled.c - kernel calls of a compiler that fuses neighbouring elementwise and row-wise operators.
 *
 * Products, convolutions, attention, look-ups, casts to 8 bits and the update stay separate calls. All other operators are fused: an
 * operator joins the kernel of one of its producers if both are in the same pass and have the same size. A fused kernel
 * reads its external inputs once and writes its external outputs once. A batch norm in training needs sums over its
 * input before it can normalise (in backward: over all operands of its gradient). These sums are separate kernels,
 * timed as column sums, and their operands are read a second time. As in eager PyTorch, a batch norm also counts its
 * batches. In the stacks that vendors tune (`tuned`) the convolution before a batch norm sums its own results.
 */
#include <string.h>
#include "model/dispatch/rules.h"

#define SUM_KERNELS 2 /* a sum over long columns: partial sums, then their sum */

typedef struct fusing {
    cm__dispatch *d;
    int32_t      *kernel;  /* per node: first node of the kernel it was fused into; -1: none */
    bool         *outside; /* per tensor (by storage): read by a node outside its kernel */
    cm_poly      *bytes;   /* per kernel: bytes read and written */
    int32_t      *norm;    /* per kernel: the first node that needs sums; -1: none */
    cm_poly      *summed;  /* per kernel with such a node: bytes that the sums read */
} fusing;

static bool is_fusible(const cm__dispatch *d, const cm_node *n)
{
    static const bool classes[CM_CLASSES] = {
        [CM_CLASS_NORM] = true, [CM_CLASS_ELEMENTWISE] = true, [CM_CLASS_REDUCTION] = true, [CM_CLASS_MOVEMENT] = true};
    return classes[cm_node_class(n)] && !n->view && n->n_outputs > 0 && n->outputs[0] >= 0 && !cm__is_scaled_cast(d, n);
}

static int32_t stored(const fusing *f, int32_t tensor) { return cm__t(f->d->g, tensor)->storage; }

static cm_poly size_of(const fusing *f, const cm_node *n)
{
    return cm_tensor_elements(cm__t(f->d->g, n->n_inputs && n->inputs[0] >= 0 && cm_node_class(n) == CM_CLASS_REDUCTION
                                                 ? n->inputs[0]
                                                 : n->outputs[0]));
}

static bool same_size(cm_poly a, cm_poly b) { return memcmp(&a, &b, sizeof a) == 0; }

/* A batch norm that computes its statistics from the batch. */
static bool needs_sums(const fusing *f, const cm_node *n)
{
    return f->d->trains && cm__forward_of(f->d, n)->op == CM_OP_BATCH_NORM && cm__has(n, 0);
}

/* Returns the kernel of the last producer that this node can be fused into. Operators before the sums would be
   computed twice: for the sums, and again after them. That pays off only in backward, where they are gradients of
   activations. */
static int32_t kernel_to_join(const fusing *f, const cm_node *n)
{
    int32_t best = -1;
    if (needs_sums(f, n) && n->phase != CM_BACKWARD) return -1;
    for (int32_t i = 0; i < n->n_inputs; i++) {
        int32_t from = n->inputs[i] < 0 ? -1 : cm__t(f->d->g, stored(f, n->inputs[i]))->producer;
        if (from < 0 || f->kernel[from] < 0) continue;
        const cm_node *p = &f->d->g->nodes[from];
        bool           sums_twice = needs_sums(f, n) && f->norm[f->kernel[from]] >= 0;
        if (p->phase == n->phase && !sums_twice && same_size(size_of(f, p), size_of(f, n)) && f->kernel[from] > best)
            best = f->kernel[from];
    }
    return best;
}

static void fuse(fusing *f)
{
    const cm_graph *g = f->d->g;
    for (int32_t i = 0; i < g->n_nodes; i++) {
        const cm_node *n = &g->nodes[i];
        f->kernel[i] = f->norm[i] = -1;
        if (!is_fusible(f->d, n) || cm__inside_stack(f->d, i)) continue;
        int32_t joined = kernel_to_join(f, n);
        f->kernel[i] = joined >= 0 ? joined : i;
        if (needs_sums(f, n)) f->norm[f->kernel[i]] = i;
    }
}

/* Marks the tensors that are read outside the kernel that makes them. */
static void find_outside(fusing *f)
{
    const cm_graph *g = f->d->g;
    for (int32_t i = 0; i < g->n_nodes; i++) {
        const cm_node *n = &g->nodes[i];
        for (int32_t k = 0; !n->view && k < n->n_inputs; k++) {
            int32_t base = n->inputs[k] < 0 ? -1 : stored(f, n->inputs[k]);
            int32_t from = base < 0 ? -1 : cm__t(g, base)->producer;
            if (from >= 0 && (f->kernel[from] < 0 || f->kernel[from] != f->kernel[i])) f->outside[base] = true;
        }
    }
    for (int32_t i = 0; i < g->n_outputs; i++) f->outside[stored(f, g->outputs[i])] = true;
}

/* Bytes that a node reads from outside its kernel. */
static cm_poly bytes_read(const fusing *f, int32_t node)
{
    const cm_node *n = cm__node(f->d, node);
    cm_poly        bytes = cm__poly_const(0);
    for (int32_t k = 0; k < n->n_inputs; k++) {
        if (n->inputs[k] < 0) continue;
        int32_t from = cm__t(f->d->g, stored(f, n->inputs[k]))->producer;
        if (from < 0 || f->kernel[from] != f->kernel[node])
            bytes = cm__poly_add(bytes, cm_tensor_bytes(cm__t(f->d->g, n->inputs[k])));
    }
    return bytes;
}

static cm_poly bytes_written(const fusing *f, int32_t node)
{
    const cm_node *n = cm__node(f->d, node);
    cm_poly        bytes = cm__poly_const(0);
    for (int32_t k = 0; k < n->n_outputs; k++)
        if (n->outputs[k] >= 0 && (f->outside[stored(f, n->outputs[k])] || n->phase == CM_UPDATE))
            bytes = cm__poly_add(bytes, cm_tensor_bytes(cm__t(f->d->g, n->outputs[k])));
    return bytes;
}

static void add_traffic(fusing *f)
{
    for (int32_t i = 0; i < f->d->g->n_nodes; i++) {
        int32_t kernel = f->kernel[i];
        if (kernel < 0) continue;
        cm_poly in = bytes_read(f, i);
        f->bytes[kernel] = cm__poly_add(f->bytes[kernel], cm__poly_add(in, bytes_written(f, i)));
        if (i <= f->norm[kernel]) f->summed[kernel] = cm__poly_add(f->summed[kernel], in);
    }
}

/* ---- kernel calls ----------------------------------------------------------------------------------------------- */

/* One elementwise copy that moves this many bytes, half of them read and half written. */
static void emit_stream(cm__dispatch *d, int32_t node, cm_poly bytes)
{
    cm__sized_call c = cm__call_begin(d, CM__CALL_ELEMENTWISE, CM__PASS_FORWARD, "copy", CM_FP32, false);
    c.sizes[CM__ELEMENTWISE_OUTER] = cm__poly_const(1);
    c.sizes[CM__ELEMENTWISE_INNER] = cm__poly_scale(bytes, 1.0 / 8);
    cm__dispatch_add(d, node, &c);
    d->generated++;
}

/* The channel sums of the normalised tensor. Other operands of the sums are timed as a stream. */
static void emit_sums(const fusing *f, int32_t node, cm_poly summed)
{
    cm__dispatch    *d = f->d;
    const cm_node   *forward = cm__forward_of(d, cm__node(d, node));
    const cm_tensor *x = cm__in(d->g, forward, 0);
    cm_poly          images = cm__poly_dim(x->dims[0]), bytes = cm_tensor_bytes(x);
    cm_poly          channels = x->rank > 1 ? cm__poly_dim(x->dims[1]) : cm__poly_const(1);
    cm_poly          pixels = x->rank > 2 ? cm__poly_product(x->dims + 2, x->rank - 2) : cm__poly_const(1);
    const char      *sum = d->nhwc ? "sum" : "sum:nchw";
    cm__sized_call   c = cm__call_begin(d, CM__CALL_REDUCE, CM__PASS_FORWARD, sum, x->dtype, false);
    c.sizes[CM__REDUCE_OUTER] = d->nhwc ? cm__poly_const(1) : images;
    c.sizes[CM__REDUCE_REDUCE] = d->nhwc ? cm__poly_mul(images, pixels) : channels;
    c.sizes[CM__REDUCE_INNER] = d->nhwc ? channels : pixels;
    cm__dispatch_add(d, node, &c);
    d->generated += SUM_KERNELS;
    if (cm_poly_at(&summed, 1) > 1.5 * cm_poly_at(&bytes, 1))
        emit_stream(d, node, cm__poly_add(summed, cm__poly_scale(bytes, -1)));
    if (cm__node(d, node) == forward) cm__dispatch_count_batch(d, node), d->generated++;
}

/* The convolution before a batch norm makes the sums of the forward pass. */
static bool sums_made(const fusing *f, const cm_node *norm)
{
    if (f->d->runtime != CM_RUNTIME_TUNED || norm->phase == CM_BACKWARD) return false;
    int32_t from = cm__t(f->d->g, stored(f, norm->inputs[0]))->producer;
    return from >= 0 && cm_node_class(&f->d->g->nodes[from]) == CM_CLASS_CONV;
}

static void emit(const fusing *f, int32_t kernel)
{
    if (f->norm[kernel] >= 0 && !sums_made(f, cm__node(f->d, f->norm[kernel]))) emit_sums(f, f->norm[kernel], f->summed[kernel]);
    emit_stream(f->d, kernel, f->bytes[kernel]);
}

void cm__dispatch_fused(cm__dispatch *d)
{
    const cm_graph *g = d->g;
    size_t          nodes = (size_t)g->n_nodes + 1;
    fusing          f = {.d = d,
                         .kernel = cm__alloc_array(d->ctx, nodes, sizeof *f.kernel),
                         .outside = cm__alloc_array(d->ctx, (size_t)g->n_tensors + 1, sizeof *f.outside),
                         .bytes = cm__alloc_array(d->ctx, nodes, sizeof *f.bytes),
                         .norm = cm__alloc_array(d->ctx, nodes, sizeof *f.norm),
                         .summed = cm__alloc_array(d->ctx, nodes, sizeof *f.summed)};
    fuse(&f);
    find_outside(&f);
    add_traffic(&f);
    for (int32_t i = 0; i < g->n_nodes; i++) {
        if (f.kernel[i] == i) emit(&f, i);
        else if (f.kernel[i] < 0 && !g->nodes[i].view) cm__dispatch_one(d, i);
    }
}
