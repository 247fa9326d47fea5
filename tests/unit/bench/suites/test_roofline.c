/* SPDX-License-Identifier: Apache-2.0 */
/* test_roofline.c - working sets and products that fit the device, and ceilings from stated results. */
#include "bench_case.h"

static int32_t count(const char *op, const char *dtype)
{
    int32_t n = 0;
    for (int32_t i = 0; i < b->n_cases; i++)
        n += strcmp(b->results[i].op, op) == 0 && strcmp(b->results[i].dtype, dtype) == 0;
    return n;
}

/* ---- cases ------------------------------------------------------------------------------------------------------- */

/* 256 MB are more than eight caches of 1 MiB: working sets of 2^13 to 2^27 B. Products up to 0.25 s at 4e12 FLOP/s
   have 1e12 FLOP: 256 to 4096. */
TEST(the_null_device)
{
    cm__suite_roofline(b);
    assert_int_equal(count("read", ""), 15);
    assert_int_equal(count("copy", ""), 8);
    assert_true(has_case("read 134217728") && has_case("read 8192") && !has_case("read 268435456"));
    assert_int_equal(count("gemm", "fp32"), 5);
    assert_int_equal(count("gemm", "bf16"), 5);
    assert_true(has_case("gemm forward nn bf16 1,4096,4096,4096"));
    assert_int_equal(count("vector", "bf16"), 1);
    assert_true(has_case("launch") && has_case("submit") && has_case("round-trip"));
}

/* Eight times a cache of 100 MB, but no more than an eighth of the memory or half of what is free. */
TEST(working_sets)
{
    static const struct {
        double      cache, memory, free;
        const char *largest, *too_large;
    } devices[] = {
        {100e6, 1e12, 0, "read 536870912", "read 1073741824"},
        {100e6, 1e9, 0, "read 67108864", "read 134217728"},
        {100e6, 1e12, 1e8, "read 33554432", "read 67108864"},
        {1e12, 1e15, 0, "read 4294967296", "read 8589934592"}, /* at most 4 GiB */
    };
    for (int i = 0; i < 4; i++) {
        b->n_cases = b->n_rows = 0;
        cm__map_init(&b->by_name, b->ctx);
        b->device.caches[0].bytes = devices[i].cache;
        b->device.memory_bytes = devices[i].memory;
        b->device.free_bytes = devices[i].free;
        cm__suite_roofline(b);
        assert_true(has_case(devices[i].largest));
        assert_false(has_case(devices[i].too_large));
    }
}

/* ---- ceilings ---------------------------------------------------------------------------------------------------- */

static void read_at(int64_t bytes, double rate)
{
    cm__add_probe(b, "roofline", "read", (cm_probe_request){CM_PROBE_READ, bytes, NULL});
    b->results[b->n_cases - 1].work = (double)bytes;
    b->results[b->n_cases - 1].time_s = (double)bytes / rate;
}

/* A level's working sets fill at most three quarters of it, and not the level before; the memory's exceed four last
   caches and 64 MiB. */
TEST(bandwidths_by_level)
{
    b->device.caches[0].bytes = 1e5;
    strcpy(b->device.caches[1].name, "L2");
    b->device.caches[1].bytes = 1e7;
    read_at(50000, 9e12);
    read_at(70000, 8e12);
    read_at(90000, 99e12);   /* between the levels */
    read_at(5000000, 5e12);
    read_at(7400000, 6e12);
    read_at(9000000, 99e12); /* not only in L2 */
    read_at(30000000, 99e12);
    read_at(67108864, 1e12);
    cm__find_ceilings(b);
    near(cm__ceiling(b, "memory", "cache"), 9e12);
    near(cm__ceiling(b, "memory", "L2"), 6e12);
    near(cm__ceiling(b, "memory", "memory"), 1e12);
    assert_true(isnan(cm__ceiling(b, "memory", "L3")));
    assert_int_equal(b->n_ceilings, 3);
}

static void product(const char *text, double time_s)
{
    cm__call c = call_of(text);
    cm__add_call(b, "roofline", "matrix", &c, 1, NAN);
    b->results[b->n_cases - 1].time_s = time_s;
}

/* The best product of each type; a wrong one has no time, and no part in it. */
TEST(peaks_by_type)
{
    product("gemm forward nn fp32 1,100,100,100", 2e6 / 5e11);
    product("gemm forward nn fp32 1,200,200,200", 16e6 / 7e11);
    product("gemm forward nn fp32 1,300,300,300", NAN);
    product("gemm forward nn bf16 1,100,100,100", 2e6 / 3e12);
    cm__find_ceilings(b);
    near(cm__ceiling(b, "matrix", "fp32"), 7e11);
    near(cm__ceiling(b, "matrix", "bf16"), 3e12);
    assert_true(isnan(cm__ceiling(b, "vector", "fp32")));
    assert_true(b->ceilings[0].told == 1e12); /* what the null device claims */
}

TEST(latencies_and_links)
{
    cm__add_probe(b, "roofline", "launch", (cm_probe_request){CM_PROBE_LAUNCH, 0, NULL});
    b->results[0].work = 100;
    b->results[0].time_s = 100 * 3e-6;
    cm__add_probe(b, "host", "to", (cm_probe_request){CM_PROBE_TO_PINNED, 1000000, NULL});
    b->results[1].work = 1e6;
    b->results[1].time_s = 1e6 / 2e10;
    cm__find_ceilings(b);
    near(cm__ceiling(b, "latency", "launch"), 3e-6);
    near(cm__ceiling(b, "link", "to-device-pinned"), 2e10);
    assert_int_equal(b->n_ceilings, 2);
}

/* Look-ups count in tables of more than two caches. */
TEST(lookups)
{
    for (int i = 0; i < 2; i++) {
        cm__add_probe(b, "lookup", "lookup", (cm_probe_request){CM_PROBE_LOOKUP, i ? 1 << 24 : 1 << 20, NULL});
        b->results[i].work = 1000;
        b->results[i].time_s = i ? 1e-3 : 1e-5;
    }
    cm__find_ceilings(b);
    near(cm__ceiling(b, "look-ups", "random"), 1e6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_null_device),     cmocka_unit_test(working_sets), cmocka_unit_test(bandwidths_by_level),
        cmocka_unit_test(peaks_by_type),       cmocka_unit_test(latencies_and_links), cmocka_unit_test(lookups),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
