/* SPDX-License-Identifier: Apache-2.0 */
/* hwloc.c - cores, caches and memory from hwloc. */
#include <string.h>
#include <unistd.h>
#include "device/machine/hwloc_load.h"
#include "device/machine/machine.h"

static void copy_info(char *to, size_t size, hwloc_obj_t object, const char *name)
{
    const char *text = object ? hwloc_obj_get_info_by_name(object, name) : NULL;
    if (text) strncpy(to, text, size - 1);
}

static void read_caches(const cm__hwloc *h, unsigned cores, cm__machine *m)
{
    static const hwloc_obj_type_t types[CM__CACHES_MAX] = {HWLOC_OBJ_L1CACHE, HWLOC_OBJ_L2CACHE, HWLOC_OBJ_L3CACHE,
                                                           HWLOC_OBJ_L4CACHE};
    for (int i = 0; i < CM__CACHES_MAX; i++) {
        unsigned count = cm__hwloc_count(h, types[i]);
        for (unsigned c = 0; c < count; c++)
            m->caches[i].bytes += (double)cm__hwloc_object(h, types[i], c)->attr->cache.size;
        m->caches[i].per_core = count >= cores;
    }
}

/* On some virtual machines the NUMA nodes report less memory than the machine has. */
static double memory_of(const cm__hwloc *h)
{
    double nodes = (double)h->get_obj_by_depth(h->topology, 0, 0)->total_memory;
    double pages = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    return nodes > pages ? nodes : pages;
}

void cm__machine_discover(cm__machine *m)
{
    cm__hwloc h;
    if (!cm__hwloc_load(&h)) {
        cm__machine_from_system(m);
        return;
    }
    hwloc_obj_t package = cm__hwloc_object(&h, HWLOC_OBJ_PACKAGE, 0);
    unsigned    cores = cm__hwloc_count(&h, HWLOC_OBJ_CORE);
    copy_info(m->name, sizeof m->name, package, "CPUModel");
    copy_info(m->vendor, sizeof m->vendor, package, "CPUVendor");
    m->cores = cores ? cores : cm__hwloc_count(&h, HWLOC_OBJ_PU);
    m->memory_bytes = memory_of(&h);
    m->interface = "hwloc";
    read_caches(&h, (unsigned)m->cores, m);
    h.topology_destroy(h.topology);
}
