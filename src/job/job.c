/* SPDX-License-Identifier: Apache-2.0 */
/* job.c - cm_job_run(): list the sites, search plans for each device and interconnect, compute the job, sort. */
#include "job/job.h"

#include <pthread.h>
#include <string.h>
#include "base/sized.h"
#include "base/text.h"
#include "device/profile.h"
#include "rank/parallel.h"

/* ---- models ----------------------------------------------------------------------------------------------------- */

static void free_forward(void *job)
{
    cm_job *j = job;
    for (int i = 0; i < CM_FUSES; i++) cm_graph_free(j->forward[i]);
}

/* Searches of runtimes that fuse the same operators share one forward graph. */
static void load_models(cm_job *j)
{
    const cm_rank_options *o = &j->options.rank;
    cm__defer(j->ctx, free_forward, j);
    for (int32_t i = 0; i < j->n_searches; i++) {
        cm__job_search *s = &j->searches[i];
        s->options = (cm_step_options){.load = o->load, .train = o->train, .runtime = o->runtime, .layout = o->layout};
        s->status = cm_step_settle(j->info.model, s->device, &s->options, &s->diag);
        cm_fuse fuse = s->options.load.fuse;
        if (!j->forward[fuse])
            cm__pass_on(j->ctx, cm_graph_load(j->info.model, &s->options.load, &j->forward[fuse], j->ctx->diag));
        s->forward = j->forward[fuse];
    }
}

/* Devices use profiles of other devices of their kind. All built-in ones are loaded once, because each search would load
   those that nobody offers again. */
static void introduce(cm_job *j)
{
    size_t most = (size_t)j->n_devices + (size_t)cm_devices();
    j->peers.devices = cm__alloc_array(j->ctx, most + 1, sizeof *j->peers.devices);
    for (int32_t i = 0; i < j->n_devices; i++) {
        const char *id = cm_device_get_info(j->devices[i])->id;
        if (cm__profile_find(CM__PROFILE_DEVICE, id)) j->peers.devices[j->peers.count++] = j->devices[i];
        j->devices[i]->peers = &j->peers;
    }
    for (int32_t i = 0; j->n_devices && i < cm_devices(); i++) {
        bool             offered = cm__device_peer(j->devices[0], cm_device_id(i));
        const cm_device *other = offered ? NULL : cm__device_beside(j->ctx, j->devices[0], cm_device_id(i));
        if (other) j->peers.devices[j->peers.count++] = other;
    }
}

/* ---- searches --------------------------------------------------------------------------------------------------- */

typedef struct working {
    cm_job         *job;
    const int32_t  *order; /* of searches */
    pthread_mutex_t lock;
    int32_t         done;
} working;

/* A failure of one search concerns its entries only. */
static void search(cm_job *j, cm__job_search *s)
{
    s->ctx = s->status ? NULL : cm__ctx_new(&s->diag);
    if (!s->ctx) return;
    if (setjmp(s->ctx->trap)) {
        s->status = s->ctx->status;
        s->ctx->diag = NULL;
        return;
    }
    cm_search_options o = {.global_batch = j->info.global_batch, .runtime = s->options.runtime, .fabric = s->fabric,
                           .train = s->options.train};
    cm__search_counts(s->ctx, s->forward, s->device, &o, j->shared, s->counts, s->n_counts);
    s->ctx->diag = NULL;
}

/* Searches with the most counts, which take longest, are at both ends, where threads begin (rank/parallel.c). */
static const int32_t *long_ones_first(const cm_job *j)
{
    int32_t *order = cm__alloc_array(j->ctx, (size_t)j->n_searches + 1, sizeof *order), front = 0, placed = 0;
    for (int32_t counts = CM__COUNTS_MAX; counts >= 0; counts--)
        for (int32_t i = 0; i < j->n_searches; i++) {
            if (j->searches[i].n_counts != counts) continue;
            if (placed++ % 2) order[j->n_searches - placed / 2] = i;
            else order[front++] = i;
        }
    return order;
}

static void work(void *user, int32_t index)
{
    working *w = user;
    search(w->job, &w->job->searches[w->order[index]]);
    if (!w->job->options.progress) return;
    pthread_mutex_lock(&w->lock);
    w->job->options.progress(w->job->options.user, ++w->done, w->job->n_searches);
    pthread_mutex_unlock(&w->lock);
}

static void run(cm_job *j)
{
    if (j->options.rank.load.tokens > 0)
        cm__fail(j->ctx, CM_ERR_ARGUMENT, "samples of several lengths (--tokens-per-sample) are compared on single "
                 "devices only: leave out --max-devices, or use 'plan' for each device");
    working w = {.job = j, .lock = PTHREAD_MUTEX_INITIALIZER};
    j->where = cm__where_parse(j->ctx, j->options.rank.where);
    cm__grid grid = cm__grid_find(j->ctx, j->options.region);
    j->info.g_co2_kwh = grid.g_kwh;
    j->info.region = grid.region;
    j->info.region_source = grid.source;
    cm__defer(j->ctx, cm__job_free_sites, j);
    cm__job_list_sites(j);
    introduce(j);
    j->shared = cm__plan_shared_new(j->ctx);
    load_models(j);
    cm__job_read_size(j);
    w.order = long_ones_first(j);
    cm__parallel(j->options.rank.threads, j->n_searches, work, &w);
    pthread_mutex_destroy(&w.lock);
    j->info.searches = j->n_searches;
    cm__job_make_entries(j);
    cm__job_sort(j);
    cm__job_advise(j);
}

/* ---- public functions ------------------------------------------------------------------------------------------- */

cm_status cm_job_run(const char *model, const cm_job_options *options, cm_job **job, cm_diag *diag)
{
    if (!model || !job) return cm__diag_set(diag, CM_ERR_ARGUMENT, "no model given");
    cm__ctx *ctx = cm__ctx_new(diag);
    if (!ctx) return CM_ERR_MEMORY;
    if (setjmp(ctx->trap)) return cm__ctx_abandon(ctx);
    cm_job *j = cm__alloc(ctx, sizeof *j);
    j->ctx = ctx;
    cm__take_options(&j->options, sizeof j->options, options);
    if (j->options.max_devices < 1) j->options.max_devices = 1;
    j->info.model = cm__text_copy(ctx, model);
    run(j);
    ctx->diag = NULL;
    *job = j;
    return CM_OK;
}

void cm_job_free(cm_job *job)
{
    if (job) cm__ctx_free(job->ctx);
}

const cm_job_info   *cm_job_get_info(const cm_job *j) { return &j->info; }
int32_t              cm_job_entries(const cm_job *j) { return j->n_entries; }
int32_t              cm_job_placed(const cm_job *j) { return j->n_placed; }
int32_t              cm_job_advices(const cm_job *j) { return j->n_advices; }
const cm_job_entry  *cm_job_get_entry(const cm_job *j, int32_t i)
{
    return i >= 0 && i < j->n_entries ? j->order[i] : NULL;
}
const cm_graph      *cm_job_graph(const cm_job *j) { return (j->parts ? j->parts[0] : j)->searches[0].forward; }
const cm_job_advice *cm_job_get_advice(const cm_job *j, int32_t i)
{
    return i >= 0 && i < j->n_advices ? &j->advices[i] : NULL;
}
