/* SPDX-License-Identifier: Apache-2.0 */
/* words.c - texts that several renderers print: shapes, categories of memory, wrapped notes, printable names. */
#include <string.h>
#include "base/text.h"
#include "report/render.h"

#define LINE_WIDTH 100

const char *cm__seq_text(cm__ctx *ctx, const cm_graph *graph)
{
    long long seq = (long long)cm_graph_seq(graph);
    return seq ? cm__format(ctx, ", sequence length %lld", seq) : "";
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

/* Length of the part of a word that fits into a line; a long path is broken after a '/'. */
static size_t fitting_length(const char *word, size_t length, size_t width)
{
    if (length <= width) return length;
    for (size_t i = width; i > 0; i--)
        if (word[i - 1] == '/') return i;
    return width;
}

void cm__print_note(cm__ctx *ctx, FILE *out, const char *prefix, const char *label, int label_width, const char *text)
{
    if (!text || !*text) return;
    const char *rest = cm__printable(ctx, text);
    size_t      column = 0, width = LINE_WIDTH - strlen(prefix) - (size_t)label_width;
    fprintf(out, "%s%-*s", prefix, label_width, label);
    while (*rest) {
        size_t word = fitting_length(rest, strcspn(rest, " "), width);
        if (column && column + word > width) {
            fprintf(out, "\n%s%*s", prefix, label_width, "");
            column = 0;
        }
        fprintf(out, "%s%.*s", column ? " " : "", (int)word, rest);
        column += word + 1;
        rest += word + strspn(rest + word, " ");
    }
    putc('\n', out);
}

const char *cm__printable(cm__ctx *ctx, const char *text) { return cm__make_printable(cm__text_copy(ctx, text)); }

const char *cm__fits_word(bool fits, bool sure) { return !fits ? "no" : sure ? "yes" : "unsure"; }

const char *cm__unsure(cm__ctx *ctx, const cm_memory_use *u)
{
    char peak[32], least[32];
    cm__binary(peak, sizeof peak, u->peak_bytes);
    if (u->most_bytes > 0)
        return cm__format(ctx,
                          "it may not fit: the peak is %sB with 16-bit weights and %sB with the fp32 ones that "
                          "accelerate and DeepSpeed keep; --precision amp-bf16 or amp-fp16 says that the script has "
                          "them",
                          peak, cm__binary(least, sizeof least, u->most_bytes));
    if (!u->fits || u->sure) return NULL;
    return cm__format(ctx,
                      "it may not fit: the peak is %sB with PyTorch's plain cross-entropy and %sB with a fused one; "
                      "--loss-kernel says which one the script has",
                      peak, cm__binary(least, sizeof least, u->least_bytes));
}
