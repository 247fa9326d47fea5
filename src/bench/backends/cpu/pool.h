/* SPDX-License-Identifier: Apache-2.0 */
/* pool.h - threads that wait for loops to share, each bound to a core of its own. */
#ifndef CM_BENCH_CPU_POOL_H
#define CM_BENCH_CPU_POOL_H

#include "centimani.h"

typedef struct cm__pool cm__pool;

/* Part [first, last) of a loop. */
typedef void cm__loop(void *arg, int64_t first, int64_t last);

cm_status cm__pool_new(int32_t threads, cm__pool **pool, cm_diag *diag);
void      cm__pool_free(cm__pool *pool);
int32_t   cm__pool_threads(const cm__pool *pool);
/* Share `count` turns among the threads, the caller among them; loops of fewer than two `grain`s are not shared. */
void      cm__pool_run(cm__pool *pool, cm__loop *loop, void *arg, int64_t count, int64_t grain);

/* One of two: bind_hwloc.c where hwloc is there, bind_none.c otherwise. Binds the calling thread to the n-th core. */
void cm__bind_thread(int32_t core);

#endif
