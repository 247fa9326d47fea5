/* SPDX-License-Identifier: Apache-2.0 */
/* graph.c - `centimani graph MODEL`: show the model that was read and the cost of one training step. */
#include "cli.h"

static void warn(const cm__graph_report *r)
{
    for (int32_t i = 0; i < r->n_warnings; i++) say("warning: %s", r->warnings[i]);
    for (int32_t i = 0; i < r->n_unsupported; i++) say("warning: not supported: %s", r->unsupported[i]);
}

int run_graph(settings *s)
{
    cm__graph_report *report;
    cm_diag           diag = {0};
    if (s->csv && s->graph.list_nodes == s->graph.list_tensors) {
        say("--csv needs either --nodes or --tensors");
        return EXIT_USAGE;
    }
    s->graph.model = s->operands[0];
    cm_status status = cm__graph_report_new(&s->graph, &report, &diag);
    if (status) return say_failed(status, &diag);
    warn(report);
    status = cm__graph_report_print(report, format_of(s), results(), &diag);
    cm__graph_report_free(report);
    return status ? say_failed(status, &diag) : EXIT_DONE;
}
