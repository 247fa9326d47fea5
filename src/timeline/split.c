/* SPDX-License-Identifier: Apache-2.0 */
/* split.c - cut a Chrome trace into its events. Braces are counted outside of strings; only one event is stored. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include "timeline/split.h"

#define CHUNK (1 << 16)
#define EVENT_MAX (1 << 22) /* bytes of one event; longer ones are skipped */
#define KEY_MAX 32

typedef struct splitter {
    cm__ctx         *ctx;
    cm__event_visit *visit;
    void            *user;
    cm__split_counts counts;
    char            *event; /* the object that is being read */
    json_t          *tree;  /* the same, parsed; NULL between events */
    size_t           length, capacity;
    int              depth;        /* of braces and brackets */
    int              list_depth;   /* depth of the array whose objects are visited; 0: outside of one */
    char             key[KEY_MAX]; /* the last string at depth 1 */
    size_t           key_length;
    bool             in_string, escaped, found, device, too_long;
} splitter;

static void release(void *user)
{
    splitter *s = user;
    free(s->event);
    json_decref(s->tree);
}

static void store(splitter *s, char c)
{
    if (s->length == EVENT_MAX) s->too_long = true;
    if (s->too_long) return;
    if (s->length == s->capacity) {
        size_t capacity = s->capacity ? 2 * s->capacity : 4096;
        char  *larger = realloc(s->event, capacity);
        if (!larger) cm__fail(s->ctx, CM_ERR_MEMORY, "out of memory for an event");
        s->event = larger;
        s->capacity = capacity;
    }
    s->event[s->length++] = c;
}

static void finish_event(splitter *s)
{
    s->tree = s->too_long ? NULL : json_loadb(s->event, s->length, JSON_DECODE_INT_AS_REAL, NULL);
    s->counts.events++;
    if (json_is_object(s->tree)) s->visit(s->user, s->tree, s->device);
    else s->counts.unreadable++;
    json_decref(s->tree);
    s->tree = NULL;
    s->length = 0;
    s->too_long = false;
}

/* A list of events begins: the value of "traceEvents" or "deviceProperties", or the whole file. */
static void begin_list(splitter *s)
{
    bool events = s->depth == 1 || strcmp(s->key, "traceEvents") == 0, device = strcmp(s->key, "deviceProperties") == 0;
    if (s->list_depth || s->depth > 2 || !(events || device)) return;
    s->list_depth = s->depth;
    s->device = s->depth == 2 && device;
    s->found |= !s->device;
}

static void bracket(splitter *s, char c)
{
    bool open = c == '{' || c == '[';
    if (open) s->depth++;
    if (c == '[') begin_list(s);
    bool inside = s->list_depth && s->depth > s->list_depth;
    if (inside) store(s, c);
    if (open) return;
    s->depth--;
    if (inside && s->depth == s->list_depth) finish_event(s);
    if (s->depth < s->list_depth) s->list_depth = 0;
    if (s->depth < 0) cm__fail(s->ctx, CM_ERR_FORMAT, "not a trace: a bracket is closed that was not opened");
}

static void in_text(splitter *s, char c)
{
    if (s->depth == 1 && s->key_length < KEY_MAX - 1 && c != '"') s->key[s->key_length++] = c;
    if (s->escaped) s->escaped = false;
    else if (c == '\\') s->escaped = true;
    else if (c == '"') {
        s->in_string = false;
        if (s->depth == 1) s->key[s->key_length] = 0;
    }
}

static void take(splitter *s, char c)
{
    bool inside = s->list_depth && s->depth > s->list_depth;
    if (s->in_string) {
        if (inside) store(s, c);
        in_text(s, c);
    } else if (c == '{' || c == '[' || c == '}' || c == ']') bracket(s, c);
    else {
        if (inside) store(s, c);
        if (c != '"') return;
        s->in_string = true;
        if (s->depth == 1) s->key_length = 0;
    }
}

cm__split_counts cm__split_events(cm__ctx *ctx, const cm__bytes *bytes, cm__event_visit *visit, void *user)
{
    splitter *s = cm__alloc(ctx, sizeof *s);
    char     *buffer = cm__alloc(ctx, CHUNK);
    *s = (splitter){.ctx = ctx, .visit = visit, .user = user};
    cm__defer(ctx, release, s);
    for (size_t n; (n = bytes->read(bytes->user, buffer, CHUNK)) > 0;)
        for (size_t i = 0; i < n; i++) take(s, buffer[i]);
    if (!s->found) cm__fail(ctx, CM_ERR_FORMAT, "not a profiler trace: it has no array \"traceEvents\"");
    if (s->depth > 0) cm__fail(ctx, CM_ERR_FORMAT, "the trace is cut off after %lld events",
                               (long long)s->counts.events);
    return s->counts;
}

/* ---- files ------------------------------------------------------------------------------------------------------ */

typedef struct source {
    cm__ctx *ctx;
    gzFile   file;
} source;

static size_t read_file(void *user, char *buffer, size_t size)
{
    source *s = user;
    int     n = gzread(s->file, buffer, (unsigned)size), error = 0;
    if (n >= 0 && gzerror(s->file, &error) && error != Z_BUF_ERROR) return (size_t)n;
    cm__fail(s->ctx, CM_ERR_FORMAT, "cannot be read: %s", n >= 0 ? "the compressed data ends early" : "bad gzip data");
}

static void close_file(void *user) { gzclose(((source *)user)->file); }

static void rewind_file(void *user)
{
    source *s = user;
    if (gzrewind(s->file) != 0) cm__fail(s->ctx, CM_ERR_IO, "cannot be read twice: is it a pipe?");
}

cm__bytes cm__trace_file(cm__ctx *ctx, const char *path)
{
    source *s = cm__alloc(ctx, sizeof *s);
    *s = (source){ctx, gzopen(path, "rb")};
    ctx->file = path;
    if (!s->file) cm__fail(ctx, CM_ERR_IO, "%s", strerror(errno));
    cm__defer(ctx, close_file, s);
    gzbuffer(s->file, CHUNK);
    return (cm__bytes){read_file, s, rewind_file};
}
