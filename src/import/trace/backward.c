/* SPDX-License-Identifier: Apache-2.0 */
/*
 * backward.c - matrix FLOP of the recorded backward, to check the derived one; and recomputed operators.
 *
 * Backward is derived from the forward operators, in any precision. The recorded backward shows whether that is
 * correct. Both count a multiply and an add as two FLOP, and attention's backward as five products for forward's two
 * (graph/rules/cost.c).
 */
#include "import/trace/rules.h"

#include <string.h>

static const cm__trace_tensor *at(const cm__trace *t, const int32_t *list, int32_t count, int32_t index)
{
    return index < count && list[index] >= 0 ? &t->tensors[list[index]] : NULL;
}

static cm_poly elements(const cm__trace_tensor *x) { return cm__poly_product(x->dims, x->rank); }

static cm_poly times(cm_poly rows, cm_dim inner, double factor)
{
    return cm__poly_scale(cm__poly_mul(rows, cm__poly_dim(inner)), factor);
}

/* The product of inputs `first` and `first + 1`; the inner size is the last dimension of the first. */
static cm_poly product(const cm__trace *t, const cm__trace_op *o, int32_t first)
{
    const cm__trace_tensor *a = at(t, o->in, o->n_in, first), *y = at(t, o->out, o->n_out, 0);
    if (!a || !y || a->rank < 1) return cm__poly_const(0);
    return times(elements(y), a->dims[a->rank - 1], a->dtype == CM_COMPLEX64 ? 8 : 2);
}

static cm_poly of_mm(cm__trace *t, const cm__trace_op *o) { return product(t, o, 0); }
static cm_poly of_addmm(cm__trace *t, const cm__trace_op *o) { return product(t, o, 1); }

/* FLOP of _grouped_mm, which multiplies the rows of each expert by its matrix; the matrices' gradient has as many. */
static cm_poly of_grouped(cm__trace *t, const cm__trace_op *o)
{
    const cm__trace_tensor *a = at(t, o->in, o->n_in, 0), *b = at(t, o->in, o->n_in, 1);
    if (!a || !b || b->rank < 1) return cm__poly_const(0);
    return times(elements(a), b->dims[b->rank - 1], 2);
}

/* Convolutions in backward differentiate the gradient of another one. */
static cm_poly of_forward_convolution(cm__trace *t, const cm__trace_op *o)
{
    const cm__trace_tensor *x = at(t, o->in, o->n_in, 0), *w = at(t, o->in, o->n_in, 1);
    const cm__trace_tensor *y = at(t, o->out, o->n_out, 0);
    if (!x || !w || !y || w->rank < 2) return cm__poly_const(0);
    bool transposed = cm__trace_int(t, o, "transposed", 0) != 0;
    return cm__poly_scale(cm__poly_mul(elements(transposed ? x : y), cm__poly_product(w->dims + 1, w->rank - 1)), 2);
}

/* (dy, x, w) -> (dx, dw): the FLOP of forward for each of the two gradients that is requested. */
static cm_poly of_convolution(cm__trace *t, const cm__trace_op *o)
{
    const cm__trace_tensor *dy = at(t, o->in, o->n_in, 0), *x = at(t, o->in, o->n_in, 1), *w = at(t, o->in, o->n_in, 2);
    double                  requested = (at(t, o->out, o->n_out, 0) != NULL) + (at(t, o->out, o->n_out, 1) != NULL);
    if (!dy || !x || !w || w->rank < 2) return cm__poly_const(0);
    bool    transposed = cm__trace_int(t, o, "transposed", 0) != 0;
    cm_poly positions = elements(transposed ? x : dy), window = cm__poly_product(w->dims + 1, w->rank - 1);
    return cm__poly_scale(cm__poly_mul(positions, window), 2 * requested);
}

/* (dy, x, w, bias) -> (dx, dw, ...): a product for each of the two gradients that is requested. */
static cm_poly of_linear(cm__trace *t, const cm__trace_op *o)
{
    const cm__trace_tensor *dy = at(t, o->in, o->n_in, 0), *w = at(t, o->in, o->n_in, 2);
    double                  requested = (at(t, o->out, o->n_out, 0) != NULL) + (at(t, o->out, o->n_out, 1) != NULL);
    if (!dy || !w || w->rank != 2) return cm__poly_const(0);
    return times(elements(dy), w->dims[1], 2 * requested);
}

static cm_poly of_attention(cm__trace *t, const cm__trace_op *o)
{
    const cm__trace_tensor *dy = at(t, o->in, o->n_in, 0), *q = at(t, o->in, o->n_in, 1), *k = at(t, o->in, o->n_in, 2);
    if (!dy || !q || !k || k->rank < 2) return cm__poly_const(0);
    double products = cm__trace_unfused(t, o, 4) ? 2 : 2.5; /* a fused kernel computes the scores again */
    return times(cm__poly_add(elements(q), elements(dy)), k->dims[k->rank - 2], 2 * products);
}

static const struct {
    const char *name;
    cm_poly (*flop)(cm__trace *t, const cm__trace_op *o);
} products[] = {
    {"mm", of_mm},
    {"bmm", of_mm},
    {"_grouped_mm", of_grouped},
    {"addmm", of_addmm},
    {"baddbmm", of_addmm},
    {"linear_backward", of_linear},
    {"convolution", of_forward_convolution},
    {"convolution_backward", of_convolution},
    {"scaled_dot_product_attention_backward", of_attention},
    {"_scaled_dot_product_flash_attention_backward", of_attention},
    {"_scaled_dot_product_flash_attention_for_cpu_backward", of_attention},
    {"_scaled_dot_product_efficient_attention_backward", of_attention},
    {"_scaled_dot_product_cudnn_attention_backward", of_attention},
};

/* Operators whose products were not recorded: then the FLOP are unknown. */
static bool hides_products(const cm__trace_op *o)
{
    static const char *const hidden[] = {"lstm", "gru", "rnn_tanh", "rnn_relu", "_cudnn_rnn", "mkldnn_rnn_layer",
                                         "linear_backward", "matmul_backward", "mkldnn_linear_backward"};
    for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++)
        if (strncmp(o->name, hidden[i], strlen(hidden[i])) == 0) return true;
    return strncmp(o->full, "python::", 8) == 0;
}

int32_t cm__trace_passes(const cm__trace *t)
{
    int32_t passes = 0;
    for (int32_t i = 0; i < t->n_ops; i++)
        passes += t->ops[i].phase == CM_BACKWARD && strcmp(t->ops[i].name, "ones_like") == 0;
    return passes;
}

void cm__trace_backward_flop(cm__trace *t)
{
    cm_poly sum = cm__poly_const(0);
    for (int32_t i = 0; i < t->n_ops; i++) {
        const cm__trace_op *o = &t->ops[i];
        if (hides_products(o)) return;
        if (o->phase != CM_BACKWARD) continue;
        for (size_t k = 0; k < sizeof products / sizeof *products; k++)
            if (strcmp(products[k].name, o->name) == 0) sum = cm__poly_add(sum, products[k].flop(t, o));
    }
    t->g->has_backward = cm__trace_passes(t) <= 1 && (sum.c[0] != 0 || sum.c[1] != 0); /* 2: accumulated gradients */
    t->g->backward_flop = sum;
}

/* ---- checkpointing ---------------------------------------------------------------------------------------------- */

static bool same_call(const cm__trace_op *a, const cm__trace_op *b)
{
    return strcmp(a->full, b->full) == 0 && strcmp(a->module, b->module) == 0;
}

/* A run of consecutive recomputed operators. */
static int32_t run_length(const cm__trace *t, int32_t first)
{
    int32_t n = 0;
    while (first + n < t->n_ops && t->ops[first + n].phase == CM_RECOMPUTE && t->ops[first + n].function < 0) n++;
    return n;
}

/* Recorded in forward only: casts that change nothing, or that do so without autocast; and detach(), which checkpointing
   itself calls in backward. */
static bool is_of_forward_only(const cm__trace_op *o)
{
    static const char *const names[] = {"aten::to.dtype", "aten::to.autocast", "aten::detach"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(o->full, names[i]) == 0) return true;
    return false;
}

/* The number of forward operators from `forward` on that match the `length` recomputed ones; 0: no match. */
static int32_t repeats(const cm__trace *t, int32_t again, int32_t length, int32_t forward)
{
    int32_t at = forward, i = 0;
    for (; i < length && at < t->n_ops; at++) {
        const cm__trace_op *o = &t->ops[at];
        if (o->phase != CM_FORWARD || o->segment >= 0) return 0;
        if (same_call(&t->ops[again + i], o)) i++;
        else if (!is_of_forward_only(o)) return 0;
    }
    return i == length ? at - forward : 0;
}

#define COMPARISONS_MAX 20000000 /* limits the time for a malicious file */

int32_t cm__trace_segments(cm__trace *t)
{
    int32_t lost = 0, segments = 0;
    int64_t compared = 0;
    for (int32_t i = 0, length; i < t->n_ops; i += length ? length : 1) {
        int32_t forward = 0, covered = 0;
        if (!(length = run_length(t, i))) continue;
        while (forward < i && compared++ < COMPARISONS_MAX && !(covered = repeats(t, i, length, forward))) forward++;
        bool found = forward < i && compared < COMPARISONS_MAX;
        for (int32_t k = 0; found && k < covered; k++) t->ops[forward + k].segment = segments;
        segments += found;
        lost += found ? 0 : length;
    }
    return lost;
}
