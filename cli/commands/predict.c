/* SPDX-License-Identifier: Apache-2.0 */
/* predict.c - `centimani predict MODEL --device ID`: predict the time of a step. */
#include <stdlib.h>
#include <string.h>
#include "cli.h"

bool loading_makes_sense(settings *s)
{
    cm_loading_options *l = &s->predict.options.loading;
    bool                useless = l->workers && !l->dataset && !l->on && !s->no_loading;
    if (s->no_loading) *l = (cm_loading_options){.host = l->host}; /* it still launches the kernels */
    if (useless) say("--workers needs --dataset NAME or --host-io on: nothing is loaded otherwise");
    return !useless;
}

static bool output_makes_sense(const settings *s)
{
    if (!s->output || s->predict.list_missing) return true;
    say("predict: -o FILE writes the list of --missing; add --missing");
    return false;
}

static int save_cases(const settings *s, cm_prediction *prediction)
{
    const char *cases = cm_prediction_cases(prediction);
    if (cases) return save_text(s->output, cases);
    say("%s: out of memory", s->output);
    return EXIT_FAILED;
}

/* Write the report in the format of a viewer. */
static int save_view(const char *path, const cm__predict_report *report,
                     cm_status (*print)(const cm__predict_report *, FILE *, cm_diag *))
{
    char     *text = NULL;
    size_t    size = 0;
    cm_diag   diag = {0};
    FILE     *out = open_memstream(&text, &size);
    cm_status status = out ? print(report, out, &diag) : CM_ERR_MEMORY;
    if (out && fclose(out) != 0) status = CM_ERR_MEMORY;
    int code = status ? say_failed(status, &diag) : save_bytes(path, text, size);
    free(text);
    return code;
}

static int save_views(const settings *s, const cm__predict_report *report)
{
    int code = s->trace ? save_view(s->trace, report, cm__predict_report_trace) : EXIT_DONE;
    if (!code && s->snapshot) code = save_view(s->snapshot, report, cm__predict_report_snapshot);
    return code;
}

/* ids have neither dots nor slashes */
const char *settle_host(settings *s)
{
    const char **host = &s->predict.options.loading.host, *file = *host;
    if (!file || !strpbrk(file, "./")) return NULL;
    *host = NULL;
    return file;
}

void warn_of_fusion(const settings *s, const cm__predict_request *settled)
{
    if (s->fuse_all && settled->graph.load.fuse != CM_FUSE_ALL)
        say("warning: --fuse all has no effect: %s runs the operators as the model's code has them; choose --runtime "
            "torch-compile for one that fuses", cm_runtime_name(settled->options.runtime));
}

void settle_prediction(settings *s, const char *model)
{
    s->predict.host_file = settle_host(s);
    s->predict.graph = s->graph;
    s->predict.graph.model = model;
    s->predict.device = s->device;
    s->predict.options.batch = s->graph.batch;
    s->predict.options.plan = s->memory.options.plan;
    s->predict.options.plan.recompute = s->graph.train.recompute;
    s->predict.cluster = s->cluster;
}

bool says_recompute(const settings *s)
{
    for (int32_t i = 0; i < s->n_given; i++)
        if (strcmp(s->given[i].option->name, "--recompute") == 0) return true;
    return false;
}

int run_predict(settings *s)
{
    cm__predict_report *report;
    cm_diag             diag = {0};
    if (!s->device) {
        say("predict needs --device ID; 'centimani devices' lists them");
        return EXIT_USAGE;
    }
    if (!s->predict.prompt != !s->predict.generate) {
        say("generation needs both --prompt N and --generate N");
        return EXIT_USAGE;
    }
    if (!loading_makes_sense(s) || !output_makes_sense(s)) return EXIT_USAGE;
    settle_prediction(s, s->operands[0]);
    s->predict.recompute_open = !says_recompute(s);
    cm_status status = cm__predict_report_new(&s->predict, &report, &diag);
    if (status) return say_failed(status, &diag);
    for (int32_t i = 0; i < report->graph->n_warnings; i++) say("warning: %s", report->graph->warnings[i]);
    warn_of_fusion(s, &report->asked);
    if (report->doubt) say("warning: %s", report->doubt);
    if (report->unsure) say("warning: %s", report->unsure);
    status = cm__predict_report_print(report, format_of(s), beside_output(s), &diag);
    int code = status ? say_failed(status, &diag) : s->output ? save_cases(s, report->prediction) : EXIT_DONE;
    if (!code) code = save_views(s, report);
    if (!code) code = say_missed(s, &report->gates);
    if (!code && !report->fits) code = EXIT_NOTHING_FITS;
    cm__predict_report_free(report);
    return code;
}
