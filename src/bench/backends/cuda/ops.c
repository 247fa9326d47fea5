/* SPDX-License-Identifier: Apache-2.0 */
/* ops.c - the table of supported calls. */
#include "bench/backends/cuda/ops.h"

#include <string.h>

#define FLOATS "fp32 bf16 fp16"
#define MATRIX "fp32 tf32 bf16 fp16"

/* Rows of calls that our own kernels run, and of calls that a library runs. */
#define OWN(op, pass, variants, dtypes, n_dims, known, name)                                                           \
    {                                                                                                                  \
        op, pass, variants, dtypes, n_dims, known, cm__cuda_##name##_declare, cm__cuda_##name##_setup, NULL,           \
            cm__cuda_##name##_check, NEEDS_NOTHING                                                                     \
    }
#define LIB(op, pass, variants, dtypes, n_dims, known, name, needs)                                                    \
    {                                                                                                                  \
        op, pass, variants, dtypes, n_dims, known, cm__cuda_##name##_declare, cm__cuda_##name##_setup,                 \
            cm__cuda_##name##_call, cm__cuda_##name##_check, needs                                                     \
    }
#define LAYOUTS "nchw nhwc"
#define POOLS "max:nchw max:nhwc avg:nchw avg:nhwc"
#define RESIZES "nearest:nchw nearest:nhwc bilinear:nchw bilinear:nhwc"

/* clang-format off */
const cm__cuda_op cm__cuda_ops[] = {
    LIB("gemm", "forward", "nn nt tn nt-bias", MATRIX " fp8", 4, cm__cuda_gemm_known, gemm, NEEDS_BLASLT),
    LIB("conv", "forward", LAYOUTS, MATRIX, 14, cm__cuda_conv_known, conv, NEEDS_CUDNN),
    LIB("conv", "bwd_input", LAYOUTS, MATRIX, 14, cm__cuda_conv_known, conv, NEEDS_CUDNN),
    LIB("conv", "bwd_weight", LAYOUTS, MATRIX, 14, cm__cuda_conv_known, conv, NEEDS_CUDNN),
    LIB("conv3d", "forward", LAYOUTS, MATRIX, 19, cm__cuda_conv_known, conv, NEEDS_CUDNN),
    LIB("conv3d", "bwd_input", LAYOUTS, MATRIX, 19, cm__cuda_conv_known, conv, NEEDS_CUDNN),
    LIB("conv3d", "bwd_weight", LAYOUTS, MATRIX, 19, cm__cuda_conv_known, conv, NEEDS_CUDNN),
    LIB("attention", "forward", "", MATRIX, 7, cm__cuda_attention_known, attention, NEEDS_BLASLT),
    LIB("attention", "backward", "", MATRIX, 7, cm__cuda_attention_known, attention, NEEDS_BLASLT),
    LIB("batch_norm", "forward", LAYOUTS, FLOATS, 3, NULL, batch_norm, NEEDS_CUDNN),
    LIB("batch_norm", "backward", LAYOUTS, FLOATS, 3, NULL, batch_norm, NEEDS_CUDNN),
    LIB("pool", "forward", POOLS, FLOATS, 7, cm__cuda_pool_known, pool, NEEDS_CUDNN),
    LIB("pool", "backward", POOLS, FLOATS, 7, cm__cuda_pool_known, pool, NEEDS_CUDNN),
    LIB("rnn", "forward", "lstm gru rnn", MATRIX, 6, cm__cuda_rnn_known, rnn, NEEDS_CUDNN),
    LIB("rnn", "backward", "lstm gru rnn", MATRIX, 6, cm__cuda_rnn_known, rnn, NEEDS_CUDNN),
    OWN("group_norm", "forward", LAYOUTS, FLOATS, 4, cm__cuda_group_norm_known, group_norm),
    OWN("group_norm", "backward", LAYOUTS, FLOATS, 4, cm__cuda_group_norm_known, group_norm),
    OWN("resize", "forward", RESIZES, FLOATS, 6, cm__cuda_resize_known, resize),
    OWN("resize", "backward", RESIZES, FLOATS, 6, cm__cuda_resize_known, resize),
    OWN("reduce", "forward", "sum mean max sum:nchw", FLOATS, 3, NULL, reduce),
    OWN("embedding", "forward", "", FLOATS, 3, NULL, embedding),
    OWN("embedding", "backward", "", FLOATS, 3, NULL, embedding),
    OWN("optimizer", "update", "sgd momentum adam adamw", FLOATS, 2, cm__cuda_optimizer_known, optimizer),
    OWN("elementwise", "forward", "*", "*", 2, cm__cuda_elementwise_known, elementwise),
    OWN("layer_norm", "forward", "", FLOATS, 2, NULL, norm),
    OWN("layer_norm", "backward", "", FLOATS, 2, NULL, norm),
    OWN("rms_norm", "forward", "", FLOATS, 2, NULL, norm),
    OWN("rms_norm", "backward", "", FLOATS, 2, NULL, norm),
    OWN("softmax", "forward", " log", FLOATS, 2, NULL, softmax),
    OWN("softmax", "backward", " log", FLOATS, 2, NULL, softmax),
    OWN("cross_entropy", "forward", "", FLOATS, 2, NULL, loss),
    OWN("cross_entropy", "backward", "", FLOATS, 2, NULL, loss),
};
/* clang-format on */
const int32_t cm__n_cuda_ops = sizeof cm__cuda_ops / sizeof *cm__cuda_ops;

/* Whether `word` is in the blank-separated list `words`. An empty list or a leading blank includes the empty word. */
static bool is_among(const char *words, const char *word)
{
    size_t length = strlen(word);
    if (strcmp(words, "*") == 0) return true;
    if (!length) return !*words || *words == ' ';
    for (const char *at = words; *at;) {
        size_t n = strcspn(at, " ");
        if (n == length && memcmp(at, word, n) == 0) return true;
        at += n + (at[n] == ' ');
    }
    return false;
}

static bool fits(const cm__cuda_op *op, const cm_call *call)
{
    if (strcmp(op->op, call->op) || strcmp(op->pass, call->pass) || call->n_dims != op->n_dims) return false;
    if (!is_among(op->variants, call->variant ? call->variant : "") || !is_among(op->dtypes, call->dtype)) return false;
    for (int32_t i = 0; i < call->n_dims; i++)
        if (call->dims[i] < 0 || call->dims[i] > INT32_MAX * (int64_t)64) return false;
    if (op->n_dims <= 4)
        for (int32_t i = 0; i < op->n_dims; i++)
            if (call->dims[i] < 1) return false;
    return !op->known || op->known(call);
}

const cm__cuda_op *cm__cuda_find(const cm_call *call)
{
    for (int32_t i = 0; i < cm__n_cuda_ops; i++)
        if (fits(&cm__cuda_ops[i], call)) return &cm__cuda_ops[i];
    return NULL;
}

/* bf16 and tf32 need Ampere or newer. */
static bool has_type(const cm__cuda *cu, const char *dtype)
{
    int capability = cu->major * 10 + cu->minor;
    if (strcmp(dtype, "fp8") == 0) return capability >= 89;
    return capability >= 80 || (!strstr(dtype, "bf16") && strcmp(dtype, "tf32") != 0);
}

bool cm__cuda_supports(void *state, const cm_call *call)
{
    const cm__cuda    *cu = state;
    const cm__cuda_op *op = cm__cuda_find(call);
    if (!op || !has_type(cu, call->dtype)) return false;
    return op->needs == NEEDS_BLASLT ? cu->has_blaslt : op->needs == NEEDS_CUDNN ? cu->has_cudnn : true;
}

/* All variants of a row are supported, so a row yields one kind per data type. */
void cm__cuda_list_kinds(cm__cuda *cu)
{
    static const char *const dtypes[] = {"fp32", "tf32", "bf16", "fp16", "fp8"};
    const int                n = sizeof dtypes / sizeof *dtypes;
    cu->kinds = cm__alloc_array(cu->ctx, (size_t)(cm__n_cuda_ops * n), sizeof *cu->kinds);
    for (int32_t i = 0; i < cm__n_cuda_ops * n; i++) {
        const cm__cuda_op *op = &cm__cuda_ops[i / n];
        const char        *dtype = dtypes[i % n];
        if (is_among(strcmp(op->dtypes, "*") == 0 ? FLOATS : op->dtypes, dtype) && has_type(cu, dtype))
            cu->kinds[cu->n_kinds++] = (cm_call_kind){op->op, op->pass, NULL, dtype};
    }
}

const cm_call_kind *cm__cuda_calls(void *state, int32_t *count)
{
    *count = ((cm__cuda *)state)->n_kinds;
    return ((cm__cuda *)state)->kinds;
}
