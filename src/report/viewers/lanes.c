/* SPDX-License-Identifier: Apache-2.0 */
/* lanes.c - the timeline of a step for the HTML pages: host, device and network, or the stages of a pipeline. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/text.h"
#include "report/viewers/viewers.h"

#define SLICES 400 /* about so many slices per lane */
#define ROUNDS_MOST 4 /* micro-batches that are shown one after the other */
#define PASSES_MOST 100000 /* of a pipeline; a longer one is shown as the calls of one micro-batch */

enum { HOST, DEVICE, NETWORK };

typedef struct collector {
    cm__ctx                  *ctx;
    const cm__predict_report *r;
    cm__lanes                *lanes;
    double                    least_s; /* shorter calls are joined with the next ones of their phase */
} collector;

static void add(collector *c, int32_t lane, cm__lane_slice s)
{
    cm__lane       *l = &c->lanes->lanes[lane];
    cm__lane_slice *last = l->n_slices ? &l->slices[l->n_slices - 1] : NULL;
    double          end = s.begin_s + s.time_s;
    c->lanes->end_s = fmax(c->lanes->end_s, end);
    bool near = last && s.begin_s - (last->begin_s + last->time_s) < c->least_s / 4;
    if (near && last->phase == s.phase && end - last->begin_s < c->least_s) {
        if (s.time_s > last->longest_s) last->name = s.name, last->longest_s = s.time_s;
        last->time_s = end - last->begin_s;
        last->count++;
        return;
    }
    s.count = 1;
    s.longest_s = s.time_s;
    l->slices = cm__grow(c->ctx, l->slices, l->n_slices, &l->cap_slices, sizeof s);
    l->slices[l->n_slices++] = s;
}

static void add_launch(void *user, const cm__launch *l)
{
    collector     *c = user;
    const cm_node *node = cm_graph_node(c->r->graph->step, l->op->node);
    add(c, HOST, (cm__lane_slice){cm_node_type(node), "launch", l->host_begin_s, l->launch_s, 0, 0});
    add(c, DEVICE, (cm__lane_slice){cm_node_type(node), cm_phase_name(cm_node_phase(node)), l->begin_s, l->op->time_s,
                                    0,
                                    0});
}

static void calls(collector *c, const cm_prediction_info *i)
{
    int64_t batches = i->plan.accumulate > 1 ? i->plan.accumulate : 1;
    bool    part = batches > ROUNDS_MOST;
    c->lanes->n_lanes = 2;
    c->lanes->lanes[HOST].name = "host";
    c->lanes->lanes[DEVICE].name = "device";
    bool hosted = i->host_time_s > 0; /* some devices run a whole graph without launches */
    c->lanes->about =
        part      ? cm__format(c->ctx, "One of %lld micro-batches, and the update. Short calls of a phase are joined.",
                               (long long)batches)
        : !hosted ? "The device runs the operators one after the other. Short ones of a phase are joined."
                  : "The host launches kernels; the device runs them. Short calls of a phase are joined.";
    cm__step_schedule(c->r, part ? 1 : (int32_t)batches, add_launch, c);
    double communication = i->tensor_s + i->data_s;
    if (communication > 0) {
        double share = part ? communication / (double)batches : communication;
        double end = part ? c->lanes->end_s : i->step_time_s;
        c->lanes->lanes[c->lanes->n_lanes++].name = "network";
        add(c, NETWORK, (cm__lane_slice){"all-reduce, all-gather", "communication", fmax(0, end - share), share, 0, 0});
    }
    if (!hosted) memmove(c->lanes->lanes, c->lanes->lanes + 1, sizeof *c->lanes->lanes * (size_t)--c->lanes->n_lanes);
}

/* The first stages of a pipeline, as many as there are lanes. */
static void pipeline(collector *c, const cm_prediction_info *i)
{
    int32_t stages = i->plan.pp, batches = (int32_t)i->plan.accumulate;
    int32_t shown = stages < CM__LANES_MOST ? stages : CM__LANES_MOST;
    double  forward = i->phase_s[CM_FORWARD] / batches, update = i->phase_s[CM_UPDATE], end = 0;
    double  backward = (i->phase_s[CM_BACKWARD] + i->phase_s[CM_RECOMPUTE]) / batches;
    cm__slot *slots = cm__pipeline_slots(stages, batches, forward, backward, i->plan.gpipe);
    if (!slots) cm__fail(c->ctx, CM_ERR_MEMORY, "out of memory for the pipeline");
    cm__defer(c->ctx, free, slots);
    for (int32_t k = 0; k < 2 * stages * batches; k++) end = fmax(end, slots[k].end_s);
    double stretch = end > 0 && i->step_time_s > update ? (i->step_time_s - update) / end : 1;
    c->least_s = 2 * batches > SLICES ? c->least_s : 0;
    c->lanes->n_lanes = shown;
    for (int32_t s = 0; s < shown; s++) c->lanes->lanes[s].name = cm__format(c->ctx, "stage %d", s + 1);
    for (int32_t k = 0; k < 2 * stages * batches; k++) {
        const cm__slot *s = &slots[k];
        if (s->stage < shown)
            add(c, s->stage,
                (cm__lane_slice){cm__format(c->ctx, "micro-batch %d", s->micro_batch + 1),
                                 cm_phase_name(s->backward ? CM_BACKWARD : CM_FORWARD), s->begin_s * stretch,
                                 (s->end_s - s->begin_s) * stretch, 0, 0});
    }
    for (int32_t s = 0; s < shown; s++)
        add(c, s, (cm__lane_slice){"update", cm_phase_name(CM_UPDATE), i->step_time_s - update, update, 0, 0});
    c->lanes->about = cm__format(c->ctx, "%d micro-batches through %d pipeline stages%s.", batches, stages,
                                 shown < stages ? cm__format(c->ctx, "; the first %d are shown", shown) : "");
}

void cm__lanes_of(cm__ctx *ctx, const cm__predict_report *r, cm__lanes *lanes)
{
    const cm_prediction_info *i = cm_prediction_get_info(r->prediction);
    collector                 c = {ctx, r, lanes, i->step_time_s / SLICES};
    *lanes = (cm__lanes){.about = ""};
    int64_t passes = 2 * (int64_t)i->plan.pp * i->plan.accumulate;
    if (i->plan.pp > 1 && i->plan.accumulate >= 1 && passes <= PASSES_MOST) pipeline(&c, i);
    else calls(&c, i);
}
