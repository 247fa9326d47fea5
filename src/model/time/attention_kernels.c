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

typedef double factor_rule(bool forward, bool wide, bool cudnn);

static double flash(bool forward, bool wide, bool cudnn)
{
    (void)wide;
    if (!cudnn) return 1;
    return forward ? cm__time_factors.flash_forward : cm__time_factors.flash_backward;
}

/* FlashAttention 2 gained most where heads are wide. */
static double flash1(bool forward, bool wide, bool cudnn)
{
    return (wide ? cm__time_factors.flash1_wide : cm__time_factors.flash1) * flash(forward, wide, cudnn);
}

static double efficient(bool forward, bool wide, bool cudnn)
{
    return (forward ? cm__time_factors.efficient_forward : cm__time_factors.efficient_backward) *
           flash(forward, wide, cudnn);
}

static double cudnn_itself(bool forward, bool wide, bool cudnn) { return (void)forward, (void)wide, (void)cudnn, 1; }

static factor_rule *const rules[CM__FORMS] = {[CM__FORM_FLASH1] = flash1, [CM__FORM_FLASH] = flash,
                                              [CM__FORM_EFFICIENT] = efficient, [CM__FORM_CUDNN] = cudnn_itself};

bool cm__attention_named(const cm_device *device, const cm__call *call, cm__call *usual, double *factor)
{
    factor_rule *rule = call->op == CM__CALL_ATTENTION ? rules[cm__form_of(call->variant)] : NULL;
    if (!rule) return false;
    *usual = *call;
    usual->variant = cm__variant_in(call->variant, CM__FORM_NONE);
    *factor = rule(call->pass == CM__PASS_FORWARD, call->sizes[CM__ATTENTION_WIDTH] > NARROW_HEAD, takes_cudnn(device));
    return true;
}
