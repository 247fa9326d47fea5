/* SPDX-License-Identifier: Apache-2.0 */
/* profile.c - load a profile by id or path: parse it, merge it with its bases, and check it unless it is built in. */
#include "device/profile.h"

#include <string.h>
#include "base/text.h"
#include "device/file.h"
#include "device/kernels.h"
#include "device/schema.h"

/* ---- what is built in ------------------------------------------------------------------------------------------- */

static const struct {
    const cm__embedded_profile *rows;
    const int32_t              *count;
    const char                 *what, *schema;
} kinds[] = {
    [CM__PROFILE_DEVICE] = {cm__embedded_devices, &cm__n_embedded_devices, "device", "device.schema"},
    [CM__PROFILE_CLUSTER] = {cm__embedded_clusters, &cm__n_embedded_clusters, "cluster", "cluster.schema"},
};

const cm__embedded_profile *cm__profile_find(cm__profile_kind kind, const char *id)
{
    for (int32_t i = 0; i < *kinds[kind].count; i++)
        if (cm__same_name(id, kinds[kind].rows[i].id)) return &kinds[kind].rows[i];
    return NULL;
}

const cm__embedded_profile *cm__profile_at(cm__profile_kind kind, int32_t index)
{
    bool there = index >= 0 && index < *kinds[kind].count && !kinds[kind].rows[index].abstract;
    return there ? &kinds[kind].rows[index] : NULL;
}

/* Families come last. */
int32_t cm__profiles(cm__profile_kind kind)
{
    int32_t count = 0;
    while (cm__profile_at(kind, count)) count++;
    return count;
}

/* ---- trees ------------------------------------------------------------------------------------------------------ */

/* An object that is merged member by member; numbers with their source are replaced as a whole. */
static bool is_group(const json_t *value) { return json_is_object(value) && !json_object_get(value, "value"); }

static bool same_cost(const json_t *a, const json_t *b)
{
    static const char *const keys[] = {"runtime", "what"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (!json_equal(json_object_get(a, keys[i]), json_object_get(b, keys[i]))) return false;
    return true;
}

/* Host costs and reserved memory are merged by runtime and kind: an entry replaces the base's entry of both; other entries are kept. */
static int merge_costs(json_t *tree, const char *key, json_t *over)
{
    const json_t *base = json_object_get(tree, key);
    json_t       *all = json_copy(over);
    int           failed = !all;
    for (size_t i = 0; !failed && i < json_array_size(base); i++) {
        json_t *entry = json_array_get(base, i);
        bool    there = false;
        for (size_t k = 0; k < json_array_size(over); k++) there = there || same_cost(entry, json_array_get(over, k));
        if (!there) failed |= json_array_append(all, entry);
    }
    return failed | json_object_set_new(tree, key, all);
}

void cm__json_merge(cm__ctx *ctx, json_t *tree, const json_t *over)
{
    const char *key;
    json_t     *value;
    int         failed = 0;
    json_object_foreach((json_t *)(uintptr_t)over, key, value) {
        if (json_is_null(value)) json_object_del(tree, key);
        else if (json_is_array(value) && (strcmp(key, "host") == 0 || strcmp(key, "reserve") == 0))
            failed |= merge_costs(tree, key, value);
        else if (!is_group(value)) failed |= json_object_set(tree, key, value);
        else {
            if (!is_group(json_object_get(tree, key))) failed |= json_object_set_new(tree, key, json_object());
            if (!failed) cm__json_merge(ctx, json_object_get(tree, key), value);
        }
    }
    if (failed) cm__fail(ctx, CM_ERR_MEMORY, "out of memory for a profile");
}

static json_t *parse(cm__ctx *ctx, const cm__origin *origin, size_t flags)
{
    ctx->file = origin->file;
    return cm__json_read(ctx, origin->text, origin->size, flags);
}

static json_t *parse_embedded(cm__ctx *ctx, const cm__embedded_profile *row)
{
    return parse(ctx, &(cm__origin){.text = row->text, .size = row->text_size}, 0);
}

/* ---- bases ------------------------------------------------------------------------------------------------------ */

typedef struct loader {
    cm__ctx           *ctx;
    cm__profile_kind   kind;
    cm__profile_extent extent;
    const char        *chain[CM__BASES_MAX + 1]; /* from the requested profile to the one being read */
    int                n_chain;
    cm__lineage        lineage;
} loader;

static json_t *finish(loader *l, const char *name, const cm__origin *origin, json_t *tree);

static void refuse_chain(const loader *l, const cm__origin *origin, const char *name, const char *why)
{
    const char *text = "";
    cm__step    base = {NULL, "base", 0};
    for (int i = 0; i < l->n_chain; i++) text = cm__format(l->ctx, "%s%s -> ", text, l->chain[i]);
    cm__refuse(l->ctx, origin, &base, "%s: %s%s", why, text, name);
}

static json_t *load_file(loader *l, const char *path)
{
    cm__origin origin = cm__file_read(l->ctx, path);
    return finish(l, path, &origin, parse(l->ctx, &origin, JSON_REJECT_DUPLICATES));
}

static json_t *load_embedded(loader *l, const cm__embedded_profile *row)
{
    return finish(l, row->id, &(cm__origin){0}, parse_embedded(l->ctx, row));
}

/* A file in the user's folder has precedence over a built-in profile, unless it is the referring file itself. */
static json_t *load_base(loader *l, const cm__origin *origin, const char *base)
{
    const char                 *self = l->chain[l->n_chain - 1];
    const char                 *file = origin->file ? cm__file_beside(l->ctx, origin->file, base) : NULL;
    const cm__embedded_profile *row = cm__profile_find(l->kind, base);
    if (file && row && strcmp(file, self) == 0) file = NULL;
    const char *name = file ? file : row ? row->id : base;
    for (int i = 0; i < l->n_chain; i++)
        if (strcmp(l->chain[i], name) == 0) refuse_chain(l, origin, name, "bases form a cycle");
    if (l->n_chain > CM__BASES_MAX) refuse_chain(l, origin, name, "bases are nested too deep");
    if (file) return load_file(l, file);
    if (row) return load_embedded(l, row);
    cm__step step = {NULL, "base", 0};
    cm__refuse(l->ctx, origin, &step, "no base '%.64s', neither built in nor beside this file", base);
}

/* A profile's identity is its own; everything else may come from its base. */
static void forget_identity(json_t *base, const json_t *own)
{
    static const char *const members[] = {"schema", "id", "aliases", "abstract", "base"};
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        if (!json_object_get(own, members[i])) json_object_del(base, members[i]);
}

const json_t *cm__schema_named(cm__ctx *ctx, const char *id)
{
    for (int32_t i = 0; i < cm__n_embedded_schemas; i++)
        if (strcmp(cm__embedded_schemas[i].id, id) == 0)
            return parse_embedded(ctx, &cm__embedded_schemas[i]);
    cm__fail(ctx, CM_ERR_UNSUPPORTED, "this program is built without %s", id);
}

static void check(const loader *l, const cm__origin *origin, const json_t *tree)
{
    cm__schema_check(l->ctx, cm__schema_named(l->ctx, kinds[l->kind].schema), tree, origin);
    cm__profile_check(l->ctx, l->kind, tree, origin);
}

static const json_t *copy_of(cm__ctx *ctx, const json_t *tree)
{
    json_t **copy = cm__json_slot(ctx);
    *copy = json_deep_copy(tree);
    if (!*copy) cm__fail(ctx, CM_ERR_MEMORY, "out of memory for a profile");
    return *copy;
}

/* A base with tables is copied before the profiles based on it are merged into its tree. */
static void note_ancestor(loader *l, int depth, cm__ancestor a, const json_t *tree)
{
    const char *id = json_string_value(json_object_get(tree, "id"));
    a.id = id ? cm__text_copy(l->ctx, id) : ""; /* not checked yet */
    a.abstract = json_is_true(json_object_get(tree, "abstract"));
    if (a.built_in && cm__kernels_built_in(a.id).count) a.has_kernels = true;
    if (a.has_kernels && depth > 0) a.tree = copy_of(l->ctx, tree);
    l->lineage.all[depth] = a;
    if (depth >= l->lineage.count) l->lineage.count = depth + 1;
}

static json_t *finish(loader *l, const char *name, const cm__origin *origin, json_t *tree)
{
    const char  *base = json_string_value(json_object_get(tree, "base"));
    int          depth = l->n_chain;
    cm__ancestor self = {.built_in = !origin->text, .has_kernels = json_object_get(tree, "kernels") != NULL};
    l->chain[l->n_chain++] = name;
    if (base && l->kind == CM__PROFILE_DEVICE) {
        json_t *whole = load_base(l, origin, base);
        forget_identity(whole, tree);
        cm__json_merge(l->ctx, whole, tree);
        if (json_is_null(json_object_get(tree, "prices"))) json_object_set_new(whole, "prices", json_array());
        tree = whole;
    }
    l->n_chain--;
    if (l->kind == CM__PROFILE_DEVICE) note_ancestor(l, depth, self, tree);
    if (origin->text || l->extent == CM__PROFILE_CHECKED) check(l, origin, tree);
    return tree;
}

/* ---- the whole -------------------------------------------------------------------------------------------------- */

bool cm__is_path(const char *name)
{
    size_t length = strlen(name);
    return strchr(name, '/') || (length > 5 && strcmp(name + length - 5, ".json") == 0);
}

/* If the name is part of several ids ("h100"), list them; else suggest the most similar id. */
noreturn static void unknown(cm__ctx *ctx, cm__profile_kind kind, const char *name)
{
    const char **ids = cm__alloc_array(ctx, (size_t)*kinds[kind].count + 1, sizeof *ids), *meant = "";
    int32_t      count = cm__profiles(kind), found = 0;
    for (int32_t i = 0; i < count; i++) {
        ids[i] = cm__profile_at(kind, i)->id;
        if (!*name || !strcasestr(ids[i], name) || found == 6) continue;
        meant = cm__format(ctx, "%s%s'%s'", meant, found++ ? ", " : "", ids[i]);
    }
    const char *near = found ? NULL : cm__nearest(name, ids, (size_t)count);
    if (near) meant = cm__format(ctx, "'%s'", near);
    const char *listed_by = kind == CM__PROFILE_CLUSTER ? "devices --clusters" : "devices";
    cm__fail(ctx, CM_ERR_UNKNOWN, "no %s '%.64s'%s%s%s (`centimani %s` lists them)", kinds[kind].what, name,
             *meant ? "; did you mean " : "", meant, *meant ? "?" : "", listed_by);
}

cm__profile cm__profile_parse(cm__ctx *ctx, cm__profile_kind kind, const cm__origin *origin)
{
    loader      l = {.ctx = ctx, .kind = kind};
    cm__profile profile = {.origin = *origin};
    const char *name = origin->file ? origin->file : "this text";
    profile.tree = finish(&l, name, origin, parse(ctx, origin, JSON_REJECT_DUPLICATES));
    profile.lineage = l.lineage;
    ctx->file = NULL;
    return profile;
}

cm__profile cm__profile_load(cm__ctx *ctx, cm__profile_kind kind, const char *name, cm__profile_extent extent)
{
    loader l = {.ctx = ctx, .kind = kind, .extent = extent};
    if (cm__is_path(name)) {
        cm__origin origin = cm__file_read(ctx, name);
        return cm__profile_parse(ctx, kind, &origin);
    }
    const cm__embedded_profile *row = cm__profile_find(kind, name);
    if (!row) unknown(ctx, kind, name);
    const json_t *tree = load_embedded(&l, row);
    return (cm__profile){.tree = tree, .lineage = l.lineage};
}

cm__profile_kind cm__profile_kind_of(cm__ctx *ctx, const cm__origin *origin)
{
    const json_t *tree = parse(ctx, origin, JSON_REJECT_DUPLICATES);
    return json_object_get(tree, "device") || json_object_get(tree, "tiers") ? CM__PROFILE_CLUSTER : CM__PROFILE_DEVICE;
}
