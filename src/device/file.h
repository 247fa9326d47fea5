/* SPDX-License-Identifier: Apache-2.0 */
/* file.h - reading a user's profile. */
#ifndef CM_DEVICE_FILE_H
#define CM_DEVICE_FILE_H

#include "device/locate.h"

/* The contents of a regular file of at most 16 MiB. */
cm__origin cm__file_read(cm__ctx *ctx, const char *path);

/* The path of `name` or `name`.json in the folder of `file`; NULL: there is none, or `name` contains a path. */
const char *cm__file_beside(cm__ctx *ctx, const char *file, const char *name);

#endif
