/* SPDX-License-Identifier: Apache-2.0 */
/* elementwise.c - unary and binary elementwise functions with broadcasting, casts and masks; our own kernels. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/backends/cuda/ops.h"

#define THREADS 256

typedef struct function {
    const char *name;
    int         inputs;
    bool        masked, draws; /* reads a mask; draws the mask */
    bool        positive;      /* defined for positive operands only */
    double (*of)(double a, double b, bool mask);
} function;

#define DEFINE(name, expression)                                                                                       \
    static double name(double a, double b, bool m)                                                                     \
    {                                                                                                                  \
        (void)a, (void)b, (void)m;                                                                                     \
        return expression;                                                                                             \
    }
static double sigma(double x)
{
    return 1 / (1 + exp(-x));
}
static double tanh_part(double x)
{
    return tanh(0.7978845608028654 * (x + 0.044715 * x * x * x));
}
DEFINE(f_copy, a)
DEFINE(f_fill, 0.5)
DEFINE(f_add, a + b)
DEFINE(f_sub, a - b)
DEFINE(f_mul, a *b)
DEFINE(f_div, a / b)
DEFINE(f_pow, pow(a, b))
DEFINE(f_where, m ? a : b)
DEFINE(f_relu, a > 0 ? a : 0)
DEFINE(f_sigmoid, sigma(a))
DEFINE(f_tanh, tanh(a))
DEFINE(f_gelu, 0.5 * a * (1 + erf(a * 0.70710678118654752)))
DEFINE(f_gelu_tanh, 0.5 * a * (1 + tanh_part(a)))
DEFINE(f_silu, a *sigma(a))
DEFINE(f_exp, exp(a))
DEFINE(f_log, log(a))
DEFINE(f_sqrt, sqrt(a))
DEFINE(f_rsqrt, 1 / sqrt(a))
DEFINE(f_erf, erf(a))
DEFINE(f_neg, -a)
DEFINE(f_scale, a * 0.125)
DEFINE(f_clip, fmin(fmax(a, -1), 1))
DEFINE(f_hardswish, a *fmin(fmax(a + 3, 0), 6) / 6)
DEFINE(f_dropout, m ? a * 2 : 0)
DEFINE(f_relu_grad, b > 0 ? a : 0)
DEFINE(f_sigmoid_grad, a *b *(1 - b))
DEFINE(f_tanh_grad, a *(1 - b * b))
DEFINE(f_silu_grad, a *sigma(b) * (1 + b * (1 - sigma(b))))
DEFINE(f_gelu_grad, a *(0.5 * (1 + erf(b * 0.70710678118654752)) + b * 0.3989422804014327 * exp(-0.5 * b * b)))
DEFINE(f_gelu_tanh_grad, a *(0.5 * (1 + tanh_part(b)) + 0.5 * b * (1 - tanh_part(b) * tanh_part(b)) *
                                                            0.7978845608028654 * (1 + 3 * 0.044715 * b * b)))
DEFINE(f_hardswish_grad, b <= -3 ? 0 : b >= 3 ? a : a * (b / 3 + 0.5))

static const function functions[] = {
    {"copy", 1, 0, 0, 0, f_copy},
    {"fill", 0, 0, 0, 0, f_fill},
    {"add", 2, 0, 0, 0, f_add},
    {"sub", 2, 0, 0, 0, f_sub},
    {"mul", 2, 0, 0, 0, f_mul},
    {"div", 2, 0, 0, 0, f_div},
    {"pow", 2, 0, 0, 1, f_pow},
    {"where", 2, 1, 0, 0, f_where},
    {"relu", 1, 0, 0, 0, f_relu},
    {"gelu", 1, 0, 0, 0, f_gelu},
    {"gelu_tanh", 1, 0, 0, 0, f_gelu_tanh},
    {"silu", 1, 0, 0, 0, f_silu},
    {"sigmoid", 1, 0, 0, 0, f_sigmoid},
    {"tanh", 1, 0, 0, 0, f_tanh},
    {"exp", 1, 0, 0, 0, f_exp},
    {"log", 1, 0, 0, 1, f_log},
    {"sqrt", 1, 0, 0, 1, f_sqrt},
    {"rsqrt", 1, 0, 0, 1, f_rsqrt},
    {"erf", 1, 0, 0, 0, f_erf},
    {"neg", 1, 0, 0, 0, f_neg},
    {"scale", 1, 0, 0, 0, f_scale},
    {"dropout", 1, 1, 1, 0, f_dropout},
    {"clip", 1, 0, 0, 0, f_clip},
    {"hardswish", 1, 0, 0, 0, f_hardswish},
    {"relu_grad", 2, 0, 0, 0, f_relu_grad},
    {"gelu_grad", 2, 0, 0, 0, f_gelu_grad},
    {"gelu_tanh_grad", 2, 0, 0, 0, f_gelu_tanh_grad},
    {"silu_grad", 2, 0, 0, 0, f_silu_grad},
    {"sigmoid_grad", 2, 0, 0, 0, f_sigmoid_grad},
    {"tanh_grad", 2, 0, 0, 0, f_tanh_grad},
    {"dropout_grad", 1, 1, 0, 0, f_dropout},
    {"hardswish_grad", 2, 0, 0, 0, f_hardswish_grad},
    {"cat", 2, 0, 0, 0, f_copy},
};

static const char *const shapes[] = {"", ":row", ":col", ":strided"};

typedef struct elementwise {
    const function *f;
    int             shape; /* index into shapes */
    bool            cat;
    cm__type        a_type, b_type, out_type;
    int64_t         outer, inner;
    int             a, b, mask, to;
} elementwise;

/* "bf16", "fp32>bf16", "bf16+fp32>fp32" */
static bool types_of(const char *dtype, elementwise *e)
{
    size_t first = strcspn(dtype, "+>"), second = 0;
    e->a_type = e->b_type = e->out_type = cm__type_named(dtype, (int)first);
    const char *rest = dtype + first;
    if (*rest == '+') {
        second = strcspn(rest + 1, ">");
        e->b_type = cm__type_named(rest + 1, (int)second);
        rest += 1 + second;
    }
    if (*rest == '>') e->out_type = cm__type_named(rest + 1, (int)strlen(rest + 1));
    return e->a_type <= TYPE_BF16 && e->b_type <= TYPE_BF16 && e->out_type <= TYPE_BF16;
}

static bool read_call(const cm_call *call, elementwise *e)
{
    size_t length = strcspn(call->variant, ":");
    *e = (elementwise){.f = NULL, .shape = -1, .a = -1, .b = -1, .mask = -1};
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (strlen(functions[i].name) == length && memcmp(functions[i].name, call->variant, length) == 0)
            e->f = &functions[i];
    for (int i = 0; i < 4; i++)
        if (strcmp(shapes[i], call->variant + length) == 0) e->shape = i;
    if (!e->f || e->shape < 0 || !types_of(call->dtype, e)) return false;
    e->cat = strcmp(e->f->name, "cat") == 0;
    e->outer = call->dims[0];
    e->inner = call->dims[1];
    bool takes_shape = e->shape == 3 ? e->f->inputs > 0 && !e->f->draws : e->f->inputs == 2 && !e->f->masked;
    return e->outer > 0 && e->inner > 0 && (!e->shape || (takes_shape && !e->cat)) && (!e->cat || e->inner > 1);
}

bool cm__cuda_elementwise_known(const cm_call *call)
{
    elementwise e;
    return read_call(call, &e);
}

void cm__cuda_elementwise_declare(cm__cuda_case *c)
{
    elementwise *e = c->data = cm__alloc(c->ctx, sizeof *e);
    if (!read_call(&c->call, e)) cm__fail(c->ctx, CM_ERR_ARGUMENT, "no such function or sizes: %s", c->call.variant);
    int64_t  count = e->outer * e->inner, half = e->inner / 2;
    int64_t  b_count = e->shape == 1   ? e->inner
                       : e->shape == 2 ? e->outer
                       : e->cat        ? e->outer * (e->inner - half)
                                       : count;
    cm__fill fill = e->f->positive ? FILL_POSITIVE : FILL_RANDOM;
    if (e->f->inputs > 0) e->a = cm__cuda_operand(c, e->a_type, e->cat ? e->outer * half : count, fill);
    if (e->f->inputs > 1) e->b = cm__cuda_operand(c, e->b_type, b_count, fill);
    if (e->f->masked) e->mask = cm__cuda_operand(c, TYPE_BYTE, count, e->f->draws ? FILL_ZERO : FILL_BYTE);
    e->to = cm__cuda_operand(c, e->out_type, count, FILL_ZERO);
}

static void add_operand(cm__launch *l, int operand)
{
    if (operand >= 0)
        cm__cuda_arg_operand(l, operand);
    else
        cm__cuda_arg_int(l, 0);
}

/* The grid's y dimension covers rows, its x dimension columns. */
static void plan_shaped(cm__cuda_case *c, const elementwise *e, cu_function kernel)
{
    int64_t     blocks = (e->inner + THREADS - 1) / THREADS;
    cm__launch *l = cm__cuda_add_launch(c, kernel, blocks, e->outer < 65535 ? e->outer : 65535, THREADS);
    add_operand(l, e->a);
    add_operand(l, e->b);
    if (!e->cat) add_operand(l, e->mask);
    cm__cuda_arg_operand(l, e->to);
    cm__cuda_arg_int(l, e->outer);
    cm__cuda_arg_int(l, e->inner);
}

static void plan_flat(cm__cuda_case *c, const elementwise *e, cu_function kernel)
{
    int64_t     count = e->outer * e->inner, vectors = count / 4 + 1, blocks = (vectors + THREADS - 1) / THREADS;
    cm__launch *l = cm__cuda_add_launch(c, kernel, blocks, 1, THREADS);
    add_operand(l, e->a);
    add_operand(l, e->b);
    add_operand(l, e->mask);
    cm__cuda_arg_operand(l, e->to);
    cm__cuda_arg_int(l, count);
    cm__cuda_arg_int(l, (int64_t)(c->cu->seed ^ 0xd30f));
}

void cm__cuda_elementwise_setup(cm__cuda_case *c)
{
    char         defines[256];
    elementwise *e = c->data;
    snprintf(defines, sizeof defines,
             "-DF=%s -DTYPE_A=%s -DTYPE_B=%s -DTYPE_O=%s -DINPUTS=%d -DMASKED=%d -DDRAWS=%d -DSHAPE=%d",
             e->cat ? "copy" : e->f->name, cm__types[e->a_type].device, cm__types[e->b_type].device,
             cm__types[e->out_type].device, e->f->inputs, e->f->masked, e->f->draws, e->shape);
    if (e->cat)
        plan_shaped(c, e, cm__cuda_kernel(c->ctx, c->cu, "elementwise.cu", "cat", defines));
    else if (e->shape)
        plan_shaped(c, e, cm__cuda_kernel(c->ctx, c->cu, "elementwise.cu", "shaped", defines));
    else
        plan_flat(c, e, cm__cuda_kernel(c->ctx, c->cu, "elementwise.cu", "flat", defines));
}

static double wanted(cm__cuda_case *c, const elementwise *e, int64_t at)
{
    int64_t row = at / e->inner, column = at % e->inner, half = e->inner / 2;
    if (e->cat)
        return column < half ? cm__cuda_value(c, e->a, row * half + column)
                             : cm__cuda_value(c, e->b, row * (e->inner - half) + column - half);
    int64_t a_at = e->shape == 3 ? column * e->outer + row : at, b_at = e->shape == 1   ? column
                                                                        : e->shape == 2 ? row
                                                                                        : at;
    double  a = e->a >= 0 ? cm__cuda_value(c, e->a, a_at) : 0, b = e->b >= 0 ? cm__cuda_value(c, e->b, b_at) : 0;
    bool    mask = e->f->draws ? cm__cuda_result(c, e->mask, at) != 0
                               : e->mask >= 0 && cm__cuda_value(c, e->mask, at) != 0;
    return e->f->of(a, b, mask);
}

/* The kernels compute in fp32, some with the fast exponential: errors are a few parts per million of the result or of
   terms near 1 that cancel. */
int64_t cm__cuda_elementwise_check(cm__cuda_case *c)
{
    const elementwise *e = c->data;
    int64_t            total = e->outer * e->inner, n = cm__cuda_samples(2, total), wrong = 0, kept = 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t at = cm__cuda_sample(c, i, n, total);
        double  want = wanted(c, e, at);
        wrong += cm__cuda_wrong(e->out_type, cm__cuda_result(c, e->to, at), want, 4e-6 * (fabs(want) + 1));
        if (e->f->draws) kept += cm__cuda_result(c, e->mask, at) != 0;
    }
    /* A constant mask is wrong: 64 equal draws have a probability of 1 in 2^63. */
    return wrong + (e->f->draws && n == CUDA_SAMPLES && (kept == 0 || kept == n));
}
