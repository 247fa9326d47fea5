/* SPDX-License-Identifier: Apache-2.0 */
/*
 * throttle_transfer.c - apply the transfer rule to a device with reduced cores, clock and bandwidth.
 *
 * throttle_transfer DEVICE reads lines of tab-separated fields: call, time on the whole device in seconds, and the
 * factors of cores, clock, memory bandwidth and cache bandwidth. For each line it prints the roofline time on the
 * reduced device, the roofline time on the whole device, and the transferred time. tools/throttle_check.py builds and
 * runs it.
 */
#include <stdio.h>
#include <string.h>
#include "centimani.h"
#include "model/time/timer.h"

enum { CORES, CLOCK, MEMORY, CACHE, FACTORS };

static cm__limits smaller(const cm__limits *whole, const double factor[FACTORS])
{
    cm__limits l = *whole;
    for (int e = 0; e < CM_ENGINES; e++)
        for (int r = 0; r < CM_RATES; r++) l.peak[e][r] *= factor[CORES] * factor[CLOCK];
    l.cores *= factor[CORES];
    l.clock_hz *= factor[CLOCK];
    l.memory_bytes_s *= factor[MEMORY];
    l.cache_bytes_s *= factor[CACHE];
    if (l.cache_bytes_s < l.memory_bytes_s) l.cache_bytes_s = l.memory_bytes_s; /* as in cm__limits_of() */
    return l;
}

static int answer(const cm__limits *whole, char *line)
{
    double   time_s, factor[FACTORS];
    cm__call call;
    char    *tab = strchr(line, '\t');
    if (!tab) return 1;
    *tab = '\0';
    if (sscanf(tab + 1, "%lf %lf %lf %lf %lf", &time_s, &factor[CORES], &factor[CLOCK], &factor[MEMORY],
               &factor[CACHE]) != 5 ||
        !cm__call_parse(line, &call)) {
        fprintf(stderr, "throttle_transfer: '%s' is not a call with a time and four factors\n", line);
        return 1;
    }
    cm__limits to = smaller(whole, factor);
    printf("%.6g %.6g %.6g\n", cm__roofline(&to, &call), cm__roofline(whole, &call),
           cm__transferred(&to, whole, &call, time_s));
    return 0;
}

int main(int argc, char **argv)
{
    char       line[512];
    cm_device *device = NULL;
    cm_diag    diag = {0};
    int        status = 0;
    if (argc != 2 || cm_device_load(argv[1], &device, &diag) != CM_OK) {
        fprintf(stderr, "usage: throttle_transfer DEVICE <LINES; %s\n", argc == 2 ? diag.reason : "no device given");
        return 2;
    }
    cm__limits whole = cm__limits_of(device);
    while (!status && fgets(line, sizeof line, stdin)) status = answer(&whole, line);
    cm_device_free(device);
    return status;
}
