/* SPDX-License-Identifier: Apache-2.0 */
/* test_transformer.c - the operators of a layer in PyTorch's order, matrix FLOP by formula, the struct's rules. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "import/transformer/transformer.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* Small enough to count by hand: 2 layers, h = 64, 4 heads of 16, S = 32, V = 100. */
static cm__transformer small(cm__family family)
{
    cm__transformer t = cm__transformer_defaults(family);
    t.layers = 2;
    t.hidden = 64;
    t.heads = 4;
    if (family != CM__VIT) {
        t.seq = 32;
        t.vocab = 100;
    }
    return t;
}

static cm_graph *build(cm__transformer t)
{
    cm_diag  diag;
    cm__ctx *ctx = cm__ctx_new(&diag);
    assert_non_null(ctx);
    if (setjmp(ctx->trap)) {
        cm__ctx_abandon(ctx);
        fail_msg("%s: %s", diag.place, diag.reason);
    }
    cm__transformer_complete(ctx, &t, 0);
    cm_graph *g = cm__transformer_build(ctx, &t, "test", "test");
    cm__check(g);
    cm__cost_all(g);
    cm__lifetimes(g);
    ctx->diag = NULL;
    return g;
}

static double matrix_flop(cm__transformer t, double batch)
{
    cm_graph *g = build(t);
    cm_totals totals;
    cm_graph_totals(g, (int64_t)batch, &totals);
    cm_graph_free(g);
    return cm_totals_matrix_flop(&totals, CM_FORWARD);
}

/* ---- operators of a layer ---------------------------------------------------------------------------------------- */

static void assert_layer(cm__transformer t, int32_t block, const char *const *types, size_t count)
{
    cm_graph *g = build(t);
    size_t    seen = 0;
    for (int32_t i = 0; i < g->n_nodes; i++) {
        if (g->nodes[i].block != block) continue;
        if (seen >= count) fail_msg("node '%s' (%s) is one too many", g->nodes[i].name, cm_node_type(&g->nodes[i]));
        assert_string_equal(cm_node_type(&g->nodes[i]), types[seen]);
        seen++;
    }
    assert_int_equal(seen, count);
    cm_graph_free(g);
}

#define ATTEND "Attention", "Transpose", "Reshape", "Gemm"
#define HEADS "Reshape", "Transpose"
#define RMS "Pow", "ReduceMean", "Add", "Reciprocal", "Mul", "Mul" /* Reciprocal: rsqrt, one kernel in PyTorch */
#define ROTATE "Mul", "Slice", "Slice", "Neg", "Concat", "Mul", "Add"

#define CONV1D "Reshape", "Gemm", "Reshape" /* GPT-2's own linear layer works on rows of tokens */

static void gpt2_layer(void **state)
{
    (void)state;
    static const char *const types[] = {
        "LayerNormalization", CONV1D, "Split", HEADS, HEADS, HEADS, "Attention", "Transpose", "Reshape", CONV1D,
        "Dropout", "Add", "LayerNormalization", CONV1D, "Mul", "Pow", "Mul", "Add", "Mul", "Tanh", "Add", "Mul", CONV1D,
        "Dropout", "Add"};
    assert_layer(small(CM__GPT2), 1, types, COUNT(types));
}

static void bert_layer(void **state)
{
    (void)state;
    static const char *const types[] = {
        "Gemm", HEADS, "Gemm", HEADS, "Gemm", HEADS, ATTEND, "Dropout", "Add", "LayerNormalization", "Gemm", "Gelu",
        "Gemm", "Dropout", "Add", "LayerNormalization"};
    assert_layer(small(CM__BERT), 0, types, COUNT(types));
}

static void llama_layer(void **state)
{
    (void)state;
    static const char *const types[] = {RMS, "Gemm", HEADS, "Gemm", HEADS, "Gemm", HEADS, ROTATE, ROTATE, ATTEND, "Add",
                                        RMS, "Gemm", "Silu", "Gemm", "Mul", "Gemm", "Add"};
    assert_layer(small(CM__LLAMA), 1, types, COUNT(types));
}

static void neox_layer_is_parallel(void **state)
{
    (void)state;
    static const char *const types[] = {
        "LayerNormalization", "Gemm", HEADS, "Split", "Slice", "Slice", ROTATE, "Concat", "Slice", "Slice", ROTATE,
        "Concat", ATTEND, "LayerNormalization", "Gemm", "Gelu", "Gemm", "Add", "Add"};
    cm__transformer t = small(CM__NEOX);
    t.rotary = 0.5;
    assert_layer(t, 0, types, COUNT(types));
}

static void t5_decoder_layer_attends_twice(void **state)
{
    (void)state;
#define SCORES "Transpose", "MatMul", "Add", "Softmax", "Dropout", "MatMul", "Transpose", "Reshape", "Gemm", "Dropout"
    static const char *const types[] = {RMS, "Gemm", HEADS, "Gemm", HEADS, "Gemm", HEADS, SCORES, "Add",
                                        RMS, "Gemm", HEADS, "Gemm", HEADS, "Gemm", HEADS, SCORES, "Add",
                                        RMS, "Gemm", "Relu", "Dropout", "Gemm", "Dropout", "Add"};
    assert_layer(small(CM__T5), 2, types, COUNT(types)); /* encoder 0 and 1, decoder 2 and 3 */
}

/* ---- FLOP -------------------------------------------------------------------------------------------------------- */

/* h hidden, S tokens, f ffn, V vocabulary: 2 per multiply-add. Attention: two products of S x S x h. */
static const double h = 64, S = 32, V = 100, L = 2, f = 256;

static void gpt2_flop(void **state)
{
    (void)state;
    double layer = 2 * S * (4 * h * h + 2 * h * f) + 4 * S * S * h;
    for (double batch = 1; batch < 9; batch *= 2)
        assert_true(matrix_flop(small(CM__GPT2), batch) == batch * (L * layer + 2 * S * h * V));
}

static void bert_flop_has_the_transform(void **state)
{
    (void)state;
    double layer = 2 * S * (4 * h * h + 2 * h * f) + 4 * S * S * h;
    assert_true(matrix_flop(small(CM__BERT), 3) == 3 * (L * layer + 2 * S * h * h + 2 * S * h * V));
}

static void grouped_queries_save_projections(void **state)
{
    (void)state;
    cm__transformer t = small(CM__LLAMA);
    double          all = matrix_flop(t, 1);
    t.kv_heads = 1;
    assert_true(all - matrix_flop(t, 1) == L * 2 * S * 2 * h * (h - h / 4));
}

/* Every token is processed by k of E experts; if S k is divisible by E nothing is padded. */
static void experts_work_on_their_share(void **state)
{
    (void)state;
    cm__transformer t = small(CM__MIXTRAL);
    double          E = 8, k = 2, ffn = 256;
    double          layer = 2 * S * 4 * h * h + 4 * S * S * h + 2 * S * h * E + 2 * S * k * 3 * h * ffn;
    assert_true(matrix_flop(t, 4) == 4 * (L * layer + 2 * S * h * V));
}

static int32_t nodes_of(const cm_graph *g, int op, cm_phase phase)
{
    int32_t count = 0;
    for (int32_t i = 0; i < g->n_nodes; i++) count += g->nodes[i].op == op && g->nodes[i].phase == phase;
    return count;
}

/* Experts one by one: the same products and parameters; two of the three weights are one. The gradient of each part of a
   stack is a filled stack, all but the first of which are added. */
static void looped_experts_fill_whole_stacks(void **state)
{
    (void)state;
    cm__transformer t = small(CM__MIXTRAL);
    double          batched = matrix_flop(t, 3);
    cm_totals       together, apart;
    cm_graph       *g = build(t), *step = NULL;
    cm_graph_totals(g, 1, &together);
    cm_graph_free(g);
    t.expert_loop = 1;
    assert_true(matrix_flop(t, 3) == batched);
    g = build(t);
    cm_graph_totals(g, 1, &apart);
    assert_true(apart.parameters == together.parameters);
    assert_int_equal(nodes_of(g, CM_OP_SPLIT, CM_FORWARD), 2 * 2);
    cm_train_options o = {.precision = CM_PRECISION_FP32};
    cm_diag          diag;
    assert_int_equal(cm_graph_train(g, &o, &step, &diag), CM_OK);
    int32_t stacks = 0, sums = 0, with = (int32_t)t.experts * 2 * 2;
    for (int32_t i = 0; i < step->n_nodes; i++) {
        const cm_node   *n = &step->nodes[i];
        const cm_tensor *y = n->n_outputs ? cm__t(step, n->outputs[0]) : NULL;
        bool             stack = n->phase == CM_BACKWARD && y && y->rank == 3 && cm__dim_is(y->dims[0], t.experts);
        if (stack && n->op == CM_OP_SLICE_GRAD && cm__t(step, n->inputs[0])->rank == 2) stacks++;
        if (stack && n->op == CM_OP_ADD && y->dims[1].fixed && !y->dims[1].per_batch) sums++;
    }
    assert_int_equal(stacks, with);
    assert_int_equal(sums, with - 2 * 2);
    cm_graph_free(step);
    cm_graph_free(g);
}

static void experts_round_up(void **state)
{
    (void)state;
    cm__transformer t = small(CM__MIXTRAL);
    t.experts = 5; /* 32 * 2 slots on 5 experts: 13 each */
    double ffn = 256, layer = 2 * S * 4 * h * h + 4 * S * S * h + 2 * S * h * 5 + 2 * 5 * 13 * 3 * h * ffn;
    assert_true(matrix_flop(t, 1) == L * layer + 2 * S * h * V);
}

static void t5_flop(void **state)
{
    (void)state;
    double attention = 2 * S * 4 * h * h + 4 * S * S * h, mlp = 2 * S * 2 * h * f;
    double layers = L * (attention + mlp) + L * (2 * attention + mlp);
    assert_true(matrix_flop(small(CM__T5), 2) == 2 * (layers + 2 * S * h * V));
}

static void vit_flop(void **state)
{
    (void)state;
    double patches = 14 * 14, n = patches + 1;
    double layer = 2 * n * (4 * h * h + 2 * h * f) + 4 * n * n * h;
    assert_true(matrix_flop(small(CM__VIT), 1) == 2 * patches * h * 3 * 16 * 16 + L * layer + 2 * h * 1000);
}

/* ---- shape of the graph ------------------------------------------------------------------------------------------ */

static int32_t find(const cm_graph *g, const char *name)
{
    for (int32_t i = 0; i < g->n_tensors; i++)
        if (!strcmp(g->tensors[i].name, name)) return i;
    return -1;
}

static void parameters_have_hugging_faces_names(void **state)
{
    (void)state;
    static const struct {
        cm__family  family;
        const char *name;
    } names[] = {
        {CM__GPT2, "transformer.h.0.attn.c_attn.weight"},
        {CM__GPT2, "transformer.ln_f.bias"},
        {CM__BERT, "bert.encoder.layer.1.attention.self.query.weight"},
        {CM__BERT, "cls.predictions.transform.LayerNorm.weight"},
        {CM__ROBERTA, "roberta.embeddings.position_embeddings.weight"},
        {CM__DISTILBERT, "distilbert.transformer.layer.0.ffn.lin1.weight"},
        {CM__T5, "decoder.block.0.layer.1.EncDecAttention.q.weight"},
        {CM__T5, "encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight"},
        {CM__OPT, "model.decoder.layers.1.fc1.weight"},
        {CM__NEOX, "gpt_neox.layers.0.attention.query_key_value.bias"},
        {CM__NEOX, "embed_out.weight"},
        {CM__LLAMA, "model.layers.0.self_attn.q_proj.weight"},
        {CM__QWEN, "transformer.h.0.attn.c_attn.bias"},
        {CM__QWEN, "transformer.h.1.mlp.w2.weight"},
        {CM__MIXTRAL, "model.layers.1.block_sparse_moe.gate.weight"},
        {CM__VIT, "vit.embeddings.cls_token"},
    };
    for (size_t i = 0; i < COUNT(names); i++) {
        cm_graph *g = build(small(names[i].family));
        int32_t   id = find(g, names[i].name);
        if (id < 0) fail_msg("no %s", names[i].name);
        assert_int_equal(cm__t(g, id)->role, CM_ROLE_PARAMETER);
        cm_graph_free(g);
    }
}

static void names_of_nodes_and_parameters_are_unique(void **state)
{
    (void)state;
    for (int family = 0; family < CM__FAMILIES; family++) {
        cm__transformer t = small((cm__family)family);
        t.expert_loop = family == CM__MIXTRAL;
        cm_graph *g = build(t);
        cm__map   nodes, tensors;
        cm__map_init(&nodes, g->ctx);
        cm__map_init(&tensors, g->ctx);
        for (int32_t i = 0; i < g->n_nodes; i++)
            if (!cm__map_put(&nodes, cm__span_of(g->nodes[i].name), i)) fail_msg("node '%s' twice", g->nodes[i].name);
        for (int32_t i = 0; i < g->n_tensors; i++)
            if (g->tensors[i].role == CM_ROLE_PARAMETER && !cm__map_put(&tensors, cm__span_of(g->tensors[i].name), i))
                fail_msg("parameter '%s' twice", g->tensors[i].name);
        cm_graph_free(g);
    }
}

static void bare_layers_take_and_give_hidden_states(void **state)
{
    (void)state;
    cm__transformer t = small(CM__GPT2);
    t.vocab = 0;
    t.head = CM__HEAD_NONE;
    cm_graph        *g = build(t);
    const cm_tensor *in = cm__t(g, g->inputs[0]), *out = cm__t(g, g->outputs[0]);
    cm_totals        totals;
    cm_graph_totals(g, 1, &totals);
    assert_true(totals.parameters == (int64_t)(L * (12 * h * h + 13 * h)));
    assert_int_equal(in->dtype, CM_FP32);
    assert_int_equal(out->rank, 3);
    for (int i = 0; i < 3; i++) assert_true(cm__dim_same(in->dims[i], out->dims[i]));
    cm_graph_free(g);
}

static void heads_give_their_shapes(void **state)
{
    (void)state;
    static const struct {
        cm__family family;
        int64_t    head;
        int32_t    rank;
        int64_t    last;
    } rows[] = {
        {CM__GPT2, CM__HEAD_LM, 3, 100},        {CM__GPT2, CM__HEAD_CLASSIFIER, 2, 2},
        {CM__BERT, CM__HEAD_MLM, 3, 100},       {CM__BERT, CM__HEAD_CLASSIFIER, 2, 2},
        {CM__BERT, CM__HEAD_NONE, 3, 64},       {CM__ROBERTA, CM__HEAD_CLASSIFIER, 2, 2},
        {CM__LLAMA, CM__HEAD_NONE, 3, 64},      {CM__VIT, CM__HEAD_CLASSIFIER, 2, 1000},
        {CM__T5, CM__HEAD_LM, 3, 100},          {CM__DISTILBERT, CM__HEAD_CLASSIFIER, 2, 2},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        cm__transformer t = small(rows[i].family);
        t.head = rows[i].head;
        cm_graph        *g = build(t);
        const cm_tensor *out = cm__t(g, g->outputs[0]);
        assert_int_equal(out->rank, rows[i].rank);
        assert_true(cm__dim_same(out->dims[0], (cm_dim){1, 0}));
        assert_true(cm__dim_is(out->dims[out->rank - 1], rows[i].last));
        cm_graph_free(g);
    }
}

/* Only the tokens that the data masks reach BERT's head. */
static void masked_tokens_alone_reach_the_vocabulary(void **state)
{
    (void)state;
    cm__transformer t = small(CM__BERT);
    for (t.masked = 0; t.masked <= 2 * t.seq; t.masked += t.seq - 1) {
        cm_graph        *g = build(t);
        const cm_tensor *out = cm__t(g, g->outputs[0]);
        bool             some = t.masked && t.masked < t.seq;
        assert_true(cm__dim_is(out->dims[1], some ? t.masked : t.seq));
        cm_graph_free(g);
    }
}

/* ---- the struct -------------------------------------------------------------------------------------------------- */

static void what_was_left_open_follows(void **state)
{
    (void)state;
    cm__transformer t = cm__transformer_defaults(CM__LLAMA);
    t.layers = 32;
    t.hidden = 4096;
    t.heads = 32;
    cm__transformer_derive(&t);
    assert_int_equal(t.ffn, 11008); /* LLaMA 7B's own */
    assert_int_equal(t.head_dim, 128);
    assert_int_equal(t.kv_heads, 32);
    t = small(CM__T5);
    cm__transformer_derive(&t);
    assert_int_equal(t.decoder_layers, 2);
    assert_int_equal(t.ffn, 256);
}

static void every_field_is_found_by_its_name(void **state)
{
    (void)state;
    for (int32_t i = 0; i < cm__n_fields; i++) {
        assert_ptr_equal(cm__field_find(cm__span_of(cm__fields[i].key)), &cm__fields[i]);
        assert_true(cm__fields[i].families);
    }
    assert_null(cm__field_find(cm__span_of("layer")));
}

static cm_status complete(cm__transformer t, cm_diag *diag)
{
    cm__ctx *ctx = cm__ctx_new(diag);
    if (setjmp(ctx->trap)) return cm__ctx_abandon(ctx);
    cm__transformer_complete(ctx, &t, 0);
    cm__ctx_free(ctx);
    return CM_OK;
}

static void too_many_parameters_are_refused(void **state)
{
    (void)state;
    cm_diag         diag;
    cm__transformer t = small(CM__MIXTRAL);
    t.layers = 10000;
    t.hidden = 1 << 20;
    t.heads = 1 << 10;
    t.experts = 4096;
    assert_int_equal(complete(t, &diag), CM_ERR_LIMIT);
    assert_non_null(strstr(diag.reason, "parameters"));
}

static void loops_over_experts_with_biases_are_refused(void **state)
{
    (void)state;
    cm_diag         diag;
    cm__transformer t = small(CM__GPT_OSS);
    t.expert_loop = 1;
    assert_int_equal(complete(t, &diag), CM_ERR_ARGUMENT);
    assert_non_null(strstr(diag.reason, "expert_loop"));
}

static void odd_rotations_are_refused(void **state)
{
    (void)state;
    cm_diag         diag;
    cm__transformer t = small(CM__LLAMA);
    t.head_dim = 15;
    assert_int_equal(complete(t, &diag), CM_ERR_ARGUMENT);
    assert_non_null(strstr(diag.reason, "even"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gpt2_layer),
        cmocka_unit_test(bert_layer),
        cmocka_unit_test(llama_layer),
        cmocka_unit_test(neox_layer_is_parallel),
        cmocka_unit_test(t5_decoder_layer_attends_twice),
        cmocka_unit_test(gpt2_flop),
        cmocka_unit_test(bert_flop_has_the_transform),
        cmocka_unit_test(grouped_queries_save_projections),
        cmocka_unit_test(experts_work_on_their_share),
        cmocka_unit_test(looped_experts_fill_whole_stacks),
        cmocka_unit_test(experts_round_up),
        cmocka_unit_test(t5_flop),
        cmocka_unit_test(vit_flop),
        cmocka_unit_test(parameters_have_hugging_faces_names),
        cmocka_unit_test(names_of_nodes_and_parameters_are_unique),
        cmocka_unit_test(bare_layers_take_and_give_hidden_states),
        cmocka_unit_test(heads_give_their_shapes),
        cmocka_unit_test(masked_tokens_alone_reach_the_vocabulary),
        cmocka_unit_test(what_was_left_open_follows),
        cmocka_unit_test(every_field_is_found_by_its_name),
        cmocka_unit_test(too_many_parameters_are_refused),
        cmocka_unit_test(odd_rotations_are_refused),
        cmocka_unit_test(loops_over_experts_with_biases_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
