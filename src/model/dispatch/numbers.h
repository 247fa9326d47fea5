/* SPDX-License-Identifier: Apache-2.0 */
/* numbers.h - numbers of the different calls that the plans of a search make, by which their times are found. */
#ifndef CM_MODEL_DISPATCH_NUMBERS_H
#define CM_MODEL_DISPATCH_NUMBERS_H

#include "model/dispatch/dispatch.h"

typedef struct cm__numbers cm__numbers;

cm__numbers *cm__numbers_new(cm__ctx *ctx); /* lives as long as the context; several threads may use it */

/* Numbers the calls of a dispatch from 0 on; equal calls of dispatches get the same number. The dispatch must outlive the
   numbers. Without memory the calls stay without numbers. */
void cm__numbers_give(cm__numbers *n, cm__dispatch *d);

#endif
