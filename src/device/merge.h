/* SPDX-License-Identifier: Apache-2.0 */
/* merge.h - join the kernel tables of profiles. */
#ifndef CM_DEVICE_MERGE_H
#define CM_DEVICE_MERGE_H

#include <jansson.h>
#include "base/ctx.h"

/* Adds the kernel tables of `from` to those of `into`. A call that both have keeps the time of `from`. */
void cm__tables_merge(cm__ctx *ctx, json_t *into, const json_t *from, cm_merge_counts *counts);

/* A profile as text, a line for each table; the caller frees it. */
char *cm__tables_print(cm__ctx *ctx, json_t *profile);

#endif
