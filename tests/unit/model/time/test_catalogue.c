/* SPDX-License-Identifier: Apache-2.0 */
/* test_catalogue.c - tables are sorted by family, and a catalogue is made once per question. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "base/versions.h"
#include "model/time/catalogue.h"

#define EAGER .runtime = "torch-eager"
#define COMPILED .runtime = "torch-compile"

static const cm__kernel_table all[] = {
    {EAGER, .op = CM__CALL_GEMM, .variant = CM__V_NT, .types = CM__ALL(CM_BF16)},
    {EAGER, .op = CM__CALL_ELEMENTWISE, .variant = CM__V_ADD, .types = CM__ALL(CM_BF16)},
    {COMPILED, .op = CM__CALL_ELEMENTWISE, .variant = CM__V_FUSED, .types = CM__ALL(CM_BF16)},
    {EAGER, .op = CM__CALL_GEMM, .variant = CM__V_NT, .types = CM__ALL(CM_FP32)},
    {EAGER, .op = CM__CALL_GEMM, .variant = CM__V_TN, .types = CM__ALL(CM_FP16)},
    {EAGER, .op = CM__CALL_ELEMENTWISE, .variant = CM__V(ADD, STRIDED), .types = CM__ALL(CM_BF16)},
};
static const cm_versions newest = {{0}};
static const cm__kernels tables = {all, sizeof all / sizeof *all};

static void family_is(const cm__catalogue *c, int op, int kind, int count, const int *members)
{
    cm__members f = c->families[op][kind];
    assert_int_equal(f.count, count);
    for (int i = 0; i < count; i++) assert_ptr_equal(c->tables[f.first + i], &all[members[i]]);
}

/* 16-bit products are apart from others, strided functions from contiguous ones. */
static void by_family(void **state)
{
    (void)state;
    cm__ctx             *ctx = cm__ctx_new(NULL);
    const cm__catalogue *c = cm__catalogue_of(ctx, NULL, tables, CM_RUNTIME_TORCH_EAGER, newest);
    assert_int_equal(c->count, 5);
    family_is(c, CM__CALL_GEMM, 1, 2, (int[]){0, 4}); /* in their order */
    family_is(c, CM__CALL_GEMM, 0, 1, (int[]){3});
    family_is(c, CM__CALL_ELEMENTWISE, 0, 1, (int[]){1});
    family_is(c, CM__CALL_ELEMENTWISE, 1, 1, (int[]){5});
    assert_int_equal(c->families[CM__CALL_CONV][0].count, 0);
    cm__ctx_free(ctx);
}

/* Compiled PyTorch runs eager kernels, too: they come after its own. */
static void two_runtimes(void **state)
{
    (void)state;
    cm__ctx             *ctx = cm__ctx_new(NULL);
    const cm__catalogue *c = cm__catalogue_of(ctx, NULL, tables, CM_RUNTIME_TORCH_COMPILE, newest);
    assert_int_equal(c->count, 6);
    family_is(c, CM__CALL_ELEMENTWISE, 0, 2, (int[]){2, 1});
    c = cm__catalogue_of(ctx, NULL, tables, CM_RUNTIME_NATIVE, newest);
    assert_int_equal(c->count, 0);
    cm__ctx_free(ctx);
}

static void kept(void **state)
{
    (void)state;
    cm__ctx             *ctx = cm__ctx_new(NULL);
    cm__catalogues      *kept = cm__catalogues_new(ctx);
    const cm__catalogue *eager = cm__catalogue_of(ctx, kept, tables, CM_RUNTIME_TORCH_EAGER, newest);
    const cm__catalogue *compiled = cm__catalogue_of(ctx, kept, tables, CM_RUNTIME_TORCH_COMPILE, newest);
    assert_ptr_not_equal(eager, compiled);
    assert_ptr_equal(cm__catalogue_of(ctx, kept, tables, CM_RUNTIME_TORCH_EAGER, newest), eager);
    assert_ptr_equal(cm__catalogue_of(ctx, kept, tables, CM_RUNTIME_TORCH_COMPILE, newest), compiled);
    const cm__catalogue *fewer = cm__catalogue_of(ctx, kept, (cm__kernels){all, 1}, CM_RUNTIME_TORCH_EAGER, newest);
    assert_int_equal(fewer->count, 1);
    assert_int_equal(cm__catalogue_of(ctx, kept, (cm__kernels){0}, CM_RUNTIME_TORCH_EAGER, newest)->count, 0);
    cm__ctx_free(ctx);
}

/* A family has tables of one release: the newest, or the one that is asked for. Another family may have another. */
static void one_release(void **state)
{
    (void)state;
    const cm_versions old = {{cm__version(2, 5)}}, recent = {{cm__version(2, 11)}}, other = {{cm__version(2, 9)}};
    const cm__kernel_table both[] = {
        {EAGER, .op = CM__CALL_GEMM, .variant = CM__V_NT, .types = CM__ALL(CM_BF16), .software = old},
        {EAGER, .op = CM__CALL_GEMM, .variant = CM__V_NT, .types = CM__ALL(CM_BF16), .software = recent},
        {EAGER, .op = CM__CALL_GEMM, .variant = CM__V_NN, .types = CM__ALL(CM_BF16), .software = old},
        {EAGER, .op = CM__CALL_SOFTMAX, .variant = CM__V_NONE, .types = CM__ALL(CM_BF16), .software = old},
        {EAGER, .op = CM__CALL_GEMM, .variant = CM__V_TN, .types = CM__ALL(CM_BF16)}, /* not stated */
    };
    const struct {
        cm_versions asked;
        int         first, count;
    } cases[] = {{newest, 1, 2}, {recent, 1, 2}, {old, 0, 3}, {other, 1, 2}};
    cm__ctx        *ctx = cm__ctx_new(NULL);
    cm__catalogues *kept = cm__catalogues_new(ctx);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const cm__catalogue *c = cm__catalogue_of(ctx, kept, (cm__kernels){both, 5}, CM_RUNTIME_TORCH_EAGER, cases[i].asked);
        cm__members          products = c->families[CM__CALL_GEMM][1];
        assert_int_equal(products.count, cases[i].count);
        assert_ptr_equal(c->tables[products.first], &both[cases[i].first]);
        assert_int_equal(c->families[CM__CALL_SOFTMAX][0].count, 1);
    }
    cm__ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(by_family), cmocka_unit_test(two_runtimes),
                                       cmocka_unit_test(kept), cmocka_unit_test(one_release)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
