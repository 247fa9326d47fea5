/* SPDX-License-Identifier: Apache-2.0 */
/* test_sweep.c - the grid of calls: valid, within time and memory, of all operators, and always in the same order. */
#include "bench_case.h"
#include "bench/suites/sweep.h"

/* 0.5 s at 4e12 FLOP/s and at 4e11 B/s; 0.4 of the free 16 GiB */
TEST(calls_are_reasonable)
{
    cm__suite_sweep(b);
    assert_true(b->n_cases > 1000);
    for (int32_t i = 0; i < b->n_cases; i++) {
        const cm_bench_result *r = &b->results[i];
        if (!(r->flop <= 2e12 && r->bytes <= 2e11 && r->bytes <= 0.4 * 17179869184.))
            fail_msg("%s: %g FLOP, %g B", r->name, r->flop, r->bytes);
    }
}

/* A text that is no call would be a product without sizes. */
TEST(every_text_is_a_call)
{
    cm__suite_sweep(b);
    for (int32_t i = 0; i < b->n_cases; i++) {
        const cm_bench_result *r = &b->results[i];
        cm__call               c;
        assert_true(cm__call_parse(r->name, &c));
        if (!(r->bytes > 0) || !r->dtype[0]) fail_msg("%s", r->name);
    }
}

/* Calls that only PyTorch's benchmark runs, or that only laws time: the backends of this program have no kernels for
   them. */
static const bool only_pytorch[CM__CALLS] = {[CM__CALL_CONV3D] = true, [CM__CALL_RESIZE3D] = true,
                                             [CM__CALL_SORT] = true, [CM__CALL_FFT] = true,
                                             [CM__CALL_POOL3D] = true, [CM__CALL_LABELS] = true, [CM__CALL_CTC] = true,
                                             [CM__CALL_DISTANCES] = true, [CM__CALL_FACTOR] = true, [CM__CALL_DEFORM] = true};

TEST(every_operator)
{
    bool seen[CM__CALLS] = {false};
    cm__suite_sweep(b);
    for (int32_t i = 0; i < b->n_cases; i++) seen[b->cases[i].call.op] = true;
    for (int op = 0; op < CM__CALLS; op++)
        if (!seen[op] && !only_pytorch[op]) fail_msg("no %s", cm__call_kinds[op].name);
}

/* The budget may end anywhere: the first tenth has most operators already, and both types. */
TEST(a_part_covers_the_grid)
{
    int32_t of[CM__CALLS] = {0}, halves = 0, tenth;
    cm__suite_sweep(b);
    tenth = b->n_cases / 10;
    for (int32_t i = 0; i < tenth; i++) {
        of[b->cases[i].call.op]++;
        halves += strcmp(b->results[i].dtype, "bf16") == 0;
    }
    assert_true(of[CM__CALL_GEMM] && of[CM__CALL_CONV] && of[CM__CALL_ATTENTION] && of[CM__CALL_ELEMENTWISE] &&
                of[CM__CALL_BATCH_NORM] && of[CM__CALL_SOFTMAX]);
    assert_true(halves > tenth / 4 && halves < 3 * tenth / 4);
}

TEST(the_same_order_always)
{
    cm__suite_sweep(b);
    int32_t            count = b->n_cases;
    const char *const *names = NULL;
    const char       **kept = cm__alloc_array(b->ctx, (size_t)count, sizeof *kept);
    for (int32_t i = 0; i < count; i++) kept[i] = b->results[i].name;
    names = kept;
    b->n_cases = b->n_rows = 0;
    cm__map_init(&b->by_name, b->ctx);
    cm__suite_sweep(b);
    assert_int_equal(b->n_cases, count);
    for (int32_t i = 0; i < count; i++) assert_string_equal(b->results[i].name, names[i]);
}

/* ---- one call ---------------------------------------------------------------------------------------------------- */

static int32_t added(const char *text)
{
    cm__sweep s = {.b = b};
    cm__call  c = call_of(text);
    cm__sweep_add(&s, &c);
    return s.count;
}

/* 2e12 FLOP and 2e11 B are the most in half a second. */
TEST(what_takes_too_long_or_too_much)
{
    assert_int_equal(added("gemm forward nn fp32 1,10000,10000,10000"), 1); /* 2e12 FLOP, 1.2e9 B */
    assert_int_equal(added("gemm forward nn fp32 1,10000,10000,10001"), 0);
    assert_int_equal(added("elementwise forward relu fp32 1,800000000"), 1); /* 6.4e9 of 6.87e9 B */
    assert_int_equal(added("elementwise forward relu fp32 1,900000000"), 0);
    b->device.free_bytes = 0; /* unknown: the whole memory counts */
    b->device.memory_bytes = 1e12;
    assert_int_equal(added("elementwise forward relu fp32 1,900000000"), 1);
    assert_int_equal(added("elementwise forward relu fp32 1,25000000000"), 1); /* 2e11 B */
    assert_int_equal(added("elementwise forward relu fp32 1,25000000001"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_are_reasonable),   cmocka_unit_test(every_text_is_a_call),
        cmocka_unit_test(every_operator),         cmocka_unit_test(a_part_covers_the_grid),
        cmocka_unit_test(the_same_order_always),  cmocka_unit_test(what_takes_too_long_or_too_much),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
