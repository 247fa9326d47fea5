/* SPDX-License-Identifier: Apache-2.0 */
/*
 * foreach.c - time an optimizer's chain of foreach functions, launch by launch.
 *
 *     launch = start + ((passes cycles / clock)^1.5 + (moved / bandwidth)^1.5)^(1/1.5)
 *
 * passes: of the threads of the launch's largest block over its numbers; each waits for what it reads, longer if memory
 * has to deliver it. moved: bytes of all blocks, by memory or by the cache. What a function of the chain has touched is in
 * the cache for the next one if all that lies between fits in. Before the chain nothing is: the backward pass has
 * replaced it.
 *
 * Ignored: blocks that share a multiprocessor; tensors whose elements are no multiple of 4, which threads read one by one;
 * numbers near 0, whose roots and quotients take longer.
 */
#include "model/time/foreach.h"

#include <math.h>
#include "model/time/factors.h"

/* From MultiTensorApply.cuh and ForeachFunctors.cuh of PyTorch 2.11. */
#define CHUNK 65536       /* numbers of a block */
#define BLOCKS 320        /* of a launch */
#define PASS (512. * 4)   /* numbers that the threads of a block read at a time */
#define READS 3
#define FAR INFINITY      /* not touched by the chain before */

static const cm__factors *const f = &cm__time_factors;

/* A function of a chain. reads: per tensor that it reads, the tensors of the list's size that the chain touches from the
   one's last use on; 0: no more. It writes one tensor. tensors: of a launch; lists of numbers beside them leave room for
   fewer. */
typedef struct function {
    cm__variant   optimizers[2];
    int           tensors;
    double        reads[READS];
    const double *cycles; /* beside those of a plain pass; NULL: none */
} function;

static const function chains[] = {
    {{CM__V_SGD}, 64, {FAR, FAR}, NULL},                                      /* weights.add_(gradients) */
    {{CM__V_MOMENTUM}, 110, {FAR}, NULL},                                     /* momenta.mul_() */
    {{CM__V_MOMENTUM}, 64, {1, FAR}, NULL},                                   /* momenta.add_(gradients) */
    {{CM__V_MOMENTUM}, 64, {FAR, 2}, NULL},                                   /* weights.add_(momenta) */
    {{CM__V_ADAMW}, 110, {FAR}, NULL},                                        /* weights.mul_() */
    {{CM__V_ADAM, CM__V_ADAMW}, 64, {FAR, FAR}, &cm__time_factors.foreach_lerp},     /* means.lerp_(gradients) */
    {{CM__V_ADAM, CM__V_ADAMW}, 110, {FAR}, NULL},                                   /* squares.mul_() */
    {{CM__V_ADAM, CM__V_ADAMW}, 48, {1, 2.5}, &cm__time_factors.foreach_product},    /* squares.addcmul_(gradients, gradients) */
    {{CM__V_ADAM, CM__V_ADAMW}, 64, {2}, &cm__time_factors.foreach_root},            /* roots = squares.sqrt() */
    {{CM__V_ADAM, CM__V_ADAMW}, 96, {2}, &cm__time_factors.foreach_quotient},        /* roots.div_(numbers) */
    {{CM__V_ADAM, CM__V_ADAMW}, 110, {1}, NULL},                                     /* roots.add_() */
    {{CM__V_ADAM}, 48, {FAR, 4, 1}, &cm__time_factors.foreach_step},          /* weights.addcdiv_(means, roots, numbers) */
    {{CM__V_ADAMW}, 48, {5, 4, 1}, &cm__time_factors.foreach_step},
};

/* How long a pass of a block waits, and how long what a function moves for each number takes at full bandwidth. */
typedef struct costs {
    double pass_s, number_s;
} costs;

static costs costs_of(const cm__limits *l, const function *fn, double list_bytes, double number_bytes)
{
    double cache = f->foreach_cache * l->cache_bytes, near = 1, memory = cm__from_memory(cache, 2 * list_bytes), all = 1;
    for (int i = 0; i < READS && fn->reads[i] > 0; i++, all++) {
        double far = isinf(fn->reads[i]) ? 1 : cm__from_memory(cache, fn->reads[i] * list_bytes);
        memory += far, near *= 1 - far;
    }
    double cycles = f->foreach_cycles + f->foreach_cycles_memory * (1 - near) + (fn->cycles ? *fn->cycles : 0);
    double byte_s = memory / (f->reached_bandwidth * l->memory_bytes_s) + (all - memory) / l->cache_bytes_s;
    return (costs){cycles / l->clock_hz, number_bytes * byte_s};
}

typedef struct launch {
    double blocks, tensors, largest, numbers;
} launch;

static double launch_time(const launch *at, const costs *c)
{
    double passes_s = ceil(at->largest / PASS) * c->pass_s, moved_s = at->numbers * c->number_s, bend = f->foreach_bend;
    return f->foreach_start_s + pow(pow(passes_s, bend) + pow(moved_s, bend), 1 / bend);
}

static void finish(launch *at, const costs *c, bool left, double *time_s, double *launches)
{
    if (at->blocks > 0) *time_s += launch_time(at, c), ++*launches;
    *at = (launch){.tensors = left};
}

/* A launch ends with its last block, or with its last tensor. What is left of a tensor is the first of the next. */
static double function_time(const cm__update_list *list, int tensors, const costs *c, double *launches)
{
    launch at = {0};
    double time_s = 0;
    for (int32_t i = 0; i < list->count; i++) {
        if (list->begins[i]) finish(&at, c, false, &time_s, launches);
        at.tensors += list->numbers[i] > 0;
        for (double left = list->numbers[i]; left > 0;) {
            double part = fmin(left, (BLOCKS - at.blocks) * CHUNK);
            at.blocks += ceil(part / CHUNK), at.numbers += part, at.largest = fmax(at.largest, fmin(part, CHUNK));
            left -= part;
            if (at.blocks == BLOCKS || at.tensors == tensors) finish(&at, c, left > 0, &time_s, launches);
        }
    }
    finish(&at, c, false, &time_s, launches);
    return time_s;
}

static bool has_tensors(const cm__update_list *list, const cm__call *c)
{
    return c->op == CM__CALL_OPTIMIZER && list->count == c->sizes[CM__OPTIMIZER_TENSORS] &&
           list->elements == cm__size(c, CM__OPTIMIZER_ELEMENTS);
}

double cm__foreach_time(const cm__limits *l, const cm__update_list *list, const cm__call *call, double *launches)
{
    double time_s = 0, numbers = 0, number_bytes = cm__call_element(call, 0);
    *launches = 0;
    if (l->clock_hz <= 0 || l->memory_bytes_s <= 0 || !has_tensors(list, call)) return 0;
    for (int32_t i = 0; i < list->count; i++) numbers += list->numbers[i];
    for (size_t i = 0; i < sizeof chains / sizeof *chains; i++) {
        if (call->variant != chains[i].optimizers[0] && call->variant != chains[i].optimizers[1]) continue;
        costs c = costs_of(l, &chains[i], numbers * number_bytes, number_bytes);
        time_s += function_time(list, chains[i].tensors, &c, launches);
    }
    return time_s;
}
