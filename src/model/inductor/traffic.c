/* SPDX-License-Identifier: Apache-2.0 */
/*
 * traffic.c - what the kernels of a fusing compiler move, and their further work.
 *
 * A kernel reads once each tensor that another kernel made, and writes the results that other kernels read. Gradients of
 * pools, of resized images and of look-ups read or add the same element several times.
 */
#include "model/inductor/fusing.h"
#include "base/ablation.h"
#include "graph/rules/rules.h"

#include <math.h>

int32_t cm__fusing_logits(const cm_graph *g, int32_t tensor)
{
    int32_t        from = cm__t(g, cm__t(g, tensor)->storage)->producer;
    const cm_node *n = from < 0 ? NULL : &g->nodes[from];
    bool           kind = n && (n->op == CM_OP_CROSS_ENTROPY || n->op == CM_OP_LOG_SOFTMAX) && n->phase == CM_FORWARD;
    if (!kind || !cm__fusible(g, n) || !cm__has(n, 0)) return -1;
    if (n->op == CM_OP_CROSS_ENTROPY && tensor == n->outputs[0]) return -1; /* the loss itself */
    int32_t        logits = n->inputs[0], made = cm__t(g, cm__t(g, logits)->storage)->producer;
    const cm_node *cast = made < 0 ? NULL : &g->nodes[made];
    return cast && cast->op == CM_OP_CAST ? cast->inputs[0] : logits;
}

/* What the training script computes from an output gives it a gradient of its own. */
bool cm__zero_gradient(const cm_graph *g, int32_t k)
{
    int32_t base = g->own_loss && k > 0 ? cm__t(g, g->outputs[k])->storage : -1;
    if (base < 0 || cm__t(g, base)->producer < 0 || !cm__is_float(cm__t(g, base)->dtype)) return false;
    for (int32_t i = cm__t(g, base)->producer + 1; i < g->n_nodes && g->nodes[i].phase == CM_FORWARD; i++)
        for (int32_t j = 0; !g->nodes[i].view && !g->nodes[i].outside && j < g->nodes[i].n_inputs; j++)
            if (g->nodes[i].inputs[j] >= 0 && cm__t(g, g->nodes[i].inputs[j])->storage == base) return true;
    return false;
}

bool cm__fusing_casts_for(const cm__fusing *f, int32_t cast, const cm_node *norm)
{
    const cm_node *n = cm__node(f->d, cast);
    return n->op == CM_OP_CAST && norm->phase == CM_FORWARD && cm__fusing_group_norm(f, norm) &&
           cm__fusing_base(f, norm->inputs[0]) == cm__fusing_base(f, n->outputs[0]);
}

/* An activation that backward computes again where it reads it, instead of storing it (model/memory/partition.c): an
   elementwise function of what backward reads anyway, like that of a gate, or the cast before a group norm: its input is
   smaller. */
static bool is_remade(const cm__fusing *f, int32_t base)
{
    const cm_graph *g = f->d->g;
    int32_t         from = cm__t(g, base)->producer;
    const cm_node  *n = from < 0 || f->kernel[from] < 0 ? NULL : &g->nodes[from];
    if (!n || n->phase != CM_FORWARD || cm__class(n) != CM_CLASS_ELEMENTWISE || n->op == CM_OP_DROPOUT) return false;
    if (!cm__compiles(f->d->runtime) || f->outside[base] || f->library[base]) return false;
    if (f->norm[f->kernel[from]] >= 0 && cm__fusing_casts_for(f, from, cm__node(f->d, f->norm[f->kernel[from]]))) return true;
    for (int32_t k = 0; k < n->n_inputs; k++) {
        int32_t read = n->inputs[k] < 0 ? -1 : cm__fusing_base(f, n->inputs[k]);
        int32_t made = read < 0 ? -1 : cm__t(g, read)->producer;
        if (made >= 0 && !(f->back[read] && (f->kernel[made] < 0 || f->outside[read]))) return false;
    }
    return !cm__rule_off("remade");
}

static void mark_outside(cm__fusing *f, const cm_node *n, int32_t node, int32_t k)
{
    int32_t base = n->inputs[k] < 0 ? -1 : cm__fusing_base(f, n->inputs[k]);
    int32_t from = base < 0 ? -1 : cm__t(f->d->g, base)->producer;
    if (base < 0) return;
    if (n->phase == CM_BACKWARD && cm__fusing_logits(f->d->g, n->inputs[k]) >= 0) return;
    bool other = from >= 0 && (f->kernel[from] < 0 || f->kernel[from] != f->kernel[node]);
    if (other && !(n->phase == CM_BACKWARD && is_remade(f, base))) f->outside[base] = true;
}

/* Marks the tensors that are read outside the kernel that makes them, and those that a library reads in backward. */
static void find_outside(cm__fusing *f)
{
    const cm_graph *g = f->d->g;
    for (int32_t i = 0; i < g->n_outputs; i++) f->outside[cm__fusing_base(f, g->outputs[i])] = true;
    for (int32_t i = 0; i < g->n_nodes; i++)
        for (int32_t k = 0; !g->nodes[i].view && g->nodes[i].phase == CM_BACKWARD && k < g->nodes[i].n_inputs; k++) {
            int32_t base = g->nodes[i].inputs[k] < 0 ? -1 : cm__fusing_base(f, g->nodes[i].inputs[k]);
            if (base >= 0) f->back[base] = true;
            if (base >= 0 && f->kernel[i] < 0) f->library[base] = true;
        }
    for (int32_t i = 0; i < g->n_nodes; i++)
        for (int32_t k = 0; !g->nodes[i].view && k < g->nodes[i].n_inputs; k++) mark_outside(f, &g->nodes[i], i, k);
}

cm__moved cm__fusing_moved(const cm_graph *g, int32_t tensor)
{
    const cm_tensor *t = cm__t(g, tensor);
    bool             indices = t->producer >= 0 && g->nodes[t->producer].op == CM_OP_MAX_POOL && t->dtype == CM_INT64;
    cm_poly          elements = cm_tensor_elements(t);
    return (cm__moved){indices ? elements : cm_tensor_bytes(t), elements};
}

cm__moved cm__fusing_wide(const cm_tensor *t)
{
    cm_poly elements = cm_tensor_elements(t);
    return (cm__moved){cm__poly_scale(elements, 4), elements};
}

static cm__moved sum(cm__moved a, cm__moved b)
{
    return (cm__moved){cm__poly_add(a.bytes, b.bytes), cm__poly_add(a.numbers, b.numbers)};
}

static cm__moved less(cm__moved a, cm__moved b)
{
    return sum(a, (cm__moved){cm__poly_scale(b.bytes, -1), cm__poly_scale(b.numbers, -1)});
}

static cm__moved smaller(cm__moved a, cm__moved b)
{
    return cm__poly_at(&a.bytes, 1) < cm__poly_at(&b.bytes, 1) ? a : b;
}

cm__moved cm__fusing_read(const cm_graph *g, int32_t tensor)
{
    return smaller(cm__fusing_moved(g, tensor), cm__fusing_moved(g, cm__t(g, tensor)->storage));
}

/* A look-up reads the rows that it wants, if they are less than the table. */
static bool looked_up(const cm_graph *g, const cm_node *n, int32_t input)
{
    bool look_up = n->op == CM_OP_GATHER || n->op == CM_OP_GATHER_ELEMENTS || n->op == CM_OP_INDEX;
    if (input || !look_up) return false;
    cm_poly table = cm_tensor_bytes(cm__t(g, n->inputs[0])), rows = cm_tensor_bytes(cm__t(g, n->outputs[0]));
    return cm__poly_at(&rows, 1) < cm__poly_at(&table, 1);
}

/* What the kernel has not read yet of a tensor. Several views of it may cover it, but no more than that. */
static cm__moved newly_read(cm__fusing *f, int32_t tensor, cm__moved part, int32_t kernel)
{
    int32_t   base = cm__fusing_base(f, tensor);
    cm__moved all = cm__fusing_moved(f->d->g, base);
    cm__moved before = f->reader[base] == kernel + 1 ? f->taken[base] : (cm__moved){0};
    if (f->seen[tensor] == kernel + 1) return (cm__moved){0};
    f->seen[tensor] = f->reader[base] = kernel + 1;
    f->taken[base] = smaller(all, sum(before, part));
    return less(f->taken[base], before);
}

/* What a kernel reads for input k of one of its nodes. */
static cm__moved operand_read(cm__fusing *f, const cm_node *n, int32_t k, int32_t kernel)
{
    const cm_graph *g = f->d->g;
    int32_t         logits = n->phase == CM_BACKWARD ? cm__fusing_logits(g, n->inputs[k]) : -1;
    int32_t         tensor = logits >= 0 ? logits : n->inputs[k], base = cm__fusing_base(f, tensor);
    cm__moved       all = {0};
    if (looked_up(g, n, k)) return newly_read(f, tensor, cm__fusing_moved(g, n->outputs[0]), kernel);
    if (n->phase != CM_BACKWARD || !is_remade(f, base)) return newly_read(f, tensor, cm__fusing_read(g, tensor), kernel);
    const cm_node *made = &g->nodes[cm__t(g, base)->producer];
    for (int32_t i = 0; i < made->n_inputs; i++)
        if (made->inputs[i] >= 0)
            all = sum(all, newly_read(f, made->inputs[i], cm__fusing_read(g, made->inputs[i]), kernel));
    return all;
}

/* An operand as large as the kernel whose neighbours in a row are not neighbours in memory: an image with channels
   first that is normalised over its channels, or what a transposition made of it. */
static bool is_apart(const cm__fusing *f, int32_t kernel, int32_t tensor)
{
    const cm_tensor *t = cm__t(f->d->g, tensor);
    if (!t->rank || !cm__same_size(cm_tensor_elements(t), f->size[kernel])) return false;
    bool wide = cm__strides_size(t->dims[t->rank - 1]) > 1 && cm__strides_of(f->d->strides, tensor)[t->rank - 1] > 1;
    return wide && !cm__rule_off("strided_rows");
}

/* What a node reads from outside its kernel and no earlier node of the kernel has read. */
static cm__moved read_by(cm__fusing *f, int32_t node)
{
    const cm_node *n = cm__node(f->d, node);
    cm__moved      all = {0};
    for (int32_t k = 0; k < n->n_inputs; k++) {
        int32_t from = n->inputs[k] < 0 ? -1 : cm__t(f->d->g, cm__fusing_base(f, n->inputs[k]))->producer;
        if (n->inputs[k] < 0 || (from >= 0 && f->kernel[from] == f->kernel[node])) continue;
        if (n->op == CM_OP_POOL_GRAD && k == 1) continue; /* only the image's shape is needed */
        f->strided[f->kernel[node]] |= is_apart(f, f->kernel[node], n->inputs[k]);
        all = sum(all, operand_read(f, n, k, f->kernel[node]));
    }
    return all;
}

static cm__moved written_by(const cm__fusing *f, int32_t node)
{
    const cm_node *n = cm__node(f->d, node);
    cm__moved      all = {0};
    for (int32_t k = 0; k < n->n_outputs; k++)
        if (n->outputs[k] >= 0 && (f->outside[cm__fusing_base(f, n->outputs[k])] || n->phase == CM_UPDATE))
            all = sum(all, cm__fusing_moved(f->d->g, n->outputs[k]));
    return all;
}

/* ---- types ------------------------------------------------------------------------------------------------------ */

/* Adds a tensor's bytes to those of 16-bit types or of others; *type: the 16-bit type. */
static void add_by_type(const cm_graph *g, int32_t tensor, double *narrow, double *wide, cm_dtype *type)
{
    const cm_tensor *t = cm__t(g, tensor);
    cm_poly          bytes = cm_tensor_bytes(t);
    bool             is_narrow = t->dtype == CM_FP16 || t->dtype == CM_BF16;
    *(is_narrow ? narrow : wide) += cm__poly_at(&bytes, 1);
    if (is_narrow) *type = t->dtype;
}

cm_dtype cm__fusing_type(const cm__fusing *f, int32_t kernel)
{
    const cm_graph *g = f->d->g;
    double          narrow = 0, wide = 0;
    cm_dtype        type = CM_FP32;
    for (int32_t i = kernel; i >= 0; i = f->next[i]) {
        const cm_node *n = cm__node(f->d, i);
        for (int32_t k = 0; k < n->n_inputs; k++) {
            int32_t from = n->inputs[k] < 0 ? -1 : cm__t(g, cm__fusing_base(f, n->inputs[k]))->producer;
            bool    inside = n->inputs[k] < 0 || (from >= 0 && f->kernel[from] == kernel);
            if (!inside) add_by_type(g, n->inputs[k], &narrow, &wide, &type);
        }
        for (int32_t k = 0; k < n->n_outputs; k++)
            if (n->outputs[k] >= 0 && f->outside[cm__fusing_base(f, n->outputs[k])])
                add_by_type(g, n->outputs[k], &narrow, &wide, &type);
    }
    return narrow > wide ? type : CM_FP32;
}

/* ---- elements that are touched more than once ------------------------------------------------------------------- */

static void add_work(cm__generated *kernel, int kind, cm_poly more)
{
    kernel->work[kind] = cm__poly_add(kernel->work[kind], more);
}

static cm__window window_of(const cm__fusing *f, const cm_node *forward)
{
    cm__window w;
    cm__window_read((cm_graph *)(uintptr_t)f->d->g, forward, cm__in(f->d->g, forward, 0)->rank - 2, NULL, &w);
    return w;
}

/* The gradient of a pool goes through all windows that contain an element. */
static void pool(const cm__fusing *f, const cm_node *n, const cm_node *forward, cm__generated *kernel)
{
    cm__window w = window_of(f, forward);
    double     windows = n == forward || cm__rule_off("pool") ? 0 : 1; /* that contain an element */
    for (int32_t i = 0; i < w.dims; i++) windows *= (double)((w.kernel[i] + w.stride[i] - 1) / w.stride[i]);
    add_work(kernel, CM__WORK_WINDOWS, cm__poly_scale(cm_tensor_elements(cm__t(f->d->g, n->outputs[0])), windows));
}

/* Elements of the original image that one of the resized image is computed from. */
static double neighbours(const cm_graph *g, const cm_node *resize)
{
    static const double along[CM__MODES] = {[CM__MODE_LINEAR] = 2, [CM__MODE_CUBIC] = 4};
    int64_t             mode = cm__attr_int(resize, CM_ATTR_MODE, CM__MODE_NEAREST);
    double              each = mode >= 0 && mode < CM__MODES && along[mode] > 0 ? along[mode] : 1;
    return pow(each, cm__in(g, resize, 0)->rank - 2);
}

/* How many neighbours of a row add to one number: as many as the image grew. */
static double in_line(const cm_graph *g, const cm_node *resize)
{
    const cm_tensor *x = cm__in(g, resize, 0), *y = cm__t(g, resize->outputs[0]);
    double           from = (double)x->dims[x->rank - 1].fixed, to = (double)y->dims[y->rank - 1].fixed;
    return from > 0 ? to / from : 1;
}

/* Each element of the gradient is added to its neighbours in the smaller image, by atomic additions. The gradient of an
   image that was made from rows of channels, or that becomes such rows, has channels last in networks of other images,
   too. */
static void resized(const cm__fusing *f, const cm_node *n, const cm_node *forward, cm__generated *kernel)
{
    if (n == forward || cm__rule_off("resized")) return;
    cm_poly elements = cm_tensor_elements(cm__t(f->d->g, n->inputs[0]));
    cm_poly adds = cm__poly_scale(elements, neighbours(f->d->g, forward));
    bool    last = f->d->nhwc || cm__strides_channels_last(f->d->strides, forward->outputs[0]) ||
                cm__strides_channels_last(f->d->strides, n->inputs[0]);
    add_work(kernel, last ? CM__WORK_ADDS_NHWC : CM__WORK_ADDS, adds);
    if (!last) add_work(kernel, CM__WORK_ADDS_IN_LINE, cm__poly_scale(adds, in_line(f->d->g, forward)));
}

/* Additions in bf16 to the same numbers for all samples: there is no atomic addition of this type. Embeddings add up in
   fp32. */
static void tried_again(const cm__fusing *f, const cm_node *n, const cm_node *forward, cm__generated *kernel)
{
    const cm_tensor *table = cm__t(f->d->g, n->outputs[0]);
    cm_poly          numbers = cm_tensor_elements(table), given = cm_tensor_elements(cm__in(f->d->g, n, 0));
    double           count = cm__poly_at(&numbers, 1);
    bool             shared = count > 0 && cm__poly_at(&numbers, 2) == count;
    if (!shared || table->dtype != CM_BF16 || forward->op != CM_OP_INDEX || cm__rule_off("tried_again")) return;
    cm_poly each = cm__poly_scale(given, 1 / count);
    add_work(kernel, CM__WORK_RETRIED, given);
    add_work(kernel, CM__WORK_COLLISIONS, cm__poly_mul(each, each));
}

/* Random numbers take time. Other arithmetic hides behind the traffic. */
static void random_numbers(const cm__fusing *f, const cm_node *n, const cm_node *forward, cm__generated *kernel)
{
    int32_t node = (int32_t)(n - f->d->g->nodes), of = f->kernel[node];
    if (n != forward || !f->d->trains || f->columns[of] || cm__rule_off("random_number")) return;
    cm_poly elements = cm_tensor_elements(cm__t(f->d->g, n->outputs[0]));
    add_work(kernel, CM__WORK_RANDOM, cm__poly_scale(elements, cm__lanes_of_row(f->row[of])));
}

/* In vendors' stacks libraries have better kernels for these. */
static void add_further(const cm__fusing *f, const cm_node *n, cm__generated *kernel)
{
    static void (*const rules[CM_OPS])(const cm__fusing *, const cm_node *, const cm_node *, cm__generated *) = {
        [CM_OP_POOL_GRAD] = pool, [CM_OP_RESIZE_GRAD] = resized, [CM_OP_GATHER_GRAD] = tried_again,
        [CM_OP_DROPOUT] = random_numbers};
    if (rules[n->op] && cm__compiles(f->d->runtime)) rules[n->op](f, n, cm__forward_of(f->d, n), kernel);
}

/* ---- computed again ---------------------------------------------------------------------------------------------- */

/* An activation that is not stored (model/memory/partition.c) and that both the sums of a batch norm's gradient and
   the kernel after them read; -1: none. */
static int32_t recomputed(const cm__fusing *f, int32_t kernel, int32_t tensor)
{
    int32_t        base = tensor < 0 ? -1 : cm__fusing_base(f, tensor);
    int32_t        from = base < 0 ? -1 : cm__t(f->d->g, base)->producer;
    const cm_node *made = from < 0 || f->kernel[from] < 0 ? NULL : cm__node(f->d, from);
    if (!made || made->phase != CM_FORWARD || f->library[base]) return -1;
    bool whole = cm__same_size(cm_tensor_elements(cm__t(f->d->g, base)), f->size[kernel]);
    return whole ? base : -1; /* others, like statistics, are stored */
}

/* An activation's gradient that reads the activation's input, and several times: Inductor computes that input once. A
   gradient that reads the result, like that of ReLU, finds it stored; one that only compares the input with bounds, like
   that of a clip, is short enough to compute it again. */
#define COMPARISONS 2 /* FLOP of an activation that only compares */

bool cm__fusing_reads_often(const cm__fusing *f, const cm_node *n)
{
    const cm_node *forward = cm__forward_of(f->d, n);
    return n != forward && cm__class(forward) == CM_CLASS_ELEMENTWISE &&
           cm__ops[forward->op].gradient == cm__gradient_input && cm__ops[forward->op].flop_per_element > COMPARISONS;
}

/* It is computed in fp32 and not rounded: in 16 bits the sums and the kernel after them read more than what was
   counted, and that kernel stores its own result of the same size. */
static void add_recomputed(cm__fusing *f, int32_t kernel, int32_t node)
{
    const cm_node *n = cm__node(f->d, node);
    for (int32_t k = 0; cm__fusing_reads_often(f, n) && k < n->n_inputs; k++) {
        int32_t base = recomputed(f, kernel, n->inputs[k]);
        if (base < 0 || f->again[base]) continue;
        f->again[base] = kernel + 1;
        const cm_tensor *t = cm__t(f->d->g, base);
        cm__moved        wide = cm__fusing_wide(t), more = less(wide, cm__fusing_moved(f->d->g, base));
        if (cm_dtype_size(t->dtype) >= 4 || cm__rule_off("recomputed")) continue;
        cm__fusing_add(&f->sums[f->norm[kernel]], more);
        cm__fusing_add(&f->does[kernel], sum(more, wide));
    }
}

/* The last node of a kernel that needs sums; -1: none. */
static int32_t last_norm(const cm__fusing *f, int32_t kernel)
{
    int32_t last = f->norm[kernel];
    while (last >= 0 && f->later[last] >= 0) last = f->later[last];
    return last;
}

/* The node whose sums read what node i of a kernel reads; -1: none. In forward a norm's sums read its input alone, before
   its cast; in backward they compute all that comes before the last norm. Other nodes of forward read its result. */
static int32_t sums_of(const cm__fusing *f, int32_t kernel, int32_t i)
{
    if (cm__node(f->d, kernel)->phase == CM_BACKWARD) return i <= last_norm(f, kernel) ? f->norm[kernel] : -1;
    for (int32_t norm = f->norm[kernel]; norm >= 0; norm = f->later[norm])
        if (norm == i || cm__fusing_casts_for(f, i, cm__node(f->d, norm))) return norm;
    return -1;
}

/* ---- all kernels ------------------------------------------------------------------------------------------------- */

/* Kernel by kernel, so that each counts a tensor once. The sums of a norm compute what comes before it, as the kernel
   after them does. */
void cm__fusing_add_traffic(cm__fusing *f)
{
    find_outside(f);
    for (int32_t kernel = 0; kernel < f->d->g->n_nodes; kernel++) {
        for (int32_t i = f->kernel[kernel] == kernel ? kernel : -1; i >= 0; i = f->next[i]) {
            cm__moved in = read_by(f, i);
            int32_t   of = sums_of(f, kernel, i);
            cm__fusing_add(&f->does[kernel], sum(in, written_by(f, i)));
            add_further(f, cm__node(f->d, i), &f->does[kernel]);
            if (of < 0) continue;
            cm__fusing_add(&f->sums[of], in);
            f->sums[of].work[CM__WORK_RANDOM] = f->does[kernel].work[CM__WORK_RANDOM];
        }
        bool generated = cm__compiles(f->d->runtime) && f->kernel[kernel] == kernel;
        bool sums = generated && f->norm[kernel] >= 0 && cm__node(f->d, kernel)->phase == CM_BACKWARD &&
                    !cm__fusing_group_norm(f, cm__node(f->d, f->norm[kernel]));
        for (int32_t i = sums ? kernel : -1; i >= 0; i = f->next[i]) add_recomputed(f, kernel, i);
    }
}
