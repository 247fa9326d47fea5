/* SPDX-License-Identifier: Apache-2.0 */
/* sweep_images.c - the sweep's image operators: convolutions of real networks, norms, pools, resizes. */
#include "bench/suites/sweep.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

/* Channels in and out, image, window, stride, groups. */
static const struct {
    int c, k, hw, window, stride, groups;
} shapes[] = {
    /* ResNet-18, -50 */
    {3, 64, 224, 7, 2, 1},     {64, 64, 56, 1, 1, 1},     {64, 64, 56, 3, 1, 1},     {64, 256, 56, 1, 1, 1},
    {256, 64, 56, 1, 1, 1},    {256, 128, 56, 1, 1, 1},   {64, 128, 56, 3, 2, 1},    {128, 128, 56, 3, 2, 1},
    {128, 512, 28, 1, 1, 1},   {256, 512, 56, 1, 2, 1},   {512, 128, 28, 1, 1, 1},   {128, 128, 28, 3, 1, 1},
    {512, 256, 28, 1, 1, 1},   {256, 256, 28, 3, 2, 1},   {256, 1024, 14, 1, 1, 1},  {512, 1024, 28, 1, 2, 1},
    {1024, 256, 14, 1, 1, 1},  {256, 256, 14, 3, 1, 1},   {1024, 512, 14, 1, 1, 1},  {512, 512, 14, 3, 2, 1},
    {512, 2048, 7, 1, 1, 1},   {1024, 2048, 14, 1, 2, 1}, {2048, 512, 7, 1, 1, 1},   {512, 512, 7, 3, 1, 1},
    /* VGG-16, U-Net */
    {3, 64, 224, 3, 1, 1},     {64, 64, 224, 3, 1, 1},    {64, 128, 112, 3, 1, 1},   {128, 256, 56, 3, 1, 1},
    {256, 512, 28, 3, 1, 1},   {512, 512, 14, 3, 1, 1},   {3, 32, 256, 3, 1, 1},     {32, 32, 256, 3, 1, 1},
    {64, 64, 128, 3, 1, 1},    {128, 128, 64, 3, 1, 1},   {256, 256, 32, 3, 1, 1},   {512, 512, 16, 3, 1, 1},
    /* MobileNet v3, EfficientNet: depthwise and pointwise */
    {32, 32, 112, 3, 1, 32},   {96, 96, 112, 3, 2, 96},   {144, 144, 56, 3, 1, 144}, {144, 144, 56, 5, 2, 144},
    {240, 240, 28, 5, 1, 240}, {480, 480, 14, 5, 1, 480}, {672, 672, 14, 5, 2, 672}, {960, 960, 7, 5, 1, 960},
    {16, 96, 112, 1, 1, 1},    {40, 240, 28, 1, 1, 1},    {112, 672, 14, 1, 1, 1},   {320, 1280, 7, 1, 1, 1},
    /* ViT's patches, ResNeXt */
    {3, 768, 224, 16, 16, 1},  {128, 128, 56, 3, 1, 32},  {256, 256, 28, 3, 1, 32},
};

static const char *const layouts[] = {"nchw", "nhwc"};
static const int         batches[] = {1, 8, 32, 128, 256};

static void conv(cm__sweep *s, const char *dtype, int shape, const char *pass, const char *layout, int batch)
{
    int      window = shapes[shape].window, stride = shapes[shape].stride;
    int      pad = stride == window ? 0 : window / 2;
    cm__call call = cm__call_of("conv %s %s %s %d,%d,%d,%d,%d,%d,%d,%d,%d,%d,%d,1,1,%d", pass, layout, dtype, batch,
                                shapes[shape].c, shapes[shape].k, shapes[shape].hw, shapes[shape].hw, window, window,
                                stride, stride, pad, pad, shapes[shape].groups);
    cm__sweep_add(s, &call);
}

void cm__sweep_convs(cm__sweep *s, const char *dtype)
{
    static const char *const passes[] = {"forward", "bwd_input", "bwd_weight"};
    for (int i = 0; i < COUNT(shapes) * COUNT(batches) * 6; i++)
        conv(s, dtype, i / 6 % COUNT(shapes), passes[i % 3], layouts[i / 3 % 2], batches[i / 6 / COUNT(shapes)]);
}

#define ADD(...)                                                                                                       \
    do {                                                                                                               \
        cm__call call_ = cm__call_of(__VA_ARGS__);                                                                     \
        cm__sweep_add(s, &call_);                                                                                      \
    } while (0)

void cm__sweep_planes(cm__sweep *s, const char *dtype)
{
    static const char *const passes[] = {"forward", "backward"}, *const kinds[] = {"max", "avg"},
                      *const ways[] = {"nearest", "bilinear"};
    static const int planes[][2] = {{64, 112}, {64, 56}, {256, 56}, {512, 28}, {1024, 14}, {2048, 7}, {32, 256}};
    for (int i = 0; i < COUNT(batches) * COUNT(planes) * 4; i++) {
        const char *pass = passes[i & 1], *layout = layouts[i >> 1 & 1];
        const int  *p = planes[i / 4 % COUNT(planes)];
        int         n = batches[i / 4 / COUNT(planes)];
        ADD("batch_norm %s %s %s %d,%d,%d", pass, layout, dtype, n, p[0], p[1] * p[1]);
        ADD("group_norm %s %s %s %d,%d,%d,32", pass, layout, dtype, n, p[0], p[1] * p[1]);
        for (int k = 0; k < 2; k++) {
            ADD("pool %s %s:%s %s %d,%d,%d,%d,%d,2,%d", pass, kinds[k], layout, dtype, n, p[0], p[1], p[1], 3 - k,
                1 - k);
            ADD("resize %s %s:%s %s %d,%d,%d,%d,%d,%d", pass, ways[k], layout, dtype, n, p[0], p[1], p[1], 2 * p[1],
                2 * p[1]);
        }
    }
}
