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
    cm_runtime base = cm_runtime_base(k->m->runtime);
    return base == CM_RUNTIME_TORCH_EAGER || base == CM_RUNTIME_TORCH_COMPILE;
}

/* PyTorch's collectives divide and join tensors along their first axis, which is the batch; sequence parallelism
   divides the second, the tokens. A copy before each reduce-scatter and after each all-gather brings the pieces into
   order (torch/distributed/_functional_collectives.py; github.com/pytorch/torchtitan/pull/437). Exchanges in pieces
   write each piece to its place, and add the pieces of a reduce-scatter in a kernel that reads them once. */
static double reorder_time(const cm__making *k, bool scatter, bool pieces, double n)
{
    const cm__shards *s = &k->m->calls->shards;
    double            rate = cm__time_factors.reached_bandwidth * k->m->limits.memory_bytes_s;
    if (!torch_exchanges(k) || !s->sequence || rate <= 0) return 0;
    if (pieces) return scatter ? (n + n / s->tp) / rate : 0;
    return 2 * n / rate;
}

/* Megatron Core, and the software of devices whose profile says so: the sum of input gradients runs behind the product
   that makes the weight's gradient. */
static bool sums_behind(const cm__making *k)
{
    return cm__is_megatron_core(k->m->runtime, k->g->software) ||
           cm__value_or(k->m->device->execution.sums_behind, 0) > 0;
}

/* What is left of backward with sequence parallelism is the all-gather of output gradients. In pieces, one of tp is
   exchanged before products begin. Pieces are written into the memory of devices in the same node (Transformer Engine's
   userbuffers, PyTorch's symmetric memory; that both need peer access is from memory): between nodes nothing is
   hidden. */
static exchange sum_time(const cm__making *k, double n, bool backward)
{
    const cm__shards *s = &k->m->calls->shards;
    int32_t           node = cm_fabric_node(k->fabric);
    cm__group         group = {s->tp, s->tp < node ? s->tp : node};
    bool              pieces = s->in_pieces && s->tp <= node;
    double            shown = pieces ? 1.0 / s->tp : 1, gather = 0;
    double            sum =
        shown * cm__comm_time(k->fabric, s->sequence ? CM__REDUCE_SCATTER : CM__ALL_REDUCE, group, n);
    if (s->sequence) gather = shown * cm__comm_time(k->fabric, CM__ALL_GATHER, group, n);
    sum += reorder_time(k, true, pieces, n);
    gather += reorder_time(k, false, pieces, n);
    if (backward && sums_behind(k)) return (exchange){gather, sum};
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
    if (!sums_behind(k)) return NULL;
    double *sum = cm__alloc_array(ctx, (size_t)k->g->n_tensors + 1, sizeof *sum);
    for (int32_t i = 0; k->timed && k->layering->weight_input && i < d->n_of; i++) {
        int32_t input = k->layering->weight_input[d->node[i]];
        if (input >= 0) sum[input] += k->timed[d->of[i]].time_s;
    }
    for (int32_t i = 0; k->node_s && k->layering->weight_input && i < k->g->n_nodes; i++)
        if (k->layering->weight_input[i] >= 0) sum[k->layering->weight_input[i]] += k->node_s[i];
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

/* Time of the calls of each attention node. */
static const double *attention_times(const cm__making *k, cm__ctx *ctx)
{
    const cm__dispatch *d = k->m->calls;
    double             *sum = cm__alloc_array(ctx, (size_t)k->g->n_nodes + 1, sizeof *sum);
    for (int32_t i = 0; k->timed && i < d->n_of; i++)
        if (cm__class(&k->g->nodes[d->node[i]]) == CM_CLASS_ATTENTION) sum[d->node[i]] += k->timed[d->of[i]].time_s;
    return sum;
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

/* What attention waits for. PyTorch (torch/distributed/tensor/experimental/_attention.py) gathers keys and values
   while it computes the first of cp blocks, and passes their gradients in fp32 around a ring, each while the next
   block is computed; the last one has nothing to run behind. In a compiled graph each exchange is waited for where it
   starts. each: bytes of a key's number. */
static double torch_context_time(const cm__making *k, cm__group group, double bytes, double each, bool backward,
                                 double attention_s)
{
    bool   eager = cm_runtime_base(k->m->runtime) == CM_RUNTIME_TORCH_EAGER;
    double block_s = eager ? attention_s / k->cp : 0, gather = cm__comm_time(k->fabric, CM__ALL_GATHER, group, bytes);
    double waited = fmax(0, gather - block_s) + merge_time(k, bytes / (2 * each * k->cp), backward, eager);
    if (!backward) return waited;
    double hop = cm__comm_time(k->fabric, CM__REDUCE_SCATTER, group, bytes * 4 / each) / (k->cp - 1);
    return waited + (k->cp - 1) * fmax(0, hop - block_s) + hop;
}

/* Each context-parallel device gathers the keys and values of all tokens; their gradients are scattered back. */
static void add_gathers(cm__making *k, cm__ctx *ctx)
{
    int32_t       tp = k->m->calls->shards.tp > 1 ? k->m->calls->shards.tp : 1, here = cm_fabric_node(k->fabric) / tp;
    cm__group     group = {k->cp, here < 1 ? 1 : here < k->cp ? here : k->cp};
    const double *attention_s = torch_exchanges(k) ? attention_times(k, ctx) : NULL;
    for (int32_t i = 0; i < k->layering->n_attentions; i++) {
        int32_t        at = k->layering->attentions[i];
        const cm_node *n = &k->g->nodes[at], *forward = n->source >= 0 ? &k->g->nodes[n->source] : n;
        bool           back = n->phase == CM_BACKWARD;
        double         each = (double)cm_dtype_size(cm__in(k->g, forward, 1)->dtype);
        double         bytes = shared_bytes(k, forward), waited_s;
        if (attention_s) waited_s = torch_context_time(k, group, bytes, each, back, attention_s[at]);
        else waited_s = cm__comm_time(k->fabric, CM__ALL_GATHER, group, bytes) +
                        (back ? cm__comm_time(k->fabric, CM__REDUCE_SCATTER, group, bytes) : 0);
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
