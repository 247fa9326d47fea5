/* SPDX-License-Identifier: Apache-2.0 */
/* test_host_compiled.c - the host's time under torch.compile: launches of generated kernels, calls of library
   operators, and the update. */
#include <math.h>
#include "time_device.h"
#include "import/import.h"
#include "model/step/host.h"

#define WITHOUT_AUTOGRAD 0.57 /* data/factors.tsv, compiled_host */

static cm_diag diag;

static cm_graph *step_of(const char *net)
{
    cm__ctx *ctx = cm__ctx_new(&diag);
    if (setjmp(ctx->trap)) fail_msg("%s: %s", diag.place, diag.reason);
    cm_load_options  load = {.fuse = CM_FUSE_ALL};
    cm_train_options train = {.precision = CM_PRECISION_FP32, .optimizer = CM_OPTIMIZER_SGD};
    cm_graph        *forward = cm__import_net(ctx, "test", net, strlen(net), &load), *step;
    cm__finish(forward, CM_FUSE_ALL);
    if (cm_graph_train(forward, &train, &step, &diag)) fail_msg("%s", diag.reason);
    cm__ctx_free(ctx);
    return step;
}

/* generated: kernels that compiled code launches; -1: a CUDA graph has all of them. */
static double seconds_under(cm_runtime graphs, const char *host, const cm_graph *step, double generated)
{
    char text[4096];
    snprintf(text, sizeof text, TIME_DEVICE(",\n\"host\": [%s]"), host);
    cm_device *d = device_of(text);
    cm__ctx   *ctx = cm__ctx_new(&diag);
    if (setjmp(ctx->trap)) fail_msg("%s", diag.reason);
    double s = generated < 0 ? cm__host_time_graphs(ctx, d, NULL, step, graphs)
                             : cm__host_time_compiled(ctx, d, NULL, step, generated);
    cm__ctx_free(ctx);
    cm_device_free(d);
    return s;
}

static double seconds(const char *host, const cm_graph *step, double generated)
{
    return seconds_under(CM_RUNTIME_TORCH_COMPILE, host, step, generated);
}

static double jitted(const char *host, const cm_graph *step) { return seconds_under(CM_RUNTIME_XLA, host, step, -1); }

static void is(double got, double expected)
{
    if (!(fabs(got - expected) < 1e-12)) fail_msg("%g, expected %g", got, expected);
}

/* Two linear layers: 2 products forward; backward 1 + 2, as the first input has no gradient. Biases and activations are
   part of generated kernels. Four parameter tensors are updated eagerly. */
static void test_counts(void **state)
{
    (void)state;
    cm_graph *step = step_of("input x 32\nlinear 16\nrelu\nlinear 10\n");
    is(seconds(COMPILED("launch", "1"), step, 7), 7 + 2 + 3); /* products are called from Python, too */
    is(seconds(COMPILED("step", "1"), step, 7), 1);
    is(seconds(HOST("forward-op:linear", "1"), step, 0), (2 + 3) * WITHOUT_AUTOGRAD);
    is(seconds(HOST("update-op:sgd", "1"), step, 0), 4);
    is(seconds(HOST("update-op:adam", "1"), step, 0), 0);
    is(seconds(COMPILED("parameter", "1"), step, 0), 4);
    is(seconds(HOST("backward-op:linear", "1"), step, 0), 0); /* no autograd */
    cm_graph_free(step);
}

#define JITTED(what) "{\"runtime\": \"xla\", \"what\": \"" what "\", \"time\": " NUMBER("1", "s") "}"

/* Of JAX: two parameters with two states each are six arrays. Forward, and backward without the input's gradient, are two convolutions. */
static void test_jitted(void **state)
{
    (void)state;
    cm_graph *step = step_of("input x 3 8 8\nconv 4 3\n");
    step->optimizer = CM_OPTIMIZER_ADAM;
    is(jitted(JITTED("step"), step), 1);
    is(jitted(JITTED("donated-array"), step), 6);
    is(jitted(JITTED("kept-array"), step), 0);
    is(jitted(JITTED("convolution"), step), 2);
    step->jax.keeps_arguments = true;
    is(jitted(JITTED("kept-array"), step), 6);
    cm_graph_free(step);
}

/* A profile without the cost of a launch uses that of an eager elementwise operator; likewise for the step. */
static void test_defaults(void **state)
{
    (void)state;
    cm_graph *step = step_of("input x 32\nlinear 16\n");
    is(seconds(HOST("forward-op:elementwise", "1"), step, 5), 5 + 2); /* a product each way */
    is(seconds(HOST("forward-op:elementwise", "1") "," COMPILED("launch", "2"), step, 5), 2 * (5 + 2));
    is(seconds(HOST("step", "3"), step, 5), 3);
    is(seconds(HOST("step", "3") "," COMPILED("step", "4"), step, 5), 4);
    cm_graph_free(step);
}

/* A convolution computes both gradients in one call: 2 calls forward, 2 backward. */
static void test_convolutions(void **state)
{
    (void)state;
    cm_graph *step = step_of("input x 3 8 8\nconv 4 3 bias=off\nrelu\nconv 4 3 bias=off\n");
    is(seconds(HOST("forward-op:conv", "1"), step, 0), 2 * WITHOUT_AUTOGRAD);
    is(seconds(HOST("backward-op:conv", "1"), step, 0), 2 * WITHOUT_AUTOGRAD);
    cm_graph_free(step);
}

/* A function that the compiler cannot trace costs its eager time, also beside a CUDA graph: the second layer's
   product and its two gradients; backward of its bias and of the activation. */
static void test_untraced(void **state)
{
    (void)state;
    cm_graph *step = step_of("input x 32\nlinear 16\nrelu\nlinear 10\n");
    for (int32_t i = 0, first = 1; i < step->n_nodes && step->nodes[i].phase == CM_FORWARD; i++) {
        bool layer = cm__class(&step->nodes[i]) == CM_CLASS_GEMM;
        if (!step->nodes[i].outside && !(layer && first)) step->nodes[i].outside = CM__UNTRACED;
        if (layer) first = 0;
    }
    is(seconds(HOST("forward-op:linear", "1"), step, 0), 3 + (1 + 1) * WITHOUT_AUTOGRAD);
    is(seconds(HOST("backward-op:elementwise", "1"), step, 0), 2);
    is(seconds(HOST("forward-op:linear", "1"), step, -1), 3);
    cm_graph_free(step);
}

/* Layers that are compiled by themselves have guards and wrappers. With CUDA graphs only pieces around experts add any. */
static void test_layer_graphs(void **state)
{
    (void)state;
    cm_graph *step = step_of("input x 32\nlinear 16\n");
    is(seconds(COMPILED("graph", "1"), step, 5), 0);
    step->layer_graphs = 3;
    is(seconds(COMPILED("graph", "1"), step, 5), 3);
    is(seconds(COMPILED("graph", "1"), step, -1), 0);
    step->expert_graphs = 2;
    is(seconds(COMPILED("graph", "1"), step, 5), 3);
    is(seconds(COMPILED("graph", "1"), step, -1), 2);
    cm_graph_free(step);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_counts), cmocka_unit_test(test_jitted), cmocka_unit_test(test_defaults),
                                       cmocka_unit_test(test_convolutions), cmocka_unit_test(test_untraced),
                                       cmocka_unit_test(test_layer_graphs)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
