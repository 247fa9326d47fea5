/* SPDX-License-Identifier: Apache-2.0 */
/* test_tables.c - which table and row a call uses, and stand-ins for calls without a table. */
#include <math.h>
#include "time_device.h"
#include "model/time/tables.h"

#define PRODUCTS "[[1, 8, 8, 8, 1e-6, 1], [2, 8, 8, 8, 2e-6, 1]]"
#define TWO "[\"outer\", \"inner\"]"
#define DEVICE_TABLES                                                                                                  \
    TIME_DEVICE(KERNELS(TABLE("gemm", "forward", "nn", "bf16", GEMM_DIMS, PRODUCTS) ",\n"                              \
                        TABLE("gemm", "forward", "nt", "fp32", GEMM_DIMS, "[[1, 8, 8, 8, 1e-6, 1]]") ",\n"             \
                        TABLE("elementwise", "forward", "add", "fp32", TWO, "[[4, 100, 1e-6, 1]]") ",\n"               \
                        TABLE("elementwise", "forward", "add:strided", "fp32", TWO, "[[4, 100, 3e-6, 1]]")))

static cm__ctx    *ctx;
static cm_device  *device;
static cm__library library;

static int begin(void **state)
{
    if (make_folder(state)) return 1;
    ctx = cm__ctx_new(NULL);
    device = device_of(DEVICE_TABLES);
    if (setjmp(ctx->trap)) return 1;
    cm__library_open(ctx, &library, device->kernels, device, CM_RUNTIME_TORCH_EAGER, (cm_versions){{0}}, false, NULL);
    return 0;
}

static int end(void **state)
{
    cm__ctx_free(ctx);
    cm_device_free(device);
    return remove_folder(state);
}

static const char *table(int32_t index)
{
    static char text[64];
    if (index < 0) return "none";
    char variant[CM__CALL_TEXT], types[CM__CALL_TEXT];
    snprintf(text, sizeof text, "%s %s", cm__variant_text(library.tables[index]->variant, variant),
             cm__types_text(library.tables[index]->types, types));
    return text;
}

/* A call's own table has its operator, pass, variant and type. */
static void test_own(void **state)
{
    (void)state;
    cm__call c = call_of("gemm forward nn bf16 1,2,3,4");
    assert_int_equal(library.count, 4);
    assert_string_equal(table(cm__library_own(&library, &c)), "nn bf16");
    c = call_of("gemm forward nt bf16 1,2,3,4");
    assert_string_equal(table(cm__library_own(&library, &c)), "none");
    c = call_of("gemm forward nn fp16 1,2,3,4");
    assert_string_equal(table(cm__library_own(&library, &c)), "none"); /* only a reference device's types are equal */
    library.reference = true;
    assert_string_equal(table(cm__library_own(&library, &c)), "nn bf16");
    library.reference = false;
}

/* Modes of PyTorch, and what is made of it, have the tables of eager PyTorch; other runtimes do not. */
static void test_runtimes(void **state)
{
    (void)state;
    for (int r = CM_RUNTIME_TORCH_EAGER; r < CM_RUNTIMES; r++) {
        cm__library of;
        cm__library_open(ctx, &of, device->kernels, device, (cm_runtime)r, (cm_versions){{0}}, false, NULL);
        if (of.count != (r == CM_RUNTIME_NATIVE ? 0 : 4)) fail_msg("%s: %d", cm_runtime_name((cm_runtime)r), (int)of.count);
    }
}

/* fp16 runs as fast as bf16, a product with bias as one without, sub as add. */
static void test_stand_ins(void **state)
{
    static const struct {
        const char *call, *table;
    } rows[] = {{"gemm forward nn fp16 1,2,3,4", "nn bf16"}, {"gemm forward tt bf16 1,2,3,4", "nn bf16"},
                {"gemm forward tt fp16 1,2,3,4", "nn bf16"}, /* both */
                {"gemm forward nt-bias fp32 1,2,3,4", "nt fp32"}, {"elementwise forward sub fp32 1,9", "add fp32"},
                {"elementwise forward add:part fp32 1,9", "add:strided fp32"},
                {"elementwise forward tanh fp32 1,9", "none"},    {"softmax forward - fp32 1,9", "none"}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cm__call c = call_of(rows[i].call);
        if (strcmp(table(cm__library_stand_in(&library, &c)), rows[i].table)) fail_msg("%s", rows[i].call);
    }
    cm__call tanh = call_of("elementwise forward tanh fp32 1,9"), product = call_of("gemm forward tn fp32 1,2,3,4");
    assert_string_equal(table(cm__library_any_function(&library, &tanh)), "add fp32");
    tanh = call_of("elementwise forward tanh:strided fp32 1,9");
    assert_string_equal(table(cm__library_any_function(&library, &tanh)), "add:strided fp32");
    assert_string_equal(table(cm__library_any_function(&library, &product)), "none");
}

/* Contiguous elements have no shape: 4 x 100 is the row of 1 x 400 and of 2 x 200, but not of strided ones. */
static void test_rows(void **state)
{
    (void)state;
    cm__call c = call_of("gemm forward nn bf16 2,8,8,8"), flat;
    int32_t  own = cm__library_own(&library, &c);
    assert_int_equal(cm__library_row(&library, own, &c), 1);
    c = call_of("gemm forward nn bf16 2,8,8,9");
    assert_int_equal(cm__library_row(&library, own, &c), -1);
    c = call_of("elementwise forward add fp32 2,200");
    flat = cm__without_shape(&c);
    assert_true(flat.sizes[0] == 1 && flat.sizes[1] == 400);
    own = cm__library_own(&library, &flat);
    assert_int_equal(cm__library_row(&library, own, &flat), 0);
    c = call_of("elementwise forward add:strided fp32 2,200");
    flat = cm__without_shape(&c);
    assert_true(flat.sizes[0] == 2);
    assert_int_equal(cm__library_row(&library, cm__library_own(&library, &flat), &flat), -1);
    c = call_of("elementwise forward add fp32 4611686018427387904,4");
    assert_true(cm__without_shape(&c).sizes[0] > 1); /* the product would overflow */
}

/* A table's rows predict their own times, and a left-out row is predicted by the others alone. */
static void test_neighbours(void **state)
{
    (void)state;
    if (setjmp(ctx->trap)) fail();
    cm__memo      *memo = cm__memo_new(ctx);
    cm__call       c = call_of("gemm forward nn bf16 1,8,8,8"), left;
    int32_t        own = cm__library_own(&library, &c);
    cm__memo_value first = cm__library_neighbours(&library, own, &c, memo), again;
    again = cm__library_neighbours(&library, own, &c, memo);
    assert_true(first.timed.time_s == again.timed.time_s);
    assert_true(fabs(first.timed.time_s / 1e-6 - 1) < 0.05);
    double seconds = cm__library_left_out(&library, own, 1, &left);
    assert_true(left.sizes[0] == 2 && isfinite(seconds) && seconds > 0);
    assert_true(fabs(seconds / 2e-6 - 1) > 1e-3); /* its own time is not used */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_own), cmocka_unit_test(test_runtimes), cmocka_unit_test(test_stand_ins),
                                       cmocka_unit_test(test_rows), cmocka_unit_test(test_neighbours)};
    return cmocka_run_group_tests(tests, begin, end);
}
