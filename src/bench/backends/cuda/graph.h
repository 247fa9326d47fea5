/* SPDX-License-Identifier: Apache-2.0 */
/* graph.h - cuDNN operation graphs: tensors, operations, and their execution plans. */
#ifndef CM_BENCH_CUDA_GRAPH_H
#define CM_BENCH_CUDA_GRAPH_H

#include "bench/backends/cuda/cuda.h"

#define GRAPH_TENSORS 8
#define GRAPH_PLANS   10 /* as many as PyTorch tries with cudnn.benchmark (its benchmark_limit) */

typedef struct cm__cudnn_graph {
    cm__cuda_case *c;
    dnn_object     objects[512]; /* all descriptors, in order of creation; to be destroyed */
    int            n_objects;
    struct {
        int     operand; /* -1: a number in host memory */
        float   value;
        int64_t id;
    } tensors[GRAPH_TENSORS]; /* the tensors that have an address */
    int            n_tensors;
    int64_t        last_id;
    int            mode; /* mode of the heuristic */
    dnn_object     plans[GRAPH_PLANS];
    size_t         workspace_bytes[GRAPH_PLANS];
    int            n_plans, chosen;
    cu_address     workspace;
    dnn_object    *packs; /* one per copy, created on first use */
} cm__cudnn_graph;

cm__cudnn_graph *cm__cudnn_graph_new(cm__cuda_case *c);
dnn_object     cm__cudnn_make(cm__cudnn_graph *g, int type);
void             cm__cudnn_set(cm__cudnn_graph *g, dnn_object object, int name, int type, int64_t count,
                               const void *values);
void           cm__cudnn_finish(cm__cudnn_graph *g, dnn_object object, const char *what);
/* The operand as a tensor of `rank` sizes and strides, in elements. */
dnn_object cm__cudnn_tensor(cm__cudnn_graph *g, int operand, int rank, const int64_t *sizes, const int64_t *strides);
/* A packed intermediate tensor of four sizes; and a scalar. */
dnn_object cm__cudnn_between(cm__cudnn_graph *g, int type, const int64_t *sizes);
dnn_object cm__cudnn_number(cm__cudnn_graph *g, float value);
/* Create execution plans as PyTorch does: the heuristic's, then the fallback's. Choose the first one that works, or the
   fastest one with the case option `search`. */
void cm__cudnn_plan(cm__cudnn_graph *g, int count, const dnn_object *operations);
int  cm__cudnn_execute(cm__cudnn_graph *g, int64_t copy);

#endif
