/* SPDX-License-Identifier: Apache-2.0 */
/* test_runtimes.c - names of runtimes and their modes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "graph/runtimes.h"

/* Every name is parsed as the runtime that has it. */
static void names_are_parsed(void **state)
{
    (void)state;
    for (int r = CM_RUNTIME_TORCH_EAGER; r <= CM_RUNTIME_USUAL; r++) {
        cm_runtime got = CM_RUNTIME_DEFAULT;
        assert_int_equal(cm_runtime_parse(cm_runtime_name((cm_runtime)r), &got, NULL), CM_OK);
        assert_int_equal(got, r);
    }
}

static void a_mode_has_a_base(void **state)
{
    (void)state;
    cm_runtime got;
    cm_diag    diag;
    assert_int_equal(cm_runtime_parse("torch-compile:default", &got, NULL), CM_OK);
    assert_int_equal(got, CM_RUNTIME_TORCH_COMPILE);
    assert_int_equal(cm_runtime_parse("torch-compile:max-autotune", &got, NULL), CM_OK);
    assert_int_equal(cm_runtime_base(got), CM_RUNTIME_TORCH_COMPILE);
    assert_int_equal(cm_runtime_base(CM_RUNTIME_EAGER_GRAPHS), CM_RUNTIME_TORCH_EAGER);
    assert_int_equal(cm_runtime_base(CM_RUNTIME_MEGATRON), CM_RUNTIME_MEGATRON);
    assert_int_equal(cm_runtime_base(CM_RUNTIME_TUNED), CM_RUNTIME_TUNED);
    assert_int_equal(cm_runtime_parse("torch-compile:fast", &got, &diag), CM_ERR_UNKNOWN);
    assert_non_null(strstr(diag.reason, "torch-compile[:default|reduce-overhead|max-autotune]"));
}

static void graphs_are_a_mode(void **state)
{
    (void)state;
    cm_runtime plain = CM_RUNTIME_DEFAULT, compiled = CM_RUNTIME_TORCH_COMPILE, tuned = CM_RUNTIME_COMPILE_TUNED,
               megatron = CM_RUNTIME_MEGATRON, usual = CM_RUNTIME_USUAL, vendors = CM_RUNTIME_TUNED;
    assert_int_equal(cm_runtime_with_graphs(&plain, NULL), CM_OK);
    assert_string_equal(cm_runtime_name(plain), "torch-eager:cuda-graphs");
    assert_int_equal(cm_runtime_with_graphs(&compiled, NULL), CM_OK);
    assert_string_equal(cm_runtime_name(compiled), "torch-compile:reduce-overhead");
    assert_int_equal(cm_runtime_with_graphs(&tuned, NULL), CM_OK); /* max-autotune has them already */
    assert_int_equal(tuned, CM_RUNTIME_COMPILE_TUNED);
    assert_int_equal(cm_runtime_with_graphs(&vendors, NULL), CM_OK); /* and so do the vendors' stacks */
    assert_int_equal(vendors, CM_RUNTIME_TUNED);
    assert_int_equal(cm_runtime_with_graphs(&usual, NULL), CM_OK);
    assert_int_equal(usual, CM_RUNTIME_COMPILE_GRAPHS);
    assert_int_equal(cm_runtime_with_graphs(&megatron, NULL), CM_ERR_UNSUPPORTED);
    assert_int_equal(megatron, CM_RUNTIME_MEGATRON);
}

static void xla_always_launches_whole_steps(void **state)
{
    (void)state;
    assert_true(cm__replays(CM_RUNTIME_XLA));
    assert_true(cm__replays(CM_RUNTIME_COMPILE_GRAPHS));
    assert_true(cm__replays(CM_RUNTIME_EAGER_GRAPHS));
    assert_false(cm__replays(CM_RUNTIME_TORCH_COMPILE));
    assert_false(cm__replays(CM_RUNTIME_TORCH_EAGER));
}

static void megatron_core_is_a_release(void **state)
{
    (void)state;
    assert_true(cm__is_megatron_core(CM_RUNTIME_MEGATRON, cm__software_of_year(0)));
    assert_true(cm__is_megatron_core(CM_RUNTIME_MEGATRON, cm__software_of_year(2024)));
    assert_false(cm__is_megatron_core(CM_RUNTIME_MEGATRON, cm__software_of_year(2023)));
    assert_false(cm__is_megatron_core(CM_RUNTIME_TORCH_EAGER, cm__software_of_year(0)));
}

static void pytorch_includes_its_modes_and_vendors_stacks(void **state)
{
    static const bool pytorch[] = {
        [CM_RUNTIME_TORCH_EAGER] = true,  [CM_RUNTIME_TORCH_COMPILE] = true,  [CM_RUNTIME_TUNED] = true,
        [CM_RUNTIME_XLA] = true, /* calls the same libraries */
        [CM_RUNTIME_EAGER_GRAPHS] = true, [CM_RUNTIME_COMPILE_GRAPHS] = true, [CM_RUNTIME_COMPILE_TUNED] = true};
    (void)state;
    for (int r = 0; r < CM_RUNTIMES; r++) assert_int_equal(cm__is_pytorch((cm_runtime)r), pytorch[r]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(names_are_parsed), cmocka_unit_test(a_mode_has_a_base),
                                       cmocka_unit_test(graphs_are_a_mode),
                                       cmocka_unit_test(xla_always_launches_whole_steps),
                                       cmocka_unit_test(megatron_core_is_a_release),
                                       cmocka_unit_test(pytorch_includes_its_modes_and_vendors_stacks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
