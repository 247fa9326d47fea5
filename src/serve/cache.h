/* SPDX-License-Identifier: Apache-2.0 */
/* cache.h - cache of recent answers; the same question always has the same answer, byte for byte. */
#ifndef CM_SERVE_CACHE_H
#define CM_SERVE_CACHE_H

#include <stdbool.h>
#include <stddef.h>

typedef struct cm__cache cm__cache;

cm__cache *cm__cache_new(void); /* NULL: out of memory */
void       cm__cache_free(cm__cache *cache);
/* Returns a malloc'ed copy, or NULL if the answer is not cached. */
char      *cm__cache_find(cm__cache *cache, const char *question, size_t *size);
void       cm__cache_keep(cm__cache *cache, const char *question, const char *answer, size_t size);

#endif
