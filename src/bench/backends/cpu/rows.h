/* SPDX-License-Identifier: Apache-2.0 */
/* rows.h - functions that row operators share. */
#ifndef CM_BENCH_CPU_ROWS_H
#define CM_BENCH_CPU_ROWS_H

#include "bench/backends/cpu/cpu.h"

#define CM__CHECKED_ROWS 7

/* Returns the number of wrong results in one row. */
typedef int64_t cm__row_check(const void *arg, int64_t row, int64_t columns);

int64_t cm__check_rows(const cm_call *call, cm__row_check *check, const void *arg); /* checks a sample of rows */

/* Layer and root-mean-square norms. */
int     cm__operands_norm(const cm_call *call, cm__operand *operands);
void    cm__run_norm(cm__cpu_case *c, float *const *o);
int64_t cm__check_norm(cm__cpu_case *c, float *const *o, float *const *before);
void    cm__run_norm_backward(cm__cpu_case *c, float *const *o);
int64_t cm__check_norm_backward(cm__cpu_case *c, float *const *o, float *const *before);

#endif
