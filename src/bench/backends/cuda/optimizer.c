/* SPDX-License-Identifier: Apache-2.0 */
/* optimizer.c - optimizer updates of many tensors in one kernel: sgd, momentum, adam, adamw; our own kernel. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/backends/cuda/ops.h"

#define THREADS 256
#define CHUNK 16384 /* as in kernels/tensors.cu */

typedef struct tensors {
    int64_t count, elements; /* number of tensors; elements of each */
    int     rule, p, g, m, v;
} tensors;

static cu_function kernel(cm__cuda_case *c, const char *name, int vector)
{
    char           defines[160];
    const tensors *t = c->data;
    snprintf(defines, sizeof defines, "-DTYPE_T=%s -DVECTOR=%d -DMAXIMUM=%d -DPLANES=%d -DATOMICS=%d -DRULE=%d",
             cm__types[c->type].device, vector, 0, 0, 0, t->rule);
    return cm__cuda_kernel(c->ctx, c->cu, "tensors.cu", name, defines);
}

static const char *const rules[] = {"sgd", "momentum", "adam", "adamw"};
/* learning rate, momentum, beta 1, beta 2, epsilon, weight decay, and the bias corrections of the second step */
static const float       hyper[] = {1e-3f, 0.9f, 0.9f, 0.999f, 1e-8f, 0.01f, 1 - 0.81f, 1 - 0.998001f};

bool cm__cuda_optimizer_known(const cm_call *call)
{
    return call->dims[1] >= call->dims[0]; /* no tensor is empty */
}

void cm__cuda_optimizer_declare(cm__cuda_case *c)
{
    tensors *t = c->data = cm__alloc(c->ctx, sizeof *t);
    while (strcmp(rules[t->rule], c->call.variant)) t->rule++;
    t->count = c->call.dims[0];
    t->elements = c->call.dims[1] / t->count;
    t->p = cm__cuda_operand(c, c->type, t->count * t->elements, FILL_RANDOM);
    t->g = cm__cuda_operand(c, c->type, t->count * t->elements, FILL_RANDOM);
    t->m = t->v = -1;
    if (t->rule > 0) t->m = cm__cuda_operand(c, c->type, t->count * t->elements, FILL_RANDOM);
    if (t->rule > 1) t->v = cm__cuda_operand(c, c->type, t->count * t->elements, FILL_POSITIVE);
}

void cm__cuda_optimizer_setup(cm__cuda_case *c)
{
    const tensors *t = c->data;
    int64_t        chunks = (t->elements + CHUNK - 1) / CHUNK;
    cu_function    optimize = kernel(c, "optimize", cm__cuda_vector(c, t->elements));
    cm__launch    *l = cm__cuda_add_launch(c, optimize, t->count * chunks, 1, THREADS);
    const int      operands[] = {t->p, t->g, t->m, t->v};
    for (int i = 0; i < 4; i++) {
        if (operands[i] >= 0)
            cm__cuda_arg_operand(l, operands[i]);
        else
            cm__cuda_arg_int(l, 0);
    }
    cm__cuda_arg_int(l, t->elements);
    for (size_t i = 0; i < sizeof hyper / sizeof *hyper; i++) cm__cuda_arg_real(l, hyper[i]);
}

int64_t cm__cuda_optimizer_check(cm__cuda_case *c)
{
    const tensors *t = c->data;
    int64_t        total = t->count * t->elements, n = cm__cuda_samples(1, total), wrong = 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t at = cm__cuda_sample(c, i, n, total);
        double  p = cm__cuda_value(c, t->p, at), g = cm__cuda_value(c, t->g, at),
               m = t->m >= 0 ? cm__cuda_value(c, t->m, at) : 0;
        double v = t->v >= 0 ? cm__cuda_value(c, t->v, at) : 0, step = g;
        if (t->rule == 1) step = m = (double)hyper[1] * m + g;
        if (t->rule == 3) p -= (double)hyper[0] * (double)hyper[5] * p;
        if (t->rule > 1) {
            m = (double)hyper[2] * m + (1 - (double)hyper[2]) * g;
            v = (double)hyper[3] * v + (1 - (double)hyper[3]) * g * g;
            step = m / (double)hyper[6] / (sqrt(v) / sqrt((double)hyper[7]) + (double)hyper[4]);
        }
        wrong += cm__cuda_wrong(c->type, cm__cuda_result(c, t->p, at), p - (double)hyper[0] * step, 1e-6);
        if (t->m >= 0) wrong += cm__cuda_wrong(c->type, cm__cuda_result(c, t->m, at), m, 1e-6);
        if (t->v >= 0) wrong += cm__cuda_wrong(c->type, cm__cuda_result(c, t->v, at), v, 1e-6);
    }
    return wrong;
}
