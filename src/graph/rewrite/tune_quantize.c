/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tune_quantize.c - weights in few bits: their bytes, and the node that unpacks them.
 *
 * nf4: blocks of 64 with an fp32 scale each (bitsandbytes' default, and QLoRA's, arXiv:2305.14314, section 3). With
 * double quantisation the scales have 8 bits, and every 256 of them an fp32 scale. int8: a scale per row (LLM.int8,
 * arXiv:2208.07339). gptq4: groups of 128 with a 16-bit scale and a 4-bit zero each, and an int32 group per row
 * (AutoGPTQ's format).
 */
#include "graph/rewrite/tune.h"

#include <math.h>
#include "graph/rule.h"

typedef struct format {
    double   bits;        /* of a weight */
    int64_t  block;       /* weights per scale; 0: a row */
    cm_dtype scale;
    int64_t  second;      /* scales per scale of scales; 0: there are none */
    double   zero_bytes;  /* per scale */
    bool     indexed;     /* an int32 per input channel */
} format;

static const format formats[CM_QUANTIZES] = {
    [CM_QUANTIZE_NF4] = {4, 64, CM_FP32, 0, 0, false},
    [CM_QUANTIZE_NF4_DQ] = {4, 64, CM_UINT8, 256, 0, false},
    [CM_QUANTIZE_INT8] = {8, 0, CM_FP32, 0, 0, false},
    [CM_QUANTIZE_GPTQ4] = {4, 128, CM_FP16, 0, 0.5, true},
};

/* A frozen leaf of `bytes / size` numbers that keeps its type. */
static int32_t stored(cm__tune *t, const char *name, const char *what, cm_dtype dtype, double bytes)
{
    cm_dim  size = cm__fixed((int64_t)ceil(bytes / (double)cm_dtype_size(dtype)));
    int32_t id = cm__leaf(t->out, *what ? cm__format(t->out->ctx, "%s.%s", name, what) : name, CM_ROLE_PARAMETER, dtype,
                          1, &size);
    cm__t(t->out, id)->frozen = true;
    cm__t(t->out, id)->stored = dtype == CM_FP32 ? CM__STORED_WIDE : CM__STORED_NARROW;
    return id;
}

/* The leaves are made one after another: those of a weight have consecutive indices. */
int32_t cm__tune_pack(cm__tune *t, const cm_tensor *weight)
{
    const format *f = &formats[t->o->quantize];
    double        count = cm_tensor_elements(weight).c[0], row = (double)weight->dims[weight->rank - 1].fixed;
    double        scales = ceil(count / (f->block ? (double)f->block : row));
    int32_t       packed = stored(t, weight->name, "", f->bits < 8 ? CM_UINT8 : CM_INT8, count * f->bits / 8);
    stored(t, weight->name, "scale", f->scale, scales * (double)cm_dtype_size(f->scale));
    if (f->second) stored(t, weight->name, "scale2", CM_FP32, 4 * ceil(scales / (double)f->second));
    if (f->zero_bytes > 0) stored(t, weight->name, "zero", CM_UINT8, scales * f->zero_bytes);
    if (f->indexed) stored(t, weight->name, "group", CM_INT32, 4 * row);
    return packed;
}

int32_t cm__tune_unpack(cm__tune *t, const cm_tensor *weight, int32_t packed)
{
    const format *f = &formats[t->o->quantize];
    int32_t       count = 2 + (f->second > 0) + (f->zero_bytes > 0) + f->indexed, inputs[5];
    int64_t       shape[2 + 2 * CM__RANK_MAX] = {CM_BF16, weight->rank};
    for (int32_t i = 0; i < count; i++) inputs[i] = packed + i;
    for (int32_t i = 0; i < weight->rank; i++) {
        shape[2 + 2 * i] = weight->dims[i].per_batch;
        shape[3 + 2 * i] = weight->dims[i].fixed;
    }
    cm__attr       as = {.key = CM_ATTR_OUTPUTS, .count = 2 + 2 * weight->rank, .ints = shape};
    const cm_node *n = cm__emit_node(t->out, CM_OP_UNPACK, weight->name, inputs, count, &as, 1, 1);
    cm__t(t->out, n->outputs[0])->role = CM_ROLE_CAST;
    return n->outputs[0];
}
