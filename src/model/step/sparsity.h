/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sparsity.h - pruned weights: which operators have them, and what a device leaves out.
 *
 * Dense layers are pruned: products with weights, in the repeated blocks of a model that has such (embeddings and the
 * head stay whole). A device that skips zeros does that part of the arithmetic less, both ways, and sends that part of
 * the weights less. Matrix units for two of four run forward products at a multiple of their peak; backward, the
 * transposed weights are not of that pattern.
 */
#ifndef CM_MODEL_SPARSITY_H
#define CM_MODEL_SPARSITY_H

#include "device/device.h"
#include "graph/graph.h"

/* The part of pruned operators' arithmetic and weights that the device does and sends; 1: all. */
double cm__sparsity_kept(const cm_device *device, const cm_sparsity *sparsity);
/* Times the peak of forward products; 1: as any. */
double cm__sparsity_gain(const cm_device *device, const cm_sparsity *sparsity);
bool   cm__is_pruned(const cm_graph *graph, const cm_node *node, bool has_blocks);
bool   cm__has_blocks(const cm_graph *graph);

#endif
