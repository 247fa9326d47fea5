/* SPDX-License-Identifier: Apache-2.0 */
/* cache.c - a cache of answers with least-recently-used replacement. */
#include "serve/cache.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define ANSWERS 64
#define ANSWER_MOST (4u << 20)

typedef struct answer {
    char    *question, *text;
    size_t   size;
    uint64_t used;
} answer;

struct cm__cache {
    pthread_mutex_t lock;
    uint64_t        clock;
    answer          answers[ANSWERS];
};

cm__cache *cm__cache_new(void)
{
    cm__cache *c = calloc(1, sizeof *c);
    if (c) pthread_mutex_init(&c->lock, NULL);
    return c;
}

void cm__cache_free(cm__cache *c)
{
    if (!c) return;
    for (int i = 0; i < ANSWERS; i++) {
        free(c->answers[i].question);
        free(c->answers[i].text);
    }
    pthread_mutex_destroy(&c->lock);
    free(c);
}

static answer *find(cm__cache *c, const char *question)
{
    for (int i = 0; i < ANSWERS; i++)
        if (c->answers[i].question && strcmp(c->answers[i].question, question) == 0) return &c->answers[i];
    return NULL;
}

char *cm__cache_find(cm__cache *c, const char *question, size_t *size)
{
    char *copy = NULL;
    pthread_mutex_lock(&c->lock);
    answer *a = find(c, question);
    if (a && (copy = malloc(a->size + 1))) {
        memcpy(copy, a->text, a->size + 1);
        *size = a->size;
        a->used = ++c->clock;
    }
    pthread_mutex_unlock(&c->lock);
    return copy;
}

void cm__cache_keep(cm__cache *c, const char *question, const char *text, size_t size)
{
    char *key = size <= ANSWER_MOST ? strdup(question) : NULL, *copy = key ? malloc(size + 1) : NULL;
    if (!copy) {
        free(key);
        return;
    }
    memcpy(copy, text, size);
    copy[size] = '\0';
    pthread_mutex_lock(&c->lock);
    answer *a = find(c, question), *oldest = &c->answers[0];
    for (int i = 1; i < ANSWERS; i++)
        if (c->answers[i].used < oldest->used) oldest = &c->answers[i];
    if (!a) a = oldest;
    free(a->question);
    free(a->text);
    *a = (answer){key, copy, size, ++c->clock};
    pthread_mutex_unlock(&c->lock);
}
