/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layers_comm.c - communication inside the parts of a step.
 *
 * Tensor-parallel devices sum the outputs of products divided by rows, the input gradients of products divided by
 * columns, and the outputs of an embedding divided by vocabulary. With sequence parallelism each sum is a
 * reduce-scatter, and an all-gather before the next product: the same number of bytes.
 */
#include <math.h>
#include "device/device.h"
#include "device/number.h"
#include "graph/rule.h"
#include "graph/runtimes.h"
#include "model/parallel/layers_making.h"
#include "model/dispatch/compiler.h"
#include "model/dispatch/routing.h"
#include "model/dispatch/tensor_parallel.h"
#include "model/time/factors.h"

/* A sum among tensor-parallel devices: what computing waits for, and what runs behind a product if that lasts. */
typedef struct exchange {
    double waited_s, behind_s;
} exchange;

/* PyTorch's own exchanges. `tuned` has PyTorch's attention and updates (cm__is_pytorch()), but divides tokens as
   Megatron-LM does, whose tensors have the tokens as their first axis (megatron/core/tensor_parallel/mappings.py:
   _gather_along_first_dim()). */
static bool torch_exchanges(const cm__making *k)
{
    return cm__exchanges_by_torch(k->m->runtime);
}

/* PyTorch's collectives divide and join tensors along their first axis, which is the batch; sequence parallelism
   divides the second, the tokens. A copy before each reduce-scatter and after each all-gather brings the pieces into
   order (torch/distributed/_functional_collectives.py; github.com/pytorch/torchtitan/pull/437). Exchanges in pieces
   write each piece to its place, and add the pieces of a reduce-scatter in a kernel that reads them once. */
static double reorder_bytes(const cm__making *k, bool scatter, bool pieces, double n)
{
    const cm__shards *s = &k->m->calls->shards;
    if (!torch_exchanges(k) || !s->sequence) return 0;
    if (pieces) return scatter ? n + n / s->tp : 0;
    return 2 * n;
}

/* Input gradients of several products are added before the reduce-scatter, while they are whole. The kernel calls of
   the step add them after it, on a device's own tokens: this is the difference. A compiled graph adds them in the copy
   that brings the pieces into order. Megatron-LM joins such products to one. */
static double added_bytes(const cm__making *k, const cm__layer_sum *sum, double n)
{
    const cm__shards *s = &k->m->calls->shards;
    bool              eager = cm__is_eager(k->m->runtime);
    if (!torch_exchanges(k) || !s->sequence || sum->products < 2) return 0;
    return (eager ? 3 : 1) * (sum->products - 1) * (n - n / s->tp);
}

/* Time in which a device reads and writes these bytes of its own memory beside an exchange. */
static double local_time(const cm__making *k, double bytes)
{
    double rate = cm__time_factors.reached_bandwidth * k->m->limits.memory_bytes_s;
    return rate > 0 ? bytes / rate : 0;
}

/* Counts the memory traffic of an exchange of n bytes among p devices: what passes is read and written once. */
static void add_traffic(cm__making *k, int32_t node, double n, int32_t p, double local)
{
    int32_t copies = cm__twin_count(k->layering->twins, k->g, k->part, node);
    k->parts->exchanged_bytes += copies * (2 * n * (p - 1) / p + local);
}

/* Megatron Core, and the software of devices whose profile says so: the sum of input gradients runs behind the product
   that makes the weight's gradient. */
static bool sums_behind(const cm__making *k)
{
    return cm__is_megatron_core(k->m->runtime, k->g->asked.software) ||
           cm__value_or(k->m->device->execution.sums_behind, 0) > 0;
}

/* Bytes that tensor-parallel devices exchange for a sum, as times: the sum itself, and the all-gather that sequence
   parallelism adds. */
typedef struct sum_parts {
    double sum_s, gather_s;
} sum_parts;

static cm__group tensor_group(const cm__making *k)
{
    int32_t tp = k->m->calls->shards.tp, node = cm_fabric_node(k->fabric);
    return (cm__group){tp, tp < node ? tp : node};
}

static sum_parts sum_parts_of(const cm__making *k, double n)
{
    bool sequence = k->m->calls->shards.sequence;
    return (sum_parts){cm__comm_time(k->fabric, sequence ? CM__REDUCE_SCATTER : CM__ALL_REDUCE, tensor_group(k), n),
                       sequence ? cm__comm_time(k->fabric, CM__ALL_GATHER, tensor_group(k), n) : 0};
}

/* Pieces are written into the memory of devices in the same node (Transformer Engine's userbuffers, PyTorch's symmetric
   memory; that both need peer access is from memory): between nodes nothing is hidden. */
static bool in_pieces(const cm__making *k)
{
    const cm__shards *s = &k->m->calls->shards;
    return s->in_pieces && s->tp <= cm_fabric_node(k->fabric);
}

/* The part of an exchange in pieces that stays visible: one of tp pieces has nothing to run behind, and all of it
   together runs behind a product no longer than that lasts. */
static double shown(const cm__making *k, double exchange_s, double product_s)
{
    return fmax(exchange_s / k->m->calls->shards.tp, exchange_s - product_s);
}

/* PyTorch divides a reduce-scatter only if what it sums is the result of one product (torch/_inductor/fx_passes/
   micro_pipeline_tp.py: fuse_matmul_reduce_scatter()); the input gradients of several products are added first. */
static bool sum_in_pieces(const cm__making *k, const cm__layer_sum *sum)
{
    return in_pieces(k) && (!torch_exchanges(k) || sum->products == 1);
}

/* With sequence parallelism, the exchange that remains in backward is the all-gather of output gradients. */
static exchange sum_time(cm__making *k, const cm__layer_sum *sum, double n, sum_parts of, sum_parts product)
{
    int32_t tp = k->m->calls->shards.tp;
    bool    pieces = in_pieces(k), behind = sum->input >= 0 && sums_behind(k), divided = sum_in_pieces(k, sum);
    double  joined = reorder_bytes(k, false, pieces, n), summed = of.sum_s;
    double  gather = (pieces ? shown(k, of.gather_s, product.gather_s) : of.gather_s) + local_time(k, joined);
    if (sum->gathers) {
        add_traffic(k, sum->node, n, tp, joined);
        return (exchange){gather, 0};
    }
    if (divided) summed = behind ? summed / tp : shown(k, summed, product.sum_s);
    double scattered = reorder_bytes(k, true, divided, n) + added_bytes(k, sum, n);
    summed += local_time(k, scattered);
    add_traffic(k, sum->node, 2 * n, tp, joined + scattered); /* all-reduce, or reduce-scatter and all-gather */
    return behind ? (exchange){gather, summed} : (exchange){gather + summed, 0};
}

/* Devices that share a vocabulary exchange, per token, the maximum logit, the label's logit and the sum of
   exponentials. */
static double loss_time(cm__making *k, const cm__layer_sum *sum)
{
    const double each = 4; /* bytes */
    double       n = each * cm__poly_at(&sum->bytes, k->batch);
    exchange     one = sum_time(k, sum, n, sum_parts_of(k, n), (sum_parts){0});
    return 3 * one.waited_s;
}

/* Time of the products that make weight gradients, by the input that they read. NULL: no sum runs behind them. */
static const double *weight_times(const cm__making *k, cm__ctx *ctx)
{
    const cm__dispatch *d = k->m->calls;
    if (k->least || !sums_behind(k)) return NULL;
    double *sum = cm__alloc_array(ctx, (size_t)k->g->n_tensors + 1, sizeof *sum);
    for (int32_t i = 0; k->timed && k->layering->weight_input && i < d->n_of; i++) {
        int32_t input = k->layering->weight_input[d->node[i]];
        if (input >= 0) sum[input] += k->timed[d->of[i]].time_s;
    }
    for (int32_t i = 0; k->node_s && k->layering->weight_input && i < k->g->n_nodes; i++)
        if (k->layering->weight_input[i] >= 0) sum[k->layering->weight_input[i]] += k->node_s[i];
    return sum;
}

/* Time of the calls of each node. */
static const double *node_times(const cm__making *k, cm__ctx *ctx)
{
    const cm__dispatch *d = k->m->calls;
    double             *sum = cm__alloc_array(ctx, (size_t)k->g->n_nodes + 1, sizeof *sum);
    for (int32_t i = 0; k->timed && i < d->n_of; i++) sum[d->node[i]] += k->timed[d->of[i]].time_s;
    for (int32_t i = 0; k->node_s && i < k->g->n_nodes; i++) sum[i] += k->node_s[i];
    return sum;
}

/* The same for nodes of attention alone. Most nodes have no call: a search would spend its time clearing their sums. */
static const double *attention_times(const cm__making *k, cm__ctx *ctx)
{
    const cm__dispatch *d = k->m->calls;
    if (k->node_s || !k->timed) return node_times(k, ctx);
    double *sum = cm__alloc_unset(ctx, (size_t)k->g->n_nodes + 1, sizeof *sum);
    for (int32_t i = 0; i < k->layering->n_attentions; i++) sum[k->layering->attentions[i]] = 0;
    for (int32_t i = 0; i < d->n_of; i++) sum[d->node[i]] = 0;
    for (int32_t i = 0; i < d->n_of; i++) sum[d->node[i]] += k->timed[d->of[i]].time_s;
    return sum;
}

/* Per sum: time of the product before it, and of the products that read what its all-gather joins. NULL: exchanges
   are whole, or between nodes. */
static const sum_parts *product_times(const cm__making *k, cm__ctx *ctx)
{
    const cm__layering *l = k->layering;
    if (k->least || !in_pieces(k)) return NULL;
    const double *node_s = node_times(k, ctx);
    sum_parts    *product = cm__alloc_array(ctx, (size_t)l->n_sums + 1, sizeof *product);
    double       *gathered[2];
    for (int back = 0; back < 2; back++)
        gathered[back] = cm__alloc_array(ctx, (size_t)k->g->n_nodes + 1, sizeof *gathered[back]);
    for (int32_t i = 0; i < k->g->n_nodes; i++)
        if (l->gathered_for[i] >= 0) gathered[k->g->nodes[i].phase == CM_BACKWARD][l->gathered_for[i]] += node_s[i];
    for (int32_t i = 0; i < l->n_sums; i++)
        product[i] = (sum_parts){node_s[l->sums[i].node], gathered[l->sums[i].input >= 0][l->sums[i].order]};
    return product;
}

#define KNOWN_SUMS 8

/* Times of sums that were asked for: layers sum few different numbers of bytes. */
typedef struct known_sums {
    double    bytes[KNOWN_SUMS];
    sum_parts of[KNOWN_SUMS];
    int32_t   count;
} known_sums;

static sum_parts known_sum(const cm__making *k, known_sums *known, double n)
{
    int32_t most = known->count < KNOWN_SUMS ? known->count : KNOWN_SUMS, i = 0;
    while (i < most && known->bytes[i] != n) i++;
    if (i == most) {
        i = known->count++ % KNOWN_SUMS;
        known->bytes[i] = n;
        known->of[i] = sum_parts_of(k, n);
    }
    return known->of[i];
}

static void add_sums(cm__making *k, cm__ctx *ctx)
{
    known_sums       known = {.count = 0};
    const double    *weight_s = weight_times(k, ctx);
    const sum_parts *product = product_times(k, ctx);
    const double     unknown = k->least ? INFINITY : 0;
    for (int32_t i = 0; i < k->layering->n_sums; i++) {
        const cm__layer_sum *sum = &k->layering->sums[i];
        cm__part            *part = &k->parts->all[sum->part];
        if (sum->loss) {
            part->forward_comm_s += loss_time(k, sum);
            continue;
        }
        if (sum->gathers && !(torch_exchanges(k) && k->m->calls->shards.sequence)) continue;
        double here = cm__poly_at(&sum->bytes, k->batch);
        exchange one = sum_time(k, sum, here, known_sum(k, &known, here),
                                  product ? product[i] : (sum_parts){unknown, unknown});
        double   behind = sum->input >= 0 && weight_s ? weight_s[sum->input] : unknown;
        *(sum->forward ? &part->forward_comm_s : &part->backward_comm_s) +=
            one.waited_s + fmax(0, one.behind_s - behind);
        part->host_s += k->m->host_collective_s;
    }
}

/* How many of so many equal places one token's copies reach, each at random. */
static double receivers(double count, double copies) { return count * (1 - pow(1 - 1 / count, copies)); }

/* Bytes of the tokens that a product of experts reads, before they are cast to 8 bits. */
static double token_bytes(const cm__making *k, const cm_node *product)
{
    const cm_tensor *x = cm__in(k->g, product, 0);
    const cm_node   *made = x->producer >= 0 ? &k->g->nodes[x->producer] : NULL;
    cm_poly          bytes = cm_tensor_bytes(made && cm__is_scaled_cast(k->g, made) ? cm__in(k->g, made, 0) : x);
    return cm__poly_at(&bytes, k->batch);
}

/* One exchange of `sent` bytes, `copies` of each token. Where a token is sent once to each node and device that has
   experts for it, the two links work at the same time. */
static double route_time(const cm__making *k, cm__group group, double sent, double copies)
{
    if (!cm__sends_once(k->m->runtime, k->g->asked.software))
        return cm__comm_time(k->fabric, CM__ALL_TO_ALL, group, sent);
    int32_t nodes = group.size / group.per_node;
    double  once = sent / copies;
    return fmax(cm__comm_time(k->fabric, CM__ALL_TO_ALL, (cm__group){group.per_node, group.per_node},
                              once * receivers(group.size, copies)),
                cm__comm_time(k->fabric, CM__ALL_TO_ALL, (cm__group){nodes, 1}, once * receivers(nodes, copies)));
}

typedef struct passes {
    double of[2]; /* of forward [0] and backward [1] */
} passes;

/* Device time of the passes of each part. One micro-batch's forward runs together with another one's backward, so that
   either hides the other's exchanges (Megatron-LM, megatron/core/pipeline_parallel/combined_1f1b.py). */
static const passes *passes_of(const cm__making *k, cm__ctx *ctx)
{
    const cm__dispatch *d = k->m->calls;
    if (!d->shards.routes_behind || !k->timed) return NULL;
    passes *of = cm__alloc_array(ctx, (size_t)k->parts->count, sizeof *of);
    for (int32_t i = 0; i < d->n_of; i++) {
        int phase = k->g->nodes[d->node[i]].phase;
        if (phase != CM_UPDATE) of[k->part[d->node[i]]].of[phase != CM_FORWARD] += k->timed[d->of[i]].time_s;
    }
    return of;
}

/* Tokens are sent to the devices of their experts and back, in every pass. With sequence parallelism each
   tensor-parallel device sends its own tokens (Megatron-LM, megatron/core/transformer/moe/token_dispatcher.py). If its
   group divides experts, it then gathers their tokens, which add_sums() counts. */
static void add_routes(cm__making *k, cm__ctx *ctx)
{
    const cm__shards *s = &k->m->calls->shards;
    int32_t           here = cm_fabric_node(k->fabric) / (s->tp > 1 && !s->whole_experts ? s->tp : 1);
    cm__group         group = {s->ep, here < 1 ? 1 : here < s->ep ? here : s->ep};
    const passes     *other = passes_of(k, ctx);
    bool              behind = other || (k->least && s->routes_behind);
    double           *route_s = cm__alloc_array(ctx, (size_t)k->parts->count, sizeof *route_s);
    /* phase of the last expert seen in each part, plus 1 */
    int32_t          *last = cm__alloc_array(ctx, (size_t)k->parts->count, sizeof *last);
    for (int32_t e = 0; e < k->layering->n_experts; e++) {
        int32_t        i = k->layering->experts[e], at = k->part[i];
        const cm_node *n = &k->g->nodes[i], *forward = n->source >= 0 ? &k->g->nodes[n->source] : n;
        if (last[at] == n->phase + 1) continue;
        double sent = token_bytes(k, forward) * s->imbalance; /* the fullest device receives most */
        if (s->sequence || s->whole_experts) sent /= s->tp;
        if (!last[at]) route_s[at] = 2 * route_time(k, group, sent, cm__experts_per_token(k->g, forward));
        last[at] = n->phase + 1;
        add_traffic(k, i, 2 * sent, s->ep, 0);
        cm__part *part = &k->parts->all[at];
        bool      forth = n->phase == CM_FORWARD;
        double    most = group.per_node < group.size ? cm__time_factors.expert_hidden : 1;
        double    hidden = !behind ? 0 : other ? fmin(other[at].of[forth], most * route_s[at]) : most * route_s[at];
        *(forth ? &part->forward_comm_s : &part->backward_comm_s) += route_s[at] - hidden;
        if (forth && !behind) part->forward_comm_s += k->m->host_route_s;
    }
}

/* ---- context parallel -------------------------------------------------------------------------------------------- */

/* Bytes of the keys and values of all tokens that this device's heads read. PyTorch's models repeat the keys and values
   that heads share before attention runs, so each query head's are exchanged (torchtitan's models/llama/model.py). */
static double shared_bytes(const cm__making *k, const cm_node *forward)
{
    const cm_tensor *q = cm__in(k->g, forward, 0), *keys = cm__in(k->g, forward, 1);
    int32_t          tp = k->m->calls->shards.tp > 1 ? k->m->calls->shards.tp : 1;
    int64_t          given = cm__attr_int(forward, CM_ATTR_Q_NUM_HEADS, 1);
    int64_t          heads = q->rank == 4 ? q->dims[1].fixed : given;
    int64_t          groups = cm__attr_int(forward, CM_ATTR_KV_NUM_HEADS, given);
    int64_t          shared = keys->rank == 4 ? keys->dims[1].fixed : groups;
    double           bytes = 0;
    for (int32_t j = 1; j < 3; j++) {
        cm_poly of = cm_tensor_bytes(cm__in(k->g, forward, j));
        bytes += cm__poly_at(&of, k->batch * k->cp) / tp;
    }
    return torch_exchanges(k) && heads > 0 && shared > 0 ? bytes * (double)heads / (double)shared : bytes;
}

/* Partial results that PyTorch adds in fp32, per number of an attention's result. Forward merges each block but the
   first: fused in one kernel that reads both and writes one; in eager code a cast and three kernels of two operands
   each (42 bytes, 1.3 ms of an H200 for 32,768 tokens of 4,096; 1.2 ms were measured). Backward adds each block's
   gradients of queries, keys and values, and joins the last two in one buffer to send. */
static double merge_time(const cm__making *k, double numbers, bool backward, bool eager)
{
    const double fused = 4 + 2 + 4, apart = 6 + 3 * 12, added = 3 * (4 + 2 + 4) + 2 * (4 + 4); /* bytes */
    double       rate = cm__time_factors.reached_bandwidth * k->m->limits.memory_bytes_s;
    double       bytes = backward ? k->cp * added : (k->cp - 1) * (eager ? apart : fused);
    return rate > 0 ? numbers * bytes / rate : 0;
}

/* Times of a layer's exchange of keys and values, and of their gradients. Layers exchange few different numbers of
   bytes. */
typedef struct key_times {
    double bytes, each, gather_s, scatter_s; /* each: bytes of a key's number, as it is scattered */
} key_times;

static void find_key_times(const cm__making *k, cm__group group, double bytes, double each, key_times *known)
{
    double scattered = torch_exchanges(k) ? bytes * 4 / each : bytes; /* PyTorch's gradients are fp32 */
    if (known->bytes == bytes && known->each == each) return;
    *known = (key_times){bytes, each, cm__comm_time(k->fabric, CM__ALL_GATHER, group, bytes),
                         cm__comm_time(k->fabric, CM__REDUCE_SCATTER, group, scattered)};
}

/* The exchanges that attention waits for. PyTorch (torch/distributed/tensor/experimental/_attention.py) gathers keys
   and values while it computes the first of cp blocks, and passes their gradients in fp32 around a ring, each while the
   next block is computed; the last one has nothing to run behind. In a compiled graph each exchange is waited for where
   it starts. */
static double torch_context_time(const cm__making *k, const key_times *keys, bool backward, double attention_s)
{
    bool   eager = cm__is_eager(k->m->runtime);
    double block_s = eager ? attention_s / k->cp : 0, numbers = keys->bytes / (2 * keys->each * k->cp);
    double waited = fmax(0, keys->gather_s - block_s) + merge_time(k, numbers, backward, eager);
    if (!backward) return waited;
    double hop = keys->scatter_s / (k->cp - 1);
    return waited + (k->cp - 1) * fmax(0, hop - block_s) + hop;
}

/* Each context-parallel device gathers the keys and values of all tokens; their gradients are scattered back. */
static void add_gathers(cm__making *k, cm__ctx *ctx)
{
    int32_t       tp = k->m->calls->shards.tp > 1 ? k->m->calls->shards.tp : 1, here = cm_fabric_node(k->fabric) / tp;
    cm__group     group = {k->cp, here < 1 ? 1 : here < k->cp ? here : k->cp};
    bool          torch = torch_exchanges(k);
    const double *attention_s = torch && !k->least ? attention_times(k, ctx) : NULL;
    key_times     keys = {0};
    for (int32_t i = 0; i < k->layering->n_attentions; i++) {
        int32_t        at = k->layering->attentions[i];
        const cm_node *n = &k->g->nodes[at], *forward = n->source >= 0 ? &k->g->nodes[n->source] : n;
        bool           back = n->phase == CM_BACKWARD;
        double         each = (double)cm_dtype_size(cm__in(k->g, forward, 1)->dtype);
        double         bytes = shared_bytes(k, forward), waited_s;
        find_key_times(k, group, bytes, each, &keys);
        if (torch) waited_s = torch_context_time(k, &keys, back, attention_s ? attention_s[at] : INFINITY);
        else waited_s = keys.gather_s + (back ? keys.scatter_s : 0);
        add_traffic(k, at, back ? 2 * bytes : bytes, k->cp, 0);
        cm__part *part = &k->parts->all[k->part[at]];
        *(n->phase == CM_FORWARD ? &part->forward_comm_s : &part->backward_comm_s) += waited_s;
    }
}

void cm__parts_communicate(cm__making *k, cm__ctx *ctx)
{
    if (k->m->calls->shards.tp > 1) add_sums(k, ctx);
    if (k->m->calls->shards.ep > 1) add_routes(k, ctx);
    if (k->cp > 1) add_gathers(k, ctx);
    for (int32_t i = 0; k->layering->twins && i < k->parts->count; i++) {
        cm__part *to = &k->parts->all[i], *from = &k->parts->all[k->layering->twins->of[i]];
        to->forward_comm_s = from->forward_comm_s;
        to->backward_comm_s = from->backward_comm_s;
        to->host_s = from->host_s;
    }
}
