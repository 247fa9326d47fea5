/* SPDX-License-Identifier: Apache-2.0 */
/* attention_kernels.c - time of an attention kernel relative to the one that PyTorch chooses today. */
#include "model/time/attention_kernels.h"

#include <math.h>
#include <string.h>
#include "model/time/factors.h"

#define NARROW 64 /* width of heads for which flash1_narrow was fitted */
#define WIDE 128

typedef double factor_rule(const cm__call *c);

/* The first FlashAttention splits the keys among the warps of a block, which exchange sums through shared memory: the
   wider the heads, the more. */
static double flash1(const cm__call *c)
{
    double width = fmin(WIDE, fmax(NARROW, cm__size(c, CM__ATTENTION_WIDTH)));
    double place = log2(width / NARROW) / log2((double)WIDE / NARROW);
    return cm__time_factors.flash1_narrow * pow(cm__time_factors.flash1_wide / cm__time_factors.flash1_narrow, place);
}

static double efficient(const cm__call *c)
{
    bool forward = c->pass == CM__PASS_FORWARD;
    return forward ? cm__time_factors.efficient_forward : cm__time_factors.efficient_backward;
}

static double cudnn(const cm__call *c)
{
    return c->pass == CM__PASS_FORWARD ? cm__time_factors.cudnn_forward : cm__time_factors.cudnn_backward;
}

/* PyTorch chooses FlashAttention itself, except on the devices whose tables have it apart. */
static double flash(const cm__call *c) { return (void)c, 1; }

static const struct {
    const char  *name;
    factor_rule *rule;
} kernels[] = {{"flash1", flash1}, {"flash", flash}, {"efficient", efficient}, {"cudnn", cudnn}};

bool cm__attention_named(const cm__call *call, cm__call *usual, double *factor)
{
    for (size_t i = 0; call->op == CM__CALL_ATTENTION && i < sizeof kernels / sizeof *kernels; i++) {
        size_t      length = strlen(kernels[i].name);
        const char *rest = call->variant + length;
        if (strncmp(call->variant, kernels[i].name, length) != 0 || (*rest && *rest != '-')) continue;
        *usual = *call;
        memset(usual->variant, 0, sizeof usual->variant);
        if (*rest) memcpy(usual->variant, rest + 1, strlen(rest + 1));
        *factor = kernels[i].rule(call);
        return true;
    }
    return false;
}
