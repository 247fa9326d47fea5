/* SPDX-License-Identifier: Apache-2.0 */
/* parts.c - the parameter names of each family, from the state dictionaries of Hugging Face
   transformers. */
#include "import/transformer/layer.h"

#define LLAMA_PARTS                                                                                                    \
    .layer = "model.layers.%d", .attention = "self_attn", .q = "self_attn.q_proj", .k = "self_attn.k_proj",            \
    .v = "self_attn.v_proj", .out = "self_attn.o_proj", .norm1 = "input_layernorm",                                    \
    .norm2 = "post_attention_layernorm", .linear = cm__b_linear
#define LLAMA_MLP .gate = "mlp.gate_proj", .up = "mlp.up_proj", .down = "mlp.down_proj", .act = "mlp.act_fn"
#define LLAMA_OUTLINE .tokens = "model.embed_tokens", .final_norm = "model.norm", .lm = "lm_head", .classifier = "score"
#define BERT_PARTS                                                                                                     \
    .attention = "attention.self", .q = "attention.self.query", .k = "attention.self.key",                             \
    .v = "attention.self.value", .out = "attention.output.dense", .norm1 = "attention.output.LayerNorm",               \
    .up = "intermediate.dense", .act = "intermediate.act", .down = "output.dense", .norm2 = "output.LayerNorm",        \
    .linear = cm__b_linear
#define T5_ATTENTION                                                                                                   \
    .attention = "layer.0.SelfAttention", .q = "layer.0.SelfAttention.q", .k = "layer.0.SelfAttention.k",              \
    .v = "layer.0.SelfAttention.v", .out = "layer.0.SelfAttention.o", .norm1 = "layer.0.layer_norm",                   \
    .linear = cm__b_linear, .scores_written = true, .inner_dropout = true
#define T5_MLP(at)                                                                                                     \
    .gate = at ".DenseReluDense.wi_0", .up = at ".DenseReluDense.wi_1", .ungated = at ".DenseReluDense.wi",            \
    .down = at ".DenseReluDense.wo",                                                                                   \
    .act = at ".DenseReluDense.act", .norm2 = at ".layer_norm"

#define SPEECH_LAYER                                                                                                   \
    .attention = "self_attn", .q = "self_attn.q_proj", .k = "self_attn.k_proj", .v = "self_attn.v_proj",               \
    .out = "self_attn.out_proj", .norm1 = "self_attn_layer_norm", .up = "fc1", .act = "activation_fn", .down = "fc2",  \
    .norm2 = "final_layer_norm", .linear = cm__b_linear, .scales_query = true, .no_key_bias = true
#define CLIP_LAYER                                                                                                     \
    .attention = "self_attn", .q = "self_attn.q_proj", .k = "self_attn.k_proj", .v = "self_attn.v_proj",               \
    .out = "self_attn.out_proj", .norm1 = "layer_norm1", .up = "mlp.fc1", .act = "mlp.activation_fn",                  \
    .down = "mlp.fc2", .norm2 = "layer_norm2", .linear = cm__b_linear

const cm__outline cm__outlines[CM__FAMILIES] = {
    [CM__GPT2] = {.parts = {.layer = "transformer.h.%d", .attention = "attn", .q = "attn.q", .k = "attn.k",
                            .v = "attn.v", .qkv = "attn.c_attn", .out = "attn.c_proj", .norm1 = "ln_1",
                            .up = "mlp.c_fc", .act = "mlp.act", .down = "mlp.c_proj", .norm2 = "ln_2",
                            .linear = cm__b_conv1d, .fused = CM__QKV_SPLIT_FIRST},
                  .tokens = "transformer.wte", .positions = "transformer.wpe", .final_norm = "transformer.ln_f",
                  .lm = "lm_head", .classifier = "score"},
    [CM__BERT] = {.parts = {.layer = "bert.encoder.layer.%d", BERT_PARTS},
                  .tokens = "bert.embeddings.word_embeddings", .positions = "bert.embeddings.position_embeddings",
                  .types = "bert.embeddings.token_type_embeddings", .embed_norm = "bert.embeddings.LayerNorm",
                  .pooler = "bert.pooler.dense", .mlm_dense = "cls.predictions.transform.dense",
                  .mlm_norm = "cls.predictions.transform.LayerNorm", .mlm_decoder = "cls.predictions.decoder",
                  .mlm_bias = "cls.predictions.bias", .classifier = "classifier"},
    [CM__ROBERTA] = {.parts = {.layer = "roberta.encoder.layer.%d", BERT_PARTS},
                     .tokens = "roberta.embeddings.word_embeddings",
                     .positions = "roberta.embeddings.position_embeddings",
                     .types = "roberta.embeddings.token_type_embeddings", .embed_norm = "roberta.embeddings.LayerNorm",
                     .mlm_dense = "lm_head.dense", .mlm_norm = "lm_head.layer_norm", .mlm_decoder = "lm_head.decoder",
                     .mlm_bias = "lm_head.bias", .pre_classifier = "classifier.dense",
                     .pre_classifier_act = CM__ACT_TANH, .classifier = "classifier.out_proj",
                     .ids = CM__IDS_FROM_TOKENS, .offset = 2},
    [CM__DISTILBERT] = {.parts = {.layer = "distilbert.transformer.layer.%d", .attention = "attention",
                                  .q = "attention.q_lin", .k = "attention.k_lin", .v = "attention.v_lin",
                                  .out = "attention.out_lin", .norm1 = "sa_layer_norm", .up = "ffn.lin1",
                                  .act = "ffn.activation", .down = "ffn.lin2", .norm2 = "output_layer_norm",
                                  .linear = cm__b_linear, .no_out_dropout = true},
                        .tokens = "distilbert.embeddings.word_embeddings",
                        .positions = "distilbert.embeddings.position_embeddings",
                        .embed_norm = "distilbert.embeddings.LayerNorm", .mlm_dense = "vocab_transform",
                        .mlm_norm = "vocab_layer_norm", .mlm_decoder = "vocab_projector",
                        .mlm_bias = "vocab_projector.bias", .pre_classifier = "pre_classifier",
                        .pre_classifier_act = CM__ACT_RELU, .classifier = "classifier"},
    [CM__T5] = {.parts = {.layer = "encoder.block.%d", T5_ATTENTION, T5_MLP("layer.1")},
                .tokens = "shared", .final_norm = "encoder.final_layer_norm", .lm = "lm_head"},
    [CM__OPT] = {.parts = {.layer = "model.decoder.layers.%d", .attention = "self_attn", .q = "self_attn.q_proj",
                           .k = "self_attn.k_proj", .v = "self_attn.v_proj", .out = "self_attn.out_proj",
                           .norm1 = "self_attn_layer_norm", .up = "fc1", .act = "activation_fn", .down = "fc2",
                           .norm2 = "final_layer_norm", .linear = cm__b_linear, .scales_query = true},
                 .tokens = "model.decoder.embed_tokens", .positions = "model.decoder.embed_positions",
                 .final_norm = "model.decoder.final_layer_norm", .project_in = "model.decoder.project_in",
                 .project_out = "model.decoder.project_out", .lm = "lm_head", .classifier = "score",
                 .ids = CM__IDS_FROM_MASK, .offset = 2},
    [CM__NEOX] = {.parts = {.layer = "gpt_neox.layers.%d", .attention = "attention", .q = "attention.q",
                            .k = "attention.k", .v = "attention.v", .qkv = "attention.query_key_value",
                            .out = "attention.dense", .norm1 = "input_layernorm", .up = "mlp.dense_h_to_4h",
                            .act = "mlp.act", .down = "mlp.dense_4h_to_h", .norm2 = "post_attention_layernorm",
                            .linear = cm__b_linear, .fused = CM__QKV_HEADS_FIRST},
                  .tokens = "gpt_neox.embed_in", .final_norm = "gpt_neox.final_layer_norm", .lm = "embed_out",
                  .classifier = "score"},
    [CM__LLAMA] = {.parts = {LLAMA_PARTS, LLAMA_MLP}, LLAMA_OUTLINE},
    [CM__MISTRAL] = {.parts = {LLAMA_PARTS, LLAMA_MLP}, LLAMA_OUTLINE},
    [CM__QWEN] = {.parts = {.layer = "transformer.h.%d", .attention = "attn", .q = "attn.q", .k = "attn.k",
                            .v = "attn.v", .qkv = "attn.c_attn", .out = "attn.c_proj", .norm1 = "ln_1", .gate = "mlp.w2",
                            .up = "mlp.w1", .act = "mlp.act", .down = "mlp.c_proj", .norm2 = "ln_2",
                            .linear = cm__b_linear, .fused = CM__QKV_SPLIT_FIRST},
                  .tokens = "transformer.wte", .final_norm = "transformer.ln_f", .lm = "lm_head",
                  .classifier = "score"},
    [CM__QWEN2] = {.parts = {LLAMA_PARTS, LLAMA_MLP}, LLAMA_OUTLINE},
    [CM__MIXTRAL] = {.parts = {LLAMA_PARTS, LLAMA_MLP, .experts = "block_sparse_moe"}, LLAMA_OUTLINE},
    [CM__VIT] = {.parts = {.layer = "vit.encoder.layer.%d", .attention = "attention.attention",
                           .q = "attention.attention.query", .k = "attention.attention.key",
                           .v = "attention.attention.value", .out = "attention.output.dense",
                           .norm1 = "layernorm_before", .up = "intermediate.dense", .act = "intermediate.act",
                           .down = "output.dense", .norm2 = "layernorm_after", .linear = cm__b_linear},
                 .image = "vit.embeddings", .final_norm = "vit.layernorm", .pooler = "vit.pooler.dense",
                 .classifier = "classifier"},
    [CM__QWEN3] = {.parts = {LLAMA_PARTS, LLAMA_MLP, .experts = "mlp"}, LLAMA_OUTLINE},
    [CM__GEMMA] = {.parts = {LLAMA_PARTS, LLAMA_MLP, .after1 = "post_attention_layernorm",
                             .before2 = "pre_feedforward_layernorm", .after2 = "post_feedforward_layernorm"},
                   LLAMA_OUTLINE},
    [CM__DEEPSEEK] = {.parts = {LLAMA_PARTS, LLAMA_MLP, .experts = "mlp"}, LLAMA_OUTLINE},
    [CM__GPT_OSS] = {.parts = {LLAMA_PARTS, LLAMA_MLP, .experts = "mlp"}, LLAMA_OUTLINE},
    [CM__HYBRID] = {.parts = {LLAMA_PARTS, LLAMA_MLP, .experts = "feed_forward"}, LLAMA_OUTLINE},
    [CM__PHI] = {.parts = {.layer = "model.layers.%d", .attention = "self_attn", .q = "self_attn.q_proj",
                           .k = "self_attn.k_proj", .v = "self_attn.v_proj", .out = "self_attn.dense",
                           .norm1 = "input_layernorm", .up = "mlp.fc1", .act = "mlp.activation_fn", .down = "mlp.fc2",
                           .linear = cm__b_linear},
                 .tokens = "model.embed_tokens", .final_norm = "model.final_layernorm", .lm = "lm_head",
                 .lm_bias = true, .classifier = "score"},
    [CM__PHI3] = {.parts = {LLAMA_PARTS, .qkv = "self_attn.qkv_proj", .fused = CM__QKV_SPLIT_FIRST,
                            .gate = "mlp.gate_up_proj", .up = "mlp.gate_up_proj", .down = "mlp.down_proj",
                            .act = "mlp.activation_fn", .gate_in_up = true},
                  LLAMA_OUTLINE},
    [CM__DINOV2] = {.parts = {.layer = "encoder.layer.%d", .attention = "attention.attention",
                              .q = "attention.attention.query", .k = "attention.attention.key",
                              .v = "attention.attention.value", .out = "attention.output.dense", .norm1 = "norm1",
                              .gate = "mlp.weights_in", .up = "mlp.weights_in", .ungated = "mlp.fc1",
                              .act = "mlp.activation", .down = "mlp.fc2", .norm2 = "norm2", .linear = cm__b_linear,
                              .gate_in_up = true, .scale1 = "layer_scale1", .scale2 = "layer_scale2"},
                    .image = "embeddings", .final_norm = "layernorm", .classifier = "classifier"},
    [CM__WHISPER] = {.parts = {.layer = "model.encoder.layers.%d", SPEECH_LAYER},
                     .tokens = "model.decoder.embed_tokens", .positions = "model.decoder.embed_positions",
                     .final_norm = "model.encoder.layer_norm", .lm = "proj_out"},
    [CM__CLIP] = {.parts = {.layer = "vision_model.encoder.layers.%d", CLIP_LAYER},
                  .image = "vision_model.embeddings", .tokens = "text_model.embeddings.token_embedding",
                  .positions = "text_model.embeddings.position_embedding",
                  .final_norm = "text_model.final_layer_norm"},
};

const cm__parts cm__whisper_decoder = {
    .layer = "model.decoder.layers.%d", SPEECH_LAYER, .cross = "encoder_attn", .cross_q = "encoder_attn.q_proj",
    .cross_k = "encoder_attn.k_proj", .cross_v = "encoder_attn.v_proj", .cross_out = "encoder_attn.out_proj",
    .cross_norm = "encoder_attn_layer_norm"};

const cm__parts cm__clip_text = {.layer = "text_model.encoder.layers.%d", CLIP_LAYER};


const cm__parts cm__t5_decoder = {
    .layer = "decoder.block.%d", T5_ATTENTION, T5_MLP("layer.2"), .cross = "layer.1.EncDecAttention",
    .cross_q = "layer.1.EncDecAttention.q", .cross_k = "layer.1.EncDecAttention.k",
    .cross_v = "layer.1.EncDecAttention.v", .cross_out = "layer.1.EncDecAttention.o",
    .cross_norm = "layer.1.layer_norm"};
