/* SPDX-License-Identifier: Apache-2.0 */
/* names.c - the names of types, roles, phases, classes and options, and the values they name. */
#include <stdio.h>
#include <string.h>
#include "base/text.h"
#include "graph/graph.h"

int32_t cm_version_number(void) { return CM_VERSION_NUMBER; }

static const struct {
    const char *name;
    size_t      size;
} dtypes[CM_DTYPES] = {
    [CM_FP32] = {"fp32", 4},   [CM_FP64] = {"fp64", 8},   [CM_FP16] = {"fp16", 2}, [CM_BF16] = {"bf16", 2},
    [CM_FP8] = {"fp8", 1},     [CM_INT64] = {"int64", 8}, [CM_INT32] = {"int32", 4}, [CM_INT16] = {"int16", 2},
    [CM_INT8] = {"int8", 1},   [CM_UINT8] = {"uint8", 1}, [CM_BOOL] = {"bool", 1}, [CM_COMPLEX64] = {"complex64", 8},
    [CM_STRING] = {"string", 8},
};
static const char *const roles[CM_ROLES] = {
    [CM_ROLE_ACTIVATION] = "activation", [CM_ROLE_INPUT] = "input",   [CM_ROLE_PARAMETER] = "parameter",
    [CM_ROLE_BUFFER] = "buffer",         [CM_ROLE_CONSTANT] = "constant", [CM_ROLE_SAVED] = "saved",
    [CM_ROLE_CAST] = "cast",             [CM_ROLE_GRADIENT] = "gradient",
    [CM_ROLE_PARAMETER_GRADIENT] = "parameter_gradient", [CM_ROLE_STATE] = "state",
};
static const char *const phases[CM_PHASES] = {
    [CM_FORWARD] = "forward", [CM_BACKWARD] = "backward", [CM_RECOMPUTE] = "recompute", [CM_UPDATE] = "update",
};
static const char *const classes[CM_CLASSES] = {
    [CM_CLASS_GEMM] = "gemm",           [CM_CLASS_CONV] = "conv",           [CM_CLASS_ATTENTION] = "attention",
    [CM_CLASS_NORM] = "norm",           [CM_CLASS_ELEMENTWISE] = "elementwise", [CM_CLASS_REDUCTION] = "reduction",
    [CM_CLASS_MOVEMENT] = "movement",   [CM_CLASS_EMBEDDING] = "embedding", [CM_CLASS_RNN] = "rnn",
    [CM_CLASS_UPDATE] = "update",
};
static const char *const precisions[CM_PRECISIONS] = {
    [CM_PRECISION_DEFAULT] = "default",   [CM_PRECISION_FP32] = "fp32",         [CM_PRECISION_TF32] = "tf32",
    [CM_PRECISION_AMP_BF16] = "amp-bf16", [CM_PRECISION_AMP_FP16] = "amp-fp16", [CM_PRECISION_BF16] = "bf16",
    [CM_PRECISION_FP16] = "fp16",         [CM_PRECISION_FP8] = "fp8",
};
static const char *const optimizers[CM_OPTIMIZERS] = {
    [CM_OPTIMIZER_DEFAULT] = "default", [CM_OPTIMIZER_SGD] = "sgd",     [CM_OPTIMIZER_MOMENTUM] = "momentum",
    [CM_OPTIMIZER_ADAM] = "adam",       [CM_OPTIMIZER_ADAMW] = "adamw",
    [CM_OPTIMIZER_ADAMW_8BIT] = "adamw-8bit", [CM_OPTIMIZER_PAGED_ADAMW] = "paged-adamw",
    [CM_OPTIMIZER_PAGED_ADAMW_8BIT] = "paged-adamw-8bit",
};
static const char *const losses[CM_LOSSES] = {
    [CM_LOSS_AUTO] = "auto", [CM_LOSS_CROSS_ENTROPY] = "cross-entropy", [CM_LOSS_MSE] = "mse",
    [CM_LOSS_BCE] = "bce",   [CM_LOSS_NONE] = "none",
};
static const char *const recomputes[CM_RECOMPUTES] = {
    [CM_RECOMPUTE_NONE] = "none", [CM_RECOMPUTE_SELECTIVE] = "selective", [CM_RECOMPUTE_FULL] = "full",
};
static const char *const attentions[CM_ATTENTIONS] = {"auto", "flash", "math", "efficient", "cudnn"};
static const char *const loss_kernels[CM_LOSS_KERNELS] = {"auto", "plain", "fused", "chunked"};
static const char *const mixed_precisions[CM_MIXED_PRECISIONS] = {"auto", "autocast", "fsdp"};
static const char *const logits[CM_LOGITS] = {"auto", "own", "fp32", "both"};

static const char *const quantizes[CM_QUANTIZES] = {"none", "nf4", "nf4-dq", "int8", "gptq4", "fp8"};

static const char *const layouts[CM_LAYOUTS] = {"auto", "nchw", "nhwc"};
static const char *const fuses[CM_FUSES] = {
    [CM_FUSE_ALL] = "all", [CM_FUSE_EAGER] = "eager", [CM_FUSE_NONE] = "none", [CM_FUSE_NORMS] = "norms",
};

const char *cm_dtype_name(cm_dtype dtype) { return dtypes[dtype].name; }
size_t      cm_dtype_size(cm_dtype dtype) { return dtypes[dtype].size; }
const char *cm_role_name(cm_role role) { return roles[role]; }
const char *cm_phase_name(cm_phase phase) { return phases[phase]; }
const char *cm_class_name(cm_class op_class) { return classes[op_class]; }
const char *cm_precision_name(cm_precision precision) { return precisions[precision]; }
const char *cm_optimizer_name(cm_optimizer optimizer) { return optimizers[optimizer]; }
const char *cm_loss_name(cm_loss loss) { return losses[loss]; }
const char *cm_recompute_name(cm_recompute recompute) { return recomputes[recompute]; }
const char *cm_attention_name(cm_attention attention) { return attentions[attention]; }
const char *cm_loss_kernel_name(cm_loss_kernel kernel) { return loss_kernels[kernel]; }
const char *cm_mixed_precision_name(cm_mixed_precision kind) { return mixed_precisions[kind]; }
const char *cm_logits_name(cm_logits kind) { return logits[kind]; }
const char *cm_quantize_name(cm_quantize quantize) { return quantizes[quantize]; }
const char *cm_fuse_name(cm_fuse fuse) { return fuses[fuse]; }
const char *cm_layout_name(cm_layout layout) { return layouts[layout]; }
const char *cm_how_name(cm_how how)
{
    static const char *const hows[CM_HOWS] = {"measured", "interpolated", "transferred", "roofline"};
    return hows[how];
}

static cm_status parse(const char *what, const char *name, const char *const *names, int count, int *value,
                       cm_diag *diag)
{
    char   known[256] = "";
    size_t used = 0;
    for (int i = 0; i < count; i++) {
        if (strcmp(names[i], name) == 0) {
            *value = i;
            return CM_OK;
        }
        if (strcmp(names[i], "default") == 0) continue;
        used += (size_t)snprintf(known + used, sizeof known - used, "%s%s", used ? ", " : "", names[i]);
    }
    const char *near = cm__nearest(name, names, (size_t)count);
    return cm__diag_set(diag, CM_ERR_UNKNOWN, "unknown %s '%s'%s%s%s; known: %s", what, name,
                        near ? ", did you mean '" : "", near ? near : "", near ? "'?" : "", known);
}

#define PARSER(type, names, count)                                                                                     \
    cm_status cm_##type##_parse(const char *name, cm_##type *out, cm_diag *diag)                                       \
    {                                                                                                                  \
        int       value;                                                                                               \
        cm_status status = parse(#type, name, names, count, &value, diag);                                             \
        if (status == CM_OK) *out = (cm_##type)value;                                                                  \
        return status;                                                                                                 \
    }
PARSER(precision, precisions, CM_PRECISIONS)
PARSER(optimizer, optimizers, CM_OPTIMIZERS)
PARSER(loss, losses, CM_LOSSES)
PARSER(recompute, recomputes, CM_RECOMPUTES)
PARSER(attention, attentions, CM_ATTENTIONS)
PARSER(loss_kernel, loss_kernels, CM_LOSS_KERNELS)
PARSER(logits, logits, CM_LOGITS)
PARSER(mixed_precision, mixed_precisions, CM_MIXED_PRECISIONS)
PARSER(quantize, quantizes, CM_QUANTIZES)
PARSER(fuse, fuses, CM_FUSES)
PARSER(layout, layouts, CM_LAYOUTS)

/* Bits of modules in "layernorm+moe_act"; 0: a word is none. */
static uint32_t modules_of(const char *text)
{
    static const struct {
        const char *name;
        cm_module   module;
    } modules[] = {{"core_attn", CM_MODULE_CORE_ATTN}, {"layernorm", CM_MODULE_LAYERNORM},
                   {"moe_act", CM_MODULE_MOE_ACT}, {"mla_up_proj", CM_MODULE_MLA_UP_PROJ}};
    uint32_t bits = 0;
    for (const char *at = text; *at; at += *at == '+') {
        cm__span word = {at, strcspn(at, "+")};
        uint32_t bit = 0;
        for (size_t i = 0; i < sizeof modules / sizeof *modules; i++)
            if (cm__span_is(word, modules[i].name)) bit = (uint32_t)modules[i].module;
        if (!bit) return 0;
        bits |= bit;
        at += word.length;
    }
    return bits;
}

cm_status cm_recompute_set(const char *text, cm_train_options *train, cm_diag *diag)
{
    static const char full[] = "full:";
    int64_t           layers = 0;
    bool              some = strncmp(text, full, sizeof full - 1) == 0;
    const char       *count = text + sizeof full - 1;
    if (some && (!cm__parse_int((cm__span){count, strlen(count)}, &layers) || layers < 1 || layers > INT32_MAX))
        return cm__diag_set(diag, CM_ERR_UNKNOWN, "'%s' is not a number of layers such as full:20", text);
    train->recompute_layers = (int32_t)layers;
    train->recompute_modules = modules_of(text);
    bool        selective = cm__policy_read(text, train) || train->recompute_modules;
    const char *name = some ? "full" : selective ? "selective" : text;
    if (cm_recompute_parse(name, &train->recompute, diag) == CM_OK) return CM_OK;
    char   known[sizeof diag->reason];
    size_t used = (size_t)snprintf(known, sizeof known, "%s", diag ? diag->reason : "");
    for (int i = 0; cm_recompute_policy(i) && used < sizeof known; i++)
        used += (size_t)snprintf(known + used, sizeof known - used, ", %s", cm_recompute_policy(i));
    return cm__diag_set(diag, CM_ERR_UNKNOWN, "%s, custom:TENSOR+TENSOR=offload", known);
}
