/* SPDX-License-Identifier: Apache-2.0 */
/* missing.h - kernel calls that no table has measured. */
#ifndef CM_MODEL_MISSING_H
#define CM_MODEL_MISSING_H

#include "device/calls.h"

/* {"schema": 1, "cases": [...]}, in the order of the calls, grouped by table; free() it. NULL: out of memory. */
char *cm__cases_text(const cm__call *calls, int32_t count);

#endif
