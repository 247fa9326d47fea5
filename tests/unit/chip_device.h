/* SPDX-License-Identifier: Apache-2.0 */
/* chip_device.h - small test chips of each execution model, and one question about a model on such a chip. */
#ifndef CM_TESTS_UNIT_CHIP_DEVICE_H
#define CM_TESTS_UNIT_CHIP_DEVICE_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "centimani.h"
#include "profile_texts.h"

#define CHIP(style, sram, dram_rate, execution, more)                                                                  \
    "{\"schema\": 1, \"id\": \"chip\", \"name\": \"Chip\", \"vendor\": \"Acme\", \"class\": \"npu\", "      \
    "\"style\": \"" style                                                                                              \
    "\", \"modes\": [\"training\", \"inference\"], \"precisions\": [\"bf16\"], \"best_16bit\": \"bf16\", "             \
    "\"clock_hz\": " NUMBER("1e9", "Hz") ", \"peak\": {\"matrix\": {\"bf16\": " NUMBER("1e14", "FLOP/s") "}}, "        \
    "\"memory\": [{\"name\": \"SRAM\", \"place\": \"on-chip\", \"managed\": \"explicit\", \"scope\": \"core\", "       \
    "\"capacity\": " NUMBER(sram, "B") ", \"bandwidth\": " NUMBER("1e18", "B/s") "}, "                                 \
    "{\"name\": \"DRAM\", \"place\": \"off-chip\", \"managed\": \"explicit\", \"scope\": \"device\", "                 \
    "\"capacity\": " NUMBER("1e13", "B") ", \"bandwidth\": " NUMBER(dram_rate, "B/s") "}], "                           \
    "\"execution\": {" execution "}, " SOURCES more "}\n"
#define PLACED(weights)                                                                                                \
    ", \"placement\": {\"input_output\": \"SRAM\", \"weights_biases\": \"" weights "\", \"gradients\": \"" weights     \
    "\", \"algorithm\": \"DRAM\", \"ephemeral\": \"SRAM\"}"
#define EFFICIENCY(gemm) "\"efficiency\": {\"gemm\": " NUMBER(gemm, "1") "}"

typedef struct answer {
    cm_prediction_info info;
    double             flop; /* of products */
    cm_status          status;
    cm_diag            diag;
} answer;

static inline answer ask_trained(const char *profile, const char *model, cm_train_options o, cm_predict_options predict)
{
    answer           a = {.status = CM_OK};
    cm_graph        *forward, *step;
    cm_device       *device;
    cm_prediction   *prediction;
    cm_totals        totals;
    if (o.precision == CM_PRECISION_DEFAULT) o.precision = CM_PRECISION_BF16;
    o.optimizer = CM_OPTIMIZER_SGD;
    write_file("chip.json", profile);
    assert_int_equal(cm_device_load(file_named("chip.json"), &device, &a.diag), CM_OK);
    assert_int_equal(cm_graph_load(model, NULL, &forward, NULL), CM_OK);
    assert_int_equal(cm_graph_train(forward, &o, &step, NULL), CM_OK);
    cm_fabric *fabric = NULL;
    if (predict.plan.pp > 1) assert_int_equal(cm_fabric_new(device, NULL, &fabric, &a.diag), CM_OK);
    predict.fabric = fabric;
    a.status = cm_predict(step, device, &predict, &prediction, &a.diag);
    cm_fabric_free(fabric);
    if (a.status == CM_OK) a.info = *cm_prediction_get_info(prediction);
    if (a.status == CM_OK) cm_prediction_free(prediction);
    cm_graph_totals(step, predict.batch, &totals);
    for (cm_phase p = CM_FORWARD; p < CM_PHASES; p++) a.flop += cm_totals_matrix_flop(&totals, p);
    cm_graph_free(step);
    cm_graph_free(forward);
    cm_device_free(device);
    return a;
}

static inline answer ask_with(const char *profile, const char *model, bool inference, cm_predict_options predict)
{
    return ask_trained(profile, model, (cm_train_options){.inference = inference}, predict);
}

static inline answer ask_pruned(const char *profile, const char *model, int64_t batch, bool inference,
                                cm_sparsity sparsity)
{
    return ask_with(profile, model, inference, (cm_predict_options){.batch = batch, .sparsity = sparsity});
}

static inline answer ask(const char *profile, const char *model, int64_t batch, bool inference)
{
    return ask_pruned(profile, model, batch, inference, (cm_sparsity){0});
}

static inline void assert_near(double a, double b, double share)
{
    if (fabs(a - b) > share * fabs(b)) fail_msg("%.9g is not %.9g", a, b);
}

#define KERNELS(gemm, rate)                                                                                            \
    CHIP("kernel-by-kernel", "1e3", rate, EFFICIENCY(gemm) ", \"step_overhead\": " NUMBER("1e-3", "s"),                \
         ", \"placement\": {\"ephemeral\": \"DRAM\"}")

#define SECTIONS(sram, rate, fill, overhead)                                                                           \
    CHIP("dataflow-sections", sram, rate, EFFICIENCY("1") ", \"fill\": " NUMBER(fill, "1") ", \"section_overhead\": "  \
         NUMBER(overhead, "s"), PLACED("DRAM"))

#define LINKS                                                                                                          \
    ", \"links\": [{\"name\": \"link\", \"reach\": \"node\", \"bandwidth\": " NUMBER("1e11", "B/s") ", \"devices\": " \
    "64}]"
#define BSP(sram, superstep, links)                                                                                    \
    CHIP("bsp-pipeline", sram, "1e18", EFFICIENCY("1") ", \"superstep\": " NUMBER(superstep, "1"), PLACED("SRAM") links)

#define STREAMING(sram, rate, more) CHIP("weight-streaming", sram, rate, EFFICIENCY("1") more, PLACED("DRAM"))

#endif
