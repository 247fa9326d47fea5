/* SPDX-License-Identifier: Apache-2.0 */
/* test_timer.c - measured times take precedence over interpolated, these over transferred, these over the roofline. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "time_device.h"
#include "device/row_sizes.h"
#include "model/time/rows.h"
#include "model/time/timer.h"
#include "model/time/transfer.h"

#define TWO_ROWS "[[1, 1024, 1024, 1024, 5e-5, 1], [1, 4096, 1024, 1024, 2e-4, 2]]"
#define ROWS_DEVICE TIME_DEVICE(KERNELS(TABLE("gemm", "forward", "nn", "bf16", GEMM_DIMS, TWO_ROWS)))

static cm__ctx *ctx;
static cm_diag  diag;

static cm__timed time_on(const cm_device *device, const cm_device *reference, cm_runtime runtime, const char *text)
{
    cm__call c = call_of(text);
    return cm__timer_time(cm__timer_new(ctx, device, reference, runtime, NULL), &c);
}

static double roofline_of(const cm_device *device, const char *text)
{
    cm__limits l = cm__limits_of(device);
    cm__call   c = call_of(text);
    return cm__roofline(&l, &c);
}

static void near(double got, double expected, double fraction)
{
    if (!(fabs(got / expected - 1) <= fraction)) fail_msg("%g, expected %g", got, expected);
}

#define TEST(name)                                                                                                     \
    static void name##_body(void);                                                                                     \
    static void name(void **state)                                                                                     \
    {                                                                                                                  \
        (void)state;                                                                                                   \
        ctx = cm__ctx_new(&diag);                                                                                      \
        if (setjmp(ctx->trap)) fail_msg("%s", diag.reason);                                                            \
        name##_body();                                                                                                 \
        cm__ctx_free(ctx);                                                                                             \
    }                                                                                                                  \
    static void name##_body(void)

TEST(a_row_is_its_time)
{
    cm_device *d = device_of(ROWS_DEVICE);
    cm__timed  t = time_on(d, NULL, CM_RUNTIME_TORCH_EAGER, "gemm forward nn bf16 1,4096,1024,1024");
    assert_int_equal(t.how, CM_HOW_MEASURED);
    assert_true(t.time_s == (double)2e-4f);
    assert_true(t.launches == 2);
    cm_device_free(d);
}

TEST(a_neighbour_is_interpolated)
{
    cm_device *d = device_of(ROWS_DEVICE);
    cm__timed  t = time_on(d, NULL, CM_RUNTIME_TORCH_EAGER, "gemm forward nn bf16 1,2048,1024,1024");
    assert_int_equal(t.how, CM_HOW_INTERPOLATED);
    assert_true(t.time_s > 5e-5 && t.time_s < 2e-4);
    cm__timed measured = time_on(d, NULL, CM_RUNTIME_TORCH_EAGER, "gemm forward nn bf16 1,1024,1024,1024");
    assert_true(t.error > measured.error);
    cm_device_free(d);
}

/* The ratio of one row to the roofline applies to its neighbours. */
TEST(in_proportion_to_the_roofline)
{
    cm_device *d = device_of(
        TIME_DEVICE(KERNELS(TABLE("gemm", "forward", "nn", "bf16", GEMM_DIMS, "[[1, 4096, 4096, 4096, 5e-3, 1]]"))));
    const char *row = "gemm forward nn bf16 1,4096,4096,4096", *other = "gemm forward nn bf16 1,4096,5120,4096";
    double      excess = 5e-3 / roofline_of(d, row);
    near(time_on(d, NULL, CM_RUNTIME_TORCH_EAGER, other).time_s, excess * roofline_of(d, other), 1e-5);
    cm_device_free(d);
}

TEST(nothing_like_it_is_the_roofline)
{
    cm_device  *d = device_of(ROWS_DEVICE);
    const char *texts[] = {"softmax forward - fp32 1024,1024", "gemm forward tn fp32 1,64,64,64"};
    for (int i = 0; i < 2; i++) {
        cm__timed t = time_on(d, NULL, CM_RUNTIME_TORCH_EAGER, texts[i]);
        assert_int_equal(t.how, CM_HOW_ROOFLINE);
        assert_true(t.time_s == roofline_of(d, texts[i]));
        assert_true(t.launches == 1);
    }
    /* tables of another runtime are not used */
    assert_int_equal(time_on(d, NULL, CM_RUNTIME_NATIVE, "gemm forward nn bf16 1,4096,1024,1024").how, CM_HOW_ROOFLINE);
    /* an empty table is not used */
    cm_device *empty = device_of(TIME_DEVICE(KERNELS(TABLE("gemm", "forward", "nn", "bf16", GEMM_DIMS, "[]"))));
    assert_int_equal(time_on(empty, NULL, CM_RUNTIME_TORCH_EAGER, "gemm forward nn bf16 1,4096,1024,1024").how,
                     CM_HOW_ROOFLINE);
    cm_device_free(empty);
    cm_device_free(d);
}

/* The time that a call of the H200 has on another device by the rule of transfer.c. */
static double moved(const cm_device *to, const cm_device *from, const char *text, const cm__timed *there)
{
    cm__limits here = cm__limits_of(to), reference = cm__limits_of(from);
    cm__call   c = call_of(text);
    return cm__transferred(&here, &reference, &c, there->time_s, there->launches);
}

/* A call that was measured on the H200 is transferred, and less certain than there. */
TEST(a_reference_device_is_transferred)
{
    cm_device              *d = device_of(TIME_DEVICE("")), *h200;
    const cm__kernel_table *table = NULL;
    char                    text[256];
    assert_int_equal(cm_device_load("nvidia-h200", &h200, NULL), CM_OK);
    for (int32_t i = 0; i < h200->built_in_kernels.count && !table; i++)
        if (h200->built_in_kernels.tables[i].op == CM__CALL_GEMM &&
            strcmp(h200->built_in_kernels.tables[i].runtime, "torch-eager") == 0)
            table = &h200->built_in_kernels.tables[i];
    cm__call c = {.op = table->op, .pass = table->pass};
    c.variant = table->variant;
    c.types = table->types;
    cm__row_unpack(table, 0, c.sizes);
    cm__call_text(&c, text, sizeof text);
    cm__timed own = time_on(h200, NULL, CM_RUNTIME_TORCH_EAGER, text),
              t = time_on(d, h200, CM_RUNTIME_TORCH_EAGER, text);
    assert_int_equal(own.how, CM_HOW_MEASURED);
    assert_int_equal(t.how, CM_HOW_TRANSFERRED);
    assert_true(t.shared > 0 && t.error >= own.error);
    near(t.time_s, moved(d, h200, text, &own), 0.03); /* kriging's noise */
    cm_device_free(h200);
    cm_device_free(d);
}

/* Calls interpolated there are transferred with the same time: calls that are no rows of a table. */
TEST(interpolated_times_are_transferred)
{
    cm_device              *d = device_of(TIME_DEVICE(",\n\"clock_hz\": " NUMBER("1e9", "Hz"))), *h200;
    static const char *const texts[] = {"rnn forward lstm bf16 48,37,384,384,1,1",
                                        "batch_norm backward nhwc bf16 60,68,3001"};
    assert_int_equal(cm_device_load("nvidia-h200", &h200, NULL), CM_OK);
    for (int i = 0; i < 2; i++) {
        cm__timed own = time_on(h200, NULL, CM_RUNTIME_TORCH_EAGER, texts[i]),
                  t = time_on(d, h200, CM_RUNTIME_TORCH_EAGER, texts[i]);
        assert_int_equal(own.how, CM_HOW_INTERPOLATED);
        assert_int_equal(t.how, CM_HOW_TRANSFERRED);
        near(t.time_s, moved(d, h200, texts[i], &own), 1e-6);
        assert_true(t.time_s > own.time_s); /* fewer cores, a lower clock, less bandwidth */
    }
    cm_device_free(h200);
    cm_device_free(d);
}

/* A device's own rows take precedence over a reference device's. The table of another function comes last. */
TEST(own_rows_come_first)
{
    cm_device *h200, *d = device_of(TIME_DEVICE(KERNELS(TABLE("elementwise", "forward", "relu", "bf16",
                                                              "[\"outer\", \"inner\"]", "[[1, 1000000, 7e-6, 1]]"))));
    assert_int_equal(cm_device_load("nvidia-h200", &h200, NULL), CM_OK);
    cm__timed t = time_on(d, h200, CM_RUNTIME_TORCH_EAGER, "elementwise forward relu bf16 1,1000000");
    assert_int_equal(t.how, CM_HOW_MEASURED);
    assert_true(t.time_s == (double)7e-6f);
    t = time_on(d, h200, CM_RUNTIME_TORCH_EAGER, "elementwise forward clip bf16 1,1000000");
    assert_int_not_equal(t.how, CM_HOW_MEASURED);
    t = time_on(d, NULL, CM_RUNTIME_TORCH_EAGER,
                "elementwise forward tanh bf16 1,1000000"); /* no reference device: relu's table is used */
    assert_int_equal(t.how, CM_HOW_INTERPOLATED);
    near(t.time_s, 7e-6, 1e-5);
    cm_device_free(h200);
    cm_device_free(d);
}

/* Meaningless rows in a profile still give a time. */
TEST(odd_rows)
{
    cm_device  *d = device_of(TIME_DEVICE(KERNELS(TABLE("gemm", "forward", "nn", "bf16", GEMM_DIMS,
                                                        "[[0, 0, 0, 0, 1e-6, 0], [1000000000000000, 1000000000000000, "
                                                         "1000000000000000, 1000000000000000, 1e5, 65535]]"))));
    const char *texts[] = {"gemm forward nn bf16 1,64,64,64", "gemm forward nn bf16 0,0,0,0",
                           "gemm forward nn bf16 1,1,1,9000000000000000000"};
    for (int i = 0; i < 3; i++) {
        cm__timed t = time_on(d, NULL, CM_RUNTIME_TORCH_EAGER, texts[i]);
        if (!(t.time_s > 0 && isfinite(t.time_s))) fail_msg("%s: %g s", texts[i], t.time_s);
    }
    cm_device_free(d);
}

/* ---- each row by the others ------------------------------------------------------------------------------------- */

static int visits;

static void visit(void *user, const cm__kernel_table *table, const cm__call *call, double measured, double predicted)
{
    (void)user, (void)table, (void)call;
    visits++;
    near(predicted, measured, 1e-4);
}

/* Rows that are all at twice the roofline predict each other exactly. A table's only row is used for others, but not
   left out. */
TEST(rows_left_out)
{
    static const char *const texts[] = {"gemm forward nn bf16 1,1024,1024,1024",
                                        "gemm forward nn bf16 1,2048,1024,1024",
                                        "gemm forward nn bf16 1,2048,2048,1024", "gemm forward tn bf16 1,8,8,8"};
    cm_device *bare = device_of(TIME_DEVICE(""));
    char       text[8192];
    snprintf(text, sizeof text, TIME_DEVICE(KERNELS(TABLE("gemm", "forward", "nn", "bf16", GEMM_DIMS,
             "[[1, 1024, 1024, 1024, %.9g, 1], [1, 2048, 1024, 1024, %.9g, 1], [1, 2048, 2048, 1024, %.9g, 1]]") ","
             TABLE("gemm", "forward", "tn", "bf16", GEMM_DIMS, "[[1, 8, 8, 8, %.9g, 1]]"))),
             2 * roofline_of(bare, texts[0]), 2 * roofline_of(bare, texts[1]), 2 * roofline_of(bare, texts[2]),
             2 * roofline_of(bare, texts[3]));
    cm_device *d = device_of(text);
    visits = 0;
    cm__timer_cross_validate(cm__timer_new(ctx, d, NULL, CM_RUNTIME_TORCH_EAGER, NULL), visit, NULL);
    assert_int_equal(visits, 3);
    cm_device_free(d);
    cm_device_free(bare);
}

#define MAP_DIMS "[\"outer\", \"inner\"]"

/* Contiguous elements have no shape; those broadcast over rows have one. */
TEST(a_shape_that_does_not_matter)
{
    cm_device *d = device_of(
        TIME_DEVICE(KERNELS(TABLE("elementwise", "forward", "add", "fp32", MAP_DIMS, "[[1, 4194304, 6e-5, 1]]") ","
                            TABLE("elementwise", "forward", "add:row", "fp32", MAP_DIMS, "[[1, 4194304, 6e-5, 1]]"))));
    cm__timed  t = time_on(d, NULL, CM_RUNTIME_TORCH_EAGER, "elementwise forward add fp32 1024,4096");
    assert_int_equal(t.how, CM_HOW_MEASURED);
    assert_true(t.time_s == (double)6e-5f);
    t = time_on(d, NULL, CM_RUNTIME_TORCH_EAGER, "elementwise forward add:row fp32 1024,4096");
    assert_int_not_equal(t.how, CM_HOW_MEASURED);
    cm_device_free(d);
}

#define NORM_DIMS "[\"rows\", \"cols\"]"

/* A 16-bit table has one small row at 50 times its roofline, a 32-bit table has a row of the exact size at twice its
   own: the latter has most weight. */
TEST(nearer_rows_in_another_width)
{
    const char *narrow = "layer_norm forward - bf16 2,3", *wide = "layer_norm forward - fp32 16384,1024";
    const char *call = "layer_norm forward - bf16 16384,1024";
    cm_device  *bare = device_of(TIME_DEVICE(""));
    char        text[8192];
    snprintf(text, sizeof text,
             TIME_DEVICE(KERNELS(TABLE("layer_norm", "forward", "", "bf16", NORM_DIMS, "[[2, 3, %.9g, 1]]") ","
                                 TABLE("layer_norm", "forward", "", "fp32", NORM_DIMS, "[[16384, 1024, %.9g, 1]]"))),
             50 * roofline_of(bare, narrow), 2 * roofline_of(bare, wide));
    cm_device *d = device_of(text);
    cm__timed  t = time_on(d, NULL, CM_RUNTIME_TORCH_EAGER, call);
    double     excess = t.time_s / roofline_of(d, call);
    assert_int_equal(t.how, CM_HOW_INTERPOLATED);
    if (!(excess > 1.9 && excess < 3)) fail_msg("%g times the roofline", excess);
    cm_device_free(d);
    cm_device_free(bare);
}

#define STREAM_FIT(op) STREAM_FIT_IN("fp32", op)
#define STREAM_FIT_IN(dtype, op)                                                                                       \
    ",\n\"fits\": [{\"op\": \"" op "\", \"pass\": \"forward\", \"dtype\": \"" dtype "\", \"runtime\": \"native\", "     \
    "\"form\": \"stream\", \"parameters\": {\"overhead_s\": 0.5, \"memory_fraction\": 0.5, \"sharpness\": 4, "         \
    "\"cache_speedup\": 2, \"cache_share\": 0.001, "                                                                   \
    "\"element_s\": 1e-30}, \"n\": 100, \"error\": {\"mape\": 0.2, \"bias\": 0, \"p90\": 0.3}, "                       \
    "\"kind\": \"fitted\", \"source\": \"sheet\", \"date\": \"2024\"}]"

/* In plain fp32 a device's own operator model takes precedence over a reference device's tables. The device's launch
   overhead replaces the 0.5 s included in the model's timings. */
TEST(operator_fits_before_a_reference_device)
{
    cm_device *bare = device_of(TIME_DEVICE("")), *d = device_of(TIME_DEVICE(STREAM_FIT("relu")));
    cm_device *reference = device_of(ROWS_DEVICE);
    cm__timed  t = time_on(d, reference, CM_RUNTIME_TORCH_EAGER, "elementwise forward relu fp32 1,67108864");
    assert_int_equal(t.how, CM_HOW_INTERPOLATED);
    near(t.time_s, 1e-6 + 2 * 67108864 * 4.0 / (0.5 * 1e12), 1e-6);
    near(t.error, hypot(0.12, 0.2), 1e-9);
    t = time_on(d, reference, CM_RUNTIME_TORCH_EAGER, "elementwise forward relu bf16 1,67108864");
    assert_int_not_equal(t.how, CM_HOW_INTERPOLATED);
    t = time_on(bare, reference, CM_RUNTIME_TORCH_EAGER, "elementwise forward relu fp32 1,67108864");
    assert_int_not_equal(t.how, CM_HOW_INTERPOLATED);
    cm_device_free(reference);
    cm_device_free(d);
    cm_device_free(bare);
}

static double seconds(const cm_device *device, const cm_device *reference, const char *text)
{
    return time_on(device, reference, CM_RUNTIME_TORCH_EAGER, text).time_s;
}

/* A product in 16 bits joins the transferred time (error 0.2) and the device's model of products (0.12 and 0.2) by the mean of
   their logarithms. Other variants change by the same ratio; other types and operators do not change, nor do products
   whose rows are no multiple of 16 bytes, for which libraries have other kernels. */
TEST(products_join_a_model_with_a_reference_device)
{
    static const char *const joined[] = {
        "gemm forward nt bf16 1,4096,4096,128", "gemm forward nt fp16 1,4096,4096,128",
        "gemm forward nn bf16 1,4096,4096,128", "gemm forward tn bf16 1,4096,4096,128"};
    static const char *const others[] = {"gemm forward nt tf32 1,4096,4096,128", "softmax forward - bf16 8192,4096",
                                         "gemm forward nt bf16 1,4096,4097,128", "gemm forward nt bf16 1,4096,4096,127"};
    cm_device *bare = device_of(TIME_DEVICE("")), *d = device_of(TIME_DEVICE(STREAM_FIT_IN("bf16", "gemm"))), *h200;
    double     fitted = 1e-6 + (4096. * 4096 + 2 * 4096. * 128) * 2 / (0.5 * 1e12);
    assert_int_equal(cm_device_load("nvidia-h200", &h200, NULL), CM_OK);
    double weight = (0.2 * 0.2) / (0.2 * 0.2 + 0.2 * 0.2 + 0.12 * 0.12);
    double ratio = pow(fitted / seconds(bare, h200, joined[0]), weight);
    for (int i = 0; i < 4; i++)
        near(seconds(d, h200, joined[i]) / seconds(bare, h200, joined[i]), ratio, i == 1 ? 0.05 : 1e-3);
    for (int i = 0; i < 4; i++) near(seconds(d, h200, others[i]), seconds(bare, h200, others[i]), 1e-9);
    assert_int_equal(time_on(d, h200, CM_RUNTIME_TORCH_EAGER, joined[0]).how, CM_HOW_TRANSFERRED);
    cm_device_free(h200);
    cm_device_free(d);
    cm_device_free(bare);
}

/* Megatron-LM's fused update is one stream, of any type; PyTorch's is not. No reference device is needed. */
TEST(operator_fits_for_megatron)
{
    const char *text = "optimizer update adamw fp32 1,67108864";
    cm_device  *d = device_of(TIME_DEVICE(STREAM_FIT("add")));
    cm__call    c = call_of(text);
    double      flop, bytes;
    cm__call_work(&c, &flop, &bytes);
    cm__timed t = time_on(d, NULL, CM_RUNTIME_MEGATRON, text);
    assert_int_equal(t.how, CM_HOW_INTERPOLATED);
    near(t.time_s, 1e-6 + bytes / (0.5 * 1e12), 1e-6);
    assert_int_equal(time_on(d, NULL, CM_RUNTIME_TORCH_EAGER, text).how, CM_HOW_ROOFLINE);
    t = time_on(d, NULL, CM_RUNTIME_MEGATRON, "elementwise forward add fp32 1,67108864");
    assert_int_equal(t.how, CM_HOW_ROOFLINE);
    cm_device_free(d);
}

/* Appends a table with the first rows of a built-in table that are far apart, each taking twice as long. */
static void append_doubled(FILE *out, const cm__kernel_table *table, const char *before)
{
    cm__call call = cm__call_of_table(table);
    char     variant[CM__CALL_TEXT];
    fprintf(out, "%s{\"runtime\": \"torch-eager\", \"op\": \"gemm\", \"pass\": \"forward\", \"variant\": \"%s\", "
                 "\"dtype\": \"bf16\", \"dims\": " GEMM_DIMS ", \"kind\": \"measured\", \"source\": \"sheet\", "
                 "\"date\": \"2026-11\", \"rows\": [", before, cm__variant_text(table->variant, variant));
    for (int32_t row = 0, count = 0; count < 4; row += table->n_rows / 5, count++) {
        cm__set_row(&call, table, row);
        fprintf(out, "%s[%lld, %lld, %lld, %lld, %.9g, 1]", count ? ", " : "", (long long)call.sizes[0],
                (long long)call.sizes[1], (long long)call.sizes[2], (long long)call.sizes[3],
                2 * (double)cm__row_time(table, row));
    }
    fputs("]}", out);
}

/* A profile that extends the H200 by three tables of four products, all twice as slow: other products, and calls of
   kinds that it has no table for, take twice as long, too. */
TEST(own_rows_correct_larger_tables)
{
    cm_device              *h200, *slower;
    const cm__kernel_table *tables[3];
    char                   *text;
    size_t                  size;
    int                     count = 0;
    assert_int_equal(cm_device_load("nvidia-h200", &h200, NULL), CM_OK);
    for (int32_t i = 0; i < h200->built_in_kernels.count && count < 3; i++) {
        const cm__kernel_table *one = &h200->built_in_kernels.tables[i];
        if (one->op == CM__CALL_GEMM && !strcmp(one->runtime, "torch-eager") && one->types == CM__ALL(CM_BF16) &&
            one->n_rows > 100)
            tables[count++] = one;
    }
    assert_int_equal(count, 3);
    FILE *out = open_memstream(&text, &size);
    fputs("{" IDENTITY("slower") ", \"base\": \"nvidia-h200\", " SOURCES ", \"kernels\": [", out);
    for (int i = 0; i < 3; i++) append_doubled(out, tables[i], i ? ", " : "");
    fputs("]}", out);
    fclose(out);
    slower = device_of(text);
    cm__call call = cm__call_of_table(tables[0]);
    cm__set_row(&call, tables[0], tables[0]->n_rows / 10);
    cm__timed other = cm__timer_time(cm__timer_new(ctx, slower, NULL, CM_RUNTIME_TORCH_EAGER, NULL), &call);
    near(other.time_s, 2 * (double)cm__row_time(tables[0], tables[0]->n_rows / 10), 0.03);
    assert_int_equal(other.how, CM_HOW_INTERPOLATED);
    static const char conv[] = "conv forward nhwc bf16 128,64,64,56,56,3,3,1,1,1,1,1,1,1";
    near(time_on(slower, NULL, CM_RUNTIME_TORCH_EAGER, conv).time_s,
         2 * time_on(h200, NULL, CM_RUNTIME_TORCH_EAGER, conv).time_s, 1e-3);
    free(text);
    cm_device_free(slower);
    cm_device_free(h200);
}

/* A card without a base measured two products, one twice as fast as the reference device's tables say and a far one as fast. A
   product beside the first is faster, too, and those far from both stay as they were. */
TEST(own_rows_correct_their_neighbours)
{
    static const char beside[] = "gemm forward nt bf16 1,8192,4096,1040", far[] = "gemm forward nt bf16 64,96,72,8192";
    char              text[4096];
    cm_device        *bare = device_of(TIME_DEVICE("")), *h200;
    assert_int_equal(cm_device_load("nvidia-h200", &h200, NULL), CM_OK);
    snprintf(text, sizeof text, TIME_DEVICE(KERNELS(TABLE("gemm", "forward", "nt", "bf16", GEMM_DIMS,
             "[[1, 8192, 4096, 1024, %.9g, 1], [1, 256, 256, 64, %.9g, 1]]"))),
             seconds(bare, h200, "gemm forward nt bf16 1,8192,4096,1024") / 2, seconds(bare, h200, "gemm forward nt bf16 1,256,256,64"));
    cm_device *d = device_of(text);
    double     near_ratio = seconds(d, h200, beside) / seconds(bare, h200, beside), far_ratio = seconds(d, h200, far) / seconds(bare, h200, far);
    if (!(near_ratio > 0.45 && near_ratio < 0.7)) fail_msg("%g of the transferred time beside a row of a half", near_ratio);
    near(far_ratio, 1, 0.25);
    cm_device_free(d);
    cm_device_free(h200);
    cm_device_free(bare);
}

/* Rows of all tables of the H200, and calls between them: a bound is the time of a row, and never above a time. */
TEST(lower_bounds_are_below_times)
{
    cm_device *d;
    int        bounds = 0, calls = 0;
    assert_int_equal(cm_device_load("nvidia-h200", &d, NULL), CM_OK);
    cm__timer  *timer = cm__timer_new(ctx, d, NULL, CM_RUNTIME_TORCH_EAGER, NULL);
    cm__kernels k = cm__kernels_built_in("nvidia-h200");
    assert_true(cm__timer_bounds(timer));
    for (int32_t i = 0; i < k.count; i++)
        for (int size = -1; size < cm__call_kinds[k.tables[i].op].n_sizes; size++) {
            cm__call c = cm__call_of_table(&k.tables[i]);
            cm__set_row(&c, &k.tables[i], k.tables[i].n_rows / 2);
            if (size >= 0) c.sizes[size] += c.sizes[size] / 2;
            cm__timed timed = cm__timer_time(timer, &c);
            cm__timed least = cm__timer_least(timer, &c);
            bool      row = timed.how == CM_HOW_MEASURED && least.time_s > 0;
            if (row) assert_true(least.time_s == timed.time_s && least.launches == timed.launches);
            assert_true(least.time_s >= 0 && least.time_s <= timed.time_s && least.launches <= timed.launches);
            bounds += least.time_s > 0;
            calls++;
        }
    assert_true(bounds > calls / 2);
    cm_device_free(d);
}

/* A time that is kept is the one that was computed, whichever call came first: TF32 products may run in fp32. */
TEST(kept_times_are_the_same)
{
    static const char *const calls[] = {"gemm forward nt tf32 1,512,256,256", "gemm forward nt fp32 1,512,256,256",
                                        "gemm forward nt bf16 1,512,256,256", "gemm forward tn bf16 1,512,256,256",
                                        "gemm forward nt tf32 1,512,256,256"};
    cm_device *d = device_of(ROWS_DEVICE), *h200;
    assert_int_equal(cm_device_load("nvidia-h200", &h200, NULL), CM_OK);
    cm__timer *keeps = cm__timer_new(ctx, d, h200, CM_RUNTIME_TORCH_EAGER, NULL);
    cm__timer_remember(keeps);
    for (int again = 0; again < 2; again++)
        for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
            cm__call  c = call_of(calls[i]);
            cm__timed kept = cm__timer_time(keeps, &c);
            cm__timed made = cm__timer_time(cm__timer_new(ctx, d, h200, CM_RUNTIME_TORCH_EAGER, NULL), &c);
            assert_true(kept.time_s == made.time_s && kept.launches == made.launches && kept.error == made.error);
            assert_true(kept.shared == made.shared && kept.how == made.how);
        }
    cm_device_free(h200);
    cm_device_free(d);
}

/* Other devices have none: their times are transferred. */
TEST(no_bounds_of_transferred_times)
{
    cm_device *d = device_of(ROWS_DEVICE), *h200;
    cm__call   c = call_of("gemm forward nn bf16 1,4096,1024,1024");
    assert_int_equal(cm_device_load("nvidia-h200", &h200, NULL), CM_OK);
    assert_false(cm__timer_bounds(cm__timer_new(ctx, d, h200, CM_RUNTIME_TORCH_EAGER, NULL)));
    assert_false(cm__timer_bounds(cm__timer_new(ctx, h200, NULL, CM_RUNTIME_TUNED, NULL)));
    assert_true(cm__timer_least(cm__timer_new(ctx, d, h200, CM_RUNTIME_TORCH_EAGER, NULL), &c).time_s == 0);
    cm_device_free(h200);
    cm_device_free(d);
}

/* Convolutions whose kernels depend on what sizes alone do not show, as steps of lists n, o and p ran them
   (evidence/eager-*.tar.xz): filters over all electrodes of motor_imagery, and filters of one place
   of mobilenetv4_hybrid_medium, mobilenetv3_large_150d (8 x 8 and 16 x 16 pixels, nvjet kernels) and of
   mobilenetv2-semantic (33 x 33, turned to channels last and back). Looked up by their sizes they were 2.6 to 5.9 times
   too long, or four times too short. */
TEST(convolutions_of_recorded_steps)
{
    static const struct {
        const char *call;
        double      time_s;
    } recorded[] = {{"conv forward nchw fp32 72,40,40,22,976,22,1,1,1,0,0,1,1,1", 273.6e-6},
                    {"conv bwd_input nchw fp32 72,40,40,22,976,22,1,1,1,0,0,1,1,1", 513.8e-6},
                    {"conv bwd_weight nchw fp32 72,40,40,22,976,22,1,1,1,0,0,1,1,1", 632.5e-6},
                    {"conv forward nchw bf16 32,256,1024,8,8,1,1,1,1,0,0,1,1,1", 4.9e-6},
                    {"conv forward nchw bf16 32,512,256,8,8,1,1,1,1,0,0,1,1,1", 3.79e-6},
                    {"conv forward nchw bf16 64,1008,168,16,16,1,1,1,1,0,0,1,1,1", 11.92e-6},
                    {"conv forward nchw bf16 32,960,320,33,33,1,1,1,1,0,0,1,1,1", 123.1e-6}};
    cm_device *h200;
    assert_int_equal(cm_device_load("nvidia-h200", &h200, NULL), CM_OK);
    for (size_t i = 0; i < sizeof recorded / sizeof *recorded; i++) {
        double time_s = time_on(h200, NULL, CM_RUNTIME_TORCH_EAGER, recorded[i].call).time_s;
        if (fabs(log(time_s / recorded[i].time_s)) > log(2)) fail_msg("%s: %g s", recorded[i].call, time_s);
    }
    cm_device_free(h200);
}

/* Transposed operands in steps that gave no rows (eager-p.jsonl.xz): copies of CaiT m36's scores, a sum of
   EfficientNet-B6. The calls are those of src/device/transposed.c. */
TEST(calls_of_recorded_steps)
{
    static const struct {
        const char *call;
        double      measured_us;
    } cases[] = {
        {"elementwise forward copy:turned bf16 16,1327104", 75.3},
        {"elementwise forward copy:turned fp32 16,1327104", 100.8},
        {"elementwise forward add:strided fp16 8192,16335", 911},
    };
    cm_device *d;
    assert_int_equal(cm_device_load("nvidia-h200", &d, NULL), CM_OK);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        near(time_on(d, NULL, CM_RUNTIME_TORCH_EAGER, cases[i].call).time_s, cases[i].measured_us * 1e-6, 0.3);
    cm_device_free(d);
}

#define RELEASE(name, torch) \
    ", \"" name "\": {\"title\": \"bench\", \"where\": \"here\", \"date\": \"2026\", \"software\": {\"torch\": \"" torch "\"}}"
#define OF_SOURCE(source, rows)                                                                                        \
    "{\"runtime\": \"torch-eager\", \"op\": \"gemm\", \"pass\": \"forward\", \"variant\": \"nn\", \"dtype\": \"bf16\",\n" \
    "\"kind\": \"measured\", \"source\": \"" source "\", \"date\": \"2026\", \"dims\": " GEMM_DIMS ", \"rows\": " rows "}"
#define TWO_RELEASES                                                                                                   \
    "{" IDENTITY("timed") ",\n" CEILINGS("100", "1e-6") ",\n"                                                          \
    "\"sources\": {\"sheet\": {\"title\": \"data sheet\", \"where\": \"page 1\", \"date\": \"2024-05\"}"               \
    RELEASE("old", "2.5") RELEASE("recent", "2.11") "}"                                                                \
    KERNELS(OF_SOURCE("old", "[[1, 4096, 1024, 1024, 3e-4, 1]]") ","                                                    \
            OF_SOURCE("recent", "[[1, 4096, 1024, 1024, 2e-4, 1]]")) "}\n"

/* A question without a release uses the newest, one of an older release its table, one of an unknown release the newest,
   with a remark and a larger error. */
TEST(a_release_has_its_rows)
{
    static const struct {
        cm_versions asked;
        double      time_s;
        bool        other;
    } cases[] = {{{{0}}, 2e-4, false},
                 {{{256 * 2 + 11}}, 2e-4, false},
                 {{{256 * 2 + 5}}, 3e-4, false},
                 {{{256 * 2 + 4}}, 2e-4, true}};
    cm_device *d = device_of(TWO_RELEASES);
    cm__call   c = call_of("gemm forward nn bf16 1,4096,1024,1024");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cm__timer *timer = cm__timer_new(ctx, d, NULL, CM_RUNTIME_TORCH_EAGER, NULL);
        cm__timer_asks(timer, cases[i].asked);
        cm__timed t = cm__timer_time(timer, &c);
        near(t.time_s, cases[i].time_s, 1e-6);
        assert_int_equal(t.shared > 0, cases[i].other);
        assert_int_equal(cm__timer_other_release(timer) != NULL, cases[i].other);
        if (cases[i].other) assert_string_equal(cm__timer_other_release(timer), "torch 2.11");
    }
    assert_string_equal(cm_device_measured_with(d), "1 of torch-eager with torch 2.5; 1 of torch-eager with torch 2.11");
    cm_device_free(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_release_has_its_rows),
        cmocka_unit_test(a_row_is_its_time),
        cmocka_unit_test(a_neighbour_is_interpolated),
        cmocka_unit_test(in_proportion_to_the_roofline),
        cmocka_unit_test(nothing_like_it_is_the_roofline),
        cmocka_unit_test(a_reference_device_is_transferred),
        cmocka_unit_test(interpolated_times_are_transferred),
        cmocka_unit_test(own_rows_come_first),
        cmocka_unit_test(own_rows_correct_larger_tables),
        cmocka_unit_test(calls_of_recorded_steps),
        cmocka_unit_test(own_rows_correct_their_neighbours),
        cmocka_unit_test(lower_bounds_are_below_times),
        cmocka_unit_test(kept_times_are_the_same),
        cmocka_unit_test(no_bounds_of_transferred_times),
        cmocka_unit_test(convolutions_of_recorded_steps),
        cmocka_unit_test(odd_rows),
        cmocka_unit_test(rows_left_out),
        cmocka_unit_test(a_shape_that_does_not_matter),
        cmocka_unit_test(nearer_rows_in_another_width),
        cmocka_unit_test(operator_fits_before_a_reference_device),
        cmocka_unit_test(products_join_a_model_with_a_reference_device),
        cmocka_unit_test(operator_fits_for_megatron),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
