/* SPDX-License-Identifier: Apache-2.0 */
/* allocator.c - blocks in segments, and the free ones of each pool in order of size. */
#include "model/allocator.h"

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

typedef struct pool {
    int32_t *blocks; /* the free ones, by size, then address */
    int32_t  count, capacity;
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

static bool comes_before(const cm__allocator *a, int32_t id, int64_t size, int64_t address)
{
    const block *b = &a->blocks[id];
    return b->size != size ? b->size < size : b->address < address;
}

/* The first free block that does not come before (size, address). */
static int32_t position(const cm__allocator *a, const pool *p, int64_t size, int64_t address)
{
    int32_t low = 0, high = p->count;
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if (comes_before(a, p->blocks[middle], size, address)) low = middle + 1;
        else high = middle;
    }
    return low;
}

static void put_free(cm__allocator *a, int32_t id)
{
    block  *b = &a->blocks[id];
    pool   *p = &a->pools[b->small];
    int32_t at = position(a, p, b->size, b->address);
    p->blocks = cm__grow(a->ctx, p->blocks, p->count, &p->capacity, sizeof *p->blocks);
    memmove(&p->blocks[at + 1], &p->blocks[at], (size_t)(p->count++ - at) * sizeof *p->blocks);
    p->blocks[at] = id;
    b->free = true;
}

static void drop_at(pool *p, int32_t at)
{
    memmove(&p->blocks[at], &p->blocks[at + 1], (size_t)(--p->count - at) * sizeof *p->blocks);
}

static void take_free(cm__allocator *a, int32_t id)
{
    block *b = &a->blocks[id];
    pool  *p = &a->pools[b->small];
    drop_at(p, position(a, p, b->size, b->address));
    b->free = false;
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
        for (int32_t i = p->count - 1; i >= 0; i--) {
            int32_t      id = p->blocks[i];
            const block *b = &a->blocks[id];
            if (b->before != NONE || b->after != NONE) continue;
            a->reserved -= b->size;
            drop_at(p, i);
            forget_block(a, id);
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
    int32_t at = position(a, p, size, 0), id = NONE;
    if (at < p->count) {
        id = p->blocks[at];
        drop_at(p, at);
        a->blocks[id].free = false;
    } else if ((id = new_segment(a, size)) == NONE) return NONE;
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
