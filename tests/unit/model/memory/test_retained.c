/* SPDX-License-Identifier: Apache-2.0 */
/* test_retained.c - layer inputs that FSDP1 keeps until the end of backward, counted by hand. */
#include <string.h>
#include "memory_case.h"
#include "model/memory/footprint.h"

static const char model[] = "llama:layers=4,hidden=64,heads=4,ffn=128,vocab=1000,seq=16";

/* Bytes of activations in memory after the last layer's backward node, at batch 1. */
static double bytes_at_the_end(bool reentrant, cm_tuning tuning, int32_t zero)
{
    cm_graph        *forward, *step;
    cm_load_options  load = {.fuse = CM_FUSE_EAGER};
    cm_train_options o = {.precision = CM_PRECISION_BF16, .recompute = CM_RECOMPUTE_FULL, .whole_layers = reentrant,
                          .tuning = tuning};
    assert_int_equal(cm_graph_load(model, &load, &forward, NULL), CM_OK);
    assert_int_equal(cm_graph_train(forward, &o, &step, NULL), CM_OK);
    cm_memory_options m = {.runtime = CM_RUNTIME_TORCH_EAGER, .plan = {.devices = 2, .dp = 2, .zero = zero}};
    cm_footprint     *f;
    assert_int_equal(cm_footprint_new(step, h200, &m, &f, NULL), CM_OK);
    int32_t last = step->n_nodes - 1;
    while (step->nodes[last].phase == CM_UPDATE) last--;
    double sum = 0;
    for (int32_t i = 0; i < f->n_pieces; i++) {
        const cm__piece *x = &f->pieces[i];
        bool held = x->category == CM_CATEGORY_INPUT_OUTPUT && x->born >= 0 && x->born < last && x->dies == last;
        sum += held ? x->bytes.c[1] : 0;
    }
    cm_footprint_free(f);
    cm_graph_free(step);
    cm_graph_free(forward);
    return sum;
}

/* 4 layers have inputs of 16 x 64 numbers of 2 bytes, and a gradient of each. */
static void test_inputs_and_gradients(void **state)
{
    const double inputs = 4 * 16 * 64 * 2;
    (void)state;
    cm_tuning apart = {.rank = 2}, joined = {.rank = 2, .joined = true}, exempt = {.rank = 2, .exempt = true};
    double    usual = bytes_at_the_end(true, joined, 3);
    near(bytes_at_the_end(true, apart, 3) - usual, 2 * inputs, 0);
    near(bytes_at_the_end(true, exempt, 3) - usual, 2 * inputs, 0);
    near(bytes_at_the_end(true, apart, 2), usual, 0);
    near(bytes_at_the_end(false, apart, 3), bytes_at_the_end(false, joined, 3), 0);
    near(bytes_at_the_end(true, (cm_tuning){0}, 3), bytes_at_the_end(true, (cm_tuning){0}, 2), 0);
}

/* The node that computes the loss in forward, and the node after which the input of the head is freed. */
static void head_and_loss(cm_runtime runtime, int32_t *loss, int32_t *freed)
{
    cm_graph        *forward, *step;
    cm_train_options o = {.precision = CM_PRECISION_BF16, .tuning = {.rank = 2}};
    cm_memory_options m = {.runtime = runtime};
    cm_footprint    *f;
    assert_int_equal(cm_graph_load(model, NULL, &forward, NULL), CM_OK);
    assert_int_equal(cm_graph_train(forward, &o, &step, NULL), CM_OK);
    assert_int_equal(cm_footprint_new(step, h200, &m, &f, NULL), CM_OK);
    int32_t input = -1;
    for (int32_t i = 0; i < step->n_nodes; i++) {
        if (step->nodes[i].phase != CM_FORWARD) continue;
        if (strcmp(step->nodes[i].name, "lm_head") == 0) input = cm__t(step, step->nodes[i].inputs[0])->storage;
        if (step->nodes[i].op == CM_OP_CROSS_ENTROPY) *loss = i;
    }
    for (int32_t i = 0; i < f->n_pieces; i++)
        if (f->pieces[i].tensor == input) *freed = f->pieces[i].dies;
    cm_footprint_free(f);
    cm_graph_free(step);
    cm_graph_free(forward);
}

/* A frozen head does not store its input. PyTorch's model holds it until the loss is computed, Megatron-LM's loss is
   another function. */
static void test_head(void **state)
{
    (void)state;
    int32_t loss = -1, freed = -1;
    head_and_loss(CM_RUNTIME_TORCH_EAGER, &loss, &freed);
    assert_true(loss > 0);
    assert_int_equal(freed, loss);
    head_and_loss(CM_RUNTIME_MEGATRON, &loss, &freed);
    assert_true(freed < loss);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_inputs_and_gradients), cmocka_unit_test(test_head)};
    return cmocka_run_group_tests(tests, begin, end);
}
