/* SPDX-License-Identifier: Apache-2.0 */
/* test_config.c - Hugging Face configurations: exact parameter counts of PyTorch, and refusals that name the key. */
#include <stdio.h>
#include "imported_config.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static cm_graph *accepted(const char *text, int64_t seq)
{
    cm_graph *g = NULL;
    cm_diag   diag;
    if (import(text, seq, &g, &diag) != CM_OK) fail_msg("%s: %s: %s", text, diag.place, diag.reason);
    return g;
}

static int64_t parameters(const char *text)
{
    cm_graph *g = accepted(text, 0);
    cm_totals totals;
    cm_graph_totals(g, 1, &totals);
    cm_graph_free(g);
    return totals.parameters;
}

/* A dimension of the first input: the sequence length of token models. */
static int64_t length(const char *text, int64_t seq)
{
    cm_graph *g = accepted(text, seq);
    int64_t   n = cm__t(g, g->inputs[0])->dims[1].fixed;
    cm_graph_free(g);
    return n;
}

/* ---- counts ------------------------------------------------------------------------------------------------------ */

#define LLAMA(h, f, l, n, kv, rest)                                                                                    \
    "{\"model_type\":\"llama\",\"architectures\":[\"LlamaForCausalLM\"],\"hidden_size\":" #h                           \
    ",\"intermediate_size\":" #f ",\"num_hidden_layers\":" #l ",\"num_attention_heads\":" #n                           \
    ",\"num_key_value_heads\":" #kv ",\"vocab_size\":32000,\"max_position_embeddings\":4096" rest "}"
#define GPT2(h, l, n) "{\"model_type\":\"gpt2\",\"n_embd\":" #h ",\"n_layer\":" #l ",\"n_head\":" #n "}"
#define MISTRAL_SIZES                                                                                                  \
    "\"hidden_size\":4096,\"intermediate_size\":14336,\"num_hidden_layers\":32,\"num_attention_heads\":32,"            \
    "\"num_key_value_heads\":8,\"vocab_size\":32000,\"max_position_embeddings\":32768,"

/* Each count is the result of sum(p.numel() for p in model.parameters()) for the published configuration. */
static const struct {
    const char *config;
    int64_t     parameters;
} known[] = {
    {"{\"model_type\":\"bert\",\"architectures\":[\"BertForMaskedLM\"]}", 109514298},
    {"{\"model_type\":\"bert\",\"architectures\":[\"BertForMaskedLM\"],\"hidden_size\":1024,\"num_hidden_layers\":24,"
     "\"num_attention_heads\":16,\"intermediate_size\":4096}", 335174458},
    {"{\"model_type\":\"bert\",\"architectures\":[\"BertModel\"]}", 109482240},
    {"{\"model_type\":\"bert\",\"architectures\":[\"BertForSequenceClassification\"]}", 109482240 + 2 * 768 + 2},
    {"{\"model_type\":\"xlm-roberta\",\"architectures\":[\"XLMRobertaForMaskedLM\"],\"vocab_size\":250002,"
     "\"max_position_embeddings\":514,\"type_vocab_size\":1}", 278295186},
    {"{\"model_type\":\"arcee\",\"architectures\":[\"ArceeForCausalLM\"],\"num_hidden_layers\":36,"
     "\"num_attention_heads\":20,\"num_key_value_heads\":4,\"head_dim\":128,\"vocab_size\":128004,"
     "\"time_step_limit\":[0.0,Infinity],\"name\":\"an \\\"Infinity\",\"x\":[-Infinity,NaN]}", 4619184640},
    {GPT2(768, 12, 12), 124439808},
    {GPT2(1024, 24, 16), 354823168},
    {GPT2(1280, 36, 20), 774030080},
    {GPT2(1600, 48, 25), 1557611200},
    {"{\"model_type\":\"gpt2\",\"architectures\":[\"GPT2LMHeadModel\"],\"n_inner\":null,\"n_ctx\":1024}", 124439808},
    {LLAMA(4096, 11008, 32, 32, 32, ""), 6738415616},
    {LLAMA(5120, 13824, 40, 40, 40, ""), 13015864320},
    {LLAMA(8192, 28672, 80, 64, 8, ""), 68976648192},
    {"{\"model_type\":\"mistral\",\"architectures\":[\"MistralForCausalLM\"]," MISTRAL_SIZES "\"sliding_window\":4096}",
     7241732096},
    {"{\"model_type\":\"mixtral\",\"architectures\":[\"MixtralForCausalLM\"]," MISTRAL_SIZES
     "\"num_local_experts\":8,\"num_experts_per_tok\":2,\"sliding_window\":null}", 46702792704},
    {"{\"model_type\":\"t5\",\"architectures\":[\"T5WithLMHeadModel\"],\"d_model\":512,\"d_ff\":2048,\"d_kv\":64,"
     "\"num_layers\":6,\"num_heads\":8,\"vocab_size\":32128,\"n_positions\":512,\"dropout_rate\":0.1}", 60506624},
    {"{\"model_type\":\"opt\",\"architectures\":[\"OPTForCausalLM\"],\"word_embed_proj_dim\":768,\"vocab_size\":50272}",
     125239296},
    {"{\"model_type\":\"roberta\",\"architectures\":[\"RobertaForMaskedLM\"],\"max_position_embeddings\":514,"
     "\"type_vocab_size\":1,\"vocab_size\":50265}", 124697433},
    {"{\"model_type\":\"distilbert\",\"architectures\":[\"DistilBertForMaskedLM\"]}", 66985530},
    {"{\"model_type\":\"qwen2\",\"architectures\":[\"Qwen2ForCausalLM\"],\"hidden_size\":896,\"num_hidden_layers\":24,"
     "\"num_attention_heads\":14,\"num_key_value_heads\":2,\"intermediate_size\":4864,\"vocab_size\":151936,"
     "\"tie_word_embeddings\":true,\"use_sliding_window\":false,\"sliding_window\":32768}", 494032768},
    {"{\"model_type\":\"gpt_neox\",\"architectures\":[\"GPTNeoXForCausalLM\"],\"hidden_size\":768,"
     "\"num_hidden_layers\":12,\"num_attention_heads\":12,\"intermediate_size\":3072,\"vocab_size\":50304}", 162322944},
    {"{\"model_type\":\"vit\",\"architectures\":[\"ViTForImageClassification\"],\"num_labels\":1000}", 86567656},
    /* not counted: sinks of gpt-oss, the sines of Whisper, the mask token of DINOv2: no product reads them */
    {"{\"model_type\":\"deepseek_v2\",\"architectures\":[\"DeepseekV2ForCausalLM\"],\"hidden_size\":2048,"
     "\"intermediate_size\":10944,\"moe_intermediate_size\":1408,\"num_hidden_layers\":27,"
     "\"num_attention_heads\":16,\"n_shared_experts\":2,\"n_routed_experts\":64,\"q_lora_rank\":null,"
     "\"num_experts_per_tok\":6,\"first_k_dense_replace\":1,\"vocab_size\":102400}", 15706484224},
    {"{\"model_type\":\"deepseek_v3\",\"n_shared_experts\":1}", 671026404352},
    {"{\"model_type\":\"gpt_oss\",\"num_hidden_layers\":24,\"num_local_experts\":32}", 20914757184 - 24 * 64},
    {"{\"model_type\":\"phi\",\"hidden_size\":2560,\"intermediate_size\":10240,\"num_hidden_layers\":32,"
     "\"partial_rotary_factor\":0.4}", 2779683840},
    {"{\"model_type\":\"phi3\",\"architectures\":[\"Phi3ForCausalLM\"],\"hidden_size\":3072}", 3821079552},
    {"{\"model_type\":\"whisper\",\"architectures\":[\"WhisperForConditionalGeneration\"],\"d_model\":768,"
     "\"encoder_layers\":12,\"decoder_layers\":12,\"encoder_attention_heads\":12,\"encoder_ffn_dim\":3072}", 241734912 - 1500 * 768},
    {"{\"model_type\":\"clip\",\"architectures\":[\"CLIPModel\"]}", 151277313},
    {"{\"model_type\":\"clip\",\"projection_dim\":768,\"vision_config\":{\"hidden_size\":1024,"
     "\"num_hidden_layers\":24,\"num_attention_heads\":16,\"intermediate_size\":4096,\"patch_size\":14},"
     "\"text_config\":{\"hidden_size\":768,\"num_attention_heads\":12,\"intermediate_size\":3072}}", 427616513},
    {"{\"model_type\":\"dinov2\",\"architectures\":[\"Dinov2Model\"]}", 85725696 - 768},
    {"{\"model_type\":\"dinov2\",\"architectures\":[\"Dinov2ForImageClassification\"],\"num_labels\":1000}", 87262696 - 768},
    {"{\"model_type\":\"gemma\",\"hidden_size\":3072,\"intermediate_size\":24576,\"num_hidden_layers\":28,"
     "\"num_attention_heads\":16,\"num_key_value_heads\":16}", 8537680896},
    {"{\"model_type\":\"gemma2\",\"hidden_size\":3584,\"intermediate_size\":14336,\"num_hidden_layers\":42,"
     "\"num_attention_heads\":16,\"num_key_value_heads\":8}", 9241705984},
    {"{\"model_type\":\"gemma3_text\",\"hidden_size\":2560,\"intermediate_size\":10240,\"num_hidden_layers\":34}", 3880263168},
    {"{\"model_type\":\"qwen3\",\"intermediate_size\":12288,\"num_hidden_layers\":36,\"num_key_value_heads\":8,"
     "\"head_dim\":128}", 8190735360},
    {"{\"model_type\":\"qwen3_moe\",\"hidden_size\":2048,\"num_hidden_layers\":48,\"head_dim\":128}", 30532122624},
    {"{\"model_type\":\"qwen2_moe\",\"hidden_size\":2048,\"num_hidden_layers\":24,\"num_attention_heads\":16}", 14315784192},
    {"{\"model_type\":\"granitemoe\"}", 37039116288},
    {"{\"model_type\":\"llama4_text\"}", 107769861120}, /* Scout */
    {"{\"model_type\":\"llama4_text\",\"num_local_experts\":128,\"interleave_moe_layer_step\":2}", 400711848960},
    {"{\"model_type\":\"glm4_moe\",\"attention_bias\":true,\"head_dim\":128,"
     "\"num_nextn_predict_layers\":1}", 106852245504},
};

static void counts_are_pytorchs(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(known); i++)
        if (parameters(known[i].config) != known[i].parameters)
            fail_msg("%lld, expected %lld: %s", (long long)parameters(known[i].config), (long long)known[i].parameters,
                     known[i].config);
}

/* OPT-350m: 24 layers of 1,024 after norms, embeddings of 512 projected in and out, no final norm. */
static void narrow_embeddings_are_projected(void **state)
{
    (void)state;
    const int64_t h = 1024, e = 512, layer = 4 * (h * h + h) + 2 * 4 * h * h + 5 * h + 4 * h;
    assert_true(parameters("{\"model_type\":\"opt\",\"hidden_size\":1024,\"num_hidden_layers\":24,\"ffn_dim\":4096,"
                           "\"num_attention_heads\":16,\"word_embed_proj_dim\":512,\"do_layer_norm_before\":false}")
                == 50272 * e + 2050 * h + 2 * e * h + 24 * layer);
}

/* T5 v1.1: gated, untied, with a head dimension that is not hidden / heads. */
static void gated_t5(void **state)
{
    (void)state;
    const int64_t h = 512, inner = 6 * 64, f = 1024, v = 32128, mlp = 3 * h * f + h, attention = 4 * h * inner + h;
    assert_true(parameters("{\"model_type\":\"t5\",\"d_model\":512,\"d_ff\":1024,\"num_layers\":8,\"num_heads\":6,"
                           "\"feed_forward_proj\":\"gated-gelu\",\"tie_word_embeddings\":false}")
                == 2 * v * h + 8 * (attention + mlp) + 8 * (2 * attention + mlp) + 2 * h + 2 * 32 * 6);
}

static void biases_and_labels_follow_their_keys(void **state)
{
    (void)state;
    const int64_t h = 64, f = 128, n = 2;
    const int64_t plain = parameters(LLAMA(64, 128, 2, 4, 4, ""));
    assert_true(parameters(LLAMA(64, 128, 2, 4, 4, ",\"attention_bias\":true")) == plain + n * 4 * h);
    assert_true(parameters(LLAMA(64, 128, 2, 4, 4, ",\"mlp_bias\":true")) == plain + n * (2 * f + h));
    assert_true(parameters(LLAMA(64, 128, 2, 4, 4, ",\"head_dim\":32")) == plain + n * 4 * h * (4 * 32 - h));
    assert_true(parameters("{\"model_type\":\"distilbert\",\"architectures\":[\"DistilBertForSequenceClassification\"],"
                           "\"id2label\":{\"0\":\"a\",\"1\":\"b\",\"2\":\"c\"}}")
                == 66362880 + 768 * 768 + 768 + 3 * 768 + 3);
}

/* ---- lengths ----------------------------------------------------------------------------------------------------- */

static void sequences_are_the_models_longest_within_reason(void **state)
{
    (void)state;
    assert_int_equal(length(GPT2(768, 12, 12), 0), 1024);
    assert_int_equal(length(LLAMA(64, 128, 2, 4, 4, ""), 0), 2048);
    assert_int_equal(length(LLAMA(64, 128, 2, 4, 4, ""), 16384), 16384); /* rotary positions have no limit */
    assert_int_equal(length("{\"model_type\":\"t5\"}", 0), 512);
    assert_int_equal(length("{\"model_type\":\"roberta\",\"max_position_embeddings\":514}", 0), 512);
    assert_int_equal(length(GPT2(768, 12, 12), 128), 128);
}

/* A sequence length that the config does not state is assumed with a warning. */
static void an_assumed_length_is_said(void **state)
{
    (void)state;
    static const char config[] = LLAMA(64, 128, 1, 4, 4, ",\"head_dim\":16,\"hidden_act\":\"silu\","
        "\"attention_bias\":false,\"mlp_bias\":false,\"attention_dropout\":0.0,\"tie_word_embeddings\":false");
    cm_graph *g = accepted(config, 0);
    assert_int_equal(cm_graph_seq(g), 2048);
    assert_int_equal(cm_graph_warnings(g), 1);
    assert_non_null(strstr(cm_graph_warning(g, 0), "2048"));
    assert_non_null(strstr(cm_graph_warning(g, 0), "4096"));
    cm_graph_free(g);
    g = accepted(config, 3072);
    assert_int_equal(cm_graph_seq(g), 3072);
    assert_int_equal(cm_graph_warnings(g), 0);
    cm_graph_free(g);
}

static void a_shorter_sequence_keeps_the_parameters(void **state)
{
    (void)state;
    cm_graph *g = accepted("{\"model_type\":\"bert\"}", 128);
    cm_totals totals;
    cm_graph_totals(g, 1, &totals);
    assert_true(totals.parameters == 109514298);
    cm_graph_free(g);
}

/* ---- refusals ---------------------------------------------------------------------------------------------------- */

static const struct {
    const char *config;
    int64_t     seq;
    cm_status   status;
    const char *place, *reason; /* parts of the message */
} refused[] = {
    {"{", 0, CM_ERR_FORMAT, "line 1", "not JSON"},
    {"[]", 0, CM_ERR_FORMAT, "", "object"},
    {"{}", 0, CM_ERR_FORMAT, "", "model_type"},
    {"{\"model_type\":7}", 0, CM_ERR_FORMAT, "model_type", "expected text"},
    {"{\"model_type\":\"bert\",\n\"model_type\":\"bert\"}", 0, CM_ERR_FORMAT, "line 2", "duplicate"},
    {"{\"model_type\":\"mistrall\"}", 0, CM_ERR_UNSUPPORTED, "model_type", "did you mean 'mistral'?"},
    {"{\"model_type\":\"mamba\"}", 0, CM_ERR_UNSUPPORTED, "model_type", "supported: gpt2, bert"},
    {"{\"model_type\":\"gpt2\",\"n_layer\":\"12\"}", 0, CM_ERR_FORMAT, "n_layer", "text, expected a whole number"},
    {"{\"model_type\":\"gpt2\",\"n_layer\":12.5}", 0, CM_ERR_FORMAT, "n_layer", "expected a whole number"},
    {"{\"model_type\":\"gpt2\",\"n_layer\":-1}", 0, CM_ERR_ARGUMENT, "n_layer", "'-1'"},
    {"{\"model_type\":\"gpt2\",\"n_layer\":1000000000}", 0, CM_ERR_ARGUMENT, "n_layer", "from 1 to"},
    {"{\"model_type\":\"gpt2\",\"n_embd\":1000000000000000000}", 0, CM_ERR_ARGUMENT, "n_embd", "from 1 to"},
    {"{\"model_type\":\"gpt2\",\"n_embd\":100}", 0, CM_ERR_ARGUMENT, "gpt2", "not divisible by 12 heads"},
    {"{\"model_type\":\"gpt2\",\"n_head\":null}", 0, CM_ERR_ARGUMENT, "gpt2", "heads is missing"},
    {"{\"model_type\":\"gpt2\",\"tie_word_embeddings\":1}", 0, CM_ERR_FORMAT, "tie_word_embeddings", "true or false"},
    {"{\"model_type\":\"gpt2\",\"attn_pdrop\":1.5}", 0, CM_ERR_ARGUMENT, "attn_pdrop", "from 0 to 1"},
    {"{\"model_type\":\"gpt2\",\"activation_function\":\"snake\"}", 0, CM_ERR_UNSUPPORTED, "activation",
     "snake"},
    {"{\"model_type\":\"gpt2\",\"add_cross_attention\":true}", 0, CM_ERR_UNSUPPORTED, "add_cross_attention", "false"},
    {"{\"model_type\":\"bert\",\"position_embedding_type\":\"relative_key\"}", 0, CM_ERR_UNSUPPORTED,
     "position_embedding_type", "absolute"},
    {"{\"model_type\":\"bert\",\"architectures\":[\"BertForQuestionAnswering\"]}", 0, CM_ERR_UNSUPPORTED,
     "architectures", "BertForQuestionAnswering"},
    {"{\"model_type\":\"bert\",\"architectures\":[3]}", 0, CM_ERR_FORMAT, "architectures", "class names"},
    {"{\"model_type\":\"t5\",\"architectures\":[\"T5EncoderModel\"]}", 0, CM_ERR_UNSUPPORTED, "architectures", "T5Enc"},
    {"{\"model_type\":\"gpt2\",\"architectures\":[\"XForMaskedLM\"]}", 0, CM_ERR_UNSUPPORTED, "gpt2", "head mlm"},
    {"{\"model_type\":\"llama\",\"num_key_value_heads\":5}", 0, CM_ERR_ARGUMENT, "llama", "5 key/value heads"},
    {"{\"model_type\":\"mixtral\",\"num_experts_per_tok\":9}", 0, CM_ERR_ARGUMENT, "mixtral", "top_k 9"},
    {"{\"model_type\":\"roberta\",\"max_position_embeddings\":2}", 0, CM_ERR_ARGUMENT, "roberta", "no position"},
    {"{\"model_type\":\"vit\",\"patch_size\":15}", 0, CM_ERR_ARGUMENT, "vit", "patch size 15"},
    {"{\"model_type\":\"vit\"}", 64, CM_ERR_ARGUMENT, "vit", "image"},
    {"{\"model_type\":\"gpt2\"}", 1025, CM_ERR_ARGUMENT, "gpt2", "1024 learned positions"},
    {"{\"model_type\":\"gpt2\"}", -1, CM_ERR_ARGUMENT, "gpt2", "sequence length -1"},
};

static void bad_configurations_are_refused_by_key(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(refused); i++) {
        cm_graph *g = NULL;
        cm_diag   diag;
        if (import(refused[i].config, refused[i].seq, &g, &diag) != refused[i].status ||
            !strstr(diag.place, refused[i].place) || !strstr(diag.reason, refused[i].reason))
            fail_msg("%s: said '%s: %s'", refused[i].config, diag.place, diag.reason);
    }
}

/* A family that is not known is read by its keys, with a warning of what was assumed. Counts are transformers'; the
   difference is what the nearest family does not have: norms of whole queries and keys (OLMo 2, two of 4,096 in each of
   32 layers), biases of norms (Cohere has none: it is one norm short per layer). */
static void test_unknown_types_read_by_their_keys(void **state)
{
    (void)state;
    static const char smol[] =
        "{\"model_type\": \"smollm3\", \"architectures\": [\"SmolLM3ForCausalLM\"], \"hidden_size\": 2048, "
        "\"num_hidden_layers\": 36, \"num_attention_heads\": 16, \"num_key_value_heads\": 4, "
        "\"intermediate_size\": 11008, \"vocab_size\": 128256, \"rms_norm_eps\": 1e-6, "
        "\"tie_word_embeddings\": true, \"no_rope_layer_interval\": 4}";
    static const char olmo2[] =
        "{\"model_type\": \"olmo2\", \"architectures\": [\"Olmo2ForCausalLM\"], \"hidden_size\": 4096, "
        "\"num_hidden_layers\": 32, \"num_attention_heads\": 32, \"num_key_value_heads\": 32, "
        "\"intermediate_size\": 11008, \"vocab_size\": 50304, \"rms_norm_eps\": 1e-5}";
    assert_int_equal(parameters(smol), 3075098624);
    assert_int_equal(parameters(olmo2), 6888624128 - 32 * 2 * 4096);
    cm_graph *g = accepted(smol, 128);
    assert_int_equal(g->n_warnings, 2); /* the other names what the configuration does not state */
    assert_non_null(strstr(g->warnings[0], "'smollm3' is not known: read as a Llama"));
    assert_non_null(strstr(g->warnings[0], "not read: no_rope_layer_interval"));
    cm_graph_free(g);
}

/* Names of the same size in other configurations: n_embd, d_model; experts and latent attention have families. */
static void test_unknown_types_have_other_names_of_keys(void **state)
{
    (void)state;
    static const struct { const char *rest, *family; int64_t parameters; } rows[] = {
        {"\"n_embd\": 64, \"n_layer\": 2, \"n_head\": 4, \"n_inner\": 128, \"n_positions\": 32", "a GPT-2",
         100 * 64 + 32 * 64 + 2 * (4 * 64 * 64 + 4 * 64 + 2 * 64 * 128 + 128 + 64 + 4 * 64) + 2 * 64},
        {"\"d_model\": 64, \"n_layers\": 2, \"n_heads\": 4, \"d_ff\": 128, \"rms_norm_eps\": 1e-5, "
         "\"num_experts\": 4, \"moe_top_k\": 2", "experts",
         2 * 100 * 64 + 2 * (4 * 64 * 64 + 4 * 64 + 4 * 3 * 64 * 128 + 2 * 64) + 64},
        /* sizes in objects (DBRX); experts in the second layer only */
        {"\"d_model\": 64, \"n_layers\": 2, \"n_heads\": 4, \"decoder_sparse_step\": 2, \"attn_config\": "
         "{\"kv_n_heads\": 2}, \"ffn_config\": {\"ffn_hidden_size\": 128, \"moe_num_experts\": 4, \"moe_top_k\": 2}",
         "experts", 2 * 100 * 64 + 2 * (3 * 64 * 64 + 2 * 64) + 3 * 64 * 128 + 4 * 64 + 4 * 3 * 64 * 128 + 64},
        {"\"hidden_size\": 64, \"num_hidden_layers\": 2, \"num_attention_heads\": 4, \"intermediate_size\": 128, "
         "\"rms_norm_eps\": 1e-5, \"attn_type_list\": [0, 1]", "not read: attn_type_list",
         2 * 100 * 64 + 2 * (4 * 64 * 64 + 3 * 64 * 128 + 2 * 64) + 64},
        {"\"hidden_size\": 64, \"num_hidden_layers\": 2, \"num_attention_heads\": 4, \"intermediate_size\": 128, "
         "\"rms_norm_eps\": 1e-5, \"kv_lora_rank\": 16, \"qk_nope_head_dim\": 8, \"qk_rope_head_dim\": 4, "
         "\"v_head_dim\": 8", "latent attention",
         2 * 100 * 64 + 2 * (64 * 48 + 64 * 20 + 16 + 16 * 64 + 32 * 64 + 3 * 64 * 128 + 2 * 64) + 64},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char text[512];
        snprintf(text, sizeof text, "{\"model_type\": \"new\", \"vocab_size\": 100, %s}", rows[i].rest);
        cm_graph *g = accepted(text, 16);
        assert_non_null(strstr(g->warnings[0], rows[i].family));
        assert_int_equal(parameters(text), rows[i].parameters);
        cm_graph_free(g);
    }
}

/* Encoders of images and masked models that are not known. Counts are transformers'; DINOv3's small model has no learned
   positions and no biases of keys, but a token for masked patches. The head of SigLIP is said to be missing. */
static void test_unknown_encoders_read_by_their_keys(void **state)
{
    (void)state;
    static const char dino[] =
        "{\"model_type\": \"dinov3_vit\", \"architectures\": [\"DINOv3ViTModel\"], \"hidden_size\": 384, "
        "\"intermediate_size\": 1536, \"num_hidden_layers\": 12, \"num_attention_heads\": 6, \"patch_size\": 16, "
        "\"image_size\": 224, \"num_channels\": 3, \"layerscale_value\": 1.0}";
    static const char siglip[] =
        "{\"model_type\": \"siglip_vision_model\", \"hidden_size\": 768, \"intermediate_size\": 3072, "
        "\"num_hidden_layers\": 12, \"num_attention_heads\": 12, \"patch_size\": 16, \"num_patches\": 256}";
    static const char deberta[] =
        "{\"model_type\": \"deberta-v2\", \"architectures\": [\"DebertaV2ForMaskedLM\"], \"hidden_size\": 1536, "
        "\"intermediate_size\": 6144, \"num_hidden_layers\": 24, \"num_attention_heads\": 24, \"vocab_size\": 128100, "
        "\"max_position_embeddings\": 512, \"type_vocab_size\": 0}";
    const int64_t mask = 384, positions = 197 * 384, key_biases = 12 * 384;
    assert_int_equal(parameters(dino), 21595008 - mask + positions + key_biases);
    assert_int_equal(parameters(deberta), 879999588);
    cm_graph *g = accepted(siglip, 0);
    assert_non_null(strstr(g->warnings[0], "read as a ViT (learned positions, a class token, no other tokens"));
    assert_non_null(strstr(g->warnings[0], "no pooling by attention"));
    assert_int_equal(cm__t(g, g->inputs[0])->dims[2].fixed, 256); /* 16 x 16 patches of 16 pixels */
    cm_graph_free(g);
}

/* States of their own, or a second stack: no family reads them. */
static void test_foreign_layers_are_refused(void **state)
{
    (void)state;
    static const char *const keys[] = {"is_encoder_decoder\": true", "mamba_d_state\": 16", "state_size\": 16",
                                       "num_hidden_groups\": 1"};
    for (size_t i = 0; i < COUNT(keys); i++) {
        char      text[512];
        cm_graph *g;
        cm_diag   diag;
        snprintf(text, sizeof text,
                 "{\"model_type\": \"new\", \"hidden_size\": 64, \"num_hidden_layers\": 2, \"num_attention_heads\": 4, "
                 "\"intermediate_size\": 128, \"vocab_size\": 100, \"rms_norm_eps\": 1e-5, \"%s}", keys[i]);
        assert_int_equal(import(text, 0, &g, &diag), CM_ERR_UNSUPPORTED);
    }
}

/* The language model inside a model of images and text, with the layers that see all tokens. */
static void test_nested_configurations(void **state)
{
    (void)state;
    static const char text[] =
        "{\"model_type\": \"gemma3\", \"architectures\": [\"Gemma3ForConditionalGeneration\"], \"vision_config\": {}, "
        "\"text_config\": {\"model_type\": \"gemma3_text\", \"num_hidden_layers\": 4, \"sliding_window\": 8, "
        "\"layer_types\": [\"sliding_attention\", \"full_attention\", \"sliding_attention\", \"full_attention\"]}}";
    cm_graph *g = accepted(text, 64);
    int32_t   windows = 0, layers = 0;
    for (int32_t i = 0; i < g->n_nodes; i++) {
        layers += g->nodes[i].op == CM_OP_ATTENTION;
        windows += g->nodes[i].op == CM_OP_ATTENTION && cm__attr_int(&g->nodes[i], CM_ATTR_WINDOW, 0) == 8;
    }
    assert_int_equal(layers, 4);
    assert_int_equal(windows, 2);
    assert_non_null(strstr(g->warnings[g->n_warnings - 1], "text_config"));
    cm_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_are_pytorchs),
        cmocka_unit_test(narrow_embeddings_are_projected),
        cmocka_unit_test(gated_t5),
        cmocka_unit_test(biases_and_labels_follow_their_keys),
        cmocka_unit_test(sequences_are_the_models_longest_within_reason),
        cmocka_unit_test(an_assumed_length_is_said), cmocka_unit_test(a_shorter_sequence_keeps_the_parameters),
        cmocka_unit_test(test_unknown_types_read_by_their_keys),
        cmocka_unit_test(test_unknown_types_have_other_names_of_keys),
        cmocka_unit_test(test_unknown_encoders_read_by_their_keys),
        cmocka_unit_test(test_nested_configurations),
        cmocka_unit_test(test_foreign_layers_are_refused),
        cmocka_unit_test(bad_configurations_are_refused_by_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
