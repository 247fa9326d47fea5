/* SPDX-License-Identifier: Apache-2.0 */
/* test_describe.c - one-line descriptions: the graphs they build, their canonical form, and refusals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "graph/graph.h"
#include "import/import.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static cm_status import(const char *text, int64_t seq, cm_graph **g, cm_diag *diag)
{
    cm_load_options options = {.seq = seq};
    cm__ctx        *ctx = cm__ctx_new(diag);
    assert_non_null(ctx);
    if (setjmp(ctx->trap)) return cm__ctx_abandon(ctx);
    *g = cm__import_description(ctx, text, &options);
    cm__check(*g);
    cm__cost_all(*g);
    cm__lifetimes(*g);
    return CM_OK;
}

static cm_graph *accepted(const char *text, int64_t seq)
{
    cm_graph *g = NULL;
    cm_diag   diag;
    if (import(text, seq, &g, &diag) != CM_OK) fail_msg("%s: %s: %s", text, diag.place, diag.reason);
    return g;
}

typedef struct summary {
    int64_t parameters;
    int32_t nodes;
    double  flop, bytes;
} summary;

static summary summarise(const cm_graph *g, int64_t batch)
{
    cm_totals t;
    cm_graph_totals(g, batch, &t);
    summary s = {.parameters = t.parameters, .nodes = t.nodes[CM_FORWARD]};
    for (int c = 0; c < CM_CLASSES; c++) {
        s.flop += t.flop[CM_FORWARD][c];
        s.bytes += t.read_bytes[CM_FORWARD][c] + t.write_bytes[CM_FORWARD][c];
    }
    return s;
}

static summary built(const char *text, int64_t batch)
{
    cm_graph *g = accepted(text, 0);
    summary   s = summarise(g, batch);
    cm_graph_free(g);
    return s;
}

/* ---- there and back ---------------------------------------------------------------------------------------------- */

static const char *const descriptions[] = {
    "gpt:layers=2,hidden=64,heads=4,seq=32,vocab=100",
    "gpt:layers=2,hidden=64,heads=4,seq=32,vocab=100,ffn=96,kv_heads=2,tied=0,dropout=0,positions=128",
    "gpt:layers=1,hidden=64,heads=4,seq=32,vocab=0,head=none",
    "gpt:layers=1,hidden=64,heads=4,seq=32,vocab=10,norm=rms,qkv_bias=0,out_bias=0,mlp_bias=0,activation=gelu",
    "bert:layers=2,hidden=64,heads=4",
    "bert:layers=2,hidden=64,heads=4,head=classifier,labels=7,types=3,causal=1",
    "roberta:layers=2,hidden=64,heads=4,seq=16",
    "distilbert:layers=2,hidden=64,heads=4,attention_dropout=0.25",
    "t5:layers=2,decoder_layers=3,hidden=64,heads=4,head_dim=32,gated=1,activation=gelu_new,tied=0,buckets=8",
    "opt:layers=2,hidden=64,heads=4,embed=32,pre_norm=0",
    "neox:layers=2,hidden=64,heads=4,parallel=0,rotary=0.5,activation=gelu_fast",
    "llama:layers=2,hidden=64,heads=4,kv_heads=2,ffn=100,head_dim=8",
    "mistral:layers=2,hidden=64,heads=4,window=0",
    "qwen2:layers=2,hidden=64,heads=4,tied=1",
    "mixtral:layers=2,hidden=64,heads=4,experts=4,top_k=1,seq=30",
    "vit:layers=2,hidden=64,heads=4,image=64,patch=8,labels=10",
    "mlp:in=784,hidden=512x256,out=10",
    "mlp:in=10,out=2,bias=0",
    "mlp:in=10,hidden=20,out=2,activation=gelu,dropout=0.5",
    "lstm:input=32,hidden=64,layers=2,seq=16,vocab=100,bidirectional=1,dropout=0.1",
    "lstm:input=32,hidden=64,seq=16",
    "gemm:m=64,n=1760,k=1760",
    "gemm:n=8,k=16",
    "gemm:m=64,n=32,k=16,batch=12",
    "conv:n=2,c=8,k=16,h=10,w=12,r=3,s=5,stride=2,pad=2,groups=4",
    "conv:c=8,k=16,h=10,w=12,r=3,s=3",
    "attention:batch=2,seq=128,heads=8,kv_heads=2,dim=64,causal=1",
    "attention:seq=128,heads=8,dim=64",
    "softmax:rows=128,cols=1000",
    "layernorm:cols=1000",
    "batchnorm:n=32,c=64,h=56,w=56",
    "batchnorm:c=64,h=56,w=28",
    "maxpool:n=32,c=64,h=112,w=112,r=3,stride=2,pad=1",
    "maxpool:c=64,h=112,w=112",
    "elementwise:op=relu,n=128x64x7x7",
    "elementwise:op=add",
    "rnn:steps=50,batch=64,input=256,hidden=128,cell=gru",
};

static void canonical_descriptions_give_the_same_graph(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(descriptions); i++) {
        cm_graph *first = accepted(descriptions[i], 0);
        assert_non_null(cm_graph_description(first));
        cm_graph *second = accepted(cm_graph_description(first), 0);
        assert_string_equal(cm_graph_description(first), cm_graph_description(second));
        summary a = summarise(first, 3), b = summarise(second, 3);
        assert_true(a.parameters == b.parameters);
        assert_int_equal(a.nodes, b.nodes);
        assert_true(a.flop == b.flop && a.bytes == b.bytes);
        cm_graph_free(first);
        cm_graph_free(second);
    }
}

static void a_config_comes_back_as_a_description(void **state)
{
    (void)state;
    static const char config[] =
        "{\"model_type\":\"qwen2\",\"hidden_size\":896,\"num_hidden_layers\":24,\"num_attention_heads\":14,"
        "\"num_key_value_heads\":2,\"intermediate_size\":4864,\"tie_word_embeddings\":true}";
    cm_diag         diag;
    cm_load_options options = {0};
    cm__ctx        *ctx = cm__ctx_new(&diag);
    if (setjmp(ctx->trap)) fail_msg("%s: %s", diag.place, diag.reason);
    cm_graph *g = cm__import_config(ctx, "qwen2", config, strlen(config), &options);
    cm__cost_all(g);
    cm__lifetimes(g);
    summary a = summarise(g, 1), b = built(cm_graph_description(g), 1);
    assert_true(a.parameters == 494032768);
    assert_true(a.parameters == b.parameters && a.nodes == b.nodes && a.flop == b.flop);
    cm_graph_free(g);
}

static void seq_beside_the_description_is_part_of_it(void **state)
{
    (void)state;
    cm_graph *g = accepted("bert:layers=2,hidden=64,heads=4", 128);
    assert_string_equal(cm_graph_description(g), "bert:layers=2,hidden=64,heads=4,seq=128,vocab=30522,positions=512");
    summary a = summarise(g, 2), b = built(cm_graph_description(g), 2);
    assert_true(a.parameters == b.parameters && a.flop == b.flop);
    cm_graph_free(g);
}

/* ---- what they build --------------------------------------------------------------------------------------------- */

/* Twice the positions, of 64 numbers each, and a warning. */
static void a_longer_sequence_has_more_positions(void **state)
{
    (void)state;
    cm_graph       *g;
    cm_totals       t;
    cm_load_options longer = {.seq = 2048};
    assert_int_equal(cm_graph_load("gpt:layers=2,hidden=64,heads=4", &longer, &g, NULL), CM_OK);
    cm_graph_totals(g, 1, &t);
    assert_true(t.parameters == built("gpt:layers=2,hidden=64,heads=4", 1).parameters + 1024 * 64);
    assert_int_equal(cm_graph_warnings(g), 1);
    assert_non_null(strstr(cm_graph_warning(g, 0), "2048 learned positions instead of the model's 1024"));
    cm_graph_free(g);
}

static void networks_by_formula(void **state)
{
    (void)state;
    assert_true(built("mlp:in=784,hidden=512x256,out=10", 1).parameters ==
                785 * 512 + 513 * 256 + 257 * 10);
    assert_true(built("mlp:in=784,out=10,bias=0", 1).parameters == 7840);
    /* PyTorch's nn.LSTM: 4 gates, two bias vectors, the second layer reads both directions. */
    assert_true(built("lstm:input=32,hidden=64,layers=2,seq=16,vocab=100,bidirectional=1", 1).parameters ==
                100 * 32 + 2 * 4 * 64 * (32 + 64 + 2) + 2 * 4 * 64 * (128 + 64 + 2) + 129 * 100);
    assert_true(built("rnn:steps=5,input=32,hidden=64,cell=gru", 1).parameters == 3 * 64 * (32 + 64 + 2));
    assert_true(built("rnn:steps=5,input=32,hidden=64,cell=rnn", 1).parameters == 64 * (32 + 64 + 2));
}

static double matrix_flop(const char *text, int64_t batch)
{
    cm_graph *g = accepted(text, 0);
    cm_totals t;
    cm_graph_totals(g, batch, &t);
    cm_graph_free(g);
    return cm_totals_matrix_flop(&t, CM_FORWARD);
}

static void operators_by_formula(void **state)
{
    (void)state;
    assert_true(matrix_flop("gemm:m=64,n=1760,k=1760", 1) == 2.0 * 64 * 1760 * 1760);
    assert_true(matrix_flop("gemm:m=64,n=1760,k=1760", 8) == 2.0 * 64 * 1760 * 1760); /* sizes are as given */
    assert_true(matrix_flop("gemm:n=1760,k=1760", 8) == 2.0 * 8 * 1760 * 1760);       /* an omitted m is the batch */
    assert_true(matrix_flop("gemm:m=64,n=32,k=16,batch=12", 1) == 2.0 * 12 * 64 * 32 * 16);
    assert_true(matrix_flop("conv:n=4,c=8,k=16,h=10,w=12,r=3,s=5,stride=2,pad=2,groups=4", 1) ==
                2.0 * 4 * 16 * 6 * 6 * (8 / 4) * 3 * 5); /* (10+4-3)/2+1 by (12+4-5)/2+1 */
    assert_true(matrix_flop("attention:batch=2,seq=128,heads=8,kv_heads=2,dim=64", 1) == 4.0 * 2 * 8 * 128 * 128 * 64);
}

/* Weights get gradients, and so does the activation input. */
static void operators_are_bare_and_their_input_wants_a_gradient(void **state)
{
    (void)state;
    cm_graph *g = accepted("conv:c=8,k=16,h=10,w=12,r=3,s=3", 0);
    assert_true(g->bare_operator);
    assert_int_equal(g->n_inputs, 1);
    assert_int_equal(cm__t(g, g->inputs[0])->role, CM_ROLE_ACTIVATION);
    assert_true(cm__dim_same(cm__t(g, g->inputs[0])->dims[0], (cm_dim){1, 0}));
    cm_graph_free(g);
    g = accepted("mlp:in=4,out=2", 0);
    assert_false(g->bare_operator);
    cm_graph_free(g);
}

static void kinds_are_told_from_names(void **state)
{
    (void)state;
    assert_true(cm__is_description("gpt:"));
    assert_true(cm__is_description("gemm:m=1"));
    assert_false(cm__is_description("gpt"));
    assert_false(cm__is_description("gpt2:layers=1"));
    assert_false(cm__is_description("models/a:b.onnx"));
    assert_false(cm__is_description(""));
}

/* ---- refusals ---------------------------------------------------------------------------------------------------- */

static const struct {
    const char *text;
    int64_t     seq;
    cm_status   status;
    const char *reason;
} refused[] = {
    {"gtp:layers=1", 0, CM_ERR_UNKNOWN, "did you mean 'gpt'?"},
    {"gpt:", 0, CM_ERR_ARGUMENT, "layers is missing"},
    {"gpt:layers=2,hidden=64", 0, CM_ERR_ARGUMENT, "heads is missing"},
    {"gpt:layrs=2", 0, CM_ERR_UNKNOWN, "unknown key 'layrs', did you mean 'layers'?"},
    {"gpt:experts=2", 0, CM_ERR_UNKNOWN, "unknown key 'experts'"},
    {"gpt:layers", 0, CM_ERR_FORMAT, "key=value"},
    {"gpt:=3", 0, CM_ERR_FORMAT, "key=value"},
    {"gpt:layers=2,", 0, CM_ERR_FORMAT, "after the last comma"},
    {"gpt:layers=2,,heads=1", 0, CM_ERR_FORMAT, "key=value"},
    {"gpt:layers=2,layers=3", 0, CM_ERR_FORMAT, "twice"},
    {"gpt:layers=2.5", 0, CM_ERR_ARGUMENT, "'2.5' is not a whole number"},
    {"gpt:layers=", 0, CM_ERR_ARGUMENT, "is not a whole number"},
    {"gpt:layers=0", 0, CM_ERR_ARGUMENT, "from 1 to"},
    {"gpt:layers=1000000000000000000", 0, CM_ERR_ARGUMENT, "from 1 to"},
    {"gpt:layers=99999999999999999999", 0, CM_ERR_ARGUMENT, "from 1 to"},
    {"gpt:layers=2,hidden=65,heads=4", 0, CM_ERR_ARGUMENT, "not divisible by 4 heads"},
    {"gpt:layers=2,hidden=64,heads=4,kv_heads=3", 0, CM_ERR_ARGUMENT, "3 key/value heads"},
    {"gpt:layers=2,hidden=64,heads=4,activation=snake", 0, CM_ERR_UNSUPPORTED, "is not one of gelu"},
    {"gpt:layers=2,hidden=64,heads=4,vocab=0", 0, CM_ERR_UNSUPPORTED, "bare layers"},
    {"gpt:layers=2,hidden=64,heads=4,head=mlm", 0, CM_ERR_UNSUPPORTED, "head mlm"},
    {"gpt:layers=2,hidden=64,heads=4,tied=2", 0, CM_ERR_ARGUMENT, "from 0 to 1"},
    {"gpt:layers=2,hidden=64,heads=4,seq=64,positions=32", 0, CM_ERR_ARGUMENT, "32 learned positions"},
    {"vit:layers=2,hidden=64,heads=4", 64, CM_ERR_ARGUMENT, "image"},
    {"gemm:m=1,n=2", 0, CM_ERR_ARGUMENT, "k is missing"},
    {"gemm:m=1,n=2,k=3,stride=1", 0, CM_ERR_UNKNOWN, "unknown key 'stride'"},
    {"gemm:m=1,n=1000000000000000000,k=3", 0, CM_ERR_ARGUMENT, "n '1000000000000000000'"},
    {"gemm:m=2000000000,n=2000000000,k=3", 0, CM_ERR_LIMIT, "elements"},
    {"gemm:m=1,n=2,k=3", 5, CM_ERR_ARGUMENT, "does not apply to gemm"},
    {"conv:c=3,k=4,h=8,w=8,r=9,s=1", 0, CM_ERR_ARGUMENT, "larger than the padded input"},
    {"conv:c=3,k=4,h=8,w=8,r=1,s=1,groups=2", 0, CM_ERR_ARGUMENT, "divisible by groups=2"},
    {"attention:seq=8,heads=3,kv_heads=2,dim=4", 0, CM_ERR_ARGUMENT, "divisible by kv_heads=2"},
    {"attention:heads=3,dim=4", 0, CM_ERR_ARGUMENT, "seq is missing"},
    {"elementwise:n=3", 0, CM_ERR_ARGUMENT, "op is missing"},
    {"elementwise:op=bake,n=3", 0, CM_ERR_ARGUMENT, "'bake' is not one of relu"},
    {"elementwise:op=relu,n=3xx4", 0, CM_ERR_ARGUMENT, "is not a whole number"},
    {"elementwise:op=relu,n=1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1", 0, CM_ERR_LIMIT, "dimensions"},
    {"rnn:steps=1,input=2,hidden=3,cell=tree", 0, CM_ERR_ARGUMENT, "'tree' is not one of lstm"},
    {"lstm:input=1,hidden=1,seq=1,dropout=2", 0, CM_ERR_ARGUMENT, "from 0 to 1"},
    {"mlp:in=1,out=1,hidden=0", 0, CM_ERR_ARGUMENT, "from 1 to"},
};

static void bad_descriptions_are_refused_by_name(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(refused); i++) {
        cm_graph *g = NULL;
        cm_diag   diag;
        cm_status status = import(refused[i].text, refused[i].seq, &g, &diag);
        if (status != refused[i].status || !strstr(diag.reason, refused[i].reason))
            fail_msg("%s: status %d, said '%s: %s'", refused[i].text, status, diag.place, diag.reason);
    }
}

/* Keys and values of any length, and too many of them. */
static void long_descriptions_are_refused(void **state)
{
    (void)state;
    static char text[100000];
    cm_graph   *g = NULL;
    cm_diag     diag;
    memset(text, 'a', sizeof text - 1);
    memcpy(text, "gpt:", 4);
    assert_int_equal(import(text, 0, &g, &diag), CM_ERR_FORMAT);
    text[5000] = '=';
    assert_int_equal(import(text, 0, &g, &diag), CM_ERR_UNKNOWN);
    size_t at = 4;
    for (char a = 'a'; a <= 'z'; a++)
        for (char b = 'a'; b <= 'e'; b++, at += 5) memcpy(text + at, (char[]){a, b, '=', '1', ','}, 5);
    text[at - 1] = 0;
    assert_int_equal(import(text, 0, &g, &diag), CM_ERR_LIMIT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(canonical_descriptions_give_the_same_graph),
        cmocka_unit_test(a_config_comes_back_as_a_description),
        cmocka_unit_test(seq_beside_the_description_is_part_of_it),
        cmocka_unit_test(a_longer_sequence_has_more_positions),
        cmocka_unit_test(networks_by_formula),
        cmocka_unit_test(operators_by_formula),
        cmocka_unit_test(operators_are_bare_and_their_input_wants_a_gradient),
        cmocka_unit_test(kinds_are_told_from_names),
        cmocka_unit_test(bad_descriptions_are_refused_by_name),
        cmocka_unit_test(long_descriptions_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
