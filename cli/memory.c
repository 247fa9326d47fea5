/* SPDX-License-Identifier: Apache-2.0 */
/* memory.c - `centimani memory`, `fits` and `batch`: predict memory, decide, choose a batch size. */
#include "cli.h"

typedef cm_status maker(const cm__memory_request *asked, cm__memory_report **report, cm_diag *diag);
typedef cm_status printer(const cm__memory_report *report, cm__output_format format, FILE *out, cm_diag *diag);

static int run(settings *s, const char *name, maker *make, printer *print)
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
    s->memory.prompt = s->predict.prompt;
    s->memory.generate = s->predict.generate;
    s->memory.loop = s->predict.loop;
    if ((s->predict.prompt || s->predict.generate) && !s->predict.loop.kind) {
        say("%s: --prompt and --generate are of a loop: add --loop grpo", name);
        return EXIT_USAGE;
    }
    cm_status status = make(&s->memory, &report, &diag);
    if (status) return say_failed(status, &diag);
    say_warnings(report->step);
    if (report->unsure) say("warning: %s", report->unsure);
    bool fits = report->use.fits;
    status = print(report, format_of(s), results(), &diag);
    cm__memory_report_free(report);
    return status ? say_failed(status, &diag) : fits ? EXIT_DONE : EXIT_NOTHING_FITS;
}

int run_fits(settings *s) { return run(s, "fits", cm__fits_report_new, cm__fits_report_print); }
int run_memory(settings *s) { return run(s, "memory", cm__memory_report_new, cm__memory_report_print); }
int run_batch(settings *s) { return run(s, "batch", cm__batch_report_new, cm__batch_report_print); }
