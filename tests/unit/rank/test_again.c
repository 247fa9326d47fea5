/* SPDX-License-Identifier: Apache-2.0 */
/* test_again.c - recomputation is tried where memory limits the batch, and kept where it is faster. */
#include "rank_case.h"

#define MODEL "gpt:layers=12,hidden=512,heads=8,seq=1024,vocab=1000"

static cm_rank_entry ranked(int64_t batch, cm_recompute recompute, bool try_recompute)
{
    cm_ranking     *ranking;
    cm_rank_options o = {.batch = batch, .devices = "nvidia-t4", .try_recompute = try_recompute,
                         .train = {.precision = CM_PRECISION_FP16, .recompute = recompute}};
    if (cm_rank(MODEL, &o, &ranking, &diag)) fail_msg("%s", diag.reason);
    cm_rank_entry e = *cm_ranking_entry(ranking, 0);
    e.device = NULL, e.reason = NULL, e.price = NULL; /* they belong to the ranking */
    cm_ranking_free(ranking);
    return e;
}

/* A batch that fits only with recomputation gets the prediction of `--recompute full`. */
TEST(where_nothing_else_fits)
{
    int32_t tried = 0;
    for (int64_t batch = 8; batch <= 128; batch *= 2) {
        cm_rank_entry none = ranked(batch, CM_RECOMPUTE_NONE, false), full = ranked(batch, CM_RECOMPUTE_FULL, false);
        cm_rank_entry chosen = ranked(batch, CM_RECOMPUTE_NONE, true), *expected = none.fits ? &none : &full;
        assert_int_equal(chosen.fits, expected->fits);
        if (!chosen.fits) continue;
        assert_true(chosen.prediction.step_time_s == expected->prediction.step_time_s);
        assert_true(chosen.peak_bytes == expected->peak_bytes);
        assert_int_equal(chosen.recompute, expected->recompute);
        tried += !none.fits;
    }
    assert_true(tried > 0);
}

/* Without a batch size the faster of both is taken. */
TEST(the_faster_one)
{
    cm_rank_entry none = ranked(0, CM_RECOMPUTE_NONE, false), full = ranked(0, CM_RECOMPUTE_FULL, false);
    cm_rank_entry chosen = ranked(0, CM_RECOMPUTE_NONE, true);
    double        best = fmax(none.prediction.throughput_samples_s, full.prediction.throughput_samples_s);
    assert_true(chosen.prediction.throughput_samples_s == best);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(where_nothing_else_fits), cmocka_unit_test(the_faster_one)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
