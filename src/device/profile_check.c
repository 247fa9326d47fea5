/* SPDX-License-Identifier: Apache-2.0 */
/* profile_check.c - checks of a profile that a schema cannot express. */
#include <string.h>
#include "base/text.h"
#include "device/file.h"
#include "device/kernels.h"
#include "device/profile.h"

typedef struct checked {
    cm__ctx          *ctx;
    const json_t     *tree;
    const cm__origin *origin;
} checked;

/* ---- sources ---------------------------------------------------------------------------------------------------- */

static void check_source(const checked *c, const json_t *object, const cm__step *path)
{
    const char   *names[256], *name, *key = json_string_value(json_object_get(object, "source"));
    const json_t *sources = json_object_get(c->tree, "sources");
    json_t       *unused;
    size_t        count = 0;
    cm__step      step = {path, "source", 0};
    if (!key || json_object_get(sources, key)) return;
    json_object_foreach((json_t *)(uintptr_t)sources, name, unused)
        if (count < sizeof names / sizeof *names) names[count++] = name;
    const char *meant = cm__nearest(key, names, count);
    cm__refuse(c->ctx, c->origin, &step, "'%.64s' is not among the sources%s%s%s", key, meant ? ", did you mean '" : "",
               meant ? meant : "", meant ? "'?" : "");
}

static void check_assumption(const checked *c, const json_t *object, const cm__step *path)
{
    const char *kind = json_string_value(json_object_get(object, "kind"));
    if (kind && strcmp(kind, "assumed") == 0 && !json_object_get(object, "note"))
        cm__refuse(c->ctx, c->origin, path, "assumed, but no 'note' says why");
}

/* Every object with a source: a number, a price, a fit. */
static void check_sources(const checked *c, const json_t *value, const cm__step *path)
{
    const char *key;
    json_t     *member;
    if (json_is_object(value)) {
        check_source(c, value, path);
        check_assumption(c, value, path);
    }
    json_object_foreach((json_t *)(uintptr_t)value, key, member) {
        cm__step step = {path, key, 0};
        if (path || strcmp(key, "sources")) check_sources(c, member, &step);
    }
    for (size_t i = 0; i < json_array_size(value); i++) {
        cm__step step = {path, NULL, i};
        check_sources(c, json_array_get(value, i), &step);
    }
}

void cm__profile_numbers(const json_t *value, const cm__step *path, cm__number_visitor *visit, void *state)
{
    const char *key;
    json_t     *member;
    if (json_object_get(value, "value")) visit(state, value, path);
    json_object_foreach((json_t *)(uintptr_t)value, key, member) {
        cm__step step = {path, key, 0};
        cm__profile_numbers(member, &step, visit, state);
    }
    for (size_t i = 0; i < json_array_size(value); i++) {
        cm__step step = {path, NULL, i};
        cm__profile_numbers(json_array_get(value, i), &step, visit, state);
    }
}

/* ---- devices ---------------------------------------------------------------------------------------------------- */

static bool has_memory(const json_t *tree, const char *name)
{
    const json_t *memories = json_object_get(tree, "memory");
    for (size_t i = 0; i < json_array_size(memories); i++)
        if (strcmp(json_string_value(json_object_get(json_array_get(memories, i), "name")), name) == 0) return true;
    return false;
}

static void check_placement(const checked *c)
{
    cm__step    placement = {NULL, "placement", 0};
    const char *key;
    json_t     *value;
    json_object_foreach(json_object_get(c->tree, "placement"), key, value) {
        cm__step step = {&placement, key, 0};
        if (json_is_string(value) && !has_memory(c->tree, json_string_value(value)))
            cm__refuse(c->ctx, c->origin, &step, "no memory '%.64s'", json_string_value(value));
    }
}

static void check_complete(const checked *c)
{
    static const char *const members[] = {"name", "vendor", "class", "style", "modes", "peak", "memory", "precisions"};
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        if (!json_object_get(c->tree, members[i]))
            cm__refuse(c->ctx, c->origin, NULL, "lacks '%s', which a device needs; families say \"abstract\": true",
                       members[i]);
    if (!json_array_size(json_object_get(c->tree, "memory")))
        cm__refuse(c->ctx, c->origin, &(cm__step){NULL, "memory", 0}, "a device has at least one memory");
}

/* ---- what a time needs --------------------------------------------------------------------------------------------

   A GPU's times follow from these members, and nothing else in a profile gives them. Other numbers have a default
   (assumed.c). A profile with kernel tables and no peaks is predicted from its tables. */

static bool text_is(const checked *c, const char *member, const char *wanted)
{
    const char *text = json_string_value(json_object_get(c->tree, member));
    return text && strcmp(text, wanted) == 0;
}

static void check_peak(const checked *c, const json_t *matrix, const json_t *vector, const char *precision)
{
    static const cm__step peak = {NULL, "peak", 0};
    const char           *rate = strncmp(precision, "amp-", 4) == 0 ? precision + 4 : precision;
    const json_t         *units = json_object_size(matrix) ? matrix : vector;
    if (strcmp(rate, "fp32") == 0 || json_object_get(units, rate)) return;
    cm__refuse(c->ctx, c->origin, &peak, "no peak.%s.%s, which '%.16s' among the precisions needs",
               units == matrix ? "matrix" : "vector", rate, precision);
}

static void check_bandwidths(const checked *c)
{
    const json_t *memories = json_object_get(c->tree, "memory");
    cm__step      memory = {NULL, "memory", 0};
    for (size_t i = 0; i < json_array_size(memories); i++) {
        const json_t *m = json_array_get(memories, i);
        const char   *place = json_string_value(json_object_get(m, "place"));
        cm__step      one = {&memory, NULL, i};
        if (place && strcmp(place, "off-chip") == 0 && !json_object_get(m, "bandwidth"))
            cm__refuse(c->ctx, c->origin, &one, "lacks 'bandwidth', which the memory of a GPU needs");
    }
}

static void check_timed(const checked *c)
{
    static const cm__step place = {NULL, "peak", 0};
    const json_t *peak = json_object_get(c->tree, "peak"), *list = json_object_get(c->tree, "precisions");
    const json_t *matrix = json_object_get(peak, "matrix"), *vector = json_object_get(peak, "vector");
    if (!text_is(c, "class", "gpu") || !text_is(c, "style", "kernel-by-kernel")) return;
    if (!json_object_size(peak) && json_object_get(c->tree, "kernels")) return;
    if (!matrix)
        cm__refuse(c->ctx, c->origin, &place, "lacks 'matrix'; \"matrix\": {} says that the GPU has no matrix units");
    for (size_t i = 0; i < json_array_size(list); i++)
        check_peak(c, matrix, vector, json_string_value(json_array_get(list, i)));
    check_bandwidths(c);
}

static void check_reference(const checked *c)
{
    const char *id = json_string_value(json_object_get(c->tree, "reference"));
    if (id && strcmp(id, "none") && !cm__kernels_built_in(id).count)
        cm__refuse(c->ctx, c->origin, &(cm__step){NULL, "reference", 0}, "no built-in kernel tables of '%.64s'", id);
}

static void check_device(const checked *c)
{
    check_reference(c);
    cm__kernels_of(c->ctx, json_object_get(c->tree, "kernels"), json_object_get(c->tree, "sources"), c->origin);
    bool abstract = json_is_true(json_object_get(c->tree, "abstract"));
    if (!abstract) check_complete(c), check_timed(c);
    if (!abstract || json_object_get(c->tree, "memory")) check_placement(c);
}

/* ---- clusters --------------------------------------------------------------------------------------------------- */

static void check_cluster(const checked *c)
{
    cm__step    step = {NULL, "device", 0};
    const char *device = json_string_value(json_object_get(c->tree, "device"));
    if (cm__profile_find(CM__PROFILE_DEVICE, device)) return;
    if (c->origin->file && cm__file_beside(c->ctx, c->origin->file, device)) return;
    cm__refuse(c->ctx, c->origin, &step, "no device '%.64s'", device);
}

void cm__profile_check(cm__ctx *ctx, cm__profile_kind kind, const json_t *tree, const cm__origin *origin)
{
    static void (*const checks[])(const checked *) = {[CM__PROFILE_DEVICE] = check_device,
                                                      [CM__PROFILE_CLUSTER] = check_cluster};
    checked c = {ctx, tree, origin};
    check_sources(&c, tree, NULL);
    checks[kind](&c);
}
