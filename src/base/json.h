/* SPDX-License-Identifier: Apache-2.0 */
/* json.h - JSON trees that a context owns. */
#ifndef CM_BASE_JSON_H
#define CM_BASE_JSON_H

#include <jansson.h>
#include "base/ctx.h"

/* A slot for a tree that is released with the context; NULL until it is filled. */
json_t **cm__json_slot(cm__ctx *ctx);
/* `flags` are jansson's. Fails with line and column. */
json_t *cm__json_read(cm__ctx *ctx, const char *text, size_t size, size_t flags);

#endif
