/* SPDX-License-Identifier: Apache-2.0 */
/* sites.c - who offers which devices: cloud instances, clusters, and devices that a user names. */
#include <math.h>
#include <string.h>
#include "base/text.h"
#include "device/described.h"
#include "device/profile.h"
#include "device/what_if.h"
#include "job/job.h"

/* ---- devices ---------------------------------------------------------------------------------------------------- */

/* The device of this name, loaded once. */
static cm_device *device_of(cm_job *j, const char *name)
{
    for (int32_t i = 0; i < j->n_devices; i++)
        if (cm__same_name(cm_device_get_info(j->devices[i])->id, name)) return j->devices[i];
    cm_device *device;
    cm__pass_on(j->ctx, cm_device_load(name, &device, j->ctx->diag));
    if (j->options.rank.offers) cm_device_use_offers(device, &j->offers);
    j->devices = cm__grow(j->ctx, j->devices, j->n_devices, &j->cap_devices, sizeof *j->devices);
    j->devices[j->n_devices++] = device;
    cm__pass_on(j->ctx, cm__device_use_launcher(device, j->options.rank.host_file, j->ctx->diag));
    if (j->options.rank.layout) device->layout = j->options.rank.layout; /* a plan search uses the device's */
    return device;
}

static double given_price(const cm_job *j, const char *id)
{
    const cm_rank_options *o = &j->options.rank;
    double                 usd_hour = NAN;
    for (int32_t i = 0; i < o->n_prices; i++)
        if (cm__same_name(o->prices[i].device, id)) usd_hour = o->prices[i].usd_hour;
    return usd_hour;
}

/* Calls visit(job, name) for each name of a comma-separated list. */
static void each_name(cm_job *j, const char *list, void (*visit)(cm_job *j, const char *name))
{
    for (const char *at = list; at && *at;) {
        size_t length = cm__device_name_length(at);
        if (length) visit(j, cm__text_copy_n(j->ctx, at, length));
        at += length + (at[length] == ',');
    }
}

static bool all_devices(const cm_job *j)
{
    return !j->options.rank.devices || strcmp(j->options.rank.devices, "all") == 0;
}

/* Calls visit() for each device of the question that a provider or cluster has under this name: the device, and the
   same one with other numbers (--what-if). */
static void each_asked(cm_job *j, const char *name, void (*visit)(cm_job *j, const char *name, const void *user),
                       const void *user)
{
    if (all_devices(j)) visit(j, name, user);
    for (const char *at = all_devices(j) ? "" : j->options.rank.devices; *at;) {
        size_t length = cm__device_name_length(at);
        char  *one = cm__text_copy_n(j->ctx, at, length);
        char  *base = cm__text_copy_n(j->ctx, at, strcspn(one, (const char[]){CM__WHAT_IF, 0}));
        if (cm__same_name(base, name)) visit(j, one, user);
        at += length + (at[length] == ',');
    }
}

/* ---- searches --------------------------------------------------------------------------------------------------- */

/* Whole nodes, doubled up to the limit; parts of a node if it can be shared. */
static void list_counts(cm__job_search *s, int32_t most, bool whole_nodes)
{
    int32_t node = cm_fabric_node(s->fabric), limit = cm_fabric_devices(s->fabric);
    if (limit && most > limit) most = limit;
    if (!cm_fabric_joins_nodes(s->fabric) && most > node) most = node;
    for (int32_t n = 1; !whole_nodes && n < node && n <= most; n *= 2)
        s->counts[s->n_counts++] = (cm__count){.devices = n};
    for (int64_t n = node; n <= most && s->n_counts < CM__COUNTS_MAX; n *= 2)
        s->counts[s->n_counts++] = (cm__count){.devices = (int32_t)n};
}

static bool same_cluster(const char *a, const char *b) { return a && b ? strcmp(a, b) == 0 : a == b; }

/* The search of a device on a cluster, by its index; sites with the same interconnect share it. */
static int32_t search_of(cm_job *j, cm_device *device, const char *cluster, bool whole_nodes)
{
    for (int32_t i = 0; i < j->n_searches; i++)
        if (j->searches[i].device == device && same_cluster(j->searches[i].cluster, cluster)) return i;
    j->searches = cm__grow(j->ctx, j->searches, j->n_searches, &j->cap_searches, sizeof *j->searches);
    cm__job_search *s = &j->searches[j->n_searches];
    *s = (cm__job_search){.device = device, .cluster = cluster};
    cm__pass_on(j->ctx, cm_fabric_new(device, cluster, &s->fabric, j->ctx->diag));
    j->n_searches++;
    list_counts(s, j->options.max_devices, whole_nodes);
    return j->n_searches - 1;
}

void cm__job_free_sites(void *job)
{
    cm_job *j = job;
    for (int32_t i = 0; i < j->n_searches; i++) {
        cm_fabric_free(j->searches[i].fabric);
        if (j->searches[i].ctx) cm__ctx_free(j->searches[i].ctx);
    }
    for (int32_t i = 0; i < j->n_devices; i++) cm_device_free(j->devices[i]);
}

/* ---- sites ------------------------------------------------------------------------------------------------------ */

static void add_site(cm_job *j, cm_device *device, const char *cluster, const cm_offer *offer)
{
    const cm_rank_options *o = &j->options.rank;
    const cm_device_info  *info = cm_device_get_info(device);
    double                 given = given_price(j, info->id), usd_hour = offer ? offer->usd_hour : NAN;
    const char            *basis = offer ? offer->basis : NULL;
    if (o->vendor && !strcasestr(info->vendor, o->vendor)) return;
    if (!isnan(given)) usd_hour = given, basis = "given";
    cm_rank_entry entry = {.device = device, .price_hour = usd_hour};
    if (cm__where_fails(&j->where, &entry, false)) return;
    if (!(o->train.inference ? info->inference : info->training) && all_devices(j)) return;
    int32_t search = search_of(j, device, cluster, offer && offer->instance);
    j->sites = cm__grow(j->ctx, j->sites, j->n_sites, &j->cap_sites, sizeof *j->sites);
    j->sites[j->n_sites++] = (cm__site){.search_index = search, .offer = offer, .usd_hour = usd_hour, .basis = basis,
                                        .block = offer ? offer->devices : 1};
}

static bool suits(const cm_job *j, const cm_offer *offer)
{
    const cm_rank_options *o = &j->options.rank;
    if (o->provider && !strcasestr(offer->provider, o->provider)) return false;
    return o->price_basis == CM_BASIS_ANY || strcmp(offer->basis, cm_basis_name(o->price_basis)) == 0;
}

/* If any basis will do, a paper's price counts only for a device that nobody offers. */
static bool counts(const cm_job *j, const cm_device *device, const cm_offer *offer)
{
    const cm_rank_options *o = &j->options.rank;
    const char            *paper = cm_basis_name(CM_BASIS_PAPER);
    if (o->price_basis != CM_BASIS_ANY || strcmp(offer->basis, paper) != 0) return true;
    return strcmp(cm_device_cheapest(device, 1, CM_BASIS_ANY, o->provider)->basis, paper) == 0;
}

static void add_offer(cm_job *j, const char *name, const void *user)
{
    const cm_offer *offer = user;
    cm_device      *device = device_of(j, name);
    if (counts(j, device, offer)) add_site(j, device, offer->cluster, offer);
}

/* A profile of the user is not in the table under its name; it has its own prices, or those of its base. */
static void add_profile(cm_job *j, const char *name)
{
    char *base = cm__text_copy_n(j->ctx, name, strcspn(name, (const char[]){CM__WHAT_IF, 0}));
    if (!cm__is_path(base)) return;
    cm_device *device = device_of(j, name);
    for (int32_t i = 0; i < device->n_prices; i++)
        if (suits(j, &device->prices[i]) && counts(j, device, &device->prices[i]))
            add_site(j, device, device->prices[i].cluster, &device->prices[i]);
}

static void add_cloud(cm_job *j)
{
    for (int32_t i = 0; i < j->offers.count; i++) {
        const cm_offer *offer = &j->offers.list[i];
        if (suits(j, offer)) each_asked(j, offer->device, add_offer, offer);
    }
    if (!all_devices(j)) each_name(j, j->options.rank.devices, add_profile);
}

static void free_cluster(void *cluster) { cm_cluster_free(cluster); }

static void add_in_cluster(cm_job *j, const char *device, const void *cluster)
{
    add_site(j, device_of(j, device), cluster, NULL);
}

static void add_cluster(cm_job *j, const char *name)
{
    cm_cluster *cluster;
    if (strcmp(name, "cloud") == 0) {
        add_cloud(j);
        return;
    }
    cm__pass_on(j->ctx, cm_cluster_load(name, &cluster, j->ctx->diag));
    cm__defer(j->ctx, free_cluster, cluster);
    each_asked(j, cm_cluster_get_info(cluster)->device, add_in_cluster, name);
}

/* A device in nodes that the user describes: "node=8,net=800Gb". */
static void add_described(cm_job *j, const char *name) { add_site(j, device_of(j, name), j->options.clusters, NULL); }

/* A device that the user names, or gives a price for, takes part even if nobody sells it. */
static void add_named(cm_job *j, const char *name)
{
    cm_device *device = device_of(j, name);
    for (int32_t i = 0; i < j->n_sites; i++)
        if (j->searches[j->sites[i].search_index].device == device) return;
    add_site(j, device, NULL, NULL);
}

void cm__job_list_sites(cm_job *j)
{
    const cm_rank_options *o = &j->options.rank;
    j->offers = cm__offers_load(j->ctx, j->options.rank.offers);
    const char *clusters = j->options.clusters ? j->options.clusters : "cloud";
    if (!strchr(clusters, '=')) each_name(j, clusters, add_cluster);
    else if (all_devices(j))
        cm__fail(j->ctx, CM_ERR_ARGUMENT, "clusters '%.64s' need --devices: the devices in their nodes", clusters);
    else each_name(j, o->devices, add_described);
    if (!j->options.clusters && !o->provider) {
        if (!all_devices(j)) each_name(j, o->devices, add_named);
        for (int32_t i = 0; i < o->n_prices; i++)
            if (all_devices(j)) add_named(j, o->prices[i].device);
    }
    if (!j->n_sites)
        cm__fail(j->ctx, CM_ERR_ARGUMENT,
                 "no offer or cluster is left: --clusters, --devices, --provider, --vendor, --where and --price-basis "
                 "exclude all of them");
}
