/* SPDX-License-Identifier: Apache-2.0 */
/* test_timeline.c - steps of a trace: which operator launched a kernel, phases, the time of a step, what overlaps. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "small_timeline.h"

static const cm_timeline_call *find(const cm_timeline *t, const char *text)
{
    for (int32_t i = 0; i < cm_timeline_calls(t); i++) {
        const cm_timeline_call *c = cm_timeline_get_call(t, i);
        if (strcmp(c->call ? c->call : c->what, text) == 0) return c;
    }
    fail_msg("no %s", text);
    return NULL;
}

static bool near(double a, double b) { return fabs(a - b) < 1e-12; }

/* Step 1 begins at 0, step 2 at 100. A kernel without a launch is from before the trace. */
static const char two_steps[] = TRACE(
    SPAN("ProfilerStep#1", 0, 90) "," SPAN("ProfilerStep#2", 100, 90) ","
    OP("aten::linear", 1, 9, "") "," OP("aten::mm", 2, 6, TWO_MATRICES) LAUNCH(3, 11) LAUNCH(4, 12)
    KERNEL("gemm", 20, 10, 11) KERNEL("splitK", 30, 2, 12) "," OP("aten::mm", 102, 6, TWO_MATRICES) LAUNCH(103, 13)
    KERNEL("gemm", 130, 14, 13) "," OP("autograd::engine::evaluate_function: MmBackward0", 50, 10, "") ","
    OP("aten::mm", 51, 6, TWO_MATRICES) LAUNCH(52, 14) KERNEL("gemm", 60, 4, 14) KERNEL("before", -50, 30, 99) ","
    SPAN("Optimizer.step#SGD.step", 70, 10) ","
    OP("aten::_foreach_add_", 71, 5, "\"Input Dims\":[[[4,8],[8]]],\"Input type\":[\"TensorList\"]") LAUNCH(72, 15)
    KERNEL("foreach", 75, 6, 15) "," OP("aten::strange", 81, 2, "") LAUNCH(82, 16) KERNEL("odd", 78, 6, 16));

static void times(void **state)
{
    (void)state;
    cm_timeline            *t = timeline_of(two_steps);
    const cm_timeline_info *i = cm_timeline_get_info(t);
    assert_string_equal(i->device, "Some GPU");
    assert_int_equal(i->steps, 2);
    assert_true(near(i->step_time_s, 110e-6)); /* first kernels begin at 20 and 130 */
    /* 20 to 32, 60 to 64, 75 to 84 (two kernels, 3 us of both), 130 to 144: 39 us in two steps */
    assert_true(near(i->device_time_s, 19.5e-6));
    assert_true(near(i->overlapped_s, 1.5e-6));
    assert_true(near(i->kernels, 3));
    assert_true(i->shapes);
    const cm_timeline_call *c = find(t, "gemm forward nt fp32 1,4,2,8"); /* the longest row: forward */
    assert_true(c->phase == CM_FORWARD && near(c->time_s, 13e-6) && near(c->runs, 1) && near(c->kernels, 1.5));
    c = find(t, "optimizer update sgd fp32 2,40");
    assert_true(c->phase == CM_UPDATE && near(c->time_s, 3e-6) && near(c->runs, 0.5));
    c = find(t, "aten::strange");
    assert_true(!c->call && near(c->time_s, 3e-6));
    double sum = 0, back = 0;
    for (int32_t k = 0; k < cm_timeline_calls(t); k++) {
        sum += cm_timeline_get_call(t, k)->time_s;
        if (cm_timeline_get_call(t, k)->phase == CM_BACKWARD) back += cm_timeline_get_call(t, k)->time_s;
    }
    assert_true(near(sum, i->device_time_s + i->overlapped_s));
    assert_true(near(back, 2e-6));
    cm_timeline_free(t);
}

/* Kernels of convolution_backward belong to the input's or the weight's gradient. */
#define CONV_ARGS                                                                                                      \
    "\"Input Dims\":[[2,32,9,9],[2,16,9,9],[32,16,3,3]],\"Input type\":[\"float\",\"float\",\"float\"],"                       \
    "\"Input Strides\":[[2592,81,9,1],[1296,81,9,1],[144,9,3,1]],\"Concrete Inputs\":[\"\",\"\",\"\",\"[32]\",\"[1, 1]\","     \
    "\"[1, 1]\",\"[1, 1]\",\"False\",\"[0, 0]\",\"1\",\"[True, True, True]\"]"
static void parts_of_a_backward(void **state)
{
    (void)state;
    cm_timeline *t = timeline_of(TRACE(
        OP("aten::convolution_backward", 0, 50, CONV_ARGS) LAUNCH(1, 1) LAUNCH(2, 2) LAUNCH(3, 3) LAUNCH(4, 4) ","
        OP("aten::sum", 10, 9, "\"Input Dims\":[[2,32,9,9]],\"Input type\":[\"float\"],\"Concrete Inputs\":[\"\",\"[0, 2, 3]\"]")
        LAUNCH(11, 5) KERNEL("gemm_a", 100, 3, 1) KERNEL("init_device_workspace", 103, 1, 2) KERNEL("gemm_b_tf32", 104, 5, 3)
        KERNEL("splitKreduce", 109, 1, 4) KERNEL("reduce_kernel", 110, 2, 5)));
    const cm_timeline_call *input = find(t, "conv bwd_input nchw fp32 2,16,32,9,9,3,3,1,1,1,1,1,1,1");
    assert_true(near(input->time_s, 3e-6));
    double weight = 0;
    for (int32_t i = 0; i < cm_timeline_calls(t); i++)
        if (strstr(cm_timeline_get_call(t, i)->call, "bwd_weight")) weight += cm_timeline_get_call(t, i)->time_s;
    assert_true(near(weight, 7e-6));
    assert_true(near(find(t, "reduce forward sum:nchw fp32 2,32,81")->time_s, 2e-6));
    cm_timeline_free(t);
}

/* Autocast runs an operator of the same name inside: the casts before it count as copies. */
static void wrapped(void **state)
{
    (void)state;
    cm_timeline *t = timeline_of(TRACE(
        OP("aten::native_layer_norm", 0, 50, "") ","
        OP("aten::copy_", 2, 8, "\"Input Dims\":[[4,8],[4,8]],\"Input type\":[\"float\",\"c10::BFloat16\"]") LAUNCH(3, 1) ","
        OP("aten::native_layer_norm", 20, 20, "\"Input Dims\":[[4,8]],\"Input type\":[\"float\"],\"Concrete Inputs\":[\"\",\"[8]\"]")
        LAUNCH(22, 2) KERNEL("cast", 30, 1, 1) KERNEL("norm", 31, 2, 2)));
    assert_true(near(find(t, "elementwise forward copy bf16>fp32 1,32")->time_s, 1e-6));
    assert_true(near(find(t, "layer_norm forward - fp32 4,8")->time_s, 2e-6));
    cm_timeline_free(t);
}

/* A trace of equal steps of 100 us, each with one product; the device runs a step's kernel 150 us after its launch. */
static char *equal_steps(int32_t count)
{
    char  *text = malloc(1 << 16);
    size_t n = (size_t)sprintf(text, "{\"traceEvents\":[{}");
    for (int32_t i = count - 1; i >= 0; i--) /* events of a file are not sorted by time */
        n += (size_t)sprintf(text + n,
                             ",{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"gemm\",\"ts\":%d,\"dur\":20,\"args\":{\"correlation\":%d}}"
                             ",{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"tid\":1,\"ts\":%d,\"args\":{\"correlation\":%d}}"
                             ",{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::mm\",\"tid\":1,\"ts\":%d,\"dur\":9,\"args\":{" TWO_MATRICES "}}"
                             ",{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#%d\",\"tid\":1,\"ts\":%d,\"dur\":90}",
                             100 * i + 160, i + 1, 100 * i + 11, i + 1, 100 * i + 10, i, 100 * i);
    strcpy(text + n, "]}");
    return text;
}

typedef struct again_source {
    text_source now;
    const char *begin;
    int32_t     rewinds;
} again_source;

static size_t read_again(void *user, char *buffer, size_t size) { return read_text(&((again_source *)user)->now, buffer, size); }
static void   rewind_text(void *user)
{
    again_source *s = user;
    s->now = (text_source){s->begin, strlen(s->begin), 4096};
    s->rewinds++;
}

/* From a large trace only the first steps are stored, with all of their kernels. */
static void large(void **state)
{
    (void)state;
    char        *text = equal_steps(40); /* 120 operators, launches and kernels */
    again_source source = {{text, strlen(text), 4096}, text, 0};
    cm__bytes    bytes = {read_again, &source, rewind_text};
    cm__ctx     *ctx = cm__ctx_new(NULL);
    if (setjmp(ctx->trap)) fail_msg("refused");
    cm__events *e = cm__alloc(ctx, sizeof *e);
    cm__events_read(e, ctx, &bytes, 30);
    assert_int_equal(source.rewinds, 1);
    assert_int_equal(e->n_spans[CM__SPAN_STEP], 10);
    assert_int_equal(e->n_ops, 10);
    cm__timeline_join(e);
    int32_t kernels[10] = {0};
    for (int32_t i = 0; i < e->n_kernels; i++)
        if (e->kernels[i].step >= 0) kernels[e->kernels[i].step]++;
    for (int32_t i = 0; i < 10; i++) assert_int_equal(kernels[i], 1);
    rewind_text(&source);
    cm__events *all = cm__alloc(ctx, sizeof *all);
    cm__events_read(all, ctx, &bytes, 120);
    assert_int_equal(source.rewinds, 2); /* enough room: read once */
    assert_int_equal(all->n_ops, 40);
    cm__ctx_free(ctx);
    free(text);
}

static void without_kernels(void **state)
{
    (void)state;
    text_source  source = {TRACE(SPAN("ProfilerStep#1", 0, 9)), strlen(TRACE(SPAN("ProfilerStep#1", 0, 9))), 4096};
    cm__bytes    bytes = {read_text, &source};
    cm_diag      diag = {0};
    cm_timeline *t;
    assert_int_equal(cm__timeline_read(&bytes, NULL, &t, &diag), CM_ERR_FORMAT);
    assert_non_null(strstr(diag.reason, "no kernels"));
    cm_timeline_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(times), cmocka_unit_test(parts_of_a_backward),
                                       cmocka_unit_test(wrapped), cmocka_unit_test(large),
                                       cmocka_unit_test(without_kernels)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
