/* SPDX-License-Identifier: Apache-2.0 */
/*
 * journal.h - what is measured, a line a case, on the disk before the next case begins.
 *
 * A run that is killed loses the case it was in and nothing else: the next run with the same journal takes up what is
 * there. A last line that was cut off is dropped. Two runs cannot have one journal at the same time.
 */
#ifndef CM_BENCH_JOURNAL_H
#define CM_BENCH_JOURNAL_H

#include "base/ctx.h"

typedef struct cm__journal cm__journal;

/* Called for each case of an earlier run; the texts of `result` live as long as the context. */
typedef void cm__journal_take(void *user, const cm_bench_result *result);

/* Open or make. `identity`: who measured what; a journal of another is refused. Closed with the context. */
cm__journal *cm__journal_open(cm__ctx *ctx, const char *path, const char *identity, cm__journal_take *take, void *user);
void         cm__journal_add(cm__journal *journal, const cm_bench_result *result);
void         cm__journal_remove(cm__journal *journal);

#endif
