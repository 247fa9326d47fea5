/* SPDX-License-Identifier: Apache-2.0 */
/* allocator.c - blocks in segments; the free blocks of each pool are kept in lists by size. */
#include "model/memory/allocator.h"

#include <string.h>

#define MIB (1024 * 1024)
#define UNIT 512              /* kMinBlockSize */
#define SMALL_MOST MIB        /* kSmallSize */
#define SMALL_SEGMENT (2 * MIB)
#define LARGE_SEGMENT (20 * MIB)
#define OWN_SEGMENT (10 * MIB) /* kMinLargeAlloc: larger requests get a segment each */
#define SEGMENT_UNIT (2 * MIB)

enum { NOTHING = -2, NONE = -1 };

typedef struct block {
    int64_t size, address; /* addresses only order blocks of equal size */
    int32_t before, after; /* neighbours in the segment */
    bool    small, free;
} block;

typedef struct free_block {
    int64_t address;
    int32_t block;
} free_block;

/* Free blocks of one size: there are many blocks, but few sizes. The block at the lowest address is taken first and
   is stored last. */
typedef struct free_list {
    free_block *free_blocks;
    int32_t     count, capacity;
} free_list;

typedef struct pool {
    int64_t   *sizes; /* of the lists that are not empty, in ascending order */
    int32_t   *at;    /* their indices in `lists`; behind them, those of the emptied ones */
    free_list *lists;
    int32_t    count, made, cap_sizes, cap_at, cap_lists;
} pool;

struct cm__allocator {
    cm__ctx *ctx;
    block   *blocks;
    int32_t *unused; /* free entries of `blocks` */
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

/* The first list with blocks of at least this size. The search has no branches that nobody can predict. */
static int32_t list_for(const pool *p, int64_t size)
{
    const int64_t *at = p->sizes;
    int32_t        n = p->count;
    while (n > 1) {
        int32_t half = n / 2;
        at = at[half - 1] < size ? at + half : at;
        n -= half;
    }
    return n ? (int32_t)(at - p->sizes) + (*at < size) : 0;
}

/* The same for the place of an address in a list, whose addresses descend. */
static int32_t place_on(const free_list *s, int64_t address)
{
    const free_block *at = s->free_blocks;
    int32_t           n = s->count;
    if (!n || at[n - 1].address > address) return n;
    while (n > 1) {
        int32_t half = n / 2;
        at = at[half - 1].address > address ? at + half : at;
        n -= half;
    }
    return (int32_t)(at - s->free_blocks) + (at->address > address);
}

static void make_list(cm__ctx *ctx, pool *p)
{
    p->sizes = cm__grow(ctx, p->sizes, p->made, &p->cap_sizes, sizeof *p->sizes);
    p->at = cm__grow(ctx, p->at, p->made, &p->cap_at, sizeof *p->at);
    p->lists = cm__grow(ctx, p->lists, p->made, &p->cap_lists, sizeof *p->lists);
    p->lists[p->made] = (free_list){0};
    p->at[p->made] = p->made;
    p->made++;
}

/* Takes an emptied list, or makes one. */
static void add_list(cm__ctx *ctx, pool *p, int32_t at, int64_t size)
{
    if (p->made == p->count) make_list(ctx, p);
    int32_t list = p->at[p->count];
    for (int32_t i = p->count++; i > at; i--) p->sizes[i] = p->sizes[i - 1], p->at[i] = p->at[i - 1];
    p->sizes[at] = size;
    p->at[at] = list;
}

static void drop_list(pool *p, int32_t at)
{
    int32_t list = p->at[at];
    p->count--;
    for (int32_t i = at; i < p->count; i++) p->sizes[i] = p->sizes[i + 1], p->at[i] = p->at[i + 1];
    p->at[p->count] = list;
}

static void put_free(cm__allocator *a, int32_t id)
{
    block  *b = &a->blocks[id];
    pool   *p = &a->pools[b->small];
    int32_t at = list_for(p, b->size);
    if (at == p->count || p->sizes[at] != b->size) add_list(a->ctx, p, at, b->size);
    free_list *s = &p->lists[p->at[at]];
    int32_t    place = place_on(s, b->address);
    if (s->count == s->capacity)
        s->free_blocks = cm__grow(a->ctx, s->free_blocks, s->count, &s->capacity, sizeof *s->free_blocks);
    for (int32_t i = s->count++; i > place; i--) s->free_blocks[i] = s->free_blocks[i - 1];
    s->free_blocks[place] = (free_block){b->address, id};
    b->free = true;
}

static int32_t take_at(cm__allocator *a, pool *p, int32_t at, int32_t place)
{
    free_list *s = &p->lists[p->at[at]];
    int32_t    id = s->free_blocks[place].block;
    s->count--;
    for (int32_t i = place; i < s->count; i++) s->free_blocks[i] = s->free_blocks[i + 1];
    if (!s->count) drop_list(p, at);
    a->blocks[id].free = false;
    return id;
}

static void take_free(cm__allocator *a, int32_t id)
{
    block  *b = &a->blocks[id];
    pool   *p = &a->pools[b->small];
    int32_t at = list_for(p, b->size);
    take_at(a, p, at, place_on(&p->lists[p->at[at]], b->address));
}

/* ---- blocks ----------------------------------------------------------------------------------------------------- */

static int32_t new_block(cm__allocator *a, block contents)
{
    int32_t id;
    if (a->n_unused) id = a->unused[--a->n_unused];
    else {
        if (a->n_blocks == a->cap_blocks)
            a->blocks = cm__grow(a->ctx, a->blocks, a->n_blocks, &a->cap_blocks, sizeof *a->blocks);
        id = a->n_blocks++;
    }
    a->blocks[id] = contents;
    return id;
}

static void forget_block(cm__allocator *a, int32_t id)
{
    if (a->n_unused == a->cap_unused)
        a->unused = cm__grow(a->ctx, a->unused, a->n_unused, &a->cap_unused, sizeof *a->unused);
    a->unused[a->n_unused++] = id;
}

/* Merges the next block into block `id`. */
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

int64_t cm__allocator_alone(int64_t bytes)
{
    int64_t size = (bytes + UNIT - 1) / UNIT * UNIT, whole = segment_size(size);
    return size >= LARGE_SEGMENT && whole - size <= SMALL_MOST ? whole : 0;
}

/* Returns every completely free segment to the device. */
static void release_cached(cm__allocator *a)
{
    for (int small = 0; small < 2; small++) {
        pool *p = &a->pools[small];
        for (int32_t at = p->count - 1; at >= 0; at--)
            for (int32_t list = p->at[at], place = p->lists[list].count - 1; place >= 0; place--) {
                const block *b = &a->blocks[p->lists[list].free_blocks[place].block];
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
    int32_t at = list_for(p, size);
    int32_t id = at < p->count ? take_at(a, p, at, p->lists[p->at[at]].count - 1) : new_segment(a, size);
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
int64_t cm__allocator_most_reserved(const cm__allocator *a) { return a->most_reserved; }
int64_t cm__allocator_ever_reserved(const cm__allocator *a) { return a->next_address; }
