/* SPDX-License-Identifier: Apache-2.0 */
/* words.c - texts that several renderers print: shapes, categories of memory, notes, printable names. */
#include <string.h>
#include "base/text.h"
#include "report/render.h"

const char *cm__seq_text(cm__ctx *ctx, const cm_graph *graph)
{
    long long seq = (long long)cm_graph_seq(graph);
    return seq ? cm__format(ctx, ", sequence length %lld", seq) : "";
}

const char *cm__precision_text(cm__ctx *ctx, const cm_graph *step)
{
    cm_precision p = cm_graph_precision(step);
    cm_dtype     stored = cm_graph_storage(step);
    bool         named = p != CM_PRECISION_BF16 && p != CM_PRECISION_FP16; /* the others imply what they store */
    if (named || stored == CM_DTYPES) return cm_precision_name(p);
    return cm__format(ctx, "%s with %s master weights", cm_precision_name(p), cm_dtype_name(stored));
}

const char *cm__lengths_text(cm__ctx *ctx, const cm_load_options *load, const cm_step *step, int64_t batch)
{
    if (!(load->tokens > 0)) return "";
    if (load->samples == CM_SAMPLES_PACKED)
        return cm__format(ctx, " full of samples of %g tokens in the mean", load->tokens);
    bool        padded = load->samples == CM_SAMPLES_PADDED;
    const char *mean = cm__format(ctx, " at most, samples of %g tokens in the mean, %s", load->tokens,
                                  padded ? "padded" : "not padded");
    if (!step) return mean;
    return cm__format(ctx, "%s%s %lld", mean, padded ? " to" : ": the time is that of",
                      (long long)cm_step_row_tokens(step, batch));
}

const char *cm__assumed_text(cm__ctx *ctx, const cm_device *device)
{
    const char *text = NULL;
    char        buf[32];
    for (int32_t i = 0; i < cm_device_assumptions(device); i++) {
        const cm_assumption *a = cm_device_assumption(device, i);
        bool                 plain = strcmp(a->number.unit, "1") == 0;
        const char          *value = a->text;
        if (!value && plain) value = cm__format(ctx, "%.4g", a->number.value);
        if (!value) value = cm__format(ctx, "%s%s", cm__si_small(buf, sizeof buf, a->number.value), a->number.unit);
        text = cm__format(ctx, "%s%s%s %s", text ? text : "", text ? ", " : "", a->member, value);
    }
    return text;
}

static char *dim_text(cm__ctx *ctx, cm_dim dim)
{
    if (!dim.per_batch) return cm__format(ctx, "%lld", (long long)dim.fixed);
    const char *batch = dim.per_batch == 1 ? "B" : cm__format(ctx, "%lldB", (long long)dim.per_batch);
    return dim.fixed ? cm__format(ctx, "(%s%+lld)", batch, (long long)dim.fixed) : cm__text_copy(ctx, batch);
}

const char *cm__shape_text(cm__ctx *ctx, const cm_tensor *tensor)
{
    if (cm_tensor_dims(tensor) == 0) return "scalar";
    const char *text = dim_text(ctx, cm_tensor_dim(tensor, 0));
    for (int32_t i = 1; i < cm_tensor_dims(tensor); i++)
        text = cm__format(ctx, "%sx%s", text, dim_text(ctx, cm_tensor_dim(tensor, i)));
    return text;
}

const char *cm__category_words(cm_category category)
{
    static const char *const words[CM_CATEGORIES] = {
        [CM_CATEGORY_INPUT_OUTPUT] = "activations",     [CM_CATEGORY_WEIGHTS_BIASES] = "weights",
        [CM_CATEGORY_GRADIENTS] = "gradients",          [CM_CATEGORY_ALGORITHM] = "optimizer state",
        [CM_CATEGORY_EPHEMERAL] = "workspace",
    };
    return words[category];
}

const char *cm__recompute_text(cm__ctx *ctx, const cm_plan *plan)
{
    const char *name = cm_recompute_name(plan->recompute);
    return plan->recompute_layers ? cm__format(ctx, "%s:%d", name, plan->recompute_layers) : name;
}

const char *cm__division_text(cm__ctx *ctx, int64_t batch, int64_t micro_batch, int32_t devices, bool recomputes)
{
    const char *text = "";
    if (micro_batch < batch)
        text = cm__format(ctx, "in micro-batches of %lld sample%s", (long long)micro_batch, micro_batch > 1 ? "s" : "");
    if (devices > 1) text = cm__format(ctx, "%s%son a pipeline of %d devices", text, *text ? ", " : "", devices);
    if (recomputes)
        text = cm__format(ctx, "%s%sactivations are recomputed in backward", text, *text ? "; " : "");
    return *text ? text : NULL;
}

const char *cm__compiled_text(cm__ctx *ctx, const cm_graph *step, const cm_memory_use *use)
{
    int64_t batch;
    double  cycles;
    if (!use->compiled || !cm_graph_compiled(step, &batch, &cycles)) return NULL;
    const char *samples = cm__format(ctx, "%lld sample%s", (long long)batch, batch > 1 ? "s" : "");
    const char *of = use->compiled == CM_COMPILED_SAME
                         ? "the memory and whether it fits are the answer of the chip's compiler to this very step"
                         : cm__format(ctx, "the memory is scaled by what the chip's compiler said of %s per replica", samples);
    if (!(cycles > 0)) return of;
    return cm__format(ctx, "%s; its operations%s take %.4g Mcycles in sum (they overlap: the step's time is this program's)", of,
                      use->compiled == CM_COMPILED_SAME ? "" : cm__format(ctx, " for %s", samples), cycles / 1e6);
}

const char *cm__node_shape(cm__ctx *ctx, const cm_graph *graph, const cm_node *node)
{
    for (int32_t i = 0; i < cm_node_outputs(node); i++)
        if (cm_node_output(node, i) >= 0)
            return cm__shape_text(ctx, cm_graph_tensor(graph, cm_node_output(node, i)));
    return "-";
}

/* Length of the UTF-8 sequence at `s` if it is well formed and printable, else 0. */
static size_t sequence(const unsigned char *s)
{
    if (s[0] < 0x80) return s[0] >= 0x20 && s[0] != 0x7f;
    size_t   length = s[0] >= 0xf0 && s[0] < 0xf5 ? 4 : s[0] >= 0xe0 ? 3 : s[0] >= 0xc2 ? 2 : 0;
    uint32_t code = s[0] & (0x7fu >> length);
    if (s[0] >= 0xf5) return 0;
    for (size_t i = 1; i < length; i++) {
        if ((s[i] & 0xc0) != 0x80) return 0;
        code = code << 6 | (s[i] & 0x3f);
    }
    bool overlong = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
    bool surrogate = code >= 0xd800 && code < 0xe000;
    bool control = code >= 0x80 && code < 0xa0;
    return overlong || surrogate || control || code > 0x10ffff ? 0 : length;
}

char *cm__make_printable(char *text)
{
    for (size_t i = 0, length; text[i]; i += length) {
        length = sequence((const unsigned char *)text + i);
        if (length) continue;
        text[i] = '?';
        length = 1;
    }
    return text;
}

void cm__print_note(cm__ctx *ctx, FILE *out, const char *prefix, const char *label, int label_width, const char *text)
{
    if (text && *text) fprintf(out, "%s%-*s%s\n", prefix, label_width, label, cm__printable(ctx, text));
}

void cm__print_gates(cm__ctx *ctx, FILE *out, int label_width, const cm__gates *gates)
{
    for (int32_t i = 0; i < gates->count; i++)
        cm__print_note(ctx, out, "", i ? "" : "limits", label_width, gates->all[i].text);
}

const char *cm__printable(cm__ctx *ctx, const char *text) { return cm__make_printable(cm__text_copy(ctx, text)); }

const char *cm__fits_word(const cm_chance *chance)
{
    static const char *const words[CM_VERDICTS] = {"no", "unsure", "yes"};
    return words[chance->verdict];
}

/* Whether one kind of script fits, with its peak. */
static const char *alternative_text(cm__ctx *ctx, const cm_memory_use *u, int32_t at)
{
    char      peak[32];
    cm_chance chance = cm_alternative_chance(u, at);
    return cm__format(ctx, "%s: %s, %.0f %% (peak %sB)", u->alternatives[at].name, cm__fits_word(&chance),
                      100 * chance.probability, cm__binary(peak, sizeof peak, u->alternatives[at].peak_bytes));
}

const char *cm__open_text(cm__ctx *ctx, const cm_memory_use *u)
{
    static const char *const settles[] = {
        [CM_OPEN_LOSS] = "--loss-kernel says which loss the script has",
        [CM_OPEN_MEMORY] = "--recompute full, and on TPUs --offload activations,optimizer, says what the script does",
        [CM_OPEN_SHARDS] = ("accelerate and DeepSpeed keep fp32 shards, and --precision amp-bf16 or amp-fp16 says that "
                            "the script has them")};
    const char *said = "", *how = "";
    for (int32_t i = 0; i < u->n_alternatives; i++) {
        said = cm__format(ctx, "%s%s%s", said, i ? "; " : "", alternative_text(ctx, u, i));
        if (i) how = cm__format(ctx, "%s; %s", how, settles[u->alternatives[i].open]);
    }
    return u->n_alternatives ? cm__format(ctx, "%s%s", said, how) : NULL;
}

const char *cm__unsure(cm__ctx *ctx, const cm_memory_use *u)
{
    cm_chance asked = cm_memory_chance(u);
    for (int32_t i = 0; i < u->n_alternatives; i++)
        if (cm_alternative_chance(u, i).verdict != CM_DOES_NOT_FIT && asked.verdict == CM_UNSURE)
            return cm__format(ctx, "it may not fit: %s", cm__open_text(ctx, u));
    return NULL;
}
