/* SPDX-License-Identifier: Apache-2.0 */
/* devices.c - `centimani devices`: list accelerators and clusters, show one, or validate a profile. */
#include <string.h>
#include "cli.h"

static int print(settings *s, cm__devices_action action, const char *name)
{
    cm__devices_report *report;
    cm_diag             diag = {0};
    cm__devices_request asked = {action, name, own_offers(s)};
    cm_status           status = cm__devices_report_new(&asked, &report, &diag);
    if (status) return say_failed(status, &diag);
    for (int32_t i = 0; action == CM__DEVICES_CHECK && i < report->checked.n_warnings; i++)
        say("warning: %s", report->checked.warnings[i]);
    status = cm__devices_report_print(report, format_of(s), results(), &diag);
    cm__devices_report_free(report);
    return status ? say_failed(status, &diag) : EXIT_DONE;
}

int run_devices(settings *s)
{
    const char        *action = s->n_operands ? s->operands[0] : "list";
    cm__devices_action list = s->clusters ? CM__DEVICES_LIST_CLUSTERS : CM__DEVICES_LIST;
    if (strcmp(action, "list") == 0 && s->n_operands < 2) return print(s, list, NULL);
    if (strcmp(action, "show") == 0 && s->n_operands == 2) return print(s, CM__DEVICES_SHOW, s->operands[1]);
    if (strcmp(action, "check") == 0 && s->n_operands == 2) return print(s, CM__DEVICES_CHECK, s->operands[1]);
    static const char *const actions[] = {"list", "show", "check"};
    return no_action("devices", action, actions, 3, "[list | show ID | check FILE]");
}
