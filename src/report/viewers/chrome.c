/* SPDX-License-Identifier: Apache-2.0 */
/* chrome.c - a predicted step as a Chrome trace, which Perfetto and chrome://tracing open: host, device,
   communication and memory; of a pipeline, one track per stage. */
#include <math.h>
#include <stdlib.h>
#include "report/json/json.h"
#include "report/viewers/viewers.h"

enum { DEVICE, HOST }; /* process numbers; stages of a pipeline are threads of the device */
enum { STREAM = 7, COMMUNICATION = 20, THREAD = 1 };
#define REPEATS_MOST 16 /* micro-batches that are listed call by call */
#define SLOTS_MOST 200000

typedef struct writer {
    cm__ctx *ctx;
    FILE    *out;
    bool     begun;
} writer;

/* Prints an event and releases it. */
static void put(writer *w, json_t *event)
{
    if (!event) cm__fail(w->ctx, CM_ERR_MEMORY, "out of memory for an event");
    fputs(w->begun ? ",\n" : "\n", w->out);
    w->begun = true;
    json_dumpf(event, w->out, JSON_COMPACT | JSON_REAL_PRECISION(12));
    json_decref(event);
}

static void name(writer *w, int pid, int tid, const char *what, const char *text)
{
    put(w, json_pack("{s:s, s:s, s:i, s:i, s:{s:s}}", "ph", "M", "name", what, "pid", pid, "tid", tid, "args", "name",
                     cm__printable(w->ctx, text)));
}

/* Microseconds, the format's unit, in whole nanoseconds. Viewers drop a slice that begins before the last one ended, so
   the end of a slice and the beginning of the next must be rounded alike. */
static double microseconds(double time_s) { return round(1e9 * time_s) / 1e3; }

/* A slice; args is consumed. Times are in seconds. */
static void slice(writer *w, int pid, int tid, const char *category, const char *text, double begin_s, double time_s,
                  json_t *args)
{
    double begin = microseconds(begin_s), time = round(1e3 * (microseconds(begin_s + time_s) - begin)) / 1e3;
    put(w, json_pack("{s:s, s:s, s:s, s:i, s:i, s:f, s:f, s:o}", "ph", "X", "cat", category, "name",
                     cm__printable(w->ctx, text), "pid", pid, "tid", tid, "ts", begin, "dur", time, "args",
                     args ? args : json_object()));
}

static void counter(writer *w, double at_s, double bytes)
{
    put(w, json_pack("{s:s, s:s, s:i, s:i, s:f, s:{s:f}}", "ph", "C", "name", "device memory (bytes)", "pid", DEVICE,
                     "tid", 0, "ts", microseconds(at_s), "args", "allocated", bytes));
}

/* ---- call by call ----------------------------------------------------------------------------------------------- */

typedef struct calls {
    writer                   *w;
    const cm__predict_report *r;
    const double             *live; /* bytes at each node */
    double                    most;
    int32_t                   id;
} calls;

static void put_call(void *user, const cm__launch *l)
{
    calls         *c = user;
    writer        *w = c->w;
    const cm_node *node = cm_graph_node(c->r->graph->step, l->op->node);
    json_t        *args = json_pack("{s:s, s:s, s:s, s:s, s:f, s:f, s:f, s:i, s:i}", "call", l->op->call, "node",
                                    cm__printable(w->ctx, cm_node_name(node)), "phase",
                                    cm_phase_name(cm_node_phase(node)),
                                    "estimated by", cm_how_name(l->op->how), "flop", l->op->flop, "bytes", l->op->bytes,
                                    "kernels", l->op->launches, "stream", STREAM, "correlation", ++c->id);
    slice(w, HOST, THREAD, "cpu_op", cm_node_type(node), l->host_begin_s, l->launch_s, NULL);
    slice(w, HOST, THREAD, "cuda_runtime", "cudaLaunchKernel", l->host_begin_s + l->launch_s / 2, l->launch_s / 4,
          json_pack("{s:i}", "correlation", c->id));
    slice(w, DEVICE, STREAM, "kernel", l->op->call, l->begin_s, l->op->time_s, args);
    counter(w, l->begin_s + l->op->time_s, c->r->peak_bytes - c->most + c->live[l->op->node]);
}

static void put_calls(writer *w, const cm__predict_report *r, double repeats)
{
    const cm_prediction_info *i = cm_prediction_get_info(r->prediction);
    calls c = {.w = w, .r = r, .live = cm__live_bytes(w->ctx, r)};
    for (int32_t k = 0; k < cm_prediction_ops(r->prediction); k++)
        c.most = fmax(c.most, c.live[cm_prediction_op(r->prediction, k)->node]);
    cm__step_schedule(r, (int32_t)repeats, put_call, &c);
    double communication = i->tensor_s + i->data_s;
    if (communication > 0)
        slice(w, DEVICE, COMMUNICATION, "kernel", "communication: all-reduce, all-gather",
              fmax(0, i->step_time_s - communication),
              communication, json_pack("{s:f}", "overlapped_s", i->hidden_s));
}

/* ---- a pipeline ------------------------------------------------------------------------------------------------- */

static void put_pipeline(writer *w, const cm__predict_report *r)
{
    const cm_prediction_info *i = cm_prediction_get_info(r->prediction);
    int32_t                   stages = i->plan.pp, batches = (int32_t)i->plan.accumulate;
    double                    forward = i->phase_s[CM_FORWARD] / batches,
           backward = (i->phase_s[CM_BACKWARD] + i->phase_s[CM_RECOMPUTE]) / batches;
    if (batches < 1 || (int64_t)stages * batches > SLOTS_MOST)
        cm__fail(w->ctx, CM_ERR_LIMIT, "a trace of %d stages with %d micro-batches each is too large", stages, batches);
    cm__slot *slots = cm__pipeline_slots(stages, batches, forward, backward, i->plan.gpipe);
    if (!slots) cm__fail(w->ctx, CM_ERR_MEMORY, "out of memory for the pipeline");
    cm__defer(w->ctx, free, slots);
    double end = 0, rest = i->phase_s[CM_UPDATE];
    for (int32_t k = 0; k < 2 * stages * batches; k++) end = fmax(end, slots[k].end_s);
    /* communication between and inside the stages stretches the passes */
    double stretch = end > 0 && i->step_time_s > rest ? (i->step_time_s - rest) / end : 1;
    for (int32_t s = 0; s < stages; s++)
        name(w, DEVICE, s + 1, "thread_name", cm__format(w->ctx, "stage %d", s + 1));
    for (int32_t k = 0; k < 2 * stages * batches; k++) {
        const cm__slot *s = &slots[k];
        slice(w, DEVICE, s->stage + 1, "kernel",
              cm__format(w->ctx, "%s %d", s->backward ? "backward" : "forward", s->micro_batch + 1),
              s->begin_s * stretch, (s->end_s - s->begin_s) * stretch,
              json_pack("{s:i}", "micro-batch", s->micro_batch + 1));
    }
    for (int32_t s = 0; s < stages; s++)
        slice(w, DEVICE, s + 1, "kernel", "update", i->step_time_s - rest, rest, NULL);
}

/* ---- all of it -------------------------------------------------------------------------------------------------- */

static void put_step(writer *w, const cm__predict_report *r)
{
    const cm_prediction_info *i = cm_prediction_get_info(r->prediction);
    name(w, DEVICE, 0, "process_name", cm_device_get_info(r->device)->id);
    name(w, HOST, 0, "process_name", "host");
    name(w, HOST, THREAD, "thread_name", "thread that launches kernels");
    slice(w, HOST, THREAD, "user_annotation", "ProfilerStep#0", 0, i->step_time_s,
          json_pack("{s:s, s:I, s:f, s:f, s:f}", "model", cm__printable(w->ctx, r->asked.graph.model), "batch",
                    (json_int_t)i->batch, "interval_low_s", i->interval_s[0], "interval_high_s", i->interval_s[1],
                    "peak_bytes",
                    r->peak_bytes));
    if (i->load_s > 0) {
        name(w, HOST, THREAD + 1, "thread_name", "data loading");
        slice(w, HOST, THREAD + 1, "user_annotation", "enumerate(DataLoader)", 0, i->load_s, NULL);
    }
    if (i->plan.pp > 1) {
        put_pipeline(w, r);
        return;
    }
    name(w, DEVICE, STREAM, "thread_name", "kernels");
    if (i->tensor_s + i->data_s > 0) name(w, DEVICE, COMMUNICATION, "thread_name", "communication");
    double batches = (double)i->plan.accumulate;
    put_calls(w, r, fmin(REPEATS_MOST, fmax(1, batches)));
}

cm_status cm__predict_report_trace(const cm__predict_report *report, FILE *out, cm_diag *diag)
{
    cm__ctx *ctx = cm__ctx_new(diag);
    if (!ctx) return CM_ERR_MEMORY;
    if (setjmp(ctx->trap)) return cm__ctx_abandon(ctx);
    writer w = {.ctx = ctx, .out = out};
    fprintf(out,
            "{\"schemaVersion\":1,\"displayTimeUnit\":\"ms\",\"deviceProperties\":[{\"id\":0,\"name\":\"%s\"}],"
            "\"traceEvents\":[",
            cm_device_get_info(report->device)->id);
    put_step(&w, report);
    fputs("\n]}\n", out);
    cm__ctx_free(ctx);
    return CM_OK;
}
