/* SPDX-License-Identifier: Apache-2.0 */
/* update.c - the optimizer: its state and one multi-tensor update, after which gradients are freed. */
#include "graph/training/train.h"

static const int8_t states_per_parameter[CM_OPTIMIZERS] = {
    [CM_OPTIMIZER_SGD] = 0, [CM_OPTIMIZER_MOMENTUM] = 1, [CM_OPTIMIZER_ADAM] = 2, [CM_OPTIMIZER_ADAMW] = 2,
    [CM_OPTIMIZER_ADAMW_8BIT] = 2, [CM_OPTIMIZER_PAGED_ADAMW] = 2, [CM_OPTIMIZER_PAGED_ADAMW_8BIT] = 2,
};

int cm__optimizer_states(cm_optimizer o) { return states_per_parameter[o]; }

#define LEAST_8BIT 4096 /* elements: smaller parameters have states in 32 bits (bitsandbytes: min_8bit_size) */
#define BLOCK_8BIT 256  /* numbers that share an fp32 scale (bitsandbytes 0.44 and later; 2,048 before) */

static bool is_8bit(cm_optimizer o)
{
    return o == CM_OPTIMIZER_ADAMW_8BIT || o == CM_OPTIMIZER_PAGED_ADAMW_8BIT;
}

bool cm__optimizer_paged(cm_optimizer o)
{
    return o == CM_OPTIMIZER_PAGED_ADAMW || o == CM_OPTIMIZER_PAGED_ADAMW_8BIT;
}

/* A state in 8 bits, with its scales behind it. */
static int32_t narrow_state(cm_graph *step, const cm_tensor *p, const char *name)
{
    int64_t elements = (int64_t)cm_tensor_elements(p).c[0];
    cm_dim  size = cm__fixed(elements + 4 * ((elements + BLOCK_8BIT - 1) / BLOCK_8BIT));
    return cm__leaf(step, cm__text_join(step->ctx, p->name, name), CM_ROLE_STATE, CM_UINT8, 1, &size);
}

/* Beside master weights states are fp32, unless moments are asked for in 16 bits. bitsandbytes keeps states in 32 bits
   whatever the weights' type, unless they have 8. */
static cm_dtype type_of(const cm_graph *step, const cm_tensor *p, cm_optimizer optimizer, bool beside, bool moment)
{
    if (beside && step->asked.megatron.moments == CM_MOMENTS_WEIGHTS) return p->dtype;
    if (beside && moment && step->asked.megatron.moments == CM_MOMENTS_BF16) return CM_BF16;
    return beside || optimizer >= CM_OPTIMIZER_ADAMW_8BIT ? CM_FP32 : p->dtype;
}

static int32_t state_of(cm_graph *step, const cm_tensor *p, const char *name, cm_optimizer optimizer, bool beside,
                        bool moment)
{
    bool narrow = moment && is_8bit(optimizer) && cm_tensor_elements(p).c[0] >= LEAST_8BIT;
    if (narrow) return narrow_state(step, p, name);
    return cm__leaf(step, cm__text_join(step->ctx, p->name, name), CM_ROLE_STATE,
                    type_of(step, p, optimizer, beside, moment), p->rank, p->dims);
}

/* With master weights the state includes an fp32 copy of the weights. */
void cm__add_update(cm_graph *step, const int32_t *gradient, int32_t tensors, cm_optimizer optimizer, bool master)
{
    static const char *const state_names[] = {".state1", ".state2", ".master"};
    int32_t *inputs = cm__alloc_array(step->ctx, (size_t)tensors * 5 + 1, sizeof *inputs), count = 0;
    for (int32_t t = 0; t < tensors; t++) {
        const cm_tensor *p = cm__t(step, t);
        if (p->role != CM_ROLE_PARAMETER || gradient[t] < 0) continue;
        inputs[count++] = t;
        inputs[count++] = gradient[t];
        cm__t(step, gradient[t])->role = CM_ROLE_PARAMETER_GRADIENT;
        bool beside = master && (p->dtype == CM_FP16 || p->dtype == CM_BF16);
        bool copied = beside && step->asked.megatron.moments != CM_MOMENTS_WEIGHTS;
        for (int32_t s = 0; s < 3; s++) {
            if (!(s < 2 ? s < cm__optimizer_states(optimizer) : copied)) continue;
            inputs[count] = state_of(step, p, state_names[s], optimizer, beside, s < 2);
            cm__t(step, inputs[count++])->master = s == 2;
            p = cm__t(step, t); /* leaves may have moved */
        }
    }
    if (count == 0) return;
    step->phase = CM_UPDATE;
    cm__emit_node(step, CM_OP_UPDATE, cm_optimizer_name(optimizer), inputs, count, NULL, 0, 0);
}
