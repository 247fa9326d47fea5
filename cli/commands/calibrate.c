/* SPDX-License-Identifier: Apache-2.0 */
/* calibrate.c - `centimani calibrate --device ID --from LOG.csv`: correct a profile with measured steps. */
#include "cli.h"

int run_calibrate(settings *s)
{
    cm_calibration *calibration;
    cm_diag         diag = {0};
    if (!s->device || !s->from) {
        say("calibrate needs --device ID and --from LOG.csv");
        return EXIT_USAGE;
    }
    cm_status status = cm_calibrate(s->device, s->from, &calibration, &diag);
    if (status) return say_failed(status, &diag);
    cm__calibrate_report report = {.device = s->device, .log = s->from, .calibration = calibration};
    status = cm__calibrate_report_print(&report, format_of(s), beside_output(s), &diag);
    int code = EXIT_DONE;
    if (status) code = say_failed(status, &diag);
    else if (s->output) code = save_text(s->output, cm_calibration_profile(calibration));
    cm_calibration_free(calibration);
    return code;
}
