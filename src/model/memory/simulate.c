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
#include "model/memory/allocator.h"

#define STEPS 3

typedef struct simulation {
    const cm_footprint *f;
    cm__ctx            *ctx;
    cm__allocator      *allocator;
    double              batch, library_bytes;
    int32_t            *block;     /* per piece; -1: none */
    int64_t            *bytes;     /* per piece, rounded */
    int64_t            *temporary; /* per node, rounded */
    /* lists of pieces by the node that makes them; n_nodes: before the step */
    int32_t            *first_born, *next_born;
    int32_t            *first_dead, *next_dead; /* lists by the last node that uses them */
    double              now[CM_CATEGORIES], lacking;
    cm_memory_use      *use;       /* use of the current step; NULL: the first step, which does not count */
} simulation;

/* ---- order of allocations --------------------------------------------------------------------------------------- */

static int32_t *filled(cm__ctx *ctx, int32_t count)
{
    int32_t *list = cm__alloc_array(ctx, (size_t)count + 1, sizeof *list);
    for (int32_t i = 0; i <= count; i++) list[i] = -1;
    return list;
}

/* Builds lists of pieces by node, in the order of tensors. */
static void index_pieces(simulation *s)
{
    const cm_footprint *f = s->f;
    s->block = filled(s->ctx, f->n_pieces);
    s->bytes = cm__alloc_array(s->ctx, (size_t)f->n_pieces + 1, sizeof *s->bytes);
    s->temporary = cm__alloc_array(s->ctx, (size_t)f->n_nodes + 1, sizeof *s->temporary);
    s->first_born = filled(s->ctx, f->n_nodes);
    s->first_dead = filled(s->ctx, f->n_nodes);
    s->next_born = filled(s->ctx, f->n_pieces);
    s->next_dead = filled(s->ctx, f->n_pieces);
    for (int32_t p = f->n_pieces - 1; p >= 0; p--) {
        const cm__piece *x = &f->pieces[p];
        int32_t          born = x->born < 0 ? f->n_nodes : x->born;
        if (x->born < 0 && x->dies < 0) continue;
        s->bytes[p] = llround(cm__poly_at(&x->bytes, s->batch));
        s->next_born[p] = s->first_born[born];
        s->first_born[born] = p;
        if (x->dies >= f->n_nodes) continue;
        s->next_dead[p] = s->first_dead[x->dies];
        s->first_dead[x->dies] = p;
    }
    for (int32_t i = 0; i < f->n_nodes; i++) s->temporary[i] = llround(cm__temporary_at(&f->temporary[i], s->batch));
}

/* ---- allocation ------------------------------------------------------------------------------------------------- */

/* A block of so many bytes, rounded; -1: there is no room. */
static int32_t try_take(simulation *s, int64_t bytes, cm_category c)
{
    int32_t block = cm__allocator_take(s->allocator, bytes);
    s->now[c] += (double)cm__allocator_size(s->allocator, block);
    return block;
}

static int32_t take(simulation *s, double bytes, cm_category c)
{
    int32_t block = try_take(s, llround(bytes), c);
    if (block == -1) s->lacking += bytes;
    return block;
}

static void give(simulation *s, int32_t block, cm_category c)
{
    s->now[c] -= (double)cm__allocator_size(s->allocator, block);
    cm__allocator_free(s->allocator, block);
}

static void note_peak(simulation *s, int32_t node)
{
    double all = (double)cm__allocator_allocated(s->allocator);
    if (!s->use || all <= s->use->peak_bytes) return;
    s->use->peak_bytes = all;
    s->use->peak_node = node;
    memcpy(s->use->categories, s->now, sizeof s->now);
}

static void make_pieces(simulation *s, int32_t node)
{
    for (int32_t p = s->first_born[node]; p >= 0; p = s->next_born[p]) {
        const cm__piece *x = &s->f->pieces[p];
        if (s->block[p] != -1) continue; /* outlived the previous step */
        s->block[p] = try_take(s, s->bytes[p], x->category);
        if (s->block[p] == -1) s->lacking += cm__poly_at(&x->bytes, s->batch);
    }
}

static void drop_pieces(simulation *s, int32_t node)
{
    for (int32_t p = s->first_dead[node]; p >= 0; p = s->next_dead[p]) {
        give(s, s->block[p], s->f->pieces[p].category);
        s->block[p] = -1;
    }
}

/* An update has a temporary tensor for each parameter, all at once (PyTorch's foreach): they need not be in one piece.
   Returns the number of blocks. */
static int32_t take_for_update(simulation *s, const cm_node *n, int32_t node, int32_t *blocks)
{
    double  all = 0, bytes = cm__temporary_at(&s->f->temporary[node], s->batch);
    int32_t count = 0;
    blocks[0] = try_take(s, s->temporary[node], CM_CATEGORY_EPHEMERAL);
    if (blocks[0] != -1) return 1;
    for (int pass = 0; pass < 2; pass++)
        for (int32_t i = 0; i < n->n_inputs; i++) {
            const cm_tensor *x = cm__t(s->f->step, n->inputs[i]);
            double           elements = x->role == CM_ROLE_PARAMETER ? cm_tensor_elements(x).c[0] : 0;
            if (!pass) all += elements;
            else if (elements > 0) blocks[count++] = take(s, bytes * elements / all, CM_CATEGORY_EPHEMERAL);
        }
    return count;
}

/* A convolution without room for its workspace runs another algorithm, which needs none: PyTorch skips algorithms whose
   workspace it cannot allocate. */
static int32_t take_for_node(simulation *s, const cm_node *n, int32_t node)
{
    int32_t block = try_take(s, s->temporary[node], CM_CATEGORY_EPHEMERAL);
    if (block == -1 && cm__class(n) != CM_CLASS_CONV) s->lacking += cm__temporary_at(&s->f->temporary[node], s->batch);
    return block;
}

static void run_update(simulation *s, const cm_node *n, int32_t node)
{
    int32_t *blocks = cm__alloc_array(s->ctx, (size_t)n->n_inputs + 1, sizeof *blocks);
    int32_t  count = take_for_update(s, n, node, blocks);
    note_peak(s, node);
    for (int32_t i = 0; i < count; i++) give(s, blocks[i], CM_CATEGORY_EPHEMERAL);
}

static void run_node(simulation *s, int32_t node)
{
    const cm_node *n = &s->f->step->nodes[node];
    make_pieces(s, node);
    if (n->op == CM_OP_UPDATE) run_update(s, n, node);
    else {
        int32_t block = take_for_node(s, n, node);
        note_peak(s, node);
        give(s, block, CM_CATEGORY_EPHEMERAL);
    }
    drop_pieces(s, node);
}

/* One workspace each for the forward thread and the backward thread. */
static void take_library(simulation *s)
{
    for (int i = 0; i < 2; i++) take(s, s->library_bytes / 2, CM_CATEGORY_EPHEMERAL);
}

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
    cached_simulation at[SIMULATIONS_MOST];
    int               count; /* entries with an initialised lock */
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

bool cm__footprints_alike(const cm_footprint *a, const cm_footprint *b)
{
    return cm__same_library(a, b) && a->n_nodes == b->n_nodes && a->n_pieces == b->n_pieces &&
           memcmp(a->pieces, b->pieces, (size_t)a->n_pieces * sizeof *a->pieces) == 0 &&
           memcmp(a->temporary, b->temporary, (size_t)a->n_nodes * sizeof *a->temporary) == 0;
}

void cm__footprint_share_simulations(cm_footprint *f, const cm_footprint *other)
{
    if (!f->caching) return;
    f->simulations = other ? other->simulations : NULL;
    if (f->simulations || setjmp(f->ctx->trap)) return; /* without memory there is no cache */
    cm__simulations *r = cm__alloc(f->ctx, sizeof *r);
    cm__defer(f->ctx, release, r);
    while (r->count < SIMULATIONS_MOST && pthread_mutex_init(&r->at[r->count].lock, NULL) == 0) r->count++;
    f->simulations = r;
}

/* ---- public function -------------------------------------------------------------------------------------------- */

static double limit_of(const cm_footprint *f)
{
    for (int32_t l = 0; l < f->n_levels; l++)
        if (f->levels[l].holds[CM_CATEGORY_EPHEMERAL] && f->levels[l].capacity_bytes > 0)
            return f->levels[l].capacity_bytes * (1 - CM__HEADROOM) - f->context_bytes;
    return INFINITY;
}

static void run(simulation *s, cm_memory_use *use)
{
    index_pieces(s);
    make_pieces(s, s->f->n_nodes);
    take_library(s);
    for (int step = 0; step < STEPS && s->lacking == 0; step++) {
        int64_t before = cm__allocator_ever_reserved(s->allocator);
        if (step) s->use = use;
        use->peak_bytes = 0;
        for (int32_t i = 0; i < s->f->n_nodes; i++) run_node(s, i);
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
    simulation    s = {.f = f, .ctx = ctx, .batch = (double)batch, .library_bytes = library_bytes};
    cm_memory_use exact = *use;
    s.allocator = cm__allocator_new(ctx, limit);
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
        if (convolves && lacking <= cm__temporary_at(&f->temporary[i], (double)batch)) return true;
    }
    return false;
}

/* Looks up the simulation without a limit. False: there is none, or this device would have to free cached segments or to
   refuse a workspace, which changes the result. *lacking: bytes by which the allocated peak exceeds the device. */
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
    *lacking = fmax(0, found.peak_bytes + library - limit_of(f));
    if (*lacking > 0) return !cm__may_refuse(f, batch, *lacking);
    if (found.reserved_bytes + library > limit_of(f)) return false;
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
    double             limit = limit_of(f);
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
    cm__allocator *a = cm__allocator_new(f->ctx, INFINITY);
    double         requested = 0;
    for (int32_t p = 0; p < f->n_pieces; p++) {
        const cm__piece *x = &f->pieces[p];
        double           bytes = x->bytes.c[0];
        bool kept = x->dies >= f->n_nodes && x->bytes.c[1] == 0 && x->bytes.c[2] == 0 && x->bytes.c[3] == 0;
        if (!kept || bytes <= 0) continue;
        requested += bytes;
        cm__allocator_take(a, llround(bytes));
    }
    return (double)cm__allocator_allocated(a) - requested;
}
