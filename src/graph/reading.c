/* SPDX-License-Identifier: Apache-2.0 */
/* reading.c - what the public interface reads from a graph: totals, and the properties of graph, tensors and nodes. */
#include <string.h>
#include "graph/graph.h"

/* ---- totals ----------------------------------------------------------------------------------------------------- */

/* Without memory for the sums there is no peak: its node stays -1. */
static void find_peak(const cm_graph *graph, int64_t batch, cm_totals *totals)
{
    cm__ctx *ctx = cm__ctx_new(NULL);
    if (!ctx) return;
    if (setjmp(ctx->trap)) {
        cm__ctx_free(ctx);
        return;
    }
    const cm_poly *alive = cm__alive_bytes(ctx, graph);
    for (int32_t i = 0; i < graph->n_nodes; i++) {
        double bytes = cm__poly_at(&alive[i], (double)batch);
        if (bytes <= totals->peak_bytes) continue;
        totals->peak_bytes = bytes;
        totals->peak_node = i;
    }
    cm__ctx_free(ctx);
}

void cm_graph_totals(const cm_graph *graph, int64_t batch, cm_totals *totals)
{
    memset(totals, 0, sizeof *totals);
    totals->peak_node = -1;
    for (int32_t t = 0; t < graph->n_tensors; t++) {
        const cm_tensor *x = &graph->tensors[t];
        cm_poly          elements = cm_tensor_elements(x);
        if (x->role == CM_ROLE_PARAMETER && x->dies >= 0) totals->parameters += (int64_t)elements.c[0];
        if (x->role == CM_ROLE_BUFFER && x->dies >= 0) totals->buffers += (int64_t)elements.c[0];
    }
    for (int32_t i = 0; i < graph->n_nodes; i++) {
        const cm_node *n = &graph->nodes[i];
        cm_class       c = cm_node_class(n);
        totals->nodes[n->phase]++;
        totals->flop[n->phase][c] += cm__poly_at(&n->flop, (double)batch);
        totals->read_bytes[n->phase][c] += cm__poly_at(&n->read_bytes, (double)batch);
        totals->write_bytes[n->phase][c] += cm__poly_at(&n->write_bytes, (double)batch);
    }
    find_peak(graph, batch, totals);
}

double cm_totals_matrix_flop(const cm_totals *totals, cm_phase phase)
{
    const double *f = totals->flop[phase];
    return f[CM_CLASS_GEMM] + f[CM_CLASS_CONV] + f[CM_CLASS_ATTENTION] + f[CM_CLASS_RNN];
}

/* ---- the graph --------------------------------------------------------------------------------------------------- */

const char      *cm_graph_name(const cm_graph *graph) { return graph->name; }
const char      *cm_graph_source(const cm_graph *graph) { return graph->source; }
const char      *cm_graph_description(const cm_graph *graph) { return graph->description; }
const char      *cm_graph_citation(const cm_graph *graph) { return graph->citation; }
int32_t          cm_graph_nodes(const cm_graph *graph) { return graph->n_nodes; }
const cm_node   *cm_graph_node(const cm_graph *graph, int32_t node) { return &graph->nodes[node]; }
int32_t          cm_graph_tensors(const cm_graph *graph) { return graph->n_tensors; }
const cm_tensor *cm_graph_tensor(const cm_graph *graph, int32_t tensor) { return &graph->tensors[tensor]; }
int32_t          cm_graph_nodes_read(const cm_graph *graph) { return graph->nodes_read; }
int32_t          cm_graph_warnings(const cm_graph *graph) { return graph->n_warnings; }
const char      *cm_graph_warning(const cm_graph *graph, int32_t index) { return graph->warnings[index]; }
int32_t          cm_graph_unsupported_ops(const cm_graph *graph) { return graph->n_unsupported; }
const char      *cm_graph_unsupported_op(const cm_graph *graph, int32_t index) { return graph->unsupported[index]; }
cm_optimizer     cm_graph_optimizer(const cm_graph *graph) { return graph->optimizer; }
cm_precision     cm_graph_precision(const cm_graph *graph) { return graph->precision; }

bool cm_graph_compiled(const cm_graph *step, int64_t *batch, double *cycles)
{
    *batch = step->compiled ? step->compiled->batch : 0;
    *cycles = step->compiled ? step->compiled->cycles : 0;
    return step->compiled;
}


static const cm_dtype computed[CM_PRECISIONS] = {
    [CM_PRECISION_DEFAULT] = CM_DTYPES,  [CM_PRECISION_FP32] = CM_FP32, [CM_PRECISION_TF32] = CM_DTYPES,
    [CM_PRECISION_AMP_BF16] = CM_BF16,   [CM_PRECISION_BF16] = CM_BF16, [CM_PRECISION_FP8] = CM_FP8,
    [CM_PRECISION_AMP_FP16] = CM_FP16,   [CM_PRECISION_FP16] = CM_FP16};

cm_dtype cm_graph_storage(const cm_graph *step)
{
    cm_dtype stored = computed[step->precision];
    size_t   bytes = 0;
    for (int32_t i = 0; i < step->n_tensors; i++) {
        const cm_tensor *t = &step->tensors[i];
        bool             weights = t->master || (t->role == CM_ROLE_PARAMETER && !t->frozen);
        if (!weights || t->dtype > CM_FP8 || cm_dtype_size(t->dtype) <= bytes) continue;
        stored = t->dtype;
        bytes = cm_dtype_size(stored);
    }
    return stored == computed[step->precision] ? CM_DTYPES : stored;
}

cm_loss          cm_graph_loss(const cm_graph *graph) { return graph->loss; }

/* ---- tensors and nodes ------------------------------------------------------------------------------------------ */

const char *cm_tensor_name(const cm_tensor *tensor) { return tensor->name; }
cm_dtype    cm_tensor_dtype(const cm_tensor *tensor) { return tensor->dtype; }
cm_role     cm_tensor_role(const cm_tensor *tensor) { return tensor->role; }
int32_t     cm_tensor_dims(const cm_tensor *tensor) { return tensor->rank; }
cm_dim      cm_tensor_dim(const cm_tensor *tensor, int32_t index) { return tensor->dims[index]; }
int32_t     cm_tensor_producer(const cm_tensor *tensor) { return tensor->producer; }
int32_t     cm_tensor_storage(const cm_tensor *tensor) { return tensor->storage; }
int32_t     cm_tensor_born(const cm_tensor *tensor) { return tensor->born; }
int32_t     cm_tensor_dies(const cm_tensor *tensor) { return tensor->dies; }

const char *cm_node_name(const cm_node *node) { return node->name; }
const char *cm_node_type(const cm_node *node) { return cm__ops[node->op].name; }
cm_class    cm_node_class(const cm_node *node) { return cm__ops[node->op].op_class; }
cm_phase    cm_node_phase(const cm_node *node) { return (cm_phase)node->phase; }
int32_t     cm_node_inputs(const cm_node *node) { return node->n_inputs; }
int32_t     cm_node_input(const cm_node *node, int32_t index) { return node->inputs[index]; }
int32_t     cm_node_outputs(const cm_node *node) { return node->n_outputs; }
int32_t     cm_node_output(const cm_node *node, int32_t index) { return node->outputs[index]; }
bool        cm_node_is_view(const cm_node *node) { return node->view; }
int32_t     cm_node_source(const cm_node *node) { return node->source; }
int32_t     cm_node_block(const cm_node *node) { return node->block; }
int32_t     cm_node_segment(const cm_node *node) { return node->segment; }
cm_poly     cm_node_flop(const cm_node *node) { return node->flop; }
cm_poly     cm_node_read_bytes(const cm_node *node) { return node->read_bytes; }
cm_poly     cm_node_write_bytes(const cm_node *node) { return node->write_bytes; }
