/* SPDX-License-Identifier: Apache-2.0 */
/* test_memo.c - cached call times: every part of the key counts, thousands of entries stay apart, threads agree. */
#include <pthread.h>
#include "time_device.h"
#include "model/time/memo.h"

static int table_a, table_b;

static cm__call call_at(int64_t m)
{
    cm__call c = call_of("gemm forward nn bf16 1,2,3,4");
    c.sizes[1] = m;
    return c;
}

static cm__memo_value value_of(double time_s) { return (cm__memo_value){.timed = {.time_s = time_s}, .library = 1}; }

static void test_key(void **state)
{
    (void)state;
    cm__ctx *ctx = cm__ctx_new(NULL);
    if (setjmp(ctx->trap)) fail();
    cm__memo          *m = cm__memo_new(ctx);
    const cm__memo_key key = {&table_a, CM_RUNTIME_TORCH_EAGER, false, false};
    const cm__memo_key others[] = {{&table_b, CM_RUNTIME_TORCH_EAGER, false, false},
                                   {&table_a, CM_RUNTIME_MEGATRON, false, false},
                                   {&table_a, CM_RUNTIME_TORCH_EAGER, true, false},
                                   {&table_a, CM_RUNTIME_TORCH_EAGER, false, true}};
    static const char *const calls[] = {"gemm forward nt bf16 1,2,3,4", "gemm forward nn fp32 1,2,3,4",
                                        "gemm forward nn bf16 1,2,3,5"};
    cm__call       c = call_at(2);
    cm__memo_value got, kept = value_of(3e-6);
    assert_false(cm__memo_find(m, key, &c, &got));
    cm__memo_keep(m, key, &c, &kept);
    assert_true(cm__memo_find(m, key, &c, &got));
    assert_true(got.timed.time_s == 3e-6 && got.library == 1);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) assert_false(cm__memo_find(m, others[i], &c, &got));
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        cm__call other = call_of(calls[i]);
        assert_false(cm__memo_find(m, key, &other, &got));
    }
    kept = value_of(4e-6);
    cm__memo_keep(m, key, &c, &kept); /* replaces the entry */
    assert_true(cm__memo_find(m, key, &c, &got) && got.timed.time_s == 4e-6);
    cm__ctx_free(ctx);
}

/* More entries than the first allocation of every part holds: all are found after the tables have grown. */
static void test_grows(void **state)
{
    (void)state;
    cm__ctx *ctx = cm__ctx_new(NULL);
    if (setjmp(ctx->trap)) fail();
    cm__memo          *m = cm__memo_new(ctx);
    const cm__memo_key key = {&table_a, CM_RUNTIME_NATIVE, false, false};
    for (int64_t i = 1; i <= 20000; i++) {
        cm__call       c = call_at(i);
        cm__memo_value v = value_of((double)i);
        cm__memo_keep(m, key, &c, &v);
    }
    for (int64_t i = 1; i <= 20000; i++) {
        cm__call       c = call_at(i);
        cm__memo_value got;
        assert_true(cm__memo_find(m, key, &c, &got));
        assert_true(got.timed.time_s == (double)i);
    }
    cm__ctx_free(ctx);
}

static void *fill(void *memo)
{
    const cm__memo_key key = {&table_b, CM_RUNTIME_NATIVE, false, false};
    intptr_t           wrong = 0;
    for (int64_t i = 1; i <= 2000; i++) {
        cm__call       c = call_at(i);
        cm__memo_value v = value_of((double)i), got;
        cm__memo_keep(memo, key, &c, &v);
        wrong += !cm__memo_find(memo, key, &c, &got) || got.timed.time_s != (double)i;
    }
    return (void *)wrong;
}

static void test_threads(void **state)
{
    (void)state;
    cm__ctx *ctx = cm__ctx_new(NULL);
    if (setjmp(ctx->trap)) fail();
    cm__memo *m = cm__memo_new(ctx);
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) assert_int_equal(pthread_create(&threads[i], NULL, fill, m), 0);
    for (int i = 0; i < 4; i++) {
        void *wrong;
        pthread_join(threads[i], &wrong);
        assert_null(wrong);
    }
    cm__ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_key), cmocka_unit_test(test_grows),
                                       cmocka_unit_test(test_threads)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
