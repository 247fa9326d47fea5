/* SPDX-License-Identifier: Apache-2.0 */
/* test_clock.c - the clock falls as far as the power limit requires, and calls that wait for memory do not slow
   down. */
#include <math.h>
#include "time_device.h"
#include "model/step/clock.h"
#include "model/time/roofline.h"

#define JOULES(value, unit) \
    "{\"value\": " value ", \"unit\": \"" unit "\", \"kind\": \"fitted\", \"source\": \"sheet\"}"
#define POWER                                                                                                          \
    ",\n\"power\": {\"tdp\": " NUMBER("500", "W") ", \"idle\": " NUMBER("100", "W") ",\n"                              \
    "\"per_flop\": {\"bf16\": " JOULES("1e-11", "J/FLOP") "}, \"per_byte\": " JOULES("2e-10", "J/B") "}"

static void near(double got, double expected, double fraction)
{
    if (!(fabs(got / expected - 1) <= fraction)) fail_msg("%g, expected %g", got, expected);
}

static cm__power power_of(const char *text)
{
    cm_device *d = device_of(text);
    cm__power  p = cm__power_of(d);
    cm_device_free(d);
    return p;
}

static cm__load load_of(const cm__power *p, const char *text, double time_s, double runs)
{
    static cm__stretch room;
    cm__call c = call_of(text);
    cm__load l = {.calls = &room};
    cm__workload work;
    cm__call_work(&c, &work.flop, &work.bytes);
    cm__load_add(&l, p, c.op, cm__call_rate(&c), work, time_s, runs);
    return l;
}

/* Idle power, and energy over time: per FLOP proportional to the clock, per byte to its square root. */
static double watts(const cm__power *p, const cm__load *l, double clock)
{
    double time = fmax(cm__load_time(l, clock), l->least_s);
    return p->idle_w + cm__dynamic_energy(p, l, clock) / time;
}

/* The roofline time of that product on a device with twice the bandwidth, as a fraction. */
static double roofline_ratio(void)
{
    cm_device *d = device_of(TIME_DEVICE(POWER));
    cm__limits slow = cm__limits_of(d), fast = slow;
    cm__call   c = call_of("gemm forward nn bf16 1,8192,8192,512");
    fast.memory_bytes_s *= 2;
    cm_device_free(d);
    return cm__roofline(&fast, &c) / cm__roofline(&slow, &c);
}

static void no_limit_known(void **state)
{
    (void)state;
    cm__power p = power_of(TIME_DEVICE(""));
    cm__load  l = load_of(&p, "gemm forward nn bf16 1,8192,8192,8192", 1e-3, 1);
    assert_true(cm__clock_of(&p, &l) == 1);
    p = power_of(TIME_DEVICE(",\n\"power\": {\"tdp\": " NUMBER("500", "W") "}")); /* the energy per FLOP is unknown */
    assert_true(cm__clock_of(&p, &l) == 1);
}

/* 1.1e12 FLOP of 1e-11 J in 12 ms are 916 W; the limit leaves 400 W above idle. */
#define PRODUCT "gemm forward nn bf16 1,8192,8192,8192"

static void products_over_the_limit(void **state)
{
    (void)state;
    cm__power p = power_of(TIME_DEVICE(POWER));
    cm__load  l = load_of(&p, PRODUCT, 0.012, 1);
    double    clock = cm__clock_of(&p, &l);
    assert_true(watts(&p, &l, 1) > 900);
    assert_true(clock > 0.4 && clock < 1);
    near(watts(&p, &l, clock), 500, 0.01);
    /* arithmetic alone: power is proportional to the square of the clock */
    near(clock, sqrt(400 / (2 * pow(8192, 3) * 1e-11 / 0.012)), 0.03);
}

static void products_within_the_limit(void **state)
{
    (void)state;
    cm__power p = power_of(TIME_DEVICE(POWER));
    cm__load  l = load_of(&p, PRODUCT, 0.1, 1);
    assert_true(cm__clock_of(&p, &l) == 1);
}

/* If the host is slower than the device, the device idles and stays below the limit. */
static void a_slow_host_needs_no_throttling(void **state)
{
    (void)state;
    cm__power p = power_of(TIME_DEVICE(POWER));
    cm__load  l = load_of(&p, PRODUCT, 0.012, 1);
    l.least_s = 0.1;
    assert_true(cm__clock_of(&p, &l) == 1);
}

/* 12 ms and 11 J are 920 W of dynamic power. A device that allows 600 W above idle for a moment timed the product at
   (600 / 920) of its clock. Only below that clock does it take longer. */
static void bursts_were_throttled_too(void **state)
{
    (void)state;
    cm__power p = power_of(TIME_DEVICE(POWER));
    cm__load  l = load_of(&p, PRODUCT, 0.012, 1);
    double    dynamic_w = watts(&p, &l, 1) - 100, before = cm__load_time(&l, 0.5), clock;
    p.burst_w = 600;
    l = load_of(&p, PRODUCT, 0.012, 1);
    double own = 600 / dynamic_w;
    near(cm__load_time(&l, 1), 0.012, 1e-9);
    near(cm__load_time(&l, own), 0.012, 1e-9);
    near(cm__load_time(&l, 0.5), own * before, 1e-4);
    clock = cm__clock_of(&p, &l); /* 400 W: clock^2 falls by as much as the product was timed below the full clock */
    near(clock, sqrt(400 / dynamic_w * own), 0.03);
    l = load_of(&p, PRODUCT, 0.1, 1); /* 110 W: no burst */
    near(cm__load_time(&l, 0.5), 0.2, 1e-4);
}

#define STREAM "elementwise forward relu fp32 1,1000000000"

/* 8e9 bytes at nine tenths of 1e12 B/s: the memory takes all of the time. */
static void streams_do_not_follow_the_clock(void **state)
{
    (void)state;
    cm__power p = power_of(TIME_DEVICE(POWER));
    double    memory_s = 8e9 / 0.9e12;
    cm__load  l = load_of(&p, STREAM, memory_s, 1);
    near(cm__load_time(&l, 0.5), memory_s, 1e-5);
    l = load_of(&p, STREAM, 2 * memory_s, 1); /* half of the time is spent in the cores */
    near(cm__load_time(&l, 0.5), 3 * memory_s, 1e-5);
    l = load_of(&p, PRODUCT, 0.012, 1); /* 0.4 GB: 0.45 ms of memory traffic, overlapped with the arithmetic */
    near(cm__load_time(&l, 0.5), 0.024, 1e-5);
}

/* A throttled product is not slower on a device with more bandwidth: its arithmetic hid the memory traffic before. */
static void bandwidth_does_not_slow_down(void **state)
{
    (void)state;
    cm__power slow = power_of(TIME_DEVICE(POWER)), fast = slow;
    fast.memory_bytes_s *= 2;
    cm__load l = load_of(&slow, "gemm forward nn bf16 1,8192,8192,512", 0.001, 1);
    double   before = cm__load_time(&l, cm__clock_of(&slow, &l));
    l = load_of(&fast, "gemm forward nn bf16 1,8192,8192,512", 0.001 * roofline_ratio(), 1);
    assert_true(cm__clock_of(&fast, &l) < 1);
    assert_true(cm__load_time(&l, cm__clock_of(&fast, &l)) <= before);
}

/* The energy of vector arithmetic is included in that of the bytes. */
static void energy(void **state)
{
    (void)state;
    cm__power p = power_of(TIME_DEVICE(POWER));
    cm__load  l = load_of(&p, "elementwise forward relu fp32 1,1000000000", 0.01, 3);
    near(l.byte_j, 3 * 8e9 * 2e-10, 1e-12);
    assert_true(l.flop_j == 0);
    near(cm__load_time(&l, 1), 0.03, 1e-12);
    l = load_of(&p, PRODUCT, 0.012, 2);
    near(l.flop_j, 2 * 2 * pow(8192, 3) * 1e-11, 1e-12);
}

/* However much power a load would draw, the clock does not fall below the minimum. */
static void no_clock_of_nothing(void **state)
{
    (void)state;
    cm__power p = power_of(TIME_DEVICE(POWER));
    cm__load  l = load_of(&p, PRODUCT, 1e-5, 1), empty = {0};
    assert_true(cm__clock_of(&p, &l) >= 0.1);
    assert_true(cm__clock_of(&p, &empty) == 1);
}

#define FULL_POWER                                                                                                     \
    ",\n\"power\": {\"tdp\": " NUMBER("500", "W") ", \"idle\": " NUMBER("100", "W") ", \"active\": "                    \
    NUMBER("50", "W") ",\n\"per_flop\": {\"bf16\": " JOULES("1e-11", "J/FLOP") "}, \"per_byte\": "                      \
    JOULES("2e-10", "J/B") ",\n\"exponent\": " NUMBER("2", "1") ", \"floor\": " NUMBER("0.8", "1") ", \"held\": "       \
    NUMBER("0.9", "1") "}"

/* Power over idle is proportional to clock * voltage^2. Below the floor the voltage is constant: 0.8^2. */
static void the_voltage_has_a_minimum(void **state)
{
    (void)state;
    cm__power p = power_of(TIME_DEVICE(FULL_POWER));
    cm__load  l = load_of(&p, PRODUCT, 0.1, 1);
    double    work = watts(&p, &l, 1) - 100;
    near(work, 50 + (2 * pow(8192, 3) * 1e-11 + 3 * 8192.0 * 8192 * 2 * 2e-10) / 0.1, 1e-3);
    near(watts(&p, &l, 0.9) - 100, work * pow(0.9, 3), 0.01); /* the bytes' part is small */
    near(watts(&p, &l, 0.4) - 100, work * 0.4 * 0.64, 0.01);
    near((watts(&p, &l, 0.6) - 100) / (watts(&p, &l, 0.3) - 100), 2, 0.01);
}

/* A device that waits for its host draws idle power and what its kernels need, averaged over the step. */
static void a_slow_host_leaves_idle_power(void **state)
{
    (void)state;
    cm__power p = power_of(TIME_DEVICE(FULL_POWER));
    cm__load  l = load_of(&p, STREAM, 0.01, 1);
    double    busy = watts(&p, &l, 1) - 100;
    l.least_s = 100 * 0.01;
    near(watts(&p, &l, 1) - 100, busy / 100, 1e-9);
    assert_true(watts(&p, &l, 1) < 103);
    l.least_s = 0;
    l.waits_s = 0.09; /* nor does it draw active power while it waits for other devices */
    near(watts(&p, &l, 1) - 100, busy / 10, 1e-9);
}

/* Products, streams and mixes under limits from 150 to 1200 W: power stays within the limit, more power never makes a
   step slower, and a throttled step holds the share of the limit that the profile states. */
static void power_and_speed_follow_the_limit(void **state)
{
    (void)state;
    static const double times[] = {0.003, 0.012, 0.05};
    cm__power           p = power_of(TIME_DEVICE(FULL_POWER));
    int                 throttled = 0;
    for (size_t k = 0; k < 3; k++) {
        cm__load l = load_of(&p, k == 2 ? STREAM : PRODUCT, times[k], 1);
        double   before = INFINITY;
        for (p.limit_w = 150; p.limit_w <= 1200; p.limit_w += 25) {
            p.held_w = 0.9 * p.limit_w;
            double clock = cm__clock_of(&p, &l), time = cm__load_time(&l, clock), power = watts(&p, &l, clock);
            if (clock > 0.16) assert_true(power <= p.limit_w);
            if (clock > 0.16 && clock < 1) near(power, p.held_w, 1e-3);
            assert_true(time <= before * (1 + 1e-12));
            throttled += clock < 1;
            before = time;
        }
    }
    assert_true(throttled > 20 && throttled < 3 * 43);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_limit_known),            cmocka_unit_test(products_over_the_limit),
        cmocka_unit_test(products_within_the_limit), cmocka_unit_test(a_slow_host_needs_no_throttling),
        cmocka_unit_test(streams_do_not_follow_the_clock), cmocka_unit_test(bandwidth_does_not_slow_down),
        cmocka_unit_test(energy),                    cmocka_unit_test(bursts_were_throttled_too),
        cmocka_unit_test(no_clock_of_nothing),
        cmocka_unit_test(the_voltage_has_a_minimum), cmocka_unit_test(a_slow_host_leaves_idle_power),
        cmocka_unit_test(power_and_speed_follow_the_limit),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
