/* SPDX-License-Identifier: Apache-2.0 */
/* test_size.c - the size of a job, and the global batch of published recipes. */
#include "job_case.h"

static cm_job_info info_of(const char *model, cm_job_options o)
{
    cm_job     *j = job_of(model, o);
    cm_job_info info = *cm_job_get_info(j);
    info.text = NULL;
    cm_job_free(j);
    return info;
}

static void sizes(void **state)
{
    (void)state;
    cm_job_options o = h100(1);
    is(info_of(GPT, o).samples, 12800);
    o.rank.epochs = 3;
    is(info_of(GPT, o).samples, 3 * 12800);
    o.rank.samples = 0;
    o.rank.tokens = 128e6; /* sequences of 128 tokens */
    is(info_of(GPT, o).samples, 3e6);
    o.rank.tokens = o.rank.epochs = 0;
    assert_true(info_of(GPT, o).assumed);
    o.rank.loading.dataset = "openwebtext";
    is(info_of(GPT, o).samples, 9035582198.0 / 128);
    o.rank.loading.dataset = "imagenet";
    is(info_of("resnet18", o).samples, 1281167);
    assert_false(info_of("resnet18", o).assumed);
    o.rank.samples = 500; /* counts before the data set's */
    is(info_of("resnet18", o).samples, 500);
    o.rank.samples = 0, o.rank.loading.dataset = NULL;
    cm_job *j;
    o.rank.tokens = 1e6;
    assert_int_equal(cm_job_run("resnet18", &o, &j, &diag), CM_ERR_ARGUMENT);
}

/* 0.5 M tokens for a small language model, 128 samples for adapters, 2048 images; fewer if an epoch is short. */
static void batches(void **state)
{
    (void)state;
    cm_job_options o = h100(1);
    o.global_batch = 0;
    o.rank.samples = 1e9;
    assert_int_equal(info_of(GPT, o).global_batch, 4096); /* the power of two nearest to 0.5e6 / 128 = 3906 */
    assert_int_equal(info_of("resnet18", o).global_batch, 2048);
    o.rank.train.tuning.rank = 8;
    assert_int_equal(info_of(GPT, o).global_batch, 128);
    o.rank.train.tuning.rank = 0;
    o.rank.samples = 10000;
    assert_int_equal(info_of("resnet18", o).global_batch, 64); /* at least 100 updates */
    assert_true(info_of("resnet18", o).batch_assumed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(sizes),
                                       cmocka_unit_test(batches)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
