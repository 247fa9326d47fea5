/* SPDX-License-Identifier: Apache-2.0 */
/* diff.c - `centimani diff OLD.json NEW.json`: what changed between two saved answers. */
#include "cli.h"

int run_diff(settings *s)
{
    cm__diff_report *report;
    cm_diag          diag = {0};
    cm_status        status = cm__diff_report_new(s->operands[0], s->operands[1], s->fail_above, &report, &diag);
    if (status) return say_failed(status, &diag);
    bool exceeded = report->exceeded;
    status = cm__diff_report_print(report, format_of(s), results(), &diag);
    cm__diff_report_free(report);
    return status ? say_failed(status, &diag) : exceeded ? EXIT_FAILED : EXIT_DONE;
}
