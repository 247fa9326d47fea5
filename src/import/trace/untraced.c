/* SPDX-License-Identifier: Apache-2.0 */
/*
 * untraced.c - recorded operators that torch.compile leaves to eager PyTorch.
 *
 * A function is compiled up to a place that the compiler cannot trace. Four such places show in a recording:
 *
 * - a recurrent layer (allow_rnn in torch/_dynamo/config.py). PyTorch 2.11 runs the rest of the function that calls it
 *   eagerly: in the recorded steps of the first-sight lists all kernels after such a layer are those of eager PyTorch.
 *   PyTorch 2.15 compiles the rest as another graph.
 * - a loop over layers that compares a number with another one in Python, such as LayerDrop (BART, wav2vec 2.0):
 *   nothing in the step reads the truth value. Dynamo cannot continue in the middle of a loop, so it leaves the whole
 *   function to eager PyTorch and makes a graph of each layer (recorded steps run the kernels of one layer many times).
 * - nn.TransformerEncoder or nn.TransformerDecoder with a mask. To find out whether the mask is causal, they compare it
 *   with a causal one and ask for the answer (_detect_is_causal_mask in torch/nn/modules/transformer.py). PyTorch's own
 *   modules are not compiled on their own, so all of the encoder or decoder runs eagerly.
 * - grouped products of experts (torch._grouped_mm), unless their weights are in bf16: transformers then calls another
 *   operator (_can_use_grouped_mm in its integrations/moe.py). In five recorded steps the kernels of the experts' function
 *   are those of eager PyTorch; only its gate, a function of its own, is generated. Why Dynamo leaves it is not known.
 */
#include <ctype.h>
#include <string.h>
#include "import/trace/trace.h"

static bool is_layer(const cm__trace_op *o)
{
    static const char *const names[] = {"lstm", "gru", "rnn_tanh", "rnn_relu"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(o->name, names[i]) == 0) return true;
    return false;
}

/* The length of a module's path without its last component. */
static size_t without_last(const char *module, size_t length)
{
    while (length && module[length - 1] != '.') length--;
    return length ? length - 1 : 0;
}

/* The length of the path of the module whose function calls this one; modules in lists have a number as well. */
static size_t caller_of(const char *module)
{
    size_t length = strlen(module), last = without_last(module, length);
    while (last && isdigit((unsigned char)module[last + 1])) length = last, last = without_last(module, length);
    return without_last(module, length);
}

/* The module is the one whose path has this length, or a part of it. */
static bool is_part(const char *path, size_t length, const char *module)
{
    return strncmp(path, module, length) == 0 && (!length || !module[length] || module[length] == '.');
}

/* True: the function of the module with this path runs the operators of `module`. PyTorch's own modules are part of the
   function that calls them; other modules have functions of their own, which are compiled. */
static bool runs(const char *path, size_t length, const char *module)
{
    if (!is_part(path, length, module)) return false;
    int names = 0;
    for (const char *at = module + length; *at; at++)
        names += (at == module || at[-1] == '.') && !isdigit((unsigned char)*at);
    return names <= 1;
}

/* The last operator of the comparison with a causal mask. */
static bool asks_for_mask(const cm__trace *t, int32_t i)
{
    static const char *const names[] = {"triu", "eq", "all"};
    for (int32_t k = 0; k < 3; k++) {
        const cm__trace_op *o = i < 2 ? NULL : &t->ops[i - 2 + k];
        if (!o || strcmp(o->name, names[k]) != 0 || strcmp(o->module, t->ops[i].module) != 0) return false;
    }
    return true;
}

/* A comparison whose only truth value no operator reads: Python branches on it. */
static bool is_branch(const cm__trace *t, const cm__trace_op *o)
{
    static const char *const names[] = {"lt", "le", "gt", "ge"};
    bool                     compares = false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) compares |= strcmp(o->name, names[i]) == 0;
    const cm__trace_tensor *y = compares && o->n_out == 1 && o->out[0] >= 0 ? &t->tensors[o->out[0]] : NULL;
    return y && o->phase == CM_FORWARD && y->rank == 0 && y->readers == 0;
}

/* The function of the module `path` runs an operator itself, or calls a layer of PyTorch that does. Layers in a list are
   taken for modules of the user's own. */
static bool runs_itself(const char *path, const char *module)
{
    size_t length = strlen(path);
    if (strncmp(path, module, length) != 0) return false;
    return !module[length] || (module[length] == '.' && !strpbrk(module + length + 1, ".0123456789"));
}

/* Functions with several branches have them in a loop: each is followed by the call of a layer. */
static void leave_out_loops(cm__trace *t)
{
    for (int32_t i = 0; i < t->n_ops; i++) {
        const cm__trace_op *o = &t->ops[i];
        int32_t             branches = 0;
        for (int32_t k = 0; is_branch(t, o) && !o->left_out && k < t->n_ops; k++)
            branches += is_branch(t, &t->ops[k]) && strcmp(t->ops[k].module, o->module) == 0;
        if (branches < 2) continue;
        t->g->layer_graphs += branches;
        for (int32_t k = 0; k < t->n_ops; k++)
            if (runs_itself(o->module, t->ops[k].module)) t->ops[k].left_out = CM__UNTRACED;
    }
}

#define GRAPHS_AROUND 5 /* before and after the experts' function in two callers (a layer, its routing), and of the gate */

/* The gate is a function of its own, which the compiler traces: it multiplies what the activation returns. */
static bool is_gate(const cm__trace *t, int32_t i)
{
    const char *module = t->ops[i].module, *before = i ? t->ops[i - 1].module : "";
    return strncmp(module, before, strlen(module)) == 0 && before[strlen(module)] == '.';
}

static void leave_out_experts(cm__trace *t)
{
    for (int32_t i = 0; i < t->n_ops; i++) {
        const cm__trace_op *o = &t->ops[i];
        if (strcmp(o->name, "_grouped_mm") != 0 || o->phase != CM_FORWARD || o->left_out) continue;
        t->g->expert_graphs += GRAPHS_AROUND;
        for (int32_t k = 0; k < t->n_ops; k++)
            if (strcmp(t->ops[k].module, o->module) == 0 && !is_gate(t, k)) t->ops[k].left_out = CM__UNTRACED_BUT_BF16;
    }
}

void cm__trace_leave_out(cm__trace *t)
{
    leave_out_loops(t);
    leave_out_experts(t);
    for (int32_t i = 0; i < t->n_ops; i++) {
        const cm__trace_op *o = &t->ops[i];
        bool                layer = is_layer(o), mask = !layer && asks_for_mask(t, i);
        if (o->phase != CM_FORWARD || o->left_out || (!layer && !mask)) continue;
        size_t length = layer ? caller_of(o->module) : strlen(o->module);
        for (int32_t k = i; k < t->n_ops; k++)
            if ((layer ? runs : is_part)(o->module, length, t->ops[k].module)) t->ops[k].left_out = CM__UNTRACED;
    }
}
