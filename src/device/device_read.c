/* SPDX-License-Identifier: Apache-2.0 */
/* device_read.c - read a checked profile into typed values. */
#include <stdlib.h>
#include <string.h>
#include "device/assumed.h"
#include "device/defaults.h"
#include "device/device.h"
#include "device/price_list.h"

static const char *const engine_names[CM_ENGINES] = {[CM_ENGINE_MATRIX] = "matrix", [CM_ENGINE_VECTOR] = "vector"};
static const char *const place_names[CM_PLACES] = {"on-chip", "off-chip", "host"};
static const char *const precision_names[CM_PRECISIONS] = {"", "fp32", "tf32", "amp-bf16", "amp-fp16", "bf16", "fp16",
                                                           "fp8"};

/* group NULL: a member of the profile itself */
static const struct {
    const char *group, *key;
} quantities[CM_QUANTITIES] = {
    [CM_CORES] = {NULL, "cores"},
    [CM_CLOCK_HZ] = {NULL, "clock_hz"},
    [CM_ONCHIP_WEIGHT] = {NULL, "onchip_weight"},
    [CM_LAUNCH_S] = {NULL, "launch"},
    [CM_COMPILE_S] = {NULL, "compile"},
    [CM_GPUS] = {NULL, "gpus"},
    [CM_EXPONENTIALS] = {NULL, "exponentials"},
    [CM_TDP_W] = {"power", "tdp"},
    [CM_TYPICAL_W] = {"power", "typical"},
    [CM_IDLE_W] = {"power", "idle"},
    [CM_BYTE_J] = {"power", "per_byte"},
    [CM_ACTIVE_W] = {"power", "active"},
    [CM_POWER_EXPONENT] = {"power", "exponent"},
    [CM_POWER_FLOOR] = {"power", "floor"},
    [CM_POWER_HELD] = {"power", "held"},
    [CM_BURST_W] = {"power", "burst"},
};

static bool lists(const json_t *array, const char *text)
{
    for (size_t i = 0; i < json_array_size(array); i++)
        if (strcmp(json_string_value(json_array_get(array, i)), text) == 0) return true;
    return false;
}

static void read_runtimes(cm_device *d)
{
    const json_t *array = json_object_get(d->tree, "runtimes");
    for (size_t i = 0; i < json_array_size(array) && d->n_runtimes < CM_RUNTIMES; i++)
        if (!cm_runtime_parse(json_string_value(json_array_get(array, i)), &d->runtimes[d->n_runtimes], NULL))
            d->n_runtimes++;
}

static const char *text_or_default(const cm_device *d, const char *member)
{
    const char *own = cm__text_at(d->tree, member);
    return own ? own : cm__default_of(d->info.device_class, member);
}

/* The profile's value, or else that of its class. */
static void read_class_members(cm_device *d, const json_t *sources)
{
    cm_number   tile = cm__number_at(d->tree, "tile", sources);
    const char *usual_tile = cm__default_of(d->info.device_class, "tile");
    const char *reference = text_or_default(d, "reference");
    d->tile = tile.known ? tile.value : strtod(usual_tile, NULL);
    d->reference = reference && strcmp(reference, "none") ? reference : NULL;
    cm_runtime_parse(cm__default_of(d->info.device_class, "runtime"), &d->usual_runtime, NULL);
}

static void read_info(cm_device *d)
{
    const json_t *t = d->tree, *modes = json_object_get(t, "modes");
    d->info = (cm_device_info){.id = cm__text_at(t, "id"),
                               .name = cm__text_at(t, "name"),
                               .vendor = cm__text_at(t, "vendor"),
                               .base = cm__text_at(t, "base"),
                               .device_class = cm__text_at(t, "class"),
                               .unit = cm__text_at(t, "unit"),
                               .part_of = cm__text_at(t, "part_of"),
                               .core_name = cm__text_at(t, "core_name"),
                               .released = cm__text_at(t, "released"),
                               .availability = cm__text_at(t, "availability"),
                               .style = (cm_style)cm__index_of(cm__text_at(t, "style"), cm__style_names, CM_STYLES),
                               .training = lists(modes, "training"),
                               .inference = lists(modes, "inference")};
    d->chip = cm__text_at(t, "chip");
    for (int p = CM_PRECISION_FP32; p < CM_PRECISIONS; p++)
        d->precisions[p] = lists(json_object_get(t, "precisions"), precision_names[p]);
    const char *layout = cm__text_at(t, "layout");
    if (layout) d->layout = strcmp(layout, "nchw") == 0 ? CM_LAYOUT_NCHW : CM_LAYOUT_NHWC;
    d->best_16bit = (cm_precision)cm__index_of(cm__text_at(t, "best_16bit"), precision_names, CM_PRECISIONS);
    d->usual_precision = (cm_precision)cm__index_of(cm__text_at(t, "usual_precision"), precision_names, CM_PRECISIONS);
}

static void read_numbers(cm_device *d, const json_t *sources)
{
    const json_t *peak = json_object_get(d->tree, "peak");
    for (int q = 0; q < CM_QUANTITIES; q++) {
        const json_t *group = quantities[q].group ? json_object_get(d->tree, quantities[q].group) : d->tree;
        d->numbers[q] = cm__number_at(group, quantities[q].key, sources);
    }
    const json_t *energy = json_object_get(json_object_get(d->tree, "power"), "per_flop");
    for (int r = 0; r < CM_RATES; r++) d->flop_energy[r] = cm__number_at(energy, cm__rate_names[r], sources);
    for (int e = 0; e < CM_ENGINES; e++)
        for (int r = 0; r < CM_RATES; r++)
            d->peaks[e][r] = cm__number_at(json_object_get(peak, engine_names[e]), cm__rate_names[r], sources);
}

static void read_memories(cm_device *d, const json_t *sources)
{
    const json_t *array = json_object_get(d->tree, "memory");
    d->n_memories = (int32_t)json_array_size(array);
    d->memories = cm__alloc_array(d->ctx, (size_t)d->n_memories, sizeof *d->memories);
    for (int32_t i = 0; i < d->n_memories; i++) {
        const json_t *m = json_array_get(array, (size_t)i);
        d->memories[i] = (cm_memory){
            .name = cm__text_at(m, "name"),
            .place = (cm_memory_place)cm__index_of(cm__text_at(m, "place"), place_names, CM_PLACES),
            .cache = strcmp(cm__text_at(m, "managed"), "cache") == 0,
            .per_core = strcmp(cm__text_at(m, "scope"), "core") == 0,
            .capacity_bytes = cm__number_at(m, "capacity", sources),
            .bw_bytes_s = cm__number_at(m, "bandwidth", sources)};
    }
}

static int32_t memory_named(const cm_device *d, const char *name)
{
    for (int32_t i = 0; name && i < d->n_memories; i++)
        if (strcmp(d->memories[i].name, name) == 0) return i;
    return -1;
}

static void read_placement(cm_device *d)
{
    const json_t *p = json_object_get(d->tree, "placement");
    for (int c = 0; c < CM_CATEGORIES; c++)
        d->placement[c] = (cm_placement){.memory = memory_named(d, cm__text_at(p, cm__category_names[c])),
                                         .replicated = lists(json_object_get(p, "replicated"), cm__category_names[c]),
                                         .streamed = lists(json_object_get(p, "streamed"), cm__category_names[c])};
}

static void read_links(cm_device *d, const json_t *sources)
{
    const json_t *host = json_object_get(d->tree, "host_link");
    if (host) {
        d->host_link = cm__alloc(d->ctx, sizeof *d->host_link);
        *d->host_link = cm__link_of(host, sources);
    }
    d->links = cm__links_of(d->ctx, json_object_get(d->tree, "links"), sources);
    d->collectives = cm__collectives_of(d->ctx, json_object_get(d->tree, "collectives"), sources);
}

static const char **words_of(cm__ctx *ctx, const json_t *array, int32_t *count)
{
    *count = (int32_t)json_array_size(array);
    const char **words = cm__alloc_array(ctx, (size_t)*count, sizeof *words);
    for (int32_t i = 0; i < *count; i++) words[i] = json_string_value(json_array_get(array, (size_t)i));
    return words;
}

static void read_words(cm_device *d)
{
    const json_t *operators = json_object_get(d->tree, "operators");
    d->aliases = words_of(d->ctx, json_object_get(d->tree, "aliases"), &d->n_aliases);
    d->unsupported = words_of(d->ctx, json_object_get(operators, "unsupported"), &d->n_unsupported);
}

static void read_batches(cm_device *d)
{
    const json_t *array = json_object_get(d->tree, "batch_candidates");
    d->n_batches = (int32_t)json_array_size(array);
    d->batches = cm__alloc_array(d->ctx, (size_t)d->n_batches, sizeof *d->batches);
    for (int32_t i = 0; i < d->n_batches; i++)
        d->batches[i] = (int64_t)json_number_value(json_array_get(array, (size_t)i));
}

/* ---- fits ------------------------------------------------------------------------------------------------------- */

/* A number, or a list of them. */
static cm_parameter parameter_of(cm__ctx *ctx, const char *name, const json_t *value)
{
    bool    list = json_is_array(value);
    int32_t count = list ? (int32_t)json_array_size(value) : 1;
    double *values = cm__alloc_array(ctx, (size_t)count, sizeof *values);
    for (int32_t i = 0; i < count; i++)
        values[i] = json_number_value(list ? json_array_get(value, (size_t)i) : value);
    return (cm_parameter){name, values, count};
}

static cm_fit fit_of(cm__ctx *ctx, const json_t *f)
{
    const json_t *error = json_object_get(f, "error");
    json_t       *all = json_object_get(f, "parameters"), *value;
    cm_parameter *parameters = cm__alloc_array(ctx, json_object_size(all), sizeof *parameters);
    const char   *name;
    int32_t       count = 0;
    json_object_foreach(all, name, value) parameters[count++] = parameter_of(ctx, name, value);
    return (cm_fit){.op = cm__text_at(f, "op"),
                    .pass = cm__text_at(f, "pass"),
                    .dtype = cm__text_at(f, "dtype"),
                    .runtime = cm__text_at(f, "runtime"),
                    .form = cm__text_at(f, "form"),
                    .parameters = parameters,
                    .n_parameters = count,
                    .n = (int32_t)json_number_value(json_object_get(f, "n")),
                    .mape = json_number_value(json_object_get(error, "mape")),
                    .bias = json_number_value(json_object_get(error, "bias")),
                    .p90 = json_number_value(json_object_get(error, "p90")),
                    .source = cm__text_at(f, "source"),
                    .date = cm__text_at(f, "date"),
                    .note = cm__text_at(f, "note")};
}

static void read_fits(cm_device *d)
{
    const json_t *array = json_object_get(d->tree, "fits");
    d->n_fits = (int32_t)json_array_size(array);
    d->fits = cm__alloc_array(d->ctx, (size_t)d->n_fits, sizeof *d->fits);
    for (int32_t i = 0; i < d->n_fits; i++) d->fits[i] = fit_of(d->ctx, json_array_get(array, (size_t)i));
}

/* ---- what runtimes do ------------------------------------------------------------------------------------------- */

static void read_host(cm_device *d, const json_t *sources)
{
    const json_t *array = json_object_get(d->tree, "host");
    d->n_host = (int32_t)json_array_size(array);
    d->host = cm__alloc_array(d->ctx, (size_t)d->n_host, sizeof *d->host);
    for (int32_t i = 0; i < d->n_host; i++) {
        const json_t *h = json_array_get(array, (size_t)i);
        d->host[i] = (cm__host_cost){cm__text_at(h, "runtime"), cm__text_at(h, "what"),
                                     cm__number_at(h, "time", sources), cm__text_at(h, "host"),
                                     cm__versions_at(sources, cm__text_at(json_object_get(h, "time"), "source"))};
    }
}

/* Load a base as a separate device. */
static const cm_device *read_base(const cm_device *d, int32_t at)
{
    cm__profile base = {.tree = d->lineage.all[at].tree, .lineage = {.count = d->lineage.count - at}};
    if (!base.tree) return NULL;
    memcpy(base.lineage.all, d->lineage.all + at, (size_t)base.lineage.count * sizeof *base.lineage.all);
    base.lineage.all[0].tree = NULL;
    return cm__device_read(d->ctx, &base);
}

/* Tables belong to the profile that contains them: profiles based on it may describe another device. */
static void read_kernels(cm_device *d)
{
    d->kernels = cm__kernels_of(d->ctx, json_object_get(d->tree, "kernels"), json_object_get(d->tree, "sources"),
                                &(cm__origin){0});
    for (int32_t i = 0; i < d->lineage.count; i++) {
        const cm__ancestor *a = &d->lineage.all[i];
        cm__kernels         built_in = a->built_in ? cm__kernels_built_in(a->id) : (cm__kernels){0};
        if (!a->has_kernels) continue;
        const cm_device *base = read_base(d, i);
        if (!d->built_in_kernels.count && built_in.count) d->built_in_kernels = built_in, d->built_in_kernels_of = base;
        if (d->kernels.count && !d->kernels_of && !built_in.count) d->kernels_of = base ? base : d;
    }
    if (d->kernels_of == d) d->kernels_of = NULL;
}

static void read_reserve(cm_device *d, const json_t *sources)
{
    const json_t *array = json_object_get(d->tree, "reserve");
    d->n_reserve = (int32_t)json_array_size(array);
    d->reserve = cm__alloc_array(d->ctx, (size_t)d->n_reserve, sizeof *d->reserve);
    for (int32_t i = 0; i < d->n_reserve; i++) {
        const json_t *r = json_array_get(array, (size_t)i);
        d->reserve[i] =
            (cm__reserve){cm__text_at(r, "runtime"), cm__text_at(r, "what"), cm__number_at(r, "size", sources)};
    }
}

static void read_execution(cm_device *d, const json_t *sources)
{
    static const char *const efforts[CM__EFFORTS] = {"gemm", "conv", "attention", "memory"};
    const json_t  *x = json_object_get(d->tree, "execution"), *efficiency = json_object_get(x, "efficiency");
    cm__execution *e = &d->execution;
    e->known = x;
    for (int i = 0; i < CM__EFFORTS; i++) e->efficiency[i] = cm__number_at(efficiency, efforts[i], sources);
    const json_t *alone = json_object_get(x, "operator");
    e->operator_known = alone;
    e->operator_gemm = cm__number_at(alone, "gemm", sources);
    e->operator_conv = cm__number_at(alone, "conv", sources);
    e->operator_memory = cm__number_at(alone, "memory", sources);
    e->operator_s = cm__number_at(alone, "latency", sources);
    e->step_s = cm__number_at(x, "step_overhead", sources);
    e->tensor_s = cm__number_at(x, "tensor_overhead", sources);
    e->section_s = cm__number_at(x, "section_overhead", sources);
    e->layer_s = cm__number_at(x, "layer_latency", sources);
    e->score_s = cm__number_at(x, "score_latency", sources);
    e->time_step_s = cm__number_at(x, "time_step", sources);
    e->superstep = cm__number_at(x, "superstep", sources);
    e->steps_per_call = cm__number_at(x, "steps_per_call", sources);
    e->fill = cm__number_at(x, "fill", sources);
    e->engines = cm__number_at(x, "engines", sources);
    e->lanes = cm__number_at(x, "lanes", sources);
    e->weight_load = cm__number_at(x, "weight_load", sources);
    e->overlap = cm__number_at(x, "overlap", sources);
    e->stored_scores = cm__number_at(x, "stored_scores", sources);
    e->layer_loop = cm__number_at(x, "layer_loop", sources);
    e->joined = cm__number_at(x, "joined_elementwise", sources);
    e->older_software = cm__number_at(x, "older_software", sources);
    e->sums_behind = cm__number_at(x, "sums_behind", sources);
    e->gradient_bucket = cm__number_at(x, "gradient_bucket", sources);
    e->tiles = cm__number_at(x, "tiles", sources);
    e->segmented = cm__number_at(x, "segmented_softmax", sources);
    e->compiler_mapped = cm__number_at(x, "compiler_mapped", sources);
    e->compiler_share = cm__number_at(x, "compiler_share", sources);
    e->interval_s = cm__number_at(x, "sample_interval", sources);
    e->copies = cm__number_at(x, "copies", sources);
    e->error = cm__number_at(x, "error", sources);
    e->conv_error = cm__number_at(x, "conv_error", sources);
}

static void read_calibration(cm_device *d, const json_t *sources)
{
    const json_t *c = json_object_get(d->tree, "calibration");
    d->calibration = (cm__calibration){.matrix = cm__number_at(c, "matrix", sources),
                                       .vector = cm__number_at(c, "vector", sources),
                                       .host = cm__number_at(c, "host", sources)};
}

static void read_corrections(cm_device *d, const json_t *sources)
{
    static const char *const names[CM__CORRECTIONS] = {
#define CORRECTION(id, name) name,
#include "device/corrections.def"
#undef CORRECTION
    };
    const json_t *t = json_object_get(d->tree, "transfer");
    for (int i = 0; t && i < CM__CORRECTIONS; i++) d->corrections[i] = cm__number_at(t, names[i], sources);
}

static void read_sparsity(cm_device *d, const json_t *sources)
{
    const json_t *s = json_object_get(d->tree, "sparsity");
    d->sparse_skipped = cm__number_at(s, "skipped", sources);
    d->sparse_structured = cm__number_at(s, "structured", sources);
}

/* ---- the whole -------------------------------------------------------------------------------------------------- */

static void release(void *device) { free(((cm_device *)device)->profile); }

cm_device *cm__device_new(cm__ctx *ctx)
{
    cm_device *d = cm__alloc(ctx, sizeof *d);
    cm__defer(ctx, release, d);
    d->ctx = ctx;
    return d;
}

cm_device *cm__device_read(cm__ctx *ctx, const cm__profile *profile)
{
    const json_t *tree = profile->tree, *sources = json_object_get(tree, "sources");
    cm_device    *d = cm__device_new(ctx);
    d->tree = tree;
    d->lineage = profile->lineage;
    read_info(d);
    read_words(d);
    read_runtimes(d);
    read_class_members(d, sources);
    read_numbers(d, sources);
    read_memories(d, sources);
    read_placement(d);
    read_links(d, sources);
    cm__device_read_prices(d);
    read_batches(d);
    read_fits(d);
    d->surfaces = cm__surfaces_of(d->ctx, json_object_get(d->tree, "surfaces"));
    read_host(d, sources);
    read_reserve(d, sources);
    read_execution(d, sources);
    read_calibration(d, sources);
    read_corrections(d, sources);
    read_sparsity(d, sources);
    read_kernels(d);
    cm__device_assume(d);
    d->sources = cm__sources_of(ctx, sources);
    return d;
}
