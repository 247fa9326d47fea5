/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fused.c - activations that runtimes with fused kernels do not store.
 *
 * Megatron-LM's cross-entropy overwrites one fp32 copy of the logits: logits less their maximum, exponentials,
 * probabilities, gradient (tensor_parallel/cross_entropy.py). Its SwiGLU is one kernel, whose backward recomputes the
 * activation (fusions/fused_bias_swiglu.py). Queries, keys and values are one product there, and so are the first two
 * of a gated network (TELayerNormColumnParallelLinear, core/models/gpt/gpt_layer_specs.py): the 8-bit copy of what they
 * read is stored once (Transformer Engine, pytorch/module/layernorm_linear.py). Experts' results are weighed inside the
 * kernel of their activation, so that backward does not read them (moe/experts.py). One kernel writes the keys and
 * values of latent attention beside the product that they come from, which nothing reads after it
 * (fused_apply_mla_rope_for_kv() in multi_latent_attention.py; without it `value.contiguous()`). With
 * --fp8-param-gather a weight is one 8-bit tensor by rows and one by columns (Transformer Engine's MXFP8Tensor, and
 * Float8Tensor with its transposed copy), as many bytes as the 16-bit weight, which does not exist beside them. A
 * compiled model's loss stores what eager PyTorch's does.
 *
 * A chunked loss computes the logits of some tokens at a time and their gradient at once. Liger's
 * (ops/fused_linear_cross_entropy.py) divides the tokens by words / width, so that a chunk of logits is as large as the
 * activations that they are computed from.
 *
 * A fused loss of a shifted copy of the logits (--logits) writes the gradient over the copy.
 */
#include <math.h>
#include "graph/rule.h"
#include "graph/runtimes.h"
#include "model/dispatch/attention.h"
#include "model/dispatch/compiler.h"
#include "model/dispatch/routing.h"
#include "model/memory/footprint.h"

static cm__piece *piece_at(cm_footprint *f, const int32_t *piece_of, int32_t tensor)
{
    int32_t at = tensor >= 0 ? piece_of[cm__t(f->step, tensor)->storage] : -1;
    return at >= 0 ? &f->pieces[at] : NULL;
}

static bool same_bytes(const cm__piece *a, const cm__piece *b)
{
    for (int i = 0; i < CM_POLY_TERMS; i++)
        if (a->bytes.c[i] != b->bytes.c[i]) return false;
    return true;
}

static void forget(cm__piece *x)
{
    if (!x) return;
    x->bytes = (cm_poly){{0}};
    x->born = x->dies = -1;
}

/* `over` reuses the memory of `kept`. */
static void write_over(cm__piece *kept, cm__piece *over)
{
    if (!over || over == kept || over->born < 0 || !same_bytes(kept, over)) return;
    if (over->born < kept->born) kept->born = over->born;
    if (over->dies > kept->dies) kept->dies = over->dies;
    forget(over);
}

static void merge_logits(cm_footprint *f, const int32_t *piece_of, int32_t loss)
{
    const cm_graph *g = f->step;
    const cm_node  *n = &g->nodes[loss];
    cm__piece      *kept = n->n_outputs > 1 ? piece_at(f, piece_of, n->outputs[1]) : NULL;
    if (!kept || kept->born < 0) return;
    write_over(kept, piece_at(f, piece_of, n->inputs[0]));
    for (int32_t i = loss + 1; i < g->n_nodes; i++)
        if (g->nodes[i].source == loss && g->nodes[i].phase == CM_BACKWARD)
            write_over(kept, piece_at(f, piece_of, g->nodes[i].outputs[0]));
}

/* The activation of a gated product is freed after forward. */
static void drop_gate(cm_footprint *f, const int32_t *piece_of, int32_t product)
{
    const cm_node *n = &f->step->nodes[product];
    for (int32_t k = 0; k < n->n_inputs; k++) {
        const cm_tensor *t = cm__has(n, k) ? cm__in(f->step, n, k) : NULL;
        bool             gate = t && t->producer >= 0 && cm__ops[f->step->nodes[t->producer].op].gate;
        cm__piece       *x = gate ? piece_at(f, piece_of, n->inputs[k]) : NULL;
        if (x && x->born >= 0 && x->dies > product) x->dies = product;
    }
}

/* Experts' results are freed once they are added. */
static void free_results(cm_footprint *f, const int32_t *piece_of, int32_t product)
{
    cm__piece *x = piece_at(f, piece_of, f->step->nodes[product].inputs[0]);
    if (x && x->born >= 0 && x->dies > product) x->dies = product;
}

/* The values alone are kept of what they lie in. */
static void copy_values(cm_footprint *f, const int32_t *piece_of, const cm_node *attention)
{
    int32_t    values = cm__values_alone(f->step, attention);
    cm__piece *x = piece_at(f, piece_of, values);
    if (x && x->born >= 0) x->bytes = cm_tensor_bytes(cm__t(f->step, values));
}

/* first: per tensor, the cast to 8 bits that read it last, plus 1. */
static void join_cast(cm_footprint *f, const int32_t *piece_of, int32_t cast, int32_t *first)
{
    const cm_graph *g = f->step;
    const cm_node  *n = &g->nodes[cast];
    int32_t        *at = &first[n->inputs[0]];
    cm__piece      *kept = *at && g->nodes[*at - 1].phase == n->phase
                               ? piece_at(f, piece_of, g->nodes[*at - 1].outputs[0]) : NULL;
    if (kept && kept->born >= 0) write_over(kept, piece_at(f, piece_of, n->outputs[0]));
    else *at = cast + 1;
}

static void divide(cm__piece *x, double by, int32_t last)
{
    if (!x || x->born < 0) return;
    x->bytes = cm__poly_scale(x->bytes, 1 / by);
    if (x->dies > last) x->dies = last;
}

static void divide_logits(cm_footprint *f, const int32_t *piece_of, int32_t loss)
{
    const cm_graph  *g = f->step;
    const cm_tensor *logits = cm__in(g, &g->nodes[loss], 0), *base = cm__t(g, logits->storage);
    const cm_node   *product = base->producer >= 0 ? &g->nodes[base->producer] : NULL;
    const cm_tensor *x = product && cm__class(product) == CM_CLASS_GEMM ? cm__in(g, product, 0) : NULL;
    if (!x || x->rank < 1 || x->dims[x->rank - 1].fixed < 1) return;
    double chunks = ceil((double)logits->dims[1].fixed / (double)x->dims[x->rank - 1].fixed);
    for (int32_t i = loss + 1; i < g->n_nodes && chunks > 1; i++) {
        if (g->nodes[i].source != loss || g->nodes[i].phase != CM_BACKWARD) continue;
        divide(piece_at(f, piece_of, g->nodes[i].outputs[0]), chunks, g->n_nodes);
        divide(piece_at(f, piece_of, g->nodes[loss].inputs[0]), chunks, i);
        return;
    }
}

/* A fused loss of a copy that only it reads writes the gradient over it (Unsloth's and Liger's kernels). */
static void overwrite_logits(cm_footprint *f, const int32_t *piece_of, int32_t loss)
{
    const cm_graph *g = f->step;
    cm__piece      *kept = piece_at(f, piece_of, g->nodes[loss].inputs[0]);
    for (int32_t i = loss + 1; i < g->n_nodes && kept && kept->born >= 0; i++)
        if (g->nodes[i].source == loss && g->nodes[i].phase == CM_BACKWARD)
            write_over(kept, piece_at(f, piece_of, g->nodes[i].outputs[0]));
}

static void join_pieces_of_megatron(cm_footprint *f, const int32_t *piece_of, cm__ctx *scratch)
{
    const cm_graph *g = f->step;
    int32_t        *first = cm__alloc_array(scratch, (size_t)g->n_tensors + 1, sizeof *first);
    bool            inside = cm__weighs_inside(f->options.runtime, g->asked.software);
    for (int32_t i = 0; i < f->n_nodes; i++) {
        const cm_node *n = &g->nodes[i];
        bool           forward = n->phase == CM_FORWARD || n->phase == CM_RECOMPUTE;
        if (n->op == CM_OP_CROSS_ENTROPY && n->phase == CM_FORWARD) merge_logits(f, piece_of, i);
        if (n->op == CM_OP_MUL && forward) drop_gate(f, piece_of, i);
        if (n->op == CM_OP_MUL && forward && inside && cm__weighs_results(g, n)) free_results(f, piece_of, i);
        if (n->op == CM_OP_ATTENTION) copy_values(f, piece_of, n);
        if (!cm__is_scaled_cast(g, n)) continue;
        cm_role cast = cm__t(g, n->outputs[0])->role;
        if (forward && cast == CM_ROLE_ACTIVATION) join_cast(f, piece_of, i, first);
        if (g->asked.megatron.narrow_weights && cast == CM_ROLE_CAST) forget(piece_at(f, piece_of, n->outputs[0]));
    }
}

void cm__fused_pieces(cm_footprint *f, const int32_t *piece_of, cm__ctx *scratch)
{
    for (int32_t i = 0; i < f->n_nodes && f->step->asked.script.logits && f->step->asked.loss_kernel == CM_LOSS_KERNEL_FUSED; i++)
        if (f->step->nodes[i].op == CM_OP_FUSED_CROSS_ENTROPY) overwrite_logits(f, piece_of, i);
    for (int32_t i = 0; i < f->n_nodes && f->step->asked.loss_kernel == CM_LOSS_KERNEL_CHUNKED; i++)
        if (f->step->nodes[i].op == CM_OP_FUSED_CROSS_ENTROPY) divide_logits(f, piece_of, i);
    if (cm__is_megatron(f->options.runtime)) join_pieces_of_megatron(f, piece_of, scratch);
}
