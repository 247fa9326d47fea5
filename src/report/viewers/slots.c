/* SPDX-License-Identifier: Apache-2.0 */
/* slots.c - when each stage of a pipeline runs which micro-batch, and how many bytes are live at each node. */
#include <math.h>
#include <stdlib.h>
#include "report/viewers/viewers.h"

/* The n-th pass of a stage. In 1F1B a stage runs as many forward passes ahead as there are stages after it. */
static cm__slot pass_of(int32_t stage, int32_t stages, int32_t micro_batches, int32_t n, bool gpipe)
{
    int32_t  ahead = stages - stage < micro_batches && !gpipe ? stages - stage : micro_batches;
    int32_t  steady = n - ahead;
    cm__slot s = {.stage = stage, .micro_batch = n};
    if (n < ahead) return s;
    int32_t pairs = 2 * (micro_batches - ahead); /* backward, forward, backward, forward ... */
    s.backward = steady >= pairs || steady % 2 == 0;
    s.micro_batch = steady >= pairs ? micro_batches - ahead + steady - pairs
                                    : s.backward    ? steady / 2
                                                    : ahead + steady / 2;
    return s;
}

cm__slot *cm__pipeline_slots(int32_t stages, int32_t micro_batches, double forward_s, double backward_s, bool gpipe)
{
    size_t    passes = 2 * (size_t)micro_batches, count = passes * (size_t)stages;
    cm__slot *slots = calloc(count + 1, sizeof *slots);
    double   *done = calloc(count + 1, sizeof *done); /* end of [backward][stage][micro-batch]; 0: not yet */
    int32_t  *next = calloc((size_t)stages + 1, sizeof *next);
    double   *free_at = calloc((size_t)stages + 1, sizeof *free_at);
    size_t    n = 0;
    for (bool moved = true; moved && slots && done && next && free_at && n < count;) {
        moved = false;
        for (int32_t s = 0; s < stages; s++) {
            if (next[s] == (int32_t)passes) continue;
            cm__slot p = pass_of(s, stages, micro_batches, next[s], gpipe);
            size_t   half = (size_t)stages * (size_t)micro_batches,
                     at = (size_t)s * (size_t)micro_batches + (size_t)p.micro_batch;
            bool     first = p.backward ? s == stages - 1 : s == 0;
            /* forward waits for the stage before, backward for the one after; the last stage for its own forward */
            size_t needs = p.backward ? first ? at : half + at + (size_t)micro_batches
                                              : at - (first ? 0 : (size_t)micro_batches);
            double ready = first && !p.backward ? 1e-300 : done[needs];
            if (ready == 0) continue;
            p.begin_s = fmax(ready, free_at[s]);
            p.end_s = p.begin_s + (p.backward ? backward_s : forward_s);
            done[(p.backward ? half : 0) + at] = free_at[s] = p.end_s;
            next[s]++;
            slots[n++] = p;
            moved = true;
        }
    }
    free(done);
    free(next);
    free(free_at);
    return slots;
}

double *cm__live_bytes(cm__ctx *ctx, const cm__predict_report *r)
{
    const cm_footprint *f = cm_step_footprint(r->step);
    int64_t             batch = cm_prediction_get_info(r->prediction)->micro_batch;
    int32_t             nodes = cm_graph_nodes(r->graph->step);
    double             *live = cm__alloc_array(ctx, (size_t)nodes + 2, sizeof *live);
    for (int32_t i = 0; i < cm_footprint_pieces(f); i++) {
        cm_stored piece = cm_footprint_piece(f, batch, i);
        if (piece.born < 0 && piece.dies < 0) continue; /* not stored */
        live[piece.born < 0 ? 0 : piece.born] += piece.bytes;
        live[piece.dies < nodes ? piece.dies + 1 : nodes + 1] -= piece.bytes;
    }
    for (int32_t i = 1; i <= nodes; i++) live[i] += live[i - 1];
    return live;
}
