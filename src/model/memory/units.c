/* SPDX-License-Identifier: Apache-2.0 */
/*
 * units.c - what a device stores beside its shards while it computes: FSDP's units.
 *
 * A unit is what FSDP wraps: one layer, the part before the layers, the part after them. PyTorch gathers the weights
 * of the next unit while one unit runs. In backward the gradients of a unit exist as a whole until they are scattered
 * (torch.distributed.fsdp: BackwardPrefetch.BACKWARD_PRE; fully_shard() prefetches one unit likewise). A model without
 * layers is taken to be wrapped weight by weight.
 */
#include "graph/rule.h"
#include "graph/plan/split.h"
#include "model/memory/footprint.h"

static double bytes_of(const cm_graph *g, int32_t parameter) { return cm_tensor_bytes(cm__t(g, parameter)).c[0]; }

/* The largest weight and the next one are units of their own. */
static cm__units units_of_weights(const cm_graph *g)
{
    double most = 0, trained = 0;
    for (int32_t t = 0; t < g->n_tensors; t++) {
        double bytes = cm__t(g, t)->role == CM_ROLE_PARAMETER ? bytes_of(g, t) : 0;
        if (bytes > most) most = bytes;
        if (bytes > trained && !cm__t(g, t)->frozen) trained = bytes;
    }
    return (cm__units){.gathered_bytes = 2 * most, .gradient_bytes = trained};
}

/* Bytes of the parameters that each part reads; only of those that are trained if `trained`. */
static double *part_bytes(cm__ctx *ctx, const cm_graph *g, bool trained)
{
    const int32_t *part = cm__part_map(ctx, g);
    double        *bytes = cm__alloc_array(ctx, (size_t)cm__part_count(g) + 1, sizeof *bytes);
    int32_t       *reader = cm__alloc_array(ctx, (size_t)g->n_tensors + 1, sizeof *reader); /* last part, plus 1 */
    for (int32_t i = 0; i < g->n_nodes; i++)
        for (int32_t k = 0; g->nodes[i].phase == CM_FORWARD && k < g->nodes[i].n_inputs; k++) {
            int32_t parameter = cm__parameter_read(g, &g->nodes[i], k);
            if (parameter < 0 || reader[parameter] == part[i] + 1) continue;
            if (trained && cm__t(g, parameter)->frozen) continue;
            reader[parameter] = part[i] + 1;
            bytes[part[i]] += bytes_of(g, parameter);
        }
    return bytes;
}

cm__units cm__units_of(cm__ctx *ctx, const cm_graph *g)
{
    int32_t   count = cm__part_count(g);
    cm__units u = {0};
    if (count < 3) return units_of_weights(g);
    const double *bytes = part_bytes(ctx, g, false), *trained = part_bytes(ctx, g, true);
    for (int32_t i = 0; i < count; i++) {
        double two = bytes[i] + bytes[i + 1]; /* the list has one more entry, which is 0 */
        if (two > u.gathered_bytes) u.gathered_bytes = two;
        if (trained[i] > u.gradient_bytes) u.gradient_bytes = trained[i];
    }
    return u;
}
