/* SPDX-License-Identifier: Apache-2.0 */
/* test_null.c - the simulated device: every time is its formula, and what it cannot do it says. */
#include "bench_case.h"

static double time_of(void *a_case, int64_t repetitions)
{
    double time_s;
    assert_int_equal(b->backend->run(a_case, repetitions, &time_s, &diag), CM_OK);
    return time_s;
}

static double call_time(const char *text)
{
    cm__call        c = call_of(text);
    cm__call_texts texts;
    cm_call         request = cm__call_for_backend(&c, &texts);
    cm_case_options options = {0};
    void           *a_case;
    int64_t         wrong;
    if (b->backend->prepare(b->state, &request, &options, &a_case, &diag)) fail_msg("%s", diag.reason);
    double time_s = time_of(a_case, 1);
    near(time_of(a_case, 1000), 1000 * time_s);
    assert_int_equal(b->backend->kernels(a_case), 1);
    assert_int_equal(b->backend->verify(a_case, &wrong, &diag), CM_OK);
    b->backend->release(a_case);
    return wrong ? NAN : time_s;
}

/* 1 us, and FLOP at 1e12 FLOP/s (bf16: 4e12) or bytes at 1e11 B/s, whichever takes longer */
TEST(times_of_calls)
{
    near(call_time("gemm forward nn fp32 1,1024,1024,1024"), 1e-6 + 2 * pow(1024, 3) / 1e12);
    near(call_time("gemm forward nn bf16 1,1024,1024,1024"), 1e-6 + 2 * pow(1024, 3) / 4e12);
    near(call_time("elementwise forward relu fp32 1,1000000"), 1e-6 + 8e6 / 1e11);
    near(call_time("elementwise forward relu bf16 1,1000000"), 1e-6 + 4e6 / 1e11);
}

TEST(one_product_is_wrong)
{
    assert_true(isnan(call_time("gemm forward nn fp32 1,13,13,13")));
    assert_true(call_time("gemm forward nn fp32 1,13,13,14") > 0);
}

static bool supports(const char *text)
{
    cm__call c = call_of(text);
    cm__call_texts texts;
    cm_call  request = cm__call_for_backend(&c, &texts);
    return b->backend->supports(b->state, &request);
}

TEST(types_that_it_has)
{
    assert_true(supports("gemm forward nn fp32 1,8,8,8") && supports("gemm forward nn bf16 1,8,8,8"));
    assert_true(supports("elementwise forward copy fp32>bf16 1,8"));
    assert_false(supports("gemm forward nn fp64 1,8,8,8"));
    cm_call odd = {.op = "gemm", .pass = "forward", .variant = "nn", .dtype = "fp32", .n_dims = 3};
    assert_false(b->backend->supports(b->state, &odd));
    odd = (cm_call){.op = "gem", .pass = "forward", .variant = "nn", .dtype = "fp32", .n_dims = 4};
    assert_false(b->backend->supports(b->state, &odd));
    odd = (cm_call){.op = "gemm", .pass = "sideways", .variant = "nn", .dtype = "fp32", .n_dims = 4};
    assert_false(b->backend->supports(b->state, &odd));
    odd = (cm_call){.op = "gemm", .pass = "forward", .variant = "a-variant-of-more-than-31-letters", .dtype = "fp32",
                    .n_dims = 4};
    assert_false(b->backend->supports(b->state, &odd));
}

/* Every operator is listed once. */
TEST(operators_that_it_has)
{
    int32_t             count;
    const cm_call_kind *kinds = b->backend->calls(b->state, &count);
    assert_int_equal(count, CM__CALLS);
    for (int i = 0; i < count; i++) assert_int_equal(cm__call_find(kinds[i].op), i);
}

/* 4 * 3 * 40000^2 B = 19.2 GB are more than 16 GiB. */
TEST(memory_has_an_end)
{
    cm__call        c = call_of("gemm forward nn fp32 1,40000,40000,40000");
    cm__call_texts texts;
    cm_call         request = cm__call_for_backend(&c, &texts), unknown = {.op = "gem", .pass = "forward", .variant = "", .dtype = ""};
    cm_case_options options = {0};
    void           *a_case;
    assert_int_equal(b->backend->prepare(b->state, &request, &options, &a_case, &diag), CM_ERR_LIMIT);
    assert_non_null(strstr(diag.reason, "needs 17.9 GiB of memory, 16.0 GiB are free"));
    assert_int_equal(b->backend->prepare(b->state, &unknown, &options, &a_case, &diag), CM_ERR_UNSUPPORTED);
}

/* The rate of a probe: work over time. */
static double rate(cm_probe probe, int64_t bytes, const char *dtype)
{
    cm_probe_request request = {probe, bytes, dtype};
    void            *a_case;
    double           work;
    assert_int_equal(b->backend->probe(b->state, &request, &a_case, &work, &diag), CM_OK);
    double time_s = time_of(a_case, 1);
    b->backend->release(a_case);
    return work / time_s;
}

/* A cache of 1 MiB is ten times as fast as memory; a look-up reads 64 B. */
TEST(rates_of_probes)
{
    near(rate(CM_PROBE_READ, 1 << 20, NULL), 1e12);
    near(rate(CM_PROBE_READ, (1 << 20) + 1, NULL), 1e11);
    near(rate(CM_PROBE_COPY, 1 << 30, NULL), 1e11);
    near(rate(CM_PROBE_VECTOR, 0, "fp32"), 1e12);
    near(rate(CM_PROBE_VECTOR, 0, "bf16"), 4e12);
    near(rate(CM_PROBE_LAUNCH, 0, NULL), 1e6);
    near(rate(CM_PROBE_LOOKUP, 1 << 15, NULL), 1e12 / 64);
    near(rate(CM_PROBE_LOOKUP, 1 << 30, NULL), 1e11 / 64);
}

/* 5 us and, for an all-reduce of four ranks, 1.5 times the bytes at 1e10 B/s. Ranks agree with themselves. */
TEST(four_ranks)
{
    char    text[64];
    void   *a_case;
    double  time_s, value = 3;
    int64_t wrong = 1;
    begin_ranks();
    assert_int_equal(b->fabric->ranks(b->fabric_state), 4);
    assert_int_equal(b->fabric->rank(b->fabric_state), 0);
    b->fabric->describe(b->fabric_state, text, sizeof text);
    assert_string_equal(text, "4 simulated ranks");
    assert_int_equal(b->fabric->prepare(b->fabric_state, CM_ALL_REDUCE, 1000000, &a_case, &diag), CM_OK);
    assert_int_equal(b->fabric->run(a_case, 1, &time_s, &diag), CM_OK);
    near(time_s, 5e-6 + 1.5e6 / 1e10);
    assert_int_equal(b->fabric->verify(a_case, &wrong, &diag), CM_OK);
    assert_int_equal(wrong, 0);
    b->fabric->release(a_case);
    b->fabric->agree(b->fabric_state, &value);
    assert_true(value == 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_of_calls),        cmocka_unit_test(one_product_is_wrong),
        cmocka_unit_test(types_that_it_has),     cmocka_unit_test(operators_that_it_has),
        cmocka_unit_test(memory_has_an_end),     cmocka_unit_test(rates_of_probes),
        cmocka_unit_test(four_ranks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
