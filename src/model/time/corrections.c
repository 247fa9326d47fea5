/* SPDX-License-Identifier: Apache-2.0 */
/* corrections.c - choose the kind of a call for correction factors. */
#include "model/time/corrections.h"

#include <math.h>
#include <string.h>

static bool in_16_bits(const cm__call *c)
{
    int type = cm__type_of(c->types, 0);
    return type == CM_BF16 || type == CM_FP16;
}
static bool last(const cm__call *c) { return c->variant == CM__V_NHWC; }

#define THIN 300.0       /* FLOP per byte; kernels of fewer wait for memory on every GPU */
#define ALIGNED 8        /* channels of 16 bits that one load of a matrix unit's kernel reads */
#define IMAGE_CHANNELS 4 /* libraries pad images of so few channels */
#define FEW_CHANNELS 16        /* channels per group */
#define BLOCK 128        /* channels of a block of depthwise kernels */
#define FEW_GROUPS 8
#define FULL_GROUP 32    /* channels of a group that need no others beside them */
#define SLOW_PASSES 12.0 /* over memory by kernels that are not tuned, for groups of one channel */

/* Backward, libraries have their own kernels for a few numbers of channels per group in channels-last images, if there
   are enough groups to fill a block of channels. Forward they have them for all. */
static cm__correction of_groups_last(int64_t width, int64_t groups, bool forward)
{
    bool own = width == 4 || width == 8 || width == 16 || width == 32 || width == 64;
    bool many = groups > FEW_GROUPS || (groups == FEW_GROUPS && width >= FULL_GROUP);
    if (!forward && !(own && many)) return CM__CORRECT_GROUPED_SLOW_NHWC;
    return width <= FEW_CHANNELS ? CM__CORRECT_GROUPED_NHWC : CM__CORRECT_WIDE_NHWC;
}

/* Backward, kernels of channels that are no multiple of 8 are slow. Forward they are not. */
static cm__correction of_whole_last(const cm__call *c, int64_t in, int64_t out, double flop, double bytes)
{
    bool odd = (in > IMAGE_CHANNELS && in % ALIGNED) || out % ALIGNED;
    if (odd && c->pass != CM__PASS_FORWARD) return CM__CORRECT_CONV_ODD_NHWC;
    return flop < THIN * bytes ? CM__CORRECT_CONV_THIN_NHWC : CM__CORRECT_CONV_NHWC;
}

static cm__correction of_conv(const cm__call *c, int64_t in, int64_t out, int64_t groups, double flop, double bytes)
{
    bool forward = c->pass == CM__PASS_FORWARD;
    if (groups <= 1) return last(c) ? of_whole_last(c, in, out, flop, bytes) : CM__CORRECT_CONV_NCHW;
    if (groups == in && !last(c)) return CM__CORRECT_DEPTHWISE_NCHW;
    if (groups == in) return forward ? CM__CORRECT_DEPTHWISE_NHWC : CM__CORRECT_DEPTHWISE_BACK_NHWC;
    if (last(c)) return of_groups_last(in / groups, groups, forward);
    return in / groups <= FEW_CHANNELS ? CM__CORRECT_GROUPED_NCHW : CM__CORRECT_WIDE_NCHW;
}

static bool strided(const cm__call *c)
{
    return cm__form_of(c->variant) == CM__FORM_STRIDED || cm__form_of(c->variant) == CM__FORM_PART;
}

cm__correction cm__correction_of_work(const cm__call *c, double flop, double bytes)
{
    if (cm__call_kinds[c->op].engine == CM_ENGINE_MATRIX && !in_16_bits(c)) return CM__CORRECTIONS;
    switch (c->op) {
    case CM__CALL_GEMM: return CM__CORRECT_GEMM;
    case CM__CALL_ATTENTION: return CM__CORRECT_ATTENTION;
    case CM__CALL_CONV: return of_conv(c, c->sizes[CM__CONV_C], c->sizes[CM__CONV_K], c->sizes[CM__CONV_GROUPS], flop,
                                       bytes);
    case CM__CALL_CONV3D: return of_conv(c, c->sizes[CM__CONV3D_C], c->sizes[CM__CONV3D_K],
                                         c->sizes[CM__CONV3D_GROUPS], flop, bytes);
    case CM__CALL_BATCH_NORM: return last(c) ? CM__CORRECT_BATCH_NORM_NHWC : CM__CORRECT_BATCH_NORM_NCHW;
    case CM__CALL_ELEMENTWISE: return strided(c) ? CM__CORRECT_STRIDED : CM__CORRECT_ELEMENTWISE;
    case CM__CALL_POOL: return CM__CORRECT_POOL;
    case CM__CALL_RNN: return CM__CORRECTIONS;
    default: return CM__CORRECT_OTHER;
    }
}

/* Sizes on which a kind's time depends beside its factor. Blocks of channels that are not full take as long as full
   ones. Grouped convolutions without a kernel of their own take longer for each number with wider groups. */
static double of_shape(cm__correction kind, const cm__call *c)
{
    bool   image = c->op == CM__CALL_CONV;
    double channels = cm__size(c, image ? (int)CM__CONV_C : (int)CM__CONV3D_C);
    if (kind == CM__CORRECT_DEPTHWISE_BACK_NHWC) return ceil(channels / BLOCK) * BLOCK / channels;
    if (kind == CM__CORRECT_GROUPED_SLOW_NHWC)
        return SLOW_PASSES * sqrt(channels / cm__size(c, image ? (int)CM__CONV_GROUPS : (int)CM__CONV3D_GROUPS));
    return 1;
}

double cm__correction_factor(const cm_device *device, cm__correction kind, const cm__call *call, bool *known)
{
    *known = kind < CM__CORRECTIONS && device->corrections[kind].known;
    return *known ? device->corrections[kind].value * of_shape(kind, call) : 1;
}

bool cm__correction_of_traffic(const cm_device *device, cm__correction kind)
{
    return kind == CM__CORRECT_GROUPED_SLOW_NHWC && device->corrections[kind].known;
}

double cm__correction_of_streaming(const cm_device *device)
{
    const cm_number *factor = &device->corrections[CM__CORRECT_ELEMENTWISE];
    return factor->known && factor->value > 0 ? 1 / factor->value : 1;
}
