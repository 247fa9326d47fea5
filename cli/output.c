/* SPDX-License-Identifier: Apache-2.0 */
/* output.c - where results and notes go, and whether standard output took what was written. */
#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>
#include "cli.h"

static _Thread_local FILE *given_results, *given_notes;

FILE *results(void) { return given_results ? given_results : stdout; }

FILE *notes(void) { return given_notes ? given_notes : stderr; }

void divert_output(FILE *to_results, FILE *to_notes)
{
    given_results = to_results;
    given_notes = to_notes;
}

void say(const char *format, ...)
{
    char    text[2048];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    fprintf(notes(), "centimani: %s\n", cm__make_printable(text));
}

int say_failed(cm_status status, const cm_diag *diag)
{
    char text[sizeof *diag + 8];
    say("%s", *diag->reason ? cm_diag_text(diag, text, sizeof text) : cm_status_text(status));
    return status == CM_ERR_FIT ? EXIT_NOTHING_FITS : EXIT_FAILED;
}

void say_warnings(const cm_graph *graph)
{
    for (int32_t i = 0; graph && i < cm_graph_warnings(graph); i++) say("warning: %s", cm_graph_warning(graph, i));
}

/* Whole or not at all: written beside the file, then renamed onto it. */
int save_text(const char *path, const char *text)
{
    char temporary[4096];
    if (snprintf(temporary, sizeof temporary, "%s.part", path) >= (int)sizeof temporary) {
        say("%s: the name is too long", path);
        return EXIT_FAILED;
    }
    FILE *file = fopen(temporary, "w");
    bool  written = file && fprintf(file, "%s\n", text) > 0;
    bool  closed = file && fclose(file) == 0;
    if (written && closed && rename(temporary, path) == 0) return EXIT_DONE;
    say("%s: cannot write: %s", path, strerror(errno));
    if (file) unlink(temporary);
    return EXIT_FAILED;
}

int finish_output(int status)
{
    bool failed = ferror(results());
    errno = 0;
    failed = fflush(results()) != 0 || failed;
    if (!failed) return status;
    if (errno != EPIPE) /* whoever reads has had enough */
        say("cannot write the result: %s", errno ? strerror(errno) : "write error");
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
