/* SPDX-License-Identifier: Apache-2.0 */
/* corrections.c - choose the kind of a call for correction factors. */
#include "model/time/corrections.h"

#include <string.h>

static bool in_16_bits(const cm__call *c) { return strncmp(c->dtype, "bf16", 4) == 0 || strncmp(c->dtype, "fp16", 4) == 0; }
static bool last(const cm__call *c) { return strcmp(c->variant, "nhwc") == 0; }

/* Libraries have their own kernels for a few numbers of channels per group in channels-last images. */
static bool is_narrow(int64_t width) { return width == 4 || width == 8 || width == 16 || width == 32; }

static cm__correction of_conv(const cm__call *c, int64_t channels, int64_t groups)
{
    if (groups <= 1) return last(c) ? CM__CORRECT_CONV_NHWC : CM__CORRECT_CONV_NCHW;
    if (groups == channels) return last(c) ? CM__CORRECT_DEPTHWISE_NHWC : CM__CORRECT_DEPTHWISE_NCHW;
    if (!last(c)) return CM__CORRECT_GROUPED_NCHW;
    return is_narrow(channels / groups) ? CM__CORRECT_GROUPED_NHWC : CM__CORRECT_WIDE_NHWC;
}

cm__correction cm__correction_of(const cm__call *c)
{
    if (cm__call_kinds[c->op].engine == CM_ENGINE_MATRIX && !in_16_bits(c)) return CM__CORRECTIONS;
    switch (c->op) {
    case CM__CALL_GEMM: return CM__CORRECT_GEMM;
    case CM__CALL_ATTENTION: return CM__CORRECT_ATTENTION;
    case CM__CALL_CONV: return of_conv(c, c->sizes[CM__CONV_C], c->sizes[CM__CONV_GROUPS]);
    case CM__CALL_CONV3D: return of_conv(c, c->sizes[CM__CONV3D_C], c->sizes[CM__CONV3D_GROUPS]);
    case CM__CALL_BATCH_NORM: return last(c) ? CM__CORRECT_BATCH_NORM_NHWC : CM__CORRECT_BATCH_NORM_NCHW;
    case CM__CALL_ELEMENTWISE: return CM__CORRECT_ELEMENTWISE;
    case CM__CALL_RNN: return CM__CORRECTIONS;
    default: return CM__CORRECT_OTHER;
    }
}

double cm__correction_factor(const cm_device *device, const cm__call *call, bool *known)
{
    cm__correction kind = cm__correction_of(call);
    *known = kind < CM__CORRECTIONS && device->corrections[kind].known;
    return *known ? device->corrections[kind].value : 1;
}
