/* SPDX-License-Identifier: Apache-2.0 */
/* map.h - a hash table from names to integers, allocated in an arena. Keys are not copied. */
#ifndef CM_BASE_MAP_H
#define CM_BASE_MAP_H

#include "base/ctx.h"

typedef struct cm__span {
    const char *text;
    size_t      length;
} cm__span;

typedef struct cm__map {
    cm__ctx         *ctx;
    struct cm__slot *slots;
    uint32_t         count, capacity;
} cm__map;

void     cm__map_init(cm__map *map, cm__ctx *ctx);
int32_t  cm__map_get(const cm__map *map, cm__span key);                /* -1: absent */
bool     cm__map_put(cm__map *map, cm__span key, int32_t value);       /* false: replaced an entry */
cm__span cm__span_of(const char *text);
bool     cm__span_is(cm__span span, const char *text);

#endif
