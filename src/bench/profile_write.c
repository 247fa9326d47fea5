/* SPDX-License-Identifier: Apache-2.0 */
/* profile_write.c - write the measurements as a device profile (docs/devices.md). */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include "bench/bench.h"
#include "device/profile.h"

#define DIGITS JSON_REAL_PRECISION(6)

static void date_text(char *text, size_t size)
{
    const char *fixed = getenv("SOURCE_DATE_EPOCH"); /* for reproducible output */
    time_t      now = fixed ? (time_t)strtoll(fixed, NULL, 10) : time(NULL);
    struct tm   day;
    strftime(text, size, "%Y-%m-%d", gmtime_r(&now, &day));
}

static json_t *number(double value, const char *unit, const char *source)
{
    return json_pack("{s:f, s:s, s:s, s:s}", "value", value, "unit", unit, "kind", "measured", "source", source);
}

static void set_measured(json_t *object, const char *key, double value, const char *unit)
{
    if (value > 0 && isfinite(value)) json_object_set_new(object, key, number(value, unit, "bench"));
}

/* ---- ceilings ---------------------------------------------------------------------------------------------------- */

static json_t *peaks(const cm_bench *b)
{
    static const char *const engines[] = {"matrix", "vector"};
    json_t                  *peak = json_object();
    for (int e = 0; e < 2; e++) {
        json_t *rates = json_object();
        for (int i = 0; cm__bench_dtype(b, i); i++)
            set_measured(rates, cm__bench_dtype(b, i), cm__ceiling(b, engines[e], cm__bench_dtype(b, i)), "FLOP/s");
        if (json_object_size(rates)) json_object_set_new(peak, engines[e], rates);
        else json_decref(rates);
    }
    return peak;
}

static json_t *level(const cm_bench *b, const char *name, bool cache, bool per_core, double bytes)
{
    json_t *l = json_pack("{s:s, s:s, s:s, s:s, s:o}", "name", name, "place", cache ? "on-chip" : "off-chip", "managed",
                          cache ? "cache" : "explicit", "scope", per_core ? "core" : "device", "capacity",
                          number(bytes, "B", "system"));
    set_measured(l, "bandwidth", cm__ceiling(b, "memory", name), "B/s");
    return l;
}

static const char *memory_name(const cm_bench *b) { return *b->device.memory_name ? b->device.memory_name : "memory"; }

static json_t *levels(const cm_bench *b)
{
    json_t *all = json_array();
    for (int i = 0; i < CM_BENCH_LEVELS && b->device.caches[i].bytes > 0; i++)
        json_array_append_new(all, level(b, b->device.caches[i].name, true, b->device.caches[i].per_core,
                                         b->device.caches[i].bytes));
    json_array_append_new(all, level(b, memory_name(b), false, false, b->device.memory_bytes));
    return all;
}

static json_t *placement(const cm_bench *b)
{
    const char *m = memory_name(b);
    return json_pack("{s:s, s:s, s:s, s:s, s:s}", "input_output", m, "weights_biases", m, "gradients", m, "algorithm",
                     m, "ephemeral", m);
}

static json_t *precisions(const cm_bench *b)
{
    json_t *all = json_array();
    for (int i = 0; cm__bench_dtype(b, i); i++) {
        const char *dtype = cm__bench_dtype(b, i);
        if (strcmp(dtype, "fp64") == 0) continue;
        json_array_append_new(all, json_string(dtype));
        if (cm__is_half(dtype)) json_array_append_new(all, json_sprintf("amp-%s", dtype));
    }
    return all;
}

/* ---- tables ------------------------------------------------------------------------------------------------------ */

static bool same_table(const cm_bench_result *a, const cm_bench_result *b)
{
    return !strcmp(a->op, b->op) && !strcmp(a->pass, b->pass) && !strcmp(a->variant, b->variant) &&
           !strcmp(a->dtype, b->dtype);
}

static json_t *kernel_row(const cm_bench_result *r)
{
    json_t *row = json_array();
    for (int32_t i = 0; i < r->n_dims; i++) json_array_append_new(row, json_integer(r->dims[i]));
    json_array_append_new(row, json_real(r->time_s));
    json_array_append_new(row, json_integer(r->kernels));
    return row;
}

static json_t *kernel_table(const cm_bench *b, int32_t first, bool *taken, const char *date)
{
    const cm_bench_result *like = &b->results[first];
    const cm__call_kind   *kind = &cm__call_kinds[b->cases[first].call.op];
    json_t                *rows = json_array(), *dims = json_array();
    for (int i = 0; i < kind->n_sizes; i++) json_array_append_new(dims, json_string(kind->sizes[i]));
    for (int32_t i = first; i < b->n_cases; i++) {
        const cm_bench_result *r = &b->results[i];
        if (b->cases[i].kind != CM__CASE_CALL || taken[i] || !(r->time_s > 0) || !same_table(like, r)) continue;
        json_array_append_new(rows, kernel_row(r));
        taken[i] = true;
    }
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:o, s:s, s:s, s:s, s:o}", "runtime", "native", "op", like->op, "pass",
                     like->pass, "variant", like->variant, "dtype", like->dtype, "dims", dims, "kind", "measured",
                     "source", "bench", "date", date, "rows", rows);
}

static json_t *kernel_tables(const cm_bench *b, const char *date)
{
    json_t *tables = json_array();
    bool   *taken = calloc((size_t)b->n_cases + 1, sizeof *taken);
    for (int32_t i = 0; taken && i < b->n_cases; i++)
        if (b->cases[i].kind == CM__CASE_CALL && !taken[i] && b->results[i].time_s > 0)
            json_array_append_new(tables, kernel_table(b, i, taken, date));
    free(taken);
    return tables;
}

/* Host seconds per image decoded, per token gathered, per byte read, and per kernel queued. */
static json_t *host_times(const cm_bench *b)
{
    static const char *const whats[][2] = {
        {"jpeg", "decode-image"}, {"tokens", "batch-token"}, {"storage", "read-byte"}, {"submit", "launch"}};
    json_t *all = json_array();
    for (size_t i = 0; i < sizeof whats / sizeof *whats; i++) {
        const cm_bench_result *r = cm__result_named(b, whats[i][0]);
        if (!r || !(r->work > 0)) continue;
        json_array_append_new(all, json_pack("{s:s, s:s, s:o}", "runtime", "native", "what", whats[i][1], "time",
                                             number(r->time_s / r->work, "s", "bench")));
    }
    return all;
}

/* One entry per collective: its latency with the smallest message, and its highest bus bandwidth. */
static json_t *collective(const cm_bench *b, cm_collective_op op)
{
    double latency = NAN, bandwidth = NAN;
    int32_t ranks = b->machine.ranks;
    for (int32_t i = 0; i < b->n_cases; i++) {
        const cm_bench_result *r = &b->results[i];
        if (b->cases[i].kind != CM__CASE_COLLECTIVE || b->cases[i].collective != op || !(r->time_s > 0)) continue;
        latency = fmin(latency, r->time_s);
        bandwidth = fmax(bandwidth, r->work / r->time_s * cm__bus_factor(op, ranks));
    }
    if (!(bandwidth > 0)) return NULL;
    return json_pack("{s:s, s:s, s:i, s:o, s:o}", "op", op == CM_SEND ? "point-to-point" : cm__collective_names[op],
                     "algorithm", b->fabric->name, "devices", ranks, "latency", number(latency, "s", "bench"),
                     "bandwidth", number(bandwidth, "B/s", "bench"));
}

static json_t *collectives(const cm_bench *b)
{
    json_t *all = json_array();
    for (int op = 0; op < CM_COLLECTIVE_OPS; op++) {
        json_t *one = collective(b, (cm_collective_op)op);
        if (one) json_array_append_new(all, one);
    }
    return all;
}

static void set_unless_empty(json_t *tree, const char *key, json_t *value)
{
    if (json_array_size(value) || json_object_size(value)) json_object_set_new(tree, key, value);
    else json_decref(value);
}

/* The releases on which times depend, from "NVRTC 13.0, cuBLASLt 13.1.0, cuDNN 9.19.0". */
static json_t *releases(const char *software)
{
    static const char *const words[][2] = {{"cudnn", "cuDNN "}, {"cuda", "NVRTC "}};
    json_t                  *found = json_object();
    for (int i = 0; i < 2; i++) {
        const char *at = strstr(software, words[i][1]);
        int         major, minor;
        if (at && sscanf(at + strlen(words[i][1]), "%d.%d", &major, &minor) == 2)
            json_object_set_new(found, words[i][0], json_sprintf("%d.%d", major, minor));
    }
    return found;
}

static json_t *sources(const cm_bench *b, const char *date)
{
    struct utsname system;
    char           where[1024];
    if (uname(&system) != 0) memset(&system, 0, sizeof system);
    snprintf(where, sizeof where, "%s, %.0f %s; %s; %s %s on %s", b->device.name, b->device.cores,
             *b->device.core_name ? b->device.core_name : "cores", b->machine.software, system.sysname, system.release,
             *b->device.host ? b->device.host : system.machine);
    json_t *all = json_pack("{s:{s:s, s:s, s:s, s:s, s:s}, s:{s:s, s:s, s:s}}", "bench", "title",
                            "centimani bench " CM_VERSION, "where", where, "date", date, "device", b->device.name,
                            "conditions", b->options.cold ? "operands outside all caches" : "operands in the cache",
                            "system", "title", "reported by the operating system and its drivers", "where", where,
                            "date", date);
    set_unless_empty(json_object_get(all, "bench"), "software", releases(b->machine.software));
    return all;
}

/* ---- profile ----------------------------------------------------------------------------------------------------- */

/* A device with a built-in profile refers to it as its base. For others, all that is known of the device is written. */
static void write_identity(const cm_bench *b, json_t *tree)
{
    const cm_bench_device *d = &b->device;
    if (cm__profile_find(CM__PROFILE_DEVICE, d->id)) {
        json_object_set_new(tree, "base", json_string(d->id));
        return;
    }
    json_object_set_new(tree, "name", json_string(*d->name ? d->name : d->id));
    json_object_set_new(tree, "vendor", json_string(*d->vendor ? d->vendor : "unknown"));
    json_object_set_new(tree, "class", json_string(d->device_class));
    json_object_set_new(tree, "unit", json_string(*d->unit ? d->unit : "socket"));
    json_object_set_new(tree, "modes", json_pack("[s, s]", "training", "inference"));
    json_object_set_new(tree, "style", json_string("kernel-by-kernel"));
    if (d->cores > 0) json_object_set_new(tree, "cores", number(d->cores, "1", "system"));
    if (*d->core_name) json_object_set_new(tree, "core_name", json_string(d->core_name));
    if (d->clock_hz > 0) json_object_set_new(tree, "clock_hz", number(d->clock_hz, "Hz", "system"));
    json_object_set_new(tree, "peak", peaks(b));
    json_object_set_new(tree, "precisions", precisions(b));
    json_object_set_new(tree, "memory", levels(b));
    json_object_set_new(tree, "placement", placement(b));
}

static json_t *notes(const cm_bench *b)
{
    json_t *all = json_array();
    for (int32_t i = 0; i < b->n_ceilings; i++) {
        const cm_bench_ceiling *c = &b->ceilings[i];
        json_array_append_new(all, json_sprintf("measured %s, %s: %.4g %s", c->what, c->name, c->value, c->unit));
    }
    return all;
}

static void write_rest(const cm_bench *b, json_t *tree, const char *date)
{
    double up = cm__ceiling(b, "link", "to-device-pinned");
    set_measured(tree, "launch", cm__ceiling(b, "latency", "launch"), "s");
    if (up > 0 && !cm__profile_find(CM__PROFILE_DEVICE, b->device.id)) {
        json_t *link = json_pack("{s:s}", "name", "host link");
        set_measured(link, "bandwidth", up, "B/s");
        json_object_set_new(tree, "host_link", link);
    }
    set_unless_empty(tree, "collectives", collectives(b));
    set_unless_empty(tree, "kernels", kernel_tables(b, date));
    set_unless_empty(tree, "host", host_times(b));
    json_object_set_new(tree, "sources", sources(b, date));
    set_unless_empty(tree, "notes", notes(b));
}

/* One line per member and per entry of an array of objects, so that line-based diffs are readable. */
static void print_member(FILE *out, const char *key, const json_t *value)
{
    bool list = json_is_array(value) && json_is_object(json_array_get(value, 0));
    fprintf(out, " \"%s\": ", key);
    if (!list) json_dumpf(value, out, DIGITS | JSON_ENCODE_ANY);
    for (size_t i = 0; list && i < json_array_size(value); i++) {
        fputs(i ? ",\n  " : "[\n  ", out);
        json_dumpf(json_array_get(value, i), out, DIGITS);
    }
    if (list) fputs("\n ]", out);
}

static char *print_tree(const json_t *tree)
{
    char       *text = NULL;
    size_t      size = 0, at = 0;
    const char *key;
    json_t     *value;
    FILE       *out = open_memstream(&text, &size);
    if (!out) return NULL;
    fputs("{\n", out);
    json_object_foreach((json_t *)(uintptr_t)tree, key, value) {
        print_member(out, key, value);
        fputs(++at < json_object_size(tree) ? ",\n" : "\n}", out);
    }
    if (fclose(out) == 0) return text;
    free(text);
    return NULL;
}

char *cm__bench_profile_text(cm_bench *b)
{
    char    date[16];
    json_t *tree = json_pack("{s:i}", "schema", 1);
    if (!tree) return NULL;
    date_text(date, sizeof date);
    json_object_set_new(tree, "id", b->options.id ? json_string(b->options.id) : json_sprintf("my-%s", b->device.id));
    write_identity(b, tree);
    write_rest(b, tree, date);
    char *text = print_tree(tree);
    json_decref(tree);
    return text;
}
