/* SPDX-License-Identifier: Apache-2.0 */
/* test_net.c - the layer language: built-in models, keywords, refusals. */
#include "net_text.h"

/* ---- models ------------------------------------------------------------------------------------------------------ */

/* Autoencoder: stem 9*64+2*64; a residual block on w channels: w*w/4 twice, 9*(w/4)^2, normalisations 2*(w/4+w/4+w). */
#define RESIDUAL(w) ((w) * ((w) / 4) * 2 + 9 * ((w) / 4) * ((w) / 4) + 2 * ((w) / 4 + (w) / 4 + (w)))
#define DOWN(in, w) (9 * (in) * (w) + 2 * (w) + 2 * RESIDUAL(w))
#define UP(in, w)   (4 * (in) * (w) + 2 * (w) + 2 * RESIDUAL(w))
#define AUTOENCODER                                                                                                    \
    (9 * 64 + 2 * 64 + DOWN(64, 256) + DOWN(256, 512) + (512 * 16 + 16) + (16 * 512 + 512) + UP(512, 256) +            \
     UP(256, 64) + (9 * 64 + 1))

/* Parameters as PyTorch and torchvision count them. */
static const struct {
    const char  *file;
    int64_t      parameters;
    cm_optimizer optimizer;
    cm_loss      loss;
    int          blocks;
    const char  *output;
} models[] = {
    {"resnet18.net", 11689512, CM_OPTIMIZER_MOMENTUM, CM_LOSS_CROSS_ENTROPY, 2 + 2 + 2 + 2, "[B, 1000]"},
    {"resnet50.net", 25557032, CM_OPTIMIZER_MOMENTUM, CM_LOSS_CROSS_ENTROPY, 3 + 4 + 6 + 3, "[B, 1000]"},
    {"vgg16.net", 138365992, CM_OPTIMIZER_MOMENTUM, CM_LOSS_CROSS_ENTROPY, 5, "[B, 1000]"},
    {"unet.net", 7763041, CM_OPTIMIZER_ADAM, CM_LOSS_BCE, 5 + 4, "[B, 1, 256, 256]"},
    {"uno.net", 19274001, CM_OPTIMIZER_ADAM, CM_LOSS_MSE, 4 * 3, "[B, 1]"},
    {"frnn.net", 4 * 200 * (14 + 200 + 2) + 4 * 200 * (200 + 200 + 2) + 201, CM_OPTIMIZER_ADAM, CM_LOSS_MSE, 0,
     "[B, 128, 1]"},
    {"braggnn.net", 45394, CM_OPTIMIZER_ADAM, CM_LOSS_MSE, 0, "[B, 2]"},
    {"efficientnet-b0.net", 5288548, CM_OPTIMIZER_MOMENTUM, CM_LOSS_CROSS_ENTROPY, 1 + 2 + 2 + 3 + 3 + 4 + 1,
     "[B, 1000]"},
    {"efficientnet-b4.net", 19341616, CM_OPTIMIZER_MOMENTUM, CM_LOSS_CROSS_ENTROPY, 2 + 4 + 4 + 6 + 6 + 8 + 2,
     "[B, 1000]"},
    /* weights of the layers added up by hand: a depthwise convolution of W channels has 16 W k^2, not W k^2 */
    {"efficientnet-b0-g16.net", 5913796, CM_OPTIMIZER_MOMENTUM, CM_LOSS_CROSS_ENTROPY, 1 + 2 + 2 + 3 + 3 + 4 + 1,
     "[B, 1000]"},
    {"efficientnet-b4-g16.net", 19328168, CM_OPTIMIZER_MOMENTUM, CM_LOSS_CROSS_ENTROPY, 2 + 4 + 4 + 6 + 6 + 8 + 2,
     "[B, 1000]"},
    {"mobilenet-v3-large.net", 5483032, CM_OPTIMIZER_MOMENTUM, CM_LOSS_CROSS_ENTROPY, 15, "[B, 1000]"},
    {"mobilenet-v3-small.net", 2542856, CM_OPTIMIZER_MOMENTUM, CM_LOSS_CROSS_ENTROPY, 11, "[B, 1000]"},
    {"autoencoder.net", AUTOENCODER, CM_OPTIMIZER_ADAM, CM_LOSS_MSE, 2 * 4, "[B, 1, 28, 28]"},
};

static void models_are_exact(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(models); i++) {
        cm_graph *g = model(models[i].file);
        assert_int_equal(parameters(g), models[i].parameters);
        assert_int_equal(cm_graph_optimizer(g), models[i].optimizer);
        assert_int_equal(cm_graph_loss(g), models[i].loss);
        assert_int_equal(blocks(g), models[i].blocks);
        assert_string_equal(output_text(g), models[i].output);
        assert_non_null(cm_graph_citation(g));
        assert_string_equal(cm_graph_source(g), "named");
        assert_int_equal(cm_graph_warnings(g) + cm_graph_unsupported_ops(g), 0);
        cm_graph_free(g);
    }
}

/* Operators as in ONNX exports of the same PyTorch modules, or in torchvision's modules. */
static const struct {
    const char *file, *type;
    int         count;
} operators[] = {
    {"resnet18.net", "Conv", 20}, {"resnet18.net", "BatchNormalization", 20}, {"resnet18.net", "Relu", 17},
    {"resnet18.net", "MaxPool", 1}, {"resnet18.net", "Add", 8}, {"resnet18.net", "ReduceMean", 1},
    {"resnet18.net", "Gemm", 1},
    {"resnet50.net", "Conv", 53}, {"resnet50.net", "BatchNormalization", 53}, {"resnet50.net", "Relu", 49},
    {"resnet50.net", "MaxPool", 1}, {"resnet50.net", "Add", 16}, {"resnet50.net", "ReduceMean", 1},
    {"resnet50.net", "Gemm", 1},
    {"vgg16.net", "Conv", 13}, {"vgg16.net", "BatchNormalization", 13}, {"vgg16.net", "Relu", 15},
    {"vgg16.net", "MaxPool", 5}, {"vgg16.net", "AveragePool", 1}, {"vgg16.net", "Gemm", 3}, {"vgg16.net", "Dropout", 2},
    {"unet.net", "Conv", 19}, {"unet.net", "BatchNormalization", 18}, {"unet.net", "Relu", 18},
    {"unet.net", "MaxPool", 4}, {"unet.net", "ConvTranspose", 4}, {"unet.net", "Concat", 4},
    {"uno.net", "Gemm", 13}, {"uno.net", "Relu", 12}, {"uno.net", "Dropout", 12}, {"uno.net", "Concat", 1},
    {"braggnn.net", "Conv", 7}, {"braggnn.net", "LeakyRelu", 7}, {"braggnn.net", "Gemm", 5},
    {"braggnn.net", "MatMul", 2}, {"braggnn.net", "Softmax", 1}, {"braggnn.net", "Add", 1},
    {"braggnn.net", "Transpose", 3},
    /* 16 blocks of 3 convolutions, one of them without expansion, 2 more for squeeze and excitation; stem and head */
    {"efficientnet-b0.net", "Conv", 16 * 3 - 1 + 16 * 2 + 2},
    {"efficientnet-b0.net", "BatchNormalization", 16 * 3 - 1 + 2},
    {"efficientnet-b0.net", "Sigmoid", 16}, {"efficientnet-b0.net", "Silu", 16 * 2 - 1 + 16 + 2},
    {"efficientnet-b0.net", "Add", 16 - 7}, {"efficientnet-b0.net", "Mul", 16 + (16 - 7)},
    {"efficientnet-b0-g16.net", "GroupNormalization", 16 * 3 - 1 + 2},
    {"efficientnet-b4.net", "Conv", 32 * 3 - 2 + 32 * 2 + 2}, {"efficientnet-b4.net", "Add", 32 - 7},
    {"mobilenet-v3-large.net", "Conv", 15 * 3 - 1 + 8 * 2 + 2}, {"mobilenet-v3-large.net", "HardSigmoid", 8},
    {"mobilenet-v3-large.net", "Add", 10}, {"mobilenet-v3-large.net", "Gemm", 2},
    {"mobilenet-v3-small.net", "Conv", 11 * 3 - 1 + 9 * 2 + 2}, {"mobilenet-v3-small.net", "HardSigmoid", 9},
    {"mobilenet-v3-small.net", "Add", 6}, {"mobilenet-v3-small.net", "Mul", 9},
};

static void models_have_the_operators_pytorch_runs(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(operators); i++) {
        cm_graph *g = model(operators[i].file);
        int       n = count_ops(g, operators[i].type);
        if (n != operators[i].count) fail_msg("%s: %d %s", operators[i].file, n, operators[i].type);
        cm_graph_free(g);
    }
}

static const struct {
    const char *file, *name, *dims;
    cm_role     role;
} named[] = {
    {"resnet50.net", "conv1.weight", "[64, 3, 7, 7]", CM_ROLE_PARAMETER},
    {"resnet50.net", "layer1.0.downsample.0.weight", "[256, 64, 1, 1]", CM_ROLE_PARAMETER},
    {"resnet50.net", "layer3.5.conv2.weight", "[256, 256, 3, 3]", CM_ROLE_PARAMETER},
    {"resnet50.net", "layer4.2.bn3.running_var", "[2048]", CM_ROLE_BUFFER},
    {"resnet50.net", "fc.bias", "[1000]", CM_ROLE_PARAMETER},
    {"vgg16.net", "features.40.weight", "[512, 512, 3, 3]", CM_ROLE_PARAMETER},
    {"vgg16.net", "classifier.0.weight", "[4096, 25088]", CM_ROLE_PARAMETER},
    {"unet.net", "up.3.weight", "[512, 256, 2, 2]", CM_ROLE_PARAMETER},
    {"unet.net", "dec.3.0.weight", "[256, 512, 3, 3]", CM_ROLE_PARAMETER},
    {"uno.net", "t.1.0.weight", "[1000, 5270]", CM_ROLE_PARAMETER},
    {"uno.net", "top.0.weight", "[1000, 3001]", CM_ROLE_PARAMETER},
    {"braggnn.net", "n.o.weight", "[64, 32, 1, 1]", CM_ROLE_PARAMETER},
    {"efficientnet-b0.net", "features.1.0.block.1.fc1.weight", "[8, 32, 1, 1]", CM_ROLE_PARAMETER},
    {"efficientnet-b0.net", "features.2.0.block.1.0.weight", "[96, 1, 3, 3]", CM_ROLE_PARAMETER},
    {"efficientnet-b4.net", "features.8.0.weight", "[1792, 448, 1, 1]", CM_ROLE_PARAMETER},
    {"efficientnet-b4-g16.net", "features.2.0.block.1.0.weight", "[96, 16, 3, 3]", CM_ROLE_PARAMETER},
    {"mobilenet-v3-large.net", "features.4.block.2.fc1.weight", "[24, 72, 1, 1]", CM_ROLE_PARAMETER},
    {"mobilenet-v3-small.net", "features.1.block.1.fc2.weight", "[16, 8, 1, 1]", CM_ROLE_PARAMETER},
};

static void parameters_have_pytorchs_names(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(named); i++) {
        cm_graph        *g = model(named[i].file);
        const cm_tensor *t = tensor(g, named[i].name);
        assert_string_equal(cm__dims_text(g, t), named[i].dims);
        assert_int_equal(t->role, named[i].role);
        cm_graph_free(g);
    }
}

/* Multiply-adds of one sample as in torchvision's documentation, in 10^9 with two digits. */
static const struct {
    const char *file;
    double      billions;
} work[] = {
    {"resnet18.net", 1.81}, {"resnet50.net", 4.09}, {"vgg16.net", 15.47}, {"efficientnet-b0.net", 0.39},
    {"efficientnet-b4.net", 4.39}, {"mobilenet-v3-large.net", 0.22}, {"mobilenet-v3-small.net", 0.06},
};

static void models_do_the_published_work(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(work); i++) {
        cm_graph *g = model(work[i].file);
        cm_totals totals;
        cm__cost_all(g);
        cm_graph_totals(g, 1, &totals);
        double billions = cm_totals_matrix_flop(&totals, CM_FORWARD) / 2 / 1e9;
        if (fabs(billions - work[i].billions) > 0.005) fail_msg("%s: %g", work[i].file, billions);
        cm_graph_free(g);
    }
}

/* ---- the program ------------------------------------------------------------------------------------------------- */

static const struct {
    const char *expression;
    int64_t     value;
} expressions[] = {
    {"1+2*3", 1 + 2 * 3}, {"(1+2)*3", (1 + 2) * 3}, {"7/2", 7 / 2}, {"7%4", 7 % 4}, {"10-3-2", 10 - 3 - 2},
    {"-3+8", -3 + 8}, {"((2 + 3) * (1 + 1))", (2 + 3) * (1 + 1)}, {"100/10/5", 2}, {"1+(2<3)", 2}, {"1+(3<=2)", 1},
    {"1+(3==3)", 2},
    {"1+(3!=3)", 1}, {"1+(4>=5)", 1}, {"1+(5>4)", 2}, {"1+(1 and 0)", 1}, {"1+(1 or 0)", 2}, {"1+(not 1 == 2)", 2},
    {"two*two", 4}, {"on+on+off", 2}, {"channels+1", 5}, {"--3", 3},
};

static void expressions_compute(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(expressions); i++) {
        char text[128], expected[64];
        snprintf(text, sizeof text, X "let two = 2\nlinear %s\n", expressions[i].expression);
        snprintf(expected, sizeof expected, "[B, 4, 8, %lld]", (long long)expressions[i].value);
        cm_graph *g = must_import(text, NULL);
        if (strcmp(output_text(g), expected)) fail_msg("%s gives %s", expressions[i].expression, output_text(g));
        cm_graph_free(g);
    }
}

/* The output shape of a text. */
static const struct {
    const char *text, *output;
} programs[] = {
    {X "if 1 > 2\nlinear 5\nelse\nlinear 6\nend", "[B, 4, 8, 6]"},
    {X "if channels == 4\nlinear 5\nend", "[B, 4, 8, 5]"},
    {X "linear 7\nif 0\nif 1\nlinear 1\nelse\nlinear 2\nend\nelse\nif 1\nlinear 3\nend\nend", "[B, 4, 8, 3]"},
    {X "repeat 3\nmaxpool 2\nend", "[B, 4, 1, 1]"},
    {X "repeat 3 i\nlinear 10+i\nend", "[B, 4, 8, 12]"},
    {X "repeat 0\nlinear 1\nend\nlinear 2", "[B, 4, 8, 2]"},
    {X "let n = 1\nrepeat 5\nlet n = n * 2\nend\nlinear n", "[B, 4, 8, 32]"},
    {X "def wide n\nlinear n*2\nend\nwide 5", "[B, 4, 8, 10]"},
    {X "def wide n m\nlinear n*2+m\nend\nwide m=1 n=5", "[B, 4, 8, 11]"},
    {X "def shrink n\nlinear n\nif n > 3\nshrink n-1\nend\nend\nshrink 9", "[B, 4, 8, 3]"},
    {X "linear 5 as y\nlinear 6\nlinear 7 from y as z\nrelu from x\nfrom z\nrelu", "[B, 4, 8, 7]"},
    {X "repeat 2 i\nlinear 5+i as y{i}\nend\nfrom y0\nrelu", "[B, 4, 8, 5]"},
    {X "linear 5 as x\nlinear 6\nrelu from x", "[B, 4, 8, 5]"},
    {X "def f\nas x\nlinear 6\nend\nf\nrelu from x", "[B, 4, 8, 8]"},
    {X "linear 5 as y\nlinear 6\noutput y", "[B, 4, 8, 5]"},
    {"input a 1\ninput b 2\nconcat a b\n", "[B, 3]"},
    {"  # comment\n\n\tinput x 4 8 8 # sizes\r\nlinear 5\r\n", "[B, 4, 8, 5]"},
    {"source a#b, with (brackets and as it is\n" X "relu", "[B, 4, 8, 8]"},
};

static void programs_run(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(programs); i++) {
        cm_graph *g = must_import(programs[i].text, NULL);
        if (strcmp(output_text(g), programs[i].output)) fail_msg("%s from: %s", output_text(g), programs[i].text);
        cm_graph_free(g);
    }
}

static void sources_join(void **state)
{
    (void)state;
    cm_graph *g = must_import("source one #2\nsource two#3\n" X "relu", NULL);
    assert_string_equal(cm_graph_citation(g), "one two#3");
    cm_graph_free(g);
}

static void labels_make_scopes(void **state)
{
    (void)state;
    cm_graph *g = must_import(X "def pair\n0: linear 5\n1: linear 6\nend\ndef deep\na.{1+1}: pair\npair\nend\n"
                                "b: deep\nrelu\nrelu\nlinear 3\nlinear 3", NULL);
    tensor(g, "b.a.2.0.weight");
    tensor(g, "b.a.2.1.bias");
    tensor(g, "b.0.weight");
    tensor(g, "relu_1");
    tensor(g, "linear_1.weight");
    cm_graph_free(g);
}

static void blocks_are_numbered(void **state)
{
    (void)state;
    cm_graph *g = must_import(X "block inner\nrelu\nend\nblock outer\ntanh\ninner\nend\n"
                                "sigmoid\nrepeat 2\ninner\nend\nouter\ngelu", NULL);
    const int expected[] = {-1, 0, 1, 2, 2, -1};
    assert_int_equal(g->n_nodes, COUNT(expected));
    for (int32_t i = 0; i < g->n_nodes; i++) assert_int_equal(g->nodes[i].block, expected[i]);
    cm_graph_free(g);
}

static void free_sizes_can_be_chosen(void **state)
{
    (void)state;
    const char *text = "free height 8\nfree seq 5\ninput x 3 height seq\nrelu";
    cm_graph   *g = must_import(text, &(cm_load_options){0});
    assert_string_equal(output_text(g), "[B, 3, 8, 5]");
    cm_graph_free(g);
    g = must_import(text, &(cm_load_options){.dims = "seq=7,height=32"});
    assert_string_equal(output_text(g), "[B, 3, 32, 7]");
    cm_graph_free(g);
    g = must_import(text, &(cm_load_options){.seq = 9});
    assert_string_equal(output_text(g), "[B, 3, 8, 9]");
    cm_graph_free(g);
}

/* ---- errors ------------------------------------------------------------------------------------------------------ */

static const struct {
    const char *text;
    cm_status   status;
    const char *place, *reason;
} errors[] = {
    {"", CM_ERR_FORMAT, "", "no layers"},
    {"title a model\n", CM_ERR_FORMAT, "", "no layers"},
    {X, CM_ERR_FORMAT, "", "no layers"},
    {"title\n", CM_ERR_FORMAT, "line 1", "a title without words"},
    {"relu\n", CM_ERR_FORMAT, "line 1", "begin with 'input'"},
    {"input\n", CM_ERR_FORMAT, "line 1", "a name and sizes"},
    {"input x\n", CM_ERR_FORMAT, "line 1", "input needs 'size'"},
    {"input x 0\n", CM_ERR_ARGUMENT, "line 1, column 9", "at least 1"},
    {"input x 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1\n", CM_ERR_LIMIT, "line 1", "more than 15 sizes"},
    {"input x 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1\n", CM_ERR_LIMIT, "line 1", "more than 16 numbers"},
    {X "input x 4\n", CM_ERR_FORMAT, "line 2", "used already"},
    {X "rellu\n", CM_ERR_UNKNOWN, "line 2, column 1", "unknown layer 'rellu'; did you mean 'relu'?"},
    {X "zzzzzzzzzz 5\n", CM_ERR_UNKNOWN, "line 2, column 1", "unknown layer 'zzzzzzzzzz'"},
    {X "\x01\xff\n", CM_ERR_UNKNOWN, "line 2, column 1", "unknown layer '\?\?'"},
    {X "conv 64 3 strid=2\n", CM_ERR_UNKNOWN, "line 2, column 11", "unknown option 'strid'; did you mean 'stride'?"},
    {X "conv 64\n", CM_ERR_FORMAT, "line 2", "conv needs 'kernel'"},
    {X "conv 64 3 kernel=3\n", CM_ERR_FORMAT, "line 2, column 18", "kernel is given twice"},
    {X "relu 5\n", CM_ERR_FORMAT, "line 2, column 6", "relu takes no more than 0 arguments"},
    {X "conv 64 3 1 1 1 1 1 1\n", CM_ERR_FORMAT, "line 2, column 21", "no more than 7 arguments"},
    {X "conv 64 0\n", CM_ERR_ARGUMENT, "line 2, column 9", "kernel is 0, at least 1"},
    {X "conv 64 3,3,3\n", CM_ERR_FORMAT, "line 2", "3 numbers for 2 dimensions"},
    {X "conv 64 3,\n", CM_ERR_FORMAT, "line 2, column 11", "a number or a name expected"},
    {X "conv 64 9\n", CM_ERR_FORMAT, "line 2", ""},
    {X "conv 6 3 groups=4\n", CM_ERR_FORMAT, "line 2", "4 channels to 6 do not divide into 4 groups"},
    {X "gn 3\n", CM_ERR_FORMAT, "line 2", "do not divide into 3 groups"},
    {X "ln 4\n", CM_ERR_FORMAT, "line 2", "ln over 4 dimensions"},
    {"input x 4\nconv 6 3\n", CM_ERR_FORMAT, "line 2", "conv needs [B, channels, size...]"},
    {"input x 4\nlstm 6\n", CM_ERR_FORMAT, "line 2", "lstm needs [B, steps, size]"},
    {X "transpose 1 0 2 3\nbn\n", CM_ERR_FORMAT, "line 3", "bn does not fit"},
    {X "adaptive_avgpool 3\n", CM_ERR_UNSUPPORTED, "line 2", "windows of unequal size"},
    {X "dropout 1.5\n", CM_ERR_ARGUMENT, "line 2, column 9", "p must be between 0 and 1"},
    {X "dropout half\n", CM_ERR_UNKNOWN, "line 2, column 9", "unknown number 'half'"},
    {X "reshape 5\n", CM_ERR_FORMAT, "line 2", ""},
    {X "reshape 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1\n", CM_ERR_LIMIT, "line 2", "more than 15 sizes"},
    {X "add x\n", CM_ERR_FORMAT, "line 2", "add takes the names of 2 tensors, 1 given"},
    {X "concat\n", CM_ERR_FORMAT, "line 2", "concat needs the names of tensors"},
    {X "add x yy\n", CM_ERR_UNKNOWN, "line 2, column 7", "unknown tensor 'yy'"},
    {X "relu as skip\nadd . skipp\n", CM_ERR_UNKNOWN, "line 3, column 7", "did you mean 'skip'?"},
    {X "relu from y\n", CM_ERR_UNKNOWN, "line 2, column 11", "unknown tensor 'y'"},
    {X "relu as .\n", CM_ERR_FORMAT, "line 2, column 9", "'.' is the current tensor"},
    {X "relu as a*b\n", CM_ERR_FORMAT, "line 2", "not a name"},
    {X "relu as a as b\n", CM_ERR_FORMAT, "line 2", "'as' twice"},
    {X "add x x from\n", CM_ERR_UNKNOWN, "line 2, column 9", "unknown tensor 'from'"},
    {X "as\n", CM_ERR_UNKNOWN, "line 2, column 1", "unknown layer 'as'"},
    {X "a:\n", CM_ERR_FORMAT, "line 2", "a label without a layer"},
    {X "a: let b = 1\n", CM_ERR_FORMAT, "line 2, column 1", "a label before 'let'"},
    {X "a: linear 5\na: linear 5\n", CM_ERR_FORMAT, "line 3, column 1", "label 'a' is used already"},
    {X "a!: linear 5\n", CM_ERR_FORMAT, "line 2", "not a name"},
    {X "{}: linear 5\n", CM_ERR_FORMAT, "line 2", "a number or a name expected"},
    {X "linear (5\n", CM_ERR_FORMAT, "line 2, column 8", "unbalanced brackets"},
    {X "linear 5)\n", CM_ERR_FORMAT, "line 2, column 8", "unbalanced brackets"},
    {X "linear 5+\n", CM_ERR_FORMAT, "line 2, column 10", "found the end"},
    {X "linear 5x\n", CM_ERR_FORMAT, "line 2, column 8", "'5x' is not a whole number"},
    {X "linear 5!\n", CM_ERR_FORMAT, "line 2, column 9", "an operator expected, found '!'"},
    {X "linear 5/0\n", CM_ERR_FORMAT, "line 2", "division by zero"},
    {X "linear 5%(2-2)\n", CM_ERR_FORMAT, "line 2", "division by zero"},
    {X "linear 99999999999999999999\n", CM_ERR_FORMAT, "line 2, column 8", "not a whole number below 2^63"},
    {X "linear 9223372036854775807+1\n", CM_ERR_LIMIT, "line 2", "past 2^63"},
    {X "linear 9223372036854775807*2\n", CM_ERR_LIMIT, "line 2", "past 2^63"},
    {X "linear (-9223372036854775807-1)/-1\n", CM_ERR_LIMIT, "line 2", "past 2^63"},
    {X "linear -(-9223372036854775807-1)\n", CM_ERR_LIMIT, "line 2", "past 2^63"},
    {X "linear 5000000000\n", CM_ERR_LIMIT, "line 2, column 8", "at most 2^31"},
    {X "let a\n", CM_ERR_FORMAT, "line 2", "let takes a name"},
    {X "let 5 = 5\n", CM_ERR_FORMAT, "line 2, column 5", "not a name for a number"},
    {X "let and = 5\n", CM_ERR_FORMAT, "line 2, column 5", "not a name for a number"},
    {X "let width = 5\nlinear widht\n", CM_ERR_UNKNOWN, "line 3, column 8", "did you mean 'width'?"},
    {"let a = channels\n", CM_ERR_FORMAT, "line 1, column 9", "'channels' before a tensor"},
    {"free a\n", CM_ERR_FORMAT, "line 1", "free takes a name"},
    {"optimizer\n", CM_ERR_FORMAT, "line 1", "optimizer takes one name"},
    {"optimizer adm\n", CM_ERR_UNKNOWN, "line 1, column 11", "unknown optimizer 'adm'; did you mean 'adam'?"},
    {"loss cross-entrpy\n", CM_ERR_UNKNOWN, "line 1, column 6", "did you mean 'cross-entropy'?"},
    {"end\n", CM_ERR_FORMAT, "line 1", "'end' without"},
    {"else\n", CM_ERR_FORMAT, "line 1", "'else' without an if"},
    {"repeat 2\nelse\nend\n", CM_ERR_FORMAT, "line 2", "'else' without an if"},
    {"if 1\nelse\nelse\nend\n", CM_ERR_FORMAT, "line 3", "'else' without an if"},
    {"repeat 2\n", CM_ERR_FORMAT, "line 1", "'repeat' without an end"},
    {"if 1\ndef a\nend\nend\n", CM_ERR_FORMAT, "line 2", "a definition inside another part"},
    {"if\nend\n", CM_ERR_FORMAT, "line 1", "a number or a name expected"},
    {"repeat\nend\n", CM_ERR_FORMAT, "line 1", "repeat takes how often"},
    {"repeat -1\nend\n", CM_ERR_LIMIT, "line 1, column 8", "repeat -1 times"},
    {"repeat 1 2\nend\n", CM_ERR_FORMAT, "line 1, column 10", "not a name for a number"},
    {"def\nend\n", CM_ERR_FORMAT, "line 1", "def takes a name"},
    {"def relu\nend\n", CM_ERR_FORMAT, "line 1", "'relu' is defined already"},
    {"def if\nend\n", CM_ERR_FORMAT, "line 1", "'if' is defined already"},
    {"def a\nend\ndef a\nend\n", CM_ERR_FORMAT, "line 3", "'a' is defined already"},
    {"def a 5\nend\n", CM_ERR_FORMAT, "line 1, column 7", "'5' is not a name"},
    {"def a n n\nend\n", CM_ERR_FORMAT, "line 1, column 9", "'n' twice"},
    {"def a b c d e f g h i j k l m n o p q r\nend\n", CM_ERR_LIMIT, "line 1", "more than 16 parameters"},
    {X "def a n\nrelu\nend\na\n", CM_ERR_FORMAT, "line 5", "a needs 'n'"},
    {X "def a\na\nend\na\n", CM_ERR_LIMIT, "line 3", "does a definition call itself?"},
    {X "def a\nrelu from y\nend\nrelu as y\nrelu\na\nlinear q from y\n", CM_ERR_UNKNOWN, "line 8, column 8",
     "unknown number 'q'"},
    {X "repeat 400000 i\nrepeat 400000 j\nend\nend\nrelu\n", CM_ERR_LIMIT, "line 3", "lines to run"},
    {X "repeat 100001\nrelu\nend\n", CM_ERR_LIMIT, "line 3", "more than 100000 operators"},
    {X "repeat 2000 i\nrelu as y{i}\nend\n", CM_ERR_LIMIT, "line 3", "more than 1024 names"},
    {X "repeat 2000 i\noutput\nend\nrelu\n", CM_ERR_LIMIT, "line 3", "more than 1024 outputs"},
    {"input x 5 4\nlstm 2 layers=50001\n", CM_ERR_LIMIT, "line 2", "50001 layers"},
    {X "linear ((((((((((((((((((((((((((((((((((1))))))))))))))))))))))))))))))))))\n", CM_ERR_LIMIT, "line 2",
     "nested more than 32 deep"},
    {X "linear ------------------------------------1\n", CM_ERR_LIMIT, "line 2", "nested more than 32 deep"},
};

static void expect_error(const char *text, size_t size, cm_status status, const char *place, const char *reason)
{
    cm_graph *g = NULL;
    cm_diag   diag;
    cm_status got = import(text, size, NULL, &g, &diag);
    if (got != status || !strstr(diag.reason, reason) || (*place && strncmp(diag.place, place, strlen(place)) != 0))
        fail_msg("status %d, '%s: %s' from: %.200s", got, diag.place, diag.reason, text);
    if (got == CM_OK) cm_graph_free(g);
}

static void errors_say_where_and_why(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(errors); i++)
        expect_error(errors[i].text, strlen(errors[i].text), errors[i].status, errors[i].place, errors[i].reason);
}

static void bad_choices_are_refused(void **state)
{
    (void)state;
    const char *const dims[] = {"size=5", "height", "height=", "height=0", "height=x", "=5", ",", "height=5,,"};
    const char       *text = "free height 8\ninput x 3 height 8\nrelu";
    for (size_t i = 0; i < COUNT(dims); i++) {
        cm_graph *g = NULL;
        cm_diag   diag;
        cm_status got = import(text, strlen(text), &(cm_load_options){.dims = dims[i]}, &g, &diag);
        if (got == CM_OK || *diag.place) fail_msg("'%s' gives status %d at '%s'", dims[i], got, diag.place);
    }
}

/* `count` copies of `part` between two texts. */
static char *repeated(const char *before, const char *part, size_t count, const char *after)
{
    size_t length = strlen(part);
    char  *text = malloc(strlen(before) + length * count + strlen(after) + 1), *end = text;
    end = stpcpy(end, before);
    for (size_t i = 0; i < count; i++) end = stpcpy(end, part);
    strcpy(end, after);
    return text;
}

static const struct {
    const char *before, *part;
    size_t      count;
    const char *after;
    cm_status   status;
    const char *reason;
} large[] = {
    {X, "#", (size_t)1 << 20, "\n", CM_ERR_LIMIT, "at most 1048576"},
    {X "concat", " x", 64, "\n", CM_OK, ""},
    {X "concat", " x", 65, "\n", CM_ERR_LIMIT, "more than 64 words"},
    {X "relu as ", "a", 199, "\n", CM_OK, ""},
    {X "relu as ", "a", 201, "\n", CM_ERR_LIMIT, "more than 200 characters"},
    {X "relu as ", "{100000000}", 30, "\n", CM_ERR_LIMIT, "more than 200 characters"},
    {X, "if 1\n", 33, "", CM_ERR_LIMIT, "nested more than 32 deep"},
    {X "def a\nrelu\nend\ndef f\n", "aaaaaaaaaaaaaaaa", 12, ": a\nend\nbbbbbbbbbb: f\n", CM_ERR_LIMIT,
     "labels inside labels"},
    {"", "source 0123456789012345678901234567890123456789\n", 60, "", CM_ERR_LIMIT, "a source of more than 2000"},
};

static void large_texts_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(large); i++) {
        char *text = repeated(large[i].before, large[i].part, large[i].count, large[i].after);
        expect_error(text, strlen(text), large[i].status, "", large[i].reason);
        free(text);
    }
}

/* A text truncated anywhere is either accepted or refused with a reason. */
static void truncated_models_are_survived(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(models); i++) {
        size_t      size = 0;
        const char *text = cm__data_file(models[i].file, &size);
        for (size_t cut = 0; cut < size; cut += 13) {
            cm_graph *g = NULL;
            cm_diag   diag;
            char     *part = memcpy(malloc(cut + 1), text, cut);
            if (import(part, cut, NULL, &g, &diag) == CM_OK) cm_graph_free(g);
            else assert_true(*diag.reason);
            free(part);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(models_are_exact),
        cmocka_unit_test(models_have_the_operators_pytorch_runs),
        cmocka_unit_test(parameters_have_pytorchs_names),
        cmocka_unit_test(models_do_the_published_work),
        cmocka_unit_test(expressions_compute),
        cmocka_unit_test(programs_run),
        cmocka_unit_test(sources_join),
        cmocka_unit_test(labels_make_scopes),
        cmocka_unit_test(blocks_are_numbered),
        cmocka_unit_test(free_sizes_can_be_chosen),
        cmocka_unit_test(errors_say_where_and_why),
        cmocka_unit_test(bad_choices_are_refused),
        cmocka_unit_test(large_texts_are_refused),
        cmocka_unit_test(truncated_models_are_survived),
    };
    return cmocka_run_group_tests_name("net", tests, NULL, NULL);
}
