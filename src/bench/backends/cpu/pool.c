/* SPDX-License-Identifier: Apache-2.0 */
/* pool.c - a thread pool. Idle threads spin briefly before they sleep, so that a loop soon after starts at once. */
#include "bench/backends/cpu/pool.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include "base/ctx.h"

#define SPINS 20000 /* about 20 us: longer than the gap between two kernels, shorter than a time slice */

struct cm__pool {
    int32_t         threads;
    pthread_t      *workers; /* threads - 1 of them: the caller is a thread, too */
    pthread_mutex_t lock;
    pthread_cond_t  begin;
    atomic_uint     round;   /* counts loops */
    atomic_int      busy;
    bool            ending;
    cm__loop       *loop;
    void           *arg;
    int64_t         count;
    int32_t         started, next_core;
};

static void share(const cm__pool *p, int32_t thread)
{
    int64_t first = p->count * thread / p->threads, last = p->count * (thread + 1) / p->threads;
    if (last > first) p->loop(p->arg, first, last);
}

static void await_round(cm__pool *p, unsigned seen)
{
    for (int i = 0; i < SPINS; i++)
        if (atomic_load_explicit(&p->round, memory_order_acquire) != seen) return;
    pthread_mutex_lock(&p->lock);
    while (atomic_load_explicit(&p->round, memory_order_acquire) == seen) pthread_cond_wait(&p->begin, &p->lock);
    pthread_mutex_unlock(&p->lock);
}

static void *work(void *object)
{
    cm__pool *p = object;
    unsigned  seen = 0;
    pthread_mutex_lock(&p->lock);
    int32_t thread = ++p->next_core;
    pthread_mutex_unlock(&p->lock);
    cm__bind_thread(thread);
    for (;;) {
        await_round(p, seen);
        seen++;
        if (p->ending) return NULL;
        share(p, thread);
        atomic_fetch_sub_explicit(&p->busy, 1, memory_order_release);
    }
}

static void begin_round(cm__pool *p)
{
    atomic_store(&p->busy, p->threads - 1);
    pthread_mutex_lock(&p->lock);
    atomic_fetch_add_explicit(&p->round, 1, memory_order_release);
    pthread_cond_broadcast(&p->begin);
    pthread_mutex_unlock(&p->lock);
}

cm_status cm__pool_new(int32_t threads, cm__pool **pool, cm_diag *diag)
{
    cm__pool *p = calloc(1, sizeof *p);
    if (p) p->workers = calloc((size_t)threads, sizeof *p->workers);
    if (!p || !p->workers) {
        free(p);
        return cm__diag_set(diag, CM_ERR_MEMORY, "out of memory for %d threads", threads);
    }
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->begin, NULL);
    p->threads = threads;
    for (p->started = 0; p->started < threads - 1; p->started++)
        if (pthread_create(&p->workers[p->started], NULL, work, p) != 0) {
            cm__pool_free(p);
            return cm__diag_set(diag, CM_ERR_UNSUPPORTED, "cannot start %d threads; try fewer with --threads",
                                threads);
        }
    *pool = p;
    return CM_OK;
}

void cm__pool_free(cm__pool *p)
{
    if (!p) return;
    p->ending = true;
    begin_round(p);
    for (int32_t i = 0; i < p->started; i++) pthread_join(p->workers[i], NULL);
    pthread_cond_destroy(&p->begin);
    pthread_mutex_destroy(&p->lock);
    free(p->workers);
    free(p);
}

int32_t cm__pool_threads(const cm__pool *p) { return p->threads; }

void cm__pool_run(cm__pool *p, cm__loop *loop, void *arg, int64_t count, int64_t grain)
{
    if (p->threads == 1 || count < 2 * grain) {
        loop(arg, 0, count);
        return;
    }
    p->loop = loop;
    p->arg = arg;
    p->count = count;
    begin_round(p);
    share(p, 0);
    while (atomic_load_explicit(&p->busy, memory_order_acquire) > 0)
        ;
}
