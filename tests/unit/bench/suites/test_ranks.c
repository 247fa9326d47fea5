/* SPDX-License-Identifier: Apache-2.0 */
/* test_ranks.c - collectives from 4 B to 1 GiB, as far as memory allows, and the factors of nccl-tests. */
#include "bench_case.h"

static int32_t ranks;

static int32_t some_ranks(void *state)
{
    (void)state;
    return ranks;
}

static int32_t count(const char *label)
{
    int32_t n = 0;
    for (int32_t i = 0; i < b->n_rows; i++) n += strcmp(b->rows[i].label, label) == 0;
    return n;
}

/* 4^1 to 4^15 bytes; a gather of 4 ranks starts at one number each, 16 B. */
TEST(sizes)
{
    begin_ranks();
    b->device.free_bytes = 1e15;
    cm__suite_collectives(b);
    assert_int_equal(count("all-reduce"), 15);
    assert_int_equal(count("broadcast"), 15);
    assert_int_equal(count("send"), 15);
    assert_int_equal(count("all-gather"), 14);
    assert_int_equal(count("reduce-scatter"), 14);
    assert_true(has_case("all-gather fp32 16 ranks 4") && !has_case("all-gather fp32 4 ranks 4"));
    assert_true(has_case("send fp32 1073741824 ranks 4"));
}

/* 16,777,216 floats on 2 to 8 ranks, 64,500,000 on 16, none on others. */
TEST(the_papers_all_reduce)
{
    static const struct {
        int32_t     ranks;
        const char *name;
    } papers[] = {{2, "all-reduce fp32 67108864 ranks 2"}, {8, "all-reduce fp32 67108864 ranks 8"},
                  {16, "all-reduce fp32 258000000 ranks 16"}, {3, NULL}};
    cm_fabric fabric = cm__fabric_null;
    fabric.ranks = some_ranks;
    begin_ranks();
    b->fabric = &fabric;
    for (int i = 0; i < 4; i++) {
        b->n_rows = 0;
        ranks = papers[i].ranks;
        cm__suite_collectives(b);
        assert_int_equal(count("papers' all-reduce"), papers[i].name != NULL);
        if (papers[i].name) assert_true(has_case(papers[i].name));
    }
    b->fabric = &cm__fabric_null;
}

/* Three buffers on each of four ranks take at most half of the free memory: 3 * 4 * 4^12 B = 201 MB of 403 MB. Below
   1 MiB they always fit. */
TEST(memory)
{
    begin_ranks();
    b->device.free_bytes = 2 * 3 * 4 * 16777216.;
    cm__suite_collectives(b);
    assert_true(has_case("broadcast fp32 16777216 ranks 4"));
    assert_false(has_case("broadcast fp32 67108864 ranks 4"));
    b->n_cases = b->n_rows = 0;
    cm__map_init(&b->by_name, b->ctx);
    b->device.free_bytes = 1;
    cm__suite_collectives(b);
    assert_true(has_case("broadcast fp32 262144 ranks 4"));
    assert_false(has_case("broadcast fp32 1048576 ranks 4"));
}

/* 2 (n - 1) / n for all-reduce, (n - 1) / n for all-gather and reduce-scatter, 1 for the others. */
TEST(factors)
{
    near(cm__bus_factor(CM_ALL_REDUCE, 4), 1.5);
    near(cm__bus_factor(CM_ALL_GATHER, 4), 0.75);
    near(cm__bus_factor(CM_REDUCE_SCATTER, 8), 0.875);
    near(cm__bus_factor(CM_BROADCAST, 8), 1);
    near(cm__bus_factor(CM_SEND, 8), 1);
    for (int op = 0; op < CM_COLLECTIVE_OPS; op++)
        near(cm_bench_bus_factor(cm__collective_names[op], 5), cm__bus_factor((cm_collective_op)op, 5));
    near(cm_bench_bus_factor("no such", 5), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(sizes), cmocka_unit_test(the_papers_all_reduce),
                                       cmocka_unit_test(memory), cmocka_unit_test(factors)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
