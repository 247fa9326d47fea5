/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transfer_calls.c - apply the transfer rule to calls.
 *
 * transfer_calls FROM [TO] reads lines of tab-separated fields: call, time on the device FROM in seconds, number of
 * kernels, and the factors of cores, clock, memory bandwidth and cache bandwidth by which the device TO (default: FROM)
 * is reduced. For each line it prints the roofline time on the reduced device, the roofline time on FROM, and the
 * transferred time. tools/fit_transfer.py and throttle_check.py of evidence/studies.tar.xz build and run it.
 */
#include <stdio.h>
#include <string.h>
#include "centimani.h"
#include "model/time/transfer.h"

enum { CORES, CLOCK, MEMORY, CACHE, FACTORS };

static cm__limits smaller(const cm__limits *whole, const double factor[FACTORS])
{
    cm__limits l = *whole;
    for (int e = 0; e < CM_ENGINES; e++)
        for (int r = 0; r < CM_RATES; r++) l.peak[e][r] *= factor[CORES] * factor[CLOCK];
    l.cores *= factor[CORES];
    l.clock_hz *= factor[CLOCK];
    l.exponentials_s *= factor[CORES] * factor[CLOCK];
    l.memory_bytes_s *= factor[MEMORY];
    l.cache_bytes_s *= factor[CACHE];
    if (l.cache_bytes_s < l.memory_bytes_s) l.cache_bytes_s = l.memory_bytes_s; /* as in cm__limits_of() */
    return l;
}

static int answer(const cm__limits *from, const cm__limits *whole, char *line)
{
    double   time_s, kernels, factor[FACTORS];
    cm__call call;
    char    *tab = strchr(line, '\t');
    if (!tab) return 1;
    *tab = '\0';
    if (sscanf(tab + 1, "%lf %lf %lf %lf %lf %lf", &time_s, &kernels, &factor[CORES], &factor[CLOCK], &factor[MEMORY],
               &factor[CACHE]) != 6 ||
        !cm__call_parse(line, &call)) {
        fprintf(stderr, "transfer_calls: '%s' is not a call with a time, kernels and four factors\n", line);
        return 1;
    }
    cm__limits to = smaller(whole, factor);
    printf("%.6g %.6g %.6g\n", cm__roofline(&to, &call), cm__roofline(from, &call),
           cm__transferred(&to, from, &call, time_s, kernels));
    return 0;
}

int main(int argc, char **argv)
{
    char       line[512];
    cm_device *devices[2] = {0};
    cm_diag    diag = {0};
    int        status = argc < 2 || argc > 3;
    for (int i = 1; !status && i < argc; i++) status = cm_device_load(argv[i], &devices[i - 1], &diag);
    if (status) return fprintf(stderr, "usage: transfer_calls FROM [TO] <LINES; %s\n", diag.reason), 2;
    cm__limits from = cm__limits_of(devices[0]), whole = devices[1] ? cm__limits_of(devices[1]) : from;
    while (!status && fgets(line, sizeof line, stdin)) status = answer(&from, &whole, line);
    for (int i = 0; i < 2; i++) cm_device_free(devices[i]);
    return status;
}
