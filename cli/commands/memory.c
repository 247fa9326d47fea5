/* SPDX-License-Identifier: Apache-2.0 */
/* memory.c - `centimani memory`, `fits` and `batch`: predict memory, decide, choose a batch size. */
#include "cli.h"

typedef cm_status maker(const cm__memory_request *asked, cm__memory_report **report, cm_diag *diag);
typedef cm_status printer(const cm__memory_report *report, cm__output_format format, FILE *out, cm_diag *diag);

/* A gate's answer is its exit status. `memory` without --check reports, and fails only if the step does not fit. */
static int answer(const cm__memory_report *report, bool decides)
{
    static const int codes[CM_VERDICTS] = {EXIT_DOES_NOT_FIT, EXIT_UNSURE, EXIT_DONE};
    return decides ? codes[report->chance.verdict] : report->use.fits ? EXIT_DONE : EXIT_NOTHING_FITS;
}

static int run(settings *s, const char *name, maker *make, printer *print, bool decides)
{
    cm__memory_report *report;
    cm_diag            diag = {0};
    if (!s->device) {
        say("%s needs --device ID; 'centimani devices' lists them", name);
        return EXIT_USAGE;
    }
    s->memory.graph = s->graph;
    s->memory.graph.model = s->operands[0];
    s->memory.device = s->device;
    s->memory.host_file = settle_host(s);
    s->memory.host = s->predict.options.loading.host;
    s->memory.prompt = s->predict.prompt;
    s->memory.generate = s->predict.generate;
    s->memory.loop = s->predict.loop;
    if ((s->predict.prompt || s->predict.generate) && !s->predict.loop.kind) {
        say("%s: --prompt and --generate are of a loop: add --loop grpo", name);
        return EXIT_USAGE;
    }
    cm_status status = make(&s->memory, &report, &diag);
    if (status == CM_ERR_FIT && decides) return say_failed(status, &diag), EXIT_DOES_NOT_FIT;
    if (status) return say_failed(status, &diag);
    say_warnings(report->step);
    int code = answer(report, decides);
    status = print(report, format_of(s), results(), &diag);
    cm__memory_report_free(report);
    return status ? say_failed(status, &diag) : code;
}

int run_fits(settings *s) { return run(s, "fits", cm__fits_report_new, cm__fits_report_print, true); }
int run_memory(settings *s) { return run(s, "memory", cm__memory_report_new, cm__memory_report_print, s->check); }
int run_batch(settings *s) { return run(s, "batch", cm__batch_report_new, cm__batch_report_print, true); }
