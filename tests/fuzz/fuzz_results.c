/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_results.c - sets of results from arbitrary bytes; every row of an accepted set has a measurement. */
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
#include "validate/validate.h"
#include "reader.h"

static void close_file(void *file) { close(*(int *)file); }

/* A file in memory alone. */
static const char *file_of(cm__ctx *ctx, const uint8_t *bytes, size_t size)
{
    int *file = cm__alloc(ctx, sizeof *file);
    *file = memfd_create("results", 0);
    if (*file < 0 || write(*file, bytes, size) != (ssize_t)size) abort();
    cm__defer(ctx, close_file, file);
    return cm__format(ctx, "/proc/self/fd/%d", *file);
}

static void results(cm__ctx *ctx, const uint8_t *bytes, size_t size)
{
    const json_t *set = cm__set_read(cm__store_new(ctx), file_of(ctx, bytes, size));
    const json_t *rows = json_object_get(set, "rows");
    if (!json_array_size(rows)) abort();
    for (size_t i = 0; i < json_array_size(rows); i++)
        if (!cm__metric_of(set, json_array_get(rows, i))) abort();
}

FUZZ_READER(results)
