/* SPDX-License-Identifier: Apache-2.0 */
/* plan_case.h - a small GPT on A100s, for tests of parallel plans. */
#ifndef CM_TESTS_UNIT_PLAN_CASE_H
#define CM_TESTS_UNIT_PLAN_CASE_H

#include <math.h>
#include <string.h>
#include "time_device.h"
#include "model/dispatch/tensor_parallel.h"
#include "model/parallel/buckets.h"
#include "model/parallel/iteration.h"

#define GPT "gpt:layers=4,hidden=256,heads=8,seq=128,vocab=1024"

static cm_diag diag;

static inline void is(double got, double expected)
{
    if (!(fabs(got - expected) <= 1e-9 * fabs(expected))) fail_msg("%.12g, expected %.12g", got, expected);
}

static inline cm_graph *loaded(const char *spec)
{
    cm_graph *g;
    if (cm_graph_load(spec, NULL, &g, &diag)) fail_msg("%s", diag.reason);
    return g;
}

static inline cm_graph *step_of(const char *spec, cm_recompute recompute)
{
    cm_train_options train = {.precision = CM_PRECISION_FP16, .recompute = recompute, .master = true};
    cm_graph        *forward = loaded(spec), *step;
    if (cm_graph_train(forward, &train, &step, &diag)) fail_msg("%s", diag.reason);
    cm_graph_free(forward);
    return step;
}

static inline double flop_of(const cm__dispatch *d)
{
    double sum = 0, flop, bytes;
    for (int32_t i = 0; i < d->n_calls; i++) {
        cm__call c;
        cm__call_at(&d->calls[i], 2, &c);
        if (c.op != CM__CALL_GEMM) continue;
        cm__call_work(&c, &flop, &bytes);
        sum += flop * d->runs[i];
    }
    return sum;
}

static inline cm_device *a100(void)
{
    cm_device *d;
    if (cm_device_load("nvidia-a100-80g", &d, &diag)) fail_msg("%s", diag.reason);
    return d;
}

static inline cm_fabric *fabric_of(const cm_device *d)
{
    cm_fabric *f;
    if (cm_fabric_new(d, "node=8,net=800Gb", &f, &diag)) fail_msg("%s", diag.reason);
    return f;
}

static inline cm_prediction_info predicted(const cm_graph *step, const cm_device *d, const cm_fabric *f, cm_plan plan)
{
    cm_predict_options o = {.runtime = CM_RUNTIME_MEGATRON, .plan = plan, .fabric = f};
    cm_prediction     *p;
    if (cm_predict(step, d, &o, &p, &diag)) fail_msg("%s", diag.reason);
    cm_prediction_info i = *cm_prediction_get_info(p);
    cm_prediction_free(p);
    return i;
}

/* A search of plans for 16 samples on four devices with Megatron-LM in fp16. */
static inline cm_search_options on_four_devices(const cm_fabric *f)
{
    return (cm_search_options){.devices = 4, .global_batch = 16, .runtime = CM_RUNTIME_MEGATRON, .fabric = f,
                               .train = {.precision = CM_PRECISION_FP16, .master = true}};
}

#endif
