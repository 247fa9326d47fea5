/* SPDX-License-Identifier: Apache-2.0 */
/* test_allocator.c - what PyTorch's allocator reserves and allocates for known sequences, by the rules of its
   source. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "model/memory/allocator.h"

#define MIB ((int64_t)1024 * 1024)

static int32_t take(cm__allocator *a, int64_t bytes) { return cm__allocator_take(a, bytes, CM__STREAM_COMPUTE); }

static cm__ctx *ctx;

static int begin(void **state)
{
    (void)state;
    ctx = cm__ctx_new(NULL);
    return ctx ? 0 : 1;
}

static int end(void **state)
{
    (void)state;
    cm__ctx_free(ctx);
    return 0;
}

/* bytes requested -> bytes counted as allocated, bytes reserved */
static void test_one_block(void **state)
{
    static const struct {
        int64_t requested, allocated, reserved;
    } rows[] = {
        {1, 512, 2 * MIB},                            /* the smallest block, in a small segment */
        {512, 512, 2 * MIB},
        {513, 1024, 2 * MIB},
        {MIB, MIB, 2 * MIB},                          /* the largest small request */
        {MIB + 1, MIB + 512, 20 * MIB},               /* the smallest large request */
        {10 * MIB - 512, 10 * MIB - 512, 20 * MIB},
        {10 * MIB, 10 * MIB, 10 * MIB},               /* from here on one segment per request */
        {30720000, 30 * MIB, 30 * MIB},               /* 1600 x 4800 fp32: 0.7 MiB would remain, too little to split */
        {31 * MIB, 32 * MIB, 32 * MIB},               /* exactly 1 MiB would remain: not split */
        {31 * MIB - 512, 31 * MIB - 512, 32 * MIB},   /* more than that: split */
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cm__allocator *a = cm__allocator_new(ctx, INFINITY);
        int32_t        block = take(a, rows[i].requested);
        assert_int_equal(cm__allocator_size(a, block), rows[i].allocated);
        assert_int_equal(cm__allocator_allocated(a), rows[i].allocated);
        assert_int_equal(cm__allocator_most_reserved(a), rows[i].reserved);
        cm__allocator_free(a, block);
        assert_int_equal(cm__allocator_allocated(a), 0);
        assert_int_equal(cm__allocator_most_reserved(a), rows[i].reserved);
    }
}

static void test_nothing(void **state)
{
    (void)state;
    cm__allocator *a = cm__allocator_new(ctx, INFINITY);
    int32_t        block = take(a, 0);
    assert_int_equal(cm__allocator_size(a, block), 0);
    cm__allocator_free(a, block);
    assert_int_equal(cm__allocator_most_reserved(a), 0);
}

/* Three blocks of 5 MiB share a segment of 20 MiB; when freed they merge into one block. */
static void test_neighbours_join(void **state)
{
    (void)state;
    cm__allocator *a = cm__allocator_new(ctx, INFINITY);
    int32_t        blocks[3];
    for (int i = 0; i < 3; i++) blocks[i] = take(a, 5 * MIB);
    assert_int_equal(cm__allocator_most_reserved(a), 20 * MIB);
    cm__allocator_free(a, blocks[0]);
    cm__allocator_free(a, blocks[2]);
    cm__allocator_free(a, blocks[1]);
    assert_int_equal(cm__allocator_size(a, take(a, 20 * MIB)), 20 * MIB);
    assert_int_equal(cm__allocator_most_reserved(a), 20 * MIB);
}

/* The free gap between two used blocks is too small: a second segment is needed, although enough bytes are free in
   total. */
static void test_fragments(void **state)
{
    (void)state;
    cm__allocator *a = cm__allocator_new(ctx, INFINITY);
    int32_t        first = take(a, 8 * MIB), second = take(a, 6 * MIB);
    cm__allocator_free(a, first); /* 8 MiB free before `second`, 6 MiB after it */
    assert_int_equal(cm__allocator_size(a, take(a, 9 * MIB)), 9 * MIB);
    assert_int_equal(cm__allocator_most_reserved(a), 40 * MIB);
    assert_true(second >= 0);
}

/* The smallest block that is large enough is taken. */
static void test_best_fit(void **state)
{
    (void)state;
    cm__allocator *a = cm__allocator_new(ctx, INFINITY);
    int32_t        large = take(a, 40 * MIB), small = take(a, 20 * MIB);
    cm__allocator_free(a, large);
    cm__allocator_free(a, small);
    take(a, 20 * MIB);
    assert_int_equal(cm__allocator_size(a, take(a, 40 * MIB)), 40 * MIB);
    assert_int_equal(cm__allocator_most_reserved(a), 60 * MIB);
}

/* Cached segments are returned before an allocation fails. */
static void test_limit(void **state)
{
    (void)state;
    cm__allocator *a = cm__allocator_new(ctx, 30.0 * 1024 * 1024);
    cm__allocator_free(a, take(a, 20 * MIB));
    assert_true(take(a, 22 * MIB) >= 0);
    assert_int_equal(take(a, 10 * MIB), -1);
    assert_int_equal(cm__allocator_most_reserved(a), 22 * MIB);
}

/* Freeing everything in any order leaves whole segments: nothing is lost or counted twice. */
static void test_many(void **state)
{
    (void)state;
    cm__allocator *a = cm__allocator_new(ctx, INFINITY);
    int32_t        blocks[200];
    uint32_t       random = 1;
    for (int round = 0; round < 5; round++) {
        int64_t sum = 0;
        for (int i = 0; i < 200; i++) {
            random = random * 1664525u + 1013904223u;
            blocks[i] = take(a, (int64_t)(random >> 7) % (15 * MIB) + 1);
            sum += cm__allocator_size(a, blocks[i]);
        }
        assert_int_equal(cm__allocator_allocated(a), sum);
        assert_true(cm__allocator_most_reserved(a) >= sum);
        for (int i = 0; i < 200; i++) cm__allocator_free(a, blocks[(i * 77) % 200]);
        assert_int_equal(cm__allocator_allocated(a), 0);
    }
    assert_int_equal(cm__allocator_most_reserved(a) % (2 * MIB), 0);
}

/* A block with a segment of its own adds that segment and changes nothing else. */
static void test_alone(void **state)
{
    (void)state;
    int64_t large[] = {20 * MIB, 32 * MIB, 33 * MIB + 1, 100 * MIB};
    assert_int_equal(cm__allocator_alone(0), 0);
    assert_int_equal(cm__allocator_alone(8 * MIB), 0);  /* shares a segment of 20 MiB */
    assert_int_equal(cm__allocator_alone(12 * MIB), 0); /* may be put into the rest of such a segment */
    assert_int_equal(cm__allocator_alone(32 * MIB + 1), 0); /* the rest of its segment is used */
    for (size_t i = 0; i < sizeof large / sizeof *large; i++) {
        int64_t whole = cm__allocator_alone(large[i]);
        if (!whole) continue;
        cm__allocator *with = cm__allocator_new(ctx, INFINITY), *without = cm__allocator_new(ctx, INFINITY);
        for (int k = 0; k < 100; k++) {
            int64_t bytes = (int64_t)(k * 7919 % 31) * MIB / 3 + 1000;
            if (k == 20) take(with, large[i]);
            int32_t a = take(with, bytes), b = take(without, bytes);
            assert_int_equal(cm__allocator_size(with, a), cm__allocator_size(without, b));
            if (k > 30 && k % 3) cm__allocator_free(with, a), cm__allocator_free(without, b);
        }
        assert_int_equal(cm__allocator_allocated(with), cm__allocator_allocated(without) + whole);
        assert_int_equal(cm__allocator_most_reserved(with), cm__allocator_most_reserved(without) + whole);
    }
}

/* Expandable segments: pages of 20 MiB behind the last block; every block is split. */
static void test_pages(void **state)
{
    cm__allocator *a = cm__allocator_new(ctx, INFINITY);
    (void)state;
    cm__allocator_expand(a);
    int32_t first = take(a, 30720000); /* 10.7 of 40 MiB remain in a block of their own */
    assert_int_equal(cm__allocator_size(a, first), 30720000);
    assert_int_equal(cm__allocator_most_reserved(a), 40 * MIB);
    take(a, 15 * MIB); /* they are a part of it: one more page */
    assert_int_equal(cm__allocator_most_reserved(a), 60 * MIB);
    take(a, MIB); /* the other pool */
    assert_int_equal(cm__allocator_most_reserved(a), 62 * MIB);
}

/* A hole of 60 MiB between two blocks. A request of 80 MiB has to use its pages: 120 MiB are enough only if pages return
   to the device. Without expandable segments the hole is the middle of a segment, which stays. */
static void test_pages_return(void **state)
{
    (void)state;
    for (int expandable = 0; expandable < 2; expandable++) {
        cm__allocator *a = cm__allocator_new(ctx, 120.0 * 1024 * 1024);
        if (expandable) cm__allocator_expand(a);
        int32_t whole = take(a, 100 * MIB);
        cm__allocator_free(a, whole);
        int32_t left = take(a, 20 * MIB), hole = take(a, 60 * MIB);
        int32_t right = take(a, 15 * MIB);
        cm__allocator_free(a, hole);
        int32_t large = take(a, 70 * MIB);
        assert_int_equal(large >= 0, expandable);
        assert_int_equal(cm__allocator_most_reserved(a), (expandable ? 120 : 100) * MIB);
        cm__allocator_free(a, left);
        cm__allocator_free(a, right);
        cm__allocator_free(a, large);
        assert_int_equal(cm__allocator_allocated(a), 0);
        cm__allocator_release_cached(a);
        assert_true(take(a, 120 * MIB) >= 0); /* nothing was lost */
    }
}

/* A free block is used again by its own stream alone; a full device gets back the segments of both. */
static void test_streams(void **state)
{
    (void)state;
    for (int expandable = 0; expandable < 2; expandable++) {
        cm__allocator *a = cm__allocator_new(ctx, 100.0 * 1024 * 1024);
        if (expandable) cm__allocator_expand(a);
        cm__allocator_free(a, cm__allocator_take(a, 40 * MIB, CM__STREAM_EXCHANGE));
        int32_t other = take(a, 40 * MIB);
        assert_int_equal(cm__allocator_most_reserved(a), 80 * MIB);
        cm__allocator_free(a, cm__allocator_take(a, 40 * MIB, CM__STREAM_EXCHANGE));
        assert_int_equal(cm__allocator_most_reserved(a), 80 * MIB);
        assert_true(take(a, 60 * MIB) >= 0);
        assert_int_equal(cm__allocator_allocated(a), 100 * MIB);
        cm__allocator_free(a, other);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_one_block, begin, end),
        cmocka_unit_test_setup_teardown(test_nothing, begin, end),
        cmocka_unit_test_setup_teardown(test_streams, begin, end),
        cmocka_unit_test_setup_teardown(test_neighbours_join, begin, end),
        cmocka_unit_test_setup_teardown(test_fragments, begin, end),
        cmocka_unit_test_setup_teardown(test_best_fit, begin, end),
        cmocka_unit_test_setup_teardown(test_limit, begin, end),
        cmocka_unit_test_setup_teardown(test_many, begin, end),
        cmocka_unit_test_setup_teardown(test_alone, begin, end),
        cmocka_unit_test_setup_teardown(test_pages, begin, end),
        cmocka_unit_test_setup_teardown(test_pages_return, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
