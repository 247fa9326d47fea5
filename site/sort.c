/* SPDX-License-Identifier: Apache-2.0 */
/* sort.c - a stable qsort() instead of emscripten's. Equal entries keep their order, as they do with glibc 2.36, so that
   answers in the browser list them as the program does. */
#include <stdlib.h>
#include <string.h>

static void merge(char *from, char *to, size_t left, size_t count, size_t size, int (*compare)(const void *, const void *))
{
    char *a = from, *b = from + left * size, *end_a = b, *end_b = from + count * size;
    for (; a < end_a && b < end_b; to += size) {
        char **taken = compare(a, b) <= 0 ? &a : &b;
        memcpy(to, *taken, size);
        *taken += size;
    }
    memcpy(to, a, (size_t)(end_a - a));
    memcpy(to + (end_a - a), b, (size_t)(end_b - b));
}

static void sort(char *at, char *spare, size_t count, size_t size, int (*compare)(const void *, const void *))
{
    if (count < 2) return;
    size_t left = count / 2;
    sort(at, spare, left, size, compare);
    sort(at + left * size, spare, count - left, size, compare);
    merge(at, spare, left, count, size, compare);
    memcpy(at, spare, count * size);
}

void qsort(void *base, size_t count, size_t size, int (*compare)(const void *, const void *))
{
    char *spare = count > 1 && size ? malloc(count * size) : NULL;
    if (count > 1 && size && !spare) abort();
    sort(base, spare, count, size, compare);
    free(spare);
}
