/* SPDX-License-Identifier: Apache-2.0 */
/* graph.c - print the nodes or tensors of a graph as CSV, one per line, with exact numbers. */
#include "report/csv/csv.h"
#include "report/report.h"

static void nodes(cm__ctx *ctx, const cm__graph_report *r, FILE *out)
{
    fputs("index,name,type,phase,class,block,shape,flop,read_bytes,write_bytes,flop_per_byte\n", out);
    for (int32_t i = 0; i < cm_graph_nodes(r->step); i++) {
        const cm_node *n = cm_graph_node(r->step, i);
        cm__node_cost  cost = cm__node_cost_at(n, r->asked.batch);
        fprintf(out, "%d,", i);
        cm__csv_text(out, cm__printable(ctx, n->name), ',');
        fprintf(out, "%s,%s,%s,", cm_node_type(n), cm_phase_name(n->phase), cm_class_name(cm_node_class(n)));
        if (n->block >= 0) fprintf(out, "%d", n->block);
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
        cm__csv_text(out, cm__printable(ctx, t->name), ',');
        fprintf(out, "%s,%s,%s,", cm_role_name(t->role), cm_dtype_name(t->dtype), cm__shape_text(ctx, t));
        cm__csv_number(out, cm_poly_at(&bytes, (double)r->asked.batch), ',');
        fprintf(out, "%d,%d,%d\n", t->storage, t->born, t->dies);
    }
}

void cm__graph_csv(cm__ctx *ctx, const cm__graph_report *r, FILE *out)
{
    if (r->asked.list_tensors) tensors(ctx, r, out);
    else nodes(ctx, r, out);
}
