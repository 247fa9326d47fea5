/* SPDX-License-Identifier: Apache-2.0 */
/* pool.h - a thread pool that runs parallel loops; each thread is bound to a core of its own. */
#ifndef CM_BENCH_CPU_POOL_H
#define CM_BENCH_CPU_POOL_H

#include "centimani.h"

typedef struct cm__pool cm__pool;

/* Runs iterations first to last - 1 of a loop. */
typedef void cm__loop(void *arg, int64_t first, int64_t last);

cm_status cm__pool_new(int32_t threads, cm__pool **pool, cm_diag *diag);
void      cm__pool_free(cm__pool *pool);
int32_t   cm__pool_threads(const cm__pool *pool);
/* Divide `count` iterations among the threads, including the caller. The caller alone runs loops of fewer than two
   `grain` iterations. */
void      cm__pool_run(cm__pool *pool, cm__loop *loop, void *arg, int64_t count, int64_t grain);

/* Bind the calling thread to the n-th core. In bind_hwloc.c, or in bind_none.c if the build has no hwloc. */
void cm__bind_thread(int32_t core);

#endif
