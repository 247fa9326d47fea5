/* SPDX-License-Identifier: Apache-2.0 */
/* predict.c - `centimani predict MODEL --device ID`: how long a step takes, and why. */
#include "cli.h"

int run_predict(settings *s)
{
    cm__predict_report *report;
    cm_diag             diag = {0};
    if (!s->device) {
        say("predict needs --device ID; 'centimani devices' lists them");
        return EXIT_USAGE;
    }
    s->predict.graph = s->graph;
    s->predict.graph.model = s->operands[0];
    s->predict.device = s->device;
    s->predict.options.batch = s->graph.batch;
    s->predict.options.plan = s->memory.options.plan;
    s->predict.options.plan.recompute = s->graph.train.recompute;
    s->predict.cluster = s->cluster;
    cm_status status = cm__predict_report_new(&s->predict, &report, &diag);
    if (status) return say_failed(status, &diag);
    for (int32_t i = 0; i < report->graph->n_warnings; i++) say("warning: %s", report->graph->warnings[i]);
    status = cm__predict_report_print(report, format_of(s), results(), &diag);
    bool fits = report->fits;
    cm__predict_report_free(report);
    return status ? say_failed(status, &diag) : fits ? EXIT_DONE : EXIT_NOTHING_FITS;
}
