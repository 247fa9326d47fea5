/* SPDX-License-Identifier: Apache-2.0 */
/* bind_none.c - no thread binding, for builds without hwloc. */
#include "bench/backends/cpu/pool.h"

void cm__bind_thread(int32_t core) { (void)core; }
