/* SPDX-License-Identifier: Apache-2.0 */
/* missing.h - calls that would have to be measured. */
#ifndef CM_MODEL_MISSING_H
#define CM_MODEL_MISSING_H

#include "device/calls.h"

/* {"schema": 1, "cases": [...]}, in the order of the calls as far as tables allow; free() it. NULL: no memory. */
char *cm__cases_text(const cm__call *calls, int32_t count);

#endif
