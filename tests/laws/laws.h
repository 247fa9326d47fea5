/* SPDX-License-Identifier: Apache-2.0 */
/*
 * laws.h - property tests: statements that hold for every model, device, plan and precision.
 *
 * A law is a function that checks many cases. It calls law_case() once per case; the first failures of a law are printed
 * with the question that breaks it, so that it can be asked again on the command line. Random choices come from
 * law_random(), whose seed is fixed (LAWS_SEED overrides it), so a run can be repeated.
 */
#ifndef CM_TESTS_LAWS_H
#define CM_TESTS_LAWS_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "centimani.h"

typedef struct law_run law_run;

/* Count one case; where `holds` is false, the message says which case broke the law and how. */
void law_case(law_run *run, bool holds, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* A number from 0 to below `count`. */
uint32_t law_random(law_run *run, uint32_t count);
#define LAW_PICK(run, array) ((array)[law_random(run, (uint32_t)(sizeof(array) / sizeof *(array)))])

/* Every law: the function that checks it, and its name as printed. */
typedef void law_check(law_run *run);
#define LAW(function, name) law_check function;
#include "laws.def"
#undef LAW

#endif
