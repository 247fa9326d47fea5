/* SPDX-License-Identifier: Apache-2.0 */
/* cache.h - the last answers: the same question has the same answer, to the byte. */
#ifndef CM_SERVE_CACHE_H
#define CM_SERVE_CACHE_H

#include <stdbool.h>
#include <stddef.h>

typedef struct cm__cache cm__cache;

cm__cache *cm__cache_new(void); /* NULL: no memory */
void       cm__cache_free(cm__cache *cache);
/* A copy, malloc'ed; NULL: not there. */
char      *cm__cache_find(cm__cache *cache, const char *question, size_t *size);
void       cm__cache_keep(cm__cache *cache, const char *question, const char *answer, size_t size);

#endif
