/* SPDX-License-Identifier: Apache-2.0 */
/* full.c - predict several plans in full on several threads. Each thread has its own context; the plans share graphs,
   kernel calls and memory (shared.c), so that the results do not depend on the number of threads. */
#include <pthread.h>
#include <stdatomic.h>
#include "plan/search.h"

#define THREADS_MOST 8

typedef struct dealing {
    const cm__finding *finding;
    cm__tried *const  *tried;
    int32_t            count;
    atomic_int         next;
} dealing;

/* `how` is set before setjmp() and after it only through memory, so that longjmp() does not change it. */
static void *run(void *argument)
{
    dealing *d = argument;
    for (int32_t i; (i = atomic_fetch_add(&d->next, 1)) < d->count;) {
        cm__tried  *t = d->tried[i];
        cm__finding f = *d->finding;
        t->how = CM__TRY_FAILED;
        f.ctx = cm__ctx_new(NULL);
        f.steps = NULL;
        f.n_steps = f.cap_steps = 0;
        if (!f.ctx) continue;
        if (!setjmp(f.ctx->trap)) t->how = cm__find_plan(&f, &t->plan, NULL, &t->out) ? CM__TRY_FITS : CM__TRY_EXCEEDS;
        cm__ctx_free(f.ctx);
    }
    return NULL;
}

void cm__try_plans(const cm__finding *finding, cm__tried *const *tried, int32_t count, int32_t threads)
{
    dealing   d = {.finding = finding, .tried = tried, .count = count};
    pthread_t others[THREADS_MOST];
    int32_t   started = 0, wanted = threads < count ? threads : count;
    if (wanted > THREADS_MOST) wanted = THREADS_MOST;
    while (started + 1 < wanted && pthread_create(&others[started], NULL, run, &d) == 0) started++;
    run(&d);
    for (int32_t i = 0; i < started; i++) pthread_join(others[i], NULL);
}
