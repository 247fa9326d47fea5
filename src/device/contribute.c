/* SPDX-License-Identifier: Apache-2.0 */
/*
 * contribute.c - add a measured profile to a file of the same device and software.
 *
 * Times of another device or release would not be comparable, so the sources of tables say what was measured: `device`,
 * `software` and `conditions`. A benchmark writes them.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "device/file.h"
#include "device/merge.h"
#include "device/profile.h"
#include "device/tables_used.h"

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

static bool is_stated(const json_t *source, const char *key)
{
    return *text_of(source, key) || json_object_size(json_object_get(source, key));
}

static const json_t *source_of(const json_t *profile, const json_t *table)
{
    return json_object_get(json_object_get(profile, "sources"), text_of(table, "source"));
}

static void check_sources(cm__ctx *ctx, const json_t *profile, const cm__origin *origin)
{
    static const char *const needed[] = {"device", "software", "conditions"};
    cm__step                 sources = {NULL, "sources", 0}, kernels = {NULL, "kernels", 0};
    const json_t            *tables = json_object_get(profile, "kernels");
    if (!json_array_size(tables)) cm__refuse(ctx, origin, &kernels, "no tables: only measured times can be added");
    for (size_t i = 0; i < json_array_size(tables); i++) {
        const json_t *table = json_array_get(tables, i);
        cm__step      step = {&sources, text_of(table, "source"), 0}, one = {&kernels, NULL, i};
        if (strcmp(text_of(table, "kind"), "measured"))
            cm__refuse(ctx, origin, &one, "of kind '%.32s': only measured times can be added", text_of(table, "kind"));
        for (size_t k = 0; k < sizeof needed / sizeof *needed; k++)
            if (!is_stated(source_of(profile, table), needed[k]))
                cm__refuse(ctx, origin, &step, "has no '%s'; the measurement could not be repeated", needed[k]);
    }
}

/* Tables of both files that have a source of the same name. */
static void check_same(cm__ctx *ctx, const json_t *into, const json_t *from, const cm__origin *origin, const char *path)
{
    static const char *const members[] = {"id", "base"}, *const same[] = {"device", "software"};
    for (size_t i = 0; i < 2; i++)
        if (strcmp(text_of(into, members[i]), text_of(from, members[i])))
            cm__refuse(ctx, origin, &(cm__step){NULL, members[i], 0}, "'%.64s', but %s has '%.64s': give another file (-o)",
                       text_of(from, members[i]), path, text_of(into, members[i]));
    const char *key;
    json_t     *source;
    cm__step    sources = {NULL, "sources", 0};
    json_object_foreach(json_object_get(into, "sources"), key, source) {
        const json_t *other = json_object_get(json_object_get(from, "sources"), key);
        cm__step      step = {&sources, key, 0};
        for (size_t i = 0; i < 2 && other; i++)
            if (!json_equal(json_object_get(source, same[i]), json_object_get(other, same[i])))
                cm__refuse(ctx, origin, &step, "another %s than in %s: give another file (-o)", same[i], path);
    }
}

static json_t *profile_at(cm__ctx *ctx, const char *path, cm__origin *origin)
{
    cm_profile_summary summary = {.n_uses = 0};
    *origin = cm__file_read(ctx, path);
    cm__profile p = cm__profile_parse(ctx, CM__PROFILE_DEVICE, origin);
    if (!json_is_true(json_object_get(p.tree, "abstract")))
        cm__tables_used(ctx, cm__device_read(ctx, &p), origin, &summary);
    json_t *own = cm__json_read(ctx, origin->text, origin->size, JSON_REJECT_DUPLICATES);
    check_sources(ctx, own, origin);
    return own;
}

cm_status cm_device_contribute(const char *path, const char *into, char **profile, cm_merge_counts *counts, cm_diag *diag)
{
    if (!path || !profile || !counts) return cm__diag_set(diag, CM_ERR_ARGUMENT, "no profile or result given");
    cm__ctx *ctx = cm__ctx_new(diag);
    if (!ctx) return CM_ERR_MEMORY;
    if (setjmp(ctx->trap)) return cm__ctx_abandon(ctx);
    cm__origin origin, other;
    json_t    *from = profile_at(ctx, path, &origin);
    json_t    *all = into && access(into, F_OK) == 0 ? profile_at(ctx, into, &other) : NULL;
    if (all) check_same(ctx, all, from, &origin, into);
    else {
        all = cm__json_read(ctx, origin.text, origin.size, JSON_REJECT_DUPLICATES);
        json_object_set_new(all, "kernels", json_array());
    }
    *counts = (cm_merge_counts){0};
    cm__tables_merge(ctx, all, from, counts);
    *profile = cm__tables_print(ctx, all);
    cm__ctx_free(ctx);
    return CM_OK;
}
