/* SPDX-License-Identifier: Apache-2.0 */
/* test_rows.c - norms and pooling. */
#include "trace_calls.h"

/* A batch norm in training counts its batches. */
static void a_batch_norm(void **state)
{
    (void)state;
    TRAIN("input x 3 8 8\nconv 4 3 stride=2 pad=1 bias=off\nbn\ngap\nflatten\n", FP32, NHWC, 2,
          "conv forward nhwc fp32 2,3,4,8,8,3,3,2,2,1,1,1,1,1", "batch_norm forward nhwc fp32 2,4,16",
          "elementwise forward scale int64 1,1", "reduce forward mean fp32 2,16,4", "cross_entropy forward - fp32 2,4",
          "cross_entropy backward - fp32 2,4", "elementwise forward scale:strided fp32 1,128",
          "elementwise forward copy:turned fp32 16,8", /* the mean's gradient has channels first: 2 blocks of 16 x 4 */
          "batch_norm backward nhwc fp32 2,4,16", "conv bwd_weight nhwc fp32 2,3,4,8,8,3,3,2,2,1,1,1,1,1",
          "optimizer update sgd fp32 3,116");
    INFER("input x 4 8 8\nbn\n", FP32, NCHW, 2, "batch_norm forward nchw fp32 2,4,64");
}

static void pools(void **state)
{
    (void)state;
    INFER("input x 4 8 8\nmaxpool 3 stride=2 pad=1\navgpool 2\n", FP32, NHWC, 2,
          "pool forward max:nhwc fp32 2,4,8,8,3,2,1", "pool forward avg:nhwc fp32 2,4,4,4,2,2,0");
}

/* Backward of a cumulative sum reverses, sums and reverses; of a product also multiplies and divides. */
static void cumulative(void **state)
{
    (void)state;
    MAKES(ONE("aten::cumsum", "[[1,0],5,4]", "[4]", "[[1,0],5,4]", "\"dim\":1"), FP32, 2,
          "reduce forward cumsum fp32 2,5,4", "reduce forward cumsum fp32 2,5,4", "elementwise forward flip fp32 1,40",
          "elementwise forward flip fp32 1,40");
    MAKES(ONE("aten::cumprod", "[[1,0],5,4]", "[4]", "[[1,0],5,4]", "\"dim\":1"), FP32, 2,
          "reduce forward cumprod fp32 2,5,4", "reduce forward cumsum fp32 2,5,4", "elementwise forward div fp32 1,40");
}

static void logarithm_of_a_sum(void **state)
{
    (void)state;
    MAKES(ONE("aten::logsumexp", "[[1,0],5]", "[5]", "[[1,0]]", "\"dim\":[1],\"keepdim\":0"), FP32, 2,
          "reduce forward max fp32 2,5,1", "reduce forward sum fp32 2,5,1", "elementwise forward exp fp32 1,10",
          "elementwise forward exp fp32 1,10"); /* forward and backward */
    MAKES(ONE("aten::linalg_vector_norm", "[[1,0],5]", "[5]", "[[1,0]]", "\"dim\":[1],\"keepdim\":0"), FP32, 2,
          "reduce forward norm fp32 2,5,1");
    MAKES(ONE("aten::var.correction", "[[1,0],5]", "[5]", "[[1,0]]", "\"dim\":[1],\"keepdim\":0"), FP32, 2,
          "reduce forward var fp32 2,5,1");
}

/* v[6, 5] by rows, with a length for each. */
static void weights_of_given_length(void **state)
{
    (void)state;
    MAKES(CAPTURE("[6,5]", "[5]", "5", TENSOR("[6,1]", "fp32", "parameter") "," X("[6,5]") "," X("[6,1]"),
                  STEP("aten::_weight_norm_interface", "[2,4]", "[5,6]", "")),
          FP32, 2, "rms_norm forward weight fp32 6,5", "rms_norm backward weight fp32 6,5");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_batch_norm),
                                       cmocka_unit_test(pools), cmocka_unit_test(cumulative),
                                       cmocka_unit_test(logarithm_of_a_sum), cmocka_unit_test(weights_of_given_length)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
