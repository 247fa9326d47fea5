/* SPDX-License-Identifier: Apache-2.0 */
/* memo.c - an open hash table behind a lock; where there is no memory for it, it forgets. */
#include "model/memo.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef struct entry {
    const void *table; /* NULL: free */
    float       features[CM__FEATURES];
    cm__kriged  value;
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

static entry key_of(const void *table, const float *features, int count)
{
    entry key = {.table = table};
    memcpy(key.features, features, (size_t)count * sizeof *features);
    return key;
}

/* Where an entry of this key is, or would be. */
static size_t place_of(const entry *entries, size_t capacity, const entry *key)
{
    uint64_t hash = (uintptr_t)key->table;
    uint32_t word;
    for (int i = 0; i < CM__FEATURES; i++) {
        memcpy(&word, &key->features[i], sizeof word);
        hash = (hash ^ word) * 0xff51afd7ed558ccdu;
        hash ^= hash >> 32;
    }
    size_t at = (size_t)hash & (capacity - 1);
    while (entries[at].table && (entries[at].table != key->table ||
                                 memcmp(entries[at].features, key->features, sizeof key->features) != 0))
        at = (at + 1) & (capacity - 1);
    return at;
}

bool cm__memo_find(cm__memo *m, const void *table, const float *features, int count, cm__kriged *found)
{
    entry key = key_of(table, features, count);
    bool  there = false;
    pthread_mutex_lock(&m->lock);
    if (m->count) {
        const entry *e = &m->entries[place_of(m->entries, m->capacity, &key)];
        there = e->table != NULL;
        if (there) *found = e->value;
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
    for (size_t i = 0; i < m->capacity; i++)
        if (m->entries[i].table) entries[place_of(entries, capacity, &m->entries[i])] = m->entries[i];
    free(m->entries);
    m->entries = entries;
    m->capacity = capacity;
    return true;
}

void cm__memo_keep(cm__memo *m, const void *table, const float *features, int count, const cm__kriged *value)
{
    entry key = key_of(table, features, count);
    key.value = *value;
    pthread_mutex_lock(&m->lock);
    if (make_room(m)) {
        entry *e = &m->entries[place_of(m->entries, m->capacity, &key)];
        m->count += !e->table;
        *e = key;
    }
    pthread_mutex_unlock(&m->lock);
}
