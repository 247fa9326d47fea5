/* SPDX-License-Identifier: Apache-2.0 */
/*
 * varied.c - steps of random lengths, one after another, in the simulated allocator.
 *
 * Each length asks for other sizes. Blocks that a shorter step has split do not serve a longer one, so the allocator
 * reserves more than a step with the longest samples alone. The lengths are drawn from a fixed sequence: the same
 * question has the same answer.
 */
#include "model/memory/varied.h"

#include <math.h>
#include "model/memory/simulate.h"
#include "model/memory/step_run.h"

/* Reserved memory grows with every sample that is longer than all before it: by a different amount in every run, and
   hardly after the first few dozen steps. */
#define RUNS 16
#define STEPS 32

bool cm__varied_applies(const cm__varied *v)
{
    const cm_footprint *f = v->at[0];
    bool                same = f->caching;
    for (int i = 1; i < CM__VARIED_LENGTHS && same; i++)
        same = v->at[i]->n_pieces == f->n_pieces && v->at[i]->n_nodes == f->n_nodes;
    return same;
}

/* Numbers between 0 and 1: the multiplicative generator of Park and Miller (1988). */
static double next_random(uint64_t *state)
{
    *state = *state * 48271 % 2147483647;
    return (double)*state / 2147483647;
}

static double draw(const cm__varied *v, int64_t batch, uint64_t *state)
{
    double most = 0, sum = 0;
    for (int64_t i = 0; i < batch; i++) {
        double x = ceil(cm__length_at(&v->lengths, next_random(state)));
        most = fmax(most, x);
        sum += x;
    }
    return v->padded ? most : sum / (double)batch;
}

/* Sizes at any length by Lagrange's formula. */
static void set_sizes(const cm__varied *v, const cm__sizes *known, double length, cm__sizes *sizes)
{
    const double *x = v->length;
    double        w[CM__VARIED_LENGTHS];
    for (int i = 0; i < CM__VARIED_LENGTHS; i++) {
        int a = (i + 1) % CM__VARIED_LENGTHS, b = (i + 2) % CM__VARIED_LENGTHS;
        w[i] = (length - x[a]) * (length - x[b]) / ((x[i] - x[a]) * (x[i] - x[b]));
    }
    int64_t *const to[] = {sizes->pieces, sizes->temporary};
    const int32_t  count[] = {v->at[0]->n_pieces, v->at[0]->n_nodes};
    for (int kind = 0; kind < 2; kind++)
        for (int32_t p = 0; p < count[kind]; p++) {
            double bytes = 0;
            for (int i = 0; i < CM__VARIED_LENGTHS; i++)
                bytes += w[i] * (double)(kind ? known[i].temporary[p] : known[i].pieces[p]);
            to[kind][p] = llround(fmax(0, bytes));
        }
}

/* Bytes that one run reserves. */
static double reserved_by(cm__ctx *ctx, const cm__varied *v, const cm__sizes *known, int64_t batch, uint64_t *state)
{
    const cm_footprint *f = v->at[0];
    cm__step_run        s = {.f = f, .ctx = ctx, .batch = (double)batch, .library_bytes = f->library_bytes};
    s.allocator = cm__allocator_new(ctx, cm__simulate_limit(f));
    if (f->step->asked.script.expandable_segments) cm__allocator_expand(s.allocator);
    cm__step_run_begin(&s);
    for (int step = 0; step < STEPS && s.lacking == 0; step++) {
        set_sizes(v, known, draw(v, batch, state), &s.sizes);
        cm__step_run_once(&s);
    }
    return (double)cm__allocator_most_reserved(s.allocator);
}

cm_status cm__varied_reserved(const cm__varied *v, int64_t batch, double *reserved_bytes, cm_diag *diag)
{
    cm__ctx *ctx = cm__ctx_new(diag);
    if (!ctx) return CM_ERR_MEMORY;
    if (setjmp(ctx->trap)) return cm__ctx_abandon(ctx);
    cm__sizes known[CM__VARIED_LENGTHS];
    uint64_t  state = 1;
    double    sum = 0;
    for (int i = 0; i < CM__VARIED_LENGTHS; i++) known[i] = cm__sizes_of(ctx, v->at[i], (double)batch);
    for (int i = 0; i < RUNS; i++) sum += reserved_by(ctx, v, known, batch, &state);
    *reserved_bytes = sum / RUNS;
    cm__ctx_free(ctx);
    return CM_OK;
}
