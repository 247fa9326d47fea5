/* SPDX-License-Identifier: Apache-2.0 */
/* bench_case.h - a benchmark on the null device, whose stages a test calls one by one. */
#ifndef CM_TESTS_UNIT_BENCH_CASE_H
#define CM_TESTS_UNIT_BENCH_CASE_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "bench/bench.h"
#include "refuses.h"

static cm_diag   diag;
static cm_bench *b;

static inline void close_bench(void *unused)
{
    (void)unused;
    if (b->state) b->backend->close(b->state);
    if (b->fabric_state) b->fabric->close(b->fabric_state);
}

static inline void begin(void)
{
    cm__ctx *ctx = cm__ctx_new(&diag);
    b = cm__alloc(ctx, sizeof *b);
    b->ctx = ctx;
    b->began_s = cm__now_s();
    b->backend = &cm__backend_null;
    cm__map_init(&b->by_name, ctx);
    cm__defer(ctx, close_bench, NULL);
    b->backend->open(NULL, &b->state, &diag);
    b->backend->describe(b->state, &b->device);
    b->machine = (cm_bench_machine){.backend = "null", .id = b->device.id, .software = "none"};
}

/* The four simulated ranks. */
static inline void begin_ranks(void)
{
    b->fabric = &cm__fabric_null;
    b->fabric->open(NULL, &b->fabric_state, &diag);
    b->machine.ranks = b->fabric->ranks(b->fabric_state);
}

#define TEST(name)                                                                                                     \
    static void name##_body(void);                                                                                     \
    static void name(void **state)                                                                                     \
    {                                                                                                                  \
        (void)state;                                                                                                   \
        begin();                                                                                                       \
        if (setjmp(b->ctx->trap)) fail_msg("refused: %s: %s", diag.place, diag.reason);                                \
        name##_body();                                                                                                 \
        cm__ctx_free(b->ctx);                                                                                          \
    }                                                                                                                  \
    static void name##_body(void)

#define REFUSES(status_, reason_, expression) REFUSES_IN(b->ctx, status_, reason_, expression)

static inline cm__call call_of(const char *text)
{
    cm__call c;
    if (!cm__call_parse(text, &c)) fail_msg("'%s' is no call", text);
    return c;
}

static inline cm_bench_result *result(const char *name)
{
    int32_t at = cm__map_get(&b->by_name, cm__span_of(name));
    if (at < 0) fail_msg("no case '%s'", name);
    return &b->results[at];
}

static inline bool has_case(const char *name) { return cm__map_get(&b->by_name, cm__span_of(name)) >= 0; }

static inline void near(double got, double expected)
{
    if (!(fabs(got - expected) <= 1e-9 * fabs(expected))) fail_msg("%.12g, expected %.12g", got, expected);
}

#endif
