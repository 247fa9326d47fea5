/* SPDX-License-Identifier: Apache-2.0 */
/* test_algebra.c - factorisations, linear systems, determinants and distances, with their gradients as recorded. */
#include "trace_calls.h"

/* 2 matrices of 4 x 4. Backward: a product, two triangular systems with 4 right-hand sides each. */
static void cholesky_factors(void **state)
{
    (void)state;
    MAKES(CAPTURE("[[1,0],4,4]", "[4]", "4", X("[[1,0],4,4]") "," TENSOR("[[1,0]]", "int32", "activation"),
                  STEP("aten::linalg_cholesky_ex", "[2]", "[4,5]", "")),
          FP32, 2, "factor forward cholesky fp32 2,4,4", "factor forward substitute fp32 2,4,4",
          "factor forward substitute fp32 2,4,4", "gemm forward nt fp32 2,4,4,4");
}

/* The right-hand sides are columns, or a vector; the gradient of the matrix is a product. */
static void triangular_systems(void **state)
{
    (void)state;
    MAKES(CAPTURE("[[1,0],4,4]", "[4]", "5", TENSOR("[[1,0],4,3]", "fp32", "input") "," X("[[1,0],4,3]"),
                  STEP("aten::linalg_solve_triangular", "[2,4]", "[5]", "\"upper\":0")),
          FP32, 2, "factor forward substitute fp32 2,4,3", "factor forward substitute fp32 2,4,3",
          "gemm forward nt fp32 2,4,4,3");
    MAKES(CAPTURE("[[1,0],4,3]", "[3]", "5", TENSOR("[[1,0],4,4]", "fp32", "input") "," X("[[1,0],4,3]"),
                  STEP("aten::cholesky_solve", "[2,4]", "[5]", "")),
          FP32, 2, "factor forward substitute fp32 2,4,3", "factor forward substitute fp32 2,4,3",
          "factor forward substitute fp32 2,4,3", "factor forward substitute fp32 2,4,3");
    MAKES(CAPTURE("[[1,0],4,4]", "[4]", "5", TENSOR("[[1,0],4]", "fp32", "input") "," X("[[1,0],4]"),
                  STEP("aten::_linalg_solve_ex", "[2,4]", "[5]", "")),
          FP32, 2, "factor forward lu fp32 2,4,4", "factor forward substitute fp32 2,4,1",
          "factor forward substitute fp32 2,4,1", "factor forward substitute fp32 2,4,1",
          "factor forward substitute fp32 2,4,1");
}

/* The logarithm is the second result: its gradient reaches the matrix, by two systems with unit vectors. */
static void determinants_and_inverses(void **state)
{
    (void)state;
    MAKES(CAPTURE("[[1,0],4,4]", "[4]", "5", X("[[1,0]]") "," X("[[1,0]]"),
                  STEP("aten::_linalg_slogdet", "[2]", "[4,5]", "")),
          FP32, 2, "factor forward lu fp32 2,4,4", "factor forward substitute fp32 2,4,4",
          "factor forward substitute fp32 2,4,4");
    MAKES(ONE("aten::linalg_inv_ex", "[[1,0],4,4]", "[4]", "[[1,0],4,4]", ""), FP32, 2, "factor forward lu fp32 2,4,4",
          "factor forward substitute fp32 2,4,4", "factor forward substitute fp32 2,4,4",
          "gemm forward nt fp32 2,4,4,4", "gemm forward nt fp32 2,4,4,4");
}

/* 2 x 5 x 6 pairs of points with 3 coordinates; one operand has a gradient. */
static void distances(void **state)
{
    (void)state;
    MAKES(CAPTURE("[[1,0],5,3]", "[3]", "5", TENSOR("[[1,0],6,3]", "fp32", "input") "," X("[[1,0],5,6]"),
                  STEP("aten::_cdist_forward", "[2,4]", "[5]", "\"p\":2.0,\"compute_mode\":2")),
          FP32, 2, "distances forward - fp32 60,3", "distances backward - fp32 60,3");
    /* between all samples: by a product of points with two columns more, unless PyTorch is set not to */
    MAKES(CAPTURE("[[1,0],3]", "[3]", "5", TENSOR("[[1,0],3]", "fp32", "input") "," X("[[1,0],[1,0]]"),
                  STEP("aten::_cdist_forward", "[2,4]", "[5]", "\"p\":2.0")),
          FP32, 40, "gemm forward nt fp32 1,40,40,5", "elementwise forward sqrt fp32 1,1600");
    MAKES(CAPTURE("[[1,0],3]", "[3]", "5", TENSOR("[[1,0],3]", "fp32", "input") "," X("[[1,0],[1,0]]"),
                  STEP("aten::_cdist_forward", "[2,4]", "[5]", "\"p\":1.0")),
          FP32, 40, "distances forward - fp32 1600,3");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(cholesky_factors), cmocka_unit_test(triangular_systems),
                                       cmocka_unit_test(determinants_and_inverses), cmocka_unit_test(distances)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
