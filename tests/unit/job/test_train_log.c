/* SPDX-License-Identifier: Apache-2.0 */
/* test_train_log.c - step times and progress in the forms of several programs. */
#include "job_case.h"

static cm_train_log read_text(const char *text, cm_status expected)
{
    char  path[] = "/tmp/centimani-log-XXXXXX";
    int   fd = mkstemp(path);
    FILE *out = fdopen(fd, "w");
    fputs(text, out);
    fclose(out);
    cm_train_log log = {0};
    cm_status    status = cm_train_log_read(path, &log, &diag);
    remove(path);
    if (status != expected) fail_msg("status %d: %s", status, diag.reason);
    return log;
}

static void forms(void **state)
{
    (void)state;
    cm_train_log log = read_text(" iteration      120/    5000 | elapsed time per iteration (ms): 250.0 | lr: 1e-4\n", CM_OK);
    is(log.recent_s, 0.25);
    is(log.done, 120);
    is(log.total, 5000);
    log = read_text("  4%|4         | 40/1000 [00:10<04:00,  4.0it/s]\r  5%|5   | 50/1000 [00:25<04:00,  2.00s/it]\n", CM_OK);
    assert_int_equal(log.rows, 2);
    is(log.recent_s, (0.25 + 2) / 2);
    is(log.done, 50);
    log = read_text("{\"step\": 7, \"step_time_s\": 0.5}\n", CM_OK);
    is(log.recent_s, 0.5);
    assert_true(isnan(log.total));
    /* the first three of many steps are warm-up, and the last 20 are the current speed */
    char text[4096] = "";
    for (int i = 0; i < 60; i++) sprintf(text + strlen(text), "step_time: %s\n", i < 3 ? "9" : i < 40 ? "1" : "2");
    log = read_text(text, CM_OK);
    is(log.median_s, 1);
    is(log.recent_s, 2);
}

static void refused(void **state)
{
    (void)state;
    read_text("loss: 0.5\n", CM_ERR_FORMAT);
    cm_train_log log;
    assert_int_equal(cm_train_log_read("/nonexistent", &log, &diag), CM_ERR_IO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(forms),
                                       cmocka_unit_test(refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
