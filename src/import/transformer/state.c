/* SPDX-License-Identifier: Apache-2.0 */
/*
 * state.c - layers of hybrid models: which layer has attention, a state space or both, and the state space.
 *
 * B batch, S sequence, h hidden, w inner width, n numbers of state, G groups, H heads. Projections are as in Hugging
 * Face's code: Mamba 2 has one product for gate, channels, B, C and time steps; Mamba computes B, C and the steps from
 * its channels; the delta rule has a second product for its two gates.
 */
#include "import/transformer/parts.h"

#include <string.h>

cm__layer_kind cm__layer_kind_of(const cm__transformer *t, int64_t index)
{
    static const struct { char letter; cm__layer_kind kind; } rows[] = {
        {'a', {.attention = true, .network = true}}, {'s', {.state = true, .network = true}},
        {'b', {.attention = true, .state = true, .network = true}}, {'A', {.attention = true}},
        {'S', {.state = true}}, {'F', {.network = true, .dense = true}}, {'E', {.network = true}}};
    size_t length = t->pattern ? strlen(t->pattern) : 0;
    char   letter = length ? t->pattern[(size_t)index % length] : 'a';
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].letter == letter) return rows[i].kind;
    return (cm__layer_kind){.unknown = true};
}

static cm__scan scan_of(const cm__transformer *t)
{
    return (cm__scan){t->state_kind, t->state_heads, t->state_dim, t->state_groups, t->state_size, t->state_chunk,
                      t->state_conv};
}

typedef struct scanned {
    int32_t inputs[CM__SCAN_INPUTS];
} scanned;

static int32_t vector(cm__builder *b, const char *name, int64_t size)
{
    return cm__b_parameter(b, "mamba", name, 1, &size);
}

static void add_weights(cm__builder *b, const cm__transformer *t, const cm__scan *s, scanned *x)
{
    int64_t width = cm__scan_width(s), channels = cm__scan_channels(s), delta = s->kind == CM__SCAN_DELTA;
    bool    recurrent = s->kind == CM__SCAN_MAMBA;
    x->inputs[CM__SCAN_CONV] = cm__b_parameter(b, "mamba.conv1d", "weight", 3, (int64_t[]){channels, 1, s->kernel});
    if (t->conv_bias) x->inputs[CM__SCAN_CONV_BIAS] = cm__b_parameter(b, "mamba.conv1d", "bias", 1, &channels);
    if (!recurrent) x->inputs[CM__SCAN_STEP_BIAS] = vector(b, "dt_bias", s->heads);
    x->inputs[CM__SCAN_DECAY] = recurrent ? cm__b_parameter(b, "mamba", "A_log", 2, (int64_t[]){width, s->state})
                                          : vector(b, "A_log", s->heads);
    if (!delta) x->inputs[CM__SCAN_SKIP] = vector(b, "D", s->heads);
    if (t->state_norm) x->inputs[CM__SCAN_NORM] = vector(b, "norm.weight", delta ? s->dim : width);
}

static int32_t normed_slice(cm__builder *b, const char *norm, int32_t x, int64_t from, int64_t to)
{
    return cm__b_rms_norm(b, norm, cm__b_slice(b, norm, "part", x, 2, from, to), to - from);
}

/* Mamba in Jamba: time steps, B and C are normed. */
static void add_steps(cm__builder *b, const cm__transformer *t, const cm__scan *s, scanned *x)
{
    int64_t  width = cm__scan_width(s), rank = t->state_rank, n = s->state;
    cm__attr last = CM__INTS(CM_ATTR_AXIS, 2);
    int32_t  channels = cm__b_slice(b, "mamba", "channels", x->inputs[CM__SCAN_PROJECTED], 2, 0, width);
    int32_t  all = cm__b_linear(b, "mamba.x_proj", channels, width, rank + 2 * n, false);
    int32_t  steps = normed_slice(b, "mamba.dt_layernorm", all, 0, rank);
    int32_t  pairs[] = {normed_slice(b, "mamba.b_layernorm", all, rank, rank + n),
                        normed_slice(b, "mamba.c_layernorm", all, rank + n, rank + 2 * n)};
    x->inputs[CM__SCAN_STEPS] = cm__b_linear(b, "mamba.dt_proj", steps, rank, width, true);
    x->inputs[CM__SCAN_PAIRS] = cm__emit(b->g, CM_OP_CONCAT, cm__b_name(b, "mamba", "pairs"), pairs, 2, &last, 1);
}

int32_t cm__state_space(cm__builder *b, const cm__transformer *t, int32_t in)
{
    cm__scan s = scan_of(t);
    int64_t  width = cm__scan_width(&s), wide = width + cm__scan_channels(&s);
    int64_t  sizes[CM__SCAN_SIZES] = {s.kind, s.heads, s.dim, s.groups, s.state, s.chunk, s.kernel};
    cm__attr scan = {.key = CM_ATTR_SCAN, .count = CM__SCAN_SIZES, .ints = sizes};
    scanned  x;
    for (int i = 0; i < CM__SCAN_INPUTS; i++) x.inputs[i] = -1;
    if (s.kind == CM__SCAN_MAMBA2) wide += s.heads; /* the time steps */
    x.inputs[CM__SCAN_PROJECTED] = cm__b_linear(b, "mamba.in_proj", in, t->hidden, wide, t->state_bias);
    if (s.kind == CM__SCAN_DELTA)
        x.inputs[CM__SCAN_STEPS] = cm__b_linear(b, "mamba.in_proj_ba", in, t->hidden, 2 * s.heads, false);
    if (s.kind == CM__SCAN_MAMBA) add_steps(b, t, &s, &x);
    add_weights(b, t, &s, &x);
    const cm_node *n = cm__emit_node(b->g, CM_OP_STATE_SPACE, cm__b_name(b, "mamba", "scan"), x.inputs, CM__SCAN_INPUTS,
                                     &scan, 1, 1);
    return cm__b_linear(b, "mamba.out_proj", n->outputs[0], width, t->hidden, t->state_bias);
}

/* The rest of the state space's sizes; those of Mamba 2 unless they are given. */
void cm__state_derive(cm__transformer *t)
{
    if (t->family != CM__HYBRID) return;
    static const struct { int64_t dim, size, chunk; } usual[] = {
        [CM__SCAN_MAMBA2] = {64, 128, 256}, [CM__SCAN_MAMBA] = {1, 16, 1}, [CM__SCAN_DELTA] = {128, 128, 64}};
    if (!t->state_dim) t->state_dim = usual[t->state_kind].dim;
    if (!t->state_heads) t->state_heads = 2 * t->hidden / t->state_dim;
    if (!t->state_groups) t->state_groups = 1;
    if (!t->state_size) t->state_size = usual[t->state_kind].size;
    if (!t->state_conv) t->state_conv = 4;
    if (!t->state_chunk) t->state_chunk = usual[t->state_kind].chunk;
    if (!t->state_rank) t->state_rank = (t->hidden + 15) / 16;
    if (!(t->rotary > 0)) t->position = CM__POSITION_NONE;
}

void cm__state_check(cm__ctx *ctx, const cm__transformer *t)
{
    for (int64_t i = 0; t->family == CM__HYBRID && i < t->layers; i++) {
        if (!cm__layer_kind_of(t, i).unknown) continue;
        cm__fail(ctx, CM_ERR_ARGUMENT, "pattern '%.64s': a is attention, s a state space, b both, each before a "
                 "feed-forward network; A and S have none, F is a network alone, E experts alone", t->pattern);
    }
}
