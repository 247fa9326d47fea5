/* SPDX-License-Identifier: Apache-2.0 */
/* validate.c - `centimani validate`: predictions against results that others published. */
#include "cli.h"

int run_validate(settings *s)
{
    cm_validation *validation;
    cm_diag        diag = {0};
    if (!s->set) {
        say("validate needs --set NAME; the sets are:");
        for (int32_t i = 0; i < cm_validation_sets(); i++) say("  %s", cm_validation_set(i));
        return EXIT_USAGE;
    }
    cm_status status = cm_validation_run(s->set, &validation, &diag);
    if (status) return say_failed(status, &diag);
    status = cm__validation_print(validation, format_of(s), results(), &diag);
    cm_validation_free(validation);
    return status ? say_failed(status, &diag) : EXIT_DONE;
}
