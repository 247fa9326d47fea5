/* SPDX-License-Identifier: Apache-2.0 */
/* routing.h - operators that bring tokens to their experts and back. */
#ifndef CM_MODEL_DISPATCH_ROUTING_H
#define CM_MODEL_DISPATCH_ROUTING_H

#include "model/dispatch/rules.h"

/* Whether a node, or the forward node that it is the gradient of, brings tokens to experts or their results back. */
bool cm__routes(const cm_graph *graph, const cm_node *node);

/* Whether a node multiplies experts' results by the router's weights, and whether the runtime does that inside the
   kernel of the activation between an expert's products instead, so that backward does not read the results. */
bool cm__weighs_results(const cm_graph *graph, const cm_node *node);
bool cm__weighs_inside(cm_runtime runtime, cm_software software);

/* Whether tokens that several experts of a device or node want are sent there once: the flexible dispatchers of today's
   Megatron Core (DeepEP, HybridEP), which also sort rows by expert as they write them. */
bool cm__sends_once(cm_runtime runtime, cm_software software);

/* How many experts each token of an expert's product is sent to; 1: not known. */
double cm__experts_per_token(const cm_graph *graph, const cm_node *product);

/* The kernels of such a node under Megatron Core. */
void cm__dispatch_route(cm__dispatch *dispatch, int32_t node);

#endif
