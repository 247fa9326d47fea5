/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memo.h - what tables say of calls, found once for many devices.
 *
 * Devices of a kind are told from one relative's tables, and ask the same of them. Several threads may ask at once; what
 * a table says does not depend on who asked first.
 */
#ifndef CM_MODEL_MEMO_H
#define CM_MODEL_MEMO_H

#include "base/ctx.h"
#include "model/kriging.h"

typedef struct cm__memo cm__memo;

cm__memo *cm__memo_new(cm__ctx *ctx); /* lives as long as the context */
bool      cm__memo_find(cm__memo *memo, const void *table, const float *features, int count, cm__kriged *found);
void      cm__memo_keep(cm__memo *memo, const void *table, const float *features, int count, const cm__kriged *value);

#endif
