/* SPDX-License-Identifier: Apache-2.0 */
/* graph.c - print the nodes or tensors of a graph as CSV, one per line, with exact numbers. */
#include "report/csv/csv.h"
#include "report/render.h"

static void nodes(cm__ctx *ctx, const cm__graph_report *r, FILE *out)
{
    fputs("index,name,type,phase,class,block,shape,flop,read_bytes,write_bytes,flop_per_byte\n", out);
    for (int32_t i = 0; i < cm_graph_nodes(r->step); i++) {
        const cm_node *n = cm_graph_node(r->step, i);
        cm__node_cost  cost = cm__node_cost_at(n, r->asked.batch);
        fprintf(out, "%d,", i);
        cm__csv_text(out, cm__printable(ctx, cm_node_name(n)), ',');
        fprintf(out, "%s,%s,%s,", cm_node_type(n), cm_phase_name(cm_node_phase(n)), cm_class_name(cm_node_class(n)));
        if (cm_node_block(n) >= 0) fprintf(out, "%d", cm_node_block(n));
        putc(',', out);
        cm__csv_text(out, cm__node_shape(ctx, r->step, n), ',');
        cm__csv_number(out, cost.flop, ',');
        cm__csv_number(out, cost.read_bytes, ',');
        cm__csv_number(out, cost.write_bytes, ',');
        cm__csv_number(out, cost.intensity, '\n');
    }
}

static void tensors(cm__ctx *ctx, const cm__graph_report *r, FILE *out)
{
    fputs("index,name,role,dtype,shape,bytes,storage,born,dies\n", out);
    for (int32_t i = 0; i < cm_graph_tensors(r->step); i++) {
        if (!r->used[i]) continue;
        const cm_tensor *t = cm_graph_tensor(r->step, i);
        cm_poly          bytes = cm_tensor_bytes(t);
        fprintf(out, "%d,", i);
        cm__csv_text(out, cm__printable(ctx, cm_tensor_name(t)), ',');
        fprintf(out, "%s,%s,%s,", cm_role_name(cm_tensor_role(t)), cm_dtype_name(cm_tensor_dtype(t)),
                cm__shape_text(ctx, t));
        cm__csv_number(out, cm_poly_at(&bytes, (double)r->asked.batch), ',');
        fprintf(out, "%d,%d,%d\n", cm_tensor_storage(t), cm_tensor_born(t), cm_tensor_dies(t));
    }
}

void cm__graph_csv(cm__ctx *ctx, const cm__graph_report *r, FILE *out)
{
    if (r->asked.list_tensors) tensors(ctx, r, out);
    else nodes(ctx, r, out);
}
