/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attention.c - which attention implementation a runtime uses.
 *
 * PyTorch runs one fused kernel unless the user asks for "math", or none fits: its flash kernel takes 16-bit operands
 * only, and its memory-efficient one takes as many heads of keys as of queries only, whose width in fp32 is a multiple
 * of 4 (sdp_utils.cpp). PyTorch has fused
 * attention since 2.0 of March 2023, and FlashAttention 2 since 2.2 of January 2024. Megatron-LM chooses among three:
 *
 *     one kernel of Transformer Engine   on devices with fp8 units, which it was made for
 *     one kernel, FlashAttention         on devices with bf16 units (since Ampere, CDNA), for more keys than
 *     products and a fused softmax       support: Megatron-LM's own kernel takes 4,096 (fused_softmax.py, 2022)
 *
 * and the first of them in every release from 2023 on that the user names. Fused attention needs operands of at most 16
 * bits. The recompute setting does not change the choice; otherwise turning recomputation on could increase memory.
 *
 * PyTorch's scaled_dot_product_attention() takes a sliding window as a mask, which transformers passes as soon as the
 * sequence is longer than the window (masking_utils.py). The kernel then computes all scores, those after a query as
 * well, and takes as many heads of keys as of queries. FlashAttention 2 and Transformer Engine's kernels take the size
 * of the window and skip blocks outside of it.
 */
#include "model/dispatch/attention.h"

#include "graph/rule.h"
#include "graph/runtimes.h"

#define FUSED_SOFTMAX_KEYS 4096

static bool has_units(const cm_device *device, cm_rate rate)
{
    return device && cm_device_peak(device, CM_ENGINE_MATRIX, rate).known;
}

bool cm__attention_grouped(const cm_graph *g, const cm_node *n)
{
    const cm_tensor *q = cm__in(g, n, 0), *k = cm__in(g, n, 1);
    return q->rank == 4 && k->rank == 4 && !cm__dim_same(q->dims[1], k->dims[1]);
}

int32_t cm__values_alone(const cm_graph *g, const cm_node *n)
{
    if (n->n_inputs < 3 || !cm__has(n, 2)) return -1;
    const cm_tensor *values = cm__in(g, n, 2), *base = cm__t(g, values->storage);
    cm_poly          part = cm_tensor_elements(values), whole = cm_tensor_elements(base);
    if (base->producer < 0 || cm__class(&g->nodes[base->producer]) != CM_CLASS_GEMM) return -1;
    for (int k = 0; k < 2; k++)
        if (cm__in(g, n, k)->storage == values->storage) return -1;
    return cm__poly_at(&part, 1) < cm__poly_at(&whole, 1) ? n->inputs[2] : -1;
}

bool cm__attention_math(const cm_graph *g, const cm_device *device, cm_runtime runtime)
{
    if (g->asked.attention != CM_ATTENTION_AUTO) return g->asked.attention == CM_ATTENTION_MATH;
    if (cm__is_pytorch(runtime)) return !cm__provides(g->asked.software, CM__FEATURE_FUSED_ATTENTION); /* see cm__attention_unfused() */
    if (!cm__is_megatron(runtime)) return false;
    if (g->precision == CM_PRECISION_FP32 || g->precision == CM_PRECISION_TF32) return true;
    bool flash = g->asked.software.given && cm__provides(g->asked.software, CM__FEATURE_MEGATRON_FLASH);
    if (has_units(device, CM_RATE_FP8) || flash) return false;
    return !has_units(device, CM_RATE_BF16) || cm__facts_of(g).most_keys <= FUSED_SOFTMAX_KEYS;
}

bool cm__attention_written(const cm_graph *g, cm_runtime runtime)
{
    return cm__is_eager(runtime) && cm__autocasts(g->precision) && !cm__provides(g->asked.software, CM__FEATURE_FUSED_ATTENTION);
}

#define ALIGNED 4 /* numbers in fp32 that PyTorch's memory-efficient kernel reads at once (minimum_gemm_alignment()) */

static bool is_unaligned(const cm_graph *g, const cm_node *n)
{
    const cm_tensor *q = cm__in(g, n, 0);
    cm_dim           width = q->dims[q->rank - 1];
    int64_t          heads = q->rank == 4 ? 1 : cm__attr_int(n, CM_ATTR_Q_NUM_HEADS, 1);
    return !width.per_batch && heads > 0 && width.fixed / heads % ALIGNED != 0;
}

static bool is_traced(const cm_graph *g, const cm_node *n, cm_runtime runtime)
{
    return cm__compiles(runtime) && g->asked.attention == CM_ATTENTION_AUTO && !cm__has(n, 3);
}

bool cm__attention_unfused(const cm_graph *g, const cm_node *n, cm_runtime runtime, bool math)
{
    bool by_node = cm__is_pytorch(runtime) && cm__provides(g->asked.software, CM__FEATURE_FUSED_ATTENTION);
    if (!by_node || g->asked.attention != CM_ATTENTION_AUTO) return math;
    if (cm__attention_masked(g, n, runtime)) return false;
    /* No fused kernel of PyTorch takes an open mask, or in fp32 grouped queries or heads of any width. */
    bool open = g->omits_open && is_traced(g, n, runtime) && !cm__attr_int(n, CM_ATTR_CAUSAL, 0);
    return open || (cm__in(g, n, 0)->dtype == CM_FP32 && (cm__attention_grouped(g, n) || is_unaligned(g, n)));
}

int64_t cm__attention_window(const cm_graph *g, const cm_node *n)
{
    int64_t window = cm__attr_int(n, CM_ATTR_WINDOW, 0);
    if (window <= 0 || !cm__attr_int(n, CM_ATTR_CAUSAL, 0) || cm__has(n, 3)) return 0;
    const cm_tensor *q = cm__in(g, n, 0), *k = cm__in(g, n, 1);
    cm_dim           queries = q->dims[q->rank - 2], keys = k->dims[k->rank - 2];
    return !queries.per_batch && cm__dim_same(queries, keys) && keys.fixed > window ? window : 0;
}

bool cm__attention_masked(const cm_graph *g, const cm_node *n, cm_runtime runtime)
{
    if (g->omits_causal && is_traced(g, n, runtime) && cm__attr_int(n, CM_ATTR_CAUSAL, 0)) return true;
    return cm__is_pytorch(runtime) && g->asked.attention != CM_ATTENTION_FLASH && cm__attention_window(g, n) > 0;
}

cm__variant_form cm__attention_kernel(const cm_graph *g, cm_runtime runtime)
{
    static const cm__variant_form names[CM_ATTENTIONS] = {[CM_ATTENTION_FLASH] = CM__FORM_FLASH,
                                                  [CM_ATTENTION_EFFICIENT] = CM__FORM_EFFICIENT,
                                                  [CM_ATTENTION_CUDNN] = CM__FORM_CUDNN};
    bool old = !cm__provides(g->asked.software, CM__FEATURE_FLASH_2);
    if (names[g->asked.attention] && cm__is_pytorch(runtime) && !(old && g->asked.attention == CM_ATTENTION_FLASH))
        return names[g->asked.attention];
    return old && (cm__is_pytorch(runtime) || cm__is_megatron(runtime)) ? CM__FORM_FLASH1 : CM__FORM_NONE;
}

/* The stored bytes are the probabilities; with dropout also its mask, and its output, which the next product's
   backward reads. torch.compile traces into the operator, which computes in fp32 whatever its operands are
   (ATen/native/transformers/attention.cpp, _scaled_dot_product_attention_math()), and stores that result of softmax.
   Backward's product of 16-bit operands reads a copy, which the kernel of the softmax's gradient makes from the
   probabilities and the mask. Attention that models write under autocast stores the probabilities of the softmax in fp32,
   their cast for the product, and the mask. */
double cm__score_bytes(const cm_graph *g, const cm_node *n, cm_runtime runtime)
{
    bool   compiled = cm__compiles(runtime);
    double operand = (double)cm_dtype_size(cm__in(g, n, 0)->dtype), wide = (double)cm_dtype_size(CM_FP32);
    double size = compiled ? wide : operand;
    bool   dropout = cm__attr_real(n, CM_ATTR_DROPOUT, 0) > 0;
    if (cm__attention_written(g, runtime)) return wide + operand + dropout;
    if (!dropout) return size;
    return size + 1 + (size == operand ? size : 0);
}
