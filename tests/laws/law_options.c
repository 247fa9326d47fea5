/* SPDX-License-Identifier: Apache-2.0 */
/* law_options.c - an option that a device supports changes its result; any other is refused, with a list of those it
   supports. */
#include <string.h>
#include "devices.h"

/* ---- precisions and runtimes ------------------------------------------------------------------------------------- */

static bool refuses(const cm_device *d, cm_precision precision, cm_runtime runtime, cm_diag *diag)
{
    memset(diag, 0, sizeof *diag);
    return cm_device_refusal(d, precision, runtime, diag) == CM_ERR_UNSUPPORTED;
}

/* A precision that is not refused can be timed, and the device has a peak for its type. */
static void check_precision(law_run *run, const cm_device *d, const cm_graph *step, cm_precision p)
{
    const char        *id = cm_device_get_info(d)->id;
    cm_predict_options o = {.batch = 4};
    cm_prediction     *prediction = NULL;
    cm_diag            diag;
    bool               refused = refuses(d, p, CM_RUNTIME_DEFAULT, &diag);
    law_case(run, refused != cm_device_supports(d, p), "%s in %s", id, cm_precision_name(p));
    if (refused) law_case(run, strstr(diag.reason, id) && strstr(diag.reason, "--precision "), "%s", diag.reason);
    else {
        cm_status status = cm_predict(step, d, &o, &prediction, &diag);
        law_case(run, !status && cm_prediction_get_info(prediction)->step_time_s > 0,
                 "%s in %s is not refused, but: %s",
                 id, cm_precision_name(p), diag.reason);
    }
    cm_prediction_free(prediction);
}

static void check_runtimes(law_run *run, const cm_device *d)
{
    cm_diag diag;
    law_case(run, cm_device_supports_runtime(d, cm_device_runtime(d)), "%s: its default runtime",
             cm_device_get_info(d)->id);
    for (int r = CM_RUNTIME_TORCH_EAGER; r < CM_RUNTIMES; r++) {
        bool refused = refuses(d, CM_PRECISION_DEFAULT, (cm_runtime)r, &diag);
        law_case(run, refused != cm_device_supports_runtime(d, (cm_runtime)r), "%s by %s", cm_device_get_info(d)->id,
                 cm_runtime_name((cm_runtime)r));
        if (refused) law_case(run, strstr(diag.reason, cm_runtime_name(cm_device_runtime(d))), "%s", diag.reason);
    }
}

/* From data sheets, and from the vendors' software documentation. */
static const struct {
    const char  *id;
    cm_precision precision;
    cm_runtime   runtime;
} impossible[] = {
    {"nvidia-a100-40g", CM_PRECISION_FP8, CM_RUNTIME_DEFAULT},
    {"nvidia-v100-16g", CM_PRECISION_BF16, CM_RUNTIME_DEFAULT},
    {"nvidia-v100-16g", CM_PRECISION_AMP_BF16, CM_RUNTIME_DEFAULT},
    {"nvidia-v100-32g", CM_PRECISION_TF32, CM_RUNTIME_DEFAULT},
    {"nvidia-t4", CM_PRECISION_AMP_BF16, CM_RUNTIME_DEFAULT},
    {"nvidia-p4", CM_PRECISION_AMP_FP16, CM_RUNTIME_DEFAULT},
    {"graphcore-gc200", CM_PRECISION_BF16, CM_RUNTIME_DEFAULT},
    {"google-tpu-v4", CM_PRECISION_DEFAULT, CM_RUNTIME_TORCH_COMPILE},
    {"graphcore-gc200", CM_PRECISION_DEFAULT, CM_RUNTIME_TORCH_EAGER},
    {"sambanova-sn30", CM_PRECISION_DEFAULT, CM_RUNTIME_MEGATRON},
    {"cerebras-cs2", CM_PRECISION_DEFAULT, CM_RUNTIME_TORCH_EAGER},
};

void law_abilities_are_checked(law_run *run)
{
    cm_graph *steps[CM_PRECISIONS];
    for (int p = CM_PRECISION_FP32; p < CM_PRECISIONS; p++) steps[p] = law_training_step("lstm", (cm_precision)p);
    for (int32_t i = 0; cm_device_id(i); i++) {
        cm_device *d;
        if (cm_device_load(cm_device_id(i), &d, NULL)) continue;
        for (int p = CM_PRECISION_FP32; p < CM_PRECISIONS; p++) check_precision(run, d, steps[p], (cm_precision)p);
        check_runtimes(run, d);
        cm_device_free(d);
    }
    for (size_t i = 0; i < sizeof impossible / sizeof *impossible; i++) {
        cm_device *d;
        cm_diag    diag;
        if (cm_device_load(impossible[i].id, &d, NULL)) continue;
        law_case(run, refuses(d, impossible[i].precision, impossible[i].runtime, &diag), "%s: %s by %s is not refused",
                 impossible[i].id, cm_precision_name(impossible[i].precision), cm_runtime_name(impossible[i].runtime));
        cm_device_free(d);
    }
    for (int p = CM_PRECISION_FP32; p < CM_PRECISIONS; p++) cm_graph_free(steps[p]);
}

/* ---- plans ------------------------------------------------------------------------------------------------------- */

static const struct option {
    const char *name;
    cm_plan     without, with;
} options[] = {
    {"-n", {.devices = 2}, {.devices = 4}},
    {"--dp", {.dp = 2}, {.dp = 4}},
    {"--micro-batch", {.dp = 2, .global_batch = 64}, {.dp = 2, .global_batch = 64, .micro_batch = 4}},
    {"--accumulate", {.dp = 2, .global_batch = 64}, {.dp = 2, .global_batch = 64, .accumulate = 8}},
    {"--global-batch", {.dp = 2}, {.dp = 2, .global_batch = 128}},
    {"--tp", {.dp = 2}, {.dp = 2, .tp = 2}},
    {"--pp", {.dp = 2}, {.dp = 2, .pp = 2}},
    {"--cp", {.dp = 2}, {.dp = 2, .cp = 2}},
    {"--ep", {.dp = 2}, {.dp = 2, .ep = 2}},
    {"--zero", {.dp = 2}, {.dp = 2, .zero = 1}},
    {"--zero", {0}, {.zero = 3}},
    {"--interleave", {.dp = 2}, {.dp = 2, .interleave = 2}},
    {"--sequence-parallel", {.dp = 2}, {.dp = 2, .sequence_parallel = true}},
    {"--schedule gpipe", {.dp = 2}, {.dp = 2, .gpipe = true}},
    {"--async", {.dp = 2}, {.dp = 2, .asynchronous = true}},
    {"--compress", {.dp = 2}, {.dp = 2, .gradient_bits = 8}},
    {"--compress", {.dp = 2}, {.dp = 2, .gradient_part = 0.01}},
    {"--overlap", {.dp = 16}, {.dp = 16, .overlap = true}}, /* over two nodes: RDUs always overlap inside one */
    {"--offload", {.dp = 2}, {.dp = 2, .offload_optimizer = true}},
    {"--offload", {0}, {.offload_activations = true}},
    {"--offload", {0}, {.offload_weights = true}},
};

typedef struct answer {
    cm_status status;
    double    step_s, data_s, devices;
    cm_diag   diag;
} answer;

static answer ask(const cm_graph *step, const cm_device *d, const cm_fabric *fabric, const cm_plan *plan)
{
    cm_predict_options o = {.batch = 32, .plan = *plan, .fabric = fabric};
    cm_prediction     *p;
    answer             t = {0};
    t.status = cm_predict(step, d, &o, &p, &t.diag);
    if (t.status) return t;
    const cm_prediction_info *i = cm_prediction_get_info(p);
    t.step_s = i->step_time_s, t.data_s = i->data_s, t.devices = i->devices;
    cm_prediction_free(p);
    return t;
}

static void check_options(law_run *run, const char *id, const cm_device *d, const cm_graph *step)
{
    cm_fabric *fabric;
    if (cm_fabric_new(d, "node=8,net=100Gb", &fabric, NULL)) return;
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        const struct option *o = &options[i];
        answer a = ask(step, d, fabric, &o->without), b = ask(step, d, fabric, &o->with);
        bool other = b.status == CM_OK && (a.step_s != b.step_s || a.data_s != b.data_s || a.devices != b.devices);
        bool refused = b.status == CM_ERR_UNSUPPORTED && strstr(b.diag.reason, o->name);
        bool no_links = a.status == CM_ERR_UNSUPPORTED && strstr(a.diag.reason, "links");
        other = other && isfinite(a.step_s) && isfinite(b.step_s);
        law_case(run, no_links || (a.status == CM_OK && (other || refused)),
                 "%s with %s: %s%g ms, without %g ms", id, o->name,
                 b.diag.reason, 1e3 * b.step_s, 1e3 * a.step_s);
    }
    cm_fabric_free(fabric);
}

void law_plan_options_count(law_run *run)
{
    static const char *const ids[] = {"sambanova-sn30", "sambanova-sn40l", "graphcore-gc200", "graphcore-bow",
                                      "cerebras-cs2",   "cerebras-cs2-wafer", "habana-gaudi2",   "google-tpu-v4",
                                      "aws-trainium1",  "huawei-ascend-910b"};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        cm_device *d;
        if (cm_device_load(ids[i], &d, NULL)) continue;
        cm_graph *step = law_training_step("gpt:layers=4,hidden=512,heads=8,seq=128,vocab=1000", cm_device_usual_precision(d));
        check_options(run, ids[i], d, step);
        cm_graph_free(step);
        cm_device_free(d);
    }
}
