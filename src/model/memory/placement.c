/* SPDX-License-Identifier: Apache-2.0 */
/*
 * placement.c - which memory stores what, by the device's policy.
 *
 * A category is stored where the profile places it. A streamed category is stored there, too, and passes through the
 * memory nearest to the cores, which needs two buffers for the largest node's share of it: one in use, one being
 * filled. If the graph runs in sections, samples pass through a section one after the other: the chip stores what one
 * sample needs there, and results that leave a section go off the chip. An operator whose operands exceed the chip, or
 * an update whose buffers do, passes in slices: it fills the chip and still fits.
 */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "model/memory/footprint.h"

static int32_t level_of(const cm_footprint *f, int32_t memory)
{
    for (int32_t l = 0; l < f->n_levels; l++)
        if (f->levels[l].memory == memory) return l;
    return -1;
}

/* Lists the memories that programs fill. A hardware cache only has copies. */
static void list_levels(cm_footprint *f)
{
    for (int32_t i = 0; i < cm_device_memories(f->device) && f->n_levels < CM_LEVELS_MAX; i++) {
        const cm_memory *m = cm_device_memory(f->device, i);
        if (m->cache || m->place == CM_PLACE_HOST) continue;
        f->levels[f->n_levels++] = (cm__level){.memory = i, .capacity_bytes = m->capacity_bytes.value};
    }
}

static int32_t main_level(const cm_footprint *f)
{
    const cm_memory *m = cm_device_main_memory(f->device);
    for (int32_t l = 0; m && l < f->n_levels; l++)
        if (cm_device_memory(f->device, f->levels[l].memory) == m) return l;
    return f->n_levels - 1;
}

/* Two buffers for the parameters that a node reads, or the gradients that it writes. */
static double largest_share(const cm_footprint *f, cm_category c)
{
    double most = 0;
    for (int32_t i = 0; i < f->n_nodes; i++) {
        const cm_node *n = &f->step->nodes[i];
        double         bytes = 0;
        if (n->phase == CM_UPDATE) continue;
        for (int32_t k = 0; k < n->n_inputs; k++) {
            const cm_tensor *t = n->inputs[k] < 0 ? NULL : cm__t(f->step, n->inputs[k]);
            if (t && t->role == CM_ROLE_PARAMETER && c == CM_CATEGORY_WEIGHTS_BIASES) bytes += cm_tensor_bytes(t).c[0];
        }
        for (int32_t o = 0; o < n->n_outputs; o++) {
            const cm_tensor *t = n->outputs[o] < 0 ? NULL : cm__t(f->step, n->outputs[o]);
            if (t && t->role == CM_ROLE_PARAMETER_GRADIENT && c == CM_CATEGORY_GRADIENTS)
                bytes += cm_tensor_bytes(t).c[0];
        }
        if (bytes > most) most = bytes;
    }
    return 2 * most;
}

static double share_of(cm_footprint *f, const cm_footprint *like, cm_category c)
{
    if (like && like->largest_bytes[c] > 0) f->largest_bytes[c] = like->largest_bytes[c];
    if (!(f->largest_bytes[c] > 0)) f->largest_bytes[c] = largest_share(f, c);
    return f->largest_bytes[c];
}

/* Bytes at batch size 1. */
static double one_sample(const cm_tensor *t)
{
    double bytes = (double)cm_dtype_size(t->dtype);
    for (int32_t i = 0; i < t->rank; i++) bytes *= (double)(t->dims[i].per_batch + t->dims[i].fixed);
    return bytes;
}

/* Activations of one sample that a node reads and writes, independent of the batch size. */
static double working_set(const cm_footprint *f, int32_t node)
{
    const cm_node *n = &f->step->nodes[node];
    double         sum = 0;
    for (int32_t k = 0; k < n->n_inputs + n->n_outputs; k++) {
        int32_t t = k < n->n_inputs ? n->inputs[k] : n->outputs[k - n->n_inputs];
        if (t < 0) continue;
        cm_role role = cm__t(f->step, t)->role;
        if (role == CM_ROLE_ACTIVATION || role == CM_ROLE_GRADIENT || role == CM_ROLE_SAVED || role == CM_ROLE_INPUT)
            sum += one_sample(cm__t(f->step, t));
    }
    return sum;
}

/* ---- peaks of levels, kept for other devices --------------------------------------------------------------------- */

typedef struct kept_level {
    struct kept_level *next;
    cm__level          level;
    double             library_bytes;
    cm__summit         summits[];
} kept_level;

typedef struct cm__kept_levels {
    pthread_mutex_t lock;
    kept_level     *first;
} cm__kept_levels;

static void release(void *levels)
{
    cm__kept_levels *l = levels;
    for (kept_level *k = l->first, *next; k; k = next) {
        next = k->next;
        free(k);
    }
    pthread_mutex_destroy(&l->lock);
}

static cm__kept_levels *kept_levels_new(cm__ctx *ctx)
{
    cm__kept_levels *l = cm__alloc(ctx, sizeof *l);
    if (pthread_mutex_init(&l->lock, NULL)) cm__fail(ctx, CM_ERR_MEMORY, "cannot create a lock");
    cm__defer(ctx, release, l);
    return l;
}

/* Only sections depend on the size of the memory: an operator that exceeds it is laid out in tiles. */
static bool same_peaks(const kept_level *k, const cm_footprint *f, const cm__level *level)
{
    const cm__level *other = &k->level;
    return k->library_bytes == f->library_bytes && memcmp(other->holds, level->holds, sizeof other->holds) == 0 &&
           other->extra.c[0] == level->extra.c[0] && other->sectioned == level->sectioned &&
           (!level->sectioned || other->capacity_bytes == level->capacity_bytes);
}

/* Levels are kept as long as the footprint that found the pieces, so that summits need not be copied. */
static bool find_kept(const cm_footprint *f, cm__level *level)
{
    cm__kept_levels *l = f->kept_levels;
    pthread_mutex_lock(&l->lock);
    const kept_level *k = l->first;
    while (k && !same_peaks(k, f, level)) k = k->next;
    pthread_mutex_unlock(&l->lock);
    if (k) level->summits = k->level.summits;
    return k;
}

/* Threads that find the same peaks at the same time keep equal ones. Without memory, they are not kept. */
static void keep(const cm_footprint *f, const cm__level *level)
{
    size_t      bytes = (size_t)level->summits.count * sizeof *level->summits.list;
    kept_level *k = malloc(sizeof *k + bytes);
    if (!k) return;
    *k = (kept_level){.level = *level, .library_bytes = f->library_bytes};
    memcpy(k->summits, level->summits.list, bytes);
    k->level.summits.list = k->summits;
    pthread_mutex_lock(&f->kept_levels->lock);
    k->next = f->kept_levels->first;
    f->kept_levels->first = k;
    pthread_mutex_unlock(&f->kept_levels->lock);
}

/* ---- levels ----------------------------------------------------------------------------------------------------- */

/* Finds the peaks of a level with a part of the categories, or with sections. */
static void add_summits(cm_footprint *f, cm__level *level)
{
    static const cm__temporary none = {.least_batch = 0};
    cm__ctx  *scratch = cm__scratch_new(f->ctx);
    cm__alive alive = cm__alive_of(scratch, f);
    for (int32_t i; (i = cm__alive_next(&alive)) >= 0;) {
        cm_poly sum = level->extra;
        bool    section = level->sectioned && f->step->nodes[i].phase != CM_UPDATE;
        if (section) sum.c[0] += working_set(f, i);
        for (cm_category c = 0; c < CM_CATEGORIES; c++)
            if (level->holds[c] && !section) sum = cm__poly_add(sum, alive.now[c]);
        if (level->holds[CM_CATEGORY_EPHEMERAL] && !section) sum.c[0] += f->library_bytes;
        if (level->sectioned && sum.c[0] > level->capacity_bytes) sum.c[0] = level->capacity_bytes;
        cm__summit_add(f->ctx, &level->summits, sum,
                       level->holds[CM_CATEGORY_EPHEMERAL] ? cm__temporary_of(f, i) : &none, i);
    }
    cm__scratch_free(scratch);
}

static void raise_summits(cm_footprint *f, cm__level *level, bool sections)
{
    bool on_chip = cm_device_memory(f->device, level->memory)->place == CM_PLACE_ON_CHIP;
    bool everything = level->extra.c[0] == 0, nothing = everything;
    for (cm_category c = 0; c < CM_CATEGORIES; c++) {
        everything = everything && level->holds[c];
        nothing = nothing && !level->holds[c];
    }
    if (everything && !(sections && on_chip)) level->summits = f->summits;
    if ((everything || nothing) && !(sections && on_chip)) return;
    level->sectioned = sections && on_chip;
    if (find_kept(f, level)) return;
    add_summits(f, level);
    keep(f, level);
}

void cm__place_categories(cm_footprint *f, const cm_footprint *like)
{
    f->kept_levels = like ? like->kept_levels : kept_levels_new(f->ctx);
    list_levels(f);
    if (!f->n_levels) return;
    bool sections = cm_device_get_info(f->device)->style == CM_STYLE_SECTIONS;
    for (cm_category c = 0; c < CM_CATEGORIES; c++) {
        cm_placement p = cm_device_placement(f->device, c);
        int32_t      l = level_of(f, p.memory);
        bool         spills = sections && c == CM_CATEGORY_INPUT_OUTPUT;
        if (l < 0) l = main_level(f);
        f->levels[spills ? f->n_levels - 1 : l].holds[c] = true;
        if (p.streamed && l > 0) f->levels[0].extra.c[0] += share_of(f, like, c);
    }
    for (int32_t l = 0; l < f->n_levels; l++) raise_summits(f, &f->levels[l], sections);
}

/* If there is only one memory, its use is what the allocator reserves, plus the context. */
void cm__place_use(const cm_footprint *f, int64_t batch, cm_memory_use *use)
{
    use->n_levels = f->n_levels;
    use->fits = use->sure = true;
    use->shortfall_bytes = 0;
    use->n_alternatives = 0;
    use->plan_devices = f->options.plan.devices;
    for (int32_t l = 0; l < f->n_levels; l++) {
        const cm__level *level = &f->levels[l];
        double           used;
        cm__summit_at(&level->summits, (double)batch, &used);
        bool all = true;
        for (cm_category c = 0; c < CM_CATEGORIES; c++) all &= level->holds[c];
        if (all) used = use->reserved_bytes + use->context_bytes;
        use->levels[l] = (cm_level_use){level->memory, level->capacity_bytes, used};
        double usable = level->capacity_bytes;
        if (all && f->caching)
            usable = cm__allocatable_bytes(f->device, f->options.runtime, f->step, usable) + use->context_bytes;
        double lacking = used - usable; /* NAN: the capacity is unknown and assumed to be sufficient */
        if (lacking > 0) use->fits = false;
        if (lacking > use->shortfall_bytes) use->shortfall_bytes = lacking;
    }
}
