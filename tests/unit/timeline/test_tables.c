/* SPDX-License-Identifier: Apache-2.0 */
/* test_tables.c - kernel tables from a trace: the average of all runs, in the format of profiles. */
#include "small_timeline.h"

#define SOFTMAX "\"Input Dims\":[[6,7]],\"Input type\":[\"float\"],\"Concrete Inputs\":[\"\",\"1\",\"False\"]"
#define CHOICE "\"Input Dims\":[[6,7],[6]],\"Input type\":[\"float\",\"long int\"]"

static void averages(void **state)
{
    (void)state;
    cm_timeline *t = timeline_of(TRACE(
        OP("aten::mm", 0, 6, TWO_MATRICES) LAUNCH(1, 1) "," OP("aten::mm", 10, 6, TWO_MATRICES) LAUNCH(11, 2)
        LAUNCH(12, 3) "," OP("aten::_log_softmax", 20, 6, SOFTMAX) LAUNCH(21, 4) ","
        OP("aten::nll_loss_forward", 30, 6, CHOICE) LAUNCH(31, 5) KERNEL("a", 100, 2, 1) KERNEL("b", 110, 3, 2)
        KERNEL("c", 120, 3, 3) KERNEL("d", 130, 8, 4) KERNEL("e", 140, 1, 5)));
    int32_t rows, tables;
    json_t *profile = json_loads(cm_timeline_profile(t, "nvidia-h200", &rows, &tables), 0, NULL);
    assert_non_null(profile);
    assert_int_equal(rows, 3);
    assert_int_equal(tables, 3);
    assert_string_equal(json_string_value(json_object_get(profile, "base")), "nvidia-h200");
    assert_string_equal(json_string_value(json_object_get(profile, "id")), "some-gpu-trace");
    const struct {
        const char *op;
        double      time_s, kernels;
    } expected[] = {{"cross_entropy", 9e-6, 2}, {"gemm", 4e-6, 2}, {"softmax", 8e-6, 1}}; /* 3 kernels in 2 runs: 1.5 */
    for (size_t i = 0; i < 3; i++) {
        const json_t *table = json_array_get(json_object_get(profile, "kernels"), i),
                     *row = json_array_get(json_object_get(table, "rows"), 0);
        size_t        n = json_array_size(row);
        assert_string_equal(json_string_value(json_object_get(table, "op")), expected[i].op);
        assert_int_equal(n, json_array_size(json_object_get(table, "dims")) + 2);
        assert_true(json_number_value(json_array_get(row, n - 2)) == expected[i].time_s);
        assert_true(json_number_value(json_array_get(row, n - 1)) == expected[i].kernels);
    }
    json_decref(profile);
    cm_timeline_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(averages)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
