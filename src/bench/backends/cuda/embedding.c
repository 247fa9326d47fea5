/* SPDX-License-Identifier: Apache-2.0 */
/* embedding.c - gather rows of a table by index, and scatter-add their gradients; our own kernels. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/backends/cuda/ops.h"

#define THREADS 256

typedef struct tensors {
    int64_t tokens, vocab, width;
    bool    backward;
    int     index, table, y;
} tensors;

static cu_function kernel(cm__cuda_case *c, const char *name, int vector)
{
    char           defines[160];
    const tensors *t = c->data;
    snprintf(defines, sizeof defines, "-DTYPE_T=%s -DVECTOR=%d -DMAXIMUM=%d -DPLANES=%d -DATOMICS=%d -DRULE=%d",
             cm__types[c->type].device, vector, 0, 0, t->backward, 0);
    return cm__cuda_kernel(c->ctx, c->cu, "tensors.cu", name, defines);
}

static int64_t at_most(int64_t value, int64_t most)
{
    return value < 1 ? 1 : value < most ? value : most;
}

void cm__cuda_embedding_declare(cm__cuda_case *c)
{
    tensors *t = c->data = cm__alloc(c->ctx, sizeof *t);
    t->tokens = c->call.dims[0];
    t->vocab = c->call.dims[1];
    t->width = c->call.dims[2];
    t->backward = strcmp(c->call.pass, "backward") == 0;
    if (t->backward && c->type == TYPE_BF16 && c->cu->major < 9)
        cm__fail(c->ctx, CM_ERR_UNSUPPORTED, "this device has no atomic addition of bf16");
    if (t->backward && c->type != TYPE_FP32 && t->width % 2)
        cm__fail(c->ctx, CM_ERR_UNSUPPORTED, "16-bit rows of odd width");
    t->index = cm__cuda_operand(c, TYPE_INT64, t->tokens, FILL_INDEX);
    c->operands[t->index].limit = t->vocab;
    t->table = cm__cuda_operand(c, c->type, t->vocab * t->width, t->backward ? FILL_ZERO : FILL_RANDOM);
    t->y = cm__cuda_operand(c, c->type, t->tokens * t->width, t->backward ? FILL_RANDOM : FILL_ZERO);
}

void cm__cuda_embedding_setup(cm__cuda_case *c)
{
    const tensors *t = c->data;
    int     vector = cm__cuda_vector(c, t->width), block = 32;
    int     step = t->backward ? (c->type == TYPE_FP32 ? 1 : 2) : vector;
    int64_t bytes = t->vocab * t->width * cm__types[c->type].bytes;
    while (block < 256 && block * step < t->width) block *= 2;
    if (t->backward) {
        cm__launch *l = cm__cuda_add_launch(c, kernel(c, "clear", vector),
                                            at_most(bytes / 16 / 1024 + 1, c->cu->processors * 32), 1, THREADS);
        cm__cuda_arg_operand(l, t->table);
        cm__cuda_arg_int(l, (bytes + 15) / 16); /* may round up: operands are padded to 256 bytes */
    }
    cm__launch *l = cm__cuda_add_launch(c, kernel(c, t->backward ? "embed_backward" : "embed", vector), t->tokens, 1,
                                        block);
    cm__cuda_arg_operand(l, t->index);
    cm__cuda_arg_operand(l, t->backward ? t->y : t->table);
    cm__cuda_arg_operand(l, t->backward ? t->table : t->y);
    cm__cuda_arg_int(l, t->tokens);
    cm__cuda_arg_int(l, t->width);
}

/* Check one element of a row that some token uses: it is the sum of the gradients of all tokens with that row. */
static int64_t check_row(cm__cuda_case *c, int64_t sample, int64_t samples)
{
    const tensors *t = c->data;
    int64_t        at = cm__cuda_sample(c, sample, samples, t->tokens * t->width),
            row = cm__cuda_index(c, t->index, at / t->width), column = at % t->width;
    double total = 0, size = 0;
    for (int64_t i = 0; i < t->tokens; i++) {
        if (cm__cuda_index(c, t->index, i) != row) continue;
        double d = cm__cuda_value(c, t->y, i * t->width + column);
        total += d;
        size += fabs(d);
    }
    return cm__cuda_wrong(c->type, cm__cuda_result(c, t->table, row * t->width + column), total,
                          2 * cm__types[c->type].round_off * size * sqrt(size + 1));
}

int64_t cm__cuda_embedding_check(cm__cuda_case *c)
{
    const tensors *t = c->data;
    int64_t        total = t->tokens * t->width, n = cm__cuda_samples(t->backward ? t->tokens : 1, total), wrong = 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t at = cm__cuda_sample(c, i, n, total);
        if (t->backward)
            wrong += check_row(c, i, n);
        else
            wrong += cm__cuda_result(c, t->y, at) !=
                     cm__cuda_value(c, t->table, cm__cuda_index(c, t->index, at / t->width) * t->width + at % t->width);
    }
    return wrong;
}
