/* SPDX-License-Identifier: Apache-2.0 */
/* test_cluster.c - built-in clusters are complete, a cluster's file is read, and profiles are checked. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "centimani.h"
#include "profile_texts.h"

/* Every built-in cluster names a device that exists, has at least one link, and its profile can be loaded again. */
static void test_built_in(void **state)
{
    (void)state;
    assert_true(cm_clusters() > 0);
    assert_null(cm_cluster_id(cm_clusters()));
    for (int32_t i = 0; i < cm_clusters(); i++) {
        cm_cluster *c, *again;
        cm_device  *d;
        if (i) assert_true(strcmp(cm_cluster_id(i - 1), cm_cluster_id(i)) < 0); /* sorted */
        assert_int_equal(cm_cluster_load(cm_cluster_id(i), &c, NULL), CM_OK);
        const cm_cluster_info *info = cm_cluster_get_info(c);
        assert_string_equal(info->id, cm_cluster_id(i));
        assert_int_equal(cm_device_load(info->device, &d, NULL), CM_OK);
        assert_true(cm_cluster_tiers(c) > 0 && cm_cluster_tier(c, 0)->bw_bytes_s.known);
        assert_null(cm_cluster_tier(c, cm_cluster_tiers(c)));
        assert_null(cm_cluster_tier(c, -1));
        assert_non_null(cm_cluster_source(c, cm_cluster_tier(c, 0)->bw_bytes_s.source));
        assert_null(cm_cluster_source(c, "no such source"));
        write_file("again.json", cm_cluster_profile(c));
        assert_int_equal(cm_cluster_load(file_named("again.json"), &again, NULL), CM_OK);
        assert_int_equal(cm_cluster_tiers(again), cm_cluster_tiers(c));
        cm_cluster_free(again);
        cm_device_free(d);
        cm_cluster_free(c);
    }
    cm_cluster_free(NULL);
}

static void test_refused(void **state)
{
    (void)state;
    cm_cluster *c;
    cm_diag     diag = {0};
    assert_int_equal(cm_cluster_load("no-such-cluster", &c, &diag), CM_ERR_UNKNOWN);
    assert_int_equal(cm_cluster_load(NULL, &c, &diag), CM_ERR_ARGUMENT);
    write_file("bad.json", "{\"schema\": 1, \"id\": \"x\"}");
    assert_int_equal(cm_cluster_load(file_named("bad.json"), &c, &diag), CM_ERR_FORMAT);
    assert_int_equal(cm_cluster_load("nvidia-h200", &c, &diag), CM_ERR_UNKNOWN); /* a device, not a cluster */
}

/* The summary counts numbers and sources of a device's profile: two of memory, two peaks. */
static void test_checked(void **state)
{
    (void)state;
    cm_profile_summary s;
    cm_diag            diag = {0};
    write_file("device.json", DEVICE("checked", ""));
    if (cm_profile_check(file_named("device.json"), &s, &diag)) fail_msg("%s", diag.reason);
    assert_string_equal(s.id, "checked");
    assert_false(s.cluster || s.abstract);
    assert_int_equal(s.numbers, 4);
    assert_int_equal(s.sources, 1);
    write_file("device.json", "{");
    assert_int_equal(cm_profile_check(file_named("device.json"), &s, &diag), CM_ERR_FORMAT);
    assert_int_equal(cm_profile_check(file_named("none.json"), &s, &diag), CM_ERR_IO);
    assert_int_equal(cm_profile_check(NULL, &s, &diag), CM_ERR_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_built_in), cmocka_unit_test(test_refused),
                                       cmocka_unit_test(test_checked)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
