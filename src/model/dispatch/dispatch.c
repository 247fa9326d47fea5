/* SPDX-License-Identifier: Apache-2.0 */
/* dispatch.c - walk a graph and store each distinct kernel call once. */
#include "model/dispatch/dispatch.h"

#include <string.h>
#include "model/dispatch/attention.h"
#include "model/dispatch/fusing.h"
#include "model/dispatch/tensor_parallel.h"
#include "model/dispatch/works.h"

static uint64_t hash_of(const void *data, size_t size)
{
    const uint64_t *words = data;
    uint64_t        h = 0x9e3779b97f4a7c15u;
    for (size_t i = 0; i < size / sizeof *words; i++) h = (h ^ words[i]) * 0xff51afd7ed558ccdu, h ^= h >> 32;
    return h;
}

static void rehash(cm__dispatch *d)
{
    d->n_slots = d->n_slots ? d->n_slots * 2 : 512;
    d->slots = cm__alloc_array(d->ctx, d->n_slots, sizeof *d->slots);
    for (int32_t i = 0; i < d->n_calls; i++) {
        uint32_t at = (uint32_t)d->hashes[i] & (d->n_slots - 1);
        while (d->slots[at]) at = (at + 1) & (d->n_slots - 1);
        d->slots[at] = i + 1;
    }
}

static int32_t intern(cm__dispatch *d, const cm__sized_call *call)
{
    if ((uint32_t)d->n_calls * 2 >= d->n_slots) rehash(d);
    uint64_t hash = hash_of(call, sizeof *call);
    uint32_t at = (uint32_t)hash & (d->n_slots - 1);
    for (; d->slots[at]; at = (at + 1) & (d->n_slots - 1)) {
        int32_t i = d->slots[at] - 1;
        if (d->hashes[i] == hash && memcmp(&d->calls[i], call, sizeof *call) == 0) return i;
    }
    d->calls = cm__grow(d->ctx, d->calls, d->n_calls, &d->cap_calls, sizeof *d->calls);
    d->runs = cm__grow(d->ctx, d->runs, d->n_calls, &d->cap_runs, sizeof *d->runs);
    d->hashes = cm__grow(d->ctx, d->hashes, d->n_calls, &d->cap_hashes, sizeof *d->hashes);
    d->calls[d->n_calls] = *call;
    d->runs[d->n_calls] = 0;
    d->hashes[d->n_calls] = hash;
    d->slots[at] = d->n_calls + 1;
    return d->n_calls++;
}

void cm__dispatch_add(cm__dispatch *d, int32_t node, const cm__sized_call *call)
{
    cm__sized_call part = *call;
    if (d->shards.split) cm__shard_call(d, node, &part);
    int32_t i = intern(d, &part);
    d->of = cm__grow(d->ctx, d->of, d->n_of, &d->cap_of, sizeof *d->of);
    d->node = cm__grow(d->ctx, d->node, d->n_of, &d->cap_node, sizeof *d->node);
    d->of[d->n_of] = i;
    d->node[d->n_of++] = node;
    d->runs[i]++;
}

void cm__call_two(cm__dispatch *d, int32_t node, cm__sized_call c, cm_poly first, cm_poly second)
{
    memcpy(c.sizes, (cm_poly[]){first, second}, 2 * sizeof first);
    cm__dispatch_add(d, node, &c);
}

void cm__dispatch_one(cm__dispatch *d, int32_t node)
{
    if (cm__inside_stack(d, node)) return;
    if (cm__is_scaled_cast(d->g, cm__node(d, node))) cm__dispatch_scaled_cast(d, node);
    else cm__dispatch_rules[d->g->nodes[node].op](d, node);
}

static void unless_view(cm__dispatch *d, int32_t node)
{
    if (!d->g->nodes[node].view || d->strides->copied[node]) cm__dispatch_one(d, node);
}

static void one_by_one(cm__dispatch *d)
{
    if (d->g->fused_kernels) cm__dispatch_chains(d, unless_view);
    else for (int32_t i = 0; i < d->g->n_nodes; i++) unless_view(d, i);
}

bool cm__in_nhwc(const cm_graph *g, cm_layout layout)
{
    return layout == CM_LAYOUT_AUTO ? cm__channels_last(g) : layout == CM_LAYOUT_NHWC;
}

cm__dispatch *cm__dispatch_new(cm__ctx *ctx, const cm_graph *g, cm_layout layout, cm_runtime runtime)
{
    return cm__dispatch_shard(ctx, g, layout, runtime, &(cm_plan){.tp = 1, .ep = 1, .cp = 1},
                              cm__attention_math(g, NULL, runtime));
}

cm__dispatch *cm__dispatch_shard(cm__ctx *ctx, const cm_graph *g, cm_layout layout, cm_runtime runtime,
                                 const cm_plan *plan, bool math)
{
    static void (*const walks[CM_RUNTIMES])(cm__dispatch *) = {[CM_RUNTIME_TORCH_COMPILE] = cm__dispatch_fused,
                                                               [CM_RUNTIME_TUNED] = cm__dispatch_fused,
                                                               [CM_RUNTIME_MEGATRON] = cm__dispatch_megatron};
    cm__dispatch *d = cm__alloc(ctx, sizeof *d);
    runtime = cm_runtime_base(runtime);
    d->ctx = ctx;
    d->g = g;
    d->nhwc = cm__in_nhwc(g, layout) || (runtime == CM_RUNTIME_TORCH_COMPILE && cm__compiler_prefers_nhwc(g));
    d->tf32 = g->precision == CM_PRECISION_TF32;
    d->strides = cm__strides_new(ctx, g, d->nhwc);
    for (int32_t i = 0; i < g->n_nodes; i++) cm__strides_place(d->strides, i);
    d->stacks = cm__stacks_of(ctx, g);
    d->trains = g->n_nodes && g->nodes[g->n_nodes - 1].phase != CM_FORWARD;
    d->runtime = runtime;
    d->math = math;
    if (cm__plan_shares(plan)) d->shards = cm__shards_new(ctx, g, plan);
    (walks[runtime] ? walks[runtime] : one_by_one)(d);
    d->works = cm__works_new(ctx);
    return d;
}

void cm__call_at(const cm__sized_call *sized, double batch, cm__call *call)
{
    call->op = sized->op;
    call->pass = sized->pass;
    memcpy(call->variant, sized->variant, sizeof call->variant);
    memcpy(call->dtype, sized->dtype, sizeof call->dtype);
    memset(call->sizes, 0, sizeof call->sizes);
    for (int i = 0; i < cm__call_kinds[sized->op].n_sizes; i++) {
        double size = cm_poly_at(&sized->sizes[i], batch);
        call->sizes[i] = size > 0 && size < 9e18 ? (int64_t)(size + 0.5) : 0;
    }
}
