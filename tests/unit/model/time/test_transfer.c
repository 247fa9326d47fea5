/* SPDX-License-Identifier: Apache-2.0 */
/* test_transfer.c - each part of a call's time follows its own property of the device, and no other. */
#include <math.h>
#include "time_device.h"
#include "model/time/factors.h"
#include "model/time/transfer.h"

/* 100 cores of 1 GHz, 1e14 FLOP/s in bf16, 1e12 B/s behind a cache of 1e7 B */
static cm__limits round_limits(void)
{
    cm__limits l = {.memory_bytes_s = 1e12, .cache_bytes_s = 4e12, .cache_bytes = 1e7, .cores = 100, .clock_hz = 1e9,
                    .tile = 128};
    l.peak[CM_ENGINE_MATRIX][CM_RATE_BF16] = 1e14;
    l.peak[CM_ENGINE_VECTOR][CM_RATE_FP32] = 1e13;
    return l;
}

static void near(double got, double expected, double fraction)
{
    if (!(fabs(got / expected - 1) <= fraction)) fail_msg("%g, expected %g", got, expected);
}

/* ---- one property at a time -------------------------------------------------------------------------------------- */


static double with(const char *text, double time_s, double kernels, size_t member, double factor)
{
    cm__limits from = round_limits(), to = from;
    cm__call   c = call_of(text);
    *(double *)((char *)&to + member) *= factor;
    return cm__transferred(&to, &from, &c, time_s, kernels);
}

#define BANDWIDTH offsetof(cm__limits, memory_bytes_s)
#define CACHE offsetof(cm__limits, cache_bytes)
#define CORES offsetof(cm__limits, cores)
#define CLOCK offsetof(cm__limits, clock_hz)
#define PEAK_BF16 offsetof(cm__limits, peak[CM_ENGINE_MATRIX][CM_RATE_BF16])

/* 2^30 elements of 2 B, read and written, at nine tenths of the bandwidth */
#define STREAM "elementwise forward relu bf16 1,1073741824"
static const double stream_s = 4 * 1073741824. / 0.9e12;

static void a_stream_follows_the_bandwidth(void **state)
{
    (void)state;
    near(with(STREAM, stream_s, 1, BANDWIDTH, 2.5), stream_s / 2.5, 1e-4);
    near(with(STREAM, stream_s, 1, BANDWIDTH, 0.1), stream_s * 10, 1e-4);
    near(with(STREAM, stream_s, 1, CORES, 2), stream_s, 1e-4);
    near(with(STREAM, stream_s, 1, CLOCK, 2), stream_s, 1e-4);
    near(with(STREAM, stream_s, 1, PEAK_BF16, 2), stream_s, 1e-12);
    /* a stream at half the bandwidth: the root of t^2 - m^2 = 3 m^2 is work of the cores */
    near(with(STREAM, 2 * stream_s, 0, CORES, 2), stream_s * sqrt(1 + 3. / 4), 1e-4);
    near(with(STREAM, 2 * stream_s, 0, CLOCK, 0.5), stream_s * sqrt(1 + 3. * 4), 1e-4);
    near(with(STREAM, 2 * stream_s, 0, BANDWIDTH, 2), stream_s * sqrt(0.25 + 3), 1e-4);
}

/* Images with channels first are converted for TF32: a kernel that takes the time of three passes over memory follows
   the bandwidth alone. 1 x 1 filters, single channels, channels last and 16 bits are not converted: most of such a time
   is other work. */
static void conversions_follow_the_bandwidth(void **state)
{
    static const struct {
        const char *call;
        bool        converted;
    } cases[] = {
        {"conv forward nchw tf32 64,64,64,256,256,3,3,1,1,1,1,1,1,1", true},
        {"conv bwd_input nchw tf32 64,64,64,256,256,3,3,1,1,1,1,1,1,1", true},
        {"conv forward nhwc tf32 64,64,64,256,256,3,3,1,1,1,1,1,1,1", false},
        {"conv forward nchw bf16 64,64,64,256,256,3,3,1,1,1,1,1,1,1", false},
        {"conv forward nchw tf32 64,64,64,256,256,1,1,1,1,0,0,1,1,1", false},
        {"conv forward nchw tf32 64,64,64,256,256,3,3,1,1,1,1,1,1,64", false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cm__call c = call_of(cases[i].call);
        double   flop, bytes;
        cm__call_work(&c, &flop, &bytes);
        double time_s = 3 * bytes / 0.9e12, half = with(cases[i].call, time_s, 0, BANDWIDTH, 0.5);
        if (cases[i].converted) near(half, 2 * time_s, 1e-3);
        else assert_true(half < 1.5 * time_s);
    }
}

/* An AdamW update of 2^30 numbers reads and writes 20 tensors of them, Adam's 18, one with momentum 8, without 3: at the
   time of that traffic it follows the bandwidth alone. */
static void updates_follow_the_bandwidth(void **state)
{
    static const struct {
        const char *call;
        double      tensors;
    } cases[] = {
        {"optimizer update adamw bf16 1,1073741824", 20},
        {"optimizer update adam bf16 1,1073741824", 18},
        {"optimizer update momentum bf16 1,1073741824", 8},
        {"optimizer update sgd bf16 1,1073741824", 3},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double time_s = cases[i].tensors * 2 * 1073741824. / 0.9e12;
        near(with(cases[i].call, time_s, 0, BANDWIDTH, 0.5), 2 * time_s, 1e-3);
        near(with(cases[i].call, time_s, 0, CORES, 0.5), time_s, 1e-3);
    }
}

/* A cache that holds three quarters of the bytes leaves a quarter of the traffic: 1 - 1 / (1 + f^8) with f^8 = 1/3. */
static void a_cache_takes_traffic(void **state)
{
    double factor = 4 * 1073741824. * pow(3, 1. / 8) / 1e7;
    (void)state;
    near(with(STREAM, stream_s, 1, CACHE, factor), stream_s / 4, 1e-4);
}

/* 2 * 8192^3 FLOP in 64 * 64 tiles: 41 waves of 100 cores, of which the last one is not full */
#define PRODUCT "gemm forward nn bf16 1,8192,8192,8192"
static const double product_s = 2 * 8192. * 8192 * 8192 / 1e14 * 4100 / 4096;

static void a_good_product_follows_the_peak(void **state)
{
    double shares[] = {0.7, 0.75, 0.9}; /* of the peak; its traffic takes a 27th of the time, a 750th in squares */
    (void)state;
    for (int i = 0; i < 3; i++) {
        double time_s = product_s / shares[i];
        near(with(PRODUCT, time_s, 1, PEAK_BF16, 2), time_s / 2, 3e-3);
        near(with(PRODUCT, time_s, 1, PEAK_BF16, 0.25), time_s * 4, 3e-3);
        near(with(PRODUCT, time_s, 1, CLOCK, 2), time_s, 1e-12);
        near(with(PRODUCT, time_s, 1, BANDWIDTH, 2), time_s, 3e-3);
    }
}

/* A time below both the traffic's (0.45 ms) and the arithmetic's: each explains all of it, so both count the same. */
static void faster_than_both_bounds(void **state)
{
    (void)state;
    near(with(PRODUCT, 1e-4, 1, PEAK_BF16, 2), 1e-4 * sqrt((0.25 + 1) / 2), 1e-9);
    near(with(PRODUCT, 1e-4, 1, BANDWIDTH, 2), 1e-4 * sqrt((0.25 + 1) / 2), 1e-9);
}

/* Four times as long as at 0.7 of the peak: 15 parts of 16 of its square do not follow the peak. */
static void a_poor_product_does_not(void **state)
{
    double least = product_s / 0.7;
    (void)state;
    near(with(PRODUCT, 4 * least, 0, PEAK_BF16, 2), least * sqrt(15.25), 1e-3);
    near(with(PRODUCT, 4 * least, 0, CLOCK, 2), least * sqrt(1 + 15. / 4), 1e-3);
}

/* 4 * 2048^2 * 128 FLOP for each of 16 heads of 8 samples; attention reaches 0.4 of the peak. */
static void attention_follows_the_peak(void **state)
{
    const char *text = "attention forward - bf16 8,2048,2048,16,16,128,0";
    double      time_s = 4 * 2048. * 2048 * 128 * 16 * 8 / (0.4 * 1e14);
    (void)state;
    near(with(text, time_s, 1, PEAK_BF16, 2), time_s / 2, 0.01);
    near(with(text, time_s, 1, CORES, 2), time_s, 0.01);
}

/* Half of the rate of sums in 32 bits doubles the arithmetic, 0.7 of a product's time and 0.4 of attention's, and not what
   kernels wait for operands. */
static void slow_sums_leave_the_operands(void **state)
{
    cm__limits from = round_limits();
    from.peak[CM_ENGINE_MATRIX][CM_RATE_FP16] = 1e14;
    from.peak[CM_ENGINE_MATRIX][CM_RATE_INT8] = 2e14;
    cm__limits to = from;
    to.peak[CM_ENGINE_MATRIX][CM_RATE_BF16] = to.peak[CM_ENGINE_MATRIX][CM_RATE_FP16] = 0.5e14;
    cm__call product = call_of(PRODUCT), attention = call_of("attention forward - bf16 8,2048,2048,16,16,128,0");
    double   attention_s = 4 * 2048. * 2048 * 128 * 16 * 8 / (0.4 * 1e14);
    (void)state;
    near(cm__transferred(&to, &from, &product, product_s / 0.7, 1), product_s / 0.7 * (2 * 0.7 + 0.3), 3e-3);
    near(cm__transferred(&to, &from, &attention, attention_s, 1), attention_s * (2 * 0.4 + 0.6), 0.01);
    to.peak[CM_ENGINE_MATRIX][CM_RATE_INT8] = 1e14; /* all rates are half */
    near(cm__transferred(&to, &from, &product, product_s / 0.7, 1), product_s / 0.7 * 2, 3e-3);
    to.peak[CM_ENGINE_MATRIX][CM_RATE_INT8] = 2e14; /* and the rate of fp16 is not known */
    to.peak[CM_ENGINE_MATRIX][CM_RATE_FP16] = 0;
    near(cm__transferred(&to, &from, &product, product_s / 0.7, 1), product_s / 0.7 * 2, 3e-3);
}

/* One exponential for each of 16 * 16384^2 scores, at 1e12 of them per second; products and exponentials take turns.
   If one device's rate is not known, the other's does not count. */
static void exponentials_follow_their_own_rate(void **state)
{
    cm__limits from = round_limits(), to, unknown = from;
    cm__call   c = call_of("attention forward - bf16 1,16384,16384,16,16,128,0");
    double     scores = 16. * 16384 * 16384, products_s = scores * 4 * 128 / 1e14, exponentials_s = scores / 1e12;
    double     time_s = (products_s + exponentials_s) / 0.4;
    (void)state;
    from.exponentials_s = 1e12;
    to = from;
    to.exponentials_s = 2e12;
    near(cm__transferred(&to, &from, &c, time_s, 1), (products_s + exponentials_s / 2) / 0.4, 0.01);
    to.peak[CM_ENGINE_MATRIX][CM_RATE_BF16] = 3e14;
    near(cm__transferred(&to, &from, &c, time_s, 1), (products_s / 3 + exponentials_s / 2) / 0.4, 0.01);
    cm__limits fast = unknown;
    fast.peak[CM_ENGINE_MATRIX][CM_RATE_BF16] = 3e14;
    double plain = cm__transferred(&fast, &unknown, &c, time_s, 1);
    near(cm__transferred(&fast, &from, &c, time_s, 1), plain, 1e-12);
    near(cm__transferred(&to, &unknown, &c, time_s, 1), plain, 1e-12);
    c = call_of("attention backward - bf16 1,16384,16384,16,16,128,1"); /* half the scores, 2.5 times the products */
    time_s = (2.5 * products_s + exponentials_s) / 2 / 0.4;
    near(cm__transferred(&to, &from, &c, time_s, 1), (2.5 * products_s / 3 + exponentials_s / 2) / 2 / 0.4, 0.01);
}

/* ---- latency ----------------------------------------------------------------------------------------------------- */

#define TINY "elementwise forward relu bf16 1,64"

static void a_tiny_kernel_follows_the_clock(void **state)
{
    (void)state;
    assert_true(cm__time_factors.kernel_latency_s == 3e-6);
    near(with(TINY, 3e-6, 1, CLOCK, 2), 1.5e-6, 1e-9);
    near(with(TINY, 3e-6, 1, CLOCK, 0.5), 6e-6, 1e-9);
    near(with(TINY, 3e-6, 1, CORES, 4), 3e-6, 1e-9);
    near(with(TINY, 3e-6, 1, BANDWIDTH, 4), 3e-6, 1e-9);
    near(with(TINY, 3e-6, 1, PEAK_BF16, 4), 3e-6, 1e-9);
}

/* Each kernel has its own 3 us; what exceeds them is work of the cores. */
static void the_rest_follows_the_cores(void **state)
{
    (void)state;
    near(with(TINY, 5e-6, 1, CORES, 2), 4e-6, 1e-9);
    near(with(TINY, 5e-6, 2, CORES, 2), 5e-6, 1e-9);
    near(with(TINY, 6e-6, 1, CLOCK, 2), 3e-6, 1e-9);
    near(with(TINY, 1003e-6, 1, CORES, 10), 103e-6, 1e-9);
}

/* Of 100 us beyond the latency, the cores share all of a pool, three quarters of a dense convolution and a fifth of a sum.
   Work and traffic of these calls take less than a thousandth of it. */
static void waiting_does_not_follow_the_cores(void **state)
{
    static const struct {
        const char *call;
        double      shared;
    } cases[] = {
        {"conv forward nchw bf16 1,8,8,8,8,3,3,1,1,1,1,1,1,1", 0.75},
        {"conv forward nchw bf16 1,8,8,8,8,3,3,1,1,1,1,1,1,8", 1},
        {"attention backward - bf16 1,16,16,2,2,16,0", 0.75},
        {"attention forward - bf16 1,16,16,2,2,16,0", 1},
        {"reduce forward sum fp32 8,8,1", 0.2},
        {"layer_norm backward - fp32 8,8", 0.2},
        {"layer_norm forward - fp32 8,8", 1},
        {"softmax backward - fp32 8,8", 0.2},
        {"optimizer update adamw fp32 1,64", 0.2},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        near(with(cases[i].call, 103e-6, 1, CORES, 0.5), 103e-6 + cases[i].shared * 100e-6, 2e-3);
        near(with(cases[i].call, 103e-6, 1, CLOCK, 0.5), 206e-6, 2e-3);
    }
}

/* 16 channels keep 16 of 100 cores busy. More cores than channels are idle; fewer are not enough. */
static void channels_first_use_a_core_each(void **state)
{
    const char *few = "batch_norm forward nchw bf16 2,16,64", *many = "batch_norm forward nchw bf16 2,1000,64";
    (void)state;
    near(with(few, 103e-6, 1, CORES, 4), 103e-6, 1e-6);
    near(with(few, 103e-6, 1, CORES, 0.16), 103e-6, 1e-6);
    near(with(few, 103e-6, 1, CORES, 0.08), 203e-6, 1e-6);
    near(with(few, 103e-6, 1, CLOCK, 2), 51.5e-6, 1e-6);
    near(with(many, 103e-6, 1, CORES, 4), 28e-6, 1e-4);
    near(with("batch_norm forward nhwc bf16 2,16,64", 103e-6, 1, CORES, 4), 28e-6, 1e-6);
}

/* 100 time steps of a layer of 16 units: their few FLOP and bytes take less than a thousandth of 1 ms. */
static void time_steps_follow_the_clock(void **state)
{
    const char *text = "rnn forward lstm bf16 1,100,16,16,1,1";
    (void)state;
    near(with(text, 1e-3, 1, CLOCK, 2), 0.5e-3, 1e-3);
    near(with(text, 1e-3, 1, CORES, 8), 1e-3, 1e-9);
    near(with(text, 1e-3, 1, CORES, 0.01), 1e-3, 1e-9);
}

/* ---- what is unknown --------------------------------------------------------------------------------------------- */

/* A device without a number keeps the part; one whose reference has no number takes its own. */
static void unknown_numbers(void **state)
{
    cm__limits known = round_limits(), unknown = known;
    cm__call   tiny = call_of(TINY), stream = call_of(STREAM);
    (void)state;
    unknown.clock_hz = unknown.cores = unknown.memory_bytes_s = 0;
    near(cm__transferred(&unknown, &known, &tiny, 1e-4, 1), 1e-4, 1e-9);
    near(cm__transferred(&known, &unknown, &stream, 1e-9, 1), stream_s, 1e-4);
    assert_true(cm__transferred(&known, &known, &tiny, 0, 1) == 0);
}

/* ---- random calls ------------------------------------------------------------------------------------------------ */

static uint32_t random_state;

static double random_share(void)
{
    random_state = random_state * 1664525u + 1013904223u;
    return (random_state >> 8) / 16777216.;
}

static int64_t random_size(double most) { return (int64_t)exp2(random_share() * most); }

/* The forms of calls, with room for sizes of up to 2^most. */
static const struct {
    const char *form;
    int         sizes;
    double      most;
} forms[] = {
    {"gemm forward nn bf16 %lld,%lld,%lld,%lld", 4, 12},
    {"attention forward - bf16 %lld,%lld,128,8,8,64,0", 2, 11},
    {"conv forward nhwc bf16 %lld,%lld,%lld,28,28,3,3,1,1,1,1,1,1,1", 3, 9},
    {"batch_norm forward nchw bf16 %lld,%lld,%lld", 3, 10},
    {"batch_norm backward nhwc bf16 %lld,%lld,%lld", 3, 10},
    {"elementwise forward relu bf16 1,%lld", 1, 28},
    {"softmax forward - bf16 %lld,%lld", 2, 13},
    {"rnn forward lstm bf16 %lld,%lld,%lld,512,1,1", 3, 8},
};

static cm__call random_call(void)
{
    char text[128];
    int  form = (int)(random_share() * (sizeof forms / sizeof *forms));
    long long s[4];
    for (int i = 0; i < 4; i++) s[i] = random_size(forms[form].most);
    snprintf(text, sizeof text, forms[form].form, s[0], s[1], s[2], s[3]);
    return call_of(text);
}

/* From a thousandth of the roofline's time to a thousand times as much. */
static double random_time(const cm__limits *l, const cm__call *c)
{
    return cm__roofline(l, c) * exp(log(1000) * (2 * random_share() - 1));
}

static cm__limits random_limits(void)
{
    cm__limits l = round_limits();
    l.memory_bytes_s *= 0.2 + 4 * random_share();
    l.cache_bytes *= 0.1 + 10 * random_share();
    l.cores = floor(8 + 150 * random_share());
    l.clock_hz *= 0.5 + 2 * random_share();
    l.peak[CM_ENGINE_MATRIX][CM_RATE_BF16] = l.cores * l.clock_hz * 1e3 * (0.5 + random_share());
    return l;
}

static void the_same_device_takes_the_same_time(void **state)
{
    (void)state;
    random_state = 1;
    for (int i = 0; i < 5000; i++) {
        cm__limits l = random_limits();
        cm__call   c = random_call();
        double     time_s = random_time(&l, &c);
        near(cm__transferred(&l, &l, &c, time_s, 1 + (i & 3)), time_s, 1e-12);
    }
}

/* More cores of the same kind: the peak grows with them. */
static void faster(cm__limits *l, int what, double by)
{
    double *peak = &l->peak[CM_ENGINE_MATRIX][CM_RATE_BF16], cores = floor(l->cores * by);
    if (what == 0) l->memory_bytes_s *= by;
    if (what == 1) *peak *= by;
    if (what == 2) l->clock_hz *= by;
    if (what == 3) l->cache_bytes *= by;
    if (what == 4) {
        *peak *= cores / l->cores;
        l->cores = cores;
    }
}

static void better_is_never_slower(void **state)
{
    static const char *const names[] = {"bandwidth", "peak", "clock", "cache", "cores"};
    (void)state;
    random_state = 2;
    for (int i = 0; i < 20000; i++) {
        cm__limits from = random_limits(), to = random_limits(), better = to;
        cm__call   c = random_call();
        double     time_s = random_time(&from, &c), kernels = 1 + floor(4 * random_share());
        faster(&better, i % 5, 1 + 3 * random_share());
        double before = cm__transferred(&to, &from, &c, time_s, kernels);
        double after = cm__transferred(&better, &from, &c, time_s, kernels);
        char   text[128];
        if (!(after > 0 && after <= before * (1 + 1e-12)))
            fail_msg("%s, more %s: %g s, not %g s", cm__call_text(&c, text, sizeof text), names[i % 5], after, before);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stream_follows_the_bandwidth),
        cmocka_unit_test(conversions_follow_the_bandwidth),
        cmocka_unit_test(updates_follow_the_bandwidth),
        cmocka_unit_test(a_cache_takes_traffic),
        cmocka_unit_test(a_good_product_follows_the_peak),
        cmocka_unit_test(faster_than_both_bounds),
        cmocka_unit_test(a_poor_product_does_not),
        cmocka_unit_test(attention_follows_the_peak),
        cmocka_unit_test(slow_sums_leave_the_operands),
        cmocka_unit_test(exponentials_follow_their_own_rate),
        cmocka_unit_test(a_tiny_kernel_follows_the_clock),
        cmocka_unit_test(the_rest_follows_the_cores),
        cmocka_unit_test(waiting_does_not_follow_the_cores),
        cmocka_unit_test(channels_first_use_a_core_each),
        cmocka_unit_test(time_steps_follow_the_clock),
        cmocka_unit_test(unknown_numbers),
        cmocka_unit_test(the_same_device_takes_the_same_time),
        cmocka_unit_test(better_is_never_slower),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
