/* SPDX-License-Identifier: Apache-2.0 */
/* scale.c - `centimani scale`: predict a step, or one collective, on several numbers of devices. */
#include "cli.h"

static void say_recomputed(const cm__scale_report *r)
{
    for (int32_t i = 0; i < r->asked.n_counts && r->asked.recompute_open; i++)
        if (r->points[i].info.plan.recompute == CM_RECOMPUTE_FULL)
            say("warning: on %d devices the step does not fit as asked: layers are recomputed; --recompute none stores all of "
                "them", r->points[i].n);
}

int run_scale(settings *s)
{
    cm__scale_report *report;
    cm_diag           diag = {0};
    if (!s->device || !s->scale.n_counts) {
        say(s->device ? "scale needs -n N,N,...: numbers of devices, such as -n 1,2,4,8"
                      : "scale needs --device ID; 'centimani devices' lists them");
        return EXIT_USAGE;
    }
    s->scale.host_file = settle_host(s);
    if (s->predict.options.loading.host) {
        say("scale --host needs a FILE of 'bench --suite host': it loads no data");
        return EXIT_USAGE;
    }
    s->scale.graph = s->graph;
    s->scale.graph.model = s->operands[0];
    s->scale.device = s->device;
    s->scale.cluster = s->cluster;
    s->scale.options.layout = s->predict.options.layout;
    s->scale.options.runtime = s->memory.options.runtime;
    s->scale.options.plan = s->memory.options.plan;
    s->scale.options.plan.recompute = s->graph.train.recompute;
    s->scale.recompute_open = !says_recompute(s);
    s->scale.options.batch = s->graph.batch ? s->graph.batch : 1;
    cm_status status = CM_OK;
    if (cm__is_collective(s->operands[0])) {
        status = cm__collective_report(&s->scale, format_of(s), results(), &diag);
        return status ? say_failed(status, &diag) : EXIT_DONE;
    }
    status = cm__scale_report_new(&s->scale, &report, &diag);
    if (status) return say_failed(status, &diag);
    say_warnings(report->graph->step);
    say_recomputed(report);
    status = cm__scale_report_print(report, format_of(s), results(), &diag);
    cm__scale_report_free(report);
    return status ? say_failed(status, &diag) : EXIT_DONE;
}
