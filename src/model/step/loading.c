/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loading.c - the time to load a step's samples, and how much of it overlaps with the step.
 *
 *     read = B bytes / storage      prepare = B seconds / workers      copy = B input bytes / host link
 *
 * A GPU's loader reads, prepares and copies at the same time: the longest counts. Hosts of other accelerators read
 * first and then prepare (Xie et al. 2024, section 4.3.4). Loading overlaps with the step, and the longer of the two
 * counts; without workers the step waits for it. Each worker makes a whole batch: at the start of an epoch the device
 * waits until one worker has made the first. The threads of PyTorch's training process need cores of their own. Not
 * modelled: the page cache, shuffling, other users of the storage, augmentation beyond a crop, and CPU time that
 * preparation takes from the thread that launches kernels.
 */
#include "model/step/loading.h"

#include <math.h>
#include <string.h>
#include "device/number.h"
#include "model/step/step.h"
#include "model/time/factors.h"

#define LOADING_ERROR 0.3     /* log error of rates that were measured on another host */

/* ---- the host --------------------------------------------------------------------------------------------------- */

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

/* PyTorch users decode with Pillow and transform with torchvision, in workers that hand batches over or, without
   workers, in the training process. The rates of hosts are those of libturbojpeg. */
static double image_factor(bool pytorch, bool workers)
{
    if (!pytorch) return 1;
    return workers ? cm__time_factors.torchvision_worker : cm__time_factors.torchvision_alone;
}

/* Workers that have a core each; all of them if the host is not known. */
static double with_cores(double workers, const cm__known_host *host, bool pytorch)
{
    double left = host->cores - cm__time_factors.training_cores;
    return pytorch && host->cores > 0 ? fmin(workers, fmax(1, left)) : workers;
}

cm__loading cm__loading_of(cm__ctx *ctx, const cm_graph *g, const cm_device *device, const cm_loading_options *o)
{
    if (!o->on && !o->dataset) return (cm__loading){.on = false};
    cm__dataset    data = cm__dataset_of(ctx, o->dataset, g);
    cm__known_host host = cm__host_of(ctx, device, o->host);
    if (!o->host) take_own_rates(device, &host);
    double        workers = o->workers > 0 ? (double)o->workers : o->workers < 0 ? 1 : fmax(1, host.cores);
    const cm_link *link = device->host_link;
    bool          pytorch = cm_device_runtime(device) != CM_RUNTIME_NATIVE;
    double        images = data.images * image_factor(pytorch, o->workers >= 0);
    double        prepare_s = data.prepare_s + images / host.images_s + data.tokens / host.tokens_s;
    double        read_s = data.bytes / host.read_bytes_s;
    double        link_s = link && link->bw_bytes_s.known ? 1 / link->bw_bytes_s.value : 0; /* a byte */
    if (pytorch && data.turn_s > 0) link_s = fmax(link_s, 1 / cm__time_factors.unpinned_bytes_s);
    double        copy_s = cm__sample_bytes(g) * link_s;
    return (cm__loading){
        .on = true,
        .in_turn = !pytorch, /* PyTorch's loader overlaps them */
        .waits = o->workers < 0,
        .read_s = read_s,
        .prepare_s = prepare_s / with_cores(workers, &host, pytorch),
        .copy_s = copy_s,
        .begin_s = data.begin_s,
        .shared_s = data.rate > 0 ? 1 / data.rate : 0,
        .turn_s = data.turn_s,
        .first_s = o->workers < 0 ? 0 : read_s + prepare_s + copy_s,
        .together = 1,
        .per_call = 1,
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
    double transfer_s = fmax(l->read_s, l->turn_s > 0 ? 0 : l->copy_s); /* otherwise part of the turn */
    return l->in_turn ? transfer_s + l->prepare_s : fmax(transfer_s, l->prepare_s);
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
    double copies = fmax(1, l->copies), fed_s = copies * batch * l->shared_s;
    /* a process that serves the replicas in turn also copies the inputs of each */
    double turns_s = l->turn_s > 0 ? copies * (l->turn_s + batch * l->copy_s) : 0;
    i->load_s = fmax(steady_s, fed_s) + turns_s + begin;
    i->step_time_s = joined(l, i->compute_s, fmax(steady_s, fed_s)) + turns_s + begin;
    i->overlapped_s = i->compute_s + i->load_s - i->step_time_s;
    for (int side = 0; side < 2; side++) {
        double factor = exp((side ? CM__SIGMAS_OF_90_PERCENT : -CM__SIGMAS_OF_90_PERCENT) * LOADING_ERROR);
        i->interval_s[side] = joined(l, i->interval_s[side], factor * fmax(steady_s, fed_s)) + factor * (turns_s + begin);
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
