/* SPDX-License-Identifier: Apache-2.0 */
/* memory_case.h - the memory of a step on an H200, for tests of footprints. */
#ifndef CM_TESTS_UNIT_MEMORY_CASE_H
#define CM_TESTS_UNIT_MEMORY_CASE_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "graph/graph.h"

#define MIB (1024.0 * 1024)

static cm_device *h200;

static inline int begin(void **state)
{
    (void)state;
    return cm_device_load("nvidia-h200", &h200, NULL);
}

static inline int end(void **state)
{
    (void)state;
    cm_device_free(h200);
    return 0;
}

static inline cm_graph *step_of(const char *model, cm_precision precision, cm_optimizer optimizer)
{
    cm_graph         *forward, *step;
    cm_train_options  o = {.precision = precision, .optimizer = optimizer};
    cm_load_options   load = {.fuse = CM_FUSE_EAGER};
    assert_int_equal(cm_graph_load(model, &load, &forward, NULL), CM_OK);
    assert_int_equal(cm_graph_train(forward, &o, &step, NULL), CM_OK);
    cm_graph_free(forward);
    return step;
}

static inline cm_memory_use use_of(const cm_graph *step, cm_memory_options options, int64_t batch, bool exact)
{
    cm_footprint *f;
    cm_memory_use use;
    assert_int_equal(cm_footprint_new(step, h200, &options, &f, NULL), CM_OK);
    if (exact) assert_int_equal(cm_footprint_simulate(f, batch, &use, NULL), CM_OK);
    else cm_footprint_at(f, batch, &use);
    cm_footprint_free(f);
    return use;
}

static inline double sum(const cm_memory_use *use)
{
    double all = 0;
    for (cm_category c = 0; c < CM_CATEGORIES; c++) all += use->categories[c];
    return all;
}

static inline double parameter_bytes(const cm_graph *step)
{
    cm_totals t;
    cm_graph_totals(step, 1, &t);
    return 4.0 * (double)t.parameters;
}

static inline void near(double got, double expected, double tolerance)
{
    if (!(fabs(got - expected) <= tolerance)) fail_msg("%.0f, expected %.0f", got, expected);
}

static inline cm_memory_options spread(cm_plan plan)
{
    return (cm_memory_options){.runtime = CM_RUNTIME_MEGATRON, .plan = plan};
}

#endif
