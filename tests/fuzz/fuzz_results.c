/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_results.c - a user's set of results from arbitrary bytes; whatever is accepted has rows that measure something. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include "validate/validate.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* A file in memory alone. */
static int file_of(const uint8_t *bytes, size_t size, char path[32])
{
    int file = memfd_create("results", 0);
    if (file < 0 || write(file, bytes, size) != (ssize_t)size) abort();
    snprintf(path, 32, "/proc/self/fd/%d", file);
    return file;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    cm_diag  diag = {0};
    cm__ctx *ctx = cm__ctx_new(&diag);
    char     path[32];
    if (!ctx) return 0;
    const int file = file_of(bytes, size, path);
    if (setjmp(ctx->trap)) {
        if (!*diag.reason) abort(); /* refused without a reason */
    } else {
        const json_t *set = cm__set_read(cm__store_new(ctx), path), *rows = json_object_get(set, "rows");
        if (!json_array_size(rows)) abort();
        for (size_t i = 0; i < json_array_size(rows); i++)
            if (!cm__metric_of(set, json_array_get(rows, i))) abort();
    }
    close(file);
    cm__ctx_free(ctx);
    return 0;
}
