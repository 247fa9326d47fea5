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
 */
#include <math.h>
#include "device/number.h"
#include "graph/rule.h"
#include "model/execution/execution.h"

#define FORWARD_PASSES 4
#define BACKWARD_PASSES 7
#define DROPOUT_PASSES 2
#define MASK_BYTES 1

static bool stores_scores(const cm__job *j)
{
    if (j->g->attention != CM_ATTENTION_AUTO) return j->g->attention == CM_ATTENTION_MATH;
    return cm__value_or(j->device->execution.stored_scores, 0) > 0;
}

static double score_bytes(const cm__job *j, const cm_node *n)
{
    double scores = cm__job_scores(j, n, j->batch);
    if (!(scores > 0)) return 0;
    bool           forward = n->op == CM_OP_ATTENTION;
    const cm_node *of = forward ? n : &j->g->nodes[n->source];
    double         size = (double)cm_dtype_size(cm__in(j->g, of, 0)->dtype);
    double         passes = forward ? FORWARD_PASSES : BACKWARD_PASSES;
    double         dropped = cm__attr_real(of, CM_ATTR_DROPOUT, 0) > 0 ? DROPOUT_PASSES * size + MASK_BYTES : 0;
    return scores * (passes * size + dropped);
}

/* If products have a separate engine, they partly overlap with the other operators. */
void cm__execution_kernels(const cm__job *j, cm__run *r)
{
    double products_s = 0, others_s = 0;
    bool   beside = cm__value_or(j->device->execution.engines, 1) > 1;
    bool   stored = stores_scores(j);
    for (int32_t i = 0; i < j->g->n_nodes; i++) {
        double node = cm__job_node_s(j, i, j->batch);
        double scores = stored ? j->vector_scale * score_bytes(j, &j->g->nodes[i]) / j->near_bytes_s : 0;
        r->node_s[i] = node + scores;
        r->pieces += !j->g->nodes[i].view;
        *(cm__job_is_traffic(&j->g->nodes[i]) ? &others_s : &products_s) += node;
        others_s += scores;
    }
    cm__run_spread(r, 0, j->g->n_nodes, beside ? hypot(products_s, others_s) : products_s + others_s);
}
