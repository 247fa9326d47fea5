/* SPDX-License-Identifier: Apache-2.0 */
/* journal.c - write results as lines of JSON to an append-only file, and read them back. */
#include "bench/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define JOURNAL_MAX (256 << 20)

struct cm__journal {
    cm__ctx    *ctx;
    const char *path;
    int         fd;
};

static void close_journal(void *object)
{
    cm__journal *j = object;
    if (j->fd >= 0) close(j->fd);
}

static noreturn void fail_io(cm__journal *j, const char *what)
{
    j->ctx->file = j->path;
    cm__fail(j->ctx, CM_ERR_IO, "cannot %s the journal: %s", what, strerror(errno));
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

static void write_line(cm__journal *j, json_t *object)
{
    char  *text = object ? json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(17)) : NULL;
    json_decref(object);
    if (!text) cm__fail(j->ctx, CM_ERR_MEMORY, "out of memory for the journal");
    size_t length = strlen(text);
    text[length] = '\n'; /* replaces the final zero, so that one write() writes a whole line */
    bool written = write(j->fd, text, length + 1) == (ssize_t)(length + 1) && fdatasync(j->fd) == 0;
    free(text);
    if (!written) fail_io(j, "write");
}

static void set_known(json_t *object, const char *key, double value)
{
    if (isfinite(value)) json_object_set_new(object, key, json_real(value));
}

void cm__journal_add(cm__journal *j, const cm_bench_result *r)
{
    json_t *line = json_pack("{s:s, s:I, s:I, s:I, s:i}", "case", r->name, "repetitions", (json_int_t)r->repetitions,
                             "samples", (json_int_t)r->samples, "wrong", (json_int_t)r->wrong, "kernels", r->kernels);
    set_known(line, "time_s", r->time_s);
    set_known(line, "spread", r->spread);
    set_known(line, "work", r->work);
    set_known(line, "bytes", r->bytes);
    if (r->algorithm) json_object_set_new(line, "algorithm", json_string(r->algorithm));
    write_line(j, line);
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static double known(const json_t *line, const char *key)
{
    const json_t *value = json_object_get(line, key);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

static bool take_line(cm__journal *j, const json_t *line, cm__journal_take *take, void *user)
{
    const char *name = json_string_value(json_object_get(line, "case"));
    const char *algorithm = json_string_value(json_object_get(line, "algorithm"));
    if (!name) return false;
    cm_bench_result r = {.name = cm__text_copy(j->ctx, name),
                         .time_s = known(line, "time_s"),
                         .spread = known(line, "spread"),
                         .work = known(line, "work"),
                         .bytes = known(line, "bytes"),
                         .repetitions = json_integer_value(json_object_get(line, "repetitions")),
                         .samples = json_integer_value(json_object_get(line, "samples")),
                         .wrong = json_integer_value(json_object_get(line, "wrong")),
                         .kernels = (int32_t)json_integer_value(json_object_get(line, "kernels")),
                         .algorithm = algorithm ? cm__text_copy(j->ctx, algorithm) : NULL,
                         .resumed = true};
    bool whole = r.wrong > 0 || (r.time_s > 0 && r.samples > 0);
    if (whole) take(user, &r);
    return whole;
}

static void check_identity(cm__journal *j, const json_t *line, const char *identity)
{
    const char *theirs = json_string_value(json_object_get(line, "bench"));
    if (theirs && strcmp(theirs, identity) == 0) return;
    j->ctx->file = j->path;
    cm__fail(j->ctx, CM_ERR_ARGUMENT, "another run (%.200s) wrote this journal; remove it, or write elsewhere with -o",
             theirs ? theirs : "without a description");
}

/* Read lines up to the first incomplete one; return the offset at which that one begins. */
static size_t read_lines(cm__journal *j, const char *text, size_t size, const char *identity, cm__journal_take *take,
                         void *user)
{
    size_t at = 0;
    for (const char *end; at < size && (end = memchr(text + at, '\n', size - at)) != NULL;) {
        json_t *line = json_loadb(text + at, (size_t)(end - text) - at, 0, NULL);
        bool    good = json_is_object(line);
        if (at == 0) check_identity(j, line, identity);
        else good = good && take_line(j, line, take, user);
        json_decref(line);
        if (!good) break;
        at = (size_t)(end - text) + 1;
    }
    return at;
}

static size_t read_journal(cm__journal *j, const char *identity, cm__journal_take *take, void *user)
{
    struct stat about;
    if (fstat(j->fd, &about) != 0 || !S_ISREG(about.st_mode) || about.st_size > JOURNAL_MAX) {
        j->ctx->file = j->path;
        cm__fail(j->ctx, CM_ERR_FORMAT, "this file is not a benchmark journal; remove it, or write elsewhere with -o");
    }
    size_t size = (size_t)about.st_size, done = 0;
    char  *text = cm__alloc(j->ctx, size + 1);
    while (done < size) {
        ssize_t got = pread(j->fd, text + done, size - done, (off_t)done);
        if (got <= 0) fail_io(j, "read");
        done += (size_t)got;
    }
    return read_lines(j, text, size, identity, take, user);
}

cm__journal *cm__journal_open(cm__ctx *ctx, const char *path, const char *identity, cm__journal_take *take, void *user)
{
    cm__journal *j = cm__alloc(ctx, sizeof *j);
    *j = (cm__journal){.ctx = ctx, .path = cm__text_copy(ctx, path), .fd = -1};
    cm__defer(ctx, close_journal, j);
    j->fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (j->fd < 0) fail_io(j, "open");
    if (flock(j->fd, LOCK_EX | LOCK_NB) != 0) {
        ctx->file = j->path;
        cm__fail(ctx, CM_ERR_IO, "another run is writing this journal; wait for it, or write elsewhere with -o");
    }
    size_t good = read_journal(j, identity, take, user);
    if (ftruncate(j->fd, (off_t)good) != 0) fail_io(j, "mend");
    if (good == 0) write_line(j, json_pack("{s:i, s:s}", "schema", 1, "bench", identity));
    return j;
}

void cm__journal_remove(cm__journal *j) { unlink(j->path); }
