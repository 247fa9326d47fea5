/* SPDX-License-Identifier: Apache-2.0 */
/* parallel.h - run independent tasks on a few threads. */
#ifndef CM_RANK_PARALLEL_H
#define CM_RANK_PARALLEL_H

#include <stdint.h>

/* Calls run(user, index) once for each index below `count`. threads 0: one per core, at most 8. */
void cm__parallel(int32_t threads, int32_t count, void (*run)(void *user, int32_t index), void *user);

#endif
