/* SPDX-License-Identifier: Apache-2.0 */
/* compare.c - `centimani compare TRACE MODEL --device ID`: a profiler trace beside the prediction of the same step. */
#include "cli.h"

int run_compare(settings *s)
{
    cm__compare_report *report;
    cm_diag             diag = {0};
    if (!s->device) {
        say("compare needs --device ID; 'centimani devices' lists them");
        return EXIT_USAGE;
    }
    if (!loading_makes_sense(s)) return EXIT_USAGE;
    settle_prediction(s, s->operands[1]);
    cm_status status = cm__compare_report_new(s->operands[0], &s->predict, &report, &diag);
    if (status) return say_failed(status, &diag);
    say_warnings(report->predicted->graph->step);
    if (!s->graph.batch) say("warning: no --batch: the trace is compared with the default batch size");
    status = cm__compare_report_print(report, format_of(s), results(), &diag);
    cm__compare_report_free(report);
    return status ? say_failed(status, &diag) : EXIT_DONE;
}
