/* SPDX-License-Identifier: Apache-2.0 */
/*
 * serve.h - the program's answers over HTTP, for the page that it brings; on this machine alone unless told otherwise.
 *
 * A request is a row of routes (routes.c): a file of the page, or a command whose options are taken from the query,
 * each from a list of those allowed. Named models are answered in this process; what a visitor describes or uploads is
 * read by another one, with limits on its memory, time and output (child.c). Nothing of a request becomes a path or a
 * command.
 */
#ifndef CM_SERVE_SERVE_H
#define CM_SERVE_SERVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/ctx.h"

/* The program as a function: cm_answer(). */
typedef int cm__answer(int argc, const char *const *argv, char **result, char **notes); /* texts are malloc'ed */

#define CM__HOSTS_MOST 16

typedef struct cm__serve_options {
    uint16_t    port;         /* 0: any that is free */
    const char *bind;         /* an IPv4 or IPv6 address; NULL: 127.0.0.1 */
    const char *hosts[CM__HOSTS_MOST]; /* further names that requests may ask for, "name" or "name:port" */
    int32_t     n_hosts;
    int64_t     upload_bytes; /* most of one file; 0: 600 MB */
    cm__answer *answer;
    const char *program;      /* what runs in the other process: its own file */
    void (*ready)(void *user, const char *host, uint16_t port); /* as a URL has them */
    void *user;
} cm__serve_options;

/* Serves until SIGINT or SIGTERM. */
cm_status cm__serve(const cm__serve_options *options, cm_diag *diag);

/* ---- uploads.c -------------------------------------------------------------------------------------------------- */

typedef struct cm__uploads cm__uploads;
typedef struct cm__upload  cm__upload; /* one that is being written */

#define CM__UPLOAD_ID 33
#define CM__UPLOAD_NAME 80

cm__uploads *cm__uploads_new(int64_t most_bytes, cm_diag *diag); /* NULL: no folder for them */
void         cm__uploads_free(cm__uploads *uploads);             /* and their files */
/* NULL: a name that no model file has, as *why says; *why NULL: no room. */
cm__upload  *cm__upload_begin(cm__uploads *uploads, const char *name, const char **why);
bool         cm__upload_write(cm__upload *upload, const char *data, size_t size); /* false: too large, or no room */
void         cm__upload_drop(cm__upload *upload);
void         cm__upload_finish(cm__upload *upload, char id[CM__UPLOAD_ID]);
/* The folder and the name of an upload; false: gone, or never there. */
bool         cm__upload_find(cm__uploads *uploads, const char *id, char folder[256], char name[CM__UPLOAD_NAME]);
void         cm__upload_forget(cm__uploads *uploads, const char *id);

/* ---- child.c ---------------------------------------------------------------------------------------------------- */

/* Runs a program in a folder with limits; its exit status, or -1: it was ended, and `notes` says why. Texts are
   malloc'ed. */
int cm__child_run(const char *program, const char *folder, int argc, const char *const *argv, char **result,
                  char **notes);

/* ---- routes.c --------------------------------------------------------------------------------------------------- */

typedef struct cm__asked {
    const char *path;
    /* The value of a key of the query; NULL: absent. */
    const char *(*value)(const void *request, const char *key);
    const void *request;
} cm__asked;

typedef struct cm__reply {
    unsigned    status;
    const char *type;
    char       *text;   /* malloc'ed, or, where it is kept, the page's own */
    size_t      size;
    bool        kept;
} cm__reply;

typedef struct cm__routes cm__routes;

cm__routes *cm__routes_new(const cm__serve_options *options, cm__uploads *uploads); /* NULL: no memory */
void        cm__routes_free(cm__routes *routes);
void        cm__routes_get(cm__routes *routes, const cm__asked *asked, cm__reply *reply);
/* After an upload: read once, in the other process; a file that is no model is forgotten. */
void        cm__routes_uploaded(cm__routes *routes, const char *id, cm__reply *reply);
void        cm__reply_error(cm__reply *reply, unsigned status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
