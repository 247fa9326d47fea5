/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/rewrite/linear_parts.h"
#include "trace_calls.h"

#define PART(name, in, out, module)                                                                                    \
    "{\"op\":\"" name "\",\"in\":" in ",\"out\":" out ",\"attrs\":{},\"module\":\"" module "\"}"
#define TURN "{\"op\":\"aten::transpose.int\",\"in\":[2],\"out\":[4],\"attrs\":{\"dim0\":1,\"dim1\":2}}"

/* x [B, 6, 4], turned to [B, 4, 6]; a linear layer from 6 to 10 numbers. The module of the addition differs. */
#define LINEAR(adds)                                                                                                   \
    CAPTURE("[[1,0],6,4]", "[4]", "12",                                                                                \
            X("[[1,0],4,6]") "," X("[[1,0],4,6]") "," X("[[4,0],6]") "," TENSOR("[10,6]", "fp32", "parameter") ","     \
            X("[6,10]") "," X("[[4,0],10]") "," X("[[1,0],4,10]") "," TENSOR("[10]", "fp32", "parameter") ","          \
            X("[[1,0],4,10]"),                                                                                         \
            TURN "," PART("aten::t", "[7]", "[8]", "fc") "," PART("aten::clone", "[4]", "[5]", "fc") ","               \
            PART("aten::_unsafe_view", "[5]", "[6]", "fc") "," PART("aten::mm", "[6,8]", "[9]", "fc") ","              \
            PART("aten::_unsafe_view", "[9]", "[10]", "fc") "," PART("aten::add.Tensor", "[10,11]", "[12]", adds))

/* At B = 2: autocast casts the 48 numbers of the input, which are then turned in 16 bits, and the 10 of the bias. */
static void autocast_casts_a_layer_in_parts(void **state)
{
    (void)state;
    MAKES(LINEAR("fc"), AMP_BF16, 2, "elementwise forward copy fp32>bf16 1,48",
          "elementwise forward copy:turned bf16 4,12", "gemm forward nt bf16 1,8,10,6",
          "elementwise forward copy fp32>bf16 1,10", "elementwise forward add:row bf16 8,10");
}

/* A parameter that another module adds is none of the layer's: the sum is in fp32, and so is the copy. */
static void other_sums_are_no_part(void **state)
{
    (void)state;
    MAKES(LINEAR("scale"), AMP_BF16, 2, "elementwise forward copy:turned fp32 4,12",
          "elementwise forward copy fp32>bf16 1,48", "gemm forward nt bf16 1,8,10,6",
          "elementwise forward add:row bf16+fp32>fp32 8,10");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(autocast_casts_a_layer_in_parts),
                                       cmocka_unit_test(other_sums_are_no_part)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
