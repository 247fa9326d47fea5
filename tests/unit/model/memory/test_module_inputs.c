/* SPDX-License-Identifier: Apache-2.0 */
/* test_module_inputs.c - tensors that functions and autograd hold longer than their last reader, found by name. */
#include <string.h>
#include "memory_case.h"
#include "model/memory/footprint.h"

static const char model[] = "llama:layers=2,hidden=64,heads=4,ffn=128,vocab=1000,seq=16";

typedef struct held_case {
    cm_graph     *forward, *step;
    cm_footprint *f;
} held_case;

static held_case make(cm_runtime runtime, bool reentrant)
{
    held_case        c;
    cm_load_options  load = {.fuse = CM_FUSE_ALL};
    cm_train_options o = {.precision = CM_PRECISION_BF16, .recompute = CM_RECOMPUTE_FULL, .whole_layers = reentrant,
                          .tuning = {.rank = 2}};
    cm_memory_options m = {.runtime = runtime};
    assert_int_equal(cm_graph_load(model, &load, &c.forward, NULL), CM_OK);
    assert_int_equal(cm_graph_train(c.forward, &o, &c.step, NULL), CM_OK);
    assert_int_equal(cm_footprint_new(c.step, h200, &m, &c.f, NULL), CM_OK);
    return c;
}

static void drop(held_case c)
{
    cm_footprint_free(c.f);
    cm_graph_free(c.step);
    cm_graph_free(c.forward);
}

/* The last node of a pass with this name. */
static int32_t node_of(const cm_graph *g, const char *name, cm_phase phase)
{
    int32_t found = -1;
    for (int32_t i = 0; i < g->n_nodes; i++)
        if (g->nodes[i].phase == phase && strcmp(g->nodes[i].name, name) == 0) found = i;
    assert_true(found >= 0);
    return found;
}

/* The node after which the first result of another node is freed. */
static int32_t death(held_case c, const char *name, cm_phase phase)
{
    int32_t tensor = c.step->nodes[node_of(c.step, name, phase)].outputs[0];
    for (int32_t i = 0; i < c.f->n_pieces; i++)
        if (c.f->pieces[i].tensor == cm__t(c.step, tensor)->storage) return c.f->pieces[i].dies;
    fail_msg("%s has no memory", name);
    return -1;
}

/* In a checkpointed forward pass nothing is stored: the input of the feed-forward block is freed when the block
   returns, in eager PyTorch after its last product, in a compiled graph after the last product that reads it. */
static void test_inputs(void **state)
{
    (void)state;
    held_case   eager = make(CM_RUNTIME_TORCH_EAGER, true), compiled = make(CM_RUNTIME_TORCH_COMPILE, false);
    const char *norm = "model.layers.0.post_attention_layernorm.scale";
    assert_int_equal(death(eager, norm, CM_FORWARD), node_of(eager.step, "model.layers.0.mlp.down_proj", CM_FORWARD));
    assert_int_equal(death(compiled, norm, CM_FORWARD),
                     node_of(compiled.step, "model.layers.0.mlp.up_proj", CM_FORWARD));
    drop(eager);
    drop(compiled);
}

/* Attention's queries live until the last product of its module. */
static void test_queries(void **state)
{
    (void)state;
    held_case c = make(CM_RUNTIME_TORCH_EAGER, true);
    int32_t   sdpa = node_of(c.step, "model.layers.0.self_attn.sdpa", CM_FORWARD);
    int32_t   storage = cm__t(c.step, c.step->nodes[sdpa].inputs[0])->storage;
    for (int32_t i = 0; i < c.f->n_pieces; i++)
        if (c.f->pieces[i].tensor == storage)
            assert_int_equal(c.f->pieces[i].dies, node_of(c.step, "model.layers.0.residual1", CM_FORWARD) - 1);
    drop(c);
}

/* Both factors of the gate live until both of their gradients exist. A reentrant checkpoint holds the layer's output,
   which it computed again, until the layer's backward ends. */
static void test_backward(void **state)
{
    (void)state;
    held_case c = make(CM_RUNTIME_TORCH_EAGER, true);
    int32_t   both = node_of(c.step, "model.layers.1.mlp.act_fn.gate", CM_BACKWARD), last = 0;
    assert_int_equal(c.step->nodes[both - 1].source, c.step->nodes[both].source);
    assert_int_equal(death(c, "model.layers.1.mlp.up_proj", CM_RECOMPUTE), both);
    assert_int_equal(death(c, "model.layers.1.mlp.act_fn", CM_RECOMPUTE), both);
    for (int32_t i = 0; i < c.step->n_nodes; i++)
        if (c.step->nodes[i].phase == CM_BACKWARD && c.step->nodes[i].block == 1) last = i;
    assert_int_equal(death(c, "model.layers.1.residual2", CM_RECOMPUTE), last);
    drop(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_inputs), cmocka_unit_test(test_queries),
                                       cmocka_unit_test(test_backward)};
    return cmocka_run_group_tests(tests, begin, end);
}
