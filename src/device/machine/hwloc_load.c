/* SPDX-License-Identifier: Apache-2.0 */
/* hwloc_load.c - load hwloc and read this machine's topology. */
#include "device/machine/hwloc_load.h"

#include <dlfcn.h>
#include <string.h>

#define LIBRARY "libhwloc.so.15" /* hwloc 2 */

/* POSIX has functions as objects here, which ISO C has not. */
static bool find(void *library, const char *name, void *to)
{
    void *found = dlsym(library, name);
    memcpy(to, &found, sizeof found);
    return found;
}

/* The library stays loaded. */
static bool load_functions(cm__hwloc *h)
{
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    bool  all = library;
#define FIND(result, name, parameters) all = all && find(library, "hwloc_" #name, &h->name);
    CM__HWLOC_FUNCTIONS(FIND)
    return all;
}

bool cm__hwloc_load(cm__hwloc *h)
{
    if (!load_functions(h) || h->topology_init(&h->topology)) return false;
    if (h->topology_load(h->topology) == 0) return true;
    h->topology_destroy(h->topology);
    return false;
}

unsigned cm__hwloc_count(const cm__hwloc *h, hwloc_obj_type_t type)
{
    int depth = h->get_type_depth(h->topology, type);
    bool one = depth != HWLOC_TYPE_DEPTH_UNKNOWN && depth != HWLOC_TYPE_DEPTH_MULTIPLE;
    return one ? h->get_nbobjs_by_depth(h->topology, depth) : 0;
}

hwloc_obj_t cm__hwloc_object(const cm__hwloc *h, hwloc_obj_type_t type, unsigned index)
{
    return index < cm__hwloc_count(h, type)
               ? h->get_obj_by_depth(h->topology, h->get_type_depth(h->topology, type), index)
               : NULL;
}
