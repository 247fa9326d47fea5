/* SPDX-License-Identifier: Apache-2.0 */
/* lines.c - read tables of tab-separated cells. */
#include "base/lines.h"

#include <math.h>
#include <string.h>
#include "base/text.h"

static int32_t split(cm__lines *r, size_t length, const char *cells[CM__CELLS_MAX])
{
    int32_t     count = 0;
    const char *at = r->at, *end = at + length;
    while (at <= end && count < CM__CELLS_MAX) {
        const char *tab = memchr(at, '\t', (size_t)(end - at)), *stop = tab ? tab : end;
        cells[count++] = cm__text_copy_n(r->ctx, at, (size_t)(stop - at));
        at = stop + 1;
    }
    return count;
}

bool cm__lines_next(cm__lines *r, const char *cells[CM__CELLS_MAX])
{
    while (*r->at) {
        size_t whole = strcspn(r->at, "\n"), length = whole;
        bool   skip = !length || *r->at == '#' || *r->at == '\r';
        if (length && r->at[length - 1] == '\r') length--;
        r->line++;
        int32_t count = skip ? 0 : split(r, length, cells);
        r->at += whole + (r->at[whole] == '\n');
        if (skip) continue;
        if (count != r->columns)
            cm__fail(r->ctx, CM_ERR_FORMAT, "%s, line %d: %d cells separated by tabs, expected %d", r->name, r->line,
                     count, r->columns);
        return true;
    }
    return false;
}

double cm__lines_number(const cm__lines *r, const char *cell)
{
    double value;
    if (!cm__parse_real(cm__span_of(cell), &value) || !(value > 0) || !isfinite(value))
        cm__fail(r->ctx, CM_ERR_FORMAT, "%s, line %d: '%.40s' is not a number above 0", r->name, r->line, cell);
    return value;
}
