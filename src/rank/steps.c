/* SPDX-License-Identifier: Apache-2.0 */
/* steps.c - the graphs of the step that devices share, and what is found of each once. */
#include <string.h>
#include "rank/rank.h"

static cm__rank_step *step_for(cm_ranking *r, cm__rank_device *d)
{
    const cm_rank_options *o = &r->options;
    cm_precision           precision = o->train.precision ? o->train.precision : cm_device_usual_precision(d->device);
    cm_runtime             runtime = o->runtime ? o->runtime : cm_device_runtime(d->device);
    cm_fuse                fuse = o->load.fuse == CM_FUSE_ALL && runtime == CM_RUNTIME_TORCH_EAGER ? CM_FUSE_EAGER
                                                                                                   : o->load.fuse;
    double                 library = cm__library_bytes(d->device, runtime);
    for (int32_t i = 0; i < r->n_steps; i++) {
        cm__rank_step *s = &r->steps[i];
        if (s->precision == precision && s->fuse == fuse && s->runtime == runtime && s->library_bytes == library)
            return s;
    }
    r->steps[r->n_steps] = (cm__rank_step){.precision = precision, .fuse = fuse, .runtime = runtime,
                                           .library_bytes = library, .first = d->device};
    return &r->steps[r->n_steps++];
}

void cm__rank_find_steps(cm_ranking *r)
{
    r->steps = cm__alloc_array(r->ctx, (size_t)r->n_devices + 1, sizeof *r->steps);
    for (int32_t i = 0; i < r->n_devices; i++) {
        r->devices[i].step = step_for(r, &r->devices[i]);
        r->devices[i].entry.precision = r->devices[i].step->precision;
    }
}

void cm__rank_free_steps(void *ranking)
{
    cm_ranking *r = ranking;
    for (int32_t i = 0; i < r->n_steps; i++) {
        cm__rank_step *s = &r->steps[i];
        bool           owned = true;
        for (int32_t k = 0; k < i; k++) owned = owned && r->steps[k].forward != s->forward;
        cm_footprint_free(s->like);
        if (s->ctx) cm__ctx_free(s->ctx);
        cm_graph_free(s->step);
        if (owned) cm_graph_free(s->forward);
    }
}

/* The forward graphs: one for each way of making operators one. */
void cm__rank_load_graphs(cm_ranking *r)
{
    for (int32_t i = 0; i < r->n_steps; i++) {
        cm__rank_step  *s = &r->steps[i];
        cm_load_options load = r->options.load;
        load.fuse = s->fuse;
        for (int32_t k = 0; k < i && !s->forward; k++)
            if (r->steps[k].fuse == s->fuse) s->forward = r->steps[k].forward;
        if (!s->forward) cm__pass_on(r->ctx, cm_graph_load(r->info.model, &load, &s->forward, r->ctx->diag));
    }
}

static cm_status make_common(cm__rank_step *s, const cm_ranking *r)
{
    s->ctx = cm__ctx_new(&s->diag);
    if (!s->ctx) return CM_ERR_MEMORY;
    if (setjmp(s->ctx->trap)) {
        cm_status status = s->ctx->status;
        cm__ctx_free(s->ctx);
        s->ctx = NULL;
        return status;
    }
    s->common = cm__common_new(s->ctx, s->step, r->options.layout, s->runtime, r->memo);
    s->ctx->diag = NULL;
    return CM_OK;
}

void cm__rank_make_step(void *user, int32_t index)
{
    const cm_ranking *r = user;
    cm__rank_step    *s = &r->steps[index];
    cm_train_options  train = r->options.train;
    cm_memory_options memory = {.runtime = s->runtime};
    train.precision = s->precision;
    s->status = cm_graph_train(s->forward, &train, &s->step, &s->diag);
    if (!s->status) s->status = make_common(s, r);
    if (!s->status) s->status = cm_footprint_new(s->step, s->first, &memory, &s->like, &s->diag);
}
