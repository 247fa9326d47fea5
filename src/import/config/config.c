/* SPDX-License-Identifier: Apache-2.0 */
/* config.c - build a graph from a Hugging Face config.json. */
#include "import/config/config.h"

#include <string.h>
#include "base/json.h"
#include "base/text.h"
#include "import/import.h"

#define TYPES_MAX 64 /* room for names of cm__config_types */

/* ---- JSON ------------------------------------------------------------------------------------------------------- */

/* Python writes numbers that JSON does not have (limits of Mamba's time steps). No key that is read has one: replace
   them by null and zero of the same length. */
static const char *without_infinity(cm__ctx *ctx, const char *text, size_t size)
{
    static const struct { const char *word, *instead; } rows[] = {
        {"-Infinity", "null     "}, {"Infinity", "null    "}, {"NaN", "0.0"}};
    char *copy = cm__text_copy_n(ctx, text, size);
    bool  quoted = false;
    for (size_t i = 0; i < size; i++) {
        if (copy[i] == '"' && (!quoted || copy[i - 1] != '\\')) quoted = !quoted;
        for (size_t k = 0; !quoted && k < sizeof rows / sizeof *rows; k++) {
            size_t n = strlen(rows[k].word);
            if (i + n <= size && memcmp(copy + i, rows[k].word, n) == 0) memcpy(copy + i, rows[k].instead, n);
        }
    }
    return copy;
}

static const json_t *parse(cm__ctx *ctx, const char *text, size_t size)
{
    bool          python = memmem(text, size, "Infinity", 8) || memmem(text, size, "NaN", 3);
    const json_t *tree = cm__json_read(ctx, python ? without_infinity(ctx, text, size) : text, size,
                                       JSON_REJECT_DUPLICATES);
    if (!json_is_object(tree)) cm__fail(ctx, CM_ERR_FORMAT, "not a Hugging Face config: an object is expected");
    return tree;
}

static const char *kind_of(const json_t *value)
{
    static const char *const names[] = {
        [JSON_OBJECT] = "an object", [JSON_ARRAY] = "an array", [JSON_STRING] = "text",
        [JSON_INTEGER] = "a whole number", [JSON_REAL] = "a real number", [JSON_TRUE] = "true",
        [JSON_FALSE] = "false", [JSON_NULL] = "null"};
    return names[json_typeof(value)];
}

/* A value as text, in the form that a description has; NULL: the wrong type. */
static const char *value_text(cm__ctx *ctx, cm__field_kind kind, const json_t *value)
{
    if (kind == CM__FIELD_COUNT && json_is_integer(value))
        return cm__format(ctx, "%lld", (long long)json_integer_value(value));
    if (kind == CM__FIELD_FLAG && json_is_boolean(value)) return json_is_true(value) ? "1" : "0";
    if (kind == CM__FIELD_RATIO && json_is_number(value)) return cm__format(ctx, "%.17g", json_number_value(value));
    if (kind != CM__FIELD_CHOICE || !json_is_string(value)) return NULL;
    const char *name = json_string_value(value);
    return strcmp(name, "swish") == 0 ? "silu" : name; /* two names of one function */
}

static const char *text_at(cm__ctx *ctx, const json_t *config, const char *key)
{
    const json_t *value = json_object_get(config, key);
    if (!value || json_is_null(value)) return NULL;
    cm__place(ctx, "key '%s'", key);
    if (!json_is_string(value)) cm__fail(ctx, CM_ERR_FORMAT, "%s, expected text", kind_of(value));
    cm__place(ctx, "%s", "");
    return json_string_value(value);
}

/* ---- keys ------------------------------------------------------------------------------------------------------- */

static void read_key(cm__ctx *ctx, const json_t *config, const cm__config_key *row, cm__transformer *t)
{
    static const char *const expected[] = {[CM__FIELD_COUNT] = "a whole number", [CM__FIELD_FLAG] = "true or false",
                                           [CM__FIELD_CHOICE] = "text", [CM__FIELD_RATIO] = "a number"};
    const cm__field *field = cm__field_find(cm__span_of(row->field));
    const json_t    *value = json_object_get(config, row->key);
    const char      *text = row->otherwise;
    cm__place(ctx, "key '%s'", row->key);
    if (value && json_is_null(value)) { /* None: no window, default inner width ... */
        if (field->kind == CM__FIELD_COUNT) memset((char *)t + field->offset, 0, sizeof(int64_t));
        return;
    }
    if (value) text = value_text(ctx, field->kind, value);
    if (value && !text) cm__fail(ctx, CM_ERR_FORMAT, "%s, expected %s", kind_of(value), expected[field->kind]);
    if (text) cm__field_set(ctx, t, field, cm__span_of(text));
}

/* "relu", "gated-gelu": T5's gated-gelu is the tanh form. */
static void read_projection(cm__ctx *ctx, const json_t *config, cm__transformer *t)
{
    const char *text = text_at(ctx, config, "feed_forward_proj");
    if (!text) return;
    cm__place(ctx, "key 'feed_forward_proj'");
    t->gated = strncmp(text, "gated-", 6) == 0;
    if (t->gated) text += 6;
    if (t->gated && strcmp(text, "gelu") == 0) text = "gelu_new";
    cm__field_set(ctx, t, cm__field_find(cm__span_of("activation")), cm__span_of(text));
}

static void refuse_settings(cm__ctx *ctx, const json_t *config, bool hybrid)
{
    static const char *const unsupported[] = {"add_cross_attention", "_remove_final_layer_norm"};
    for (size_t i = 0; i < sizeof unsupported / sizeof *unsupported; i++) {
        const json_t *value = json_object_get(config, unsupported[i]);
        if (!value || json_is_null(value) || json_is_false(value)) continue;
        cm__place(ctx, "key '%s'", unsupported[i]);
        cm__fail(ctx, CM_ERR_UNSUPPORTED, "only false is supported");
    }
    const char *positions = text_at(ctx, config, "position_embedding_type");
    bool        known = hybrid && positions && (strcmp(positions, "rope") == 0 || strcmp(positions, "nope") == 0);
    if (positions && strcmp(positions, "absolute") && !known) {
        cm__place(ctx, "key 'position_embedding_type'");
        cm__fail(ctx, CM_ERR_UNSUPPORTED, "'%.64s': only 'absolute' is supported", positions);
    }
}

static void read_labels(cm__ctx *ctx, const json_t *config, cm__transformer *t)
{
    static const cm__config_key count = {"num_labels", "labels", "2"};
    const json_t *names = json_object_get(config, "id2label");
    read_key(ctx, config, &count, t);
    if (!json_is_object(names) || !json_object_size(names)) return;
    cm__place(ctx, "key 'id2label'");
    cm__field_set(ctx, t, cm__field_find(cm__span_of("labels")),
                  cm__span_of(cm__format(ctx, "%zu", json_object_size(names))));
}

/* ---- head ------------------------------------------------------------------------------------------------------- */

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

/* The head that the class named in "architectures" adds. Longer name endings come first. */
static const struct {
    const char *ending;
    int64_t     head;
} classes[] = {
    {"EncoderModel", -1},
    {"DoubleHeadsModel", -1},
    {"LMHeadModel", CM__HEAD_LM},
    {"ForCausalLM", CM__HEAD_LM},
    {"ForConditionalGeneration", CM__HEAD_LM},
    {"ForMaskedLM", CM__HEAD_MLM},
    {"ForSequenceClassification", CM__HEAD_CLASSIFIER},
    {"ForImageClassification", CM__HEAD_CLASSIFIER},
    {"Model", CM__HEAD_NONE},
};

static int64_t head_of(cm__ctx *ctx, const char *architecture)
{
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
        if (ends_with(architecture, classes[i].ending) && classes[i].head >= 0) return classes[i].head;
        else if (ends_with(architecture, classes[i].ending)) break;
    cm__fail(ctx, CM_ERR_UNSUPPORTED, "'%.64s': only ...ForCausalLM, ...LMHeadModel, ...ForConditionalGeneration, "
             "...ForMaskedLM, ...ForSequenceClassification, ...ForImageClassification and ...Model", architecture);
}

static void read_head(cm__ctx *ctx, const json_t *config, cm__transformer *t)
{
    const json_t *list = json_object_get(config, "architectures");
    if (!list || json_is_null(list) || (json_is_array(list) && !json_array_size(list))) return;
    const json_t *first = json_array_get(list, 0);
    cm__place(ctx, "key 'architectures'");
    if (!json_is_string(first)) cm__fail(ctx, CM_ERR_FORMAT, "a list of class names is expected");
    int64_t head = head_of(ctx, json_string_value(first));
    bool    masked = t->head == CM__HEAD_MLM; /* these families use the same head for their causal form */
    t->head = masked && head == CM__HEAD_LM ? CM__HEAD_MLM : head;
}

/* ---- the whole -------------------------------------------------------------------------------------------------- */

static const cm__config_type *type_of(cm__ctx *ctx, const json_t *config)
{
    const char *name = text_at(ctx, config, "model_type"), *names[TYPES_MAX], *all = "";
    if (!name) cm__fail(ctx, CM_ERR_FORMAT, "no model_type: not a Hugging Face config.json");
    for (int32_t i = 0; i < cm__n_config_types; i++) {
        if (strcmp(name, cm__config_types[i].model_type) == 0) return &cm__config_types[i];
        names[i] = cm__config_types[i].model_type;
        all = cm__format(ctx, "%s%s%s", all, i ? ", " : "", names[i]);
    }
    const cm__config_type *like = cm__config_guess(config);
    if (like) return like;
    const char *near = cm__nearest(name, names, (size_t)cm__n_config_types);
    cm__place(ctx, "key 'model_type'");
    cm__fail(ctx, CM_ERR_UNSUPPORTED, "'%.64s' is not supported%s%s%s; supported: %s", name,
             near ? ", did you mean '" : "", near ? near : "", near ? "'?" : "", all);
}

cm_graph *cm__import_config(cm__ctx *ctx, const char *name, const char *text, size_t size, const cm_load_options *o)
{
    const json_t          *whole = parse(ctx, text, size), *inner = cm__config_language(whole);
    const json_t          *config = cm__config_flat(ctx, inner);
    const cm__config_type *type = type_of(ctx, config);
    cm__config_type        used = *type;
    cm__transformer        t = cm__transformer_defaults(type->family);
    bool                   guessed = strcmp(text_at(ctx, config, "model_type"), type->model_type) != 0;
    const char            *guesses = guessed ? cm__config_guess_read(ctx, config, &t) : "";
    for (const cm__config_key *row = type->keys; row->key && !guessed; row++) read_key(ctx, config, row, &t);
    if (type->family == CM__T5) read_projection(ctx, config, &t);
    else if (!guessed || type->family == CM__VIT || type->family == CM__DINOV2) read_labels(ctx, config, &t);
    cm__config_finish(ctx, config, &t);
    refuse_settings(ctx, config, t.family == CM__HYBRID);
    read_head(ctx, config, &t);
    cm__place(ctx, "model_type '%s'", type->model_type);
    t.positions -= type->positions_offset;
    if (type->positions_offset && t.positions <= 0)
        cm__fail(ctx, CM_ERR_ARGUMENT, "max_position_embeddings leaves no position");
    if (t.positions && type->seq_max) t.seq = t.positions < type->seq_max ? t.positions : type->seq_max;
    const cm__field *past = cm__field_find(cm__span_of("past"));
    if (o && o->past && !(past->families >> type->family & 1))
        cm__fail(ctx, CM_ERR_UNSUPPORTED, "generation is modelled for decoders that store keys and values only");
    t.past = o ? o->past : 0;
    cm__transformer_complete(ctx, &t, o ? o->seq : 0);
    cm__place(ctx, "%s", "");
    cm_graph *g = cm__transformer_build(ctx, &t, name, "config");
    if (!(o && o->seq) && type->seq_max && t.positions > t.seq)
        cm__warn(g, "sequence length %lld assumed; the config allows up to %lld: --seq N", (long long)t.seq,
                 (long long)t.positions);
    if (guessed) used.keys = cm__config_usual;
    const char *missing = cm__config_missing(ctx, config, &used, &t, o && o->seq);
    if (guessed) cm__warn(g, "model_type '%.64s' is not known: %s", text_at(ctx, config, "model_type"), guesses);
    if (*missing)
        cm__warn(g, "the config does not state these keys; %s assumed: %s",
                 guessed ? "usual values are" : "the defaults of transformers are", missing);
    if (t.family == CM__HYBRID)
        cm__warn(g, "state-space layers run in the fused kernels of mamba-ssm or flash-linear-attention; their "
                    "products are timed as batched ones, and none was measured");
    if (t.mtp)
        cm__warn(g, "with the config's %lld module(s) that predict further tokens; Hugging Face's code leaves them out",
                 (long long)t.mtp);
    if (inner != whole)
        cm__warn(g, "only the language model (text_config) is read, without the image or sound encoder");
    if (json_is_true(json_object_get(config, "use_sliding_window")))
        cm__warn(g, "use_sliding_window: the window of some layers is not modelled; their attention counts as full");
    return g;
}
