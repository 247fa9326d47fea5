/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loss.c - the loss that a training script would add to a model that has none.
 *
 * If the user does not choose one, the shape of the first output of real numbers decides:
 *   one number per sample: squared error;
 *   one channel of an image: binary cross-entropy;
 *   several classes: cross-entropy over them, in fp32, as is usual in PyTorch.
 * A model that already returns one number has its loss.
 */
#include "graph/rule.h"
#include "graph/training/train.h"

static cm_loss choose(const cm_tensor *y)
{
    if (y->rank == 0 || !cm__is_float(y->dtype)) return CM_LOSS_NONE;
    bool   image = y->rank >= 4;
    cm_dim classes = y->dims[image ? 1 : y->rank - 1];
    if (!cm__dim_is(classes, 1) && y->rank >= 2) return CM_LOSS_CROSS_ENTROPY;
    return image ? CM_LOSS_BCE : CM_LOSS_MSE;
}

static int32_t in_fp32(cm_graph *g, int32_t x)
{
    return cm__t(g, x)->dtype == CM_FP32 ? x : cm__emit_cast(g, "loss.cast", x, CM_FP32);
}

bool cm__is_causal(const cm_graph *g)
{
    for (int32_t i = 0; i < g->n_nodes; i++)
        if (g->nodes[i].op == CM_OP_ATTENTION && cm__attr_int(&g->nodes[i], CM_ATTR_CAUSAL, 0)) return true;
    return false;
}

/* In a causal model each token predicts the next one, so the last has no target. */
static int32_t all_but_last(cm_graph *g, int32_t x)
{
    const cm_tensor *t = cm__t(g, x);
    if (t->rank != 3 || t->dims[1].per_batch || t->dims[1].fixed < 2 || !cm__is_causal(g)) return x;
    cm__attr attrs[] = {CM__INTS(CM_ATTR_STARTS, 0), CM__INTS(CM_ATTR_ENDS, t->dims[1].fixed - 1),
                        CM__INTS(CM_ATTR_AXES, 1)};
    return cm__emit(g, CM_OP_SLICE, "loss.shift", &x, 1, attrs, 3);
}

/* Sequences of logits [B, S, V] become rows [B*S, V]. */
static int32_t as_rows(cm_graph *g, int32_t x)
{
    const cm_tensor *t = cm__t(g, x);
    if (t->rank != 3) return x;
    cm_node *node = cm__emit_node(g, CM_OP_VIEW, "loss.rows", &x, 1, NULL, 0, 0);
    cm__set_output(g, node, 0, t->dtype, 2, (cm_dim[]){cm__dim_mul(g, t->dims[0], t->dims[1]), t->dims[2]});
    return node->outputs[0];
}

/* Targets are class indices: the shape of the logits without the class dimension. */
static int32_t labels_for(cm_graph *g, const cm_tensor *x)
{
    cm_dim  dims[CM__RANK_MAX];
    int32_t rank = 0;
    for (int32_t i = 0; i < x->rank; i++)
        if (i != 1) dims[rank++] = x->dims[i];
    return cm__leaf(g, "labels", CM_ROLE_INPUT, CM_INT64, rank, dims);
}

/* The first output of real numbers; labels and indices have no gradient. */
static int32_t trained_output(const cm_graph *g)
{
    for (int32_t i = 0; i < g->n_outputs; i++)
        if (cm__is_float(cm__t(g, g->outputs[i])->dtype)) return g->outputs[i];
    return g->outputs[0];
}

/* The shifted copy of the logits that the script makes in memory (--logits). *kept: the logits that it is made of. */
static int32_t shifted_copy(cm_graph *g, int32_t y, int32_t *kept)
{
    *kept = g->asked.script.logits == CM_LOGITS_OWN ? y : in_fp32(g, y);
    int32_t x = all_but_last(g, *kept);
    return x == *kept ? x : cm__emit(g, CM_OP_COPY, "loss.shift", &x, 1, NULL, 0);
}

/* The script drops its logits and their shifted copy when the loss is known: both are variables of its function. */
static int32_t logits_held(cm_graph *g, int32_t y, int32_t kept, int32_t shifted, int32_t loss)
{
    g->drops_logits = true;
    cm__hold(g, kept, loss);
    cm__hold(g, shifted, loss);
    if (g->asked.script.logits == CM_LOGITS_BOTH) cm__hold(g, y, loss);
    return loss;
}

/* A fused kernel reads the logits in their own type; the script shifts the labels, not the logits, unless --logits says
   that it copies them. cross_entropy() runs in fp32 under autocast. A chunked loss has no logits to copy. */
static int32_t cross_entropy(cm_graph *g, int32_t y)
{
    bool    fused = g->asked.loss_kernel == CM_LOSS_KERNEL_FUSED || g->asked.loss_kernel == CM_LOSS_KERNEL_CHUNKED;
    bool    copied = g->asked.script.logits && g->asked.loss_kernel != CM_LOSS_KERNEL_CHUNKED;
    int32_t kept = y, x = copied ? shifted_copy(g, y, &kept) : fused ? y : in_fp32(g, all_but_last(g, y));
    int32_t rows = as_rows(g, x);
    bool    own = g->asked.script.logits == CM_LOGITS_OWN && !cm__autocasts(g->precision);
    fused &= cm__t(g, rows)->rank == 2; /* not the classes of pixels */
    int32_t loss = cm__emit(g, fused ? CM_OP_FUSED_CROSS_ENTROPY : CM_OP_CROSS_ENTROPY, "loss",
                            (int32_t[]){fused || own ? rows : in_fp32(g, rows), labels_for(g, cm__t(g, rows))}, 2, NULL,
                            0);
    return copied ? logits_held(g, y, kept, x, loss) : loss;
}

static bool moves(const cm_node *n) { return cm__class(n) == CM_CLASS_MOVEMENT || n->op == CM_OP_CAST; }

/* The result of a calculation that a tensor is a view or a copy of. Attention casts its inputs after the model has kept
   them. */
static int32_t computed(const cm_graph *g, int32_t t)
{
    for (int32_t n; (n = cm__t(g, t)->producer) >= 0 && moves(&g->nodes[n]);) t = g->nodes[n].inputs[0];
    return t;
}

/* The model returns the keys and values of each layer beside its logits (--use-cache). A view holds all of its storage:
   of one product for queries, keys and values, the queries too. */
static void hold_cache(cm_graph *g, int32_t loss)
{
    for (int32_t i = 0; i < g->n_nodes; i++)
        for (int32_t k = 1; k < 3 && g->nodes[i].op == CM_OP_ATTENTION; k++)
            if (cm__has(&g->nodes[i], k)) cm__hold(g, computed(g, g->nodes[i].inputs[k]), loss);
}

static int32_t added_loss(cm_graph *step, cm_loss *loss)
{
    int32_t y = trained_output(step);
    if (*loss == CM_LOSS_AUTO) *loss = choose(cm__t(step, y));
    if (!cm__is_float(cm__t(step, y)->dtype)) cm__warn(step, "no output is of real numbers: nothing is trained");
    if (*loss == CM_LOSS_NONE) return cm__t(step, y)->rank == 0 ? y : -1;
    if (!cm__is_float(cm__t(step, y)->dtype))
        cm__fail(step->ctx, CM_ERR_UNSUPPORTED,
                 "no output is of real numbers, so there is no loss ('%s' is the first output); use --loss none",
                 cm__t(step, y)->name);
    if (*loss == CM_LOSS_CROSS_ENTROPY) {
        if (cm__t(step, y)->rank < 2)
            cm__fail(step->ctx, CM_ERR_ARGUMENT, "cross-entropy needs classes; the output is %s",
                     cm__dims_text(step, cm__t(step, y)));
        return cross_entropy(step, y);
    }
    int32_t          x = in_fp32(step, y);
    const cm_tensor *t = cm__t(step, x);
    int32_t          target = cm__leaf(step, "target", CM_ROLE_INPUT, CM_FP32, t->rank, t->dims);
    return cm__emit(step, *loss == CM_LOSS_MSE ? CM_OP_MSE_LOSS : CM_OP_BCE_LOSS, "loss", (int32_t[]){x, target}, 2,
                    NULL, 0);
}

int32_t cm__add_loss(cm_graph *step, cm_loss *loss)
{
    int32_t x = added_loss(step, loss);
    if (step->asked.script.use_cache && x >= 0) hold_cache(step, x);
    return x;
}
