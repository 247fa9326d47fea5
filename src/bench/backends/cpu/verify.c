/* SPDX-License-Identifier: Apache-2.0 */
/* verify.c - run a call once, compare it with its reference, and restore the operands that it changed. */
#include <stdlib.h>
#include <string.h>
#include "bench/backends/cpu/cpu.h"

static bool updated(const cm__operand *o) { return o->fill == CM__FILL_UPDATED || o->fill == CM__FILL_STATE; }

/* Copy the operands that the call will change; the entries of other operands stay NULL. */
static bool keep(const cm__cpu_case *c, float *const *o, float **before)
{
    for (int i = 0; i < c->n_operands; i++) {
        if (!updated(&c->operands[i])) continue;
        before[i] = cm__buffer_new(c->operands[i].elements);
        if (!before[i]) return false;
        memcpy(before[i], o[i], (size_t)c->operands[i].elements * sizeof(float));
    }
    return true;
}

cm_status cm__verify_case(cm__cpu_case *c, int64_t *wrong, cm_diag *diag)
{
    float    *before[CM__OPERANDS] = {0}, **o = cm__operand_set(c, 0);
    cm_status status = CM_OK;
    if (keep(c, o, before)) {
        for (int i = 0; i < c->n_operands; i++) /* erase results of earlier runs */
            if (c->operands[i].fill == CM__FILL_RESULT)
                memset(o[i], 0xff, (size_t)c->operands[i].elements * sizeof(float));
        c->op->run(c, o);
        *wrong = c->op->check(c, o, before);
    } else status = cm__diag_set(diag, CM_ERR_LIMIT, "not enough memory to check the result");
    for (int i = 0; i < c->n_operands; i++) {
        if (before[i]) memcpy(o[i], before[i], (size_t)c->operands[i].elements * sizeof(float));
        free(before[i]);
    }
    return status;
}
