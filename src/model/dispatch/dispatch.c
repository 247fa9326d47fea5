/* SPDX-License-Identifier: Apache-2.0 */
/* dispatch.c - walk a graph and store each distinct kernel call once. */
#include "model/dispatch/dispatch.h"

#include <stddef.h>
#include <string.h>
#include "graph/runtimes.h"
#include "model/dispatch/attention.h"
#include "model/dispatch/compiler.h"
#include "model/dispatch/tensor_parallel.h"

#define FIRST_CALLS 256 /* room at first: enough for most steps */

static uint64_t mixed(uint64_t hash, const void *data, size_t size)
{
    for (size_t i = 0; i < size / sizeof hash; i++) {
        uint64_t word;
        memcpy(&word, (const char *)data + i * sizeof word, sizeof word);
        hash = (hash ^ word) * 0xff51afd7ed558ccdu;
        hash ^= hash >> 32;
    }
    return hash;
}

/* Calls with the same sizes seldom differ in their work, and few sizes have terms of a higher degree. */
static uint64_t hash_of(const cm__sized_call *call)
{
    uint64_t hash = mixed(0x9e3779b97f4a7c15u, call, offsetof(cm__sized_call, sizes));
    for (int i = 0; i < cm__call_kinds[call->op].n_sizes; i++) hash = mixed(hash, call->sizes[i].c, 2 * sizeof(double));
    return hash;
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
    uint64_t hash = hash_of(call);
    uint32_t at = (uint32_t)hash & (d->n_slots - 1);
    for (; d->slots[at]; at = (at + 1) & (d->n_slots - 1)) {
        int32_t i = d->slots[at] - 1;
        if (d->hashes[i] == hash && memcmp(&d->calls[i], call, sizeof *call) == 0) return i;
    }
    d->calls = cm__grow_unset(d->ctx, d->calls, d->n_calls, &d->cap_calls, sizeof *d->calls, FIRST_CALLS);
    d->runs = cm__grow(d->ctx, d->runs, d->n_calls, &d->cap_runs, sizeof *d->runs);
    d->hashes = cm__grow(d->ctx, d->hashes, d->n_calls, &d->cap_hashes, sizeof *d->hashes);
    d->calls[d->n_calls] = *call;
    d->runs[d->n_calls] = 0;
    d->hashes[d->n_calls] = hash;
    d->slots[at] = d->n_calls + 1;
    return d->n_calls++;
}

/* Calls as the rules make them. Plans differ in how they divide these. */
typedef struct cm__undivided {
    const cm__sized_call *calls;
    const int32_t        *of;    /* per entry of the dispatch's `of`: its call */
    const int32_t        *group; /* ... and its group: entries with one call that is divided in one way */
    int32_t               n_groups;
} cm__undivided;

/* The same while the rules make the calls. */
typedef struct cm__collected {
    cm__sized_call *calls;
    int32_t        *of;
    cm__way        *ways; /* per entry of `of` */
    int32_t        *last; /* per divided call: the undivided one that it was last made from */
    int32_t         n_calls, cap_calls, cap_of, cap_ways, cap_last;
} cm__collected;

static void keep_undivided(cm__dispatch *d, const cm__sized_call *call, cm__way way, int32_t divided)
{
    cm__collected *u = d->collected;
    while (divided >= u->cap_last) u->last = cm__grow(d->ctx, u->last, u->cap_last, &u->cap_last, sizeof *u->last);
    int32_t *last = &u->last[divided];
    if (*last >= u->n_calls || memcmp(&u->calls[*last], call, sizeof *call) != 0) {
        u->calls = cm__grow_unset(d->ctx, u->calls, u->n_calls, &u->cap_calls, sizeof *u->calls, FIRST_CALLS);
        u->calls[*last = u->n_calls++] = *call;
    }
    u->of = cm__grow(d->ctx, u->of, d->n_of, &u->cap_of, sizeof *u->of);
    u->ways = cm__grow(d->ctx, u->ways, d->n_of, &u->cap_ways, sizeof *u->ways);
    u->of[d->n_of] = *last;
    u->ways[d->n_of] = way;
}

static void add_entry(cm__dispatch *d, int32_t node, int32_t call)
{
    d->of = cm__grow(d->ctx, d->of, d->n_of, &d->cap_of, sizeof *d->of);
    d->node = cm__grow(d->ctx, d->node, d->n_of, &d->cap_node, sizeof *d->node);
    d->of[d->n_of] = call;
    d->node[d->n_of++] = node;
    d->runs[call] += cm__twin_count(d->twins, d->g, d->g->part, node);
}

void cm__dispatch_add(cm__dispatch *d, int32_t node, const cm__sized_call *call)
{
    cm__sized_call part = *call;
    cm__way        way = {0};
    if (d->shards.split) cm__shard_call(&d->shards, way = cm__way_of(d, node, call->op), &part);
    int32_t i = intern(d, &part);
    if (d->collected) keep_undivided(d, call, way, i);
    add_entry(d, node, i);
}

static bool same_way(cm__way a, cm__way b)
{
    return a.product == b.product && a.cast == b.cast && a.update == b.update && a.attention == b.attention &&
           a.split == b.split && a.expert == b.expert && a.of_weight == b.of_weight;
}

/* Groups the entries of the calls. A call is divided in few ways, so those that it has are searched one by one. */
static cm__undivided *grouped(cm__ctx *ctx, const cm__sized_call *calls, int32_t n_calls, const int32_t *of,
                              const cm__way *ways, int32_t count)
{
    cm__undivided *u = cm__alloc(ctx, sizeof *u);
    int32_t       *group = cm__alloc_unset(ctx, (size_t)count + 1, sizeof *group);
    int32_t       *newest = cm__alloc_array(ctx, (size_t)n_calls + 1, sizeof *newest); /* per call: group, plus 1 */
    int32_t       *older = cm__alloc_unset(ctx, (size_t)count + 1, sizeof *older);     /* per group: likewise */
    cm__way       *way = cm__alloc_unset(ctx, (size_t)count + 1, sizeof *way);         /* per group */
    *u = (cm__undivided){.calls = calls, .of = of, .group = group};
    for (int32_t i = 0; i < count; i++) {
        int32_t at = newest[of[i]];
        while (at && !same_way(way[at - 1], ways[i])) at = older[at - 1];
        if (!at) {
            older[u->n_groups] = newest[of[i]];
            way[u->n_groups] = ways[i];
            at = newest[of[i]] = ++u->n_groups;
        }
        group[i] = at - 1;
    }
    return u;
}

void cm__call_sized(cm__dispatch *d, int32_t node, cm__sized_call c, size_t count, const cm_poly *sizes)
{
    memcpy(c.sizes, sizes, count * sizeof *sizes);
    cm__dispatch_add(d, node, &c);
}

void cm__dispatch_one(cm__dispatch *d, int32_t node)
{
    if (cm__inside_stack(d, node)) return;
    if (cm__is_scaled_cast(d->g, cm__node(d, node))) cm__dispatch_scaled_cast(d, node);
    else cm__dispatch_rules[d->g->nodes[node].op](d, node);
}

static void dispatch_plain(cm__dispatch *d, int32_t node)
{
    if (!d->g->nodes[node].view || d->strides->copied[node]) cm__dispatch_one(d, node);
}

static void begin_update(cm__dispatch *d, int32_t node)
{
    if (d->calls_before >= 0 || d->g->nodes[node].phase != CM_UPDATE) return;
    d->calls_before = d->n_calls;
    d->of_before = d->n_of;
}

/* Nodes of the update come last; they are part of no chain. */
static void one_by_one(cm__dispatch *d, int32_t first)
{
    void (*one)(cm__dispatch *, int32_t) = cm__is_megatron(d->runtime) ? cm__dispatch_megatron : dispatch_plain;
    bool joins = d->g->asked.script.fused_kernels || cm__is_megatron_core(d->runtime, d->g->asked.software);
    const struct cm__fusing *chains = joins && !first ? cm__chains_of(d) : NULL;
    for (int32_t i = cm__twin_next(d->twins, first - 1); i < d->g->n_nodes; i = cm__twin_next(d->twins, i)) {
        begin_update(d, i);
        if (!chains || !cm__dispatch_chain(chains, i)) one(d, i);
    }
}

static int32_t context_of(const cm__dispatch *d) { return d->shards.cp > 1 ? d->shards.cp : 1; }

/* True: the rules make the same calls for both plans, before they are divided, and b has them. The rules themselves
   depend on whether experts are divided (routing.c) and, if attention is not fused, on context parallelism
   (math_attention.c). */
static bool same_undivided(const cm__dispatch *a, const cm__dispatch *b)
{
    return (b->undivided || !b->shards.split) && a->twins == b->twins && a->math == b->math &&
           (a->shards.ep > 1) == (b->shards.ep > 1) && (!a->math || context_of(a) == context_of(b));
}

/* The undivided calls of another plan, grouped by how this plan divides them. */
static const cm__undivided *undivided_like(cm__dispatch *d, const cm__dispatch *other)
{
    const cm__undivided  *u = other->undivided;
    const cm__sized_call *calls = u ? u->calls : other->calls;
    const int32_t        *of = u ? u->of : other->of;
    if (u && other->shards.split == d->shards.split) return u;
    cm__way *ways = cm__alloc_unset(d->ctx, (size_t)other->n_of + 1, sizeof *ways);
    int32_t  n_calls = 0;
    for (int32_t i = 0; i < other->n_of; i++) {
        ways[i] = cm__way_of(d, other->node[i], calls[of[i]].op);
        if (of[i] >= n_calls) n_calls = of[i] + 1;
    }
    return grouped(d->ctx, calls, n_calls, of, ways, other->n_of);
}

/* Divides the calls of another plan anew: a fraction of the work of the rules. Each group is divided once. */
static void divide_again(cm__dispatch *d, const cm__dispatch *other)
{
    const cm__undivided *u = d->undivided = undivided_like(d, other);
    int32_t             *divided = cm__alloc_array(d->ctx, (size_t)u->n_groups + 1, sizeof *divided); /* plus 1 */
    for (int32_t i = 0; i < other->n_of; i++) {
        int32_t *at = &divided[u->group[i]];
        begin_update(d, other->node[i]);
        if (!*at) {
            cm__sized_call part = u->calls[u->of[i]];
            cm__shard_call(&d->shards, cm__way_of(d, other->node[i], part.op), &part);
            *at = intern(d, &part) + 1;
        }
        add_entry(d, other->node[i], *at - 1);
    }
    if (d->g->n_nodes) begin_update(d, d->g->n_nodes - 1);
}

/* Keeps the undivided calls for plans that divide them otherwise. */
static void follow_rules(cm__dispatch *d)
{
    cm__collected u = {0};
    if (d->shards.split) d->collected = &u;
    one_by_one(d, 0);
    d->collected = NULL;
    if (d->shards.split) d->undivided = grouped(d->ctx, u.calls, u.n_calls, u.of, u.ways, d->n_of);
}

bool cm__in_nhwc(const cm_graph *g, cm_layout layout)
{
    return layout == CM_LAYOUT_AUTO ? cm__channels_last(g) : layout == CM_LAYOUT_NHWC;
}

cm_layout cm__layout_used(const cm_graph *g, bool nhwc)
{
    return nhwc && cm__facts_of(g).images ? CM_LAYOUT_NHWC : CM_LAYOUT_NCHW;
}

cm__dispatch *cm__dispatch_new(cm__ctx *ctx, const cm_graph *g, cm_layout layout, cm_runtime runtime)
{
    return cm__dispatch_shard(ctx, g, layout, runtime, &(cm_plan){.tp = 1, .ep = 1, .cp = 1},
                              cm__attention_math(g, NULL, runtime));
}

cm__dispatch *cm__dispatch_shard(cm__ctx *ctx, const cm_graph *g, cm_layout layout, cm_runtime runtime,
                                 const cm_plan *plan, bool math)
{
    return cm__dispatch_twins(ctx, g, layout, runtime, plan, math, NULL, NULL);
}

static cm__strides *placed(const cm__dispatch *d, cm__strides *s)
{
    for (int32_t i = cm__twin_next(d->twins, -1); i < d->g->n_nodes; i = cm__twin_next(d->twins, i))
        cm__strides_place(s, i);
    return s;
}

static cm__strides *place_all(cm__ctx *ctx, const cm__dispatch *d)
{
    cm__strides *s = cm__strides_new(ctx, d->g, d->nhwc);
    if (cm__compiles(d->runtime)) {
        s->compiled = s->traced = true;
        cm__strides *traced = cm__strides_new(ctx, d->g, d->nhwc);
        traced->traced = true;
        if (cm__compiler_prefers_nhwc(d->g)) cm__strides_relay(s);
        else cm__strides_want(s, placed(d, traced));
    }
    return placed(d, s);
}

cm__dispatch *cm__dispatch_twins(cm__ctx *ctx, const cm_graph *g, cm_layout layout, cm_runtime runtime,
                                 const cm_plan *plan, bool math, const cm__twins *twins, const cm__dispatch *other)
{
    bool          fuses = cm__runtime_of(runtime)->compiler != CM__COMPILER_NONE;
    cm__dispatch *d = cm__alloc(ctx, sizeof *d);
    runtime = cm_runtime_base(runtime);
    d->ctx = ctx;
    d->g = g;
    d->runtime = runtime;
    d->from_rows = cm__compiles(runtime) && !cm__in_nhwc(g, layout) && cm__compiler_prefers_nhwc(g);
    d->nhwc = d->from_rows || cm__in_nhwc(g, layout);
    d->tf32 = g->precision == CM_PRECISION_TF32;
    d->twins = fuses ? NULL : twins;
    d->strides = other ? other->strides : place_all(ctx, d);
    d->stacks = other ? other->stacks : cm__stacks_of(ctx, g);
    d->trains = g->n_nodes && g->nodes[g->n_nodes - 1].phase != CM_FORWARD;
    d->math = math;
    d->calls_before = -1;
    if (cm__plan_shares(plan)) d->shards = cm__shards_new(ctx, g, plan, other ? &other->shards : NULL);
    d->recorded = cm__compiles(runtime) && g->recorded && d->trains && !d->shards.split;
    if (fuses) cm__dispatch_fused(d);
    else if (other && d->shards.split && same_undivided(d, other)) divide_again(d, other);
    else follow_rules(d);
    return d;
}

/* more: entries that will probably be added. */
static void *copied(cm__ctx *ctx, const void *array, int32_t count, int32_t more, int32_t *capacity, size_t size)
{
    *capacity = count + more + 1;
    void *copy = cm__alloc_array(ctx, (size_t)*capacity, size);
    if (count) memcpy(copy, array, (size_t)count * size);
    return copy;
}

/* Keeps the calls of the nodes before the update. */
static void take_layers(cm__dispatch *d, const cm__dispatch *like)
{
    int32_t calls = like->n_calls - like->calls_before, entries = like->n_of - like->of_before; /* of its update */
    d->n_calls = like->calls_before;
    d->n_of = like->of_before;
    d->calls = copied(d->ctx, like->calls, d->n_calls, calls, &d->cap_calls, sizeof *d->calls);
    d->hashes = copied(d->ctx, like->hashes, d->n_calls, calls, &d->cap_hashes, sizeof *d->hashes);
    d->of = copied(d->ctx, like->of, d->n_of, entries, &d->cap_of, sizeof *d->of);
    d->node = copied(d->ctx, like->node, d->n_of, entries, &d->cap_node, sizeof *d->node);
    d->cap_runs = d->cap_calls;
    d->runs = cm__alloc_array(d->ctx, (size_t)d->cap_runs, sizeof *d->runs);
    for (int32_t i = 0; i < d->n_of; i++) d->runs[d->of[i]]++;
    rehash(d); /* into as many slots as `like` has, or twice as many */
}

cm__dispatch *cm__dispatch_like(cm__ctx *ctx, const cm__dispatch *like, const cm_plan *plan)
{
    if (like->calls_before < 0) return NULL;
    cm__dispatch *d = cm__alloc(ctx, sizeof *d);
    int32_t       first = like->g->n_nodes;
    *d = *like;
    d->ctx = ctx;
    d->undivided = NULL;
    d->shards = cm__plan_shares(plan) ? cm__shards_like(ctx, like->g, &like->shards, plan) : (cm__shards){0};
    take_layers(d, like);
    while (first > 0 && d->g->nodes[first - 1].phase == CM_UPDATE) first--;
    one_by_one(d, first);
    return d;
}

void cm__call_at(const cm__sized_call *sized, double batch, cm__call *call)
{
    call->op = sized->op;
    call->pass = sized->pass;
    call->variant = sized->variant;
    call->types = sized->types;
    memset(call->sizes, 0, sizeof call->sizes);
    for (int i = 0; i < (cm__has_work(sized) ? CM__WORK_END : cm__call_kinds[sized->op].n_sizes); i++) {
        double size = cm__poly_at(&sized->sizes[i], batch);
        size = size > 0 ? size : 0;
        size = size < 9e18 ? size : 0;
        call->sizes[i] = (int64_t)(size + 0.5);
    }
}
