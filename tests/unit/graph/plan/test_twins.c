/* SPDX-License-Identifier: Apache-2.0 */
/* test_twins.c - which repeated layers of a step consist of the same nodes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "centimani.h"
#include "graph/plan/twins.h"

static cm_diag diag;

static cm_graph *step_of(const char *spec, cm_recompute recompute)
{
    cm_train_options train = {.precision = CM_PRECISION_AMP_BF16, .recompute = recompute};
    cm_graph        *forward, *step;
    if (cm_graph_load(spec, NULL, &forward, &diag)) fail_msg("%s", diag.reason);
    if (cm_graph_train(forward, &train, &step, &diag)) fail_msg("%s", diag.reason);
    cm_graph_free(forward);
    return step;
}

/* The first layer reads the embedding, the last one's gradient comes from the head: the six between them are equal. */
static void layers_of_a_transformer(void **state)
{
    (void)state;
    for (int r = 0; r < CM_RECOMPUTES; r++) {
        cm_graph        *step = step_of("gpt:layers=8,hidden=64,heads=4,seq=32,vocab=128", (cm_recompute)r);
        const cm__twins *t = cm__twins_of(step->ctx, step);
        int32_t          all = 0;
        assert_true(t->any);
        for (int32_t i = 0; i < 10; i++) {
            assert_true(t->of[i] <= i && t->of[t->of[i]] == t->of[i]);
            assert_true((t->count[i] > 0) == (t->of[i] == i));
            all += t->count[i];
        }
        assert_int_equal(all, 10);
        assert_int_equal(t->of[0], 0);
        assert_int_equal(t->of[9], 9);
        for (int32_t i = 3; i < 8; i++) assert_int_equal(t->of[i], t->of[2]);
        cm_graph_free(step);
    }
}

/* Stages of a ResNet have other widths; blocks within a stage are equal, but for the first one, which downsamples. */
static void different_layers(void **state)
{
    (void)state;
    cm_graph        *step = step_of("resnet50", CM_RECOMPUTE_NONE);
    const cm__twins *t = cm__twins_of(step->ctx, step);
    int32_t          parts = cm__part_count(step);
    for (int32_t i = 0; i < step->n_nodes; i++) {
        int32_t part = step->part[i], twin = t->of[part], same = 0;
        for (int32_t k = 0; k < step->n_nodes; k++)
            same += step->part[k] == twin && step->nodes[k].op == step->nodes[i].op;
        assert_true(same > 0);
    }
    assert_true(t->of[0] == 0 && t->of[parts - 1] == parts - 1);
    cm_graph_free(step);
}

/* A node of the update counts once, one of a layer as often as the layer; without twins all count once. */
static void counting(void **state)
{
    (void)state;
    cm_graph        *step = step_of("gpt:layers=8,hidden=64,heads=4,seq=32,vocab=128", CM_RECOMPUTE_NONE);
    const cm__twins *t = cm__twins_of(step->ctx, step);
    int32_t          sum = 0;
    for (int32_t i = 0; i < step->n_nodes; i++) {
        sum += cm__twin_count(t, step, step->part, i);
        assert_int_equal(cm__twin_count(NULL, step, step->part, i), 1);
        if (step->nodes[i].phase == CM_UPDATE) assert_int_equal(cm__twin_count(t, step, step->part, i), 1);
    }
    assert_int_equal(sum, step->n_nodes);
    cm_graph_free(step);
}

/* Each layer of experts has its own buffer, which makes no difference between layers: of six such layers, those at both
   ends have other neighbours. Layers before them have no experts. */
static void layers_with_buffers(void **state)
{
    (void)state;
    cm_graph *step = step_of("deepseek:layers=8,hidden=64,heads=4,ffn=128,seq=32,vocab=128,experts=4,top_k=2,"
                             "expert_ffn=32,shared_ffn=32,dense_layers=2,q_rank=16",
                             CM_RECOMPUTE_NONE);
    const cm__twins *t = cm__twins_of(step->ctx, step);
    for (int32_t i = 5; i < 8; i++) assert_int_equal(t->of[i], t->of[4]);
    assert_int_not_equal(t->of[4], t->of[2]);
    cm_graph_free(step);
}

/* Walks over the nodes that count, and over all of them without twins. */
static void next_nodes(void **state)
{
    (void)state;
    cm_graph        *step = step_of("gpt:layers=8,hidden=64,heads=4,seq=32,vocab=128", CM_RECOMPUTE_NONE);
    const cm__twins *t = cm__twins_of(step->ctx, step);
    int32_t          last = -1, all = 0;
    for (int32_t i = cm__twin_next(t, -1); i < step->n_nodes; last = i, i = cm__twin_next(t, i)) {
        assert_true(cm__twin_count(t, step, step->part, i) > 0);
        for (int32_t k = last + 1; k < i; k++) assert_int_equal(cm__twin_count(t, step, step->part, k), 0);
    }
    assert_int_equal(last, step->n_nodes - 1); /* the update */
    for (int32_t i = cm__twin_next(NULL, -1); i < step->n_nodes; i = cm__twin_next(NULL, i)) all++;
    assert_int_equal(all, step->n_nodes);
    cm_graph_free(step);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(layers_of_a_transformer), cmocka_unit_test(different_layers),
                                       cmocka_unit_test(counting), cmocka_unit_test(layers_with_buffers),
                                       cmocka_unit_test(next_nodes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
