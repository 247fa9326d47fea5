/* SPDX-License-Identifier: Apache-2.0 */
/*
 * missing.c - the keys that a configuration does not state although the model's size or work depends on them.
 *
 * transformers gives a missing key its class's default without a word. That is right for a file that its
 * save_pretrained() wrote, and wrong for a file that lost a key; nobody but the user can know which of them it is.
 */
#include <string.h>
#include "base/text.h"
#include "import/config/config.h"

#define KEY_MAX 64 /* bytes of a key's name */

/* Keys that are read outside the tables of keys.c. '|' separates names of which one suffices; a dot, the object. */
static const struct { const char *model_type, *keys, *field; } others[] = {
    {"t5", "feed_forward_proj", "activation"},
    {"deepseek_v2", "n_shared_experts|num_shared_experts", "shared_ffn"},
    {"deepseek_v3", "n_shared_experts|num_shared_experts", "shared_ffn"},
    {"deepseek_v3", "num_nextn_predict_layers", "mtp"},
    {"glm4_moe", "n_shared_experts|num_shared_experts", "shared_ffn"},
    {"gpt_oss", "layer_types", "full_every"},
    {"bamba", "attn_layer_indices|layer_types|layers_block_type", "pattern"},
    {"bamba", "mamba_d_head|mamba_head_dim|mamba_expand|mamba_d_ssm", "state_dim"},
    {"falcon_h1", "mamba_d_head|mamba_head_dim|mamba_expand|mamba_d_ssm", "state_dim"},
    {"granitemoehybrid", "layer_types|layers_block_type", "pattern"},
    {"granitemoehybrid", "mamba_d_head|mamba_head_dim|mamba_expand|mamba_d_ssm", "state_dim"},
    {"granitemoehybrid", "position_embedding_type", "rotary"},
    {"jamba", "attn_layer_period|layer_types|layers_block_type", "pattern"},
    {"jamba", "attn_layer_offset|layer_types|layers_block_type", "pattern"},
    {"jamba", "mamba_expand|mamba_d_ssm", "state_heads"},
    {"jamba", "mamba_dt_rank", "state_rank"},
    {"nemotron_h", "hybrid_override_pattern|layers_block_type|layer_types", "pattern"},
    {"qwen3_next", "full_attention_interval|layer_types|layers_block_type", "pattern"},
    {"clip", "vision_config.num_hidden_layers", "layers"}, {"clip", "vision_config.hidden_size", "hidden"},
    {"clip", "vision_config.num_attention_heads", "heads"}, {"clip", "vision_config.intermediate_size", "ffn"},
    {"clip", "vision_config.image_size", "image"}, {"clip", "vision_config.patch_size", "patch"},
    {"clip", "text_config.num_hidden_layers", "text_layers"}, {"clip", "text_config.hidden_size", "text_hidden"},
    {"clip", "text_config.num_attention_heads", "text_heads"}, {"clip", "text_config.intermediate_size", "text_ffn"},
    {"clip", "text_config.vocab_size", "vocab"},
};

static bool is_one(const char *const *names, const char *name)
{
    while (*names && strcmp(*names, name) != 0) names++;
    return *names != NULL;
}

/* ---- what is stated ---------------------------------------------------------------------------------------------- */

/* Whether any of the names is there; null is a statement, too. */
static bool any_stated(const json_t *config, const char *keys)
{
    for (const char *at = keys; *at;) {
        char          key[KEY_MAX];
        const json_t *object = config;
        size_t        n = strcspn(at, "|"), dot = strcspn(at, ".|");
        if (dot < n && dot < sizeof key) {
            memcpy(key, at, dot);
            key[dot] = '\0';
            object = json_object_get(config, key);
            at += dot + 1;
            n -= dot + 1;
        }
        if (n < sizeof key) {
            memcpy(key, at, n);
            key[n] = '\0';
            if (json_object_get(object, key)) return true;
        }
        at += n + (at[n] == '|');
    }
    return false;
}

/* Whether another key decides: a later one of the same field, or an earlier one that is stated, if this one has no
   default. A key that sets several fields is looked at beside its last one. */
static bool left_to_another(const json_t *config, const cm__config_key *rows, const cm__config_key *row)
{
    if (strcmp(row->field, "full_every") == 0 && json_object_get(config, "layer_types")) return true;
    for (const cm__config_key *other = rows; other->key; other++) {
        bool same = *other->key && strcmp(other->field, row->field) == 0;
        if (other > row && (same || strcmp(other->key, row->key) == 0)) return true;
        if (other < row && same && !row->otherwise && json_object_get(config, other->key)) return true;
    }
    return false;
}

/* save_pretrained() leaves out what equals the default of all classes: embeddings are tied, no decoder. */
static bool stated_by_absence(const cm__config_type *type, const cm__config_key *row)
{
    return strcmp(row->key, "is_decoder") == 0 ||
           (strcmp(row->field, "tied") == 0 && cm__transformer_defaults(type->family).tied);
}

/* ---- what matters ------------------------------------------------------------------------------------------------ */

static bool matters(const cm__transformer *t, const cm__field *field, bool seq_given)
{
    static const char *const of_experts[] = {"experts", "top_k", "expert_ffn", "shared_ffn", "expert_every",
                                             "dense_layers", NULL};
    if (!t->experts && is_one(of_experts, field->key)) return false;
    if (strcmp(field->key, "positions") == 0 && t->position != CM__POSITION_LEARNED) return !seq_given;
    return field->families >> t->family & 1;
}

static const char *shown(cm__ctx *ctx, const cm__config_type *type, const cm__transformer *t, const cm__field *field)
{
    if (field->kind == CM__FIELD_TEXT) return cm__format(ctx, "%.64s", cm__field_string(t, field));
    if (field->kind == CM__FIELD_RATIO) return cm__format(ctx, "%g", cm__field_ratio(t, field));
    int64_t n = cm__field_int(t, field);
    if (field->kind == CM__FIELD_CHOICE) return field->names[n];
    if (field->kind == CM__FIELD_FLAG) return n ? "true" : "false";
    if (strcmp(field->key, "positions") == 0) n += type->positions_offset;
    return n ? cm__format(ctx, "%lld", (long long)n) : "none";
}

static const char *append(cm__ctx *ctx, const char *text, const char *key, const char *value)
{
    return cm__format(ctx, "%s%s%.*s %s", text, *text ? ", " : "", (int)strcspn(key, "|"), key, value);
}

const char *cm__config_missing(cm__ctx *ctx, const json_t *config, const cm__config_type *type,
                               const cm__transformer *t, bool seq_given)
{
    const char *sizes = "", *rest = "";
    for (const cm__config_key *row = type->keys; row->key; row++) {
        const cm__field *field = cm__field_find(cm__span_of(row->field));
        if (!*row->key || json_object_get(config, row->key) || !matters(t, field, seq_given)) continue;
        if (stated_by_absence(type, row) || left_to_another(config, type->keys, row)) continue;
        const char **text = field->kind == CM__FIELD_COUNT ? &sizes : &rest;
        *text = append(ctx, *text, row->key, shown(ctx, type, t, field));
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        const cm__field *field = cm__field_find(cm__span_of(others[i].field));
        if (strcmp(others[i].model_type, type->model_type) == 0 && !any_stated(config, others[i].keys))
            sizes = append(ctx, sizes, others[i].keys, shown(ctx, type, t, field));
    }
    if (!json_object_get(config, "architectures"))
        rest = append(ctx, rest, "architectures", shown(ctx, type, t, cm__field_find(cm__span_of("head"))));
    return cm__format(ctx, "%s%s%s", sizes, *sizes && *rest ? ", " : "", rest);
}
