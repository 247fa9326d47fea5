/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host_compiled.c - the host's time per step under torch.compile.
 *
 * Inductor generates Python code. For each generated kernel it allocates the result and calls a launcher. For products,
 * convolutions, attention, look-ups and complex numbers it allocates the result and calls the same operators as eager
 * PyTorch, without autograd: the two gradients of a product cost two products. The cost of a launch is in the profile
 * (torch-compile, `launch`). A profile without it uses the host cost of an eager elementwise operator, which is also a
 * call from Python, an allocation and a launch. `step` has the guards, the wrappers of both graphs and the loss,
 * `parameter` what the wrappers do for each parameter: they pass it in and hand its gradient to autograd. The update
 * runs eagerly, and so does what the compiler cannot trace. A jitted step of JAX has costs of its own.
 */
#include "model/step/host.h"

#include "graph/runtimes.h"
#include "graph/training/train.h"
#include "model/inductor/fusing.h"

#include "model/time/factors.h"

/* Eager host cost of the operators that Inductor calls. Convolutions compute both gradients in one call. */
static const struct {
    const char *forward, *backward;
    bool        at_once;
} called[CM_CLASSES] = {
    [CM_CLASS_GEMM] = {"forward-op:linear", "forward-op:linear", false},
    [CM_CLASS_CONV] = {"forward-op:conv", "backward-op:conv", true},
    [CM_CLASS_ATTENTION] = {"forward-op:linear", "forward-op:linear", true},
    [CM_CLASS_RNN] = {"forward-op:linear", "forward-op:linear", true},
    [CM_CLASS_EMBEDDING] = {"forward-op:elementwise", "forward-op:elementwise", true},
};

static double eager(const cm_device *device, const cm_device *reference, const char *what)
{
    return cm__host_number(device, reference, CM_RUNTIME_TORCH_EAGER, what);
}

static bool is_complex(const cm_graph *g, const cm_node *n)
{
    for (int32_t k = 0; k < n->n_inputs; k++)
        if (n->inputs[k] >= 0 && cm__t(g, n->inputs[k])->dtype == CM_COMPLEX64) return true;
    return n->n_outputs && n->outputs[0] >= 0 && cm__t(g, n->outputs[0])->dtype == CM_COMPLEX64;
}

/* Time of the operators themselves. Counts those that compiled code calls; calls NULL: a CUDA graph has them, and they
   take no time. */
static double called_s(const cm_device *device, const cm_device *reference, const cm_graph *g, double *calls)
{
    double  sum = 0;
    int32_t last = -1;
    for (int32_t i = 0; i < g->n_nodes; i++) {
        const cm_node *n = &g->nodes[i];
        bool           backward = n->phase == CM_BACKWARD;
        cm_class       class = cm__class(n);
        const char    *what = backward ? called[class].backward : called[class].forward;
        bool           untraced = cm__outside_of(g, n) == CM__UNTRACED;
        if (!what && untraced) what = backward ? "backward-op:elementwise" : "forward-op:elementwise";
        if (!what && !cm__fusible(g, n) && is_complex(g, n)) what = "forward-op:elementwise";
        bool           again = backward && n->source >= 0 && n->source == last && called[class].at_once;
        bool           runs = what && !n->view && !again && n->phase != CM_UPDATE;
        if (runs && untraced) sum += eager(device, reference, what);
        if (runs && !untraced && calls) {
            sum += eager(device, reference, what) * cm__time_factors.compiled_host; /* no autograd, no dispatch */
            *calls += 1;
        }
        last = backward ? n->source : -1;
    }
    return sum;
}

static double parameters_of(const cm_graph *g)
{
    double tensors = 0;
    for (int32_t i = 0; i < g->n_nodes; i++)
        for (int32_t k = 0; g->nodes[i].phase == CM_UPDATE && k < g->nodes[i].n_inputs; k++)
            tensors += g->nodes[i].inputs[k] >= 0 && cm__t(g, g->nodes[i].inputs[k])->role == CM_ROLE_PARAMETER;
    return tensors;
}

/* Host time of each parameter: in the wrappers of the graphs, and in the update. */
static double parameters_s(cm__ctx *ctx, const cm_device *device, const cm_device *reference, const cm_graph *g)
{
    return parameters_of(g) * (cm__host_number(device, reference, CM_RUNTIME_TORCH_COMPILE, "parameter") +
                      eager(device, reference, cm__format(ctx, "update-op:%s", cm_optimizer_name(g->optimizer))));
}

/* Graphs besides those of the whole model: each has guards, two wrappers and a node of autograd. With CUDA graphs, those
   around experts take as long as without, 1.7 ms in both of two recorded steps (1.1 to 2.1 in three without); of other
   layers it is not known: 0.0, 0.2 and 0.4 ms in three steps. */
static double graphs_s(const cm_device *device, const cm_device *reference, int32_t graphs)
{
    return graphs * cm__host_number(device, reference, CM_RUNTIME_TORCH_COMPILE, "graph");
}

/* Tensors that the host passes in and out of a jitted step of JAX: parameters, and as many of each state of the optimizer. */
static double arrays_of(const cm_graph *g) { return parameters_of(g) * (1 + cm__optimizer_states(g->optimizer)); }

/* XLA replays graphs of kernels, which convolutions interrupt. */
static double jitted_s(const cm_device *device, const cm_device *reference, const cm_graph *g)
{
    double convolutions = 0;
    for (int32_t i = 0; i < g->n_nodes; i++) convolutions += cm__class(&g->nodes[i]) == CM_CLASS_CONV && !g->nodes[i].view;
    const char *array = g->jax.keeps_arguments ? "kept-array" : "donated-array";
    return cm__host_number(device, reference, CM_RUNTIME_XLA, "step") +
           arrays_of(g) * cm__host_number(device, reference, CM_RUNTIME_XLA, array) +
           convolutions * cm__host_number(device, reference, CM_RUNTIME_XLA, "convolution");
}

/* Python, guards, and the start of a graph. Optimizers stay outside of torch.compile's graphs. */
double cm__host_time_graphs(cm__ctx *ctx, const cm_device *device, const cm_device *reference, const cm_graph *g,
                            cm_runtime base)
{
    if (cm__is_xla(base)) return jitted_s(device, reference, g);
    double step = cm__host_number(device, reference, base, "step");
    if (step <= 0) step = eager(device, reference, "step");
    if (!cm__compiles(base)) return step;
    step += graphs_s(device, reference, g->expert_graphs);
    return step + called_s(device, reference, g, NULL) + parameters_s(ctx, device, reference, g);
}

double cm__host_time_compiled(cm__ctx *ctx, const cm_device *device, const cm_device *reference, const cm_graph *g,
                              double generated)
{
    double launch = cm__host_number(device, reference, CM_RUNTIME_TORCH_COMPILE, "launch");
    double step = cm__host_number(device, reference, CM_RUNTIME_TORCH_COMPILE, "step");
    if (launch <= 0) launch = eager(device, reference, "forward-op:elementwise");
    if (step <= 0) step = eager(device, reference, "step");
    double calls = 0, operators = called_s(device, reference, g, &calls);
    step += graphs_s(device, reference, g->layer_graphs);
    return step + (generated + calls) * launch + operators + parameters_s(ctx, device, reference, g);
}
