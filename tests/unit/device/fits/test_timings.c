/* SPDX-License-Identifier: Apache-2.0 */
/* test_timings.c - the work of each operator by formula, and tables in the forms that people and spreadsheets write. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "device/fits/timings.h"

#define HEADER "device,op,pass,dtype,d0,d1,d2,d3,d4,d5,d6,latency_ms,note\n"

static cm__ctx *ctx;
static cm_diag  diag;

static int start(void **state)
{
    (void)state;
    ctx = cm__ctx_new(&diag);
    return ctx ? 0 : -1;
}

static int stop(void **state)
{
    (void)state;
    cm__ctx_free(ctx);
    return 0;
}

/* Read from a block of exactly its size, so that a sanitizer detects a read past the end. */
static void read_text(const char *text, size_t size, cm__timings **t)
{
    char *copy = malloc(size ? size : 1);
    memcpy(copy, text, size);
    if (setjmp(ctx->trap)) fail_msg("%s: %s", text, diag.reason);
    *t = cm__timings_read(ctx, copy, size);
    free(copy);
}

static cm__timings *table(const char *text)
{
    cm__timings *t;
    read_text(text, strlen(text), &t);
    return t;
}

static cm__work work_of(const char *line)
{
    cm__timings *t = table(cm__format(ctx, HEADER "%s\n", line));
    assert_int_equal(t->n_rows, 1);
    return t->rows[0].work;
}

static void refused(const char *text, cm_status status, const char *reason)
{
    if (setjmp(ctx->trap)) {
        assert_int_equal(ctx->status, status);
        if (!strstr(diag.reason, reason)) fail_msg("'%s' does not say '%s'", diag.reason, reason);
        return;
    }
    cm__timings_read(ctx, text, strlen(text));
    fail_msg("accepted: %s", text);
}

static void row_refused(const char *line, const char *reason) { refused(cm__format(ctx, HEADER "%s\n", line), CM_ERR_FORMAT, reason); }

/* ---- work ------------------------------------------------------------------------------------------------------- */

static void products(void **state)
{
    (void)state;
    static const char *const ops[] = {"gemm", "linear", "bmm"};
    for (int i = 0; i < 3; i++) {
        cm__work w = work_of(cm__format(ctx, "x,%s,fwd,bf16,3,64,96,128,,,,1,", ops[i]));
        assert_true(w.batch == 3 && w.m == 64 && w.n == 96 && w.k == 128);
        assert_true(w.flop == 2.0 * 3 * 64 * 96 * 128);
        assert_true(w.bytes == 2.0 * 3 * (64 * 128 + 128 * 96 + 64 * 96));
    }
    assert_true(work_of("x,gemm,fwd,bf16,,64,96,128,,,,1,").batch == 1);
}

/* 7x7 of stride 2 and padding 3 on 224: (224 + 6 - 7) / 2 + 1 = 112. */
static void convolutions_forward(void **state)
{
    (void)state;
    cm__work w = work_of("x,conv2d,fwd,fp32,16,3,64,7,224,2,3,1,");
    double   in = 224 * 224, out = 112 * 112, window = 49;
    assert_true(w.m == 16 * out && w.n == 64 && w.k == 3 * window);
    assert_true(w.flop == 2 * 16 * out * 64 * 3 * window);
    assert_true(w.bytes == 4 * (16 * 3 * in + 16 * 64 * out + 64 * 3 * window));
}

/* All passes have the same FLOP and read or write the same three tensors; their matrix products differ. */
static void convolutions_backward(void **state)
{
    (void)state;
    cm__work forward = work_of("x,conv2d,fwd,fp16,8,32,64,3,56,2,1,1,");
    cm__work input = work_of("x,conv2d,bwd_input,fp16,8,32,64,3,56,2,1,1,");
    cm__work weight = work_of("x,conv2d,bwd_weight,fp16,8,32,64,3,56,2,1,1,");
    assert_true(input.flop == forward.flop && weight.flop == forward.flop);
    assert_true(input.bytes == forward.bytes && weight.bytes == forward.bytes);
    assert_true(forward.m == 8 * 28 * 28 && forward.n == 64 && forward.k == 32 * 9);
    assert_true(input.m == 8 * 56 * 56 && input.n == 32 && input.k == 64 * 9);
    assert_true(weight.m == 64 && weight.n == 32 * 9 && weight.k == 8 * 28 * 28);
}

static void convolutions_by_default_have_stride_one_and_no_padding(void **state)
{
    (void)state;
    cm__work w = work_of("x,conv2d,fwd,fp32,1,8,8,3,10,,,1,");
    assert_true(w.m == 8 * 8);
    assert_true(work_of("x,conv2d,fwd,fp32,1,8,8,3,10,1,1,1,").m == 10 * 10);
}

/* Height 161 with window 20, vertical stride 2: 71; width 700 with 5, horizontal stride 2 and padding 0: 348. */
static void convolutions_in_full(void **state)
{
    (void)state;
    cm__work w = work_of("x,conv2d_full,fwd,fp32,4,1,32,161,700,20,5,1,pad_h=0;pad_w=0;stride_v=2;stride_h=2");
    assert_true(w.m == 4.0 * 71 * 348 && w.n == 32 && w.k == 20 * 5);
    cm__work padded = work_of("x,conv2d_full,fwd,fp32,4,1,32,161,700,20,5,1,\"pad_h=1,pad_w=2,stride_v=3,stride_h=1\"");
    assert_true(padded.m == 4.0 * ((161 + 2 - 20) / 3 + 1) * (700 + 4 - 5 + 1));
    assert_true(work_of("x,conv2d_full,fwd,fp32,4,1,32,161,700,20,5,1,").m == 4.0 * 142 * 696);
}

static void attention(void **state)
{
    (void)state;
    cm__work full = work_of("x,attention,fwd,bf16,2,1024,16,16,64,,,1,");
    assert_false(full.causal);
    assert_true(full.flop == 4.0 * 2 * 16 * 1024 * 1024 * 64);
    assert_true(full.bytes == 2.0 * 2 * 1024 * 64 * (16 + 16 + 16 + 16)); /* Q, K, V and the result */
    cm__work causal = work_of("x,attention_causal,fwd,bf16,2,1024,16,16,64,,,1,");
    assert_true(causal.causal && causal.flop == full.flop);
    assert_false(work_of("x,attention_full,fwd,bf16,2,1024,16,16,64,,,1,").causal);
}

static void attention_of_grouped_heads(void **state)
{
    (void)state;
    cm__work w = work_of("x,attention_causal,fwd,bf16,2,1024,16,4,64,,,1,");
    assert_true(w.heads == 16 && w.flop == 4.0 * 2 * 16 * 1024 * 1024 * 64);
    assert_true(w.bytes == 2.0 * 2 * 1024 * 64 * (16 + 4 + 4 + 16));
    assert_true(work_of("x,attention,fwd,bf16,2,1024,16,,64,,,1,").bytes == 2.0 * 2 * 1024 * 64 * 4 * 16);
    assert_true(work_of("x,attention,fwd,bf16,2,1024,16,0,64,,,1,").bytes == 2.0 * 2 * 1024 * 64 * 4 * 16);
}

static void attention_in_a_window(void **state)
{
    (void)state;
    cm__work w = work_of("x,attention_causal,fwd,bf16,2,1024,16,16,64,256,,1,");
    assert_true(w.queries == 1024 && w.keys == 256 && w.flop == 4.0 * 2 * 16 * 1024 * 256 * 64);
    assert_true(work_of("x,attention_causal,fwd,bf16,2,1024,16,16,64,4096,,1,").keys == 1024);
    assert_true(work_of("x,attention_causal,fwd,bf16,2,1024,16,16,64,0,,1,").keys == 1024);
}

static void elementwise_and_rows(void **state)
{
    (void)state;
    static const char *const unary[] = {"relu", "gelu", "tanh", "sigmoid", "copy", "cast", "addu", "mulu", "divu", "powu", "softmax", "layernorm"};
    static const char *const binary[] = {"add", "mul", "sub", "div", "pow"};
    for (size_t i = 0; i < sizeof unary / sizeof *unary; i++) {
        cm__work w = work_of(cm__format(ctx, "x,%s,fwd,fp32,128,1000,,,,,,1,", unary[i]));
        assert_true(w.m == 128 && w.n == 1000 && w.bytes == 4.0 * 128 * 1000 * 2);
    }
    for (size_t i = 0; i < sizeof binary / sizeof *binary; i++)
        assert_true(work_of(cm__format(ctx, "x,%s,fwd,fp32,128,1000,,,,,,1,", binary[i])).bytes == 4.0 * 128 * 1000 * 3);
    assert_true(work_of("x,relu,fwd,fp32,4096,,,,,,,1,").bytes == 4.0 * 4096 * 2);
}

static void operators_have_their_form(void **state)
{
    (void)state;
    cm__timings *t = table(HEADER "x,gemm,fwd,fp32,1,8,8,8,,,,1,\nx,conv2d,fwd,fp32,1,8,8,1,8,,,1,\nx,attention,fwd,fp32,1,8,8,8,8,,,1,\n"
                                  "x,softmax,fwd,fp32,8,8,,,,,,1,\nx,add,fwd,fp32,8,8,,,,,,1,\n");
    static const char *const forms[] = {"tiles", "tiles", "attention", "rows", "stream"};
    assert_int_equal(t->n_groups, 5);
    for (int i = 0; i < 5; i++) assert_string_equal(t->groups[i].form->name, forms[i]);
}

static void types_have_sizes(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        double      bytes;
    } types[] = {{"fp64", 8}, {"fp32", 4}, {"tf32", 4}, {"bf16", 2}, {"fp16", 2}, {"fp8", 1}, {"int8", 1}, {"nvfp4", 0.5}, {"fp33", 0}, {"", 0}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) assert_true(cm__dtype_bytes(types[i].name) == types[i].bytes);
}

/* ---- groups ----------------------------------------------------------------------------------------------------- */

static void rows_are_grouped(void **state)
{
    (void)state;
    cm__timings *t = table(HEADER "x,gemm,fwd,fp32,1,8,8,8,,,,1,\nx,gemm,forward,fp32,1,9,8,8,,,,1,\nx,gemm,,fp32,1,9,8,8,,,,1,\n"
                                  "y,gemm,fwd,fp32,1,8,8,8,,,,1,\nx,gemm,bwd,fp32,1,8,8,8,,,,1,\nx,gemm,fwd,bf16,1,8,8,8,,,,1,\n"
                                  "x,bmm,fwd,fp32,1,8,8,8,,,,1,\nx,gemm,fwd,fp32,1,8,8,8,,,,1,trtllm-1.3.0:flow\n"
                                  "x,gemm,fwd,fp32,1,8,8,8,,,,1,a remark\n");
    assert_int_equal(t->n_rows, 9);
    assert_int_equal(t->n_groups, 1 + 5);
    assert_int_equal(t->groups[0].rows, 4); /* an omitted pass is forward; a remark is not a library */
    assert_string_equal(t->groups[0].library, "");
    assert_string_equal(t->groups[0].pass, "forward");
    assert_string_equal(t->groups[5].library, "trtllm");
    assert_string_equal(t->groups[1].device, "y");
}

static void unknown_operators_and_types_are_counted(void **state)
{
    (void)state;
    cm__timings *t = table(HEADER "x,fft,fwd,fp32,1,8,8,8,,,,1,\nx,gemm,fwd,fp7,1,8,8,8,,,,1,\nx,gemm,fwd,fp32,1,8,8,8,,,,1,\n"
                                  "x,all_reduce,fwd,fp32,no number,,,,,,,,\n");
    assert_int_equal(t->n_rows, 1);
    assert_int_equal(t->skipped, 3);
    assert_string_equal(t->first_skipped, "fft fwd fp32");
}

/* ---- CSV -------------------------------------------------------------------------------------------------------- */

static void columns_come_in_any_order(void **state)
{
    (void)state;
    cm__timings *t = table("latency_ms,who,d3,d2,d1,d0,dtype,op\n0.5,me,4,3,2,1,fp32,gemm\n");
    assert_true(t->rows[0].work.m == 2 && t->rows[0].work.n == 3 && t->rows[0].work.k == 4);
    assert_true(t->rows[0].time_s == 0.5e-3);
    assert_string_equal(t->groups[0].device, "");
    assert_string_equal(t->groups[0].pass, "forward");
}

static void quotes_and_line_ends(void **state)
{
    (void)state;
    cm__timings *t = table("op,dtype,d0,d1,d2,d3,latency_ms,device\r\n\"gemm\",\"fp32\",\"1\",2,3,4,0.5,\"A, \"\"B\"\"\"\r\n\r\n"
                           "gemm,fp32,1,2,3,4,0.25,\"two\nlines\"\r\n\ngemm,fp32,1,2,3,4,\"0.125\",C");
    assert_int_equal(t->n_rows, 3);
    assert_int_equal(strncmp(t->groups[0].device, "A, ", 3), 0);
    assert_string_equal(t->groups[1].device, "two\nlines");
    assert_string_equal(t->groups[2].device, "C");
    assert_true(t->rows[2].time_s == 0.125e-3);
}

static void headers_are_checked(void **state)
{
    (void)state;
    refused("", CM_ERR_FORMAT, "no column 'op'");
    refused("\n", CM_ERR_FORMAT, "no column 'op'");
    refused("op,d0,latency_ms\n", CM_ERR_FORMAT, "no column 'dtype'");
    refused("op,dtype,d0\n", CM_ERR_FORMAT, "no column 'latency_ms'");
    refused("op,dtype,latency_ms\n", CM_ERR_FORMAT, "no column 'd0'");
    refused("op,dtype,\"d0,latency_ms\n", CM_ERR_FORMAT, "line 1: a quote is not closed");
    char wide[256] = "op,dtype,d0,latency_ms";
    for (int i = 0; i < 61; i++) strcat(wide, ",x");
    refused(wide, CM_ERR_FORMAT, "more than 64 columns");
}

static void a_header_alone_is_no_rows(void **state)
{
    (void)state;
    assert_int_equal(table(HEADER)->n_rows, 0);
    assert_int_equal(table("op,dtype,d0,latency_ms")->n_rows, 0);
    assert_int_equal(table(HEADER "\n\r\n\n")->n_rows, 0);
}

static void lines_are_checked(void **state)
{
    (void)state;
    row_refused("x,gemm,fwd,fp32,1,8,8,8,,,,1", "line 2: 12 fields, the header has 13");
    row_refused("x,gemm,fwd,fp32,1,8,8,8,,,,1,,", "line 2: 14 fields");
    row_refused("x,gemm,fwd,fp32,1,8,,8,,,,1,", "line 2: gemm without d2");
    row_refused("x,conv2d,fwd,fp32,1,8,8,3,,1,1,1,", "line 2: conv2d without d4");
    row_refused("x,softmax,fwd,fp32,8,,,,,,,1,", "line 2: softmax without d1");
    row_refused("x,relu,fwd,fp32,,,,,,,,1,", "line 2: relu without d0");
    row_refused("x,gemm,fwd,fp32,1,8,8,8,,,,1,\nx,gemm,fwd,fp32,1,8,8,\"8", "line 3: a quote is not closed");
}

static void numbers_are_checked(void **state)
{
    (void)state;
    static const char *const bad_sizes[] = {"-1", "abc", "nan", "inf", "1e400", "8x", " ", "1e13", "--1"};
    static const char *const bad_times[] = {"", "0", "-1", "nan", "inf", "ms", "1 ms", "1e9", "1e-400"};
    for (size_t i = 0; i < sizeof bad_sizes / sizeof *bad_sizes; i++)
        row_refused(cm__format(ctx, "x,gemm,fwd,fp32,1,8,%s,8,,,,1,", bad_sizes[i]), "line 2: d2 is no size");
    for (size_t i = 0; i < sizeof bad_times / sizeof *bad_times; i++)
        row_refused(cm__format(ctx, "x,gemm,fwd,fp32,1,8,8,8,,,,%s,", bad_times[i]), "line 2: latency_ms is no time");
    row_refused("x,gemm,fwd,fp32,1,8,0,8,,,,1,", "line 2: gemm of nothing");
    row_refused("x,attention,fwd,fp32,0,8,8,8,8,,,1,", "line 2: attention of nothing");
}

/* ---- hostile ---------------------------------------------------------------------------------------------------- */

static void the_largest_sizes_stay_finite(void **state)
{
    (void)state;
    static const char *const lines[] = {"x,gemm,fwd,fp32,1e12,1e12,1e12,1e12,,,,1,", "x,conv2d,fwd,fp32,1e12,1e12,1e12,3,1e12,1,1e12,1,",
                                        "x,attention,fwd,fp32,1e12,1e12,1e12,1e12,1e12,,,1,", "x,add,fwd,fp32,1e12,1e12,,,,,,1,"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        cm__work w = work_of(lines[i]);
        assert_true(isfinite(w.flop) && isfinite(w.bytes) && w.flop > 0);
    }
}

/* A window larger than the padded image has no output. */
static void windows_larger_than_their_image_are_refused(void **state)
{
    (void)state;
    row_refused("x,conv2d,fwd,fp32,1,8,8,10,3,1,0,1,", "line 2: conv2d of nothing");
    row_refused("x,conv2d_full,fwd,fp32,1,8,8,3,3,10,10,1,", "line 2: conv2d_full of nothing");
}

static void notes_are_hostile_too(void **state)
{
    (void)state;
    static const char *const notes[] = {"stride_v=0", "stride_v=-1", "stride_h=nan", "pad_h=inf", "pad_w=1e300", "stride_v="};
    for (size_t i = 0; i < sizeof notes / sizeof *notes; i++)
        row_refused(cm__format(ctx, "x,conv2d_full,fwd,fp32,1,8,8,16,16,3,3,1,%s", notes[i]), "line 2");
}

/* Numbers in a note end at the end of the table: nothing behind it is read. */
static void a_note_may_end_the_file(void **state)
{
    (void)state;
    static const char text[] = HEADER "x,conv2d_full,fwd,fp32,1,8,8,16,16,3,3,1,pad_h=15";
    if (setjmp(ctx->trap)) fail_msg("%s", diag.reason);
    cm__work w = cm__timings_read(ctx, text, sizeof text - 2)->rows[0].work; /* without the 5 */
    assert_true(w.m == (16 + 2 - 3 + 1) * (16 - 3 + 1));
}

static void zero_bytes_are_text(void **state)
{
    (void)state;
    static const char text[] = HEADER "x,gemm\0,fwd,fp32,1,8,8,8,,,,1,\n";
    cm__timings      *t;
    read_text(text, sizeof text - 1, &t);
    assert_int_equal(t->n_rows, 0);
    assert_int_equal(t->skipped, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products),
        cmocka_unit_test(convolutions_forward),
        cmocka_unit_test(convolutions_backward),
        cmocka_unit_test(convolutions_by_default_have_stride_one_and_no_padding),
        cmocka_unit_test(convolutions_in_full),
        cmocka_unit_test(attention),
        cmocka_unit_test(attention_of_grouped_heads),
        cmocka_unit_test(attention_in_a_window),
        cmocka_unit_test(elementwise_and_rows),
        cmocka_unit_test(operators_have_their_form),
        cmocka_unit_test(types_have_sizes),
        cmocka_unit_test(rows_are_grouped),
        cmocka_unit_test(unknown_operators_and_types_are_counted),
        cmocka_unit_test(columns_come_in_any_order),
        cmocka_unit_test(quotes_and_line_ends),
        cmocka_unit_test(headers_are_checked),
        cmocka_unit_test(a_header_alone_is_no_rows),
        cmocka_unit_test(lines_are_checked),
        cmocka_unit_test(numbers_are_checked),
        cmocka_unit_test(the_largest_sizes_stay_finite),
        cmocka_unit_test(windows_larger_than_their_image_are_refused),
        cmocka_unit_test(notes_are_hostile_too),
        cmocka_unit_test(a_note_may_end_the_file),
        cmocka_unit_test(zero_bytes_are_text),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
