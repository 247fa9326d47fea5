/* SPDX-License-Identifier: Apache-2.0 */
/* locate.c - find a path in a JSON text by walking its tokens; the text was parsed before, so it is well-formed. */
#include "device/locate.h"

#include <stdio.h>
#include <string.h>

/* ---- tokens ----------------------------------------------------------------------------------------------------- */

typedef struct cursor {
    const char *at, *end;
    int32_t     line;
} cursor;

static char peek(const cursor *c) { return c->at < c->end ? *c->at : 0; }

static void advance(cursor *c)
{
    if (c->at >= c->end) return;
    c->line += *c->at == '\n';
    c->at++;
}

static void skip_spaces(cursor *c)
{
    while (c->at < c->end && strchr(" \t\r\n", *c->at) && *c->at) advance(c);
}

static bool take(cursor *c, char expected)
{
    skip_spaces(c);
    if (peek(c) != expected) return false;
    advance(c);
    return true;
}

/* The raw characters of a string, between its quotes. */
static bool take_string(cursor *c, const char **start, size_t *length)
{
    if (!take(c, '"')) return false;
    *start = c->at;
    while (c->at < c->end && *c->at != '"') {
        if (*c->at == '\\') advance(c);
        advance(c);
    }
    *length = (size_t)(c->at - *start);
    return take(c, '"');
}

/* Skip one value of any type; nesting is counted, without recursion. */
static void skip_value(cursor *c)
{
    const char *start;
    size_t      length, depth = 0;
    skip_spaces(c);
    while (c->at < c->end) {
        if (*c->at == '"') take_string(c, &start, &length);
        else if (depth == 0 && strchr(",]}", *c->at)) return;
        else {
            if (strchr("[{", *c->at)) depth++;
            if (strchr("]}", *c->at)) depth--;
            advance(c);
        }
        if (depth == 0 && strchr("\"]}", c->at[-1])) return;
    }
}

/* ---- steps ------------------------------------------------------------------------------------------------------ */

static bool enter_member(cursor *c, const char *key)
{
    const char *start;
    size_t      length, wanted = strlen(key);
    if (!take(c, '{')) return false;
    do {
        skip_spaces(c);
        cursor here = *c;
        if (!take_string(c, &start, &length) || !take(c, ':')) return false;
        if (length == wanted && memcmp(start, key, length) == 0) {
            c->line = here.line; /* the key's line, since the value may be on another */
            return true;
        }
        skip_value(c);
    } while (take(c, ','));
    return false;
}

static bool enter_element(cursor *c, size_t index)
{
    if (!take(c, '[')) return false;
    for (; index; index--) {
        skip_value(c);
        if (!take(c, ',')) return false;
    }
    skip_spaces(c);
    return peek(c) != ']';
}

/* Walk to the end of a path; false: `c` is at the last step that exists. */
static bool walk(cursor *c, const cm__step *path)
{
    if (!path) return true;
    if (!walk(c, path->parent)) return false;
    cursor next = *c;
    bool   there = path->key ? enter_member(&next, path->key) : enter_element(&next, path->index);
    if (there) *c = next;
    return there;
}

int32_t cm__path_line(const cm__step *path, const char *text, size_t size)
{
    cursor c = {text, text + size, 1};
    skip_spaces(&c);
    walk(&c, path);
    return c.line;
}

/* ---- words ------------------------------------------------------------------------------------------------------ */

static size_t append(const cm__step *path, char *buf, size_t size)
{
    if (!path) return 0;
    size_t used = append(path->parent, buf, size);
    if (used >= size) return used;
    int more = path->key ? snprintf(buf + used, size - used, "%s%s", used ? "." : "", path->key)
                         : snprintf(buf + used, size - used, "[%zu]", path->index);
    return used + (size_t)more;
}

char *cm__path_text(const cm__step *path, char *buf, size_t size)
{
    *buf = 0;
    append(path, buf, size);
    return buf;
}

void cm__refuse(cm__ctx *ctx, const cm__origin *origin, const cm__step *path, const char *format, ...)
{
    char    where[160], reason[400];
    va_list args;
    va_start(args, format);
    vsnprintf(reason, sizeof reason, format, args);
    va_end(args);
    cm__path_text(path, where, sizeof where);
    ctx->file = origin->file;
    if (origin->file && origin->text)
        cm__place(ctx, "line %d%s%s", cm__path_line(path, origin->text, origin->size), *where ? ": " : "", where);
    else cm__place(ctx, "%s", where);
    cm__fail(ctx, CM_ERR_FORMAT, "%s", reason);
}
