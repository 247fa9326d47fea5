/* SPDX-License-Identifier: Apache-2.0 */
/* test_facts.c - facts about whole graphs: the sequence length, convolutions, attention, layers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "centimani.h"
#include "graph/graph.h"

static int64_t seq_of(const char *model, int64_t asked, bool step)
{
    cm_graph       *forward, *trained = NULL;
    cm_load_options o = {.seq = asked};
    assert_int_equal(cm_graph_load(model, &o, &forward, NULL), CM_OK);
    if (step) assert_int_equal(cm_graph_train(forward, NULL, &trained, NULL), CM_OK);
    int64_t seq = cm_graph_seq(step ? trained : forward);
    cm_graph_free(trained);
    cm_graph_free(forward);
    return seq;
}

static void token_models_have_one(void **state)
{
    (void)state;
    static const struct {
        const char *model;
        int64_t     seq;
    } rows[] = {{"gpt2", 1024}, {"bert:layers=2,hidden=64,heads=2,seq=96", 96},
                {"gpt:layers=2,hidden=64,heads=2,seq=48,vocab=100", 48}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_equal(seq_of(rows[i].model, 0, false), rows[i].seq);
        assert_int_equal(seq_of(rows[i].model, 0, true), rows[i].seq);
        assert_int_equal(seq_of(rows[i].model, 32, false), 32);
    }
}

static void others_have_none(void **state)
{
    (void)state;
    assert_int_equal(seq_of("resnet18", 0, false), 0);
    assert_int_equal(seq_of("resnet18", 0, true), 0);
    assert_int_equal(seq_of("gemm:m=64,n=64,k=64", 0, true), 0);
}

static cm_graph *step_of(const char *model, cm_precision precision)
{
    cm_graph              *forward, *step;
    const cm_train_options train = {.precision = precision};
    assert_int_equal(cm_graph_load(model, NULL, &forward, NULL), CM_OK);
    assert_int_equal(cm_graph_train(forward, &train, &step, NULL), CM_OK);
    cm_graph_free(forward);
    return step;
}

static void networks_have_convolutions_or_layers(void **state)
{
    (void)state;
    cm_graph *images = step_of("resnet18", CM_PRECISION_FP32);
    cm_graph *text = step_of("gpt:layers=3,hidden=64,heads=2,seq=48,vocab=100", CM_PRECISION_FP32);
    assert_true(cm__facts_of(images).convolves && !cm__facts_of(text).convolves);
    assert_int_equal(cm__facts_of(text).blocks, 3);
    assert_int_equal(cm__facts_of(text).most_keys, 48);
    assert_int_equal(cm__facts_of(images).most_keys, 0);
    assert_true(cm__facts_of(images).images && !cm__facts_of(text).images);
    assert_true(cm__facts_of(images).replicated_flop > 0.9 * cm__facts_of(images).product_flop);
    int32_t end = cm__facts_of(text).attention_end; /* the last layer's attention in forward */
    assert_true(text->nodes[end - 1].op == CM_OP_ATTENTION && text->nodes[end - 1].block == 2);
    assert_int_equal(text->nodes[end - 1].phase, CM_FORWARD);
    assert_int_equal(cm__facts_of(images).attention_end, 0);
    cm_graph_free(images);
    cm_graph_free(text);
}

/* A U-Net has convolutions only; other networks end in a linear layer, or are made of them. */
static void networks_have_products(void **state)
{
    (void)state;
    static const struct {
        const char *model;
        bool        multiplies;
    } cases[] = {{"unet", false}, {"resnet18", true}, {"gpt:layers=1,hidden=64,heads=2,seq=48,vocab=100", true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cm_graph *step = step_of(cases[i].model, CM_PRECISION_FP32);
        assert_int_equal(cm__facts_of(step).multiplies, cases[i].multiplies);
        cm_graph_free(step);
    }
}

/* Stored facts are those that a new pass over the graph finds. */
static void stored_facts_are_true(void **state)
{
    (void)state;
    cm_graph *step = step_of("gpt:layers=2,hidden=64,heads=2,seq=48,vocab=100", CM_PRECISION_AMP_BF16);
    cm_totals totals;
    cm__facts stored = cm__facts_of(step);
    assert_true(step->facts.known);
    step->facts.known = false;
    cm__facts found = cm__facts_of(step);
    cm_graph_totals(step, 1, &totals);
    assert_true(found.convolves == stored.convolves && found.images == stored.images && found.seq == stored.seq);
    assert_true(found.most_keys == stored.most_keys && found.blocks == stored.blocks && found.updated == stored.updated);
    assert_true(found.attention_end == stored.attention_end && found.product_flop == stored.product_flop);
    assert_true(found.replicated_flop == 0 && stored.replicated_flop == 0 && found.product_flop > 0);
    assert_memory_equal(&found.matrix_flop, &stored.matrix_flop, sizeof found.matrix_flop);
    assert_true(cm_poly_at(&stored.matrix_flop, 1) == cm_totals_matrix_flop(&totals, CM_FORWARD) +
                                                          cm_totals_matrix_flop(&totals, CM_BACKWARD));
    step->facts.known = true;
    cm_graph_free(step);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(token_models_have_one), cmocka_unit_test(others_have_none),
                                       cmocka_unit_test(networks_have_convolutions_or_layers),
                                       cmocka_unit_test(networks_have_products),
                                       cmocka_unit_test(stored_facts_are_true)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
