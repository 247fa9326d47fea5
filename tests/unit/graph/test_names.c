/* SPDX-License-Identifier: Apache-2.0 */
/* test_names.c - every enum value has its own name; options can be parsed from their names. */
#include "graph_builder.h"

#define NAMES_ARE_UNIQUE(type, name, count)                                                                            \
    for (int i = 0; i < (count); i++) {                                                                                \
        assert_non_null(name((type)i));                                                                                \
        for (int k = 0; k < i; k++) assert_string_not_equal(name((type)i), name((type)k));                             \
    }

TEST(names_are_unique)
{
    NAMES_ARE_UNIQUE(cm_dtype, cm_dtype_name, CM_DTYPES)
    NAMES_ARE_UNIQUE(cm_role, cm_role_name, CM_ROLES)
    NAMES_ARE_UNIQUE(cm_phase, cm_phase_name, CM_PHASES)
    NAMES_ARE_UNIQUE(cm_class, cm_class_name, CM_CLASSES)
    NAMES_ARE_UNIQUE(cm_precision, cm_precision_name, CM_PRECISIONS)
    NAMES_ARE_UNIQUE(cm_optimizer, cm_optimizer_name, CM_OPTIMIZERS)
    NAMES_ARE_UNIQUE(cm_loss, cm_loss_name, CM_LOSSES)
    NAMES_ARE_UNIQUE(cm_recompute, cm_recompute_name, CM_RECOMPUTES)
    NAMES_ARE_UNIQUE(cm_fuse, cm_fuse_name, CM_FUSES)
}

/* Printed names can be parsed. An unknown name is refused with a list of known ones, and the value is unchanged. */
#define ROUND_TRIP(kind, count)                                                                                        \
    for (int i = 0; i < (count); i++) {                                                                                \
        cm_##kind value = (cm_##kind)((i + 1) % (count));                                                              \
        assert_int_equal(cm_##kind##_parse(cm_##kind##_name((cm_##kind)i), &value, &diag), CM_OK);                     \
        assert_int_equal(value, i);                                                                                    \
        assert_int_equal(cm_##kind##_parse("zzzzzz", &value, &diag), CM_ERR_UNKNOWN);                                  \
        assert_int_equal(value, i);                                                                                    \
        assert_non_null(strstr(diag.reason, cm_##kind##_name((cm_##kind)((count)-1))));                                \
        assert_int_equal(cm_##kind##_parse("", &value, NULL), CM_ERR_UNKNOWN);                                         \
    }

TEST(options_are_read_back)
{
    ROUND_TRIP(precision, CM_PRECISIONS)
    ROUND_TRIP(optimizer, CM_OPTIMIZERS)
    ROUND_TRIP(loss, CM_LOSSES)
    ROUND_TRIP(recompute, CM_RECOMPUTES)
    ROUND_TRIP(fuse, CM_FUSES)
}

TEST(the_nearest_name_is_offered)
{
    cm_optimizer value;
    assert_int_equal(cm_optimizer_parse("momentun", &value, &diag), CM_ERR_UNKNOWN);
    assert_non_null(strstr(diag.reason, "did you mean 'momentum'?"));
    assert_null(strstr(diag.reason, "known: default"));
}

TEST(sizes_of_types)
{
    static const size_t bytes[CM_DTYPES] = {
        [CM_FP32] = 4,  [CM_FP64] = 8,      [CM_FP16] = 2,   [CM_BF16] = 2, [CM_FP8] = 1,
        [CM_INT64] = 8, [CM_INT32] = 4,     [CM_INT16] = 2,  [CM_INT8] = 1, [CM_UINT8] = 1,
        [CM_BOOL] = 1,  [CM_COMPLEX64] = 8, [CM_STRING] = 8,
    };
    for (int i = 0; i < CM_DTYPES; i++) assert_int_equal(cm_dtype_size((cm_dtype)i), bytes[i]);
    for (int i = 0; i < CM_DTYPES; i++) assert_int_equal(cm__is_float((cm_dtype)i), i <= CM_FP8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_unique),
        cmocka_unit_test(options_are_read_back),
        cmocka_unit_test(the_nearest_name_is_offered),
        cmocka_unit_test(sizes_of_types),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
