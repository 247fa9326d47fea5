/* SPDX-License-Identifier: Apache-2.0 */
/* merge.c - `centimani merge TABLES.json NEW.json... -o FILE`: join kernel tables. */
#include <stdlib.h>
#include "cli.h"

int run_merge(settings *s)
{
    char           *profile;
    cm_diag         diag = {0};
    cm_merge_counts counts;
    if (!s->output) {
        say("merge needs -o FILE: the profile to write; '-o -' prints it");
        return EXIT_USAGE;
    }
    cm_status status = cm_tables_merge(s->operands, s->n_operands, &profile, &counts, &diag);
    if (status) return say_failed(status, &diag);
    int code = save_text(s->output, profile);
    free(profile);
    if (!code)
        fprintf(beside_output(s), "%d new rows, %d replaced, %d tables\n", counts.added, counts.replaced,
                counts.tables);
    return code;
}
