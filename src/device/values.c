/* SPDX-License-Identifier: Apache-2.0 */
/* values.c - read numbers with their origin, links, collectives and sources from a checked tree; names of enums. */
#include "device/values.h"

#include <math.h>
#include <string.h>
#include "base/versions.h"

/* ---- names ------------------------------------------------------------------------------------------------------ */

const char *const cm__style_names[CM_STYLES] = {[CM_STYLE_KERNELS] = "kernel-by-kernel",
                                                [CM_STYLE_SECTIONS] = "dataflow-sections",
                                                [CM_STYLE_BSP] = "bsp-pipeline",
                                                [CM_STYLE_STREAMING] = "weight-streaming"};
const char *const cm__rate_names[CM_RATES] = {"fp64", "fp32", "tf32", "bf16", "fp16", "fp8", "fp4", "int8"};
const char *const cm__category_names[CM_CATEGORIES] = {"input_output", "weights_biases", "gradients", "algorithm",
                                                       "ephemeral"};
const char *const cm__reach_names[CM_REACHES] = {"host", "board", "node", "network"};

#define NAME_OF(type, count)                                                                                           \
    const char *cm_##type##_name(cm_##type value)                                                                      \
    {                                                                                                                  \
        return (unsigned)value < (count) ? cm__##type##_names[value] : NULL;                                           \
    }
NAME_OF(style, CM_STYLES)
NAME_OF(rate, CM_RATES)
NAME_OF(category, CM_CATEGORIES)
NAME_OF(reach, CM_REACHES)

int cm__index_of(const char *text, const char *const *names, int count)
{
    for (int i = 0; text && i < count; i++)
        if (strcmp(text, names[i]) == 0) return i;
    return 0;
}

/* ---- values ----------------------------------------------------------------------------------------------------- */

const char *cm__text_at(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

cm_number cm__number_at(const json_t *object, const char *key, const json_t *sources)
{
    const json_t *n = json_object_get(object, key);
    if (!n) return (cm_number){.value = NAN};
    cm_number number = {.value = json_number_value(json_object_get(n, "value")),
                        .known = true,
                        .unit = cm__text_at(n, "unit"),
                        .kind = cm__text_at(n, "kind"),
                        .source = cm__text_at(n, "source"),
                        .date = cm__text_at(n, "date"),
                        .note = cm__text_at(n, "note")};
    if (!number.date) number.date = cm__text_at(json_object_get(sources, number.source), "date");
    return number;
}

static int32_t count_at(const json_t *object, const char *key)
{
    json_int_t n = json_integer_value(json_object_get(object, key));
    return n > INT32_MAX ? INT32_MAX : (int32_t)n;
}

cm_link cm__link_of(const json_t *link, const json_t *sources)
{
    const char *topology = cm__text_at(link, "topology");
    return (cm_link){.name = cm__text_at(link, "name"),
                     .reach = (cm_reach)cm__index_of(cm__text_at(link, "reach"), cm__reach_names, CM_REACHES),
                     .bw_bytes_s = cm__number_at(link, "bandwidth", sources),
                     .latency_s = cm__number_at(link, "latency", sources),
                     .devices = count_at(link, "devices"),
                     .in_network_reduction = json_is_true(json_object_get(link, "in_network_reduction")),
                     .mesh = topology && strcmp(topology, "mesh") == 0};
}

cm__links cm__links_of(cm__ctx *ctx, const json_t *array, const json_t *sources)
{
    int32_t   count = (int32_t)json_array_size(array);
    cm__links list = {cm__alloc_array(ctx, (size_t)count, sizeof *list.items), count};
    for (int32_t i = 0; i < count; i++) list.items[i] = cm__link_of(json_array_get(array, (size_t)i), sources);
    return list;
}

cm__collectives cm__collectives_of(cm__ctx *ctx, const json_t *array, const json_t *sources)
{
    int32_t         count = (int32_t)json_array_size(array);
    cm__collectives list = {cm__alloc_array(ctx, (size_t)count, sizeof *list.items), count};
    for (int32_t i = 0; i < count; i++) {
        const json_t *c = json_array_get(array, (size_t)i);
        list.items[i] = (cm_collective){.op = cm__text_at(c, "op"),
                                        .algorithm = cm__text_at(c, "algorithm"),
                                        .devices = count_at(c, "devices"),
                                        .latency_s = cm__number_at(c, "latency", sources),
                                        .bw_bytes_s = cm__number_at(c, "bandwidth", sources)};
    }
    return list;
}

cm_versions cm__versions_at(const json_t *sources, const char *source)
{
    const json_t *software = json_object_get(json_object_get(sources, source), "software");
    cm_versions   v = {{0}};
    for (int i = 0; i < CM_COMPONENTS; i++) {
        const char *text = cm__text_at(software, cm__component_names[i]);
        if (text) v.of[i] = cm__version_of(text);
    }
    return v;
}

cm__sources cm__sources_of(cm__ctx *ctx, const json_t *sources)
{
    cm__sources list = {cm__alloc_array(ctx, json_object_size(sources), sizeof *list.items), 0};
    const char *key;
    json_t     *s;
    json_object_foreach((json_t *)(uintptr_t)sources, key, s)
        list.items[list.count++] = (cm_source){.key = key,
                                                .title = cm__text_at(s, "title"),
                                                .where = cm__text_at(s, "where"),
                                                .date = cm__text_at(s, "date")};
    return list;
}

const cm_source *cm__source_find(const cm__sources *sources, const char *key)
{
    for (int32_t i = 0; key && i < sources->count; i++)
        if (strcmp(sources->items[i].key, key) == 0) return &sources->items[i];
    return NULL;
}
