/* SPDX-License-Identifier: Apache-2.0 */
/*
 * measured.c - times of a node's kernel calls from the tables that were measured on the device.
 *
 * Every execution model takes them in place of its own rule for the node. A row is the time of the call alone, with its
 * start, its traffic and its synchronisation, so a model adds no fixed cost of the operator. The model still
 * adds what lies between operators: results passed from section to section, weights streamed for each layer, pipelines.
 * Where there are no tables and the compiler is XLA, a captured step, which has each operator that its program writes, is
 * divided into the kernels that XLA generates for a GPU. Named models have their operators joined; their times were
 * fitted so.
 * A node is timed by tables only if each of its calls is in them or lies between their rows. Recurrent layers keep the
 * model's rule, because one row would stand for many nodes.
 */
#include <math.h>
#include <string.h>
#include "device/number.h"
#include "model/execution/execution.h"

struct cm__measured {
    cm__dispatch *calls;
    cm__timer    *timer; /* NULL: there are no tables, but XLA's kernels are known */
    int32_t      *first, *next; /* by node, by entry of the calls: an entry, from 1; 0: none */
};

const cm__measured *cm__measured_new(cm__ctx *ctx, const cm_graph *step, const cm_device *device)
{
    bool tables = device->kernels.count || device->built_in_kernels.count;
    bool xla = cm__joins_as_xla(device) && strcmp(step->source, "trace") == 0;
    if (!tables && !xla) return NULL;
    cm__measured *m = cm__alloc(ctx, sizeof *m);
    m->calls = cm__dispatch_new(ctx, step, device->layout, tables ? CM_RUNTIME_NATIVE : CM_RUNTIME_XLA);
    if (tables) {
        m->timer = cm__timer_new(ctx, device, NULL, CM_RUNTIME_NATIVE, NULL);
        cm__timer_asks(m->timer, step->asked.software.versions);
        cm__timer_trains(m->timer, m->calls->trains);
        cm__timer_remember(m->timer);
    }
    m->first = cm__alloc_array(ctx, (size_t)step->n_nodes + 1, sizeof *m->first);
    m->next = cm__alloc_array(ctx, (size_t)m->calls->n_of + 1, sizeof *m->next);
    for (int32_t i = 0; i < m->calls->n_of; i++) {
        m->next[i] = m->first[m->calls->node[i]];
        m->first[m->calls->node[i]] = i + 1;
    }
    return m;
}

static double scale_of(const cm__job *j, const cm__call *call)
{
    return cm__call_kinds[call->op].engine == CM_ENGINE_MATRIX ? j->matrix_scale : j->vector_scale;
}

cm__timed cm__job_measured(const cm__job *j, int32_t node, double batch)
{
    const cm__measured *m = j->prepared.measured;
    const cm__timed     none = {.time_s = NAN, .how = CM_HOW_ROOFLINE};
    const cm_node      *n = &j->g->nodes[node];
    cm__timed           sum = {.how = CM_HOW_MEASURED};
    cm__call            call;
    if (!m || !m->timer || n->view || !m->first[node] || cm__class(n) == CM_CLASS_RNN) return none;
    for (int32_t at = m->first[node]; at; at = m->next[at - 1]) {
        cm__call_at(&m->calls->calls[m->calls->of[at - 1]], batch, &call);
        cm__timed one = cm__timer_time(m->timer, &call);
        if (one.how > CM_HOW_INTERPOLATED) return none;
        sum.time_s += scale_of(j, &call) * one.time_s;
        if (one.how > sum.how) sum.how = one.how;
    }
    sum.time_s *= cm__job_kept(j, n) / j->joined_chips;
    return sum;
}

double cm__job_joined_bytes(const cm__job *j, int32_t node, double batch)
{
    const cm__measured *m = j->prepared.measured;
    double              sum = 0, flop, bytes;
    cm__call            call;
    if (!m || m->timer || !cm__job_is_traffic(&j->g->nodes[node])) return NAN;
    for (int32_t at = m->first[node]; at; at = m->next[at - 1]) {
        cm__call_at(&m->calls->calls[m->calls->of[at - 1]], batch, &call);
        cm__call_work(&call, &flop, &bytes);
        sum += bytes;
    }
    return sum;
}
