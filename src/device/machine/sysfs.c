/* SPDX-License-Identifier: Apache-2.0 */
/* sysfs.c - cores, caches and memory from sysconf and /sys, where hwloc is not installed. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "device/machine/machine.h"

#define INDICES_MAX 10

/* Read one line of a file about a cache of the first processor. */
static bool read_line(int index, const char *name, char *line, int size)
{
    char path[96];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/%s", index, name);
    FILE *file = fopen(path, "re");
    bool  there = file && fgets(line, size, file);
    if (file) fclose(file);
    return there;
}

/* Count processors in a list: "0-3,8" is five. */
static int count_processors(const char *list)
{
    int count = 0, first, last, used;
    while (sscanf(list, "%d%n", &first, &used) == 1) {
        list += used;
        last = first;
        if (sscanf(list, "-%d%n", &last, &used) == 1) list += used;
        count += last >= first ? last - first + 1 : 0;
        if (*list == ',') list++;
    }
    return count > 0 ? count : 1;
}

/* Assumes that all processors have the same caches as the first. */
static void read_cache(int index, cm__machine *m)
{
    char   line[4096];
    int    level = 0;
    double size = 0;
    char   prefix = 0;
    if (!read_line(index, "type", line, sizeof line) || strncmp(line, "Instruction", 11) == 0) return;
    if (!read_line(index, "level", line, sizeof line) || sscanf(line, "%d", &level) != 1) return;
    if (!read_line(index, "size", line, sizeof line) || sscanf(line, "%lf%c", &size, &prefix) < 1) return;
    if (level < 1 || level > CM__CACHES_MAX || !read_line(index, "shared_cpu_list", line, sizeof line)) return;
    size *= prefix == 'K' ? 1024 : prefix == 'M' ? 1048576 : 1;
    int sharing = count_processors(line);
    m->caches[level - 1].bytes = size * m->cores / sharing;
    m->caches[level - 1].per_core = sharing <= 2 && sharing < m->cores; /* two threads of one core */
}

void cm__machine_from_system(cm__machine *m)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN), pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    m->cores = cores > 0 ? (double)cores : 0;
    m->memory_bytes = pages > 0 && page > 0 ? (double)pages * (double)page : 0;
    m->interface = "sysconf and /sys/devices/system/cpu";
    for (int i = 0; i < INDICES_MAX; i++) read_cache(i, m);
}
