/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dispatch_fused.c - calls of a compiler that makes one kernel of neighbouring elementwise and row-wise operators.
 *
 * Products, convolutions, attention, look-ups and the update are called as they are. All others are gathered: an
 * operator joins the kernel of one of its producers if both are of one pass and as large. A kernel reads what comes
 * from outside and writes what is needed outside, once. A batch norm's statistics need a pass over its input before
 * anything can be normalised.
 */
#include <string.h>
#include "model/rules.h"

typedef struct fusing {
    cm__dispatch *d;
    int32_t      *kernel;  /* per node: the kernel it is part of, by its first node; -1: none */
    bool         *outside; /* per tensor (by its storage): read by a node of another kernel */
} fusing;

static bool gathers(const cm_node *n)
{
    static const bool classes[CM_CLASSES] = {
        [CM_CLASS_NORM] = true, [CM_CLASS_ELEMENTWISE] = true, [CM_CLASS_REDUCTION] = true, [CM_CLASS_MOVEMENT] = true};
    return classes[cm_node_class(n)] && !n->view && n->n_outputs > 0 && n->outputs[0] >= 0;
}

static int32_t stored(const fusing *f, int32_t tensor) { return cm__t(f->d->g, tensor)->storage; }

static cm_poly size_of(const fusing *f, const cm_node *n)
{
    return cm_tensor_elements(cm__t(f->d->g, n->n_inputs && n->inputs[0] >= 0 && cm_node_class(n) == CM_CLASS_REDUCTION
                                                 ? n->inputs[0]
                                                 : n->outputs[0]));
}

static bool same_size(cm_poly a, cm_poly b) { return memcmp(&a, &b, sizeof a) == 0; }

/* The kernel of the last producer that this node can run in. */
static int32_t kernel_to_join(const fusing *f, const cm_node *n)
{
    int32_t best = -1;
    if (cm__forward_of(f->d, n)->op == CM_OP_BATCH_NORM) return -1; /* statistics first */
    for (int32_t i = 0; i < n->n_inputs; i++) {
        int32_t from = n->inputs[i] < 0 ? -1 : cm__t(f->d->g, stored(f, n->inputs[i]))->producer;
        if (from < 0 || f->kernel[from] < 0) continue;
        const cm_node *p = &f->d->g->nodes[from];
        if (p->phase == n->phase && same_size(size_of(f, p), size_of(f, n)) && f->kernel[from] > best)
            best = f->kernel[from];
    }
    return best;
}

static void gather(fusing *f)
{
    const cm_graph *g = f->d->g;
    for (int32_t i = 0; i < g->n_nodes; i++) {
        const cm_node *n = &g->nodes[i];
        f->kernel[i] = -1;
        if (!gathers(n) || cm__inside_stack(f->d, i)) continue;
        int32_t joined = kernel_to_join(f, n);
        f->kernel[i] = joined >= 0 ? joined : i;
    }
}

/* Which tensors leave the kernel that makes them. */
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

/* What a node adds to its kernel's traffic: operands from outside, and results that leave. */
static cm_poly traffic(const fusing *f, int32_t node)
{
    const cm_node *n = cm__node(f->d, node);
    cm_poly        bytes = cm__poly_const(0);
    for (int32_t k = 0; k < n->n_inputs; k++) {
        if (n->inputs[k] < 0) continue;
        int32_t from = cm__t(f->d->g, stored(f, n->inputs[k]))->producer;
        if (from < 0 || f->kernel[from] != f->kernel[node])
            bytes = cm__poly_add(bytes, cm_tensor_bytes(cm__t(f->d->g, n->inputs[k])));
    }
    for (int32_t k = 0; k < n->n_outputs; k++)
        if (n->outputs[k] >= 0 && (f->outside[stored(f, n->outputs[k])] || n->phase == CM_UPDATE))
            bytes = cm__poly_add(bytes, cm_tensor_bytes(cm__t(f->d->g, n->outputs[k])));
    if (cm__forward_of(f->d, n)->op == CM_OP_BATCH_NORM && cm__has(n, 0))
        bytes = cm__poly_add(bytes, cm_tensor_bytes(cm__in(f->d->g, n, 0)));
    return bytes;
}

/* A kernel as one stream of as many bytes, half of them read and half written. */
static void emit(cm__dispatch *d, int32_t node, cm_poly bytes)
{
    cm__sized_call c = cm__call_begin(d, CM__CALL_ELEMENTWISE, CM__PASS_FORWARD, "copy", CM_FP32, false);
    c.sizes[0] = cm__poly_const(1);
    c.sizes[1] = cm__poly_scale(bytes, 1.0 / 8);
    cm__dispatch_add(d, node, &c);
}

void cm__dispatch_fused(cm__dispatch *d)
{
    const cm_graph *g = d->g;
    fusing          f = {.d = d,
                         .kernel = cm__alloc_array(d->ctx, (size_t)g->n_nodes + 1, sizeof *f.kernel),
                         .outside = cm__alloc_array(d->ctx, (size_t)g->n_tensors + 1, sizeof *f.outside)};
    cm_poly        *bytes = cm__alloc_array(d->ctx, (size_t)g->n_nodes + 1, sizeof *bytes);
    gather(&f);
    find_outside(&f);
    for (int32_t i = 0; i < g->n_nodes; i++)
        if (f.kernel[i] >= 0) bytes[f.kernel[i]] = cm__poly_add(bytes[f.kernel[i]], traffic(&f, i));
    for (int32_t i = 0; i < g->n_nodes; i++) {
        if (f.kernel[i] == i) emit(d, i, bytes[i]);
        else if (f.kernel[i] < 0 && !g->nodes[i].view) cm__dispatch_one(d, i);
    }
}
