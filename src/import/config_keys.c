/* SPDX-License-Identifier: Apache-2.0 */
/* config_keys.c - keys and defaults of the configuration classes of Hugging Face transformers (4.21 to 4.57). */
#include "import/config.h"

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

const cm__config_type cm__config_types[] = {
    {"gpt2", CM__GPT2, gpt2, 2048, 0},          {"bert", CM__BERT, bert, 512, 0},
    {"roberta", CM__ROBERTA, roberta, 512, 2},  {"distilbert", CM__DISTILBERT, distilbert, 512, 0},
    {"t5", CM__T5, t5, 512, 0},                 {"opt", CM__OPT, opt, 2048, 0},
    {"gpt_neox", CM__NEOX, neox, 2048, 0},      {"llama", CM__LLAMA, llama, 2048, 0},
    {"mistral", CM__MISTRAL, mistral, 2048, 0}, {"qwen2", CM__QWEN2, qwen2, 2048, 0},
    {"mixtral", CM__MIXTRAL, mixtral, 2048, 0}, {"vit", CM__VIT, vit, 0, 0},
};
const int32_t cm__n_config_types = sizeof cm__config_types / sizeof *cm__config_types;
