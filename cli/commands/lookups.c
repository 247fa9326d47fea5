/* SPDX-License-Identifier: Apache-2.0 */
/* lookups.c - `centimani lookups`: predict random look-ups per second. */
#include "cli.h"

int run_lookups(settings *s)
{
    cm__lookups_report *report;
    cm_diag             diag = {0};
    s->lookups.device = s->device;
    cm_status status = cm__lookups_report_new(&s->lookups, &report, &diag);
    if (status) return say_failed(status, &diag);
    status = cm__lookups_report_print(report, format_of(s), results(), &diag);
    int code = status ? say_failed(status, &diag) : report->n_rated ? EXIT_DONE : EXIT_NOTHING_FITS;
    cm__lookups_report_free(report);
    return code;
}
