/* SPDX-License-Identifier: Apache-2.0 */
/* devices.c - `centimani devices`: list accelerators and clusters, show one, validate a profile, or add a measured one. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
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

/* In a checkout of the sources, the file of the device. */
static const char *target(const settings *s, const char *id, char *path, size_t size)
{
    if (s->output) return s->output;
    snprintf(path, size, "data/devices/%s.json", id);
    return access("data/devices", W_OK) == 0 ? path : NULL;
}

/* Add a measured profile to the file of its device. */
static int add(settings *s, const char *file)
{
    cm_profile_summary summary;
    cm_merge_counts    counts;
    cm_diag            diag = {0};
    char               path[128], *joined;
    cm_status          status = cm_profile_check(file, &summary, &diag);
    const char        *to = status ? NULL : target(s, summary.id, path, sizeof path);
    if (status) return say_failed(status, &diag);
    if (!to) {
        say("devices add needs -o FILE: the profile to add to; '-o -' prints it. In a checkout it is data/devices/%s.json",
            summary.id);
        return EXIT_USAGE;
    }
    status = cm_device_contribute(file, strcmp(to, "-") == 0 ? NULL : to, &joined, &counts, &diag);
    if (status) return say_failed(status, &diag);
    int code = save_text(to, joined);
    if (!code) say("%s: new rows %d, replaced %d, tables %d", to, counts.added, counts.replaced, counts.tables);
    free(joined);
    return code;
}

int run_devices(settings *s)
{
    const char        *action = s->n_operands ? s->operands[0] : "list";
    cm__devices_action list = s->clusters ? CM__DEVICES_LIST_CLUSTERS : CM__DEVICES_LIST;
    if (strcmp(action, "list") == 0 && s->n_operands < 2) return print(s, list, NULL);
    if (strcmp(action, "show") == 0 && s->n_operands == 2) return print(s, CM__DEVICES_SHOW, s->operands[1]);
    if (strcmp(action, "check") == 0 && s->n_operands == 2) return print(s, CM__DEVICES_CHECK, s->operands[1]);
    if (strcmp(action, "add") == 0 && s->n_operands == 2) return add(s, s->operands[1]);
    static const char *const actions[] = {"list", "show", "check", "add"};
    return no_action("devices", action, actions, 4, "[list | show ID | check FILE | add FILE]");
}
