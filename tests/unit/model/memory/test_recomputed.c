/* SPDX-License-Identifier: Apache-2.0 */
/* test_recomputed.c - activations that torch.compile computes again in backward. */
#include <stdio.h>
#include "graph/rule.h"
#include "import/import.h"
#include "memory_case.h"
#include "model/memory/footprint.h"

static double peak(const char *net, cm_runtime runtime)
{
    cm_graph        *forward, *step;
    cm_train_options o = {.precision = CM_PRECISION_FP32, .optimizer = CM_OPTIMIZER_SGD};
    assert_int_equal(cm_graph_load(net, NULL, &forward, NULL), CM_OK);
    assert_int_equal(cm_graph_train(forward, &o, &step, NULL), CM_OK);
    cm_memory_use use = use_of(step, (cm_memory_options){.runtime = runtime}, 64, false);
    cm_graph_free(step);
    cm_graph_free(forward);
    return use.categories[CM_CATEGORY_INPUT_OUTPUT];
}

/* Modes change how kernels are launched, not what is stored. */
static void modes_store_the_same(void **state)
{
    (void)state;
    double plain = peak("mobilenet-v3-large", CM_RUNTIME_TORCH_COMPILE);
    assert_true(plain == peak("mobilenet-v3-large", CM_RUNTIME_COMPILE_GRAPHS));
    assert_true(plain == peak("mobilenet-v3-large", CM_RUNTIME_COMPILE_TUNED));
    assert_true(peak("mobilenet-v3-large", CM_RUNTIME_TORCH_EAGER) == peak("mobilenet-v3-large", CM_RUNTIME_EAGER_GRAPHS));
}

/* In eager PyTorch a clipping activation (ReLU6) stores its input, the result of the batch norm, besides the input of the
   norm and that of the next convolution. The compiled step computes the first of the three again. Measured for another
   MobileNet on an H200: 0.37 and 0.28 GB, of which about 0.05 GB are weights, gradients and states. */
static void a_batch_norm_is_computed_again(void **state)
{
    (void)state;
    double eager = peak("mobilenet-v3-large", CM_RUNTIME_TORCH_EAGER), compiled = peak("mobilenet-v3-large", CM_RUNTIME_TORCH_COMPILE);
    assert_true(compiled < 0.85 * eager);
    assert_true(compiled > 0.6 * eager); /* two of three stay */
}

/* The input of a product's backward stays stored: a library reads it. */
static void inputs_of_libraries_are_stored(void **state)
{
    (void)state;
    double eager = peak("mlp:in=64,hidden=4096x4096,out=10", CM_RUNTIME_TORCH_EAGER);
    double compiled = peak("mlp:in=64,hidden=4096x4096,out=10", CM_RUNTIME_TORCH_COMPILE);
    assert_true(compiled == eager);
}

#define T(dims, dtype, role) "{\"dims\":" dims ",\"dtype\":\"" dtype "\",\"storage\":0,\"role\":\"" role "\"}"
#define OP(name, in, out) "{\"op\":\"aten::" name "\",\"in\":" in ",\"out\":" out "}"

/* Logits [B, 4096] of a linear layer, and their cross-entropy; `outputs` says whether the model returns its loss. */
#define CLASSIFIER(outputs)                                                                                            \
    "{\"schema\":1,\"kind\":\"trace\",\"name\":\"small\",\"loss\":6,\"outputs\":" outputs ",\"tensors\":["              \
    T("[4096,8]", "fp32", "parameter") "," T("[[1,0],8]", "fp32", "input") "," T("[[1,0]]", "int64", "input") ","      \
    T("[8,4096]", "fp32", "activation") "," T("[[1,0],4096]", "fp32", "activation") ","                                \
    T("[[1,0],4096]", "fp32", "activation") "," T("[]", "fp32", "activation") "," T("[]", "fp32", "activation")        \
    "],\"ops\":[" OP("t", "[0]", "[3]") "," OP("mm", "[1,3]", "[4]") "," OP("_log_softmax", "[4]", "[5]") ","          \
    OP("nll_loss_forward", "[5,2,-1]", "[6,7]") "]}"

static double peak_of_trace(const char *text)
{
    cm_graph        *forward, *step;
    cm_train_options o = {.precision = CM_PRECISION_FP32, .optimizer = CM_OPTIMIZER_SGD};
    cm_load_options  load = {0};
    cm__ctx         *ctx = cm__ctx_new(NULL);
    forward = cm__import_trace(ctx, "small.cmt.json", text, strlen(text), &load);
    cm__finish(forward, CM_FUSE_NONE);
    assert_int_equal(cm_graph_train(forward, &o, &step, NULL), CM_OK);
    double bytes = use_of(step, (cm_memory_options){.runtime = CM_RUNTIME_TORCH_COMPILE}, 64, false).peak_bytes;
    cm_graph_free(step);
    cm__ctx_free(ctx);
    return bytes;
}

/* A loss in the compiled model stores 64 x 4,096 logits and writes their gradient. The script's loss also stores the
   probabilities, and the gradient of the likelihood: 64 x 4,096 numbers each. */
static void probabilities_of_a_compiled_loss_are_not_stored(void **state)
{
    (void)state;
    double inside = peak_of_trace(CLASSIFIER("[6,4]")), outside = peak_of_trace(CLASSIFIER("[4]"));
    assert_true(outside - inside > 0.9 * 4 * 64 * 4096);
}

/* Logits that the model returns with its loss get a gradient of zeros: 64 x 4,096 numbers. */
static void dropped_outputs_have_zeros(void **state)
{
    (void)state;
    double alone = peak_of_trace(CLASSIFIER("[6]")), both = peak_of_trace(CLASSIFIER("[6,4]"));
    assert_true(both - alone > 0.95 * 4 * 64 * 4096 && both - alone < 1.05 * 4 * 64 * 4096);
}

/* ---- which results are written ----------------------------------------------------------------------------------- */

/* The compiled step of a capture. */
typedef struct compiled {
    cm__ctx      *ctx;
    cm_graph     *step;
    cm_footprint *f;
} compiled;

static compiled compile(const char *text)
{
    compiled          c = {.ctx = cm__ctx_new(NULL)};
    cm_train_options  o = {.precision = CM_PRECISION_FP32, .optimizer = CM_OPTIMIZER_SGD};
    cm_memory_options memory = {.runtime = CM_RUNTIME_TORCH_COMPILE};
    cm_load_options   load = {0};
    cm_graph         *forward = cm__import_trace(c.ctx, "small.cmt.json", text, strlen(text), &load);
    cm__finish(forward, CM_FUSE_NONE);
    assert_int_equal(forward->n_unsupported, 0);
    assert_int_equal(cm_graph_train(forward, &o, &c.step, NULL), CM_OK);
    assert_int_equal(cm_footprint_new(c.step, h200, &memory, &c.f, NULL), CM_OK);
    return c;
}

static void release(compiled *c)
{
    cm_footprint_free(c->f);
    cm_graph_free(c->step);
    cm__ctx_free(c->ctx);
}

/* The last operator of this kind; a gradient: that of the last operator of the other kind. */
static int32_t node_of(const compiled *c, int op, int source)
{
    for (int32_t i = c->step->n_nodes - 1; i >= 0; i--) {
        const cm_node *n = &c->step->nodes[i];
        bool           of = source == CM_OPS || (n->source >= 0 && c->step->nodes[n->source].op == source);
        if (n->op == op && of && (n->phase == CM_BACKWARD) == (source != CM_OPS)) return i;
    }
    fail_msg("no such operator");
    return -1;
}

static int32_t made_by(const compiled *c, int op) { return node_of(c, op, CM_OPS); }

static const cm__piece *result_of(const compiled *c, int32_t node)
{
    int32_t base = cm__t(c->step, c->step->nodes[node].outputs[0])->storage;
    for (int32_t i = 0; i < c->f->n_pieces; i++)
        if (c->f->pieces[i].tensor == base) return &c->f->pieces[i];
    fail_msg("no piece");
    return NULL;
}

/* Bytes of a sample that a node's result takes in memory; 0: it is not written. */
static double written(const compiled *c, int32_t node)
{
    cm_poly bytes = result_of(c, node)->bytes;
    return cm__poly_at(&bytes, 1);
}

#define FP32(dims, role) T(dims, "fp32", role)
#define ACTIVATION(dims) FP32(dims, "activation")

/* Tensor 3 is the product of an input and weights; the loss is the mean of the last tensor of the case. */
#define PRODUCT_AND(width, last, loss, tensors, ops)                                                                   \
    "{\"schema\":1,\"kind\":\"trace\",\"name\":\"small\",\"loss\":" loss ",\"outputs\":[" loss "],\"tensors\":["       \
    FP32("[" width ",8]", "parameter") "," FP32("[[64,0],8]", "input") "," ACTIVATION("[8," width "]") ","             \
    ACTIVATION("[[64,0]," width "]") "," tensors "," ACTIVATION("[]") "],\"ops\":[" OP("t", "[0]", "[2]") ","          \
    OP("mm", "[1,2]", "[3]") "," ops "," OP("mean", "[" last "]", "[" loss "]") "]}"

#define SUM_OF_ROWS(in, out)                                                                                           \
    "{\"op\":\"aten::sum\",\"in\":[" in "],\"out\":[" out "],\"attrs\":{\"dim\":[1],\"keepdim\":1}}"

/* Concatenates the sums of 64 rows of 16 numbers, tensor 9, and the rows with biases added to them. A kernel of its own
   makes the former, and could write them to their place; the others can be computed where they are read. `readers` read
   the concatenation, tensor 4. Tensor 5 is of the given shape, 6 are square weights, 7 and 8 are like tensor 4. */
static double bytes_of_concatenation(int parts, const char *shape, const char *readers, const char *last)
{
    char   text[8192], tensors[2048] = "", sums[2048] = "", joined[256] = "9", wide[128];
    size_t at = 0, end = 0, in = 1;
    int    width = 1 + 16 * (parts - 1), loss = 8 + 2 * parts;
    for (int first = 10; first < loss; first += 2) {
        at += (size_t)snprintf(tensors + at, sizeof tensors - at, FP32("[16]", "parameter") "," ACTIVATION("[[64,0],16]") ",");
        end += (size_t)snprintf(sums + end, sizeof sums - end, OP("add.Tensor", "[3,%d]", "[%d]") ",", first, first + 1);
        in += (size_t)snprintf(joined + in, sizeof joined - in, ",%d", first + 1);
    }
    snprintf(wide, sizeof wide, ACTIVATION("[[64,0],%d]"), width);
    snprintf(text, sizeof text,
             "{\"schema\":1,\"kind\":\"trace\",\"name\":\"small\",\"loss\":%d,\"outputs\":[%d],\"tensors\":["
             FP32("[16,8]", "parameter") "," FP32("[[64,0],8]", "input") "," ACTIVATION("[8,16]") ","
             ACTIVATION("[[64,0],16]") ",%s,%s," FP32("[%d,%d]", "parameter") ",%s,%s," ACTIVATION("[[64,0],1]") ",%s"
             ACTIVATION("[]") "],\"ops\":[" OP("t", "[0]", "[2]") "," OP("mm", "[1,2]", "[3]") "," SUM_OF_ROWS("3", "9") ",%s"
             "{\"op\":\"aten::cat\",\"in\":[%s],\"out\":[4],\"attrs\":{\"dim\":1}},%s," OP("mean", "[%s]", "[%d]") "]}",
             loss, loss, wide, shape ? shape : wide, width, width, wide, wide, tensors, sums, joined, readers, last, loss);
    compiled c = compile(text);
    double   bytes = written(&c, made_by(&c, CM_OP_CONCAT));
    release(&c);
    return bytes;
}

/* A ReLU computes each number from the part that it belongs to, from up to eight of them; its gradient reads the result.
   Other concatenations are written, 64 rows of 1 + 16 numbers of 4 bytes, or 1 + 8 x 16: of nine parts, for another sum
   of rows, which is no elementwise operator, and if a product reads them beside the ReLU. */
static void a_concatenation_inside_a_kernel_is_not_written(void **state)
{
    (void)state;
    const char *relu = OP("relu", "[4]", "[5]");
    const char *two = OP("relu", "[4]", "[5]") "," OP("linear", "[4,6,-1]", "[7]") "," OP("add.Tensor", "[5,7]", "[8]");
    near(bytes_of_concatenation(2, NULL, relu, "5"), 0, 0);
    near(bytes_of_concatenation(8, NULL, relu, "5"), 0, 0);
    near(bytes_of_concatenation(9, NULL, relu, "5"), 64 * (1 + 8 * 16) * 4, 0);
    near(bytes_of_concatenation(2, ACTIVATION("[[64,0],1]"), SUM_OF_ROWS("4", "5"), "5"), 64 * (1 + 16) * 4, 0);
    near(bytes_of_concatenation(2, NULL, two, "8"), 64 * (1 + 16) * 4, 0);
}

#define SCATTER(added, sum)                                                                                            \
    "{\"op\":\"aten::scatter_add\",\"in\":[4,5," added "],\"out\":[" sum "],\"attrs\":{\"dim\":1}}"
#define SCATTERED(ops)                                                                                                 \
    PRODUCT_AND("32", "9", "10",                                                                                       \
                FP32("[[64,0],32]", "input") "," T("[[64,0],32]", "int64", "input") "," ACTIVATION("[[64,0],32]") ","  \
                ACTIVATION("[[64,0],32]") "," FP32("[16,32]", "parameter") "," ACTIVATION("[[64,0],16]"),              \
                ops "," OP("linear", "[7,8,-1]", "[9]"))

/* The gradient of numbers that were added to places of a tensor is a look-up of these places. The kernel of the ReLU's
   gradient does it: the look-up's result is not written, and what it is looked up in, which the product after it made,
   lives until that kernel. The product's own gradient needs 64 rows of 32 numbers in memory. */
static void gradients_of_scatters_are_computed_where_they_are_read(void **state)
{
    (void)state;
    compiled c = compile(SCATTERED(OP("relu", "[3]", "[6]") "," SCATTER("6", "7")));
    int32_t  look_up = node_of(&c, CM_OP_GATHER_GRAD, CM_OP_SCATTER_ELEMENTS), reader = look_up + 1;
    while (c.step->nodes[reader].source < 0 || c.step->nodes[c.step->nodes[reader].source].op != CM_OP_RELU) reader++;
    near(written(&c, look_up), 0, 0);
    int32_t in = cm__in(c.step, &c.step->nodes[look_up], 0)->producer;
    near(written(&c, in), 64 * 32 * 4, 0);
    assert_int_equal(result_of(&c, in)->dies, reader);
    release(&c);
    c = compile(SCATTERED(SCATTER("3", "7")));
    near(written(&c, node_of(&c, CM_OP_GATHER_GRAD, CM_OP_SCATTER_ELEMENTS)), 64 * 32 * 4, 0);
    release(&c);
}

/* The gradient of a look-up adds to places of a tensor, and what reads that tensor waits for all additions: it is written
   for the ReLU's gradient, too. */
static void gradients_of_look_ups_are_written(void **state)
{
    (void)state;
    compiled c = compile(PRODUCT_AND("32", "8", "9",
                                     T("[[48,0]]", "int64", "input") "," ACTIVATION("[[64,0],32]") ","
                                     ACTIVATION("[[48,0],32]") "," FP32("[16,32]", "parameter") ","
                                     ACTIVATION("[[48,0],16]"),
                                     OP("relu", "[3]", "[5]") "," OP("index_select", "[5,4]", "[6]") ","
                                     OP("linear", "[6,7,-1]", "[8]")));
    near(written(&c, node_of(&c, CM_OP_GATHER_GRAD, CM_OP_GATHER)), 64 * 32 * 4, 0);
    release(&c);
}

/* A kernel sums up rows of 4,096 numbers, adds the sums to weights, and takes exponentials. Backward needs the exponentials,
   and computes them from the sums: 64 numbers are stored instead of 64 x 4,096, although no operator of backward reads
   them and in forward they do not leave their kernel. */
static void what_backward_computes_others_from_is_written(void **state)
{
    (void)state;
    compiled c = compile(PRODUCT_AND("4096", "7", "8",
                                     ACTIVATION("[[64,0],1]") "," FP32("[4096]", "parameter") ","
                                     ACTIVATION("[[64,0],4096]") "," ACTIVATION("[[64,0],4096]"),
                                     SUM_OF_ROWS("3", "4") "," OP("add.Tensor", "[4,5]", "[6]") "," OP("exp", "[6]", "[7]")));
    int32_t sums = made_by(&c, CM_OP_REDUCE_SUM);
    near(written(&c, sums), 64 * 4, 0);
    assert_int_equal(c.step->nodes[result_of(&c, sums)->dies].phase, CM_BACKWARD);
    near(written(&c, made_by(&c, CM_OP_ADD)), 0, 0);
    near(written(&c, made_by(&c, CM_OP_EXP)), 0, 0);
    release(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(modes_store_the_same),
                                       cmocka_unit_test(a_batch_norm_is_computed_again),
                                       cmocka_unit_test(inputs_of_libraries_are_stored),
                                       cmocka_unit_test(probabilities_of_a_compiled_loss_are_not_stored),
                                       cmocka_unit_test(dropped_outputs_have_zeros),
                                       cmocka_unit_test(a_concatenation_inside_a_kernel_is_not_written),
                                       cmocka_unit_test(gradients_of_scatters_are_computed_where_they_are_read),
                                       cmocka_unit_test(gradients_of_look_ups_are_written),
                                       cmocka_unit_test(what_backward_computes_others_from_is_written)};
    return cmocka_run_group_tests(tests, begin, end);
}
