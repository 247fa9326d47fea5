/* SPDX-License-Identifier: Apache-2.0 */
/* test_groups.c - which kernels run convolutions with groups, and what the ways around missing ones take. */
#include <math.h>
#include "time_device.h"
#include "model/time/features.h"
#include "model/time/groups.h"

#define IMAGE(layout, type, n, c, k, side, window, stride, groups) \
    "conv forward " layout " " type " " n "," c "," k "," side "," side "," window "," window "," stride "," stride \
    ",1,1,1,1," groups
#define LINE(type, c, window, stride, dilation) \
    "conv forward nchw " type " 32," c "," c ",1,600,1," window ",1," stride ",0,16,1," dilation "," c

/* The kernels that ran on an H200 (evidence: eager-o, kernels): conv_depthwise2d (PyTorch's own),
   conv1D_NCHW and conv2d_c1_k1_nchw (cuDNN, channels first), conv2d_c1_k1_nhwc (channels last), nhwcSliceCKernel and
   tensorTransformGeneric (slices). */
static const struct {
    const char     *call;
    cm__groups_kind kind;
} kinds[] = {
    {IMAGE("nhwc", "bf16", "8", "64", "64", "14", "3", "1", "1"), CM__GROUPS_NONE},
    {IMAGE("nchw", "bf16", "8", "64", "64", "14", "3", "1", "64"), CM__GROUPS_EACH_OWN},
    {IMAGE("nhwc", "bf16", "8", "64", "64", "14", "3", "1", "64"), CM__GROUPS_EACH_LAST},
    {IMAGE("nhwc", "tf32", "8", "38", "38", "14", "3", "1", "38"), CM__GROUPS_EACH_ODD},
    {IMAGE("nhwc", "tf32", "8", "36", "36", "14", "3", "1", "36"), CM__GROUPS_EACH_LAST},
    {IMAGE("nhwc", "bf16", "8", "38", "38", "14", "3", "1", "38"), CM__GROUPS_EACH_LAST},
    {IMAGE("nchw", "bf16", "8", "64", "128", "14", "3", "1", "64"), CM__GROUPS_SEVERAL},
    {LINE("fp16", "256", "33", "1", "1"), CM__GROUPS_EACH_FIRST},
    {LINE("bf16", "256", "33", "1", "1"), CM__GROUPS_EACH_OWN},
    {LINE("fp16", "256", "33", "2", "1"), CM__GROUPS_EACH_OWN},
    {LINE("fp16", "256", "87", "1", "2"), CM__GROUPS_EACH_OWN},
    {LINE("fp16", "24", "33", "1", "1"), CM__GROUPS_EACH_OWN},
    {IMAGE("nchw", "fp16", "384", "184", "184", "10", "3", "1", "184"), CM__GROUPS_EACH_FIRST},
    {IMAGE("nchw", "fp16", "16", "160", "160", "128", "7", "1", "160"), CM__GROUPS_EACH_OWN},
    {IMAGE("nchw", "fp16", "16", "256", "256", "128", "3", "2", "256"), CM__GROUPS_EACH_FIRST},
    {IMAGE("nchw", "fp16", "16", "128", "128", "128", "3", "2", "128"), CM__GROUPS_EACH_OWN},
    {IMAGE("nhwc", "bf16", "8", "256", "256", "14", "3", "1", "32"), CM__GROUPS_KERNEL},
    {IMAGE("nhwc", "bf16", "8", "1024", "1024", "14", "3", "1", "8"), CM__GROUPS_KERNEL},
    {IMAGE("nhwc", "fp16", "64", "560", "560", "14", "3", "1", "14"), CM__GROUPS_SLICES},   /* 40 channels a group */
    {IMAGE("nhwc", "fp16", "64", "1024", "1024", "14", "3", "1", "4"), CM__GROUPS_SLICES},  /* 256 */
    {IMAGE("nhwc", "fp16", "128", "128", "256", "64", "3", "1", "2"), CM__GROUPS_SLICES}, /* 64 channels, 128 filters */
};

static void kinds_by_kernels_that_ran(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        cm__call c = call_of(kinds[i].call);
        int      kind = (int)cm__groups_kind_of(&c);
        if (kind != (int)kinds[i].kind) fail_msg("%s: kind %d", kinds[i].call, kind);
    }
}

static double composed_s(const char *text)
{
    cm_device *device = device_of(TIME_DEVICE(""));
    cm__limits limits = cm__limits_of(device);
    cm__call   c = call_of(text);
    double     s = cm__groups_composed(&limits, &c);
    cm_device_free(device);
    return s;
}

/* 8 groups of 56 channels, 64 images of 28 x 28 in fp16: 45 MB of image are cut out and 45 MB of result put back, read
   and written at 1.5 TB/s: 120 us, and 16 us for 16 kernels at least. Padding 45 million numbers at 1.1e11/s takes 411
   us, and the 29.6 GFLOP of groups of 64 channels 296 us at the peak of 1e14 FLOP/s: cuts are faster. */
static void cuts_beat_padding_of_large_images(void **state)
{
    double s = composed_s(IMAGE("nhwc", "fp16", "64", "448", "448", "28", "3", "1", "8"));
    (void)state;
    if (!(s > 136e-6 && s < (411 + 296) * 1e-6)) fail_msg("%g s", s);
}

/* 128 groups of 24 channels of one image of 7 x 7: 128 convolutions of at least 1 us and 256 cuts of 1 us take 384 us,
   one kernel and three paddings 9 us and little more. */
static void padding_beats_many_small_cuts(void **state)
{
    double s = composed_s(IMAGE("nhwc", "fp16", "1", "3072", "3072", "7", "3", "1", "128"));
    (void)state;
    if (!(s > 9e-6 && s < 90e-6)) fail_msg("%g s", s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kinds_by_kernels_that_ran),
        cmocka_unit_test(cuts_beat_padding_of_large_images),
        cmocka_unit_test(padding_beats_many_small_cuts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
