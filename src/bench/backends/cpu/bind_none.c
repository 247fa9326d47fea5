/* SPDX-License-Identifier: Apache-2.0 */
/* bind_none.c - threads run where the system puts them, where hwloc is not there. */
#include "bench/backends/cpu/pool.h"

void cm__bind_thread(int32_t core) { (void)core; }
