/* SPDX-License-Identifier: Apache-2.0 */
/* rows.c - prepare the rows of kernel tables for kriging. */
#include "model/time/rows.h"

#include <math.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include "base/text.h"
#include "device/row_sizes.h"
#include "model/time/arranged.h"
#include "model/time/features.h"
#include "model/time/trend.h"

/* ---- calls of rows ---------------------------------------------------------------------------------------------- */

bool cm__shapeless(const cm__call *c) { return c->op == CM__CALL_ELEMENTWISE && !cm__form_of(c->variant); }

void cm__drop_shape(cm__call *c)
{
    int64_t *outer = &c->sizes[CM__ELEMENTWISE_OUTER], *inner = &c->sizes[CM__ELEMENTWISE_INNER], product;
    if (!cm__shapeless(c) || *outer <= 0 || __builtin_mul_overflow(*outer, *inner, &product)) return;
    *inner = product;
    *outer = 1;
}

cm__call cm__call_of_table(const cm__kernel_table *t)
{
    return (cm__call){.op = t->op, .pass = t->pass, .variant = t->variant, .types = t->types};
}

void cm__set_row(cm__call *c, const cm__kernel_table *t, int32_t row)
{
    cm__row_unpack(t, row, c->sizes);
}

/* ---- preparation ------------------------------------------------------------------------------------------------ */

/* Parts of one block of memory that holds all rows of some tables. */
typedef struct room {
    cm__rows          *rows;
    _Atomic(float *)  *blocks;  /* of each built-in table */
    float            **unused;  /* of all built-in tables: the rest of the memory for their features */
    float             *floats;  /* sorted features and values of each other table */
    float             *plain;   /* features and values of one table in its own order */
    float             *later;   /* features of built-in tables, of which few are ever computed */
    uint16_t          *numbers; /* which row of the table is where, then the bounds of the blocks of rows */
} room;

static int width_of(cm__tables t) { return t.count ? cm__n_features(t.all[0]->op) : 0; }

/* How much of each part some tables need. */
typedef struct extent {
    size_t blocks, floats, plain, later, numbers;
} extent;

static extent extent_of(cm__tables t, const cm__limits *limits)
{
    extent e = {0};
    int    width = width_of(t);
    for (int32_t i = 0; i < t.count; i++) {
        size_t count = (size_t)t.all[i]->n_rows, plain = count * ((size_t)width + 1);
        if (cm__arranged_find(t.all[i], limits)) {
            e.blocks += cm__blocks(count);
            e.later += cm__features_floats(count, width);
        } else {
            e.floats += cm__rows_floats(count, width);
            e.numbers += cm__rows_numbers(count, width);
            if (plain > e.plain) e.plain = plain;
        }
    }
    return e;
}

/* Returns the size of the block. block: NULL if it is not allocated yet. */
static size_t lay_out(cm__tables t, const cm__limits *limits, char *block, room *out)
{
    extent e = extent_of(t, limits);
    size_t at_blocks = (size_t)t.count * sizeof *out->rows, at_unused = at_blocks + e.blocks * sizeof *out->blocks;
    size_t at_floats = at_unused + sizeof *out->unused, at_plain = at_floats + e.floats * sizeof *out->floats;
    size_t at_numbers = at_plain + e.plain * sizeof *out->plain;
    size_t at_later = (at_numbers + e.numbers * sizeof *out->numbers + 63) / 64 * 64;
    if (block)
        *out = (room){(void *)block, (void *)(block + at_blocks), (void *)(block + at_unused),
                      (void *)(block + at_floats),
                      (void *)(block + at_plain), (void *)(block + at_later), (void *)(block + at_numbers)};
    if (block) *out->unused = out->later;
    return at_later + e.later * sizeof *out->later;
}

/* Features, and log ratios less their trend, in the order of the table. */
static void describe(const cm__kernel_table *t, const cm__limits *limits, size_t width, float *features, float *values)
{
    cm__call c = cm__call_of_table(t);
    for (int32_t i = 0; i < t->n_rows; i++, features += width) {
        cm__set_row(&c, t, i);
        cm__drop_shape(&c);
        double roofline = cm__features(&c, limits, features);
        values[i] = (float)log((double)cm__row_time(t, i) / roofline) - cm__trend(t, &c, limits);
    }
}

static cm__rows take_arranged(const cm__arranged *a, const cm__kernel_table *t, room *free)
{
    _Atomic(float *) *blocks = free->blocks;
    size_t            count = cm__blocks((size_t)t->n_rows);
    for (size_t i = 0; i < count; i++) atomic_init(&blocks[i], NULL);
    free->blocks += count;
    return cm__arranged_rows(a, t, blocks, free->unused);
}

static cm__rows prepare_table(const cm__kernel_table *t, const cm__limits *limits, int width, room *free)
{
    const cm__arranged *a = cm__arranged_find(t, limits);
    if (a) return take_arranged(a, t, free);
    size_t count = (size_t)t->n_rows;
    float *features = free->plain, *values = features + count * (size_t)width;
    describe(t, limits, (size_t)width, features, values);
    cm__rows rows = cm__rows_arrange(features, values, width, count, free->floats, free->numbers);
    rows.pass = t->pass;
    free->floats += cm__rows_floats(count, width);
    free->numbers += cm__rows_numbers(count, width);
    return rows;
}

bool cm__alike_in_16_bits(int op) { return op != CM__CALL_BATCH_NORM; }

static bool same_types(int op, cm__types a, cm__types b)
{
    return a == b || (cm__types_16_bits(a) && cm__types_16_bits(b) && cm__alike_in_16_bits(op));
}

/* A variant or type is identified by the index of the first table that has it. Most tables have those of the table
   before. */
static int32_t first_with_variant(cm__tables tables, int32_t before, cm__variant variant)
{
    int32_t i = tables.all[before]->variant == variant ? before : 0;
    while (tables.all[i]->variant != variant) i++;
    return i;
}

static int32_t first_with_type(cm__tables tables, int32_t before, const cm__kernel_table *t)
{
    int32_t i = same_types(t->op, tables.all[before]->types, t->types) ? before : 0;
    while (!same_types(t->op, tables.all[i]->types, t->types)) i++;
    return i;
}

static const cm__rows *prepare(cm__tables tables, const cm__limits *limits, void *block)
{
    room parts;
    lay_out(tables, limits, block, &parts);
    cm__rows *rows = parts.rows;
    for (int32_t i = 0; i < tables.count; i++) {
        const cm__kernel_table *t = tables.all[i];
        rows[i] = prepare_table(t, limits, width_of(tables), &parts);
        rows[i].variant = first_with_variant(tables, i ? rows[i - 1].variant : 0, t->variant);
        rows[i].dtype = first_with_type(tables, i ? rows[i - 1].dtype : 0, t);
    }
    return rows;
}

/* ---- shelf ------------------------------------------------------------------------------------------------------ */

typedef struct prepared {
    struct prepared        *next;
    const cm__kernel_table *first; /* with the last one it identifies the tables, because a device's are in order */
    const cm__kernel_table *last;
    int32_t                 count;
    cm__limits              limits;
    const cm__rows         *rows; /* in the same block of memory */
} prepared;

/* One list per operator, so that threads rarely wait for each other. */
typedef struct list {
    pthread_mutex_t lock;
    prepared       *first;
} list;

struct cm__shelf {
    list lists[CM__CALLS];
    int  count; /* lists with an initialised lock */
};

static void release(void *object)
{
    cm__shelf *s = object;
    for (list *l = s->lists; l < s->lists + s->count; l++) {
        pthread_mutex_destroy(&l->lock);
        for (prepared *p = l->first, *next; p; p = next) {
            next = p->next;
            free(p);
        }
    }
}

cm__shelf *cm__shelf_new(cm__ctx *ctx)
{
    cm__shelf *s = cm__alloc(ctx, sizeof *s);
    cm__defer(ctx, release, s);
    for (; s->count < CM__CALLS; s->count++)
        if (pthread_mutex_init(&s->lists[s->count].lock, NULL)) cm__fail(ctx, CM_ERR_MEMORY, "cannot create a lock");
    return s;
}

static const prepared *find(const prepared *p, cm__tables t, const cm__limits *limits)
{
    for (; p; p = p->next)
        if (p->first == t.all[0] && p->last == t.all[t.count - 1] && p->count == t.count &&
            memcmp(&p->limits, limits, sizeof *limits) == 0)
            break;
    return p;
}

/* NULL: no memory. */
static const prepared *add(list *l, cm__tables t, const cm__limits *limits)
{
    size_t    header = (sizeof(prepared) + sizeof(max_align_t) - 1) / sizeof(max_align_t) * sizeof(max_align_t);
    prepared *p = malloc(header + lay_out(t, limits, NULL, NULL));
    if (!p) return NULL;
    *p = (prepared){.next = l->first, .first = t.all[0], .last = t.all[t.count - 1], .count = t.count,
                    .limits = *limits};
    p->rows = prepare(t, limits, (char *)p + header);
    return l->first = p;
}

const cm__rows *cm__rows_of(cm__ctx *ctx, cm__shelf *shelf, cm__tables tables, const cm__limits *limits)
{
    const prepared *p = NULL;
    if (shelf && tables.count) {
        list *l = &shelf->lists[tables.all[0]->op];
        pthread_mutex_lock(&l->lock);
        p = find(l->first, tables, limits);
        if (!p) p = add(l, tables, limits);
        pthread_mutex_unlock(&l->lock);
    }
    return p ? p->rows : prepare(tables, limits, cm__alloc(ctx, lay_out(tables, limits, NULL, NULL)));
}
