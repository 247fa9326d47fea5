/* SPDX-License-Identifier: Apache-2.0 */
/* tables.c - embeddings and optimizer updates. */
#include <math.h>
#include <string.h>
#include "bench/backends/cpu/cpu.h"
#include "bench/backends/cpu/kernels.h"

static bool is_fp32(const cm_call *call) { return strcmp(call->dtype, "fp32") == 0; }

/* ---- embedding --------------------------------------------------------------------------------------------------- */

enum { TOKENS, TABLE, ROWS };

typedef struct lookup {
    float *const *o;
    int64_t       tokens, vocab, width;
} lookup;

static lookup lookup_of(const cm_call *call, float *const *o)
{
    return (lookup){o, call->dims[0], call->dims[1], call->dims[2]};
}

static bool takes_embedding(const cm__cpu *cpu, const cm_call *call)
{
    (void)cpu;
    return !*call->variant && is_fp32(call) && call->dims[0] > 0 && call->dims[1] > 0 && call->dims[2] > 0 &&
           call->dims[1] < INT32_MAX;
}

static int operands_embedding(const cm_call *call, cm__operand *o)
{
    bool forward = strcmp(call->pass, "forward") == 0;
    o[TOKENS] = (cm__operand){call->dims[0], CM__FILL_INDEX, call->dims[1]};
    o[TABLE] = (cm__operand){call->dims[1] * call->dims[2], forward ? CM__FILL_RANDOM : CM__FILL_RESULT, 0};
    o[ROWS] = (cm__operand){call->dims[0] * call->dims[2], forward ? CM__FILL_RESULT : CM__FILL_RANDOM, 0};
    return 3;
}

static void gather(void *arg, int64_t first, int64_t last)
{
    const lookup  *l = arg;
    const int32_t *tokens = (const int32_t *)l->o[TOKENS];
    for (int64_t i = first; i < last; i++)
        memcpy(l->o[ROWS] + i * l->width, l->o[TABLE] + tokens[i] * l->width, (size_t)l->width * sizeof(float));
}

static void run_embedding(cm__cpu_case *c, float *const *o)
{
    lookup l = lookup_of(&c->call, o);
    cm__pool_run(c->cpu->pool, gather, &l, l.tokens, l.width > 8192 ? 1 : 8192 / l.width);
}

/* Each thread adds its own columns, so that repeated tokens need no lock. */
CM__VECTORS static void scatter(void *arg, int64_t first, int64_t last)
{
    const lookup  *l = arg;
    const int32_t *tokens = (const int32_t *)l->o[TOKENS];
    for (int64_t v = 0; v < l->vocab; v++) memset(l->o[TABLE] + v * l->width + first, 0, (size_t)(last - first) * 4);
    for (int64_t i = 0; i < l->tokens; i++) {
        float       *to = l->o[TABLE] + tokens[i] * l->width;
        const float *from = l->o[ROWS] + i * l->width;
        for (int64_t j = first; j < last; j++) to[j] += from[j];
    }
}

static void run_embedding_backward(cm__cpu_case *c, float *const *o)
{
    lookup l = lookup_of(&c->call, o);
    cm__pool_run(c->cpu->pool, scatter, &l, l.width, 16);
}

static int64_t check_embedding(cm__cpu_case *c, float *const *o, float *const *before)
{
    lookup         l = lookup_of(&c->call, o);
    const int32_t *tokens = (const int32_t *)o[TOKENS];
    int64_t        wrong = 0, n = l.tokens * l.width;
    (void)before;
    for (int64_t i = 0; i < cm__samples(n); i++) {
        int64_t at = cm__sample(i, n);
        wrong += o[ROWS][at] != o[TABLE][tokens[at / l.width] * l.width + at % l.width];
    }
    return wrong;
}

static int64_t check_embedding_backward(cm__cpu_case *c, float *const *o, float *const *before)
{
    lookup         l = lookup_of(&c->call, o);
    const int32_t *tokens = (const int32_t *)o[TOKENS];
    int64_t        wrong = 0;
    (void)before;
    for (int64_t i = 0; i < cm__samples(l.tokens) && i < 31; i++) {
        int64_t token = tokens[cm__sample(i, l.tokens)], column = cm__sample(i, l.width) % l.width;
        double  sum = 0, size = 0;
        for (int64_t t = 0; t < l.tokens; t++) {
            double part = tokens[t] == token ? o[ROWS][t * l.width + column] : 0;
            sum += part;
            size += fabs(part);
        }
        wrong += cm__differs(o[TABLE][token * l.width + column], sum, size);
    }
    return wrong;
}

/* ---- optimizer --------------------------------------------------------------------------------------------------- */

enum { PARAMETER, GRADIENT, MOMENT, SECOND_MOMENT };

#define RATE     0.01f
#define DECAY    0.01f
#define MOMENTUM 0.9f
#define BETA2    0.999f
#define EPSILON  1e-8f

typedef struct update {
    float *const *o;
    int64_t       offset; /* of the tensor */
} update;

CM__VECTORS static void update_sgd(void *arg, int64_t first, int64_t last)
{
    const update *u = arg;
    float        *p = u->o[PARAMETER] + u->offset;
    const float  *g = u->o[GRADIENT] + u->offset;
    for (int64_t i = first; i < last; i++) p[i] -= RATE * g[i];
}

CM__VECTORS static void update_momentum(void *arg, int64_t first, int64_t last)
{
    const update *u = arg;
    float        *p = u->o[PARAMETER] + u->offset, *m = u->o[MOMENT] + u->offset;
    const float  *g = u->o[GRADIENT] + u->offset;
    for (int64_t i = first; i < last; i++) {
        m[i] = MOMENTUM * m[i] + g[i];
        p[i] -= RATE * m[i];
    }
}

/* The bias corrections of the moments are those of the tenth step. */
static inline void adam(const update *u, int64_t first, int64_t last, float decay)
{
    float       *p = u->o[PARAMETER] + u->offset, *m = u->o[MOMENT] + u->offset, *v = u->o[SECOND_MOMENT] + u->offset;
    const float *g = u->o[GRADIENT] + u->offset;
    const float  c1 = 1 / (1 - 0.34867844f), c2 = 1 / (1 - 0.99004488f); /* 0.9^10, 0.999^10 */
    for (int64_t i = first; i < last; i++) {
        m[i] = MOMENTUM * m[i] + (1 - MOMENTUM) * g[i];
        v[i] = BETA2 * v[i] + (1 - BETA2) * g[i] * g[i];
        p[i] = p[i] * (1 - RATE * decay) - RATE * m[i] * c1 / (sqrtf(v[i] * c2) + EPSILON);
    }
}

CM__VECTORS static void update_adam(void *arg, int64_t first, int64_t last) { adam(arg, first, last, 0); }

CM__VECTORS static void update_adamw(void *arg, int64_t first, int64_t last) { adam(arg, first, last, DECAY); }

static double exact_update(int states, double decay, const double *x) /* parameter, gradient, moments */
{
    if (states < 2) return x[0] - RATE * (states ? MOMENTUM * x[2] + x[1] : x[1]);
    double m = MOMENTUM * x[2] + (1 - MOMENTUM) * x[1], v = BETA2 * x[3] + (1 - BETA2) * x[1] * x[1];
    return x[0] * (1 - RATE * decay) - RATE * m / (1 - pow(0.9, 10)) / (sqrt(v / (1 - pow(0.999, 10))) + EPSILON);
}

static const struct optimizer {
    const char *name;
    int         states;
    cm__loop   *loop;
    double      decay;
} optimizers[] = {{"sgd", 0, update_sgd, 0},
                  {"momentum", 1, update_momentum, 0},
                  {"adam", 2, update_adam, 0},
                  {"adamw", 2, update_adamw, DECAY}};

static const struct optimizer *optimizer_of(const cm_call *call)
{
    for (size_t i = 0; i < sizeof optimizers / sizeof *optimizers; i++)
        if (strcmp(optimizers[i].name, call->variant) == 0) return &optimizers[i];
    return NULL;
}

static bool takes_optimizer(const cm__cpu *cpu, const cm_call *call)
{
    (void)cpu;
    return optimizer_of(call) && is_fp32(call) && call->dims[0] > 0 && call->dims[1] >= call->dims[0];
}

static int operands_optimizer(const cm_call *call, cm__operand *o)
{
    int states = optimizer_of(call)->states;
    o[PARAMETER] = (cm__operand){call->dims[1], CM__FILL_UPDATED, 0};
    o[GRADIENT] = (cm__operand){call->dims[1], CM__FILL_RANDOM, 0};
    o[MOMENT] = (cm__operand){call->dims[1], CM__FILL_UPDATED, 0};
    o[SECOND_MOMENT] = (cm__operand){call->dims[1], CM__FILL_STATE, 0};
    return 2 + states;
}

/* One loop per tensor, as in an optimizer that is not fused. */
static void run_optimizer(cm__cpu_case *c, float *const *o)
{
    const struct optimizer *optimizer = optimizer_of(&c->call);
    int64_t                 tensors = c->call.dims[0], n = c->call.dims[1];
    for (int64_t t = 0; t < tensors; t++) {
        int64_t first = n * t / tensors, last = n * (t + 1) / tensors;
        update  u = {o, first};
        cm__pool_run(c->cpu->pool, optimizer->loop, &u, last - first, 8192);
    }
}

static int64_t check_optimizer(cm__cpu_case *c, float *const *o, float *const *before)
{
    const struct optimizer *optimizer = optimizer_of(&c->call);
    int64_t                 wrong = 0, n = c->call.dims[1];
    for (int64_t i = 0; i < cm__samples(n); i++) {
        int64_t at = cm__sample(i, n);
        double  x[4] = {before[PARAMETER][at], o[GRADIENT][at], 0, 0};
        for (int s = 0; s < optimizer->states; s++) x[2 + s] = before[MOMENT + s][at];
        wrong += cm__differs(o[PARAMETER][at], exact_update(optimizer->states, optimizer->decay, x), 1);
    }
    return wrong;
}

const cm__cpu_op cm__cpu_ops_tables[] = {
    {"embedding", "forward", takes_embedding, operands_embedding, NULL, NULL, run_embedding, check_embedding, 1},
    {"embedding", "backward", takes_embedding, operands_embedding, NULL, NULL, run_embedding_backward,
     check_embedding_backward, 1},
    {"optimizer", "update", takes_optimizer, operands_optimizer, NULL, NULL, run_optimizer, check_optimizer, 1},
    {0},
};
