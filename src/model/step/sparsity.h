/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sparsity.h - pruned weights: which operators have them, and which work a device skips.
 *
 * Dense layers are pruned: products with weights, and in models with repeated blocks only inside the blocks (embeddings
 * and the head are not pruned). A device that skips zeros saves that fraction of the arithmetic in both passes, and of
 * the weight traffic. 2:4 sparse matrix units run forward products at a multiple of their peak. Backward is not faster:
 * the transposed weights do not have the 2:4 pattern.
 */
#ifndef CM_MODEL_SPARSITY_H
#define CM_MODEL_SPARSITY_H

#include "device/device.h"
#include "graph/graph.h"

/* The fraction of pruned operators' arithmetic and weight traffic that remains; 1: all. */
double cm__sparsity_kept(const cm_device *device, const cm_sparsity *sparsity);
/* Factor on the peak of forward products; 1: none. */
double cm__sparsity_gain(const cm_device *device, const cm_sparsity *sparsity);
bool   cm__is_pruned(const cm_graph *graph, const cm_node *node, bool has_blocks);
bool   cm__has_blocks(const cm_graph *graph);

#endif
