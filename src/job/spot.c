/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spot.c - jobs on instances that the provider may take away.
 *
 * If each of k instances is interrupted at a rate r, the job stops at the rate k r. A checkpoint takes C, a restart R.
 * With a time T between checkpoints an interruption loses T / 2 on average, so the overhead is C / T + k r (T / 2 + R).
 * It is least at T = sqrt(2 C / (k r)) (Young 1974; Daly 2006, doi:10.1016/j.future.2004.11.016).
 */
#include <math.h>
#include <string.h>
#include "job/job.h"
#include "job/tables.h"

#define DAY 86400.0

enum { PROVIDER, PER_DAY, WRITE_BYTES_S, RESTART_S, SOURCE, COLUMNS };

cm__interruptions cm__interruptions_of(cm__ctx *ctx, const char *provider)
{
    cm__lines   lines = {.ctx = ctx, .at = cm__table_interruptions, .name = "data/interruptions.tsv",
                         .columns = COLUMNS};
    const char *c[CM__CELLS_MAX];
    while (cm__lines_next(&lines, c))
        if (strcmp(c[PROVIDER], "*") == 0 || (provider && strcmp(c[PROVIDER], provider) == 0))
            return (cm__interruptions){cm__lines_number(&lines, c[PER_DAY]), cm__lines_number(&lines, c[WRITE_BYTES_S]),
                                       cm__lines_number(&lines, c[RESTART_S])};
    cm__fail(ctx, CM_ERR_FORMAT, "data/interruptions.tsv has no row for all providers");
}

double cm__interruption_overhead(const cm__interruptions *i, int32_t instances, double state_bytes, double *interval_s)
{
    double stops_s = instances * i->per_day / DAY, write_s = state_bytes / i->write_bytes_s / instances;
    *interval_s = sqrt(2 * write_s / stops_s);
    return sqrt(2 * write_s * stops_s) + stops_s * i->restart_s;
}
