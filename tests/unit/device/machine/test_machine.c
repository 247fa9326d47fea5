/* SPDX-License-Identifier: Apache-2.0 */
/* test_machine.c - this-machine: cores and memory as the system reports them, and a profile that passes the checks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>
#include <cmocka.h>
#include "centimani.h"
#include "device/machine/machine.h"
#include "profile_texts.h"

static void test_discovered(void **state)
{
    (void)state;
    cm__machine m = {0};
    cm__machine_discover(&m);
    double pages = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    assert_true(m.cores >= 1 && m.cores <= (double)sysconf(_SC_NPROCESSORS_CONF));
    assert_true(m.memory_bytes > 0.5 * pages && m.memory_bytes <= 1.1 * pages);
    assert_non_null(m.interface);
    for (int i = 0; i < CM__CACHES_MAX; i++) assert_true(m.caches[i].bytes >= 0 && m.caches[i].bytes < m.memory_bytes);
}

static void test_profile(void **state)
{
    (void)state;
    cm_device         *d;
    cm_profile_summary s;
    cm_diag            diag = {0};
    if (cm_device_load("this-machine", &d, &diag)) fail_msg("%s", diag.reason);
    assert_string_equal(cm_device_get_info(d)->device_class, "cpu");
    assert_true(cm_device_number(d, CM_CORES).value >= 1);
    assert_true(cm_device_main_memory(d)->capacity_bytes.known);
    assert_false(cm_device_main_memory(d)->bw_bytes_s.known); /* benchmarks measure it */
    write_file("this.json", cm_device_profile(d));
    if (cm_profile_check(file_named("this.json"), &s, &diag)) fail_msg("%s: %s", diag.place, diag.reason);
    assert_string_equal(s.id, "this-machine");
    cm_device_free(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_discovered), cmocka_unit_test(test_profile)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
