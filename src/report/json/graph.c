/* SPDX-License-Identifier: Apache-2.0 */
/* graph.c - print a graph as JSON: SI units without prefixes, null for unknown numbers. */
#include <math.h>
#include "report/json/json.h"
#include "report/render.h"

typedef const double phase_table[CM_CLASSES];

static void echo(cm__ctx *ctx, json_t *o, const cm__graph_report *r)
{
    const cm__graph_request *a = &r->asked;
    cm__json_set(ctx, o, "model", cm__json_text(ctx, a->model));
    cm__json_set(ctx, o, "name", cm__json_text(ctx, cm_graph_name(r->forward)));
    cm__json_set(ctx, o, "source", cm__json_text(ctx, cm_graph_source(r->forward)));
    cm__json_set(ctx, o, "description", cm__json_text(ctx, cm_graph_description(r->forward)));
    cm__json_set(ctx, o, "citation", cm__json_text(ctx, cm_graph_citation(r->forward)));
    cm__json_set(ctx, o, "batch", json_integer(a->batch));
    cm__json_set(ctx, o, "seq", a->load.seq ? json_integer(a->load.seq) : json_null());
    cm__json_set(ctx, o, "dims", cm__json_text(ctx, a->load.dims));
    cm__json_precision(ctx, o, r->step);
    cm__json_set(ctx, o, "optimizer", cm__json_text(ctx, cm__optimizer_used(r)));
    cm__json_set(ctx, o, "loss", cm__json_text(ctx, cm__loss_used(r)));
    cm__json_set(ctx, o, "recompute", json_string(cm_recompute_asked(&a->train)));
    cm__json_set(ctx, o, "mode", json_string(a->train.inference ? "inference" : "training"));
    cm__json_set(ctx, o, "fuse", json_string(cm_fuse_name(a->load.fuse)));
}

static void counts(cm__ctx *ctx, json_t *o, const cm__graph_report *r)
{
    cm__json_set(ctx, o, "params", json_integer(r->totals.parameters));
    cm__json_set(ctx, o, "buffers", json_integer(r->totals.buffers));
    cm__json_set(ctx, o, "forward_flop", cm__json_number(r->forward_flop));
    cm__json_set(ctx, o, "training_flop", cm__json_number(r->asked.train.inference ? NAN : r->training_flop));
    cm__json_set(ctx, o, "nodes", json_integer(cm_graph_nodes(r->forward)));
    cm__json_set(ctx, o, "nodes_read", json_integer(cm_graph_nodes_read(r->forward)));
    json_t *ops = cm__json_set(ctx, o, "ops", json_object());
    for (int32_t i = 0; i < r->n_ops; i++) cm__json_set(ctx, ops, r->ops[i].type, json_integer(r->ops[i].count));
    json_t *phases = cm__json_set(ctx, o, "training_nodes", json_object());
    for (cm_phase p = CM_FORWARD; p < CM_PHASES; p++)
        cm__json_set(ctx, phases, cm_phase_name(p), json_integer(r->totals.nodes[p]));
}

/* {phase: {class: sum}}; classes with a sum of 0 are omitted. */
static void by_class(cm__ctx *ctx, json_t *o, const char *key, phase_table *first, phase_table *second)
{
    json_t *phases = cm__json_set(ctx, o, key, json_object());
    for (cm_phase p = CM_FORWARD; p < CM_PHASES; p++) {
        json_t *classes = cm__json_set(ctx, phases, cm_phase_name(p), json_object());
        for (cm_class c = CM_CLASS_GEMM; c < CM_CLASSES; c++) {
            double sum = first[p][c] + (second ? second[p][c] : 0);
            if (sum > 0) cm__json_set(ctx, classes, cm_class_name(c), cm__json_number(sum));
        }
    }
}

static void texts(cm__ctx *ctx, json_t *o, const char *key, const char *const *list, int32_t count)
{
    json_t *array = cm__json_set(ctx, o, key, json_array());
    for (int32_t i = 0; i < count; i++) cm__json_append(ctx, array, cm__json_text(ctx, list[i]));
}

/* Coefficients of 1, B, B^2 ... up to the last one that is not 0. */
static void poly(cm__ctx *ctx, json_t *o, const char *key, cm_poly p)
{
    json_t *array = cm__json_set(ctx, o, key, json_array());
    int     terms = CM_POLY_TERMS;
    while (terms > 1 && p.c[terms - 1] == 0) terms--;
    for (int i = 0; i < terms; i++) cm__json_append(ctx, array, cm__json_number(p.c[i]));
}

static json_t *index_or_null(int32_t index) { return index >= 0 ? json_integer(index) : json_null(); }

static void ids(cm__ctx *ctx, json_t *o, const char *key, const cm_node *n, int32_t count,
                int32_t (*id)(const cm_node *, int32_t))
{
    json_t *array = cm__json_set(ctx, o, key, json_array());
    for (int32_t i = 0; i < count; i++) cm__json_append(ctx, array, index_or_null(id(n, i)));
}

static void node(cm__ctx *ctx, json_t *o, const cm__graph_report *r, int32_t index)
{
    const cm_node *n = cm_graph_node(r->step, index);
    cm__node_cost  cost = cm__node_cost_at(n, r->asked.batch);
    cm__json_set(ctx, o, "index", json_integer(index));
    cm__json_set(ctx, o, "name", cm__json_text(ctx, cm_node_name(n)));
    cm__json_set(ctx, o, "type", json_string(cm_node_type(n)));
    cm__json_set(ctx, o, "phase", json_string(cm_phase_name(cm_node_phase(n))));
    cm__json_set(ctx, o, "class", json_string(cm_class_name(cm_node_class(n))));
    cm__json_set(ctx, o, "view", json_boolean(cm_node_is_view(n)));
    cm__json_set(ctx, o, "source", index_or_null(cm_node_source(n)));
    cm__json_set(ctx, o, "block", index_or_null(cm_node_block(n)));
    ids(ctx, o, "inputs", n, cm_node_inputs(n), cm_node_input);
    ids(ctx, o, "outputs", n, cm_node_outputs(n), cm_node_output);
    cm__json_set(ctx, o, "shape", cm__json_text(ctx, cm__node_shape(ctx, r->step, n)));
    cm__json_set(ctx, o, "flop", cm__json_number(cost.flop));
    cm__json_set(ctx, o, "read_bytes", cm__json_number(cost.read_bytes));
    cm__json_set(ctx, o, "write_bytes", cm__json_number(cost.write_bytes));
    cm__json_set(ctx, o, "flop_per_byte", cm__json_number(cost.intensity));
    poly(ctx, o, "flop_of_batch", cm_node_flop(n));
    poly(ctx, o, "read_bytes_of_batch", cm_node_read_bytes(n));
    poly(ctx, o, "write_bytes_of_batch", cm_node_write_bytes(n));
}

static void sizes(cm__ctx *ctx, json_t *o, const cm_tensor *t, double batch)
{
    json_t *array = cm__json_set(ctx, o, "dims", json_array());
    for (int32_t i = 0; i < cm_tensor_dims(t); i++) {
        cm_dim dim = cm_tensor_dim(t, i);
        cm__json_append(ctx, array, cm__json_number((double)dim.per_batch * batch + (double)dim.fixed));
    }
}

static void tensor(cm__ctx *ctx, json_t *o, const cm__graph_report *r, int32_t index)
{
    const cm_tensor *t = cm_graph_tensor(r->step, index);
    cm_poly          bytes = cm_tensor_bytes(t);
    cm__json_set(ctx, o, "index", json_integer(index));
    cm__json_set(ctx, o, "name", cm__json_text(ctx, cm_tensor_name(t)));
    cm__json_set(ctx, o, "role", json_string(cm_role_name(cm_tensor_role(t))));
    cm__json_set(ctx, o, "dtype", json_string(cm_dtype_name(cm_tensor_dtype(t))));
    cm__json_set(ctx, o, "shape", cm__json_text(ctx, cm__shape_text(ctx, t)));
    sizes(ctx, o, t, (double)r->asked.batch);
    cm__json_set(ctx, o, "bytes", cm__json_number(cm_poly_at(&bytes, (double)r->asked.batch)));
    poly(ctx, o, "bytes_of_batch", bytes);
    cm__json_set(ctx, o, "producer", index_or_null(cm_tensor_producer(t)));
    cm__json_set(ctx, o, "storage", index_or_null(cm_tensor_storage(t)));
    cm__json_set(ctx, o, "born", json_integer(cm_tensor_born(t)));
    cm__json_set(ctx, o, "dies", json_integer(cm_tensor_dies(t)));
}

static void lists(cm__ctx *ctx, json_t *o, const cm__graph_report *r)
{
    if (r->asked.list_nodes) {
        json_t *list = cm__json_set(ctx, o, "node_list", json_array());
        for (int32_t i = 0; i < cm_graph_nodes(r->step); i++)
            node(ctx, cm__json_append(ctx, list, json_object()), r, i);
    }
    if (r->asked.list_tensors) {
        json_t *list = cm__json_set(ctx, o, "tensor_list", json_array());
        for (int32_t i = 0; i < cm_graph_tensors(r->step); i++)
            if (r->used[i]) tensor(ctx, cm__json_append(ctx, list, json_object()), r, i);
    }
}

void cm__graph_json(cm__ctx *ctx, const cm__graph_report *r, FILE *out)
{
    json_t *answer = cm__json_answer(ctx, "graph");
    echo(ctx, answer, r);
    counts(ctx, answer, r);
    by_class(ctx, answer, "flop", r->totals.flop, NULL);
    by_class(ctx, answer, "bytes", r->totals.read_bytes, r->totals.write_bytes);
    cm__json_set(ctx, answer, "peak_bytes", cm__json_number(r->totals.peak_bytes));
    cm__json_set(ctx, answer, "peak_op", cm__json_text(ctx, r->peak_op));
    texts(ctx, answer, "warnings", r->warnings, r->n_warnings);
    texts(ctx, answer, "unsupported", r->unsupported, r->n_unsupported);
    lists(ctx, answer, r);
    cm__json_print(ctx, answer, out);
}
