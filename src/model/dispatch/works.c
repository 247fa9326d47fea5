/* SPDX-License-Identifier: Apache-2.0 */
/* works.c - a table of FLOP and bytes for each batch size that is a power of two. */
#include "model/dispatch/works.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>

#define POWERS 32

struct cm__works {
    pthread_mutex_t lock;
    cm__workload       *at[POWERS]; /* NULL: not needed yet */
};

static void release(void *object)
{
    cm__works *w = object;
    for (int i = 0; i < POWERS; i++) free(w->at[i]);
    pthread_mutex_destroy(&w->lock);
}

cm__works *cm__works_new(cm__ctx *ctx)
{
    cm__works *w = cm__alloc(ctx, sizeof *w);
    if (pthread_mutex_init(&w->lock, NULL)) cm__fail(ctx, CM_ERR_MEMORY, "cannot create a lock");
    cm__defer(ctx, release, w);
    return w;
}

cm__workload cm__workload_of(const cm__sized_call *sized, double batch)
{
    cm__call call;
    cm__workload work;
    cm__call_at(sized, batch, &call);
    cm__call_work(&call, &work.flop, &work.bytes);
    return work;
}

static cm__workload *works_of(const cm__dispatch *d, double batch)
{
    cm__workload *works = malloc(((size_t)d->n_calls + 1) * sizeof *works);
    for (int32_t i = 0; works && i < d->n_calls; i++) works[i] = cm__workload_of(&d->calls[i], batch);
    return works;
}

const cm__workload *cm__works_at(const cm__dispatch *d, double batch)
{
    int    power;
    double half = frexp(batch, &power);
    if (!d->works || half != 0.5 || power < 1 || power > POWERS) return NULL;
    cm__workload **works = &d->works->at[power - 1];
    pthread_mutex_lock(&d->works->lock);
    if (!*works) *works = works_of(d, batch);
    const cm__workload *found = *works;
    pthread_mutex_unlock(&d->works->lock);
    return found;
}
