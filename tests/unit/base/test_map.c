/* SPDX-License-Identifier: Apache-2.0 */
/* test_map.c - names to numbers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "base/map.h"

static int make(void **state)
{
    static cm__map map;
    cm__map_init(&map, cm__ctx_new(NULL));
    *state = &map;
    return !map.ctx;
}

static int drop(void **state)
{
    cm__ctx_free(((cm__map *)*state)->ctx);
    return 0;
}

static void an_empty_map_has_nothing(void **state) { assert_int_equal(cm__map_get(*state, cm__span_of("x")), -1); }

static void the_last_value_counts(void **state)
{
    cm__map *map = *state;
    assert_true(cm__map_put(map, cm__span_of("x"), 1));
    assert_false(cm__map_put(map, cm__span_of("x"), 2));
    assert_int_equal(cm__map_get(map, cm__span_of("x")), 2);
    assert_int_equal(map->count, 1);
}

static void keys_are_bytes_not_strings(void **state)
{
    cm__map *map = *state;
    cm__map_put(map, (cm__span){"a\0b", 3}, 1);
    cm__map_put(map, (cm__span){"a\0c", 3}, 2);
    cm__map_put(map, (cm__span){NULL, 0}, 3);
    assert_int_equal(cm__map_get(map, (cm__span){"a\0b", 3}), 1);
    assert_int_equal(cm__map_get(map, (cm__span){"a\0c", 3}), 2);
    assert_int_equal(cm__map_get(map, cm__span_of("")), 3);
    assert_int_equal(cm__map_get(map, cm__span_of("a")), -1);
}

static void many_names_survive_growth(void **state)
{
    enum { NAMES = 20000 };
    cm__map *map = *state;
    for (int32_t i = 0; i < NAMES; i++)
        assert_true(cm__map_put(map, cm__span_of(cm__format(map->ctx, "node_%d", i)), i));
    assert_int_equal(map->count, NAMES);
    for (int32_t i = 0; i < NAMES; i++)
        assert_int_equal(cm__map_get(map, cm__span_of(cm__format(map->ctx, "node_%d", i))), i);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_empty_map_has_nothing, make, drop),
        cmocka_unit_test_setup_teardown(the_last_value_counts, make, drop),
        cmocka_unit_test_setup_teardown(keys_are_bytes_not_strings, make, drop),
        cmocka_unit_test_setup_teardown(many_names_survive_growth, make, drop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
