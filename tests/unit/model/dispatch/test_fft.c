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

/* torch.compile has PyTorch's operators in functional form: what writes into a part of a spectrum copies all of it
   first. Backward of the inverse transform doubles columns of the half spectrum, 192 points at batch 2, and writes them
   back; backward of the transform writes the half, which it copies, into 288 zeros. */
static void compiled_writes_copy_the_whole(void **state)
{
    (void)state;
    MAKES_BY(TORCH_COMPILE,
             CAPTURE("[[1,0],3,8,6]", "[6]", "5", C("[[1,0],3,8,4]") "," X("[[1,0],3,8,6]"),
                     STEP("aten::_fft_r2c", "[2]", "[4]", "\"dim\":[2,3],\"normalization\":0,\"onesided\":1") ","
                     STEP("aten::_fft_c2r", "[4]", "[5]", "\"dim\":[2,3],\"normalization\":2,\"last_dim_size\":6")),
             FP32, 2, "elementwise forward copy complex64 1,192", "elementwise forward copy complex64 1,192",
             "elementwise forward copy complex64 1,288", "elementwise forward copy:part complex64 48,4",
             "elementwise forward copy:part complex64 48,4");
}

/* The gradient of the first three of a spectrum's four columns is written into zeros: 192 points at batch 2, which
   torch.compile copies first. */
#define FIRST_COLUMNS                                                                                                  \
    CAPTURE("[[1,0],3,8,6]", "[6]", "6", C("[[1,0],3,8,4]") "," C("[[1,0],3,8,3]") "," X("[[1,0],3,8,4]"),             \
            STEP("aten::_fft_r2c", "[2]", "[4]", "\"dim\":[2,3],\"normalization\":0,\"onesided\":1") ","             \
            STEP("aten::slice.Tensor", "[4]", "[5]", "\"dim\":3,\"start\":0,\"end\":3") ","                            \
            STEP("aten::_fft_c2r", "[5]", "[6]", "\"dim\":[2,3],\"normalization\":0,\"last_dim_size\":4"))

static void a_slice_of_a_spectrum_is_written_into_a_copy(void **state)
{
    (void)state;
    static const char all[] = "elementwise forward copy complex64 1,192";
    static const char zeros[] = "elementwise forward fill complex64 1,192";
    MAKES_BY(TORCH_EAGER, FIRST_COLUMNS, FP32, 2, zeros);
    /* one before the slice is written, one of the half spectrum in the transform's backward */
    MAKES_BY(TORCH_COMPILE, FIRST_COLUMNS, FP32, 2, zeros, all, all);
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
    const struct CMUnitTest tests[] = {cmocka_unit_test(there_and_back), cmocka_unit_test(along_another_dimension),
                                       cmocka_unit_test(compiled_writes_copy_the_whole),
                                       cmocka_unit_test(a_slice_of_a_spectrum_is_written_into_a_copy)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
