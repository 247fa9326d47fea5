/* SPDX-License-Identifier: Apache-2.0 */
/*
 * answer.h - the program as a function of libcentimani.so, for bindings of other languages.
 *
 *     const char *words[] = {"graph", "resnet50", "--json"};
 *     char *result, *notes;
 *     int status = cm_answer(3, words, &result, &notes);   // the exit status of the program: 0 is done
 *     ...
 *     cm_answer_free(result);
 *     cm_answer_free(notes);
 */
#ifndef CM_CLI_ANSWER_H
#define CM_CLI_ANSWER_H

/* Run a command line. `result` and `notes` receive the text for standard output and standard error; either is NULL if
   memory runs out. Several threads may call it at once. */
int  cm_answer(int argc, const char *const *argv, char **result, char **notes);
void cm_answer_free(char *text);

/* The program's main(), on the process's own streams; argv[argc] is NULL. Returns the exit status. */
int  cm_main(int argc, char **argv);

#endif
