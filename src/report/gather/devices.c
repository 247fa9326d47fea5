/* SPDX-License-Identifier: Apache-2.0 */
/* devices.c - collect the list of devices or clusters, the profile of one, or the result of a validation. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/json.h"
#include "report/json/json.h"
#include "report/report.h"

/* End the report with the failure of a library function. */
static void require(cm__ctx *ctx, cm_status status, const cm_diag *diag)
{
    if (!status) return;
    ctx->file = *diag->file ? cm__text_copy(ctx, diag->file) : NULL;
    cm__place(ctx, "%s", diag->place);
    cm__fail(ctx, status, "%s", *diag->reason ? diag->reason : cm_status_text(status));
}

static void free_device(void *device) { cm_device_free(*(cm_device **)device); }

static void free_cluster(void *cluster) { cm_cluster_free(*(cm_cluster **)cluster); }

static cm_device **device_slot(cm__ctx *ctx)
{
    cm_device **slot = cm__alloc(ctx, sizeof *slot);
    cm__defer(ctx, free_device, slot);
    return slot;
}

static cm_cluster **cluster_slot(cm__ctx *ctx)
{
    cm_cluster **slot = cm__alloc(ctx, sizeof *slot);
    cm__defer(ctx, free_cluster, slot);
    return slot;
}

static void free_offers(void *offers) { cm_offers_free(offers); }

/* The user's table of offers; NULL: none. */
static const cm_offers *own_offers(cm__devices_report *r)
{
    cm_diag    diag = {0};
    cm_offers *offers;
    if (!r->asked.offers) return NULL;
    require(r->ctx, cm_offers_load(r->asked.offers, &offers, &diag), &diag);
    cm__defer(r->ctx, free_offers, offers);
    return offers;
}

/* ---- lists ------------------------------------------------------------------------------------------------------ */

/* The lowest on-demand price; without one, the lowest of any basis, and the list then shows its basis. */
static const cm_price *listed_price(const cm_device *d)
{
    const cm_price *price = cm_device_cheapest(d, 1, CM_BASIS_ON_DEMAND, NULL);
    return price ? price : cm_device_cheapest(d, 1, CM_BASIS_ANY, NULL);
}

static cm__device_row device_row(const cm_device *d)
{
    const cm_device_info *info = cm_device_get_info(d);
    const cm_memory      *memory = cm_device_main_memory(d);
    return (cm__device_row){.id = info->id,
                            .name = info->name,
                            .vendor = info->vendor,
                            .device_class = info->device_class,
                            .peak_flop_s = cm_device_peak_16bit(d).value,
                            .memory_bytes = memory ? memory->capacity_bytes.value : NAN,
                            .bw_bytes_s = memory ? memory->bw_bytes_s.value : NAN,
                            .tdp_w = cm_device_number(d, CM_TDP_W).value,
                            .price = listed_price(d)};
}

static int by_vendor(const void *left, const void *right)
{
    const cm__device_row *a = left, *b = right;
    int                   order = strcmp(a->vendor, b->vendor);
    return order ? order : strcmp(a->id, b->id);
}

/* "this-machine" comes last and without numbers, because examining the machine takes longer than the whole list. */
static void list_devices(cm__devices_report *r)
{
    cm_diag          diag;
    int32_t          count = cm_devices();
    const cm_offers *offers = own_offers(r);
    r->devices = cm__alloc_array(r->ctx, (size_t)count + 1, sizeof *r->devices);
    for (int32_t i = 0; i < count; i++) {
        cm_device **device = device_slot(r->ctx);
        require(r->ctx, cm_device_load(cm_device_id(i), device, &diag), &diag);
        if (offers) cm_device_use_offers(*device, offers);
        r->devices[r->n_devices++] = device_row(*device);
    }
    qsort(r->devices, (size_t)count, sizeof *r->devices, by_vendor);
    r->devices[r->n_devices++] = (cm__device_row){.id = "this-machine", .name = "this machine", .device_class = "cpu",
                                                  .peak_flop_s = NAN, .memory_bytes = NAN, .bw_bytes_s = NAN,
                                                  .tdp_w = NAN};
}

/* Bandwidth of the fastest link: of the network, or within a node. */
static double bandwidth_of(const cm_cluster *cluster, bool network)
{
    double best = NAN;
    for (int32_t i = 0; i < cm_cluster_tiers(cluster); i++) {
        const cm_link *tier = cm_cluster_tier(cluster, i);
        double         value = tier->bw_bytes_s.value;
        if ((tier->reach == CM_REACH_NETWORK) == network && !(value <= best)) best = value;
    }
    return best;
}

static void list_clusters(cm__devices_report *r)
{
    cm_diag diag;
    int32_t count = cm_clusters();
    r->clusters = cm__alloc_array(r->ctx, (size_t)count + 1, sizeof *r->clusters);
    for (int32_t i = 0; i < count; i++) {
        cm_cluster **cluster = cluster_slot(r->ctx);
        require(r->ctx, cm_cluster_load(cm_cluster_id(i), cluster, &diag), &diag);
        r->clusters[r->n_clusters++] = (cm__cluster_row){cm_cluster_get_info(*cluster), bandwidth_of(*cluster, false),
                                                           bandwidth_of(*cluster, true)};
    }
}

/* ---- one device ------------------------------------------------------------------------------------------------- */

static void put_price(cm__ctx *ctx, json_t *list, const cm_price *p)
{
    json_t *o = cm__json_append(ctx, list, json_object());
    cm__json_set(ctx, o, "provider", cm__json_text(ctx, p->provider));
    cm__json_set(ctx, o, "instance", cm__json_text(ctx, p->instance));
    cm__json_set(ctx, o, "devices", json_integer(p->devices));
    cm__json_set(ctx, o, "basis", cm__json_text(ctx, p->basis));
    cm__json_set(ctx, o, "usd_hour", cm__json_number(p->usd_hour));
    cm__json_set(ctx, o, "date", cm__json_text(ctx, p->date));
    cm__json_set(ctx, o, "source", cm__json_text(ctx, p->source));
    if (p->note) cm__json_set(ctx, o, "note", cm__json_text(ctx, p->note));
}

/* The profile with its bases merged in and with its prices, which are in the table of offers. */
static void show_device(cm__devices_report *r, cm_device *device)
{
    const cm_offers *offers = own_offers(r);
    const char      *text = cm_device_profile(device);
    json_t         **profile = cm__json_slot(r->ctx);
    if (offers) cm_device_use_offers(device, offers);
    *profile = text ? json_loads(text, 0, NULL) : NULL;
    if (!*profile) cm__fail(r->ctx, CM_ERR_MEMORY, "out of memory for a profile");
    json_t *list = cm__json_set(r->ctx, *profile, "prices", json_array());
    for (int32_t i = 0; i < cm_device_prices(device); i++) put_price(r->ctx, list, cm_device_price(device, i));
    char *whole = json_dumps(*profile, JSON_COMPACT | JSON_REAL_PRECISION(17));
    if (!whole) cm__fail(r->ctx, CM_ERR_MEMORY, "out of memory for a profile");
    cm__defer(r->ctx, free, whole);
    r->profile = whole;
    r->measured_with = cm_device_measured_with(device);
}

static void show_cluster(cm__devices_report *r, cm_cluster *cluster)
{
    r->of_cluster = true;
    r->profile = cm_cluster_profile(cluster);
    if (!r->profile) cm__fail(r->ctx, CM_ERR_MEMORY, "out of memory for a profile");
}

static bool is_cluster_file(const char *path)
{
    cm_profile_summary summary;
    return cm_profile_check(path, &summary, NULL) == CM_OK && summary.cluster;
}

static bool suggests(const cm_diag *diag) { return strstr(diag->reason, "did you mean") != NULL; }

/* Ids of devices and clusters share one namespace. If the name is neither, report the message with a suggestion. */
static void show(cm__devices_report *r)
{
    cm_diag      diag = {0}, other = {0};
    cm_device  **device = device_slot(r->ctx);
    cm_cluster **cluster = cluster_slot(r->ctx);
    cm_status    status = CM_ERR_UNKNOWN;
    if (!is_cluster_file(r->asked.name)) status = cm_device_load(r->asked.name, device, &diag);
    if (status == CM_OK) show_device(r, *device);
    else if (status != CM_ERR_UNKNOWN) require(r->ctx, status, &diag);
    else if (cm_cluster_load(r->asked.name, cluster, &other) == CM_OK) show_cluster(r, *cluster);
    else require(r->ctx, status, !*diag.reason || (suggests(&other) && !suggests(&diag)) ? &other : &diag);
}

static void check(cm__devices_report *r)
{
    cm_diag diag;
    require(r->ctx, cm_profile_check(r->asked.name, &r->checked, &diag), &diag);
}

/* ---- the report ------------------------------------------------------------------------------------------------- */

cm_status cm__devices_report_new(const cm__devices_request *asked, cm__devices_report **report, cm_diag *diag)
{
    static void (*const actions[])(cm__devices_report *) = {[CM__DEVICES_LIST] = list_devices,
                                                            [CM__DEVICES_LIST_CLUSTERS] = list_clusters,
                                                            [CM__DEVICES_SHOW] = show,
                                                            [CM__DEVICES_CHECK] = check};
    cm__ctx *ctx = cm__ctx_new(diag);
    if (!ctx) return CM_ERR_MEMORY;
    if (setjmp(ctx->trap)) return cm__ctx_abandon(ctx);
    cm__devices_report *r = cm__alloc(ctx, sizeof *r);
    r->ctx = ctx;
    r->asked = *asked;
    actions[asked->action](r);
    ctx->diag = NULL;
    *report = r;
    return CM_OK;
}

void cm__devices_report_free(cm__devices_report *report)
{
    if (report) cm__ctx_free(report->ctx);
}
