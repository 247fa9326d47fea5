/* SPDX-License-Identifier: Apache-2.0 */
/* test_primitives.c - the papers' kernels: their FLOP by the papers' formulas, computed by hand, and their calls. */
#include "bench_case.h"

static double paper_flop(const char *label)
{
    double sum = 0;
    for (int32_t i = 0; i < b->n_rows; i++)
        if (strcmp(b->rows[i].label, label) == 0) sum += b->rows[i].paper_flop;
    return sum;
}

/* FLOP of Tables VI to IX by the formulas of Section IV. */
TEST(papers_flop)
{
    cm__suite_primitives(b);
    near(paper_flop("gemm_k1 fp32"), 2.0 * 64 * 1760 * 1760);
    near(paper_flop("gemm_k3 fp32"), 2.0 * 1760 * 128 * 1760);
    near(paper_flop("conv_k1_fw fp32"), 2.0 * 4 * 4 * 32 * 32 * 3 * 3 * 131072);
    near(paper_flop("conv_k2_fw fp32"), 2.0 * 13 * 13 * 256 * 128 * 3 * 3 * 4096);
    near(paper_flop("conv_k4_fw fp32"), 2.0 * 123 * 123 * 128 * 32 * 5 * 5 * 1024);
    near(paper_flop("conv_k3_bw fp32"), 2 * 2.0 * 53 * 53 * 1024 * 16 * 3 * 3 * 256);
    near(paper_flop("conv_k3_fw bf16"), 2 * 2.0 * 53 * 53 * 1024 * 16 * 3 * 3 * 256); /* twice the batch */
    near(paper_flop("relu_k2_fw fp32"), 14.0 * 14 * 128 * 16384);
    near(paper_flop("rnn_k1_fw fp32"), 2.0 * 4 * 50 * 256 * 256 * 64 + 2.0 * 4 * 50 * 256 * 64);
    near(paper_flop("rnn_k1_bw fp32"), 2 * paper_flop("rnn_k1_fw fp32"));
    /* one layer of hidden size 1600: 12 h^2 weights and the scores of 1024 tokens */
    near(paper_flop("gpt2xl_b8_fw fp32"), 8 * 1024 * (24.0 * 1600 * 1600 + 4.0 * 1024 * 1600));
    near(paper_flop("gpt2xl_b64_bw bf16"), 2 * 64 * 1024 * (24.0 * 1600 * 1600 + 4.0 * 1024 * 1600));
}

/* FLOP of the matrix products among a layer's rows, counted by their calls; attention is the rest. */
TEST(a_layers_calls_add_up_to_it)
{
    double forward = 0, backward = 0;
    cm__suite_primitives(b);
    for (int32_t i = 0; i < b->n_rows; i++) {
        const cm_bench_row    *row = &b->rows[i];
        const cm_bench_result *r = &b->results[row->result];
        if (strcmp(r->op, "gemm")) continue;
        if (strcmp(row->label, "gpt2xl_b8_fw fp32") == 0) forward += row->times * r->flop;
        if (strcmp(row->label, "gpt2xl_b8_bw fp32") == 0) backward += row->times * r->flop;
    }
    near(forward, 8 * 1024 * 24.0 * 1600 * 1600);
    near(backward, 2 * forward);
}

TEST(scale_divides_the_batch)
{
    b->options.scale = 16;
    cm__suite_primitives(b);
    near(paper_flop("relu_k2_fw fp32"), 14.0 * 14 * 128 * 1024);
    near(paper_flop("gemm_k4 fp32"), 2 * pow(2560, 3));
    /* 8 / 16 is one sample at least; 16 / 16 is the same one, which is listed once */
    near(paper_flop("gpt2xl_b1_fw fp32"), 1024 * (24.0 * 1600 * 1600 + 4.0 * 1024 * 1600));
    near(paper_flop("gpt2xl_b4_fw fp32"), 4 * paper_flop("gpt2xl_b1_fw fp32"));
}

/* The sizes of Table VII: 54 x 54 images of 16 channels, 1024 filters; channels last in 16 bits, with twice the
   batch. */
TEST(calls_of_a_convolution)
{
    cm__suite_primitives(b);
    assert_true(has_case("conv forward nchw fp32 256,16,1024,54,54,3,3,1,1,1,1,1,1,1"));
    assert_true(has_case("conv bwd_input nchw fp32 256,16,1024,54,54,3,3,1,1,1,1,1,1,1"));
    assert_true(has_case("conv bwd_weight nhwc bf16 512,16,1024,54,54,3,3,1,1,1,1,1,1,1"));
    assert_true(has_case("gemm forward nn fp32 1,2560,64,2560"));
    assert_true(has_case("elementwise forward relu fp32 262144,1568"));
    assert_true(has_case("rnn backward lstm bf16 64,25,512,512,1,1"));
}

/* The suite leaves out what a device cannot run: without bf16 there is none of it. */
TEST(types_of_the_device)
{
    b->device.rates[1].dtype = NULL;
    cm__suite_primitives(b);
    assert_true(b->n_cases > 0);
    for (int32_t i = 0; i < b->n_cases; i++) assert_string_equal(b->results[i].dtype, "fp32");
}

static bool all_but_products(void *state, const cm_call *call)
{
    return strcmp(call->op, "gemm") != 0 && cm__backend_null.supports(state, call);
}

/* Without a library of products, the four of Table VI are listed in each type with the reason why they have no time. */
TEST(products_are_refused_by_name)
{
    static cm_backend without;
    int               refused = 0;
    without = cm__backend_null;
    without.supports = all_but_products;
    b->backend = &without;
    cm__suite_primitives(b);
    for (int32_t i = 0; i < b->n_rows; i++) {
        const char *why = b->results[b->rows[i].result].skipped;
        assert_int_equal(strncmp(b->rows[i].label, "gemm_k", 6) == 0, why != NULL);
        refused += why != NULL;
    }
    assert_int_equal(refused, 4 * 2);
    near(paper_flop("gemm_k1 fp32"), 2.0 * 64 * 1760 * 1760);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(papers_flop),            cmocka_unit_test(a_layers_calls_add_up_to_it),
        cmocka_unit_test(scale_divides_the_batch), cmocka_unit_test(calls_of_a_convolution),
        cmocka_unit_test(types_of_the_device),    cmocka_unit_test(products_are_refused_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
