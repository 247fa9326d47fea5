/* SPDX-License-Identifier: Apache-2.0 */
/*
 * simulate.c - simulate up to three steps, allocation by allocation.
 *
 * The first step allocates tensors that outlive it. The third is like all later ones. So is the second, if it reserved
 * no new segment; then the simulation ends there.
 */
#include "model/memory/simulate.h"

#include <math.h>
#include <pthread.h>
#include <string.h>
#include "model/memory/step_run.h"

#define STEPS 3

/* ---- cache of simulations without a limit ----------------------------------------------------------------------- */

#define SIMULATIONS_MOST 40 /* at powers of two */
#define LIMITS_MOST 16      /* memory sizes of devices that are nearly full, at one batch size */

/* A simulation on devices that have to free cached segments. */
typedef struct limited_simulation {
    double  limit, library_bytes, lacking;
    double  peak_bytes, reserved_bytes, categories[CM_CATEGORIES]; /* if nothing is lacking */
    int32_t peak_node;
} limited_simulation;

/* A cached simulation without a memory limit. Its result holds for every device with at least that much memory. It is
   without library workspaces if these have segments of their own (beside()). */
typedef struct cached_simulation {
    pthread_mutex_t    lock;
    cm_memory_use      use; /* peak_bytes 0: not simulated yet */
    limited_simulation limited[LIMITS_MOST];
    int                n_limited;
} cached_simulation;

typedef struct cm__simulations {
    cm__step_order    order;
    int               count; /* entries with an initialised lock */
    cached_simulation at[];
} cm__simulations;

static void release(void *simulations)
{
    cm__simulations *r = simulations;
    while (r->count) pthread_mutex_destroy(&r->at[--r->count].lock);
}

/* Bytes of library workspaces that do not change the other allocations; 0: they may. */
static double beside(const cm_footprint *f) { return 2 * (double)cm__allocator_alone(llround(f->library_bytes / 2)); }

bool cm__same_library(const cm_footprint *a, const cm_footprint *b)
{
    double of_a = beside(a) > 0 ? 0 : a->library_bytes, of_b = beside(b) > 0 ? 0 : b->library_bytes;
    return of_a == of_b;
}

static bool same_bytes(const void *a, const void *b, int32_t count, size_t size)
{
    return !count || memcmp(a, b, (size_t)count * size) == 0;
}

bool cm__footprints_alike(const cm_footprint *a, const cm_footprint *b)
{
    return cm__same_library(a, b) && a->n_nodes == b->n_nodes && a->n_pieces == b->n_pieces &&
           a->n_temporaries == b->n_temporaries && same_bytes(a->pieces, b->pieces, a->n_pieces, sizeof *a->pieces) &&
           same_bytes(a->temporaries, b->temporaries, a->n_temporaries, sizeof *a->temporaries) &&
           same_bytes(a->temporary_of, b->temporary_of, a->n_nodes, sizeof *a->temporary_of);
}

/* True: both steps make and free their pieces at the same nodes, whatever the sizes are. */
static bool same_lifetimes(const cm_footprint *a, const cm_footprint *b)
{
    if (a->n_nodes != b->n_nodes || a->n_pieces != b->n_pieces) return false;
    for (int32_t p = 0; p < a->n_pieces; p++)
        if (a->pieces[p].born != b->pieces[p].born || a->pieces[p].dies != b->pieces[p].dies) return false;
    return true;
}

static cm__step_order order_of(const cm_footprint *f)
{
    const cm_footprint *like = f->like;
    if (like && like->simulations && same_lifetimes(f, like)) return like->simulations->order;
    return cm__step_order_of(f->ctx, f);
}

/* Makes a cache with this many entries. Without memory there is none. */
static void make_cache(cm_footprint *f, int entries)
{
    if (setjmp(f->ctx->trap)) return;
    cm__simulations *r = cm__alloc(f->ctx, sizeof *r + (size_t)entries * sizeof *r->at);
    r->order = order_of(f);
    cm__defer(f->ctx, release, r);
    while (r->count < entries && pthread_mutex_init(&r->at[r->count].lock, NULL) == 0) r->count++;
    f->simulations = r;
}

void cm__footprint_share_simulations(cm_footprint *f, const cm_footprint *other)
{
    if (!f->caching) return;
    f->simulations = other ? other->simulations : NULL;
    if (!f->simulations) make_cache(f, SIMULATIONS_MOST);
}

void cm__footprint_keep_order(cm_footprint *f)
{
    if (f->caching && !f->simulations) make_cache(f, 0);
}

/* ---- public function -------------------------------------------------------------------------------------------- */

double cm__simulate_limit(const cm_footprint *f)
{
    for (int32_t l = 0; l < f->n_levels; l++)
        if (f->levels[l].holds[CM_CATEGORY_EPHEMERAL] && f->levels[l].capacity_bytes > 0)
            return cm__allocatable_bytes(f->device, f->options.runtime, f->step, f->levels[l].capacity_bytes);
    return INFINITY;
}

static void run(cm__step_run *s, cm_memory_use *use)
{
    cm__step_run_begin(s);
    for (int step = 0; step < STEPS && s->lacking == 0; step++) {
        int64_t before = cm__allocator_ever_reserved(s->allocator);
        if (step) s->use = use;
        use->peak_bytes = 0;
        cm__step_run_once(s);
        if (step && cm__allocator_ever_reserved(s->allocator) == before) break;
    }
}

/* Fills in the peak of an allocator with this limit. *lacking: bytes of the allocations that failed. */
static cm_status simulate(const cm_footprint *f, int64_t batch, double limit, double library_bytes, cm_memory_use *use,
                          double *lacking, cm_diag *diag)
{
    cm__ctx *ctx = cm__ctx_new(diag);
    if (!ctx) return CM_ERR_MEMORY;
    if (setjmp(ctx->trap)) return cm__ctx_abandon(ctx);
    cm__step_run  s = {.f = f, .ctx = ctx, .batch = (double)batch, .library_bytes = library_bytes};
    if (f->simulations) s.order = f->simulations->order;
    cm_memory_use exact = *use;
    s.allocator = cm__allocator_new(ctx, limit);
    if (f->step->asked.script.expandable_segments) cm__allocator_expand(s.allocator);
    run(&s, &exact);
    exact.reserved_bytes = (double)cm__allocator_most_reserved(s.allocator);
    if (s.lacking == 0) *use = exact;
    *lacking = s.lacking;
    cm__ctx_free(ctx);
    return CM_OK;
}

static cached_simulation *cache_at(const cm_footprint *f, int64_t batch)
{
    int power = 63 - __builtin_clzll((unsigned long long)batch);
    if (!f->simulations || batch != (int64_t)1 << power || power >= f->simulations->count) return NULL;
    return &f->simulations->at[power];
}

bool cm__may_refuse(const cm_footprint *f, int64_t batch, double lacking)
{
    bool any = f->caching && cm__facts_of(f->step).convolves;
    for (int32_t i = 0; i < f->n_nodes && any; i++) {
        bool convolves = cm__class(&f->step->nodes[i]) == CM_CLASS_CONV;
        if (convolves && lacking <= cm__temporary_at(cm__temporary_of(f, i), (double)batch)) return true;
    }
    return false;
}

/* Looks up the simulation without a limit. False: there is none, or this device would have to free cached segments or
   to refuse a workspace, which changes the result. *lacking: bytes by which the allocated peak exceeds the device. */
static bool find_unlimited(const cm_footprint *f, cached_simulation *kept, int64_t batch, cm_memory_use *use,
                           double *lacking)
{
    double library = beside(f), inside = library > 0 ? 0 : f->library_bytes;
    pthread_mutex_lock(&kept->lock);
    if (!(kept->use.peak_bytes > 0) && simulate(f, batch, INFINITY, inside, &kept->use, lacking, NULL) != CM_OK)
        kept->use.peak_bytes = 0;
    cm_memory_use found = kept->use;
    pthread_mutex_unlock(&kept->lock);
    if (!(found.peak_bytes > 0)) return false;
    *lacking = fmax(0, found.peak_bytes + library - cm__simulate_limit(f));
    if (*lacking > 0) return !cm__may_refuse(f, batch, *lacking);
    if (found.reserved_bytes + library > cm__simulate_limit(f)) return false;
    use->peak_bytes = found.peak_bytes + library;
    use->peak_node = found.peak_node;
    use->reserved_bytes = found.reserved_bytes + library;
    memcpy(use->categories, found.categories, sizeof use->categories);
    use->categories[CM_CATEGORY_EPHEMERAL] += library;
    return true;
}

static bool find_limited(const cm_footprint *f, cached_simulation *kept, double limit, cm_memory_use *use,
                         double *lacking)
{
    int i = 0;
    pthread_mutex_lock(&kept->lock);
    while (i < kept->n_limited &&
           (kept->limited[i].limit != limit || kept->limited[i].library_bytes != f->library_bytes)) i++;
    bool               found = i < kept->n_limited;
    limited_simulation one = kept->limited[found ? i : 0];
    pthread_mutex_unlock(&kept->lock);
    if (!found) return false;
    *lacking = one.lacking;
    if (one.lacking > 0) return true;
    use->peak_bytes = one.peak_bytes;
    use->peak_node = one.peak_node;
    use->reserved_bytes = one.reserved_bytes;
    memcpy(use->categories, one.categories, sizeof use->categories);
    return true;
}

/* Threads that simulate the same limit at the same time keep equal results. */
static void keep_limited(const cm_footprint *f, cached_simulation *kept, double limit, const cm_memory_use *use,
                         double lacking)
{
    limited_simulation one = {.limit = limit, .library_bytes = f->library_bytes, .lacking = lacking,
                              .peak_bytes = use->peak_bytes,
                              .reserved_bytes = use->reserved_bytes, .peak_node = use->peak_node};
    memcpy(one.categories, use->categories, sizeof one.categories);
    pthread_mutex_lock(&kept->lock);
    if (kept->n_limited < LIMITS_MOST) kept->limited[kept->n_limited++] = one;
    pthread_mutex_unlock(&kept->lock);
}

static cm_status simulate_on(const cm_footprint *f, int64_t batch, cm_memory_use *use, double *lacking, cm_diag *diag)
{
    cached_simulation *kept = cache_at(f, batch);
    double             limit = cm__simulate_limit(f);
    if (kept && (find_unlimited(f, kept, batch, use, lacking) || find_limited(f, kept, limit, use, lacking)))
        return CM_OK;
    cm_status status = simulate(f, batch, limit, f->library_bytes, use, lacking, diag);
    if (kept && !status) keep_limited(f, kept, limit, use, *lacking);
    return status;
}

cm_status cm_footprint_simulate(const cm_footprint *f, int64_t batch, cm_memory_use *use, cm_diag *diag)
{
    double lacking = 0;
    cm_footprint_at(f, batch, use);
    if (!f->caching || !use->n_levels) return CM_OK;
    cm_status status = simulate_on(f, batch, use, &lacking, diag);
    if (status) return status;
    bool lacked = lacking > 0 && use->fits;
    cm__place_use(f, batch, use);
    if (lacked && use->fits) { /* the polynomials fit, the allocator's blocks do not */
        use->fits = false;
        use->shortfall_bytes = lacking;
    }
    return CM_OK;
}

double cm__simulate_slack(const cm_footprint *f)
{
    cm__ctx       *scratch = cm__scratch_new(f->ctx);
    cm__allocator *a = cm__allocator_new(scratch, INFINITY);
    double         requested = 0;
    for (int32_t p = 0; p < f->n_pieces; p++) {
        const cm__piece *x = &f->pieces[p];
        double           bytes = x->bytes.c[0];
        bool kept = x->dies >= f->n_nodes && x->bytes.c[1] == 0 && x->bytes.c[2] == 0 && x->bytes.c[3] == 0;
        if (!kept || bytes <= 0) continue;
        requested += bytes;
        cm__allocator_take(a, llround(bytes), CM__STREAM_COMPUTE);
    }
    double slack = (double)cm__allocator_allocated(a) - requested;
    cm__scratch_free(scratch);
    return slack;
}
