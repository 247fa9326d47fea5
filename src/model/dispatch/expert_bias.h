/* SPDX-License-Identifier: Apache-2.0 */
/* expert_bias.h - biases and clamps of experts that Megatron Core leaves to PyTorch's own operators. */
#ifndef CM_MODEL_DISPATCH_EXPERT_BIAS_H
#define CM_MODEL_DISPATCH_EXPERT_BIAS_H

#include "model/dispatch/rules.h"

/* Whether a node, or the forward node that it is the gradient of, is a bias or a clamp of experts, and no fused kernel
   of the runtime has it. */
bool cm__expert_plain(const cm__dispatch *dispatch, const cm_node *node);

/* The kernels of such a node under Megatron Core. */
void cm__dispatch_expert_plain(cm__dispatch *dispatch, int32_t node);

#endif
