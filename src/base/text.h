/* SPDX-License-Identifier: Apache-2.0 */
/* text.h - numbers and names in the form that people write. This is the only place that handles unit prefixes. */
#ifndef CM_BASE_TEXT_H
#define CM_BASE_TEXT_H

#include <string.h>
#include "base/map.h"

/* Most texts differ in their first letter. */
static inline bool cm__same_text(const char *a, const char *b) { return *a == *b && strcmp(a, b) == 0; }

/* Parse an integer without leading or trailing characters. False: not an integer, or out of range. */
bool cm__parse_int(cm__span text, int64_t *value);
bool cm__parse_real(cm__span text, double *value);

/* "4.09 G" (powers of 1000), "97.5 Mi" (powers of 1024); the caller appends the unit. Returns buf. */
char *cm__si(char *buf, size_t size, double value); /* "- ": unknown or not finite; likewise below */
char *cm__binary(char *buf, size_t size, double value);
/* As cm__si(), with prefixes below one: "2.20 u". */
char *cm__si_small(char *buf, size_t size, double value);
/* Three digits for a table cell: "1.57", "255", "125 k" from 100,000 on, "281 u" below 0.01. */
char *cm__cell(char *buf, size_t size, double value);

/* A unit of time, and the shortest time that is printed in it. */
typedef struct cm__time_unit {
    const char *name;
    double      seconds, from_s;
} cm__time_unit;
const cm__time_unit *cm__time_unit_for(double s); /* days, h, min or s */
/* "3.2 days", "5.1 h", "12 min", "45 s": in the unit that suits `like_s`, with so many significant digits. */
char *cm__duration(char *buf, size_t size, double s, double like_s, int digits);

/* A count as people write it, with three digits: "50,000", "1.28 million", "300 billion", "1 trillion". */
char *cm__amount(char *buf, size_t size, double value);

/* Writes texts one after the other; the last argument is NULL. What does not fit is cut off. */
void cm__join(char *buf, size_t size, const char *first, ...) __attribute__((sentinel));

/* "25,557,032" */
char *cm__grouped(char *buf, size_t size, int64_t value);

/* Whether two ids are equal up to case and separators: bert_large, bert-large, BERT-Large. */
bool cm__same_name(const char *a, const char *b);

/* The name nearest to `name` by edit distance, if it is near enough for a suggestion; NULL otherwise. */
const char *cm__nearest(const char *name, const char *const *names, size_t count);

#endif
