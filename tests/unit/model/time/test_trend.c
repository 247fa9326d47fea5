/* SPDX-License-Identifier: Apache-2.0 */
/* test_trend.c - the trend of a call: networks evaluated by definition, and only for the tables they belong to. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "device/device.h"
#include "model/time/features.h"
#include "model/time/trend.h"

static cm__call convolution(int64_t channels, int64_t pixels)
{
    return (cm__call){.op = CM__CALL_CONV, .pass = CM__PASS_FORWARD, .variant = CM__V_NCHW, .types = CM__ALL(CM_BF16),
                      .sizes = {32, channels, channels, pixels, pixels, 3, 3, 1, 1, 1, 1, 1, 1, 1}};
}

static const cm__kernel_table *table_of(const cm_device *d, const cm__call *c)
{
    for (int32_t i = 0; i < d->built_in_kernels.count; i++) {
        const cm__kernel_table *t = &d->built_in_kernels.tables[i];
        if (t->op == c->op && t->pass == c->pass && t->types == c->types && t->variant == c->variant &&
            strcmp(t->runtime, "torch-eager") == 0)
            return t;
    }
    fail_msg("no table");
    return NULL;
}

static cm_device *h200(void)
{
    cm_device *d = NULL;
    cm_diag    diag;
    if (cm_device_load("nvidia-h200", &d, &diag) != CM_OK) fail_msg("%s", diag.reason);
    return d;
}

/* One layer in double precision, by the definition in trend.h. */
static void layer(const double *inputs, int count, const float *scales, const int8_t *weights, int hidden,
                  const float *biases, double *units)
{
    for (int u = 0; u < hidden; u++) {
        units[u] = (double)biases[u];
        for (int i = 0; i < count; i++) units[u] += inputs[i] * (double)scales[i] * weights[i * hidden + u];
        units[u] = fmax(0, units[u]);
    }
}

static double by_definition(const cm__trend_nets *nets, const float *inputs)
{
    int    n = nets->n_inputs, h = nets->hidden;
    double sum = 0, x[CM__TREND_INPUTS], first[CM__TREND_HIDDEN], second[CM__TREND_HIDDEN];
    for (int i = 0; i < n; i++) x[i] = (double)inputs[i];
    for (int k = 0; k < nets->count; k++) {
        const int8_t *w = nets->weights + k * (n + h) * h;
        const float  *scales = nets->numbers + k * (n + 4 * h + 1), *biases = scales + n + h, *last = biases + 2 * h;
        layer(x, n, scales, w, h, biases, first);
        layer(first, h, scales + n, w + n * h, h, biases + h, second);
        sum += (double)last[h];
        for (int u = 0; u < h; u++) sum += second[u] * (double)last[u];
    }
    return sum / nets->count;
}

static void networks_are_evaluated_as_defined(void **state)
{
    cm_device *d = h200();
    cm__limits limits = cm__limits_of(d);
    (void)state;
    for (int64_t channels = 8; channels <= 512; channels *= 4) {
        cm__call c = convolution(channels, 28);
        float    inputs[CM__TREND_INPUTS];
        int      count = cm__trend_inputs(&c, &limits, &cm__trends[c.op], inputs);
        assert_int_equal(count, cm__trends[c.op].n_inputs);
        double expected = by_definition(&cm__trends[c.op], inputs), got = (double)cm__trend(table_of(d, &c), &c, &limits);
        if (fabs(got - expected) > 1e-3 * (1 + fabs(expected))) fail_msg("%g, expected %g", got, expected);
    }
    cm_device_free(d);
}

/* The words of a call's type, pass and variant are 1, all others 0. */
static void words_of_a_call(void **state)
{
    static const char *const words[] = {"bf16", "fp32", "forward", "nchw", "nhwc"};
    static const float       expected[] = {1, 0, 1, 1, 0};
    cm__trend_nets           nets = {.n_words = 5, .words = words};
    cm__limits               limits = {.cores = 100};
    cm__call                 c = convolution(64, 56);
    float                    inputs[CM__TREND_INPUTS];
    (void)state;
    int plain = cm__trend_inputs(&c, &limits, NULL, inputs), count = cm__trend_inputs(&c, &limits, &nets, inputs);
    assert_int_equal(count, plain + 5);
    for (int i = 0; i < 5; i++) assert_true(inputs[count - 5 + i] == expected[i]);
}

/* Tables to which no trend was fitted have none: those of profiles, of other runtimes and of other releases. */
static void tables_have_their_own(void **state)
{
    cm_device       *d = h200();
    cm__limits       limits = cm__limits_of(d);
    cm__call         c = convolution(64, 56);
    cm__kernel_table other = *table_of(d, &c);
    (void)state;
    assert_true(cm__trend(&other, &c, &limits) != 0);
    other.trended = false;
    assert_true(cm__trend(&other, &c, &limits) == 0);
    for (int32_t i = 0; i < d->built_in_kernels.count; i++) {
        const cm__kernel_table *t = &d->built_in_kernels.tables[i];
        assert_int_equal(t->trended, strcmp(t->runtime, "torch-eager") == 0);
    }
    cm_device_free(d);
}

/* A call that is looked up in the table of another type gets that table's trend. */
static void the_table_decides_the_type(void **state)
{
    cm_device              *d = h200();
    cm__limits              limits = cm__limits_of(d);
    cm__call                c = convolution(64, 56), half = c;
    const cm__kernel_table *t = table_of(d, &c);
    (void)state;
    half.types = CM__ALL(CM_FP16);
    assert_true(cm__trend(t, &half, &limits) == cm__trend(t, &c, &limits));
    cm_device_free(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(networks_are_evaluated_as_defined),
        cmocka_unit_test(words_of_a_call),
        cmocka_unit_test(tables_have_their_own),
        cmocka_unit_test(the_table_decides_the_type),
    };
    return cmocka_run_group_tests_name("trend", tests, NULL, NULL);
}
