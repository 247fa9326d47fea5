/* SPDX-License-Identifier: Apache-2.0 */
/* test_recurrent.c - the algorithm of a recurrent layer, by get_algo() of PyTorch 2.11. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "model/time/features.h"
#include "model/time/recurrent.h"

static cm__call layer(const char *cell, cm__pass pass, const char *dtype, int64_t batch, int64_t input, int64_t hidden,
                      int64_t layers, int64_t ways)
{
    cm__call c = {.op = CM__CALL_RNN, .pass = pass, .sizes = {batch, 40, input, hidden, layers, ways}};
    c.variant = cm__variant_find(cell);
    c.types = cm__types_find(dtype);
    return c;
}

static cm__recurrent_kind kind(const char *cell, cm__pass pass, const char *dtype, int64_t batch, int64_t input,
                               int64_t hidden, int64_t layers, int64_t ways)
{
    cm__call c = layer(cell, pass, dtype, batch, input, hidden, layers, ways);
    return cm__recurrent_kind_of(&c);
}

#define FORWARD CM__PASS_FORWARD
#define BACKWARD CM__PASS_BACKWARD

/* Narrow layers have fewer numbers backward than forward, and those without gates more. Any number of layers. */
static void narrow_layers(void **state)
{
    (void)state;
    assert_int_equal(kind("lstm", FORWARD, "tf32", 5, 100, 192, 3, 2), CM__RECURRENT_NARROW);
    assert_int_equal(kind("lstm", BACKWARD, "tf32", 5, 100, 192, 3, 2), CM__RECURRENT_STEPS);
    assert_int_equal(kind("gru", BACKWARD, "fp16", 5, 100, 128, 1, 1), CM__RECURRENT_NARROW);
    assert_int_equal(kind("gru", FORWARD, "fp32", 5, 100, 200, 1, 1), CM__RECURRENT_STEPS);
    assert_int_equal(kind("rnn", FORWARD, "fp32", 5, 100, 384, 1, 1), CM__RECURRENT_NARROW);
    assert_int_equal(kind("rnn", BACKWARD, "fp32", 5, 100, 384, 1, 1), CM__RECURRENT_STEPS);
}

/* Only in fp16, one layer in one direction, 8 to 128 samples, sizes that are multiples of 128; no GRU. */
static void persistent_layers(void **state)
{
    (void)state;
    assert_int_equal(kind("lstm", FORWARD, "fp16", 16, 640, 640, 1, 1), CM__RECURRENT_PERSIST);
    assert_int_equal(kind("lstm", FORWARD, "bf16", 16, 640, 640, 1, 1), CM__RECURRENT_STEPS);
    assert_int_equal(kind("lstm", FORWARD, "fp16", 16, 640, 640, 2, 1), CM__RECURRENT_STEPS);
    assert_int_equal(kind("lstm", FORWARD, "fp16", 16, 640, 640, 1, 2), CM__RECURRENT_STEPS);
    assert_int_equal(kind("lstm", FORWARD, "fp16", 16, 80, 640, 1, 1), CM__RECURRENT_STEPS);
    assert_int_equal(kind("lstm", FORWARD, "fp16", 20, 640, 640, 1, 1), CM__RECURRENT_STEPS);
    assert_int_equal(kind("lstm", FORWARD, "fp16", 256, 640, 640, 1, 1), CM__RECURRENT_STEPS);
    assert_int_equal(kind("lstm", FORWARD, "fp16", 16, 640, 1152, 1, 1), CM__RECURRENT_STEPS);
    assert_int_equal(kind("gru", FORWARD, "fp16", 16, 640, 640, 1, 1), CM__RECURRENT_STEPS);
    assert_int_equal(kind("rnn", BACKWARD, "fp16", 64, 640, 896, 1, 1), CM__RECURRENT_PERSIST);
    assert_int_equal(kind("rnn", BACKWARD, "fp16", 96, 640, 896, 1, 1), CM__RECURRENT_STEPS);
}

/* Layers of 192 and 193 numbers differ by more than those of 193 and 194. */
static void the_algorithm_is_a_feature(void **state)
{
    (void)state;
    cm__limits l = {.cores = 132};
    float      f[3][CM__FEATURES];
    for (int i = 0; i < 3; i++) {
        cm__call c = layer("lstm", FORWARD, "fp32", 20, 100, 192 + i, 1, 1);
        cm__features(&c, &l, f[i]);
    }
    int at = CM__RNN_SIZES + 1;
    assert_true(f[0][at] - f[1][at] > 0.5f && f[1][at] == f[2][at]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(narrow_layers), cmocka_unit_test(persistent_layers),
                                       cmocka_unit_test(the_algorithm_is_a_feature)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
