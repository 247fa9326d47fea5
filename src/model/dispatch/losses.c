/* SPDX-License-Identifier: Apache-2.0 */
/* losses.c - kernel calls of softmax and of losses. */
#include <math.h>
#include "model/dispatch/rules.h"

/* Classes are along `axis`; the rest are rows. */
static void along(cm__dispatch *d, int32_t node, cm__sized_call c, const cm_tensor *x, int32_t axis)
{
    cm_poly rows =
        cm__poly_mul(cm__poly_product(x->dims, axis), cm__poly_product(x->dims + axis + 1, x->rank - axis - 1));
    CM__CALL_SIZED(d, node, c, rows, cm__poly_dim(x->dims[axis]));
}

/* Zero, which is fp32: none. */
static cm_dtype sixteen_bits(const cm_graph *g)
{
    static const cm_dtype types[CM_PRECISIONS] = {
        [CM_PRECISION_AMP_BF16] = CM_BF16, [CM_PRECISION_BF16] = CM_BF16, [CM_PRECISION_FP8] = CM_BF16,
        [CM_PRECISION_AMP_FP16] = CM_FP16, [CM_PRECISION_FP16] = CM_FP16};
    return types[g->precision];
}

static void converted(cm__dispatch *d, int32_t node, const cm_tensor *x, cm_dtype to)
{
    cm__call_pass(d, node, CM__V_COPY, cm__types_cast(x->dtype, to), cm_tensor_elements(x));
}

/* Additional kernels of PyTorch's unfused attention. Fully masked rows must give zero, so one kernel finds them and
   another selects. A reduction of booleans is timed as one of numbers. The probabilities are also returned, in the
   requested type. */
static void inside_attention(cm__dispatch *d, int32_t node, const cm_tensor *x)
{
    cm_poly rows = cm__poly_product(x->dims, x->rank - 1), cols = cm__poly_dim(x->dims[x->rank - 1]);
    converted(d, node, x, CM_BOOL);
    cm__call_reduce(d, node, CM__V_SUM, x->dtype, rows, cols, cm__poly_const(1));
    cm__call_typed(d, node, CM__V(WHERE, COL), CM__ALL(x->dtype), rows, cols);
    if (sixteen_bits(d->g)) converted(d, node, x, sixteen_bits(d->g));
}

#define INNER_THREADS 64 /* numbers after the axis, up to which a block divides an axis of as many among threads */

/* A softmax over the last axis has contiguous rows. Over others, one thread computes each ("planes"), or a block those of
   one index before the axis ("blocks"; SpatialSoftMax_getBlockSize in ATen/native/cuda/SoftMax.cu). */
static void softmax(cm__dispatch *d, int32_t node, cm__sized_call c, const cm_tensor *x, int32_t axis)
{
    cm_poly     inner = cm__poly_product(x->dims + axis + 1, x->rank - axis - 1), length = cm__poly_dim(x->dims[axis]);
    double      after = cm__poly_at(&inner, 1), along_axis = cm__poly_at(&length, 1);
    bool        blocks = after <= INNER_THREADS && along_axis >= INNER_THREADS;
    if (after > 1) c.variant = blocks ? CM__V_BLOCKS : CM__V_PLANES;
    if (after > 1 && blocks)
        CM__CALL_SIZED(d, node, c, cm__poly_product(x->dims, axis), cm__poly_mul(length, inner));
    else along(d, node, c, x, axis);
}

#define WARP_ROW 1024 /* numbers of a row that a warp keeps in registers */

/* Backward multiplies the gradient by the result before a kernel sums rows (softmax_backward_cuda_out in
   ATen/native/cuda/SoftMax.cu). Rows of tables contain both. If the gradient is not in row order, neither is the product,
   and a copy follows. The product is timed as one in row order, which reads the gradient across its rows. The kernel that
   sums short rows reads two tensors and writes one, as a product does. True: calls of such a gradient were added. */
static bool turned_back(cm__dispatch *d, int32_t node, const cm_node *forward, int32_t axis)
{
    const cm_node   *n = cm__node(d, node);
    const cm_tensor *y = cm__t(d->g, forward->outputs[0]);
    int32_t          dy = n->inputs[0];
    bool             eager = cm__is_eager(d->runtime) && forward->op == CM_OP_SOFTMAX && n != forward;
    if (!eager || axis != y->rank - 1 || cm__strides_in_rows(d->strides, dy)) return false;
    if (y->dims[axis].per_batch || y->dims[axis].fixed > WARP_ROW) return false;
    cm__call_strided(d, node, &(cm__function){.function = CM__V_MUL, .a = dy, .b = forward->outputs[0], .beside = -1,
                                           .out = forward->outputs[0], .type = dy});
    cm__call_in_rows(d, node, dy);
    cm__call_map(d, node, CM__V_MUL, dy, dy, dy, cm__poly_const(1), cm_tensor_elements(y));
    return true;
}

void cm__dispatch_softmax(cm__dispatch *d, int32_t node)
{
    const cm_node *n = cm__node(d, node), *forward = cm__forward_of(d, n);
    if (forward->op == CM_OP_CROSS_ENTROPY) return; /* part of the loss's gradient */
    const cm_tensor *x = cm__in(d->g, forward, 0), *y = cm__t(d->g, forward->outputs[0]);
    int64_t          axis = cm__attr_int(forward, CM_ATTR_AXIS, -1);
    int32_t          at = (int32_t)(axis < 0 ? axis + x->rank : axis);
    if (x->rank == 0 || turned_back(d, node, forward, at)) return;
    cm__call_in_rows(d, node, n->inputs[0]); /* kernels read contiguous rows, so PyTorch copies others */
    softmax(d, node,
            cm__call_begin(d, CM__CALL_SOFTMAX, cm__pass_of(n, forward), cm__forward_kernel(forward->op, CM__V_NONE),
                           x->dtype == CM_FP16 ? y->dtype : x->dtype, false), /* from fp16 to fp32: as that of fp32 */
            x, at);
    if (n == forward && cm__attr_find(n, CM_ATTR_MATH)) inside_attention(d, node, x);
}

/* The classes of a sample form a row, or each class forms a plane; the two cases run different kernels. */
static void cross_entropy(cm__dispatch *d, int32_t node, const cm_node *forward, cm__pass pass)
{
    const cm_tensor *x = cm__in(d->g, forward, 0);
    cm__variant      variant = x->rank > 2 ? CM__V_NCHW : CM__V_NONE;
    along(d, node, cm__call_begin(d, CM__CALL_CROSS_ENTROPY, pass, variant, x->dtype, false), x, x->rank > 1 ? 1 : 0);
}

/* Trainers such as Composer compute metrics from the outputs of each micro-batch with PyTorch's own cross_entropy(),
   which autocast runs in fp32, each from the logits again (LanguageCrossEntropy and LanguagePerplexity of
   composer/metrics/nlp.py). They run after backward, in memory that it has left. */
static void metrics(cm__dispatch *d, int32_t node, const cm_node *forward)
{
    const cm_tensor *x = cm__in(d->g, forward, 0);
    bool             casts = cm__autocasts(d->g->precision);
    cm__sized_call   rate = cm__call_begin(d, CM__CALL_CROSS_ENTROPY, CM__PASS_FORWARD, CM__V_NONE,
                                           casts ? CM_FP32 : x->dtype, false);
    if (d->g->asked.loss_kernel == CM_LOSS_KERNEL_CHUNKED || x->rank != 2) return;
    for (int32_t i = 0; i < d->g->asked.script.metrics; i++) {
        if (casts)
            cm__call_pass(d, node, CM__V_COPY, cm__types_cast(sixteen_bits(d->g), CM_FP32), cm_tensor_elements(x));
        along(d, node, rate, x, 1);
    }
}

void cm__dispatch_cross_entropy(cm__dispatch *d, int32_t node)
{
    cross_entropy(d, node, cm__node(d, node), CM__PASS_FORWARD);
    metrics(d, node, cm__node(d, node));
}

/* Forward reads the logits once, as a sum of each row does. Backward reads them again and writes their gradient. */
void cm__dispatch_fused_cross_entropy(cm__dispatch *d, int32_t node)
{
    const cm_node   *n = cm__node(d, node), *forward = cm__forward_of(d, n);
    int32_t          logits = forward->inputs[0];
    const cm_tensor *x = cm__t(d->g, logits);
    if (n != forward) {
        cm__call_over(d, node, CM__V_EXP, logits, -1, logits);
        return;
    }
    cm__call_reduce(d, node, CM__V_SUM, x->dtype, cm__poly_dim(x->dims[0]), cm__poly_dim(x->dims[1]), cm__poly_const(1));
    metrics(d, node, forward);
}

/* Kernels of PyTorch's loss functions before the mean, or of their gradients. */
static void loss_kernels(cm__dispatch *d, int32_t node, const cm__variant *kernels)
{
    int32_t x = cm__forward_of(d, cm__node(d, node))->inputs[0];
    for (; *kernels; kernels++) cm__call_over(d, node, *kernels, x, -1, x);
}

void cm__dispatch_loss(cm__dispatch *d, int32_t node)
{
    const cm_node   *n = cm__node(d, node);
    const cm_tensor *x = cm__in(d->g, n, 0);
    loss_kernels(d, node, cm__forward_kernels(n->op));
    cm__call_reduce(d, node, CM__V_MEAN, x->dtype, cm__poly_const(1), cm_tensor_elements(x), cm__poly_const(1));
}

#define SAMPLE_BLOCKS 128 /* blocks of 1,024 labels that one block treats (nll_loss2d in ATen/native/cuda/NLLLoss2d.cu) */

/* The likelihood reads one number per label. One block treats all rows; images have one for each sample, or more if
   they are large. The call's sizes are the blocks, and the labels of a block. */
static void labels(cm__dispatch *d, int32_t node, const cm_node *forward)
{
    const cm_tensor *x = cm__in(d->g, forward, 0), *y = cm__in(d->g, forward, 1);
    bool             planes = x->rank > 2;
    cm_poly          of_sample = planes ? cm__poly_product(y->dims + 1, y->rank - 1) : cm_tensor_elements(y);
    double           parts = planes ? fmax(1, floor(ceil(cm__poly_at(&of_sample, 1) / 1024) / SAMPLE_BLOCKS)) : 1;
    cm_poly          blocks = planes ? cm__poly_scale(cm__poly_dim(y->dims[0]), parts) : cm__poly_const(1);
    cm__pass         pass = cm__pass_of(cm__node(d, node), forward);
    CM__CALL_SIZED(d, node, cm__call_begin(d, CM__CALL_LABELS, pass, CM__V_NONE, x->dtype, false), blocks,
                   cm__poly_scale(of_sample, 1 / parts));
}

void cm__dispatch_nll_loss(cm__dispatch *d, int32_t node) { labels(d, node, cm__node(d, node)); }

void cm__dispatch_loss_grad(cm__dispatch *d, int32_t node)
{
    const cm_node *forward = cm__forward_of(d, cm__node(d, node));
    if (forward->op == CM_OP_CROSS_ENTROPY) cross_entropy(d, node, forward, CM__PASS_BACKWARD);
    else if (forward->op == CM_OP_FUSED_CROSS_ENTROPY) cm__dispatch_fused_cross_entropy(d, node);
    else loss_kernels(d, node, cm__backward_kernels(forward->op));
    if (forward->op == CM_OP_NLL_LOSS) labels(d, node, forward);
}

/* ---- CTC -------------------------------------------------------------------------------------------------------- */

#define STATE_THREADS 1024. /* of a block; more states than that need more loops over the frames */

typedef enum over { CLASSES, STATES, BLANKS, FRAMES, OVERS } over;

/* The sizes of a CTC loss: rows, and the numbers of a row. */
typedef struct ctc {
    int32_t x, alpha;
    cm_poly samples, frames, rows[OVERS], cols[OVERS];
    double  loops;
} ctc;

static ctc ctc_of(const cm__dispatch *d, const cm_node *forward)
{
    ctc              c = {.x = forward->inputs[0], .alpha = forward->outputs[1]};
    const cm_tensor *x = cm__t(d->g, c.x), *alpha = cm__t(d->g, c.alpha);
    cm_poly          states = cm__poly_dim(alpha->dims[2]);
    cm_poly          cols[] = {[CLASSES] = cm__poly_dim(x->dims[2]), [STATES] = states,
                               [BLANKS] = cm__poly_scale(cm__poly_add(states, cm__poly_const(1)), 0.5),
                               [FRAMES] = cm__poly_const(1)};
    c.samples = cm__poly_dim(x->dims[1]);
    c.frames = cm__poly_dim(x->dims[0]);
    c.loops = fmax(1, ceil(cm__poly_at(&states, 1) / STATE_THREADS));
    for (int i = 0; i < OVERS; i++) c.rows[i] = cm__poly_product(x->dims, 2), c.cols[i] = cols[i];
    return c;
}

/* Lengths go to the device, three numbers for each sample. */
static void lengths(cm__dispatch *d, int32_t node, const ctc *c, int32_t labels)
{
    for (int i = 0; i < 3; i++) cm__call_map(d, node, CM__V_COPY, labels, -1, labels, cm__poly_const(1), c->samples);
}

/* A kernel that loops over the frames of each sample. */
static void frame_loop(cm__dispatch *d, int32_t node, cm__pass pass, cm__variant kernel, const ctc *c, double loops)
{
    cm__sized_call call = cm__call_begin(d, CM__CALL_CTC, pass, kernel, cm__t(d->g, c->x)->dtype, false);
    CM__CALL_SIZED(d, node, call, c->samples, cm__poly_scale(c->frames, loops), c->cols[CLASSES]);
}

/* The kernels of ctc_loss_backward_gpu_template in ATen/native/cuda/LossCTC.cu between log beta and the gradients of
   labels: exp(x), less the blanks' share by logsumexp, times the gradient of the loss. Short inputs (2 T + 2.4 N + 0.2 C
   of at most 450) have one kernel instead, which was not measured: they are counted as long ones. */
static void ctc_gradient(cm__dispatch *d, int32_t node, const ctc *c)
{
    static const struct {
        cm__variant kernel;
        over        over;
        bool        reduces;
    } steps[] = {
        {CM__V_FILL, CLASSES, false}, {CM__V_EXP, CLASSES, false}, {CM__V_ADD, BLANKS, false},   {CM__V_MAX, BLANKS, true},
        {CM__V_SCALE, FRAMES, false}, {CM__V_SCALE, FRAMES, false}, {CM__V_SCALE, FRAMES, false}, {CM__V(SUB, COL), BLANKS, false},
        {CM__V_EXP, BLANKS, false},   {CM__V_SUM, BLANKS, true},    {CM__V_LOG, FRAMES, false},   {CM__V_ADD, FRAMES, false},
        {CM__V_ADD, FRAMES, false},   {CM__V_SUB, FRAMES, false},   {CM__V_EXP, FRAMES, false},   {CM__V_SUB, FRAMES, false},
        {CM__V(MUL, COL), CLASSES, false},
    };
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        cm_poly rows = c->rows[steps[i].over], cols = c->cols[steps[i].over];
        bool    spread = cm__form_of(steps[i].kernel) != CM__FORM_NONE;
        if (steps[i].reduces)
            cm__call_reduce(d, node, steps[i].kernel, cm__t(d->g, c->x)->dtype, rows, cols, cm__poly_const(1));
        else
            cm__call_map(d, node, steps[i].kernel, c->x, -1, c->x, spread ? rows : cm__poly_const(1),
                         spread ? cols : cm__poly_mul(rows, cols));
    }
}

/* Forward copies the labels to the host (recorded on an H200, PyTorch 2.11). Backward ends with the gradients of padded
   frames, which become zero. */
void cm__dispatch_ctc_loss(cm__dispatch *d, int32_t node)
{
    const cm_node *n = cm__node(d, node), *forward = cm__forward_of(d, n);
    ctc            c = ctc_of(d, forward);
    int32_t        labels = forward->inputs[1];
    lengths(d, node, &c, labels);
    if (n == forward) {
        cm__call_over(d, node, CM__V_COPY, labels, -1, labels);
        frame_loop(d, node, CM__PASS_FORWARD, CM__V_NONE, &c, c.loops);
        return;
    }
    cm__call_over(d, node, CM__V_FILL, c.alpha, -1, c.alpha);
    frame_loop(d, node, CM__PASS_BACKWARD, CM__V_BETA, &c, c.loops);
    ctc_gradient(d, node, &c);
    frame_loop(d, node, CM__PASS_BACKWARD, CM__V_LABELS, &c, 1);
    cm__call_map(d, node, CM__V_FILL, c.x, -1, c.x, cm__poly_const(1), c.samples);
}
