/* SPDX-License-Identifier: Apache-2.0 */
/* number.h - a number of a profile, if it is known. */
#ifndef CM_DEVICE_NUMBER_H
#define CM_DEVICE_NUMBER_H

#include "centimani.h"

static inline double cm__value_or(cm_number n, double otherwise) { return n.known ? n.value : otherwise; }

#endif
