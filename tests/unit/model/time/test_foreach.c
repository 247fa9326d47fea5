/* SPDX-License-Identifier: Apache-2.0 */
/* test_foreach.c - updates by foreach functions: their launches, and times recorded on the H200. */
#include <math.h>
#include "time_device.h"
#include "model/time/foreach.h"

static const cm__limits h200 = {.memory_bytes_s = 4.8e12, .cache_bytes_s = 9.78e12, .cache_bytes = 52428800,
                                .cores = 132, .clock_hz = 1.83e9};

#define MOST 1200

/* A list that ends with 0, of tensors of one type. */
static double timed(const char *optimizer, const char *dtype, const double *numbers, double *launches)
{
    static const bool begins[MOST];
    cm__update_list   list = {.numbers = numbers, .begins = begins};
    while (numbers[list.count] > 0) list.elements += numbers[list.count++];
    cm__call c = {.op = CM__CALL_OPTIMIZER, .pass = CM__PASS_UPDATE, .sizes = {list.count, (int64_t)list.elements}};
    snprintf(c.variant, sizeof c.variant, "%s", optimizer);
    snprintf(c.dtype, sizeof c.dtype, "%s", dtype);
    return cm__foreach_time(&h200, &list, &c, launches);
}

/* Recorded updates of lists to which nothing was fitted, and of one in bf16 (docs/results/first-sight.md). */
static void recorded_updates(void **state)
{
    static const struct {
        const char *optimizer, *dtype;
        double      measured_s, numbers[16];
    } cases[] = {
        {"adam", "fp32", 16.43e-6, {120, 6144, 128, 2048}},
        {"momentum", "fp32", 19.36e-6, {896, 3072, 3072, 3072, 3072, 6144, 12288, 24576, 12800, 100}},
        {"adam", "bf16", 1301.1e-6, {56623104, 56623104, 24576, 2304}},
        {"sgd", "fp32", 20.16e-6, {115200, 115200, 640, 409600, 409600, 640, 409600, 409600, 640, 2560, 2560, 4}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double launches, got = timed(cases[i].optimizer, cases[i].dtype, cases[i].numbers, &launches);
        if (fabs(got / cases[i].measured_s - 1) > 0.2) fail_msg("case %zu: %g, measured %g", i, got, cases[i].measured_s);
    }
}

/* Of each of momentum's three functions: a launch has 110 tensors or, with a second list, 64, and 320 blocks of 65,536. */
static void launches_of_a_list(void **state)
{
    static double small[MOST], large[] = {321 * 65536., 1, 0}, exact[] = {160 * 65536., 160 * 65536., 0};
    double        launches;
    (void)state;
    for (int i = 0; i < 130; i++) small[i] = 10;
    timed("momentum", "fp32", small, &launches);
    assert_true(launches == 2 + 3 + 3);
    timed("momentum", "fp32", large, &launches);
    assert_true(launches == 3 * 2);
    timed("momentum", "fp32", exact, &launches);
    assert_true(launches == 3);
    for (int i = 0; i < 1196; i++) small[i] = 10;
    timed("adamw", "fp32", small, &launches); /* three of 110, one of 96, two of 64, two of 48 */
    assert_true(launches == 3 * 11 + 13 + 2 * 19 + 2 * 25);
}

/* One block goes through the largest of the tensors, however few the others are; equal ones use more blocks. */
static void unequal_tensors(void **state)
{
    static const double equal[] = {20000, 20000, 20000, 20000, 0}, unequal[] = {60000, 10000, 9000, 1000, 0};
    double              launches;
    (void)state;
    assert_true(timed("adamw", "fp32", unequal, &launches) > 2 * timed("adamw", "fp32", equal, &launches));
}

/* Launches have tensors of one type, and complex elements are two numbers. */
static void types_apart(void **state)
{
    static const double numbers[] = {1000, 2000};
    static const bool   begins[] = {true, true}, together[] = {true, false};
    cm__update_list     list = {.numbers = numbers, .begins = begins, .count = 2, .elements = 2000};
    cm__call            c = {.op = CM__CALL_OPTIMIZER, .pass = CM__PASS_UPDATE, .variant = "adam", .dtype = "fp32",
                             .sizes = {2, 2000}};
    double              launches;
    (void)state;
    double apart_s = cm__foreach_time(&h200, &list, &c, &launches);
    assert_true(launches == 2 * 7);
    list.begins = together;
    assert_true(cm__foreach_time(&h200, &list, &c, &launches) < apart_s);
    assert_true(launches == 7);
}

/* Parts of a list, and optimizers without foreach functions, have no such time. */
static void other_calls(void **state)
{
    static const double numbers[] = {1000, 2000};
    static const bool   begins[] = {true, false};
    cm__update_list     list = {.numbers = numbers, .begins = begins, .count = 2, .elements = 3000};
    cm__call            c = {.op = CM__CALL_OPTIMIZER, .variant = "adam", .dtype = "fp32", .sizes = {2, 1500}};
    double              launches;
    (void)state;
    assert_true(cm__foreach_time(&h200, &list, &c, &launches) == 0);
    c.sizes[CM__OPTIMIZER_ELEMENTS] = 3000;
    assert_true(cm__foreach_time(&h200, &list, &c, &launches) > 0);
    memcpy(c.variant, "adagrad", sizeof "adagrad");
    assert_true(cm__foreach_time(&h200, &list, &c, &launches) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recorded_updates), cmocka_unit_test(launches_of_a_list), cmocka_unit_test(unequal_tensors),
        cmocka_unit_test(types_apart),      cmocka_unit_test(other_calls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
