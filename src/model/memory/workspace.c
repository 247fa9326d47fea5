/* SPDX-License-Identifier: Apache-2.0 */
/* workspace.c - memory that operators allocate while they run, besides their outputs: a table by operator. */
#include "graph/rule.h"
#include "graph/runtimes.h"
#include "model/memory/footprint.h"
#include "model/memory/workspace.h"

static const cm__temporary nothing = {.least_batch = 0};

double cm__temporary_at(const cm__temporary *t, double batch)
{
    return batch < t->least_batch ? 0 : cm__poly_at(&t->bytes, batch);
}

static cm__temporary bytes_in(const cm_footprint *f, const cm_node *n, int32_t input)
{
    return cm__has(n, input) ? (cm__temporary){.bytes = cm_tensor_bytes(cm__in(f->step, n, input))} : nothing;
}

/* Inside PyTorch's unfused attention: the probabilities before rows that are masked completely become zero, and a byte
   for each score that is minus infinity. */
static cm__temporary softmax(const cm_footprint *f, const cm_node *n)
{
    const cm_tensor *x = cm__in(f->step, n, 0);
    cm_poly          scores = cm_tensor_elements(x);
    if (!cm__attr_find(n, CM_ATTR_MATH)) return nothing;
    return (cm__temporary){.bytes = cm__poly_scale(scores, (double)cm_dtype_size(x->dtype) + 1)};
}

/* PyTorch's loss over words that tensor-parallel devices share is no kernel, but the expression (grad + exp(x)) *
   scale: one tensor more than the backward of log-softmax has (torch/distributed/tensor/parallel/loss.py). With
   pipelines another stage than the loss's is the fullest. */
static cm__temporary shared_loss(const cm_footprint *f, const cm_node *n)
{
    const cm_plan *p = &f->options.plan;
    int32_t        gradient = n->outputs[0];
    bool           split = gradient >= 0 && f->split && f->split[gradient];
    if (p->tp < 2 || p->pp > 1 || !split || !cm__is_pytorch(f->options.runtime)) return nothing;
    return (cm__temporary){.bytes = cm__poly_scale(cm_tensor_bytes(cm__t(f->step, gradient)), 1.0 / p->tp / p->cp)};
}

/* Softmax's backward first multiplies gradient and output. The backward of log-softmax, in cross-entropy, does not. */
static cm__temporary softmax_grad(const cm_footprint *f, const cm_node *n)
{
    const cm_node *forward = n->source >= 0 ? &f->step->nodes[n->source] : NULL;
    if (forward && forward->op != CM_OP_SOFTMAX) return shared_loss(f, n);
    return forward && forward->op == CM_OP_SOFTMAX ? bytes_in(f, n, 0) : nothing;
}

/* Context parallelism in PyTorch gathers keys and values of a sequence from all devices for each attention, forward and
   again backward: the buffer lives until the attention ends (torch/distributed/tensor/experimental/_context_parallel,
   _AllGatherRotater, the default; models repeat shared keys and values before). */
static cm_poly gathered_keys(const cm_footprint *f, const cm_node *forward)
{
    const cm_plan   *p = &f->options.plan;
    const cm_tensor *q = cm__in(f->step, forward, 0);
    return cm__poly_scale(cm_tensor_bytes(q), 2.0 / p->tp);
}

static bool shares_tokens(const cm_footprint *f)
{
    return f->options.plan.cp > 1 && cm__is_pytorch(f->options.runtime);
}

static cm__temporary attention(const cm_footprint *f, const cm_node *n)
{
    return shares_tokens(f) ? (cm__temporary){.bytes = gathered_keys(f, n)} : nothing;
}

/* fp32 tensors of a device's own tokens: gradients of queries, and those of keys and values as they arrive and as they
   are sent on (_templated_ring_attention_backward()) */
#define ROUND_TRIP 5

static cm__temporary attention_grad(const cm_footprint *f, const cm_node *n)
{
    const cm_plan *p = &f->options.plan;
    const cm_node *forward = n->source >= 0 ? &f->step->nodes[n->source] : NULL;
    if (!shares_tokens(f) || !forward || forward->op != CM_OP_ATTENTION) return nothing;
    cm_poly numbers = cm_tensor_elements(cm__in(f->step, forward, 0));
    cm_poly turning = cm__poly_scale(numbers, (double)(ROUND_TRIP * sizeof(float)) / p->tp / p->cp);
    return (cm__temporary){.bytes = cm__poly_add(gathered_keys(f, forward), turning)};
}

/* Multi-tensor Adam computes the square roots of all second moments at once. */
static cm__temporary update(const cm_footprint *f, const cm_node *n)
{
    cm_poly sum = {{0}};
    bool    roots = f->step->optimizer == CM_OPTIMIZER_ADAM || f->step->optimizer == CM_OPTIMIZER_ADAMW;
    /* Megatron-LM's optimizer is one fused kernel, as are those of 8 bits and paged ones */
    if (!roots || cm__is_megatron(f->options.runtime)) return nothing;
    (void)n;
    for (int32_t p = 0; p < f->n_pieces; p++) {
        const cm_tensor *t = cm__t(f->step, f->pieces[p].tensor);
        if (t->role == CM_ROLE_STATE && !t->master) sum = cm__poly_add(sum, f->pieces[p].bytes);
    }
    return (cm__temporary){.bytes = cm__poly_scale(sum, 0.5)};
}

static const cm_node *forward_of(const cm_footprint *f, const cm_node *n)
{
    return n->source >= 0 && n->phase == CM_BACKWARD ? &f->step->nodes[n->source] : n;
}

/* Bytes of the copy that a kernel for channels-last images makes of a tensor in another order. */
static cm_poly turned(const cm_footprint *f, int32_t tensor)
{
    bool last = tensor < 0 || cm__strides_channels_last(f->strides, tensor);
    return last ? (cm_poly){{0}} : cm_tensor_bytes(cm__t(f->step, tensor));
}

/* A convolution runs in channels-last format if its image or its filter has it, and copies what has not. */
static cm__temporary convolution(const cm_footprint *f, const cm_node *n, cm__conv_pass pass)
{
    const cm_node *forward = forward_of(f, n);
    bool           last = cm__strides_channels_last(f->strides, forward->inputs[0]) ||
                cm__strides_channels_last(f->strides, forward->inputs[1]);
    cm__temporary  t = cm__workspace_conv(f->step, forward, pass, last);
    for (int32_t i = 0; last && i < 2; i++)
        if (n->inputs[i] != forward->inputs[1]) t.bytes = cm__poly_add(t.bytes, turned(f, n->inputs[i]));
    return t;
}

/* The gradient of a product (prod_backward in autograd's FunctionsManual.cpp) has a truth value for each number and the
   counts of zeros, and either the quotients, or, if there are zeros, a one and all numbers but one, before and after
   each, their products, and the products of those. Counting needs the truth values as integers. */
static cm__temporary product_grad(const cm_footprint *f, const cm_node *n)
{
    const cm_node   *forward = forward_of(f, n);
    const cm_tensor *x = cm__in(f->step, forward, 0);
    cm_poly          all = cm_tensor_elements(x), counts = cm_tensor_elements(cm__t(f->step, forward->outputs[0]));
    double           element = (double)cm_dtype_size(x->dtype), integer = (double)cm_dtype_size(CM_INT64);
    double           copies = cm__has_zeros(f->step, forward->inputs[0]) ? 6 : 1; /* a one and the others: one copy */
    double           each = 1 + copies * element, counting = 1 + integer - element;
    return (cm__temporary){.bytes = cm__poly_add(cm__poly_scale(all, each > counting ? each : counting),
                                                 cm__poly_scale(counts, integer))};
}

/* The gradient of distances is first computed for each pair of points and each coordinate, and then summed. For the
   second points, transposed copies of the incoming gradient and of the distances are needed as well. */
static cm__temporary distances(const cm_footprint *f, const cm_node *n)
{
    const cm_tensor *x = cm__in(f->step, n, 1), *far = cm__in(f->step, n, 3);
    double           copies = n->n_inputs == CM__SECOND_POINTS ? 2 : 0;
    return (cm__temporary){
        .bytes = cm__poly_scale(cm_tensor_bytes(far), (double)x->dims[x->rank - 1].fixed + copies)};
}

/* The gradient of a power is one expression, grad * (e * x^(e-1)): both inner results exist until its end. */
static cm__temporary elementwise_grad(const cm_footprint *f, const cm_node *n)
{
    if (forward_of(f, n)->op == CM_OP_REDUCE_PROD) return product_grad(f, n);
    if (forward_of(f, n)->op != CM_OP_POW || n->outputs[0] < 0) return nothing;
    return (cm__temporary){.bytes = cm__poly_scale(cm_tensor_bytes(cm__t(f->step, n->outputs[0])), 2)};
}

/* PyTorch's gradient of a CTC loss has log beta, as large as log alpha, and twice the states that are blanks, S + 1 of
   2 S + 1: their sum with alpha, and that less its maximum. */
static cm__temporary ctc_loss(const cm_footprint *f, const cm_node *n)
{
    const cm_tensor *alpha = cm__t(f->step, forward_of(f, n)->outputs[1]);
    double           states = (double)alpha->dims[2].fixed;
    return (cm__temporary){.bytes = cm__poly_scale(cm_tensor_bytes(alpha), states > 0 ? (2 * states + 1) / states : 1)};
}

static cm__temporary conv_forward(const cm_footprint *f, const cm_node *n)
{
    return convolution(f, n, CM__CONV_FORWARD);
}
static cm__temporary conv_input(const cm_footprint *f, const cm_node *n) { return convolution(f, n, CM__CONV_INPUT); }
static cm__temporary conv_weight(const cm_footprint *f, const cm_node *n) { return convolution(f, n, CM__CONV_WEIGHT); }

static cm__temporary recurrent(const cm_footprint *f, const cm_node *n) { return cm__workspace_recurrent(f, n); }

static cm__temporary fourier(const cm_footprint *f, const cm_node *n) { return cm__workspace_fourier(f, n); }

/* torchvision's deformed convolution: the columns, and two copies of the result, or one of its gradient
   (dispatch/deformed.c). Columns are those of at most 32 images at a time; here they are those of all. */
static cm__temporary deformed(const cm_footprint *f, const cm_node *n)
{
    const cm_node   *forward = forward_of(f, n);
    const cm_tensor *x = cm__in(f->step, forward, CM__DEFORMED_IMAGE), *y = cm__t(f->step, forward->outputs[0]);
    const cm_tensor *w = cm__in(f->step, forward, CM__DEFORMED_FILTERS);
    cm_poly          window = cm__poly_mul(cm__poly_dim(x->dims[1]), cm__poly_product(w->dims + 2, 2));
    cm_poly          pixels = cm__poly_mul(cm__poly_dim(y->dims[0]), cm__poly_product(y->dims + 2, 2));
    cm_poly          columns = cm__poly_scale(cm__poly_mul(window, pixels), (double)cm_dtype_size(x->dtype));
    cm_poly          copies = cm__poly_scale(cm_tensor_bytes(y), n == forward ? 2 : 1);
    return (cm__temporary){.bytes = cm__poly_add(columns, copies)};
}

typedef cm__temporary rule(const cm_footprint *f, const cm_node *n);

static rule *const rules[CM_OPS] = {
#define WORKSPACE(name) name,
#define ROW(id, ...) [CM_OP_##id] = CM__FIRST(__VA_ARGS__ NULL, 0),
#include "graph/ops.def"
};

cm__temporary cm__workspace(const cm_footprint *f, const cm_node *n)
{
    return f->caching && rules[n->op] ? rules[n->op](f, n) : nothing;
}
