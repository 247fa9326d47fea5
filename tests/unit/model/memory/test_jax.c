/* SPDX-License-Identifier: Apache-2.0 */
/* test_jax.c - what JAX programs store beside what PyTorch's do, counted by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "graph/graph.h"

#define LAYERS  2
#define BATCH   4
#define MODEL   "gpt:layers=2,hidden=64,heads=4,seq=32,vocab=100"
#define NETWORK "mlp:in=64,hidden=256,out=10"
#define WEIGHTS (4.0 * (64 * 256 + 256 + 256 * 10 + 10))

typedef struct asked {
    cm_device *device;
    cm_graph  *forward;
    cm_step   *step;
} asked;

static asked ask(const char *model, const char *id, cm_runtime runtime, cm__jax jax, cm_optimizer optimizer)
{
    asked           a;
    cm_step_options o = {.train = {.precision = id[0] == 'n' ? CM_PRECISION_TF32 : CM_PRECISION_FP32, .optimizer = optimizer}, .runtime = runtime};
    assert_int_equal(cm_device_load(id, &a.device, NULL), CM_OK);
    assert_int_equal(cm_graph_load(model, NULL, &a.forward, NULL), CM_OK);
    a.forward->jax = jax;
    assert_int_equal(cm_step_new_from(a.forward, a.device, &o, &a.step, NULL), CM_OK);
    return a;
}

static void release(asked *a)
{
    cm_step_free(a->step);
    cm_graph_free(a->forward);
    cm_device_free(a->device);
}

static double of(const asked *a, cm_category category)
{
    cm_memory_use use;
    assert_int_equal(cm_step_memory(a->step, BATCH, &use, NULL), CM_OK);
    return use.categories[category];
}

/* Bytes of all pieces that live from a node of forward to one of backward. */
static double stored(const asked *a)
{
    const cm_footprint *f = cm_step_footprint(a->step);
    const cm_graph     *g = cm_step_graph(a->step);
    double              sum = 0;
    for (int32_t i = 0; i < cm_footprint_pieces(f); i++) {
        cm_stored p = cm_footprint_piece(f, BATCH, i);
        if (p.born >= 0 && p.dies < g->n_nodes && g->nodes[p.born].phase == CM_FORWARD && g->nodes[p.dies].phase == CM_BACKWARD)
            sum += p.bytes;
    }
    return sum;
}

/* Weights and the two numbers of Adam for each exist twice, and gradients lie where the new weights will be. */
static void test_arguments(void **state)
{
    (void)state;
    cm__jax kept = {.keeps_arguments = true};
    asked   donates = ask(NETWORK, "google-tpu-v5e", CM_RUNTIME_DEFAULT, (cm__jax){0}, CM_OPTIMIZER_ADAM);
    asked   keeps = ask(NETWORK, "google-tpu-v5e", CM_RUNTIME_DEFAULT, kept, CM_OPTIMIZER_ADAM);
    asked   pytorch = ask(NETWORK, "nvidia-h200", CM_RUNTIME_TORCH_EAGER, kept, CM_OPTIMIZER_ADAM);
    assert_true(of(&donates, CM_CATEGORY_WEIGHTS_BIASES) == WEIGHTS);
    assert_true(of(&keeps, CM_CATEGORY_WEIGHTS_BIASES) == 2 * WEIGHTS);
    assert_true(of(&keeps, CM_CATEGORY_ALGORITHM) == of(&donates, CM_CATEGORY_ALGORITHM) + 2 * WEIGHTS);
    assert_true(of(&keeps, CM_CATEGORY_GRADIENTS) == 0 && of(&donates, CM_CATEGORY_GRADIENTS) > 0);
    assert_true(of(&pytorch, CM_CATEGORY_WEIGHTS_BIASES) < 1.1 * WEIGHTS); /* rounded up by the allocator */
    release(&donates);
    release(&keeps);
    release(&pytorch);
}

/* Pieces of so many bytes that nodes of an operator make in forward and backward reads. */
static int made_by(const asked *a, int op, double bytes)
{
    const cm_footprint *f = cm_step_footprint(a->step);
    const cm_graph     *g = cm_step_graph(a->step);
    int                 n = 0;
    for (int32_t i = 0; i < cm_footprint_pieces(f); i++) {
        cm_stored p = cm_footprint_piece(f, BATCH, i);
        bool      read = p.born >= 0 && p.dies < g->n_nodes && g->nodes[p.dies].phase == CM_BACKWARD;
        n += read && g->nodes[p.born].op == op && g->nodes[p.born].phase == CM_FORWARD && p.bytes == bytes;
    }
    return n;
}

/* Each GELU of 32 tokens of 256 numbers stores one more tensor, and the loss zeros of the size of its logits. */
static void test_operands(void **state)
{
    (void)state;
    double bytes = BATCH * 32 * 4.0;
    asked  xla = ask(MODEL, "nvidia-h200", CM_RUNTIME_XLA, (cm__jax){0}, CM_OPTIMIZER_SGD);
    asked  compiled = ask(MODEL, "nvidia-h200", CM_RUNTIME_TORCH_COMPILE, (cm__jax){0}, CM_OPTIMIZER_SGD);
    assert_int_equal(made_by(&xla, CM_OP_GELU, 256 * bytes), made_by(&compiled, CM_OP_GELU, 256 * bytes) + LAYERS);
    assert_int_equal(made_by(&xla, CM_OP_CROSS_ENTROPY, BATCH * 31 * 100 * 4.0), 1); /* each word but the first is predicted */
    release(&xla);
    release(&compiled);
}

/* The tensors of all iterations take the place of what the layers would store. */
static void test_loops(void **state)
{
    (void)state;
    cm__jax loops = {.iterations = LAYERS, .stored = {{0, 1e6}}};
    asked   plain = ask(MODEL, "nvidia-h200", CM_RUNTIME_XLA, (cm__jax){0}, CM_OPTIMIZER_SGD);
    asked   loop = ask(MODEL, "nvidia-h200", CM_RUNTIME_XLA, loops, CM_OPTIMIZER_SGD);
    double  layers = stored(&plain), all = stored(&loop);
    assert_true(all > BATCH * 1e6 && all < BATCH * 1e6 + layers / 2);
    release(&plain);
    release(&loop);
}

/* Zeros are written, and each iteration's part is copied in and out again: five times the stored bytes are moved. */
static void test_copies(void **state)
{
    (void)state;
    cm__jax       loops = {.iterations = LAYERS, .stored = {{0, 5e8}}};
    asked         plain = ask(MODEL, "nvidia-h200", CM_RUNTIME_XLA, (cm__jax){0}, CM_OPTIMIZER_SGD);
    asked         loop = ask(MODEL, "nvidia-h200", CM_RUNTIME_XLA, loops, CM_OPTIMIZER_SGD);
    cm_prediction_info before, after;
    assert_int_equal(cm_step_time(plain.step, BATCH, &before, NULL), CM_OK);
    assert_int_equal(cm_step_time(loop.step, BATCH, &after, NULL), CM_OK);
    double least = 5 * BATCH * 5e8 / 4.8e12, more = after.device_time_s - before.device_time_s;
    assert_true(more > least && more < 1.4 * least);
    release(&plain);
    release(&loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_arguments), cmocka_unit_test(test_operands),
                                       cmocka_unit_test(test_loops), cmocka_unit_test(test_copies)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
