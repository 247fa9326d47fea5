/* SPDX-License-Identifier: Apache-2.0 */
/*
 * site.c - the server of `centimani serve` as functions of a WebAssembly module, for a page without a server.
 *
 * The routes are those of the server (src/serve/routes.c). Uploaded files are in a file system in memory. There is no
 * child process: the browser confines the module, and the page starts a new one if a file makes it fail.
 */
#include <emscripten.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "answer.h"
#include "cli.h"
#include "serve/serve.h"

#define UPLOAD_BYTES ((int64_t)600 << 20)

static const cm__serve_options serving = {.answer = cm_answer};
static cm__uploads            *uploads;
static cm__routes             *routes;
static cm__reply               reply; /* the last one; the page copies it before it asks again */

int cm__child_run(const char *program, const char *folder, int argc, const char *const *argv, char **result, char **notes)
{
    (void)program;
    *result = *notes = NULL;
    if (chdir(folder)) return -1;
    int status = cm_answer(argc, argv, result, notes);
    return chdir("/") ? -1 : status;
}

/* A browser is no machine to measure, and its memory is not a device's. */
int run_bench(settings *s)
{
    (void)s;
    say("bench: not in the browser");
    return EXIT_FAILED;
}

static bool started(void)
{
    cm_diag diag = {0};
    if (!uploads) uploads = cm__uploads_new(UPLOAD_BYTES, &diag);
    if (uploads && !routes) routes = cm__routes_new(&serving, uploads);
    if (!routes) cm__reply_error(&reply, 503, "out of memory");
    return routes;
}

static void forget_reply(void)
{
    if (!reply.kept) free(reply.text);
    reply = (cm__reply){0};
}

/* A query is a text of lines: key, value, key, value ... Line ends become zeros, so that values are texts. */
typedef struct lines {
    const char *begin, *end;
} lines;

static lines split(char *query)
{
    lines l = {query, query + strlen(query)};
    for (char *c = query; *c; c++)
        if (*c == '\n') *c = '\0';
    return l;
}

static const char *value_in(const void *request, const char *key)
{
    const lines *l = request;
    for (const char *at = l->begin; at < l->end;) {
        const char *value = at + strlen(at) + 1;
        if (value > l->end) return NULL;
        if (strcmp(at, key) == 0) return value;
        at = value + strlen(value) + 1;
    }
    return NULL;
}

/* Answer a question. Returns the HTTP status; the functions below give the answer itself. */
EMSCRIPTEN_KEEPALIVE int cm_site_get(const char *path, char *query)
{
    lines     l = split(query);
    cm__query q = {.path = path, .value = value_in, .request = &l};
    forget_reply();
    if (started()) cm__routes_get(routes, &q, &reply);
    return (int)reply.status;
}

EMSCRIPTEN_KEEPALIVE const char *cm_site_text(void) { return reply.text; }
EMSCRIPTEN_KEEPALIVE size_t      cm_site_size(void) { return reply.text ? reply.size : 0; }
EMSCRIPTEN_KEEPALIVE const char *cm_site_type(void) { return reply.type ? reply.type : "application/json"; }

/* Begin a file. NULL: cm_site_text() says why it is refused. */
EMSCRIPTEN_KEEPALIVE cm__upload *cm_site_upload(const char *name)
{
    const char *why = NULL;
    forget_reply();
    cm__upload *one = started() ? cm__upload_begin(uploads, name, &why) : NULL;
    if (!one && !reply.text) cm__reply_error(&reply, 400, "%s", why ? why : "out of memory");
    return one;
}

EMSCRIPTEN_KEEPALIVE bool cm_site_write(cm__upload *one, const char *data, size_t size)
{
    if (cm__upload_write(one, data, size)) return true;
    cm__upload_drop(one);
    cm__reply_error(&reply, 413, "the file is larger than %d MiB", (int)(UPLOAD_BYTES >> 20));
    return false;
}

/* End a file and read it. Returns the HTTP status. */
EMSCRIPTEN_KEEPALIVE int cm_site_uploaded(cm__upload *one)
{
    char id[CM__UPLOAD_ID];
    cm__upload_finish(one, id);
    cm__routes_uploaded(routes, id, &reply);
    return (int)reply.status;
}
