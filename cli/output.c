/* SPDX-License-Identifier: Apache-2.0 */
/* output.c - where results and notes go, and whether standard output took what was written. */
#include <errno.h>
#include <stdarg.h>
#include <string.h>
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

cm__output_format format_of(const settings *s)
{
    return s->json ? CM__FORMAT_JSON : s->csv ? CM__FORMAT_CSV : CM__FORMAT_TEXT;
}
