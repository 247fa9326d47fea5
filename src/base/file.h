/* SPDX-License-Identifier: Apache-2.0 */
/* file.h - a file mapped into memory until it is closed or its context is freed. */
#ifndef CM_BASE_FILE_H
#define CM_BASE_FILE_H

#include "base/ctx.h"

typedef struct cm__mapping {
    const uint8_t *bytes;
    size_t         size;
    int            fd;
} cm__mapping;

/* Map a regular, non-empty file of at most `limit` bytes; `remedy` is the end of the message if it is larger. */
cm__mapping *cm__file_map(cm__ctx *ctx, const char *path, int64_t limit, const char *remedy);
void         cm__file_unmap(cm__mapping *mapping);

#endif
