/* SPDX-License-Identifier: Apache-2.0 */
/* test_missing.c - kernel calls as a case file: one entry per table, and the file can be read as JSON. */
#include <jansson.h>
#include "time_device.h"
#include "model/missing.h"

static json_t *cases_of(const char *const *texts, int32_t count)
{
    cm__call calls[8];
    for (int32_t i = 0; i < count; i++) calls[i] = call_of(texts[i]);
    char   *text = cm__cases_text(calls, count);
    json_t *file = json_loads(text, 0, NULL);
    free(text);
    assert_non_null(file);
    assert_int_equal(json_integer_value(json_object_get(file, "schema")), 1);
    return file;
}

/* Calls of one table are joined even if others are between them; another type or variant is another table. */
static void test_grouped(void **state)
{
    static const char *const texts[] = {"gemm forward nn bf16 1,2,3,4", "softmax forward - fp32 5,6",
                                        "gemm forward nn bf16 7,8,9,10", "gemm forward nt bf16 1,2,3,4",
                                        "gemm forward nn fp32 1,2,3,4"};
    (void)state;
    json_t *file = cases_of(texts, 5), *list = json_object_get(file, "cases"), *first = json_array_get(list, 0);
    assert_int_equal(json_array_size(list), 4);
    assert_string_equal(json_string_value(json_object_get(first, "op")), "gemm");
    assert_string_equal(json_string_value(json_object_get(first, "pass")), "forward");
    assert_string_equal(json_string_value(json_object_get(first, "variant")), "nn");
    assert_string_equal(json_string_value(json_object_get(first, "dtype")), "bf16");
    assert_int_equal(json_array_size(json_object_get(first, "dims")), 4);
    json_t *rows = json_object_get(first, "rows");
    assert_int_equal(json_array_size(rows), 2);
    for (int i = 0; i < 4; i++)
        assert_int_equal(json_integer_value(json_array_get(json_array_get(rows, 1), (size_t)i)), 7 + i);
    json_decref(file);
}

static void test_no_calls(void **state)
{
    (void)state;
    json_t *file = cases_of(NULL, 0);
    assert_int_equal(json_array_size(json_object_get(file, "cases")), 0);
    json_decref(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_grouped), cmocka_unit_test(test_no_calls)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
