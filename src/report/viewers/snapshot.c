/* SPDX-License-Identifier: Apache-2.0 */
/* snapshot.c - the predicted allocations of a step as a memory snapshot of PyTorch: a pickle that
   torch.cuda._memory_viz and pytorch.org/memory_viz read. */
#include <math.h>
#include <string.h>
#include "report/viewers/viewers.h"

#define ROUND 512.0        /* PyTorch's allocator rounds sizes up to this */
#define FIRST (1ULL << 40) /* address of the first block */

/* Pickle protocol 2, as far as it is needed: dicts, lists, texts and integers. */
static void text(FILE *out, const char *value)
{
    uint32_t n = (uint32_t)strlen(value);
    fputc('X', out);
    for (int i = 0; i < 4; i++) fputc((int)(n >> (8 * i) & 255), out);
    fwrite(value, 1, n, out);
}

static void integer(FILE *out, uint64_t value)
{
    fputs("\x8a\x09", out); /* LONG1 of nine bytes: unsigned 64 bits stay positive */
    for (int i = 0; i < 8; i++) fputc((int)(value >> (8 * i) & 255), out);
    fputc(0, out);
}

static void begin_dict(FILE *out) { fputs("}(", out); }
static void end_dict(FILE *out) { fputc('u', out); }
static void begin_list(FILE *out) { fputs("](", out); }
static void end_list(FILE *out) { fputc('e', out); }

static void member_text(FILE *out, const char *key, const char *value)
{
    text(out, key);
    text(out, value);
}

static void member(FILE *out, const char *key, uint64_t value)
{
    text(out, key);
    integer(out, value);
}

/* One frame: what allocated the block. */
static void frames(FILE *out, const char *what, const char *file)
{
    text(out, "frames");
    begin_list(out);
    begin_dict(out);
    member_text(out, "filename", file);
    member_text(out, "name", what);
    member(out, "line", 0);
    end_dict(out);
    end_list(out);
}

/* ---- blocks ----------------------------------------------------------------------------------------------------- */

typedef struct block {
    uint64_t    address, size, asked;
    int32_t     born, dies;
    const char *what, *role;
} block;

/* The node after which a tensor is released. Training loops set gradients to None when the next step begins, not when
   the update has read them. */
static int32_t dies_of(const cm_graph *g, const cm_tensor *t)
{
    int32_t dies = cm_tensor_dies(t), nodes = cm_graph_nodes(g);
    bool    last = dies >= 0 && dies < nodes && strcmp(cm_node_type(cm_graph_node(g, dies)), "Update") == 0;
    return last && cm_tensor_role(t) == CM_ROLE_PARAMETER_GRADIENT ? nodes : dies;
}

/* Tensors with memory of their own, each at an address of its own. */
static int32_t blocks_of(cm__ctx *ctx, const cm__predict_report *r, block **blocks)
{
    const cm_graph *g = r->graph->step;
    double          batch = (double)cm_prediction_get_info(r->prediction)->micro_batch;
    int32_t         count = 0;
    uint64_t        next = FIRST;
    /* the last two: workspace, none */
    *blocks = cm__alloc_array(ctx, (size_t)cm_graph_tensors(g) + 2, sizeof **blocks);
    for (int32_t i = 0; i < cm_graph_tensors(g); i++) {
        const cm_tensor *t = cm_graph_tensor(g, i);
        cm_poly          poly = cm_tensor_bytes(t);
        double           bytes = cm_poly_at(&poly, batch);
        if (cm_tensor_storage(t) != i || !(bytes > 0)) continue;
        uint64_t size = (uint64_t)(ceil(bytes / ROUND) * ROUND);
        (*blocks)[count++] = (block){next, size, (uint64_t)bytes, cm_tensor_born(t), dies_of(g, t),
                                     cm__printable(ctx, cm_tensor_name(t)), cm_role_name(cm_tensor_role(t))};
        next += size;
    }
    return count;
}

/* The most that the blocks take at once. */
static uint64_t peak_of(cm__ctx *ctx, const block *blocks, int32_t count, int32_t nodes)
{
    int64_t *change = cm__alloc_array(ctx, (size_t)nodes + 2, sizeof *change), now = 0, most = 0;
    for (int32_t i = 0; i < count; i++) {
        change[blocks[i].born < 0 ? 0 : blocks[i].born + 1] += (int64_t)blocks[i].size;
        if (blocks[i].dies >= 0 && blocks[i].dies < nodes) change[blocks[i].dies + 2] -= (int64_t)blocks[i].size;
    }
    for (int32_t i = 0; i <= nodes; i++) {
        now += change[i];
        if (now > most) most = now;
    }
    return (uint64_t)most;
}

/* Libraries' workspaces and temporary copies are no tensors of the graph. One block for the whole step stands for them,
   so that the peak is the predicted one. */
static int32_t add_workspace(cm__ctx *ctx, const cm__predict_report *r, block *blocks, int32_t count)
{
    int32_t  nodes = cm_graph_nodes(r->graph->step);
    uint64_t tensors = peak_of(ctx, blocks, count, nodes), address = FIRST;
    double   more = r->peak_bytes - (double)tensors;
    if (!(more >= ROUND)) return count;
    if (count) address = blocks[count - 1].address + blocks[count - 1].size;
    blocks[count] = (block){address, (uint64_t)(floor(more / ROUND) * ROUND), (uint64_t)more, -1, nodes,
                            "workspaces and temporary copies", "workspace"};
    return count + 1;
}

static void event(FILE *out, const char *action, const block *b, uint64_t time_us)
{
    begin_dict(out);
    member_text(out, "action", action);
    member(out, "addr", b->address);
    member(out, "size", b->size);
    member(out, "stream", 0);
    member(out, "time_us", time_us);
    frames(out, b->what, b->role);
    end_dict(out);
}

static uint64_t total_of(const block *blocks, int32_t count)
{
    uint64_t total = 0;
    for (int32_t i = 0; i < count; i++) total += blocks[i].size;
    return total;
}

/* Allocations and releases in the order of the nodes; what lives before the step is allocated first. */
static void put_events(FILE *out, const block *blocks, int32_t count, int32_t nodes, const double *at_s)
{
    event(out, "segment_alloc",
          &(block){.address = FIRST, .size = total_of(blocks, count), .what = "segment", .role = "centimani"}, 0);
    for (int32_t node = -1; node < nodes; node++) {
        uint64_t time = node < 0 ? 0 : (uint64_t)(1e6 * at_s[node]);
        for (int32_t i = 0; i < count; i++)
            if (blocks[i].born == node || (node < 0 && blocks[i].born < 0)) event(out, "alloc", &blocks[i], time);
        for (int32_t i = 0; i < count; i++)
            if (blocks[i].dies == node && node >= 0) {
                event(out, "free_requested", &blocks[i], time);
                event(out, "free_completed", &blocks[i], time);
            }
    }
}

/* The blocks that outlive the step, in one segment. */
static void put_segment(FILE *out, const block *blocks, int32_t count, int32_t nodes)
{
    uint64_t active = 0;
    for (int32_t i = 0; i < count; i++)
        if (blocks[i].dies >= nodes) active += blocks[i].size;
    begin_dict(out);
    member(out, "device", 0);
    member(out, "address", FIRST);
    member(out, "total_size", total_of(blocks, count));
    member(out, "allocated_size", active);
    member(out, "active_size", active);
    member(out, "requested_size", active);
    member(out, "stream", 0);
    member_text(out, "segment_type", "large");
    text(out, "blocks");
    begin_list(out);
    for (int32_t i = 0; i < count; i++) {
        begin_dict(out);
        member(out, "address", blocks[i].address);
        member(out, "size", blocks[i].size);
        member(out, "requested_size", blocks[i].asked);
        member_text(out, "state", blocks[i].dies >= nodes ? "active_allocated" : "inactive");
        frames(out, blocks[i].what, blocks[i].role);
        end_dict(out);
    }
    end_list(out);
    frames(out, "segment", "centimani");
    end_dict(out);
}

/* When the kernels of each node end, if they run one after the other. */
static double *ends_of(cm__ctx *ctx, const cm__predict_report *r)
{
    int32_t nodes = cm_graph_nodes(r->graph->step);
    double *at = cm__alloc_array(ctx, (size_t)nodes + 1, sizeof *at), sum = 0;
    for (int32_t i = 0; i < cm_prediction_ops(r->prediction); i++) {
        const cm_op_time *op = cm_prediction_op(r->prediction, i);
        at[op->node] += op->time_s;
    }
    for (int32_t i = 0; i < nodes; i++) at[i] = sum += at[i];
    return at;
}

cm_status cm__predict_report_snapshot(const cm__predict_report *report, FILE *out, cm_diag *diag)
{
    cm__ctx *ctx = cm__ctx_new(diag);
    if (!ctx) return CM_ERR_MEMORY;
    if (setjmp(ctx->trap)) return cm__ctx_abandon(ctx);
    block  *blocks;
    int32_t nodes = cm_graph_nodes(report->graph->step);
    int32_t count = blocks_of(ctx, report, &blocks);
    count = add_workspace(ctx, report, blocks, count);
    fputs("\x80\x02", out);
    begin_dict(out);
    text(out, "segments");
    begin_list(out);
    put_segment(out, blocks, count, nodes);
    end_list(out);
    text(out, "device_traces");
    begin_list(out);
    begin_list(out);
    put_events(out, blocks, count, nodes, ends_of(ctx, report));
    end_list(out);
    end_list(out);
    text(out, "allocator_settings");
    begin_dict(out);
    end_dict(out);
    end_dict(out);
    fputc('.', out);
    cm__ctx_free(ctx);
    return CM_OK;
}
