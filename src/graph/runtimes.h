/* SPDX-License-Identifier: Apache-2.0 */
/* runtimes.h - what runtimes have in common. */
#ifndef CM_GRAPH_RUNTIMES_H
#define CM_GRAPH_RUNTIMES_H

#include "centimani.h"

/* Whether a runtime, or the one that it is a mode of, is PyTorch with its own attention and its own update. */
bool cm__is_pytorch(cm_runtime runtime);

#endif
