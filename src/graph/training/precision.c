/* SPDX-License-Identifier: Apache-2.0 */
/*
 * precision.c - rewrite a forward graph in the precision it is trained in.
 *
 * fp32, tf32: unchanged.
 *
 * bf16, fp16: the types that PyTorch gives after model.to(type), where a capture recorded them (cm_graph.typed).
 * Otherwise all real numbers are in 16 bits, except norms written by hand and results computed from constants only.
 * Both are cast back before they are combined with 16-bit data, since PyTorch refuses mixed products. A loss is
 * computed in fp32.
 *
 * amp-*: parameters stay fp32 and autocast's rules apply (the autocast column of ops.def, after PyTorch's lists).
 * Products run in 16 bits on cast copies: a parameter is cast once per step, an activation once per use. Sensitive
 * operators run in fp32. Results computed from constants only (the angles of rotary embeddings) stay fp32: models
 * disable autocast there, which captures with recorded types show themselves. Attention that PyTorch runs operator by
 * operator is computed in fp32 and returns the type of its inputs. Beside fp32 shards (FSDP) autocast gets parameters
 * that are in 16 bits already. Recurrent layers always run in fp16: PyTorch's autocast of cuDNN's layers has that type fixed.
 *
 * fp8: amp-bf16, or bf16 with master weights, or the bf16 of a model that was captured so, with the operands of products
 * with parameters cast further to 8 bits. The last product of several, which computes logits, stays in 16 bits:
 * Transformer Engine's users and torchao leave it out.
 */
#include "graph/rules/expression.h"
#include "graph/function.h"
#include "graph/rewrite/linear_parts.h"
#include "graph/rule.h"
#include "graph/training/train.h"

typedef struct lowering {
    cm_graph       *out;
    const cm_graph *in;
    int32_t        *map;  /* tensor of `in` -> tensor of `out` */
    int32_t        *cast; /* tensor of `out` -> its 16-bit copy, for parameters */
    int32_t        *wide; /* tensor of `in` -> its fp32 copy, in a 16-bit model */
    int32_t        *narrow; /* tensor of `in` -> its 16-bit copy, if it is fp32 */
    bool           *data; /* per tensor of `in`: depends on a parameter or on the model's inputs */
    bool           *part; /* per node of `in`: part of a linear layer beside its product (linear_parts.h) */
    const cm_node  *head; /* of `in`: the product that stays in 16 bits in an 8-bit model; NULL: none */
    cm_dtype        low;
    bool            autocast, eight_bit, inference;
    bool            shards; /* autocast, over 16-bit copies of fp32 shards */
} lowering;

static const struct {
    cm_dtype low;
    bool     autocast;
} modes[CM_PRECISIONS] = {
    [CM_PRECISION_FP32] = {CM_FP32, false},    [CM_PRECISION_TF32] = {CM_FP32, false},
    [CM_PRECISION_AMP_BF16] = {CM_BF16, true}, [CM_PRECISION_AMP_FP16] = {CM_FP16, true},
    [CM_PRECISION_BF16] = {CM_BF16, false},    [CM_PRECISION_FP16] = {CM_FP16, false},
    [CM_PRECISION_FP8] = {CM_BF16, true},
};

static int32_t cast(lowering *l, int32_t tensor, cm_dtype dtype, cm_role role)
{
    int32_t copy = cm__emit_cast(l->out, cm__t(l->out, tensor)->name, tensor, dtype);
    cm__t(l->out, copy)->role = role;
    return copy;
}

static int32_t as(lowering *l, int32_t tensor, cm_dtype dtype)
{
    const cm_tensor *t = cm__t(l->out, tensor);
    bool             number = t->rank == 0 && t->role == CM_ROLE_CONSTANT;
    if (t->dtype == CM_FP8 && t->role == CM_ROLE_PARAMETER) return tensor; /* products read it without a cast */
    if (!cm__is_float(t->dtype) || t->dtype == CM_FP64 || t->dtype == dtype || number) return tensor;
    /* autocast keeps the copy of a parameter only if it has a gradient */
    if (t->role != CM_ROLE_PARAMETER || t->frozen) return cast(l, tensor, dtype, CM_ROLE_ACTIVATION);
    if (l->cast[tensor] < 0) l->cast[tensor] = cast(l, tensor, dtype, CM_ROLE_CAST);
    return l->cast[tensor];
}

static bool has_16_bits(cm_dtype dtype) { return dtype == CM_BF16 || dtype == CM_FP16; }
static bool is_pure(const lowering *l) { return !l->autocast && l->low != CM_FP32; }

/* The type that a captured tensor has after model.to(low); false: it was not recorded. */
static bool converted(const lowering *l, const cm_tensor *t, cm_dtype *dtype)
{
    if (!is_pure(l) || !t->converted) return false;
    *dtype = (cm_dtype)(t->converted - 1);
    if (has_16_bits(*dtype)) *dtype = l->low;
    return true;
}

static cm_dtype widest_input(const lowering *l, const int32_t *inputs, int32_t count)
{
    for (int32_t i = 0; i < count; i++)
        if (inputs[i] >= 0 && cm__t(l->out, inputs[i])->dtype == CM_FP32) return CM_FP32;
    return l->low;
}

/* A shape does not depend on data, even where the tensor does. */
static bool reads_data(const lowering *l, const cm_node *n)
{
    if (n->op == CM_OP_SHAPE || n->op == CM_OP_SIZE) return false;
    for (int32_t i = 0; i < n->n_inputs; i++)
        if (n->inputs[i] >= 0 && l->data[n->inputs[i]]) return true;
    return false;
}

static void find_data(lowering *l)
{
    for (int32_t t = 0; t < l->in->n_tensors; t++) {
        const cm_tensor *leaf = cm__t(l->in, t);
        l->data[t] = leaf->producer < 0 && leaf->role != CM_ROLE_CONSTANT && leaf->role != CM_ROLE_BUFFER;
    }
    for (int32_t i = 0; i < l->in->n_nodes; i++) {
        const cm_node *n = &l->in->nodes[i];
        for (int32_t o = 0; o < n->n_outputs; o++)
            if (n->outputs[o] >= 0) l->data[n->outputs[o]] = reads_data(l, n);
    }
}

static bool inside_attention(const lowering *l, int32_t tensor)
{
    int32_t from = cm__t(l->in, tensor)->producer;
    return from >= 0 && cm__attr_int(&l->in->nodes[from], CM_ATTR_MATH, 0) == 1;
}

/* Inputs from outside the attention are in 16 bits and are cast to fp32; a mask is added without a cast. */
static void widen_attention(lowering *l, const cm_node *n, int32_t *inputs)
{
    for (int32_t i = 0; i < n->n_inputs; i++) {
        if (inputs[i] < 0 || inside_attention(l, n->inputs[i])) continue;
        inputs[i] = as(l, inputs[i], l->low);
        if (n->op != CM_OP_ADD) inputs[i] = as(l, inputs[i], CM_FP32);
    }
}

/* Whether a node of a 16-bit model computes in fp32. */
static bool stays_wide(const lowering *l, const cm_node *n)
{
    return (!l->autocast || l->in->loaded_narrow) && !l->in->typed && cm__attr_find(n, CM_ATTR_WIDE);
}

static void widen(lowering *l, const cm_node *n, int32_t *inputs)
{
    for (int32_t i = 0; i < n->n_inputs; i++) {
        if (inputs[i] < 0) continue;
        int32_t *copy = &l->wide[n->inputs[i]];
        if (*copy < 0) *copy = as(l, inputs[i], CM_FP32);
        inputs[i] = *copy;
    }
}

static bool by_parameter(const cm_graph *g, const cm_node *n)
{
    if (cm__class(n) != CM_CLASS_GEMM || n->n_inputs < 2 || n->inputs[1] < 0) return false;
    return cm__t(g, n->inputs[1])->role == CM_ROLE_PARAMETER;
}

/* The last of several products with parameters. */
static const cm_node *find_head(const cm_graph *g)
{
    const cm_node *last = NULL;
    int32_t        count = 0;
    for (int32_t i = 0; i < g->n_nodes; i++)
        if (by_parameter(g, &g->nodes[i])) last = &g->nodes[i], count++;
    return count > 1 ? last : NULL;
}

/* Whether a tensor is a weight in the type that it is computed in: under autocast the cast of a trained one, or one that
   is stored so. */
static bool is_weight(const lowering *l, const cm_tensor *t)
{
    bool parameter = t->role == CM_ROLE_PARAMETER && (!l->autocast || t->dtype != CM_FP32);
    return parameter || (l->autocast && t->role == CM_ROLE_CAST) || t->dtype == CM_FP8;
}

/* Cast the operands of a product with a parameter to 8 bits. */
static void narrow_product(lowering *l, const cm_node *n, int32_t *inputs)
{
    bool product = l->eight_bit && cm__class(n) == CM_CLASS_GEMM && n->n_inputs >= 2 && inputs[1] >= 0 && n != l->head;
    bool stored = product && cm__t(l->out, inputs[1])->dtype == CM_FP8;
    if (!product || !is_weight(l, cm__t(l->out, inputs[1]))) return;
    for (int32_t i = 0; i < (stored ? 1 : 2); i++)
        inputs[i] = cast(l, inputs[i], CM_FP8, i ? CM_ROLE_CAST : CM_ROLE_ACTIVATION);
}

static bool reads_low_data(const lowering *l, const cm_node *n, const int32_t *inputs)
{
    for (int32_t i = 0; i < n->n_inputs; i++)
        if (inputs[i] >= 0 && l->data[n->inputs[i]] && cm__t(l->out, inputs[i])->dtype == l->low) return true;
    return false;
}

/* It is not recorded where the model casts back to 16 bits. Assume: results computed from constants only are cast
   before they are combined with data, and so are all operands of a product. */
static void narrow(lowering *l, const cm_node *n, int32_t *inputs)
{
    bool product = cm__ops[n->op].cast == CM__CAST_LOW;
    if (!is_pure(l) || l->in->typed || !reads_low_data(l, n, inputs)) return;
    for (int32_t i = 0; i < n->n_inputs; i++) {
        if (inputs[i] < 0 || cm__t(l->out, inputs[i])->dtype != CM_FP32) continue;
        if (!product && l->data[n->inputs[i]]) continue;
        int32_t *copy = &l->narrow[n->inputs[i]];
        if (*copy < 0) *copy = as(l, inputs[i], l->low);
        inputs[i] = *copy;
    }
}

static bool is_loss(int op)
{
    return op == CM_OP_CROSS_ENTROPY || op == CM_OP_NLL_LOSS || op == CM_OP_MSE_LOSS || op == CM_OP_BCE_LOSS;
}

/* Nor is it recorded whether the model's own loss is in fp32. Assume so: libraries do this, as does the loss that we
   add. */
static void widen_loss(lowering *l, const cm_node *n, int32_t *inputs)
{
    if (is_pure(l) && !l->in->typed && is_loss(n->op)) inputs[0] = as(l, inputs[0], CM_FP32);
}

/* Autocast asks for a softmax in fp32. Of fp16 numbers, and of these only, one kernel reads 16 bits and writes 32:
   PyTorch's softmax() passes half_to_float on (ATen/native/SoftMax.cpp); bf16 is cast before. */
static bool widens_itself(const lowering *l, const cm_node *n, const int32_t *inputs)
{
    bool softmax = n->op == CM_OP_SOFTMAX || n->op == CM_OP_LOG_SOFTMAX;
    return softmax && l->autocast && !l->out->asked.settled.habana_lists && !n->plain && !cm__attr_find(n, CM_ATTR_MATH) &&
           cm__t(l->out, inputs[0])->dtype == CM_FP16;
}

static cm__cast_policy policy_of(const lowering *l, const cm_node *n)
{
    if (!l->autocast || n->plain) return CM__CAST_KEEP;
    if (l->part[n - l->in->nodes]) return CM__CAST_LOW;
    return l->out->asked.settled.habana_lists ? cm__habana_policy(n) : cm__ops[n->op].cast;
}

static void apply_policy(lowering *l, const cm_node *n, int32_t *inputs)
{
    if (cm__attr_find(n, CM_ATTR_MATH) && !n->plain) { /* a capture contains the casts */
        widen_attention(l, n, inputs);
        return;
    }
    if (stays_wide(l, n)) widen(l, n, inputs);
    else narrow(l, n, inputs);
    widen_loss(l, n, inputs);
    cm__cast_policy policy = policy_of(l, n);
    if (policy == CM__CAST_LOW && !l->in->typed && !reads_data(l, n)) return;
    if (!l->autocast) narrow_product(l, n, inputs);
    if (policy == CM__CAST_KEEP || policy == CM__CAST_WIDEN || widens_itself(l, n, inputs)) return;
    cm_dtype low = cm__class(n) == CM_CLASS_RNN ? CM_FP16 : l->low;
    cm_dtype dtype = policy == CM__CAST_LOW    ? low
                     : policy == CM__CAST_FULL ? CM_FP32
                                               : widest_input(l, inputs, n->n_inputs);
    bool first = l->out->asked.settled.habana_lists && cm__class(n) == CM_CLASS_NORM; /* weights of norms keep their type */
    for (int32_t i = 0; i < (first ? 1 : n->n_inputs); i++)
        if (inputs[i] >= 0) inputs[i] = as(l, inputs[i], dtype);
    narrow_product(l, n, inputs);
}

static int32_t mapped(lowering *l, int32_t tensor);

/* A tensor that was made like another one has that one's type under autocast too. */
static void take_type(lowering *l, const cm_tensor *t, cm_dtype *dtype)
{
    if (t->like && l->autocast && cm__is_float(*dtype)) *dtype = cm__t(l->out, mapped(l, t->like - 1))->dtype;
}

static int32_t lower_leaf(lowering *l, int32_t tensor)
{
    const cm_tensor *t = cm__t(l->in, tensor);
    bool real = t->dtype == CM_FP32 || t->dtype == CM_FP16 || t->dtype == CM_BF16; /* whatever type the file stores */
    bool parameter = t->role == CM_ROLE_PARAMETER;
    bool wide = l->autocast && !(parameter && l->shards) &&
                (!l->in->loaded_narrow || parameter || t->role == CM_ROLE_INPUT);
    cm_dtype         dtype = !real ? t->dtype : wide ? CM_FP32 : l->low;
    converted(l, t, &dtype);
    take_type(l, t, &dtype);
    if (real && t->stored) dtype = t->stored == CM__STORED_WIDE ? CM_FP32 : l->low;
    if (real && t->stored == CM__STORED_FP8) dtype = CM_FP8;
    int32_t          leaf = cm__leaf(l->out, t->name, t->role, dtype, t->rank, t->dims);
    if (t->role != CM_ROLE_PARAMETER) cm__copy_value(l->out, leaf, t); /* parameters change with every step */
    cm__t(l->out, leaf)->frozen = t->frozen;
    return leaf;
}

static int32_t mapped(lowering *l, int32_t tensor)
{
    if (tensor >= 0 && l->map[tensor] < 0) l->map[tensor] = lower_leaf(l, tensor);
    return tensor < 0 ? -1 : l->map[tensor];
}

static int32_t count_attrs(const cm_node *n)
{
    int32_t count = 0;
    while (n->attrs[count].key < CM_ATTRS) count++;
    return count;
}

static bool has_type(const cm_graph *g, const cm_node *n, cm_dtype dtype)
{
    for (int32_t i = 0; i < n->n_inputs; i++)
        if (n->inputs[i] >= 0 && cm__t(g, n->inputs[i])->dtype == dtype) return true;
    return false;
}

/* A cast to 16 bits in the file becomes a cast to our 16-bit type; a tensor that has 16 bits already keeps its type. */
static cm_dtype result_type(const lowering *l, const cm_node *n, cm_dtype dtype)
{
    if (dtype != CM_FP16 && dtype != CM_BF16) return dtype;
    if (l->autocast && cm__ops[n->op].cast == CM__CAST_WIDEN) return CM_FP32;
    return has_type(l->out, n, dtype) ? dtype : l->low;
}

/* ---- casts of a capture ----------------------------------------------------------------------------------------- */

#define CAST_CHAIN 32 /* most operators between a cast to fp32 and the cast back */

static bool is_upcast(const lowering *l, const cm_node *n)
{
    const cm_tensor *x = cm__in(l->in, n, 0), *y = cm__t(l->in, n->outputs[0]);
    return n->op == CM_OP_CAST && has_16_bits((cm_dtype)(x->converted - 1)) && y->converted == 1 + CM_FP32;
}

/* The cast to fp32 that a cast back to 16 bits belongs to: the nearest one before it. -1: none. */
static int32_t upcast_before(const lowering *l, int32_t tensor, int depth)
{
    int32_t at = tensor < 0 ? -1 : cm__t(l->in, tensor)->producer;
    if (at < 0 || depth == 0) return -1;
    const cm_node *n = &l->in->nodes[at];
    if (is_upcast(l, n)) return at;
    for (int32_t i = 0; i < n->n_inputs && i < 2; i++) {
        int32_t found = upcast_before(l, n->inputs[i], i ? depth / 2 : depth - 1);
        if (found >= 0) return found;
    }
    return -1;
}

/* Under autocast, a cast to fp32 stays; a cast back is to the type before that cast, which may be fp32 itself. */
static cm_dtype cast_under_autocast(const lowering *l, const cm_node *n, int32_t x)
{
    const cm_tensor *y = cm__t(l->in, n->outputs[0]);
    if (!has_16_bits((cm_dtype)(y->converted - 1)) || !cm__is_float(cm__t(l->out, x)->dtype)) return y->dtype;
    int32_t up = upcast_before(l, n->inputs[0], CAST_CHAIN);
    return up < 0 ? cm__t(l->out, x)->dtype : cm__t(l->out, l->map[l->in->nodes[up].inputs[0]])->dtype;
}

static bool was_cast(const lowering *l, int32_t tensor)
{
    int32_t from = cm__t(l->out, tensor)->producer;
    return from >= 0 && l->out->nodes[from].op == CM_OP_CAST;
}

/* Whether a node is omitted in this precision, so that its result is its input. */
static bool is_omitted(const lowering *l, const cm_node *n, int32_t x)
{
    return (l->inference && n->op == CM_OP_DROPOUT) || (cm__attr_find(n, CM_ATTR_UNLESS_CAST) && was_cast(l, x));
}

/* Nodes emitted next are part of the same layer, segment and function. */
static void follow(cm_graph *out, const cm_node *n)
{
    out->block = n->block;
    out->segment = n->segment;
    out->function = n->function;
    out->outside = n->outside;
    out->plain = n->plain;
}

/* Map a cast whose types are recorded; omit it if it changes nothing. False: the node is no such cast. */
static bool lower_cast(lowering *l, const cm_node *n)
{
    const cm_tensor *y = cm__t(l->in, n->outputs[0]);
    cm_dtype         want = y->dtype;
    bool             low = cm__attr_find(n, CM_ATTR_UNDER_AUTOCAST) != NULL;
    if (n->op != CM_OP_CAST || (!y->converted && !low)) return false;
    int32_t x = mapped(l, n->inputs[0]);
    if (low && l->autocast) want = l->low;
    else if (low && cm__is_float(cm__t(l->out, x)->dtype)) want = cm__t(l->out, x)->dtype;
    else if (l->autocast) want = cast_under_autocast(l, n, x);
    else converted(l, y, &want);
    follow(l->out, n);
    bool same = cm__t(l->out, x)->dtype == want;
    l->map[n->outputs[0]] = same ? x : cast(l, x, want, CM_ROLE_ACTIVATION);
    return true;
}

/* PyTorch's cross-entropy passes the type of its input on to log-softmax. So autocast leaves 16-bit logits to it, and
   casts its result: the likelihood is in fp32. Without recorded types the model may have cast the logits itself. False:
   the node is no such loss. */
static bool lower_cross_entropy(lowering *l, const cm_node *n)
{
    int32_t x = n->op == CM_OP_CROSS_ENTROPY && l->autocast && l->in->typed ? mapped(l, n->inputs[0]) : -1;
    if (x < 0 || !has_16_bits(cm__t(l->out, x)->dtype)) return false;
    cm__attr axis = CM__INTS(CM_ATTR_AXIS, cm__t(l->out, x)->rank > 1 ? 1 : 0);
    int32_t  inputs[3];
    follow(l->out, n);
    inputs[0] = as(l, cm__emit(l->out, CM_OP_LOG_SOFTMAX, n->name, &x, 1, &axis, 1), CM_FP32);
    for (int32_t i = 1; i < n->n_inputs; i++) inputs[i] = mapped(l, n->inputs[i]);
    l->map[n->outputs[0]] =
        cm__emit(l->out, CM_OP_NLL_LOSS, n->name, inputs, n->n_inputs, n->attrs, count_attrs(n));
    return true;
}

/* PyTorch's RMS normalisation has one kernel only if input and weight have the same type. If not, it runs as an
   expression in fp32 (rms_norm in ATen/native/layer_norm.cpp), as for 16-bit results of products under autocast. False:
   the node is no such norm. */
static bool lower_rms_norm(lowering *l, const cm_node *n)
{
    bool    weighed = n->op == CM_OP_RMS_NORM && l->autocast && l->in->typed && cm__has(n, 1);
    int32_t x = weighed ? mapped(l, n->inputs[0]) : -1, weight = weighed ? mapped(l, n->inputs[1]) : -1;
    if (!weighed || !has_16_bits(cm__t(l->out, x)->dtype) || cm__t(l->out, weight)->dtype != CM_FP32) return false;
    cm_dtype narrow_type = cm__t(l->out, x)->dtype;
    follow(l->out, n);
    int32_t y = cm__rms_norm_written_out(l->out, n, as(l, x, CM_FP32), weight);
    l->map[n->outputs[0]] = as(l, y, narrow_type);
    return true;
}

static void lower_node(lowering *l, int32_t index)
{
    const cm_node *n = &l->in->nodes[index];
    if (lower_cast(l, n) || lower_cross_entropy(l, n) || lower_rms_norm(l, n)) return;
    int32_t       *inputs = cm__alloc_array(l->out->ctx, (size_t)n->n_inputs, sizeof *inputs);
    for (int32_t i = 0; i < n->n_inputs; i++) inputs[i] = mapped(l, n->inputs[i]);
    if (n->n_inputs && is_omitted(l, n, inputs[0])) {
        l->map[n->outputs[0]] = inputs[0];
        return;
    }
    cm__place_names(l->out->ctx, "node '%s' (%s)", n->name, cm_node_type(n));
    follow(l->out, n);
    cm__decide_outside(l->out, is_pure(l) && l->low == CM_BF16);
    bool back = cm__reads_unpacked(l->in, n) && l->autocast && cm__t(l->out, inputs[0])->dtype == CM_FP32;
    apply_policy(l, n, inputs);
    const cm_node *low =
        cm__emit_node(l->out, n->op, n->name, inputs, n->n_inputs, n->attrs, count_attrs(n), n->n_outputs);
    int32_t made = l->out->n_nodes - 1;
    for (int32_t o = 0; o < n->n_outputs; o++) {
        if (n->outputs[o] < 0) continue;
        cm_tensor *y = cm__t(l->out, low->outputs[o]);
        l->map[n->outputs[o]] = low->outputs[o];
        y->name = cm__text_copy(l->out->ctx, cm__t(l->in, n->outputs[o])->name);
        if (!converted(l, cm__t(l->in, n->outputs[o]), &y->dtype)) y->dtype = result_type(l, low, y->dtype);
        if (widens_itself(l, n, inputs)) y->dtype = CM_FP32;
        take_type(l, cm__t(l->in, n->outputs[o]), &y->dtype);
        cm__attr_key mark = stays_wide(l, n) ? CM_ATTR_WIDE : CM_ATTR_MATH;
        if (cm__attr_int(n, mark, 0) == 2) l->map[n->outputs[o]] = as(l, low->outputs[o], l->low);
        if (back) l->map[n->outputs[o]] = as(l, low->outputs[o], CM_FP32);
    }
    if (l->autocast) cm__cast_for_backward(l->out, made, l->low);
}

static void copy_texts(cm_graph *step, const cm_graph *forward)
{
    for (int32_t i = 0; i < forward->n_warnings; i++) cm__warn(step, "%s", forward->warnings[i]);
    if (forward->refused && step->precision == forward->refused_in) cm__warn(step, "%s", forward->refused);
    for (int32_t i = 0; i < forward->n_unsupported; i++) cm__not_supported(step, forward->unsupported[i]);
    step->description = forward->description ? cm__text_copy(step->ctx, forward->description) : NULL;
    step->citation = forward->citation ? cm__text_copy(step->ctx, forward->citation) : NULL;
    step->nodes_read = forward->nodes_read;
}

static void hold(lowering *l)
{
    for (int32_t t = 0; t < l->in->n_tensors; t++) {
        int32_t until = cm__t(l->in, t)->until;
        if (until >= 0 && l->map[t] >= 0 && l->map[until] >= 0) cm__hold(l->out, l->map[t], l->map[until]);
    }
}

void cm__lower(cm_graph *step, const cm_graph *forward, const cm_train_options *o)
{
    cm_precision precision = step->precision;
    bool     inference = o->inference, shards = o->master && o->mixed_precision == CM_MIXED_PRECISION_AUTOCAST;
    bool     eight_bit = precision == CM_PRECISION_FP8, narrow_weights = forward->precision == CM_PRECISION_BF16;
    lowering l = {.out = step, .in = forward, .low = modes[precision].low,
                  .autocast = modes[precision].autocast && (!o->master || shards) && !(eight_bit && narrow_weights),
                  .eight_bit = eight_bit, .inference = inference, .shards = shards};
    if (l.autocast) step->autocast = l.low;
    size_t   casts = (size_t)forward->n_tensors * 4 + 16; /* leaves have smaller indices: at most two casts each */
    cm__graph_reserve(step, forward, inference ? 2 : 4); /* casts; and the way back, and the update */
    l.map = cm__alloc_array(step->ctx, (size_t)forward->n_tensors, sizeof *l.map);
    l.cast = cm__alloc_array(step->ctx, casts, sizeof *l.cast);
    l.data = cm__alloc_array(step->ctx, (size_t)forward->n_tensors, sizeof *l.data);
    l.wide = cm__alloc_array(step->ctx, (size_t)forward->n_tensors, sizeof *l.wide);
    l.narrow = cm__alloc_array(step->ctx, (size_t)forward->n_tensors, sizeof *l.narrow);
    l.part = cm__alloc_array(step->ctx, (size_t)forward->n_nodes, sizeof *l.part);
    find_data(&l);
    if (l.autocast) cm__find_linear_parts(forward, l.part);
    if (l.eight_bit) l.head = find_head(forward);
    for (int32_t t = 0; t < forward->n_tensors; t++) l.map[t] = l.wide[t] = l.narrow[t] = -1;
    for (size_t t = 0; t < casts; t++) l.cast[t] = -1;
    for (int32_t i = 0; i < forward->n_inputs; i++) mapped(&l, forward->inputs[i]);
    for (int32_t t = 0; t < forward->n_tensors; t++) /* parameters first, so that their indices are small */
        if (forward->tensors[t].role == CM_ROLE_PARAMETER && forward->tensors[t].dies >= 0) mapped(&l, t);
    for (int32_t i = 0; i < forward->n_nodes; i++) lower_node(&l, i);
    cm__place(step->ctx, "%s", "");
    hold(&l);
    step->block = step->segment = step->function = -1;
    step->outside = CM__COMPILED;
    step->plain = false;
    if (!inference) {
        step->functions = cm__functions_mapped(step->ctx, forward, l.map);
        step->n_functions = forward->n_functions;
    }
    bool without_loss = inference && forward->own_loss && forward->n_outputs > 1;
    for (int32_t i = without_loss; i < forward->n_outputs; i++) cm__output(step, mapped(&l, forward->outputs[i]));
    copy_texts(step, forward);
}
