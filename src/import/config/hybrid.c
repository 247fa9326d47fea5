/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hybrid.c - configurations of models with state-space layers: which layers have attention, and the sizes of the
 * state space under the names that each family uses.
 */
#include <string.h>
#include "base/text.h"
#include "import/config/config.h"

static int64_t count_at(const json_t *config, const char *key, int64_t otherwise)
{
    const json_t *value = json_object_get(config, key);
    return json_is_integer(value) ? (int64_t)json_integer_value(value) : otherwise;
}

/* ---- the pattern of layers --------------------------------------------------------------------------------------- */

/* Names of layers in "layer_types" and "layers_block_type", before and since version 5 of transformers. alone: in
   Nemotron-H a layer is one of these; in the others a network follows. */
static char letter_of(const char *name, bool alone)
{
    static const struct { const char *name; char letters[2]; } rows[] = {
        {"attention", {'a', 'A'}}, {"full_attention", {'a', 'A'}}, {"mamba", {'s', 'S'}},
        {"linear_attention", {'s', 'S'}}, {"hybrid", {'b', 'b'}}, {"mlp", {'F', 'F'}}, {"moe", {'E', 'E'}}};
    for (size_t i = 0; name && i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].name, name) == 0) return rows[i].letters[alone];
    return 0;
}

static const char *listed(cm__ctx *ctx, const json_t *list, bool alone)
{
    size_t n = json_array_size(list);
    char  *text = cm__alloc(ctx, n + 1);
    for (size_t i = 0; i < n; i++) {
        const char *name = json_string_value(json_array_get(list, i));
        text[i] = letter_of(name, alone);
        if (!text[i]) cm__fail(ctx, CM_ERR_UNSUPPORTED, "layers of type '%.64s' are not supported", name ? name : "?");
    }
    return text;
}

/* Nemotron-H: "M-M*-": Mamba 2, network, attention, E experts. */
static const char *from_letters(cm__ctx *ctx, const char *pattern)
{
    static const char from[] = "M*-E", to[] = "SAFE";
    char             *text = cm__text_copy(ctx, pattern);
    for (char *at = text; *at; at++) {
        const char *found = strchr(from, *at);
        if (!found) cm__fail(ctx, CM_ERR_UNSUPPORTED, "layers of type '%c' are not supported", *at);
        *at = to[found - from];
    }
    return text;
}

/* One layer of every `period` has attention, the one with this remainder. */
static const char *periodic(cm__ctx *ctx, int64_t layers, int64_t period, int64_t offset)
{
    char *text = cm__alloc(ctx, (size_t)layers + 1);
    for (int64_t i = 0; i < layers; i++) text[i] = period > 0 && i % period == offset ? 'a' : 's';
    return text;
}

static const char *at_indices(cm__ctx *ctx, int64_t layers, const json_t *list)
{
    char *text = cm__alloc(ctx, (size_t)layers + 1);
    memset(text, 's', (size_t)layers);
    for (size_t i = 0; i < json_array_size(list); i++) {
        int64_t at = (int64_t)json_integer_value(json_array_get(list, i));
        if (at >= 0 && at < layers) text[at] = 'a';
    }
    return text;
}

static const char *pattern_of(cm__ctx *ctx, const json_t *config, const cm__transformer *t)
{
    static const char *const lists[] = {"layers_block_type", "layer_types"};
    const char *kind = json_string_value(json_object_get(config, "model_type"));
    const char *letters = json_string_value(json_object_get(config, "hybrid_override_pattern"));
    bool        alone = strcmp(kind, "nemotron_h") == 0;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        cm__place(ctx, "key '%s'", lists[i]);
        const json_t *list = json_object_get(config, lists[i]);
        if (json_array_size(list)) return listed(ctx, list, alone);
    }
    cm__place(ctx, "%s", "");
    if (letters) return from_letters(ctx, letters);
    if (strcmp(kind, "falcon_h1") == 0) return "b";
    if (strcmp(kind, "bamba") == 0) return at_indices(ctx, t->layers, json_object_get(config, "attn_layer_indices"));
    if (strcmp(kind, "jamba") == 0)
        return periodic(ctx, t->layers, count_at(config, "attn_layer_period", 8),
                        count_at(config, "attn_layer_offset", 4));
    int64_t every = count_at(config, "full_attention_interval", strcmp(kind, "qwen3_next") == 0 ? 4 : 0);
    return periodic(ctx, t->layers, every, every - 1);
}

/* ---- sizes ------------------------------------------------------------------------------------------------------- */

/* The inner width: "mamba_d_ssm" (Falcon-H1), heads times their dimension, or a multiple of the hidden size. */
static void find_heads(cm__ctx *ctx, const json_t *config, cm__transformer *t)
{
    int64_t wide = count_at(config, "mamba_d_ssm", count_at(config, "mamba_expand", 2) * t->hidden);
    int64_t dim = count_at(config, "mamba_d_head", count_at(config, "mamba_head_dim", t->state_dim));
    if (t->state_kind == CM__SCAN_MAMBA) {
        t->state_heads = wide;
        return;
    }
    if (dim < 1 && t->state_heads > 0) dim = wide / t->state_heads;
    if (dim < 1 || dim > wide || t->state_heads < 1)
        cm__fail(ctx, CM_ERR_ARGUMENT, "%lld heads of %lld numbers are no state space", (long long)t->state_heads,
                 (long long)dim);
    t->state_dim = dim;
}

void cm__config_hybrid(cm__ctx *ctx, const json_t *config, cm__transformer *t)
{
    const char *positions = json_string_value(json_object_get(config, "position_embedding_type"));
    t->pattern = pattern_of(ctx, config, t);
    if (strlen(t->pattern) > 1) t->layers = (int64_t)strlen(t->pattern); /* Nemotron-H: the pattern decides */
    if (strchr(t->pattern, 'E') && !t->experts)
        cm__fail(ctx, CM_ERR_FORMAT, "layers of experts, but no n_routed_experts");
    find_heads(ctx, config, t);
    t->state_rank = count_at(config, "mamba_dt_rank", 0); /* "auto": a sixteenth of the hidden size */
    if (positions && strcmp(positions, "rope") != 0) t->rotary = 0; /* Granite 4: "nope" */
    t->shared_ffn = count_at(config, "moe_shared_expert_intermediate_size", t->shared_ffn); /* Nemotron 3 */
    if (!t->experts) t->top_k = 0;
    if (t->experts || !count_at(config, "shared_intermediate_size", 0)) return;
    t->ffn = t->shared_ffn; /* Granite 4 without experts: the shared network is the only one */
    t->shared_ffn = 0;
}
