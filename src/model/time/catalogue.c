/* SPDX-License-Identifier: Apache-2.0 */
/* catalogue.c - sort the kernel tables of a runtime into families. */
#include "model/time/catalogue.h"

#include <pthread.h>
#include <stdlib.h>
#include "base/text.h"
#include "base/versions.h"
#include "graph/runtimes.h"

/* ---- families ---------------------------------------------------------------------------------------------------- */

/* The family of an attention kernel that the user may name: kernels have nothing in common but their sizes. */
static int kernel_kind(cm__variant_form form)
{
    bool flash = form == CM__FORM_FLASH || form == CM__FORM_FLASH1;
    return flash ? CM__KINDS - 2 : form == CM__FORM_EFFICIENT ? CM__KINDS - 1 : 0;
}

int cm__kind_of(int op, cm__variant variant, cm__types types)
{
    cm__variant_form form = cm__form_of(variant);
    if (op == CM__CALL_ATTENTION && kernel_kind(form)) return kernel_kind(form);
    if (op == CM__CALL_ELEMENTWISE) return form != CM__FORM_NONE;
    if (op == CM__CALL_REDUCE) return cm__variant_cumulates(variant); /* cumsum and sum have different kernels */
    return cm__call_kinds[op].engine == CM_ENGINE_MATRIX && (cm__types_16_bits(types) || types == CM__ALL(CM_FP8));
}

#define PLACES (CM__CALLS * CM__KINDS)

/* The family of a table of this runtime, an index; -1: it is of another runtime. */
static int family_for(const cm__kernel_table *t, const char *runtime)
{
    return cm__same_text(t->runtime, runtime) ? t->op * CM__KINDS + cm__kind_of(t->op, t->variant, t->types) : -1;
}

/* Finds the family of each table, and counts the tables of each family: those of its best release. */
static void count_tables(const cm__catalogue *c, const char *runtime, int16_t *places, int32_t count[PLACES])
{
    const cm__kernel_table *all = c->kernels.tables, *best[PLACES] = {NULL};
    for (int32_t i = 0; i < c->kernels.count; i++) {
        int place = places[i] = (int16_t)family_for(&all[i], runtime);
        if (place >= 0 && (!best[place] || cm__versions_better(all[i].software, best[place]->software, c->asked)))
            best[place] = &all[i];
    }
    for (int32_t i = 0; i < c->kernels.count; i++) {
        int place = places[i];
        if (place < 0) continue;
        if (cm__versions_differ(best[place]->software, all[i].software)) places[i] = -1;
        else count[place]++;
    }
}

/* Appends the tables to their families, in their order. */
static void take_tables(cm__catalogue *c, cm__kernels kernels, const int16_t *places)
{
    for (int32_t i = 0; i < kernels.count; i++) {
        cm__members *f = places[i] < 0 ? NULL : &c->families[0][0] + places[i];
        if (f) c->tables[f->first + f->count++] = &kernels.tables[i];
    }
}

static void fill(cm__ctx *ctx, cm__catalogue *c)
{
    cm_runtime  otherwise = cm__runtime_of(c->runtime)->tables;
    const char *names[] = {cm_runtime_name(c->runtime), cm_runtime_name(otherwise)};
    int         runtimes = otherwise == c->runtime ? 1 : 2;
    int32_t     count[PLACES] = {0};
    cm__kernels kernels = c->kernels;
    c->tables = cm__alloc_unset(ctx, (size_t)kernels.count, sizeof *c->tables);
    int16_t *places = cm__alloc_unset(ctx, 2 * (size_t)kernels.count, sizeof *places); /* per runtime and kernel */
    for (int r = 0; r < runtimes; r++) count_tables(c, names[r], places + r * kernels.count, count);
    for (int place = 0; place < PLACES; place++) {
        (&c->families[0][0] + place)->first = c->count;
        c->count += count[place];
    }
    for (int r = 0; r < runtimes; r++) take_tables(c, kernels, places + r * kernels.count);
}

static cm__catalogue *make(cm__ctx *ctx, cm__kernels kernels, cm_runtime runtime, cm_versions asked)
{
    cm__catalogue *c = cm__alloc(ctx, sizeof *c);
    c->kernels = kernels;
    c->runtime = runtime;
    c->asked = asked;
    if (kernels.count) fill(ctx, c);
    return c;
}

/* ---- kept catalogues --------------------------------------------------------------------------------------------- */

struct cm__catalogues {
    pthread_mutex_t lock;
    cm__ctx        *ctx; /* of the catalogues: only who holds the lock allocates in it */
    cm__catalogue  *first;
};

static void release(void *object)
{
    cm__catalogues *kept = object;
    pthread_mutex_destroy(&kept->lock);
    cm__ctx_free(kept->ctx);
}

cm__catalogues *cm__catalogues_new(cm__ctx *ctx)
{
    cm__catalogues *kept = cm__alloc(ctx, sizeof *kept);
    kept->ctx = cm__ctx_new(NULL);
    if (!kept->ctx || pthread_mutex_init(&kept->lock, NULL)) {
        cm__ctx_free(kept->ctx);
        cm__fail(ctx, CM_ERR_MEMORY, "cannot create a lock");
    }
    cm__defer(ctx, release, kept);
    return kept;
}

/* NULL: it is not kept, and there is no memory to make it. */
static const cm__catalogue *find(cm__catalogues *kept, cm__kernels kernels, cm_runtime runtime, cm_versions asked)
{
    if (setjmp(kept->ctx->trap)) return NULL;
    cm__catalogue *c = kept->first;
    while (c && (c->kernels.tables != kernels.tables || c->kernels.count != kernels.count || c->runtime != runtime ||
                 memcmp(&c->asked, &asked, sizeof asked) != 0))
        c = c->next;
    if (c) return c;
    c = make(kept->ctx, kernels, runtime, asked);
    c->next = kept->first;
    return kept->first = c;
}

const cm__catalogue *cm__catalogue_of(cm__ctx *ctx, cm__catalogues *kept, cm__kernels kernels, cm_runtime runtime,
                                      cm_versions asked)
{
    const cm__catalogue *found = NULL;
    if (kept) {
        pthread_mutex_lock(&kept->lock);
        found = find(kept, kernels, runtime, asked);
        pthread_mutex_unlock(&kept->lock);
    }
    return found ? found : make(ctx, kernels, runtime, asked);
}
