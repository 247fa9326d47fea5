/* SPDX-License-Identifier: Apache-2.0 */
/* device.c - devices: listing, loading and properties. */
#include "device/what_if.h"
#include "device/device.h"

#include <math.h>
#include <string.h>
#include "base/text.h"
#include "device/compiled.h"
#include "device/described.h"
#include "device/machine/machine.h"

#define THIS_MACHINE "this-machine"

/* ---- loading ---------------------------------------------------------------------------------------------------- */

int32_t cm_devices(void) { return cm__profiles(CM__PROFILE_DEVICE); }

const char *cm_device_id(int32_t index)
{
    const cm__embedded_profile *row = cm__profile_at(CM__PROFILE_DEVICE, index);
    return row ? row->id : NULL;
}

static void refuse_family(cm__ctx *ctx, const json_t *tree)
{
    if (json_is_true(json_object_get(tree, "abstract")))
        cm__fail(ctx, CM_ERR_ARGUMENT, "'%.64s' is a family of devices, not a device", cm__text_at(tree, "id"));
}

static cm_device *read_profile(cm__ctx *ctx, const char *name)
{
    cm__profile profile = {0};
    if (cm__device_is_described(name)) {
        const char *text = cm__device_described(ctx, name);
        profile = cm__profile_parse(ctx, CM__PROFILE_DEVICE, &(cm__origin){.text = text, .size = strlen(text)});
    } else if (cm__same_name(name, THIS_MACHINE)) profile.tree = cm__machine_profile(ctx);
    else profile = cm__profile_load(ctx, CM__PROFILE_DEVICE, name, CM__PROFILE_FULL);
    refuse_family(ctx, profile.tree);
    cm_device *d = cm__device_read(ctx, &profile);
    if (cm__device_is_described(name)) d->info.id = cm__text_copy(ctx, name);
    return d;
}

cm_status cm_device_load(const char *name, cm_device **device, cm_diag *diag)
{
    if (!name || !device) return cm__diag_set(diag, CM_ERR_ARGUMENT, "no device given");
    cm__ctx *ctx = cm__ctx_new(diag);
    if (!ctx) return CM_ERR_MEMORY;
    if (setjmp(ctx->trap)) return cm__ctx_abandon(ctx);
    const char *changes = strchr(name, CM__WHAT_IF);
    const char *plain = changes ? cm__format(ctx, "%.*s", (int)(changes - name), name) : name;
    int32_t     compiled = cm__compiled_find(plain);
    cm_device  *loaded = compiled >= 0 ? cm__compiled_load(ctx, compiled) : read_profile(ctx, plain);
    if (changes) loaded = cm__device_what_if(ctx, loaded, changes + 1);
    ctx->diag = NULL; /* the device outlives the caller's diag */
    *device = loaded;
    return CM_OK;
}

cm_status cm__device_parse(const char *text, size_t size, cm_device **device, cm_diag *diag)
{
    cm__ctx *ctx = cm__ctx_new(diag);
    if (!ctx) return CM_ERR_MEMORY;
    if (setjmp(ctx->trap)) return cm__ctx_abandon(ctx);
    cm__origin  origin = {.text = text, .size = size};
    cm__profile profile = cm__profile_parse(ctx, CM__PROFILE_DEVICE, &origin);
    refuse_family(ctx, profile.tree);
    *device = cm__device_read(ctx, &profile);
    ctx->diag = NULL;
    return CM_OK;
}

cm_status cm_device_load_brief(const char *name_or_path, cm_device **device, cm_diag *diag)
{
    return cm_device_load(name_or_path, device, diag);
}

void cm_device_free(cm_device *device)
{
    if (device) cm__ctx_free(device->ctx);
}

static void release(void *device) { cm_device_free(device); }

const cm_device *cm__device_peer(const cm_device *device, const char *id)
{
    for (int32_t i = 0; device->peers && i < device->peers->count; i++)
        if (strcmp(device->peers->devices[i]->info.id, id) == 0) return device->peers->devices[i];
    return NULL;
}

const cm_device *cm__device_beside(cm__ctx *ctx, const cm_device *device, const char *id)
{
    cm_device       *loaded;
    const cm_device *peer = cm__device_peer(device, id);
    if (peer) return peer;
    if (cm_device_load(id, &loaded, NULL)) return NULL;
    cm__defer(ctx, release, loaded);
    return loaded;
}

bool cm__device_is(const cm_device *device, const char *id)
{
    for (int32_t i = 0; i < device->lineage.count; i++)
        if (device->lineage.all[i].built_in && strcmp(device->lineage.all[i].id, id) == 0) return true;
    return false;
}

const char *cm__device_family(const cm_device *device)
{
    for (int32_t i = 0; i < device->lineage.count; i++)
        if (device->lineage.all[i].built_in && device->lineage.all[i].abstract) return device->lineage.all[i].id;
    return NULL;
}

/* ---- numbers ---------------------------------------------------------------------------------------------------- */

static const cm_number unknown = {.value = NAN};

const cm_device_info *cm_device_get_info(const cm_device *device) { return &device->info; }

cm_number cm_device_number(const cm_device *device, cm_quantity quantity)
{
    return (unsigned)quantity < CM_QUANTITIES ? device->numbers[quantity] : unknown;
}

cm_number cm_device_peak(const cm_device *device, cm_engine engine, cm_rate rate)
{
    return (unsigned)engine < CM_ENGINES && (unsigned)rate < CM_RATES ? device->peaks[engine][rate] : unknown;
}

cm_number cm_device_flop_energy(const cm_device *d, cm_rate rate)
{
    return rate >= 0 && rate < CM_RATES ? d->flop_energy[rate] : unknown;
}

cm_number cm_device_peak_16bit(const cm_device *device)
{
    cm_number best = unknown;
    for (int e = 0; e < CM_ENGINES; e++)
        for (int r = CM_RATE_BF16; r <= CM_RATE_FP16; r++) {
            const cm_number *n = &device->peaks[e][r];
            if (n->known && (!best.known || n->value > best.value)) best = *n;
        }
    return best;
}

cm_precision cm_device_best_16bit(const cm_device *device) { return device->best_16bit; }

cm_precision cm_device_usual_precision(const cm_device *device)
{
    static const cm_precision mixed[CM_PRECISIONS] = {
        [CM_PRECISION_DEFAULT] = CM_PRECISION_FP32, [CM_PRECISION_BF16] = CM_PRECISION_AMP_BF16,
        [CM_PRECISION_FP16] = CM_PRECISION_AMP_FP16};
    cm_precision best = cm_device_best_16bit(device);
    if (device->usual_precision != CM_PRECISION_DEFAULT) return device->usual_precision;
    return cm_device_supports(device, mixed[best]) ? mixed[best] : best ? best : CM_PRECISION_FP32;
}

/* ---- memories --------------------------------------------------------------------------------------------------- */

int32_t cm_device_memories(const cm_device *device) { return device->n_memories; }

const cm_memory *cm_device_memory(const cm_device *device, int32_t index)
{
    return index >= 0 && index < device->n_memories ? &device->memories[index] : NULL;
}

cm_placement cm_device_placement(const cm_device *device, cm_category category)
{
    return (unsigned)category < CM_CATEGORIES ? device->placement[category] : (cm_placement){.memory = -1};
}

/* The memory of the weights or, if they are streamed, of the workspace. If the profile names none: the largest
   memory, and a cache only if there is no other. */
const cm_memory *cm_device_main_memory(const cm_device *device)
{
    const cm_placement *weights = &device->placement[CM_CATEGORY_WEIGHTS_BIASES];
    const cm_placement *kept = weights->streamed ? &device->placement[CM_CATEGORY_EPHEMERAL] : weights;
    const cm_memory    *m = cm_device_memory(device, kept->memory);
    if (m && m->place != CM_PLACE_HOST) return m;
    m = NULL;
    for (int32_t i = 0; i < device->n_memories; i++) {
        const cm_memory *other = &device->memories[i];
        if (other->place == CM_PLACE_HOST) continue;
        if (!m || m->cache > other->cache ||
            (m->cache == other->cache && m->capacity_bytes.value < other->capacity_bytes.value))
            m = other;
    }
    return m;
}

cm_number cm_device_reserve(const cm_device *device, cm_runtime runtime, const char *what)
{
    const char *name = cm_runtime_name(runtime);
    for (int32_t i = 0; name && i < device->n_reserve; i++)
        if (cm__same_text(device->reserve[i].runtime, name) && cm__same_text(device->reserve[i].what, what))
            return device->reserve[i].size_bytes;
    return unknown;
}

/* ---- links, prices, fits ---------------------------------------------------------------------------------------- */

/* Two functions per list: the number of its items, and the n-th item. */
#define LIST(type, plural, singular, items, count)                                                                     \
    int32_t     cm_device_##plural(const cm_device *device) { return device->count; }                                  \
    const type *cm_device_##singular(const cm_device *device, int32_t index)                                           \
    {                                                                                                                  \
        return index >= 0 && index < device->count ? &device->items[index] : NULL;                                     \
    }
LIST(cm_link, links, link, links.items, links.count)
LIST(cm_collective, collectives, collective, collectives.items, collectives.count)
LIST(cm_price, prices, price, prices, n_prices)
LIST(cm_fit, fits, fit, fits, n_fits)
LIST(cm_assumption, assumptions, assumption, assumed, n_assumed)

const cm_link *cm_device_host_link(const cm_device *device) { return device->host_link; }

bool cm_device_has_alias(const cm_device *device, const char *name)
{
    for (int32_t i = 0; i < device->n_aliases; i++)
        if (strcmp(device->aliases[i], name) == 0) return true;
    return false;
}

int32_t cm_device_batches(const cm_device *device) { return device->n_batches; }

int64_t cm_device_batch(const cm_device *device, int32_t index)
{
    return index >= 0 && index < device->n_batches ? device->batches[index] : 0;
}

const cm_source *cm_device_source(const cm_device *device, const char *key)
{
    return cm__source_find(&device->sources, key);
}

static char *profile_text(const json_t *tree) { return json_dumps(tree, JSON_COMPACT | JSON_REAL_PRECISION(17)); }

/* Parses the profile of a built-in device, which is loaded without it. NULL: no memory. */
static char *built_in_profile(const char *id)
{
    cm__ctx *ctx = cm__ctx_new(NULL);
    if (!ctx) return NULL;
    if (setjmp(ctx->trap)) {
        cm__ctx_free(ctx);
        return NULL;
    }
    char *text = profile_text(cm__profile_load(ctx, CM__PROFILE_DEVICE, id, CM__PROFILE_FULL).tree);
    cm__ctx_free(ctx);
    return text;
}

const char *cm_device_measured_with(cm_device *device)
{
    if (setjmp(device->ctx->trap)) return NULL;
    return cm__kernels_text(device->ctx, device->kernels.count ? device->kernels : device->built_in_kernels);
}

const char *cm_device_profile(cm_device *device)
{
    if (!device->profile)
        device->profile = device->tree ? profile_text(device->tree) : built_in_profile(device->info.id);
    return device->profile;
}
