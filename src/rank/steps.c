/* SPDX-License-Identifier: Apache-2.0 */
/* steps.c - the step graphs that devices share, and the parts that are computed once per graph. */
#include <string.h>
#include "model/unused.h"
#include "graph/runtimes.h"
#include "graph/training/options.h"
#include "rank/rank.h"

static bool same_graph(const cm_step_options *a, const cm_step_options *b)
{
    return a->runtime == b->runtime && a->load.fuse == b->load.fuse && cm__train_same(&a->train, &b->train);
}

/* A device that cannot run the requested step gets a reason and no step. */
static cm__rank_step *step_for(cm_ranking *r, cm__rank_device *d)
{
    const cm_rank_options *o = &r->options;
    int32_t                chips = d->as.chips > 1 ? d->as.chips : 0;
    cm_step_options        settled = {.load = o->load, .train = o->train, .runtime = o->runtime, .layout = o->layout,
                                      .loading = o->loading, .plan = {.devices = chips, .pp = chips}};
    if (chips) d->status = cm_fabric_new(d->device, NULL, &d->fabric, &d->diag);
    if (d->status) return NULL;
    settled.fabric = d->fabric;
    if (d->as.precision && !o->train.precision) settled.train.precision = d->as.precision;
    cm__settle_runtime(r->own, d->device, &settled);
    d->status = cm_step_settle(NULL, d->device, &settled, &d->diag);
    if (d->status) return NULL;
    double         library = cm__library_bytes(d->device, settled.runtime);
    cm__rank_step *graph_of = NULL;
    for (int32_t i = 0; i < r->n_steps; i++) {
        cm__rank_step *s = &r->steps[i];
        if (!same_graph(&s->options, &settled)) continue;
        if (s->library_bytes == library && s->options.layout == settled.layout && s->options.plan.pp == settled.plan.pp) return s;
        if (!graph_of) graph_of = s;
    }
    r->steps[r->n_steps] = (cm__rank_step){.options = settled, .library_bytes = library, .first = d->device,
                                           .graph_of = graph_of, .again_lock = PTHREAD_MUTEX_INITIALIZER};
    return &r->steps[r->n_steps++];
}

void cm__rank_find_steps(cm_ranking *r)
{
    r->steps = cm__alloc_array(r->ctx, (size_t)r->n_devices + 1, sizeof *r->steps);
    for (int32_t i = 0; i < r->n_devices; i++) {
        cm__rank_device *d = &r->devices[i];
        d->step = step_for(r, d);
        if (d->status && d->status != CM_ERR_UNSUPPORTED) cm__rank_pass_on(r, d->status, &d->diag);
        if (d->step) d->entry.precision = d->step->options.train.precision;
        d->entry.recompute = r->options.train.recompute;
    }
}

/* The first step with the same operator fusion: all such steps share its forward graph. */
static cm__rank_step *loader(const cm_ranking *r, const cm__rank_step *s)
{
    cm__rank_step *first = r->steps;
    while (first->options.load.fuse != s->options.load.fuse) first++;
    return first;
}

void cm__rank_free_steps(void *ranking)
{
    cm_ranking *r = ranking;
    for (int32_t i = 0; i < r->n_steps; i++) {
        cm__rank_step *s = &r->steps[i];
        cm_footprint_free(s->like);
        if (s->ctx) cm__ctx_free(s->ctx);
        if (s->has_lock) pthread_mutex_destroy(&s->lock);
        if (s->has_open_script) cm__open_script_graph_free(&s->open_script);
        if (!s->graph_of) cm_graph_free(s->step);
        if (loader(r, s) == s) cm_graph_free(s->forward);
        cm_footprint_free(s->again_like);
        cm_graph_free(s->again);
        pthread_mutex_destroy(&s->again_lock);
    }
}

void cm__rank_load_graph(void *user, int32_t index)
{
    const cm_ranking *r = user;
    cm__rank_step    *s = &r->steps[index];
    if (loader(r, s) == s) s->status = cm_graph_load(r->info.model, &s->options.load, &s->forward, &s->diag);
}

/* If there is no memory for it, each device reports the failure itself. */
static void make_common(cm__rank_step *s, const cm_ranking *r)
{
    s->ctx = cm__ctx_new(NULL);
    if (!s->ctx) return;
    if (setjmp(s->ctx->trap)) {
        cm__ctx_free(s->ctx);
        s->ctx = NULL;
        return;
    }
    s->common = cm__common_new(s->ctx, s->step, s->first, s->options.layout, s->options.runtime, r->memo);
}

cm__rank_step *cm__rank_owner(cm__rank_step *s) { return s->graph_of ? s->graph_of : s; }

/* Native runtimes use execution models, not kernel calls. */
const cm__common *cm__rank_common(const cm_ranking *r, cm__rank_step *s)
{
    if (s->calls_of) s = s->calls_of;
    if (cm__is_vendors(s->options.runtime) || !s->has_lock) return NULL;
    pthread_mutex_lock(&s->lock);
    if (!s->common.calls) make_common(s, r);
    pthread_mutex_unlock(&s->lock);
    return s->common.calls ? &s->common : NULL;
}

void cm__rank_make_step(void *user, int32_t index)
{
    const cm_ranking *r = user;
    cm__rank_step    *s = &r->steps[index];
    if (s->graph_of || s->retype_of || s->status) return;
    s->status = cm_graph_train(s->forward, &s->options.train, &s->step, &s->diag);
}

static void make_footprint(cm__rank_step *s, const cm_footprint *like)
{
    const cm_memory_options memory = {.runtime = s->options.runtime, .layout = s->options.layout};
    if (!s->status) s->status = cm__footprint_new_like(like, s->step, s->first, &memory, &s->like, &s->diag);
}

void cm__rank_make_footprint(void *user, int32_t index)
{
    cm__rank_step *s = &((const cm_ranking *)user)->steps[index];
    if (!s->graph_of && !s->retype_of) make_footprint(s, NULL);
}

/* A step with types of equal size has the same footprint. */
static const cm_footprint *alike(const cm_ranking *r, int32_t index)
{
    for (int32_t i = 0; i < index; i++) {
        const cm_footprint *other = r->steps[i].like;
        if (other && cm__footprints_alike(other, r->steps[index].like)) return other;
    }
    return NULL;
}

static bool in_nhwc(const cm__rank_step *s) { return cm__in_nhwc(s->step, s->options.layout); }

/* The footprint of an earlier step in the same layout of images whose graph is the same or has types of equal size;
   NULL: none. */
static const cm_footprint *like_of(const cm_ranking *r, const cm__rank_step *s)
{
    for (const cm__rank_step *other = r->steps; other < s && !s->status; other++) {
        const cm_graph *a = s->step, *b = other->step;
        bool            alike = other->like && (a == b || a->retyped_of == b || b->retyped_of == a);
        if (alike && in_nhwc(other) == in_nhwc(s)) return other->like;
    }
    return NULL;
}

void cm__rank_share_footprints(cm_ranking *r)
{
    for (int32_t i = 0; i < r->n_steps; i++) {
        cm__rank_step *s = &r->steps[i];
        if (s->retype_of || s->graph_of) make_footprint(s, like_of(r, s));
        if (s->status) cm__rank_pass_on(r, s->status, &s->diag);
        cm__footprint_share_simulations(s->like, alike(r, i));
    }
}

/* The first step whose graph differs from that of this one only in the 16-bit type; NULL: none before this one. */
static cm__rank_step *retype_of(const cm_ranking *r, const cm__rank_step *s)
{
    for (cm__rank_step *other = r->steps; other < s && !s->graph_of; other++) {
        cm_step_options o = s->options;
        o.train.precision = other->options.train.precision;
        bool own = !other->graph_of && !other->retype_of;
        if (own && same_graph(&o, &other->options) &&
            cm__can_retype(s->forward, o.train.precision, s->options.train.precision))
            return other;
    }
    return NULL;
}

void cm__rank_share_forward(cm_ranking *r)
{
    for (int32_t i = 0; i < r->n_steps; i++) {
        cm__rank_step *s = &r->steps[i], *first = loader(r, s);
        s->forward = first->forward;
        s->status = first->status;
        s->diag = first->diag;
        if (!s->status) s->retype_of = retype_of(r, s);
    }
}

cm_step_options cm__rank_asked(const cm_ranking *r)
{
    return (cm_step_options){.load = r->options.load, .train = r->options.train, .runtime = r->options.runtime,
                             .layout = r->options.layout};
}

void cm__rank_check_options(cm_ranking *r)
{
    cm_step_options asked = cm__rank_asked(r);
    cm_diag         diag = {0};
    const cm_graph *forward = r->n_steps ? r->steps[0].forward : NULL;
    cm_status       status = forward ? cm__refuse_for_model(forward, &asked, &diag) : CM_OK;
    if (status) cm__rank_pass_on(r, status, &diag);
}

/* The first step with the same graph in the same layout of images; NULL: none before this one. */
static cm__rank_step *calls_of(const cm_ranking *r, cm__rank_step *s)
{
    for (cm__rank_step *other = r->steps; other < s; other++)
        if (other->step == s->step && in_nhwc(other) == in_nhwc(s)) return other;
    return NULL;
}

static void retype(cm__rank_step *s)
{
    s->status = s->retype_of->status;
    s->diag = s->retype_of->diag;
    if (!s->status) s->status = cm__graph_retype(s->retype_of->step, s->options.train.precision, &s->step, &s->diag);
}

void cm__rank_share_graphs(cm_ranking *r)
{
    for (int32_t i = 0; i < r->n_steps; i++) {
        cm__rank_step *s = &r->steps[i], *owner = cm__rank_owner(s);
        if (s->retype_of) retype(s);
        s->step = owner->step;
        s->status = owner->status;
        s->diag = owner->diag;
        if (!s->status) s->calls_of = calls_of(r, s);
        if (s == owner) s->has_open_script = cm__open_script_graph_init(&s->open_script);
        s->has_lock = !s->status && !s->calls_of && pthread_mutex_init(&s->lock, NULL) == 0;
    }
}
