/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernels.c - operators run one after the other, from and to the device's memory.
 *
 * Attention is one kernel unless scores are stored: the user asks for it (`--attention math`), or the profile says that
 * models call the products and the softmax one by one. Then every score passes the memory, on the engine of the other
 * operators:
 *
 *     forward    the product writes; scaling, mask and softmax read and write; the next product reads           4
 *     backward   the product writes; the softmax reads probabilities and gradients and writes; three products read  7
 *     dropout    reads and writes in each direction, and a mask of one byte                                      2 each
 *
 * Backward reads the stored scores and does not compute them again: four products instead of five.
 *
 * A compiler may join elementwise operators of a phase to one kernel (`joined_elementwise`), up to a result that
 * another operator of the phase reads. What only parts of the kernel read is not written, and no part reads what
 * another one made. Habana's batch norm has an activation and a sum in its kernel. Its softmax is a kernel of its own,
 * so that scaling and mask read and write each score once more, and so do their gradients. The update is not joined,
 * and no products run beside it: it takes the memory's own bandwidth at best.
 *
 * If products have an engine of their own, those of weight gradients run beside the other operators: nothing reads
 * their results before the update. All else is a chain, in which the engines take turns.
 */
#include <math.h>
#include "device/number.h"
#include "graph/rule.h"
#include "model/execution/execution.h"

#define FORWARD_PASSES 4
#define BACKWARD_PASSES 7
#define DROPOUT_PASSES 2
#define SCALING_PASSES 2 /* of a kernel beside that of the softmax, in each direction */
#define MASK_BYTES 1
#define STORED_PRODUCTS (4.0 / 5) /* of backward with stored scores, over those of one kernel */

static bool stores_scores(const cm__job *j)
{
    if (j->g->asked.attention != CM_ATTENTION_AUTO) return j->g->asked.attention == CM_ATTENTION_MATH;
    return cm__value_or(j->device->execution.stored_scores, 0) > 0;
}

static double score_bytes(const cm__job *j, const cm_node *n)
{
    double scores = cm__job_scores(j, n, j->batch);
    if (!(scores > 0)) return 0;
    bool           forward = n->op == CM_OP_ATTENTION;
    const cm_node *of = forward ? n : &j->g->nodes[n->source];
    double         size = (double)cm_dtype_size(cm__in(j->g, of, 0)->dtype);
    double         scaling = cm__value_or(j->device->execution.joined, 0) > 0 ? SCALING_PASSES : 0;
    double         passes = scaling + (forward ? FORWARD_PASSES : BACKWARD_PASSES);
    double         dropped = cm__attr_real(of, CM_ATTR_DROPOUT, 0) > 0 ? DROPOUT_PASSES * size + MASK_BYTES : 0;
    return scores * (passes * size + dropped);
}

/* ---- joined operators ------------------------------------------------------------------------------------------- */

static bool joins(const cm_graph *g, const cm_node *n)
{
    if (n->view || n->phase == CM_UPDATE) return false;
    bool back = n->op == CM_OP_NORM_GRAD && n->source >= 0;
    return cm__class(n) == CM_CLASS_ELEMENTWISE || (back ? &g->nodes[n->source] : n)->op == CM_OP_BATCH_NORM;
}

typedef struct joining {
    bool *left;    /* per tensor: an operator of its phase that is not joined reads it, so that its kernel ends there */
    bool *written; /* it is read outside the kernel that makes it */
} joining;

/* Whether the tensor was made in the kernel that the node is part of. */
static bool made_inside(const cm_graph *g, const joining *k, const cm_node *n, int32_t tensor)
{
    const cm_node *from = tensor >= 0 && cm__t(g, tensor)->producer >= 0 ? &g->nodes[cm__t(g, tensor)->producer] : NULL;
    return from && !k->left[tensor] && from->phase == n->phase && joins(g, from) && joins(g, n);
}

static void mark_readers(const cm_graph *g, const joining *k, const cm_node *n, bool last)
{
    for (int32_t i = 0; i < n->n_inputs; i++) {
        int32_t t = n->inputs[i], from = t >= 0 ? cm__t(g, t)->producer : -1;
        if (t >= 0 && last) k->written[t] |= !made_inside(g, k, n, t);
        else if (from >= 0) k->left[t] |= g->nodes[from].phase == n->phase && !joins(g, n);
    }
}

static joining find_joined(const cm__job *j)
{
    const cm_graph *g = j->g;
    joining         k = {.left = cm__alloc_array(j->ctx, (size_t)g->n_tensors, sizeof *k.left),
                         .written = cm__alloc_array(j->ctx, (size_t)g->n_tensors, sizeof *k.written)};
    for (int pass = 0; pass < 2; pass++)
        for (int32_t i = 0; i < g->n_nodes; i++) mark_readers(g, &k, &g->nodes[i], pass > 0);
    for (int32_t i = 0; i < g->n_outputs; i++) k.written[g->outputs[i]] = true;
    return k;
}

/* The bytes of a node's traffic that stay inside its kernel. */
static double inside_bytes(const cm__job *j, const joining *k, const cm_node *n)
{
    double sum = 0;
    if (!k->written || !joins(j->g, n)) return 0;
    for (int32_t i = 0; i < n->n_inputs; i++)
        if (made_inside(j->g, k, n, n->inputs[i])) sum += cm__tensor_bytes_at(j->g, n->inputs[i], j->batch);
    for (int32_t i = 0; i < n->n_outputs; i++)
        if (n->outputs[i] >= 0 && !k->written[n->outputs[i]]) sum += cm__tensor_bytes_at(j->g, n->outputs[i], j->batch);
    return sum;
}

/* ---- the step --------------------------------------------------------------------------------------------------- */

/* A share of the bandwidth above 1 comes from joined operators, which the update has none of. */
static double update_s(const cm__job *j, int32_t node)
{
    double share = cm__value_or(j->device->execution.efficiency[CM__EFFORT_MEMORY], 1);
    bool   measured = cm__job_measured(j, node, j->batch).time_s >= 0;
    return cm__job_node_s(j, node, j->batch) * (measured ? 1 : fmax(1, share));
}

/* Fixed costs of the parameter tensors that a node updates. */
static double tensors_s(const cm__job *j, const cm_node *n)
{
    int32_t tensors = 0;
    for (int32_t i = 0; i < n->n_inputs; i++) tensors += cm__in(j->g, n, i)->role == CM_ROLE_PARAMETER;
    return tensors * cm__value_or(j->device->execution.tensor_s, 0);
}

/* Times of the nodes before the update on each engine. */
typedef struct engines {
    double products_s, others_s;
    double free_s; /* of products_s: weight gradients, which nothing waits for */
} engines;

static bool is_weight_gradient(const cm_graph *g, const cm_node *n)
{
    if (n->op == CM_OP_GEMM_GRAD_WEIGHT || n->op == CM_OP_CONV_GRAD_WEIGHT) return true;
    if (n->op != CM_OP_MATMUL_GRAD || n->n_outputs < 1 || n->outputs[0] < 0) return false;
    return cm__t(g, n->outputs[0])->role == CM_ROLE_PARAMETER_GRADIENT;
}

/* The time of a node without its scores. */
static double node_s(const cm__job *j, int32_t node, const joining *kernels, bool stored)
{
    const cm_node *n = &j->g->nodes[node];
    double         byte_s = j->vector_scale / j->near_bytes_s, all_s = cm__job_node_s(j, node, j->batch);
    double         joined = cm__job_joined_bytes(j, node, j->batch);
    if (cm__job_measured(j, node, j->batch).time_s >= 0) return all_s;
    if (joined >= 0) return fmax(j->operator_s, byte_s * joined);
    if (!stored || n->op != CM_OP_ATTENTION_GRAD) return fmax(0, all_s - byte_s * inside_bytes(j, kernels, n));
    double bytes = cm__poly_at(&n->read_bytes, j->batch) + cm__poly_at(&n->write_bytes, j->batch);
    return fmax(STORED_PRODUCTS * all_s, byte_s * bytes);
}

static double before_update_s(const engines *e, bool beside)
{
    return beside ? fmax(e->products_s, e->products_s - e->free_s + e->others_s) : e->products_s + e->others_s;
}

void cm__execution_kernels(const cm__job *j, cm__run *r)
{
    engines e = {0};
    double  updates_s = 0;
    bool    beside = cm__value_or(j->device->execution.engines, 1) > 1, stored = stores_scores(j);
    bool    joined = cm__value_or(j->device->execution.joined, 0) > 0 && !cm__joins_as_xla(j->device);
    joining kernels = joined ? find_joined(j) : (joining){0};
    int32_t updates = j->g->n_nodes;
    while (updates > 0 && j->g->nodes[updates - 1].phase == CM_UPDATE) updates--;
    for (int32_t i = 0; i < j->g->n_nodes; i++) {
        const cm_node *n = &j->g->nodes[i];
        r->pieces += !n->view;
        if (i >= updates) {
            r->node_s[i] = (joined ? update_s(j, i) : cm__job_node_s(j, i, j->batch)) + tensors_s(j, n);
            updates_s += r->node_s[i];
            continue;
        }
        double node = node_s(j, i, &kernels, stored);
        bool   unmeasured = stored && !(cm__job_measured(j, i, j->batch).time_s >= 0);
        double scores = unmeasured ? j->vector_scale * score_bytes(j, n) / j->near_bytes_s : 0;
        r->node_s[i] = node + scores;
        *(cm__job_is_traffic(n) ? &e.others_s : &e.products_s) += node;
        e.free_s += is_weight_gradient(j->g, n) ? node : 0;
        e.others_s += scores;
    }
    cm__run_spread(r, 0, updates, before_update_s(&e, beside));
    cm__run_spread(r, updates, j->g->n_nodes, updates_s);
}
