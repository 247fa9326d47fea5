/* SPDX-License-Identifier: Apache-2.0 */
/*
 * time_device.h - a test device with round numbers: 100 cores, 1e14 FLOP/s in bf16 (half in tf32, a tenth in
 * fp32, on the vector units), 1e12 B/s of memory behind a cache of 1e7 B and 4e12 B/s, 1 us to start a kernel.
 */
#ifndef CM_TESTS_UNIT_TIME_DEVICE_H
#define CM_TESTS_UNIT_TIME_DEVICE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "device/device.h"
#include "profile_texts.h"

#define LEVEL(name, place, managed, capacity, bandwidth)                                                               \
    "{\"name\": \"" name "\", \"place\": \"" place "\", \"managed\": \"" managed "\", \"scope\": \"device\", "         \
    "\"capacity\": " NUMBER(capacity, "B") ", \"bandwidth\": " NUMBER(bandwidth, "B/s") "}"
#define CEILINGS(cores, launch)                                                                                        \
    "\"cores\": " NUMBER(cores, "1") ",\n\"launch\": " NUMBER(launch, "s") ",\n"                                       \
    "\"peak\": {\"matrix\": {\"bf16\": " NUMBER("1e14", "FLOP/s") ", \"tf32\": " NUMBER("5e13", "FLOP/s") "},\n"       \
    "\"vector\": {\"fp32\": " NUMBER("1e13", "FLOP/s") "}},\n"                                                         \
    "\"memory\": [" LEVEL("L2", "on-chip", "cache", "1e7", "4e12") ",\n"                                               \
    LEVEL("HBM", "off-chip", "explicit", "8e10", "1e12") "]"
#define TIME_DEVICE(more) "{" IDENTITY("timed") ",\n" CEILINGS("100", "1e-6") ",\n" SOURCES more "}\n"

/* A kernel table of a profile's "kernels" array; `rows` is JSON. */
#define TABLE(op, pass, variant, dtype, dims, rows)                                                                    \
    "{\"runtime\": \"torch-eager\", \"op\": \"" op "\", \"pass\": \"" pass "\", \"variant\": \"" variant "\",\n"       \
    "\"dtype\": \"" dtype "\", \"kind\": \"measured\", \"source\": \"sheet\", \"date\": \"2026-11\",\n"                \
    "\"dims\": " dims ",\n\"rows\": " rows "}"
#define GEMM_DIMS "[\"batch\", \"m\", \"n\", \"k\"]"
#define KERNELS(tables) ",\n\"kernels\": [\n" tables "]"
#define HOST(what, time) "{\"runtime\": \"torch-eager\", \"what\": \"" what "\", \"time\": " NUMBER(time, "s") "}"
#define COMPILED(what, time) "{\"runtime\": \"torch-compile\", \"what\": \"" what "\", \"time\": " NUMBER(time, "s") "}"

static inline cm_device *device_of(const char *text)
{
    cm_device *device;
    cm_diag    diag = {0};
    write_file("timed.json", text);
    if (cm_device_load(file_named("timed.json"), &device, &diag)) fail_msg("%s: %s", diag.place, diag.reason);
    return device;
}

static inline cm__call call_of(const char *text)
{
    cm__call c;
    if (!cm__call_parse(text, &c)) fail_msg("'%s' is no call", text);
    return c;
}

#endif
