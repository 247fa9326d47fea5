/* SPDX-License-Identifier: Apache-2.0 */
/* events.c - sort the events of a trace into arrays. Texts and shapes are stored once, however often they occur. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "timeline/events.h"

#define EVENTS_MAX 24000000 /* operators, launches and kernels of a trace without steps: about 1 GiB of arrays */

static double number(const json_t *object, const char *key)
{
    double value = json_number_value(json_object_get(object, key));
    return isfinite(value) ? value : 0;
}

static const char *text(const json_t *object, const char *key)
{
    const char *value = json_string_value(json_object_get(object, key));
    return value ? value : "";
}

static bool has(const char *where, const char *what) { return strstr(where, what) != NULL; }

static bool has_any(const char *where, const char *const *what)
{
    for (; *what; what++)
        if (has(where, *what)) return true;
    return false;
}

/* ---- arrays ----------------------------------------------------------------------------------------------------- */

static void release(void *events)
{
    cm__events *e = events;
    free(e->ops);
    free(e->launches);
    free(e->kernels);
    free(e->key);
    e->ops = NULL, e->launches = NULL, e->kernels = NULL, e->key = NULL;
    e->n_ops = e->cap_ops = e->n_launches = e->cap_launches = e->n_kernels = e->cap_kernels = 0;
    for (int kind = 0; kind < CM__SPANS; kind++) {
        free(e->spans[kind]);
        e->spans[kind] = NULL;
        e->n_spans[kind] = e->cap_spans[kind] = 0;
    }
}

/* Room for one more entry. The heap enlarges a large block without a second copy, which the context's memory cannot. */
static void *room(cm__events *e, void *array, int32_t count, int32_t *capacity, size_t size)
{
    if (count < *capacity) return array;
    int32_t larger = *capacity ? *capacity + *capacity / 2 : 64;
    void   *moved = realloc(array, (size_t)larger * size);
    if (!moved) cm__fail(e->ctx, CM_ERR_MEMORY, "out of memory for the events of the trace");
    *capacity = larger;
    return moved;
}

/* Whether an event that begins before `to_us` is stored: as long as there are not too many. Counts it in any case. */
static bool stored(cm__events *e, double begin_us, double to_us) { return begin_us < to_us && ++e->seen <= e->most; }

static int32_t name_of(cm__events *e, const char *name)
{
    int32_t found = cm__map_get(&e->name_of, cm__span_of(name));
    if (found >= 0) return found;
    char *copy = cm__text_copy(e->ctx, name);
    e->names = cm__grow(e->ctx, e->names, e->n_names, &e->cap_names, sizeof *e->names);
    e->names[e->n_names] = copy;
    cm__map_put(&e->name_of, cm__span_of(copy), e->n_names);
    return e->n_names++;
}

/* ---- operators -------------------------------------------------------------------------------------------------- */

/* The operator's name, shapes, types, strides and numbers as one text, in e->key. */
static void write_key(cm__events *e, const char *name, const json_t *args)
{
    static const char *const keys[] = {"Input Dims", "Input type", "Input Strides", "Concrete Inputs"};
    json_t                  *parts = json_pack("[s]", name);
    for (int i = 0; cm__traced_known(name) && i < 4; i++) {
        json_t *value = json_object_get(args, keys[i]);
        json_array_append_new(parts, value ? json_incref(value) : json_null());
    }
    free(e->key);
    e->key = json_dumps(parts, JSON_COMPACT);
    json_decref(parts);
    if (!e->key) cm__fail(e->ctx, CM_ERR_MEMORY, "out of memory for an operator");
}

static int32_t kind_of(cm__events *e, const char *name, const json_t *args)
{
    write_key(e, name, args);
    int32_t found = cm__map_get(&e->kind_of, cm__span_of(e->key));
    if (found >= 0) return found;
    e->kinds = cm__grow(e->ctx, e->kinds, e->n_kinds, &e->cap_kinds, sizeof *e->kinds);
    int32_t named = name_of(e, name);
    e->kinds[e->n_kinds] = cm__traced_read(e->ctx, e->names[named], args);
    cm__map_put(&e->kind_of, cm__span_of(cm__text_copy(e->ctx, e->key)), e->n_kinds);
    return e->n_kinds++;
}

static void add_span(cm__events *e, cm__span_kind kind, const json_t *event, const char *name)
{
    double begin = number(event, "ts");
    if (begin >= e->to_us || (kind != CM__SPAN_STEP && e->seen > e->most)) return;
    e->spans[kind] = room(e, e->spans[kind], e->n_spans[kind], &e->cap_spans[kind], sizeof **e->spans);
    e->spans[kind][e->n_spans[kind]++] = (cm__host_span){begin, begin + fmax(0, number(event, "dur")),
                                                         number(event, "tid"), name_of(e, name)};
}

static void add_op(cm__events *e, const json_t *event, const char *name)
{
    static const char backward[] = "autograd::engine::evaluate_function";
    const json_t     *args = json_object_get(event, "args");
    double            begin = number(event, "ts");
    if (!stored(e, begin, e->to_us)) return;
    if (strncmp(name, backward, sizeof backward - 1) == 0) add_span(e, CM__SPAN_BACKWARD, event, backward);
    if (json_object_get(args, "Input Dims")) e->shapes = true;
    e->ops = room(e, e->ops, e->n_ops, &e->cap_ops, sizeof *e->ops);
    e->ops[e->n_ops++] = (cm__host_op){begin, begin + fmax(0, number(event, "dur")), number(event, "tid"),
                                       kind_of(e, name, args), false};
}

static void add_annotation(cm__events *e, const json_t *event, const char *name)
{
    static const struct {
        const char   *begins;
        cm__span_kind kind;
    } kinds[] = {{"ProfilerStep#", CM__SPAN_STEP}, {"Optimizer.step#", CM__SPAN_UPDATE},
                 {"enumerate(DataLoader)", CM__SPAN_LOADING}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strncmp(name, kinds[i].begins, strlen(kinds[i].begins)) == 0) add_span(e, kinds[i].kind, event, name);
}

/* ---- device ----------------------------------------------------------------------------------------------------- */

static void add_launch(cm__events *e, const json_t *event, const char *name)
{
    static const char *const starts[] = {"aunch", "emcpy", "emset", NULL};
    double                   correlation = number(json_object_get(event, "args"), "correlation");
    if (!(correlation > 0) || !has_any(name, starts) || !stored(e, number(event, "ts"), e->to_us)) return;
    e->launches = room(e, e->launches, e->n_launches, &e->cap_launches, sizeof *e->launches);
    e->launches[e->n_launches++] = (cm__launch){number(event, "ts"), number(event, "tid"), correlation, -1};
}

static cm__kernel_group group_of(const char *category, const char *name)
{
    static const char *const layouts[] =
        {"nchwToNhwc", "nhwcToNchw", "NchwToNhwc", "NhwcToNchw", "nchwToFoldedNhwc", NULL};
    static const char *const comm[] = {"nccl", "rccl", NULL};
    if (has(category, "memcpy") || has(category, "Memcpy")) return CM__KERNEL_COPY;
    if (has(category, "memset") || has(category, "Memset")) return CM__KERNEL_FILL;
    if (has_any(name, comm)) return CM__KERNEL_COMM;
    return has_any(name, layouts) ? CM__KERNEL_LAYOUT : CM__KERNEL;
}

/* The phase of a kernel call in a trace that `predict --trace` wrote (report/viewers/chrome.c); -1: a recorded trace. */
static int8_t stated_phase(const json_t *args)
{
    if (!*text(args, "estimated by") || !*text(args, "call")) return -1;
    for (int phase = 0; phase < CM_PHASES; phase++)
        if (strcmp(text(args, "phase"), cm_phase_name((cm_phase)phase)) == 0) return (int8_t)phase;
    return -1;
}

static void add_kernel(cm__events *e, const json_t *event, const char *category, const char *name)
{
    const json_t *args = json_object_get(event, "args");
    if (!stored(e, number(event, "ts"), e->kernels_to_us)) return;
    int8_t phase = stated_phase(args);
    e->predicted |= phase >= 0;
    e->kernels = room(e, e->kernels, e->n_kernels, &e->cap_kernels, sizeof *e->kernels);
    e->kernels[e->n_kernels++] = (cm__kernel){
        .begin_us = number(event, "ts"), .time_us = fmax(0, number(event, "dur")),
        .name = name_of(e, phase < 0 ? name : text(args, "call")), .phase = phase,
        .correlation = number(args, "correlation"), .stream = number(args, "stream"), .op = -1, .step = -1,
        .group = (int8_t)group_of(category, name), .launch_us = NAN};
}

static void add_memory(cm__events *e, const json_t *event)
{
    const json_t *args = json_object_get(event, "args");
    if (number(args, "Device Type") == 1) e->peak_bytes = fmax(e->peak_bytes, number(args, "Total Allocated"));
}

typedef enum section { HOST_OP, ANNOTATION, LAUNCH, ON_DEVICE, INSTANT, OTHER } section;

/* Names of categories since PyTorch 1.8.1. */
static section section_of(const char *name)
{
    static const struct {
        const char *name;
        section     is;
    } all[] = {{"cpu_op", HOST_OP}, {"Operator", HOST_OP}, {"user_annotation", ANNOTATION}, {"cuda_runtime", LAUNCH},
               {"cuda_driver", LAUNCH}, {"Runtime", LAUNCH}, {"hip_runtime", LAUNCH}, {"kernel", ON_DEVICE},
               {"Kernel", ON_DEVICE}, {"gpu_memcpy", ON_DEVICE}, {"Memcpy", ON_DEVICE}, {"gpu_memset", ON_DEVICE},
               {"Memset", ON_DEVICE}, {"cpu_instant_event", INSTANT}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(all[i].name, name) == 0) return all[i].is;
    return OTHER;
}

static void visit(void *user, const json_t *event, bool device)
{
    cm__events *e = user;
    const char *category = text(event, "cat"), *name = text(event, "name");
    if (device) {
        if (!e->device && *name) e->device = cm__text_copy(e->ctx, name);
        return;
    }
    section is = section_of(category);
    if (is == INSTANT && strcmp(name, "[memory]") == 0) add_memory(e, event);
    if (strcmp(text(event, "ph"), "X") != 0) return;
    if (is == HOST_OP) add_op(e, event, name);
    else if (is == LAUNCH) add_launch(e, event, name);
    else if (is == ON_DEVICE) add_kernel(e, event, category, name);
    if (is == ANNOTATION || is == HOST_OP) add_annotation(e, event, name);
}

/* ---- large traces ----------------------------------------------------------------------------------------------- */

static int by_begin(const void *a, const void *b)
{
    double x = ((const cm__host_span *)a)->begin_us, y = ((const cm__host_span *)b)->begin_us;
    return (x > y) - (x < y);
}

/* Store the first `count` steps. The device runs their kernels up to two steps later; which kernels are theirs,
   launches say. */
static void choose_steps(cm__events *e, int32_t count)
{
    cm__host_span *steps = e->spans[CM__SPAN_STEP];
    qsort(steps, (size_t)e->n_spans[CM__SPAN_STEP], sizeof *steps, by_begin);
    e->to_us = steps[count].begin_us;
    e->kernels_to_us = e->to_us + 2 * (e->to_us - steps[0].begin_us) / count;
}

static void read(cm__events *e, const cm__bytes *bytes)
{
    e->seen = 0;
    e->counts = cm__split_events(e->ctx, bytes, visit, e);
}

static void read_again(cm__events *e, const cm__bytes *bytes)
{
    release(e);
    bytes->rewind(bytes->user);
    read(e, bytes);
}

/* As many steps of about equal length as may be stored; at least two, because their distance is the time of a
   step. */
static int32_t steps_to_store(const cm__events *e)
{
    int32_t steps = e->n_spans[CM__SPAN_STEP], some = (int32_t)((double)steps * (double)e->most / (double)e->seen);
    return steps < 3 ? 0 : some < 2 ? 2 : some;
}

void cm__events_read(cm__events *e, cm__ctx *ctx, const cm__bytes *bytes, int64_t most)
{
    *e = (cm__events){.ctx = ctx, .to_us = INFINITY, .kernels_to_us = INFINITY,
                      .most = bytes->rewind ? most : EVENTS_MAX};
    cm__map_init(&e->kind_of, ctx);
    cm__map_init(&e->name_of, ctx);
    cm__defer(ctx, release, e);
    read(e, bytes);
    if (e->seen > e->most && bytes->rewind) {
        int32_t count = steps_to_store(e);
        if (count) choose_steps(e, count);
        e->most = EVENTS_MAX;
        read_again(e, bytes);
    }
    if (e->seen > e->most)
        cm__fail(ctx, CM_ERR_LIMIT, "more than %d operators and kernels; record fewer steps", EVENTS_MAX);
}
