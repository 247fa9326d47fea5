/* SPDX-License-Identifier: Apache-2.0 */
/* bind_hwloc.c - bind each thread to a core of its own with hwloc; hyper-threads are not used. */
#include "bench/backends/cpu/pool.h"
#include "device/machine/hwloc_load.h"

void cm__bind_thread(int32_t core)
{
    cm__hwloc h;
    if (!cm__hwloc_load(&h)) return;
    unsigned       cores = cm__hwloc_count(&h, HWLOC_OBJ_CORE);
    hwloc_obj_t    object = cores ? cm__hwloc_object(&h, HWLOC_OBJ_CORE, (unsigned)core % cores) : NULL;
    hwloc_cpuset_t one = object ? h.bitmap_dup(object->cpuset) : NULL;
    if (one) {
        h.bitmap_singlify(one);
        h.set_cpubind(h.topology, one, HWLOC_CPUBIND_THREAD);
        h.bitmap_free(one);
    }
    h.topology_destroy(h.topology);
}
