/* SPDX-License-Identifier: Apache-2.0 */
/* precompute.h - write data that the program would otherwise compute when it starts. The build runs this program. */
#ifndef CM_PRECOMPUTE_H
#define CM_PRECOMPUTE_H

#include <stdio.h>
#include <stdnoreturn.h>
#include "device/device.h"

noreturn void stop(const char *reason);
FILE         *open_file(const char *path);
cm_device    *load_device(const char *id);

/* Rows of kernel tables: OUT.c says where they are in OUT.bin, which OUT.S includes. */
void precompute_rows(const char *text, const char *assembly, const char *binary);
/* Built-in devices as C initializers. */
void precompute_devices(const char *text);

/* Lists and texts of devices that were written. */
typedef struct written written;
written *written_new(void);
void     written_free(written *w);
/* One device as an initializer, and all lists and texts as constants. */
void     write_device(written *w, FILE *out, const cm_device *device);
void     write_lists(written *w, FILE *out);

#endif
