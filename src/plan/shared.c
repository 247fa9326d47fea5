/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shared.c - step graphs and kernel calls that searches on several devices share.
 *
 * A graph is the same for all devices with one precision; its kernel calls, for all devices with one runtime and one
 * tensor-parallel size. Plans that divide each layer in the same way differ in the calls of the update only. Several
 * threads use both. The first thread that needs an object makes it, without the lock; others that need the same one, or
 * could derive theirs from it, wait.
 */
#include <pthread.h>
#include "graph/plan/counts.h"
#include "graph/training/options.h"
#include "model/dispatch/attention.h"
#include "model/dispatch/numbers.h"
#include "model/open_script.h"
#include "model/parallel/layering.h"
#include "plan/search.h"

typedef struct shared_graph {
    cm_graph        *graph; /* NULL: it could not be made */
    cm__open_script_graph open_script; /* the step as other scripts run it */
    bool             has_open_script;
    const cm__twins *twins; /* NULL: they could not be found */
    const cm_graph  *forward;
    cm_train_options train;
    bool             ready; /* false: a thread makes it */
} shared_graph;

typedef struct shared_model {
    cm__ctx         *ctx; /* NULL: it could not be made */
    const cm__model *model;
    const cm_graph  *graph;
    cm_runtime       runtime;
} shared_model;

typedef struct shared_calls {
    cm__ctx        *ctx; /* NULL: they could not be made */
    const cm_graph *graph;
    cm_runtime      runtime;
    bool            nhwc;
    cm_plan         plan; /* only the sizes that divide a layer or the update */
    bool            math;
    bool            once; /* of equal layers, only one has calls */
    cm__common      common;
    bool            ready;
} shared_calls;

/* The device-independent part of a plan's memory. */
typedef struct shared_memory {
    cm_footprint   *footprint; /* NULL: it could not be made */
    const cm_graph *graph;
    cm_runtime      runtime;
    bool            nhwc;
    double          library_bytes;
    cm_plan         plan;
    bool            math;
    bool            ready;
} shared_memory;

#define GRAPHS_MAX 64
#define MODELS_MAX 64
#define MEMORIES_MAX 512
#define CALLS_MAX 1024

struct cm__plan_shared {
    pthread_mutex_t lock;
    pthread_cond_t  made; /* an object became ready */
    cm__memo       *memo;
    cm__numbers    *numbers; /* of the calls of layers */
    shared_graph    graphs[GRAPHS_MAX];
    shared_calls    calls[CALLS_MAX];
    shared_memory   memories[MEMORIES_MAX];
    shared_model    models[MODELS_MAX];
    int32_t         n_graphs, n_calls, n_memories, n_models;
};

static void release(void *object)
{
    cm__plan_shared *s = object;
    for (int32_t i = 0; i < s->n_calls; i++)
        if (s->calls[i].ctx) cm__ctx_free(s->calls[i].ctx);
    for (int32_t i = 0; i < s->n_models; i++) cm__ctx_free(s->models[i].ctx);
    for (int32_t i = 0; i < s->n_memories; i++) cm_footprint_free(s->memories[i].footprint);
    for (int32_t i = 0; i < s->n_graphs; i++) {
        if (s->graphs[i].has_open_script) cm__open_script_graph_free(&s->graphs[i].open_script);
        cm_graph_free(s->graphs[i].graph);
    }
    pthread_cond_destroy(&s->made);
    pthread_mutex_destroy(&s->lock);
}

cm__plan_shared *cm__plan_shared_new(cm__ctx *ctx)
{
    cm__plan_shared *s = cm__alloc(ctx, sizeof *s);
    s->memo = cm__memo_new(ctx);
    s->numbers = cm__numbers_new(ctx);
    if (pthread_mutex_init(&s->lock, NULL)) cm__fail(ctx, CM_ERR_MEMORY, "no memory for a lock");
    if (pthread_cond_init(&s->made, NULL)) {
        pthread_mutex_destroy(&s->lock);
        cm__fail(ctx, CM_ERR_MEMORY, "no memory for a condition variable");
    }
    cm__defer(ctx, release, s);
    return s;
}

/* Under the lock, which is released while another thread makes an object. */
static void wait_for(cm__plan_shared *s, const bool *ready)
{
    while (!*ready) pthread_cond_wait(&s->made, &s->lock);
}

static void announce(cm__plan_shared *s, bool *ready)
{
    pthread_mutex_lock(&s->lock);
    *ready = true;
    pthread_cond_broadcast(&s->made);
}

/* ---- graphs ----------------------------------------------------------------------------------------------------- */

/* In the graph's own memory, which lives as long. */
static const cm__twins *find_twins(cm_graph *graph)
{
    if (setjmp(graph->ctx->trap)) return NULL;
    return cm__twins_of(graph->ctx, graph);
}

static void make_graph(shared_graph *x)
{
    if (cm_graph_train(x->forward, &x->train, &x->graph, NULL)) x->graph = NULL;
    else x->twins = find_twins(x->graph);
    x->has_open_script = cm__open_script_graph_init(&x->open_script);
}

const cm_graph *cm__shared_graph(cm__plan_shared *s, const cm_graph *forward, const cm_train_options *train)
{
    cm_graph *found = NULL;
    int32_t   i = 0;
    pthread_mutex_lock(&s->lock);
    while (i < s->n_graphs && !(s->graphs[i].forward == forward && cm__train_same(&s->graphs[i].train, train))) i++;
    if (i == s->n_graphs && i < GRAPHS_MAX) {
        s->graphs[s->n_graphs++] = (shared_graph){.forward = forward, .train = *train};
        pthread_mutex_unlock(&s->lock);
        make_graph(&s->graphs[i]);
        announce(s, &s->graphs[i].ready);
    }
    if (i < s->n_graphs) {
        wait_for(s, &s->graphs[i].ready);
        found = s->graphs[i].graph;
    }
    pthread_mutex_unlock(&s->lock);
    return found;
}

cm__open_script_graph *cm__shared_script(cm__plan_shared *s, const cm_graph *graph)
{
    cm__open_script_graph *found = NULL;
    pthread_mutex_lock(&s->lock);
    for (int32_t i = 0; i < s->n_graphs && !found; i++)
        if (s->graphs[i].ready && s->graphs[i].graph == graph && s->graphs[i].has_open_script)
            found = &s->graphs[i].open_script;
    pthread_mutex_unlock(&s->lock);
    return found;
}

/* Under the lock. Objects of other graphs are not kept: a later graph may have the address of one that was freed. */
static bool is_known(const cm__plan_shared *s, const cm_graph *graph)
{
    for (int32_t i = 0; i < s->n_graphs; i++)
        if (s->graphs[i].ready && s->graphs[i].graph == graph) return true;
    return false;
}

static void make_model(shared_model *m)
{
    m->ctx = cm__ctx_new(NULL);
    if (!m->ctx) return;
    if (setjmp(m->ctx->trap)) {
        cm__ctx_free(m->ctx);
        m->ctx = NULL;
        return;
    }
    m->model = cm__model_of_step(m->ctx, m->graph, m->runtime);
}

/* Made under the lock: it takes little time. */
const cm__model *cm__shared_model(cm__plan_shared *s, const cm_graph *graph, cm_runtime runtime)
{
    int32_t i = 0;
    pthread_mutex_lock(&s->lock);
    while (i < s->n_models && !(s->models[i].graph == graph && s->models[i].runtime == runtime)) i++;
    if (i == s->n_models && i < MODELS_MAX && is_known(s, graph)) {
        s->models[s->n_models++] = (shared_model){.graph = graph, .runtime = runtime};
        make_model(&s->models[i]);
    }
    const cm__model *found = i < s->n_models && s->models[i].ctx ? s->models[i].model : NULL;
    pthread_mutex_unlock(&s->lock);
    return found;
}

/* ---- memory ----------------------------------------------------------------------------------------------------- */

/* The plan divides the same pieces. */
static bool same_whole(const shared_memory *a, const shared_memory *b)
{
    return a->graph == b->graph && a->runtime == b->runtime && a->nhwc == b->nhwc && a->math == b->math;
}

static void make_memory(shared_memory *m, const cm_device *device, const cm_footprint *like)
{
    cm_memory_options options = {.runtime = m->runtime, .plan = m->plan, .layout = device->layout};
    if (cm__footprint_new_like(like, m->graph, device, &options, &m->footprint, NULL)) m->footprint = NULL;
    if (m->footprint && !m->footprint->simulations) cm__footprint_share_simulations(m->footprint, NULL);
}

/* How much a memory has in common with another one of the same pieces: all, all but library workspaces, the order of
   allocations, or only the pieces. */
static int memory_rank(const shared_memory *m, const shared_memory *want)
{
    const cm_plan *a = &m->plan, *b = &want->plan;
    if (!cm__same_shards(a, b)) return a->zero == b->zero && (a->accumulate > 1) == (b->accumulate > 1) ? 2 : 1;
    return m->library_bytes == want->library_bytes ? 4 : 3;
}

/* Under the lock. The memory itself; otherwise the one from which it can be made most easily; NULL: none. */
static const shared_memory *nearest_memory(const cm__plan_shared *s, const shared_memory *want)
{
    const shared_memory *best = NULL;
    int                  best_rank = 0;
    for (int32_t i = 0; i < s->n_memories && best_rank < 4; i++) {
        const shared_memory *m = &s->memories[i];
        int                  rank = same_whole(m, want) ? memory_rank(m, want) : 0;
        if (rank > best_rank) best = m, best_rank = rank;
    }
    return best;
}

static bool is_memory(const shared_memory *a, const shared_memory *want)
{
    return a && a->library_bytes == want->library_bytes && cm__same_shards(&a->plan, &want->plan);
}

const cm_footprint *cm__shared_memory(cm__plan_shared *s, const cm_graph *graph, const cm_device *device,
                                      cm_runtime runtime, const cm_plan *plan)
{
    const shared_memory want = {.graph = graph, .runtime = runtime, .plan = *plan,
                                .nhwc = cm__in_nhwc(graph, device->layout),
                                .library_bytes = cm__library_bytes(device, runtime),
                                .math = cm__attention_math(graph, device, runtime)};
    pthread_mutex_lock(&s->lock);
    const shared_memory *like = nearest_memory(s, &want);
    if (!is_memory(like, &want) && s->n_memories < MEMORIES_MAX && is_known(s, graph)) {
        shared_memory *new = &s->memories[s->n_memories++];
        *new = want;
        if (like) wait_for(s, &like->ready);
        pthread_mutex_unlock(&s->lock);
        make_memory(new, device, like ? like->footprint : NULL);
        announce(s, &new->ready);
        like = new;
    }
    if (is_memory(like, &want)) wait_for(s, &like->ready);
    const cm_footprint *found = is_memory(like, &want) ? like->footprint : NULL;
    pthread_mutex_unlock(&s->lock);
    return found;
}

/* ---- kernel calls ----------------------------------------------------------------------------------------------- */

static bool same_calls(const shared_calls *a, const shared_calls *b)
{
    return a->graph == b->graph && a->runtime == b->runtime && a->nhwc == b->nhwc && a->math == b->math &&
           a->once == b->once;
}

static bool same_layers(const shared_calls *a, const shared_calls *b)
{
    return same_calls(a, b) && a->plan.tp == b->plan.tp && a->plan.cp == b->plan.cp && a->plan.ep == b->plan.ep &&
           a->plan.sequence_parallel == b->plan.sequence_parallel;
}

static bool same_update(const shared_calls *a, const shared_calls *b)
{
    return a->plan.pp == b->plan.pp && a->plan.dp == b->plan.dp && !a->plan.zero == !b->plan.zero;
}

static void make_calls(shared_calls *c, const cm_device *device, cm__plan_shared *s, const shared_calls *like,
                       const cm__twins *twins)
{
    c->ctx = cm__ctx_new(NULL);
    if (!c->ctx) return;
    if (setjmp(c->ctx->trap)) {
        cm__ctx_free(c->ctx);
        c->ctx = NULL;
        return;
    }
    if (like && !c->once && same_layers(like, c)) c->common = cm__common_like(c->ctx, &like->common, &c->plan);
    if (!c->common.calls)
        c->common = cm__common_divided(c->ctx, c->graph, device, c->runtime, &c->plan, c->math, s->memo,
                                       like ? &like->common : NULL, twins);
    if (!c->common.layering)
        c->common.layering = cm__layering_new(c->ctx, c->graph, c->common.calls, like ? like->common.layering : NULL);
    if (c->once) cm__numbers_give(s->numbers, c->common.calls);
}

/* Under the lock. NULL: the graph is not one of cm__shared_graph(). */
static const cm__twins *twins_of(cm__plan_shared *s, const cm_graph *graph)
{
    for (int32_t i = 0; i < s->n_graphs; i++)
        if (s->graphs[i].ready && s->graphs[i].graph == graph) return s->graphs[i].twins;
    return NULL;
}

static bool is_calls(const shared_calls *a, const shared_calls *want)
{
    return a && same_layers(a, want) && same_update(a, want);
}

/* How much calls have in common with those of another plan: all layers, which tensors of a layer a device has, its
   parameters, or at least which tensors are divided and whether experts are. */
static int likeness(const shared_calls *a, const shared_calls *b)
{
    const cm_plan *x = &a->plan, *y = &b->plan;
    if (same_layers(a, b)) return 5;
    if (x->tp == y->tp && x->ep == y->ep)
        return x->sequence_parallel == y->sequence_parallel && (x->cp > 1) == (y->cp > 1) ? 4 : 3;
    return ((x->tp > 1) == (y->tp > 1)) + ((x->ep > 1) == (y->ep > 1));
}

/* Under the lock. The calls themselves; otherwise those from which they can be made most easily; NULL: none. */
static shared_calls *nearest_calls(cm__plan_shared *s, const shared_calls *want)
{
    shared_calls *like = NULL;
    int           best = -1;
    for (int32_t i = 0; i < s->n_calls; i++) {
        shared_calls *c = &s->calls[i];
        if (!same_calls(c, want)) continue;
        if (is_calls(c, want)) return c;
        int alike = likeness(c, want);
        if (alike > best) like = c, best = alike;
    }
    return like;
}

static const cm__common *find_calls(cm__plan_shared *s, const cm_graph *graph, const cm_device *device,
                                    cm_runtime runtime, const cm_plan *plan, bool once)
{
    shared_calls want = {.graph = graph, .once = once, .runtime = cm_runtime_base(runtime),
                         .nhwc = cm__in_nhwc(graph, device->layout),
                         .math = cm__attention_math(graph, device, cm_runtime_base(runtime)),
                         .plan = {.tp = plan->tp, .cp = plan->cp, .ep = plan->ep, .pp = plan->pp, .zero = plan->zero,
                                  .dp = plan->zero ? plan->dp : 0, .sequence_parallel = plan->sequence_parallel,
                                  .async_tensor = plan->async_tensor}}; /* the same for all plans of a search */
    pthread_mutex_lock(&s->lock);
    shared_calls *found = nearest_calls(s, &want);
    if (!is_calls(found, &want) && s->n_calls < CALLS_MAX && is_known(s, graph)) {
        const cm__twins *twins = once ? twins_of(s, graph) : NULL;
        shared_calls    *like = once && !twins ? NULL : found, *new = &s->calls[s->n_calls++];
        *new = want;
        if (like) wait_for(s, &like->ready);
        pthread_mutex_unlock(&s->lock);
        make_calls(new, device, s, like && like->ctx ? like : NULL, twins);
        announce(s, &new->ready);
        found = new;
    }
    bool is = is_calls(found, &want);
    if (is) wait_for(s, &found->ready);
    const cm__common *common = is && found->ctx ? &found->common : NULL;
    pthread_mutex_unlock(&s->lock);
    return common;
}

const cm__common *cm__shared_common(cm__plan_shared *s, const cm_graph *graph, const cm_device *device,
                                    cm_runtime runtime, const cm_plan *plan)
{
    return find_calls(s, graph, device, runtime, plan, false);
}

const cm__common *cm__shared_layers(cm__plan_shared *s, const cm_graph *graph, const cm_device *device,
                                    cm_runtime runtime, const cm_plan *plan)
{
    return find_calls(s, graph, device, runtime, plan, true);
}
