/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shards.c - the part of each piece that one device of a parallel plan stores.
 *
 * Tensor parallelism, after Megatron-LM: a product with a parameter splits its output by columns if its input is whole,
 * and has a whole output if its input is split. Attention and elementwise operators keep the split of their inputs.
 * Sequence parallelism also splits tensors that are otherwise whole (norms, dropouts, residual sums). Pipeline: a stage
 * has its share of the layers. The first stage stores the activations of as many micro-batches as there are stages
 * (more with interleaving); the last one has the loss. ZeRO: devices with the same weights (replicas, and
 * context-parallel devices) share optimizer states, gradients, weights.
 *
 * FSDP's mixed precision: a device stores its shards of fp32 weights and fp32 gradients. 16-bit weights exist while
 * they are gathered: from forward to backward (ZeRO 2, SHARD_GRAD_OP), or a unit at a time (ZeRO 3, FULL_SHARD).
 */
#include <string.h>
#include "graph/plan/counts.h"
#include "graph/rule.h"
#include "graph/runtimes.h"
#include "graph/training/train.h"
#include "model/memory/footprint.h"
#include "model/dispatch/tensor_parallel.h"

/* ---- stages ------------------------------------------------------------------------------------------------------ */

/* One pipeline stage. The first stores activations of more micro-batches, the last has the loss. */
typedef struct stage {
    const cm_footprint *f;
    const bool         *split;
    const int32_t      *part; /* per node */
    int32_t             parts;
    bool                first, last;
    double              parameters[2]; /* this stage's fraction of them: of experts' matrices [1], of all others [0] */
} stage;

/* Matrices of all experts of a layer are one tensor. Layers with experts and without differ, so they count apart. */
static bool of_experts(const cm_tensor *x) { return x->rank == 3; }

/* The fraction of a tensor in this part of the model that this stage stores. */
static double part_here(const stage *s, int32_t part)
{
    if (part == 0) return s->first;
    return part == s->parts - 1 ? s->last : 1.0 / s->f->options.plan.pp;
}

/* The fraction of a parameter in this part that this stage stores. If the layers can be dealt out evenly, a stage has
   every pp-th chunk of them. */
static double parameters_here(const stage *s, int32_t part)
{
    const cm_plan *p = &s->f->options.plan;
    int32_t        layers = s->parts - 2, chunks = p->pp * (p->interleave > 1 ? p->interleave : 1);
    if (part == 0 || part == s->parts - 1 || layers % chunks) return part_here(s, part);
    return (part - 1) / (layers / chunks) % p->pp == (s->first ? 0 : p->pp - 1);
}

/* A weight that the first and the last part share is stored in both stages. */
static double parameters_of(cm__ctx *ctx, const stage *s, bool experts)
{
    const cm_graph *g = s->f->step;
    double         *here = cm__alloc_array(ctx, (size_t)g->n_tensors + 1, sizeof *here), sum = 0, all = 0;
    for (int32_t i = 0; i < g->n_nodes; i++)
        for (int32_t k = 0; g->nodes[i].phase == CM_FORWARD && k < g->nodes[i].n_inputs; k++) {
            int32_t parameter = cm__parameter_read(g, &g->nodes[i], k);
            double  part = parameter >= 0 ? parameters_here(s, s->part[i]) : 0;
            if (part > (parameter >= 0 ? here[parameter] : 0)) here[parameter] = part;
        }
    for (int32_t t = 0; t < g->n_tensors; t++) {
        bool   counts = cm__t(g, t)->role == CM_ROLE_PARAMETER && of_experts(cm__t(g, t)) == experts;
        double elements = counts ? cm_tensor_elements(cm__t(g, t)).c[0] : 0;
        sum += elements * here[t];
        all += elements;
    }
    return all > 0 ? sum / all : 1.0 / s->f->options.plan.pp;
}

static stage stage_new(cm__ctx *scratch, cm_footprint *f, const bool *split, bool first, bool last)
{
    stage s = {.f = f, .split = split, .part = cm__part_map(scratch, f->step), .parts = cm__part_count(f->step),
               .first = first, .last = last};
    for (int k = 0; k < 2; k++) s.parameters[k] = first && last ? 1 : parameters_of(scratch, &s, k);
    return s;
}

/* ---- factors ----------------------------------------------------------------------------------------------------- */

static bool is_activation(const cm__piece *x) { return x->category == CM_CATEGORY_INPUT_OUTPUT && x->born >= 0; }

/* Micro-batches whose activations a stage stores: the first stage as many as there are stages, the last stage one. */
static double in_flight(const cm_plan *p, bool first)
{
    double stages = p->pp, count = first ? stages : 1;
    if (p->gpipe) return p->accumulate;
    if (first && p->interleave > 1) count = stages * (1 + (stages - 1) / (stages * p->interleave));
    return count > p->accumulate && p->accumulate > 1 ? p->accumulate : count;
}

static double activation_share(const stage *s, const cm__piece *x)
{
    const cm_plan *p = &s->f->options.plan;
    bool           tokens = x->bytes.c[1] > 0 || x->bytes.c[2] > 0; /* not a weight's gradient */
    double         here = part_here(s, s->part[x->born]) / (tokens ? p->cp : 1) /
                  (s->split[x->tensor] || (p->sequence_parallel && tokens) ? p->tp : 1);
    bool           kept = s->f->step->nodes[x->born].phase == CM_FORWARD && x->dies < s->f->n_nodes &&
                s->f->step->nodes[x->dies].phase != CM_FORWARD;
    if (!kept) return p->pp > 1 && s->part[x->born] > 0 && s->part[x->born] < s->parts - 1 ? here * p->pp : here;
    double moved = p->offload_activations ? cm__offloaded_layers(p, s->parts) : 0;
    /* one layer's activations are in use, the next layer's are transferred */
    return here * (moved * 2.0 / s->parts + (1 - moved) * in_flight(p, s->first));
}

/* The first ZeRO stage that shards tensors of a role; 0: none does. */
static const int8_t shared_from[CM_ROLES] = {
    [CM_ROLE_STATE] = 1, [CM_ROLE_PARAMETER_GRADIENT] = 2, [CM_ROLE_PARAMETER] = 3, [CM_ROLE_CAST] = 3};

static bool is_fsdp(const cm_footprint *f)
{
    return f->step->master && !cm__is_megatron(f->options.runtime) && f->options.plan.zero >= 2;
}

/* FSDP: bytes of a sharded tensor over those of the 16-bit one in the graph. */
static double fsdp_factor(const cm_footprint *f, const cm_tensor *x)
{
    cm_role role = x->role;
    if (!is_fsdp(f) || x->frozen) return 1;
    if (role == CM_ROLE_PARAMETER_GRADIENT) return 2; /* fp32 */
    bool gathered = role == CM_ROLE_PARAMETER || role == CM_ROLE_CAST;
    return gathered && f->options.plan.zero == 3 ? 0 : 1;
}

/* The fraction of a parameter that one of its replicas has. */
static double undivided(const cm_plan *p, const cm_tensor *x)
{
    bool expert = p->ep > 1 && of_experts(x);
    bool whole = expert && cm__whole_experts(p); /* tensor-parallel devices are replicas of whole experts */
    return 1.0 / (expert ? p->ep : 1) / (whole ? 1 : p->tp);
}

static double share(const stage *s, const cm__piece *x)
{
    const cm_plan *p = &s->f->options.plan;
    cm_role        role = cm__t(s->f->step, x->tensor)->role;
    bool           tied = x->category == CM_CATEGORY_GRADIENTS && role == CM_ROLE_GRADIENT; /* the first of a sum */
    if (tied) role = CM_ROLE_PARAMETER_GRADIENT;
    if (is_activation(x)) return activation_share(s, x);
    if (role == CM_ROLE_STATE && (p->offload_optimizer || cm__optimizer_paged(s->f->step->optimizer))) return 0;
    if ((role == CM_ROLE_PARAMETER || role == CM_ROLE_CAST) && p->offload_weights) return 2.0 / s->parts / p->tp;
    if (!shared_from[role]) return 1;
    const cm_tensor *t = cm__t(s->f->step, x->tensor);
    bool   expert = p->ep > 1 && of_experts(t);
    double here = fsdp_factor(s->f, t) * s->parameters[of_experts(t)] * undivided(p, t);
    /* replicas divide a tied weight's gradient when all of its parts have been added up, at the end of backward */
    bool   waits = role == CM_ROLE_PARAMETER_GRADIENT && (tied || cm__gradients_wait(p, s->f->options.runtime));
    bool   shared = p->zero >= shared_from[role] && !waits;
    return here / (shared ? expert ? cm__expert_replicas(p) : cm__replicas(p) : 1);
}

/* With accumulation, gradients of earlier micro-batches exist before backward; Megatron-LM's gradient buffer always
   does. */
static void keep_gradients(cm_footprint *f)
{
    double copies = cm__gradient_copies(f->step, f->options.runtime);
    for (int32_t i = 0; i < f->n_pieces; i++) {
        if (f->pieces[i].category != CM_CATEGORY_GRADIENTS) continue;
        f->pieces[i].born = -1;
        f->pieces[i].dies = f->n_nodes;
        f->pieces[i].bytes = cm__poly_scale(f->pieces[i].bytes, copies);
    }
}

/* The last node before the update. */
static int32_t last_of_backward(const cm_graph *g)
{
    int32_t last = g->n_nodes - 1;
    while (last > 0 && g->nodes[last].phase == CM_UPDATE) last--;
    return last;
}

static int32_t first_gradient(const cm_footprint *f)
{
    int32_t first = last_of_backward(f->step);
    for (int32_t i = 0; i < f->n_pieces; i++) {
        bool gradient = cm__t(f->step, f->pieces[i].tensor)->role == CM_ROLE_PARAMETER_GRADIENT;
        int32_t born = cm__t(f->step, f->pieces[i].tensor)->born;
        if (gradient && born >= 0 && born < first) first = born;
    }
    return first;
}

static void add_buffer(cm_footprint *f, double bytes, int32_t born, int32_t dies)
{
    if (bytes > 0)
        f->pieces[f->n_pieces++] = (cm__piece){cm__poly_const(bytes), 0, born, dies, CM_CATEGORY_EPHEMERAL};
}

/* Data parallelism without ZeRO, and ZeRO 1, copy gradients into buckets for the all-reduce, unless they are in a
   buffer already. ZeRO 2 and 3 have the whole gradients of a unit until they are scattered, from a copy in one piece,
   and ZeRO 3 the gathered weights of two units. */
static void add_buckets(cm_footprint *f)
{
    const cm_plan *p = &f->options.plan;
    double         gradients = 0;
    bool           buffered = cm__buffers_gradients(f->options.runtime) && p->zero < 3;
    for (int32_t i = 0; i < f->n_pieces; i++)
        if (f->pieces[i].category == CM_CATEGORY_GRADIENTS) gradients += f->pieces[i].bytes.c[0];
    if (cm__replicas(p) < 2 || !f->n_pieces || buffered) return;
    if (p->zero < 2) {
        add_buffer(f, p->zero ? 2.0 * 25 * 1024 * 1024 : gradients, -1, f->n_nodes); /* DDP: 25 MiB */
        return;
    }
    int32_t first = first_gradient(f), last = last_of_backward(f->step);
    if (cm__is_vendors(f->options.runtime)) { /* graphs gather a layer at a time, and scatter each gradient as it is made */
        double words = cm_graph_precision(f->step) == CM_PRECISION_FP32 ? 1 : 0.5;
        if (p->zero == 3) add_buffer(f, words * f->units.gathered_bytes / 2 / p->tp, 0, last);
        return;
    }
    if (p->zero == 3) add_buffer(f, f->units.gathered_bytes / p->tp, 0, last);
    add_buffer(f, 2 * f->units.gradient_bytes / p->tp, first, last);
}

/* Whole gradients of the micro-batches before the last one, until the last one's are added and divided. Those of
   experts that no other device has are not divided. */
static void add_undivided(cm_footprint *f)
{
    const cm_plan *p = &f->options.plan;
    for (int32_t i = 0; i < f->n_whole; i++) {
        const cm__piece *x = &f->whole[i];
        const cm_tensor *t = cm__t(f->step, x->tensor);
        if (t->role != CM_ROLE_PARAMETER_GRADIENT || x->born < 0) continue;
        bool    alone = p->ep > 1 && of_experts(t) && cm__expert_replicas(p) == 1;
        cm_poly bytes = cm__poly_scale(x->bytes, undivided(p, t));
        if (alone) f->pieces[i].born = -1, f->pieces[i].dies = f->n_nodes;
        else f->pieces[f->n_pieces++] = (cm__piece){bytes, x->tensor, 0, x->born, CM_CATEGORY_GRADIENTS};
    }
}

/* ---- all pieces -------------------------------------------------------------------------------------------------- */

static double peak_of(cm__ctx *scratch, const cm_footprint *f, double batch)
{
    double *alive = cm__alloc_array(scratch, (size_t)f->n_nodes + 2, sizeof *alive), now = 0, peak = 0;
    for (int32_t i = 0; i < f->n_pieces; i++) {
        const cm__piece *x = &f->pieces[i];
        double           bytes = cm__poly_at(&x->bytes, batch);
        alive[x->born < 0 ? 0 : x->born] += bytes;
        alive[x->dies < f->n_nodes ? x->dies + 1 : f->n_nodes] -= bytes;
    }
    for (int32_t i = 0; i < f->n_nodes; i++) {
        now += alive[i];
        if (now > peak) peak = now;
    }
    return peak;
}

static void take_share(cm_footprint *f, const cm__piece *whole, const stage *s)
{
    for (int32_t i = 0; i < f->n_pieces; i++) f->pieces[i].bytes = cm__poly_scale(whole[i].bytes, share(s, &whole[i]));
}

/* Uses the larger of the first and the last stage. */
static void take_stage(cm__ctx *scratch, cm_footprint *f, const bool *split)
{
    const cm_plan *p = &f->options.plan;
    double         batch = p->micro_batch ? (double)p->micro_batch : 1;
    stage          first = stage_new(scratch, f, split, true, p->pp == 1);
    if (p->pp == 1) {
        take_share(f, f->pieces, &first);
        return;
    }
    cm__piece *whole = cm__alloc_unset(scratch, (size_t)f->n_pieces + 1, sizeof *whole);
    stage      last = stage_new(scratch, f, split, false, true);
    memcpy(whole, f->pieces, (size_t)f->n_pieces * sizeof *whole);
    take_share(f, whole, &first);
    double peak = peak_of(scratch, f, batch);
    take_share(f, whole, &last);
    if (peak_of(scratch, f, batch) < peak) take_share(f, whole, &first);
}

/* Without counts that change nothing here. Without stages, the micro-batch is where sizes are evaluated, and all that
   counts is whether another one follows. Replicas that share nothing are all alike. */
static cm_plan essence(const cm_plan *plan)
{
    cm_plan p = *plan;
    p.overlap = false;
    if (!p.zero && p.ep < 2) p.dp = p.dp > 1 ? 2 : 1;
    if (!p.zero && p.ep < 2) p.devices = p.tp * p.cp * p.pp * p.dp;
    if (p.pp > 1 || p.gpipe) return p;
    p.interleave = 1;
    p.global_batch = p.micro_batch = 0;
    p.accumulate = p.accumulate > 1 ? 2 : 1;
    return p;
}

bool cm__same_shards(const cm_plan *a, const cm_plan *b)
{
    cm_plan x = essence(a), y = essence(b);
    return cm__plan_same(&x, &y);
}

void cm__shard(cm_footprint *f)
{
    const cm_plan *p = &f->options.plan;
    bool piles = cm__gradients_pile(p, f->options.runtime);
    if ((p->accumulate > 1 && !piles) || cm__buffers_gradients(f->options.runtime)) keep_gradients(f);
    bool moved = p->offload_optimizer || p->offload_activations || p->offload_weights;
    if (p->devices == 1 && !moved && !cm__optimizer_paged(f->step->optimizer)) return;
    cm__ctx *scratch = cm__scratch_new(f->ctx);
    const bool *split = p->tp > 1 ? f->split : cm__alloc_array(scratch, (size_t)f->step->n_tensors + 1, sizeof *split);
    cm__retain_inputs(f, scratch, last_of_backward(f->step));
    take_stage(scratch, f, split);
    cm__scratch_free(scratch);
    add_buckets(f);
    if (piles) add_undivided(f);
}
