/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compiled.c - kernel calls of a compiler that fuses neighbouring elementwise and row-wise operators.
 *
 * Products, convolutions, attention, look-ups, complex numbers, casts to 8 bits and the update stay separate calls. All
 * other operators are fused (fusing.c). A fused kernel reads each of its external inputs once and writes its external
 * outputs once. A batch norm in training needs sums over its input before it can normalise (in backward: over all
 * operands of its gradient). These sums are separate kernels, and their operands are read a second time. A sum over
 * columns is two kernels: partial sums, and their sum. As in eager PyTorch, a batch norm also counts its batches. In
 * the stacks that vendors tune (`tuned`) the convolution before a batch norm sums its own results, a library makes the
 * sums of backward, a norm's kernel also makes the gradients of its weights, and nothing is computed again in backward.
 */
#include "model/inductor/fusing.h"

#define ROWS_OF_BLOCK 128 /* that a block of a sum over columns adds up (reduction_split_factor in torch/_inductor/choices.py) */
#define SMALL_BYTES 4096 /* what a kernel moves whose time is that of a launch */

/* ---- kernel calls ----------------------------------------------------------------------------------------------- */

void cm__call_generated(cm__dispatch *d, int32_t node, cm__variant variant, cm_dtype type, const cm__generated *kernel)
{
    cm__sized_call c = cm__call_begin(d, CM__CALL_ELEMENTWISE, CM__PASS_FORWARD, variant, type, false);
    memcpy(c.sizes, kernel->work, sizeof kernel->work);
    CM__CALL_SIZED(d, node, c, cm__poly_const(1), cm__poly_scale(kernel->bytes, 0.5 / (double)cm_dtype_size(type)));
    d->generated++;
}

void cm__call_moved(cm__dispatch *d, int32_t node, cm__variant variant, cm_poly bytes)
{
    cm__generated kernel = {bytes, {[CM__WORK_NUMBERS] = cm__poly_scale(bytes, 0.25)}};
    cm__call_generated(d, node, variant, CM_FP32, &kernel);
}

/* The type of the kernels that sum a tensor of this type. */
static cm_dtype narrow_or_wide(cm_dtype type) { return type == CM_FP16 || type == CM_BF16 ? type : CM_FP32; }

/* The second kernel of a sum over columns: it adds up the blocks' sums of so many columns, if there are several blocks.
   The bytes are those of all blocks but the first, if every block added up the same number of rows; the table contains
   what it really takes. */
static void emit_partial(cm__dispatch *d, int32_t node, cm_poly elements, double columns)
{
    cm_poly sums = cm__poly_scale(elements, 4.0 / ROWS_OF_BLOCK), first = cm__poly_const(-4 * columns);
    cm__call_moved(d, node, CM__V_PARTIAL_SUMS, cm__poly_add(sums, first));
}

/* The sums of a group norm: over each group; in backward over each channel of an image, from which small kernels make
   the sums over groups and over images. */
static void emit_group_sums(const cm__fusing *f, int32_t node, const cm__generated *sums)
{
    cm__dispatch    *d = f->d;
    const cm_node   *forward = cm__forward_of(d, cm__node(d, node));
    const cm_tensor *x = cm__in(d->g, forward, 0);
    bool             backward = cm__node(d, node) != forward;
    double           channels = (double)x->dims[1].fixed;
    cm_poly          image = cm_tensor_elements(x);
    double           groups = backward ? channels : (double)cm__attr_int(forward, CM_ATTR_NUM_GROUPS, x->dims[1].fixed);
    bool             on_chip = cm__poly_at(&image, 1) / groups <= CM__LONGEST_ROW;
    cm__variant kind = d->nhwc ? CM__V_COLUMN_SUM : on_chip ? CM__V_ROW_SUM : CM__V_LONG_ROW_SUM;
    cm__call_generated(d, node, kind, narrow_or_wide(x->dtype), sums);
    if (d->nhwc) emit_partial(d, node, image, channels);
    for (int i = 0; backward && i < 3; i++) cm__call_moved(d, node, CM__V_ROW_SUM, cm__poly_const(SMALL_BYTES));
}

/* The sums of a batch norm. Backward has two of them: of the gradient, and of its product with the input. Branches that
   get the same gradient have it summed once, by one kernel. */
static void emit_sums(const cm__fusing *f, int32_t node, const cm__generated *sums)
{
    cm__dispatch  *d = f->d;
    const cm_node *forward = cm__forward_of(d, cm__node(d, node));
    bool           first = cm__node(d, node) == forward;
    const cm_tensor *x = cm__in(d->g, forward, 0);
    double           channels = x->rank > 1 ? (double)x->dims[1].fixed : 1;
    int              count = first ? 1 : 2;
    bool             columns = d->nhwc && x->rank >= 4; /* others, like filters that are standardised, lie in rows */
    if (x->rank == 2) columns = true;                   /* channels are neighbours: what a linear layer returns */
    for (int32_t next = f->later[node]; !first && next >= 0; next = f->later[next]) count++;
    cm__call_generated(d, node, columns ? CM__V_COLUMN_SUM : CM__V_LONG_ROW_SUM, narrow_or_wide(x->dtype), sums);
    for (int i = 0; columns && i < count; i++) emit_partial(d, node, cm_tensor_elements(x), channels);
    if (!columns) cm__call_moved(d, node, CM__V_ROW_SUM, cm__poly_const(SMALL_BYTES));
    if (first) cm__dispatch_count_batch(d, node), d->generated++;
}

/* Tensors that the sums and the kernel after them need and that are not stored: one kernel reads what it is computed
   from, and writes it in fp32. */
static void emit_recomputed(cm__fusing *f, int32_t kernel, int32_t node)
{
    const cm_node *n = cm__node(f->d, node);
    for (int32_t k = 0; k < n->n_inputs; k++) {
        int32_t base = n->inputs[k] < 0 ? -1 : cm__fusing_base(f, n->inputs[k]);
        if (base < 0 || f->again[base] != kernel + 1) continue;
        f->again[base] = 0;
        cm__generated made = {0};
        cm__fusing_add(&made, cm__fusing_read(f->d->g, n->inputs[k]));
        cm__fusing_add(&made, cm__fusing_wide(cm__t(f->d->g, base)));
        cm__call_generated(f->d, node, CM__V_FUSED, CM_FP32, &made);
    }
}

/* The tensor that a kernel reads in place of another: casts are part of the kernel. */
static cm__moved before_cast(const cm_graph *g, int32_t tensor)
{
    int32_t        from = cm__t(g, cm__t(g, tensor)->storage)->producer;
    const cm_node *n = from < 0 ? NULL : &g->nodes[from];
    return cm__fusing_moved(g, n && n->op == CM_OP_CAST && n->inputs[0] >= 0 ? n->inputs[0] : tensor);
}

/* The gradients of a row-wise norm's weights: column sums over its input and its gradient. */
static void emit_weight_sums(const cm__fusing *f, int32_t node)
{
    cm__dispatch    *d = f->d;
    const cm_node   *n = cm__node(d, node), *forward = cm__forward_of(d, n);
    const cm_tensor *x = cm__in(d->g, forward, 0);
    double           columns = x->rank ? (double)x->dims[x->rank - 1].fixed : 1;
    cm__generated    kernel = {0};
    cm__fusing_add(&kernel, before_cast(d->g, n->inputs[0]));
    cm__fusing_add(&kernel, cm__fusing_moved(d->g, forward->inputs[0]));
    cm__call_generated(d, node, CM__V_COLUMN_SUM, CM_FP32, &kernel);
    emit_partial(d, node, cm_tensor_elements(x), columns);
}

/* ---- stacks that vendors tune ------------------------------------------------------------------------------------ */

static bool is_tuned(const cm__fusing *f) { return cm__is_tuned(f->d->runtime); }

/* The convolution before a batch norm makes the sums of the forward pass. */
static bool sums_made(const cm__fusing *f, const cm_node *norm)
{
    if (!is_tuned(f) || norm->phase == CM_BACKWARD) return false;
    int32_t from = cm__t(f->d->g, cm__fusing_base(f, norm->inputs[0]))->producer;
    return from >= 0 && cm__class(&f->d->g->nodes[from]) == CM_CLASS_CONV;
}

/* The sums of a batch norm: a library's kernel reads each operand once at the speed of memory (cuDNN's
   CUDNN_BATCHNORM_SPATIAL_PERSISTENT, which MLPerf's ResNet-50 fuses with ReLU and sums), where PyTorch adds up columns. */
static void emit_library_sums(const cm__fusing *f, int32_t node, const cm__generated *sums)
{
    const cm_node *n = cm__node(f->d, node);
    cm__call_generated(f->d, node, CM__V_FUSED, CM_FP32, sums);
    if (n == cm__forward_of(f->d, n)) cm__dispatch_count_batch(f->d, node);
}

static void emit_tuned(cm__fusing *f, int32_t kernel)
{
    int32_t norm = f->norm[kernel];
    if (norm >= 0 && !sums_made(f, cm__node(f->d, norm))) emit_library_sums(f, norm, &f->sums[norm]);
    cm__call_generated(f->d, kernel, CM__V_FUSED, cm__fusing_type(f, kernel), &f->does[kernel]);
}

/* ---- all kernels ------------------------------------------------------------------------------------------------- */

static cm__variant kind_of(const cm__fusing *f, int32_t kernel)
{
    if (f->columns[kernel]) return CM__V_COLUMN_SUM;
    if (!f->by_row[kernel]) return CM__V_FUSED;
    if (f->strided[kernel]) return CM__V_STRIDED_ROW_SUM;
    return cm__fusing_long_rows(f, kernel) ? CM__V_LONG_ROW_SUM : CM__V_ROW_SUM;
}

/* Columns of the first sum in a kernel. */
static double columns_of(const cm__fusing *f, int32_t kernel)
{
    for (int32_t i = kernel; i >= 0; i = f->next[i]) {
        const cm_tensor *y = cm__t(f->d->g, cm__node(f->d, i)->outputs[0]);
        cm_poly          columns = cm_tensor_elements(y);
        if (!cm__same_size(columns, f->size[kernel])) return cm__poly_at(&columns, 1);
    }
    return 1;
}

static void emit_alone(const cm__fusing *f, int32_t kernel)
{
    cm__call_generated(f->d, kernel, kind_of(f, kernel), cm__fusing_type(f, kernel), &f->does[kernel]);
}

/* A kernel with those that it needs before it and after it. */
static void emit(cm__fusing *f, int32_t kernel)
{
    for (int32_t i = kernel; i >= 0; i = f->next[i]) emit_recomputed(f, kernel, i);
    bool backward = cm__node(f->d, kernel)->phase == CM_BACKWARD;
    for (int32_t norm = f->norm[kernel]; norm >= 0; norm = backward ? -1 : f->later[norm])
        (cm__fusing_group_norm(f, cm__node(f->d, norm)) ? emit_group_sums : emit_sums)(f, norm, &f->sums[norm]);
    emit_alone(f, kernel);
    if (f->columns[kernel]) emit_partial(f->d, kernel, f->size[kernel], columns_of(f, kernel));
    for (int32_t i = kernel; i >= 0; i = f->next[i])
        if (cm__fusing_has_weight_sums(f, i)) emit_weight_sums(f, i);
}

cm__fusing *cm__chains_of(cm__dispatch *d)
{
    cm__fusing *f = cm__fusing_new(d);
    cm__fusing_add_traffic(f);
    return f;
}

bool cm__dispatch_chain(const cm__fusing *f, int32_t node)
{
    if (f->kernel[node] == node) cm__call_generated(f->d, node, CM__V_COPY, CM_FP32, &f->does[node]);
    return f->kernel[node] >= 0;
}

/* Autograd stores gradients in the order of their parameters, and copies those that a converted convolution gave another
   one. */
static void store_gradients(cm__dispatch *d, int32_t node)
{
    const cm_node *n = cm__node(d, node);
    bool           recorded = d->recorded;
    d->recorded = false; /* no compiler sees these copies */
    for (int32_t k = 0; k < n->n_outputs; k++)
        if (n->outputs[k] >= 0 && cm__t(d->g, n->outputs[k])->role == CM_ROLE_PARAMETER_GRADIENT)
            cm__call_as_image(d, node, n->outputs[k], false);
    d->recorded = recorded;
}

/* Of a recorded step only those kernels are made that the record leaves to the rules; the sums that they need are in the
   record. */
static void make(cm__fusing *f, int32_t kernel)
{
    if (is_tuned(f)) emit_tuned(f, kernel);
    else if (!f->d->recorded) emit(f, kernel);
    else if (cm__timed_by_rule(f, kernel)) emit_alone(f, kernel);
}

/* Loops of a JAX step write zeros where they will store tensors of all iterations, copy each iteration's part there, and
   backward copies it out again (loop_dynamic_update_slice_fusion and memcpy in a profile). */
static void copy_iterations(cm__dispatch *d)
{
    const cm__jax *jax = &d->g->jax;
    int32_t        last = 0;
    while (last + 1 < d->g->n_nodes && d->g->nodes[last + 1].phase == CM_FORWARD) last++;
    if (!jax->iterations || last + 1 >= d->g->n_nodes) return;
    cm_poly part = cm__poly_scale(jax->stored, 2.0 / jax->iterations);
    cm__call_moved(d, last, CM__V_FUSED, jax->stored);
    for (int32_t i = 0; i < jax->iterations; i++) {
        cm__call_moved(d, last, CM__V_FUSED, part);
        cm__call_moved(d, last + 1, CM__V_FUSED, part);
    }
}

void cm__dispatch_fused(cm__dispatch *d)
{
    const cm_graph *g = d->g;
    cm__fusing     *f = cm__fusing_new(d);
    cm__fusing_add_traffic(f);
    for (int32_t i = 0; i < g->n_nodes; i++) {
        if (f->kernel[i] == i) make(f, i);
        else if (f->kernel[i] < 0 && !g->nodes[i].view) cm__dispatch_one(d, i);
        if (d->from_rows) store_gradients(d, i);
    }
    if (d->recorded) cm__dispatch_recorded(d);
    if (cm__is_xla(d->runtime)) copy_iterations(d);
}
