/* SPDX-License-Identifier: Apache-2.0 */
/*
 * math.c - recorded attention that PyTorch runs operator by operator.
 *
 * scaled_dot_product_attention() has no fused kernel for operands of five dimensions (windows of Twins, blocks of NesT).
 * Autocast casts its operands to 16 bits and is off inside of it, where they are cast to fp32
 * (_scaled_dot_product_attention_math() in ATen/native/transformers/attention.cpp). So both products run in fp32. Only
 * this function has a _safe_softmax().
 */
#include <string.h>
#include "import/trace/trace.h"

static bool is_product(const cm__trace_op *o) { return strcmp(o->name, "bmm") == 0 || strcmp(o->name, "baddbmm") == 0; }

static bool reads_first(const cm__trace_op *o, int32_t tensor) { return o->n_in && o->in[0] == tensor; }

static bool makes(const cm__trace_op *o, int32_t tensor) { return o->n_out && o->out[0] == tensor; }

/* The product of queries and keys: masks and scales follow it, and views. */
static void mark_before(cm__trace *t, int32_t softmax)
{
    int32_t tensor = t->ops[softmax].n_in ? t->ops[softmax].in[0] : -1;
    for (int32_t i = softmax - 1; i >= 0 && tensor >= 0; i--) {
        cm__trace_op *o = &t->ops[i];
        if (!makes(o, tensor)) continue;
        o->plain |= is_product(o);
        tensor = !is_product(o) && o->n_in ? o->in[0] : -1;
    }
}

/* The product with the values: dropout and views precede it. A cast is a second result of the attention. */
static void mark_after(cm__trace *t, int32_t softmax)
{
    int32_t tensor = t->ops[softmax].n_out ? t->ops[softmax].out[0] : -1;
    for (int32_t i = softmax + 1; i < t->n_ops && tensor >= 0 && t->ops[i].phase == CM_FORWARD; i++) {
        cm__trace_op *o = &t->ops[i];
        if (!reads_first(o, tensor) || strcmp(o->name, "to") == 0) continue;
        o->plain |= is_product(o);
        tensor = !is_product(o) && o->n_out ? o->out[0] : -1;
    }
}

void cm__trace_find_math(cm__trace *t)
{
    for (int32_t i = 0; i < t->n_ops; i++) {
        if (t->ops[i].phase != CM_FORWARD || strcmp(t->ops[i].name, "_safe_softmax")) continue;
        t->ops[i].plain = true;
        mark_before(t, i);
        mark_after(t, i);
    }
}
