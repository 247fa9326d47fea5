/* SPDX-License-Identifier: Apache-2.0 */
/* chance.h - what the verdict is made of: the fullness of memories, and the kinds of script that a question leaves open. */
#ifndef CM_MODEL_CHANCE_H
#define CM_MODEL_CHANCE_H

#include "centimani.h"

/* Bytes needed over capacity, of the fullest memory; NAN: no capacity is known. The step does not fit above 1. */
double cm__fullness(const cm_memory_use *use);

/* Whether the step surely does not fit even if it needs that many bytes less. */
bool cm__hopeless(const cm_memory_use *use, double saved_bytes);

/* Adds a kind of script to use->alternatives; the names have static lifetime. use->fits and ->shortfall_bytes must still
   be those of the step as it was asked when the first one is added. */
void cm__add_alternative(cm_memory_use *use, cm_open open, const char *asked, const char *name,
                         const cm_memory_use *other);

#endif
