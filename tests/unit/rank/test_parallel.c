/* SPDX-License-Identifier: Apache-2.0 */
/* test_parallel.c - every task runs exactly once, with any number of threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "rank/rank.h"

static _Atomic int runs[1000];

static void count(void *user, int32_t index) { atomic_fetch_add(&((_Atomic int *)user)[index], 1); }

static void test_once(void **state)
{
    static const int32_t threads[] = {0, 1, 2, 8, 100}, counts[] = {0, 1, 7, 1000};
    (void)state;
    for (size_t t = 0; t < sizeof threads / sizeof *threads; t++)
        for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
            for (int i = 0; i < 1000; i++) runs[i] = 0;
            cm__parallel(threads[t], counts[c], count, runs);
            for (int i = 0; i < 1000; i++) assert_int_equal(runs[i], i < counts[c]);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_once)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
