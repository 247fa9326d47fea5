/* SPDX-License-Identifier: Apache-2.0 */
/* price.c - the lowest price of a device on given terms. */
#include <string.h>
#include "base/text.h"
#include "device/device.h"

static const char *const names[CM_BASES] = {
    [CM_BASIS_ON_DEMAND] = "on-demand",       [CM_BASIS_SPOT] = "spot",   [CM_BASIS_MARKETPLACE] = "marketplace",
    [CM_BASIS_SUBSCRIPTION] = "subscription", [CM_BASIS_PAPER] = "paper", [CM_BASIS_ANY] = "any",
};

const char *cm_basis_name(cm_basis basis) { return names[basis]; }

cm_status cm_basis_parse(const char *name, cm_basis *basis, cm_diag *diag)
{
    for (int i = 0; i < CM_BASES; i++) {
        if (strcmp(name, names[i]) != 0) continue;
        *basis = (cm_basis)i;
        return CM_OK;
    }
    const char *meant = cm__nearest(name, names, CM_BASES);
    return cm__diag_set(diag, CM_ERR_UNKNOWN,
                        "unknown basis of prices '%.64s'%s%s%s; known: on-demand, spot, marketplace, subscription, "
                        "paper, any", name, meant ? ", did you mean '" : "", meant ? meant : "", meant ? "'?" : "");
}

static bool suits(const cm_price *p, cm_basis basis, const char *provider)
{
    if (provider && !strcasestr(p->provider, provider)) return false;
    if (basis == CM_BASIS_ANY) return strcmp(p->basis, names[CM_BASIS_PAPER]) != 0;
    return strcmp(p->basis, names[basis]) == 0;
}

/* For n devices: an instance that has no more of them is better than one that has, whatever both cost per device. */
static bool better(const cm_price *a, const cm_price *b, int32_t n)
{
    if ((a->devices <= n) != (b->devices <= n)) return a->devices <= n;
    return a->usd_hour < b->usd_hour || (a->usd_hour == b->usd_hour && a->devices < b->devices);
}

const cm_price *cm_device_cheapest(const cm_device *device, int32_t n, cm_basis basis, const char *provider)
{
    const cm_price *best = NULL;
    for (int32_t i = 0; i < device->n_prices; i++) {
        const cm_price *p = &device->prices[i];
        if (suits(p, basis, provider) && (!best || better(p, best, n))) best = p;
    }
    if (best || basis != CM_BASIS_ANY) return best;
    return cm_device_cheapest(device, n, CM_BASIS_PAPER, provider);
}
