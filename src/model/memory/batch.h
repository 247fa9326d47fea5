/* SPDX-License-Identifier: Apache-2.0 */
/* batch.h - choose a batch size with a caller's own rule for what fits. */
#ifndef CM_MODEL_BATCH_H
#define CM_MODEL_BATCH_H

#include "centimani.h"

#define CM__BATCH_MOST ((int64_t)1 << 24) /* larger powers of two are not tried */

/* Input of the choice. */
typedef struct cm__batch_rule {
    const cm_device *device;
    int64_t          most;  /* largest power of two to try; 1: the step does not depend on the batch size */
    int64_t          least; /* smallest batch; all others are multiples of it */
    /* Fills in the memory use at a batch size, and whether it fits. */
    cm_status (*use)(void *user, int64_t batch, cm_memory_use *use, cm_diag *diag);
    /* The same without simulating the allocator. Powers of two that nearly fill a memory are then simulated only if the
       choice depends on whether they fit. NULL: all are. */
    cm_status (*roughly)(void *user, int64_t batch, cm_memory_use *use, cm_diag *diag);
    /* True: the throughput at a batch size is surely below this one. NULL: only the throughput itself decides. */
    bool (*below)(void *user, int64_t batch, double samples_s);
    void            *user;
} cm__batch_rule;

/* As cm_batch_choose(). Throughput is computed for as few candidates as the choice needs. */
cm_status cm__batch_choose(const cm__batch_rule *rule, const cm_batch_options *options, cm_batch_choice *choice,
                           cm_diag *diag);

/* Computes the missing throughputs of all candidates that fit. */
void cm__batch_throughputs(const cm_batch_options *options, cm_batch_choice *choice);

/* Memory use by polynomials; if a memory is nearly full, by simulating the allocator. `use` is filled in either way. */
cm_status cm__footprint_use(const cm_footprint *footprint, int64_t batch, cm_memory_use *use, cm_diag *diag);

#endif
