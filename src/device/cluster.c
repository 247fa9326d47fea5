/* SPDX-License-Identifier: Apache-2.0 */
/* cluster.c - clusters: listing, loading and properties; and checking a user's device or cluster profile. */
#include <stdlib.h>
#include <string.h>
#include "device/device.h"
#include "device/file.h"
#include "device/plausible.h"
#include "device/tables_used.h"

struct cm_cluster {
    cm__ctx        *ctx;
    const json_t   *tree;
    char           *profile; /* made on first use */
    cm_cluster_info info;
    cm__links       tiers;
    cm__collectives collectives;
    cm__sources     sources;
};

/* ---- loading ---------------------------------------------------------------------------------------------------- */

int32_t cm_clusters(void) { return cm__profiles(CM__PROFILE_CLUSTER); }

const char *cm_cluster_id(int32_t index)
{
    const cm__embedded_profile *row = cm__profile_at(CM__PROFILE_CLUSTER, index);
    return row ? row->id : NULL;
}

static void release(void *cluster) { free(((cm_cluster *)cluster)->profile); }

static cm_cluster *read_cluster(cm__ctx *ctx, const json_t *tree)
{
    const json_t *sources = json_object_get(tree, "sources"), *host = json_object_get(tree, "host");
    cm_cluster   *c = cm__alloc(ctx, sizeof *c);
    cm__defer(ctx, release, c);
    c->ctx = ctx;
    c->tree = tree;
    c->info = (cm_cluster_info){.id = cm__text_at(tree, "id"),
                                .name = cm__text_at(tree, "name"),
                                .device = cm__text_at(tree, "device"),
                                .host_name = cm__text_at(host, "name"),
                                .devices_per_node = cm__number_at(tree, "devices_per_node", sources),
                                .nodes = cm__number_at(tree, "nodes", sources),
                                .host_cores = cm__number_at(host, "cores", sources),
                                .host_memory_bytes = cm__number_at(host, "memory", sources)};
    c->tiers = cm__links_of(ctx, json_object_get(tree, "tiers"), sources);
    c->collectives = cm__collectives_of(ctx, json_object_get(tree, "collectives"), sources);
    c->sources = cm__sources_of(ctx, sources);
    return c;
}

cm_status cm_cluster_load(const char *name_or_path, cm_cluster **cluster, cm_diag *diag)
{
    if (!name_or_path || !cluster) return cm__diag_set(diag, CM_ERR_ARGUMENT, "no cluster given");
    cm__ctx *ctx = cm__ctx_new(diag);
    if (!ctx) return CM_ERR_MEMORY;
    if (setjmp(ctx->trap)) return cm__ctx_abandon(ctx);
    *cluster = read_cluster(ctx, cm__profile_load(ctx, CM__PROFILE_CLUSTER, name_or_path, CM__PROFILE_FULL).tree);
    ctx->diag = NULL; /* the cluster outlives the caller's diag */
    return CM_OK;
}

void cm_cluster_free(cm_cluster *cluster)
{
    if (cluster) cm__ctx_free(cluster->ctx);
}

/* ---- reading ---------------------------------------------------------------------------------------------------- */

const cm_cluster_info *cm_cluster_get_info(const cm_cluster *cluster) { return &cluster->info; }

int32_t cm_cluster_tiers(const cm_cluster *cluster) { return cluster->tiers.count; }

const cm_link *cm_cluster_tier(const cm_cluster *cluster, int32_t index)
{
    return index >= 0 && index < cluster->tiers.count ? &cluster->tiers.items[index] : NULL;
}

int32_t cm_cluster_collectives(const cm_cluster *cluster) { return cluster->collectives.count; }

const cm_collective *cm_cluster_collective(const cm_cluster *cluster, int32_t index)
{
    return index >= 0 && index < cluster->collectives.count ? &cluster->collectives.items[index] : NULL;
}

const cm_source *cm_cluster_source(const cm_cluster *cluster, const char *key)
{
    return cm__source_find(&cluster->sources, key);
}

const char *cm_cluster_profile(cm_cluster *cluster)
{
    if (!cluster->profile) cluster->profile = json_dumps(cluster->tree, JSON_COMPACT | JSON_REAL_PRECISION(17));
    return cluster->profile;
}

/* ---- checking --------------------------------------------------------------------------------------------------- */

static void count(void *numbers, const json_t *number, const cm__step *path)
{
    (void)number, (void)path;
    ++*(int32_t *)numbers;
}

cm_status cm_profile_check(const char *path, cm_profile_summary *summary, cm_diag *diag)
{
    if (!path || !summary) return cm__diag_set(diag, CM_ERR_ARGUMENT, "no profile given");
    cm__ctx *ctx = cm__ctx_new(diag);
    if (!ctx) return CM_ERR_MEMORY;
    if (setjmp(ctx->trap)) return cm__ctx_abandon(ctx);
    cm__origin       origin = cm__file_read(ctx, path);
    cm__profile_kind kind = cm__profile_kind_of(ctx, &origin);
    cm__profile      p = cm__profile_parse(ctx, kind, &origin);
    *summary = (cm_profile_summary){.cluster = kind == CM__PROFILE_CLUSTER,
                                    .abstract = json_is_true(json_object_get(p.tree, "abstract")),
                                    .sources = (int32_t)json_object_size(json_object_get(p.tree, "sources"))};
    strncpy(summary->id, cm__text_at(p.tree, "id"), sizeof summary->id - 1);
    cm__profile_numbers(p.tree, NULL, count, &summary->numbers);
    const json_t *sources = json_object_get(p.tree, "sources");
    const char   *with = cm__kernels_text(ctx, cm__kernels_of(ctx, json_object_get(p.tree, "kernels"), sources, &origin));
    if (with) strncpy(summary->measured_with, with, sizeof summary->measured_with - 1);
    if (kind == CM__PROFILE_DEVICE && !summary->abstract) {
        const cm_device *device = cm__device_read(ctx, &p);
        cm__tables_used(ctx, device, &p.origin, summary);
        summary->n_warnings = cm__device_doubts(ctx, device, summary->warnings);
    }
    cm__ctx_free(ctx);
    return CM_OK;
}
