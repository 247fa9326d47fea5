/* SPDX-License-Identifier: Apache-2.0 */
/* text.h - numbers and names as people write and read them. Unit prefixes live here and nowhere else. */
#ifndef CM_BASE_TEXT_H
#define CM_BASE_TEXT_H

#include "base/map.h"

/* A whole number, nothing before or after it. False: not one, or out of range. */
bool cm__parse_int(cm__span text, int64_t *value);
bool cm__parse_real(cm__span text, double *value);

/* "4.09 G" (powers of 1000), "97.5 Mi" (powers of 1024); units are appended by the caller. Returns buf. */
char *cm__si(char *buf, size_t size, double value); /* "- ": not known, or not finite; as the others */
char *cm__binary(char *buf, size_t size, double value);
/* As cm__si(), and "2.20 u" for what is below one. */
char *cm__si_small(char *buf, size_t size, double value);
/* Three digits for a table's cell: "1.57", "255", "125 k" from a hundred thousand on, "281 u" below a hundredth. */
char *cm__cell(char *buf, size_t size, double value);

/* "25,557,032" */
char *cm__grouped(char *buf, size_t size, int64_t value);

/* Whether two ids are one: bert_large is bert-large is BERT-Large. */
bool cm__same_name(const char *a, const char *b);

/* The name nearest to `name` by edit distance if it is near enough to be meant; NULL otherwise. */
const char *cm__nearest(const char *name, const char *const *names, size_t count);

#endif
