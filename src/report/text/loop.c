/* SPDX-License-Identifier: Apache-2.0 */
/* loop.c - print the phases of a step of post-training as a table. */
#include "base/text.h"
#include "report/text/predict_parts.h"
#include "report/table.h"

void cm__print_loop(cm__ctx *ctx, const cm__loop *loop, bool timed, FILE *out)
{
    static const cm__column columns[] = {{"phase"}, {"peak", "B"}, {"time", "s"}, {"share", "%"}};
    cm__table               table = cm__table_new(ctx, out, columns, timed ? 4 : 2);
    char                    buf[32];
    for (int p = 0; p < CM__PHASES; p++) {
        const cm__phase *x = &loop->phases[p];
        const char      *cells[] = {x->name, cm__cell_binary(ctx, x->peak_bytes),
                                    timed ? cm__cell_si(ctx, x->time_s) : "",
                                    timed ? cm__cell_percent(ctx, x->time_s, loop->total_s) : ""};
        cm__table_row(&table, cells);
    }
    cm__table_print(&table);
    if (timed)
        fprintf(out, "%s per step of all phases, 90 %% interval %s to %s; %.4g new tokens/s\n",
                cm__seconds(ctx, loop->total_s), cm__seconds(ctx, loop->interval_s[0]),
                cm__seconds(ctx, loop->interval_s[1]), loop->new_tokens_s);
    fprintf(out, "%sB of weights and states stay in memory in all phases\n\n",
            cm__binary(buf, sizeof buf, loop->resident_bytes));
}
