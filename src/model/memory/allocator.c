/* SPDX-License-Identifier: Apache-2.0 */
/* allocator.c - blocks in segments, and the free ones of each pool on shelves by size. */
#include "model/memory/allocator.h"

#include <string.h>

#define MIB (1024 * 1024)
#define UNIT 512              /* kMinBlockSize */
#define SMALL_MOST MIB        /* kSmallSize */
#define SMALL_SEGMENT (2 * MIB)
#define LARGE_SEGMENT (20 * MIB)
#define OWN_SEGMENT (10 * MIB) /* kMinLargeAlloc: from here on a segment each */
#define SEGMENT_UNIT (2 * MIB)

enum { NOTHING = -2, NONE = -1 };

typedef struct block {
    int64_t size, address; /* addresses only order blocks of equal size */
    int32_t before, after; /* neighbours in the segment */
    bool    small, free;
} block;

typedef struct spare {
    int64_t address;
    int32_t block;
} spare;

/* Free blocks of one size: there are many blocks, but few sizes. The lowest address, which is taken first, is last. */
typedef struct shelf {
    int64_t size;
    spare  *spares;
    int32_t count, capacity;
} shelf;

typedef struct pool {
    shelf  *shelves; /* by size; none is empty */
    int32_t count, capacity, made; /* beyond count: room of shelves that were emptied */
} pool;

struct cm__allocator {
    cm__ctx *ctx;
    block   *blocks;
    int32_t *unused; /* places in `blocks` that hold none */
    pool     pools[2];
    int64_t  allocated, reserved, most_reserved, next_address;
    double   limit;
    int32_t  n_blocks, cap_blocks, n_unused, cap_unused;
};

cm__allocator *cm__allocator_new(cm__ctx *ctx, double limit_bytes)
{
    cm__allocator *a = cm__alloc(ctx, sizeof *a);
    a->ctx = ctx;
    a->limit = limit_bytes;
    return a;
}

/* ---- free blocks ------------------------------------------------------------------------------------------------ */

/* The first shelf with blocks of at least this size. */
static int32_t shelf_for(const pool *p, int64_t size)
{
    int32_t low = 0, high = p->count;
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if (p->shelves[middle].size < size) low = middle + 1;
        else high = middle;
    }
    return low;
}

static int32_t place_on(const shelf *s, int64_t address)
{
    int32_t low = 0, high = s->count;
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if (s->spares[middle].address > address) low = middle + 1;
        else high = middle;
    }
    return low;
}

static void add_shelf(cm__ctx *ctx, pool *p, int32_t at, int64_t size)
{
    p->shelves = cm__grow(ctx, p->shelves, p->made, &p->capacity, sizeof *p->shelves);
    if (p->made == p->count) p->shelves[p->made++] = (shelf){0};
    shelf new = p->shelves[p->count];
    memmove(&p->shelves[at + 1], &p->shelves[at], (size_t)(p->count++ - at) * sizeof *p->shelves);
    new.size = size;
    p->shelves[at] = new;
}

static void drop_shelf(pool *p, int32_t at)
{
    shelf old = p->shelves[at];
    memmove(&p->shelves[at], &p->shelves[at + 1], (size_t)(--p->count - at) * sizeof *p->shelves);
    p->shelves[p->count] = old;
}

static void put_free(cm__allocator *a, int32_t id)
{
    block  *b = &a->blocks[id];
    pool   *p = &a->pools[b->small];
    int32_t at = shelf_for(p, b->size);
    if (at == p->count || p->shelves[at].size != b->size) add_shelf(a->ctx, p, at, b->size);
    shelf  *s = &p->shelves[at];
    int32_t place = place_on(s, b->address);
    s->spares = cm__grow(a->ctx, s->spares, s->count, &s->capacity, sizeof *s->spares);
    memmove(&s->spares[place + 1], &s->spares[place], (size_t)(s->count++ - place) * sizeof *s->spares);
    s->spares[place] = (spare){b->address, id};
    b->free = true;
}

static int32_t take_at(cm__allocator *a, pool *p, int32_t at, int32_t place)
{
    shelf  *s = &p->shelves[at];
    int32_t id = s->spares[place].block;
    memmove(&s->spares[place], &s->spares[place + 1], (size_t)(--s->count - place) * sizeof *s->spares);
    if (!s->count) drop_shelf(p, at);
    a->blocks[id].free = false;
    return id;
}

static void take_free(cm__allocator *a, int32_t id)
{
    block  *b = &a->blocks[id];
    pool   *p = &a->pools[b->small];
    int32_t at = shelf_for(p, b->size);
    take_at(a, p, at, place_on(&p->shelves[at], b->address));
}

/* ---- blocks ----------------------------------------------------------------------------------------------------- */

static int32_t new_block(cm__allocator *a, block contents)
{
    int32_t id;
    if (a->n_unused) id = a->unused[--a->n_unused];
    else {
        a->blocks = cm__grow(a->ctx, a->blocks, a->n_blocks, &a->cap_blocks, sizeof *a->blocks);
        id = a->n_blocks++;
    }
    a->blocks[id] = contents;
    return id;
}

static void forget_block(cm__allocator *a, int32_t id)
{
    a->unused = cm__grow(a->ctx, a->unused, a->n_unused, &a->cap_unused, sizeof *a->unused);
    a->unused[a->n_unused++] = id;
}

/* `id` swallows the block after it. */
static void join_next(cm__allocator *a, int32_t id)
{
    int32_t gone = a->blocks[id].after;
    a->blocks[id].size += a->blocks[gone].size;
    a->blocks[id].after = a->blocks[gone].after;
    if (a->blocks[id].after != NONE) a->blocks[a->blocks[id].after].before = id;
    forget_block(a, gone);
}

static void split(cm__allocator *a, int32_t id, int64_t size)
{
    block   whole = a->blocks[id];
    int32_t rest = new_block(a, (block){.size = whole.size - size, .address = whole.address + size, .before = id,
                                        .after = whole.after, .small = whole.small});
    if (whole.after != NONE) a->blocks[whole.after].before = rest;
    a->blocks[id].after = rest;
    a->blocks[id].size = size;
    put_free(a, rest);
}

/* ---- segments --------------------------------------------------------------------------------------------------- */

static int64_t segment_size(int64_t size)
{
    if (size <= SMALL_MOST) return SMALL_SEGMENT;
    if (size < OWN_SEGMENT) return LARGE_SEGMENT;
    return (size + SEGMENT_UNIT - 1) / SEGMENT_UNIT * SEGMENT_UNIT;
}

/* Give back every segment that is free as a whole. */
static void release_cached(cm__allocator *a)
{
    for (int small = 0; small < 2; small++) {
        pool *p = &a->pools[small];
        for (int32_t at = p->count - 1; at >= 0; at--)
            for (int32_t place = p->shelves[at].count - 1; place >= 0; place--) {
                const block *b = &a->blocks[p->shelves[at].spares[place].block];
                if (b->before != NONE || b->after != NONE) continue;
                a->reserved -= b->size;
                forget_block(a, take_at(a, p, at, place));
            }
    }
}

static int32_t new_segment(cm__allocator *a, int64_t size)
{
    int64_t whole = segment_size(size);
    if ((double)(a->reserved + whole) > a->limit) release_cached(a);
    if ((double)(a->reserved + whole) > a->limit) return NONE;
    a->reserved += whole;
    if (a->reserved > a->most_reserved) a->most_reserved = a->reserved;
    a->next_address += whole;
    return new_block(a, (block){.size = whole, .address = a->next_address - whole, .before = NONE, .after = NONE,
                                .small = size <= SMALL_MOST});
}

/* ---- the allocator ---------------------------------------------------------------------------------------------- */

int32_t cm__allocator_take(cm__allocator *a, int64_t bytes)
{
    if (bytes <= 0) return NOTHING;
    int64_t size = (bytes + UNIT - 1) / UNIT * UNIT;
    bool    small = size <= SMALL_MOST;
    pool   *p = &a->pools[small];
    int32_t at = shelf_for(p, size);
    int32_t id = at < p->count ? take_at(a, p, at, p->shelves[at].count - 1) : new_segment(a, size);
    if (id == NONE) return NONE;
    int64_t rest = a->blocks[id].size - size;
    if (small ? rest >= UNIT : rest > SMALL_MOST) split(a, id, size);
    a->allocated += a->blocks[id].size;
    return id;
}

void cm__allocator_free(cm__allocator *a, int32_t id)
{
    if (id < 0) return;
    a->allocated -= a->blocks[id].size;
    int32_t before = a->blocks[id].before, after = a->blocks[id].after;
    if (after != NONE && a->blocks[after].free) {
        take_free(a, after);
        join_next(a, id);
    }
    if (before != NONE && a->blocks[before].free) {
        take_free(a, before);
        join_next(a, before);
        id = before;
    }
    put_free(a, id);
}

int64_t cm__allocator_size(const cm__allocator *a, int32_t id) { return id < 0 ? 0 : a->blocks[id].size; }
int64_t cm__allocator_allocated(const cm__allocator *a) { return a->allocated; }
int64_t cm__allocator_reserved(const cm__allocator *a) { return a->reserved; }
int64_t cm__allocator_most_reserved(const cm__allocator *a) { return a->most_reserved; }
int64_t cm__allocator_ever_reserved(const cm__allocator *a) { return a->next_address; }
