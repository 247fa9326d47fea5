/* SPDX-License-Identifier: Apache-2.0 */
/* graph.c - build cuDNN operation graphs and choose execution plans in the same way as PyTorch. */
#include "bench/backends/cuda/graph.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MOST_CONFIGS 64
#define SPARE_BYTES ((size_t)256 << 20)
#define ROUNDS 4
#define CALLS 3

static void need(cm__cudnn_graph *g, int status, const char *call)
{
    cm__cudnn_need(g->c, status, call);
}

static void release(void *object)
{
    cm__cudnn_graph *g = object;
    while (g->n_objects) g->c->cu->cudnn.cudnnBackendDestroyDescriptor(g->objects[--g->n_objects]);
    for (int64_t i = 0; g->packs && i < g->c->copies; i++)
        if (g->packs[i]) g->c->cu->cudnn.cudnnBackendDestroyDescriptor(g->packs[i]);
    if (g->workspace) g->c->cu->driver.cuMemFree(g->workspace);
}

cm__cudnn_graph *cm__cudnn_graph_new(cm__cuda_case *c)
{
    cm__cudnn_graph *g = cm__alloc(c->ctx, sizeof *g);
    g->c = c;
    g->mode = DNN_HEUR_INSTANT;
    cm__defer(c->ctx, release, g);
    return g;
}

dnn_object cm__cudnn_make(cm__cudnn_graph *g, int type)
{
    dnn_object object = NULL;
    if (g->n_objects == (int)(sizeof g->objects / sizeof *g->objects))
        cm__fail(g->c->ctx, CM_ERR_LIMIT, "too many cuDNN descriptors");
    need(g, g->c->cu->cudnn.cudnnBackendCreateDescriptor(type, &object), "cudnnBackendCreateDescriptor");
    return g->objects[g->n_objects++] = object;
}

void cm__cudnn_set(cm__cudnn_graph *g, dnn_object object, int name, int type, int64_t count, const void *values)
{
    char call[64];
    snprintf(call, sizeof call, "cudnnBackendSetAttribute(%d)", name);
    need(g, g->c->cu->cudnn.cudnnBackendSetAttribute(object, name, type, count, values), call);
}

void cm__cudnn_finish(cm__cudnn_graph *g, dnn_object object, const char *what)
{
    char call[96];
    snprintf(call, sizeof call, "cudnnBackendFinalize(%s)", what);
    need(g, g->c->cu->cudnn.cudnnBackendFinalize(object), call);
}

static dnn_object tensor(cm__cudnn_graph *g, int type, int rank, const int64_t *sizes, const int64_t *strides, int flag)
{
    dnn_object t = cm__cudnn_make(g, DNN_TENSOR);
    int64_t    id = ++g->last_id, alignment = 16;
    bool       yes = true;
    cm__cudnn_set(g, t, DNN_A_TENSOR_TYPE, DNN_T_DATA_TYPE, 1, &type);
    cm__cudnn_set(g, t, DNN_A_TENSOR_SIZES, DNN_T_INT64, rank, sizes);
    cm__cudnn_set(g, t, DNN_A_TENSOR_STRIDES, DNN_T_INT64, rank, strides);
    cm__cudnn_set(g, t, DNN_A_TENSOR_ID, DNN_T_INT64, 1, &id);
    cm__cudnn_set(g, t, DNN_A_TENSOR_ALIGNMENT, DNN_T_INT64, 1, &alignment);
    if (flag) cm__cudnn_set(g, t, flag, DNN_T_BOOLEAN, 1, &yes);
    cm__cudnn_finish(g, t, "tensor");
    return t;
}

static void give_address(cm__cudnn_graph *g, int operand, float value)
{
    if (g->n_tensors == GRAPH_TENSORS) cm__fail(g->c->ctx, CM_ERR_LIMIT, "too many cuDNN tensors");
    g->tensors[g->n_tensors].operand = operand;
    g->tensors[g->n_tensors].value = value;
    g->tensors[g->n_tensors++].id = g->last_id;
}

dnn_object cm__cudnn_tensor(cm__cudnn_graph *g, int operand, int rank, const int64_t *sizes, const int64_t *strides)
{
    dnn_object t = tensor(g, cm__types[g->c->operands[operand].type].cudnn, rank, sizes, strides, 0);
    give_address(g, operand, 0);
    return t;
}

dnn_object cm__cudnn_between(cm__cudnn_graph *g, int type, const int64_t *sizes)
{
    int64_t strides[4] = {sizes[1] * sizes[2] * sizes[3], sizes[2] * sizes[3], sizes[3], 1};
    return tensor(g, type, 4, sizes, strides, DNN_A_TENSOR_VIRTUAL);
}

dnn_object cm__cudnn_number(cm__cudnn_graph *g, float value)
{
    static const int64_t ones[4] = {1, 1, 1, 1};
    dnn_object           t = tensor(g, DNN_FP32, 4, ones, ones, DNN_A_TENSOR_BY_VALUE);
    give_address(g, -1, value);
    return t;
}

/* ---- choosing a plan --------------------------------------------------------------------------------------------- */

/* PyTorch rejects engines that round fp32 operands, and engines with tensor cores unless tf32 is allowed. */
static bool unwanted(cm__cudnn_graph *g, dnn_object config)
{
    int     notes[DNN_NOTE_COUNT * 2] = {0};
    int64_t count = 0;
    bool    fp32 = strcmp(g->c->call.dtype, "fp32") == 0, tf32 = strcmp(g->c->call.dtype, "tf32") == 0;
    if (!fp32 && !tf32) return false;
    dnn_object engine = cm__cudnn_make(g, DNN_ENGINE);
    if (g->c->cu->cudnn.cudnnBackendGetAttribute(config, DNN_A_CONFIG_ENGINE, DNN_T_DESCRIPTOR, 1, &count, &engine))
        return true;
    count = 0;
    g->c->cu->cudnn.cudnnBackendGetAttribute(engine, DNN_A_ENGINE_NUMERICAL_NOTE, DNN_T_NUMERICAL_NOTE,
                                             DNN_NOTE_COUNT * 2, &count, notes);
    for (int64_t i = 0; i < count && i < DNN_NOTE_COUNT * 2; i++)
        if (notes[i] == DNN_NOTE_DOWN_CONVERT || (fp32 && notes[i] == DNN_NOTE_TENSOR_CORE)) return true;
    return false;
}

static void add_plan(cm__cudnn_graph *g, dnn_object config, size_t limit)
{
    const cm__cudnn *dnn = &g->c->cu->cudnn;
    dnn_object       plan = cm__cudnn_make(g, DNN_PLAN);
    int64_t          bytes = 0, count = 0;
    cm__cudnn_set(g, plan, DNN_A_PLAN_HANDLE, DNN_T_HANDLE, 1, &g->c->cu->dnn);
    cm__cudnn_set(g, plan, DNN_A_PLAN_CONFIG, DNN_T_DESCRIPTOR, 1, &config);
    if (dnn->cudnnBackendFinalize(plan)) return; /* this engine does not support the operation; another may */
    if (dnn->cudnnBackendGetAttribute(plan, DNN_A_PLAN_WORKSPACE, DNN_T_INT64, 1, &count, &bytes) || bytes < 0 ||
        (size_t)bytes > limit)
        return;
    g->workspace_bytes[g->n_plans] = (size_t)bytes;
    g->plans[g->n_plans++] = plan;
}

static void add_plans(cm__cudnn_graph *g, dnn_object graph, int mode, int wanted, size_t limit)
{
    dnn_object configs[MOST_CONFIGS];
    dnn_object heuristic = cm__cudnn_make(g, DNN_HEURISTICS);
    int64_t    count = 0;
    cm__cudnn_set(g, heuristic, DNN_A_HEURISTIC_GRAPH, DNN_T_DESCRIPTOR, 1, &graph);
    cm__cudnn_set(g, heuristic, DNN_A_HEURISTIC_MODE, DNN_T_HEURISTIC_MODE, 1, &mode);
    if (g->c->cu->cudnn.cudnnBackendFinalize(heuristic)) return;
    need(
        g,
        g->c->cu->cudnn.cudnnBackendGetAttribute(heuristic, DNN_A_HEURISTIC_RESULTS, DNN_T_DESCRIPTOR, 0, &count, NULL),
        "cudnnBackendGetAttribute(heuristics)");
    int64_t most = count < MOST_CONFIGS ? count : MOST_CONFIGS;
    for (int64_t i = 0; i < most; i++) configs[i] = cm__cudnn_make(g, DNN_ENGINE_CONFIG);
    if (most)
        need(g,
             g->c->cu->cudnn.cudnnBackendGetAttribute(heuristic, DNN_A_HEURISTIC_RESULTS, DNN_T_DESCRIPTOR, most,
                                                      &count, configs),
             "cudnnBackendGetAttribute(heuristics)");
    for (int64_t i = 0; i < most && i < count && g->n_plans < wanted; i++)
        if (!unwanted(g, configs[i])) add_plan(g, configs[i], limit);
}

static dnn_object pack_of(cm__cudnn_graph *g, int64_t copy)
{
    const cm__cudnn *dnn = &g->c->cu->cudnn;
    int64_t          ids[GRAPH_TENSORS];
    void            *pointers[GRAPH_TENSORS], *workspace = (void *)(uintptr_t)g->workspace;
    dnn_object       pack = NULL;
    if (g->packs[copy]) return g->packs[copy];
    for (int i = 0; i < g->n_tensors; i++) {
        ids[i] = g->tensors[i].id;
        pointers[i] = g->tensors[i].operand < 0
                          ? (void *)&g->tensors[i].value
                          : (void *)(uintptr_t)cm__cuda_address(g->c, g->tensors[i].operand, copy);
    }
    if (dnn->cudnnBackendCreateDescriptor(DNN_VARIANT_PACK, &pack)) return NULL;
    if (dnn->cudnnBackendSetAttribute(pack, DNN_A_PACK_IDS, DNN_T_INT64, g->n_tensors, ids) ||
        dnn->cudnnBackendSetAttribute(pack, DNN_A_PACK_POINTERS, DNN_T_POINTER, g->n_tensors, pointers) ||
        dnn->cudnnBackendSetAttribute(pack, DNN_A_PACK_WORKSPACE, DNN_T_POINTER, 1, &workspace) ||
        dnn->cudnnBackendFinalize(pack)) {
        dnn->cudnnBackendDestroyDescriptor(pack);
        return NULL;
    }
    return g->packs[copy] = pack;
}

int cm__cudnn_execute(cm__cudnn_graph *g, int64_t copy)
{
    dnn_object pack = pack_of(g, copy);
    if (!pack) return cm__cuda_failed(g->c, "cudnnBackendFinalize(variant pack)", "refused");
    int status = g->c->cu->cudnn.cudnnBackendExecute(g->c->cu->dnn, g->plans[g->chosen], pack);
    return status ? cm__cuda_failed(g->c, "cudnnBackendExecute", g->c->cu->cudnn.cudnnGetErrorString(status)) : 0;
}

static double time_plan(cm__cudnn_graph *g, int repetitions)
{
    float milliseconds = 0;
    cm__cuda_spin(g->c, 60e-6);
    CU(g->c, cuEventRecord, g->c->cu->start, g->c->cu->stream);
    for (int i = 0; i < repetitions; i++)
        if (cm__cudnn_execute(g, i % g->c->copies)) return INFINITY;
    CU(g->c, cuEventRecord, g->c->cu->end, g->c->cu->stream);
    CU(g->c, cuEventSynchronize, g->c->cu->end);
    CU(g->c, cuEventElapsedTime, &milliseconds, g->c->cu->start, g->c->cu->end);
    return milliseconds * 1e-3 / repetitions;
}

/* Time all plans in several rounds, so that a falling clock does not favour the first one. */
static void search(cm__cudnn_graph *g)
{
    double least_s[GRAPH_PLANS];
    int    best = 0;
    for (g->chosen = 0; g->chosen < g->n_plans; g->chosen++)
        least_s[g->chosen] = isinf(time_plan(g, 1)) ? -1 : INFINITY;
    for (int i = 0; i < g->n_plans * ROUNDS; i++) {
        g->chosen = i % g->n_plans;
        if (least_s[g->chosen] > 0) least_s[g->chosen] = fmin(least_s[g->chosen], time_plan(g, CALLS));
    }
    for (int i = 1; i < g->n_plans; i++)
        if (least_s[i] > 0 && (least_s[best] < 0 || least_s[i] < least_s[best])) best = i;
    g->chosen = best;
}

static void allocate_workspace(cm__cudnn_graph *g)
{
    size_t most = 1;
    for (int i = 0; i < g->n_plans; i++) most = g->workspace_bytes[i] > most ? g->workspace_bytes[i] : most;
    cm__cuda_need(g->c->ctx, g->c->cu, g->c->cu->driver.cuMemAlloc(&g->workspace, most), "cuMemAlloc of the workspace");
}

void cm__cudnn_plan(cm__cudnn_graph *g, int count, const dnn_object *operations)
{
    size_t     free_bytes = 0, total_bytes = 0;
    int        wanted = g->c->options.search ? GRAPH_PLANS : 1;
    dnn_object graph = cm__cudnn_make(g, DNN_GRAPH);
    cm__cudnn_set(g, graph, DNN_A_GRAPH_HANDLE, DNN_T_HANDLE, 1, &g->c->cu->dnn);
    cm__cudnn_set(g, graph, DNN_A_GRAPH_OPERATIONS, DNN_T_DESCRIPTOR, count, operations);
    cm__cudnn_finish(g, graph, "graph");
    CU(g->c, cuMemGetInfo, &free_bytes, &total_bytes);
    size_t limit = free_bytes > SPARE_BYTES ? free_bytes - SPARE_BYTES : 0;
    add_plans(g, graph, g->mode, wanted, limit);
    if (g->n_plans < wanted) add_plans(g, graph, DNN_HEUR_FALLBACK, wanted, limit);
    if (!g->n_plans) cm__fail(g->c->ctx, CM_ERR_UNSUPPORTED, "cuDNN has no engine for it");
    g->packs = cm__alloc_array(g->c->ctx, (size_t)g->c->copies, sizeof *g->packs);
    allocate_workspace(g);
    if (g->c->options.search) search(g);
    snprintf(g->c->algorithm, sizeof g->c->algorithm, "cuDNN: heuristic's plan %d of %d", g->chosen + 1, g->n_plans);
}
