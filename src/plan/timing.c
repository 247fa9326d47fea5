/* SPDX-License-Identifier: Apache-2.0 */
/*
 * timing.c - time the layers at all places of a search, on several threads.
 *
 * Places with the same tensor- and expert-parallel size and the same use of sequence parallelism are one group: they
 * share kernel calls. Each thread has its own model, takes one group after the other, and gives its costs to the model
 * of the search at the end. Sizes are found for all places, times only where a plan fits and may be among the best.
 */
#include "plan/timing.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#define THREADS_MOST 8

typedef struct groups {
    int32_t *first; /* per group: its first place */
    int32_t *next;  /* per place: the next one of its group; -1: none */
    int32_t *taker; /* per group: the thread that took it */
    int32_t  count;
} groups;

typedef struct dealing {
    const cm__timing *t;
    groups            groups;
    atomic_int        next;
} dealing;

typedef struct worker {
    dealing   *deal;
    int32_t    index;
    cm__ctx   *ctx;
    cm__model *m;
    cm__best   best;
    cm_diag    diag;
    cm_status  status;
} worker;

/* ---- groups ------------------------------------------------------------------------------------------------------ */

static bool same_group(const cm_plan *a, const cm_plan *b)
{
    return a->tp == b->tp && a->ep == b->ep && a->sequence_parallel == b->sequence_parallel;
}

static int32_t group_of(const groups *g, const cm__spot *spots, const cm_plan *plan)
{
    int32_t i = 0;
    while (i < g->count && !same_group(&spots[g->first[i]].plan, plan)) i++;
    return i;
}

/* Each rank times every n-th combination of sizes and micro-batch. */
static groups find_groups(cm__ctx *ctx, const cm__timing *t)
{
    size_t   most = (size_t)t->n_spots + 1;
    groups   g = {.first = cm__alloc_array(ctx, most, sizeof *g.first),
                  .next = cm__alloc_array(ctx, most, sizeof *g.next),
                  .taker = cm__alloc_array(ctx, most, sizeof *g.taker)};
    int32_t *last = cm__alloc_array(ctx, most, sizeof *last), key = -1;
    cm_plan  before = {0};
    for (int32_t i = 0; i < t->n_spots; i++) {
        const cm_plan *p = &t->spots[i].plan;
        bool           same = same_group(p, &before) && p->cp == before.cp && p->pp == before.pp &&
                    p->micro_batch == before.micro_batch;
        if (!same) key++;
        before = *p;
        g.next[i] = -1;
        if (key % t->shares != t->share) continue;
        int32_t at = group_of(&g, t->spots, p);
        if (at < g.count) g.next[last[at]] = i;
        else g.first[g.count++] = i;
        last[at] = i;
    }
    return g;
}

/* ---- threads ----------------------------------------------------------------------------------------------------- */

static bool stopped(const cm__timing *t) { return t->o->stop && *t->o->stop; }

/* True: not even one layer fits. Activations grow with the samples, so testing one sample is enough. */
static bool too_large(cm__model *m, const cm_plan *p)
{
    if (m->whole) return false;
    int32_t one = cm__cost_sizes_at(m, p, 1, 1); /* may reallocate the costs */
    bool    here = m->costs[one].kept_bytes * (double)p->micro_batch / p->cp > m->capacity_bytes;
    return here && (!m->sharded || too_large(m->sharded, p));
}

/* A place whose layers are to be timed. */
typedef struct waiting {
    double  least_s; /* of cm__least_step() */
    int32_t place;
    bool    fits[2]; /* of cm__find_fitting() */
} waiting;

/* The sizes of the layers at a place. False: no time is wanted, as no plan there fits. */
static bool measure(cm__model *m, cm__spot *place, waiting *w)
{
    const cm_plan *p = &place->plan;
    place->cost = cm__cost_sizes_at(m, p, p->micro_batch, p->cp);
    if (m->sharded) place->sharded = cm__cost_sizes_at(m->sharded, p, p->micro_batch, p->cp);
    w->fits[0] = w->fits[1] = true;
    if (m->whole) return true;
    cm__find_fitting(m, place, w->fits);
    w->least_s = cm__least_step(m, place);
    return w->fits[0] || w->fits[1];
}

static void time_place(cm__model *m, const cm__spot *place, const waiting *w)
{
    const cm_plan *p = &place->plan;
    if (w->fits[0] || !m->sharded) cm__cost_time(m, place->cost, p, p->micro_batch);
    if (m->sharded && w->fits[1]) cm__cost_time(m->sharded, place->sharded, p, p->micro_batch);
}

static int by_least(const void *a, const void *b)
{
    const waiting *x = a, *y = b;
    return x->least_s != y->least_s ? (x->least_s < y->least_s ? -1 : 1) : x->place - y->place;
}

#define ROUNDING 1e-9

/* If only the fastest plans are wanted, places with the least communication come first, and the others are not timed
   when none of them can have one of the best. */
static void time_waiting(const cm__timing *t, cm__model *m, waiting *all, int32_t count, cm__best *best)
{
    bool ordered = t->fastest && !m->whole;
    if (ordered) qsort(all, (size_t)count, sizeof *all, by_least);
    for (int32_t i = 0; i < count; i++) {
        cm__spot *place = &t->spots[all[i].place];
        bool      full = ordered && best->count == CM__KEPT;
        if (full && all[i].least_s > best->list[CM__KEPT - 1].score * (1 + ROUNDING)) place->slow = true;
        else if (stopped(t)) place->cost = -1;
        else {
            time_place(m, place, &all[i]);
            if (ordered) cm__evaluate(m, place, t->first[all[i].place], NULL, NULL, best);
            place->done = ordered;
        }
    }
}

static void time_groups(cm__ctx *ctx, dealing *d, cm__model *m, int32_t index, cm__best *best)
{
    const cm__timing *t = d->t;
    waiting          *all = cm__alloc_array(ctx, (size_t)t->n_spots + 1, sizeof *all);
    int32_t           count = 0;
    for (int32_t g; (g = atomic_fetch_add(&d->next, 1)) < d->groups.count;) {
        d->groups.taker[g] = index;
        for (int32_t i = d->groups.first[g]; i >= 0 && !stopped(t); i = d->groups.next[i]) {
            cm__spot *place = &t->spots[i];
            all[count] = (waiting){.place = i};
            if (too_large(m, &place->plan)) place->cost = CM__TOO_LARGE;
            else count += measure(m, place, &all[count]);
        }
    }
    time_waiting(t, m, all, count, best);
}

static void *run(void *argument)
{
    worker           *w = argument;
    const cm__timing *t = w->deal->t;
    w->ctx = cm__ctx_new(&w->diag);
    w->status = CM_ERR_MEMORY;
    if (!w->ctx) return NULL;
    if (setjmp(w->ctx->trap)) {
        w->status = w->ctx->status;
        return NULL;
    }
    w->m = cm__model_for(w->ctx, t->forward, t->device, t->o, t->m->shared);
    cm__model_runs_operators(w->m);
    time_groups(w->ctx, w->deal, w->m, w->index, &w->best);
    w->status = CM_OK;
    return NULL;
}

/* Returns the index that the first of the costs has there. */
static int32_t append_costs(cm__model *to, const cm__model *from)
{
    int32_t first = to->n_costs;
    for (int32_t i = 0; i < from->n_costs; i++) cm__cost_keep(to, &from->costs[i]);
    return first;
}

static void take_costs(const dealing *d, const worker *w)
{
    const cm__timing *t = d->t;
    int32_t           first = append_costs(t->m, w->m);
    int32_t           sharded = t->m->sharded ? append_costs(t->m->sharded, w->m->sharded) : 0;
    if (t->fastest) cm__best_merge(t->fastest, &w->best);
    for (int32_t g = 0; g < d->groups.count; g++)
        for (int32_t i = d->groups.taker[g] == w->index ? d->groups.first[g] : -1; i >= 0; i = d->groups.next[i]) {
            if (t->spots[i].cost >= 0) t->spots[i].cost += first;
            if (t->spots[i].sharded >= 0) t->spots[i].sharded += sharded;
        }
}

static void free_workers(worker *workers, int32_t count)
{
    for (int32_t i = 0; i < count; i++) cm__ctx_free(workers[i].ctx);
}

/* The calling thread is one of them, if others cannot be started the only one. */
static void run_workers(cm__ctx *ctx, dealing *d, int32_t count)
{
    worker   *workers = cm__alloc_array(ctx, THREADS_MOST, sizeof *workers);
    pthread_t threads[THREADS_MOST];
    int32_t   started = 0;
    for (int32_t i = 0; i < count; i++) workers[i] = (worker){.deal = d, .index = i};
    while (started + 1 < count && pthread_create(&threads[started], NULL, run, &workers[started + 1]) == 0) started++;
    run(&workers[0]);
    for (int32_t i = 0; i < started; i++) pthread_join(threads[i], NULL);
    for (int32_t i = 0; i <= started; i++) {
        if (!workers[i].status) continue;
        cm_status status = workers[i].status;
        if (ctx->diag) *ctx->diag = workers[i].diag;
        free_workers(workers, started + 1);
        cm__pass_on(ctx, status);
    }
    for (int32_t i = 0; i <= started; i++) take_costs(d, &workers[i]);
    free_workers(workers, started + 1);
}

void cm__time_spots(cm__ctx *ctx, const cm__timing *t)
{
    long    cores = sysconf(_SC_NPROCESSORS_ONLN);
    int32_t threads = t->o->threads ? t->o->threads : cores > 0 ? (int32_t)cores : 1;
    dealing d = {.t = t, .groups = find_groups(ctx, t)};
    if (threads > THREADS_MOST) threads = THREADS_MOST;
    if (threads > d.groups.count) threads = d.groups.count;
    cm__best unused = {.count = 0};
    if (threads < 2) time_groups(ctx, &d, t->m, 0, t->fastest ? t->fastest : &unused);
    else run_workers(ctx, &d, threads);
}
