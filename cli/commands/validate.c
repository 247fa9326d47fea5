/* SPDX-License-Identifier: Apache-2.0 */
/* validate.c - `centimani validate`: compare predictions with published results. */
#include "cli.h"

int run_validate(settings *s)
{
    cm_scoreboard *scoreboard;
    cm_diag        diag = {0};
    cm_status status = cm_scoreboard_run(s->set, s->leave_device_out, &scoreboard, &diag);
    if (status) return say_failed(status, &diag);
    status = cm__scoreboard_print(scoreboard, format_of(s), results(), &diag);
    cm_scoreboard_free(scoreboard);
    return status ? say_failed(status, &diag) : EXIT_DONE;
}
