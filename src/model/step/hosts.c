/* SPDX-License-Identifier: Apache-2.0 */
/* hosts.c - the hosts of data/hosts.tsv: which one feeds a device, and its clocks and rates. */
#include <math.h>
#include <string.h>
#include "base/text.h"
#include "model/step/loading.h"

#define CORES_OTHERWISE 8 /* cores per device of an unknown host */

/* True: the device, or one of its bases, is in the host's list of devices, which is separated by spaces. */
static bool feeds(cm__ctx *ctx, const cm__known_host *host, const cm_device *device)
{
    for (const char *at = host->devices; *at; at += *at == ' ') {
        size_t length = strcspn(at, " ");
        if (cm__device_is(device, cm__text_copy_n(ctx, at, length))) return true;
        at += length;
    }
    return false;
}

static const cm__known_host *host_named(cm__ctx *ctx, const char *id)
{
    const char **ids = cm__alloc_array(ctx, (size_t)cm__n_known_hosts, sizeof *ids), *known = "";
    for (int32_t i = 0; i < cm__n_known_hosts; i++) {
        if (cm__same_name(id, cm__known_hosts[i].id)) return &cm__known_hosts[i];
        known = cm__format(ctx, "%s%s%s", known, i ? ", " : "", ids[i] = cm__known_hosts[i].id);
    }
    const char *meant = cm__nearest(id, ids, (size_t)cm__n_known_hosts);
    cm__fail(ctx, CM_ERR_UNKNOWN, "no host '%.64s'%s%s%s; there are %s", id, meant ? ", did you mean '" : "",
             meant ? meant : "", meant ? "'?" : "", known);
}

/* Images/s of a core by the last host of the table that has a rate, a server as the others are. Cores run near their boost
   clocks while some of them decode, and host times are scaled by these, too (host.c). */
static double decoding_of(const cm__known_host *host)
{
    const cm__known_host *known = &cm__known_hosts[0];
    for (int32_t i = 1; i < cm__n_known_hosts; i++)
        if (!isnan(cm__known_hosts[i].images_s)) known = &cm__known_hosts[i];
    return host->boost_hz > 0 ? known->images_s * host->boost_hz / known->boost_hz : cm__known_hosts[0].images_s;
}

/* The named host, or the usual host of the device or of its base. Unknown rates are those of measured hosts, scaled by
   the clocks. */
cm__known_host cm__host_of(cm__ctx *ctx, const cm_device *device, const char *id)
{
    cm__known_host host = {.id = device ? device->info.id : id, .name = "an unknown host", .cores = CORES_OTHERWISE,
                           .clock_hz = NAN, .boost_hz = NAN,
                           .read_bytes_s = NAN, .images_s = NAN, .tokens_s = NAN};
    for (int32_t i = 0; !id && device && i < cm__n_known_hosts; i++)
        if (feeds(ctx, &cm__known_hosts[i], device)) {
            host = cm__known_hosts[i];
            break;
        }
    if (id) host = *host_named(ctx, id);
    const cm__known_host *measured = &cm__known_hosts[0];
    double                clocks = host.clock_hz > 0 ? host.clock_hz / measured->clock_hz : 1;
    if (isnan(host.read_bytes_s)) host.read_bytes_s = measured->read_bytes_s;
    if (isnan(host.images_s)) host.images_s = decoding_of(&host);
    if (isnan(host.tokens_s)) host.tokens_s = measured->tokens_s * clocks;
    return host;
}
