/* SPDX-License-Identifier: Apache-2.0 */
/*
 * answer.h - the program as a function: what other languages call in libcentimani.so.
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

/* What the program would print on standard output and on standard error, as two texts; either is NULL where there was
   no memory for it. Calls may run in several threads at once. */
int  cm_answer(int argc, const char *const *argv, char **result, char **notes);
void cm_answer_free(char *text);

#endif
