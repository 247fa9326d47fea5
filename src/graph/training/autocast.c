/* SPDX-License-Identifier: Apache-2.0 */
/*
 * autocast.c - what Habana's autocast computes in 16 bits and in fp32.
 *
 * The lists are those of github.com/HabanaAI/gaudi-pytorch-bridge (autocast_helpers.h); docs.habana.ai has them, too.
 * Differences from PyTorch's for GPUs (the autocast column of ops.def): norms, dropout, softmax, leaky ReLU and
 * products of numbers are in 16 bits, divisions in fp32. The loss of logits is in fp32 in both.
 */
#include "graph/training/train.h"

cm__cast_policy cm__habana_policy(const cm_node *n)
{
    switch (n->op) {
    case CM_OP_LAYER_NORM:
    case CM_OP_GROUP_NORM:
    case CM_OP_INSTANCE_NORM:
    case CM_OP_DROPOUT:
    case CM_OP_SOFTMAX:
    case CM_OP_LOG_SOFTMAX:
    case CM_OP_LEAKY_RELU:
    case CM_OP_MUL: return CM__CAST_LOW;
    case CM_OP_DIV: return CM__CAST_FULL;
    default: return cm__ops[n->op].cast;
    }
}
