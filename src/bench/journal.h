/* SPDX-License-Identifier: Apache-2.0 */
/*
 * journal.h - a log of results on disk: one line per case, written before the next case begins.
 *
 * A run that is killed loses only the case it was measuring: the next run with the same journal reuses all results in
 * it. An incomplete last line is dropped. Two runs cannot use the same journal at the same time.
 */
#ifndef CM_BENCH_JOURNAL_H
#define CM_BENCH_JOURNAL_H

#include "base/ctx.h"

typedef struct cm__journal cm__journal;

/* Called for each case of an earlier run. The strings of `result` live as long as the context. */
typedef void cm__journal_take(void *user, const cm_bench_result *result);

/* Open or create. `identity` describes the machine and the options; a journal with another identity is refused.
   The journal is closed with the context. */
cm__journal *cm__journal_open(cm__ctx *ctx, const char *path, const char *identity, cm__journal_take *take, void *user);
void         cm__journal_add(cm__journal *journal, const cm_bench_result *result);
void         cm__journal_remove(cm__journal *journal);

#endif
