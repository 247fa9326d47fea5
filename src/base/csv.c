/* SPDX-License-Identifier: Apache-2.0 */
/* csv.c - read comma-separated fields, quoted or not. */
#include "base/csv.h"

#include "base/text.h"

static void quoted_field(cm__csv *in, cm__span *field)
{
    const char *start = in->at + 1, *close = start;
    while (close < in->end && (*close != '"' || (close + 1 < in->end && close[1] == '"')))
        close += *close == '"' ? 2 : 1;
    if (close >= in->end) cm__fail(in->ctx, CM_ERR_FORMAT, "line %d: a quote is not closed", in->line);
    *field = (cm__span){start, (size_t)(close - start)};
    in->at = close + 1;
    if (in->at < in->end && *in->at == '\r') in->at++;
    if (in->at < in->end && *in->at != ',' && *in->at != '\n')
        cm__fail(in->ctx, CM_ERR_FORMAT, "line %d: text after a closing quote", in->line);
}

static void bare_field(cm__csv *in, cm__span *field)
{
    const char *start = in->at;
    while (in->at < in->end && *in->at != ',' && *in->at != '\n') in->at++;
    size_t length = (size_t)(in->at - start);
    *field = (cm__span){start, length && start[length - 1] == '\r' ? length - 1 : length};
}

/* Read the next field of a line; false: the line has ended. */
static bool next_field(cm__csv *in, bool *more, cm__span *field)
{
    if (!*more) return false;
    if (in->at < in->end && *in->at == '"') quoted_field(in, field);
    else bare_field(in, field);
    *more = in->at < in->end && *in->at == ',';
    if (in->at < in->end) in->at++;
    return true;
}

cm__csv cm__csv_open(cm__ctx *ctx, const char *text, size_t size, const char *const *names, int n_names)
{
    cm__csv  in = {.ctx = ctx, .at = text, .end = text + size, .line = 1, .n_names = n_names};
    bool     more = true;
    cm__span name;
    while (next_field(&in, &more, &name)) {
        if (in.n_columns == CM__CSV_COLUMNS)
            cm__fail(ctx, CM_ERR_FORMAT, "line 1: more than %d columns", CM__CSV_COLUMNS);
        in.columns[in.n_columns] = -1;
        for (int8_t f = 0; f < n_names; f++)
            if (cm__span_is(name, names[f])) in.columns[in.n_columns] = f, in.found[f] = true;
        in.n_columns++;
    }
    return in;
}

bool cm__csv_row(cm__csv *in, cm__span *fields)
{
    while (in->at < in->end) {
        cm__span field = {"", 0};
        bool     more = true;
        int32_t  column = 0;
        for (int f = 0; f < in->n_names; f++) fields[f] = (cm__span){"", 0};
        in->line++;
        while (next_field(in, &more, &field)) {
            if (column < in->n_columns && in->columns[column] >= 0) fields[in->columns[column]] = field;
            column++;
        }
        if (column == 1 && field.length == 0) continue;
        if (column != in->n_columns)
            cm__fail(in->ctx, CM_ERR_FORMAT, "line %d: %d fields, the header has %d", in->line, column, in->n_columns);
        if (in->line > CM__CSV_LINES) cm__fail(in->ctx, CM_ERR_LIMIT, "more than %d lines", CM__CSV_LINES);
        return true;
    }
    return false;
}
