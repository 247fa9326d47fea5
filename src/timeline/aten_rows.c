/* SPDX-License-Identifier: Apache-2.0 */
/* aten_rows.c - kernel calls of norms, softmax, losses, pools, look-ups, reductions and updates in a trace. */
#include <string.h>
#include "timeline/aten.h"

static bool says(const cm__traced_op *a, const char *word) { return strstr(a->function, word) != NULL; }

static cm__pass pass_of(const cm__traced_op *a) { return says(a, "backward") ? CM__PASS_BACKWARD : CM__PASS_FORWARD; }

/* forward(x, shape, ...), backward(dy, x, shape, ...). */
void cm__traced_layer_norm(cm__traced_op *a)
{
    bool                   back = pass_of(a) == CM__PASS_BACKWARD;
    const cm__traced_tensor *x = &a->in[back];
    int                    op = says(a, "rms") ? CM__CALL_RMS_NORM : CM__CALL_LAYER_NORM;
    if (x->rank < 1) return;
    const char *shape = cm__traced_word(a, back ? 2 : 1);
    int32_t     normed = 1;
    for (; *shape; shape++) normed += *shape == ',';
    if (normed > x->rank) return;
    cm__call *c = cm__traced_call(a, op, pass_of(a), "", x->type);
    c->sizes[CM__LAYER_NORM_ROWS] = cm__traced_product(x->dims, x->rank - normed);
    c->sizes[CM__LAYER_NORM_COLS] = cm__traced_product(x->dims + x->rank - normed, normed);
}

/* forward(x, ...); backward of cuDNN(x, dy, ...), of PyTorch's own(dy, x, ...). */
void cm__traced_channel_norm(cm__traced_op *a)
{
    bool                   back = pass_of(a) == CM__PASS_BACKWARD, own = strstr(a->kind->name, "native") != NULL;
    const cm__traced_tensor *x = &a->in[back && own], *y = &a->in[back && !own];
    if (x->rank < 2) return;
    bool        last = cm__traced_channels_last(x), mixed = back && own && last != cm__traced_channels_last(y);
    const char *planes = own && x->type && strcmp(x->type, "bf16") != 0 ? "plain" : "nchw";
    const char *variant = x->rank == 2 ? "rows" : mixed ? "mixed" : last ? "nhwc" : planes;
    cm__call   *c = cm__traced_call(a, CM__CALL_BATCH_NORM, pass_of(a), variant, x->type);
    c->sizes[CM__BATCH_NORM_N] = x->dims[0];
    c->sizes[CM__BATCH_NORM_C] = x->dims[1];
    c->sizes[CM__BATCH_NORM_HW] = cm__traced_product(x->dims + 2, x->rank - 2);
}

/* forward(x, w, b, n, c, hw, groups, eps), backward(dy, x, mean, rstd, w, n, c, hw, groups, mask). */
void cm__traced_group_norm(cm__traced_op *a)
{
    bool                   back = pass_of(a) == CM__PASS_BACKWARD;
    const cm__traced_tensor *x = &a->in[back];
    size_t                 at = back ? 5 : 3;
    if (x->rank < 2) return;
    cm__call *c = cm__traced_call(a, CM__CALL_GROUP_NORM, pass_of(a), cm__traced_channels_last(x) ? "nhwc" : "nchw",
                                  x->type);
    for (size_t i = 0; i < 4; i++) c->sizes[(size_t)CM__GROUP_NORM_N + i] = cm__traced_number(a, at + i, 0, 0);
}

/* forward(x, dim, ...), backward(dy, y, dim, type). */
void cm__traced_softmax(cm__traced_op *a)
{
    bool                     back = pass_of(a) == CM__PASS_BACKWARD;
    const cm__traced_tensor *x = &a->in[0];
    if (x->rank < 1) return;
    int64_t dim = cm__traced_number(a, back ? 2 : 1, 0, -1);
    if (dim < 0) dim += x->rank;
    if (dim < 0 || dim >= x->rank) return;
    cm__call *c = cm__traced_call(a, CM__CALL_SOFTMAX, pass_of(a), says(a, "log") ? "log" : "", x->type);
    int64_t   cols = x->dims[dim];
    c->sizes[CM__SOFTMAX_ROWS] = cols > 0 ? cm__traced_elements(x) / cols : 0;
    c->sizes[CM__SOFTMAX_COLS] = cols;
}

/* forward(x, target, ...), backward(dy, x, target, ...). With the softmax before it this is a cross-entropy, whose
   kernels tables.c adds up. */
void cm__traced_nll(cm__traced_op *a)
{
    bool                     back = pass_of(a) == CM__PASS_BACKWARD;
    const cm__traced_tensor *x = &a->in[back];
    if (x->rank < 2) return;
    cm__call *c = cm__traced_call(a, CM__CALL_CROSS_ENTROPY, pass_of(a), x->rank > 2 ? "nchw" : "", x->type);
    c->sizes[CM__CROSS_ENTROPY_COLS] = x->dims[1];
    c->sizes[CM__CROSS_ENTROPY_ROWS] = x->dims[1] > 0 ? cm__traced_elements(x) / x->dims[1] : 0;
}

/* forward(x, size, stride, padding, ...), backward(dy, x, size, stride, padding, ...). */
void cm__traced_pool(cm__traced_op *a)
{
    bool                   back = pass_of(a) == CM__PASS_BACKWARD, last;
    const cm__traced_tensor *x = &a->in[back];
    size_t                 at = back ? 2 : 1;
    if (x->rank != 4) return;
    last = cm__traced_channels_last(x);
    const char *variant = says(a, "max") ? last ? "max:nhwc" : "max:nchw" : last ? "avg:nhwc" : "avg:nchw";
    cm__call   *c = cm__traced_call(a, CM__CALL_POOL, pass_of(a), variant, x->type);
    memcpy(c->sizes, x->dims, 4 * sizeof *c->sizes);
    c->sizes[CM__POOL_WINDOW] = cm__traced_number(a, at, 0, 0);
    c->sizes[CM__POOL_STRIDE] = cm__traced_number(a, at + 1, 0, c->sizes[CM__POOL_WINDOW]);
    c->sizes[CM__POOL_PAD] = cm__traced_number(a, at + 2, 0, 0);
}

/* forward(table, index, ...), backward(dy, index, vocab, ...). */
void cm__traced_embedding(cm__traced_op *a)
{
    bool                   back = pass_of(a) == CM__PASS_BACKWARD;
    const cm__traced_tensor *t = &a->in[0], *index = &a->in[1];
    if (t->rank < 2 || index->rank < 0) return;
    cm__call *c = cm__traced_call(a, CM__CALL_EMBEDDING, pass_of(a), "", t->type);
    c->sizes[CM__EMBEDDING_TOKENS] = cm__traced_elements(index);
    c->sizes[CM__EMBEDDING_VOCAB] = back ? cm__traced_number(a, 2, 0, 0) : t->dims[0];
    c->sizes[CM__EMBEDDING_WIDTH] = t->dims[t->rank - 1];
}

/* sum(x, dims, ...): reduces from the first to the last dimension that is given. */
void cm__traced_reduce(cm__traced_op *a)
{
    const cm__traced_tensor *x = &a->in[0];
    int64_t                first = x->rank, last = -1;
    if (x->rank < 0) return;
    for (size_t i = 0; i < CM__TRACED_RANK; i++) {
        int64_t dim = cm__traced_number(a, 1, i, INT64_MIN / 2);
        if (dim < 0) dim += x->rank;
        if (dim < 0 || dim >= x->rank) break;
        if (dim < first) first = dim;
        if (dim > last) last = dim;
    }
    if (last < first) first = 0, last = x->rank - 1; /* -1 of a number without dimensions */
    /* all dimensions but the channels of an image: a convolution's bias */
    bool        image = x->rank == 4 && first == 0 && last == 3 && strchr(cm__traced_word(a, 1), ',') != NULL;
    bool        last_channels = cm__traced_channels_last(x);
    const char *variant = image && !last_channels ? "sum:nchw" : a->function;
    cm__call   *c = cm__traced_call(a, CM__CALL_REDUCE, CM__PASS_FORWARD, variant, x->type);
    int64_t     outer = cm__traced_product(x->dims, (int32_t)first),
            reduced = cm__traced_product(x->dims + first, (int32_t)(last - first + 1)),
            inner = cm__traced_product(x->dims + (last + 1), (int32_t)(x->rank - last - 1));
    if (image) {
        int64_t pixels = x->dims[2] * x->dims[3];
        outer = last_channels ? 1 : x->dims[0];
        reduced = last_channels ? x->dims[0] * pixels : x->dims[1];
        inner = last_channels ? x->dims[1] : pixels;
    } else if (last_channels && first == 2 && last == 3) outer = x->dims[0], inner = x->dims[1];
    c->sizes[CM__REDUCE_OUTER] = outer;
    c->sizes[CM__REDUCE_REDUCE] = reduced;
    c->sizes[CM__REDUCE_INNER] = inner;
}

/* Kernels over lists of tensors; those of a step's update are one call, which timeline.c makes. */
void cm__traced_foreach(cm__traced_op *a) { a->kind->scales = strcmp(a->kind->name, "aten::_foreach_mul_") == 0; }

/* AccumulateGrad(gradient): runs once for each parameter. PyTorch does not record lists of more than 30 tensors. */
void cm__traced_gradient(cm__traced_op *a)
{
    if (a->in[0].rank < 0) return;
    a->kind->gradient = true;
    a->kind->tensors = 1;
    a->kind->elements = (double)cm__traced_elements(&a->in[0]);
}
