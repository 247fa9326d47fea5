/* SPDX-License-Identifier: Apache-2.0 */
/* varied.h - memory that the allocator reserves if the lengths of samples vary from step to step. */
#ifndef CM_MODEL_VARIED_H
#define CM_MODEL_VARIED_H

#include "model/memory/footprint.h"
#include "model/memory/lengths.h"

#define CM__VARIED_LENGTHS 3 /* every size is a polynomial of the second degree in the length: three of them give it */

/* One step with samples of three lengths; they must differ. */
typedef struct cm__varied {
    const cm_footprint *at[CM__VARIED_LENGTHS];
    double              length[CM__VARIED_LENGTHS];
    cm__lengths         lengths;
    bool                padded; /* to the longest of a micro-batch; false: their mean counts */
} cm__varied;

/* True: the same pieces and nodes at all lengths, so that sizes between them are known. */
bool cm__varied_applies(const cm__varied *v);
/* Bytes that many steps of random lengths reserve in all, at most those that the device has. */
cm_status cm__varied_reserved(const cm__varied *v, int64_t batch, double *reserved_bytes, cm_diag *diag);

#endif
