/* SPDX-License-Identifier: Apache-2.0 */
/*
 * locate.h - a place in a JSON text: its path, the line it is on, and refusing what stands there.
 *
 * A path is a chain of steps that lives on the stack of whoever walks the value:
 *
 *     cm__step memory = {NULL, "memory", 0}, second = {&memory, NULL, 1}, name = {&second, "name", 0};
 *     cm__refuse(ctx, origin, &name, "...");   ->   "file.json: line 41: memory[1].name: ..."
 */
#ifndef CM_DEVICE_LOCATE_H
#define CM_DEVICE_LOCATE_H

#include "base/ctx.h"

typedef struct cm__step {
    const struct cm__step *parent; /* NULL: the step starts at the whole text */
    const char            *key;    /* NULL: an element of an array */
    size_t                 index;
} cm__step;

/* Where a value was read from. */
typedef struct cm__origin {
    const char *file; /* NULL: built in, or made by the program */
    const char *text; /* NULL: no longer there */
    size_t      size;
} cm__origin;

/* "memory[1].bandwidth.value" into buf; returns buf. A NULL path is the empty text. */
char *cm__path_text(const cm__step *path, char *buf, size_t size);

/* The line, from 1, of the last step that the text has: of its key, or of an element's first character. */
int32_t cm__path_line(const cm__step *path, const char *text, size_t size);

/* CM_ERR_FORMAT with file, line and path of what is wrong. */
noreturn void cm__refuse(cm__ctx *ctx, const cm__origin *origin, const cm__step *path, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

#endif
