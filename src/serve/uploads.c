/* SPDX-License-Identifier: Apache-2.0 */
/* uploads.c - uploaded model files: a few at a time, in a temporary folder that lasts as long as the server. */
#include <ctype.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>
#include "serve/serve.h"

#define FILES_MOST 8

typedef struct kept {
    char id[CM__UPLOAD_ID], name[CM__UPLOAD_NAME];
    uint64_t age;
    bool     used;
} kept;

struct cm__uploads {
    pthread_mutex_t lock;
    char            folder[128];
    int64_t         most_bytes;
    uint64_t        clock;
    int32_t         writing; /* uploads in progress */
    kept            files[FILES_MOST];
};

struct cm__upload {
    cm__uploads *all;
    kept         file;
    int          to;
    int64_t      size;
};

cm__uploads *cm__uploads_new(int64_t most_bytes, cm_diag *diag)
{
    const char  *temporary = getenv("TMPDIR");
    cm__uploads *u = calloc(1, sizeof *u);
    if (!u) return NULL;
    pthread_mutex_init(&u->lock, NULL);
    u->most_bytes = most_bytes;
    if (!temporary || !*temporary) temporary = "/tmp";
    int length = snprintf(u->folder, sizeof u->folder, "%s/centimani-XXXXXX", temporary);
    if (length < (int)sizeof u->folder && mkdtemp(u->folder)) return u;
    cm__diag_set(diag, CM_ERR_IO, "cannot create a folder for uploads in %.100s; TMPDIR names another", temporary);
    free(u);
    return NULL;
}

static void path_of(const cm__uploads *u, const kept *k, bool file, char path[512])
{
    snprintf(path, 512, file ? "%s/%s/%s" : "%s/%s", u->folder, k->id, k->name);
}

static void erase(const cm__uploads *u, kept *k)
{
    char path[512];
    path_of(u, k, true, path);
    unlink(path);
    path_of(u, k, false, path);
    rmdir(path);
    k->used = false;
}

void cm__uploads_free(cm__uploads *u)
{
    if (!u) return;
    for (int i = 0; i < FILES_MOST; i++)
        if (u->files[i].used) erase(u, &u->files[i]);
    rmdir(u->folder);
    pthread_mutex_destroy(&u->lock);
    free(u);
}

/* ---- receiving -------------------------------------------------------------------------------------------------- */

static bool ends_with(const char *text, const char *end)
{
    size_t a = strlen(text), b = strlen(end);
    return a > b && strcasecmp(text + a - b, end) == 0;
}

/* Replace unsafe characters of the client's file name. The page shows the name, and its ending gives the format. */
static bool clean_name(const char *from, char *to)
{
    size_t      n = 0, length = strlen(from);
    const char *slash = strrchr(from, '/'), *tail = slash ? slash + 1 : from;
    length = strlen(tail);
    if (length >= CM__UPLOAD_NAME - 1) tail += length - (CM__UPLOAD_NAME - 2); /* keep the ending */
    for (; *tail; tail++) {
        bool harmless = isalnum((unsigned char)*tail) || (n && strchr("._-", *tail));
        to[n++] = harmless ? *tail : '_';
    }
    to[n] = '\0';
    return ends_with(to, ".onnx") || ends_with(to, ".json");
}

static bool make_id(char id[CM__UPLOAD_ID])
{
    uint8_t bytes[(CM__UPLOAD_ID - 1) / 2];
    if (getentropy(bytes, sizeof bytes)) return false;
    for (size_t i = 0; i < sizeof bytes; i++) snprintf(id + 2 * i, 3, "%02x", bytes[i]);
    return true;
}

static bool reserve(cm__uploads *u)
{
    pthread_mutex_lock(&u->lock);
    bool room = u->writing < FILES_MOST;
    u->writing += room;
    pthread_mutex_unlock(&u->lock);
    return room;
}

static void unreserve(cm__uploads *u)
{
    pthread_mutex_lock(&u->lock);
    u->writing--;
    pthread_mutex_unlock(&u->lock);
}

cm__upload *cm__upload_begin(cm__uploads *u, const char *name, const char **why)
{
    cm__upload *one = calloc(1, sizeof *one);
    char        path[512];
    *why = NULL;
    if (!one) return NULL;
    one->all = u;
    if (!clean_name(name, one->file.name)) {
        *why = "a model file ends in .onnx, .cmt.json or .json (a config.json)";
        free(one);
        return NULL;
    }
    if (!make_id(one->file.id) || !reserve(u)) {
        free(one);
        return NULL;
    }
    path_of(u, &one->file, false, path);
    bool folder = mkdir(path, 0700) == 0;
    path_of(u, &one->file, true, path);
    one->to = folder ? open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600) : -1;
    if (one->to >= 0) return one;
    erase(u, &one->file);
    unreserve(u);
    free(one);
    return NULL;
}

bool cm__upload_write(cm__upload *one, const char *data, size_t size)
{
    one->size += (int64_t)size;
    if (one->size > one->all->most_bytes) return false;
    while (size) {
        ssize_t n = write(one->to, data, size);
        if (n <= 0) return false;
        data += n;
        size -= (size_t)n;
    }
    return true;
}

void cm__upload_drop(cm__upload *one)
{
    close(one->to);
    erase(one->all, &one->file);
    unreserve(one->all);
    free(one);
}

void cm__upload_finish(cm__upload *one, char id[CM__UPLOAD_ID])
{
    cm__uploads *u = one->all;
    close(one->to);
    pthread_mutex_lock(&u->lock);
    kept *oldest = &u->files[0];
    for (int i = 0; i < FILES_MOST; i++)
        if (!u->files[i].used || (oldest->used && u->files[i].age < oldest->age)) oldest = &u->files[i];
    if (oldest->used) erase(u, oldest);
    *oldest = one->file;
    oldest->used = true;
    oldest->age = ++u->clock;
    u->writing--;
    memcpy(id, oldest->id, CM__UPLOAD_ID);
    pthread_mutex_unlock(&u->lock);
    free(one);
}

/* ---- received files --------------------------------------------------------------------------------------------- */

static kept *find(cm__uploads *u, const char *id)
{
    for (int i = 0; i < FILES_MOST; i++)
        if (u->files[i].used && strcmp(u->files[i].id, id) == 0) return &u->files[i];
    return NULL;
}

bool cm__upload_find(cm__uploads *u, const char *id, char folder[256], char name[CM__UPLOAD_NAME])
{
    pthread_mutex_lock(&u->lock);
    kept *k = find(u, id);
    if (k) {
        k->age = ++u->clock;
        snprintf(folder, 256, "%s/%s", u->folder, k->id);
        memcpy(name, k->name, CM__UPLOAD_NAME);
    }
    pthread_mutex_unlock(&u->lock);
    return k != NULL;
}

void cm__upload_forget(cm__uploads *u, const char *id)
{
    pthread_mutex_lock(&u->lock);
    kept *k = find(u, id);
    if (k) erase(u, k);
    pthread_mutex_unlock(&u->lock);
}
