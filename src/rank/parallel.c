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
    _Atomic int32_t next;
} work;

static void *take(void *argument)
{
    work *w = argument;
    for (int32_t i; (i = atomic_fetch_add(&w->next, 1)) < w->count;) w->run(w->user, i);
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
    while (started < n - 1 && pthread_create(&others[started], NULL, take, &w) == 0) started++;
    take(&w);
    for (int32_t i = 0; i < started; i++) pthread_join(others[i], NULL);
}
