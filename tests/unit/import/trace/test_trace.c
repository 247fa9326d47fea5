/* SPDX-License-Identifier: Apache-2.0 */
/* test_trace.c - recorded steps written by hand: losses, functions, checkpoints, sizes, and refusals. */
#include "recorded_step.h"

/* ---- custom autograd functions ------------------------------------------------------------------------------------ */

/*
 * y = sin(tanh(x W)) by a function, its sum as loss. Backward: ones (6), expanded (7), given to the function, which
 * multiplies it by its saved input h (3) and negates it (9).
 */
#define FUNCTION(functions, more)                                                                                      \
    TRACE("\"loss\":5,\"outputs\":[5],\"functions\":[" functions "]",                                                    \
          "{\"dims\":[3,3],\"dtype\":\"fp32\",\"storage\":0,\"role\":\"parameter\",\"name\":\"w\"},"                   \
          T("[[1,0],3]", "fp32", "input") "," X("[[1,0],3]") "," X("[[1,0],3]") "," X("[[1,0],3]") "," X("[]") ","     \
          T("[]", "fp32", "gradient") "," T("[[1,0],3]", "fp32", "gradient") "," T("[[1,0],3]", "fp32", "gradient")    \
          "," T("[[1,0],3]", "fp32", "gradient"),                                                                      \
          OP("aten::mm", "[1,0]", "[2]") ",{\"op\":\"aten::tanh\",\"in\":[2],\"out\":[3],\"function\":0},"               \
          "{\"op\":\"aten::sin\",\"in\":[3],\"out\":[4],\"function\":0}," OP("aten::sum", "[4]", "[5]") ","              \
          "{\"op\":\"aten::ones_like\",\"in\":[5],\"out\":[6],\"phase\":\"backward\"},"                                \
          "{\"op\":\"aten::expand\",\"in\":[6],\"out\":[7],\"phase\":\"backward\"},"                                   \
          "{\"op\":\"aten::mul.Tensor\",\"in\":[7,2],\"out\":[8],\"phase\":\"backward\",\"function\":0},"              \
          "{\"op\":\"" more "\",\"in\":[8],\"out\":[9],\"phase\":\"backward\",\"function\":0}")
#define CALL "{\"name\":\"F\",\"in\":[2],\"out\":[4],\"given\":[7],\"gradients\":[9]}"

static void a_functions_backward_is_as_recorded(void **state)
{
    (void)state;
    static const struct {
        const char *functions, *last;
        int32_t     products, derived;
        const char *unknown;
    } cases[] = {
        {CALL, "aten::neg", 1, 0, NULL},
        {CALL, "mine::neg", 1, 0, "mine::neg"},                               /* an unknown operator in backward */
        {"{\"name\":\"F\",\"in\":[2],\"out\":[4]}", "aten::neg", 0, 2, NULL}, /* backward did not run */
        {"", "aten::neg", 0, 2, NULL},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char text[4096];
        snprintf(text, sizeof text, FUNCTION("%s", "%s"), cases[i].functions, cases[i].last);
        cm_graph *g = accepted(text, 0), *step = trained(g, (cm_train_options){.precision = CM_PRECISION_FP32});
        assert_int_equal(count_of(g, "Mul"), 0); /* forward has none */
        assert_int_equal(count_of(step, "Mul"), cases[i].products);
        assert_int_equal(count_of(step, "ElementwiseGrad"), cases[i].derived);
        only(step, "GemmGradWeight");
        assert_int_equal(g->n_unsupported, cases[i].unknown != NULL);
        if (cases[i].unknown) assert_string_equal(g->unsupported[0], cases[i].unknown);
        cm_graph_free(step);
        cm_graph_free(g);
    }
}

/* ---- layers whose results are not used --------------------------------------------------------------------------- */

/* The loss is the sum of x W. tanh(x W) V is not used: eager frameworks run it, and autograd stores its operands until
   the loss is known. A step with two backward passes accumulates gradients; what the last loss does not read is an
   earlier sample. */
#define UNUSED(more)                                                                                                   \
    TRACE("\"loss\":6,\"outputs\":[6]", T("[4,4]", "fp32", "parameter") "," T("[4,4]", "fp32", "parameter") ","        \
          T("[[1,0],4]", "fp32", "input") "," X("[[1,0],4]") "," X("[[1,0],4]") "," X("[[1,0],4]") "," X("[]") ","      \
          X("[]") "," X("[]"),                                                                                          \
          OP("aten::mm", "[2,0]", "[3]") "," OP("aten::tanh", "[3]", "[4]") "," OP("aten::mm", "[4,1]", "[5]") ","      \
          OP("aten::sum", "[3]", "[6]") more)
#define BEGINS(out) ",{\"op\":\"aten::ones_like\",\"in\":[6],\"out\":[" out "],\"phase\":\"backward\"}"

static void unused_layers_run_in_forward(void **state)
{
    (void)state;
    static const char *const traces[] = {UNUSED(""), UNUSED(BEGINS("7")), UNUSED(BEGINS("7") BEGINS("8"))};
    for (size_t i = 0; i < COUNT(traces); i++) {
        cm_graph *g = accepted(traces[i], 0), *step = trained(g, (cm_train_options){.precision = CM_PRECISION_FP32});
        bool      runs = i < 2;
        assert_int_equal(count_of(step, "Gemm"), 1 + runs);
        assert_int_equal(count_of(step, "Tanh"), runs);
        only(step, "GemmGradWeight"); /* of W alone */
        if (runs) { /* it is made before the loss, and read for the last time before it */
            const cm_tensor *h = cm__t(step, only(step, "Tanh")->outputs[0]);
            assert_true(h->dies >= cm__t(step, only(step, "ReduceSum")->outputs[0])->producer);
        }
        cm_graph_free(step);
        cm_graph_free(g);
    }
}

/* The same, and the loss is the sum of exp(relu(x W)). The program releases the unused result after the ReLU, or not at
   all. tanh(x W) lives as long as the function of the product that stores it. */
#define RELEASED(until)                                                                                                \
    TRACE("\"loss\":8,\"outputs\":[8]", T("[4,4]", "fp32", "parameter") "," T("[4,4]", "fp32", "parameter") ","        \
          T("[[1,0],4]", "fp32", "input") "," X("[[1,0],4]") "," X("[[1,0],4]") ","                                     \
          "{\"dims\":[[1,0],4],\"dtype\":\"fp32\"" until "}," X("[[1,0],4]") "," X("[[1,0],4]") "," X("[]"),           \
          OP("aten::mm", "[2,0]", "[3]") "," OP("aten::tanh", "[3]", "[4]") "," OP("aten::mm", "[4,1]", "[5]") ","      \
          OP("aten::relu", "[3]", "[6]") "," OP("aten::exp", "[6]", "[7]") "," OP("aten::sum", "[7]", "[8]"))

static void autograd_releases_unused_results_with_the_program(void **state)
{
    (void)state;
    static const struct {
        const char *trace, *until;
    } cases[] = {{RELEASED(",\"until\":6"), "Relu"}, {RELEASED(",\"until\":7"), "Exp"}, {RELEASED(""), "ReduceSum"}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        cm_graph        *g = accepted(cases[i].trace, 0);
        cm_graph        *step = trained(g, (cm_train_options){.precision = CM_PRECISION_FP32});
        const cm_tensor *h = cm__t(step, only(step, "Tanh")->outputs[0]);
        assert_int_equal(h->dies, cm__t(step, only(step, cases[i].until)->outputs[0])->producer);
        cm_graph_free(step);
        cm_graph_free(g);
    }
}

/* ---- a classifier ------------------------------------------------------------------------------------------------ */

/* x[B, 3] by W^T of [5, 3] plus b, ReLU, cross-entropy against labels [B]; as PyTorch dispatches it. */
#define CLASSIFIER(rest) CLASSIFIER_OF("[6]", rest)
#define CLASSIFIER_OF(outputs, rest)                                                                                   \
    TRACE("\"loss\":9,\"outputs\":" outputs rest,                                                                      \
          "{\"dims\":[5,3],\"dtype\":\"fp32\",\"storage\":0,\"role\":\"parameter\",\"name\":\"fc.weight\"},"           \
          "{\"dims\":[5],\"dtype\":\"fp32\",\"storage\":1,\"role\":\"parameter\",\"name\":\"fc.bias\"},"               \
          T("[[1,0],3]", "fp32", "input") "," T("[[1,0]]", "int64", "input") "," X("[3,5]") "," X("[[1,0],5]") ","     \
          X("[[1,0],5]") "," X("[[1,0],5]") "," X("[[1,0],5]") "," X("[]") "," X("[]"),                                \
          OP("aten::t", "[0]", "[4]") "," OP("aten::addmm", "[1,2,4]", "[5]") ","                                      \
          OP("aten::relu_", "[5]", "[6]") "," OPA("aten::_log_softmax", "[6]", "[7]", "\"dim\":1") ","                 \
          OP("aten::detach", "[7]", "[8]") ","                                                                         \
          OPA("aten::nll_loss_forward", "[7,3,-1]", "[9,10]", "\"reduction\":1"))

static void a_classifier_is_one_linear_layer_and_its_loss(void **state)
{
    (void)state;
    cm_graph *g = accepted(CLASSIFIER(), 0);
    cm_totals totals;
    const cm_node *gemm = only(g, "Gemm");
    cm_graph_totals(g, 7, &totals);
    assert_int_equal(totals.parameters, 5 * 3 + 5);
    assert_true(totals.flop[CM_FORWARD][CM_CLASS_GEMM] == 2.0 * 7 * 5 * 3);
    assert_int_equal(cm__t(g, gemm->inputs[1])->role, CM_ROLE_PARAMETER); /* not a transposed view */
    assert_int_equal(cm__attr_int(gemm, CM_ATTR_TRANS_B, 0), 1);
    assert_int_equal(gemm->n_inputs, 3);
    only(g, "SoftmaxCrossEntropyLoss");
    assert_int_equal(count_of(g, "LogSoftmax"), 0);
    assert_string_equal(g->source, "trace");
    assert_int_equal(g->nodes_read, 6);
    assert_int_equal(g->n_warnings, 0);
    cm_graph_free(g);
}

/* Operators after the model's outputs are the script's loss, which no compiler of the model sees. A model that
   returns its loss computes it itself. */
static void a_loss_after_the_outputs_is_outside(void **state)
{
    (void)state;
    cm_graph *script = accepted(CLASSIFIER_OF("[6]", ""), 0), *model = accepted(CLASSIFIER_OF("[9,6]", ""), 0);
    assert_true(only(script, "SoftmaxCrossEntropyLoss")->outside);
    assert_false(only(script, "Gemm")->outside);
    assert_false(only(model, "SoftmaxCrossEntropyLoss")->outside);
    cm_graph_free(script);
    cm_graph_free(model);
}

/* The result of the linear layer is released after the loss; the ReLU's is not released in forward. */
static void variables_keep_tensors(void **state)
{
    (void)state;
    for (int held = 0; held < 2; held++) {
        cm_graph *g = accepted(
            TRACE("\"loss\":3,\"outputs\":[3]",
                  T("[[1,0],3]", "fp32", "input") ","
                  "{\"dims\":[[1,0],3],\"dtype\":\"fp32\",\"storage\":1,\"until\":3}," X("[[1,0],3]") "," X("[]"),
                  OP("aten::neg", "[0]", "[1]") "," OP("aten::neg", "[1]", "[2]") "," OP("aten::sum", "[2]", "[3]")),
            0);
        if (!held) cm__t(g, g->nodes[0].outputs[0])->until = -1;
        cm__lifetimes(g);
        assert_int_equal(cm__t(g, g->nodes[0].outputs[0])->dies, held ? 2 : 1);
        cm_graph_free(g);
    }
}

/* index_add saves what it adds, index_put does not. */
static void index_add_saves_its_source(void **state)
{
    (void)state;
    static const char *const ops[] = {OPA("aten::index_add", "[0,3,2]", "[4]", "\"dim\":0"),
                                      OPA("aten::index_put", "[0,3,2]", "[4]", "\"accumulate\":1")};
    for (size_t i = 0; i < COUNT(ops); i++) {
        char text[2048];
        snprintf(text, sizeof text,
                 TRACE("\"loss\":5,\"outputs\":[5]", T("[4,3]", "fp32", "buffer") "," T("[[1,0],3]", "fp32", "parameter") ","
                       X("[[1,0],3]") "," T("[[1,0]]", "int64", "input") "," X("[4,3]") "," X("[]"),
                       OP("aten::neg", "[1]", "[2]") ",%s," OP("aten::sum", "[4]", "[5]")), ops[i]);
        cm_graph      *g = accepted(text, 0), *step = trained(g, (cm_train_options){.precision = CM_PRECISION_FP32});
        const cm_node *added = only(step, "ScatterND"), *gradient = only(step, "GatherGrad");
        int32_t        dies = cm__t(step, added->inputs[2])->dies;
        assert_int_equal(dies, (i == 0 ? gradient : added) - step->nodes);
        cm_graph_free(step);
        cm_graph_free(g);
    }
}

/* A blur has a fixed filter, so that backward does not read its image; PyTorch saves it nevertheless. */
static void a_fixed_filter_saves_its_image(void **state)
{
    (void)state;
    cm_graph *g = accepted(TRACE("\"loss\":4,\"outputs\":[4]", T("[[1,0],3,6,6]", "fp32", "parameter") ","
                                 T("[3,3,1,1]", "fp32", "buffer") "," X("[[1,0],3,6,6]") "," X("[[1,0],3,6,6]") "," X("[]"),
                                 OP("aten::neg", "[0]", "[2]") "," OP("aten::convolution", "[2,1,-1]", "[3]") ","
                                 OP("aten::sum", "[3]", "[4]")), 0);
    cm_graph      *step = trained(g, (cm_train_options){.precision = CM_PRECISION_FP32});
    const cm_node *conv = only(step, "Conv"), *gradient = only(step, "ConvGradInput");
    assert_int_equal(cm__t(step, conv->inputs[0])->dies, gradient - step->nodes);
    cm_graph_free(step);
    cm_graph_free(g);
}

static void its_step_begins_at_the_recorded_loss(void **state)
{
    (void)state;
    cm_graph *g = accepted(CLASSIFIER(",\"updates\":[{\"kind\":\"adam\"}]"), 0);
    cm_graph *step = trained(g, (cm_train_options){.precision = CM_PRECISION_FP32});
    cm_totals totals;
    cm_graph_totals(step, 7, &totals);
    assert_int_equal(step->optimizer, CM_OPTIMIZER_ADAM);
    assert_int_equal(step->loss, CM_LOSS_NONE); /* the model has its own */
    assert_true(totals.flop[CM_BACKWARD][CM_CLASS_GEMM] == 2.0 * 7 * 5 * 3); /* the input needs no gradient */
    assert_int_equal(totals.nodes[CM_UPDATE], 1);
    cm_graph_free(step);
    step = trained(g, (cm_train_options){.inference = true});
    assert_int_equal(count_of(step, "SoftmaxCrossEntropyLoss"), 0);
    only(step, "Gemm");
    cm_graph_free(step);
    cm_graph_free(g);
}

/* The recorded backward is compared with the derived one; here it lacks one product. */
#define WITH_BACKWARD(ops)                                                                                             \
    TRACE("\"loss\":-1,\"outputs\":[4]",                                                                               \
          T("[[1,0],3]", "fp32", "input") "," T("[3,5]", "fp32", "parameter") "," T("[5,2]", "fp32", "parameter") ","  \
          X("[[1,0],5]") "," X("[[1,0],2]") "," T("[[1,0],2]", "fp32", "gradient") ","                                 \
          T("[2,5]", "fp32", "gradient") "," T("[[1,0],5]", "fp32", "gradient") "," T("[5,2]", "fp32", "gradient") "," \
          T("[3,5]", "fp32", "gradient") "," T("[5,[1,0]]", "fp32", "gradient") ","                                    \
          T("[3,[1,0]]", "fp32", "gradient"),                                                                          \
          OP("aten::mm", "[0,1]", "[3]") "," OP("aten::mm", "[3,2]", "[4]") "," ops)
#define BACKWARD(in, out) "{\"op\":\"aten::mm\",\"phase\":\"backward\",\"in\":" in ",\"out\":" out "}"

static void the_recorded_backward_is_a_yardstick(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int32_t     warnings;
    } cases[] = {
        {WITH_BACKWARD(BACKWARD("[5,6]", "[7]") "," BACKWARD("[10,5]", "[8]") "," BACKWARD("[11,7]", "[9]")), 0},
        {WITH_BACKWARD(BACKWARD("[5,6]", "[7]") "," BACKWARD("[10,5]", "[8]")), 1},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        cm_graph *g = accepted(cases[i].text, 0);
        cm_graph *step = trained(g, (cm_train_options){.loss = CM_LOSS_MSE});
        assert_int_equal(step->n_warnings, cases[i].warnings);
        if (cases[i].warnings) assert_non_null(strstr(step->warnings[0], "the recorded backward"));
        cm_graph_free(step);
        cm_graph_free(g);
    }
}

/* Two of three layers were recorded again in backward: those two are recomputed, the third is not. */
static void checkpointed_layers_are_computed_again(void **state)
{
    (void)state;
    cm_graph *g = accepted(
        TRACE("\"loss\":-1,\"outputs\":[6]",
              T("[[1,0],3]", "fp32", "input") "," T("[3,3]", "fp32", "parameter") "," T("[3,3]", "fp32",
              "parameter") ","
              X("[[1,0],3]") "," X("[[1,0],3]") "," X("[[1,0],3]") "," X("[[1,0],3]") "," X("[[1,0],3]") ","
              X("[[1,0],3]"),
              OP("aten::mm", "[0,1]", "[3]") "," OP("aten::gelu", "[3]", "[4]") "," OP("aten::mm", "[4,2]", "[5]") ","
              OP("aten::gelu", "[5]", "[6]") ","
              "{\"op\":\"aten::mm\",\"phase\":\"recompute\",\"in\":[0,1],\"out\":[7]},"
              "{\"op\":\"aten::gelu\",\"phase\":\"recompute\",\"in\":[7],\"out\":[8]}"), 0);
    assert_int_equal(g->nodes[0].segment, 0);
    assert_int_equal(g->nodes[1].segment, 0);
    assert_int_equal(g->nodes[2].segment, -1);
    cm_graph *step = trained(g, (cm_train_options){.loss = CM_LOSS_MSE, .precision = CM_PRECISION_FP32});
    int32_t again = 0;
    for (int32_t i = 0; i < step->n_nodes; i++) again += step->nodes[i].phase == CM_RECOMPUTE;
    assert_int_equal(again, 1); /* the product, which GELU's backward reads; its output is kept for the next */
    cm_graph_free(step);
    cm_graph_free(g);
}

#define LAYER_WITH(op)                                                                                                 \
    TRACE("\"loss\":-1,\"outputs\":[5]",                                                                              \
          T("[[1,0],3]", "fp32", "input") "," T("[3,3]", "fp32", "parameter") "," X("[[1,0],3]") ","                   \
          X("[[1,0],3]") "," X("[[1,0],3]") "," X("[[1,0],3]") "," X("[[1,0],3]") "," X("[[1,0],3]"),                  \
          OP("aten::mm", "[0,1]", "[2]") "," OP(op, "[2]", "[3]") ","                                                  \
          OP("aten::gelu", "[3]", "[4]") "," OP("aten::tanh", "[4]", "[5]") ","                                        \
          "{\"op\":\"aten::mm\",\"phase\":\"recompute\",\"in\":[0,1],\"out\":[6]},"                                    \
          "{\"op\":\"aten::gelu\",\"phase\":\"recompute\",\"in\":[6],\"out\":[7]}")

/* A cast that only autocast needs is in forward alone, and so is detach(), which checkpointing calls in backward: the
   layer is found nevertheless, and all of it repeated. */
static void what_only_forward_has_is_no_obstacle_to_recomputation(void **state)
{
    (void)state;
    cm_graph *layers[] = {accepted(LAYER_WITH("aten::to.autocast"), 0), accepted(LAYER_WITH("aten::detach"), 0)};
    for (int k = 0; k < 2; k++) {
        cm_graph *g = layers[k];
        assert_int_equal(g->n_warnings, 0);
        for (int32_t i = 0; i < g->n_nodes - 1; i++) assert_int_equal(g->nodes[i].segment, 0);
        assert_int_equal(g->nodes[g->n_nodes - 1].segment, -1);
        cm_graph_free(g);
    }
}

/* Casts recorded under autocast are made by the precision pass, once; and not at all in fp32. */
static void casts_of_autocast_are_made_anew(void **state)
{
    (void)state;
    cm_graph *g = accepted(
        TRACE("\"loss\":-1,\"outputs\":[4],\"autocast\":\"bf16\",\"precision\":\"amp-bf16\"",
              T("[[1,0],3]", "fp32", "input") "," T("[3,5]", "fp32", "parameter") ","
              T("[[1,0],3]", "bf16", "activation") "," T("[3,5]", "bf16", "activation") ","
              T("[[1,0],5]", "bf16", "activation"),
              OPA("aten::_to_copy", "[0]", "[2]", "\"dtype\":\"bf16\"") ","
              OPA("aten::_to_copy", "[1]", "[3]", "\"dtype\":\"bf16\"") "," OP("aten::mm", "[2,3]", "[4]")), 0);
    assert_int_equal(count_of(g, "Cast"), 0);
    cm_graph *step = trained(g, (cm_train_options){.inference = true});
    assert_int_equal(step->precision, CM_PRECISION_AMP_BF16);
    assert_int_equal(count_of(step, "Cast"), 2);
    cm_graph_free(step);
    step = trained(g, (cm_train_options){.inference = true, .precision = CM_PRECISION_FP32});
    assert_int_equal(count_of(step, "Cast"), 0);
    cm_graph_free(step);
    cm_graph_free(g);
}

/* ---- sizes ------------------------------------------------------------------------------------------------------- */

/* B S rows of 4: [per batch, fixed, per position, per both]. */
#define SEQUENCE(seq)                                                                                                  \
    TRACE("\"loss\":-1,\"outputs\":[2],\"seq\":" seq,                                                                  \
          T("[[1,0],[0,0,1,0],4]", "fp32", "input") "," X("[[0,0,0,1],4]") "," X("[[0,0,0,1],4]"),                     \
          OP("aten::view", "[0]", "[1]") "," OP("aten::gelu", "[1]", "[2]"))

static void lengths_are_set_on_reading(void **state)
{
    (void)state;
    static const struct {
        int64_t asked, rows;
    } cases[] = {{0, 16}, {10, 10}, {64, 64}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        cm_graph       *g = accepted(SEQUENCE("16"), cases[i].asked);
        const cm_dim    rows = cm__t(g, g->outputs[0])->dims[0];
        assert_int_equal(rows.per_batch, cases[i].rows);
        assert_int_equal(rows.fixed, 0);
        cm_graph_free(g);
    }
}

static void a_length_that_was_not_varied_stays(void **state)
{
    (void)state;
    cm_graph *g = accepted(TRACE("\"loss\":-1,\"outputs\":[1],\"seq\":null", T("[[1,0],4]", "fp32", "input") ","
    X("[[1,0],4]"),
                                 OP("aten::gelu", "[0]", "[1]")), 32);
    assert_int_equal(g->n_warnings, 1);
    assert_non_null(strstr(g->warnings[0], "seq_dim"));
    cm_graph_free(g);
}

/* ---- refused ----------------------------------------------------------------------------------------------------- */

static void bad_files_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        cm_status   status;
        const char *place, *reason;
    } cases[] = {
        {"[", CM_ERR_FORMAT, "line 1", "not JSON"},
        {"[]", CM_ERR_FORMAT, "", "not a trace"},
        {"{\"kind\":\"trace\"}", CM_ERR_UNSUPPORTED, "", "schema -1"},
        {"{\"kind\":\"trace\",\"schema\":2}", CM_ERR_UNSUPPORTED, "", "capture the model again"},
        {"{\"kind\":\"trace\",\"schema\":1}", CM_ERR_FORMAT, "", "'tensors' is not an array"},
        {TRACE("\"outputs\":[0]", "7", ""), CM_ERR_FORMAT, "tensor 0", "not an object"},
        {TRACE("\"outputs\":[0]", "{\"dims\":[1,[1]],\"dtype\":\"fp32\"}", ""), CM_ERR_FORMAT, "tensor 0", "1 terms"},
        {TRACE("\"outputs\":[0]", "{\"dims\":[\"B\"],\"dtype\":\"fp32\"}", ""), CM_ERR_FORMAT, "tensor 0",
         "whole number"},
        {TRACE("\"outputs\":[0]", "{\"dims\":[-5],\"dtype\":\"fp32\",\"role\":\"input\"}", ""), CM_ERR_FORMAT,
         "tensor 0",
         "negative"},
        {TRACE("\"outputs\":[0]", "{\"dims\":[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1],\"dtype\":\"fp32\"}", ""),
         CM_ERR_LIMIT,
         "tensor 0", "17 entries"},
        {TRACE("\"outputs\":[0]", "{\"dims\":[1],\"dtype\":\"fp99\"}", ""), CM_ERR_FORMAT, "tensor 0", "'fp99'"},
        {TRACE("\"outputs\":[0]", "{\"dims\":[1],\"dtype\":\"fp32\",\"until\":1}", ""), CM_ERR_FORMAT, "tensor 0",
         "no tensor 1"},
        {TRACE("\"outputs\":[0]", T("[1]", "fp32", "king"), ""), CM_ERR_FORMAT, "tensor 0", "'king'"},
        {TRACE("\"outputs\":[0],\"seq\":4611686018427387904", "{\"dims\":[[1,1,8,8]],\"dtype\":\"fp32\"}", ""),
         CM_ERR_LIMIT,
         "", "a sequence of"},
        {TRACE("\"outputs\":[3]", T("[1]", "fp32", "input"), ""), CM_ERR_FORMAT, "", "no tensor 3"},
        {TRACE("\"outputs\":[0]", T("[1]", "fp32", "input"), OP("aten::relu", "[-2]", "[0]")), CM_ERR_FORMAT,
         "operator 0 (aten::relu)", "no tensor -2"},
        {TRACE("\"outputs\":[0]", T("[1]", "fp32", "input"), "{\"in\":[],\"out\":[]}"), CM_ERR_FORMAT, "operator 0",
         "no name"},
        {TRACE("\"outputs\":[0]", T("[1]", "fp32", "input"),
               "{\"op\":\"aten::relu\",\"phase\":\"never\",\"in\":[],\"out\":[]}"), CM_ERR_FORMAT, "operator 0",
               "'never'"},
        {TRACE("\"outputs\":[0]", T("[1]", "fp32", "input"),
               "{\"op\":\"aten::relu\",\"in\":[],\"out\":[],\"attrs\":3}"), CM_ERR_FORMAT, "operator 0", "'attrs'"},
        {TRACE("\"outputs\":[]", T("[1]", "fp32", "input"), ""), CM_ERR_FORMAT, "", "no output"},
        {TRACE("\"outputs\":[0],\"functions\":[7]", T("[1]", "fp32", "input"), ""), CM_ERR_FORMAT, "function 0",
         "not an object"},
        {TRACE("\"outputs\":[0],\"functions\":[{\"in\":[],\"out\":[9],\"given\":[],\"gradients\":[]}]",
               T("[1]", "fp32", "input"), ""), CM_ERR_FORMAT, "function 0", "no tensor 9"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        cm_graph *g = NULL;
        cm_diag   diag = {0};
        cm_status status = import(cases[i].text, 0, &g, &diag);
        if (status != cases[i].status || !strstr(diag.place, cases[i].place) || !strstr(diag.reason, cases[i].reason))
            fail_msg("case %zu: %d, '%s', '%s'", i, (int)status, diag.place, diag.reason);
    }
}

/* y = zeros; y[:, :4] = x w; sum(y): the weight has a gradient, and so has a bias that is added to a part in place. */
static void what_is_written_into_a_part_is_read_from_the_whole(void **state)
{
    (void)state;
    cm_graph *g = accepted(
        TRACE("\"loss\":9,\"outputs\":[9]",
              T("[4]", "fp32", "parameter") "," T("[6]", "fp32", "parameter") "," T("[[1,0],4]", "fp32", "input") ","
              X("[[1,0],4]") "," X("[[1,0],6]") "," X("[[1,0],4]") "," X("[[1,0],4]") "," X("[6]") "," X("[6]") ","
              X("[]"),
              OP("aten::mul.Tensor", "[2,0]", "[3]") "," OP("aten::zeros", "[]", "[4]") ","
              OPA("aten::slice.Tensor", "[4]", "[5]", "\"dim\":1,\"start\":0,\"end\":4") ","
              OP("aten::copy_", "[5,3]", "[6]") "," OPA("aten::select.int", "[4]", "[7]", "\"dim\":0,\"index\":0") ","
              OP("aten::add_.Tensor", "[7,1]", "[8]") "," OP("aten::sum", "[4]", "[9]")),
        0);
    assert_int_equal(count_of(g, "SliceWrite"), 2);
    assert_int_equal(g->n_warnings, 0);
    cm_graph *step = trained(g, (cm_train_options){.precision = CM_PRECISION_FP32, .optimizer = CM_OPTIMIZER_SGD});
    assert_int_equal(step->n_warnings, 0); /* all parameters get a gradient */
    assert_int_equal(count_of(step, "SliceWriteGrad"), 2);
    const cm_node *update = only(step, "Update");
    assert_int_equal(update->n_inputs, 4); /* two parameters and their gradients */
    for (int32_t i = 0; i < step->n_nodes; i++) { /* the sum in place writes nothing more */
        const cm_node *n = &step->nodes[i];
        if (strcmp(cm_node_type(n), "SliceWrite") == 0 && cm__attr_int(n, CM_ATTR_IN_PLACE, 0))
            assert_true(n->write_bytes.c[0] == 0 && n->write_bytes.c[1] == 0);
    }
    cm_graph_free(step);
    cm_graph_free(g);
}

/* y = (x w).view; y[:, :2] = y[:, :2] + b; sum(y): the slice is of a view, and the view is read afterwards. */
static void what_is_written_into_a_view_is_read_from_it(void **state)
{
    (void)state;
    cm_graph *g = accepted(
        TRACE("\"loss\":8,\"outputs\":[8]",
              T("[4]", "fp32", "parameter") "," T("[2]", "fp32", "parameter") "," T("[[1,0],4]", "fp32", "input") ","
              X("[[1,0],4]") "," X("[[1,0],2,2]") "," X("[[1,0],1,2]") "," X("[[1,0],1,2]") "," X("[[1,0],1,2]") ","
              X("[]"),
              OP("aten::mul.Tensor", "[2,0]", "[3]") "," OP("aten::view", "[3]", "[4]") ","
              OPA("aten::slice.Tensor", "[4]", "[5]", "\"dim\":1,\"start\":0,\"end\":1") ","
              OP("aten::add.Tensor", "[5,1]", "[6]") "," OP("aten::copy_", "[5,6]", "[7]") ","
              OP("aten::sum", "[4]", "[8]")),
        0);
    assert_int_equal(count_of(g, "SliceWrite"), 1);
    cm_graph *step = trained(g, (cm_train_options){.precision = CM_PRECISION_FP32, .optimizer = CM_OPTIMIZER_SGD});
    assert_int_equal(step->n_warnings, 0);
    assert_int_equal(only(step, "Update")->n_inputs, 4); /* both parameters have a gradient */
    cm_graph_free(step);
    cm_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_classifier_is_one_linear_layer_and_its_loss), cmocka_unit_test(a_loss_after_the_outputs_is_outside),
        cmocka_unit_test(unused_layers_run_in_forward),
        cmocka_unit_test(autograd_releases_unused_results_with_the_program),
        cmocka_unit_test(a_functions_backward_is_as_recorded),
        cmocka_unit_test(variables_keep_tensors),
        cmocka_unit_test(index_add_saves_its_source),
        cmocka_unit_test(a_fixed_filter_saves_its_image),
        cmocka_unit_test(its_step_begins_at_the_recorded_loss),
        cmocka_unit_test(the_recorded_backward_is_a_yardstick),
        cmocka_unit_test(checkpointed_layers_are_computed_again),
        cmocka_unit_test(what_only_forward_has_is_no_obstacle_to_recomputation),
        cmocka_unit_test(casts_of_autocast_are_made_anew),
        cmocka_unit_test(lengths_are_set_on_reading),
        cmocka_unit_test(a_length_that_was_not_varied_stays),
        cmocka_unit_test(what_is_written_into_a_part_is_read_from_the_whole),
        cmocka_unit_test(what_is_written_into_a_view_is_read_from_it),
        cmocka_unit_test(bad_files_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
