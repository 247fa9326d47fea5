/* SPDX-License-Identifier: Apache-2.0 */
/*
 * timing.c - time the layers at all places of a search, on several threads.
 *
 * Places with the same tensor- and expert-parallel size and the same use of sequence parallelism are one group: they
 * share kernel calls. Each thread has its own model, takes one group after the other, and gives its costs to the model
 * of the search at the end.
 */
#include "plan/timing.h"

#include <pthread.h>
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
    cm_diag    diag;
    cm_status  status;
} worker;

/* ---- groups ------------------------------------------------------------------------------------------------------ */

static bool same_group(const cm_plan *a, const cm_plan *b)
{
    return a->tp == b->tp && a->ep == b->ep && a->sequence_parallel == b->sequence_parallel;
}

static int32_t group_of(const groups *g, const cm__spot *places, const cm_plan *plan)
{
    int32_t i = 0;
    while (i < g->count && !same_group(&places[g->first[i]].plan, plan)) i++;
    return i;
}

/* Each rank times every n-th combination of sizes and micro-batch. */
static groups find_groups(cm__ctx *ctx, const cm__timing *t)
{
    size_t   most = (size_t)t->n_places + 1;
    groups   g = {.first = cm__alloc_array(ctx, most, sizeof *g.first),
                  .next = cm__alloc_array(ctx, most, sizeof *g.next),
                  .taker = cm__alloc_array(ctx, most, sizeof *g.taker)};
    int32_t *last = cm__alloc_array(ctx, most, sizeof *last), key = -1;
    cm_plan  before = {0};
    for (int32_t i = 0; i < t->n_places; i++) {
        const cm_plan *p = &t->places[i].plan;
        bool           same = same_group(p, &before) && p->cp == before.cp && p->pp == before.pp &&
                    p->micro_batch == before.micro_batch;
        if (!same) key++;
        before = *p;
        g.next[i] = -1;
        if (key % t->shares != t->share) continue;
        int32_t at = group_of(&g, t->places, p);
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

/* Times the layers at a place if a plan there fits. */
static void time_place(cm__model *m, cm__spot *place)
{
    const cm_plan *p = &place->plan;
    bool           fits[2] = {true, false};
    place->cost = cm__cost_sizes_at(m, p, p->micro_batch, p->cp);
    if (m->sharded) place->sharded = cm__cost_sizes_at(m->sharded, p, p->micro_batch, p->cp);
    bool timed = m->costs[place->cost].timed && (!m->sharded || m->sharded->costs[place->sharded].timed);
    if (timed) return; /* for another place with the same layers */
    if (!m->whole) cm__find_fitting(m, place, fits);
    if (fits[0] || (fits[1] && !m->sharded)) cm__cost_time(m, place->cost, p, p->micro_batch);
    if (m->sharded && (m->whole || fits[1])) cm__cost_time(m->sharded, place->sharded, p, p->micro_batch);
}

static void time_groups(dealing *d, cm__model *m, int32_t index)
{
    const cm__timing *t = d->t;
    for (int32_t g; (g = atomic_fetch_add(&d->next, 1)) < d->groups.count;) {
        d->groups.taker[g] = index;
        for (int32_t i = d->groups.first[g]; i >= 0 && !stopped(t); i = d->groups.next[i]) {
            cm__spot *place = &t->places[i];
            if (too_large(m, &place->plan)) place->cost = CM__TOO_LARGE;
            else time_place(m, place);
        }
    }
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
    time_groups(w->deal, w->m, w->index);
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
    for (int32_t g = 0; g < d->groups.count; g++)
        for (int32_t i = d->groups.taker[g] == w->index ? d->groups.first[g] : -1; i >= 0; i = d->groups.next[i]) {
            if (t->places[i].cost >= 0) t->places[i].cost += first;
            if (t->places[i].sharded >= 0) t->places[i].sharded += sharded;
        }
}

static void free_workers(worker *workers, int32_t count)
{
    for (int32_t i = 0; i < count; i++) cm__ctx_free(workers[i].ctx);
}

/* The calling thread is one of them, if others cannot be started the only one. */
static void run_workers(cm__ctx *ctx, dealing *d, int32_t count)
{
    worker    workers[THREADS_MOST] = {{0}};
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

void cm__time_places(cm__ctx *ctx, const cm__timing *t)
{
    long    cores = sysconf(_SC_NPROCESSORS_ONLN);
    int32_t threads = t->o->threads ? t->o->threads : cores > 0 ? (int32_t)cores : 1;
    dealing d = {.t = t, .groups = find_groups(ctx, t)};
    if (threads > THREADS_MOST) threads = THREADS_MOST;
    if (threads > d.groups.count) threads = d.groups.count;
    if (threads < 2) time_groups(&d, t->m, 0);
    else run_workers(ctx, &d, threads);
}
