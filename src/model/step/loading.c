/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loading.c - the time to load a step's samples, and how much of it overlaps with the step.
 *
 *     read = B bytes / storage      prepare = B seconds / workers      copy = B input bytes / host link
 *
 * A GPU's loader reads, prepares and copies at the same time: the longest counts. Hosts of other accelerators read
 * first and then prepare (Xie et al. 2024, section 4.3.4). Loading overlaps with the step, and the longer of the two
 * counts; without workers the step waits for it. Each worker makes a whole batch: at the start of an epoch the device
 * waits until one worker has made the first. Not modelled: the page cache, shuffling, other users of the storage,
 * augmentation beyond a crop, and CPU time that preparation takes from the thread that launches kernels.
 */
#include "model/step/loading.h"

#include <math.h>
#include <string.h>
#include "base/text.h"
#include "device/number.h"
#include "model/step/step.h"

#define LOADING_ERROR 0.3     /* log error of rates that were measured on another host */
#define CORES_OTHERWISE 8     /* cores per device of an unknown host */

/* ---- the host --------------------------------------------------------------------------------------------------- */

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

/* The named host, or the usual host of the device or of its base. Unknown rates are those of the measured host,
   scaled by the clocks. */
static cm__known_host host_of(cm__ctx *ctx, const cm_device *device, const char *id)
{
    const cm_device_info *info = &device->info;
    cm__known_host        host = {.id = info->id, .name = "an unknown host", .cores = CORES_OTHERWISE,
                                  .clock_hz = NAN, .read_bytes_s = NAN, .images_s = NAN, .tokens_s = NAN};
    for (int32_t i = 0; !id && i < cm__n_known_hosts; i++)
        if (feeds(ctx, &cm__known_hosts[i], device)) {
            host = cm__known_hosts[i];
            break;
        }
    if (id) host = *host_named(ctx, id);
    const cm__known_host *measured = &cm__known_hosts[0];
    double                clocks = host.clock_hz > 0 ? host.clock_hz / measured->clock_hz : 1;
    if (isnan(host.read_bytes_s)) host.read_bytes_s = measured->read_bytes_s;
    if (isnan(host.images_s)) host.images_s = measured->images_s * clocks;
    if (isnan(host.tokens_s)) host.tokens_s = measured->tokens_s * clocks;
    return host;
}

/* The rate that `bench` measured on the device's own host; NAN: not measured. */
static double own_rate(const cm_device *d, const char *what)
{
    for (int32_t i = 0; i < d->n_host; i++)
        if (strcmp(d->host[i].what, what) == 0 && strcmp(d->host[i].runtime, cm_runtime_name(CM_RUNTIME_NATIVE)) == 0)
            return 1 / d->host[i].time_s.value;
    return NAN;
}

static void take_own_rates(const cm_device *d, cm__known_host *host)
{
    const struct {
        const char *what;
        double     *rate;
    } own[] = {{"read-byte", &host->read_bytes_s}, {"decode-image", &host->images_s}, {"batch-token", &host->tokens_s}};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        double rate = own_rate(d, own[i].what);
        if (rate > 0) *own[i].rate = rate;
    }
}

/* ---- loader ----------------------------------------------------------------------------------------------------- */

cm__loading cm__loading_of(cm__ctx *ctx, const cm_graph *g, const cm_device *device, const cm_loading_options *o)
{
    if (!o->on && !o->dataset) return (cm__loading){.on = false};
    cm__dataset    data = cm__dataset_of(ctx, o->dataset, g);
    cm__known_host host = host_of(ctx, device, o->host);
    if (!o->host) take_own_rates(device, &host);
    double        workers = o->workers > 0 ? (double)o->workers : o->workers < 0 ? 1 : fmax(1, host.cores);
    const cm_link *link = device->host_link;
    double        prepare_s = data.prepare_s + data.images / host.images_s + data.tokens / host.tokens_s;
    double        read_s = data.bytes / host.read_bytes_s;
    double        copy_s = link && link->bw_bytes_s.known ? cm__sample_bytes(g) / link->bw_bytes_s.value : 0;
    return (cm__loading){
        .on = true,
        .in_turn = cm_device_runtime(device) == CM_RUNTIME_NATIVE, /* PyTorch's loader overlaps them */
        .waits = o->workers < 0,
        .read_s = read_s,
        .prepare_s = prepare_s / workers,
        .copy_s = copy_s,
        .begin_s = data.begin_s,
        .first_s = o->workers < 0 ? 0 : read_s + prepare_s + copy_s,
        .together = 1,
        .samples = data.samples,
        .workers = o->workers < 0 ? 0 : (int64_t)workers,
        .dataset = data.name,
        .host = host.name,
    };
}

/* ---- overlap with the step -------------------------------------------------------------------------------------- */

static double load_s(const cm__loading *l)
{
    if (l->waits) return l->read_s + l->prepare_s + l->copy_s;
    double moved = fmax(l->read_s, l->copy_s);
    return l->in_turn ? moved + l->prepare_s : fmax(moved, l->prepare_s);
}

static double joined(const cm__loading *l, double compute_s, double load)
{
    return l->waits ? compute_s + load : fmax(compute_s, load);
}

/* The wait at the start of an epoch, divided by its steps. An epoch has whole calls of `together` steps. */
static double begin_s(const cm__loading *l, double batch)
{
    double at_once = batch * l->together;
    if (isnan(l->samples)) return 0;
    return (l->begin_s + at_once * l->first_s) / (fmax(1, floor(l->samples / at_once)) * l->together);
}

void cm__power_dilute(cm_prediction_info *i, double busy) { i->power_w = i->idle_w + (i->power_w - i->idle_w) * busy; }

void cm__loading_add(const cm__loading *l, cm_prediction_info *i)
{
    i->compute_s = i->step_time_s;
    i->loading = (cm_loading_info){.epoch_samples = NAN};
    if (!l->on) return;
    double batch = (double)i->batch, steady_s = batch * load_s(l), begin = begin_s(l, batch);
    i->load_s = steady_s + begin;
    i->step_time_s = joined(l, i->compute_s, steady_s) + begin;
    i->overlapped_s = i->compute_s + i->load_s - i->step_time_s;
    for (int side = 0; side < 2; side++) {
        double factor = exp((side ? CM__SIGMAS_OF_90_PERCENT : -CM__SIGMAS_OF_90_PERCENT) * LOADING_ERROR);
        i->interval_s[side] = joined(l, i->interval_s[side], steady_s * factor) + begin * factor;
    }
    double slower = i->step_time_s > 0 ? i->compute_s / i->step_time_s : 1;
    i->throughput_samples_s *= slower;
    i->mfu *= slower;
    cm__power_dilute(i, slower);
    i->loading = (cm_loading_info){.dataset = l->dataset,
                                   .host = l->host,
                                   .workers = l->workers,
                                   .read_s = batch * l->read_s,
                                   .prepare_s = batch * l->prepare_s,
                                   .copy_s = batch * l->copy_s,
                                   .epoch_samples = l->samples};
}
