/* SPDX-License-Identifier: Apache-2.0 */
/* test_model.c - the calls of a model's step are the cases of a benchmark. */
#include "bench_case.h"

static int32_t runs_of(const char *op)
{
    int32_t runs = 0;
    for (int32_t i = 0; i < b->n_rows; i++)
        if (strcmp(b->results[b->rows[i].result].op, op) == 0) runs += b->rows[i].times;
    return runs;
}

static double matrix_flop(void)
{
    double flop = 0;
    for (int32_t i = 0; i < b->n_rows; i++) {
        const cm_bench_result *r = &b->results[b->rows[i].result];
        if (strcmp(r->op, "gemm") == 0) flop += b->rows[i].times * r->flop;
    }
    return flop;
}

TEST(one_product)
{
    b->options.model = "gemm:m=64,n=32,k=16";
    b->options.train = (cm_train_options){.inference = true, .precision = CM_PRECISION_FP32};
    cm__add_calls_of_model(b);
    assert_int_equal(b->n_cases, 1);
    assert_string_equal(b->rows[0].suite, "model");
    assert_string_equal(b->results[0].dtype, "fp32");
    near(b->results[0].flop, 2. * 64 * 32 * 16);
    near(matrix_flop(), b->results[0].flop);
}

/* A step of a GPT has the FLOP of its graph's products, in whatever calls. */
TEST(the_work_of_a_step)
{
    const char      *model = "gpt:layers=2,hidden=64,heads=2,seq=32,vocab=100";
    cm_graph        *forward, *step;
    cm_train_options train = {.precision = CM_PRECISION_FP32};
    cm_totals        totals;
    double           flop = 0;
    assert_int_equal(cm_graph_load(model, NULL, &forward, &diag), CM_OK);
    assert_int_equal(cm_graph_train(forward, &train, &step, &diag), CM_OK);
    cm_graph_totals(step, 8, &totals);
    for (int p = 0; p < CM_PHASES; p++) flop += totals.flop[p][CM_CLASS_GEMM];
    b->options.model = model;
    b->options.train = train;
    b->options.batch = 8;
    cm__add_calls_of_model(b);
    near(matrix_flop(), flop);
    assert_int_equal(runs_of("layer_norm"), 2 * (2 * 2 + 1)); /* two per layer and one at the end, and back */
    cm_graph_free(step);
    cm_graph_free(forward);
}

/* 16-bit types if the device has one. */
TEST(the_usual_precision)
{
    b->options.model = "gpt:layers=1,hidden=64,heads=2,seq=32,vocab=100";
    cm__add_calls_of_model(b);
    for (int32_t i = 0; i < b->n_cases; i++)
        if (strcmp(b->results[i].op, "gemm") == 0) assert_null(strstr(b->results[i].dtype, "fp32"));
}

TEST(a_device_without_16_bits)
{
    b->options.model = "gpt:layers=1,hidden=64,heads=2,seq=32,vocab=100";
    b->device.rates[1].dtype = NULL;
    cm__add_calls_of_model(b);
    for (int32_t i = 0; i < b->n_cases; i++)
        if (strcmp(b->results[i].op, "gemm") == 0) assert_string_equal(b->results[i].dtype, "fp32");
}

TEST(no_such_model)
{
    b->options.model = "resnet51";
    REFUSES(UNKNOWN, "resnet51", cm__add_calls_of_model(b));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_product),              cmocka_unit_test(the_work_of_a_step),
        cmocka_unit_test(the_usual_precision),      cmocka_unit_test(a_device_without_16_bits),
        cmocka_unit_test(no_such_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
