/* SPDX-License-Identifier: Apache-2.0 */
/* described.c - "gpu:bf16=200T,bw=1.2T,mem=48G": a description in one line becomes the text of a profile. */
#include "device/described.h"

#include <math.h>
#include <string.h>
#include "base/text.h"

#define PREFIX "gpu:"
#define SOURCE "description"

/* Where a value goes: a member of the profile, of its peaks or of its memory. */
typedef enum place { PROFILE, MATRIX, VECTOR, MEMORY, CACHE, POWER, PLACES } place;

static const struct key {
    const char *name, *member, *unit;
    place       place;
    const char *precisions; /* as JSON, that the peak makes possible */
} keys[] = {
    {"fp64", "fp64", "FLOP/s", VECTOR, NULL},
    {"fp32", "fp32", "FLOP/s", VECTOR, NULL},
    {"tf32", "tf32", "FLOP/s", MATRIX, ",\"tf32\""},
    {"bf16", "bf16", "FLOP/s", MATRIX, ",\"amp-bf16\",\"bf16\""},
    {"fp16", "fp16", "FLOP/s", MATRIX, ",\"amp-fp16\",\"fp16\""},
    {"fp8", "fp8", "FLOP/s", MATRIX, ",\"fp8\""},
    {"mem", "capacity", "B", MEMORY, NULL},
    {"bw", "bandwidth", "B/s", MEMORY, NULL},
    {"sms", "cores", "1", PROFILE, NULL},
    {"clock", "clock_hz", "Hz", PROFILE, NULL},
    {"launch", "launch", "s", PROFILE, NULL},
    {"l2", "capacity", "B", CACHE, NULL},
    {"tdp", "tdp", "W", POWER, NULL},
};
#define KEYS (sizeof keys / sizeof *keys)

bool cm__device_is_described(const char *name) { return strncmp(name, PREFIX, strlen(PREFIX)) == 0; }

/* "200T", "48Gi", "1.5e9" */
static bool amount(cm__span text, double *value)
{
    static const char prefixes[] = "kMGTP";
    double            scale = 1, base = 1000;
    if (text.length && text.text[text.length - 1] == 'i') base = 1024, text.length--;
    const char *p = text.length ? strchr(prefixes, text.text[text.length - 1]) : NULL;
    if (p && *p) scale = pow(base, (double)(p - prefixes + 1)), text.length--;
    if ((base > 1000 && scale == 1) || !cm__parse_real(text, value)) return false;
    *value *= scale;
    return *value > 0 && isfinite(*value);
}

static size_t key_of(cm__ctx *ctx, cm__span word)
{
    const char *names[KEYS], *all = "";
    const char *name = cm__text_copy_n(ctx, word.text, word.length);
    for (size_t i = 0; i < KEYS; i++) {
        if (strcmp(keys[i].name, name) == 0) return i;
        names[i] = keys[i].name;
        all = cm__format(ctx, "%s%s%s", all, i ? ", " : "", keys[i].name);
    }
    const char *meant = cm__nearest(name, names, KEYS);
    if (meant) cm__fail(ctx, CM_ERR_ARGUMENT, "a described GPU has no '%.32s'; did you mean '%s'?", name, meant);
    cm__fail(ctx, CM_ERR_ARGUMENT, "a described GPU has no '%.32s'; there are %s", name, all);
}

static void read_word(cm__ctx *ctx, cm__span word, double *values)
{
    const char *equals = memchr(word.text, '=', word.length);
    cm__span    name = {word.text, equals ? (size_t)(equals - word.text) : word.length};
    size_t      k = key_of(ctx, name);
    if (!isnan(values[k])) cm__fail(ctx, CM_ERR_ARGUMENT, "a described GPU has '%s' twice", keys[k].name);
    cm__span value = {word.text + name.length + 1, equals ? word.length - name.length - 1 : 0};
    if (!equals || !amount(value, &values[k]))
        cm__fail(ctx, CM_ERR_ARGUMENT, "%s of a described GPU: '%.*s' is no amount; write %s=1.5T", keys[k].name,
                 (int)(value.length > 32 ? 32 : value.length), equals ? value.text : "", keys[k].name);
}

static const char *members(cm__ctx *ctx, const double *values, place where)
{
    const char *text = "";
    for (size_t i = 0; i < KEYS; i++)
        if (keys[i].place == where && !isnan(values[i]))
            text = cm__format(ctx, "%s%s\"%s\":{\"value\":%.17g,\"unit\":\"%s\",\"kind\":\"spec\",\"source\":\"" SOURCE
                              "\"}", text, *text ? "," : "", keys[i].member, values[i], keys[i].unit);
    return text;
}

static const char *precisions(cm__ctx *ctx, const double *values)
{
    const char *text = "\"fp32\"";
    for (size_t i = 0; i < KEYS; i++)
        if (keys[i].precisions && !isnan(values[i])) text = cm__format(ctx, "%s%s", text, keys[i].precisions);
    return text;
}

static void require(cm__ctx *ctx, const double *values, const char *name)
{
    if (isnan(values[key_of(ctx, cm__span_of(name))]))
        cm__fail(ctx, CM_ERR_ARGUMENT, "a described GPU needs '%s', such as %s", name,
                 "gpu:bf16=200T,fp32=50T,bw=1.2T,mem=48G");
}

const char *cm__device_described(cm__ctx *ctx, const char *name)
{
    double values[KEYS];
    for (size_t i = 0; i < KEYS; i++) values[i] = NAN;
    for (const char *at = name + strlen(PREFIX); *at;) {
        size_t length = strcspn(at, ",");
        if (length) read_word(ctx, (cm__span){at, length}, values);
        at += length + (at[length] == ',');
    }
    require(ctx, values, "mem");
    require(ctx, values, "bw");
    const char *matrix = members(ctx, values, MATRIX), *vector = members(ctx, values, VECTOR);
    if (!*matrix && !*vector) require(ctx, values, "bf16");
    const char *cache = members(ctx, values, CACHE), *own = members(ctx, values, PROFILE),
               *power = members(ctx, values, POWER);
    if (*cache)
        cache = cm__format(ctx, "{\"name\":\"L2\",\"place\":\"on-chip\",\"managed\":\"cache\",\"scope\":\"device\",%s},", cache);
    return cm__format(ctx,
        "{\"schema\":1,\"id\":\"described-gpu\",\"name\":\"%s\",\"vendor\":\"described\",\"class\":\"gpu\","
        "\"style\":\"kernel-by-kernel\",\"modes\":[\"training\",\"inference\"],\"precisions\":[%s],"
        "\"peak\":{\"matrix\":{%s},\"vector\":{%s}},\"memory\":[%s{\"name\":\"memory\",\"place\":\"off-chip\","
        "\"managed\":\"explicit\",\"scope\":\"device\",%s}],\"power\":{%s}%s%s,\"sources\":{\"" SOURCE
        "\":{\"title\":\"the description\",\"where\":\"command line\",\"date\":\"2026\"}}}",
        name, precisions(ctx, values), matrix, vector, cache, members(ctx, values, MEMORY), power, *own ? "," : "", own);
}

size_t cm__device_name_length(const char *list)
{
    size_t length = strcspn(list, ",");
    while (cm__device_is_described(list) && list[length] == ',') {
        size_t more = strcspn(list + length + 1, ",");
        if (!memchr(list + length + 1, '=', more) || cm__device_is_described(list + length + 1)) break;
        length += 1 + more;
    }
    return length;
}
