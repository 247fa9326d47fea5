/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layers_comm.c - communication inside the parts of a step.
 *
 * Tensor-parallel devices sum the outputs of products divided by rows, the input gradients of products divided by
 * columns, and the outputs of an embedding divided by vocabulary. With sequence parallelism each sum is a
 * reduce-scatter, and an all-gather before the next product: the same number of bytes.
 */
#include <math.h>
#include "graph/rule.h"
#include "graph/runtimes.h"
#include "model/parallel/layers_making.h"
#include "model/dispatch/tensor_parallel.h"

/* A sum among tensor-parallel devices: what computing waits for, and what runs behind a product if that lasts. */
typedef struct exchange {
    double waited_s, behind_s;
} exchange;

/* Megatron Core: the sum of input gradients runs behind the product that makes the weight's gradient. What is left of
   backward with sequence parallelism is the all-gather of output gradients. In pieces, one of tp is exchanged before
   products begin. Pieces are written into the memory of devices in the same node (Transformer Engine's userbuffers,
   PyTorch's symmetric memory; that both need peer access is from memory): between nodes nothing is hidden. */
static exchange sum_time(const cm__making *k, double n, bool backward)
{
    const cm__shards *s = &k->m->calls->shards;
    int32_t           node = cm_fabric_node(k->fabric);
    cm__group         group = {s->tp, s->tp < node ? s->tp : node};
    double            shown = s->in_pieces && s->tp <= node ? 1.0 / s->tp : 1, gather = 0;
    double            sum = shown * cm__comm_time(k->fabric, s->sequence ? CM__REDUCE_SCATTER : CM__ALL_REDUCE, group, n);
    if (s->sequence) gather = shown * cm__comm_time(k->fabric, CM__ALL_GATHER, group, n);
    if (backward && cm__is_megatron_core(k->m->runtime, k->g->software)) return (exchange){gather, sum};
    return (exchange){gather + sum, 0};
}

/* Devices that share a vocabulary exchange, per token, the maximum logit, the label's logit and the sum of
   exponentials. */
static double loss_time(const cm__making *k, const cm__layer_sum *sum)
{
    const double each = 4; /* bytes */
    return 3 * sum_time(k, each * cm__poly_at(&sum->bytes, k->batch), false).waited_s;
}

/* Time of the products that make weight gradients, by the input that they read. NULL: no sum runs behind them. */
static const double *weight_times(const cm__making *k, cm__ctx *ctx)
{
    const cm__dispatch *d = k->m->calls;
    if (!cm__is_megatron_core(k->m->runtime, k->g->software)) return NULL;
    double *sum = cm__alloc_array(ctx, (size_t)k->g->n_tensors + 1, sizeof *sum);
    for (int32_t i = 0; k->timed && k->layering->weight_input && i < d->n_of; i++) {
        int32_t input = k->layering->weight_input[d->node[i]];
        if (input >= 0) sum[input] += k->timed[d->of[i]].time_s;
    }
    return sum;
}

static void add_sums(cm__making *k, cm__ctx *ctx)
{
    double        last_bytes[2] = {-1, -1}; /* most layers sum as many bytes as the previous one */
    exchange      last[2] = {{0}};
    const double *weight_s = weight_times(k, ctx);
    for (int32_t i = 0; i < k->layering->n_sums; i++) {
        const cm__layer_sum *sum = &k->layering->sums[i];
        cm__part            *part = &k->parts->all[sum->part];
        if (sum->loss) {
            part->forward_comm_s += loss_time(k, sum);
            continue;
        }
        double here = cm__poly_at(&sum->bytes, k->batch);
        bool   back = sum->input >= 0;
        if (here != last_bytes[back]) last[back] = sum_time(k, last_bytes[back] = here, back);
        double behind = back && weight_s ? weight_s[sum->input] : 0;
        *(sum->forward ? &part->forward_comm_s : &part->backward_comm_s) +=
            last[back].waited_s + fmax(0, last[back].behind_s - behind);
        part->host_s += k->m->host_collective_s;
    }
}

/* Tokens are sent to the devices of their experts and back, in every pass. */
static void add_routes(cm__making *k, cm__ctx *ctx)
{
    const cm__shards *s = &k->m->calls->shards;
    int32_t           here = cm_fabric_node(k->fabric) / (s->tp > 1 ? s->tp : 1);
    cm__group         group = {s->ep, here < 1 ? 1 : here < s->ep ? here : s->ep};
    double           *route_s = cm__alloc_array(ctx, (size_t)k->parts->count, sizeof *route_s);
    /* phase of the last expert seen in each part, plus 1 */
    int32_t          *last = cm__alloc_array(ctx, (size_t)k->parts->count, sizeof *last);
    for (int32_t i = 0; i < k->g->n_nodes; i++) {
        const cm_node *n = &k->g->nodes[i], *forward = n->source >= 0 ? &k->g->nodes[n->source] : n;
        int32_t        at = k->part[i];
        if (!cm__twin_count(k->layering->twins, k->g, k->part, i)) continue;
        if (!cm__is_expert(k->g, forward) || last[at] == n->phase + 1) continue;
        cm_poly bytes = cm_tensor_bytes(cm__in(k->g, forward, 0));
        double sent = cm__poly_at(&bytes, k->batch) * s->imbalance; /* the fullest device receives most */
        if (!last[at]) route_s[at] = 2 * cm__comm_time(k->fabric, CM__ALL_TO_ALL, group, sent);
        last[at] = n->phase + 1;
        cm__part *part = &k->parts->all[at];
        *(n->phase == CM_FORWARD ? &part->forward_comm_s : &part->backward_comm_s) += route_s[at];
    }
}

/* Each context-parallel device gathers the keys and values of all tokens; their gradients are scattered back. */
static void add_gathers(cm__making *k)
{
    int32_t   tp = k->m->calls->shards.tp > 1 ? k->m->calls->shards.tp : 1, here = cm_fabric_node(k->fabric) / tp;
    cm__group group = {k->cp, here < 1 ? 1 : here < k->cp ? here : k->cp};
    for (int32_t i = 0; i < k->layering->n_attentions; i++) {
        const cm_node *n = &k->g->nodes[k->layering->attentions[i]];
        const cm_node *forward = n->source >= 0 ? &k->g->nodes[n->source] : n;
        cm__part      *part = &k->parts->all[k->part[k->layering->attentions[i]]];
        double         bytes = 0;
        for (int32_t j = 1; j < 3; j++) {
            cm_poly of = cm_tensor_bytes(cm__in(k->g, forward, j));
            bytes += cm__poly_at(&of, k->batch * k->cp) / tp;
        }
        double gather = cm__comm_time(k->fabric, CM__ALL_GATHER, group, bytes);
        if (n->phase == CM_FORWARD) part->forward_comm_s += gather;
        else part->backward_comm_s += gather;
        if (n->phase == CM_BACKWARD)
            part->backward_comm_s += cm__comm_time(k->fabric, CM__REDUCE_SCATTER, group, bytes);
    }
}

void cm__parts_communicate(cm__making *k, cm__ctx *ctx)
{
    if (k->m->calls->shards.tp > 1) add_sums(k, ctx);
    if (k->m->calls->shards.ep > 1) add_routes(k, ctx);
    if (k->cp > 1) add_gathers(k);
    for (int32_t i = 0; k->layering->twins && i < k->parts->count; i++) {
        cm__part *to = &k->parts->all[i], *from = &k->parts->all[k->layering->twins->of[i]];
        to->forward_comm_s = from->forward_comm_s;
        to->backward_comm_s = from->backward_comm_s;
        to->host_s = from->host_s;
    }
}
