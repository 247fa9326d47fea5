/* SPDX-License-Identifier: Apache-2.0 */
/* aten_matrix.c - kernel calls of products, convolutions, attention and recurrent layers in a trace. */
#include <string.h>
#include "timeline/aten.h"

static cm__pass pass_of(const cm__traced_op *a)
{
    return strncmp(a->function, "backward", 8) == 0 ? CM__PASS_BACKWARD : CM__PASS_FORWARD;
}

/* ---- products --------------------------------------------------------------------------------------------------- */

static bool is_turned(const cm__traced_tensor *t)
{
    return t->strides[t->rank - 2] == 1 && t->strides[t->rank - 1] != 1;
}

/* mm(a, b), bmm(a, b), addmm(bias, a, b), baddbmm(sum, a, b). */
void cm__traced_gemm(cm__traced_op *a)
{
    static const char *const variants[2][2] = {{"nn", "nt"}, {"tn", "tt"}}, *const biased[2] = {"nn-bias", "nt-bias"};
    bool                     adds = a->in[2].rank >= 2, bias = adds && a->in[0].rank == 1;
    const cm__traced_tensor   *x = &a->in[adds], *y = &a->in[1 + adds];
    if (x->rank < 2 || y->rank < 2 || x->rank > 3) return;
    const char *variant = bias && !is_turned(x) ? biased[is_turned(y)] : variants[is_turned(x)][is_turned(y)];
    cm__call   *c = cm__traced_call(a, CM__CALL_GEMM, CM__PASS_FORWARD, variant, x->type);
    c->sizes[CM__GEMM_BATCH] = x->rank == 3 ? x->dims[0] : 1;
    c->sizes[CM__GEMM_M] = x->dims[x->rank - 2];
    c->sizes[CM__GEMM_N] = y->dims[y->rank - 1];
    c->sizes[CM__GEMM_K] = x->dims[x->rank - 1];
}

/* ---- convolutions ----------------------------------------------------------------------------------------------- */

/* Places of the arguments; they differ between operators. */
typedef struct places {
    size_t stride, pad, dilation, groups;
} places;

/* x: the image, w: the weight [k, c / groups, r, s]; of one dimension, the image has height 1. */
static void plane(cm__traced_op *a, cm__pass pass, const cm__traced_tensor *x, const cm__traced_tensor *w,
                  int64_t channels,
                  int64_t out, const int64_t *image, const places *at, int64_t groups)
{
    bool        line = x->rank == 3;
    const char *variant = cm__traced_channels_last(x) || cm__traced_channels_last(w) ? "nhwc" : "nchw";
    cm__call   *c = cm__traced_call(a, CM__CALL_CONV, pass, variant, x->type);
    c->sizes[CM__CONV_N] = x->dims[0];
    c->sizes[CM__CONV_C] = channels;
    c->sizes[CM__CONV_K] = out;
    for (int i = 0; i < 2; i++) {
        bool   one = line && i == 0;
        size_t axis = line ? 0 : (size_t)i;
        c->sizes[CM__CONV_H + i] = one ? 1 : image[axis];
        c->sizes[CM__CONV_R + i] = one ? 1 : w->dims[2 + axis];
        c->sizes[CM__CONV_STRIDE_H + i] = one ? 1 : cm__traced_number(a, at->stride, axis, 1);
        c->sizes[CM__CONV_PAD_H + i] = one ? 0 : cm__traced_number(a, at->pad, axis, 0);
        c->sizes[CM__CONV_DIL_H + i] = one ? 1 : cm__traced_number(a, at->dilation, axis, 1);
    }
    c->sizes[CM__CONV_GROUPS] = groups;
}

static bool images(const cm__traced_tensor *x, const cm__traced_tensor *w)
{
    return x->rank == w->rank && (x->rank == 3 || x->rank == 4);
}

/* cudnn_convolution(x, w, padding, stride, dilation, groups); _conv_depthwise2d(x, w, size, bias, stride, padding,
   dilation) has as many groups as channels. */
void cm__traced_conv(cm__traced_op *a)
{
    bool                   each = *a->function != 0;
    places                 at = each ? (places){4, 5, 6, 0} : (places){3, 2, 4, 5};
    const cm__traced_tensor *x = &a->in[0], *w = &a->in[1];
    if (!images(x, w) || !a->numbers) return;
    plane(a, CM__PASS_FORWARD, x, w, x->dims[1], w->dims[0], x->dims + 2, &at,
          each ? x->dims[1] : cm__traced_number(a, at.groups, 0, 1));
}

/* (x, w, padding, output_padding, stride, dilation, groups): the gradient of a convolution whose image is the
   result. */
void cm__traced_conv_transpose(cm__traced_op *a)
{
    places                 at = {4, 2, 5, 6};
    const cm__traced_tensor *x = &a->in[0], *w = &a->in[1];
    int64_t                image[2] = {0}, groups = cm__traced_number(a, at.groups, 0, 1);
    if (!images(x, w) || !a->numbers) return;
    for (int i = 0; i < x->rank - 2; i++)
        image[i] = (x->dims[2 + i] - 1) * cm__traced_number(a, at.stride, (size_t)i, 1) -
                   2 * cm__traced_number(a, at.pad, (size_t)i, 0) +
                   cm__traced_number(a, at.dilation, (size_t)i, 1) * (w->dims[2 + i] - 1) +
                   cm__traced_number(a, 3, (size_t)i, 0) + 1;
    plane(a, CM__PASS_BWD_INPUT, x, w, w->dims[1] * groups, x->dims[1], image, &at, groups);
}

/* (dy, x, w, bias_sizes, stride, padding, dilation, transposed, output_padding, groups, output_mask). Call 0 is the
   gradient of the image, call 1 that of the weight. */
void cm__traced_conv_backward(cm__traced_op *a)
{
    places                 at = {4, 5, 6, 9};
    const cm__traced_tensor *y = &a->in[0], *x = &a->in[1], *w = &a->in[2];
    int64_t                groups = cm__traced_number(a, at.groups, 0, 1);
    if (!images(x, w) || y->rank != x->rank || !a->numbers) return;
    bool transposed = cm__traced_true(a, 7, 0, false);
    for (size_t i = 0; i < 2; i++) {
        cm__pass pass = i ? CM__PASS_BWD_WEIGHT : transposed ? CM__PASS_FORWARD : CM__PASS_BWD_INPUT;
        if (!cm__traced_true(a, 10, i, true)) continue;
        if (transposed) plane(a, pass, x, w, y->dims[1], x->dims[1], y->dims + 2, &at, groups);
        else plane(a, pass, x, w, x->dims[1], w->dims[0], x->dims + 2, &at, groups);
    }
}

/* ---- attention, recurrent layers -------------------------------------------------------------------------------- */

/* forward(q, k, v, ...), backward(dy, q, k, v, ...); tensors are [batch, heads, tokens, width]. */
void cm__traced_attention(cm__traced_op *a)
{
    cm__pass               pass = pass_of(a);
    int                    first = pass == CM__PASS_BACKWARD;
    const cm__traced_tensor *q = &a->in[first], *k = &a->in[first + 1];
    bool                   flash = strstr(a->kind->name, "flash") != NULL;
    bool                   mask = !flash && pass == CM__PASS_FORWARD && a->in[3].rank >= 2;
    if (q->rank != 4 || k->rank != 4) return;
    cm__call *c = cm__traced_call(a, CM__CALL_ATTENTION, pass, mask ? "mask" : "", q->type);
    c->sizes[CM__ATTENTION_BATCH] = q->dims[0];
    c->sizes[CM__ATTENTION_Q] = q->dims[2];
    c->sizes[CM__ATTENTION_KV] = k->dims[2];
    c->sizes[CM__ATTENTION_HEADS] = q->dims[1];
    c->sizes[CM__ATTENTION_KV_HEADS] = k->dims[1];
    c->sizes[CM__ATTENTION_WIDTH] = q->dims[3];
    /* is_causal is the last truth value but one; its place differs between operators */
    for (size_t i = 3; i < json_array_size(a->numbers); i++)
        if (strcmp(cm__traced_word(a, i), "True") == 0) c->sizes[CM__ATTENTION_CAUSAL] = 1;
}

/* _cudnn_rnn(x, weights, weight_stride0, weight_buf, hx, cx, mode, hidden_size, proj_size, num_layers, batch_first,
   dropout, train, bidirectional, ...); backward has output and gradients before the mode. Modes of cuDNN. */
void cm__traced_rnn(cm__traced_op *a)
{
    static const char *const modes[] = {"rnn", "rnn", "lstm", "gru"};
    bool                     back = pass_of(a) == CM__PASS_BACKWARD;
    size_t                   at = back ? 10 : 6;
    int64_t                  mode = cm__traced_number(a, at, 0, -1);
    const cm__traced_tensor   *x = &a->in[0];
    if (mode < 0 || mode > 3 || x->rank != 3) return;
    bool      first = cm__traced_true(a, at + 4, 0, false);
    cm__call *c = cm__traced_call(a, CM__CALL_RNN, pass_of(a), modes[mode], x->type);
    c->sizes[CM__RNN_BATCH] = x->dims[first ? 0 : 1];
    c->sizes[CM__RNN_SEQ] = x->dims[first ? 1 : 0];
    c->sizes[CM__RNN_INPUT] = x->dims[2];
    c->sizes[CM__RNN_HIDDEN] = cm__traced_number(a, at + 1, 0, 0);
    c->sizes[CM__RNN_LAYERS] = cm__traced_number(a, at + 3, 0, 0);
    c->sizes[CM__RNN_DIRECTIONS] = cm__traced_true(a, at + 7, 0, false) ? 2 : 1;
}
