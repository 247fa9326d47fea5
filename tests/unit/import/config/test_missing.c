/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_missing.c - a law for every model_type and key: without the key the graph has the same parameters and FLOP, or a
 * warning names the key, or the configuration is refused. A configuration that states all keys has no such warning.
 */
#include <stdio.h>
#include <stdlib.h>
#include "imported_config.h"
#include "import/config/config.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define SEQ 32 /* tokens, more than the window */
#define SAID "the config does not state"

/* A value for each field, none of which is a default of transformers or follows from the others. */
static const struct { const char *field; int value; } counts[] = {
    {"layers", 4}, {"decoder_layers", 2}, {"hidden", 64}, {"heads", 4}, {"kv_heads", 2}, {"head_dim", 24}, {"ffn", 96},
    {"vocab", 500}, {"positions", 66}, {"types", 3}, {"embed", 32}, {"window", 8}, {"full_every", 3}, {"buckets", 16},
    {"experts", 6}, {"top_k", 3}, {"expert_ffn", 40}, {"shared_ffn", 48}, {"dense_layers", 2}, {"expert_every", 4},
    {"q_rank", 24}, {"kv_rank", 20}, {"nope_dim", 12}, {"rope_dim", 4}, {"v_dim", 10}, {"mtp", 1}, {"frames", 50},
    {"projection", 20}, {"image", 48}, {"patch", 8}, {"channels", 5}, {"state_heads", 4}, {"state_dim", 8},
    {"state_groups", 2}, {"state_size", 16}, {"state_conv", 3}, {"state_chunk", 16}, {"state_rank", 6}};

/* Keys that no table has, and values that a type needs. */
static const struct { const char *model_type, *keys; } more[] = {
    {"t5", "{\"feed_forward_proj\":\"gated-gelu\"}"},
    {"deepseek_v2", "{\"n_shared_experts\":2}"},
    {"deepseek_v3", "{\"n_shared_experts\":2,\"num_nextn_predict_layers\":1}"},
    {"glm4_moe", "{\"n_shared_experts\":2}"},
    {"gpt_oss", "{\"layer_types\":[\"sliding_attention\",\"sliding_attention\",\"full_attention\"]}"},
    {"bamba", "{\"attn_layer_indices\":[1,2],\"mamba_d_head\":8}"},
    {"falcon_h1", "{\"mamba_d_head\":8,\"mamba_d_ssm\":32}"},
    {"granitemoehybrid", "{\"layer_types\":[\"mamba\",\"attention\",\"attention\",\"mamba\"],\"mamba_d_head\":8,"
                         "\"position_embedding_type\":\"nope\"}"},
    {"jamba", "{\"attn_layer_period\":2,\"attn_layer_offset\":1,\"mamba_expand\":3,\"mamba_dt_rank\":6}"},
    {"nemotron_h", "{\"hybrid_override_pattern\":\"M*E-\"}"},
    {"qwen3_next", "{\"full_attention_interval\":2}"},
    {"clip", "{\"vision_config\":{\"num_hidden_layers\":3,\"hidden_size\":64,\"num_attention_heads\":4,"
             "\"intermediate_size\":96,\"image_size\":48,\"patch_size\":8},\"text_config\":{\"num_hidden_layers\":2,"
             "\"hidden_size\":48,\"num_attention_heads\":3,\"intermediate_size\":80,\"vocab_size\":500}}"}};

static json_t *value_of(const cm__config_type *type, const cm__config_key *row)
{
    const cm__field      *field = cm__field_find(cm__span_of(row->field));
    const cm__transformer usual = cm__transformer_defaults(type->family);
    if (field->kind == CM__FIELD_FLAG)
        return json_boolean(row->otherwise ? *row->otherwise == '0' : !cm__field_int(&usual, field));
    if (field->kind == CM__FIELD_CHOICE) return json_string("gelu_fast");
    if (field->kind == CM__FIELD_RATIO) return json_real(strcmp(row->field, "rotary") == 0 ? 0.75 : 0.2);
    for (size_t i = 0; i < COUNT(counts); i++)
        if (strcmp(counts[i].field, row->field) == 0) return json_integer(counts[i].value);
    fail_msg("%s: no value for %s", type->model_type, row->field);
    return NULL;
}

static json_t *complete(const cm__config_type *type)
{
    json_t *config = json_pack("{s:s, s:[s]}", "model_type", type->model_type, "architectures", "XModel");
    for (const cm__config_key *row = type->keys; row->key; row++)
        if (*row->key) json_object_set_new(config, row->key, value_of(type, row));
    for (size_t i = 0; i < COUNT(more); i++) {
        if (strcmp(more[i].model_type, type->model_type) != 0) continue;
        json_t *keys = json_loads(more[i].keys, 0, NULL);
        json_object_update(config, keys);
        json_decref(keys);
    }
    return config;
}

typedef struct answer {
    cm_status status;
    int64_t   parameters;
    double    flop;
    char      said[2048]; /* the warning of missing keys; "": none */
    char      warnings[8192];
    cm_diag   diag;
} answer;

static answer answer_of(const json_t *config, int64_t seq)
{
    answer    a = {0};
    cm_graph *g = NULL;
    char     *text = json_dumps(config, 0);
    a.status = import(text, seq, &g, &a.diag);
    free(text);
    if (a.status) return a;
    cm_totals totals;
    cm_graph_totals(g, 1, &totals);
    a.parameters = totals.parameters;
    for (int c = 0; c < CM_CLASSES; c++) a.flop += totals.flop[CM_FORWARD][c];
    for (int32_t i = 0; i < g->n_warnings; i++) {
        size_t n = strlen(a.warnings);
        snprintf(a.warnings + n, sizeof a.warnings - n, "%s\n", g->warnings[i]);
        if (strstr(g->warnings[i], SAID)) snprintf(a.said, sizeof a.said, "%s", g->warnings[i]);
    }
    cm_graph_free(g);
    return a;
}

/* save_pretrained() writes neither of them where it has the default of all classes. */
static bool optional(const cm__config_type *type, const char *key)
{
    return strcmp(key, "is_decoder") == 0 ||
           (strcmp(key, "tie_word_embeddings") == 0 && cm__transformer_defaults(type->family).tied);
}

static void drop_each(const cm__config_type *type, json_t *config, json_t *object, int64_t seq)
{
    const char  *key;
    json_t      *value, *keys = json_copy(object);
    const answer whole = answer_of(config, seq);
    if (whole.status || *whole.said)
        fail_msg("%s: %s: %s%s", type->model_type, whole.diag.place, whole.diag.reason, whole.said);
    json_object_foreach(keys, key, value) {
        if (strcmp(key, "model_type") == 0 || optional(type, key)) continue;
        json_object_del(object, key);
        answer without = answer_of(config, seq);
        bool   same = without.parameters == whole.parameters && without.flop == whole.flop;
        if (!without.status && !same && !strstr(without.said, key))
            fail_msg("%s without %s: parameters %lld -> %lld, FLOP %g -> %g, warning '%s'", type->model_type, key,
                     (long long)whole.parameters, (long long)without.parameters, whole.flop, without.flop,
                     without.said);
        json_object_set(object, key, value);
        if (json_is_object(value)) drop_each(type, config, value, seq);
    }
    json_decref(keys);
}

static void test_a_missing_key_is_named(void **state)
{
    (void)state;
    for (int32_t i = 0; i < cm__n_config_types; i++) {
        json_t *config = complete(&cm__config_types[i]);
        drop_each(&cm__config_types[i], config, config, 0);
        if (cm__config_types[i].seq_max) drop_each(&cm__config_types[i], config, config, SEQ);
        json_decref(config);
    }
}

/* Models that are read by their keys: without a key, the warnings differ (another family, another assumed value). */
static void test_a_guess_names_what_it_lacks(void **state)
{
    (void)state;
    static const char *const rests[] = {
        "\"num_key_value_heads\":2,\"head_dim\":24,\"intermediate_size\":96,\"rms_norm_eps\":1e-6,"
        "\"attention_bias\":true,\"mlp_bias\":true,\"tie_word_embeddings\":true,\"max_position_embeddings\":24,"
        "\"hidden_act\":\"relu\",\"architectures\":[\"XModel\"],\"qk_layernorm\":true",
        "\"num_key_value_heads\":2,\"moe_num_experts\":6,\"moe_top_k\":3,\"moe_intermediate_size\":40,"
        "\"shared_expert_intermediate_size\":48,\"first_k_dense_replace\":1,\"decoder_sparse_step\":2",
        "\"intermediate_size\":96,\"kv_lora_rank\":20,\"q_lora_rank\":24,\"qk_nope_head_dim\":12,"
        "\"qk_rope_head_dim\":4,\"v_head_dim\":10,\"n_routed_experts\":4,\"n_shared_experts\":2,"
        "\"num_experts_per_tok\":2,\"moe_intermediate_size\":40,\"num_nextn_predict_layers\":1"};
    for (size_t i = 0; i < COUNT(rests); i++) {
        char        text[1024];
        const char *key;
        json_t     *value;
        snprintf(text, sizeof text, "{\"model_type\":\"new\",\"hidden_size\":64,\"num_hidden_layers\":4,"
                 "\"num_attention_heads\":4,\"vocab_size\":500,%s}", rests[i]);
        json_t *config = json_loads(text, 0, NULL), *keys = json_copy(config);
        answer  whole = answer_of(config, 0);
        json_object_foreach(keys, key, value) {
            json_object_del(config, key);
            answer without = answer_of(config, 0);
            if (!without.status && (without.parameters != whole.parameters || without.flop != whole.flop) &&
                strcmp(without.warnings, whole.warnings) == 0)
                fail_msg("without %s: the same warnings", key);
            json_object_set(config, key, value);
        }
        json_decref(keys);
        json_decref(config);
    }
}

/* The value is the class's: LlamaConfig has 32,000 tokens, and heads of hidden size / heads. */
static void test_the_assumed_value_is_said(void **state)
{
    (void)state;
    json_t *config = json_loads("{\"model_type\":\"llama\",\"hidden_size\":4096,\"num_attention_heads\":32}", 0, NULL);
    answer  a = answer_of(config, SEQ);
    assert_non_null(strstr(a.said, "vocab_size 32000"));
    assert_non_null(strstr(a.said, "head_dim 128"));
    assert_non_null(strstr(a.said, "mlp_bias false"));
    assert_null(strstr(a.said, "hidden_size"));
    json_decref(config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_a_missing_key_is_named),
                                       cmocka_unit_test(test_a_guess_names_what_it_lacks),
                                       cmocka_unit_test(test_the_assumed_value_is_said)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
