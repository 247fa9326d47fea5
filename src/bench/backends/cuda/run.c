/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run.c - time calls on the device: queue them back to back between two events.
 *
 * First a spinning kernel keeps the device busy while the host fills the queue, so that host time is not measured.
 * Short calls are captured into a CUDA graph, because the host could not queue them fast enough.
 */
#include <math.h>
#include <stdio.h>

#include "bench/backends/cuda/cuda.h"

#define SHORT_S 250e-6 /* calls shorter than this are captured into a graph */
#define GRAPH_S 1e-3   /* shortest graph, so that its start-up time is negligible */
#define GRAPH_NODES 4096
#define GRAPH_CALLS 1024
#define QUEUE_S 60e-6 /* time that the host needs to queue the first calls */

static int launch(cm__cuda_case *c, int64_t copy)
{
    return c->op->launch ? c->op->launch(c, copy) : cm__cuda_launch_all(c, copy);
}

void cm__cuda_spin(cm__cuda_case *c, double time_s)
{
    int64_t nanoseconds = (int64_t)(time_s * 1e9);
    CU(c, cuLaunchKernel, c->cu->spin, 1, 1, 1, 1, 1, 1, 0, c->cu->stream, (void *[]){&nanoseconds}, NULL);
}

static void start_clock(cm__cuda_case *c)
{
    cm__cuda_spin(c, QUEUE_S);
    CU(c, cuEventRecord, c->cu->start, c->cu->stream);
}

static double stop_clock(cm__cuda_case *c)
{
    float milliseconds = 0;
    CU(c, cuEventRecord, c->cu->end, c->cu->stream);
    CU(c, cuEventSynchronize, c->cu->end);
    CU(c, cuEventElapsedTime, &milliseconds, c->cu->start, c->cu->end);
    return milliseconds * 1e-3;
}

static void queue(cm__cuda_case *c, int64_t repetitions)
{
    for (int64_t i = 0; i < repetitions; i++) {
        if (launch(c, c->next)) cm__cuda_fail_case(c);
        c->next = (c->next + 1) % c->copies;
    }
}

double cm__cuda_time_calls(cm__cuda_case *c, int64_t repetitions)
{
    start_clock(c);
    queue(c, repetitions);
    return stop_clock(c);
}

/* Returns NULL if the library's calls cannot be captured; then they are queued one by one. */
static cu_graph capture(cm__cuda_case *c, int64_t calls)
{
    cu_graph graph = NULL;
    int      failed = 0;
    if (c->cu->driver.cuStreamBeginCapture(c->cu->stream, CU_CAPTURE_RELAXED)) return NULL;
    for (int64_t i = 0; i < calls && !failed; i++) failed = launch(c, i % c->copies);
    if (c->cu->driver.cuStreamEndCapture(c->cu->stream, &graph) || failed) {
        if (graph) c->cu->driver.cuGraphDestroy(graph);
        return NULL;
    }
    return graph;
}

static int64_t count_nodes(cm__cuda_case *c)
{
    size_t   nodes = 0;
    cu_graph graph = capture(c, 1);
    if (!graph) return 0;
    c->cu->driver.cuGraphGetNodes(graph, NULL, &nodes);
    c->cu->driver.cuGraphDestroy(graph);
    return (int64_t)nodes;
}

static void make_graph(cm__cuda_case *c, double call_s, int64_t nodes)
{
    int64_t calls = (int64_t)ceil(GRAPH_S / fmax(call_s, 1e-6));
    if (calls > GRAPH_CALLS) calls = GRAPH_CALLS;
    if (calls < c->copies) calls = c->copies;
    if (calls * nodes > GRAPH_NODES && c->copies == 1) calls = GRAPH_NODES / nodes;
    if (calls < 1) return;
    cu_graph graph = capture(c, calls);
    if (!graph) return;
    if (c->cu->driver.cuGraphInstantiate(&c->graph, graph, 0) != CU_SUCCESS) c->graph = NULL;
    c->cu->driver.cuGraphDestroy(graph);
    c->graph_calls = calls;
}

/* The first calls load code and run deferred initialization of the library, so they are not timed. */
static void warm(cm__cuda_case *c)
{
    queue(c, 1);
    cm__cuda_need(c->ctx, c->cu, c->cu->driver.cuStreamSynchronize(c->cu->stream),
                  c->call.op ? c->call.op : "the probe");
    double  call_s = cm__cuda_time_calls(c, 3) / 3;
    int64_t nodes = count_nodes(c);
    c->warmed = true;
    if (nodes > 0) c->kernels = (int32_t)nodes;
    if (nodes > 0 && call_s < SHORT_S) make_graph(c, call_s, nodes);
    if (!c->graph) return;
    CU(c, cuGraphLaunch, c->graph, c->cu->stream);
    cm__cuda_need(c->ctx, c->cu, c->cu->driver.cuStreamSynchronize(c->cu->stream), "cuGraphLaunch");
}

double cm__cuda_time_case(cm__cuda_case *c, int64_t repetitions)
{
    if (!c->warmed) warm(c);
    if (!c->graph) return cm__cuda_time_calls(c, repetitions);
    int64_t launches = (repetitions + c->graph_calls - 1) / c->graph_calls;
    start_clock(c);
    for (int64_t i = 0; i < launches; i++) CU(c, cuGraphLaunch, c->graph, c->cu->stream);
    return stop_clock(c) * (double)repetitions / ((double)launches * (double)c->graph_calls);
}
