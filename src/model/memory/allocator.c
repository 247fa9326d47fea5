/* SPDX-License-Identifier: Apache-2.0 */
/* allocator.c - blocks in segments; the free blocks of each pool are kept in lists of similar sizes. */
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
    int64_t  size, address; /* addresses only order blocks of equal size */
    int32_t  before, after; /* neighbours in the segment */
    uint16_t list;         /* of a free block */
    uint8_t  pool;
    bool     free;
} block;

/* Free blocks whose sizes differ by less than 1/8, the largest first and those of equal size by descending address: the
   block that is taken first is the last one that is large enough. */
typedef struct free_list {
    int32_t *of;
    int32_t  count, capacity;
} free_list;

#define EIGHTHS 3    /* bits: a list for each eighth between two powers of two */
#define LISTS 448u   /* enough lists for every size below 2^63 bytes */
#define WORDS (LISTS / 64)

#define LIST_FIRST 16     /* blocks that a list has room for at first */
#define BLOCKS_FIRST 1024 /* and the allocator: a step has about as many */

typedef struct free_blocks {
    free_list lists[LISTS];
    uint64_t  filled[WORDS]; /* a bit for each list that is not empty */
} free_blocks;

#define POOLS (2 * CM__STREAMS) /* of each stream: of large blocks and of small ones */

static bool is_small(uint8_t pool) { return pool % 2; }

struct cm__allocator {
    cm__ctx *ctx;
    block   *blocks;
    int32_t *unused; /* free entries of `blocks` */
    free_blocks *pools[POOLS]; /* NULL: nothing was allocated there */
    int64_t  allocated, reserved, most_reserved, next_address;
    double   limit;
    int32_t  n_blocks, cap_blocks, n_unused, cap_unused;
    bool     expandable;
    /* with expandable segments, per pool: the block at the end of its segment (NONE: unmapped), the address behind it */
    int32_t  last[POOLS];
    int64_t  mapped[POOLS];
};

cm__allocator *cm__allocator_new(cm__ctx *ctx, double limit_bytes)
{
    cm__allocator *a = cm__alloc(ctx, sizeof *a);
    a->ctx = ctx;
    a->limit = limit_bytes;
    for (int i = 0; i < POOLS; i++) a->last[i] = NONE;
    return a;
}

void cm__allocator_expand(cm__allocator *a) { a->expandable = true; }

/* ---- free blocks ------------------------------------------------------------------------------------------------ */

static uint32_t list_of(int64_t size)
{
    uint64_t units = (uint64_t)size / UNIT;
    int      high = 63 - __builtin_clzll(units | 1), shift = high > EIGHTHS ? high - EIGHTHS : 0;
    return (uint32_t)(shift << EIGHTHS) + (uint32_t)(units >> shift);
}

/* The first list from `from` on that is not empty; LISTS: none. */
static uint32_t next_filled(const free_blocks *p, uint32_t from)
{
    uint32_t word = from / 64;
    uint64_t bits = from < LISTS ? p->filled[word] >> from % 64 << from % 64 : 0;
    while (!bits && ++word < WORDS) bits = p->filled[word];
    return bits ? word * 64 + (uint32_t)__builtin_ctzll(bits) : LISTS;
}

/* Whether a block comes before another one on a list, or is the same. */
static bool comes_before(const block *a, const block *b)
{
    return (a->size > b->size) | ((a->size == b->size) & (a->address >= b->address));
}

#define SHORT 8 /* blocks of a list that are compared one by one */

/* As place_on(), of a long list: the search has no branches that nobody can predict. */
static int32_t place_by_halves(const cm__allocator *a, const free_list *s, const block *b)
{
    const int32_t *at = s->of;
    int32_t        n = s->count;
    while (n > 1) {
        int32_t half = n / 2;
        at = comes_before(&a->blocks[at[half - 1]], b) ? at + half : at;
        n -= half;
    }
    return (int32_t)(at - s->of) + comes_before(&a->blocks[*at], b);
}

/* The number of blocks on the list that come before block b, including it. Most lists have one block or none. */
static inline int32_t place_on(const cm__allocator *a, const free_list *s, const block *b)
{
    int32_t place = s->count;
    if (place > SHORT) return place_by_halves(a, s, b);
    while (place > 0 && !comes_before(&a->blocks[s->of[place - 1]], b)) place--;
    return place;
}

static void put_free(cm__allocator *a, int32_t id)
{
    block     *b = &a->blocks[id];
    free_blocks *p = a->pools[b->pool];
    uint32_t   list = list_of(b->size);
    free_list *s = &p->lists[list];
    int32_t    place = place_on(a, s, b);
    if (s->count == s->capacity)
        s->of = cm__grow_unset(a->ctx, s->of, s->count, &s->capacity, sizeof *s->of, LIST_FIRST);
    if (place < s->count) memmove(s->of + place + 1, s->of + place, (size_t)(s->count - place) * sizeof *s->of);
    s->count++;
    s->of[place] = id;
    p->filled[list / 64] |= (uint64_t)1 << list % 64;
    b->list = (uint16_t)list;
    b->free = true;
}

static int32_t take_at(cm__allocator *a, free_blocks *p, uint32_t list, int32_t place)
{
    free_list *s = &p->lists[list];
    int32_t    id = s->of[place];
    s->count--;
    if (place < s->count) memmove(s->of + place, s->of + place + 1, (size_t)(s->count - place) * sizeof *s->of);
    if (!s->count) p->filled[list / 64] &= ~((uint64_t)1 << list % 64);
    a->blocks[id].free = false;
    return id;
}

static void take_free(cm__allocator *a, int32_t id)
{
    block *b = &a->blocks[id];
    free_blocks *p = a->pools[b->pool];
    take_at(a, p, b->list, place_on(a, &p->lists[b->list], b) - 1);
}

/* Takes the smallest block that is large enough, of these the one at the lowest address; NONE: there is none. */
static int32_t take_smallest(cm__allocator *a, free_blocks *p, int64_t size)
{
    uint32_t list = list_of(size);
    int32_t  place = p->lists[list].count - 1;
    while (place >= 0 && a->blocks[p->lists[list].of[place]].size < size) place--;
    if (place >= 0) return take_at(a, p, list, place);
    list = next_filled(p, list + 1);
    return list < LISTS ? take_at(a, p, list, p->lists[list].count - 1) : NONE;
}

/* ---- blocks ----------------------------------------------------------------------------------------------------- */

static int32_t new_block(cm__allocator *a, block contents)
{
    int32_t id;
    if (a->n_unused) id = a->unused[--a->n_unused];
    else {
        if (a->n_blocks == a->cap_blocks)
            a->blocks = cm__grow_unset(a->ctx, a->blocks, a->n_blocks, &a->cap_blocks, sizeof *a->blocks, BLOCKS_FIRST);
        id = a->n_blocks++;
    }
    a->blocks[id] = contents;
    return id;
}

static void forget_block(cm__allocator *a, int32_t id)
{
    if (a->n_unused == a->cap_unused)
        a->unused = cm__grow_unset(a->ctx, a->unused, a->n_unused, &a->cap_unused, sizeof *a->unused, LIST_FIRST);
    a->unused[a->n_unused++] = id;
}

/* Merges the next block into block `id`. */
static void join_next(cm__allocator *a, int32_t id)
{
    int32_t gone = a->blocks[id].after;
    a->blocks[id].size += a->blocks[gone].size;
    a->blocks[id].after = a->blocks[gone].after;
    if (a->blocks[id].after != NONE) a->blocks[a->blocks[id].after].before = id;
    if (a->last[a->blocks[id].pool] == gone) a->last[a->blocks[id].pool] = id;
    forget_block(a, gone);
}

static void split(cm__allocator *a, int32_t id, int64_t size)
{
    block   whole = a->blocks[id];
    int32_t rest = new_block(a, (block){.size = whole.size - size, .address = whole.address + size, .before = id,
                                        .after = whole.after, .pool = whole.pool});
    if (whole.after != NONE) a->blocks[whole.after].before = rest;
    if (a->last[whole.pool] == id) a->last[whole.pool] = rest;
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

static int64_t page_of(uint8_t pool) { return is_small(pool) ? SMALL_SEGMENT : LARGE_SEGMENT; }

/* Unmaps the whole pages of a free block. What is left on either side has no neighbour there any more. */
static void unmap_pages(cm__allocator *a, int32_t id)
{
    block   whole = a->blocks[id];
    int64_t page = page_of(whole.pool), end = whole.address + whole.size;
    int64_t from = (whole.address + page - 1) / page * page, to = end / page * page;
    if (to <= from) return;
    take_free(a, id);
    a->reserved -= to - from;
    int32_t left = NONE, right = NONE;
    if (from > whole.address) a->blocks[left = id].size = from - whole.address;
    else forget_block(a, id);
    if (to < end)
        right = new_block(a, (block){.size = end - to, .address = to, .before = NONE, .after = whole.after,
                                     .pool = whole.pool});
    if (whole.before != NONE) a->blocks[whole.before].after = left;
    if (left != NONE) a->blocks[left].after = NONE, put_free(a, left);
    if (whole.after != NONE) a->blocks[whole.after].before = right;
    if (right != NONE) put_free(a, right);
    if (a->last[whole.pool] == id) a->last[whole.pool] = right;
}

void cm__allocator_release_cached(cm__allocator *a)
{
    for (int32_t i = 0, count = a->n_blocks; a->expandable && i < count; i++)
        if (a->blocks[i].free) unmap_pages(a, i);
    if (a->expandable) return;
    for (int i = 0; i < POOLS; i++)
        for (uint32_t list = 0; a->pools[i] && (list = next_filled(a->pools[i], list)) < LISTS; list++)
            for (int32_t place = a->pools[i]->lists[list].count - 1; place >= 0; place--) {
                const block *b = &a->blocks[a->pools[i]->lists[list].of[place]];
                if (b->before != NONE || b->after != NONE) continue;
                a->reserved -= b->size;
                forget_block(a, take_at(a, a->pools[i], list, place));
            }
}

static int32_t new_segment(cm__allocator *a, int64_t size, uint8_t pool)
{
    int64_t whole = segment_size(size);
    if ((double)(a->reserved + whole) > a->limit) cm__allocator_release_cached(a);
    if ((double)(a->reserved + whole) > a->limit) return NONE;
    a->reserved += whole;
    if (a->reserved > a->most_reserved) a->most_reserved = a->reserved;
    a->next_address += whole;
    return new_block(a, (block){.size = whole, .address = a->next_address - whole, .before = NONE, .after = NONE,
                                .pool = pool});
}

/* Pages that the segment needs behind its last block, which is a part of the new one if it is free. */
static int64_t missing_pages(const cm__allocator *a, int64_t size, uint8_t pool)
{
    int32_t last = a->last[pool];
    int64_t page = page_of(pool), lacks = size - (last != NONE && a->blocks[last].free ? a->blocks[last].size : 0);
    return (lacks + page - 1) / page * page;
}

/* Maps pages behind the last block of the pool's segment. */
static int32_t more_pages(cm__allocator *a, int64_t size, uint8_t pool)
{
    if ((double)(a->reserved + missing_pages(a, size, pool)) > a->limit) cm__allocator_release_cached(a);
    int64_t whole = missing_pages(a, size, pool);
    if ((double)(a->reserved + whole) > a->limit) return NONE;
    a->reserved += whole;
    if (a->reserved > a->most_reserved) a->most_reserved = a->reserved;
    int32_t last = a->last[pool];
    int64_t address = a->mapped[pool];
    a->mapped[pool] += whole;
    a->next_address += whole;
    if (last != NONE && a->blocks[last].free) {
        take_free(a, last);
        a->blocks[last].size += whole;
        return last;
    }
    int32_t id = new_block(a, (block){.size = whole, .address = address, .before = last, .after = NONE,
                                      .pool = pool});
    if (last != NONE) a->blocks[last].after = id;
    return a->last[pool] = id;
}

/* ---- the allocator ---------------------------------------------------------------------------------------------- */

int32_t cm__allocator_take(cm__allocator *a, int64_t bytes, cm__stream stream)
{
    if (bytes <= 0) return NOTHING;
    int64_t size = (bytes + UNIT - 1) / UNIT * UNIT;
    bool    small = size <= SMALL_MOST;
    uint8_t pool = (uint8_t)(2 * stream + small);
    if (!a->pools[pool]) a->pools[pool] = cm__alloc(a->ctx, sizeof *a->pools[pool]);
    int32_t id = take_smallest(a, a->pools[pool], size);
    if (id == NONE) id = a->expandable ? more_pages(a, size, pool) : new_segment(a, size, pool);
    if (id == NONE) return NONE;
    int64_t rest = a->blocks[id].size - size;
    if (small || a->expandable ? rest >= UNIT : rest > SMALL_MOST) split(a, id, size);
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
