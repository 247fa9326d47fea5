/* SPDX-License-Identifier: Apache-2.0 */
/* test_rows.c - norms and pooling. */
#include "dispatch_calls.h"

/* A batch norm in training counts its batches. */
static void a_batch_norm(void **state)
{
    (void)state;
    TRAIN("input x 3 8 8\nconv 4 3 stride=2 pad=1 bias=off\nbn\ngap\nflatten\n", FP32, NHWC, 2,
          "conv forward nhwc fp32 2,3,4,8,8,3,3,2,2,1,1,1,1,1", "batch_norm forward nhwc fp32 2,4,16",
          "elementwise forward scale int64 1,1", "reduce forward mean fp32 2,16,4", "cross_entropy forward - fp32 2,4",
          "cross_entropy backward - fp32 2,4", "elementwise forward scale:strided fp32 1,128",
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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_batch_norm),
                                       cmocka_unit_test(pools)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
