/* SPDX-License-Identifier: Apache-2.0 */
/* ranks.h - divide a plan search among processes started by mpirun; a single process is rank 0 of 1. */
#ifndef CM_PLAN_RANKS_H
#define CM_PLAN_RANKS_H

#include "base/ctx.h"

typedef struct cm__ranks cm__ranks;

cm__ranks *cm__ranks_open(void); /* NULL: not started by mpirun, or no Open MPI */
void       cm__ranks_close(cm__ranks *ranks);
int32_t    cm__rank(const cm__ranks *ranks);
int32_t    cm__rank_count(const cm__ranks *ranks);
/* Gathers `own` of every rank into `all`, in the order of the ranks; false: MPI failed. */
bool       cm__ranks_gather(cm__ranks *ranks, const void *own, size_t size, void *all);

#endif
