/* SPDX-License-Identifier: Apache-2.0 */
/* test_rows.c - rows of kernel tables as features and log ratios, and the shelf that keeps them. */
#include <math.h>
#include "time_device.h"
#include "device/device.h"
#include "device/row_sizes.h"
#include "model/time/arranged.h"
#include "model/time/features.h"
#include "model/time/rows.h"
#include "model/time/trend.h"

static cm_diag  diag;
static cm__ctx *ctx;

static cm_device *built_in(const char *id)
{
    cm_device *device;
    if (cm_device_load(id, &device, &diag)) fail_msg("%s", diag.reason);
    return device;
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

static const cm__limits limits = {.memory_bytes_s = 1e12, .cache_bytes_s = 1e12, .cores = 100, .clock_hz = 1e9,
                                  .tile = 128};

/* ---- calls of rows ----------------------------------------------------------------------------------------------- */

TEST(a_shape_is_dropped_if_it_does_not_matter)
{
    cm__call c = call_of("elementwise forward relu bf16 32,100");
    assert_true(cm__shapeless(&c));
    cm__drop_shape(&c);
    assert_int_equal(c.sizes[0], 1);
    assert_int_equal(c.sizes[1], 3200);
    static const char *const kept[] = {"elementwise forward add:row bf16 32,100", "softmax forward - bf16 32,100",
                                       "elementwise forward relu bf16 0,100"};
    for (int i = 0; i < 3; i++) {
        char text[128];
        c = call_of(kept[i]);
        cm__drop_shape(&c);
        assert_string_equal(cm__call_text(&c, text, sizeof text), kept[i]);
    }
}

/* A product of sizes beyond 63 bits does not change. */
TEST(sizes_that_overflow)
{
    cm__call c = call_of("elementwise forward relu bf16 2,9000000000000000000");
    cm__drop_shape(&c);
    assert_true(c.sizes[0] == 2 && c.sizes[1] == 9000000000000000000);
    c = call_of("elementwise forward relu bf16 2,4611686018427387903"); /* 2^62 - 1: twice as many are 2^63 - 2 */
    cm__drop_shape(&c);
    assert_true(c.sizes[0] == 1 && c.sizes[1] == INT64_MAX - 1);
}

/* ---- tables ------------------------------------------------------------------------------------------------------ */

static const int64_t  shapes[] = {1, 64, 128, 256, 2, 512, 512, 64, 1, 8, 8, 4096};
static const float    seconds[] = {1e-5f, 2e-5f, 3e-5f};
static const uint8_t launches[] = {1, 1, 1};

static cm__kernel_table table_of(const char *variant, const char *dtype, int16_t pass)
{
    cm__kernel_table t = {.op = CM__CALL_GEMM, .pass = pass, .variant = cm__variant_find(variant), .types = cm__types_find(dtype), .n_rows = 3,
                          .time_s = seconds, .launches = launches};
    cm__rows_pack(ctx, &t, shapes);
    return t;
}

TEST(a_row_is_a_call)
{
    cm__kernel_table t = table_of("tn", "fp16", CM__PASS_BWD_WEIGHT);
    cm__call         c = cm__call_of_table(&t);
    char             text[128];
    cm__set_row(&c, &t, 1);
    assert_string_equal(cm__call_text(&c, text, sizeof text), "gemm bwd_weight tn fp16 2,512,512,64");
    cm__set_row(&c, &t, 2);
    assert_string_equal(cm__call_text(&c, text, sizeof text), "gemm bwd_weight tn fp16 1,8,8,4096");
}

static int32_t place_of(const cm__rows *rows, int32_t number)
{
    int32_t at = cm__row_numbered(rows, number);
    assert_int_equal(rows->number[at], number);
    return at;
}

/* A row's value is the logarithm of its time over the roofline's; its features are those of its call. */
TEST(values_are_log_ratios)
{
    cm__kernel_table        t = table_of("nn", "bf16", CM__PASS_FORWARD);
    const cm__kernel_table *all[] = {&t};
    const cm__rows         *rows = cm__rows_of(ctx, NULL, (cm__tables){all, 1}, &limits);
    assert_int_equal(rows->count, 3);
    for (int32_t i = 0; i < 3; i++) {
        float    features[CM__FEATURES], stored[CM__FEATURES];
        cm__call c = cm__call_of_table(&t);
        cm__set_row(&c, &t, i);
        int    width = cm__n_features(c.op), at = place_of(rows, i);
        double ratio = (double)seconds[i] / cm__roofline(&limits, &c);
        cm__features(&c, &limits, features);
        assert_true(fabs(exp((double)rows->values[at]) / ratio - 1) < 1e-5);
        cm__row_features(rows, at, width, stored, 1);
        assert_memory_equal(stored, features, (size_t)width * sizeof *features);
    }
}

/* Tables of the same variant, type or pass are recognised by equal numbers; bf16 and fp16 count as one type. */
TEST(what_tables_have_in_common)
{
    cm__kernel_table t[] = {table_of("nn", "bf16", CM__PASS_FORWARD), table_of("tn", "bf16", CM__PASS_BWD_WEIGHT),
                            table_of("nn", "fp16", CM__PASS_FORWARD), table_of("tn", "fp32", CM__PASS_FORWARD)};
    const cm__kernel_table *all[] = {&t[0], &t[1], &t[2], &t[3]};
    const cm__rows         *r = cm__rows_of(ctx, NULL, (cm__tables){all, 4}, &limits);
    assert_true(r[0].variant == r[2].variant && r[1].variant == r[3].variant && r[0].variant != r[1].variant);
    assert_true(r[0].dtype == r[1].dtype && r[0].dtype == r[2].dtype && r[0].dtype != r[3].dtype);
    assert_true(r[0].pass == r[2].pass && r[0].pass == r[3].pass && r[0].pass != r[1].pass);
    for (int i = 0; i < 4; i++) assert_int_equal(r[i].count, 3);
}

/* Batch norms in bf16 and fp16 are different kernels. */
TEST(types_of_batch_norms)
{
    static const int64_t   sizes[] = {8, 64, 196};
    cm__kernel_table       t[] = {
        {.op = CM__CALL_BATCH_NORM, .variant = CM__V_NCHW, .types = CM__ALL(CM_BF16), .n_rows = 1, .time_s = seconds},
        {.op = CM__CALL_BATCH_NORM, .variant = CM__V_NCHW, .types = CM__ALL(CM_FP16), .n_rows = 1, .time_s = seconds}};
    for (int i = 0; i < 2; i++) cm__rows_pack(ctx, &t[i], sizes);
    const cm__kernel_table *all[] = {&t[0], &t[1]};
    const cm__rows         *r = cm__rows_of(ctx, NULL, (cm__tables){all, 2}, &limits);
    assert_true(r[0].dtype != r[1].dtype);
    assert_false(cm__alike_in_16_bits(CM__CALL_BATCH_NORM));
    assert_true(cm__alike_in_16_bits(CM__CALL_GEMM));
}

/* Rows that were prepared when the program was built are those that are computed at run time, less their trend. */
TEST(built_in_rows_are_ready)
{
    const cm__embedded_kernels *h200 = &cm__all_embedded_kernels[0];
    cm_device                  *device = built_in(h200->device);
    cm__limits                  own = cm__limits_of(device);
    for (int32_t i = 0; i < h200->count; i++) {
        cm__kernel_table        copy = h200->tables[i];
        const cm__kernel_table *table = &h200->tables[i], *unprepared = &copy;
        copy.built_in = 0, copy.trended = false;
        const cm__rows *ready = cm__rows_of(ctx, NULL, (cm__tables){&table, 1}, &own);
        const cm__rows *computed = cm__rows_of(ctx, NULL, (cm__tables){&unprepared, 1}, &own);
        size_t          count = (size_t)ready->count;
        int             width = cm__n_features(table->op);
        assert_null(ready->features);
        assert_null(ready->values);
        assert_non_null(computed->features);
        assert_int_equal(ready->count, computed->count);
        assert_int_equal(ready->pass, computed->pass);
        for (int32_t block = (int32_t)cm__blocks(count) - 1; block >= 0; block--) /* in any order */
            assert_memory_equal(cm__block_at(ready, block, width), cm__block_at(computed, block, width),
                                CM__BLOCK * (size_t)width * sizeof(float));
        assert_memory_equal(ready->boxes, computed->boxes, cm__boxes_bounds(count, width) * sizeof *ready->boxes);
        for (size_t r = 0; r < count; r++) {
            cm__call c = cm__call_of_table(table);
            cm__set_row(&c, table, ready->number[r]);
            cm__drop_shape(&c);
            double exact = (double)(computed->values[r] - cm__trend(table, &c, &own));
            assert_true(fabs((double)cm__row_value(ready, (int32_t)r) - exact) < 0.501 / CM__VALUE_STEPS);
        }
        assert_memory_equal(ready->number, computed->number, count * sizeof(uint16_t));
    }
    cm_device_free(device);
}

/* For other limits than the measured device's, rows are computed. */
TEST(other_limits_need_other_rows)
{
    const cm__kernel_table *table = &cm__all_embedded_kernels[0].tables[0];
    const cm__rows         *rows = cm__rows_of(ctx, NULL, (cm__tables){&table, 1}, &limits);
    cm_device              *device = built_in(cm__all_embedded_kernels[0].device);
    cm__limits              own = cm__limits_of(device);
    assert_non_null(rows->features);
    assert_null(cm__arranged_find(table, &limits));
    assert_non_null(cm__arranged_find(table, &own));
    cm_device_free(device);
}

/* ---- shelf ------------------------------------------------------------------------------------------------------- */

/* The same tables and limits are prepared once; other limits or other tables anew, with the same content as without a
   shelf. */
TEST(a_shelf_prepares_once)
{
    cm__kernel_table        t[] = {table_of("nn", "bf16", 0), table_of("tn", "bf16", 0), table_of("nt", "bf16", 0)};
    const cm__kernel_table *all[] = {&t[0], &t[1], &t[2]};
    cm__limits              faster = limits;
    cm__shelf              *shelf = cm__shelf_new(ctx);
    faster.memory_bytes_s *= 2;
    const cm__rows *first = cm__rows_of(ctx, shelf, (cm__tables){all, 3}, &limits);
    assert_ptr_equal(cm__rows_of(ctx, shelf, (cm__tables){all, 3}, &limits), first);
    assert_ptr_not_equal(cm__rows_of(ctx, shelf, (cm__tables){all, 3}, &faster), first);
    assert_ptr_not_equal(cm__rows_of(ctx, shelf, (cm__tables){all, 2}, &limits), first);
    assert_ptr_not_equal(cm__rows_of(ctx, shelf, (cm__tables){all + 1, 2}, &limits), first);
    const cm__kernel_table *ends[] = {&t[0], &t[2]};
    assert_ptr_not_equal(cm__rows_of(ctx, shelf, (cm__tables){ends, 2}, &limits),
                         cm__rows_of(ctx, shelf, (cm__tables){all, 2}, &limits));
    assert_ptr_equal(cm__rows_of(ctx, shelf, (cm__tables){all, 3}, &limits), first);
    const cm__rows *alone = cm__rows_of(ctx, NULL, (cm__tables){all, 3}, &limits);
    assert_ptr_not_equal(alone, first);
    for (int i = 0; i < 3; i++) assert_memory_equal(alone[i].values, first[i].values, 3 * sizeof(float));
}

/* Rows do not depend on a context that has ended, only on that of the shelf. */
TEST(a_shelf_outlives_other_contexts)
{
    cm__kernel_table        t = table_of("nn", "bf16", 0);
    const cm__kernel_table *all[] = {&t};
    cm__shelf              *shelf = cm__shelf_new(ctx);
    cm__ctx                *brief = cm__ctx_new(&diag);
    const cm__rows         *rows = cm__rows_of(brief, shelf, (cm__tables){all, 1}, &limits);
    cm__ctx_free(brief);
    assert_int_equal(rows->count, 3);
    assert_true(isfinite(rows->values[2]));
}

TEST(no_tables)
{
    cm__shelf *shelf = cm__shelf_new(ctx);
    assert_non_null(shelf);
    (void)cm__rows_of(ctx, shelf, (cm__tables){NULL, 0}, &limits);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_shape_is_dropped_if_it_does_not_matter),
        cmocka_unit_test(sizes_that_overflow),
        cmocka_unit_test(a_row_is_a_call),
        cmocka_unit_test(values_are_log_ratios),
        cmocka_unit_test(what_tables_have_in_common),
        cmocka_unit_test(types_of_batch_norms),
        cmocka_unit_test(built_in_rows_are_ready),
        cmocka_unit_test(other_limits_need_other_rows),
        cmocka_unit_test(a_shelf_prepares_once),
        cmocka_unit_test(a_shelf_outlives_other_contexts),
        cmocka_unit_test(no_tables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
