/* SPDX-License-Identifier: Apache-2.0 */
/* describe.c - parse one-line descriptions, and write a transformer as one. */
#include "import/describe/describe.h"

#include <stdio.h>
#include <string.h>
#include "base/text.h"
#include "import/import.h"
#include "import/transformer/transformer.h"

#define SHOWN 64
#define KINDS_MAX 64

static const char *const family_kinds[CM__FAMILIES] = {
    [CM__GPT2] = "gpt", [CM__BERT] = "bert", [CM__ROBERTA] = "roberta", [CM__DISTILBERT] = "distilbert",
    [CM__T5] = "t5", [CM__OPT] = "opt", [CM__NEOX] = "neox", [CM__LLAMA] = "llama", [CM__MISTRAL] = "mistral",
    [CM__QWEN2] = "qwen2", [CM__MIXTRAL] = "mixtral", [CM__VIT] = "vit", [CM__QWEN3] = "qwen3", [CM__GEMMA] = "gemma",
    [CM__DEEPSEEK] = "deepseek", [CM__GPT_OSS] = "gpt-oss", [CM__PHI] = "phi", [CM__PHI3] = "phi3",
    [CM__DINOV2] = "dinov2", [CM__WHISPER] = "whisper", [CM__CLIP] = "clip", [CM__HYBRID] = "hybrid",
    [CM__QWEN] = "qwen",
};

static int shown(cm__span s) { return (int)(s.length > SHOWN ? SHOWN : s.length); }

/* ---- pairs ------------------------------------------------------------------------------------------------------ */

static void add_pair(cm__description *d, cm__span item)
{
    const char *equals = memchr(item.text, '=', item.length);
    if (!equals || equals == item.text)
        cm__fail(d->ctx, CM_ERR_FORMAT, "'%.*s': key=value is expected", shown(item), item.text);
    size_t   key_length = (size_t)(equals - item.text);
    cm__pair pair = {{item.text, key_length}, {equals + 1, item.length - key_length - 1}};
    if (d->n_pairs == CM__PAIRS_MAX) cm__fail(d->ctx, CM_ERR_LIMIT, "more than %d keys", CM__PAIRS_MAX);
    for (int32_t i = 0; i < d->n_pairs; i++)
        if (d->pairs[i].key.length == key_length && !memcmp(d->pairs[i].key.text, item.text, key_length))
            cm__fail(d->ctx, CM_ERR_FORMAT, "key '%.*s' is given twice", shown(pair.key), pair.key.text);
    d->pairs[d->n_pairs++] = pair;
}

static void split_pairs(cm__description *d, const char *text)
{
    while (*text) {
        size_t length = strcspn(text, ",");
        add_pair(d, (cm__span){text, length});
        text += length;
        if (*text == ',' && !*++text) cm__fail(d->ctx, CM_ERR_FORMAT, "a key is expected after the last comma");
    }
}

noreturn static void unknown_key(cm__description *d, cm__span key, const char *const *keys, int32_t count)
{
    const char *copy = cm__text_copy_n(d->ctx, key.text, (size_t)shown(key));
    const char *near = cm__nearest(copy, keys, (size_t)count), *all = "";
    for (int32_t i = 0; i < count; i++) all = cm__format(d->ctx, "%s%s%s", all, i ? ", " : "", keys[i]);
    cm__fail(d->ctx, CM_ERR_UNKNOWN, "unknown key '%s'%s%s%s; keys: %s", copy, near ? ", did you mean '" : "",
             near ? near : "", near ? "'?" : "", all);
}

/* ---- taking keys ------------------------------------------------------------------------------------------------- */

static const cm__pair *take(cm__description *d, const char *key)
{
    d->taken[d->n_taken++] = key;
    for (int32_t i = 0; i < d->n_pairs; i++)
        if (cm__span_is(d->pairs[i].key, key)) return &d->pairs[i];
    return NULL;
}

static void took(cm__description *d, const char *key, const char *value)
{
    d->text = cm__format(d->ctx, "%s%s%s=%s", d->text, d->text[strlen(d->text) - 1] == ':' ? "" : ",", key, value);
}

static void took_int(cm__description *d, const char *key, int64_t value)
{
    took(d, key, cm__format(d->ctx, "%lld", (long long)value));
}

static int64_t int_in(cm__description *d, const char *key, cm__span text, int64_t min, int64_t max)
{
    int64_t value;
    if (!cm__parse_int(text, &value) || value < min || value > max)
        cm__fail(d->ctx, CM_ERR_ARGUMENT, "%s '%.*s' is not a whole number from %lld to %lld", key, shown(text),
                 text.text, (long long)min, (long long)max);
    return value;
}

int64_t cm__take_int(cm__description *d, const char *key, int64_t otherwise, int64_t min, int64_t max)
{
    const cm__pair *pair = take(d, key);
    if (!pair && otherwise == CM__REQUIRED) cm__fail(d->ctx, CM_ERR_ARGUMENT, "%s is missing", key);
    int64_t value = pair ? int_in(d, key, pair->value, min, max) : otherwise;
    if (value != otherwise) took_int(d, key, value);
    return value;
}

int64_t cm__take_seq(cm__description *d, const char *key, int64_t otherwise)
{
    const int64_t   max = 1 << 24;
    const cm__pair *pair = take(d, key);
    int64_t         value = pair ? int_in(d, key, pair->value, 1, max) : otherwise;
    d->seq_taken = true;
    if (d->seq < 0 || d->seq > max)
        cm__fail(d->ctx, CM_ERR_ARGUMENT, "sequence length %lld is not between 1 and %lld", (long long)d->seq,
                 (long long)max);
    if (d->seq) value = d->seq;
    if (value == CM__REQUIRED) cm__fail(d->ctx, CM_ERR_ARGUMENT, "%s is missing", key);
    took_int(d, key, value);
    return value;
}

cm_dim cm__take_batch(cm__description *d, const char *key)
{
    const cm__pair *pair = take(d, key);
    if (!pair) return (cm_dim){1, 0};
    int64_t value = int_in(d, key, pair->value, 1, INT32_MAX);
    took_int(d, key, value);
    return cm__fixed(value);
}

double cm__take_ratio(cm__description *d, const char *key, double otherwise)
{
    const cm__pair *pair = take(d, key);
    double          value = otherwise;
    if (pair && (!cm__parse_real(pair->value, &value) || value < 0 || value > 1))
        cm__fail(d->ctx, CM_ERR_ARGUMENT, "%s '%.*s' is not a number from 0 to 1", key, shown(pair->value),
                 pair->value.text);
    if (value != otherwise) took(d, key, cm__format(d->ctx, "%.9g", value));
    return value;
}

int32_t cm__take_choice(cm__description *d, const char *key, const char *const *names, int32_t otherwise)
{
    const cm__pair *pair = take(d, key);
    const char     *all = "";
    int32_t         chosen = pair ? -1 : otherwise;
    for (int32_t i = 0; names[i]; i++) {
        if (pair && cm__span_is(pair->value, names[i])) chosen = i;
        all = cm__format(d->ctx, "%s%s%s", all, i ? ", " : "", names[i]);
    }
    if (chosen < 0 && !pair) cm__fail(d->ctx, CM_ERR_ARGUMENT, "%s is missing: one of %s", key, all);
    if (chosen < 0)
        cm__fail(d->ctx, CM_ERR_ARGUMENT, "%s '%.*s' is not one of %s", key, shown(pair->value), pair->value.text, all);
    if (chosen != otherwise) took(d, key, names[chosen]);
    return chosen;
}

int32_t cm__take_list(cm__description *d, const char *key, int64_t list[CM__LIST_MAX], int64_t max)
{
    const cm__pair *pair = take(d, key);
    int32_t         n = 0;
    if (!pair) return 0;
    for (cm__span rest = pair->value;;) {
        const char *x = memchr(rest.text, 'x', rest.length);
        cm__span    item = {rest.text, x ? (size_t)(x - rest.text) : rest.length};
        if (n == CM__LIST_MAX) cm__fail(d->ctx, CM_ERR_LIMIT, "%s: more than %d numbers", key, CM__LIST_MAX);
        list[n++] = int_in(d, key, item, 1, max);
        if (!x) break;
        rest = (cm__span){x + 1, rest.length - item.length - 1};
    }
    took(d, key, cm__text_copy_n(d->ctx, pair->value.text, pair->value.length));
    return n;
}

void cm__take_end(cm__description *d)
{
    for (int32_t i = 0; i < d->n_pairs; i++) {
        bool known = false;
        for (int32_t k = 0; k < d->n_taken; k++) known |= cm__span_is(d->pairs[i].key, d->taken[k]);
        if (!known) unknown_key(d, d->pairs[i].key, d->taken, d->n_taken);
    }
    if (d->seq && !d->seq_taken) cm__fail(d->ctx, CM_ERR_ARGUMENT, "a sequence length does not apply to %s", d->kind);
}

/* ---- transformers ------------------------------------------------------------------------------------------------ */

static bool reads(cm__family family, const cm__field *field) { return field->families >> family & 1; }

static const cm__field *field_of(cm__description *d, cm__family family, cm__span key)
{
    const char      *keys[CM__PAIRS_MAX];
    const cm__field *field = cm__field_find(key);
    int32_t          n = 0;
    if (field && reads(family, field)) return field;
    for (int32_t i = 0; i < cm__n_fields; i++)
        if (reads(family, &cm__fields[i])) keys[n++] = cm__fields[i].key;
    unknown_key(d, key, keys, n);
}

/* For a sequence longer than the learned positions: enlarge the position table, as if the model was trained that
   way. */
static int64_t grow_positions(const cm__description *d, cm__transformer *t)
{
    cm__transformer whole = *t;
    if (!t->heads) return 0; /* refused later */
    cm__transformer_derive(&whole);
    bool image = t->family == CM__VIT || t->family == CM__DINOV2;
    if (whole.position != CM__POSITION_LEARNED || image || d->seq <= whole.positions) return 0;
    t->positions = d->seq;
    return whole.positions;
}

static void take_past(const cm__description *d, cm__transformer *t)
{
    const cm__field *past = cm__field_find(cm__span_of("past"));
    if (!d->past) return;
    if (!reads(t->family, past))
        cm__fail(d->ctx, CM_ERR_UNSUPPORTED, "generation is modelled for decoders that store keys and values only");
    t->past = d->past;
}

static cm_graph *describe_transformer(cm__description *d, cm__family family, const char *name)
{
    cm__transformer t = cm__transformer_defaults(family);
    for (int32_t i = 0; i < d->n_pairs; i++) {
        const cm__field *field = field_of(d, family, d->pairs[i].key);
        cm__place(d->ctx, "%s: key '%s'", d->kind, field->key);
        cm__field_set(d->ctx, &t, field, d->pairs[i].value);
        cm__place(d->ctx, "%s", d->kind);
    }
    take_past(d, &t);
    int64_t learned = grow_positions(d, &t);
    cm__transformer_complete(d->ctx, &t, d->seq);
    cm_graph *g = cm__transformer_build(d->ctx, &t, name, "description");
    if (learned)
        cm__warn(g, "%lld learned positions instead of the model's %lld, for the given sequence length",
                 (long long)t.positions, (long long)learned);
    return g;
}

static const char *field_text(cm__ctx *ctx, const cm__transformer *t, const cm__field *field)
{
    if (field->kind == CM__FIELD_RATIO) return cm__format(ctx, "%.9g", cm__field_ratio(t, field));
    if (field->kind == CM__FIELD_TEXT) return cm__field_string(t, field);
    int64_t n = cm__field_int(t, field);
    return field->kind == CM__FIELD_CHOICE ? field->names[n] : cm__format(ctx, "%lld", (long long)n);
}

static bool differs(const cm__transformer *a, const cm__transformer *b, const cm__field *field)
{
    if (field->kind == CM__FIELD_TEXT) return strcmp(cm__field_string(a, field), cm__field_string(b, field)) != 0;
    return field->kind == CM__FIELD_RATIO ? cm__field_ratio(a, field) != cm__field_ratio(b, field)
                                          : cm__field_int(a, field) != cm__field_int(b, field);
}

/* Write the main sizes first, then every field whose value does not follow from them. */
const char *cm__transformer_text(cm__ctx *ctx, const cm__transformer *t)
{
    static const char *const always[] = {"layers", "hidden", "heads", "seq", "vocab", "image", "patch",
                                         "state_kind", "state_dim"};
    cm__transformer guess = cm__transformer_defaults(t->family);
    const char     *text = cm__format(ctx, "%s:", family_kinds[t->family]);
    const cm__field *first[sizeof always / sizeof *always];
    for (size_t i = 0; i < sizeof always / sizeof *always; i++) {
        const cm__field *field = cm__field_find(cm__span_of(always[i]));
        memcpy((char *)&guess + field->offset, (const char *)t + field->offset, sizeof(int64_t));
        first[i] = field;
    }
    cm__transformer_derive(&guess);
    for (int32_t i = 0; i < cm__n_fields; i++) {
        const cm__field *field = &cm__fields[i];
        bool             main = false;
        for (size_t k = 0; k < sizeof first / sizeof *first; k++) main |= first[k] == field;
        if (!reads(t->family, field) || (!main && !differs(t, &guess, field))) continue;
        text = cm__format(ctx, "%s%s%s=%s", text, i ? "," : "", field->key, field_text(ctx, t, field));
    }
    return text;
}

/* ---- the door ---------------------------------------------------------------------------------------------------- */

static int32_t family_of(cm__span kind)
{
    for (int32_t i = 0; i < CM__FAMILIES; i++)
        if (cm__span_is(kind, family_kinds[i])) return i;
    return -1;
}

static const cm__plain_kind *plain_of(cm__span kind)
{
    for (int32_t i = 0; i < cm__n_plain_kinds; i++)
        if (cm__span_is(kind, cm__plain_kinds[i].kind)) return &cm__plain_kinds[i];
    return NULL;
}

bool cm__is_description(const char *spec)
{
    const char *colon = strchr(spec, ':');
    if (!colon) return false;
    cm__span kind = {spec, (size_t)(colon - spec)};
    return family_of(kind) >= 0 || plain_of(kind);
}

noreturn static void unknown_kind(cm__ctx *ctx, cm__span kind)
{
    const char *names[KINDS_MAX], *all = "", *copy = cm__text_copy_n(ctx, kind.text, (size_t)shown(kind));
    int32_t     n = 0;
    for (int32_t i = 0; i < CM__FAMILIES; i++) names[n++] = family_kinds[i];
    for (int32_t i = 0; i < cm__n_plain_kinds && n < KINDS_MAX; i++) names[n++] = cm__plain_kinds[i].kind;
    for (int32_t i = 0; i < n; i++) all = cm__format(ctx, "%s%s%s", all, i ? ", " : "", names[i]);
    const char *near = cm__nearest(copy, names, (size_t)n);
    cm__fail(ctx, CM_ERR_UNKNOWN, "unknown kind '%s'%s%s%s; kinds: %s", copy, near ? ", did you mean '" : "",
             near ? near : "", near ? "'?" : "", all);
}

cm_graph *cm__import_description(cm__ctx *ctx, const char *text, const cm_load_options *o)
{
    size_t          length = strcspn(text, ":");
    cm__span        kind = {text, length};
    int32_t         family = family_of(kind);
    const cm__plain_kind *plain = plain_of(kind);
    if (family < 0 && !plain) unknown_kind(ctx, kind);
    cm__description *d = cm__alloc(ctx, sizeof *d);
    d->ctx = ctx;
    d->kind = plain ? plain->kind : family_kinds[family];
    d->seq = o ? o->seq : 0;
    d->past = o ? o->past : 0;
    d->text = cm__format(ctx, "%s:", d->kind);
    cm__place(ctx, "%s", d->kind);
    split_pairs(d, text[length] ? text + length + 1 : "");
    cm_graph *g = NULL;
    if (plain && d->past) cm__fail(ctx, CM_ERR_UNSUPPORTED, "no text is generated by %s", d->kind);
    if (plain) {
        g = cm__graph_new(ctx, text, "description");
        g->bare_operator = plain->bare_operator;
        plain->build(d, g);
        g->description = d->text;
        g->nodes_read = g->n_nodes;
    } else {
        g = describe_transformer(d, (cm__family)family, text);
    }
    cm__place(ctx, "%s", "");
    return g;
}
