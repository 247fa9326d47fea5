/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memo.c - a cache of call times: several hash tables with open addressing, each with its own lock, so that threads
 * rarely wait for each other. Without memory for an entry, it is not cached.
 */
#include "model/time/memo.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef struct entry {
    cm__memo_key key;
    uint64_t     hash;
    cm__call     call;
    cm__memo_value value;
} entry;

#define PARTS 16

typedef struct part {
    pthread_mutex_t lock;
    entry          *entries;
    uint32_t       *places; /* index of an entry plus 1; 0: free. There are twice as many slots as entries */
    size_t          count, room; /* powers of two */
} part;

struct cm__memo {
    part            parts[PARTS];
    int             count; /* tables with an initialised lock */
    cm__shelf      *shelf;
    cm__catalogues *catalogues;
};

static void release(void *object)
{
    cm__memo *m = object;
    for (part *p = m->parts; p < m->parts + m->count; p++) {
        pthread_mutex_destroy(&p->lock);
        free(p->entries);
        free(p->places);
    }
}

cm__memo *cm__memo_new(cm__ctx *ctx)
{
    cm__memo *m = cm__alloc(ctx, sizeof *m);
    cm__defer(ctx, release, m);
    for (; m->count < PARTS; m->count++)
        if (pthread_mutex_init(&m->parts[m->count].lock, NULL)) cm__fail(ctx, CM_ERR_MEMORY, "cannot create a lock");
    m->shelf = cm__shelf_new(ctx);
    m->catalogues = cm__catalogues_new(ctx);
    return m;
}

cm__shelf      *cm__memo_shelf(cm__memo *m) { return m->shelf; }
cm__catalogues *cm__memo_catalogues(cm__memo *m) { return m->catalogues; }

static part *part_of(cm__memo *m, uint64_t hash) { return &m->parts[hash >> 60]; }

static inline uint64_t mixed(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * 0xff51afd7ed558ccdu;
    return hash ^ hash >> 32;
}

/* Two sizes are mixed at once, because each multiplication has to wait for the one before. */
static uint64_t hash_of(cm__memo_key key, const cm__call *call)
{
    uint64_t hash = (uintptr_t)key.table ^ (uint64_t)((call->op * 8 + call->pass) * CM_RUNTIMES + key.runtime);
    int      n = cm__call_kinds[call->op].n_sizes;
    hash = mixed(hash + (uint64_t)key.search + 2 * (uint64_t)key.reference, (uint64_t)call->variant << 16 | call->types);
    for (int i = 0; i < n; i += 2) {
        uint64_t second = i + 1 < n ? (uint64_t)call->sizes[i + 1] : 0;
        hash = mixed(hash, (uint64_t)call->sizes[i] ^ second * 0x9e3779b97f4a7c15u);
    }
    return hash;
}

static bool same_call(const cm__call *a, const cm__call *b)
{
    int    count = a->op == CM__CALL_ELEMENTWISE ? CM__WORK_END : cm__call_kinds[a->op].n_sizes;
    size_t sizes = (size_t)count * sizeof *a->sizes;
    return a->op == b->op && a->pass == b->pass && a->variant == b->variant && a->types == b->types &&
           memcmp(a->sizes, b->sizes, sizes) == 0;
}

static bool same_key(cm__memo_key a, cm__memo_key b)
{
    return a.table == b.table && a.runtime == b.runtime && a.search == b.search && a.reference == b.reference;
}

/* The slot of an entry, or the free slot where it would go. */
static uint32_t *place_of(const part *p, cm__memo_key key, const cm__call *call, uint64_t hash)
{
    size_t most = 2 * p->room - 1, at = (size_t)hash & most;
    for (; p->places[at]; at = (at + 1) & most) {
        const entry *e = &p->entries[p->places[at] - 1];
        if (e->hash == hash && same_key(e->key, key) && same_call(&e->call, call)) break;
    }
    return &p->places[at];
}

bool cm__memo_find(cm__memo *m, cm__memo_key key, const cm__call *call, cm__memo_value *value)
{
    uint64_t hash = hash_of(key, call);
    part    *p = part_of(m, hash);
    uint32_t place = 0;
    pthread_mutex_lock(&p->lock);
    if (p->count) place = *place_of(p, key, call, hash);
    if (place) *value = p->entries[place - 1].value;
    pthread_mutex_unlock(&p->lock);
    return place != 0;
}

static bool make_room(part *p)
{
    if (p->count < p->room) return true;
    size_t    room = p->room ? p->room * 2 : 128;
    entry    *entries = realloc(p->entries, room * sizeof *entries);
    uint32_t *places = calloc(2 * room, sizeof *places);
    if (entries) p->entries = entries;
    if (!entries || !places) {
        free(places);
        return false;
    }
    free(p->places);
    p->places = places;
    p->room = room;
    for (size_t i = 0; i < p->count; i++) {
        const entry *e = &p->entries[i];
        *place_of(p, e->key, &e->call, e->hash) = (uint32_t)i + 1;
    }
    return true;
}

void cm__memo_keep(cm__memo *m, cm__memo_key key, const cm__call *call, const cm__memo_value *value)
{
    uint64_t hash = hash_of(key, call);
    part    *p = part_of(m, hash);
    pthread_mutex_lock(&p->lock);
    if (p->count < UINT32_MAX / 2 && make_room(p)) {
        uint32_t *place = place_of(p, key, call, hash);
        if (!*place) *place = (uint32_t)++p->count;
        p->entries[*place - 1] = (entry){.key = key, .hash = hash, .call = *call, .value = *value};
    }
    pthread_mutex_unlock(&p->lock);
}
