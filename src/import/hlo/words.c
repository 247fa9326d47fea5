/* SPDX-License-Identifier: Apache-2.0 */
/* words.c - words, texts and brackets of both forms of a module's text, and the line where reading fails. */
#include <string.h>
#include "import/hlo/parse.h"

noreturn void cm__hlo_fail(const cm__hlo_parser *t, const char *why)
{
    int length = 0;
    while (length < 40 && t->p + length < t->end && t->p[length] != '\n') length++;
    cm__place(t->ctx, "line %d", t->line);
    cm__fail(t->ctx, CM_ERR_FORMAT, "%s at '%.*s'", why, length, t->p);
}

bool cm__hlo_at(const cm__hlo_parser *t, const char *text)
{
    size_t length = strlen(text);
    return (size_t)(t->end - t->p) >= length && memcmp(t->p, text, length) == 0;
}

void cm__hlo_skip(cm__hlo_parser *t)
{
    while (t->p < t->end)
        if (strchr(" \t\r\n", *t->p) && *t->p) cm__hlo_next(t);
        else if (cm__hlo_at(t, "//"))
            while (t->p < t->end && *t->p != '\n') t->p++;
        else return;
}

bool cm__hlo_take(cm__hlo_parser *t, const char *text)
{
    cm__hlo_skip(t);
    if (!cm__hlo_at(t, text)) return false;
    t->p += strlen(text);
    return true;
}

void cm__hlo_need(cm__hlo_parser *t, const char *text)
{
    if (!cm__hlo_take(t, text)) cm__hlo_fail(t, cm__format(t->ctx, "'%s' is expected", text));
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '$' || c == '-';
}

cm__span cm__hlo_word(cm__hlo_parser *t)
{
    const char *start = t->p;
    while (t->p < t->end && is_word(*t->p) && !cm__hlo_at(t, "->")) t->p++;
    return (cm__span){start, (size_t)(t->p - start)};
}

void cm__hlo_string(cm__hlo_parser *t)
{
    for (t->p++; t->p < t->end && *t->p != '"'; cm__hlo_next(t))
        if (*t->p == '\\' && t->p + 1 < t->end) t->p++;
    if (t->p >= t->end) cm__hlo_fail(t, "a text without an end");
    t->p++;
}

cm__span cm__hlo_bracketed(cm__hlo_parser *t, const char *open, const char *close)
{
    const char *start = t->p;
    int32_t     depth = 0;
    do {
        if (t->p >= t->end) cm__hlo_fail(t, "a bracket that nothing closes");
        if (*t->p == '"') {
            cm__hlo_string(t);
            continue;
        }
        if (cm__hlo_at(t, "->")) t->p++;
        else if (strchr(open, *t->p)) depth++;
        else if (strchr(close, *t->p)) depth--;
        cm__hlo_next(t);
    } while (depth > 0);
    return (cm__span){start, (size_t)(t->p - start)};
}
