/* SPDX-License-Identifier: Apache-2.0 */
/* test_generation.c - answering a prompt: the pass over it, a step per token, and the stored keys and values. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "report/report.h"

#define MODEL "llama:layers=8,hidden=1024,heads=16,kv_heads=4,ffn=2816,vocab=32000"

static cm_diag diag;

static cm__predict_report *report(const char *model, int32_t prompt, int32_t generate, int64_t seq)
{
    cm__predict_request asked = {.graph = {.model = model, .batch = 4, .load = {.seq = seq},
                                           .train = {.precision = CM_PRECISION_BF16, .inference = true}},
                                 .device = "nvidia-h200", .options = {.batch = 4}, .prompt = prompt,
                                 .generate = generate};
    cm__predict_report *r = NULL;
    return cm__predict_report_new(&asked, &r, &diag) ? NULL : r;
}

/* The prompt takes an ordinary pass over its tokens; keys and values have 2 L K d numbers of 2 bytes per token. */
static void test_phases(void **state)
{
    (void)state;
    cm__predict_report *r = report(MODEL, 2048, 512, 0), *plain = report(MODEL, 0, 0, 2048);
    if (!r || !plain) fail_msg("%s", diag.reason);
    const cm__generation *g = &r->generation;
    double                cache = 2.0 * 8 * 4 * 64 * 2 * (2048 + 512) * 4;
    assert_true(g->prefill_s == cm_prediction_get_info(plain->prediction)->step_time_s);
    assert_true(g->cache_bytes >= cache && g->cache_bytes < 1.3 * cache); /* the copy of one layer comes on top */
    assert_true(g->token_s[1] >= g->token_s[0] && g->token_s[0] < g->prefill_s);
    assert_true(g->decode_s >= 512 * g->token_s[0] && g->decode_s <= 512 * g->token_s[1]);
    assert_true(r->peak_bytes > plain->peak_bytes && r->fits);
    cm__predict_report_free(r);
    cm__predict_report_free(plain);
}

static void test_refusals(void **state)
{
    (void)state;
    static const char *const models[] = {"resnet18", "bert-base", "gemm:m=64,n=64,k=64"};
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        assert_null(report(models[i], 128, 8, 0));
        assert_true(*diag.reason);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_phases), cmocka_unit_test(test_refusals)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
