/* SPDX-License-Identifier: Apache-2.0 */
/* counts.h - the counts of a parallel plan, and checks that they divide a graph. */
#ifndef CM_GRAPH_PLAN_COUNTS_H
#define CM_GRAPH_PLAN_COUNTS_H

#include "graph/graph.h"
#include "graph/runtimes.h"

/* Fill in every count; fails, with the reason, if they contradict each other. */
void cm__plan_fill(cm__ctx *ctx, cm_plan *plan);

/* True: all members are equal. memcmp() would also compare the padding between them, whose bytes are arbitrary. */
bool cm__plan_same(const cm_plan *a, const cm_plan *b);

/* Fraction of the layers whose activations are stored in host memory, if the plan offloads activations. parts: of
   cm__part_count(). */
double cm__offloaded_layers(const cm_plan *plan, int32_t parts);

/* The number of devices that have the same weights: replicas, and devices that share a sequence's tokens. */
static inline int32_t cm__replicas(const cm_plan *plan) { return plan->dp * (plan->cp > 1 ? plan->cp : 1); }

/* True: more devices share the experts than there are replicas, so tensor-parallel devices have whole experts of their
   own (Megatron-LM: --expert-tensor-parallel-size 1). */
static inline bool cm__whole_experts(const cm_plan *plan)
{
    return plan->tp > 1 && plan->ep > 1 && plan->dp % plan->ep != 0;
}

/* The number of devices that have the same experts: expert-parallel devices have different ones. */
static inline int32_t cm__expert_replicas(const cm_plan *plan)
{
    int32_t all = cm__replicas(plan) * (cm__whole_experts(plan) ? plan->tp : 1);
    return plan->ep > 1 ? all / plan->ep : all;
}

/* Among how many devices ZeRO divides what it divides, in the mean of a device's parameters, of which the fraction
   `experts` belongs to experts. */
static inline double cm__sharing(const cm_plan *plan, double experts)
{
    double all = cm__replicas(plan);
    return experts > 0 ? all / (1 - experts + experts * all / cm__expert_replicas(plan)) : all;
}

/* PyTorch's pipelines reduce the gradients after a step's last micro-batch: until then FSDP stores them whole
   (torch/distributed/pipelining/stage.py, backward_maybe_with_nosync()). So do the stacks that `tuned` stands for: no
   pipeline shards gradients between its micro-batches (DeepSpeed's refuses ZeRO 2 and 3: runtime/pipe/engine.py). */
static inline bool cm__gradients_wait(const cm_plan *plan, cm_runtime runtime)
{
    return plan->pp > 1 && plan->accumulate > 1 && cm__is_pytorch(runtime);
}

/* FSDP's no_sync(), in which accelerate runs all micro-batches of an update but the last: each unit's gradients stay
   whole until its last backward pass, in the type that it computes in (torch/distributed/fsdp/_runtime_utils.py,
   _post_backward_hook(): without _sync_gradients it returns before they are reduced). */
static inline bool cm__gradients_pile(const cm_plan *plan, cm_runtime runtime)
{
    bool shards = plan->zero >= 2 && cm__replicas(plan) > 1;
    return plan->no_sync && plan->accumulate > 1 && plan->pp == 1 && shards && cm__is_pytorch(runtime);
}

/* Fail, with values that are possible, if the plan does not divide the model: heads by tp, tokens by cp, experts by
   ep (plan/divisors.c). */
void cm__plan_check(cm__ctx *ctx, const cm_graph *g, const cm_plan *plan);
bool cm__plan_divides(const cm_graph *g, const cm_plan *plan); /* the same check, without failing */

#endif
