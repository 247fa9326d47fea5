/* SPDX-License-Identifier: Apache-2.0 */
/* gemm.c - matrix multiplication with cuBLASLt: the first algorithm of its heuristic, or the fastest of several. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/backends/cuda/ops.h"

#define CHOICES 32
#define HOPPER 90
#define ROUNDS 4
#define CALLS 3
#define SCATTER 0.99

struct cm__cuda_gemm {
    cm__cuda           *cu;
    cm__cuda_gemm_shape shape;
    lt_descriptor       desc, a, b, d, preference;
    lt_choice           choices[CHOICES];
    int                 n_choices, chosen;
};

/* The same workspace as in PyTorch: 32 MiB since Hopper, a little more than 8 MiB before. */
int64_t cm__cuda_gemm_workspace_bytes(const cm__cuda *cu)
{
    return cu->major * 10 + cu->minor >= HOPPER ? (int64_t)32 << 20 : ((int64_t)8 << 20) + 128 * 1024;
}

static void need(cm__cuda_case *c, int status, const char *call)
{
    if (status)
        cm__fail(c->ctx, status == 15 ? CM_ERR_UNSUPPORTED : CM_ERR_IO, "%s: %s", call,
                 c->cu->blaslt.cublasLtGetStatusString(status));
}

#define LT(c, call, ...) need(c, (c)->cu->blaslt.call(__VA_ARGS__), #call)

static void release(void *object)
{
    cm__cuda_gemm *g = object;
    if (g->preference) g->cu->blaslt.cublasLtMatmulPreferenceDestroy(g->preference);
    if (g->desc) g->cu->blaslt.cublasLtMatmulDescDestroy(g->desc);
    lt_descriptor layouts[] = {g->a, g->b, g->d};
    for (int i = 0; i < 3; i++)
        if (layouts[i]) g->cu->blaslt.cublasLtMatrixLayoutDestroy(layouts[i]);
}

/* A row-major matrix [rows, columns] is a column-major matrix [columns, rows]. */
static lt_descriptor layout(cm__cuda_case *c, cm__type type, int64_t rows, int64_t columns, int64_t batch)
{
    lt_descriptor d = NULL;
    int32_t       count = (int32_t)batch;
    int64_t       stride = rows * columns;
    LT(c, cublasLtMatrixLayoutCreate, &d, cm__types[type].blaslt, (uint64_t)columns, (uint64_t)rows, columns);
    if (batch == 1) return d;
    LT(c, cublasLtMatrixLayoutSetAttribute, d, LT_LAYOUT_BATCH_COUNT, &count, sizeof count);
    LT(c, cublasLtMatrixLayoutSetAttribute, d, LT_LAYOUT_BATCH_STRIDE, &stride, sizeof stride);
    return d;
}

static void set(cm__cuda_case *c, cm__cuda_gemm *g, int attribute, const void *value, size_t size)
{
    LT(c, cublasLtMatmulDescSetAttribute, g->desc, attribute, value, size);
}

/* cuBLASLt is column-major, so it computes the transposed product with B before A. */
static void describe(cm__cuda_case *c, cm__cuda_gemm *g)
{
    const cm__cuda_gemm_shape *s = &g->shape;
    int32_t                    first = s->b_columns ? LT_OP_T : LT_OP_N, second = s->a_columns ? LT_OP_T : LT_OP_N,
            epilogue = LT_EPILOGUE_BIAS;
    uint64_t workspace = (uint64_t)cm__cuda_gemm_workspace_bytes(c->cu);
    LT(c, cublasLtMatmulDescCreate, &g->desc, s->tf32 ? LT_COMPUTE_TF32 : LT_COMPUTE_FP32, LT_FP32);
    set(c, g, LT_DESC_TRANSPOSE_A, &first, sizeof first);
    set(c, g, LT_DESC_TRANSPOSE_B, &second, sizeof second);
    if (s->bias >= 0) {
        uint64_t pointer = cm__cuda_address(c, s->bias, 0);
        set(c, g, LT_DESC_EPILOGUE, &epilogue, sizeof epilogue);
        set(c, g, LT_DESC_BIAS_POINTER, &pointer, sizeof pointer);
    }
    if (s->scales >= 0) {
        uint64_t pointer = cm__cuda_address(c, s->scales, 0);
        set(c, g, LT_DESC_A_SCALE, &pointer, sizeof pointer);
        set(c, g, LT_DESC_B_SCALE, &pointer, sizeof pointer);
    }
    g->a = s->a_columns ? layout(c, s->type, s->k, s->m, s->batch) : layout(c, s->type, s->m, s->k, s->batch);
    g->b = s->b_columns ? layout(c, s->type, s->n, s->k, s->batch) : layout(c, s->type, s->k, s->n, s->batch);
    g->d = layout(c, s->out, s->m, s->n, s->batch);
    LT(c, cublasLtMatmulPreferenceCreate, &g->preference);
    LT(c, cublasLtMatmulPreferenceSetAttribute, g->preference, LT_PREFERENCE_WORKSPACE, &workspace, sizeof workspace);
}

static int run_choice(cm__cuda_case *c, cm__cuda_gemm *g, int choice, int64_t copy)
{
    const cm__cuda_gemm_shape *s = &g->shape;
    float                      zero = 0;
    void                      *a = (void *)(uintptr_t)cm__cuda_address(c, s->a, copy),
         *b = (void *)(uintptr_t)cm__cuda_address(c, s->b, copy);
    void *d = (void *)(uintptr_t)cm__cuda_address(c, s->d, copy),
         *workspace = (void *)(uintptr_t)cm__cuda_address(c, s->workspace, copy);
    return c->cu->blaslt.cublasLtMatmul(c->cu->lt, g->desc, &s->alpha, b, g->b, a, g->a, &zero, d, g->d, d, g->d,
                                        &g->choices[choice].algorithm, workspace, g->choices[choice].workspace_bytes,
                                        c->cu->stream);
}

int cm__cuda_gemm_launch(cm__cuda_case *c, cm__cuda_gemm *gemm, int64_t copy)
{
    int status = run_choice(c, gemm, gemm->chosen, copy);
    return status ? cm__cuda_failed(c, "cublasLtMatmul", c->cu->blaslt.cublasLtGetStatusString(status)) : 0;
}

static double time_choice(cm__cuda_case *c, cm__cuda_gemm *g, int choice, int repetitions)
{
    float milliseconds = 0;
    cm__cuda_spin(c, 60e-6);
    CU(c, cuEventRecord, c->cu->start, c->cu->stream);
    for (int i = 0; i < repetitions; i++)
        if (run_choice(c, g, choice, i % c->copies)) return INFINITY;
    CU(c, cuEventRecord, c->cu->end, c->cu->stream);
    cm__cuda_need(c->ctx, c->cu, c->cu->driver.cuEventSynchronize(c->cu->end), "cublasLtMatmul");
    CU(c, cuEventElapsedTime, &milliseconds, c->cu->start, c->cu->end);
    return milliseconds * 1e-3 / repetitions;
}

/* Time all algorithms in several rounds, so that a falling clock does not favour the first one. Another algorithm than
   the heuristic's first choice must be faster by more than the scatter of times. */
static void search(cm__cuda_case *c, cm__cuda_gemm *g)
{
    double least_s[CHOICES];
    for (int i = 0; i < g->n_choices; i++) least_s[i] = g->choices[i].state || run_choice(c, g, i, 0) ? -1 : INFINITY;
    for (int i = 0; i < g->n_choices * ROUNDS; i++)
        if (least_s[i % g->n_choices] > 0)
            least_s[i % g->n_choices] = fmin(least_s[i % g->n_choices], time_choice(c, g, i % g->n_choices, CALLS));
    for (int i = 1; i < g->n_choices; i++)
        if (least_s[i] > 0 && least_s[i] < least_s[g->chosen] * (g->chosen ? 1 : SCATTER)) g->chosen = i;
}

cm__cuda_gemm *cm__cuda_gemm_make(cm__cuda_case *c, const cm__cuda_gemm_shape *shape)
{
    cm__cuda_gemm *g = cm__alloc(c->ctx, sizeof *g);
    g->cu = c->cu;
    g->shape = *shape;
    cm__defer(c->ctx, release, g);
    describe(c, g);
    LT(c, cublasLtMatmulAlgoGetHeuristic, c->cu->lt, g->desc, g->b, g->a, g->d, g->d, g->preference,
       c->options.search ? CHOICES : 1, g->choices, &g->n_choices);
    if (g->n_choices < 1 || g->choices[0].state)
        cm__fail(c->ctx, CM_ERR_UNSUPPORTED, "cuBLASLt has no algorithm for it");
    if (c->options.search) search(c, g);
    snprintf(c->algorithm, sizeof c->algorithm, "cuBLASLt: heuristic's no. %d of %d", g->chosen + 1, g->n_choices);
    return g;
}

/* ---- the call ---------------------------------------------------------------------------------------------------- */

enum { BATCH, M, N, K };

static bool words_start(const char *text, const char *word)
{
    return strncmp(text, word, strlen(word)) == 0;
}

static cm__cuda_gemm_shape shape_of(const cm__cuda_case *c)
{
    const int64_t *d = c->call.dims;
    return (cm__cuda_gemm_shape){.batch = d[BATCH],
                                 .m = d[M],
                                 .n = d[N],
                                 .k = d[K],
                                 .a_columns = words_start(c->call.variant, "tn"),
                                 .b_columns = words_start(c->call.variant, "nt"),
                                 .type = c->type,
                                 .out = c->type == TYPE_FP8 ? TYPE_BF16 : c->type,
                                 .tf32 = strcmp(c->call.dtype, "tf32") == 0,
                                 .bias = -1,
                                 .scales = -1,
                                 .alpha = 1};
}

bool cm__cuda_gemm_known(const cm_call *call)
{
    if (strcmp(call->dtype, "fp8") != 0) return true;
    return strcmp(call->variant, "nt") == 0 && call->dims[M] % 16 == 0 && call->dims[N] % 16 == 0 &&
           call->dims[K] % 16 == 0;
}

void cm__cuda_gemm_declare(cm__cuda_case *c)
{
    cm__cuda_gemm_shape *s = c->data = cm__alloc(c->ctx, sizeof *s);
    *s = shape_of(c);
    if (c->type == TYPE_FP8 && c->cu->major * 10 + c->cu->minor < 89)
        cm__fail(c->ctx, CM_ERR_UNSUPPORTED, "this device has no fp8");
    s->a = cm__cuda_operand(c, c->type, s->batch * s->m * s->k, FILL_RANDOM);
    s->b = cm__cuda_operand(c, c->type, s->batch * s->k * s->n, FILL_RANDOM);
    s->d = cm__cuda_operand(c, s->out, s->batch * s->m * s->n, FILL_ZERO);
    if (strstr(c->call.variant, "-bias")) s->bias = cm__cuda_operand(c, s->out, s->n, FILL_RANDOM);
    if (c->type == TYPE_FP8) s->scales = cm__cuda_operand(c, TYPE_FP32, 1, FILL_ONE);
    if (s->bias >= 0) c->operands[s->bias].shared = true;
    if (s->scales >= 0) c->operands[s->scales].shared = true;
    s->workspace = cm__cuda_operand(c, TYPE_BYTE, cm__cuda_gemm_workspace_bytes(c->cu), FILL_NONE);
    c->operands[s->workspace].shared = true;
}

void cm__cuda_gemm_setup(cm__cuda_case *c)
{
    c->data = cm__cuda_gemm_make(c, c->data);
}

int cm__cuda_gemm_call(cm__cuda_case *c, int64_t copy)
{
    return cm__cuda_gemm_launch(c, c->data, copy);
}

/* Relative error of a typical result. tf32 keeps 11 bits of each factor, and fp8 units about 14 bits of a sum. With
   split-K, partial sums are rounded to the type of the result before they are added. */
static double loss(const cm__cuda_gemm_shape *s)
{
    return s->tf32 ? 0x1p-7 : s->type == TYPE_FP8 ? 0x1p-5 : fmax(0x1p-12, 2 * cm__types[s->out].round_off);
}

int64_t cm__cuda_gemm_check(cm__cuda_case *c)
{
    const cm__cuda_gemm_shape *s = &((cm__cuda_gemm *)c->data)->shape;
    int64_t                    total = s->batch * s->m * s->n, n = cm__cuda_samples(2 * s->k, total), wrong = 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t at = cm__cuda_sample(c, i, n, total), column = at % s->n, row = at / s->n % s->m,
                batch = at / s->n / s->m;
        double sum = 0, size = 0;
        for (int64_t k = 0; k < s->k; k++) {
            double a = cm__cuda_value(c, s->a, batch * s->m * s->k + (s->a_columns ? k * s->m + row : row * s->k + k));
            double b = cm__cuda_value(c, s->b,
                                      batch * s->k * s->n + (s->b_columns ? column * s->k + k : k * s->n + column));
            sum += a * b;
            size += fabs(a * b);
        }
        if (s->bias >= 0) sum += cm__cuda_value(c, s->bias, column);
        wrong += cm__cuda_wrong(s->out, cm__cuda_result(c, s->d, at), sum, loss(s) * size / sqrt((double)s->k));
    }
    return wrong;
}
