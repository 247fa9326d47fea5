/* SPDX-License-Identifier: Apache-2.0 */
/* profile_texts.h - small device profiles for tests, as texts and as files in a temporary folder. */
#ifndef CM_TESTS_UNIT_PROFILE_TEXTS_H
#define CM_TESTS_UNIT_PROFILE_TEXTS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NUMBER(value, unit) "{\"value\": " value ", \"unit\": \"" unit "\", \"kind\": \"spec\", \"source\": \"sheet\"}"
#define SOURCES "\"sources\": {\"sheet\": {\"title\": \"data sheet\", \"where\": \"page 1\", \"date\": \"2024-05\"}}"
#define IDENTITY(id)                                                                                                   \
    "\"schema\": 1, \"id\": \"" id "\", \"name\": \"A device\", \"vendor\": \"Acme\", \"class\": \"gpu\", "            \
    "\"style\": \"kernel-by-kernel\", \"modes\": [\"training\"], \"precisions\": [\"fp32\", \"bf16\"]"
#define MEMORY "\"memory\": [{\"name\": \"HBM\", \"place\": \"off-chip\", \"managed\": \"explicit\", "                 \
               "\"scope\": \"device\", \"capacity\": " NUMBER("8e10", "B") ", \"bandwidth\": " NUMBER("2e12", "B/s") "}]"
#define PEAK "\"peak\": {\"matrix\": {\"bf16\": " NUMBER("3e14", "FLOP/s") ", \"fp16\": " NUMBER("2e14", "FLOP/s") "}}"

/* A complete device profile, one member per line; `more` begins with a comma or is empty. */
#define DEVICE(id, more) "{" IDENTITY(id) ",\n" PEAK ",\n" MEMORY ",\n" SOURCES more "}\n"

static char folder[64];

static inline int make_folder(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/centimani-test-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static inline int remove_folder(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

/* The path of a file in the folder; valid until the next call. */
static inline const char *file_named(const char *name)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static inline void write_file(const char *name, const char *text)
{
    FILE *file = fopen(file_named(name), "w");
    if (!file || fputs(text, file) < 0 || fclose(file)) abort();
}

#endif
