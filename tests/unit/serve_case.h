/* SPDX-License-Identifier: Apache-2.0 */
/* serve_case.h - a program that records the command line that a query of the server becomes, for tests of src/serve. */
#ifndef CM_TESTS_UNIT_SERVE_CASE_H
#define CM_TESTS_UNIT_SERVE_CASE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "serve/serve.h"

static char words[1024]; /* the last command line, one space between words */
static int  asked;
static int  ends_with;   /* status of the next answers */

/* A document that would end a script, and a reason after a warning. */
#define DOCUMENT "{\"note\":\"</script><b>\"}"
#define NOTES "centimani: a warning\ncentimani: the reason\n"

static inline int answer(int argc, const char *const *argv, char **result, char **notes)
{
    size_t used = 0;
    asked++;
    for (int i = 0; i < argc; i++)
        used += (size_t)snprintf(words + used, sizeof words - used, "%s%s", i ? " " : "", argv[i]);
    *result = ends_with ? NULL : strdup(DOCUMENT);
    *notes = ends_with ? strdup(NOTES) : NULL;
    return ends_with;
}

/* A query is "key=value&key=value", not encoded. */
static inline const char *value(const void *request, const char *key)
{
    static char texts[64][700]; /* of one request, more than any case needs */
    static int  next;
    size_t      length = strlen(key);
    for (const char *at = request; at; at = strchr(at, '&') ? strchr(at, '&') + 1 : NULL)
        if (strncmp(at, key, length) == 0 && at[length] == '=') {
            char *text = texts[next++ % 64];
            snprintf(text, sizeof texts[0], "%.*s", (int)strcspn(at + length + 1, "&"), at + length + 1);
            return text;
        }
    return NULL;
}

static const cm__serve_options options = {.answer = answer, .program = "/bin/false"};

#endif
