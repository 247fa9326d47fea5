/* SPDX-License-Identifier: Apache-2.0 */
/* explain.c - `centimani explain MODEL --device A [--versus B]`: explain where the time of a step goes. */
#include "cli.h"

/* --full: everything that the HTML pages show about a device. */
static int run_full(settings *s)
{
    cm__detail *detail;
    cm_diag     diag = {0};
    if (!s->json || s->versus) {
        say("explain: --full needs --json and works for one device: leave out --versus");
        return EXIT_USAGE;
    }
    cm_status status = cm__detail_new(&s->predict, &detail, &diag);
    if (status) return say_failed(status, &diag);
    status = cm__detail_print(detail, results(), &diag);
    cm__detail_free(detail);
    return status ? say_failed(status, &diag) : EXIT_DONE;
}

int run_explain(settings *s)
{
    cm__explain_report *report;
    cm_diag             diag = {0};
    if (!s->device) {
        say("explain needs --device ID; 'centimani devices' lists them");
        return EXIT_USAGE;
    }
    settle_prediction(s, s->operands[0]);
    if (!loading_makes_sense(s)) return EXIT_USAGE;
    if (s->full) return run_full(s);
    cm_status status = cm__explain_report_new(&s->predict, s->versus, &report, &diag);
    if (status) return say_failed(status, &diag);
    for (int32_t i = 0; i < report->sides[0]->graph->n_warnings; i++)
        say("warning: %s", report->sides[0]->graph->warnings[i]);
    warn_of_fusion(s, &report->sides[0]->asked);
    status = cm__explain_report_print(report, format_of(s), results(), &diag);
    cm__explain_report_free(report);
    return status ? say_failed(status, &diag) : EXIT_DONE;
}
