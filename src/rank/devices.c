/* SPDX-License-Identifier: Apache-2.0 */
/* devices.c - the devices of a ranking: those requested, their prices, and the reasons to exclude some. */
#include <math.h>
#include <string.h>
#include "base/text.h"
#include "device/described.h"
#include "device/price_list.h"
#include "device/profile.h"
#include "rank/rank.h"

#define NAMES_MOST 512

static bool built_in_only(const cm_rank_options *o) { return !o->devices || strcmp(o->devices, "all") == 0; }

static void add_device(cm_ranking *r, const char *name, bool unlisted)
{
    if (r->n_devices == NAMES_MOST) cm__fail(r->ctx, CM_ERR_LIMIT, "more than %d devices", NAMES_MOST);
    r->devices = cm__grow(r->ctx, r->devices, r->n_devices, &r->cap_devices, sizeof *r->devices);
    cm__preset as = cm__preset_of(r->ctx, r->options.as, r->info.model, name);
    r->devices[r->n_devices++] = (cm__rank_device){.name = name, .as = as, .unlisted = unlisted};
}

static bool listed(const cm_ranking *r, const char *name)
{
    for (int32_t i = 0; i < r->n_devices; i++)
        if (cm__same_name(r->devices[i].name, name)) return true;
    return false;
}

/* A preset names its devices; its first one is the baseline. */
static void take_preset(cm_ranking *r)
{
    cm_rank_options *o = &r->options;
    if (!o->as) return;
    const char *devices = cm__preset_devices(r->ctx, o->as, r->info.model);
    if (!o->devices) o->devices = devices;
    if (!o->baseline) o->baseline = cm__text_copy_n(r->ctx, devices, strcspn(devices, ","));
}

void cm__rank_list_devices(cm_ranking *r)
{
    const cm_rank_options *o = &r->options;
    take_preset(r);
    for (int32_t i = 0; built_in_only(o) && i < cm_devices(); i++) add_device(r, cm_device_id(i), false);
    for (const char *at = built_in_only(o) ? "" : o->devices; *at;) {
        size_t      length = cm__device_name_length(at);
        const char *name = cm__text_copy_n(r->ctx, at, length);
        if (length && !listed(r, name)) add_device(r, name, false);
        at += length + (at[length] == ',');
    }
    if (o->baseline && !listed(r, o->baseline)) add_device(r, o->baseline, true);
}

void cm__rank_load_device(void *user, int32_t index)
{
    cm__rank_device *d = &((cm_ranking *)user)->devices[index];
    d->status = cm_device_load(d->name, &d->device, &d->diag);
}

void cm__rank_free_devices(void *ranking)
{
    cm_ranking *r = ranking;
    for (int32_t i = 0; i < r->n_devices; i++) {
        cm_fabric_free(r->devices[i].fabric);
        cm_device_free(r->devices[i].device);
    }
}

/* ---- prices ------------------------------------------------------------------------------------------------------ */

static void find_price(const cm_ranking *r, cm__rank_device *d)
{
    const cm_rank_options *o = &r->options;
    d->entry.price = cm_device_cheapest(d->device, 1, o->price_basis, o->provider);
    d->entry.price_hour = d->entry.price ? d->entry.price->usd_hour : NAN;
    if (d->as.usd_hour > 0) {
        d->entry.price = NULL;
        d->entry.price_hour = d->as.usd_hour;
    }
    for (int32_t i = 0; i < o->n_prices; i++) {
        if (!cm__same_name(o->prices[i].device, cm_device_get_info(d->device)->id)) continue;
        d->entry.price = NULL;
        d->entry.price_hour = o->prices[i].usd_hour;
    }
}

void cm__rank_explain_price(const cm_ranking *r, cm__rank_device *d)
{
    const cm_rank_options *o = &r->options;
    const char            *id = cm_device_get_info(d->device)->id, *comma = "";
    const char            *basis = o->price_basis == CM_BASIS_ANY ? "" : cm_basis_name(o->price_basis);
    size_t                 size = sizeof d->reason;
    int                    n = snprintf(d->reason, size, "no %s%sprice is known; ", basis, *basis ? " " : "");
    for (cm_basis b = 0; b < CM_BASIS_ANY; b++) {
        const cm_price *p = cm_device_cheapest(d->device, 1, b, o->provider);
        if (!p || n >= (int)size) continue;
        n += snprintf(d->reason + n, size - (size_t)n, "%s%.3g USD/h with --price-basis %s (%s)", comma, p->usd_hour,
                      p->basis, p->provider);
        comma = ", ";
    }
    if (n < (int)size)
        snprintf(d->reason + n, size - (size_t)n, "%s--price %s=USD", *comma ? ", or yours with " : "", id);
}

noreturn static void no_such(cm_ranking *r, const char *what, const char *requested, bool providers)
{
    const char *names[NAMES_MOST], *all = "";
    size_t      n = 0;
    for (int32_t i = 0; i < r->n_devices; i++) {
        const cm_device *device = r->devices[i].device;
        int32_t          count = providers ? cm_device_prices(device) : 1;
        for (int32_t k = 0; k < count; k++) {
            const char *name = providers ? cm_device_price(device, k)->provider : cm_device_get_info(device)->vendor;
            bool        seen = n == NAMES_MOST;
            for (size_t m = 0; m < n && !seen; m++) seen = strcmp(names[m], name) == 0;
            if (seen) continue;
            all = cm__format(r->ctx, "%s%s%s", all, n ? ", " : "", name);
            names[n++] = name;
        }
    }
    cm__fail(r->ctx, CM_ERR_UNKNOWN, "no %s '%.64s'; there are %s", what, requested, all);
}

/* ---- devices that take part -------------------------------------------------------------------------------------- */

static void clear_numbers(cm_rank_entry *e)
{
    double *const numbers[] = {&e->peak_bytes, &e->price_hour, &e->power_w, &e->samples_per_usd,
                               &e->energy_j_per_sample, &e->hours, &e->usd, &e->kwh, &e->value, &e->interval[0],
                               &e->interval[1], &e->relative, &e->relative_interval[0], &e->relative_interval[1],
                               &e->break_even_samples, &e->break_even_hours, &e->break_even_price_hour};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) *numbers[i] = NAN;
}

/* Built-in devices take part only if they support training. */
static bool able(const cm_ranking *r, const cm__rank_device *d)
{
    const cm_device_info *info = cm_device_get_info(d->device);
    return r->options.train.inference ? info->inference : info->training;
}

static bool wanted(const cm_ranking *r, cm__rank_device *d)
{
    const cm_rank_options *o = &r->options;
    const cm_device_info  *info = cm_device_get_info(d->device);
    if (d->unlisted) return true;
    if (o->vendor && !strcasestr(info->vendor, o->vendor)) return false;
    if (o->provider && isnan(d->entry.price_hour)) return false;
    if (cm__where_fails(&r->where, &d->entry, false)) return false;
    return true;
}

/* Devices use the profiles of other devices of their kind. Sharing the loaded ones avoids loading them again. */
static void introduce(cm_ranking *r)
{
    r->peers.devices = cm__alloc_array(r->ctx, (size_t)r->n_devices + 1, sizeof *r->peers.devices);
    for (int32_t i = 0; i < r->n_devices; i++) {
        cm__rank_device *d = &r->devices[i];
        if (cm__profile_find(CM__PROFILE_DEVICE, d->name)) r->peers.devices[r->peers.count++] = d->device;
        d->device->peers = &r->peers;
    }
}

void cm__rank_take_part(cm_ranking *r)
{
    int32_t   kept = 0, of_vendor = 0, of_provider = 0;
    cm_offers offers = {0};
    if (r->options.offers) offers = cm__offers_load(r->ctx, r->options.offers);
    for (int32_t i = 0; i < r->n_devices; i++) {
        cm__rank_device *d = &r->devices[i];
        if (d->status) cm__rank_pass_on(r, d->status, &d->diag);
        if (r->options.offers) cm_device_use_offers(d->device, &offers);
        d->status = cm__device_use_launcher(d->device, r->options.host_file, &d->diag);
        if (d->status) cm__rank_pass_on(r, d->status, &d->diag);
        clear_numbers(&d->entry);
        d->entry.device = d->device;
        find_price(r, d);
        of_vendor += r->options.vendor && strcasestr(cm_device_get_info(d->device)->vendor, r->options.vendor);
        of_provider += r->options.provider && cm_device_cheapest(d->device, 1, CM_BASIS_ANY, r->options.provider);
    }
    if (r->options.vendor && !of_vendor) no_such(r, "vendor", r->options.vendor, false);
    if (r->options.provider && !of_provider) no_such(r, "provider of prices", r->options.provider, true);
    for (int32_t i = 0; i < r->n_devices; i++) {
        cm__rank_device d = r->devices[i];
        bool            is_able = d.unlisted || !built_in_only(&r->options) || able(r, &d);
        bool            is_wanted = is_able && wanted(r, &d);
        bool            is_base = r->options.baseline && cm__same_name(d.name, r->options.baseline);
        if (!is_wanted && is_base) d.unlisted = true; /* the baseline stays loaded for comparison */
        if (is_wanted || is_base) r->devices[kept++] = d;
        else cm_device_free(d.device);
        r->info.left_out += is_able && !is_wanted;
    }
    r->n_devices = kept;
    introduce(r);
}
