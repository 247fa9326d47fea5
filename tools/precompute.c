/* SPDX-License-Identifier: Apache-2.0 */
/* precompute.c - ROWS.c ROWS.S ROWS.bin DEVICES.c: write the rows of kernel tables and the built-in devices. */
#include "precompute.h"

#include <stdlib.h>
#include "device/compiled.h"
#include "model/time/arranged.h"

/* This program itself has nothing precomputed: it reads profiles and tables as the library reads those of users. */
const cm__arranged cm__all_arranged[] = {{0}};
const int32_t      cm__n_arranged = 0;
const cm__limits   cm__arranged_limits[] = {{{{0}}}};
const int16_t      cm__arranged_values[] = {0};
const uint16_t     cm__arranged_numbers[] = {0};
const cm_device    cm__compiled_devices[1];
const int32_t      cm__n_compiled_devices = 0;
const double       cm__compiled_double[1];
const int64_t      cm__compiled_int64_t[1];
const char         cm__compiled_texts[1];
#define RECORD(type, name, ...)
#define LISTED(name) const cm__record_##name cm__compiled_##name[1];
#include "device/compiled.def"

noreturn void stop(const char *reason)
{
    fprintf(stderr, "precompute: %s\n", reason);
    exit(1);
}

FILE *open_file(const char *path)
{
    FILE *file = fopen(path, "wb");
    if (!file) stop(path);
    return file;
}

cm_device *load_device(const char *id)
{
    cm_diag    diag = {0};
    cm_device *device;
    if (cm_device_load(id, &device, &diag)) stop(diag.reason);
    return device;
}

int main(int count, char **paths)
{
    if (count != 5) stop("usage: precompute ROWS.c ROWS.S ROWS.bin DEVICES.c");
    precompute_rows(paths[1], paths[2], paths[3]);
    precompute_devices(paths[4]);
    return 0;
}
