/* SPDX-License-Identifier: Apache-2.0 */
/*
 * builder.h - PyTorch's modules (linear, norm, embedding ...) as operators of a graph.
 *
 * Nodes and parameters are named "scope.part", like the children of a module. Every function returns its result tensor.
 */
#ifndef CM_IMPORT_BUILDER_H
#define CM_IMPORT_BUILDER_H

#include "graph/graph.h"

#define CM__SCALARS_MAX 16

/* Activations, by the names that Hugging Face uses. */
enum { CM__ACT_GELU, CM__ACT_GELU_NEW, CM__ACT_GELU_FAST, CM__ACT_GELU_TANH, CM__ACT_QUICK_GELU, CM__ACT_RELU,
       CM__ACT_SILU, CM__ACT_TANH, CM__ACT_RELU2, CM__ACTS };
extern const char *const cm__activation_names[]; /* ends with NULL */

typedef struct cm__builder {
    cm_graph *g;
    char      scope[128];
    char      name[256]; /* the result of the last cm__b_name() */
    struct { double value; int32_t tensor; } scalars[CM__SCALARS_MAX];
    int32_t   n_scalars;
} cm__builder;

void        cm__b_scope(cm__builder *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
const char *cm__b_name(cm__builder *b, const char *part, const char *suffix); /* scope.part.suffix */
int32_t     cm__b_parameter(cm__builder *b, const char *part, const char *suffix, int32_t rank, const int64_t *dims);
int32_t     cm__b_scalar(cm__builder *b, double value); /* one constant per value */

int32_t cm__b_unary(cm__builder *b, int op, const char *part, const char *suffix, int32_t x);
int32_t cm__b_binary(cm__builder *b, int op, const char *part, const char *suffix, int32_t x, int32_t y);
int32_t cm__b_attr(cm__builder *b, int op, const char *part, const char *suffix, int32_t x, cm__attr attr);

int32_t cm__b_reshape(cm__builder *b, const char *part, const char *suffix, int32_t x, int32_t rank,
                      const int64_t *shape);
int32_t cm__b_transpose(cm__builder *b, const char *part, const char *suffix, int32_t x, int32_t rank,
                        const int64_t *perm);
int32_t cm__b_slice(cm__builder *b, const char *part, const char *suffix, int32_t x, int64_t axis, int64_t start,
                    int64_t end);

/* x[..., in] W^T + b, weight [out, in] as in nn.Linear. */
int32_t cm__b_linear(cm__builder *b, const char *part, int32_t x, int64_t in, int64_t out, bool bias);
/* The same with an existing weight; bias -1: none. */
int32_t cm__b_project(cm__builder *b, const char *part, int32_t x, int32_t weight, int32_t bias);
/* x[..., in] W + b, weight [in, out] as in GPT-2's Conv1D. */
int32_t cm__b_conv1d(cm__builder *b, const char *part, int32_t x, int64_t in, int64_t out, bool bias);
int32_t cm__b_layer_norm(cm__builder *b, const char *part, int32_t x, int64_t width);
int32_t cm__b_rms_norm(cm__builder *b, const char *part, int32_t x, int64_t width); /* as separate operators */
int32_t cm__b_dropout(cm__builder *b, const char *part, int32_t x, double ratio);   /* x itself if ratio is 0 */
/* CM__ACT_*: separate operators where the framework has no single kernel. */
int32_t cm__b_activation(cm__builder *b, const char *part, int32_t x, int64_t kind);

#endif
