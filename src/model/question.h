/* SPDX-License-Identifier: Apache-2.0 */
/*
 * question.h - one model on one device: internal interface for callers that share graphs and tables among many devices.
 */
#ifndef CM_MODEL_QUESTION_H
#define CM_MODEL_QUESTION_H

#include "graph/training/retype.h"
#include "model/open_script.h"
#include "model/memory/footprint.h"
#include "model/predictor.h"

/* Objects that steps on several devices share. All of them must outlive the step. */
typedef struct cm__shared_step {
    /* with `forward` alone the training graph is built from it; with `graph`, `forward` may be NULL */
    const cm_graph     *forward, *graph;
    const cm__common   *common; /* NULL: nothing is shared, or find_common() returns it */
    const cm__common *(*find_common)(void *user); /* makes it when a time is first needed; NULL: it is there already */
    void               *user;
    const cm_footprint *like;   /* NULL: nothing is shared */
    const char         *model;  /* samples of several lengths need it; NULL: it cannot be loaded again */
    cm__open_script_graph *open_script; /* NULL: nothing is shared */
} cm__shared_step;

/* As cm_step_new(), with existing graphs. All defaults of the options must be filled in. */
cm_status cm__step_new_in(const cm__shared_step *shared, const cm_device *device, const cm_step_options *options,
                          cm_step **step, cm_diag *diag);

/* Fills in what a model's own runtime (cm_model_runtime()) decides, before cm_step_settle(). */
void cm__settle_runtime(cm_runtime own, const cm_device *device, cm_step_options *o);

/* True: the device divides a batch by its own rules, so that the memory of one chip does not depend on a plan. */
bool cm__divides_batches(const cm_device *device, cm_runtime runtime);

/* The most bytes of a memory with this capacity that the runtime's allocator can have reserved. */
double cm__step_allocatable(const cm_step *step, double capacity_bytes);

/* As cm_step_memory(), with the usual loss only: use->fits is true if the step surely fits. */
cm_status cm__step_sure_memory(cm_step *step, int64_t batch, cm_memory_use *use, cm_diag *diag);

#endif
