/* SPDX-License-Identifier: Apache-2.0 */
/* options.h - comparison of the options of a training step. */
#ifndef CM_GRAPH_OPTIONS_H
#define CM_GRAPH_OPTIONS_H

#include "centimani.h"

bool     cm__train_same(const cm_train_options *a, const cm_train_options *b);
uint64_t cm__train_hash(const cm_train_options *o); /* equal for equal options */

#endif
