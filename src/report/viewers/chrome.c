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

typedef struct clock {
    double  host_s, device_s; /* ends of the last launch and the last kernel */
    double  launch_s, gap_s;  /* host time of a kernel; idle time between kernels */
    int32_t id;
} clock;

/* The host launches the call; the device runs it when both are ready. */
static void put_call(writer *w, const cm__predict_report *r, const cm_op_time *op, clock *c)
{
    const cm_node *node = cm_graph_node(r->graph->step, op->node);
    double         launch = c->launch_s * fmax(op->launches, 1);
    json_t        *args = json_pack("{s:s, s:s, s:s, s:s, s:f, s:f, s:f, s:i, s:i}", "call", op->call, "node",
                                    cm__printable(w->ctx, cm_node_name(node)), "phase", cm_phase_name(cm_node_phase(node)),
                                    "estimated by", cm_how_name(op->how), "flop", op->flop, "bytes", op->bytes, "kernels",
                                    op->launches, "stream", STREAM, "correlation", ++c->id);
    slice(w, HOST, THREAD, "cpu_op", cm_node_type(node), c->host_s, launch, NULL);
    slice(w, HOST, THREAD, "cuda_runtime", "cudaLaunchKernel", c->host_s + launch / 2, launch / 4,
          json_pack("{s:i}", "correlation", c->id));
    double begin = fmax(c->host_s + launch, c->device_s + c->gap_s);
    slice(w, DEVICE, STREAM, "kernel", op->call, begin, op->time_s, args);
    c->host_s += launch;
    c->device_s = begin + op->time_s;
}

static bool is_update(const cm__predict_report *r, const cm_op_time *op)
{
    return cm_node_phase(cm_graph_node(r->graph->step, op->node)) == CM_UPDATE;
}

/* When the last kernel ends. */
static double end_of(const cm__predict_report *r, clock c, double repeats)
{
    int32_t count = cm_prediction_ops(r->prediction);
    for (int32_t round = 0; round < (int32_t)repeats; round++)
        for (int32_t k = 0; k < count; k++) {
            const cm_op_time *op = cm_prediction_op(r->prediction, k);
            if (is_update(r, op) && round + 1 < (int32_t)repeats) continue;
            c.host_s += c.launch_s * fmax(op->launches, 1);
            c.device_s = fmax(c.host_s, c.device_s + c.gap_s) + op->time_s;
        }
    return c.device_s;
}

/* The predicted step is the longer of host and device; with equal times for all launches the device would also wait
   within the step. Shorten launches and gaps until the last kernel ends with the step. */
static void fit_clock(const cm__predict_report *r, clock *c, double repeats, double end_s)
{
    clock  full = *c;
    double low = 0, high = 1;
    if (end_of(r, full, repeats) <= end_s) return;
    for (int i = 0; i < 40; i++) {
        double part = (low + high) / 2;
        *c = full;
        c->launch_s *= part;
        c->gap_s *= part;
        if (end_of(r, *c, repeats) > end_s) high = part;
        else low = part;
    }
    *c = full;
    c->launch_s *= low;
    c->gap_s *= low;
}

static void put_calls(writer *w, const cm__predict_report *r, double repeats)
{
    const cm_prediction_info *i = cm_prediction_get_info(r->prediction);
    int32_t                   count = cm_prediction_ops(r->prediction);
    double                    sum = 0, launches = 0, *live = cm__live_bytes(w->ctx, r->graph->step, (double)i->micro_batch), most = 0;
    for (int32_t k = 0; k < count; k++) {
        const cm_op_time *op = cm_prediction_op(r->prediction, k);
        double            times = is_update(r, op) ? 1 : repeats;
        sum += op->time_s * times;
        launches += fmax(op->launches, 1) * times;
        most = fmax(most, live[op->node]);
    }
    double idle = i->compute_s - sum - (i->tensor_s + i->data_s - i->hidden_s);
    bool   waits = i->host_time_s > 0.98 * i->compute_s;
    double last = count ? cm_prediction_op(r->prediction, count - 1)->time_s : 0; /* runs when its launch is over */
    double host = waits ? fmax(0, i->compute_s - last) : i->host_time_s;
    clock  c = {.launch_s = launches > 0 ? host / launches : 0, .gap_s = waits || idle < 0 ? 0 : idle / (count * repeats)};
    fit_clock(r, &c, repeats, i->compute_s);
    for (int32_t round = 0; round < (int32_t)repeats; round++)
        for (int32_t k = 0; k < count; k++) {
            const cm_op_time *op = cm_prediction_op(r->prediction, k);
            if (is_update(r, op) && round + 1 < (int32_t)repeats) continue;
            put_call(w, r, op, &c);
            counter(w, c.device_s, r->peak_bytes - most + live[op->node]);
        }
    double communication = i->tensor_s + i->data_s;
    if (communication > 0)
        slice(w, DEVICE, COMMUNICATION, "kernel", "communication: all-reduce, all-gather", fmax(0, i->step_time_s - communication),
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
        slice(w, DEVICE, s->stage + 1, "kernel", cm__format(w->ctx, "%s %d", s->backward ? "backward" : "forward", s->micro_batch + 1),
              s->begin_s * stretch, (s->end_s - s->begin_s) * stretch, json_pack("{s:i}", "micro-batch", s->micro_batch + 1));
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
                    (json_int_t)i->batch, "interval_low_s", i->interval_s[0], "interval_high_s", i->interval_s[1], "peak_bytes",
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
    fprintf(out, "{\"schemaVersion\":1,\"displayTimeUnit\":\"ms\",\"deviceProperties\":[{\"id\":0,\"name\":\"%s\"}],\"traceEvents\":[",
            cm_device_get_info(report->device)->id);
    put_step(&w, report);
    fputs("\n]}\n", out);
    cm__ctx_free(ctx);
    return CM_OK;
}
