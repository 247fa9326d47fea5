/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transformer.c - the transformer struct: its fields by name, each family's defaults, and derived fields.
 *
 * Defaults are those of Hugging Face's configuration classes, except for sizes that a description must give.
 */
#include "import/transformer/transformer.h"

#include <string.h>
#include "base/text.h"
#include "graph/rules/state_space.h"
#include "import/transformer/parts.h"

#define LAYERS_LIMIT 1000                  /* the deepest published model, DeepNet, has as many */
#define SIZE_LIMIT ((int64_t)1 << 20)      /* of any width */
#define SEQ_LIMIT ((int64_t)1 << 24)       /* tokens */
#define PARAMETER_LIMIT 1e18

/* ---- fields ----------------------------------------------------------------------------------------------------- */

static const char *const norm_names[] = {[CM__NORM_LAYER] = "layer", [CM__NORM_RMS] = "rms", NULL};
static const char *const head_names[] = {
    [CM__HEAD_LM] = "lm", [CM__HEAD_MLM] = "mlm", [CM__HEAD_CLASSIFIER] = "classifier", [CM__HEAD_NONE] = "none", NULL};

static const char *const state_names[] = {
    [CM__SCAN_MAMBA2] = "mamba2", [CM__SCAN_MAMBA] = "mamba", [CM__SCAN_DELTA] = "delta", NULL};

#define BIT(family) (1u << CM__##family)
#define ANY ((1u << CM__FAMILIES) - 1)
#define IMAGE (BIT(VIT) | BIT(DINOV2))
#define PAIR (BIT(T5) | BIT(WHISPER))
#define TEXT (ANY & ~IMAGE)
#define MOE (BIT(MIXTRAL) | BIT(QWEN3) | BIT(DEEPSEEK) | BIT(GPT_OSS) | BIT(HYBRID))
#define GATED (BIT(LLAMA) | BIT(MISTRAL) | BIT(QWEN) | BIT(QWEN2) | BIT(GEMMA) | BIT(PHI3) | MOE)
#define GQA (BIT(GPT2) | BIT(PHI) | (GATED & ~BIT(DEEPSEEK)))
#define WINDOWED (GATED & ~(BIT(LLAMA) | BIT(QWEN) | BIT(DEEPSEEK)))
#define LEARNED (BIT(GPT2) | BIT(BERT) | BIT(ROBERTA) | BIT(DISTILBERT) | BIT(OPT) | BIT(WHISPER) | BIT(CLIP))
#define LABELLED (ANY & ~(PAIR | BIT(CLIP)))
#define COUNT(field, from, to, who) {#field, offsetof(cm__transformer, field), CM__FIELD_COUNT, from, to, NULL, who}
#define FLAG(field, who) {#field, offsetof(cm__transformer, field), CM__FIELD_FLAG, 0, 1, NULL, who}
#define CHOICE(field, names, who) {#field, offsetof(cm__transformer, field), CM__FIELD_CHOICE, 0, 0, names, who}
#define RATIO(field, who) {#field, offsetof(cm__transformer, field), CM__FIELD_RATIO, 0, 1, NULL, who}

#define TEXTUAL(field, who) {#field, offsetof(cm__transformer, field), CM__FIELD_TEXT, 0, 0, NULL, who}

/* In the order in which a description lists them. */
const cm__field cm__fields[] = {
    COUNT(layers, 1, LAYERS_LIMIT, ANY),
    COUNT(decoder_layers, 1, LAYERS_LIMIT, PAIR),
    COUNT(hidden, 1, SIZE_LIMIT, ANY),
    COUNT(heads, 1, SIZE_LIMIT, ANY),
    COUNT(kv_heads, 1, SIZE_LIMIT, GQA),
    COUNT(head_dim, 1, SIZE_LIMIT, BIT(T5) | GQA),
    COUNT(ffn, 1, 16 * SIZE_LIMIT, ANY),
    COUNT(seq, 1, SEQ_LIMIT, TEXT),
    COUNT(past, 0, SEQ_LIMIT, (GQA & ~BIT(HYBRID)) | BIT(NEOX) | BIT(OPT) | BIT(DEEPSEEK)),
    COUNT(vocab, 0, (int64_t)1 << 31, TEXT),
    COUNT(positions, 1, SEQ_LIMIT, LEARNED),
    COUNT(types, 0, SIZE_LIMIT, BIT(BERT) | BIT(ROBERTA)),
    COUNT(masked, 0, SEQ_LIMIT, BIT(BERT) | BIT(ROBERTA) | BIT(DISTILBERT)),
    COUNT(embed, 1, SIZE_LIMIT, BIT(OPT)),
    COUNT(window, 0, SEQ_LIMIT, WINDOWED),
    COUNT(full_every, 0, LAYERS_LIMIT, WINDOWED),
    COUNT(buckets, 1, SIZE_LIMIT, BIT(T5)),
    COUNT(experts, 0, 4096, MOE),
    COUNT(top_k, 0, 4096, MOE),
    COUNT(expert_ffn, 0, SIZE_LIMIT, MOE),
    COUNT(shared_ffn, 0, SIZE_LIMIT, MOE),
    COUNT(dense_layers, 0, LAYERS_LIMIT, MOE),
    COUNT(expert_every, 0, LAYERS_LIMIT, MOE),
    COUNT(q_rank, 0, SIZE_LIMIT, BIT(DEEPSEEK)),
    COUNT(kv_rank, 1, SIZE_LIMIT, BIT(DEEPSEEK)),
    COUNT(nope_dim, 1, SIZE_LIMIT, BIT(DEEPSEEK)),
    COUNT(rope_dim, 2, SIZE_LIMIT, BIT(DEEPSEEK)),
    COUNT(v_dim, 1, SIZE_LIMIT, BIT(DEEPSEEK)),
    COUNT(mtp, 0, 16, BIT(DEEPSEEK)),
    COUNT(frames, 1, SEQ_LIMIT, BIT(WHISPER)),
    COUNT(text_layers, 1, LAYERS_LIMIT, BIT(CLIP)),
    COUNT(text_hidden, 1, SIZE_LIMIT, BIT(CLIP)),
    COUNT(text_heads, 1, SIZE_LIMIT, BIT(CLIP)),
    COUNT(text_ffn, 0, 16 * SIZE_LIMIT, BIT(CLIP)),
    COUNT(projection, 1, SIZE_LIMIT, BIT(CLIP)),
    COUNT(image, 1, 1 << 16, IMAGE | BIT(CLIP)),
    COUNT(patch, 1, 1 << 16, IMAGE | BIT(CLIP)),
    COUNT(channels, 1, SIZE_LIMIT, IMAGE | BIT(CLIP) | BIT(WHISPER)),
    COUNT(labels, 1, SIZE_LIMIT, LABELLED),
    TEXTUAL(pattern, BIT(HYBRID)),
    CHOICE(state_kind, state_names, BIT(HYBRID)),
    COUNT(state_heads, 1, SIZE_LIMIT, BIT(HYBRID)),
    COUNT(state_dim, 1, SIZE_LIMIT, BIT(HYBRID)),
    COUNT(state_groups, 1, SIZE_LIMIT, BIT(HYBRID)),
    COUNT(state_size, 1, SIZE_LIMIT, BIT(HYBRID)),
    COUNT(state_conv, 1, SIZE_LIMIT, BIT(HYBRID)),
    COUNT(state_chunk, 1, SIZE_LIMIT, BIT(HYBRID)),
    COUNT(state_rank, 1, SIZE_LIMIT, BIT(HYBRID)),
    CHOICE(head, head_names, ANY),
    CHOICE(norm, norm_names, BIT(GPT2)),
    CHOICE(activation, cm__activation_names, ANY),
    FLAG(tied, TEXT),
    FLAG(qk_norm, GATED),
    FLAG(sandwich, GATED),
    FLAG(scaled, BIT(GEMMA)),
    FLAG(softcap, BIT(GEMMA)),
    FLAG(shared_gate, MOE),
    FLAG(expert_loop, MOE),
    FLAG(gated, BIT(T5) | BIT(DINOV2) | BIT(HYBRID)),
    FLAG(state_norm, BIT(HYBRID)),
    FLAG(state_bias, BIT(HYBRID)),
    FLAG(conv_bias, BIT(HYBRID)),
    FLAG(query_gate, BIT(HYBRID)),
    FLAG(causal, LABELLED),
    FLAG(pre_norm, BIT(OPT)),
    FLAG(parallel, BIT(NEOX) | BIT(PHI)),
    FLAG(qkv_bias, LABELLED),
    FLAG(out_bias, LABELLED),
    FLAG(mlp_bias, LABELLED & ~BIT(MIXTRAL)),
    RATIO(rotary, BIT(NEOX) | BIT(PHI) | (GATED & ~BIT(DEEPSEEK))),
    RATIO(dropout, ANY),
    RATIO(embed_dropout, ANY),
    RATIO(attention_dropout, ANY),
};
const int32_t cm__n_fields = sizeof cm__fields / sizeof *cm__fields;

const cm__field *cm__field_find(cm__span key)
{
    for (int32_t i = 0; i < cm__n_fields; i++)
        if (cm__span_is(key, cm__fields[i].key)) return &cm__fields[i];
    return NULL;
}

static void *at(const cm__transformer *t, const cm__field *field) { return (char *)(uintptr_t)t + field->offset; }

int64_t cm__field_int(const cm__transformer *t, const cm__field *field) { return *(const int64_t *)at(t, field); }

const char *cm__field_string(const cm__transformer *t, const cm__field *field)
{
    const char *text = *(const char *const *)at(t, field);
    return text ? text : "";
}

double cm__field_ratio(const cm__transformer *t, const cm__field *field) { return *(const double *)at(t, field); }

static int64_t choice_of(cm__ctx *ctx, const cm__field *field, cm__span value)
{
    const char *all = "";
    for (int32_t i = 0; field->names[i]; i++) {
        if (cm__span_is(value, field->names[i])) return i;
        all = cm__format(ctx, "%s%s%s", all, i ? ", " : "", field->names[i]);
    }
    int shown = (int)(value.length > 64 ? 64 : value.length);
    cm__fail(ctx, CM_ERR_UNSUPPORTED, "'%.*s' is not one of %s", shown, value.text, all);
}

void cm__field_set(cm__ctx *ctx, cm__transformer *t, const cm__field *field, cm__span value)
{
    int     shown = (int)(value.length > 64 ? 64 : value.length);
    int64_t n = 0;
    double  x = 0;
    if (field->kind == CM__FIELD_TEXT) {
        *(const char **)at(t, field) = cm__text_copy_n(ctx, value.text, value.length);
        return;
    }
    if (field->kind == CM__FIELD_CHOICE) {
        n = choice_of(ctx, field, value);
    } else if (field->kind == CM__FIELD_RATIO) {
        if (!cm__parse_real(value, &x) || x < 0 || x > 1)
            cm__fail(ctx, CM_ERR_ARGUMENT, "'%.*s' is not a number from 0 to 1", shown, value.text);
        memcpy(at(t, field), &x, sizeof x);
        return;
    } else if (!cm__parse_int(value, &n) || n < field->min || n > field->max) {
        cm__fail(ctx, CM_ERR_ARGUMENT, "'%.*s' is not a whole number from %lld to %lld", shown, value.text,
                 (long long)field->min, (long long)field->max);
    }
    memcpy(at(t, field), &n, sizeof n);
}

/* ---- families --------------------------------------------------------------------------------------------------- */

#define DECODER .causal = 1, .pre_norm = 1, .head = CM__HEAD_LM
#define BIASES .qkv_bias = 1, .out_bias = 1, .mlp_bias = 1
#define DROPOUTS .dropout = 0.1, .embed_dropout = 0.1, .attention_dropout = 0.1
#define MASKED .head = CM__HEAD_MLM, .tied = 1, .activation = CM__ACT_GELU, .seq = 512, .labels = 2, BIASES, DROPOUTS
#define GATED_DECODER(act)                                                                                             \
    DECODER, .norm = CM__NORM_RMS, .activation = act, .gated = 1, .position = CM__POSITION_ROTARY, .rotary = 1,        \
    .seq = 2048, .labels = 2
#define LLAMA_LIKE GATED_DECODER(CM__ACT_SILU)

static const cm__transformer defaults[CM__FAMILIES] = {
    [CM__GPT2] = {DECODER, BIASES, DROPOUTS, .vocab = 50257, .seq = 1024, .activation = CM__ACT_GELU_NEW, .tied = 1,
                  .labels = 2},
    [CM__BERT] = {MASKED, .vocab = 30522, .types = 2},
    [CM__ROBERTA] = {MASKED, .vocab = 50265, .types = 1},
    [CM__DISTILBERT] = {MASKED, .vocab = 30522},
    [CM__T5] = {.head = CM__HEAD_LM, .pre_norm = 1, .vocab = 32128, .seq = 512, .norm = CM__NORM_RMS,
                .activation = CM__ACT_RELU, .position = CM__POSITION_RELATIVE, .buckets = 32, .tied = 1, DROPOUTS},
    [CM__OPT] = {DECODER, BIASES, .vocab = 50272, .seq = 2048, .activation = CM__ACT_RELU, .tied = 1, .dropout = 0.1,
                 .labels = 2},
    [CM__NEOX] = {DECODER, BIASES, .vocab = 50432, .seq = 2048, .activation = CM__ACT_GELU, .rotary = 0.25,
                  .position = CM__POSITION_ROTARY, .parallel = 1, .labels = 2},
    [CM__LLAMA] = {LLAMA_LIKE, .vocab = 32000},
    [CM__MISTRAL] = {LLAMA_LIKE, .vocab = 32000, .window = 4096},
    [CM__QWEN] = {LLAMA_LIKE, .vocab = 151936, .qkv_bias = 1},
    [CM__QWEN2] = {LLAMA_LIKE, .vocab = 151936, .qkv_bias = 1},
    [CM__MIXTRAL] = {LLAMA_LIKE, .vocab = 32000, .experts = 8, .top_k = 2},
    [CM__VIT] = {.head = CM__HEAD_CLASSIFIER, .pre_norm = 1, BIASES, .activation = CM__ACT_GELU, .image = 224,
                 .patch = 16, .channels = 3, .labels = 1000},
    [CM__QWEN3] = {LLAMA_LIKE, .vocab = 151936, .qk_norm = 1},
    [CM__GEMMA] = {GATED_DECODER(CM__ACT_GELU_TANH), .vocab = 262144, .tied = 1, .qk_norm = 1, .sandwich = 1,
                   .scaled = 1},
    [CM__DEEPSEEK] = {LLAMA_LIKE, .vocab = 129280, .kv_rank = 512, .nope_dim = 128, .rope_dim = 64, .v_dim = 128},
    [CM__GPT_OSS] = {LLAMA_LIKE, BIASES, .vocab = 201088, .experts = 32, .top_k = 4, .window = 128, .full_every = 2,
                     .clamped = 1},
    [CM__PHI] = {DECODER, BIASES, .vocab = 51200, .seq = 2048, .activation = CM__ACT_GELU_NEW, .rotary = 0.5,
                 .position = CM__POSITION_ROTARY, .parallel = 1, .labels = 2},
    [CM__PHI3] = {LLAMA_LIKE, .vocab = 32064},
    [CM__DINOV2] = {.head = CM__HEAD_NONE, .pre_norm = 1, BIASES, .activation = CM__ACT_GELU, .image = 224,
                    .patch = 14, .channels = 3, .labels = 1000},
    [CM__WHISPER] = {.head = CM__HEAD_LM, .pre_norm = 1, BIASES, .vocab = 51865, .seq = 448, .tied = 1,
                     .activation = CM__ACT_GELU, .frames = 1500, .channels = 80},
    [CM__HYBRID] = {LLAMA_LIKE, .vocab = 128000, .state_norm = 1, .conv_bias = 1},
    [CM__CLIP] = {.head = CM__HEAD_NONE, .pre_norm = 1, BIASES, .vocab = 49408, .seq = 77, .image = 224, .patch = 32,
                  .channels = 3, .activation = CM__ACT_QUICK_GELU, .text_layers = 12, .text_hidden = 512,
                  .text_heads = 8, .projection = 512},
};

cm__transformer cm__transformer_defaults(cm__family family)
{
    cm__transformer t = defaults[family];
    t.family = family;
    return t;
}

/* ---- what follows ----------------------------------------------------------------------------------------------- */

/* A gated network has three matrices; 2/3 of 4 hidden, rounded up to 256, keeps the number of parameters (LLaMA's
   rule). */
static int64_t usual_ffn(const cm__transformer *t)
{
    return t->gated && t->family != CM__T5 ? (8 * t->hidden / 3 + 255) / 256 * 256 : 4 * t->hidden;
}

void cm__transformer_derive(cm__transformer *t)
{
    if ((t->family == CM__VIT || t->family == CM__DINOV2) && t->patch > 0) {
        t->seq = (t->image / t->patch) * (t->image / t->patch) + 1; /* plus the class token */
        t->positions = t->seq;
    }
    if (t->kv_rank) t->head_dim = t->nope_dim + t->rope_dim;
    if (!t->head_dim) t->head_dim = t->hidden / t->heads;
    if (!t->v_dim) t->v_dim = t->head_dim;
    if (!t->kv_heads) t->kv_heads = t->heads;
    if (!t->ffn) t->ffn = usual_ffn(t);
    if (!t->embed) t->embed = t->hidden;
    if (!t->positions) t->positions = t->seq;
    if (t->experts && !t->expert_ffn) t->expert_ffn = t->ffn;
    cm__state_derive(t);
    if (t->family == CM__CLIP && !t->text_ffn) t->text_ffn = 4 * t->text_hidden;
    if ((t->family == CM__T5 || t->family == CM__WHISPER) && !t->decoder_layers) t->decoder_layers = t->layers;
}

int64_t cm__rotated_width(const cm__transformer *t)
{
    return t->kv_rank ? t->rope_dim : (int64_t)((double)t->head_dim * t->rotary);
}

static void check_widths(cm__ctx *ctx, const cm__transformer *t, bool own_head_dim)
{
    if (!own_head_dim && t->hidden % t->heads)
        cm__fail(ctx, CM_ERR_ARGUMENT, "hidden size %lld is not divisible by %lld heads", (long long)t->hidden,
                 (long long)t->heads);
    if (t->heads % t->kv_heads)
        cm__fail(ctx, CM_ERR_ARGUMENT, "%lld heads are not divisible by %lld key/value heads", (long long)t->heads,
                 (long long)t->kv_heads);
    if (t->experts && !t->top_k)
        cm__fail(ctx, CM_ERR_ARGUMENT, "%lld experts, but not how many of them a token uses (top_k, "
                 "num_experts_per_tok)", (long long)t->experts);
    if (t->top_k > t->experts)
        cm__fail(ctx, CM_ERR_ARGUMENT, "top_k %lld is more than %lld experts", (long long)t->top_k,
                 (long long)t->experts);
    if (t->expert_loop && (!t->gated || t->mlp_bias || t->clamped))
        cm__fail(ctx, CM_ERR_ARGUMENT, "expert_loop is for experts with a gate and without biases, as GraniteMoe's");
    int64_t rotated = cm__rotated_width(t);
    if (t->position == CM__POSITION_ROTARY && (rotated < 2 || rotated % 2))
        cm__fail(ctx, CM_ERR_ARGUMENT, "%lld rotated dimensions of a head: an even number, 2 or more, is needed",
                 (long long)rotated);
}

static void check_image(cm__ctx *ctx, const cm__transformer *t, int64_t seq)
{
    if (seq) cm__fail(ctx, CM_ERR_ARGUMENT, "an image model has no sequence length to set: change image or patch");
    if (t->image < 1 || t->patch < 1)
        cm__fail(ctx, CM_ERR_ARGUMENT, "image size %lld, patch size %lld", (long long)t->image, (long long)t->patch);
    if (t->image % t->patch)
        cm__fail(ctx, CM_ERR_ARGUMENT, "image size %lld is not divisible by patch size %lld", (long long)t->image,
                 (long long)t->patch);
    if (t->seq > SEQ_LIMIT) cm__fail(ctx, CM_ERR_LIMIT, "%lld patches are too many", (long long)t->seq);
}

static void set_length(cm__ctx *ctx, cm__transformer *t, int64_t seq)
{
    if (seq < 0 || seq > SEQ_LIMIT)
        cm__fail(ctx, CM_ERR_ARGUMENT, "sequence length %lld is not between 1 and %lld", (long long)seq,
                 (long long)SEQ_LIMIT);
    if (seq) t->seq = seq;
    if (t->position == CM__POSITION_LEARNED && t->vocab && t->seq > t->positions)
        cm__fail(ctx, CM_ERR_ARGUMENT, "sequence length %lld is longer than the model's %lld learned positions",
                 (long long)t->seq, (long long)t->positions);
}

static void check_head(cm__ctx *ctx, const cm__transformer *t)
{
    bool        masked = t->family == CM__BERT || t->family == CM__ROBERTA || t->family == CM__DISTILBERT;
    bool        image = t->family == CM__VIT || t->family == CM__DINOV2, towers = t->family == CM__CLIP;
    bool        bare = !t->vocab && !image, pair = t->family == CM__T5 || t->family == CM__WHISPER;
    const char *wrong = NULL;
    if (t->head == CM__HEAD_MLM && !masked) wrong = "head mlm fits bert, roberta and distilbert only";
    if (t->head == CM__HEAD_LM && (masked || image)) wrong = "head lm does not fit here: use mlm, classifier or none";
    if (t->head == CM__HEAD_CLASSIFIER && pair) wrong = "head classifier does not fit t5: use lm or none";
    if (t->head != CM__HEAD_NONE && towers) wrong = "clip compares its two towers and has no other head: use none";
    if (bare && t->head != CM__HEAD_NONE) wrong = "vocab 0 means bare layers: head none is needed";
    if (bare && pair) wrong = "vocab 0 (bare layers) does not fit t5";
    if (wrong) cm__fail(ctx, CM_ERR_UNSUPPORTED, "%s", wrong);
}

static void check_size(cm__ctx *ctx, const cm__transformer *t)
{
    double width = (double)t->hidden, inner = (double)(t->heads) * (double)t->head_dim;
    double expert = t->experts ? (double)t->expert_ffn * (double)t->experts : 0;
    double layer = 8 * width * inner + 3 * width * ((double)t->ffn + expert);
    double total = layer * (double)(t->layers + t->decoder_layers) + 2 * width * (double)t->vocab;
    if (!(total < PARAMETER_LIMIT) || inner > (double)(SIZE_LIMIT * 16))
        cm__fail(ctx, CM_ERR_LIMIT, "the model would have about %.0e parameters", total);
}

void cm__transformer_complete(cm__ctx *ctx, cm__transformer *t, int64_t seq)
{
    const struct { const char *name; int64_t value; } needed[] = {
        {"layers", t->layers}, {"hidden", t->hidden}, {"heads", t->heads}};
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if (!needed[i].value) cm__fail(ctx, CM_ERR_ARGUMENT, "%s is missing", needed[i].name);
    bool own_head_dim = t->head_dim != 0;
    cm__transformer_derive(t);
    check_widths(ctx, t, own_head_dim);
    if (t->family == CM__VIT || t->family == CM__DINOV2) check_image(ctx, t, seq);
    else set_length(ctx, t, seq);
    check_head(ctx, t);
    cm__state_check(ctx, t);
    check_size(ctx, t);
}
