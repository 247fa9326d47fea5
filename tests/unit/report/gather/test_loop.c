/* SPDX-License-Identifier: Apache-2.0 */
/* test_loop.c - a step of post-training: its phases are the steps that the other questions predict. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "report/report.h"

#define MODEL "llama:layers=4,hidden=1024,heads=16,kv_heads=4,ffn=2816,vocab=32000"
#define BATCH 8

static cm_diag diag;

static cm__predict_report *report(cm__predict_request asked)
{
    cm__predict_report *r = NULL;
    asked.graph.model = MODEL;
    asked.device = "nvidia-h200";
    asked.graph.batch = asked.options.batch = BATCH;
    asked.graph.train.precision = CM_PRECISION_BF16;
    return cm__predict_report_new(&asked, &r, &diag) ? NULL : r;
}

static cm__predict_report *loop_of(const char *text, int32_t rank)
{
    cm__predict_request asked = {.prompt = 256, .generate = 256, .graph.train.tuning.rank = rank};
    const char         *wrong;
    assert_true(cm__loop_parse(text, &asked.loop, &wrong));
    cm__predict_report *r = report(asked);
    if (!r) fail_msg("%s", diag.reason);
    return r;
}

static double weights(const cm__predict_report *r) { return r->use.categories[CM_CATEGORY_WEIGHTS_BIASES]; }

/* Training is a step over prompt and answer; scoring a forward pass over both; generation takes the trained weights. */
static void test_phases(void **state)
{
    (void)state;
    cm__predict_report *r = loop_of("grpo,copy=off", 0);
    cm__predict_report *train = report((cm__predict_request){.graph.load.seq = 512});
    cm__predict_report *pass = report((cm__predict_request){.graph = {.load.seq = 512, .train.inference = true}});
    cm__predict_report *answer = report((cm__predict_request){.prompt = 256, .generate = 256});
    assert_true(train && pass && answer);
    const cm__phase *p = r->loop.phases;
    double           states = weights(train) + train->use.categories[CM_CATEGORY_ALGORITHM];
    assert_true(p[CM__TRAIN].time_s == cm_prediction_get_info(train->prediction)->step_time_s);
    assert_true(p[CM__SCORE].time_s == cm_prediction_get_info(pass->prediction)->step_time_s);
    assert_true(p[CM__GENERATE].time_s == answer->generation.prefill_s + answer->generation.decode_s);
    assert_true(fabs(r->loop.total_s / (p[0].time_s + p[1].time_s + p[2].time_s) - 1) < 1e-12);
    assert_true(r->loop.resident_bytes == states + weights(pass)); /* the reference has weights, too */
    assert_true(p[CM__TRAIN].peak_bytes == train->peak_bytes + weights(pass));
    assert_true(fabs(p[CM__SCORE].peak_bytes - (states + pass->peak_bytes)) < 1);
    double most = fmax(p[0].peak_bytes, fmax(p[1].peak_bytes, p[2].peak_bytes));
    assert_true(r->peak_bytes == most && r->fits);
    cm__predict_report *all[] = {r, train, pass, answer};
    for (int i = 0; i < 4; i++) cm__predict_report_free(all[i]);
}

/* Cost of each option. */
static void test_options(void **state)
{
    (void)state;
    cm__predict_report *plain = loop_of("grpo", 0), *alone = loop_of("grpo,reference=off", 0);
    cm__predict_report *in_place = loop_of("grpo,copy=off", 0), *twice = loop_of("grpo,epochs=2,group=2", 0);
    cm__predict_report *adapted = loop_of("grpo", 8), *ppo = loop_of("ppo", 0), *judged = loop_of("grpo,reward=" MODEL, 0);
    const cm__phase *p = plain->loop.phases;
    double           model = plain->loop.resident_bytes - alone->loop.resident_bytes;
    assert_true(model > 0 && alone->loop.phases[CM__SCORE].time_s == 0);
    double copy = p[CM__GENERATE].peak_bytes - in_place->loop.phases[CM__GENERATE].peak_bytes;
    assert_true(fabs(copy / model - 1) < 1e-3); /* the copy has the bytes of the reference but for rotary angles */
    assert_true(in_place->loop.phases[CM__GENERATE].time_s > p[CM__GENERATE].time_s); /* the host launches kernels */
    assert_true(twice->loop.phases[CM__TRAIN].time_s == 2 * p[CM__TRAIN].time_s);
    assert_true(twice->loop.phases[CM__SCORE].time_s == 2 * p[CM__SCORE].time_s);
    assert_true(judged->loop.resident_bytes - plain->loop.resident_bytes == model);
    assert_true(judged->loop.phases[CM__SCORE].time_s == 2 * p[CM__SCORE].time_s);
    assert_true(adapted->loop.resident_bytes < alone->loop.resident_bytes); /* no weights of a reference */
    assert_true(ppo->loop.phases[CM__TRAIN].time_s == 2 * p[CM__TRAIN].time_s && ppo->peak_bytes > plain->peak_bytes);
    cm__predict_report *all[] = {plain, alone, in_place, twice, adapted, ppo, judged};
    for (int i = 0; i < 7; i++) cm__predict_report_free(all[i]);
}

static void test_refused(void **state)
{
    static const char *const wrong[] = {"", "dpo", "grpo,groups=2", "grpo,group=0", "ppo,copy=maybe", "grpo,reward="};
    cm__loop_options         loop;
    const char              *at;
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) assert_false(cm__loop_parse(wrong[i], &loop, &at));
    cm__predict_request asked = {.loop = {.kind = CM__LOOP_GRPO, .group = 3}, .prompt = 64, .generate = 64};
    assert_null(report(asked)); /* 8 answers are no groups of 3 */
    asked.loop.group = 8;
    asked.generate = 0;
    assert_null(report(asked));
}

/* `memory` and `fits` give the same peak as `predict`. */
static void test_memory_agrees(void **state)
{
    cm__memory_request  asked = {.graph = {.model = MODEL, .batch = BATCH, .train.precision = CM_PRECISION_BF16},
                                 .device = "nvidia-h200", .prompt = 256, .generate = 256, .loop.kind = CM__LOOP_GRPO};
    cm__memory_report  *memory, *fits;
    cm__predict_report *r = loop_of("grpo", 0);
    (void)state;
    assert_int_equal(cm__memory_report_new(&asked, &memory, &diag), CM_OK);
    assert_int_equal(cm__fits_report_new(&asked, &fits, &diag), CM_OK);
    assert_true(memory->use.peak_bytes == r->peak_bytes && fits->use.peak_bytes == r->peak_bytes);
    for (int p = 0; p < CM__PHASES; p++) assert_true(memory->loop.phases[p].peak_bytes == r->loop.phases[p].peak_bytes);
    cm__memory_report_free(memory);
    cm__memory_report_free(fits);
    cm__predict_report_free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_phases), cmocka_unit_test(test_options),
                                       cmocka_unit_test(test_refused), cmocka_unit_test(test_memory_agrees)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
