/* SPDX-License-Identifier: Apache-2.0 */
/* runtimes.h - what a runtime does, by its row of runtimes.def. Modes do what their runtime does. */
#ifndef CM_GRAPH_RUNTIMES_H
#define CM_GRAPH_RUNTIMES_H

#include "graph/releases.h"

enum { CM__KERNELS_OPEN, CM__KERNELS_TORCH, CM__KERNELS_MEGATRON, CM__KERNELS_VENDOR };
enum { CM__COMPILER_NONE, CM__COMPILER_CHAINS, CM__COMPILER_INDUCTOR };
enum { CM__EXCHANGES_OPEN, CM__EXCHANGES_TORCH, CM__EXCHANGES_MEGATRON };
enum { CM__GRADIENTS_BUCKETS, CM__GRADIENTS_BUFFER };
enum { CM__MEMORY_CACHED, CM__MEMORY_PLANNED };

typedef struct cm__runtime {
    const char *name;
    cm_runtime  base, graphs, tables, host;
    uint8_t     kernels, compiler, exchanges, gradients, memory;
} cm__runtime;

/* The row of a runtime, or of the one that it is a mode of. */
const cm__runtime *cm__runtime_of(cm_runtime runtime);

/* PyTorch's attention, loss and update. */
static inline bool cm__is_pytorch(cm_runtime r) { return cm__runtime_of(r)->kernels == CM__KERNELS_TORCH; }
static inline bool cm__is_megatron(cm_runtime r) { return cm__runtime_of(r)->kernels == CM__KERNELS_MEGATRON; }
/* The vendor's compiler runs whole graphs. */
static inline bool cm__is_vendors(cm_runtime r) { return cm__runtime_of(r)->kernels == CM__KERNELS_VENDOR; }
/* PyTorch, one operator after the other. */
static inline bool cm__is_eager(cm_runtime r)
{
    return cm__is_pytorch(r) && cm__runtime_of(r)->compiler == CM__COMPILER_NONE;
}
/* PyTorch's compiler generates kernels. */
static inline bool cm__compiles(cm_runtime r) { return cm__runtime_of(r)->compiler == CM__COMPILER_INDUCTOR; }
/* XLA on a GPU: compiled as a whole, with a plan of its memory. */
static inline bool cm__is_xla(cm_runtime r)
{
    return cm__compiles(r) && cm__runtime_of(r)->memory == CM__MEMORY_PLANNED;
}
/* The host launches a compiled step as a whole: a mode with CUDA graphs, or a compiler that always replays them. */
static inline bool cm__replays(cm_runtime asked)
{
    return cm_runtime_base(asked) != asked || (cm__compiles(asked) && cm__runtime_of(asked)->graphs == asked);
}
/* Libraries tuned by a vendor, with chains of elementwise operators as one kernel each. */
static inline bool cm__is_tuned(cm_runtime r) { return cm__runtime_of(r)->compiler == CM__COMPILER_CHAINS; }
static inline bool cm__exchanges_by_torch(cm_runtime r)
{
    return cm__runtime_of(r)->exchanges == CM__EXCHANGES_TORCH;
}
static inline bool cm__buffers_gradients(cm_runtime r)
{
    return cm__runtime_of(r)->gradients == CM__GRADIENTS_BUFFER;
}

/* Megatron Core with Transformer Engine: rotary positions, activations and residual sums are one kernel each, gradients
   are added by the products that make them, and exchanges between model chunks and before weight gradients run behind
   computation. */
static inline bool cm__is_megatron_core(cm_runtime r, cm_software software)
{
    return cm__is_megatron(r) && cm__provides(software, CM__FEATURE_MEGATRON_CORE);
}

#endif
