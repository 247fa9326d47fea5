/* SPDX-License-Identifier: Apache-2.0 */
/* test_spot.c - interrupted jobs: the interval of Young and Daly is the best one, and its overhead is as derived. */
#include "job_case.h"

/* Overhead with a time t between checkpoints: writing, lost work, restarts. */
static double at(const cm__interruptions *i, int32_t instances, double bytes, double t)
{
    double stops = instances * i->per_day / 86400, write = bytes / i->write_bytes_s / instances;
    return write / t + stops * (t / 2 + i->restart_s);
}

static void overhead(void **state)
{
    (void)state;
    cm__ctx          *ctx = context();
    cm__interruptions i = cm__interruptions_of(ctx, "any provider");
    double            interval, got = cm__interruption_overhead(&i, 8, 84e9, &interval);
    is(got, at(&i, 8, 84e9, interval));
    assert_true(got < at(&i, 8, 84e9, 1.2 * interval) && got < at(&i, 8, 84e9, interval / 1.2));
    assert_true(got > cm__interruption_overhead(&i, 4, 84e9, &interval)); /* more instances are stopped more often */
    is(cm__interruption_overhead(&i, 8, 0, &interval), 8 * i.per_day / 86400 * i.restart_s);
    cm__ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(overhead)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
