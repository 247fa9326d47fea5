/* SPDX-License-Identifier: Apache-2.0 */
/* devices.c - user profiles derived from built-in devices, and training steps. */
#include "devices.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- parts of a profile ------------------------------------------------------------------------------------------ */

static bool scale_number(json_t *number, double factor)
{
    json_t *value = json_object_get(number, "value");
    if (!json_is_number(value)) return false;
    return json_object_set_new(number, "value", json_real(factor * json_number_value(value))) == 0;
}

static bool scale_all(json_t *group, double factor)
{
    const char *key;
    json_t     *number;
    bool        any = false;
    json_object_foreach(group, key, number) any |= scale_number(number, factor);
    return any;
}

/* Scales memories: all of them, only those off the chip, or only those on it. */
static bool scale_memories(json_t *tree, const char *member, bool near, bool far, double factor)
{
    json_t *memories = json_object_get(tree, "memory");
    bool    any = false;
    for (size_t i = 0; i < json_array_size(memories); i++) {
        json_t *m = json_array_get(memories, i);
        bool    on_chip = strcmp(json_string_value(json_object_get(m, "place")), "on-chip") == 0;
        if (on_chip ? near : far) any |= scale_number(json_object_get(m, member), factor);
    }
    return any;
}

static bool main_bandwidth(json_t *t, double f) { return scale_memories(t, "bandwidth", false, true, f); }
static bool all_bandwidth(json_t *t, double f) { return scale_memories(t, "bandwidth", true, true, f); }
static bool cache(json_t *t, double f) { return scale_memories(t, "capacity", true, false, f); }
static bool capacity(json_t *t, double f) { return scale_memories(t, "capacity", true, true, f); }
static json_t *peaks(json_t *t, const char *units) { return json_object_get(json_object_get(t, "peak"), units); }
static bool matrix_peak(json_t *t, double f) { return scale_all(peaks(t, "matrix"), f); }
static bool vector_peak(json_t *t, double f) { return scale_all(peaks(t, "vector"), f); }
static bool clock_hz(json_t *t, double f) { return scale_number(json_object_get(t, "clock_hz"), f); }
static bool power(json_t *t, double f) { return scale_number(json_object_get(json_object_get(t, "power"), "tdp"), f); }

static bool all_peaks(json_t *t, double f)
{
    bool matrix = matrix_peak(t, f), vector = vector_peak(t, f);
    return matrix || vector;
}

static bool links(json_t *t, double f)
{
    json_t *list = json_object_get(t, "links");
    bool    any = scale_number(json_object_get(json_object_get(t, "host_link"), "bandwidth"), f);
    for (size_t i = 0; i < json_array_size(list); i++)
        any |= scale_number(json_object_get(json_array_get(list, i), "bandwidth"), f);
    return any;
}

static const struct {
    const char *name;
    bool (*scale)(json_t *tree, double factor);
    const char *members[2]; /* members that the user's profile has to repeat */
} parts[LAW_PARTS] = {
    [LAW_MAIN_BANDWIDTH] = {"bandwidth of off-chip memory", main_bandwidth, {"memory"}},
    [LAW_BANDWIDTH] = {"bandwidth of all memories", all_bandwidth, {"memory"}},
    [LAW_CACHE] = {"capacity of on-chip memories", cache, {"memory"}},
    [LAW_CAPACITY] = {"capacity of all memories", capacity, {"memory"}},
    [LAW_MATRIX_PEAK] = {"peak of matrix units", matrix_peak, {"peak"}},
    [LAW_VECTOR_PEAK] = {"peak of vector units", vector_peak, {"peak"}},
    [LAW_ALL_PEAKS] = {"all peaks", all_peaks, {"peak"}},
    [LAW_CLOCK] = {"clock", clock_hz, {"clock_hz"}},
    [LAW_POWER] = {"power limit", power, {"power"}},
    [LAW_LINKS] = {"bandwidth of links", links, {"links", "host_link"}},
};

const char *law_part_name(law_part part) { return parts[part].name; }

/* ---- profiles ---------------------------------------------------------------------------------------------------- */

static bool add_part(json_t *profile, const char *id, law_part part, double factor)
{
    cm_device *device;
    if (cm_device_load(id, &device, NULL)) return false;
    json_t *tree = json_loads(cm_device_profile(device), 0, NULL);
    bool    any = tree && parts[part].scale(tree, factor);
    for (int i = 0; any && i < 2 && parts[part].members[i]; i++) {
        json_t *member = json_object_get(tree, parts[part].members[i]);
        if (member) json_object_set(profile, parts[part].members[i], member);
    }
    json_decref(tree);
    cm_device_free(device);
    return any;
}

bool law_profile_write(const char *id, law_part part, double factor, const char *path)
{
    json_t *profile = json_pack("{s:i,s:s,s:s,s:s,s:{}}", "schema", 1, "id", "x", "base", id, "name", "x", "sources");
    bool    done = factor == 1 || add_part(profile, id, part, factor);
    done = done && json_dump_file(profile, path, JSON_REAL_PRECISION(17)) == 0;
    json_decref(profile);
    return done;
}

cm_device *law_device_changed(const char *id, law_part part, double factor)
{
    char       path[] = "/tmp/law-XXXXXX.json";
    cm_diag    diag = {0};
    char       text[1100];
    cm_device *device = NULL;
    int        file = mkstemps(path, 5);
    if (file < 0) return NULL;
    close(file);
    if (law_profile_write(id, part, factor, path) && cm_device_load(path, &device, &diag))
        printf("# %s\n", cm_diag_text(&diag, text, sizeof text));
    remove(path);
    return device;
}

/* ---- steps ------------------------------------------------------------------------------------------------------- */

cm_graph *law_training_step(const char *model, cm_precision precision)
{
    cm_graph        *forward, *step = NULL;
    cm_load_options  load = {.fuse = CM_FUSE_EAGER};
    cm_train_options train = {.precision = precision};
    if (cm_graph_load(model, &load, &forward, NULL)) return NULL;
    if (cm_graph_train(forward, &train, &step, NULL)) step = NULL;
    cm_graph_free(forward);
    return step;
}

double law_step_time(const cm_graph *step, const cm_device *device, int64_t batch)
{
    cm_prediction     *prediction;
    cm_predict_options options = {.batch = batch};
    if (cm_predict(step, device, &options, &prediction, NULL)) return NAN;
    double time = cm_prediction_get_info(prediction)->step_time_s;
    cm_prediction_free(prediction);
    return time;
}
