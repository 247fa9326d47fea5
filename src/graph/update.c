/* SPDX-License-Identifier: Apache-2.0 */
/* update.c - the optimizer: its state and one multi-tensor update, after which gradients are freed. */
#include "graph/train.h"

static const int8_t states_per_parameter[CM_OPTIMIZERS] = {
    [CM_OPTIMIZER_SGD] = 0, [CM_OPTIMIZER_MOMENTUM] = 1, [CM_OPTIMIZER_ADAM] = 2, [CM_OPTIMIZER_ADAMW] = 2,
};

/* With master weights the state is fp32 and includes an fp32 copy of the weights. */
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
        for (int32_t s = 0; s < 3; s++) {
            if (!(s < 2 ? s < states_per_parameter[optimizer] : beside)) continue;
            inputs[count] = cm__leaf(step, cm__text_join(step->ctx, p->name, state_names[s]), CM_ROLE_STATE,
                                     beside ? CM_FP32 : p->dtype, p->rank, p->dims);
            cm__t(step, inputs[count++])->master = s == 2;
        }
    }
    if (count == 0) return;
    step->phase = CM_UPDATE;
    cm__emit_node(step, CM_OP_UPDATE, cm_optimizer_name(optimizer), inputs, count, NULL, 0, 0);
}
