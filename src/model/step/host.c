/* SPDX-License-Identifier: Apache-2.0 */
/* host.c - the host's time per step: forward operators, autograd nodes, and parameter updates. */
#include "model/step/host.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include "base/text.h"
#include "base/versions.h"
#include "graph/runtimes.h"
#include "model/inductor/fusing.h"
#include "model/step/loading.h"
#include "model/time/factors.h"

static const cm__host_cost *find(const cm_device *device, cm_runtime runtime, const char *what)
{
    for (int32_t i = 0; device && i < device->n_host; i++)
        if (cm__same_text(device->host[i].what, what) &&
            cm__same_text(device->host[i].runtime, cm_runtime_name(runtime)))
            return &device->host[i];
    return NULL;
}

double cm__host_number(const cm_device *device, const cm_device *reference, cm_runtime runtime, const char *what)
{
    const cm__host_cost *h = find(device, runtime, what);
    cm_runtime           made_of = cm__compiles(runtime) ? runtime : cm__runtime_of(runtime)->host;
    if (!h) h = find(device, made_of, what);
    if (!h) h = find(reference, made_of, what);
    return h ? h->time_s.value : 0;
}

/* Host times were fitted to steps on several days. They grow with the time of a tiny operator in the same process, which
   `bench --suite host` measures; launches one after the other vary far more than steps do. */
static cm__hosting probed(const cm__host_cost *probe, cm_runtime runtime)
{
    double slower = pow(probe->time_s.value / cm__time_factors.probe_time, cm__time_factors.probe_power);
    bool   compiled = cm__compiles(runtime);
    return (cm__hosting){slower, compiled ? cm__time_factors.compiled_host_error : cm__time_factors.probed_host_error};
}

/* Entries of one runtime and release were timed on one host. torch.compile and Megatron-LM are mostly eager PyTorch. */
cm__hosting cm__hosting_of(cm__ctx *ctx, const cm_device *device, const cm_device *reference, cm_runtime runtime,
                           const char *id, cm_versions asked)
{
    cm_runtime           built_on = cm__runtime_of(runtime)->host;
    const cm__host_cost *probe = find(device, CM_RUNTIME_TORCH_EAGER, "probe");
    if (probe && cm__is_pytorch(runtime)) return probed(probe, runtime);
    const cm__host_cost *own = cm__compiles(runtime) ? NULL : find(device, runtime, "step");
    if (!own) own = find(device, built_on, "step");
    const cm__host_cost *h = own ? own : find(reference, built_on, "step");
    double slower = h && h->host ? cm__host_of(ctx, NULL, h->host).boost_hz / cm__host_of(ctx, device, id).boost_hz : 1;
    if (isnan(slower)) slower = 1;
    bool measured = own && slower == 1 && !cm__is_megatron(runtime) && !cm__versions_differ(own->software, asked);
    double near = cm__compiles(runtime) ? cm__time_factors.compiled_host_error : cm__time_factors.host_error;
    return (cm__hosting){slower, measured ? near : cm__time_factors.unmeasured_host_error};
}

/* Kinds of operators with the same host cost. */
enum { LINEAR, CONV, NORM, BATCH_NORM, ELEMENTWISE, VIEW, FUSED, KINDS };
_Static_assert(KINDS == CM__HOST_KINDS, "as many counts as kinds");
#define COSTS(kind) {"forward-op:" kind, "backward-op:" kind}
static const struct {
    const char *forward, *backward;
} costs[KINDS] = {
    [LINEAR] = COSTS("linear"),         [CONV] = COSTS("conv"),               [NORM] = COSTS("norm"),
    [BATCH_NORM] = COSTS("batch_norm"), [ELEMENTWISE] = COSTS("elementwise"), [VIEW] = COSTS("view"),
    [FUSED] = COSTS("elementwise"),
};
static const uint8_t     kind_of_class[CM_CLASSES] = {
    [CM_CLASS_GEMM] = LINEAR,           [CM_CLASS_CONV] = CONV,           [CM_CLASS_ATTENTION] = LINEAR,
    [CM_CLASS_NORM] = NORM,             [CM_CLASS_ELEMENTWISE] = ELEMENTWISE, [CM_CLASS_REDUCTION] = ELEMENTWISE,
    [CM_CLASS_MOVEMENT] = ELEMENTWISE,  [CM_CLASS_EMBEDDING] = ELEMENTWISE,   [CM_CLASS_RNN] = LINEAR,
};

static int kind_of(const cm_graph *g, const cm_node *n)
{
    const cm_node *forward = n->source >= 0 ? &g->nodes[n->source] : n;
    if (n->view) return VIEW;
    if (g->asked.script.fused_kernels && cm__class(forward) == CM_CLASS_NORM && forward->op != CM_OP_BATCH_NORM) return FUSED;
    return forward->op == CM_OP_BATCH_NORM ? BATCH_NORM : kind_of_class[cm__class(n)];
}

/* True: with fused kernels the node is part of the kernel that another one begins. */
static bool is_inside(const cm_graph *g, const cm_node *n)
{
    if (!g->asked.script.fused_kernels || !cm__in_chain(g, n)) return false;
    for (int32_t k = 0; k < n->n_inputs; k++) {
        int32_t        from = n->inputs[k] < 0 ? -1 : cm__t(g, n->inputs[k])->producer;
        const cm_node *made = from < 0 ? NULL : &g->nodes[from];
        if (made && made->phase == n->phase && made->block == n->block && cm__in_chain(g, made)) return true;
    }
    return false;
}

/* All backward nodes of one forward operator are one autograd node. */
cm__host_counts cm__host_count(const cm_graph *g)
{
    cm__host_counts c = {.known = true};
    int32_t         last = -1, layer = -2; /* -1: operators that belong to no layer */
    for (int32_t i = 0; i < g->n_nodes; i++) {
        const cm_node *n = &g->nodes[i];
        bool           backward = n->phase == CM_BACKWARD;
        if (n->phase == CM_RECOMPUTE && n->block != layer) c.checkpoints++, layer = n->block;
        c.trains |= n->phase != CM_FORWARD;
        if (n->phase == CM_UPDATE || is_inside(g, n)) continue;
        if (!backward) (n->phase == CM_RECOMPUTE ? c.again : c.forward)[kind_of(g, n)]++;
        else if (n->source < 0 || n->source != last) c.backward[kind_of(g, n)]++;
        last = backward ? n->source : -1;
    }
    return c;
}

double cm__host_update(const cm_device *device, const cm_device *reference, cm_runtime runtime, const cm_graph *g)
{
    char what[64];
    snprintf(what, sizeof what, "update-op:%s", cm_optimizer_name(g->optimizer));
    /* bitsandbytes calls a kernel for each parameter: an operator call */
    if (g->optimizer >= CM_OPTIMIZER_ADAMW_8BIT) snprintf(what, sizeof what, "forward-op:elementwise");
    return cm__host_number(device, reference, runtime, "step") +
           cm__facts_of(g).updated * cm__host_number(device, reference, runtime, what);
}

/* Host time of a recomputed operator over that of a forward operator. PyTorch's own checkpoints run Python for each tensor
   that the repeated operators save; reentrant ones repeat the operators as they are. */
static double again_of(const cm_graph *g, cm_runtime runtime)
{
    return cm__is_eager(runtime) && !g->asked.whole_layers ? cm__time_factors.recompute_host : 1;
}

/* Host time of reentrant checkpoints beside the repeated operators. */
static double checkpoint_time(const cm_device *device, const cm_device *reference, cm_runtime runtime, const cm_graph *g,
                              double checkpoints)
{
    if (!cm__is_eager(runtime) || !g->asked.whole_layers) return 0;
    return checkpoints * cm__time_factors.reentrant_host *
           cm__host_number(device, reference, runtime, costs[ELEMENTWISE].forward);
}

double cm__host_time(const cm_device *device, const cm_device *reference, cm_runtime runtime, const cm_graph *g,
                     const cm__host_counts *counts)
{
    cm__host_counts c = counts && counts->known ? *counts : cm__host_count(g);
    double sum = cm__host_update(device, reference, runtime, g) +
                 checkpoint_time(device, reference, runtime, g, c.checkpoints);
    for (int k = 0; k < KINDS; k++) {
        double one = cm__host_number(device, reference, runtime, costs[k].forward);
        if (k == FUSED) one *= cm__time_factors.fused_host;
        sum += c.forward[k] * one * (c.trains ? 1 : cm__time_factors.inference_host);
        sum += c.again[k] * one * again_of(g, runtime);
        one = cm__host_number(device, reference, runtime, costs[k].backward);
        sum += c.backward[k] * one * (k == FUSED ? cm__time_factors.fused_backward_host : 1);
    }
    return sum;
}
