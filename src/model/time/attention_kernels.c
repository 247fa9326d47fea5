/* SPDX-License-Identifier: Apache-2.0 */
/* attention_kernels.c - time of an attention kernel relative to the one that PyTorch chooses today. */
#include "model/time/attention_kernels.h"

#include <string.h>
#include "model/time/factors.h"

#define NARROW_HEAD 64 /* width of a head up to which kernels of 2023 have their first factor */

/* PyTorch chooses cuDNN's kernel on these, and FlashAttention 2 on older ones. */
static bool takes_cudnn(const cm_device *device)
{
    const char *family = cm__device_family(device);
    return family && (strcmp(family, "nvidia-hopper") == 0 || strcmp(family, "nvidia-blackwell") == 0);
}

/* FlashAttention 2 gained most where heads are wide. */
bool cm__attention_named(const cm_device *device, const cm__call *call, cm__call *usual, double *factor)
{
    const cm__factors *f = &cm__time_factors;
    cm__variant_form   form = call->op == CM__CALL_ATTENTION ? cm__form_of(call->variant) : CM__FORM_NONE;
    bool               forward = call->pass == CM__PASS_FORWARD, wide = call->sizes[CM__ATTENTION_WIDTH] > NARROW_HEAD;
    if (form < CM__FORM_FLASH1) return false;
    *usual = *call;
    usual->variant = cm__variant_in(call->variant, CM__FORM_NONE);
    *factor = form == CM__FORM_CUDNN || !takes_cudnn(device) ? 1 : forward ? f->flash_forward : f->flash_backward;
    if (form == CM__FORM_FLASH1) *factor *= wide ? f->flash1_wide : f->flash1;
    if (form == CM__FORM_EFFICIENT) *factor *= forward ? f->efficient_forward : f->efficient_backward;
    return true;
}
