/* SPDX-License-Identifier: Apache-2.0 */
/* test_host.c - the host's time is a sum of counts times costs: operators, autograd nodes, tensors, steps. */
#include <math.h>
#include "time_device.h"
#include "import/import.h"
#include "model/step/host.h"
#include "model/time/factors.h"

static cm_diag diag;

static cm_graph *step_of(const char *net, bool inference)
{
    cm__ctx *ctx = cm__ctx_new(&diag);
    if (setjmp(ctx->trap)) fail_msg("%s: %s", diag.place, diag.reason);
    cm_load_options  load = {.fuse = CM_FUSE_EAGER};
    cm_train_options train = {.precision = CM_PRECISION_FP32, .optimizer = CM_OPTIMIZER_SGD, .inference = inference};
    cm_graph        *forward = cm__import_net(ctx, "test", net, strlen(net), &load), *step;
    cm__finish(forward, CM_FUSE_EAGER);
    if (cm_graph_train(forward, &train, &step, &diag)) fail_msg("%s", diag.reason);
    cm__ctx_free(ctx);
    return step;
}

/* How often an item is counted: the time of a step in which only this item costs a second. */
static double times(const cm_graph *step, const char *what)
{
    char text[4096];
    snprintf(text, sizeof text, TIME_DEVICE(",\n\"host\": [" HOST("%s", "1") "]"), what);
    cm_device *d = device_of(text);
    double     count = cm__host_time(d, NULL, CM_RUNTIME_TORCH_EAGER, step, NULL);
    cm__host_counts known = cm__host_count(step);
    assert_true(cm__host_time(d, NULL, CM_RUNTIME_TORCH_EAGER, step, &known) == count);
    assert_true(cm__host_time(d, NULL, CM_RUNTIME_NATIVE, step, NULL) == 0); /* each runtime has its own host costs */
    cm_device_free(d);
    return count;
}

static void counted(const cm_graph *step, const char *what, double expected)
{
    double got = times(step, what);
    if (got != expected) fail_msg("%g x %s, expected %g", got, what, expected);
}

/* Two linear layers, an elementwise function and the loss; four tensors. */
static void linear_layers(void **state)
{
    (void)state;
    cm_graph *step = step_of("input x 32\nlinear 16\nrelu\nlinear 10\n", false);
    counted(step, "step", 1);
    counted(step, "forward-op:linear", 2);
    counted(step, "forward-op:elementwise", 2);
    counted(step, "forward-op:view", 0);
    counted(step, "forward-op:conv", 0);
    counted(step, "backward-op:linear", 2); /* the gradients of input, weight and bias are one autograd node */
    counted(step, "backward-op:elementwise", 2);
    counted(step, "update-op:sgd", 4);
    counted(step, "update-op:adam", 0);
    counted(step, "gap", 0); /* part of the device's time, not of the host's */
    cm_graph_free(step);
}

/* Two products forward and three backward at eager cost, each of them also called from Python with an allocated result as
   the ten compiler-generated kernels are; four tensors. */
static void compiled(void **state)
{
    (void)state;
    cm_graph *step = step_of("input x 32\nlinear 16\nrelu\nlinear 10\n", false);
    for (int own = 0; own < 2; own++) {
        cm_device *d = device_of(own ? TIME_DEVICE(",\n\"host\": [" HOST("forward-op:linear", "10") ","
                                                   COMPILED("launch", "1000") "," COMPILED("step", "0.5") "]")
                                     : TIME_DEVICE(",\n\"host\": [" HOST("forward-op:linear", "10") ","
                                                   HOST("forward-op:elementwise", "100") ","
                                                   HOST("update-op:sgd", "1") "," HOST("step", "0.25") "]"));
        cm__ctx   *ctx = cm__ctx_new(&diag);
        double     got = cm__host_time_compiled(ctx, d, NULL, step, 10);
        double     called = 5 * 10 * cm__time_factors.compiled_host; /* no autograd, no dispatch */
        double     expected = own ? 0.5 + called + (10 + 5) * 1000 : 0.25 + called + (10 + 5) * 100 + 4 * 1;
        if (!(fabs(got - expected) < 1e-9)) fail_msg("%g, expected %g", got, expected);
        cm__ctx_free(ctx);
        cm_device_free(d);
    }
    cm_graph_free(step);
}

/* bitsandbytes updates each of the four tensors by an operator call. */
static void optimizers_of_8_bits(void **state)
{
    (void)state;
    cm_graph *step = step_of("input x 32\nlinear 16\nrelu\nlinear 10\n", false);
    step->optimizer = CM_OPTIMIZER_ADAMW_8BIT;
    counted(step, "forward-op:elementwise", 2 + 4);
    counted(step, "update-op:adamw-8bit", 0);
    step->optimizer = CM_OPTIMIZER_ADAMW;
    counted(step, "forward-op:elementwise", 2);
    counted(step, "update-op:adamw", 4);
    cm_graph_free(step);
}

static void images(void **state)
{
    (void)state;
    cm_graph *step = step_of("input x 3 8 8\nconv 4 3 bias=off\nbn\nrelu\ngap\nflatten\nlinear 10\n", false);
    counted(step, "forward-op:conv", 1);
    counted(step, "forward-op:batch_norm", 1);
    counted(step, "forward-op:norm", 0);
    counted(step, "forward-op:view", 1);
    counted(step, "backward-op:conv", 1);
    counted(step, "backward-op:batch_norm", 1);
    counted(step, "backward-op:view", 1);
    counted(step, "update-op:sgd", 5);
    cm_graph_free(step);
}

static void inference(void **state)
{
    (void)state;
    cm_graph *step = step_of("input x 32\nlinear 16\nrelu\nlinear 10\n", true);
    counted(step, "forward-op:linear", 2 * cm__time_factors.inference_host); /* no autograd */
    counted(step, "forward-op:elementwise", cm__time_factors.inference_host);
    counted(step, "backward-op:linear", 0);
    counted(step, "update-op:sgd", 0);
    counted(step, "step", 1);
    cm_graph_free(step);
}

/* For each number that a profile lacks, the reference device's is used. */
static void a_reference_device_fills_gaps(void **state)
{
    (void)state;
    cm_device *own = device_of(TIME_DEVICE(",\n\"host\": [" HOST("step", "2e-3") "]")), *h200;
    assert_int_equal(cm_device_load("nvidia-h200", &h200, NULL), CM_OK);
    double theirs = cm__host_number(h200, NULL, CM_RUNTIME_TORCH_EAGER, "gap");
    assert_true(theirs > 0);
    assert_true(cm__host_number(own, h200, CM_RUNTIME_TORCH_EAGER, "gap") == theirs);
    assert_true(cm__host_number(own, h200, CM_RUNTIME_TORCH_EAGER, "step") == 2e-3);
    assert_true(cm__host_number(own, NULL, CM_RUNTIME_TORCH_EAGER, "gap") == 0);
    assert_true(cm__host_number(own, h200, CM_RUNTIME_MEGATRON, "gap") == theirs); /* taken from eager PyTorch */
    assert_true(cm__host_number(own, h200, CM_RUNTIME_MEGATRON, "step") == 2e-3);
    assert_true(cm__host_number(own, NULL, CM_RUNTIME_TORCH_COMPILE, "step") == 0); /* compiled code has its own times */
    cm_device_free(h200);
    cm_device_free(own);
}

static cm__hosting hosting(const cm_device *d, const cm_device *reference, cm_runtime runtime, const char *id)
{
    cm__ctx *ctx = cm__ctx_new(&diag);
    if (setjmp(ctx->trap)) fail_msg("%s", diag.reason);
    cm__hosting h = cm__hosting_of(ctx, d, reference, runtime, id, (cm_versions){{0}});
    cm__ctx_free(ctx);
    return h;
}

/* A tiny operator that takes twice as long as on the hosts of the fit makes host times 2^0.71 times as long, whatever host is
   named; the interval is narrower. Other runtimes have no such operator. */
static void a_tiny_operator_tells_the_host(void **state)
{
    (void)state;
    cm_device *h200, *own = device_of(TIME_DEVICE(",\n\"host\": [" HOST("probe", "2.04e-5") "]"));
    assert_int_equal(cm_device_load("nvidia-h200", &h200, NULL), CM_OK);
    cm__hosting h = hosting(own, h200, CM_RUNTIME_TORCH_EAGER, "dgx-a100");
    assert_true(fabs(h.slower - pow(2, 0.71)) < 1e-6);
    assert_true(h.error == cm__time_factors.probed_host_error && h.error < cm__time_factors.host_error);
    assert_true(hosting(own, h200, CM_RUNTIME_TORCH_COMPILE, NULL).slower == h.slower);
    assert_true(hosting(own, h200, CM_RUNTIME_NATIVE, NULL).slower == 1);
    cm_device_free(h200);
    cm_device_free(own);
}

/* Times that were measured on one host are scaled to another by the clocks, and are less certain there. */
static void another_host_has_another_clock(void **state)
{
    (void)state;
    const double measured = cm__time_factors.host_error, other = cm__time_factors.unmeasured_host_error;
    cm_device   *own = device_of(TIME_DEVICE(",\n\"host\": [" HOST("step", "2e-3") "]")), *h200, *a100;
    assert_int_equal(cm_device_load("nvidia-h200", &h200, NULL), CM_OK);
    assert_int_equal(cm_device_load("nvidia-a100-40g", &a100, NULL), CM_OK);
    cm__hosting there = hosting(h200, NULL, CM_RUNTIME_TORCH_EAGER, NULL);
    assert_true(there.slower == 1 && there.error == measured && measured < other);
    assert_true(hosting(h200, NULL, CM_RUNTIME_TORCH_COMPILE, NULL).error == cm__time_factors.compiled_host_error);
    assert_true(hosting(a100, h200, CM_RUNTIME_TORCH_COMPILE, NULL).error == other);
    cm__hosting here = hosting(a100, h200, CM_RUNTIME_TORCH_EAGER, NULL);
    assert_true(fabs(here.slower - 4.0 / 3.4) < 1e-12 && here.error == other); /* Xeon 8570 and EPYC 7742 */
    assert_true(hosting(a100, h200, CM_RUNTIME_TORCH_COMPILE, NULL).slower == here.slower);
    assert_true(hosting(h200, NULL, CM_RUNTIME_TORCH_EAGER, "dgx-a100").slower == here.slower);
    assert_true(hosting(a100, h200, CM_RUNTIME_TORCH_EAGER, "hgx-h200").slower == 1);
    cm__hosting bench = hosting(own, h200, CM_RUNTIME_TORCH_EAGER, "dgx-a100"); /* timed on the user's own host */
    assert_true(bench.slower == 1 && bench.error == measured);
    assert_true(hosting(a100, h200, CM_RUNTIME_MEGATRON, NULL).slower == 1); /* the source does not name its host */
    cm_device_free(a100);
    cm_device_free(h200);
    cm_device_free(own);
}

/* A repeated operator costs more than a forward operator. Reentrant checkpoints repeat operators unchanged, and cost as
   much as several operators each, whatever they repeat. */
static void recomputed(void **state)
{
    (void)state;
    cm_graph *step = step_of("input x 32\nlinear 16\nrelu\nlinear 10\n", false);
    int32_t   node = 0;
    while (cm__class(&step->nodes[node]) != CM_CLASS_GEMM) node++;
    step->nodes[node].phase = CM_RECOMPUTE;
    counted(step, "forward-op:linear", 1 + cm__time_factors.recompute_host);
    step->asked.whole_layers = true;
    counted(step, "forward-op:linear", 1 + 1); /* and two elementwise operators: the function and the loss */
    counted(step, "forward-op:elementwise", 2 + cm__time_factors.reentrant_host);
    step->nodes[node + 1].phase = CM_RECOMPUTE; /* of the same layer */
    counted(step, "forward-op:elementwise", 2 + cm__time_factors.reentrant_host);
    step->nodes[node + 1].block = 1;
    counted(step, "forward-op:elementwise", 2 + 2 * cm__time_factors.reentrant_host);
    cm_graph_free(step);
}

/* A fused norm is a Python function: it costs as much as several operators, unfused as one norm. A network of two layers
   has two norms more than one of one layer, and its other operators cost the same in both. */
static void fused_norms(void **state)
{
    static const char *const models[] = {"llama:layers=1,hidden=64,heads=4,ffn=128,vocab=100,seq=16",
                                         "llama:layers=2,hidden=64,heads=4,ffn=128,vocab=100,seq=16"};
    double norms[2], forward[2][2], backward[2][2];
    (void)state;
    for (int i = 0; i < 2; i++) {
        cm_graph        *model, *step;
        cm_train_options o = {.precision = CM_PRECISION_BF16};
        assert_int_equal(cm_graph_load(models[i], NULL, &model, NULL), CM_OK);
        assert_int_equal(cm_graph_train(model, &o, &step, NULL), CM_OK);
        norms[i] = times(step, "forward-op:norm");
        for (int fused = 0; fused < 2; fused++) {
            for (int32_t k = 0; fused && k < step->n_nodes; k++) step->nodes[k].block = -1; /* no chain is joined */
            step->asked.script.fused_kernels = fused;
            forward[i][fused] = times(step, "forward-op:elementwise");
            backward[i][fused] = times(step, "backward-op:elementwise");
        }
        counted(step, "forward-op:norm", 0);
        cm_graph_free(step);
        cm_graph_free(model);
    }
    assert_true(norms[0] == 3 && norms[1] == 5);
    for (int i = 0; i < 2; i++) {
        assert_true(fabs(forward[i][1] - forward[i][0] - norms[i] * cm__time_factors.fused_host) < 1e-9);
        assert_true(fabs(backward[i][1] - backward[i][0] - norms[i] * cm__time_factors.fused_backward_host) < 1e-9);
    }
}

/* The sum of all items, with the numbers of the profile. */
static void counts_times_numbers(void **state)
{
    (void)state;
    cm_graph  *step = step_of("input x 32\nlinear 16\nrelu\nlinear 10\n", false);
    cm_device *d = device_of(TIME_DEVICE(",\n\"host\": [" HOST("step", "1e-3") "," HOST("forward-op:linear", "1e-4") ","
                                         HOST("backward-op:linear", "2e-4") "," HOST("update-op:sgd", "1e-5") "]"));
    double got = cm__host_time(d, NULL, CM_RUNTIME_TORCH_EAGER, step, NULL);
    double expected = 1e-3 + 2 * 1e-4 + 2 * 2e-4 + 4 * 1e-5;
    assert_true(fabs(got - expected) < 1e-12);
    cm_device_free(d);
    cm_graph_free(step);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(linear_layers),        cmocka_unit_test(compiled), cmocka_unit_test(images),
        cmocka_unit_test(optimizers_of_8_bits),
        cmocka_unit_test(inference),            cmocka_unit_test(a_reference_device_fills_gaps),
        cmocka_unit_test(another_host_has_another_clock), cmocka_unit_test(a_tiny_operator_tells_the_host),
        cmocka_unit_test(fused_norms),
        cmocka_unit_test(recomputed),           cmocka_unit_test(counts_times_numbers),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
