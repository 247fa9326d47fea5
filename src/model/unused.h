/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unused.h - options that would do nothing are refused, with the reason.
 *
 * Options that name the default are accepted: they say what is done anyway. Those here can never change an answer: the
 * model has nothing that they are about, or the device's runtime has no such choice.
 */
#ifndef CM_MODEL_UNUSED_H
#define CM_MODEL_UNUSED_H

#include "graph/graph.h"

/* Whether the model has what the options as the user gave them are about. */
cm_status cm__refuse_for_model(const cm_graph *forward, const cm_step_options *asked, cm_diag *diag);

/* Whether the device under this runtime, which is settled, has such a choice for the model. */
cm_status cm__refuse_for_device(const cm_graph *forward, const cm_device *device, cm_runtime runtime,
                                const cm_step_options *asked, cm_diag *diag);

/* Options that are accepted because a question about several models or devices means those that have the choice, and
   does nothing for this one; NULL: nothing. A single prediction warns of it. usual: if the user chose another fusion
   than the runtime's, the model with that one; otherwise NULL. */
const char *cm__without_effect(const cm_graph *forward, const cm_graph *usual, const cm_device *device,
                               cm_runtime runtime, const cm_step_options *asked);

#endif
