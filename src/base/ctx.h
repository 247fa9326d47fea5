/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ctx.h - one context per handle: its arena, its cleanups and its error exit.
 *
 * Internal functions do not return a status. The function that detects an error calls cm__fail(), which fills the
 * caller's cm_diag and jumps back to the API call that made the context. That call frees the context and returns the
 * status. A resource that is not arena memory (a mapping, a JSON tree) is registered with cm__defer() and released with
 * the context.
 *
 *     cm_status cm_thing_make(..., cm_diag *diag) {
 *         cm__ctx *ctx = cm__ctx_new(diag);
 *         if (!ctx) return CM_ERR_MEMORY;
 *         if (setjmp(ctx->trap)) return cm__ctx_abandon(ctx);
 *         ...
 *         ctx->diag = NULL;   // the handle outlives the caller's diag
 */
#ifndef CM_BASE_CTX_H
#define CM_BASE_CTX_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdnoreturn.h>
#include "centimani.h"

typedef struct cm__ctx {
    jmp_buf            trap;
    cm_diag           *diag;
    cm_status          status;
    const char        *file;  /* shown in errors; may be NULL */
    char               place[256]; /* shown in errors: "node 'Conv_3'" */
    const char        *place_format, *place_names[2]; /* not NULL: the place, to be formatted on failure */
    int                place_numbers[2];              /* instead of names, if the first name is NULL */
    struct cm__chunk  *chunks;
    struct cm__defer  *defers;
    struct cm__ctx    *parent; /* of a scratch context, which fails through it; NULL: none */
    struct cm__ctx   **reference;  /* where the parent refers to a scratch context */
} cm__ctx;

cm__ctx  *cm__ctx_new(cm_diag *diag);
void      cm__ctx_free(cm__ctx *ctx);
cm_status cm__ctx_abandon(cm__ctx *ctx); /* frees the context; returns the status given to cm__fail() */

/* A context for memory that is needed for a short time. If the parent fails or is freed first, that frees it too. */
cm__ctx  *cm__scratch_new(cm__ctx *parent);
void      cm__scratch_free(cm__ctx *scratch);

void *cm__alloc(cm__ctx *ctx, size_t size); /* zeroed, aligned for any type, never NULL */
void *cm__alloc_array(cm__ctx *ctx, size_t count, size_t size);
void *cm__alloc_unset(cm__ctx *ctx, size_t count, size_t size); /* not zeroed, for arrays that are filled at once */
/* Make room for one more element in a growing array: returns `array` or its larger copy. */
void *cm__grow(cm__ctx *ctx, void *array, int32_t count, int32_t *capacity, size_t size);
/* The same for an array of many elements, not zeroed, with room for `first` ones at first: memory that is never written
   costs nothing, copies of growing arrays do. */
void *cm__grow_unset(cm__ctx *ctx, void *array, int32_t count, int32_t *capacity, size_t size, int32_t first);
char *cm__text_copy(cm__ctx *ctx, const char *text);
char *cm__text_copy_n(cm__ctx *ctx, const char *text, size_t length);
char *cm__text_join(cm__ctx *ctx, const char *first, const char *second);
char *cm__text_dotted(cm__ctx *ctx, const char *first, const char *second); /* "first.second" */
char *cm__format(cm__ctx *ctx, const char *format, ...) __attribute__((format(printf, 2, 3), nonnull));
void  cm__defer(cm__ctx *ctx, void (*release)(void *), void *object);

/* Set the place that errors refer to ("node 'Conv_3'"); an empty string clears it. */
void cm__place(cm__ctx *ctx, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same, from two names that must outlive the place, one for each %s of the format. Formatted only on failure. */
void cm__place_names(cm__ctx *ctx, const char *format, const char *name, const char *of);
/* The same from two numbers, for formats with one or two %d. */
void cm__place_numbers(cm__ctx *ctx, const char *format, int first, int second);
noreturn void cm__fail(cm__ctx *ctx, cm_status status, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Fail with the status of a public call that failed; the diag is already filled. CM_OK: do nothing. */
void cm__pass_on(cm__ctx *ctx, cm_status status);

/* Fill a diag without a context; returns `status`. */
cm_status cm__diag_set(cm_diag *diag, cm_status status, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Tests replace it to make the n-th allocation fail. */
extern void *(*cm__chunk_alloc)(size_t count, size_t size);

#endif
