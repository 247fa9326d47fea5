/* SPDX-License-Identifier: Apache-2.0 */
/* test_corrections.c - the kind of each call, and a profile's factor on its transferred time: once, and no other. */
#include <math.h>
#include "time_device.h"
#include "model/time/corrections.h"
#include "model/time/roofline.h"
#include "model/time/timer.h"

static void near(double got, double expected, double fraction)
{
    if (!(fabs(got / expected - 1) <= fraction)) fail_msg("%g, expected %g", got, expected);
}

/* A convolution of `c` channels in `groups`. */
#define CONV(layout, dtype, c, groups) "conv forward " layout " " dtype " 8," c "," c ",14,14,3,3,1,1,1,1,1,1," groups
#define BACK(c, groups) "conv bwd_input nhwc fp16 8," c "," c ",14,14,3,3,1,1,1,1,1,1," groups
#define POINTWISE(pass, c, k, size) "conv " pass " nhwc fp16 8," c "," k "," size "," size ",1,1,1,1,0,0,1,1,1"
#define CONV_TO(c, k, size) POINTWISE("forward", c, k, size)
#define DEPTHWISE(pass, c) "conv " pass " nhwc fp16 8," c "," c ",14,14,3,3,1,1,1,1,1,1," c
#define CONV3D(layout, c, groups) \
    "conv3d forward " layout " bf16 2," c "," c ",8,14,14,3,3,3,1,1,1,1,1,1,1,1,1," groups

static const struct {
    const char    *call;
    cm__correction kind;
} kinds[] = {
    {"gemm forward nn bf16 1,64,64,64", CM__CORRECT_GEMM},
    {"gemm bwd_weight tn fp16 1,64,64,64", CM__CORRECT_GEMM},
    {"gemm forward nn bf16+bf16>fp32 1,64,64,64", CM__CORRECT_GEMM},
    {"gemm forward nn fp32 1,64,64,64", CM__CORRECTIONS},
    {"gemm forward nn tf32 1,64,64,64", CM__CORRECTIONS},
    {"gemm forward nn fp8 1,64,64,64", CM__CORRECTIONS},
    {"attention forward - bf16 1,64,64,8,8,64,1", CM__CORRECT_ATTENTION},
    {"attention forward - fp32 1,64,64,8,8,64,1", CM__CORRECTIONS},
    {CONV("nchw", "bf16", "64", "1"), CM__CORRECT_CONV_NCHW},
    {CONV("nhwc", "bf16", "256", "1"), CM__CORRECT_CONV_NHWC},
    {CONV("nhwc", "bf16", "64", "1"), CM__CORRECT_CONV_THIN_NHWC}, /* 263 FLOP per byte */
    {CONV_TO("64", "64", "56"), CM__CORRECT_CONV_THIN_NHWC},
    {CONV_TO("1024", "1024", "56"), CM__CORRECT_CONV_NHWC},
    {CONV_TO("3", "64", "56"), CM__CORRECT_CONV_THIN_NHWC}, /* an image is padded */
    {POINTWISE("bwd_input", "12", "64", "56"), CM__CORRECT_CONV_ODD_NHWC},
    {POINTWISE("bwd_weight", "64", "65", "56"), CM__CORRECT_CONV_ODD_NHWC},
    {POINTWISE("bwd_weight", "3", "64", "56"), CM__CORRECT_CONV_THIN_NHWC},
    {CONV_TO("12", "64", "56"), CM__CORRECT_CONV_THIN_NHWC}, /* only backward is slow */
    {CONV_TO("64", "65", "56"), CM__CORRECT_CONV_THIN_NHWC},
    {CONV_TO("1023", "1023", "56"), CM__CORRECT_CONV_NHWC},
    {CONV("nchw", "bf16", "65", "1"), CM__CORRECT_CONV_NCHW},
    {CONV("nhwc", "fp32", "64", "1"), CM__CORRECTIONS},
    {CONV("nhwc", "tf32", "64", "64"), CM__CORRECTIONS},
    {CONV("nchw", "fp16", "64", "64"), CM__CORRECT_DEPTHWISE_NCHW},
    {CONV("nhwc", "fp16", "64", "64"), CM__CORRECT_DEPTHWISE_NHWC},
    {DEPTHWISE("bwd_input", "64"), CM__CORRECT_DEPTHWISE_BACK_NHWC},
    {DEPTHWISE("bwd_weight", "65"), CM__CORRECT_DEPTHWISE_BACK_NHWC},
    {BACK("1", "1"), CM__CORRECT_CONV_ODD_NHWC}, /* one channel is not depthwise */
    {CONV("nchw", "bf16", "64", "4"), CM__CORRECT_GROUPED_NCHW},
    {CONV("nchw", "bf16", "96", "4"), CM__CORRECT_WIDE_NCHW},
    {CONV("nhwc", "bf16", "64", "16"), CM__CORRECT_GROUPED_NHWC}, /* 4 channels per group */
    {CONV("nhwc", "bf16", "64", "8"), CM__CORRECT_GROUPED_NHWC},
    {CONV("nhwc", "bf16", "128", "8"), CM__CORRECT_GROUPED_NHWC},
    {CONV("nhwc", "bf16", "256", "8"), CM__CORRECT_WIDE_NHWC},
    {CONV("nhwc", "bf16", "512", "8"), CM__CORRECT_WIDE_NHWC},
    {BACK("112", "7"), CM__CORRECT_GROUPED_SLOW_NHWC},  /* too few groups */
    {BACK("64", "32"), CM__CORRECT_GROUPED_SLOW_NHWC},  /* 2 */
    {BACK("240", "10"), CM__CORRECT_GROUPED_SLOW_NHWC}, /* 24 */
    {BACK("1024", "8"), CM__CORRECT_GROUPED_SLOW_NHWC}, /* 128 */
    {BACK("128", "8"), CM__CORRECT_GROUPED_SLOW_NHWC}, /* 8 groups of 16 do not fill a block */
    {BACK("256", "8"), CM__CORRECT_WIDE_NHWC},
    {BACK("144", "9"), CM__CORRECT_GROUPED_NHWC},
    {CONV("nhwc", "bf16", "112", "7"), CM__CORRECT_GROUPED_NHWC}, /* forward has kernels for all groups */
    {CONV("nhwc", "bf16", "64", "32"), CM__CORRECT_GROUPED_NHWC},
    {CONV("nhwc", "bf16", "240", "10"), CM__CORRECT_WIDE_NHWC},
    {CONV("nhwc", "bf16", "1024", "8"), CM__CORRECT_WIDE_NHWC},
    {CONV3D("nchw", "64", "1"), CM__CORRECT_CONV_NCHW},
    {CONV3D("nhwc", "64", "64"), CM__CORRECT_DEPTHWISE_NHWC},
    {CONV3D("nhwc", "64", "8"), CM__CORRECT_GROUPED_NHWC},
    {CONV3D("nhwc", "66", "1"), CM__CORRECT_CONV_NHWC}, /* 694 FLOP per byte */
    {"batch_norm forward nchw fp32 8,64,196", CM__CORRECT_BATCH_NORM_NCHW},
    {"batch_norm backward nhwc bf16 8,64,196", CM__CORRECT_BATCH_NORM_NHWC},
    {"elementwise forward relu fp32 1,1000", CM__CORRECT_ELEMENTWISE},
    {"elementwise forward add:row fp32 10,100", CM__CORRECT_ELEMENTWISE},
    {"elementwise forward add:strided fp16 10,100", CM__CORRECT_STRIDED},
    {"elementwise forward copy:part fp16 10,100", CM__CORRECT_STRIDED},
    {"softmax forward - fp32 64,64", CM__CORRECT_OTHER},
    {"layer_norm backward - bf16 64,64", CM__CORRECT_OTHER},
    {"pool forward max bf16 8,64,14,14,4,2,0", CM__CORRECT_POOL},
    {"optimizer update adamw fp32 1,1000", CM__CORRECT_OTHER},
    {"rnn forward lstm bf16 8,16,64,64,1,1", CM__CORRECTIONS},
};

static cm__correction kind_of(const cm__call *c)
{
    double flop, bytes;
    cm__call_work(c, &flop, &bytes);
    return cm__correction_of_work(c, flop, bytes);
}

static void kinds_of_calls(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        cm__call c = call_of(kinds[i].call);
        if (kind_of(&c) != kinds[i].kind)
            fail_msg("%s: kind %d, expected %d", kinds[i].call, (int)kind_of(&c), (int)kinds[i].kind);
    }
}

/* ---- profiles ---------------------------------------------------------------------------------------------------- */

#define GEMM "gemm forward nn bf16 1,4096,4096,4096"
#define FACTOR(name, value) "\"" name "\": " NUMBER(value, "1")
#define ON_3090(factors)                                                                                               \
    "{\"schema\": 1, \"id\": \"mine\", \"base\": \"nvidia-rtx3090\", \"name\": \"mine\", " SOURCES                     \
    ", \"power\": null, \"transfer\": {" factors "}}" /* without a limit of power, which would lower the clock */

static double factor_of(const cm_device *d, const char *text, bool *known)
{
    cm__call c = call_of(text);
    return cm__correction_factor(d, kind_of(&c), &c, known);
}

static void no_factor_is_one(void **state)
{
    bool       known = true;
    cm_device *d = device_of(TIME_DEVICE(""));
    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        assert_true(factor_of(d, kinds[i].call, &known) == 1);
        assert_false(known);
    }
    cm_device_free(d);
    d = device_of(TIME_DEVICE(",\n\"transfer\": {" FACTOR("gemm", "1.5") "}"));
    assert_true(factor_of(d, GEMM, &known) == 1.5 && known);
    assert_true(factor_of(d, "gemm forward nn fp32 1,64,64,64", &known) == 1 && !known);
    assert_true(factor_of(d, "softmax forward - fp32 64,64", &known) == 1 && !known);
    cm_device_free(d);
}

/* The blocks of 128 channels of a depthwise kernel count as full; forward and other kinds have no blocks. */
static void blocks_of_channels(void **state)
{
    static const struct {
        const char *call;
        double      factor;
    } cases[] = {
        {DEPTHWISE("bwd_input", "32"), 2 * 4}, {DEPTHWISE("bwd_weight", "128"), 2}, {DEPTHWISE("bwd_weight", "192"), 2 * 256. / 192},
        {DEPTHWISE("bwd_input", "1152"), 2},   {DEPTHWISE("forward", "32"), 3},
    };
    bool       known;
    cm_device *d = device_of(
        TIME_DEVICE(",\n\"transfer\": {" FACTOR("depthwise-backward:nhwc", "2") ", " FACTOR("depthwise:nhwc", "3") "}"));
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        near(factor_of(d, cases[i].call, &known), cases[i].factor, 1e-12);
        assert_true(known);
    }
    cm_device_free(d);
}

/* Each name in a profile is the kind of that name. */
static void names_of_kinds(void **state)
{
    static const char *const names[] = {
#define CORRECTION(id, name) name,
#include "device/corrections.def"
#undef CORRECTION
    };
    (void)state;
    for (int kind = 0; kind < CM__CORRECTIONS; kind++) {
        char text[4096];
        snprintf(text, sizeof text, TIME_DEVICE(",\n\"transfer\": {" FACTOR("%s", "3") "}"), names[kind]);
        cm_device *d = device_of(text);
        for (int k = 0; k < CM__CORRECTIONS; k++) assert_int_equal(d->corrections[k].known, k == kind);
        cm_device_free(d);
    }
    cm_device *d;
    cm_diag    diag;
    write_file("timed.json", TIME_DEVICE(",\n\"transfer\": {" FACTOR("gem", "3") "}"));
    assert_int_equal(cm_device_load(file_named("timed.json"), &d, &diag), CM_ERR_FORMAT);
    assert_non_null(strstr(diag.reason, "gem"));
}

/* ---- times ------------------------------------------------------------------------------------------------------- */

/* The device time of a model that is one transferred product. */
static double product_time(const char *profile, cm_precision precision)
{
    cm_device         *device = device_of(profile);
    cm_graph          *forward, *step;
    cm_prediction     *p;
    cm_predict_options predict = {.batch = 1};
    cm_train_options   train = {.precision = precision, .inference = true};
    cm_load_options    load = {.fuse = CM_FUSE_EAGER};
    assert_int_equal(cm_graph_load("gemm:m=4096,n=4096,k=4096", &load, &forward, NULL), CM_OK);
    assert_int_equal(cm_graph_train(forward, &train, &step, NULL), CM_OK);
    assert_int_equal(cm_predict(step, device, &predict, &p, NULL), CM_OK);
    assert_int_equal(cm_prediction_ops(p), 1);
    assert_int_equal(cm_prediction_op(p, 0)->how, CM_HOW_TRANSFERRED);
    double time_s = cm_prediction_get_info(p)->device_time_s;
    cm_prediction_free(p);
    cm_graph_free(step);
    cm_graph_free(forward);
    cm_device_free(device);
    return time_s;
}

static void a_step_of_one_product(void **state)
{
    double once = product_time(ON_3090(FACTOR("gemm", "1")), CM_PRECISION_BF16);
    (void)state;
    near(product_time(ON_3090(FACTOR("gemm", "2")), CM_PRECISION_BF16), 2 * once, 1e-9);
    near(product_time(ON_3090(FACTOR("gemm", "1.5")), CM_PRECISION_BF16), 1.5 * once, 1e-9);
    assert_true(product_time(ON_3090(FACTOR("gemm", "0.25")), CM_PRECISION_BF16) > 0.6 * once); /* the peak */
    near(product_time(ON_3090(FACTOR("gemm", "1") ", " FACTOR("elementwise", "9")), CM_PRECISION_BF16), once, 1e-12);
    double tf32 = product_time(ON_3090(FACTOR("gemm", "1")), CM_PRECISION_TF32);
    near(product_time(ON_3090(FACTOR("gemm", "5")), CM_PRECISION_TF32), tf32, 1e-12);
}

/* A factor is no part of a measured time, and all kinds of calls with a factor share a smaller error. */
static void only_what_is_transferred(void **state)
{
    cm_diag    diag = {0};
    cm__ctx   *ctx = cm__ctx_new(&diag);
    cm_device *h200, *plain = device_of(TIME_DEVICE(""));
    cm_device *d = device_of(TIME_DEVICE(",\n\"transfer\": {" FACTOR("gemm", "3") "}" KERNELS(
        TABLE("gemm", "forward", "nn", "bf16", GEMM_DIMS, "[[1, 4096, 4096, 4096, 5e-3, 1]]"))));
    cm_device *other = device_of(TIME_DEVICE(",\n\"transfer\": {" FACTOR("gemm", "3") "}"));
    cm__call   c = call_of(GEMM);
    (void)state;
    assert_int_equal(cm_device_load("nvidia-h200", &h200, NULL), CM_OK);
    if (setjmp(ctx->trap)) fail_msg("%s", diag.reason);
    cm__timed measured = cm__timer_time(cm__timer_new(ctx, d, h200, CM_RUNTIME_TORCH_EAGER, NULL), &c);
    cm__timed once = cm__timer_time(cm__timer_new(ctx, plain, h200, CM_RUNTIME_TORCH_EAGER, NULL), &c);
    cm__timed thrice = cm__timer_time(cm__timer_new(ctx, other, h200, CM_RUNTIME_TORCH_EAGER, NULL), &c);
    assert_int_equal(measured.how, CM_HOW_MEASURED);
    near(measured.time_s, 5e-3, 1e-6);
    near(thrice.time_s, 3 * once.time_s, 1e-12);
    assert_true(thrice.shared < once.shared);
    cm_device *all[] = {h200, plain, d, other};
    for (int i = 0; i < 4; i++) cm_device_free(all[i]);
    cm__ctx_free(ctx);
}

static double time_on(const char *profile, const char *call)
{
    cm_diag    diag = {0};
    cm__ctx   *ctx = cm__ctx_new(&diag);
    cm_device *h200, *d = device_of(profile);
    cm__call   c = call_of(call);
    assert_int_equal(cm_device_load("nvidia-h200", &h200, NULL), CM_OK);
    if (setjmp(ctx->trap)) fail_msg("%s", diag.reason);
    double time_s = cm__timer_time(cm__timer_new(ctx, d, h200, CM_RUNTIME_TORCH_EAGER, NULL), &c).time_s;
    cm__ctx_free(ctx);
    cm_device_free(h200);
    cm_device_free(d);
    return time_s;
}

/* With such a clock no kernel waits for cycles of its threads. */
#define QUICK ",\n\"clock_hz\": " NUMBER("1e11", "Hz")

/* If a library has no kernel for the groups, the factor is on the memory traffic and the root of a group's width. */
static void groups_without_a_kernel(void **state)
{
    static const char *const profile = TIME_DEVICE(QUICK ",\n\"transfer\": {" FACTOR("grouped-slow:nhwc", "1") "}");
    static const struct {
        const char *call;
        double      width;
    } cases[] = {{BACK("240", "10"), 24}, {BACK("128", "8"), 16}, {BACK("128", "4"), 32}};
    cm_device *d = device_of(profile);
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cm__call c = call_of(cases[i].call);
        double   flop, bytes;
        cm__call_work(&c, &flop, &bytes);
        double traffic_s = bytes / cm__limits_of(d).memory_bytes_s;
        near(time_on(profile, cases[i].call), 12 * sqrt(cases[i].width) * traffic_s, 1e-9);
    }
    const char *const others[] = {BACK("240", "1"), BACK("256", "8"), BACK("144", "9"),
                                  CONV("nhwc", "bf16", "240", "10")};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        near(time_on(profile, others[i]), time_on(TIME_DEVICE(QUICK), others[i]), 1e-12);
    cm_device_free(d);
}

/* A kernel that is not tuned is not faster than the transferred time of a tuned one. */
static void slow_groups_are_no_faster(void **state)
{
    static const char *const profile = TIME_DEVICE(",\n\"transfer\": {" FACTOR("grouped-slow:nhwc", "1e-6") "}");
    (void)state;
    near(time_on(profile, BACK("240", "10")), time_on(TIME_DEVICE(""), BACK("240", "10")), 1e-12);
}

/* Memory that streams at half the rate delivers at half the rate to kernels that have no factor of their own: 1x1
   convolutions of 3 to 64 channels move 1.1 GB, in fp32 without and in fp16 with one. */
static void memory_of_other_kernels(void **state)
{
    static const char *const slow =
        TIME_DEVICE(",\n\"transfer\": {" FACTOR("elementwise", "2") ", " FACTOR("conv:nchw", "1") "}");
    static const char *const full = "conv forward nchw fp32 64,3,64,256,256,1,1,1,1,0,0,1,1,1";
    static const char *const half = "conv forward nchw fp16 64,3,64,256,256,1,1,1,1,0,0,1,1,1";
    double plain_s = time_on(TIME_DEVICE(""), full), slow_s = time_on(slow, full);
    (void)state;
    assert_true(slow_s > 1.2 * plain_s && slow_s <= 2 * plain_s * (1 + 1e-9));
    near(time_on(slow, half), time_on(TIME_DEVICE(""), half), 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kinds_of_calls), cmocka_unit_test(no_factor_is_one),
        cmocka_unit_test(blocks_of_channels), cmocka_unit_test(groups_without_a_kernel),
        cmocka_unit_test(slow_groups_are_no_faster),
        cmocka_unit_test(memory_of_other_kernels),
        cmocka_unit_test(names_of_kinds), cmocka_unit_test(a_step_of_one_product),
        cmocka_unit_test(only_what_is_transferred),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
