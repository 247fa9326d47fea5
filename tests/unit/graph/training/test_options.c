/* SPDX-License-Identifier: Apache-2.0 */
/* test_options.c - comparison of options: each member counts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "graph/training/options.h"

static void differ(const cm_train_options *a)
{
    cm_train_options usual = {.tuning.freeze = "head"}, other = {.tuning.freeze = "head"};
    assert_true(cm__train_same(&usual, &other) && cm__train_hash(&usual) == cm__train_hash(&other));
    assert_false(cm__train_same(&usual, a));
    assert_true(cm__train_hash(&usual) != cm__train_hash(a));
}

static void each_member_counts(void **state)
{
    static const cm_train_options o[] = {{.precision = CM_PRECISION_FP32}, {.inference = true}, {.tuning.targets = "qkv"},
                                         {.tuning.freeze = "body"}, {.megatron.narrow_weights = true},
                                         {.script.metrics = 2}, {.ipu.tensorflow = true}, {.settled.habana_lists = true}};
    (void)state;
    for (size_t i = 0; i < sizeof o / sizeof *o; i++) differ(&o[i]);
}

/* Bytes that no row covers are padding before a wider member, or room for later ones. */
static void every_member_has_a_row(void **state)
{
    bool   covered[sizeof(cm_train_options)] = {false};
    size_t bare = 0;
    (void)state;
#define NUMBER(member) memset(covered + offsetof(cm_train_options, member), true, sizeof((cm_train_options){0}.member));
#define TEXT(member) NUMBER(member)
#include "graph/training/options.def"
    for (size_t i = 0; i < offsetof(cm_train_options, reserved); i++) {
        bare = covered[i] ? 0 : bare + 1;
        if (bare >= sizeof(double)) fail_msg("the member at byte %zu has no row in options.def", i);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_member_counts), cmocka_unit_test(every_member_has_a_row)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
