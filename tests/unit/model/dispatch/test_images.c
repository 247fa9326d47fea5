/* SPDX-License-Identifier: Apache-2.0 */
/* test_images.c - which of PyTorch's kernels resize, pad, pool and sample images, lines and volumes. */
#include "trace_calls.h"

static void each_mode_has_its_kernel(void **state)
{
    (void)state;
    static const struct {
        const char *name, *kind;
    } cases[] = {{"upsample_nearest2d", "nearest"}, {"upsample_bilinear2d", "bilinear"},
                 {"upsample_bicubic2d", "bicubic"},
                 {"_upsample_bilinear2d_aa", "bilinear-aa"}, {"_upsample_bicubic2d_aa", "bicubic-aa"},
                 {"_upsample_nearest_exact2d", "nearest"}, {"reflection_pad2d", "reflect"},
                 {"replication_pad2d", "replicate"}, {"_adaptive_avg_pool2d", "adaptive-avg"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char trace[2048], forward[96], backward[96];
        snprintf(trace, sizeof trace, ONE("aten::%s", "[[1,0],6,5,4]", "[4]", "[[1,0],6,7,8]", ""), cases[i].name);
        snprintf(forward, sizeof forward, "resize forward %s:nchw fp32 2,6,5,4,7,8", cases[i].kind);
        snprintf(backward, sizeof backward, "resize backward %s:nchw fp32 2,6,5,4,7,8", cases[i].kind);
        MAKES(trace, FP32, 2, forward, backward);
    }
}

static void lines_and_volumes_have_their_own(void **state)
{
    (void)state;
    MAKES(ONE("aten::upsample_linear1d", "[[1,0],6,10]", "[10]", "[[1,0],6,20]", ""), FP32, 2,
          "resize forward linear1d:nchw fp32 2,6,1,10,1,20", "resize backward linear1d:nchw fp32 2,6,1,10,1,20");
    MAKES(ONE("aten::upsample_nearest1d", "[[1,0],6,10]", "[10]", "[[1,0],6,20]", ""), FP32, 2,
          "resize forward nearest1d:nchw fp32 2,6,1,10,1,20", "resize backward nearest1d:nchw fp32 2,6,1,10,1,20");
    MAKES(ONE("aten::upsample_trilinear3d", "[[1,0],6,3,4,5]", "[5]", "[[1,0],6,6,8,10]", ""), FP32, 2,
          "resize3d forward trilinear:nchw fp32 2,6,3,4,5,6,8,10",
          "resize3d backward trilinear:nchw fp32 2,6,3,4,5,6,8,10");
    MAKES(ONE("aten::upsample_nearest3d", "[[1,0],6,3,4,5]", "[5]", "[[1,0],6,6,8,10]", ""), FP32, 2,
          "resize3d forward nearest:nchw fp32 2,6,3,4,5,6,8,10",
          "resize3d backward nearest:nchw fp32 2,6,3,4,5,6,8,10");
}

/* Adaptive pools have kernels of their own, with windows of equal size (6 pixels to 3) or not (5 to 3). */
static void adaptive_pools(void **state)
{
    (void)state;
    MAKES(ONE("aten::_adaptive_avg_pool2d", "[[1,0],6,6,6]", "[6]", "[[1,0],6,3,3]", ""), FP32, 2,
          "resize forward adaptive-avg:nchw fp32 2,6,6,6,3,3", "resize backward adaptive-avg:nchw fp32 2,6,6,6,3,3");
    MAKES(ONE("aten::_adaptive_avg_pool2d", "[[1,0],6,5,5]", "[5]", "[[1,0],6,3,3]", ""), FP32, 2,
          "resize forward adaptive-avg:nchw fp32 2,6,5,5,3,3", "resize backward adaptive-avg:nchw fp32 2,6,5,5,3,3");
    MAKES(CAPTURE("[[1,0],6,5,5]", "[5]", "4", X("[[1,0],6,3,3]") "," TENSOR("[[1,0],6,3,3]", "int64", "activation"),
                  STEP("aten::adaptive_max_pool2d", "[2]", "[4,5]", "")),
          FP32, 2, "resize forward adaptive-max:nchw fp32 2,6,5,5,3,3",
          "resize backward adaptive-max:nchw fp32 2,6,5,5,3,3");
}

/* Each kernel is the other's gradient. 8 x 8 pixels in windows of 3 with stride 2 and padding 1: 16 places. */
static void windows_and_columns(void **state)
{
    (void)state;
#define WINDOW "\"kernel_size\":[3,3],\"stride\":[2,2],\"padding\":[1,1],\"dilation\":[1,1]"
    MAKES(ONE("aten::im2col", "[[1,0],6,8,8]", "[8]", "[[1,0],54,16]", WINDOW), FP32, 2,
          "pool forward im2col:nchw fp32 2,6,8,8,3,2,1", "pool backward im2col:nchw fp32 2,6,8,8,3,2,1");
    MAKES(ONE("aten::col2im", "[[1,0],54,16]", "[16]", "[[1,0],6,8,8]", WINDOW), FP32, 2,
          "pool backward im2col:nchw fp32 2,6,8,8,3,2,1", "pool forward im2col:nchw fp32 2,6,8,8,3,2,1");
    /* windows of 9 x 1 in an image of one column, as ConvBERT has them: a signal. Its transposed gradient is copied. */
    MAKES(CAPTURE("[[1,0],6,16,1]", "[1]", "5", X("[[1,0],54,16]") "," X("[[1,0],16,54]"),
                  STEP("aten::im2col", "[2]", "[4]",
                       "\"kernel_size\":[9,1],\"stride\":[1,1],\"padding\":[4,0],\"dilation\":[1,1]") ","
                      STEP("aten::transpose.int", "[4]", "[5]", "\"dim0\":1,\"dim1\":2")),
          FP32, 2, "pool forward im2col:nchw fp32 2,6,1,16,9,1,4", "pool backward im2col:nchw fp32 2,6,1,16,9,1,4");
}

static void sampled_and_unfolded(void **state)
{
    (void)state;
    MAKES(CAPTURE("[[1,0],6,5,4]", "[4]", "5",
                  TENSOR("[[1,0],7,8,2]", "fp32", "input") "," X("[[1,0],6,7,8]"),
                  STEP("aten::grid_sampler_2d", "[2,4]", "[5]", "")),
          FP32, 2, "resize forward sample:nchw fp32 2,6,5,4,7,8", "resize backward sample:nchw fp32 2,6,5,4,7,8");
    /* places in an image without a gradient: no pixels are added to */
    MAKES(CAPTURE("[[1,0],7,8,2]", "[2]", "5",
                  TENSOR("[[1,0],6,5,4]", "fp32", "input") "," X("[[1,0],6,7,8]"),
                  STEP("aten::grid_sampler_2d", "[4,2]", "[5]", "")),
          FP32, 2, "resize forward sample:nchw fp32 2,6,5,4,7,8", "resize forward sample:nchw fp32 2,6,5,4,7,8");
    /* a place in a volume of 5 * 4 rows of 3 has eight neighbours, as two places in an image have: 2 * 7 * 2 rows of 8 */
    MAKES(CAPTURE("[[1,0],6,5,4,3]", "[3]", "5",
                  TENSOR("[[1,0],7,2,8,3]", "fp32", "input") "," X("[[1,0],6,7,2,8]"),
                  STEP("aten::grid_sampler_3d", "[2,4]", "[5]", "")),
          FP32, 2, "resize forward sample:nchw fp32 2,6,20,3,28,8", "resize backward sample:nchw fp32 2,6,20,3,28,8");
#define CORNERS "\"interpolation_mode\":0,\"padding_mode\":0,\"align_corners\":1"
    /* cuDNN samples 112 places of 6 channels: it reads each place and 4 pixels per channel, and writes 672 numbers (half
       of 2 * 112 + 5 * 672). Backward also adds to 4 pixels of 240 zeros (half of 4 * 112 + 13 * 672). */
    MAKES(CAPTURE("[[1,0],6,5,4]", "[4]", "5",
                  TENSOR("[[1,0],7,8,2]", "fp32", "input") "," X("[[1,0],6,7,8]"),
                  STEP("aten::grid_sampler_2d", "[2,4]", "[5]", CORNERS)),
          FP32, 2, "elementwise forward copy fp32 1,1792", "elementwise forward fill fp32 1,240",
          "elementwise forward copy fp32 1,4592");
    /* windows of 4 at each second of 10 places, as a view; backward fills with zeros and adds 4 windows */
    MAKES(ONE("aten::unfold", "[[1,0],10]", "[10]", "[[1,0],4,4]", "\"dimension\":1,\"size\":4,\"step\":2"), FP32, 2,
          "elementwise forward fill fp32 1,20", "elementwise forward unfold_grad fp32 1,32");
}

/* Rows moved by one: a padding of 1 and -1 fills with zeros and copies 7 of 8 rows of 4; so does its gradient. A
   padding that only adds has a gradient that copies the part without zeros. */
static void rows_moved_by_a_padding(void **state)
{
    (void)state;
    MAKES(ONE("aten::constant_pad_nd", "[[1,0],8,4]", "[4]", "[[1,0],8,4]", "\"pad\":[0,0,1,-1]"), FP32, 2,
          "elementwise forward copy:part fp32 2,28", "elementwise forward copy:part fp32 2,28",
          "elementwise forward fill fp32 1,64", "elementwise forward fill fp32 1,64");
    MAKES(ONE("aten::constant_pad_nd", "[[1,0],8,4]", "[4]", "[[1,0],9,4]", "\"pad\":[0,0,1,0]"), FP32, 2,
          "elementwise forward copy:part fp32 2,32", "elementwise forward copy:part fp32 2,32",
          "elementwise forward fill fp32 1,72");
}

/* 6 planes of 3 x 4 x 5 results of 2 samples: blocks of 8 x 32 threads in each plane of 4 x 5. Backward adds to zeros: 720
   maxima, or windows that overlap or not. */
static void pools_of_volumes(void **state)
{
    (void)state;
#define VOLUME(stride) "\"kernel_size\":[2,2,2],\"stride\":[" stride "],\"padding\":[0,0,0]"
    MAKES(CAPTURE("[[1,0],6,6,8,10]", "[10]", "4", X("[[1,0],6,3,4,5]") "," TENSOR("[[1,0],6,3,4,5]", "int64", "activation"),
                  STEP("aten::max_pool3d_with_indices", "[2]", "[4,5]", VOLUME("2,2,2"))),
          FP32, 2, "pool3d forward max fp32 9216,8", "elementwise forward fill fp32 1,5760",
          "pool3d backward max fp32 720,1");
    MAKES(ONE("aten::avg_pool3d", "[[1,0],6,6,8,10]", "[10]", "[[1,0],6,3,4,5]", VOLUME("2,2,2")), FP32, 2,
          "pool3d forward avg fp32 9216,8", "pool3d backward avg fp32 9216,8");
    MAKES(ONE("aten::avg_pool3d", "[[1,0],6,4,5,6]", "[6]", "[[1,0],6,3,4,5]", VOLUME("1,1,1")), FP32, 2,
          "pool3d forward avg fp32 9216,8", "pool3d backward avg fp32 9216,8");
}

/* Images of 5 x 4 pixels of 6 channels, which lie next to each other: the pads write 7 x 6 pixels in rows. A reflection
   copies the 6 channels of 40 pixels that it reads, but no gradients in rows; a replication takes the time of such a copy. */
static void pads_write_rows(void **state)
{
    (void)state;
#define PADDED(pad)                                                                                                    \
    CAPTURE("[[1,0],5,4,6]", "[6]", "7",                                                                               \
            X("[[1,0],6,5,4]") "," X("[[1,0],6,7,6]") "," TENSOR("[3,6,1,1]", "fp32", "parameter") ","                 \
            X("[[1,0],3,7,6]"),                                                                                        \
            STEP("aten::permute", "[2]", "[4]", "\"dims\":[0,3,1,2]") ","                                              \
            STEP("aten::" pad, "[4]", "[5]", "\"padding\":[1,1,1,1]") ","                                              \
            STEP("aten::convolution", "[5,6]", "[7]", "\"stride\":[1,1],\"padding\":[0,0],\"groups\":1"))
    MAKES(PADDED("reflection_pad2d"), FP32, 2, "elementwise forward copy:turned fp32 6,40",
          "resize forward reflect:nchw fp32 2,6,5,4,7,6", "conv forward nchw fp32 2,6,3,7,6,1,1,1,1,0,0,1,1,1",
          "resize backward reflect:nchw fp32 2,6,5,4,7,6");
    MAKES(PADDED("replication_pad2d"), FP32, 2, "elementwise forward copy:turned fp32 6,40",
          "conv forward nchw fp32 2,6,3,7,6,1,1,1,1,0,0,1,1,1", "resize backward replicate:nchw fp32 2,6,5,4,7,6");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_mode_has_its_kernel), cmocka_unit_test(lines_and_volumes_have_their_own),
        cmocka_unit_test(adaptive_pools),           cmocka_unit_test(windows_and_columns),
        cmocka_unit_test(sampled_and_unfolded),     cmocka_unit_test(pools_of_volumes),
        cmocka_unit_test(pads_write_rows),          cmocka_unit_test(rows_moved_by_a_padding),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
