/* SPDX-License-Identifier: Apache-2.0 */
/* answer.c - run a command line with its output in memory: the entry point of libcentimani.so. */
#include "answer.h"

#include <stdlib.h>
#include <string.h>
#include "cli.h"

static char **with_program_name(int argc, const char *const *argv)
{
    static char name[] = "centimani";
    char      **all = calloc((size_t)argc + 2, sizeof *all);
    if (!all) return NULL;
    all[0] = name;
    for (int i = 0; i < argc; i++) {
        all[i + 1] = strdup(argv[i]);
        if (all[i + 1]) continue;
        while (i > 0) free(all[i--]);
        free(all);
        return NULL;
    }
    return all;
}

static int run_diverted(int argc, char **words, char **result, char **text)
{
    size_t result_size, notes_size;
    FILE  *to_result = open_memstream(result, &result_size), *to_notes = open_memstream(text, &notes_size);
    int    status = EXIT_FAILED;
    if (to_result && to_notes) {
        divert_output(to_result, to_notes);
        status = run_words(argc, words);
        divert_output(NULL, NULL);
    }
    if (to_result && fclose(to_result)) status = EXIT_FAILED;
    if (to_notes && fclose(to_notes)) status = EXIT_FAILED;
    return status;
}

int cm_answer(int argc, const char *const *argv, char **result, char **text)
{
    *result = *text = NULL;
    char **words = argc < 0 || argc > 4096 ? NULL : with_program_name(argc, argv);
    if (!words) return EXIT_FAILED;
    int status = run_diverted(argc + 1, words, result, text);
    for (int i = 1; i <= argc; i++) free(words[i]);
    free(words);
    return status;
}

void cm_answer_free(char *text) { free(text); }
