/* SPDX-License-Identifier: Apache-2.0 */
/* norms.h - times of norms that follow from how the kernels work. */
#ifndef CM_MODEL_NORMS_H
#define CM_MODEL_NORMS_H

#include "model/time/roofline.h"

/* The time of threads that each loop over numbers, one read after another. cycles: of a read. */
double cm__loops_time(const cm__limits *limits, double threads, double length, double cycles);
/* Times below which no GPU computes a group norm, a layer norm, and the gradient of a batch norm of rows that lie
   apart. */
double cm__group_norm_time(const cm__limits *limits, const cm__call *call);
double cm__layer_norm_time(const cm__limits *limits, const cm__call *call);
double cm__apart_norm_time(const cm__limits *limits, const cm__call *call);
/* The time of a group norm of rows without positions; 0: it has positions. */
double cm__group_norm_rows_time(const cm__limits *limits, const cm__call *call);

#endif
