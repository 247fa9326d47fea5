/* SPDX-License-Identifier: Apache-2.0 */
/* test_ranks.c - a process that mpirun did not start is rank 0 of 1; tests/plans_on_ranks.sh runs several ranks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>
#include "plan/ranks.h"

static void test_alone(void **state)
{
    (void)state;
    unsetenv("OMPI_COMM_WORLD_SIZE");
    unsetenv("PMIX_RANK");
    assert_null(cm__ranks_open());
    assert_int_equal(cm__rank(NULL), 0);
    assert_int_equal(cm__rank_count(NULL), 1);
    cm__ranks_close(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_alone)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
