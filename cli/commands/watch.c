/* SPDX-License-Identifier: Apache-2.0 */
/* watch.c - `centimani watch-log LOG MODEL --device ID`: compare a training run with its prediction. */
#include "cli.h"

int run_watch(settings *s)
{
    cm__watch_report *report;
    cm_diag           diag = {0};
    if (!s->device) {
        say("watch-log needs --device ID; 'centimani devices' lists them");
        return EXIT_USAGE;
    }
    if (!loading_makes_sense(s)) return EXIT_USAGE;
    settle_prediction(s, s->operands[1]);
    cm_status status = cm__watch_report_new(s->operands[0], &s->predict, &report, &diag);
    if (status) return say_failed(status, &diag);
    say_warnings(report->predicted->graph->step);
    status = cm__watch_report_print(report, format_of(s), results(), &diag);
    int code = status ? say_failed(status, &diag) : say_missed(s, &report->gates);
    cm__watch_report_free(report);
    return code;
}
