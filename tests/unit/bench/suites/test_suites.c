/* SPDX-License-Identifier: Apache-2.0 */
/* test_suites.c - which suites run, and the helper functions that they share. */
#include "bench_case.h"

static bool ran(const char *suite)
{
    for (int32_t i = 0; i < b->n_rows; i++)
        if (strcmp(b->rows[i].suite, suite) == 0) return true;
    return false;
}

TEST(the_usual_suites)
{
    cm__list_cases(b);
    assert_true(ran("roofline") && ran("host") && ran("lookup") && ran("primitives") && ran("sweep"));
    assert_false(ran("collectives"));
    assert_string_equal(b->rows[0].suite, "roofline"); /* the most important one first */
}

/* In the order of the table, not of the list. */
TEST(the_suites_named)
{
    b->options.suites = "lookup,roofline";
    cm__list_cases(b);
    assert_true(ran("roofline") && ran("lookup") && !ran("host") && !ran("sweep") && !ran("primitives"));
    assert_string_equal(b->rows[0].suite, "roofline");
}

/* Every name that is printed is a suite's. */
TEST(every_name_is_known)
{
    char names[128], *save = NULL;
    int  count = 0;
    begin_ranks();
    snprintf(names, sizeof names, "%s", cm_bench_suites());
    for (char *name = strtok_r(names, ", ", &save); name; name = strtok_r(NULL, ", ", &save), count++) {
        b->options.suites = name;
        cm__list_cases(b);
        assert_true(ran(name));
    }
    assert_int_equal(count, 6);
}

TEST(unknown_names)
{
    b->options.suites = "roofline,lokup";
    REFUSES(UNKNOWN, "no suite 'lokup'; did you mean 'lookup'?", cm__list_cases(b));
    b->options.suites = "xyzzyxyzzy";
    REFUSES(UNKNOWN, "there are roofline, host", cm__list_cases(b));
    b->options.suites = "roof";
    REFUSES(UNKNOWN, "no suite 'roof'", cm__list_cases(b));
}

/* A model replaces the suites unless these are named too. */
TEST(a_model_instead)
{
    b->options.model = "gemm:m=8,n=8,k=8";
    cm__list_cases(b);
    assert_true(ran("model") && !ran("roofline"));
    b->options.suites = "lookup";
    cm__list_cases(b);
    assert_true(ran("model") && ran("lookup"));
}

static bool supports_nothing(void *state, const cm_call *call)
{
    (void)state, (void)call;
    return false;
}

TEST(no_case_at_all)
{
    b->options.only = "nothing";
    REFUSES(UNKNOWN, "no selected case matches 'nothing'", cm__list_cases(b));
    cm_backend bare = cm__backend_null;
    bare.supports = supports_nothing;
    b->backend = &bare;
    b->options = (cm_bench_options){.suites = "primitives"};
    REFUSES(UNSUPPORTED, "the backend 'null' supports none", cm__list_cases(b));
    b->backend = &cm__backend_null;
}

/* ---- helper functions -------------------------------------------------------------------------------------------- */

TEST(calls_for_backends)
{
    cm__call c = cm__call_of("conv bwd_weight nhwc %s %d,3,64,224,224,7,7,2,2,3,3,1,1,1", "bf16", 32);
    cm__call_texts texts;
    cm_call  request = cm__call_for_backend(&c, &texts);
    assert_string_equal(request.op, "conv");
    assert_string_equal(request.pass, "bwd_weight");
    assert_string_equal(request.variant, "nhwc");
    assert_string_equal(request.dtype, "bf16");
    assert_int_equal(request.n_dims, 14);
    assert_true(request.dims[0] == 32 && request.dims[2] == 64 && request.dims[13] == 1);
}

TEST(types)
{
    assert_true(cm__is_half("bf16") && cm__is_half("fp16"));
    assert_false(cm__is_half("fp32") || cm__is_half("tf32") || cm__is_half("fp8") || cm__is_half(""));
    assert_string_equal(cm__bench_dtype(b, 0), "fp32");
    assert_string_equal(cm__bench_dtype(b, 1), "bf16");
    assert_null(cm__bench_dtype(b, 2));
    assert_null(cm__bench_dtype(b, CM_BENCH_RATES));
}

/* The highest rate of all types; of a device that claims none, 5e10 FLOP/s for each core, and at least two cores. */
TEST(claims)
{
    near(cm__claimed_flop_s(b), 4e12);
    b->device.rates[0].vector_flop_s = 9e12;
    near(cm__claimed_flop_s(b), 9e12);
    memset(b->device.rates, 0, sizeof b->device.rates);
    b->device.cores = 8;
    near(cm__claimed_flop_s(b), 4e11);
    b->device.cores = 0;
    near(cm__claimed_flop_s(b), 1e11);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_usual_suites), cmocka_unit_test(the_suites_named), cmocka_unit_test(every_name_is_known),
        cmocka_unit_test(unknown_names),    cmocka_unit_test(a_model_instead),  cmocka_unit_test(no_case_at_all),
        cmocka_unit_test(calls_for_backends), cmocka_unit_test(types),          cmocka_unit_test(claims),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
