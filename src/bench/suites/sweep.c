/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sweep.c - suite of a grid of call sizes that operator models are fitted to.
 *
 * The order is shuffled, always in the same way, so that a run cut short by its budget still covers the whole grid.
 */
#include "bench/suites/sweep.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

#define SECONDS_MOST 0.5 /* longest call, at the claimed peak FLOP/s and at a tenth of that number in B/s */
#define MEMORY_PART  0.4 /* fraction of the free memory that a call's operands may take */

/* ---- gathering --------------------------------------------------------------------------------------------------- */

static bool reasonable(const cm__sweep *s, const cm__call *call)
{
    const cm_bench_device *d = &s->b->device;
    double flop, bytes, peak = cm__claimed_flop_s(s->b), room = d->free_bytes > 0 ? d->free_bytes : d->memory_bytes;
    cm__call_work(call, &flop, &bytes);
    return flop <= SECONDS_MOST * peak && bytes <= SECONDS_MOST * peak / 10 && bytes <= MEMORY_PART * room;
}

void cm__sweep_add(cm__sweep *s, const cm__call *call)
{
    if (!reasonable(s, call)) return;
    s->calls = cm__grow(s->b->ctx, s->calls, s->count, &s->capacity, sizeof *s->calls);
    s->calls[s->count++] = *call;
}

#define ADD(...)                                                                                                       \
    do {                                                                                                               \
        cm__call call_ = cm__call_of(__VA_ARGS__);                                                                     \
        cm__sweep_add(s, &call_);                                                                                      \
    } while (0)

/* ---- matrix products --------------------------------------------------------------------------------------------- */

static const int aligned[] = {64, 256, 1024, 4096, 16384};
static const int odd[] = {33, 100, 777, 1000, 3001};
static const int skinny[] = {1, 2, 8, 16, 32};
static const int widths[] = {768, 1024, 1600, 4096, 8192, 50257};
static const char *const layouts[] = {"nn", "nt", "tn", "nt-bias"};

static void cube(cm__sweep *s, const char *layout, const char *dtype, const int *sizes, int count)
{
    for (int i = 0; i < count * count * count; i++)
        ADD("gemm forward %s %s 1,%d,%d,%d", layout, dtype, sizes[i % count], sizes[i / count % count],
            sizes[i / count / count]);
}

static void batched(cm__sweep *s, const char *layout, const char *dtype)
{
    static const int batches[] = {12, 96, 384, 1536}, shapes[][3] = {{128, 128, 64}, {128, 64, 128}, {512, 512, 64},
                                                                     {512, 64, 512}, {1024, 1024, 64}, {1024, 64, 1024},
                                                                     {197, 197, 64}, {2048, 2048, 128}};
    for (int b = 0; b < COUNT(batches); b++)
        for (int i = 0; i < COUNT(shapes); i++)
            ADD("gemm forward %s %s %d,%d,%d,%d", layout, dtype, batches[b], shapes[i][0], shapes[i][1], shapes[i][2]);
}

static void gemms(cm__sweep *s, const char *dtype)
{
    for (int l = 0; l < COUNT(layouts); l++) {
        cube(s, layouts[l], dtype, aligned, COUNT(aligned));
        if (strcmp(layouts[l], "nt-bias")) batched(s, layouts[l], dtype);
    }
    cube(s, "nt", dtype, odd, COUNT(odd));
    for (int i = 0; i < COUNT(skinny); i++)
        for (int n = 0; n < COUNT(widths); n++)
            for (int k = 0; k < COUNT(widths) - 1; k++)
                ADD("gemm forward nt %s 1,%d,%d,%d", dtype, skinny[i], widths[n], widths[k]);
}

/* ---- attention and recurrent layers ------------------------------------------------------------------------------ */

static void attentions(cm__sweep *s, const char *dtype)
{
    static const int batches[] = {1, 8, 32}, seqs[] = {128, 197, 512, 1024, 2048, 4096},
                     heads[][3] = {{12, 12, 64}, {16, 16, 64}, {25, 25, 64}, {32, 8, 128}, {32, 32, 128}};
    static const char *const passes[] = {"forward", "backward"};
    for (int i = 0; i < COUNT(batches) * COUNT(seqs) * COUNT(heads) * 4; i++) {
        int         at = i / 4, seq = seqs[at / COUNT(batches) % COUNT(seqs)];
        const int  *h = heads[at / COUNT(batches) / COUNT(seqs)];
        ADD("attention %s - %s %d,%d,%d,%d,%d,%d,%d", passes[i & 1], dtype, batches[at % COUNT(batches)], seq, seq,
            h[0], h[1], h[2], i >> 1 & 1);
    }
}

static void rnns(cm__sweep *s, const char *dtype)
{
    static const char *const cells[] = {"lstm", "gru", "rnn"}, *const passes[] = {"forward", "backward"};
    static const int batches[] = {1, 16, 64}, seqs[] = {25, 100}, sizes[] = {128, 512, 1024, 2048};
    for (int i = 0; i < 3 * 2 * 3 * 2 * 4; i++)
        ADD("rnn %s %s %s %d,%d,%d,%d,1,1", passes[i % 2], cells[i / 2 % 3], dtype, batches[i / 6 % 3],
            seqs[i / 18 % 2], sizes[i / 36], sizes[i / 36]);
}

/* ---- rows, elements, tables -------------------------------------------------------------------------------------- */

#define ELEMENTS_LEAST 256 /* 1 KB of fp32 */
#define ELEMENTS_MOST  ((int64_t)1 << 30)

static void rows(cm__sweep *s, const char *dtype)
{
    static const char *const ops[] = {"layer_norm", "rms_norm", "softmax", "cross_entropy"},
                      *const passes[] = {"forward", "backward"};
    static const int columns[] = {64, 197, 768, 1024, 4096, 16384, 50257};
    for (int64_t elements = ELEMENTS_LEAST; elements <= ELEMENTS_MOST; elements *= 8)
        for (int i = 0; i < COUNT(ops) * 2 * COUNT(columns); i++) {
            int c = columns[i / 8];
            if (elements / c > 0)
                ADD("%s %s - %s %lld,%d", ops[i % 4], passes[i / 4 % 2], dtype, (long long)(elements / c), c);
        }
}

static void elements(cm__sweep *s, const char *dtype)
{
    static const char *const functions[] = {
        "copy", "fill", "add", "mul", "relu", "relu_grad", "gelu", "gelu_grad", "gelu_tanh", "gelu_tanh_grad", "silu",
        "silu_grad", "sigmoid", "tanh", "exp", "scale", "dropout", "dropout_grad", "add:row", "mul:col", "copy:strided",
        "where", "hardswish", "hardswish_grad", "rsqrt"};
    for (int64_t n = ELEMENTS_LEAST; n <= ELEMENTS_MOST; n *= 4)
        for (int f = 0; f < COUNT(functions); f++)
            ADD("elementwise forward %s %s %lld,%lld", functions[f], dtype, (long long)(n / 256), 256ll);
}

static void casts(cm__sweep *s, const char *dtype)
{
    if (!cm__is_half(dtype)) return;
    for (int64_t n = ELEMENTS_LEAST; n <= ELEMENTS_MOST; n *= 4) {
        ADD("elementwise forward copy fp32>%s %lld,256", dtype, (long long)(n / 256));
        ADD("elementwise forward copy %s>fp32 %lld,256", dtype, (long long)(n / 256));
    }
}

static void reductions(cm__sweep *s, const char *dtype)
{
    for (int64_t n = 4096; n <= ELEMENTS_MOST; n *= 8) {
        ADD("reduce forward sum %s 1,%lld,1", dtype, (long long)n);
        ADD("reduce forward sum %s %lld,1024,1", dtype, (long long)(n / 1024));
        ADD("reduce forward sum %s 1,%lld,1024", dtype, (long long)(n / 1024));
        ADD("reduce forward mean %s %lld,49,1", dtype, (long long)(n / 49));
        ADD("reduce forward max %s %lld,256,1", dtype, (long long)(n / 256));
    }
}

static void tables(cm__sweep *s, const char *dtype)
{
    static const int tokens[] = {512, 4096, 32768}, vocabs[] = {2048, 30522, 50257}, wide[] = {256, 768, 1600};
    for (int i = 0; i < 27; i++) {
        ADD("embedding forward - %s %d,%d,%d", dtype, tokens[i % 3], vocabs[i / 3 % 3], wide[i / 9]);
        ADD("embedding backward - %s %d,%d,%d", dtype, tokens[i % 3], vocabs[i / 3 % 3], wide[i / 9]);
    }
}

static void updates(cm__sweep *s, const char *dtype)
{
    static const char *const optimizers[] = {"sgd", "momentum", "adam", "adamw"};
    static const int tensors[] = {1, 16, 161, 400};
    for (int64_t n = 4096; n <= ELEMENTS_MOST; n *= 4)
        for (int i = 0; i < 16; i++)
            if (n / tensors[i / 4] > 0)
                ADD("optimizer update %s %s %d,%lld", optimizers[i % 4], dtype, tensors[i / 4], (long long)n);
}

/* ---- the suite --------------------------------------------------------------------------------------------------- */

/* Fisher-Yates shuffle with a generator of its own, so that every machine gets the same order. */
static void shuffle(cm__sweep *s)
{
    uint64_t state = 0x9e3779b97f4a7c15u;
    for (int32_t i = s->count - 1; i > 0; i--) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        int32_t  j = (int32_t)((state >> 33) % (uint64_t)(i + 1));
        cm__call swapped = s->calls[i];
        s->calls[i] = s->calls[j];
        s->calls[j] = swapped;
    }
}

void cm__suite_sweep(cm_bench *b)
{
    static void (*const parts[])(cm__sweep *, const char *) = {
        gemms, cm__sweep_convs, attentions, rnns, rows, elements, casts, reductions, tables, updates, cm__sweep_planes};
    cm__sweep s = {.b = b};
    for (int i = 0; cm__bench_dtype(b, i); i++)
        for (int p = 0; p < COUNT(parts); p++) parts[p](&s, cm__bench_dtype(b, i));
    shuffle(&s);
    for (int32_t i = 0; i < s.count; i++)
        cm__add_call(b, "sweep", cm__call_kinds[s.calls[i].op].name, &s.calls[i], 1, NAN);
}
