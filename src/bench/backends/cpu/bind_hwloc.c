/* SPDX-License-Identifier: Apache-2.0 */
/* bind_hwloc.c - bind each thread to a core of its own with hwloc; hyper-threads are not used. */
#include <hwloc.h>
#include "bench/backends/cpu/pool.h"

void cm__bind_thread(int32_t core)
{
    hwloc_topology_t topology;
    if (hwloc_topology_init(&topology)) return;
    if (hwloc_topology_load(topology) == 0) {
        int         cores = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE);
        hwloc_obj_t object =
            cores > 0 ? hwloc_get_obj_by_type(topology, HWLOC_OBJ_CORE, (unsigned)(core % cores)) : NULL;
        hwloc_cpuset_t one = object ? hwloc_bitmap_dup(object->cpuset) : NULL;
        if (one) {
            hwloc_bitmap_singlify(one);
            hwloc_set_cpubind(topology, one, HWLOC_CPUBIND_THREAD);
            hwloc_bitmap_free(one);
        }
    }
    hwloc_topology_destroy(topology);
}
