/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plans.c - search for the best plan: enumerate places, time layers, evaluate plans on all threads and ranks, and
 * predict the best in full.
 *
 * The result does not depend on the number of threads or ranks: plans are numbered, and ties are ordered by number.
 */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "base/sized.h"
#include "base/text.h"
#include "plan/ranks.h"
#include "model/by_length.h"
#include "model/question.h"
#include "model/unused.h"
#include "plan/timing.h"

#define SHOWN 10
#define THREADS_MAX 256

struct cm_search {
    cm__ctx       *ctx;
    cm_search_info info;
    cm_found      *found;
    int32_t        n_found;
};

/* ---- the search ------------------------------------------------------------------------------------------------- */

typedef struct searching {
    cm__ctx                 *ctx;
    const cm_search_options *o;
    const cm_graph          *forward;
    const cm_device         *device;
    cm__model               *m;
    cm__spot               *spots;
    uint64_t                *first; /* number of each place's first plan; one more entry at the end */
    int32_t                  n_spots, cap_spots;
    atomic_int               next;
    atomic_ullong            done;
    cm__best                 best;
    pthread_mutex_t          lock;
    cm__ranks               *ranks;
    double                   iterations, usd_s, watts; /* usd_s, watts: per device; NAN: unknown */
    bool                     varied; /* samples have several lengths: all of the best are predicted in full */
} searching;

static bool stopped(const searching *s) { return s->o->stop && *s->o->stop; }

/* One plan of each set of sizes is kept: the user asked for it, or full predictions may order them anew. */
static bool one_of_each(const searching *s) { return s->o->distinct || s->varied; }

/* Plans are ordered by their step times alone, and none is left out. */
static bool by_time(const searching *s) { return s->o->objective == CM_OBJECTIVE_THROUGHPUT && s->o->within_s <= 0; }

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void find_prices(searching *s)
{
    const cm_price *price = cm_device_cheapest(s->device, s->o->devices, s->o->price_basis, NULL);
    cm_number       power = cm_device_number(s->device, CM_TYPICAL_W), tdp = cm_device_number(s->device, CM_TDP_W);
    s->usd_s = price ? price->usd_hour / 3600 : NAN;
    s->watts = power.known ? power.value : tdp.known ? tdp.value : NAN;
    double each = cm_load_tokens(&s->o->load, s->m->tokens);
    s->iterations = s->o->tokens > 0 ? s->o->tokens / ((double)s->o->global_batch * each) : 1;
    if (s->o->objective == CM_OBJECTIVE_COST && isnan(s->usd_s))
        cm__fail(s->ctx, CM_ERR_UNSUPPORTED,
                 "the device has no known %s price: 'centimani devices show %s' lists its prices, and --price-basis "
                 "names the basis to use; or search for another objective",
                 cm_basis_name(s->o->price_basis), cm_device_get_info(s->device)->id);
    if (s->o->objective == CM_OBJECTIVE_ENERGY && isnan(s->watts))
        cm__fail(s->ctx, CM_ERR_UNSUPPORTED, "the device's power is unknown: search for another objective");
}

/* Smaller is better. */
static double score(void *user, const cm_plan *p, double step_s)
{
    const searching *s = user;
    if (s->o->within_s > 0 && step_s * s->iterations > s->o->within_s) return INFINITY;
    if (s->o->objective == CM_OBJECTIVE_THROUGHPUT) return step_s;
    return s->o->objective == CM_OBJECTIVE_DEVICES ? p->devices + step_s / (1 + step_s) : step_s * p->devices;
}

/* ---- places ----------------------------------------------------------------------------------------------------- */

static void add_place(void *user, const cm_plan *plan)
{
    searching *s = user;
    s->spots = cm__grow(s->ctx, s->spots, s->n_spots, &s->cap_spots, sizeof *s->spots);
    s->spots[s->n_spots++] = (cm__spot){*plan, -1, -1};
}

static void enumerate(searching *s)
{
    int32_t least = s->o->objective == CM_OBJECTIVE_THROUGHPUT ? s->o->devices : 1;
    for (int32_t n = least; n <= s->o->devices; n++)
        if (s->o->devices % n == 0) cm__space(s->m, n, s->o->global_batch, add_place, s);
    s->first = cm__alloc_array(s->ctx, (size_t)s->n_spots + 1, sizeof *s->first);
    for (int32_t i = 0; i < s->n_spots; i++)
        s->first[i + 1] = s->first[i] + cm__plans_at(s->m, &s->spots[i].plan);
    if (!s->n_spots)
        cm__fail(s->ctx, CM_ERR_ARGUMENT,
                 "%d devices are not a product tp x cp x pp x dp in which tp divides %d heads, cp %lld tokens, pp %d "
                 "layers and dp the global batch of %lld: try a batch with more divisors or another number of devices",
                 s->o->devices, s->m->heads, (long long)s->m->tokens, s->m->layers, (long long)s->o->global_batch);
}

static void time_places(searching *s)
{
    cm__time_spots(s->ctx, &(cm__timing){.m = s->m, .forward = s->forward, .device = s->device, .o = s->o,
                                          .spots = s->spots, .n_spots = s->n_spots, .share = cm__rank(s->ranks),
                                          .shares = cm__rank_count(s->ranks),
                                          .fastest = by_time(s) && !one_of_each(s) ? &s->best : NULL,
                                          .first = s->first});
}

/* ---- threads ---------------------------------------------------------------------------------------------------- */

static void report_progress(searching *s, double *last)
{
    double time = now();
    if (!s->o->progress || time - *last < 0.1) return;
    *last = time;
    pthread_mutex_lock(&s->lock);
    cm_search_progress p = {.done = atomic_load(&s->done), .total = s->first[s->n_spots],
                            .best_step_s = s->best.count ? s->best.list[0].step_s : NAN};
    pthread_mutex_unlock(&s->lock);
    s->o->progress(s->o->user, &p);
}

static void merge(searching *s, cm__best *mine)
{
    pthread_mutex_lock(&s->lock);
    cm__best_merge(&s->best, mine);
    pthread_mutex_unlock(&s->lock);
    *mine = (cm__best){.distinct = one_of_each(s)};
}

static void work(searching *s, bool speaks)
{
    cm__best *mine = calloc(1, sizeof *mine);
    double    last = now();
    if (mine) mine->distinct = one_of_each(s);
    bool      plain = by_time(s);
    bool      late = stopped(s); /* time ran out while layers were timed: only the timed ones count */
    for (int i; mine && (late || !stopped(s)) && (i = atomic_fetch_add(&s->next, 1)) < s->n_spots;) {
        if (s->spots[i].cost >= 0 && !s->spots[i].done)
            cm__evaluate(s->m, &s->spots[i], s->first[i], plain ? NULL : score, s, mine);
        if (s->spots[i].cost == CM__TOO_LARGE) mine->evaluated += s->first[i + 1] - s->first[i];
        atomic_fetch_add(&s->done, s->first[i + 1] - s->first[i]);
        if (mine->evaluated > 100000) merge(s, mine);
        if (speaks) report_progress(s, &last);
    }
    if (mine) merge(s, mine);
    free(mine);
}

static void *thread(void *search)
{
    work(search, false);
    return NULL;
}

static int32_t threads_of(const searching *s)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    return s->o->threads ? s->o->threads : cores > 0 ? (int32_t)cores : 1;
}

static int32_t evaluate(searching *s)
{
    pthread_t threads[THREADS_MAX];
    int32_t   wanted = threads_of(s), started = 0;
    if (wanted > THREADS_MAX) wanted = THREADS_MAX;
    pthread_mutex_init(&s->lock, NULL);
    while (started + 1 < wanted && pthread_create(&threads[started], NULL, thread, s) == 0) started++;
    work(s, true);
    for (int32_t i = 0; i < started; i++) pthread_join(threads[i], NULL);
    pthread_mutex_destroy(&s->lock);
    return started + 1;
}

/* Gathers the best plans of all ranks. */
static void gather(searching *s)
{
    if (!s->ranks) return;
    size_t    count = (size_t)cm__rank_count(s->ranks);
    cm__best *all = cm__alloc_array(s->ctx, count, sizeof *all);
    if (!cm__ranks_gather(s->ranks, &s->best, sizeof s->best, all))
        cm__fail(s->ctx, CM_ERR_IO, "cannot gather the results of the ranks");
    s->best = (cm__best){.distinct = one_of_each(s)};
    for (size_t i = 0; i < count; i++) cm__best_merge(&s->best, &all[i]);
}

/* ---- the best plans ---------------------------------------------------------------------------------------------- */

static bool better(searching *s, const cm_found *a, const cm_found *b)
{
    return score(s, &a->plan, a->step_time_s) < score(s, &b->plan, b->step_time_s);
}

/* True: the plan is as fast as a listed one and saves no memory, such as recomputation with nothing to recompute. */
static bool gains_nothing(const cm_search *search, const cm_found *f)
{
    for (int32_t i = 0; i < search->n_found; i++)
        if (f->step_time_s == search->found[i].step_time_s && f->peak_bytes >= search->found[i].peak_bytes) return true;
    return false;
}

static bool listed(const cm_search *search, const cm_plan *plan)
{
    for (int32_t i = 0; i < search->n_found; i++)
        if (cm__same_sizes(&search->found[i].plan, plan)) return true;
    return false;
}

/* Adds a plan to the list, which is sorted. The last one makes room if the list is full. */
static void insert(searching *s, cm_search *search, const cm_found *f)
{
    if (search->n_found == SHOWN && !better(s, f, &search->found[SHOWN - 1])) return;
    int32_t at = search->n_found < SHOWN ? search->n_found++ : SHOWN - 1;
    for (; at > 0 && better(s, f, &search->found[at - 1]); at--) search->found[at] = search->found[at - 1];
    search->found[at] = *f;
}

/* True: no later plan is expected among the best. Estimates are hardly above predictions (1 % with recomputation of some
   layers), but may be a fifth below them, as in fp8 on a B200. Devices that run whole graphs have no estimates. */
static bool is_complete(searching *s, const cm_search *search, const cm__scored *next)
{
    if (s->varied || search->n_found < SHOWN) return false;
    const cm_found *last = &search->found[SHOWN - 1];
    return s->m->whole || next->score >= score(s, &last->plan, last->step_time_s);
}

/* Plans from number `from` on that are predicted at once: as many as the list lacks, of which none can be left out. */
static int32_t choose_ahead(const searching *s, const cm_search *search, cm__tried *tried, int32_t from, int32_t count,
                            cm__tried *chosen[CM__KEPT])
{
    int32_t n = 0, lacks = SHOWN - search->n_found, most = lacks > threads_of(s) ? lacks : threads_of(s);
    for (int32_t i = from; i < count && n < most; i++) {
        bool skipped = tried[i].how != CM__TRY_NONE || (s->o->distinct && listed(search, &tried[i].plan));
        for (int32_t k = 0; k < n && s->o->distinct; k++) skipped |= cm__same_sizes(&chosen[k]->plan, &tried[i].plan);
        if (!skipped) chosen[n++] = &tried[i];
    }
    return n;
}

/* Predicts plan i, and on the other threads plans that follow. Samples of several lengths load graphs meanwhile, and
   devices that run whole graphs have few plans: these are predicted one by one. */
static bool find_plan(searching *s, cm__finding *f, const cm_search *search, cm__tried *tried, int32_t i, int32_t count)
{
    cm__tried *chosen[CM__KEPT];
    bool       together = threads_of(s) > 1 && !s->varied && !s->m->whole;
    if (together && tried[i].how == CM__TRY_NONE)
        cm__try_plans(f, chosen, choose_ahead(s, search, tried, i, count, chosen), threads_of(s));
    bool known = tried[i].how == CM__TRY_FITS || tried[i].how == CM__TRY_EXCEEDS;
    return known ? tried[i].how == CM__TRY_FITS : cm__find_plan(f, &tried[i].plan, NULL, &tried[i].out);
}

static void take_best(searching *s, const cm__best *best, cm_search *search)
{
    cm__finding finding = {.ctx = s->ctx, .o = s->o, .forward = s->forward, .device = s->device, .m = s->m,
                           .iterations = s->iterations, .usd_s = s->usd_s, .watts = s->watts};
    cm__tried  *tried = cm__alloc_array(s->ctx, CM__KEPT, sizeof *tried);
    for (int32_t i = 0; i < best->count; i++) tried[i].plan = best->list[i].plan;
    for (int32_t i = 0; i < best->count && !is_complete(s, search, &best->list[i]); i++) {
        if (s->o->distinct && listed(search, &tried[i].plan)) continue;
        if (search->n_found == SHOWN && by_time(s) && !s->varied)
            finding.slowest_s = search->found[SHOWN - 1].step_time_s;
        if (!find_plan(s, &finding, search, tried, i, best->count)) continue;
        if (!gains_nothing(search, &tried[i].out.found)) insert(s, search, &tried[i].out.found);
    }
}

static void find_pareto(cm_search *search)
{
    for (int32_t i = 0; i < search->n_found; i++) {
        search->found[i].pareto = true;
        for (int32_t k = 0; k < search->n_found; k++)
            if (search->found[k].step_time_s < search->found[i].step_time_s &&
                search->found[k].peak_bytes < search->found[i].peak_bytes)
                search->found[i].pareto = false;
    }
}

/* ---- no plan found ---------------------------------------------------------------------------------------------- */

/* Memory is reported as the reason only if there is no other. */
static const char *reason_of(const searching *s)
{
    const cm__best *b = &s->best;
    char            least[32];
    if (stopped(s)) return "stopped before anything was found";
    if (b->too_slow)
        return cm__format(s->ctx,
                          "%llu plans fit the memory, but none trains on %.4g tokens within the time limit: "
                          "the fastest iteration takes %.4g s",
                          (unsigned long long)b->too_slow, s->o->tokens, b->fastest_s);
    return cm__format(s->ctx,
                      "no plan fits: the smallest needs %sB per device; use more devices, or devices with more "
                      "memory",
                      cm__binary(least, sizeof least, b->least_bytes));
}

/* ---- public functions ------------------------------------------------------------------------------------------- */

static void close_ranks(void *ranks) { cm__ranks_close(ranks); }

/* IPUs and RDUs may lay one copy of a model out over several chips. */
static void allow_pipelines(cm__model *m, cm_style style)
{
    for (; m && m->whole; m = m->sharded) m->pipelines = style == CM_STYLE_BSP || style == CM_STYLE_SECTIONS;
}

/* Evaluates every plan of one forward graph. */
static void search_all(searching *s, cm_search *search)
{
    double began = now();
    s->m = cm__model_for(s->ctx, s->forward, s->device, s->o, cm__plan_shared_new(s->ctx));
    cm__model_runs_operators(s->m);
    allow_pipelines(s->m, cm_device_get_info(s->device)->style);
    find_prices(s);
    enumerate(s);
    time_places(s);
    double ready = now();
    search->info.threads = evaluate(s);
    search->info.search_time_s += now() - ready;
    search->info.setup_s += ready - began;
    gather(s);
}

/* The row that one sample for each device is padded to: micro-batches of few samples have about as many tokens. */
static int64_t usual_row(const searching *s)
{
    const cm_search_options *o = s->o;
    cm_step_options          options = {.load = o->load};
    cm__by_length            lengths = {.model = o->model, .options = &options, .longest = cm_graph_seq(s->forward)};
    int64_t                  dp = o->devices < o->global_batch ? o->devices : o->global_batch;
    /* a multiple that plans can divide among devices */
    return cm__row_tokens(&lengths, &(cm_plan){.tp = 1, .cp = 128, .dp = (int32_t)dp}, 1);
}

static void free_graph(void *graph) { cm_graph_free(graph); }

/* Samples of several lengths: memory follows the longest, time a shorter row, and which plan is best depends on it. The
   best plans by estimates at both lengths are predicted in full. */
static void take_shorter(searching *s, cm_search *search)
{
    searching       shorter = {.ctx = s->ctx, .o = s->o, .device = s->device, .ranks = s->ranks, .varied = true,
                               .best.distinct = true};
    cm_load_options load = s->o->load;
    cm_graph       *forward;
    load.seq = usual_row(s);
    load.tokens = 0;
    cm__pass_on(s->ctx, cm_graph_load(s->o->model, &load, &forward, s->ctx->diag));
    cm__defer(s->ctx, free_graph, forward);
    shorter.forward = forward;
    search_all(&shorter, search);
    take_best(s, &shorter.best, search);
}

static void check_lengths(const searching *s)
{
    cm__lengths_check(s->ctx, s->o->load.tokens, cm_graph_seq(s->forward));
    if (!s->o->model) cm__fail(s->ctx, CM_ERR_ARGUMENT, "samples of several lengths need the model's name");
}

static void run(cm_search *search, const cm_graph *forward, const cm_device *device, const cm_search_options *o)
{
    searching s = {.ctx = search->ctx, .o = o, .forward = forward, .device = device, .ranks = cm__ranks_open(),
                   .varied = o->load.tokens > 0};
    s.best.distinct = one_of_each(&s);
    if (s.ranks) cm__defer(s.ctx, close_ranks, s.ranks);
    if (s.varied) check_lengths(&s);
    search->found = cm__alloc_array(s.ctx, SHOWN, sizeof *search->found);
    search_all(&s, search);
    search->info.evaluated = s.best.evaluated;
    search->info.feasible = s.best.feasible;
    search->info.ranks = cm__rank_count(s.ranks);
    search->info.speaks = cm__rank(s.ranks) == 0;
    search->info.stopped = stopped(&s);
    take_best(&s, &s.best, search);
    if (s.varied && o->load.samples != CM_SAMPLES_PACKED) take_shorter(&s, search);
    find_pareto(search);
    if (!search->n_found) search->info.reason = reason_of(&s);
}

/* The search tries plans with recomputation itself, so options about it are of use. */
static void refuse_unused(cm__ctx *ctx, const cm_graph *forward, const cm_device *device, const cm_search_options *o)
{
    cm_step_options asked = {.train = o->train, .load = o->load, .runtime = o->runtime,
                             .layout = o->layout, .plan.recompute = CM_RECOMPUTE_FULL};
    cm_runtime      runtime = cm__runtime_on(device, o->runtime);
    asked.train.recompute = CM_RECOMPUTE_NONE;
    cm__pass_on(ctx, cm__refuse_for_model(forward, &asked, ctx->diag));
    cm__pass_on(ctx, cm__refuse_for_device(forward, device, runtime, &asked, ctx->diag));
    const char *unused = cm__without_effect(forward, NULL, device, runtime, &asked);
    if (unused) cm__fail(ctx, CM_ERR_UNSUPPORTED, "%s", unused);
}

cm_status cm_search_run(const cm_graph *forward, const cm_device *device, const cm_search_options *given,
                        cm_search **search, cm_diag *diag)
{
    cm_search_options own, *options = &own;
    cm__take_options(&own, sizeof own, given);
    if (!forward || !device || !own.fabric || !search)
        return cm__diag_set(diag, CM_ERR_ARGUMENT, "no model, device, fabric, options or result given");
    if (options->devices < 1 || options->global_batch < 1)
        return cm__diag_set(diag, CM_ERR_ARGUMENT, "a search needs a number of devices and a global batch");
    if (!cm_objective_applies(options->objective, CM_CHOICE_PLAN))
        return cm__diag_set(diag, CM_ERR_ARGUMENT, "plans are not searched by this objective");
    cm__ctx *ctx = cm__ctx_new(diag);
    if (!ctx) return CM_ERR_MEMORY;
    if (setjmp(ctx->trap)) return cm__ctx_abandon(ctx);
    cm_search *s = cm__alloc(ctx, sizeof *s);
    s->ctx = ctx;
    cm__plan_needs(ctx, options->fabric, options->devices);
    cm__plan_within(ctx, options->fabric, options->devices);
    refuse_unused(ctx, forward, device, options);
    cm_device in_layout = *device;
    if (options->layout) in_layout.layout = options->layout;
    run(s, forward, options->layout ? &in_layout : device, options);
    ctx->diag = NULL;
    *search = s;
    return CM_OK;
}

void cm_search_free(cm_search *search)
{
    if (search) cm__ctx_free(search->ctx);
}

const cm_search_info *cm_search_get_info(const cm_search *search) { return &search->info; }
int32_t               cm_search_plans(const cm_search *search) { return search->n_found; }

const cm_found *cm_search_plan(const cm_search *search, int32_t index)
{
    return index >= 0 && index < search->n_found ? &search->found[index] : NULL;
}
