/* SPDX-License-Identifier: Apache-2.0 */
/* snapshot.c - the predicted allocations of a step as a memory snapshot of PyTorch: a pickle that
   torch.cuda._memory_viz and pytorch.org/memory_viz read. */
#include <math.h>
#include <string.h>
#include "report/viewers/viewers.h"

#define ROUND 512.0        /* PyTorch's allocator rounds sizes up to this */
#define FIRST (1ULL << 40) /* address of the first block */

/* Pickle protocol 2, the part that is needed: dicts, lists, texts and integers. */
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

/* Appends a block behind the last one. */
static void add(block *blocks, int32_t *count, double bytes, block what)
{
    if (!(bytes > 0)) return;
    what.address = *count ? blocks[*count - 1].address + blocks[*count - 1].size : FIRST;
    what.size = (uint64_t)(ceil(bytes / ROUND) * ROUND);
    what.asked = (uint64_t)bytes;
    blocks[(*count)++] = what;
}

/* The node after which a piece is released. Training loops set gradients to None when the next step begins, not when
   the update has read them. */
static int32_t dies_of(const cm_graph *g, const cm_stored *piece)
{
    int32_t nodes = cm_graph_nodes(g);
    bool    updates = piece->dies < nodes && strcmp(cm_node_type(cm_graph_node(g, piece->dies)), "Update") == 0;
    return updates && piece->category == CM_CATEGORY_GRADIENTS ? nodes : piece->dies;
}

/* A gradient that sums up in the memory of its first part is named like the whole. */
static const char *role_of(const cm_graph *g, const cm_stored *piece)
{
    bool gradient = piece->category == CM_CATEGORY_GRADIENTS;
    return cm_role_name(gradient ? CM_ROLE_PARAMETER_GRADIENT : cm_tensor_role(cm_graph_tensor(g, piece->tensor)));
}

/* Tensors that the runtime stores, and workspaces of nodes while they run; each at an address of its own. */
static int32_t blocks_of(cm__ctx *ctx, const cm__predict_report *r, block **blocks)
{
    const cm_footprint *f = cm_step_footprint(r->step);
    const cm_graph     *g = r->graph->step;
    int64_t             batch = cm_prediction_get_info(r->prediction)->micro_batch;
    int32_t             pieces = cm_footprint_pieces(f), nodes = cm_graph_nodes(g), count = 0;
    *blocks = cm__alloc_array(ctx, (size_t)pieces + (size_t)nodes + 1, sizeof **blocks); /* the last one: libraries */
    for (int32_t i = 0; i < pieces; i++) {
        cm_stored        piece = cm_footprint_piece(f, batch, i);
        const cm_tensor *t = cm_graph_tensor(g, piece.tensor);
        if (piece.born < 0 && piece.dies < 0) continue; /* not stored */
        add(*blocks, &count, piece.bytes,
            (block){.born = piece.born, .dies = dies_of(g, &piece), .what = cm__printable(ctx, cm_tensor_name(t)),
                    .role = role_of(g, &piece)});
    }
    for (int32_t i = 0; i < nodes; i++)
        add(*blocks, &count, cm_footprint_temporary(f, batch, i),
            (block){.born = i, .dies = i, .what = cm__printable(ctx, cm_node_name(cm_graph_node(g, i))),
                    .role = "workspace"});
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

/* Libraries' permanent workspaces and remainders of blocks are no pieces. One block for the whole step represents them,
   so that the peak is the predicted one. */
static int32_t add_workspace(cm__ctx *ctx, const cm__predict_report *r, block *blocks, int32_t count)
{
    int32_t nodes = cm_graph_nodes(r->graph->step);
    double  more = r->peak_bytes - (double)peak_of(ctx, blocks, count, nodes);
    add(blocks, &count, floor(more / ROUND) * ROUND,
        (block){.born = -1, .dies = nodes, .what = "workspaces of libraries", .role = "workspace"});
    return count;
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
