/* SPDX-License-Identifier: Apache-2.0 */
/* file.h - a user's profile as a file. */
#ifndef CM_DEVICE_FILE_H
#define CM_DEVICE_FILE_H

#include "device/locate.h"

/* The whole of a regular file of at most 16 MiB. */
cm__origin cm__file_read(cm__ctx *ctx, const char *path);

/* The path of `name` or `name`.json in the folder of `file`; NULL: there is none, or `name` is more than a name. */
const char *cm__file_beside(cm__ctx *ctx, const char *file, const char *name);

#endif
