/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_config_hybrid.c - published configurations of hybrid and other recent models: exact parameter counts.
 *
 * Each count is sum(p.numel() for p in model.parameters()) of Hugging Face's transformers 5.17, made from the same keys
 * on the meta device. They agree with the sizes that the authors publish: Granite 4.0 H Small 32B, Falcon-H1 7.59B
 * and 33.6B, Bamba 9.78B, Jamba 52B, Nemotron-H 8.1B, Nemotron Nano 2 8.9B, Nemotron 3 Nano 31.6B, Qwen3-Next 80B, Llama 4
 * Scout 109B with its image encoder, Kimi K2 1T, GLM-4.5 355B and GLM-4.5 Air 106B with and without a layer that
 * predicts further tokens.
 */
#include "imported_config.h"

#define FIVE "\"mamba\",\"mamba\",\"mamba\",\"mamba\",\"mamba\""
#define TEN FIVE ",\"attention\",\"mamba\",\"mamba\",\"mamba\",\"mamba\""
#define GRANITE_LAYERS "[" TEN "," TEN "," TEN "," TEN "]"

static const struct {
    const char *name;
    long long   parameters;
    const char *config;
} models[] = {
    {"Granite 4.0 H Small", 32207337984LL,
     "{\"model_type\":\"granitemoehybrid\",\"hidden_size\":4096,\"intermediate_size\":768"
     ",\"shared_intermediate_size\":1536,\"num_hidden_layers\":40"
     ",\"num_attention_heads\":32,\"num_key_value_heads\":8,\"vocab_size\":100352"
     ",\"num_local_experts\":72,\"num_experts_per_tok\":10,\"mamba_n_heads\":128"
     ",\"mamba_d_head\":64,\"mamba_d_state\":128,\"mamba_n_groups\":1"
     ",\"position_embedding_type\":\"nope\",\"tie_word_embeddings\":true"
     ",\"layer_types\":" GRANITE_LAYERS "}"},
    {"Falcon-H1 7B", 7585513568LL,
     "{\"model_type\":\"falcon_h1\",\"hidden_size\":3072,\"intermediate_size\":12288"
     ",\"num_hidden_layers\":44,\"num_attention_heads\":12,\"num_key_value_heads\":2"
     ",\"head_dim\":128,\"vocab_size\":130048,\"mamba_d_ssm\":3072,\"mamba_n_heads\":24"
     ",\"mamba_d_head\":128,\"mamba_d_state\":256,\"mamba_n_groups\":1"
     ",\"mamba_rms_norm\":false,\"tie_word_embeddings\":false}"},
    {"Falcon-H1 34B", 33642221312LL,
     "{\"model_type\":\"falcon_h1\",\"hidden_size\":5120,\"intermediate_size\":21504"
     ",\"num_hidden_layers\":72,\"num_attention_heads\":20,\"num_key_value_heads\":4"
     ",\"head_dim\":128,\"vocab_size\":261120,\"mamba_d_ssm\":4096,\"mamba_n_heads\":32"
     ",\"mamba_d_head\":128,\"mamba_d_state\":256,\"mamba_n_groups\":2"
     ",\"mamba_rms_norm\":false,\"tie_word_embeddings\":false}"},
    {"Bamba 9B", 9780235392LL,
     "{\"model_type\":\"bamba\",\"hidden_size\":4096,\"intermediate_size\":14336"
     ",\"num_hidden_layers\":32,\"num_attention_heads\":32,\"num_key_value_heads\":8"
     ",\"vocab_size\":128256,\"attn_layer_indices\":[9,18,27],\"mamba_n_heads\":128"
     ",\"mamba_d_head\":64,\"mamba_d_state\":128,\"mamba_n_groups\":1"
     ",\"tie_word_embeddings\":false}"},
    {"Jamba v0.1", 51570323328LL,
     "{\"model_type\":\"jamba\",\"hidden_size\":4096,\"intermediate_size\":14336"
     ",\"num_hidden_layers\":32,\"num_attention_heads\":32,\"num_key_value_heads\":8"
     ",\"vocab_size\":65536,\"num_experts\":16,\"num_experts_per_tok\":2"
     ",\"mamba_d_state\":16,\"mamba_dt_rank\":256,\"expert_layer_period\":2"
     ",\"expert_layer_offset\":1,\"attn_layer_period\":8,\"attn_layer_offset\":4}"},
    {"Nemotron-H 8B", 8100852736LL,
     "{\"model_type\":\"nemotron_h\",\"hidden_size\":4096,\"intermediate_size\":21504"
     ",\"num_hidden_layers\":52,\"num_attention_heads\":32,\"num_key_value_heads\":8"
     ",\"head_dim\":128,\"vocab_size\":131072"
     ",\"hybrid_override_pattern\":\"M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M-\""
     ",\"mamba_num_heads\":128,\"mamba_head_dim\":64,\"n_groups\":8,\"ssm_state_size\":128}"},
    {"Nemotron Nano 2 9B", 8888227328LL,
     "{\"model_type\":\"nemotron_h\",\"hidden_size\":4480,\"intermediate_size\":15680"
     ",\"num_hidden_layers\":56,\"num_attention_heads\":40,\"num_key_value_heads\":8"
     ",\"head_dim\":128,\"vocab_size\":131072"
     ",\"hybrid_override_pattern\":\"M-M-M-MM-M-M-M*-M-M-M*-M-M-M-M*-M-M-M-M*-M-MM-M-M-M-M-M-\""
     ",\"mamba_num_heads\":128,\"mamba_head_dim\":80,\"n_groups\":8,\"ssm_state_size\":128}"},
    {"Nemotron 3 Nano", 31577937344LL,
     "{\"model_type\":\"nemotron_h\",\"hidden_size\":2688,\"intermediate_size\":1856"
     ",\"num_hidden_layers\":52,\"num_attention_heads\":32,\"num_key_value_heads\":2"
     ",\"head_dim\":128,\"vocab_size\":131072"
     ",\"hybrid_override_pattern\":\"MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME\""
     ",\"mamba_num_heads\":64,\"mamba_head_dim\":64,\"n_groups\":8,\"ssm_state_size\":128"
     ",\"n_routed_experts\":128,\"num_experts_per_tok\":6,\"moe_intermediate_size\":1856"
     ",\"moe_shared_expert_intermediate_size\":3712,\"n_shared_experts\":1}"},
    {"Qwen3-Next 80B", 79674391296LL,
     "{\"model_type\":\"qwen3_next\",\"hidden_size\":2048,\"intermediate_size\":5120"
     ",\"num_hidden_layers\":48,\"num_attention_heads\":16,\"num_key_value_heads\":2"
     ",\"head_dim\":256,\"vocab_size\":151936,\"linear_num_value_heads\":32"
     ",\"linear_value_head_dim\":128,\"linear_num_key_heads\":16"
     ",\"linear_key_head_dim\":128,\"num_experts\":512,\"num_experts_per_tok\":10"
     ",\"moe_intermediate_size\":512,\"shared_expert_intermediate_size\":512}"},
    {"Llama 4 Scout, text", 107769861120LL,
     "{\"model_type\":\"llama4_text\",\"hidden_size\":5120,\"intermediate_size\":8192"
     ",\"intermediate_size_mlp\":16384,\"num_hidden_layers\":48,\"num_attention_heads\":40"
     ",\"num_key_value_heads\":8,\"head_dim\":128,\"vocab_size\":202048"
     ",\"num_local_experts\":16,\"num_experts_per_tok\":1,\"interleave_moe_layer_step\":1"
     ",\"use_qk_norm\":true}"},
    {"Qwen3 30B A3B", 30532122624LL,
     "{\"model_type\":\"qwen3_moe\",\"hidden_size\":2048,\"intermediate_size\":6144"
     ",\"num_hidden_layers\":48,\"num_attention_heads\":32,\"num_key_value_heads\":4"
     ",\"head_dim\":128,\"vocab_size\":151936,\"num_experts\":128,\"num_experts_per_tok\":8"
     ",\"moe_intermediate_size\":768}"},
    {"Gemma 3 1B", 999885952LL,
     "{\"model_type\":\"gemma3_text\",\"hidden_size\":1152,\"intermediate_size\":6912"
     ",\"num_hidden_layers\":26,\"num_attention_heads\":4,\"num_key_value_heads\":1"
     ",\"head_dim\":256,\"vocab_size\":262144,\"sliding_window\":512}"},
    {"Gemma 3 27B, text", 27009346304LL,
     "{\"model_type\":\"gemma3_text\",\"hidden_size\":5376,\"intermediate_size\":21504"
     ",\"num_hidden_layers\":62,\"num_attention_heads\":32,\"num_key_value_heads\":16"
     ",\"head_dim\":128,\"vocab_size\":262208,\"sliding_window\":1024}"},
    {"DeepSeek-V3", 671026404352LL,
     "{\"model_type\":\"deepseek_v3\",\"hidden_size\":7168,\"intermediate_size\":18432"
     ",\"num_hidden_layers\":61,\"num_attention_heads\":128,\"num_key_value_heads\":128"
     ",\"vocab_size\":129280,\"n_routed_experts\":256,\"n_shared_experts\":1"
     ",\"num_experts_per_tok\":8,\"moe_intermediate_size\":2048"
     ",\"first_k_dense_replace\":3,\"kv_lora_rank\":512,\"q_lora_rank\":1536"
     ",\"qk_nope_head_dim\":128,\"qk_rope_head_dim\":64,\"v_head_dim\":128}"},
    {"Kimi K2", 1026408209408LL,
     "{\"model_type\":\"deepseek_v3\",\"hidden_size\":7168,\"intermediate_size\":18432"
     ",\"num_hidden_layers\":61,\"num_attention_heads\":64,\"num_key_value_heads\":64"
     ",\"vocab_size\":163840,\"n_routed_experts\":384,\"n_shared_experts\":1"
     ",\"num_experts_per_tok\":8,\"moe_intermediate_size\":2048"
     ",\"first_k_dense_replace\":1,\"kv_lora_rank\":512,\"q_lora_rank\":1536"
     ",\"qk_nope_head_dim\":128,\"qk_rope_head_dim\":64,\"v_head_dim\":128}"},
    {"GLM-4.5", 352797814784LL,
     "{\"model_type\":\"glm4_moe\",\"hidden_size\":5120,\"intermediate_size\":12288"
     ",\"num_hidden_layers\":92,\"num_attention_heads\":96,\"num_key_value_heads\":8"
     ",\"head_dim\":128,\"vocab_size\":151552,\"n_routed_experts\":160"
     ",\"n_shared_experts\":1,\"num_experts_per_tok\":8,\"moe_intermediate_size\":1536"
     ",\"first_k_dense_replace\":3,\"attention_bias\":true,\"use_qk_norm\":true"
     ",\"partial_rotary_factor\":0.5}"},
    {"GLM-4.5 Air", 106852245504LL,
     "{\"model_type\":\"glm4_moe\",\"hidden_size\":4096,\"intermediate_size\":10944"
     ",\"num_hidden_layers\":46,\"num_attention_heads\":96,\"num_key_value_heads\":8"
     ",\"head_dim\":128,\"vocab_size\":151552,\"n_routed_experts\":128"
     ",\"n_shared_experts\":1,\"num_experts_per_tok\":8,\"moe_intermediate_size\":1408"
     ",\"first_k_dense_replace\":1,\"attention_bias\":true,\"use_qk_norm\":false"
     ",\"partial_rotary_factor\":0.5}"},
    {"SmolLM3", 3075098624LL,
     "{\"model_type\":\"smollm3\",\"hidden_size\":2048,\"intermediate_size\":11008"
     ",\"num_hidden_layers\":36,\"num_attention_heads\":16,\"num_key_value_heads\":4"
     ",\"vocab_size\":128256,\"tie_word_embeddings\":true,\"hidden_act\":\"silu\""
     ",\"max_position_embeddings\":65536,\"rms_norm_eps\":1e-06}"},
    {"Phi-4", 14659507200LL,
     "{\"model_type\":\"phi3\",\"hidden_size\":5120,\"intermediate_size\":17920"
     ",\"num_hidden_layers\":40,\"num_attention_heads\":40,\"num_key_value_heads\":10"
     ",\"vocab_size\":100352,\"tie_word_embeddings\":false,\"pad_token_id\":1}"},
    {"Phi-4 mini", 3836021760LL,
     "{\"model_type\":\"phi3\",\"hidden_size\":3072,\"intermediate_size\":8192"
     ",\"num_hidden_layers\":32,\"num_attention_heads\":24,\"num_key_value_heads\":8"
     ",\"vocab_size\":200064,\"tie_word_embeddings\":true,\"partial_rotary_factor\":0.75"
     ",\"pad_token_id\":1}"},
    {"Mistral Small 3", 23572403200LL,
     "{\"model_type\":\"mistral\",\"hidden_size\":5120,\"intermediate_size\":32768"
     ",\"num_hidden_layers\":40,\"num_attention_heads\":32,\"num_key_value_heads\":8"
     ",\"head_dim\":128,\"vocab_size\":131072,\"sliding_window\":null}"},
};

#define TOKENS 64

static void counts_are_exact(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        cm_graph *g;
        cm_diag   diag;
        cm_totals totals;
        if (import(models[i].config, TOKENS, &g, &diag))
            fail_msg("%s: %s: %s", models[i].name, diag.place, diag.reason);
        cm_graph_totals(g, 1, &totals);
        if (totals.parameters != models[i].parameters)
            fail_msg("%s: %lld parameters, expected %lld", models[i].name, (long long)totals.parameters,
                     models[i].parameters);
        cm_graph_free(g);
    }
}

/* Layers that are not known are refused by name; what the times assume is said. */
static void what_is_not_known_is_said(void **state)
{
    static const char layers[] = "{\"model_type\":\"bamba\",\"layer_types\":[\"mamba\",\"conv\"]}";
    cm_graph         *g;
    cm_diag           diag;
    (void)state;
    assert_int_equal(import(layers, TOKENS, &g, &diag), CM_ERR_UNSUPPORTED);
    assert_non_null(strstr(diag.reason, "'conv'"));
    assert_int_equal(import("{\"model_type\":\"nemotron_h\",\"hybrid_override_pattern\":\"M-X\"}", TOKENS, &g, &diag),
                     CM_ERR_UNSUPPORTED);
    assert_int_equal(import("{\"model_type\":\"falcon_h1\"}", TOKENS, &g, &diag), CM_OK);
    bool said = false;
    for (int32_t i = 0; i < cm_graph_warnings(g); i++)
        said |= strstr(cm_graph_warning(g, i), "none was measured") != NULL;
    assert_true(said);
    cm_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(counts_are_exact), cmocka_unit_test(what_is_not_known_is_said)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
