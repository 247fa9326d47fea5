/* SPDX-License-Identifier: Apache-2.0 */
/*
 * iteration.c - the time of one training iteration under a parallel plan.
 *
 *     T = M t_max + (Σ t_s - t_max) / v + exchanges + g + update
 *
 * g is the part of the gradient all-reduce that is not overlapped with backward. 1F1B and GPipe take the same time: M
 * micro-batches pass the slowest stage, and one passes the others (the bubble); v model chunks per stage shorten the
 * bubble. Stages exchange activations and their gradients, once each way per micro-batch and chunk, and wait for them.
 * Devices are numbered as in Megatron-LM: tensor-parallel ones next to each other, then replicas, then stages. PyTorch
 * sums gradients in buckets during backward, Megatron-LM after it. Replicas wait for the slowest node in every step. Not
 * modelled: stages at different places in a node.
 */
#include "model/parallel/iteration.h"
#include "graph/plan/counts.h"

#include <math.h>

/* ---- stages ----------------------------------------------------------------------------------------------------- */

static double device_time(const cm__part *p)
{
    return p->forward_s + p->backward_s + p->forward_comm_s + p->backward_comm_s;
}

typedef struct sums {
    double device_s, host_s, comm_s, backward_s, parameters, experts, frozen_bytes;
} sums;

/* plan NULL: to balance stages, which FSDP does not change. */
static void add(sums *s, const cm__parts *parts, const cm__part *p, const cm_plan *plan)
{
    s->device_s += device_time(p);
    s->host_s += p->host_s + (plan ? cm__part_shard_host(parts, p, plan) : 0);
    s->comm_s += p->forward_comm_s + p->backward_comm_s;
    s->backward_s += p->backward_s + p->backward_comm_s;
    s->parameters += p->parameters;
    s->experts += p->experts;
    s->frozen_bytes += p->frozen_bytes;
}

static double stage_time(const cm__parts *parts, const sums *s, int32_t accumulate)
{
    double added_s = cm__accumulate_each(parts, accumulate) * s->parameters;
    return fmax(s->device_s + added_s, s->host_s) + parts->batch_host_s;
}

/* Time of a stage with the parts [from, to). */
static double time_between(const cm__parts *parts, const sums *before, int32_t from, int32_t to, int32_t accumulate)
{
    const sums *a = &before[from], *b = &before[to];
    sums        s = {.device_s = b->device_s - a->device_s,
                     .host_s = b->host_s - a->host_s,
                     .parameters = b->parameters - a->parameters};
    return stage_time(parts, &s, accumulate);
}

/* Assigns layers to stages so that the slowest stage is as fast as possible. least[s][j] is the time of the slowest
   of s + 1 stages with the parts before j. The first stage also has the part before the layers, the last one the
   part after them. */
static void balance(cm__ctx *ctx, const cm__parts *parts, int32_t stages, int32_t accumulate, int32_t *first)
{
    int32_t  width = parts->count + 1, layers = parts->count - 2;
    sums    *before = cm__alloc_array(ctx, (size_t)width, sizeof *before);
    double  *least = cm__alloc_array(ctx, (size_t)stages * (size_t)width, sizeof *least);
    int32_t *cut = cm__alloc_array(ctx, (size_t)stages * (size_t)width, sizeof *cut);
    for (int32_t i = 0; i < parts->count; i++) {
        before[i + 1] = before[i];
        add(&before[i + 1], parts, &parts->all[i], NULL);
    }
    for (int32_t s = 0; s < stages; s++)
        for (int32_t j = 2 + s; j <= layers + 1; j++) {
            int32_t end = s == stages - 1 ? parts->count : j;
            double *here = &least[s * width + j];
            *here = s ? INFINITY : time_between(parts, before, 0, end, accumulate);
            for (int32_t i = 1 + s; s && i < j; i++) {
                double slowest = fmax(least[(s - 1) * width + i], time_between(parts, before, i, end, accumulate));
                if (slowest < *here) *here = slowest, cut[s * width + j] = i;
            }
        }
    for (int32_t s = stages - 1, j = layers + 1; s > 0; s--) first[s] = j = cut[s * width + j];
}

/* The first part of each stage (stages + 1 entries): equal numbers of layers if the runtime divides so, otherwise
   balanced. */
static void deal(cm__ctx *ctx, const cm__parts *parts, int32_t stages, int32_t accumulate, bool equal, int32_t *first)
{
    int32_t layers = parts->count - 2;
    for (int32_t s = 0; s <= stages; s++) first[s] = s ? 1 + (int32_t)((int64_t)layers * s / stages) : 0;
    first[stages] = parts->count;
    if (stages > 1 && (!equal || layers % stages)) balance(ctx, parts, stages, accumulate, first);
}

cm__stages cm__stages_new(cm__ctx *ctx, const cm__parts *parts, const cm_plan *plan, bool equal)
{
    cm__stages st = {0};
    int32_t    layers = parts->count - 2, kept = 0, *first; /* kept: layers of the slowest stage */
    /* the first of several chunks may have the embedding alone, the last one the loss (Megatron-LM:
       account_for_embedding_in_pipeline_split): 126 layers are 16 stages of 8 chunks */
    int64_t chunks = (int64_t)plan->pp * plan->interleave;
    if (plan->pp > 1 && (plan->pp > layers || chunks > (plan->interleave > 1 ? parts->count : layers)))
        cm__fail(ctx, CM_ERR_ARGUMENT,
                 "%d layers are fewer than %d pipeline stages x %d model chunks: lower --pp", layers, plan->pp,
                 plan->interleave);
    first = cm__alloc_array(ctx, (size_t)plan->pp + 1, sizeof *first);
    deal(ctx, parts, plan->pp, plan->accumulate, equal, first);
    for (int32_t s = 0; s < plan->pp; s++) {
        sums sum = {0};
        for (int32_t i = first[s]; i < first[s + 1]; i++) add(&sum, parts, &parts->all[i], plan);
        if (s == plan->pp - 1 && plan->pp > 1) sum.parameters += parts->tied_parameters;
        double time = stage_time(parts, &sum, plan->accumulate);
        st.sum_s += time;
        st.sum_comm_s += sum.comm_s;
        if (sum.parameters > st.parameters) st.parameters = sum.parameters, st.experts = sum.experts;
        st.frozen_bytes = fmax(st.frozen_bytes, sum.frozen_bytes);
        st.exchange_bytes = s ? fmax(st.exchange_bytes, parts->all[first[s] - 1].boundary_bytes) : 0;
        st.host_s = fmax(st.host_s, sum.host_s);
        if (s == 0) st.stretch = sum.device_s > 0 ? fmax(1, sum.host_s / sum.device_s) : 1;
        if (time <= st.longest_s) continue;
        st.longest_s = time;
        st.longest_comm_s = sum.comm_s;
        st.backward_s = sum.backward_s;
        st.busy_s = sum.device_s - sum.comm_s;
        st.parts = first[s + 1] - first[s];
        kept = st.parts - (s == 0) - (s == plan->pp - 1);
    }
    st.first_parts = first[1];
    st.first_parameters = parts->all[0].parameters;
    st.update_s = parts->updated > 0 ? parts->update_s * st.parameters / parts->updated : 0;
    st.update_host_s = parts->update_host_s;
    /* gradients to the host, weights back */
    st.offload_update_s = 2 * st.parameters * parts->gradient_bytes / parts->host_bytes_s;
    st.offload_kept_s = 2 * kept * cm__offloaded_layers(plan, parts->count) * parts->kept_bytes / parts->host_bytes_s;
    st.policy_s = parts->moved_s / plan->pp;
    st.offload_weights_s = 2 * (st.parameters * parts->gradient_bytes + st.frozen_bytes) / parts->host_bytes_s;
    return st;
}

/* ---- communication ---------------------------------------------------------------------------------------------- */

/* The group of `size` devices whose numbers are `stride` apart, and how many of them are in one node. */
static cm__group spread_group(const cm_fabric *fabric, int32_t size, int32_t stride)
{
    int32_t here = cm_fabric_node(fabric) / stride;
    return (cm__group){size, here < 1 ? 1 : here < size ? here : size};
}

/* The sending and the receiving device of two neighbouring stages. */
static cm__group pair_of(const cm_plan *p, const cm_fabric *fabric)
{
    return (cm__group){2, p->devices <= cm_fabric_node(fabric) ? 2 : 1};
}

/* Each tensor-parallel device sends its part of the activations; the receiving devices gather the parts. */
static double exchange_time(const cm__stages *st, const cm_plan *p, const cm_fabric *fabric)
{
    if (p->pp < 2) return 0;
    double sent = cm__comm_time(fabric, CM__POINT_TO_POINT, pair_of(p, fabric), st->exchange_bytes / p->tp);
    if (p->tp == 1 || p->sequence_parallel) return sent;
    return sent + cm__comm_time(fabric, CM__ALL_GATHER, spread_group(fabric, p->tp, 1), st->exchange_bytes);
}

/* Time to send a stage's parameters, of `each` bytes, and `others` bytes: experts to fewer devices than the rest. */
static double all_of(const cm__stages *st, const cm__channel *c, double each, double others)
{
    double dense = (st->parameters - st->experts) * each + others;
    return cm__comm_time(c->fabric, c->operation, c->group, dense * c->part) +
           cm__comm_time(c->fabric, c->operation, c->experts, st->experts * each * c->part);
}

static double in_buckets(const cm__channel *c, cm__group group, double bytes)
{
    double buckets = fmax(1, floor(bytes / CM__BUCKET_BYTES));
    return buckets * cm__comm_time(c->fabric, c->operation, group, bytes / buckets * c->part);
}

/* All layers are alike. The part before them is sent last, and at least one bucket is not overlapped. */
static cm__sent send_alike(const cm__parts *parts, const cm__stages *st, const cm__channel *channel)
{
    double bytes = st->parameters * parts->gradient_bytes, buckets = fmax(1, floor(bytes / CM__BUCKET_BYTES));
    double experts = st->experts * parts->gradient_bytes;
    double time = in_buckets(channel, channel->group, bytes - experts) + in_buckets(channel, channel->experts, experts);
    double last = bytes > 0 ? fmin(1, st->first_parameters / st->parameters) : 1;
    return (cm__sent){time, fmax(fmax(last, 1 / buckets) * time, time - st->stretch * st->backward_s)};
}

static cm__sent send_behind(const cm__parts *parts, const cm__stages *st, const cm__channel *channel)
{
    return st->first_parts ? cm__buckets_send(parts, st->first_parts, st->stretch, channel)
                           : send_alike(parts, st, channel);
}

/* The devices that have the same weights as one, and those that have the same experts. */
static cm__channel channel_of(const cm_plan *p, const cm_fabric *fabric, cm__operation operation, double part)
{
    int32_t stride = p->ep > 1 ? p->ep * (cm__whole_experts(p) ? 1 : p->tp) : p->tp;
    return (cm__channel){fabric, operation, spread_group(fabric, cm__replicas(p), p->tp), part,
                         spread_group(fabric, cm__expert_replicas(p), stride)};
}

/* The mean of the largest of `nodes` normal numbers is 0.82 ln(nodes)^0.73 deviations, within 0.06 up to 1,000 nodes. */
static double slower_of(const cm__parts *parts, const cm_plan *p, const cm_fabric *fabric)
{
    int32_t node = fabric ? cm_fabric_node(fabric) : p->devices;
    double  nodes = fmin(cm__replicas(p), ceil((double)p->devices / fmax(1, node)));
    return parts->node_spread * 0.82 * pow(log(fmax(1, nodes)), 0.73);
}

cm__waits cm__waits_new(const cm__parts *parts, const cm__stages *st, const cm_plan *p, const cm_fabric *fabric)
{
    double    bytes = st->parameters * parts->gradient_bytes;
    double    host = p->pp > 1 ? parts->exchange_host_s : 0;
    cm__waits w = {.exchange_s = exchange_time(st, p, fabric) + host, .exchanges_behind = parts->exchanges_behind,
                   .renews_behind = parts->renews_behind};
    if (p->pp > 1 && parts->tied_parameters > 0) /* weights that the first and the last stage share */
        w.tied_s = cm__comm_time(fabric, CM__ALL_REDUCE, pair_of(p, fabric),
                                 parts->tied_parameters * parts->gradient_bytes);
    if (cm__replicas(p) < 2) return w;
    w.slower = slower_of(parts, p, fabric);
    cm__compression c = {p->gradient_bits, p->gradient_part, parts->compress_bytes_s};
    double          sent = cm__compressed_bytes(&c, bytes / parts->gradient_bytes * 4, parts->gradient_bytes * 8);
    cm__channel     all = channel_of(p, fabric, CM__ALL_REDUCE, bytes > 0 ? sent / bytes : 1),
                    shares = channel_of(p, fabric, CM__REDUCE_SCATTER, 1),
                    weights = channel_of(p, fabric, CM__ALL_GATHER, 1);
    w.compress_s = cm__compression_time(&c, bytes);
    w.reduce_s = all_of(st, &all, parts->gradient_bytes, 0);
    if (p->asynchronous) /* equation (4) of Xie et al. 2024: send gradients to a server, receive its weights */
        w.reduce_s = cm__comm_time(fabric, CM__POINT_TO_POINT, pair_of(p, fabric), sent) +
                     cm__comm_time(fabric, CM__POINT_TO_POINT, pair_of(p, fabric), bytes);
    w.scatter_s = all_of(st, &shares, parts->gradient_bytes, 0);
    w.gather_s = all_of(st, &weights, parts->weight_bytes, st->frozen_bytes);
    w.renew_s = st->frozen_bytes > 0 ? all_of(st, &weights, parts->weight_bytes, 0) : w.gather_s;
    w.again_s = parts->gathers_again ? w.gather_s : 0;
    w.reduced = p->asynchronous ? (cm__sent){w.reduce_s, fmax(0, w.reduce_s - st->stretch * st->backward_s)}
                                : send_behind(parts, st, &all);
    w.scattered = send_behind(parts, st, &shares);
    return w;
}

/* ---- iteration -------------------------------------------------------------------------------------------------- */

/* Megatron Core gathers new weights layer by layer while the first micro-batch's forward runs (Megatron-Bridge,
   docs/performance-guide.md: "overlaps parameter AllGathers with the forward computation of the first micro-batch"). */
static double renewed_behind(const cm__stages *st, const cm__waits *w)
{
    double forward = fmax(0, st->longest_s - st->backward_s);
    return w->renews_behind ? fmin(w->renew_s * (1 - 1 / fmax(1, st->parts)), forward) : 0;
}

/* ZeRO reduce-scatters the gradients and gathers the new weights after the update. ZeRO 3 gathers weights in every
   pass, and only the last gather is not overlapped. A reentrant checkpoint around an FSDP unit frees the weights after
   recomputation, so that backward gathers them once more, and nothing prefetches them (Hugging Face's trainer warns of
   this "redundant AllGather": huggingface/transformers issue 30404). */
static void add_gradients(cm__iteration *it, const cm__stages *st, const cm__waits *w, const cm_plan *p, bool late)
{
    bool            behind = !late || p->overlap;
    const cm__sent *sent = p->zero ? &w->scattered : &w->reduced;
    double          once = p->zero ? w->scatter_s : w->reduce_s;
    if (p->zero < 3) {
        it->data_s = (behind ? sent->time_s : once) + (p->zero ? w->renew_s : w->compress_s);
        it->hidden_s = behind ? sent->time_s - sent->after_s : 0;
        if (p->zero && p->overlap) it->hidden_s += renewed_behind(st, w);
        return;
    }
    it->data_s = (p->no_sync ? 1 : p->accumulate) * w->scatter_s + p->accumulate * 2 * w->gather_s;
    it->hidden_s = fmin(it->data_s * (1 - 1 / fmax(1, st->parts)), p->accumulate * st->longest_s);
    it->data_s += p->accumulate * w->again_s;
}

/* Exchanges of a device that its computing waits for. With several chunks and a runtime that computes meanwhile, these
   are the exchanges while the pipeline fills and drains. */
static double exchanges(const cm__waits *w, const cm_plan *p)
{
    bool behind = w->exchanges_behind && p->interleave > 1;
    return 2.0 * ((behind ? 0 : (double)p->accumulate * p->interleave) + p->pp - 1);
}

/* Among how many devices the update of a stage is divided. */
static double updating(const cm__stages *st, const cm_plan *p)
{
    return p->zero ? cm__sharing(p, st->parameters > 0 ? st->experts / st->parameters : 0) : 1;
}

cm__iteration cm__iterate(const cm__stages *st, const cm__waits *w, const cm_plan *p, bool late)
{
    double        pieces = p->interleave, count = p->accumulate, waited = 1 + w->slower;
    cm__iteration it = {.compute_s = count * (st->longest_s * waited - st->longest_comm_s),
                        .bubble_s = (st->sum_s - st->longest_s) / pieces * waited,
                        .tensor_s = count * st->longest_comm_s,
                        .pipeline_s = w->exchange_s * exchanges(w, p),
                        .update_s = st->update_s / updating(st, p)};
    add_gradients(&it, st, w, p, late);
    if (p->offload_optimizer) it.offload_s = st->offload_update_s / updating(st, p);
    double offload_s = st->policy_s + (p->offload_activations ? st->offload_kept_s : 0) + (p->offload_weights ? st->offload_weights_s : 0);
    it.offload_s += count * fmax(0, offload_s - st->longest_s); /* overlapped with compute */
    it.data_s += w->tied_s;
    it.update_s = fmax(it.update_s, st->update_host_s);
    it.step_s = it.compute_s + it.bubble_s + it.tensor_s + it.pipeline_s + it.data_s - it.hidden_s + it.update_s +
                it.offload_s;
    return it;
}
