/* SPDX-License-Identifier: Apache-2.0 */
/* cells.c - format numbers as cells of tables, those of a column with one prefix. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/text.h"
#include "report/table.h"

/*
 * A quantity is written exactly ("\037d" and one or two numbers) until the table knows all cells of its column:
 * cm__cells_scale() chooses one prefix for them. No other cell has a control character.
 */
#define QUANTITY '\037'
#define DIGITS_MOST 1e5 /* larger numbers have a prefix */
#define TINY 1e-4       /* smaller numbers have an exponent */

enum kind { DECIMAL = 'd', BINARY = 'b', PLAIN = 'p' }; /* PLAIN: without a prefix */

static const char *quantity(cm__ctx *ctx, enum kind kind, double value)
{
    return isfinite(value) ? cm__format(ctx, "%c%c%a", QUANTITY, kind, value) : "-";
}

const char *cm__cell_si(cm__ctx *ctx, double value) { return quantity(ctx, DECIMAL, value); }
const char *cm__cell_binary(cm__ctx *ctx, double value) { return quantity(ctx, BINARY, value); }
const char *cm__cell_number(cm__ctx *ctx, double value) { return quantity(ctx, PLAIN, value); }

static const char *pair(cm__ctx *ctx, enum kind kind, const double *interval)
{
    bool known = isfinite(interval[0]) && isfinite(interval[1]);
    return known ? cm__format(ctx, "%c%c%a %a", QUANTITY, kind, interval[0], interval[1]) : "-";
}

const char *cm__cell_interval(cm__ctx *ctx, const double interval[2]) { return pair(ctx, DECIMAL, interval); }
const char *cm__cell_number_interval(cm__ctx *ctx, const double interval[2]) { return pair(ctx, PLAIN, interval); }

/* Numbers of a quantity: 1 or 2; 0: the cell is a text. */
static int numbers_of(const char *cell, double values[2])
{
    char *end;
    if (*cell != QUANTITY) return 0;
    values[0] = strtod(cell + 2, &end);
    if (!*end) return 1;
    values[1] = strtod(end, NULL);
    return 2;
}

/* Three digits (two below 0.1), or all digits before the point. */
static const char *digits(cm__ctx *ctx, double value)
{
    char   buf[32];
    double far = fabs(value);
    if (far >= 9999.5 && far < 1e15) return cm__text_copy(ctx, cm__grouped(buf, sizeof buf, llround(value)));
    if (far >= 99.95 || value == 0) return cm__format(ctx, "%.0f", value);
    if (far >= 0.995) return cm__format(ctx, "%.*f", far < 9.995 ? 2 : 1, value);
    if (far < TINY) return cm__format(ctx, "%.1e", value);
    return far >= 0.0995 ? cm__format(ctx, "%.3f", value) : cm__format(ctx, "%.*f", 1 - (int)floor(log10(far)), value);
}

/* The smallest and largest number of a column, and whether all are whole. */
typedef struct range {
    double low, high;
    bool   whole;
    char   kind; /* 0: no quantities */
} range;

static range range_of(const char **cells, int32_t count)
{
    range  r = {INFINITY, 0, true, 0};
    double values[2];
    for (int32_t i = 0; i < count; i++)
        for (int k = 0, n = numbers_of(cells[i], values); k < n; k++) {
            r.kind = cells[i][1];
            r.whole = r.whole && values[k] == floor(values[k]);
            if (values[k] == 0) continue;
            r.low = fmin(r.low, fabs(values[k]));
            r.high = fmax(r.high, fabs(values[k]));
        }
    return r;
}

/* The prefix of the largest number, or the next smaller one if the smallest number would begin with zeros. */
static const char *prefix_of(const range *r, double *step)
{
    static const char *const decimal[] = {"p", "n", "u", "m", "", "k", "M", "G", "T", "P", "E"};
    static const char *const binary[] = {"", "", "", "", "", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
    double                   base = r->kind == BINARY ? 1024 : 1000;
    int                      at = 4, least = r->kind == BINARY ? 4 : 0;
    *step = 1;
    if (r->kind == PLAIN || !(r->high > 0) || (r->whole && r->high < DIGITS_MOST)) return "";
    for (; at < 10 && r->high >= 0.9995 * base * *step; at++) *step *= base;
    for (; at > least && r->high < 0.9995 * *step; at--) *step /= base;
    for (; at > least && r->low < 0.01 * *step && r->high * base < DIGITS_MOST * *step; at--) *step /= base;
    return (r->kind == BINARY ? binary : decimal)[at];
}

const char *cm__cells_scale(cm__ctx *ctx, const char **cells, int32_t count, const char *unit)
{
    range       r = range_of(cells, count);
    double      step = 1, values[2];
    const char *prefix = r.kind ? prefix_of(&r, &step) : "";
    for (int32_t i = 0; i < count; i++) {
        int  n = numbers_of(cells[i], values);
        bool whole = r.whole && step == 1 && n == 1 && fabs(values[0]) < 9999.5;
        if (n == 2) cells[i] = cm__format(ctx, "%s-%s", digits(ctx, values[0] / step), digits(ctx, values[1] / step));
        else if (n) cells[i] = whole ? cm__format(ctx, "%.0f", values[0]) : digits(ctx, values[0] / step);
    }
    return *prefix && *unit == '1' ? cm__text_join(ctx, prefix, unit + 1) : cm__text_join(ctx, prefix, unit);
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
