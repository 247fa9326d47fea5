/* SPDX-License-Identifier: Apache-2.0 */
/* output.c - streams for results and notes, atomic replacement of files, and write errors of standard output. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "cli.h"

static _Thread_local FILE *diverted_results, *diverted_notes;
static _Thread_local const char *said_at; /* NULL: nowhere */

FILE *results(void) { return diverted_results ? diverted_results : stdout; }

FILE *notes(void) { return diverted_notes ? diverted_notes : stderr; }

FILE *beside_output(const settings *s) { return s->output && strcmp(s->output, "-") == 0 ? notes() : results(); }

void divert_output(FILE *to_results, FILE *to_notes)
{
    diverted_results = to_results;
    diverted_notes = to_notes;
}

void say(const char *format, ...)
{
    char    text[2048];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    fprintf(notes(), "centimani: %s%s\n", said_at ? said_at : "", cm__make_printable(text));
}

void say_at(const char *place) { said_at = place; }

int say_failed(cm_status status, const cm_diag *diag)
{
    char text[sizeof *diag + 8], place[CLI_PATH_MAX];
    say("%s%s", job_place(diag, place, sizeof place), *diag->reason ? cm_diag_text(diag, text, sizeof text) : cm_status_text(status));
    return status == CM_ERR_FIT ? EXIT_NOTHING_FITS : EXIT_FAILED;
}

void say_warnings(const cm_graph *graph)
{
    for (int32_t i = 0; graph && i < cm_graph_warnings(graph); i++) say("warning: %s", cm_graph_warning(graph, i));
}

int say_missed(const settings *s, const cm__gates *gates)
{
    for (int32_t i = 0; i < gates->count; i++)
        if (!gates->all[i].held && format_of(s) != CM__FORMAT_TEXT) say("%s", gates->all[i].text);
    return gates->missed ? EXIT_FAILED : EXIT_DONE;
}

/* ---- files ------------------------------------------------------------------------------------------------------ */

static int say_unwritable(const char *path)
{
    say("%s: cannot write: %s", path, strerror(errno));
    return EXIT_FAILED;
}

typedef struct content {
    const char *bytes;
    size_t      size;
} content;

static bool write_and_close(FILE *file, content c)
{
    bool written = file && fwrite(c.bytes, 1, c.size, file) == c.size && fflush(file) == 0;
    int  write_error = errno; /* fclose() may change it */
    bool closed = file && fclose(file) == 0;
    if (file && !written) errno = write_error;
    return written && closed;
}

/* Devices and pipes cannot be replaced by another file. */
static int write_in_place(const char *path, content c)
{
    int descriptor = open(path, O_WRONLY | O_CLOEXEC);
    if (write_and_close(descriptor < 0 ? NULL : fdopen(descriptor, "w"), c) || errno == EPIPE) return EXIT_DONE;
    return say_unwritable(path);
}

/* Replace a file atomically: write a temporary file in the same folder and rename it. The mode is kept. */
static int replace_file(const char *path, content c, const struct stat *old)
{
    char temporary[PATH_MAX];
    if (snprintf(temporary, sizeof temporary, "%s.XXXXXX", path) >= (int)sizeof temporary) {
        say("%s: the name is too long", path);
        return EXIT_FAILED;
    }
    int    descriptor = mkstemp(temporary);
    mode_t mask = umask(0);
    umask(mask);
    bool ready = descriptor >= 0 && fchmod(descriptor, old ? old->st_mode & 07777 : 0666 & ~mask) == 0;
    bool written = write_and_close(descriptor < 0 ? NULL : fdopen(descriptor, "w"), c);
    if (ready && written && rename(temporary, path) == 0) return EXIT_DONE;
    int code = say_unwritable(path);
    if (descriptor >= 0) unlink(temporary);
    return code;
}

/* Keep a symbolic link; replace or create its target. */
static int save_through_link(const char *path, content c)
{
    char   target[PATH_MAX], whole[PATH_MAX], *slash;
    struct stat old;
    if (realpath(path, target) && stat(target, &old) == 0) return replace_file(target, c, &old);
    ssize_t length = readlink(path, target, sizeof target - 1); /* the target does not exist yet */
    if (length < 0) return say_unwritable(path);
    target[length] = '\0';
    slash = strrchr(path, '/');
    int folder = target[0] == '/' || !slash ? 0 : (int)(slash - path) + 1;
    if (snprintf(whole, sizeof whole, "%.*s%s", folder, path, target) >= (int)sizeof whole) errno = ENAMETOOLONG;
    else return replace_file(whole, c, NULL);
    return say_unwritable(path);
}

int save_bytes(const char *path, const char *bytes, size_t size)
{
    struct stat here, there;
    content     c = {bytes, size};
    if (strcmp(path, "-") == 0) {
        fwrite(bytes, 1, size, results());
        return EXIT_DONE;
    }
    bool exists = stat(path, &there) == 0;
    if (exists && S_ISDIR(there.st_mode)) {
        errno = EISDIR;
        return say_unwritable(path);
    }
    if (exists && !S_ISREG(there.st_mode)) return write_in_place(path, c);
    if (lstat(path, &here) == 0 && S_ISLNK(here.st_mode)) return save_through_link(path, c);
    return replace_file(path, c, exists ? &there : NULL);
}

int save_text(const char *path, const char *text)
{
    char *line;
    int   size = asprintf(&line, "%s\n", text);
    if (size < 0) {
        say("%s: out of memory", path);
        return EXIT_FAILED;
    }
    int code = save_bytes(path, line, (size_t)size);
    free(line);
    return code;
}

/* Whether the results go to a pipe whose reader has closed it, as `head` does. An earlier write may have found this. */
static bool reader_left(void)
{
    struct pollfd pipe = {.fd = fileno(results())};
    return errno == EPIPE || (poll(&pipe, 1, 0) > 0 && (pipe.revents & POLLERR));
}

int finish_output(int status)
{
    bool failed = ferror(results());
    errno = 0;
    failed = fflush(results()) != 0 || failed;
    if (!failed) return status;
    int error = errno;
    if (!reader_left()) say("cannot write the result: %s", error ? strerror(error) : "write error");
    return EXIT_FAILED;
}

bool one_format(const settings *s)
{
    if (s->json + s->csv + s->html <= 1) return true;
    say("%s exclude each other", s->html ? "--json, --csv and --html" : "--csv and --json");
    return false;
}

cm__output_format format_of(const settings *s)
{
    return s->json ? CM__FORMAT_JSON : s->csv ? CM__FORMAT_CSV : s->html ? CM__FORMAT_HTML : CM__FORMAT_TEXT;
}
