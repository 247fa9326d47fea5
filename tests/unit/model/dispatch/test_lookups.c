/* SPDX-License-Identifier: Apache-2.0 */
/* test_lookups.c - look-ups by index, scatters, sorting, writes into a part, and their gradients. */
#include "trace_calls.h"

#include "model/time/factors.h"

#define INDEX(dims) TENSOR(dims, "int64", "input")

static void rows_and_columns(void **state)
{
    (void)state;
    /* relative positions: 9 look-ups in a table [5, 4] */
    MAKES(CAPTURE("[5,4]", "[4]", "5", INDEX("[9]") "," X("[9,4]"), STEP("aten::index.Tensor", "[2,4]", "[5]", "")),
          FP32, 2, "embedding forward select fp32 9,5,4", "embedding backward index fp32 9,5,4");
    /* rows of 12 bytes are not whole vectors */
    MAKES(CAPTURE("[5,3]", "[3]", "5", INDEX("[9]") "," X("[9,3]"), STEP("aten::index.Tensor", "[2,4]", "[5]", "")),
          FP32, 2, "embedding forward index fp32 9,5,3", "embedding backward index fp32 9,5,3");
    /* [heads, places] by [3, 3] */
    MAKES(CAPTURE("[4,5]", "[5]", "5", INDEX("[3,3]") "," X("[4,3,3]"),
                  STEP("aten::index.Tensor", "[2,-1,4]", "[5]", "")),
          FP32, 2, "embedding forward index:col fp32 9,5,4", "embedding backward index:col fp32 9,5,4");
    /* as many places as positions: the last dimension of the result is not that of the table */
    MAKES(CAPTURE("[4,5]", "[5]", "5", INDEX("[5,5]") "," X("[4,5,5]"),
                  STEP("aten::index.Tensor", "[2,-1,4]", "[5]", "")),
          FP32, 2, "embedding forward index:col fp32 25,5,4", "embedding backward index:col fp32 25,5,4");
    MAKES(CAPTURE("[[1,0],5,4]", "[4]", "5", INDEX("[9]") "," X("[[1,0],9,4]"),
                  STEP("aten::index_select", "[2,4]", "[5]", "\"dim\":1")),
          FP32, 2, "embedding forward select fp32 9,5,8", "embedding backward select fp32 9,5,8");
    MAKES(CAPTURE("[[1,0],5,4]", "[4]", "5", INDEX("[[1,0],9,4]") "," X("[[1,0],9,4]"),
                  STEP("aten::gather", "[2,4]", "[5]", "\"dim\":1")),
          FP32, 2, "embedding forward gather fp32 9,5,8", "embedding backward gather fp32 9,5,8");
}

#define EXPANDED(small, whole) INDEX(small) "," TENSOR(whole, "int64", "activation")
#define EXPAND STEP("aten::expand", "[4]", "[5]", "")

/* In the first dimension, an index that is expanded over rows copies whole rows if they are aligned to 16 bytes. */
static void one_index_for_each_row(void **state)
{
    (void)state;
    MAKES(CAPTURE("[[1,0],5,4]", "[4]", "6", EXPANDED("[[1,0],9,1]", "[[1,0],9,4]") "," X("[[1,0],9,4]"),
                  EXPAND "," STEP("aten::gather", "[2,5]", "[6]", "\"dim\":1")),
          FP32, 2, "embedding forward gather fp32 9,5,8", "embedding backward gather fp32 9,5,8");
    MAKES(CAPTURE("[5,4]", "[4]", "6", EXPANDED("[9,1]", "[9,4]") "," X("[9,4]"),
                  EXPAND "," STEP("aten::gather", "[2,5]", "[6]", "\"dim\":0")),
          FP32, 2, "embedding forward - fp32 9,5,4", "embedding backward gather fp32 9,5,4");
    MAKES(CAPTURE("[5,3]", "[3]", "6", EXPANDED("[9,1]", "[9,3]") "," X("[9,3]"),
                  EXPAND "," STEP("aten::gather", "[2,5]", "[6]", "\"dim\":0")),
          FP32, 2, "embedding forward gather fp32 9,5,3");
    /* numbers of a row of a transposed table are in different lines of memory */
    MAKES(CAPTURE("[4,5]", "[5]", "7", EXPANDED("[9,1]", "[9,4]") "," X("[5,4]") "," X("[9,4]"),
                  EXPAND "," STEP("aten::t", "[2]", "[6]", "") "," STEP("aten::gather", "[6,5]", "[7]", "\"dim\":0")),
          FP32, 2, "embedding forward gather fp32 9,5,4", "embedding backward gather fp32 9,5,4");
    /* along the last dimension an index cannot be that of rows */
    MAKES(CAPTURE("[3,5]", "[5]", "6", EXPANDED("[3,1]", "[3,9]") "," X("[3,9]"),
                  EXPAND "," STEP("aten::gather", "[2,5]", "[6]", "\"dim\":1")),
          FP32, 2, "embedding forward gather fp32 9,5,3");
    MAKES(CAPTURE("[2,9,4]", "[4]", "7", EXPANDED("[2,9,1]", "[2,9,4]") "," X("[2,5,4]") "," X("[2,5,4]"),
                  EXPAND "," STEP("aten::zeros", "[]", "[6]", "") ","
                  STEP("aten::scatter_add_", "[6,5,2]", "[7]", "\"dim\":1")),
          FP32, 2, "embedding backward gather fp32 9,5,8", "embedding forward gather fp32 9,5,8");
}

/* index_put_ adds rows of 33 numbers along the second dimension as those of 2 x 5 rows; shorter ones have other kernels. */
static void rows_along_a_later_dimension(void **state)
{
    (void)state;
    MAKES(CAPTURE("[[1,0],5,33]", "[33]", "5", INDEX("[9]") "," X("[[1,0],9,33]"),
                  STEP("aten::index.Tensor", "[2,-1,4]", "[5]", "")),
          FP32, 2, "embedding forward index:col fp32 9,5,66", "embedding backward index fp32 18,10,33");
    MAKES(CAPTURE("[[1,0],5,32]", "[32]", "5", INDEX("[9]") "," X("[[1,0],9,32]"),
                  STEP("aten::index.Tensor", "[2,-1,4]", "[5]", "")),
          FP32, 2, "embedding backward index:col fp32 9,5,64");
}

/* Clamped distances are not equally frequent: backward counts as if 4 of 40 rows were. Tables of words are larger. */
static void chosen_rows(void **state)
{
    (void)state;
#define CLAMPED INDEX("[90]") "," TENSOR("[90]", "int64", "activation") "," X("[90,4]")
#define CLAMP STEP("aten::clamp", "[4]", "[5]", "\"min\":0,\"max\":39")
    MAKES(CAPTURE("[40,4]", "[4]", "6", CLAMPED, CLAMP "," STEP("aten::index.Tensor", "[2,5]", "[6]", "")), FP32, 2,
          "embedding forward select fp32 90,40,4", "embedding backward index fp32 90,4,4");
    MAKES(CAPTURE("[40,4]", "[4]", "6", CLAMPED, CLAMP "," STEP("aten::embedding", "[2,5]", "[6]", "")), FP32, 2,
          "embedding forward - fp32 90,40,4", "embedding backward - fp32 90,4,4");
    MAKES(CAPTURE("[600,4]", "[4]", "6", CLAMPED, CLAMP "," STEP("aten::embedding", "[2,5]", "[6]", "")), FP32, 2,
          "embedding backward - fp32 90,600,4");
}

/* Compiled, 900 clamped rows of 4 numbers are added to a table of 5 rows, each number by an addition of its own: read are one
   number (the gradient of the sum) and 900 indices of 8 bytes, 20 numbers are written. Another kernel multiplies the table's
   gradient by x [5, 4] and sums it over rows: 40 numbers in, 4 out. */
static void chosen_rows_are_added_one_by_one(void **state)
{
    (void)state;
#define FEW INDEX("[900]") "," TENSOR("[900]", "int64", "activation") "," X("[900,4]")
    char   call[64];
    double access = cm__time_factors.access_bytes, index = (8 + access) / (4 + access) * 4;
    double bytes = 4 + 900 * index + 20 * 4;
    snprintf(call, sizeof call, "elementwise forward fused fp32 1,%lld", (long long)(bytes / 8 + 0.5));
    MAKES_BY(TORCH_COMPILE, CAPTURE("[5,4]", "[4]", "6", FEW, CLAMP "," STEP("aten::embedding", "[2,5]", "[6]", "")), FP32,
             2, call, "elementwise forward column_sum fp32 1,22");
}

/* Two indices select rows of a table [3, 5, 4]: 15 rows of 4. */
static void several_indices(void **state)
{
    (void)state;
    MAKES(CAPTURE("[3,5,4]", "[4]", "6", INDEX("[7,7]") "," INDEX("[7,7]") "," X("[7,7,4]"),
                  STEP("aten::index.Tensor", "[2,4,5]", "[6]", "")),
          FP32, 2, "embedding forward index fp32 49,15,4", "embedding backward index fp32 49,15,4");
}

/* Whole rows are copied only if they are contiguous: a transposed table is read element by element. */
static void a_transposed_table(void **state)
{
    (void)state;
    MAKES(CAPTURE("[4,5]", "[5]", "6", X("[5,4]") "," INDEX("[9]") "," X("[9,4]"),
                  STEP("aten::t", "[2]", "[4]", "") "," STEP("aten::index.Tensor", "[4,5]", "[6]", "")),
          FP32, 2, "embedding forward gather fp32 9,5,4", "embedding backward index fp32 9,5,4");
}

/* The gradient of one half of a concatenation has gaps: it is copied before its rows are added. */
static void a_gradient_with_gaps(void **state)
{
    (void)state;
    MAKES(CAPTURE("[5,4]", "[4]", "7", INDEX("[9]") "," X("[9,4]") "," X("[9,4]") "," X("[9,8]"),
                  STEP("aten::index.Tensor", "[2,4]", "[5]", "") "," STEP("aten::index.Tensor", "[2,4]", "[6]", "") ","
                  STEP("aten::cat", "[5,6]", "[7]", "\"dim\":1")),
          FP32, 2, "elementwise forward copy:part fp32 9,4", "elementwise forward copy:part fp32 9,4",
          "embedding backward index fp32 9,5,4", "embedding backward index fp32 9,5,4");
}

/* Rows that are looked up have the type of the table: rows of a product that autocast computed in bf16. */
static void a_look_up_keeps_the_type(void **state)
{
    (void)state;
    MAKES(CAPTURE("[5,6]", "[6]", "8", TENSOR("[6,4]", "fp32", "parameter") "," X("[5,4]") "," INDEX("[9]") "," X("[9,4]")
                  "," X("[9,4]"),
                  STEP("aten::mm", "[2,4]", "[5]", "") "," STEP("aten::index.Tensor", "[5,6]", "[7]", "") ","
                  STEP("aten::relu", "[7]", "[8]", "")),
          AMP_BF16, 2, "embedding forward index bf16 9,5,4", "elementwise forward relu bf16 1,36");
}

/* The messages of 9 edges are added to 5 nodes; the gradient of a message is that of its node. */
static void added_to_nodes(void **state)
{
    (void)state;
    MAKES(CAPTURE("[9,4]", "[4]", "6", INDEX("[9]") "," X("[5,4]") "," X("[5,4]"),
                  STEP("aten::zeros", "[]", "[5]", "") "," STEP("aten::index_add_", "[5,4,2]", "[6]", "\"dim\":0")),
          FP32, 2, "embedding backward select fp32 9,5,4", "embedding forward select fp32 9,5,4");
    MAKES(CAPTURE("[9,4]", "[4]", "6", INDEX("[9,4]") "," X("[5,4]") "," X("[5,4]"),
                  STEP("aten::zeros", "[]", "[5]", "") "," STEP("aten::scatter_add_", "[5,4,2]", "[6]", "\"dim\":0")),
          FP32, 2, "embedding backward gather fp32 9,5,4", "embedding forward gather fp32 9,5,4");
}

/* The largest message of each node: equal ones share its gradient, after comparisons of the 36 messages and the 20 numbers
   of the nodes to the result, a sum of the equal ones and a division. */
static void largest_of_each_node(void **state)
{
    (void)state;
    MAKES(CAPTURE("[9,4]", "[4]", "6", INDEX("[9,4]") "," X("[5,4]") "," X("[5,4]"),
                  STEP("aten::zeros", "[]", "[5]", "") ","
                  STEP("aten::scatter_reduce.two", "[5,4,2]", "[6]", "\"dim\":0,\"reduce\":\"amax\"")),
          FP32, 2, "embedding backward gather fp32 9,5,4", "embedding backward gather fp32 9,5,4",
          "embedding forward gather fp32 9,5,4", "embedding forward gather fp32 9,5,4",
          "elementwise forward compare fp32>bool 1,36", "elementwise forward compare fp32>bool 1,36",
          "elementwise forward compare fp32>bool 1,20", "elementwise forward compare fp32>bool 1,20",
          "elementwise forward copy bool>fp32 1,36", "elementwise forward copy bool>fp32 1,20",
          "elementwise forward div fp32 1,20", "elementwise forward mul bool+fp32>fp32 1,20",
          "elementwise forward mul bool+fp32>fp32 1,36");
}

static void sorted(void **state)
{
    (void)state;
    MAKES(CAPTURE("[[1,0],8]", "[8]", "4", X("[[1,0],3]") "," TENSOR("[[1,0],3]", "int64", "activation"),
                  STEP("aten::topk", "[2]", "[4,5]", "\"k\":3,\"dim\":-1")),
          FP32, 2, "sort forward topk fp32 2,8,3", "embedding backward gather fp32 3,8,2");
    MAKES(CAPTURE("[[1,0],8]", "[8]", "4", X("[[1,0],8]") "," TENSOR("[[1,0],8]", "int64", "activation"),
                  STEP("aten::sort", "[2]", "[4,5]", "\"dim\":-1")),
          FP32, 2, "sort forward sort fp32 2,8,8");
}

/* y[:, :4] = x: the gradient of y is copied, and its first 4 columns again. */
static void written_into_a_part(void **state)
{
    (void)state;
    MAKES(CAPTURE("[[1,0],4]", "[4]", "4", X("[[1,0],6]") "," X("[[1,0],4]") "," X("[[1,0],4]"),
                  STEP("aten::zeros", "[]", "[4]", "") ","
                  STEP("aten::slice.Tensor", "[4]", "[5]", "\"dim\":1,\"start\":0,\"end\":4") ","
                  STEP("aten::copy_", "[5,2]", "[6]", "")),
          FP32, 2, "elementwise forward fill fp32 1,12", "elementwise forward copy:part fp32 2,4",
          "elementwise forward copy:part fp32 2,4", "elementwise forward copy fp32 1,12");
}

/* y[:, 4:5] = y[:, :1] after that, as circular padding does. Numbers of a column lie apart. Backward copies the gradient
   of y, reads the column, fills a column with zeros and writes it; the slice that was read is written into zeros. No sum
   runs, though copy_() could have expanded its source. */
static void written_into_a_part_again(void **state)
{
    (void)state;
    MAKES(CAPTURE("[[1,0],4]", "[4]", "4",
                  X("[[1,0],6]") "," X("[[1,0],4]") "," X("[[1,0],4]") "," X("[[1,0],1]") "," X("[[1,0],1]") ","
                  X("[[1,0],1]"),
                  STEP("aten::zeros", "[]", "[4]", "") ","
                  STEP("aten::slice.Tensor", "[4]", "[5]", "\"dim\":1,\"start\":0,\"end\":4") ","
                  STEP("aten::copy_", "[5,2]", "[6]", "") ","
                  STEP("aten::slice.Tensor", "[4]", "[7]", "\"dim\":1,\"start\":4,\"end\":5") ","
                  STEP("aten::slice.Tensor", "[4]", "[8]", "\"dim\":1,\"start\":0,\"end\":1") ","
                  STEP("aten::copy_", "[7,8]", "[9]", "")),
          FP32, 2, "elementwise forward copy:part fp32 2,4", "elementwise forward copy:part fp32 2,4",
          "elementwise forward copy fp32 1,12", "elementwise forward copy fp32 1,12",
          "elementwise forward fill fp32 1,2", "elementwise forward copy:strided fp32 1,2",
          "elementwise forward copy:strided fp32 1,2", "elementwise forward copy:strided fp32 1,2",
          "elementwise forward copy:strided fp32 1,2");
}

/* Rows 1 and 2 of y [2, 4, 20] are written over rows 0 and 1: both have runs of 40 numbers, 80 apart. */
static void a_part_of_equal_strides_has_gaps(void **state)
{
    (void)state;
    MAKES(CAPTURE("[[1,0],4,20]", "[20]", "4", X("[[1,0],4,20]") "," X("[[1,0],2,20]") "," X("[[1,0],2,20]") ","
                  X("[[1,0],2,20]"),
                  STEP("aten::relu", "[2]", "[4]", "") ","
                  STEP("aten::slice.Tensor", "[4]", "[5]", "\"dim\":1,\"start\":0,\"end\":2") ","
                  STEP("aten::slice.Tensor", "[4]", "[6]", "\"dim\":1,\"start\":1,\"end\":3") ","
                  STEP("aten::copy_", "[5,6]", "[7]", "")),
          FP32, 2, "elementwise forward copy:part fp32 2,40", "elementwise forward copy:part fp32 2,40",
          "elementwise forward copy:part fp32 2,40", "elementwise forward copy:part fp32 2,40");
}

/* A slice with an end that contains everything is a view, but its gradient is copied into zeros; that of x[:] is not. */
static void a_slice_of_everything(void **state)
{
    (void)state;
    MAKES(ONE("aten::slice.Tensor", "[[1,0],4]", "[4]", "[[1,0],4]", "\"dim\":1,\"start\":0,\"end\":4"), FP32, 2,
          "elementwise forward fill fp32 1,8", "elementwise forward copy fp32 1,8");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(written_into_a_part_again),
                                       cmocka_unit_test(a_part_of_equal_strides_has_gaps),
                                       cmocka_unit_test(a_slice_of_everything),
                                       cmocka_unit_test(rows_and_columns), cmocka_unit_test(one_index_for_each_row),
        cmocka_unit_test(rows_along_a_later_dimension), cmocka_unit_test(several_indices),
                                       cmocka_unit_test(a_transposed_table), cmocka_unit_test(a_gradient_with_gaps),
                                       cmocka_unit_test(chosen_rows), cmocka_unit_test(chosen_rows_are_added_one_by_one),
                                       cmocka_unit_test(a_look_up_keeps_the_type),
                                       cmocka_unit_test(added_to_nodes), cmocka_unit_test(largest_of_each_node),
                                       cmocka_unit_test(sorted), cmocka_unit_test(written_into_a_part)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
