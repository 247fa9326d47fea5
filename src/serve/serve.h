/* SPDX-License-Identifier: Apache-2.0 */
/*
 * serve.h - the program's answers over HTTP, for its own web page. By default, only this machine can connect.
 *
 * Each URL is a row of a table in routes.c: a file of the page, or a command whose options are taken from the query if
 * a list allows them. This process answers questions about built-in models. A child process with limited memory, time
 * and output (child.c) reads models that clients describe or upload. No part of a request becomes a path or a command.
 */
#ifndef CM_SERVE_SERVE_H
#define CM_SERVE_SERVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/ctx.h"

/* Runs a command line of the program: cm_answer(). */
typedef int cm__answer(int argc, const char *const *argv, char **result, char **notes); /* malloc'ed texts */

#define CM__HOSTS_MOST 16

typedef struct cm__serve_options {
    uint16_t    port;         /* 0: any free port */
    const char *bind;         /* an IPv4 or IPv6 address; NULL: 127.0.0.1 */
    const char *hosts[CM__HOSTS_MOST]; /* additional host names that requests may use, "name" or "name:port" */
    int32_t     n_hosts;
    int64_t     upload_bytes; /* largest file; 0: 600 MB */
    cm__answer *answer;
    const char *program;      /* path of this program, which the child process runs */
    void (*ready)(void *user, const char *host, uint16_t port); /* in the form for a URL */
    void *user;
} cm__serve_options;

/* Serves until SIGINT or SIGTERM. */
cm_status cm__serve(const cm__serve_options *options, cm_diag *diag);

/* ---- uploads.c -------------------------------------------------------------------------------------------------- */

typedef struct cm__uploads cm__uploads;
typedef struct cm__upload  cm__upload; /* an upload in progress */

#define CM__UPLOAD_ID 33
#define CM__UPLOAD_NAME 80

cm__uploads *cm__uploads_new(int64_t most_bytes, cm_diag *diag); /* NULL: no folder can be created */
void         cm__uploads_free(cm__uploads *uploads);             /* deletes the files, too */
/* NULL: *why says that the name is not that of a model file, or *why is NULL because of too many uploads. */
cm__upload  *cm__upload_begin(cm__uploads *uploads, const char *name, const char **why);
bool         cm__upload_write(cm__upload *upload, const char *data, size_t size); /* false: too large or disk full */
void         cm__upload_drop(cm__upload *upload);
void         cm__upload_finish(cm__upload *upload, char id[CM__UPLOAD_ID]);
/* Get the folder and file name of an upload; false: deleted or unknown. */
bool         cm__upload_find(cm__uploads *uploads, const char *id, char folder[256], char name[CM__UPLOAD_NAME]);
void         cm__upload_forget(cm__uploads *uploads, const char *id);

/* ---- child.c ---------------------------------------------------------------------------------------------------- */

/* Run a program in a folder with limits. Returns its exit status, or -1 if it was killed; then `notes` gives the
   reason. The texts are malloc'ed. */
int cm__child_run(const char *program, const char *folder, int argc, const char *const *argv, char **result,
                  char **notes);

/* ---- routes.c --------------------------------------------------------------------------------------------------- */

typedef struct cm__query {
    const char *path;
    /* The value of a key in the query; NULL: absent. */
    const char *(*value)(const void *request, const char *key);
    const void *request;
} cm__query;

typedef struct cm__reply {
    unsigned    status;
    const char *type;
    char       *text;   /* malloc'ed, or static if `kept` */
    size_t      size;
    bool        kept;
} cm__reply;

typedef struct cm__routes cm__routes;

cm__routes *cm__routes_new(const cm__serve_options *options, cm__uploads *uploads); /* NULL: out of memory */
void        cm__routes_free(cm__routes *routes);
void        cm__routes_get(cm__routes *routes, const cm__query *query, cm__reply *reply);
/* Read an uploaded file once in a child process, and delete it if it is not a model. */
void        cm__routes_uploaded(cm__routes *routes, const char *id, cm__reply *reply);
void        cm__reply_error(cm__reply *reply, unsigned status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- page.c ----------------------------------------------------------------------------------------------------- */

/* The page with the answer to the question in its address, so that a browser shows it with its first frame. */
typedef struct cm__page cm__page;

/* The question of a page that is opened without one: the first example of web/question.js, in the page's fields. */
#define CM__FIRST_QUESTION "model=resnet50&data=1281167&epochs=90&within=24h"

cm__page *cm__page_new(cm__routes *routes, const cm__query *address); /* NULL: out of memory */
void      cm__page_free(cm__page *page);
/* Copy the next part of the document; 0: the end. The part after the form waits until the answer is computed. */
size_t    cm__page_read(cm__page *page, char *buf, size_t size);
/* Compute the answer to the first question before it is asked. */
void      cm__page_prepare(cm__routes *routes);

#endif
