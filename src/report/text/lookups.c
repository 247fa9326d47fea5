/* SPDX-License-Identifier: Apache-2.0 */
/* lookups.c - print random look-ups per second as text. */
#include <math.h>
#include <string.h>
#include "base/text.h"
#include "report/render.h"
#include "report/table.h"

#define COUNT(array) ((int32_t)(sizeof(array) / sizeof *(array)))

static const char *seconds(cm__ctx *ctx, double time_s)
{
    return cm__cell_si(ctx, time_s);
}

/* Devices with the same reason share a line. */
static void reasons(cm__ctx *ctx, const cm__lookups_report *r, FILE *out)
{
    if (r->n_rated == r->n_rows) return;
    fprintf(out, "%snot predicted\n", r->n_rated ? "\n" : "");
    for (int32_t i = r->n_rated; i < r->n_rows; i++) {
        const char *names = NULL;
        bool        first = true;
        for (int32_t k = r->n_rated; k < r->n_rows; k++) {
            if (strcmp(r->rows[i].reason, r->rows[k].reason)) continue;
            if (k < i) first = false;
            names = names ? cm__format(ctx, "%s, %s", names, r->rows[k].id) : r->rows[k].id;
        }
        if (first) fprintf(out, "  %s: %s\n", cm__printable(ctx, r->rows[i].reason), cm__printable(ctx, names));
    }
}

void cm__lookups_text(cm__ctx *ctx, const cm__lookups_report *r, FILE *out)
{
    static const cm__column columns[] = {{"device"},         {"look-ups", "1/s"}, {"90 % interval", "1/s"},
                                         {"bandwidth", "s"}, {"latency", "s"},    {"instructions", "s"},
                                         {"traffic", "B"},   {"limited by"}};
    char buf[32];
    fprintf(out, "# centimani %s, random look-ups of cross sections (XSBench)\n", CM_VERSION);
    if (r->n_rated) fprintf(out, "# tables of %sB; times and traffic of one look-up\n\n",
                            cm__binary(buf, sizeof buf, r->rows[0].rate.table_bytes));
    cm__table table = cm__table_new(ctx, out, columns, COUNT(columns));
    for (int32_t i = 0; i < r->n_rated; i++) {
        const cm_lookup_rate *rate = &r->rows[i].rate;
        const char           *cells[] = {cm__printable(ctx, r->rows[i].id),
                                         cm__cell_si(ctx, rate->lookups_s),
                                         cm__cell_interval(ctx, (const double[2]){rate->low_s, rate->high_s}),
                                         seconds(ctx, rate->times_s[CM_LOOKUP_BANDWIDTH]),
                                         seconds(ctx, rate->times_s[CM_LOOKUP_LATENCY]),
                                         seconds(ctx, rate->times_s[CM_LOOKUP_INSTRUCTIONS]),
                                         cm__cell_binary(ctx, rate->traffic_bytes),
                                         cm__lookup_bound_name(rate->bound)};
        cm__table_row(&table, cells);
    }
    if (r->n_rated) cm__table_print(&table);
    reasons(ctx, r, out);
}
