/* SPDX-License-Identifier: Apache-2.0 */
/* test_trace_untraced.c - what torch.compile leaves to eager PyTorch, as PyTorch 2.11 does for the same modules. */
#include "recorded_step.h"

#define IN(module, name, in, out)                                                                                      \
    "{\"op\":\"aten::" name "\",\"in\":[" in "],\"out\":[" out "],\"module\":\"" module "\"}"
#define Y X("[[1,0],10,8]")

static cm__outside outside_of(const cm_graph *g, const char *type) { return (cm__outside)only(g, type)->outside; }

/* tanh -> LSTM -> relu -> sigmoid -> neg -> abs. The first %s is the module of the layer, the others of what follows.
   */
#define RECURRENT                                                                                                      \
    TRACE("\"loss\":-1,\"outputs\":[11]",                                                                              \
          T("[[1,0],10,8]", "fp32", "input") "," T("[32,8]", "fp32", "parameter") ","                                  \
          T("[32,8]", "fp32", "parameter") "," T("[1,[1,0],8]", "fp32", "buffer") "," Y "," Y ","                      \
          X("[1,[1,0],8]") ","                                                                                         \
          X("[1,[1,0],8]") "," Y "," Y "," Y "," Y,                                                                    \
          IN("Net", "tanh", "0", "4") ","                                                                              \
          "{\"op\":\"aten::lstm\",\"in\":[4,3,3,1,2],\"out\":[5,6,7],\"module\":\"%s\","                              \
          "\"attrs\":{\"has_biases\":0,\"batch_first\":1}},"                                                           \
          IN("%s", "relu", "5", "8") "," IN("%s", "sigmoid", "8", "9") "," IN("%s", "neg", "9", "10") ","              \
          IN("%s", "abs", "10", "11"))

/* The rest of the function that calls the layer, with PyTorch's own modules, runs eagerly. Other modules are functions
   of their own: they are compiled. A number is the place of a module in a list. */
static void the_rest_of_a_function_with_a_recurrent_layer_is_eager(void **state)
{
    (void)state;
    static const struct {
        const char *layer, *relu, *sigmoid, *neg, *abs;
        bool        eager[4];
    } cases[] = {
        {"body", "Net", "head", "heads.1", "block.linear", {true, true, true, false}},
        {"rnns.0", "Net", "blocks.3.act", "head", "blocks.3.acts.0", {true, false, true, false}},
        {"encoder.lstm", "encoder", "encoder.fc", "encoders.fc", "Net", {true, true, false, false}},
        {"encoder.lstm", "encoder.norms.2", "encoder.block.fc", "encoder", "head", {true, false, true, false}},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        static const char *const types[] = {"Relu", "Sigmoid", "Neg", "Abs"};
        char text[4096];
        snprintf(text, sizeof text, RECURRENT, cases[i].layer, cases[i].relu, cases[i].sigmoid, cases[i].neg,
                 cases[i].abs);
        cm_graph *g = accepted(text, 0);
        assert_int_equal(outside_of(g, "Tanh"), CM__COMPILED); /* before the layer */
        assert_int_equal(outside_of(g, "LSTM"), CM__UNTRACED);
        for (size_t k = 0; k < COUNT(types); k++)
            assert_int_equal(outside_of(g, types[k]), cases[i].eager[k] ? CM__UNTRACED : CM__COMPILED);
        cm_graph_free(g);
    }
}

/* x -> relu in a decoder -> sigmoid in the model. The decoder compares its mask, a buffer, by the operators of %s. */
#define MASKED                                                                                                         \
    TRACE("\"loss\":-1,\"outputs\":[8]",                                                                               \
          T("[[1,0],10,8]", "fp32", "input") "," T("[10,10]", "fp32", "buffer") "," X("[10,10]") "," X("[10,10]") ","  \
          T("[10,10]", "bool", "activation") "," T("[]", "bool", "activation") "," Y "," Y "," Y,                      \
          IN("Net", "tanh", "0", "6") "," IN("decoder", "triu", "1", "2") ","                                          \
          IN("%s", "eq.Tensor", "1,2", "4") "," IN("decoder", "%s", "4", "5") ","                                      \
          IN("decoder.layers.0.linear1", "relu", "6", "7") "," IN("head", "sigmoid", "7", "8"))

static void a_mask_is_asked_for_eagerly(void **state)
{
    (void)state;
    static const struct {
        const char *compares, *reduces;
        cm__outside relu;
    } cases[] = {{"decoder", "all", CM__UNTRACED}, {"Net", "all", CM__COMPILED}, {"decoder", "any", CM__COMPILED}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        char text[4096];
        snprintf(text, sizeof text, MASKED, cases[i].compares, cases[i].reduces);
        cm_graph *g = accepted(text, 0);
        assert_int_equal(outside_of(g, "Tanh"), CM__COMPILED);
        assert_int_equal(outside_of(g, "Relu"), cases[i].relu);
        assert_int_equal(outside_of(g, "Sigmoid"), CM__COMPILED);
        cm_graph_free(g);
    }
}

/* x -> tanh -> relu and sigmoid in two layers -> neg in the second %s -> abs. The encoder and the first %s
   compare a number, and no operator reads the answers. */
#define LOOP                                                                                                           \
    TRACE("\"loss\":-1,\"outputs\":[8]",                                                                               \
          T("[[1,0],10,8]", "fp32", "input") "," T("[]", "fp32", "buffer") "," T("[]", "bool", "activation") ","       \
          T("[]", "bool", "activation") "," Y "," Y "," Y "," Y "," Y,                                                 \
          IN("Net", "tanh", "0", "4") "," IN("encoder", "lt.Scalar", "1", "2") ","                                     \
          IN("encoder.layers.0.act", "relu", "4", "5") "," IN("%s", "lt.Scalar", "1", "3") ","                         \
          IN("encoder.layers.1", "sigmoid", "5", "6") "," IN("%s", "neg", "6", "7") "," IN("head", "abs", "7", "8"))

/* The encoder branches in its loop over layers. Each layer is compiled by itself, and the encoder's own operators run
   eagerly, with those of PyTorch's layers that it calls. A single branch is no loop. */
static void a_loop_with_branches_is_eager(void **state)
{
    (void)state;
    static const struct {
        const char *compares, *neg;
        cm__outside eager;
        int32_t     graphs;
    } cases[] = {{"encoder", "encoder", CM__UNTRACED, 2}, {"encoder", "encoder.norm", CM__UNTRACED, 2},
                 {"encoder", "encoders", CM__COMPILED, 2}, {"encoder", "encoder.block.norm", CM__COMPILED, 2},
                 {"decoder", "encoder", CM__COMPILED, 0}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        char text[4096];
        snprintf(text, sizeof text, LOOP, cases[i].compares, cases[i].neg);
        cm_graph *g = accepted(text, 0);
        assert_int_equal(outside_of(g, "Neg"), cases[i].eager);
        assert_int_equal(g->layer_graphs, cases[i].graphs);
        static const char *const compiled[] = {"Tanh", "Relu", "Sigmoid", "Abs"};
        for (size_t k = 0; k < COUNT(compiled); k++) assert_int_equal(outside_of(g, compiled[k]), CM__COMPILED);
        cm_graph_free(g);
    }
}

/* tanh -> a grouped product of two experts -> relu, their activation -> neg, the gate -> abs. */
#define EXPERTS                                                                                                        \
    TRACE("\"loss\":-1,\"outputs\":[7]",                                                                               \
          T("[[4,0],8]", "fp32", "input") "," T("[2,8,8]", "fp32", "parameter") "," T("[2]", "int32", "buffer") ","    \
          X("[[4,0],8]") "," X("[[4,0],8]") "," X("[[4,0],8]") "," X("[[4,0],8]") "," X("[[4,0],8]"),                  \
          IN("layer", "tanh", "0", "3") "," IN("layer.experts", "_grouped_mm", "3,1,2", "4") ","                       \
          IN("layer.experts.act_fn", "relu", "4", "5") "," IN("layer.experts", "neg", "5", "6") ","                    \
          IN("layer.experts", "abs", "6", "7"))

/* The experts' function runs eagerly, but for its activation and its gate, unless the weights are in bf16. */
static void the_function_of_experts_is_eager(void **state)
{
    (void)state;
    static const struct {
        cm_precision precision;
        cm__outside  experts;
        int32_t      graphs;
    } cases[] = {{CM_PRECISION_AMP_BF16, CM__UNTRACED, 5}, {CM_PRECISION_FP32, CM__UNTRACED, 5},
                 {CM_PRECISION_FP16, CM__UNTRACED, 5}, {CM_PRECISION_BF16, CM__COMPILED, 0}};
    cm_graph *g = accepted(EXPERTS, 0);
    for (size_t i = 0; i < COUNT(cases); i++) {
        cm_graph              *step;
        const cm_train_options o = {.precision = cases[i].precision, .optimizer = CM_OPTIMIZER_SGD};
        assert_int_equal(cm_graph_train(g, &o, &step, NULL), CM_OK);
        assert_int_equal(outside_of(step, "Tanh"), CM__COMPILED);
        assert_int_equal(outside_of(step, "MatMul"), cases[i].experts);
        assert_int_equal(outside_of(step, "Relu"), CM__COMPILED);
        assert_int_equal(outside_of(step, "Neg"), CM__COMPILED);
        assert_int_equal(outside_of(step, "Abs"), cases[i].experts);
        assert_int_equal(step->layer_graphs, cases[i].graphs);
        cm_graph_free(step);
    }
    cm_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_rest_of_a_function_with_a_recurrent_layer_is_eager),
        cmocka_unit_test(a_mask_is_asked_for_eagerly),
        cmocka_unit_test(a_loop_with_branches_is_eager),
        cmocka_unit_test(the_function_of_experts_is_eager),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
