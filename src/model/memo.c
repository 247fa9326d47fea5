/* SPDX-License-Identifier: Apache-2.0 */
/* memo.c - an open hash table behind a lock; where there is no memory for it, it forgets. */
#include "model/memo.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef struct entry {
    const void *table; /* NULL: free */
    uint64_t    hash;
    cm__call    call;
    cm__told    told;
} entry;

struct cm__memo {
    pthread_mutex_t lock;
    entry          *entries;
    size_t          count, capacity; /* a power of two */
};

static void release(void *object)
{
    cm__memo *m = object;
    pthread_mutex_destroy(&m->lock);
    free(m->entries);
}

cm__memo *cm__memo_new(cm__ctx *ctx)
{
    cm__memo *m = cm__alloc(ctx, sizeof *m);
    if (pthread_mutex_init(&m->lock, NULL)) cm__fail(ctx, CM_ERR_MEMORY, "no lock to be had");
    cm__defer(ctx, release, m);
    return m;
}

/* Texts are zeroed to their end, and sizes beyond a call's own are zero. */
static uint64_t hash_of(const void *table, const cm__call *call)
{
    uint64_t hash = (uintptr_t)table ^ (uint64_t)(call->op * 8 + call->pass), word;
    const char *texts[] = {call->variant, call->dtype};
    for (int t = 0; t < 2; t++)
        for (size_t i = 0; i < CM__CALL_TEXT; i += sizeof word) {
            memcpy(&word, texts[t] + i, sizeof word);
            hash = (hash ^ word) * 0xff51afd7ed558ccdu;
        }
    for (int i = 0; i < CM__CALL_SIZES; i++) {
        hash = (hash ^ (uint64_t)call->sizes[i]) * 0xff51afd7ed558ccdu;
        hash ^= hash >> 32;
    }
    return hash;
}

static bool same_call(const cm__call *a, const cm__call *b)
{
    return a->op == b->op && a->pass == b->pass && memcmp(a->sizes, b->sizes, sizeof a->sizes) == 0 &&
           memcmp(a->variant, b->variant, sizeof a->variant) == 0 && memcmp(a->dtype, b->dtype, sizeof a->dtype) == 0;
}

/* Where an entry is, or would be. */
static size_t place_of(const entry *entries, size_t capacity, const void *table, const cm__call *call, uint64_t hash)
{
    size_t at = (size_t)hash & (capacity - 1);
    while (entries[at].table && (entries[at].hash != hash || entries[at].table != table ||
                                  !same_call(&entries[at].call, call)))
        at = (at + 1) & (capacity - 1);
    return at;
}

bool cm__memo_find(cm__memo *m, const void *table, const cm__call *call, cm__told *told)
{
    uint64_t hash = hash_of(table, call);
    bool     there = false;
    pthread_mutex_lock(&m->lock);
    if (m->count) {
        const entry *e = &m->entries[place_of(m->entries, m->capacity, table, call, hash)];
        there = e->table != NULL;
        if (there) *told = e->told;
    }
    pthread_mutex_unlock(&m->lock);
    return there;
}

static bool make_room(cm__memo *m)
{
    if (m->count * 2 < m->capacity) return true;
    size_t capacity = m->capacity ? m->capacity * 2 : 1024;
    entry *entries = calloc(capacity, sizeof *entries);
    if (!entries) return false;
    for (size_t i = 0; i < m->capacity; i++) {
        const entry *e = &m->entries[i];
        if (e->table) entries[place_of(entries, capacity, e->table, &e->call, e->hash)] = *e;
    }
    free(m->entries);
    m->entries = entries;
    m->capacity = capacity;
    return true;
}

void cm__memo_keep(cm__memo *m, const void *table, const cm__call *call, const cm__told *told)
{
    entry new = {.table = table, .hash = hash_of(table, call), .call = *call, .told = *told};
    pthread_mutex_lock(&m->lock);
    if (make_room(m)) {
        entry *e = &m->entries[place_of(m->entries, m->capacity, table, call, new.hash)];
        m->count += !e->table;
        *e = new;
    }
    pthread_mutex_unlock(&m->lock);
}
