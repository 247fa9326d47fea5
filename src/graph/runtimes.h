/* SPDX-License-Identifier: Apache-2.0 */
/* runtimes.h - what runtimes have in common. */
#ifndef CM_GRAPH_RUNTIMES_H
#define CM_GRAPH_RUNTIMES_H

#include "centimani.h"

/* Whether a runtime, or the one that it is a mode of, is PyTorch with its own attention and its own update. */
bool cm__is_pytorch(cm_runtime runtime);

/* Whether a release of Megatron-LM (its year; 0: today's) is one of Megatron Core with Transformer Engine: rotary
   positions, activations and residual sums are one kernel each, gradients are added by the products that make them, and
   exchanges between model chunks and before weight gradients run behind computation. */
bool cm__is_megatron_core(cm_runtime runtime, int32_t software);

#endif
