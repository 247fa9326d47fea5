/* SPDX-License-Identifier: Apache-2.0 */
/* events.c - sort the events of a trace into arrays. Texts and shapes are stored once, however often they occur. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "timeline/events.h"

#define EVENTS_MAX 24000000 /* operators, launches and kernels together: about 1 GiB of arrays */

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

static void limit(cm__events *e)
{
    if ((int64_t)e->n_ops + e->n_launches + e->n_kernels >= EVENTS_MAX)
        cm__fail(e->ctx, CM_ERR_LIMIT, "more than %d operators and kernels; record fewer steps", EVENTS_MAX);
}

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

static void free_text(void *slot) { free(*(char **)slot); }

static int32_t kind_of(cm__events *e, const char *name, const json_t *args)
{
    static const char *const keys[] = {"Input Dims", "Input type", "Input Strides", "Concrete Inputs"};
    json_t                  *parts = json_pack("[s]", name);
    char                   **key = cm__alloc(e->ctx, sizeof *key);
    bool                     known = cm__traced_known(name);
    for (int i = 0; known && i < 4; i++) {
        json_t *value = json_object_get(args, keys[i]);
        json_array_append_new(parts, value ? json_incref(value) : json_null());
    }
    *key = json_dumps(parts, JSON_COMPACT);
    json_decref(parts);
    if (!*key) cm__fail(e->ctx, CM_ERR_MEMORY, "out of memory for an operator");
    int32_t found = cm__map_get(&e->kind_of, cm__span_of(*key));
    if (found >= 0) {
        free_text(key);
        return found;
    }
    cm__defer(e->ctx, free_text, key);
    e->kinds = cm__grow(e->ctx, e->kinds, e->n_kinds, &e->cap_kinds, sizeof *e->kinds);
    int32_t named = name_of(e, name);
    e->kinds[e->n_kinds] = cm__traced_read(e->ctx, e->names[named], args);
    cm__map_put(&e->kind_of, cm__span_of(*key), e->n_kinds);
    return e->n_kinds++;
}

static void add_span(cm__events *e, cm__span_kind kind, const json_t *event, const char *name)
{
    double begin = number(event, "ts");
    e->spans[kind] = cm__grow(e->ctx, e->spans[kind], e->n_spans[kind], &e->cap_spans[kind], sizeof **e->spans);
    e->spans[kind][e->n_spans[kind]++] = (cm__host_span){begin, begin + fmax(0, number(event, "dur")),
                                                         number(event, "tid"), name_of(e, name)};
}

static void add_op(cm__events *e, const json_t *event, const char *name)
{
    static const char backward[] = "autograd::engine::evaluate_function";
    const json_t     *args = json_object_get(event, "args");
    double            begin = number(event, "ts");
    limit(e);
    if (strncmp(name, backward, sizeof backward - 1) == 0) add_span(e, CM__SPAN_BACKWARD, event, backward);
    if (json_object_get(args, "Input Dims")) e->shapes = true;
    e->ops = cm__grow(e->ctx, e->ops, e->n_ops, &e->cap_ops, sizeof *e->ops);
    e->ops[e->n_ops++] = (cm__host_op){begin, begin + fmax(0, number(event, "dur")), number(event, "tid"),
                                       kind_of(e, name, args), false};
}

static void add_annotation(cm__events *e, const json_t *event, const char *name)
{
    static const struct {
        const char   *begins;
        cm__span_kind kind;
    } kinds[] = {{"ProfilerStep#", CM__SPAN_STEP}, {"Optimizer.step#", CM__SPAN_UPDATE}, {"enumerate(DataLoader)", CM__SPAN_LOADING}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strncmp(name, kinds[i].begins, strlen(kinds[i].begins)) == 0) add_span(e, kinds[i].kind, event, name);
}

/* ---- device ----------------------------------------------------------------------------------------------------- */

static void add_launch(cm__events *e, const json_t *event, const char *name)
{
    static const char *const starts[] = {"aunch", "emcpy", "emset", NULL};
    double                   correlation = number(json_object_get(event, "args"), "correlation");
    if (!(correlation > 0) || !has_any(name, starts)) return;
    limit(e);
    e->launches = cm__grow(e->ctx, e->launches, e->n_launches, &e->cap_launches, sizeof *e->launches);
    e->launches[e->n_launches++] = (cm__launch){number(event, "ts"), number(event, "tid"), correlation, -1};
}

static cm__kernel_group group_of(const char *category, const char *name)
{
    static const char *const layouts[] = {"nchwToNhwc", "nhwcToNchw", "NchwToNhwc", "NhwcToNchw", "nchwToFoldedNhwc", NULL};
    static const char *const comm[] = {"nccl", "rccl", NULL};
    if (has(category, "memcpy") || has(category, "Memcpy")) return CM__KERNEL_COPY;
    if (has(category, "memset") || has(category, "Memset")) return CM__KERNEL_FILL;
    if (has_any(name, comm)) return CM__KERNEL_COMM;
    return has_any(name, layouts) ? CM__KERNEL_LAYOUT : CM__KERNEL;
}

static void add_kernel(cm__events *e, const json_t *event, const char *category, const char *name)
{
    const json_t *args = json_object_get(event, "args");
    limit(e);
    e->kernels = cm__grow(e->ctx, e->kernels, e->n_kernels, &e->cap_kernels, sizeof *e->kernels);
    e->kernels[e->n_kernels++] = (cm__kernel){
        .begin_us = number(event, "ts"), .time_us = fmax(0, number(event, "dur")), .name = name_of(e, name),
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

void cm__events_read(cm__events *e, cm__ctx *ctx, const cm__bytes *bytes)
{
    *e = (cm__events){.ctx = ctx};
    cm__map_init(&e->kind_of, ctx);
    cm__map_init(&e->name_of, ctx);
    e->counts = cm__split_events(ctx, bytes, visit, e);
}
