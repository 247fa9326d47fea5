/* SPDX-License-Identifier: Apache-2.0 */
/* models.c - `centimani models`: list the named models, or show one. */
#include <string.h>
#include "cli.h"

static int print(const settings *s, const char *id)
{
    cm__models_report *report;
    cm_diag            diag = {0};
    cm_status          status = cm__models_report_new(id, &report, &diag);
    if (status) return say_failed(status, &diag);
    status = cm__models_report_print(report, format_of(s), results(), &diag);
    cm__models_report_free(report);
    return status ? say_failed(status, &diag) : EXIT_DONE;
}

int run_models(settings *s)
{
    const char *action = s->n_operands ? s->operands[0] : "list";
    if (strcmp(action, "list") == 0 && s->n_operands < 2) return print(s, NULL);
    if (strcmp(action, "show") == 0 && s->n_operands == 2) return print(s, s->operands[1]);
    static const char *const actions[] = {"list", "show"};
    return no_action("models", action, actions, 2, "[list | show ID]");
}
