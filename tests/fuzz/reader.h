/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reader.h - the entry point of fuzz targets that make no graph.
 *
 * A target parses the bytes, aborts if it accepted an invalid value, and ends with FUZZ_READER(read). A refusal must
 * have a reason. libFuzzer's bytes are not zero-terminated.
 */
#ifndef CM_TESTS_FUZZ_READER_H
#define CM_TESTS_FUZZ_READER_H

#include <stdlib.h>
#include "base/ctx.h"

typedef void fuzz_reader(cm__ctx *ctx, const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static int fuzz_read(fuzz_reader *read, const uint8_t *bytes, size_t size)
{
    cm_diag  diag = {0};
    cm__ctx *ctx = cm__ctx_new(&diag);
    if (!ctx) return 0;
    if (!setjmp(ctx->trap)) read(ctx, bytes, size);
    else if (!*diag.reason) abort();
    cm__ctx_free(ctx);
    return 0;
}

#define FUZZ_READER(read)                                                                                              \
    int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) { return fuzz_read(read, bytes, size); }

#endif
