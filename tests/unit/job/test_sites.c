/* SPDX-License-Identifier: Apache-2.0 */
/* test_sites.c - where a job can run: providers, clusters, named devices, and nothing. */
#include "job_case.h"

static void places(void **state)
{
    (void)state;
    cm_job *j = job_of(GPT, (cm_job_options){.max_devices = 16, .global_batch = 64,
                                             .rank = {.samples = 1e4, .provider = "nebius"}});
    for (int32_t i = 0; i < cm_job_entries(j); i++) assert_string_equal(cm_job_get_entry(j, i)->provider, "Nebius");
    cm_job_free(j);
    cm_job_options o = h100(64);
    o.clusters = "polaris,dgx-h100";
    j = job_of(GPT, o);
    for (int32_t i = 0; i < cm_job_entries(j); i++) {
        const cm_job_entry *e = cm_job_get_entry(j, i);
        assert_null(e->provider);
        assert_true(e->n <= 64);
        assert_int_equal(e->nodes, (e->n + (strcmp(e->cluster, "polaris") ? 7 : 3)) / (strcmp(e->cluster, "polaris") ? 8 : 4));
    }
    cm_job_free(j);
    o.clusters = "node=4,net=400Gb";
    o.rank.devices = "nvidia-h100,amd-mi300x";
    j = job_of(GPT, o);
    assert_int_equal(cm_job_entries(j), 2 * 7); /* 1 and 2 of a node, 4 to 64 */
    cm_job_free(j);
    /* nobody sells it, but the user names it */
    j = job_of(GPT, (cm_job_options){.max_devices = 1, .global_batch = 64,
                                     .rank = {.samples = 1e4, .devices = "nvidia-gb200", .objective = CM_OBJECTIVE_TIME}});
    assert_int_equal(cm_job_placed(j), 1);
    assert_true(isnan(cm_job_get_entry(j, 0)->cost_usd));
    cm_job_free(j);
}

static void nothing(void **state)
{
    (void)state;
    cm_job *j;
    assert_int_equal(cm_job_run(GPT, &(cm_job_options){.rank = {.provider = "nobody"}}, &j, &diag), CM_ERR_ARGUMENT);
    assert_int_equal(cm_job_run(GPT, &(cm_job_options){.clusters = "no-such"}, &j, &diag), CM_ERR_UNKNOWN);
    assert_int_equal(cm_job_run(GPT, &(cm_job_options){.clusters = "node=8"}, &j, &diag), CM_ERR_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(places),
                                       cmocka_unit_test(nothing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
