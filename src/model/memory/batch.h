/* SPDX-License-Identifier: Apache-2.0 */
/* batch.h - choosing a batch size by any rule of what fits. */
#ifndef CM_MODEL_BATCH_H
#define CM_MODEL_BATCH_H

#include "centimani.h"

#define CM__BATCH_MOST ((int64_t)1 << 24) /* powers of two above this are not tried */

/* What a choice needs to know of a step. */
typedef struct cm__batch_rule {
    const cm_device *device;
    int64_t          most; /* powers of two above this are not tried; 1: the step does not depend on the batch size */
    /* Memory at a batch size, and whether it fits. */
    cm_status (*use)(void *user, int64_t batch, cm_memory_use *use, cm_diag *diag);
    void            *user;
} cm__batch_rule;

/* As cm_batch_choose(); throughput is asked of as few candidates as the choice needs. */
cm_status cm__batch_choose(const cm__batch_rule *rule, const cm_batch_options *options, cm_batch_choice *choice,
                           cm_diag *diag);

/* Throughput of every candidate that fits and has none yet. */
void cm__batch_throughputs(const cm_batch_options *options, cm_batch_choice *choice);

/* Memory by polynomials; where a memory is nearly full, by the allocator. `use` is filled in either way. */
cm_status cm__footprint_use(const cm_footprint *footprint, int64_t batch, cm_memory_use *use, cm_diag *diag);

#endif
