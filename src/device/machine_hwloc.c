/* SPDX-License-Identifier: Apache-2.0 */
/* machine_hwloc.c - cores, caches and memory from hwloc. */
#include <hwloc.h>
#include <string.h>
#include <unistd.h>
#include "device/machine.h"

static void copy_info(char *to, size_t size, hwloc_obj_t object, const char *name)
{
    const char *text = object ? hwloc_obj_get_info_by_name(object, name) : NULL;
    if (text) strncpy(to, text, size - 1);
}

static void read_caches(hwloc_topology_t topology, int cores, cm__machine *m)
{
    static const hwloc_obj_type_t types[CM__CACHES_MAX] = {HWLOC_OBJ_L1CACHE, HWLOC_OBJ_L2CACHE, HWLOC_OBJ_L3CACHE,
                                                           HWLOC_OBJ_L4CACHE};
    for (int i = 0; i < CM__CACHES_MAX; i++) {
        int count = hwloc_get_nbobjs_by_type(topology, types[i]);
        for (int c = 0; c < count; c++)
            m->caches[i].bytes += (double)hwloc_get_obj_by_type(topology, types[i], (unsigned)c)->attr->cache.size;
        m->caches[i].per_core = count >= cores;
    }
}

/* On some virtual machines the NUMA nodes report less memory than the machine has. */
static double memory_of(hwloc_topology_t topology)
{
    double nodes = (double)hwloc_get_root_obj(topology)->total_memory;
    double pages = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    return nodes > pages ? nodes : pages;
}

void cm__machine_discover(cm__machine *m)
{
    hwloc_topology_t topology;
    if (hwloc_topology_init(&topology)) return;
    if (hwloc_topology_load(topology) == 0) {
        hwloc_obj_t package = hwloc_get_obj_by_type(topology, HWLOC_OBJ_PACKAGE, 0);
        int         cores = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE);
        copy_info(m->name, sizeof m->name, package, "CPUModel");
        copy_info(m->vendor, sizeof m->vendor, package, "CPUVendor");
        m->cores = cores > 0 ? cores : hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PU);
        m->memory_bytes = memory_of(topology);
        m->interface = "hwloc";
        read_caches(topology, (int)m->cores, m);
    }
    hwloc_topology_destroy(topology);
}
