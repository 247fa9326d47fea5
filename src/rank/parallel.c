/* SPDX-License-Identifier: Apache-2.0 */
/* parallel.c - run independent tasks on a few threads. */
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>
#include "rank/parallel.h"

#define THREADS_MOST 8

typedef struct work {
    void (*run)(void *user, int32_t index);
    void          *user;
    int32_t        count;
    _Atomic int32_t taken;         /* tasks at both ends; it may exceed the count */
    _Atomic int32_t first, behind; /* tasks that were taken at each end */
} work;

static void *take(void *argument)
{
    work *w = argument;
    while (atomic_fetch_add(&w->taken, 1) < w->count) w->run(w->user, atomic_fetch_add(&w->first, 1));
    return NULL;
}

/* Neighbours on a list need much in common, and would wait until one of them has made it. */
static void *take_from_behind(void *argument)
{
    work *w = argument;
    while (atomic_fetch_add(&w->taken, 1) < w->count)
        w->run(w->user, w->count - 1 - atomic_fetch_add(&w->behind, 1));
    return NULL;
}

void cm__parallel(int32_t threads, int32_t count, void (*run)(void *user, int32_t index), void *user)
{
    work      w = {.run = run, .user = user, .count = count};
    pthread_t others[THREADS_MOST];
    long      cores = sysconf(_SC_NPROCESSORS_ONLN);
    int32_t   n = threads > 0 ? threads : cores > 0 ? (int32_t)cores : 1, started = 0;
    if (n > THREADS_MOST) n = THREADS_MOST;
    if (n > count) n = count;
    while (started < n - 1 && pthread_create(&others[started], NULL, started % 2 ? take : take_from_behind, &w) == 0)
        started++;
    take(&w);
    for (int32_t i = 0; i < started; i++) pthread_join(others[i], NULL);
}
