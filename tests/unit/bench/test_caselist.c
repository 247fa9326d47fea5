/* SPDX-License-Identifier: Apache-2.0 */
/* test_caselist.c - each case is listed once; suites refer to it as often as they need it. */
#include "bench_case.h"

#define GEMM "gemm forward nn fp32 1,64,32,16"

static bool add(const char *text, const char *label, int32_t times)
{
    cm__call c = call_of(text);
    return cm__add_call(b, "a suite", label, &c, times, 7);
}

/* 2 m n k FLOP; three matrices of 4-byte numbers */
TEST(a_call_describes_itself)
{
    assert_true(add(GEMM, "a product", 3));
    const cm_bench_result *r = result(GEMM);
    assert_string_equal(r->op, "gemm");
    assert_string_equal(r->pass, "forward");
    assert_string_equal(r->variant, "nn");
    assert_string_equal(r->dtype, "fp32");
    assert_int_equal(r->n_dims, 4);
    assert_int_equal(r->dims[2], 32);
    near(r->flop, 2. * 64 * 32 * 16);
    near(r->bytes, 4. * (64 * 16 + 16 * 32 + 64 * 32));
    assert_true(isnan(r->time_s) && isnan(r->work) && !r->skipped);
    assert_int_equal(b->cases[0].kind, CM__CASE_CALL);
}

TEST(once_for_all_suites)
{
    add(GEMM, "one", 1);
    add("gemm forward nn fp32 1,64,32,17", "two", 1);
    add(GEMM, "three", 5);
    assert_int_equal(b->n_cases, 2);
    assert_int_equal(b->n_rows, 3);
    assert_int_equal(b->rows[2].result, b->rows[0].result);
    assert_string_equal(b->rows[2].label, "three");
    assert_true(b->rows[2].times == 5 && b->rows[2].paper_flop == 7);
}

/* A suite leaves out what the backend cannot run; what a user requested is listed with the reason. */
TEST(what_cannot_run)
{
    cm__call c = call_of("gemm forward nn fp64 1,64,32,16");
    assert_false(add("gemm forward nn fp64 1,64,32,16", "a product", 1));
    assert_int_equal(b->n_cases + b->n_rows, 0);
    cm__add_requested_call(b, "cases", "gemm", &c, 2, NAN);
    assert_int_equal(b->n_cases, 1);
    assert_int_equal(b->rows[0].times, 2);
    assert_string_equal(b->results[0].skipped, "the backend 'null' cannot run it");
    c = call_of(GEMM);
    cm__add_requested_call(b, "cases", "gemm", &c, 2, NAN);
    assert_null(b->results[1].skipped);
}

TEST(only_what_matches)
{
    b->options.only = "* fp32 1,64,*";
    assert_true(add(GEMM, "one", 1));
    assert_true(add("gemm forward nn fp32 1,65,32,16", "two", 1)); /* it could run, but is not wanted */
    assert_true(add(GEMM, "three", 1));
    assert_int_equal(b->n_cases, 1);
    assert_int_equal(b->n_rows, 2);
}

TEST(names_of_probes)
{
    cm__add_probe(b, "roofline", "read", (cm_probe_request){CM_PROBE_READ, 8192, NULL});
    cm__add_probe(b, "roofline", "vector", (cm_probe_request){CM_PROBE_VECTOR, 0, "bf16"});
    cm__add_probe(b, "roofline", "launch", (cm_probe_request){CM_PROBE_LAUNCH, 0, NULL});
    cm__add_probe(b, "roofline", "read", (cm_probe_request){CM_PROBE_READ, 8192, NULL});
    assert_int_equal(b->n_cases, 3);
    assert_int_equal(b->n_rows, 4);
    assert_string_equal(result("read 8192")->work_unit, "B");
    assert_int_equal(result("read 8192")->dims[0], 8192);
    assert_string_equal(result("vector bf16")->work_unit, "FLOP");
    assert_string_equal(result("vector bf16")->dtype, "bf16");
    assert_int_equal(result("launch")->n_dims, 0);
    assert_string_equal(result("launch")->work_unit, "launches");
}

TEST(a_backend_without_probes)
{
    cm_backend bare = cm__backend_null;
    bare.probe = NULL;
    b->backend = &bare;
    cm__add_probe(b, "roofline", "launch", (cm_probe_request){CM_PROBE_LAUNCH, 0, NULL});
    assert_int_equal(b->n_cases, 0);
    b->backend = &cm__backend_null;
}

TEST(tests_of_the_host)
{
    cm__add_host_test(b, "host", &cm__host_simulated);
    cm__add_host_test(b, "host", &cm__host_simulated);
    assert_int_equal(b->n_cases, 1);
    assert_int_equal(b->cases[0].kind, CM__CASE_HOST);
    assert_ptr_equal(b->cases[0].host, &cm__host_simulated);
}

TEST(collectives_have_bytes_and_ranks)
{
    begin_ranks();
    cm__add_collective(b, "collectives", "all-gather", CM_ALL_GATHER, 4096);
    const cm_bench_result *r = result("all-gather fp32 4096 ranks 4");
    assert_true(r->dims[0] == 4096 && r->dims[1] == 4 && r->work == 4096);
    assert_int_equal(b->cases[0].collective, CM_ALL_GATHER);
}

/* No name means two probes or collectives, and each probe has a unit. */
TEST(names_are_different)
{
    for (int i = 0; i < CM_PROBES; i++) {
        assert_non_null(cm__probe_units[i]);
        for (int j = 0; j < i; j++) assert_string_not_equal(cm__probe_names[i], cm__probe_names[j]);
    }
    for (int i = 0; i < CM_COLLECTIVE_OPS; i++)
        for (int j = 0; j < i; j++) assert_string_not_equal(cm__collective_names[i], cm__collective_names[j]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_describes_itself), cmocka_unit_test(once_for_all_suites),
        cmocka_unit_test(what_cannot_run),         cmocka_unit_test(only_what_matches),
        cmocka_unit_test(names_of_probes),         cmocka_unit_test(a_backend_without_probes),
        cmocka_unit_test(tests_of_the_host),       cmocka_unit_test(collectives_have_bytes_and_ranks),
        cmocka_unit_test(names_are_different),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
