/* SPDX-License-Identifier: Apache-2.0 */
/* cells.c - format numbers as cells of tables. */
#include <math.h>
#include <string.h>
#include "base/text.h"
#include "report/table.h"

const char *cm__cell_si(cm__ctx *ctx, double value)
{
    char buf[32];
    if (!isfinite(value)) return "-  ";
    cm__si(buf, sizeof buf, value);
    return cm__format(ctx, "%s%s", buf, buf[strlen(buf) - 1] == ' ' ? " " : ""); /* align digits in a column */
}

const char *cm__cell_binary(cm__ctx *ctx, double value)
{
    char buf[32];
    return !isfinite(value) ? "-" : cm__text_copy(ctx, cm__binary(buf, sizeof buf, value));
}

const char *cm__cell_interval(cm__ctx *ctx, const double interval[2])
{
    char low[32], high[32];
    cm__si_small(low, sizeof low, interval[0]);
    cm__si_small(high, sizeof high, interval[1]);
    char *unit = strchr(low, ' '), *other = strchr(high, ' ');
    if (unit && other && strcmp(unit, other) == 0) *unit = 0; /* print a common unit once */
    return cm__format(ctx, "%s-%s", low, high);
}

const char *cm__cell_percent(cm__ctx *ctx, double part, double whole)
{
    return whole > 0 && isfinite(part / whole) ? cm__format(ctx, "%.1f", 100 * part / whole) : "-";
}

const char *cm__cell_ratio(cm__ctx *ctx, double value)
{
    return !isfinite(value) ? "-" : cm__format(ctx, "%.*f", value < 10 ? 2 : value < 100 ? 1 : 0, value);
}

const char *cm__cell_count(cm__ctx *ctx, int64_t value)
{
    char buf[32];
    return cm__text_copy(ctx, cm__grouped(buf, sizeof buf, value));
}
