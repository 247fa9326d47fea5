/* SPDX-License-Identifier: Apache-2.0 */
/* keys.c - keys and defaults of the configuration classes of Hugging Face transformers (4.21 to 4.57). */
#include "import/config/config.h"

#define COMMON {"tie_word_embeddings", "tied", NULL}
#define END {NULL, NULL, NULL}

static const cm__config_key gpt2[] = {
    {"n_layer", "layers", "12"},
    {"n_embd", "hidden", "768"},
    {"n_head", "heads", "12"},
    {"n_inner", "ffn", NULL},
    {"vocab_size", "vocab", "50257"},
    {"n_positions", "positions", "1024"},
    {"activation_function", "activation", "gelu_new"},
    {"resid_pdrop", "dropout", "0.1"},
    {"embd_pdrop", "embed_dropout", "0.1"},
    {"attn_pdrop", "attention_dropout", "0.1"},
    COMMON, END};

#define BERT_KEYS                                                                                                      \
    {"num_hidden_layers", "layers", "12"}, {"hidden_size", "hidden", "768"}, {"num_attention_heads", "heads", "12"},   \
    {"intermediate_size", "ffn", "3072"}, {"hidden_act", "activation", "gelu"},                                        \
    {"hidden_dropout_prob", "dropout", "0.1"}, {"hidden_dropout_prob", "embed_dropout", "0.1"},                        \
    {"attention_probs_dropout_prob", "attention_dropout", "0.1"}, {"type_vocab_size", "types", "2"},                   \
    {"max_position_embeddings", "positions", "512"}, {"is_decoder", "causal", "0"}, COMMON

static const cm__config_key bert[] = {{"vocab_size", "vocab", "30522"}, BERT_KEYS, END};

static const cm__config_key roberta[] = {{"vocab_size", "vocab", "50265"}, BERT_KEYS, END};

static const cm__config_key distilbert[] = {
    {"n_layers", "layers", "6"},
    {"dim", "hidden", "768"},
    {"n_heads", "heads", "12"},
    {"hidden_dim", "ffn", "3072"},
    {"vocab_size", "vocab", "30522"},
    {"max_position_embeddings", "positions", "512"},
    {"activation", "activation", "gelu"},
    {"dropout", "dropout", "0.1"},
    {"dropout", "embed_dropout", "0.1"},
    {"attention_dropout", "attention_dropout", "0.1"},
    COMMON, END};

static const cm__config_key t5[] = {
    {"num_layers", "layers", "6"},
    {"num_decoder_layers", "decoder_layers", NULL},
    {"d_model", "hidden", "512"},
    {"num_heads", "heads", "8"},
    {"d_kv", "head_dim", "64"},
    {"d_ff", "ffn", "2048"},
    {"vocab_size", "vocab", "32128"},
    {"relative_attention_num_buckets", "buckets", "32"},
    {"dropout_rate", "dropout", "0.1"},
    {"dropout_rate", "embed_dropout", "0.1"},
    {"dropout_rate", "attention_dropout", "0.1"},
    COMMON, END};

static const cm__config_key opt[] = {
    {"num_hidden_layers", "layers", "12"},
    {"hidden_size", "hidden", "768"},
    {"num_attention_heads", "heads", "12"},
    {"ffn_dim", "ffn", "3072"},
    {"vocab_size", "vocab", "50272"},
    {"max_position_embeddings", "positions", "2048"},
    {"word_embed_proj_dim", "embed", NULL},
    {"do_layer_norm_before", "pre_norm", "1"},
    {"activation_function", "activation", "relu"},
    {"dropout", "dropout", "0.1"},
    {"attention_dropout", "attention_dropout", "0"},
    {"enable_bias", "qkv_bias", "1"},
    {"enable_bias", "out_bias", "1"},
    {"enable_bias", "mlp_bias", "1"},
    COMMON, END};

static const cm__config_key neox[] = {
    {"num_hidden_layers", "layers", "44"},
    {"hidden_size", "hidden", "6144"},
    {"num_attention_heads", "heads", "64"},
    {"intermediate_size", "ffn", "24576"},
    {"vocab_size", "vocab", "50432"},
    {"max_position_embeddings", "positions", "2048"},
    {"hidden_act", "activation", "gelu"},
    {"rotary_pct", "rotary", "0.25"},
    {"use_parallel_residual", "parallel", "1"},
    {"attention_bias", "qkv_bias", "1"},
    {"attention_bias", "out_bias", "1"},
    {"hidden_dropout", "dropout", "0"},
    {"hidden_dropout", "embed_dropout", "0"},
    {"attention_dropout", "attention_dropout", "0"},
    COMMON, END};

#define LLAMA_KEYS                                                                                                     \
    {"num_hidden_layers", "layers", "32"}, {"hidden_size", "hidden", "4096"}, {"num_attention_heads", "heads", "32"},  \
    {"head_dim", "head_dim", NULL}, {"hidden_act", "activation", "silu"},                                              \
    {"attention_dropout", "attention_dropout", "0"}, COMMON

static const cm__config_key llama[] = {
    LLAMA_KEYS,
    {"num_key_value_heads", "kv_heads", NULL},
    {"intermediate_size", "ffn", "11008"},
    {"vocab_size", "vocab", "32000"},
    {"max_position_embeddings", "positions", "2048"},
    {"attention_bias", "qkv_bias", "0"},
    {"attention_bias", "out_bias", "0"},
    {"mlp_bias", "mlp_bias", "0"},
    END};

/* Networks of two matrices: Arcee's with squared ReLU, Apertus' with xIELU, which has two numbers per layer. */
static const cm__config_key arcee[] = {
    {"", "gated", "0"}, LLAMA_KEYS, {"hidden_size", "hidden", "2560"}, {"hidden_act", "activation", "relu2"},
    {"num_key_value_heads", "kv_heads", NULL}, {"intermediate_size", "ffn", "18432"}, {"vocab_size", "vocab", "32000"},
    {"max_position_embeddings", "positions", "4096"}, {"attention_bias", "qkv_bias", "0"},
    {"attention_bias", "out_bias", "0"}, {"mlp_bias", "mlp_bias", "0"}, END};

static const cm__config_key mistral[] = {
    LLAMA_KEYS,
    {"num_key_value_heads", "kv_heads", "8"},
    {"intermediate_size", "ffn", "14336"},
    {"vocab_size", "vocab", "32000"},
    {"max_position_embeddings", "positions", "131072"},
    {"sliding_window", "window", "4096"},
    END};

static const cm__config_key qwen2[] = {
    LLAMA_KEYS,
    {"num_key_value_heads", "kv_heads", "32"},
    {"intermediate_size", "ffn", "22016"},
    {"vocab_size", "vocab", "151936"},
    {"max_position_embeddings", "positions", "32768"},
    END};

static const cm__config_key mixtral[] = {
    LLAMA_KEYS,
    {"num_key_value_heads", "kv_heads", "8"},
    {"intermediate_size", "ffn", "14336"},
    {"vocab_size", "vocab", "32000"},
    {"max_position_embeddings", "positions", "131072"},
    {"sliding_window", "window", NULL},
    {"num_local_experts", "experts", "8"},
    {"num_experts_per_tok", "top_k", "2"},
    END};

static const cm__config_key vit[] = {
    {"num_hidden_layers", "layers", "12"},
    {"hidden_size", "hidden", "768"},
    {"num_attention_heads", "heads", "12"},
    {"intermediate_size", "ffn", "3072"},
    {"hidden_act", "activation", "gelu"},
    {"hidden_dropout_prob", "dropout", "0"},
    {"hidden_dropout_prob", "embed_dropout", "0"},
    {"attention_probs_dropout_prob", "attention_dropout", "0"},
    {"image_size", "image", "224"},
    {"patch_size", "patch", "16"},
    {"num_channels", "channels", "3"},
    {"qkv_bias", "qkv_bias", "1"},
    END};

static const cm__config_key qwen3[] = {
    LLAMA_KEYS,
    {"num_key_value_heads", "kv_heads", "32"},
    {"intermediate_size", "ffn", "22016"},
    {"vocab_size", "vocab", "151936"},
    {"max_position_embeddings", "positions", "32768"},
    {"attention_bias", "qkv_bias", "0"},
    {"attention_bias", "out_bias", "0"},
    END};

#define EXPERT_KEYS                                                                                                    \
    {"intermediate_size", "ffn", NULL}, {"moe_intermediate_size", "expert_ffn", NULL},                                 \
    {"num_local_experts", "experts", NULL}, {"num_experts", "experts", NULL}, {"num_experts_per_tok", "top_k", NULL},  \
    {"decoder_sparse_step", "expert_every", NULL},                                                                     \
    {"vocab_size", "vocab", "151936"}, {"max_position_embeddings", "positions", "32768"}

static const cm__config_key qwen3_moe[] = {
    {"", "experts", "128"}, {"", "top_k", "8"}, {"", "expert_ffn", "768"}, {"", "ffn", "6144"}, LLAMA_KEYS, EXPERT_KEYS,
    {"num_key_value_heads", "kv_heads", "4"},
    {"attention_bias", "qkv_bias", "0"},
    {"attention_bias", "out_bias", "0"},
    END};

static const cm__config_key qwen2_moe[] = {
    {"", "experts", "60"}, {"", "top_k", "4"}, {"", "expert_ffn", "1408"}, {"", "ffn", "5632"}, {"", "qk_norm", "0"},
    {"", "shared_gate", "1"}, {"", "qkv_bias", "1"}, LLAMA_KEYS, EXPERT_KEYS,
    {"num_key_value_heads", "kv_heads", "16"},
    {"shared_expert_intermediate_size", "shared_ffn", "5632"},
    {"qkv_bias", "qkv_bias", NULL},
    END};

/* GLM-4.5: attention_bias is for queries, keys and values; the output projection has none. */
static const cm__config_key glm4_moe[] = {
    {"", "top_k", "8"}, {"", "shared_ffn", "1408"}, LLAMA_KEYS,
    {"num_hidden_layers", "layers", "46"}, {"num_attention_heads", "heads", "96"},
    {"num_key_value_heads", "kv_heads", "8"}, {"intermediate_size", "ffn", "10944"},
    {"n_routed_experts", "experts", "128"}, {"num_experts_per_tok", "top_k", NULL},
    {"moe_intermediate_size", "expert_ffn", "1408"}, {"first_k_dense_replace", "dense_layers", "1"},
    {"attention_bias", "qkv_bias", "0"}, {"use_qk_norm", "qk_norm", "0"}, {"partial_rotary_factor", "rotary", "0.5"},
    {"vocab_size", "vocab", "151552"}, {"max_position_embeddings", "positions", "131072"}, END};

static const cm__config_key granitemoe[] = {
    {"", "qk_norm", "0"}, {"", "experts", "8"}, {"", "top_k", "2"}, {"", "ffn", "11008"}, LLAMA_KEYS, EXPERT_KEYS,
    {"vocab_size", "vocab", "32000"},
    {"num_key_value_heads", "kv_heads", NULL},
    END};

/* Llama 4: one shared expert as wide as the others; every Nth layer has experts, the others a wider network. Its norm
   of queries and keys has no weights. */
static const cm__config_key llama4[] = {
    {"", "qk_norm", "0"}, LLAMA_KEYS, {"num_hidden_layers", "layers", "48"}, {"hidden_size", "hidden", "5120"},
    {"num_attention_heads", "heads", "40"}, {"num_key_value_heads", "kv_heads", "8"}, {"head_dim", "head_dim", "128"},
    {"intermediate_size_mlp", "ffn", "16384"}, {"intermediate_size", "expert_ffn", "8192"},
    {"intermediate_size", "shared_ffn", "8192"}, {"num_local_experts", "experts", "16"},
    {"num_experts_per_tok", "top_k", "1"}, {"interleave_moe_layer_step", "expert_every", "1"},
    {"attention_bias", "qkv_bias", "0"}, {"attention_bias", "out_bias", "0"},
    {"vocab_size", "vocab", "202048"}, {"max_position_embeddings", "positions", "131072"}, END};

#define GEMMA_KEYS                                                                                                     \
    {"num_hidden_layers", "layers", "26"}, {"hidden_size", "hidden", "2304"}, {"num_attention_heads", "heads", "8"},   \
    {"head_dim", "head_dim", "256"}, {"hidden_activation", "activation", NULL},                                        \
    {"attention_dropout", "attention_dropout", "0"}, COMMON, {"num_key_value_heads", "kv_heads", "4"},                 \
    {"intermediate_size", "ffn", "9216"}, {"attention_bias", "qkv_bias", "0"}, {"attention_bias", "out_bias", "0"},    \
    {"max_position_embeddings", "positions", "8192"}

static const cm__config_key gemma[] = {
    {"", "qk_norm", "0"}, {"", "sandwich", "0"}, GEMMA_KEYS, {"vocab_size", "vocab", "256000"}, END};

static const cm__config_key gemma2[] = {
    {"", "qk_norm", "0"}, {"", "softcap", "1"}, {"", "full_every", "2"}, GEMMA_KEYS,
    {"sliding_window", "window", "4096"}, {"vocab_size", "vocab", "256000"}, END};

static const cm__config_key gemma3[] = {
    {"", "full_every", "6"}, GEMMA_KEYS, {"sliding_window", "window", "4096"},
    {"_sliding_window_pattern", "full_every", NULL}, {"sliding_window_pattern", "full_every", NULL},
    {"vocab_size", "vocab", "262208"}, END};

#define LATENT_KEYS                                                                                                    \
    {"hidden_act", "activation", "silu"}, {"attention_dropout", "attention_dropout", "0"}, COMMON,                     \
    {"kv_lora_rank", "kv_rank", "512"}, {"q_lora_rank", "q_rank", "1536"}, {"qk_nope_head_dim", "nope_dim", "128"},    \
    {"qk_rope_head_dim", "rope_dim", "64"}, {"v_head_dim", "v_dim", "128"}, {"n_routed_experts", "experts", NULL},     \
    {"num_experts_per_tok", "top_k", NULL}, {"moe_intermediate_size", "expert_ffn", NULL},                             \
    {"first_k_dense_replace", "dense_layers", NULL}, {"attention_bias", "qkv_bias", "0"},                              \
    {"attention_bias", "out_bias", "0"}

static const cm__config_key deepseek_v2[] = {
    {"num_hidden_layers", "layers", "32"}, {"hidden_size", "hidden", "4096"}, {"num_attention_heads", "heads", "32"},
    {"intermediate_size", "ffn", "11008"}, {"vocab_size", "vocab", "102400"}, {"", "experts", "64"}, {"", "top_k", "6"},
    {"", "expert_ffn", "1407"}, {"max_position_embeddings", "positions", "2048"}, LATENT_KEYS, END};

static const cm__config_key deepseek_v3[] = {
    {"num_hidden_layers", "layers", "61"}, {"hidden_size", "hidden", "7168"}, {"num_attention_heads", "heads", "128"},
    {"intermediate_size", "ffn", "18432"}, {"vocab_size", "vocab", "129280"}, {"", "experts", "256"},
    {"", "top_k", "8"}, {"", "expert_ffn", "2048"}, {"", "dense_layers", "3"},
    {"max_position_embeddings", "positions", "4096"}, LATENT_KEYS, END};

static const cm__config_key gpt_oss[] = {
    {"num_hidden_layers", "layers", "36"}, {"hidden_size", "hidden", "2880"}, {"num_attention_heads", "heads", "64"},
    {"num_key_value_heads", "kv_heads", "8"}, {"head_dim", "head_dim", "64"}, {"intermediate_size", "ffn", "2880"},
    {"hidden_act", "activation", "silu"}, {"vocab_size", "vocab", "201088"}, {"num_local_experts", "experts", "128"},
    {"num_experts_per_tok", "top_k", "4"}, {"sliding_window", "window", "128"},
    {"attention_dropout", "attention_dropout", "0"}, {"attention_bias", "qkv_bias", "1"},
    {"attention_bias", "out_bias", "1"}, {"max_position_embeddings", "positions", "131072"}, COMMON, END};

static const cm__config_key phi[] = {
    {"num_hidden_layers", "layers", "24"}, {"hidden_size", "hidden", "2048"}, {"num_attention_heads", "heads", "32"},
    {"num_key_value_heads", "kv_heads", NULL}, {"intermediate_size", "ffn", "8192"}, {"vocab_size", "vocab", "51200"},
    {"hidden_act", "activation", "gelu_new"}, {"partial_rotary_factor", "rotary", "0.5"},
    {"resid_pdrop", "dropout", "0"}, {"embd_pdrop", "embed_dropout", "0"},
    {"attention_dropout", "attention_dropout", "0"}, {"max_position_embeddings", "positions", "2048"}, COMMON, END};

static const cm__config_key phi3[] = {
    LLAMA_KEYS,
    {"num_key_value_heads", "kv_heads", NULL}, {"intermediate_size", "ffn", "8192"}, {"vocab_size", "vocab", "32064"},
    {"partial_rotary_factor", "rotary", NULL}, {"sliding_window", "window", NULL},
    {"resid_pdrop", "dropout", "0"}, {"embd_pdrop", "embed_dropout", "0"},
    {"max_position_embeddings", "positions", "4096"}, END};

static const cm__config_key dinov2[] = {
    {"num_hidden_layers", "layers", "12"}, {"hidden_size", "hidden", "768"}, {"num_attention_heads", "heads", "12"},
    {"hidden_act", "activation", "gelu"}, {"hidden_dropout_prob", "dropout", "0"},
    {"attention_probs_dropout_prob", "attention_dropout", "0"}, {"image_size", "image", "224"},
    {"patch_size", "patch", "14"}, {"num_channels", "channels", "3"}, {"qkv_bias", "qkv_bias", "1"},
    {"use_swiglu_ffn", "gated", "0"}, END};

static const cm__config_key whisper[] = {
    {"encoder_layers", "layers", "4"}, {"decoder_layers", "decoder_layers", "4"}, {"d_model", "hidden", "384"},
    {"encoder_attention_heads", "heads", "6"}, {"encoder_ffn_dim", "ffn", "1536"}, {"vocab_size", "vocab", "51865"},
    {"num_mel_bins", "channels", "80"}, {"max_source_positions", "frames", "1500"},
    {"max_target_positions", "positions", "448"}, {"activation_function", "activation", "gelu"},
    {"dropout", "dropout", "0"}, {"attention_dropout", "attention_dropout", "0"}, COMMON, END};

static const cm__config_key clip[] = {
    {"", "layers", "12"}, {"", "hidden", "768"}, {"", "heads", "12"}, {"", "ffn", "3072"},
    {"projection_dim", "projection", "512"}, {"", "positions", "77"}, END};

/* ---- with state-space layers: config/hybrid.c reads the pattern of layers and the state's width ------------------ */

#define MAMBA_KEYS                                                                                                     \
    {"mamba_n_heads", "state_heads", "128"}, {"mamba_n_groups", "state_groups", "1"},                                  \
    {"mamba_d_state", "state_size", "256"}, {"mamba_d_conv", "state_conv", "4"},                                       \
    {"mamba_chunk_size", "state_chunk", "256"}, {"mamba_conv_bias", "conv_bias", "1"},                                 \
    {"mamba_proj_bias", "state_bias", "0"}
#define HYBRID_KEYS                                                                                                    \
    LLAMA_KEYS, {"num_key_value_heads", "kv_heads", "8"}, {"intermediate_size", "ffn", "14336"},                       \
    {"attention_bias", "qkv_bias", "0"}, {"attention_bias", "out_bias", "0"}, {"mlp_bias", "mlp_bias", "0"}

static const cm__config_key bamba[] = {
    {"", "rotary", "0.5"}, HYBRID_KEYS, MAMBA_KEYS, {"vocab_size", "vocab", "128000"},
    {"max_position_embeddings", "positions", "262144"}, END};

static const cm__config_key falcon_h1[] = {
    HYBRID_KEYS, MAMBA_KEYS, {"mamba_rms_norm", "state_norm", "0"}, {"vocab_size", "vocab", "128000"},
    {"max_position_embeddings", "positions", "8192"}, END};

static const cm__config_key granite_hybrid[] = {
    HYBRID_KEYS, MAMBA_KEYS, {"num_key_value_heads", "kv_heads", NULL}, {"num_local_experts", "experts", "8"},
    {"num_experts_per_tok", "top_k", "2"}, {"intermediate_size", "expert_ffn", "11008"},
    {"shared_intermediate_size", "shared_ffn", "1024"}, {"vocab_size", "vocab", "32000"},
    {"max_position_embeddings", "positions", "2048"}, END};

static const cm__config_key jamba[] = {
    {"", "rotary", "0"}, {"", "state_kind", "mamba"}, {"", "state_norm", "0"}, HYBRID_KEYS,
    {"mamba_d_state", "state_size", "16"}, {"mamba_d_conv", "state_conv", "4"},
    {"mamba_conv_bias", "conv_bias", "1"}, {"mamba_proj_bias", "state_bias", "0"}, {"num_experts", "experts", "16"},
    {"num_experts_per_tok", "top_k", "2"}, {"expert_layer_period", "expert_every", "2"},
    {"vocab_size", "vocab", "65536"}, {"max_position_embeddings", "positions", "262144"}, END};

static const cm__config_key nemotron_h[] = {
    {"", "rotary", "0"}, {"", "gated", "0"}, HYBRID_KEYS, {"head_dim", "head_dim", "128"},
    {"intermediate_size", "ffn", "21504"}, {"mlp_hidden_act", "activation", "relu2"},
    {"mamba_num_heads", "state_heads", "128"}, {"mamba_head_dim", "state_dim", "64"}, {"n_groups", "state_groups", "8"},
    {"ssm_state_size", "state_size", "128"}, {"conv_kernel", "state_conv", "4"}, {"chunk_size", "state_chunk", "128"},
    {"use_conv_bias", "conv_bias", "1"}, {"use_bias", "state_bias", "0"}, {"n_routed_experts", "experts", NULL},
    {"num_experts_per_tok", "top_k", NULL}, {"moe_intermediate_size", "expert_ffn", NULL},
    {"moe_shared_expert_intermediate_size", "shared_ffn", NULL}, {"vocab_size", "vocab", "131072"},
    {"max_position_embeddings", "positions", "4096"}, END};

static const cm__config_key qwen3_next[] = {
    {"", "state_kind", "delta"}, {"", "conv_bias", "0"}, {"", "query_gate", "1"}, {"", "qk_norm", "1"},
    {"", "shared_gate", "1"}, LLAMA_KEYS,
    {"num_hidden_layers", "layers", "48"}, {"hidden_size", "hidden", "2048"}, {"num_attention_heads", "heads", "16"},
    {"num_key_value_heads", "kv_heads", "2"}, {"head_dim", "head_dim", "256"}, {"intermediate_size", "ffn", "5632"},
    {"partial_rotary_factor", "rotary", "0.25"}, {"linear_num_value_heads", "state_heads", "32"},
    {"linear_value_head_dim", "state_dim", "128"}, {"linear_num_key_heads", "state_groups", "16"},
    {"linear_key_head_dim", "state_size", "128"}, {"linear_conv_kernel_dim", "state_conv", "4"},
    {"num_experts", "experts", "512"}, {"num_experts_per_tok", "top_k", "10"},
    {"moe_intermediate_size", "expert_ffn", "512"}, {"shared_expert_intermediate_size", "shared_ffn", "512"},
    {"decoder_sparse_step", "expert_every", "1"}, {"attention_bias", "qkv_bias", "0"},
    {"attention_bias", "out_bias", "0"}, {"vocab_size", "vocab", "151936"},
    {"max_position_embeddings", "positions", "32768"}, END};

const cm__config_type cm__config_types[] = {
    {"gpt2", CM__GPT2, gpt2, 2048, 0},          {"bert", CM__BERT, bert, 512, 0},
    {"roberta", CM__ROBERTA, roberta, 512, 2},  {"distilbert", CM__DISTILBERT, distilbert, 512, 0},
    {"t5", CM__T5, t5, 512, 0},                 {"opt", CM__OPT, opt, 2048, 0},
    {"gpt_neox", CM__NEOX, neox, 2048, 0},      {"llama", CM__LLAMA, llama, 2048, 0},
    {"arcee", CM__LLAMA, arcee, 2048, 0},       {"xlm-roberta", CM__ROBERTA, roberta, 512, 2},
    {"camembert", CM__ROBERTA, roberta, 512, 2},
    {"mistral", CM__MISTRAL, mistral, 2048, 0}, {"qwen2", CM__QWEN2, qwen2, 2048, 0},
    {"mixtral", CM__MIXTRAL, mixtral, 2048, 0}, {"vit", CM__VIT, vit, 0, 0},
    {"qwen3", CM__QWEN3, qwen3, 2048, 0},       {"qwen3_moe", CM__QWEN3, qwen3_moe, 2048, 0},
    {"qwen2_moe", CM__QWEN3, qwen2_moe, 2048, 0}, {"glm4_moe", CM__QWEN3, glm4_moe, 2048, 0},
    {"granitemoe", CM__QWEN3, granitemoe, 2048, 0},
    {"llama4_text", CM__QWEN3, llama4, 2048, 0},
    {"gemma", CM__GEMMA, gemma, 2048, 0},       {"gemma2", CM__GEMMA, gemma2, 2048, 0},
    {"gemma3_text", CM__GEMMA, gemma3, 2048, 0}, {"deepseek_v2", CM__DEEPSEEK, deepseek_v2, 2048, 0},
    {"deepseek_v3", CM__DEEPSEEK, deepseek_v3, 2048, 0}, {"gpt_oss", CM__GPT_OSS, gpt_oss, 2048, 0},
    {"phi", CM__PHI, phi, 2048, 0},             {"phi3", CM__PHI3, phi3, 2048, 0},
    {"dinov2", CM__DINOV2, dinov2, 0, 0},       {"whisper", CM__WHISPER, whisper, 448, 0},
    {"clip", CM__CLIP, clip, 0, 0},             {"bamba", CM__HYBRID, bamba, 2048, 0},
    {"falcon_h1", CM__HYBRID, falcon_h1, 2048, 0}, {"granitemoehybrid", CM__HYBRID, granite_hybrid, 2048, 0},
    {"jamba", CM__HYBRID, jamba, 2048, 0},      {"nemotron_h", CM__HYBRID, nemotron_h, 2048, 0},
    {"qwen3_next", CM__HYBRID, qwen3_next, 2048, 0},
};
const int32_t cm__n_config_types = sizeof cm__config_types / sizeof *cm__config_types;
