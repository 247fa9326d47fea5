/* SPDX-License-Identifier: Apache-2.0 */
/* fit.c - `centimani fit`: fit operator models to timings, or compare a profile with timings. */
#include <unistd.h>
#include "cli.h"

static void show_progress(void *user, int32_t done, int32_t total, const char *what)
{
    (void)user;
    if (done < total) fprintf(notes(), "\r\033[K%d of %d operators: %s", done, total, what);
    else fprintf(notes(), "\r\033[K");
    fflush(notes());
}

static int save_profile(const settings *s, const cm_fitting *fitting)
{
    const char *profile = cm_fitting_profile(fitting);
    if (profile) return save_text(s->output, profile);
    say("%s: no profile written: the rows name several devices or an unknown one; name the device with --device ID",
        s->output);
    return EXIT_FAILED;
}

/* Check a file of kernel calls; without a file, leave-one-out over the device's kernel tables. */
static cm_status check_device(const settings *s, cm_fitting **fitting, cm_diag *diag)
{
    cm_device *device;
    cm_status  status = cm_device_load(s->device, &device, diag);
    if (status) return status;
    status = s->n_operands
                 ? cm_fitting_check_calls(device, s->operands[0], s->predict.options.runtime, fitting, diag)
                 : cm_fitting_check_tables(device, fitting, diag);
    cm_device_free(device);
    return status;
}

/* Kernel tables from a profiler trace. */
static int fit_trace(const settings *s)
{
    cm__trace_fit_report r = {.path = s->trace, .device = s->device};
    cm_diag              diag = {0};
    cm_status            status = cm_timeline_read(s->trace, &r.timeline, &diag);
    if (status) return say_failed(status, &diag);
    if (cm_timeline_get_info(r.timeline)->predicted) {
        say("%s: 'predict --trace' wrote this trace; tables are made from measured times", s->trace);
        cm_timeline_free(r.timeline);
        return EXIT_FAILED;
    }
    const char *profile = cm_timeline_profile(r.timeline, s->device, &r.rows, &r.tables);
    status = cm__trace_fit_print(&r, format_of(s), beside_output(s), &diag);
    int code = status ? say_failed(status, &diag) : EXIT_DONE;
    if (!code && !profile) say("%s: out of memory", s->trace);
    else if (!code && !r.rows) say("%s: no kernel call is recognised, so there is nothing to learn", s->trace);
    if (!code && (!profile || !r.rows)) code = EXIT_FAILED;
    if (!code && s->output) code = save_text(s->output, profile);
    cm_timeline_free(r.timeline);
    return code;
}

int run_fit(settings *s)
{
    if (s->trace && (s->n_operands || s->check || s->calls || s->csv)) {
        say("fit: --trace FILE goes with --device, -o and --json only");
        return EXIT_USAGE;
    }
    if (s->trace) return fit_trace(s);
    if (!s->n_operands && !s->check) {
        say("fit needs TIMINGS.csv; usage: centimani fit TIMINGS.csv [options]");
        return EXIT_USAGE;
    }
    if (s->check && !s->device) {
        say("fit: --check needs --device ID: whose models to check");
        return EXIT_USAGE;
    }
    if (s->check && s->output) {
        say("fit: --check makes no profile, so -o has nothing to write");
        return EXIT_USAGE;
    }
    if (s->calls && !(s->check && s->n_operands)) {
        say("fit: --calls needs --check and CALLS.csv");
        return EXIT_USAGE;
    }
    cm_fitting    *fitting;
    cm_diag        diag = {0};
    cm_fit_options o = {
        .device = s->device, .check = s->check, .progress = isatty(STDERR_FILENO) ? show_progress : NULL};
    cm_status      status = s->n_operands && !s->calls ? cm_fitting_run(s->operands[0], &o, &fitting, &diag)
                                                       : check_device(s, &fitting, &diag);
    if (status) return say_failed(status, &diag);
    cm__fit_report report = {.path = s->operands[0], .device = s->device, .check = s->check, .calls = s->calls,
                             .fitting = fitting};
    status = cm__fit_report_print(&report, format_of(s), beside_output(s), &diag);
    int code = status ? say_failed(status, &diag) : s->output ? save_profile(s, fitting) : EXIT_DONE;
    cm_fitting_free(fitting);
    return code;
}
