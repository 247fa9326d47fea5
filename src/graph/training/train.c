/* SPDX-License-Identifier: Apache-2.0 */
/* train.c - one training step: the forward graph in its precision, a loss, backward, the update. */
#include "graph/training/train.h"

#include "graph/releases.h"
#include "graph/rewrite/tune.h"

/* Kernels were recorded for training in one precision, and without recomputation. */
static const cm__recorded *recorded_for(const cm_graph *step, const cm_graph *forward, const cm_train_options *o)
{
    const cm__recorded *r = forward->recorded;
    bool plain = step->precision == CM_PRECISION_FP32 || step->precision == CM_PRECISION_TF32;
    bool same = r && (r->precision == step->precision || (plain && r->precision == CM_PRECISION_FP32));
    return same && !o->inference && o->recompute == CM_RECOMPUTE_NONE ? r : NULL;
}

/* The compiler was given the step as it was captured. XLA multiplies fp32 numbers in 16 bits on a TPU. */
static const cm__compiled_step *compiled_for(const cm_graph *step, const cm_graph *forward, const cm_train_options *o)
{
    bool wide = forward->precision == CM_PRECISION_FP32 && step->precision == CM_PRECISION_AMP_BF16;
    bool same = (wide || step->precision == forward->precision) && step->optimizer == forward->optimizer;
    bool plain = !o->inference && o->recompute == CM_RECOMPUTE_NONE && !o->tuning.rank && !o->master && !o->loss_kernel;
    return same && plain ? forward->compiled : NULL;
}

/* Without those that have no effect in the step. */
static cm_train_options effective(const cm_train_options *o)
{
    cm_train_options e = *o;
    e.whole_layers &= o->recompute == CM_RECOMPUTE_FULL;
    e.settled.keep_products &= o->recompute == CM_RECOMPUTE_SELECTIVE && !o->inference;
    e.script.use_cache &= !o->inference;
    e.script.clip_gradients &= !o->inference;
    e.settled.traced_backward &= !o->inference;
    return e;
}

static void choose_options(cm_graph *step, const cm_graph *forward, const cm_train_options *o)
{
    step->precision = o->precision ? o->precision : forward->precision ? forward->precision : CM_PRECISION_AMP_BF16;
    step->optimizer = o->optimizer ? o->optimizer : forward->optimizer;
    step->loss = o->loss ? o->loss : forward->bare_operator ? CM_LOSS_NONE : forward->loss;
    step->asked = effective(o);
    /* older releases repeat whole layers wherever the checkpoints are */
    step->wraps_units = step->asked.whole_layers && cm__provides(o->software, CM__FEATURE_EARLY_STOP);
    step->master = o->master && !o->inference;
    step->bare_operator = forward->bare_operator;
    step->own_loss = forward->own_loss && !o->inference;
    bool traced = step->precision == CM_PRECISION_BF16;
    step->expert_graphs = o->inference || traced ? 0 : forward->expert_graphs;
    step->layer_graphs = o->inference ? 0 : forward->layer_graphs + step->expert_graphs;
    step->channels_last = forward->channels_last;
    step->omits_causal = forward->omits_causal;
    step->omits_open = forward->omits_open;
    step->recorded = recorded_for(step, forward, o);
    step->product_passes = forward->product_passes;
    if (!o->inference) step->jax = forward->jax;
    step->compiled = compiled_for(step, forward, o);
    step->tuned = forward->tuned;
    step->joined_adapters = forward->joined_adapters;
    step->exempt_adapters = forward->exempt_adapters;
}

static void warn_untrained(cm_graph *step, const int32_t *gradient, int32_t tensors)
{
    int32_t untrained = 0;
    for (int32_t t = 0; t < tensors; t++) 
        untrained += cm__t(step, t)->role == CM_ROLE_PARAMETER && !cm__t(step, t)->frozen && gradient[t] < 0;
    if (untrained)
        cm__warn(step, "%d parameters get no gradient: the loss is taken of the first output only", untrained);
}

static bool has_op(const cm_graph *g, int op)
{
    for (int32_t i = 0; i < g->n_nodes; i++)
        if (g->nodes[i].op == op) return true;
    return false;
}

/* A chunked loss leaves no logits to compute metrics from. */
static bool has_rated_logits(const cm_graph *g)
{
    bool added = has_op(g, CM_OP_FUSED_CROSS_ENTROPY) || has_op(g, CM_OP_CROSS_ENTROPY);
    return added && g->asked.loss_kernel != CM_LOSS_KERNEL_CHUNKED;
}

static void add_training(cm_graph *step, const cm_train_options *o)
{
    step->outside = CM__IN_SCRIPT;
    int32_t outputs = step->n_outputs, loss = cm__add_loss(step, &step->loss), tensors = step->n_tensors;
    step->outside = CM__COMPILED;
    int32_t *gradient =
        cm__backward_run(step, loss >= 0 ? &loss : step->outputs, loss >= 0 ? 1 : outputs, o);
    if (loss >= 0 && cm__t(step, loss)->producer >= 0 && loss != step->outputs[0])
        cm__output(step, loss); /* in addition to the model's outputs, which the script still references */
    step->functions = NULL; /* their tensors belong to the forward graph */
    step->n_functions = 0;
    warn_untrained(step, gradient, tensors);
    if (o->loss_kernel > CM_LOSS_KERNEL_PLAIN && !has_op(step, CM_OP_FUSED_CROSS_ENTROPY))
        cm__warn(step, "the loss is not a cross-entropy of rows that this program adds: --loss-kernel %s has no effect",
                 cm_loss_kernel_name(o->loss_kernel));
    if (o->script.metrics && !has_rated_logits(step))
        cm__warn(step, "the step has no cross-entropy of logits in memory: --train-metrics has no effect");
    if (o->script.logits && !step->drops_logits)
        cm__warn(step, "this program adds no loss that reads logits in memory: --logits %s has no effect",
                 cm_logits_name(o->script.logits));
    for (int32_t t = 0; step->bare_operator && t < tensors; t++) /* one operator: the gradients are its result */
        if (gradient[t] >= 0 && cm__t(step, t)->producer < 0) cm__output(step, gradient[t]);
    if (!step->bare_operator) cm__add_update(step, gradient, tensors, step->optimizer, o->master);
    for (int32_t i = 0; o->settled.whole_step && i < step->n_nodes; i++) step->nodes[i].outside = CM__COMPILED;
    step->phase = CM_FORWARD;
}

/* Warn if a recorded backward has other matrix FLOP than the derived one: then some operation was not recorded
   correctly. */
static void compare_backward(cm_graph *step, const cm_graph *forward)
{
    const double batch = 64, tolerance = 0.005;
    double       ours = 0, theirs = cm__poly_at(&forward->backward_flop, batch);
    for (int32_t i = 0; i < step->n_nodes; i++) {
        cm_class c = cm__class(&step->nodes[i]);
        bool     matrix = c == CM_CLASS_GEMM || c == CM_CLASS_CONV || c == CM_CLASS_ATTENTION;
        if (matrix && step->nodes[i].phase == CM_BACKWARD) ours += cm__poly_at(&step->nodes[i].flop, batch);
    }
    double difference = ours > theirs ? ours - theirs : theirs - ours;
    if (forward->has_backward && difference > tolerance * (ours > theirs ? ours : theirs))
        cm__warn(step,
                 "the recorded backward has %.4g matrix FLOP at batch 64, the derived one %.4g: times are off by as "
                 "much", theirs, ours);
}

/* Without backward nobody reads the tensors that are saved for it; frameworks do not write them. */
static void drop_saved(cm_graph *g)
{
    bool *read = cm__alloc_array(g->ctx, (size_t)g->n_tensors, sizeof *read);
    for (int32_t i = 0; i < g->n_nodes; i++)
        for (int32_t k = 0; k < g->nodes[i].n_inputs; k++)
            if (g->nodes[i].inputs[k] >= 0) read[g->nodes[i].inputs[k]] = true;
    for (int32_t i = 0; i < g->n_outputs; i++) read[g->outputs[i]] = true;
    for (int32_t i = 0; i < g->n_nodes; i++)
        for (int32_t o = 1; o < g->nodes[i].n_outputs; o++) {
            int32_t t = g->nodes[i].outputs[o];
            if (t < 0 || read[t] || cm__t(g, t)->role != CM_ROLE_SAVED) continue;
            cm__t(g, t)->producer = -1;
            ((int32_t *)g->nodes[i].outputs)[o] = -1;
        }
}

cm_status cm_graph_train(const cm_graph *forward, const cm_train_options *options, cm_graph **step, cm_diag *diag)
{
    static const cm_train_options defaults = {0};
    cm__ctx *ctx = cm__ctx_new(diag);
    if (!ctx) return CM_ERR_MEMORY;
    if (setjmp(ctx->trap)) return cm__ctx_abandon(ctx);
    ctx->file = cm__text_copy(ctx, forward->name);
    const cm_train_options *o = options ? options : &defaults;
    if ((unsigned)o->precision >= CM_PRECISIONS || (unsigned)o->optimizer >= CM_OPTIMIZERS ||
        (unsigned)o->loss >= CM_LOSSES || (unsigned)o->recompute >= CM_RECOMPUTES ||
        (unsigned)o->attention >= CM_ATTENTIONS || (unsigned)o->loss_kernel >= CM_LOSS_KERNELS ||
        (unsigned)o->script.logits >= CM_LOGITS || (unsigned)o->mixed_precision >= CM_MIXED_PRECISIONS || o->script.metrics < 0 ||
        (unsigned)o->tuning.quantize >= CM_QUANTIZES)
        cm__fail(ctx, CM_ERR_ARGUMENT, "an option is out of range");
    forward = cm__tuned(ctx, forward, &o->tuning);
    cm_graph *g = cm__graph_new(ctx, forward->name, forward->source);
    choose_options(g, forward, o);
    cm__lower(g, forward, o);
    if (o->inference) drop_saved(g);
    else add_training(g, o);
    cm__layout(g);
    cm__cost_all(g); /* before pruning: the cost of a backward node is computed from its forward node */
    cm__prune(g);
    if (!o->inference) compare_backward(g, forward);
    cm__check(g);
    cm__lifetimes(g);
    ctx->diag = NULL;
    *step = g;
    return CM_OK;
}
