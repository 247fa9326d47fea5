/* SPDX-License-Identifier: Apache-2.0 */
/* groups.c - which kernels run a convolution with groups. */
#include "model/time/groups.h"

#include <math.h>
#include "model/time/features.h"

static int64_t size(const cm__call *c, int which) { return c->sizes[which]; }

static bool has_type(const cm__call *c, int type) { return c->types == CM__ALL(type); }

/* A stride of 2 is left to cuDNN if there is much to do. */
static bool much_to_do(const cm__call *c)
{
    int64_t channels = size(c, CM__CONV_C);
    return size(c, CM__CONV_N) == 1 || channels >= 512 || (channels >= 256 && size(c, CM__CONV_W) >= 28);
}

/* PyTorch leaves depthwise convolutions with channels first to cuDNN in fp16 only, if the filter is one of those for
   which cuDNN was found faster (aten/src/ATen/native/Convolution.cpp, use_cudnn_depthwise() and
   check_cudnn_depthwise_workload_with_filter()). */
static bool left_to_cudnn(const cm__call *c)
{
    int64_t window = size(c, CM__CONV_R), stride = size(c, CM__CONV_STRIDE_W);
    bool    line = size(c, CM__CONV_H) == 1;
    if (!has_type(c, CM_FP16) || size(c, CM__CONV_C) < 32) return false;
    if (size(c, CM__CONV_DIL_H) > 1 || size(c, CM__CONV_DIL_W) > 1) return false;
    if (line && stride == 1) return true;
    if (!line && size(c, CM__CONV_STRIDE_H) != stride) return false;
    if (window != size(c, CM__CONV_S) || (window != 1 && window != 3 && window != 5)) return false;
    if (size(c, CM__CONV_W) < 7) return false;
    return stride == 1 || (stride == 2 && much_to_do(c));
}

static bool last(const cm__call *c) { return c->variant == CM__V_NHWC; }

#define LOADED 4 /* numbers of 32 bits */
bool cm__groups_odd(const cm__call *c, int64_t channels)
{
    return last(c) && (has_type(c, CM_FP32) || has_type(c, CM__TF32)) && channels % LOADED;
}

static cm__groups_kind kind_of_depthwise(const cm__call *c)
{
    if (size(c, CM__CONV_K) != size(c, CM__CONV_C)) return CM__GROUPS_SEVERAL;
    if (cm__groups_odd(c, size(c, CM__CONV_C))) return CM__GROUPS_EACH_ODD;
    if (last(c)) return CM__GROUPS_EACH_LAST;
    return left_to_cudnn(c) ? CM__GROUPS_EACH_FIRST : CM__GROUPS_EACH_OWN;
}

/* On the H200, cuDNN 9.19 ran one kernel for all groups of 4 to 128 channels and as many filters, a power of two. Of
   other widths it pads all groups (tensorTransformGeneric), or cuts out one after the other (nhwcSliceCKernel). From
   120 channels on it has a kernel for some sizes (cudnn_generated_fort_native). */
static bool has_kernel(int64_t channels, int64_t filters)
{
    const cm__group_costs *costs = &cm__feature_facts.groups;
    return channels == filters && channels >= costs->narrowest && channels <= costs->widest &&
           !(channels & (channels - 1));
}

cm__groups_kind cm__groups_kind_of(const cm__call *c)
{
    int64_t groups = size(c, CM__CONV_GROUPS), channels = size(c, CM__CONV_C), filters = size(c, CM__CONV_K);
    if (groups <= 1) return CM__GROUPS_NONE;
    if (groups == channels) return kind_of_depthwise(c);
    return has_kernel(channels / groups, filters / groups) ? CM__GROUPS_KERNEL : CM__GROUPS_SLICES;
}

static double time_with(const cm__limits *l, const cm__call *c, int64_t channels, int64_t filters, int64_t groups)
{
    cm__call other = *c;
    other.sizes[CM__CONV_C] = channels;
    other.sizes[CM__CONV_K] = filters;
    other.sizes[CM__CONV_GROUPS] = groups;
    return cm__roofline(l, &other);
}

static int64_t power_from(int64_t least)
{
    int64_t power = cm__feature_facts.groups.narrowest;
    while (power < least) power *= 2;
    return power;
}

double cm__groups_composed(const cm__limits *l, const cm__call *c)
{
    const cm__group_costs *costs = &cm__feature_facts.groups;
    int64_t groups = size(c, CM__CONV_GROUPS), channels = size(c, CM__CONV_C) / groups,
            filters = size(c, CM__CONV_K) / groups, power = power_from(channels > filters ? channels : filters);
    double  flop, bytes, width = has_type(c, CM_FP16) || has_type(c, CM_BF16) ? 2 : 4;
    cm__call_work(c, &flop, &bytes);
    double one = time_with(l, c, channels, filters, 1);
    double cut = (double)groups * (one + 2 * costs->cut_s) + 2 * bytes / costs->cut_bytes_s;
    double padded = time_with(l, c, power * groups, power * groups, groups) + costs->pad_s +
                    bytes / width / costs->padded_per_s;
    return fmin(cut, padded);
}
