/* SPDX-License-Identifier: Apache-2.0 */
/* numbers.c - a hash table of the calls of several dispatches, with open addressing. */
#include "model/dispatch/numbers.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef struct numbered {
    const cm__sized_call *call;
    uint64_t              hash;
} numbered;

struct cm__numbers {
    pthread_mutex_t lock;
    numbered       *calls;
    int32_t        *slots; /* number plus 1; 0: free. There are twice as many slots as calls */
    int32_t         count, room; /* room: a power of two */
};

static void release(void *object)
{
    cm__numbers *n = object;
    free(n->calls);
    free(n->slots);
    pthread_mutex_destroy(&n->lock);
}

cm__numbers *cm__numbers_new(cm__ctx *ctx)
{
    cm__numbers *n = cm__alloc(ctx, sizeof *n);
    if (pthread_mutex_init(&n->lock, NULL)) cm__fail(ctx, CM_ERR_MEMORY, "cannot create a lock");
    cm__defer(ctx, release, n);
    return n;
}

static int32_t *slot_of(const cm__numbers *n, const cm__sized_call *call, uint64_t hash)
{
    uint32_t most = 2 * (uint32_t)n->room - 1, at = (uint32_t)hash & most;
    for (; n->slots[at]; at = (at + 1) & most) {
        const numbered *x = &n->calls[n->slots[at] - 1];
        if (x->hash == hash && memcmp(x->call, call, sizeof *call) == 0) break;
    }
    return &n->slots[at];
}

static bool make_room(cm__numbers *n)
{
    if (n->count < n->room) return true;
    int32_t   room = n->room ? n->room * 2 : 1024;
    numbered *calls = realloc(n->calls, (size_t)room * sizeof *calls);
    if (calls) n->calls = calls;
    int32_t *slots = calls ? calloc(2 * (size_t)room, sizeof *slots) : NULL;
    if (!slots) return false;
    free(n->slots);
    n->slots = slots;
    n->room = room;
    for (int32_t i = 0; i < n->count; i++) *slot_of(n, n->calls[i].call, n->calls[i].hash) = i + 1;
    return true;
}

void cm__numbers_give(cm__numbers *n, cm__dispatch *d)
{
    int32_t *numbers = cm__alloc_array(d->ctx, (size_t)d->n_calls + 1, sizeof *numbers), i = 0;
    pthread_mutex_lock(&n->lock);
    for (; i < d->n_calls && n->count < INT32_MAX / 4 && make_room(n); i++) {
        int32_t *slot = slot_of(n, &d->calls[i], d->hashes[i]);
        if (!*slot) {
            n->calls[n->count] = (numbered){&d->calls[i], d->hashes[i]};
            *slot = ++n->count;
        }
        numbers[i] = *slot - 1;
    }
    pthread_mutex_unlock(&n->lock);
    if (i == d->n_calls) d->numbers = numbers;
}
