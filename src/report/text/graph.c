/* SPDX-License-Identifier: Apache-2.0 */
/* graph.c - print a graph as text: the model, costs by class, the largest nodes, a summary sentence. */
#include <math.h>
#include "base/text.h"
#include "report/render.h"
#include "report/table.h"

#define LABEL_WIDTH 12
#define COUNT(array) ((int32_t)(sizeof(array) / sizeof *(array)))

static const char *const class_words[CM_CLASSES] = {
    [CM_CLASS_GEMM] = "matrix products",  [CM_CLASS_CONV] = "convolutions",
    [CM_CLASS_ATTENTION] = "attention",   [CM_CLASS_NORM] = "normalisation",
    [CM_CLASS_ELEMENTWISE] = "elementwise operators", [CM_CLASS_REDUCTION] = "reductions",
    [CM_CLASS_MOVEMENT] = "data movement", [CM_CLASS_EMBEDDING] = "embeddings",
    [CM_CLASS_RNN] = "recurrent layers",  [CM_CLASS_UPDATE] = "the optimizer update",
};

/* ---- the model -------------------------------------------------------------------------------------------------- */

static void note(cm__ctx *ctx, FILE *out, const char *label, const char *text)
{
    cm__print_note(ctx, out, "# ", label, LABEL_WIDTH, text);
}

static void heading(cm__ctx *ctx, const cm__graph_report *r, FILE *out)
{
    const cm__graph_request *a = &r->asked;
    fprintf(out, "# centimani %s, graph of %s\n", CM_VERSION, cm__printable(ctx, cm_graph_name(r->forward)));
    note(ctx, out, "source", cm_graph_source(r->forward));
    note(ctx, out, "description", cm_graph_description(r->forward));
    note(ctx, out, "citation", cm_graph_citation(r->forward));
    const char *precision = cm__precision_text(ctx, r->step);
    const char *step = cm__format(ctx, "batch %lld, %s", (long long)a->batch, precision);
    if (cm__optimizer_used(r)) step = cm__format(ctx, "%s, %s", step, cm__optimizer_used(r));
    if (cm__loss_used(r)) step = cm__format(ctx, "%s, loss %s", step, cm__loss_used(r));
    if (!a->train.inference) step = cm__format(ctx, "%s, recompute %s", step, cm_recompute_asked(&a->train));
    note(ctx, out, a->train.inference ? "inference" : "step", step);
}

static const char *node_counts(cm__ctx *ctx, const cm__graph_report *r)
{
    const char *text = cm__format(ctx, "%d read, %d after folding%s; in the step:", cm_graph_nodes_read(r->forward),
                                  cm_graph_nodes(r->forward), r->asked.load.fuse == CM_FUSE_NONE ? "" : " and fusion");
    for (cm_phase p = CM_FORWARD; p < CM_PHASES; p++)
        if (r->totals.nodes[p])
            text = cm__format(ctx, "%s%s %d %s", text, p ? "," : "", r->totals.nodes[p], cm_phase_name(p));
    return text;
}

static void sizes(cm__ctx *ctx, const cm__graph_report *r, FILE *out)
{
    const cm_totals *t = &r->totals;
    char             forward[32], training[32], peak[32];
    note(ctx, out, "parameters", cm__format(ctx, "%s trainable, %s buffers", cm__cell_count(ctx, t->parameters),
                                            cm__cell_count(ctx, t->buffers)));
    note(ctx, out, "nodes", node_counts(ctx, r));
    cm__si(forward, sizeof forward, r->forward_flop);
    cm__si(training, sizeof training, r->training_flop);
    note(ctx, out, "matrix work", r->asked.train.inference ? cm__format(ctx, "%sFLOP forward", forward)
                                  : cm__format(ctx, "%sFLOP forward, %sFLOP in the step", forward, training));
    if (r->peak_op)
        note(ctx, out, "memory", cm__format(ctx, "%sB live at the peak, at %s '%s' (tensors only, no workspace)",
                                            cm__binary(peak, sizeof peak, t->peak_bytes),
                                            cm_node_type(cm_graph_node(r->step, t->peak_node)), r->peak_op));
    putc('\n', out);
}

/* ---- costs by class ------------------------------------------------------------------------------------------- */

typedef struct cost_row {
    double flop[CM_PHASES], all_flop, moved_bytes;
} cost_row;

static cost_row class_cost(const cm_totals *t, cm_class c)
{
    cost_row row = {0};
    for (cm_phase p = CM_FORWARD; p < CM_PHASES; p++) {
        row.flop[p] = t->flop[p][c];
        row.all_flop += t->flop[p][c];
        row.moved_bytes += t->read_bytes[p][c] + t->write_bytes[p][c];
    }
    return row;
}

static void add(cost_row *sum, const cost_row *row)
{
    for (cm_phase p = CM_FORWARD; p < CM_PHASES; p++) sum->flop[p] += row->flop[p];
    sum->all_flop += row->all_flop;
    sum->moved_bytes += row->moved_bytes;
}

static void cost_cells(const cm__table *table, const char *name, const cost_row *row, const cost_row *sum)
{
    cm__ctx    *ctx = table->ctx;
    double      intensity = row->moved_bytes > 0 ? row->all_flop / row->moved_bytes : NAN;
    const char *cells[] = {
        name,
        cm__cell_si(ctx, row->flop[CM_FORWARD]),
        cm__cell_si(ctx, row->flop[CM_BACKWARD] + row->flop[CM_RECOMPUTE]),
        cm__cell_si(ctx, row->flop[CM_UPDATE]),
        cm__cell_percent(ctx, row->all_flop, sum->all_flop),
        cm__cell_si(ctx, row->moved_bytes),
        cm__cell_percent(ctx, row->moved_bytes, sum->moved_bytes),
        cm__cell_ratio(ctx, intensity),
    };
    cm__table_row(table, cells);
}

static cost_row classes(cm__ctx *ctx, const cm__graph_report *r, FILE *out)
{
    static const cm__column columns[] = {{"class"}, {"forward", "FLOP"}, {"backward", "FLOP"}, {"update", "FLOP"},
                                         {"share", "%"}, {"moved", "B"}, {"share", "%"}, {"ratio", "FLOP/B"}};
    cm__table table = cm__table_new(ctx, out, columns, COUNT(columns));
    cost_row  sum = {0};
    for (cm_class c = CM_CLASS_GEMM; c < CM_CLASSES; c++) {
        cost_row row = class_cost(&r->totals, c);
        add(&sum, &row);
    }
    for (cm_class c = CM_CLASS_GEMM; c < CM_CLASSES; c++) {
        cost_row row = class_cost(&r->totals, c);
        if (row.all_flop > 0 || row.moved_bytes > 0) cost_cells(&table, cm_class_name(c), &row, &sum);
    }
    cost_cells(&table, "all", &sum, &sum);
    cm__table_print(&table);
    return sum;
}

static void operators(cm__ctx *ctx, const cm__graph_report *r, FILE *out)
{
    static const cm__column columns[] = {{"operator"}, {"count", ""}, {"share", "%"}};
    cm__table table = cm__table_new(ctx, out, columns, COUNT(columns));
    for (int32_t i = 0; i < r->n_ops; i++) {
        const char *cells[] = {r->ops[i].type, cm__cell_count(ctx, r->ops[i].count),
                               cm__cell_percent(ctx, r->ops[i].count, cm_graph_nodes(r->forward))};
        cm__table_row(&table, cells);
    }
    putc('\n', out);
    cm__table_print(&table);
}

/* ---- nodes and tensors ------------------------------------------------------------------------------------------- */

static const cm__column node_columns[] = {{"node", NULL, true}, {"operator"},   {"phase"},           {"shape"},
                                          {"work", "FLOP"},     {"moved", "B"}, {"ratio", "FLOP/B"}, {"class"}};
enum { TOP_COLUMNS = COUNT(node_columns) - 1 }; /* only the full list shows the class */

static void node_row(const cm__table *table, const cm__graph_report *r, int32_t index)
{
    cm__ctx       *ctx = table->ctx;
    const cm_node *n = cm_graph_node(r->step, index);
    cm__node_cost  cost = cm__node_cost_at(n, r->asked.batch);
    const char    *cells[] = {cm__printable(ctx, cm_node_name(n)),
                              cm_node_type(n),
                              cm_phase_name(cm_node_phase(n)),
                              cm__node_shape(ctx, r->step, n),
                              cm__cell_si(ctx, cost.flop),
                              cm__cell_si(ctx, cost.read_bytes + cost.write_bytes),
                              cm__cell_ratio(ctx, cost.intensity),
                              cm_class_name(cm_node_class(n))};
    cm__table_row(table, cells);
}

static void largest(cm__ctx *ctx, const cm__graph_report *r, FILE *out)
{
    if (!r->n_top) return;
    cm__table table = cm__table_new(ctx, out, node_columns, TOP_COLUMNS);
    for (int32_t i = 0; i < r->n_top; i++) node_row(&table, r, r->top[i]);
    putc('\n', out);
    cm__table_print(&table);
}

static void all_nodes(cm__ctx *ctx, const cm__graph_report *r, FILE *out)
{
    cm__table table = cm__table_new(ctx, out, node_columns, COUNT(node_columns));
    for (int32_t i = 0; i < cm_graph_nodes(r->step); i++) node_row(&table, r, i);
    cm__table_print(&table);
}

static const char *position(cm__ctx *ctx, const cm__graph_report *r, int32_t at)
{
    return at < 0 ? "before" : at >= cm_graph_nodes(r->step) ? "after" : cm__format(ctx, "%d", at);
}

static void all_tensors(cm__ctx *ctx, const cm__graph_report *r, FILE *out)
{
    static const cm__column columns[] = {{"tensor", NULL, true}, {"role"},         {"dtype"}, {"shape"},
                                         {"size", "B"},          {"born", "node"}, {"dies", "node"}};
    cm__table table = cm__table_new(ctx, out, columns, COUNT(columns));
    for (int32_t i = 0; i < cm_graph_tensors(r->step); i++) {
        if (!r->used[i]) continue;
        const cm_tensor *t = cm_graph_tensor(r->step, i);
        cm_poly          poly = cm_tensor_bytes(t);
        double           bytes = cm_poly_at(&poly, (double)r->asked.batch);
        const char      *cells[] = {cm__printable(ctx, cm_tensor_name(t)), cm_role_name(cm_tensor_role(t)),
                                    cm_dtype_name(cm_tensor_dtype(t)),
                                    cm__shape_text(ctx, t), cm__cell_si(ctx, bytes),
                                    position(ctx, r, cm_tensor_born(t)), position(ctx, r, cm_tensor_dies(t))};
        cm__table_row(&table, cells);
    }
    cm__table_print(&table);
}

/* ---- the summary ------------------------------------------------------------------------------------------------ */

static void verdict(cm__ctx *ctx, const cm__graph_report *r, const cost_row *sum, FILE *out)
{
    char     buf[32];
    cm_class first = CM_CLASS_GEMM;
    for (cm_class c = CM_CLASS_GEMM; c < CM_CLASSES; c++)
        if (class_cost(&r->totals, c).all_flop > class_cost(&r->totals, first).all_flop) first = c;
    if (sum->all_flop <= 0 || sum->moved_bytes <= 0) {
        fputs("\nNothing is computed.\n", out);
        return;
    }
    fprintf(out, "\n%.0f %% of the FLOP are %s; ", 100 * class_cost(&r->totals, first).all_flop / sum->all_flop,
            class_words[first]);
    if (r->asked.batch == 1) fputs("one sample's ", out);
    else fprintf(out, "%lld samples' ", (long long)r->asked.batch);
    fprintf(out, "%s moves %sB", r->asked.train.inference ? "pass" : "step", cm__si(buf, sizeof buf, sum->moved_bytes));
    fprintf(out, " at %s FLOP/byte.\n", cm__cell_ratio(ctx, sum->all_flop / sum->moved_bytes));
}

static void summary(cm__ctx *ctx, const cm__graph_report *r, FILE *out)
{
    cost_row sum = classes(ctx, r, out);
    operators(ctx, r, out);
    largest(ctx, r, out);
    verdict(ctx, r, &sum, out);
}

void cm__graph_text(cm__ctx *ctx, const cm__graph_report *r, FILE *out)
{
    heading(ctx, r, out);
    sizes(ctx, r, out);
    if (r->asked.list_nodes) all_nodes(ctx, r, out);
    if (r->asked.list_nodes && r->asked.list_tensors) putc('\n', out);
    if (r->asked.list_tensors) all_tensors(ctx, r, out);
    if (!r->asked.list_nodes && !r->asked.list_tensors) summary(ctx, r, out);
}
