/* SPDX-License-Identifier: Apache-2.0 */
/* law_profiles.c - what a GPU's profile leaves out has a default near the truth, or the profile is refused. */
#include <jansson.h>
#include <string.h>
#include "device/device.h"
#include "devices.h"

#define MOST 1.5
#define CASES 5

static const struct {
    const char  *model;
    cm_precision precision; /* DEFAULT: the usual one of the device */
    int64_t      batch;
} cases[CASES] = {
    {"resnet50", CM_PRECISION_DEFAULT, 64},
    {"mobilenet-v3-small", CM_PRECISION_FP32, 64},
    {"lstm", CM_PRECISION_FP32, 32},
    {"gpt:layers=4,hidden=1024,heads=16,seq=1024,vocab=50304", CM_PRECISION_FP32, 4},
    {"bert:layers=4,hidden=768,heads=12,seq=384,vocab=30522", CM_PRECISION_DEFAULT, 8},
};

/* And fitted operator models, which are measurements of the device: a P4 takes 2.6 times as long for fp32 attention as
   its peaks let expect, and no other member says so. */
static const char *const required[] = {"schema", "id", "name", "vendor", "class", "style", "modes", "peak", "memory",
                                       "precisions", "sources", "fits"};

static bool is_required(const char *member)
{
    for (size_t i = 0; i < sizeof required / sizeof *required; i++)
        if (strcmp(member, required[i]) == 0) return true;
    return false;
}

typedef struct subject {
    law_run   *run;
    const char *id;
    json_t    *whole;
    cm_device *device;
    cm_graph  *steps[CASES];
} subject;

/* NULL: refused. */
static cm_device *device_of(const json_t *tree)
{
    cm_device *device = NULL;
    char      *text = json_dumps(tree, JSON_COMPACT);
    if (!text || cm__device_parse(text, strlen(text), &device, NULL)) device = NULL;
    free(text);
    return device;
}

/* One random case for each profile. */
static void compare(const subject *s, const json_t *tree, const char *dropped)
{
    uint32_t   k = law_random(s->run, CASES);
    cm_device *device = device_of(tree);
    if (!device) return; /* a refusal names the member */
    law_case(s->run, cm_device_usual_precision(device) == cm_device_usual_precision(s->device),
             "%s without %s: trained in %s", s->id, dropped, cm_precision_name(cm_device_usual_precision(device)));
    double before = s->steps[k] ? law_step_time(s->steps[k], s->device, cases[k].batch) : NAN;
    double after = isnan(before) ? NAN : law_step_time(s->steps[k], device, cases[k].batch);
    if (!isnan(before))
        law_case(s->run, after < MOST * before && before < MOST * after, "%s without %s: %s takes %.4g ms, with it %.4g",
                 s->id, dropped, cases[k].model, 1e3 * after, 1e3 * before);
    cm_device_free(device);
}

/* Drops each member of an object, one after the other. */
static void drop_each(const subject *s, json_t *tree, json_t *object, const char *name, bool of_profile)
{
    const char *key;
    json_t     *value, *all = json_copy(object);
    char        dropped[128];
    json_object_foreach(all, key, value) {
        if (of_profile && is_required(key)) continue;
        json_object_del(object, key);
        snprintf(dropped, sizeof dropped, "%s%s", name, key);
        if (json_object_size(object)) compare(s, tree, dropped);
        json_object_set(object, key, value);
    }
    json_decref(all);
}

static void drop_caches(json_t *tree)
{
    json_t *memories = json_object_get(tree, "memory");
    for (size_t i = json_array_size(memories); i-- > 0;) {
        const char *place = json_string_value(json_object_get(json_array_get(memories, i), "place"));
        if (strcmp(place, "on-chip") == 0) json_array_remove(memories, i);
    }
}

static void drop_several(const subject *s)
{
    json_t     *tree = json_deep_copy(s->whole), *all = json_copy(tree), *value;
    const char *key;
    drop_caches(tree);
    compare(s, tree, "caches");
    json_object_del(tree, "cores");
    json_object_del(tree, "clock_hz");
    compare(s, tree, "cores, caches and clock");
    json_object_foreach(all, key, value)
        if (!is_required(key)) json_object_del(tree, key);
    compare(s, tree, "everything that is optional");
    json_decref(all);
    json_decref(tree);
}

/* A rate of matrix units says that the GPU has them: what it has without is another GPU. Rates that a listed precision
   needs are refused. */
static void drop_all(const subject *s)
{
    json_t *tree = json_deep_copy(s->whole), *peak = json_object_get(tree, "peak");
    drop_each(s, tree, tree, "", true);
    drop_each(s, tree, peak, "peak.", false);
    drop_each(s, tree, json_object_get(peak, "vector"), "peak.vector.", false);
    drop_each(s, tree, json_object_get(tree, "power"), "power.", false);
    drop_each(s, tree, json_object_get(tree, "transfer"), "transfer.", false);
    json_t *memories = json_object_get(tree, "memory");
    for (size_t i = 0; i < json_array_size(memories); i++) {
        json_t *m = json_array_get(memories, i);
        drop_each(s, tree, m, json_string_value(json_object_get(m, "name")), false);
    }
    json_decref(tree);
    drop_several(s);
}

/* The profile alone: no base, and no tables of its id. */
static json_t *whole_profile(cm_device *device)
{
    static const char *const identity[] = {"base", "aliases", "prices"};
    json_t                  *tree = json_loads(cm_device_profile(device), 0, NULL);
    for (size_t i = 0; i < sizeof identity / sizeof *identity; i++) json_object_del(tree, identity[i]);
    json_object_set_new(tree, "id", json_string("x"));
    return tree;
}

static void check_gpu(law_run *run, const char *id, cm_device *built_in)
{
    subject s = {.run = run, .id = id, .whole = whole_profile(built_in)};
    s.device = device_of(s.whole);
    law_case(run, s.device != NULL, "%s: its own profile is refused", id);
    for (int k = 0; s.device && k < CASES; k++) {
        cm_precision p = cases[k].precision ? cases[k].precision : cm_device_usual_precision(s.device);
        s.steps[k] = law_training_step(cases[k].model, p);
    }
    if (s.device) drop_all(&s);
    for (int k = 0; k < CASES; k++) cm_graph_free(s.steps[k]);
    cm_device_free(s.device);
    json_decref(s.whole);
}

void law_profiles_have_defaults(law_run *run)
{
    for (int32_t i = 0; cm_device_id(i); i++) {
        cm_device *device;
        if (cm_device_load(cm_device_id(i), &device, NULL)) continue;
        law_case(run, cm_device_assumptions(device) == 0, "%s is built in and has assumed numbers", cm_device_id(i));
        if (strcmp(cm_device_get_info(device)->device_class, "gpu") == 0) check_gpu(run, cm_device_id(i), device);
        cm_device_free(device);
    }
}
