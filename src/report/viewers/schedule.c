/* SPDX-License-Identifier: Apache-2.0 */
/* schedule.c - when the host launches each kernel call of a predicted step, and when the device runs it. */
#include <math.h>
#include "report/viewers/viewers.h"

typedef struct clock {
    double host_s, device_s; /* ends of the last launch and the last kernel */
    double launch_s, gap_s;  /* host time of a kernel; idle time between kernels */
} clock;

typedef struct visitor {
    cm__visit_launch *visit; /* NULL: only the end of the last kernel is needed */
    void             *user;
} visitor;

static bool is_update(const cm__predict_report *r, const cm_op_time *op)
{
    return cm_node_phase(cm_graph_node(r->graph->step, op->node)) == CM_UPDATE;
}

/* The host launches each call; the device runs it when both are ready. Returns when the last kernel ends. */
static double walk(const cm__predict_report *r, clock c, int32_t repeats, visitor v)
{
    int32_t count = cm_prediction_ops(r->prediction);
    for (int32_t round = 0; round < repeats; round++)
        for (int32_t k = 0; k < count; k++) {
            const cm_op_time *op = cm_prediction_op(r->prediction, k);
            if (is_update(r, op) && round + 1 < repeats) continue;
            cm__launch l = {.op = op, .host_begin_s = c.host_s, .launch_s = c.launch_s * fmax(op->launches, 1)};
            c.host_s += l.launch_s;
            l.begin_s = fmax(c.host_s, c.device_s + c.gap_s);
            c.device_s = l.begin_s + op->time_s;
            if (v.visit) v.visit(v.user, &l);
        }
    return c.device_s;
}

/* The predicted step is the longer of host and device; with equal times for all launches the device would also wait
   within the step. Shorten launches and gaps until the last kernel ends with the step. */
static clock fit(const cm__predict_report *r, clock full, int32_t repeats, double end_s)
{
    double low = 0, high = 1;
    clock  c = full;
    if (walk(r, full, repeats, (visitor){0}) <= end_s) return full;
    for (int i = 0; i < 40; i++) {
        double part = (low + high) / 2;
        c = (clock){.launch_s = full.launch_s * part, .gap_s = full.gap_s * part};
        if (walk(r, c, repeats, (visitor){0}) > end_s) high = part;
        else low = part;
    }
    return (clock){.launch_s = full.launch_s * low, .gap_s = full.gap_s * low};
}

void cm__step_schedule(const cm__predict_report *r, int32_t repeats, cm__visit_launch *visit, void *user)
{
    const cm_prediction_info *i = cm_prediction_get_info(r->prediction);
    int32_t                   count = cm_prediction_ops(r->prediction);
    double                    sum = 0, launches = 0, whole = fmax(repeats, (double)i->plan.accumulate);
    double                    part = repeats / whole; /* of the step */
    for (int32_t k = 0; k < count; k++) {
        const cm_op_time *op = cm_prediction_op(r->prediction, k);
        double            times = is_update(r, op) ? 1 : repeats;
        sum += op->time_s * times;
        launches += fmax(op->launches, 1) * times;
    }
    double end = i->compute_s * part, idle = end - sum - (i->tensor_s + i->data_s - i->hidden_s) * part;
    bool   waits = i->host_time_s > 0.98 * i->compute_s;
    double last = count ? cm_prediction_op(r->prediction, count - 1)->time_s : 0; /* runs when its launch is over */
    double host = waits ? fmax(0, end - last) : i->host_time_s * part;
    clock  full = {.launch_s = launches > 0 ? host / launches : 0,
                   .gap_s = waits || idle < 0 || !count ? 0 : idle / (count * (double)repeats)};
    walk(r, fit(r, full, repeats, end), repeats, (visitor){visit, user});
}
