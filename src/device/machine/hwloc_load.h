/* SPDX-License-Identifier: Apache-2.0 */
/* hwloc_load.h - hwloc's functions, loaded when a benchmark or the profile of this machine needs them: with the library
   linked, every command would load it and libudev. */
#ifndef CM_DEVICE_HWLOC_LOAD_H
#define CM_DEVICE_HWLOC_LOAD_H

#include <hwloc.h>
#include <stdbool.h>

#define CM__HWLOC_FUNCTIONS(X)                                                         \
    X(int, topology_init, (hwloc_topology_t *))                                        \
    X(int, topology_load, (hwloc_topology_t))                                          \
    X(void, topology_destroy, (hwloc_topology_t))                                      \
    X(int, get_type_depth, (hwloc_topology_t, hwloc_obj_type_t))                       \
    X(unsigned, get_nbobjs_by_depth, (hwloc_topology_t, int))                          \
    X(hwloc_obj_t, get_obj_by_depth, (hwloc_topology_t, int, unsigned))                \
    X(hwloc_bitmap_t, bitmap_dup, (hwloc_const_bitmap_t))                              \
    X(int, bitmap_singlify, (hwloc_bitmap_t))                                          \
    X(void, bitmap_free, (hwloc_bitmap_t))                                             \
    X(int, set_cpubind, (hwloc_topology_t, hwloc_const_cpuset_t, int))

#define CM__HWLOC_MEMBER(result, name, parameters) result(*name) parameters;
typedef struct cm__hwloc {
    CM__HWLOC_FUNCTIONS(CM__HWLOC_MEMBER)
    hwloc_topology_t topology; /* of this machine */
} cm__hwloc;

/* Loads the library and this machine's topology, which the caller ends with h->topology_destroy(h->topology). False:
   hwloc is not installed, or it cannot read the machine. */
bool cm__hwloc_load(cm__hwloc *h);

/* Number of objects of a type, and one of them; 0 and NULL: there is none, or they are on several levels. */
unsigned    cm__hwloc_count(const cm__hwloc *h, hwloc_obj_type_t type);
hwloc_obj_t cm__hwloc_object(const cm__hwloc *h, hwloc_obj_type_t type, unsigned index);

#endif
