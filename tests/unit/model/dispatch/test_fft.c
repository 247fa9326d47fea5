/* SPDX-License-Identifier: Apache-2.0 */
/* test_fft.c - the kernels of Fourier transforms and of their gradients, as PyTorch's profiler lists them. */
#include "trace_calls.h"

/* x[B, 3, 8, 6] -> spectrum [B, 3, 8, 4] -> x. The inverse transform is scaled. At batch 2: 288 points, 192 of the
   spectrum. Backward of the inverse: a transform, scaled, and twice all points but the first and the last column; of
   the transform: the half spectrum in zeros, and a complex transform of all. */
static void there_and_back(void **state)
{
    (void)state;
    MAKES(CAPTURE("[[1,0],3,8,6]", "[6]", "5", C("[[1,0],3,8,4]") "," X("[[1,0],3,8,6]"),
                  STEP("aten::_fft_r2c", "[2]", "[4]", "\"dim\":[2,3],\"normalization\":0,\"onesided\":1") ","
                  STEP("aten::_fft_c2r", "[4]", "[5]", "\"dim\":[2,3],\"normalization\":2,\"last_dim_size\":6")),
          FP32, 2, "fft forward r2c fp32 6,6,8,1", "fft forward r2c fp32 6,6,8,1", "fft forward c2r fp32 6,6,8,1",
          "fft forward c2c fp32 6,6,8,1", "elementwise forward scale fp32 1,288",
          "elementwise forward scale complex64 1,192",
          "elementwise forward scale:part complex64 48,4", "elementwise forward fill complex64 1,288",
          "elementwise forward copy:part complex64 48,4");
}

/* The transformed dimension need not be the last; the others are the batch. */
static void along_another_dimension(void **state)
{
    (void)state;
    MAKES(CAPTURE("[[1,0],8,5]", "[5]", "6", C("[[1,0],5,5]") "," C("[[1,0],5,5]") "," X("[[1,0],8,5]"),
                  STEP("aten::_fft_r2c", "[2]", "[4]", "\"dim\":[1],\"normalization\":0,\"onesided\":1") ","
                  STEP("aten::_fft_c2c", "[4]", "[5]", "\"dim\":[2],\"normalization\":0,\"forward\":1") ","
                  STEP("aten::_fft_c2r", "[5]", "[6]", "\"dim\":[1],\"normalization\":0,\"last_dim_size\":8")),
          FP32, 2, "fft forward r2c fp32 10,8,1,1", "fft forward r2c fp32 10,8,1,1", "fft forward c2r fp32 10,8,1,1",
          "fft forward c2c fp32 10,5,1,1", "fft forward c2c fp32 10,5,1,1", "fft forward c2c fp32 10,8,1,1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(there_and_back), cmocka_unit_test(along_another_dimension)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
