/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guess.c - configurations beyond one key, one field: models that are not known by name, nested configurations,
 * and fields that follow from several keys.
 */
#include <string.h>
#include "base/text.h"
#include "import/config/config.h"

#define NAMED_MAX 6 /* keys that a warning lists */

/* ---- the closest family ------------------------------------------------------------------------------------------ */

/* The names that configurations use for one size. Later rows replace earlier ones. */
const cm__config_key cm__config_usual[] = {
    {"n_layer", "layers", NULL}, {"n_layers", "layers", NULL}, {"num_layers", "layers", NULL},
    {"num_hidden_layers", "layers", NULL},
    {"n_embd", "hidden", NULL}, {"d_model", "hidden", NULL}, {"dim", "hidden", NULL}, {"hidden_size", "hidden", NULL},
    {"n_head", "heads", NULL}, {"n_heads", "heads", NULL}, {"num_heads", "heads", NULL},
    {"num_attention_heads", "heads", NULL},
    {"num_kv_heads", "kv_heads", NULL}, {"n_kv_heads", "kv_heads", NULL}, {"kv_n_heads", "kv_heads", NULL},
    {"num_key_value_heads", "kv_heads", NULL},
    {"head_dim", "head_dim", NULL},
    {"n_inner", "ffn", NULL}, {"ffn_dim", "ffn", NULL}, {"ffn_hidden_size", "ffn", NULL}, {"d_ff", "ffn", NULL},
    {"intermediate_size", "ffn", NULL},
    {"vocab_size", "vocab", NULL},
    {"n_positions", "positions", NULL}, {"max_seq_len", "positions", NULL},
    {"max_position_embeddings", "positions", NULL},
    {"activation_function", "activation", NULL}, {"hidden_activation", "activation", NULL},
    {"hidden_act", "activation", NULL},
    {"num_experts", "experts", NULL}, {"num_local_experts", "experts", NULL}, {"n_routed_experts", "experts", NULL},
    {"moe_num_experts", "experts", NULL},
    {"moe_top_k", "top_k", NULL}, {"moe_topk", "top_k", NULL}, {"num_experts_per_token", "top_k", NULL},
    {"num_experts_per_tok", "top_k", NULL},
    {"moe_intermediate_size", "expert_ffn", NULL}, {"shared_expert_intermediate_size", "shared_ffn", NULL},
    {"first_k_dense_replace", "dense_layers", NULL}, {"decoder_sparse_step", "expert_every", NULL},
    {"moe_layer_freq", "expert_every", NULL}, {"interleave_moe_layer_step", "expert_every", NULL},
    {"q_lora_rank", "q_rank", NULL}, {"kv_lora_rank", "kv_rank", NULL}, {"qk_nope_head_dim", "nope_dim", NULL},
    {"qk_rope_head_dim", "rope_dim", NULL}, {"v_head_dim", "v_dim", NULL},
    {"rotary_pct", "rotary", NULL}, {"partial_rotary_factor", "rotary", NULL},
    {"use_parallel_residual", "parallel", NULL}, {"parallel_attn", "parallel", NULL},
    {"attention_bias", "qkv_bias", NULL}, {"attention_bias", "out_bias", NULL}, {"qkv_bias", "qkv_bias", NULL},
    {"mlp_bias", "mlp_bias", NULL}, {"use_qk_norm", "qk_norm", NULL}, {"qk_layernorm", "qk_norm", NULL},
    {"tie_word_embeddings", "tied", NULL}, {"type_vocab_size", "types", NULL},
    {"hidden_dropout_prob", "dropout", NULL}, {"hidden_dropout_prob", "embed_dropout", NULL},
    {"attention_probs_dropout_prob", "attention_dropout", NULL},
    {"image_size", "image", NULL}, {"patch_size", "patch", NULL}, {"num_channels", "channels", NULL},
    {NULL, NULL, NULL}};

static bool has(const json_t *config, const char *key)
{
    const json_t *value = json_object_get(config, key);
    return value && !json_is_null(value) && !json_is_false(value);
}

/* Whether any name of a field is there with a whole number. */
static bool counted(const json_t *config, const char *field)
{
    for (const cm__config_key *row = cm__config_usual; row->key; row++)
        if (strcmp(row->field, field) == 0 && json_is_integer(json_object_get(config, row->key))) return true;
    return false;
}

static int64_t count_at(const json_t *config, const char *key, int64_t otherwise)
{
    const json_t *value = json_object_get(config, key);
    return json_is_integer(value) ? (int64_t)json_integer_value(value) : otherwise;
}

static const cm__config_type *type_named(const char *name)
{
    const cm__config_type *type = cm__config_types;
    while (strcmp(type->model_type, name) != 0) type++;
    return type;
}

/* A transformer over the patches of one image; NULL: videos, stages of several widths, or no image. */
static const cm__config_type *guess_image(const json_t *config)
{
    static const char *const other[] = {"num_frames", "tubelet_size", "depths", "window_size"};
    for (size_t i = 0; i < sizeof other / sizeof *other; i++)
        if (has(config, other[i])) return NULL;
    if (!counted(config, "patch") || !(counted(config, "image") || has(config, "num_patches"))) return NULL;
    return type_named(has(config, "layerscale_value") ? "dinov2" : "vit");
}

/* The masked models are bidirectional, with an embedding for each of two segments. */
static bool is_masked(const json_t *config)
{
    const char *first = json_string_value(json_array_get(json_object_get(config, "architectures"), 0));
    return (first && strstr(first, "ForMaskedLM")) || (counted(config, "types") && !has(config, "is_decoder"));
}

const cm__config_type *cm__config_guess(const json_t *config)
{
    static const char *const other[] = {"is_encoder_decoder", "ssm_cfg", "mamba_d_state", "state_size", "d_state",
                                        "num_hidden_groups", "q_groups"}; /* the last two share or group weights */
    if (!counted(config, "layers") || !counted(config, "hidden") || !counted(config, "heads")) return NULL;
    if (!counted(config, "vocab") || !counted(config, "positions")) {
        const cm__config_type *image = guess_image(config);
        if (image || !counted(config, "vocab")) return image;
    }
    for (size_t i = 0; i < sizeof other / sizeof *other; i++)
        if (has(config, other[i])) return NULL;
    if (is_masked(config)) return type_named("bert");
    if (counted(config, "kv_rank")) return type_named("deepseek_v3");
    if (counted(config, "experts")) return type_named("granitemoe");
    const char *act = json_string_value(json_object_get(config, "hidden_act"));
    if (has(config, "rms_norm_eps") || (act && strcmp(act, "silu") == 0)) return type_named("llama"); /* gated */
    return type_named(has(config, "rope_theta") || has(config, "rotary_pct") || has(config, "partial_rotary_factor")
                          ? "gpt_neox" : "gpt2");
}

/* ---- reading it -------------------------------------------------------------------------------------------------- */

static bool one_of(const char *const *names, const char *name)
{
    for (int32_t i = 0; names[i]; i++)
        if (strcmp(names[i], name) == 0) return true;
    return false;
}

/* A value that fits the field, as text; NULL: another kind of value, such as a list with a number for each layer. */
static const char *fitting(cm__ctx *ctx, const cm__field *field, const json_t *value)
{
    if (field->kind == CM__FIELD_COUNT && json_is_integer(value)) {
        int64_t n = (int64_t)json_integer_value(value);
        return n >= field->min && n <= field->max ? cm__format(ctx, "%lld", (long long)n) : NULL;
    }
    if (field->kind == CM__FIELD_FLAG && json_is_boolean(value)) return json_is_true(value) ? "1" : "0";
    if (field->kind == CM__FIELD_RATIO && json_is_number(value))
        return cm__format(ctx, "%.17g", json_number_value(value));
    if (field->kind != CM__FIELD_CHOICE || !json_is_string(value)) return NULL;
    const char *name = strcmp(json_string_value(value), "swish") == 0 ? "silu" : json_string_value(value);
    return one_of(field->names, name) ? name : NULL;
}

/* A named object with sizes inside is read as if they were outside (DBRX). Another one, or a list with an entry for
   each layer, may change the model. */
static bool unread_parts(const char *key, const json_t *value)
{
    static const char *const harmless[] = {"rope_scaling", "quantization_config", "auto_map", "id2label", "label2id",
                                           "attn_config", "ffn_config", "rope_parameters", "architectures",
                                           "stage_names", "out_features", "out_indices", NULL};
    return (json_object_size(value) || json_array_size(value) > 1) && !one_of(harmless, key);
}

/* Keys that cm__config_finish() reads. */
static bool read_later(const char *key) { return strstr(key, "shared_experts") || strstr(key, "nextn_predict_layers"); }

/* Numbers that no row names: they may change the model. */
static const char *ignored(cm__ctx *ctx, const json_t *config)
{
    static const char *const harmless[] = {"initializer_range", "rms_norm_eps", "layer_norm_eps", "layer_norm_epsilon",
                                           "rope_theta", "norm_eps", "num_labels", "chunk_size_feed_forward",
                                           "pretraining_tp", "return_dict", "router_aux_loss_coef",
                                           "attention_dropout", "hidden_dropout", "use_cache", NULL};
    const char *names = "", *key;
    json_t     *value;
    int32_t     n = 0;
    json_object_foreach((json_t *)(uintptr_t)config, key, value) {
        bool known = one_of(harmless, key) || strstr(key, "token_id") || strstr(key, "output_") || read_later(key);
        for (const cm__config_key *row = cm__config_usual; row->key; row++) known |= strcmp(row->key, key) == 0;
        bool counts = json_is_number(value) || json_is_true(value) || unread_parts(key, value);
        if (known || !counts || n++ >= NAMED_MAX) continue;
        names = cm__format(ctx, "%s%s%s", names, *names ? ", " : "", key);
    }
    return n > NAMED_MAX ? cm__format(ctx, "%s and %d more", names, n - NAMED_MAX) : names;
}

const char *cm__config_guess_read(cm__ctx *ctx, const json_t *config, cm__transformer *t)
{
    static const char *const families[CM__FAMILIES] = {
        [CM__LLAMA] = "a Llama (RMS norms, rotary positions, gated network)",
        [CM__DEEPSEEK] = "a DeepSeek-V3 (latent attention)", [CM__QWEN3] = "a Llama with experts",
        [CM__NEOX] = "a GPT-NeoX (layer norms, rotary positions)",
        [CM__GPT2] = "a GPT-2 (layer norms, learned positions)",
        [CM__BERT] = "a BERT (attention in both directions, learned positions)",
        [CM__VIT] = "a ViT (learned positions, a class token, no other tokens and no pooling by attention)",
        [CM__DINOV2] = "a DINOv2 (learned positions, a class token, layer scales, no other tokens)"};
    t->dropout = t->embed_dropout = t->attention_dropout = 0;
    t->qk_norm = t->parallel = 0;
    t->tied = t->family == CM__GPT2 || t->family == CM__BERT;
    for (const cm__config_key *row = cm__config_usual; row->key; row++) {
        const cm__field *field = cm__field_find(cm__span_of(row->field));
        const json_t    *value = json_object_get(config, row->key);
        const char      *text = value ? fitting(ctx, field, value) : NULL;
        if (text) cm__field_set(ctx, t, field, cm__span_of(text));
    }
    if (t->experts && !t->top_k) t->top_k = 1;
    int64_t patches = count_at(config, "num_patches", 0), side = 1; /* of a square image, where its size is not given */
    while ((side + 1) * (side + 1) <= patches && side < 1024) side++;
    if (patches > 0 && !counted(config, "image") && t->patch > 0) t->image = side * t->patch;
    if (has(config, "multi_query") && !has(config, "new_decoder_architecture")) t->kv_heads = 1;
    const char *rest = ignored(ctx, config);
    return cm__format(ctx, "read as %s by its keys; assumed: full attention in every layer%s%s%s",
                      families[t->family], t->experts ? ", balanced experts" : "", *rest ? "; not read: " : "", rest);
}

/* ---- several keys ------------------------------------------------------------------------------------------------ */

const json_t *cm__config_language(const json_t *config)
{
    const json_t *inner = json_object_get(config, "text_config");
    bool          towers = json_is_object(json_object_get(config, "vision_config")) &&
                  json_is_string(json_object_get(config, "model_type")) &&
                  strcmp(json_string_value(json_object_get(config, "model_type")), "clip") == 0;
    return json_is_object(inner) && !towers && json_is_string(json_object_get(inner, "model_type")) ? inner : config;
}

static void release(void *config) { json_decref(config); }

const json_t *cm__config_flat(cm__ctx *ctx, const json_t *config)
{
    static const char *const inner[] = {"attn_config", "ffn_config"};
    json_t *flat = NULL;
    for (size_t i = 0; i < sizeof inner / sizeof *inner; i++) {
        json_t *sizes = json_object_get(config, inner[i]);
        if (!json_is_object(sizes)) continue;
        if (!flat) {
            flat = json_copy((json_t *)(uintptr_t)config);
            if (!flat) cm__fail(ctx, CM_ERR_MEMORY, "out of memory");
            cm__defer(ctx, release, flat);
        }
        if (json_object_update_missing(flat, sizes)) cm__fail(ctx, CM_ERR_MEMORY, "out of memory");
    }
    return flat ? flat : config;
}

/* "layer_types" lists sliding and full attention; the pattern repeats with the first full layer. */
static void read_layer_types(const json_t *config, cm__transformer *t)
{
    const json_t *list = json_object_get(config, "layer_types");
    size_t        n = json_array_size(list);
    for (size_t i = 0; i < n; i++) {
        const char *name = json_string_value(json_array_get(list, i));
        if (!name || strcmp(name, "full_attention") != 0) continue;
        t->full_every = (int64_t)i + 1;
        return;
    }
}

static void read_count(cm__ctx *ctx, const json_t *config, const char *key, cm__transformer *t, const char *field)
{
    if (!json_is_integer(json_object_get(config, key))) return;
    cm__place(ctx, "key '%s'", key);
    cm__field_set(ctx, t, cm__field_find(cm__span_of(field)),
                  cm__span_of(cm__format(ctx, "%lld", (long long)count_at(config, key, 0))));
    cm__place(ctx, "%s", "");
}

static void read_towers(cm__ctx *ctx, const json_t *config, cm__transformer *t)
{
    static const struct { const char *key, *image, *text; } rows[] = {
        {"num_hidden_layers", "layers", "text_layers"}, {"hidden_size", "hidden", "text_hidden"},
        {"num_attention_heads", "heads", "text_heads"}, {"intermediate_size", "ffn", "text_ffn"},
        {"image_size", "image", NULL}, {"patch_size", "patch", NULL}, {"vocab_size", NULL, "vocab"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].image) read_count(ctx, json_object_get(config, "vision_config"), rows[i].key, t, rows[i].image);
        if (rows[i].text) read_count(ctx, json_object_get(config, "text_config"), rows[i].key, t, rows[i].text);
    }
}

void cm__config_finish(cm__ctx *ctx, const json_t *config, cm__transformer *t)
{
    int64_t shared = count_at(config, "n_shared_experts", count_at(config, "num_shared_experts", 0));
    if (shared > 0 && shared <= 64 && t->expert_ffn > 0) t->shared_ffn = shared * t->expert_ffn;
    if (t->family == CM__DEEPSEEK) read_count(ctx, config, "num_nextn_predict_layers", t, "mtp");
    if (t->window) read_layer_types(config, t);
    if (t->family == CM__CLIP) read_towers(ctx, config, t);
    if (t->family == CM__HYBRID) cm__config_hybrid(ctx, config, t);
}
