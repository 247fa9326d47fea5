/* SPDX-License-Identifier: Apache-2.0 */
/* elements.c - elementwise functions: one loop per row of functions.def, over contiguous or broadcast operands. */
#include <math.h>
#include <string.h>
#include "bench/backends/cpu/cpu.h"
#include "bench/backends/cpu/kernels.h"
#include "bench/backends/cpu/math.h"

#define GRAIN 16384

enum { FIRST, SECOND, RESULT };

/* ---- the loops --------------------------------------------------------------------------------------------------- */

static inline float gelu_tanh_slope(float x)
{
    float t = fast_tanh(0.79788456f * (x + 0.044715f * x * x * x));
    return 0.5f * (1 + t) + 0.5f * x * (1 - t * t) * 0.79788456f * (1 + 0.134145f * x * x);
}

static double exact_gelu_tanh_slope(double x)
{
    double k = sqrt(2 / M_PI), u = k * (x + 0.044715 * pow(x, 3)), sech = 1 / cosh(u);
    return 0.5 * (1 + tanh(u)) + 0.5 * x * sech * sech * k * (1 + 3 * 0.044715 * x * x);
}

/* `row` computes n elements. If `repeat`, the second operand is a single number. */
#define FUNCTION(name, reads, positive, fast, exact)                                                                   \
    CM__VECTORS static void row_##name(const float *restrict x, const float *restrict z, bool repeat,                  \
                                       float *restrict y, int64_t n)                                                   \
    {                                                                                                                  \
        if (repeat) {                                                                                                  \
            const float b = *z;                                                                                        \
            for (int64_t i = 0; i < n; i++) {                                                                          \
                const float a = x[i];                                                                                  \
                (void)a, (void)b;                                                                                      \
                y[i] = fast;                                                                                           \
            }                                                                                                          \
            return;                                                                                                    \
        }                                                                                                              \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            const float a = reads > 0 ? x[i] : 0, b = reads > 1 ? z[i] : 0;                                            \
            (void)a, (void)b;                                                                                          \
            y[i] = fast;                                                                                               \
        }                                                                                                              \
    }                                                                                                                  \
    static double exact_##name(double a, double b)                                                                     \
    {                                                                                                                  \
        (void)a, (void)b;                                                                                              \
        return exact;                                                                                                  \
    }
#include "bench/backends/cpu/functions.def"
#undef FUNCTION

typedef struct function {
    const char *name;
    int         reads;
    bool        positive;
    void (*row)(const float *x, const float *z, bool repeat, float *y, int64_t n);
    double (*exact)(double a, double b);
} function;

static const function functions[] = {
#define FUNCTION(name, reads, positive, fast, exact) {#name, reads, positive, row_##name, exact_##name},
#include "bench/backends/cpu/functions.def"
#undef FUNCTION
};

/* ---- choosing a loop --------------------------------------------------------------------------------------------- */

typedef enum shape { CONTIGUOUS, ROW, COLUMN, STRIDED, SHAPES } shape;

static const char *const shape_names[SHAPES] = {"", ":row", ":col", ":strided"};

static const function *function_of(const cm_call *call, shape *s)
{
    size_t length = strcspn(call->variant, ":");
    *s = SHAPES;
    for (int i = 0; i < SHAPES; i++)
        if (strcmp(call->variant + length, shape_names[i]) == 0) *s = (shape)i;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (strlen(functions[i].name) == length && strncmp(functions[i].name, call->variant, length) == 0)
            return &functions[i];
    return NULL;
}

static bool takes(const cm__cpu *cpu, const cm_call *call)
{
    shape           s;
    const function *f = function_of(call, &s);
    (void)cpu;
    if (!f || strcmp(call->dtype, "fp32") || call->dims[0] < 1 || call->dims[1] < 1) return false;
    return s == CONTIGUOUS || (s == STRIDED && strcmp(f->name, "copy") == 0) ||
           ((s == ROW || s == COLUMN) && f->reads == 2);
}

static int operands(const cm_call *call, cm__operand *o)
{
    shape           s;
    const function *f = function_of(call, &s);
    int64_t         outer = call->dims[0], inner = call->dims[1], n = outer * inner;
    o[FIRST] = (cm__operand){f->reads > 0 ? n : 1, f->positive ? CM__FILL_POSITIVE : CM__FILL_RANDOM, 0};
    o[SECOND] = (cm__operand){f->reads < 2 ? 1 : s == ROW ? inner : s == COLUMN ? outer : n, CM__FILL_RANDOM, 0};
    o[RESULT] = (cm__operand){n, CM__FILL_RESULT, 0};
    return 3;
}

/* ---- running ----------------------------------------------------------------------------------------------------- */

typedef struct loop {
    const function *f;
    float *const   *o;
    int64_t         outer, inner;
    shape           shape;
} loop;

static void run_flat(void *arg, int64_t first, int64_t last)
{
    const loop *l = arg;
    bool        two = l->f->reads > 1, one = l->f->reads > 0;
    l->f->row(l->o[FIRST] + (one ? first : 0), l->o[SECOND] + (two ? first : 0), false, l->o[RESULT] + first,
              last - first);
}

static void run_rows(void *arg, int64_t first, int64_t last)
{
    const loop *l = arg;
    for (int64_t i = first; i < last; i++)
        l->f->row(l->o[FIRST] + i * l->inner, l->o[SECOND] + (l->shape == COLUMN ? i : 0), l->shape == COLUMN,
                  l->o[RESULT] + i * l->inner, l->inner);
}

#define TILE 32

/* Makes a transposed view contiguous. Works in tiles, because otherwise every store would be a cache miss. */
static void run_transposed(void *arg, int64_t first, int64_t last)
{
    const loop  *l = arg;
    const float *from = l->o[FIRST];
    float       *to = l->o[RESULT];
    for (int64_t i0 = first; i0 < last; i0 += TILE)
        for (int64_t j0 = 0; j0 < l->inner; j0 += TILE)
            for (int64_t i = i0; i < last && i < i0 + TILE; i++)
                for (int64_t j = j0; j < l->inner && j < j0 + TILE; j++) to[i * l->inner + j] = from[j * l->outer + i];
}

static void run(cm__cpu_case *c, float *const *o)
{
    loop l = {.o = o, .outer = c->call.dims[0], .inner = c->call.dims[1]};
    l.f = function_of(&c->call, &l.shape);
    int64_t rows_grain = l.inner > GRAIN ? 1 : GRAIN / l.inner;
    if (l.shape == CONTIGUOUS) cm__pool_run(c->cpu->pool, run_flat, &l, l.outer * l.inner, GRAIN);
    else if (l.shape == STRIDED) cm__pool_run(c->cpu->pool, run_transposed, &l, l.outer, rows_grain);
    else cm__pool_run(c->cpu->pool, run_rows, &l, l.outer, rows_grain);
}

static int64_t check(cm__cpu_case *c, float *const *o, float *const *before)
{
    shape           s;
    const function *f = function_of(&c->call, &s);
    int64_t         outer = c->call.dims[0], inner = c->call.dims[1], n = outer * inner, wrong = 0;
    (void)before;
    for (int64_t i = 0; i < cm__samples(n); i++) {
        int64_t at = cm__sample(i, n), row = at / inner, column = at % inner;
        double  a = f->reads > 0 ? o[FIRST][s == STRIDED ? column * outer + row : at] : 0;
        double  b = f->reads > 1 ? o[SECOND][s == ROW ? column : s == COLUMN ? row : at] : 0;
        double  want = f->exact(a, b);
        wrong += cm__differs(o[RESULT][at], want, 1);
    }
    return wrong;
}

const cm__cpu_op cm__cpu_ops_elements[] = {
    {"elementwise", "forward", takes, operands, NULL, NULL, run, check, 1},
    {0},
};
