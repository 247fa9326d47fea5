/* SPDX-License-Identifier: Apache-2.0 */
/* map.c - hash table: open addressing, linear probing, FNV-1a over words of eight bytes. */
#include "base/map.h"

#include <string.h>

typedef struct cm__slot {
    cm__span key;
    uint32_t hash;
    int32_t  value;
    bool     used;
} slot;

/* A multiplication carries only to higher bits; the shift brings them back down. */
static uint32_t hash_of(cm__span key)
{
    uint64_t h = 1469598103934665603u;
    size_t   i = 0;
    for (uint64_t word; i + sizeof word <= key.length; i += sizeof word) {
        memcpy(&word, key.text + i, sizeof word);
        h = (h ^ word) * 1099511628211u;
        h ^= h >> 29;
    }
    for (; i < key.length; i++) h = (h ^ (unsigned char)key.text[i]) * 1099511628211u;
    return (uint32_t)(h ^ (h >> 32));
}

static bool same(cm__span a, cm__span b)
{
    return a.length == b.length && (a.length == 0 || memcmp(a.text, b.text, a.length) == 0);
}

static slot *find(slot *slots, uint32_t capacity, cm__span key, uint32_t hash)
{
    for (uint32_t i = hash & (capacity - 1);; i = (i + 1) & (capacity - 1)) {
        slot *s = &slots[i];
        if (!s->used) return s;
        if (s->hash == hash && same(s->key, key)) return s;
    }
}

void cm__map_init(cm__map *map, cm__ctx *ctx) { *map = (cm__map){.ctx = ctx}; }

int32_t cm__map_get(const cm__map *map, cm__span key)
{
    if (!map->capacity) return -1;
    const slot *s = find(map->slots, map->capacity, key, hash_of(key));
    return s->used ? s->value : -1;
}

static void grow(cm__map *map)
{
    uint32_t capacity = map->capacity ? map->capacity * 2 : 64;
    slot    *slots = cm__alloc_array(map->ctx, capacity, sizeof *slots);
    for (uint32_t i = 0; i < map->capacity; i++)
        if (map->slots[i].used) *find(slots, capacity, map->slots[i].key, map->slots[i].hash) = map->slots[i];
    map->slots = slots;
    map->capacity = capacity;
}

bool cm__map_put(cm__map *map, cm__span key, int32_t value)
{
    if ((map->count + 1) * 2 > map->capacity) grow(map);
    uint32_t hash = hash_of(key);
    slot    *s = find(map->slots, map->capacity, key, hash);
    bool     fresh = !s->used;
    *s = (slot){.key = key, .hash = hash, .value = value, .used = true};
    map->count += fresh;
    return fresh;
}

cm__span cm__span_of(const char *text) { return (cm__span){text, strlen(text)}; }

/* Most texts differ in their first letter. */
bool cm__span_is(cm__span span, const char *text)
{
    return (!span.length || *span.text == *text) && same(span, cm__span_of(text));
}
