/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fusing.h - which operators of a step a fusing compiler (PyTorch's Inductor) makes one kernel of.
 */
#ifndef CM_MODEL_INDUCTOR_FUSING_H
#define CM_MODEL_INDUCTOR_FUSING_H

#include "model/dispatch/compiler.h"

#include <string.h>

#define CM__LONGEST_ROW 1024 /* that a generated kernel keeps on the chip (torch/_inductor/choices.py, reductions) */

/* Bytes that are read or written, and numbers. */
typedef struct cm__moved {
    cm_poly bytes, numbers;
} cm__moved;

typedef struct cm__fusing {
    cm__dispatch *d;
    int32_t      *kernel;  /* per node: first node of the kernel it was fused into; -1: none */
    int32_t      *next;    /* per node: the next node of its kernel; -1: none */
    int32_t      *level;   /* per kernel or other node: how many others must run before, one after the other */
    cm_poly      *size;    /* per kernel: elements of the largest operand */
    cm_poly      *rows;    /* per kernel with a reduction of rows: elements of its result */
    bool         *by_row;  /* per kernel: reduces rows */
    bool         *columns; /* per kernel: adds up columns */
    double       *row;     /* per kernel that reduces rows: elements of the longest */
    bool         *strided; /* per kernel that reduces rows: neighbours in a row of an operand lie apart */
    int32_t      *norm;    /* per kernel: the first node that needs sums before it; -1: none */
    int32_t      *later;   /* per node that needs sums: the next one in its kernel; -1: none */
    int32_t      *uses;    /* per tensor (by storage): nodes that read it */
    bool         *outside; /* per tensor (by storage): read by a node outside its kernel */
    bool         *library; /* per tensor (by storage): read by a library call of backward */
    bool         *back;    /* per tensor (by storage): read in backward */
    int32_t      *again;   /* per tensor (by storage): kernel of backward before which it is computed again, plus one */
    int32_t      *reader;  /* per tensor (by storage): last kernel that was found to read it, plus one */
    /* per tensor (by storage): last kernel that an operator reading it was placed in, plus one */
    int32_t      *reads;
    int32_t      *seen;    /* the same per tensor: a view is another tensor than its base */
    cm__moved    *taken;   /* per tensor (by storage): what the kernel named by `reader` reads of it */
    cm__generated *does;   /* per kernel */
    cm__generated *sums;   /* per node that needs sums: what they do; in backward the first has those of all */
} cm__fusing;

/* Decides kernel, next and what follows from them; `strided` and the members from `outside` on are empty. */
cm__fusing *cm__fusing_new(cm__dispatch *dispatch);

/* The same for a step of which no calls are made. */
cm__fusing *cm__fusing_kernels(cm__ctx *ctx, const cm_graph *step, cm_layout layout);

static inline bool cm__same_size(cm_poly a, cm_poly b) { return memcmp(&a, &b, sizeof a) == 0; }

static inline int32_t cm__fusing_base(const cm__fusing *f, int32_t tensor) { return cm__t(f->d->g, tensor)->storage; }

/* A kernel that reduces rows does not keep them in registers. */
static inline bool cm__fusing_long_rows(const cm__fusing *f, int32_t kernel) { return f->row[kernel] > CM__LONGEST_ROW; }

/* traffic.c: which tensors are read outside their kernel, and the work of every kernel. */
void cm__fusing_add_traffic(cm__fusing *fusing);

/* recorded.c: the kernels that cm_graph.recorded names, as calls. The rules time kernels with pools and sums by index. */
void cm__dispatch_recorded(cm__dispatch *dispatch);
bool cm__timed_by_rule(const cm__fusing *fusing, int32_t kernel);

/* The 16-bit type of most bytes that a kernel moves; otherwise CM_FP32. After cm__fusing_add_traffic(). */
cm_dtype cm__fusing_type(const cm__fusing *fusing, int32_t kernel);

/* Whether a node of backward needs an activation's input so often that generated code stores it where it was not stored
   in forward. */
bool cm__fusing_reads_often(const cm__fusing *fusing, const cm_node *node);

/* The logits from which backward computes the probabilities of a loss again: the compiler stores a maximum and a sum
   per row instead of them. -1: the tensor is no such probabilities, or they have another use. */
int32_t cm__fusing_logits(const cm_graph *graph, int32_t tensor);

/* Whether output k of a model gets a gradient of zeros: autograd makes one for each result of compiled code, also for
   logits that the caller drops because the model returns its loss with them. */
bool cm__zero_gradient(const cm_graph *graph, int32_t k);

/* A tensor in generated code: places in a pool's window have one byte each instead of eight. */
cm__moved cm__fusing_moved(const cm_graph *graph, int32_t tensor);

/* The same of its numbers in fp32. */
cm__moved cm__fusing_wide(const cm_tensor *tensor);

/* What a kernel reads of a tensor. A view may be part of a tensor, or repeat it: the smaller of the two. */
cm__moved cm__fusing_read(const cm_graph *graph, int32_t tensor);

static inline void cm__fusing_add(cm__generated *kernel, cm__moved more)
{
    kernel->bytes = cm__poly_add(kernel->bytes, more.bytes);
    kernel->work[CM__WORK_NUMBERS] = cm__poly_add(kernel->work[CM__WORK_NUMBERS], more.numbers);
}

/* Whether the compiler generates code for a node at all, instead of calling a library. */
bool cm__fusible(const cm_graph *graph, const cm_node *node);

/* fallbacks.c: whether Inductor has no code for a node and calls PyTorch's kernels. */
bool cm__falls_back(const cm_graph *graph, const cm_node *node);

/* Whether a hand-written fused kernel of transformer libraries contains this node: rotary positions and residual sums,
   in Megatron-LM also activations. Norms have kernels of their own. */
bool cm__in_chain(const cm_graph *graph, const cm_node *node);

/* A group norm, or its gradient, in generated code: the sums of its groups (in backward: of its channels in each image)
   are a kernel of their own, as a batch norm's are. */
bool cm__fusing_group_norm(const cm__fusing *f, const cm_node *n);
/* Whether a node is the cast of what a group norm of forward normalises. It is part of the norm's kernels. */
bool cm__fusing_casts_for(const cm__fusing *fusing, int32_t cast, const cm_node *norm);
/* The gradient of a norm over rows that has weights: their gradients are sums over columns, in kernels of their own. */
bool cm__fusing_has_weight_sums(const cm__fusing *fusing, int32_t node);

#endif
