/* SPDX-License-Identifier: Apache-2.0 */
/* test_step.c - the errors of a sum of calls, rates, model FLOP, calibration factors, sparse products, and options of the trainer. */
#include <math.h>
#include <string.h>
#include "model/step/step.h" /* before time_device.h: operators have a column TABLE */
#include "time_device.h"
#include "model/time/factors.h"

static cm_diag diag;

static void near(double got, double expected, double fraction)
{
    if (!(fabs(got / expected - 1) <= fraction)) fail_msg("%.9g, expected %.9g", got, expected);
}

/* Independent errors add as squares, shared ones linearly; all calls share 2.5 %, those of a compiler 9 %. */
static void test_error(void **state)
{
    (void)state;
    near(cm__step_error(CM_RUNTIME_TORCH_EAGER, 2, &(cm__errors){0}), 0.025, 1e-12);
    near(cm__step_error(CM_RUNTIME_TORCH_COMPILE, 2, &(cm__errors){0}), 0.09, 1e-12);
    near(cm__step_error(CM_RUNTIME_TORCH_EAGER, 1, &(cm__errors){.variance = 0.3 * 0.3}), sqrt(0.09 + 0.000625), 1e-12);
    near(cm__step_error(CM_RUNTIME_TORCH_EAGER, 1, &(cm__errors){.shared_s = 0.1}), sqrt(0.000625 + 0.01), 1e-12);
    cm__errors same = {1, 1};
    assert_true(cm__step_error(CM_RUNTIME_TORCH_EAGER, 100, &same) <
                cm__step_error(CM_RUNTIME_TORCH_EAGER, 10, &same));
    assert_true(cm__step_error(CM_RUNTIME_TORCH_EAGER, 0, &(cm__errors){0}) == 0);
}

/* Calls that were not measured share half of their error, and all of the error of a transfer. */
static void test_errors_of_calls(void **state)
{
    (void)state;
    cm__errors e = {0};
    cm__errors_add(&e, 2, &(cm__timed){.how = CM_HOW_MEASURED, .error = 0.1});
    near(e.variance, 0.04, 1e-12);
    assert_true(e.shared_s == 0);
    cm__errors_add(&e, 3, &(cm__timed){.how = CM_HOW_INTERPOLATED, .error = 0.2});
    near(e.variance, 0.04 + 0.36, 1e-12);
    near(e.shared_s, 0.3, 1e-12);
    cm__errors_add(&e, 10, &(cm__timed){.how = CM_HOW_TRANSFERRED, .error = 0, .shared = 0.15});
    near(e.variance, 0.4, 1e-12);
    near(e.shared_s, 0.3 + 1.5, 1e-12);
}

static void test_rates(void **state)
{
    (void)state;
    cm_poly            flop = {{0, 1e9}}; /* 1 GFLOP per sample */
    cm_prediction_info i = {.batch = 8, .step_time_s = 0.5, .devices = 2};
    cm__step_rates(&flop, 1e11, &i);
    near(i.throughput_samples_s, 16, 1e-12);
    near(i.mfu, 8e9 / 0.5 / 1e11 / 2, 1e-12);
    cm__step_rates(&flop, 0, &i);
    assert_true(isnan(i.mfu)); /* the peak is unknown */
    i.step_time_s = 0;
    cm__step_rates(&flop, 1e11, &i);
    assert_true(i.throughput_samples_s == 0 && isnan(i.mfu));
}

static cm_graph *step_of(const char *model, cm_recompute recompute)
{
    cm_graph        *forward, *step;
    cm_train_options train = {.precision = CM_PRECISION_BF16, .optimizer = CM_OPTIMIZER_SGD, .recompute = recompute};
    assert_int_equal(cm_graph_load(model, NULL, &forward, NULL), CM_OK);
    assert_int_equal(cm_graph_train(forward, &train, &step, NULL), CM_OK);
    cm_graph_free(forward);
    return step;
}

#define GPT "gpt:layers=2,hidden=64,heads=2,seq=32,vocab=100"

/* Three times the forward products, and recomputation does not count: model FLOP utilisation by its definition. */
static void test_matrix_flop(void **state)
{
    (void)state;
    cm_graph *plain = step_of(GPT, CM_RECOMPUTE_NONE), *again = step_of(GPT, CM_RECOMPUTE_FULL);
    cm_poly   a = cm__facts_of(plain).matrix_flop, b = cm__facts_of(again).matrix_flop;
    near(a.c[1], b.c[1], 1e-12);
    /* 12 h^2 per layer and the head h V, two FLOP per weight and token, forward and twice backward; attention has
       2 products of T^2 h forward and 5 backward */
    double weights = 2 * 12.0 * 64 * 64 + 64 * 100, scores = 2 * 2.0 * 32 * 32 * 64;
    near(a.c[1], 6 * 32 * weights + scores * (2 + 5), 0.02);
    cm_graph_free(plain);
    cm_graph_free(again);
}

static cm_prediction_info finished(const char *profile, const cm_graph *step)
{
    cm_device *d = device_of(profile);
    cm__ctx   *ctx = cm__ctx_new(&diag);
    if (setjmp(ctx->trap)) fail_msg("%s", diag.reason);
    cm_predict_options o = {.runtime = CM_RUNTIME_TORCH_EAGER, .sparsity = {.pruned = 0.5, .structured = true}};
    cm__step_model     m = cm__step_model_new(ctx, step, d, &o, NULL);
    cm__timed         *timed = cm__alloc_array(ctx, (size_t)m.calls->n_calls + 1, sizeof *timed);
    cm_prediction_info i = {.batch = 64, .devices = 1};
    cm__step_time(&m, 64, timed);
    cm__step_finish(&m, timed, &i);
    cm__ctx_free(ctx);
    cm_device_free(d);
    return i;
}

#define LAUNCHING                                                                                                      \
    TIME_DEVICE(KERNELS(TABLE("gemm", "forward", "nn", "bf16", GEMM_DIMS, "[[1, 64, 64, 64, 1e-5, %d]]"))              \
                ",\n\"host\": [" HOST("step", "0.5") "," HOST("launch", "1") "]")

/* A product of five kernels: the host times of operators contain three launches, each further one costs 1 s. */
static void test_launches(void **state)
{
    (void)state;
    cm_graph *forward, *step;
    cm_train_options o = {.precision = CM_PRECISION_BF16, .inference = true};
    assert_int_equal(cm_graph_load("gemm:m=64,n=64,k=64", NULL, &forward, NULL), CM_OK);
    assert_int_equal(cm_graph_train(forward, &o, &step, NULL), CM_OK);
    for (int kernels = 3; kernels <= 5; kernels++) {
        char text[4096];
        snprintf(text, sizeof text, LAUNCHING, kernels);
        near(finished(text, step).host_time_s, 0.5 + (kernels - 3), 1e-4); /* and an operator of the reference device */
    }
    cm_graph_free(step);
    cm_graph_free(forward);
}

/* Calibration factors scale the times of products and of other kernels; both together scale all. */
static void test_calibrated(void **state)
{
    (void)state;
    cm_graph          *step = step_of(GPT, CM_RECOMPUTE_NONE);
    cm_prediction_info one = finished(TIME_DEVICE(""), step);
    cm_prediction_info both = finished(TIME_DEVICE(",\n\"calibration\": {\"matrix\": " NUMBER("2", "1") ", \"vector\": "
                                                   NUMBER("2", "1") "}"), step);
    cm_prediction_info matrix = finished(TIME_DEVICE(",\n\"calibration\": {\"matrix\": " NUMBER("2", "1") "}"), step);
    near(both.device_time_s, 2 * one.device_time_s, 1e-9);
    assert_true(matrix.device_time_s > one.device_time_s && matrix.device_time_s < both.device_time_s);
    double sum = 0;
    for (int h = 0; h < CM_HOWS; h++) sum += one.share[h];
    near(sum, 1, 1e-12);
    assert_true(one.interval_s[0] < one.step_time_s && one.step_time_s < one.interval_s[1]);
    cm_graph_free(step);
}

/* 2:4 units at twice the peak speed up forward products in the layers: by at most their share of the step. */
static void test_sparse(void **state)
{
    (void)state;
    cm_graph          *step = step_of("gpt:layers=2,hidden=2048,heads=16,seq=512,vocab=1000", CM_RECOMPUTE_NONE);
    cm_prediction_info dense = finished(TIME_DEVICE(""), step);
    cm_prediction_info sparse = finished(TIME_DEVICE(",\n\"sparsity\": {\"structured\": " NUMBER("2", "1") "}"), step);
    double             forward = 64 * 512 * 2.0 * 2 * 12 * 2048 * 2048 / 1e14; /* at the peak of 1e14 FLOP/s */
    assert_true(sparse.device_time_s < dense.device_time_s - 0.4 * forward);
    assert_true(sparse.device_time_s > dense.device_time_s - 0.7 * forward);
    cm_graph_free(step);
}

/* ---- options of the trainer --------------------------------------------------------------------------------------- */

static cm_graph *trained(bool clips, bool busy)
{
    cm_graph        *forward, *step;
    cm_train_options train = {.precision = CM_PRECISION_BF16, .optimizer = CM_OPTIMIZER_ADAMW,
                              .script.clip_gradients = clips, .script.busy_thread = busy};
    assert_int_equal(cm_graph_load(GPT, NULL, &forward, NULL), CM_OK);
    assert_int_equal(cm_graph_train(forward, &train, &step, NULL), CM_OK);
    cm_graph_free(forward);
    return step;
}

/* Calls of one kind over as many numbers as are updated. */
static int calls_over_all(const cm__dispatch *d, int op, int size)
{
    int    count = 0;
    double all = 0;
    for (int32_t i = 0; i < d->n_calls; i++)
        if (d->calls[i].op == CM__CALL_OPTIMIZER) all = d->calls[i].sizes[CM__OPTIMIZER_ELEMENTS].c[0];
    for (int32_t i = 0; i < d->n_calls; i++)
        count += d->calls[i].op == op && d->calls[i].sizes[size].c[0] == all && d->calls[i].types == CM__ALL(CM_BF16);
    return count;
}

/* Clipping reads all gradients once for their norm and scales them in one more pass. A thread that never sleeps makes
   the host's operators slower by one factor, not FSDP's modules. */
static void test_trainer(void **state)
{
    (void)state;
    cm__ctx *ctx = cm__ctx_new(&diag);
    if (setjmp(ctx->trap)) fail_msg("%s", diag.reason);
    cm_device         *d;
    cm_graph          *plain = trained(false, false), *clipped = trained(true, false), *busy = trained(false, true);
    cm_predict_options o = {.runtime = CM_RUNTIME_TORCH_EAGER};
    assert_int_equal(cm_device_load("nvidia-h200", &d, NULL), CM_OK);
    cm__step_model m = cm__step_model_new(ctx, plain, d, &o, NULL), c = cm__step_model_new(ctx, clipped, d, &o, NULL),
                   b = cm__step_model_new(ctx, busy, d, &o, NULL);
    assert_int_equal(calls_over_all(m.calls, CM__CALL_REDUCE, CM__REDUCE_REDUCE), 0);
    assert_int_equal(calls_over_all(c.calls, CM__CALL_REDUCE, CM__REDUCE_REDUCE), 1);
    assert_int_equal(calls_over_all(m.calls, CM__CALL_ELEMENTWISE, CM__ELEMENTWISE_INNER), 0);
    assert_int_equal(calls_over_all(c.calls, CM__CALL_ELEMENTWISE, CM__ELEMENTWISE_INNER), 1);
    assert_true(cm__time_factors.busy_thread_host > 1);
    near(b.host_s, cm__time_factors.busy_thread_host * m.host_s, 1e-12);
    near(b.host_update_s, cm__time_factors.busy_thread_host * m.host_update_s, 1e-12);
    near(b.host_unit_s, m.host_unit_s, 1e-12);
    near(c.host_s, m.host_s, 1e-12);
    cm_graph_free(plain);
    cm_graph_free(clipped);
    cm_graph_free(busy);
    cm__ctx_free(ctx);
    cm_device_free(d);
}

/* ---- updates ------------------------------------------------------------------------------------------------------ */

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_error), cmocka_unit_test(test_errors_of_calls),
                                       cmocka_unit_test(test_rates),
                                       cmocka_unit_test(test_matrix_flop), cmocka_unit_test(test_launches), cmocka_unit_test(test_calibrated),
                                       cmocka_unit_test(test_sparse), cmocka_unit_test(test_trainer)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
