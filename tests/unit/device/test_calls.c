/* SPDX-License-Identifier: Apache-2.0 */
/* test_calls.c - kernel calls: sizes, types, FLOP and bytes counted by hand, conversion to text and back. */
#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "device/calls.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static cm__call call(const char *text)
{
    cm__call c;
    if (!cm__call_parse(text, &c)) fail_msg("'%s' is no call", text);
    return c;
}

static void every_size_has_a_name(void **state)
{
    (void)state;
    for (int i = 0; i < CM__CALLS; i++) {
        const cm__call_kind *k = &cm__call_kinds[i];
        assert_in_range(k->n_sizes, 1, CM__CALL_SIZES);
        assert_int_equal(cm__call_find(k->name), i); /* names are unique */
        for (int s = 0; s < k->n_sizes; s++) assert_non_null(k->sizes[s]);
    }
    assert_int_equal(cm__call_find("gem"), -1);
    assert_int_equal(cm__pass_find("sideways"), -1);
    assert_int_equal(cm__pass_find("bwd_weight"), CM__PASS_BWD_WEIGHT);
}

/* calls.def gives each size an id and a name: the id is the name in capitals, and the index is the size's position. */
static void the_index_of_a_size_is_its_name(void **state)
{
    static const struct {
        int         call, index;
        const char *id;
    } sizes[] = {
#define CALL(...)
#define SIZE(call, id, name) {CM__CALL_##call, CM__##call##_##id, #id},
#include "device/calls.def"
    };
    (void)state;
    int count = 0;
    for (size_t i = 0; i < COUNT(sizes); i++) {
        char name[32] = "";
        for (size_t k = 0; sizes[i].id[k]; k++) name[k] = (char)tolower((unsigned char)sizes[i].id[k]);
        assert_string_equal(cm__call_kinds[sizes[i].call].sizes[sizes[i].index], name);
    }
    for (int i = 0; i < CM__CALLS; i++) count += cm__call_kinds[i].n_sizes;
    assert_int_equal(count, COUNT(sizes));
}

/* ---- work ------------------------------------------------------------------------------------------------------- */

/* A convolution of 2 images, 8 to 16 channels, 10 x 12 pixels, window 3, stride 2, padding 1: 5 x 6 outputs. */
#define CONV_IN (2.0 * 8 * 10 * 12)
#define CONV_OUT (2.0 * 16 * 5 * 6)

static const struct {
    const char *text;
    double      flop, bytes;
} works[] = {
    {"gemm forward nn bf16 1,2,3,4", 2.0 * 2 * 3 * 4, 2.0 * (2 * 4 + 4 * 3 + 2 * 3)},
    {"gemm forward tn fp32 5,2,3,4", 5 * 2.0 * 2 * 3 * 4, 5 * 4.0 * (2 * 4 + 4 * 3 + 2 * 3)},
    {"conv forward nhwc bf16 2,8,16,10,12,3,3,2,2,1,1,1,1,1", 2 * CONV_OUT * 8 * 9,
     2 * (CONV_IN + CONV_OUT + 16 * 8 * 9)},
    {"conv bwd_weight nchw fp32 2,8,16,10,12,3,3,2,2,1,1,1,1,8", 2 * CONV_OUT * 1 * 9,
     4 * (CONV_IN + CONV_OUT + 16 * 9)},
    {"conv forward nchw fp32 1,1,1,7,7,3,3,1,1,0,0,2,2,1", 2.0 * 9 * 9,
     4.0 * (49 + 9 + 9)}, /* dilated: 7 - 2 * 2 = 3 */
    {"conv3d forward nchw fp32 1,2,4,4,4,4,3,3,3,1,1,1,1,1,1,1,1,1,1", 2.0 * 4 * 64 * 2 * 27, 4.0 * (2 * 64 + 4 * 64 + 4 * 2 * 27)},
    {"attention forward - bf16 2,8,16,4,2,32,0", 4.0 * 2 * 4 * 8 * 16 * 32, 2 * 2 * 2.0 * 32 * (8 * 4 + 16 * 2)},
    {"attention forward - bf16 2,8,16,4,2,32,1", 2.0 * 2 * 4 * 8 * 16 * 32, 2 * 2 * 2.0 * 32 * (8 * 4 + 16 * 2)},
    {"attention backward - bf16 2,8,16,4,2,32,0", 10.0 * 2 * 4 * 8 * 16 * 32, 4 * 2 * 2.0 * 32 * (8 * 4 + 16 * 2)},
    {"softmax forward - fp32 3,5", 8.0 * 15, 4.0 * 15 * 2},
    {"softmax backward - fp32 3,5", 8.0 * 15, 4.0 * 15 * 3},
    {"elementwise forward relu fp32 1,100", 100, 4.0 * 100 * 2},
    {"elementwise forward add bf16 1,100", 100, 2.0 * 100 * 3},
    {"elementwise forward add:row bf16 10,10", 100, 2.0 * 100 * 2}, /* a broadcast operand costs nothing */
    {"elementwise forward fill fp32 1,100", 100, 4.0 * 100},
    {"elementwise forward dropout bf16 1,100", 100, 100.0 * (2 + 2 + 1)}, /* plus a mask of bytes */
    {"elementwise forward copy fp32>bf16 1,100", 100, 100.0 * (4 + 2)},
    {"elementwise forward add bf16+fp32>fp32 1,100", 100, 100.0 * (2 + 4 + 4)},
    {"reduce forward sum fp32 2,3,5", 30, 4.0 * (30 + 2 * 5)},
    {"reduce forward sum:nchw fp32 2,3,5", 30, 4.0 * (30 + 3)}, /* the middle dimension is kept */
    {"pool forward avg:nchw fp32 1,2,8,8,2,2,0", 2.0 * 16 * 4, 4.0 * 2 * (64 + 16)},
    {"pool forward max:nchw fp32 1,2,8,8,2,2,0", 2.0 * 16 * 4, 4.0 * 2 * (64 + 16) + 8.0 * 2 * 16},
    {"resize forward nearest:nchw fp32 1,2,4,4,8,8", 8.0 * 128, 4.0 * (32 + 128)},
    {"resize forward sample:nchw fp32 3,2,4,4,8,8", 8.0 * 384, 4.0 * (96 + 384 + 3 * 64 * 2)}, /* and two coordinates */
    {"resize3d forward trilinear:nchw fp32 1,2,2,3,4,4,6,8", 8.0 * 384, 4.0 * (48 + 384)},
    {"pool forward im2col:nchw fp32 1,2,8,8,3,1,1", 2.0 * 64 * 9, 4.0 * 2 * (64 + 64 * 9)},
    {"reduce forward cumsum fp32 2,3,5", 30, 4.0 * (30 + 30)},
    {"sort forward topk bf16 4,16,3", 64 * 4.0, 2.0 * 64 + 4 * 3 * (2 + 8)},
    /* 8 real points are 5 complex ones; 2.5 N log2 N FLOP. To real numbers: after a copy of the operand. */
    {"fft forward r2c fp32 3,8,1,1", 3 * 2.5 * 8 * 3, 3 * (8 * 4.0 + 5 * 8.0)},
    {"fft forward c2r fp32 3,8,1,1", 3 * 2.5 * 8 * 3, 3 * (5 * 8.0 + 8 * 4.0 + 2 * 5 * 8.0)},
    {"fft forward c2c fp32 3,8,1,1", 3 * 5.0 * 8 * 3, 3 * 2 * 8 * 8.0},
    /* rows, then the columns of the spectrum */
    {"fft forward r2c fp32 3,8,4,1", 3 * 2.5 * 32 * 5, 3 * (32 * 4.0 + 20 * 8.0 + 2 * 20 * 8.0)},
    {"gemm forward nn complex64 1,2,3,4", 8.0 * 24, 8.0 * (8 + 12 + 6)},
    {"elementwise forward copy complex64 1,10", 10, 2 * 80},
    {"elementwise forward glu fp32 2,5", 10, 4.0 * 30},
    {"elementwise forward glu_grad fp32 2,5", 10, 4.0 * 50},
    {"elementwise forward addcmul bf16 2,5", 10, 2.0 * 40},
    {"embedding forward gather fp32 10,100,4", 0, 4.0 * 2 * 40 + 8 * 40},
    {"embedding forward - fp32 10,100,4", 0, 4.0 * 2 * 40 + 8 * 10},
    {"embedding backward - fp32 10,100,4", 40, 4.0 * (2 * 40 + 400) + 8 * 10},
    {"optimizer update sgd fp32 3,1000", 2.0 * 1000, 4.0 * 3 * 1000},
    {"optimizer update momentum fp32 3,1000", 8.0 * 1000, 4.0 * 5 * 1000},
    {"optimizer update adamw fp32 3,1000", 14.0 * 1000, 4.0 * 7 * 1000},
    {"layer_norm forward - fp32 3,5", 8.0 * 15, 4.0 * 15 * 2},
    {"batch_norm forward nchw fp32 2,3,5", 8.0 * 30, 4.0 * 30 * 3}, /* read twice: for the statistics first */
    {"batch_norm backward nchw fp32 2,3,5", 12.0 * 30, 4.0 * 30 * 5},
    {"rnn forward lstm fp32 2,3,4,5,1,1", 2.0 * 2 * 3 * (4 * 5 * (4 + 5)), 4.0 * (180 + 6 * (4 + 5 * 6))},
    {"cross_entropy forward - fp32 3,5", 8.0 * 15, 4.0 * 15 * 2},
};

static void work_by_hand(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(works); i++) {
        cm__call c = call(works[i].text);
        double   flop, bytes;
        cm__call_work(&c, &flop, &bytes);
        if (flop != works[i].flop || bytes != works[i].bytes)
            fail_msg("%s: %g FLOP, %g bytes, expected %g, %g", works[i].text, flop, bytes, works[i].flop,
                     works[i].bytes);
    }
}

/* ---- types ------------------------------------------------------------------------------------------------------ */

static void types_of_operands_and_result(void **state)
{
    (void)state;
    cm__call c = call("elementwise forward add bf16+fp64>fp32 1,8");
    assert_true(cm__call_element(&c, 0) == 2);
    assert_true(cm__call_element(&c, 1) == 8);
    assert_true(cm__call_element(&c, 2) == 8); /* the last type applies to all further operands */
    assert_true(cm__call_element(&c, -1) == 4);
    assert_int_equal(cm__call_rate(&c), CM_RATE_FP32);
    c = call("elementwise forward copy fp32>bf16 1,8");
    assert_true(cm__call_element(&c, 0) == 4);
    assert_true(cm__call_element(&c, 1) == 4);
    assert_true(cm__call_element(&c, -1) == 2);
    c = call("gemm forward nn tf32 1,8,8,8");
    assert_int_equal(cm__call_rate(&c), CM_RATE_TF32);
    assert_true(cm__call_element(&c, 0) == 4);
}

/* ---- texts ------------------------------------------------------------------------------------------------------ */

static void a_text_is_the_call(void **state)
{
    (void)state;
    for (int op = 0; op < CM__CALLS; op++)
        for (int pass = 0; pass < CM__PASSES; pass++) {
            cm__call c = {.op = (int16_t)op, .pass = (int16_t)pass, .variant = CM__V(MUL, PLANE), .types = CM__TYPES(CM_BF16, CM_FP32, CM_FP32)},
                     back;
            char     text[256];
            for (int i = 0; i < cm__call_kinds[op].n_sizes; i++) c.sizes[i] = (int64_t)1 << (2 * i + pass);
            if (pass == 0) c.variant = CM__V_NONE;
            assert_true(cm__call_parse(cm__call_text(&c, text, sizeof text), &back));
            assert_memory_equal(&back, &c, sizeof c);
        }
    cm__call c = call("gemm forward nt-bias bf16 1,8192,3072,768");
    char     text[64];
    assert_string_equal(cm__call_text(&c, text, sizeof text), "gemm forward nt-bias bf16 1,8192,3072,768");
    assert_string_equal(cm__call_text(&c, text, 8), "gemm fo"); /* truncated, without overrun */
}

static void what_is_no_call(void **state)
{
    static const char *const texts[] = {
        "",
        "gemm",
        "gemm forward nn bf16",
        "gemm forward nn bf16 ",
        "gemm forward nn bf16 1,2,3",
        "gemm forward nn bf16 1,2,3,4,5",
        "gemm forward nn bf16 1,2,3,-4",
        "gemm forward nn bf16 1,2,3,4.5",
        "gemm forward nn bf16 1,2,3,x",
        "gemm forward nn bf16 1,2,,4",
        "gemm forward nn bf16 1,2,3,99999999999999999999",
        "gem forward nn bf16 1,2,3,4",
        "gemm onward nn bf16 1,2,3,4",
        "gemm forward a-variant-that-is-longer-than-any-that-there-is bf16 1,2,3,4",
    };
    (void)state;
    cm__call c;
    for (size_t i = 0; i < COUNT(texts); i++)
        if (cm__call_parse(texts[i], &c)) fail_msg("'%s' is taken for a call", texts[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_size_has_a_name),
        cmocka_unit_test(the_index_of_a_size_is_its_name),
        cmocka_unit_test(work_by_hand),
        cmocka_unit_test(types_of_operands_and_result),
        cmocka_unit_test(a_text_is_the_call),
        cmocka_unit_test(what_is_no_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
