/* SPDX-License-Identifier: Apache-2.0 */
/* described.h - a GPU in one line: "gpu:bf16=200T,fp32=50T,bw=1.2T,mem=48G,sms=128". */
#ifndef CM_DEVICE_DESCRIBED_H
#define CM_DEVICE_DESCRIBED_H

#include "base/ctx.h"

/* Whether the name is a description: it begins with "gpu:". */
bool cm__device_is_described(const char *name);
/* The text of the profile that a description means; it is read as a user's file is. A wrong key or amount fails. */
const char *cm__device_described(cm__ctx *ctx, const char *name);
/* The length of the first name of a comma-separated list of devices; words with '=' belong to a description. */
size_t cm__device_name_length(const char *list);

#endif
