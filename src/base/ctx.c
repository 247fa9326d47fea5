/* SPDX-License-Identifier: Apache-2.0 */
/* ctx.c - arena, cleanups and error exit of one handle. */
#include "base/ctx.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK_BYTES ((size_t)1 << 16)
#define FIRST_BYTES ((size_t)1 << 13) /* of the first chunk: many contexts need little memory */
#define ALIGN 16u

typedef struct cm__chunk {
    struct cm__chunk *next;
    size_t            used, size;
    bool              zeroed;
    _Alignas(ALIGN) unsigned char bytes[];
} chunk;

typedef struct cm__defer {
    struct cm__defer *next;
    void (*release)(void *);
    void *object;
} deferred;

void *(*cm__chunk_alloc)(size_t count, size_t size) = calloc;

cm__ctx *cm__ctx_new(cm_diag *diag)
{
    cm__ctx *ctx = cm__chunk_alloc(1, sizeof *ctx);
    if (diag) memset(diag, 0, sizeof *diag);
    if (!ctx) {
        cm__diag_set(diag, CM_ERR_MEMORY, "out of memory");
        return NULL;
    }
    ctx->diag = diag;
    return ctx;
}

void cm__ctx_free(cm__ctx *ctx)
{
    if (!ctx) return;
    for (deferred *d = ctx->defers; d; d = d->next) d->release(d->object);
    for (chunk *c = ctx->chunks, *next; c; c = next) {
        next = c->next;
        free(c);
    }
    free(ctx);
}

cm_status cm__ctx_abandon(cm__ctx *ctx)
{
    cm_status status = ctx->status;
    cm__ctx_free(ctx);
    return status;
}

static void release_scratch(void *reference)
{
    cm__ctx **scratch = reference;
    cm__ctx_free(*scratch);
}

cm__ctx *cm__scratch_new(cm__ctx *parent)
{
    cm__ctx **reference = cm__alloc(parent, sizeof *reference);
    cm__defer(parent, release_scratch, reference);
    *reference = cm__ctx_new(NULL);
    if (!*reference) cm__fail(parent, CM_ERR_MEMORY, "out of memory");
    (*reference)->diag = parent->diag;
    (*reference)->parent = parent;
    (*reference)->reference = reference;
    return *reference;
}

void cm__scratch_free(cm__ctx *scratch)
{
    *scratch->reference = NULL;
    cm__ctx_free(scratch);
}

/* A usual chunk is zeroed piece by piece when a piece is taken, because the end of most chunks is never taken. A large
   block is zeroed as a whole: calloc() may know that it is zero already. */
static void *chunk_memory(size_t size, bool zeroed)
{
    return zeroed || cm__chunk_alloc != calloc ? cm__chunk_alloc(1, size) : malloc(size);
}

/* zero: a block of its own shall be zeroed. */
static chunk *chunk_new(cm__ctx *ctx, size_t need, bool zero)
{
    size_t usual = ctx->chunks || need > FIRST_BYTES ? CHUNK_BYTES : FIRST_BYTES;
    size_t size = need > CHUNK_BYTES / 4 ? need : usual;
    bool   zeroed = zero && size == need;
    chunk *c = size <= SIZE_MAX - sizeof *c ? chunk_memory(sizeof *c + size, zeroed) : NULL;
    if (!c) cm__fail(ctx, CM_ERR_MEMORY, "out of memory (%zu bytes wanted)", need);
    *c = (chunk){.size = size, .zeroed = zeroed};
    if (need > CHUNK_BYTES / 4 && ctx->chunks) { /* keep the half-empty chunk current: a large block gets its own */
        c->next = ctx->chunks->next;
        ctx->chunks->next = c;
    } else {
        c->next = ctx->chunks;
        ctx->chunks = c;
    }
    return c;
}

/* Memory of which the first `used` bytes will be written and the others are zero. */
static void *take(cm__ctx *ctx, size_t size, size_t used)
{
    if (size > SIZE_MAX / 2) cm__fail(ctx, CM_ERR_MEMORY, "out of memory (%zu bytes wanted)", size);
    size = (size + ALIGN - 1) & ~(size_t)(ALIGN - 1);
    chunk *c = ctx->chunks;
    if (!c || c->size - c->used < size) c = chunk_new(ctx, size, used == 0);
    unsigned char *p = c->bytes + c->used; /* never reused */
    c->used += size;
    if (!c->zeroed) memset(p + used, 0, size - used);
    return p;
}

static void check_array(cm__ctx *ctx, size_t count, size_t size)
{
    if (size && count > SIZE_MAX / 2 / size)
        cm__fail(ctx, CM_ERR_MEMORY, "out of memory (%zu x %zu bytes)", count, size);
}

void *cm__alloc(cm__ctx *ctx, size_t size) { return take(ctx, size, 0); }

void *cm__alloc_array(cm__ctx *ctx, size_t count, size_t size)
{
    check_array(ctx, count, size);
    return take(ctx, count * size, 0);
}

void *cm__alloc_unset(cm__ctx *ctx, size_t count, size_t size)
{
    check_array(ctx, count, size);
    return take(ctx, count * size, count * size);
}

/* A copy with twice the capacity, or with `first` at first. zero: elements behind the copied ones are zero. */
static void *larger_copy(cm__ctx *ctx, const void *array, int32_t count, int32_t *capacity, size_t size, int32_t first,
                         bool zero)
{
    if (count > INT32_MAX / 4) cm__fail(ctx, CM_ERR_LIMIT, "more than %d entries", count);
    int32_t larger = *capacity ? *capacity * 2 : first;
    check_array(ctx, (size_t)larger, size);
    void *copy = take(ctx, (size_t)larger * size, (size_t)(zero ? count : larger) * size);
    if (count) memcpy(copy, array, (size_t)count * size);
    *capacity = larger;
    return copy;
}

void *cm__grow(cm__ctx *ctx, void *array, int32_t count, int32_t *capacity, size_t size)
{
    return count < *capacity ? array : larger_copy(ctx, array, count, capacity, size, 16, true);
}

void *cm__grow_unset(cm__ctx *ctx, void *array, int32_t count, int32_t *capacity, size_t size, int32_t first)
{
    return count < *capacity ? array : larger_copy(ctx, array, count, capacity, size, first, false);
}

char *cm__text_copy_n(cm__ctx *ctx, const char *text, size_t length)
{
    char *copy = cm__alloc(ctx, length + 1);
    if (length) memcpy(copy, text, length);
    return copy;
}

char *cm__text_copy(cm__ctx *ctx, const char *text) { return cm__text_copy_n(ctx, text, strlen(text)); }

/* Much faster than cm__format(): the names of all parameters of a network are made so. */
static char *joined(cm__ctx *ctx, const char *first, const char *between, const char *second)
{
    size_t length = strlen(first), gap = strlen(between), more = strlen(second);
    char  *text = cm__alloc_unset(ctx, length + gap + more + 1, 1);
    memcpy(text, first, length);
    memcpy(text + length, between, gap);
    memcpy(text + length + gap, second, more + 1);
    return text;
}

char *cm__text_join(cm__ctx *ctx, const char *first, const char *second) { return joined(ctx, first, "", second); }

char *cm__text_dotted(cm__ctx *ctx, const char *first, const char *second) { return joined(ctx, first, ".", second); }

char *cm__format(cm__ctx *ctx, const char *format, ...)
{
    char    usual[256]; /* longer texts are formatted twice */
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int    written = vsnprintf(usual, sizeof usual, format, args);
    size_t length = written > 0 ? (size_t)written : 0;
    char  *text = cm__alloc(ctx, length + 1);
    if (length < sizeof usual) memcpy(text, usual, length);
    else vsnprintf(text, length + 1, format, again);
    va_end(again);
    va_end(args);
    return text;
}

void cm__defer(cm__ctx *ctx, void (*release)(void *), void *object)
{
    deferred *d = cm__alloc(ctx, sizeof *d);
    *d = (deferred){.next = ctx->defers, .release = release, .object = object};
    ctx->defers = d;
}

void cm__place(cm__ctx *ctx, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(ctx->place, sizeof ctx->place, format, args);
    va_end(args);
    ctx->place_format = NULL;
}

void cm__place_names(cm__ctx *ctx, const char *format, const char *name, const char *of)
{
    ctx->place_format = format;
    ctx->place_names[0] = name;
    ctx->place_names[1] = of;
}

void cm__place_numbers(cm__ctx *ctx, const char *format, int first, int second)
{
    ctx->place_format = format;
    ctx->place_names[0] = NULL;
    ctx->place_numbers[0] = first;
    ctx->place_numbers[1] = second;
}

static void format_place(cm__ctx *ctx)
{
    const char *format = ctx->place_format;
    if (format && ctx->place_names[0]) cm__place(ctx, format, ctx->place_names[0], ctx->place_names[1]);
    else if (format) cm__place(ctx, format, ctx->place_numbers[0], ctx->place_numbers[1]);
}

void cm__fail(cm__ctx *ctx, cm_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    while (ctx->parent) ctx = ctx->parent;
    format_place(ctx);
    if (ctx->diag) {
        snprintf(ctx->diag->file, sizeof ctx->diag->file, "%s", ctx->file ? ctx->file : "");
        snprintf(ctx->diag->place, sizeof ctx->diag->place, "%s", ctx->place);
        vsnprintf(ctx->diag->reason, sizeof ctx->diag->reason, format, args);
    }
    va_end(args);
    ctx->status = status;
    longjmp(ctx->trap, 1);
}

void cm__pass_on(cm__ctx *ctx, cm_status status)
{
    if (!status) return;
    while (ctx->parent) ctx = ctx->parent;
    ctx->status = status;
    longjmp(ctx->trap, 1);
}

cm_status cm__diag_set(cm_diag *diag, cm_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (diag) {
        memset(diag, 0, sizeof *diag);
        vsnprintf(diag->reason, sizeof diag->reason, format, args);
    }
    va_end(args);
    return status;
}
