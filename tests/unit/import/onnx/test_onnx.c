/* SPDX-License-Identifier: Apache-2.0 */
/* test_onnx.c - small complete files: the batch, other free dimensions, control flow, functions, and refusals. */
#include "onnx_case.h"

/* ---- the batch and other dimensions ----------------------------------------------------------------------------- */

static void a_linear_layer_with_a_named_batch(void **state)
{
    (void)state;
    bytes graph = {0}, attrs = {0};
    x_input(&graph, 2, (int64_t[]){-1, 4});
    w_weight(&graph, "fc.weight", 2, (int64_t[]){3, 4});
    w_weight(&graph, "fc.bias", 1, (int64_t[]){3});
    w_attr_int(&attrs, "transB", 1);
    w_node(&graph, "Gemm", "fc", "x fc.weight fc.bias", "y", &attrs);
    y_output(&graph);
    cm_graph *g = accepted(&graph);
    assert_int_equal(g->n_nodes, 1);
    assert_string_equal(g->nodes[0].name, "fc");
    has_shape(g, output(g), "[B, 3]");
    assert_string_equal(output(g)->name, "y");
    cm_totals totals;
    cm__lifetimes(g);
    cm_graph_totals(g, 1, &totals);
    assert_int_equal(totals.parameters, 3 * 4 + 3);
}

static cm_graph *fixed_batch(int64_t batch, int64_t constant)
{
    bytes graph = {0};
    x_input(&graph, 3, (int64_t[]){batch, 6, 4});
    w_int64s(&graph, "shape", 2, (int64_t[]){constant, 4});
    w_node(&graph, "Reshape", "r", "x shape", "y", NULL);
    y_output(&graph);
    return accepted(&graph);
}

static void a_fixed_batch_is_read_as_free(void **state)
{
    (void)state;
    bytes graph = {0};
    x_input(&graph, 2, (int64_t[]){8, 4});
    w_node(&graph, "Relu", "r", "x", "y", NULL);
    y_output(&graph);
    cm_graph *g = accepted(&graph);
    has_shape(g, output(g), "[B, 4]");
    assert_false(warned(g, "fixes the batch"));
}

static void a_batch_in_a_reshape_is_freed(void **state)
{
    (void)state;
    for (int64_t batch = 1; batch <= 5; batch += 2) {
        cm_graph *g = fixed_batch(batch, batch * 6);
        assert_int_equal(output(g)->dims[0].per_batch, 6);
        assert_int_equal(output(g)->dims[0].fixed, 0);
    }
}

static void a_batch_that_cannot_be_freed_stays(void **state)
{
    (void)state;
    bytes graph = {0};
    x_input(&graph, 2, (int64_t[]){8, 4});
    w_weight(&graph, "offset", 2, (int64_t[]){8, 4}); /* as large as the exported batch */
    w_node(&graph, "Add", "a", "x offset", "y", NULL);
    y_output(&graph);
    cm_graph *g = accepted(&graph);
    has_shape(g, output(g), "[8, 4]");
    assert_true(warned(g, "fixes the batch at 8"));
}

static bytes tokens(void)
{
    bytes graph = {0};
    bytes shape = {0}, tensor = {0}, type = {0}, value = {0}, b = {0}, s = {0};
    w_text(&b, 2, "batch");
    w_text(&s, 2, "sequence_length");
    w_message(&shape, 1, &b);
    w_message(&shape, 1, &s);
    w_int(&tensor, 1, 1);
    w_message(&tensor, 2, &shape);
    w_message(&type, 1, &tensor);
    w_text(&value, 1, "x");
    w_message(&value, 2, &type);
    w_message(&graph, 11, &value);
    w_node(&graph, "Relu", "r", "x", "y", NULL);
    y_output(&graph);
    return w_model(&graph, "test", 20);
}

static void a_sequence_takes_what_is_given(void **state)
{
    (void)state;
    bytes     usual = tokens(), seq = tokens(), dim = tokens(), bad = tokens();
    cm_graph *g = load_with(&usual, &(cm_load_options){0});
    has_shape(g, output(g), "[B, 512]");
    assert_true(warned(g, "--dim sequence_length=N"));
    g = load_with(&seq, &(cm_load_options){.seq = 77});
    has_shape(g, output(g), "[B, 77]");
    assert_int_equal(g->n_warnings, 0);
    g = load_with(&dim, &(cm_load_options){.dims = "other=3, sequence_length=9"});
    has_shape(g, output(g), "[B, 9]");
    assert_null(load_with(&bad, &(cm_load_options){.dims = "sequence_length"}));
    assert_non_null(strstr(diag.reason, "name=value"));
}

/* ---- what files may do ------------------------------------------------------------------------------------------ */

static void unsorted_nodes_are_sorted(void **state)
{
    (void)state;
    bytes graph = {0};
    x_input(&graph, 2, (int64_t[]){-1, 4});
    w_node(&graph, "Relu", "third", "b", "y", NULL);
    w_node(&graph, "Tanh", "second", "a", "b", NULL);
    w_node(&graph, "Sigmoid", "first", "x", "a", NULL);
    y_output(&graph);
    cm_graph *g = accepted(&graph);
    assert_int_equal(g->n_nodes, 3);
    assert_string_equal(g->nodes[0].name, "first");
    assert_string_equal(g->nodes[2].name, "third");
}

static void a_long_unsorted_chain_needs_no_deep_stack(void **state)
{
    (void)state;
    enum { NODES = 100000 };
    bytes graph = {0};
    char  in[16], out[16];
    w_value(&graph, 11, "t0", 1, 1, (int64_t[]){-1}, "batch");
    for (int i = NODES; i > 0; i--) {
        snprintf(in, sizeof in, "t%d", i - 1);
        snprintf(out, sizeof out, "t%d", i);
        w_node(&graph, "Relu", "", in, out, NULL);
    }
    snprintf(out, sizeof out, "t%d", NODES);
    w_name(&graph, 12, out);
    cm_graph *g = accepted(&graph);
    assert_int_equal(g->n_nodes, NODES);
    assert_int_equal(g->nodes_read, NODES);
}

static void shapes_are_computed(void **state)
{
    (void)state;
    bytes graph = {0}, attrs = {0}, minus = w_int64_tensor("", 1, 1, (int64_t[]){-1});
    x_input(&graph, 3, (int64_t[]){-1, 6, 4});
    w_attr_int(&attrs, "end", 1);
    w_node(&graph, "Shape", "s", "x", "b", &attrs);
    w_attr_tensor(&attrs, "value", &minus);
    w_node(&graph, "Constant", "c", "", "rest", &attrs);
    w_attr_int(&attrs, "axis", 0);
    w_node(&graph, "Concat", "k", "b rest", "shape", &attrs);
    w_node(&graph, "Reshape", "r", "x shape", "y", NULL);
    y_output(&graph);
    cm_graph *g = accepted(&graph);
    has_shape(g, output(g), "[B, 24]");
    assert_int_equal(count_ops(g, CM_OP_SHAPE), 0); /* folded */
}

/* The square root of a constant: exporters leave the operator, graph optimizers fold it. */
static void a_file_as_exported_is_known(void **state)
{
    (void)state;
    for (int computed = 0; computed < 2; computed++) {
        bytes graph = {0}, attrs = {0};
        x_input(&graph, 2, (int64_t[]){-1, 4});
        w_attr_float(&attrs, "value_float", 0.25f);
        w_node(&graph, "Constant", "c", "", "scale", &attrs);
        if (computed) w_node(&graph, "Sqrt", "s", "scale", "root", NULL);
        w_node(&graph, "Mul", "m", computed ? "x root" : "x scale", "z", NULL);
        w_node(&graph, "Sqrt", "of_data", "z", "y", NULL);
        y_output(&graph);
        cm_graph *g = accepted(&graph);
        assert_int_equal(g->as_exported, computed);
        assert_int_equal(count_ops(g, CM_OP_SQRT), 1); /* folded */
    }
}

static void initializers_among_inputs_are_no_inputs(void **state)
{
    (void)state;
    bytes graph = {0};
    x_input(&graph, 2, (int64_t[]){-1, 4});
    w_value(&graph, 11, "w", 1, 2, (int64_t[]){4, 5}, "");
    w_weight(&graph, "w", 2, (int64_t[]){4, 5});
    w_node(&graph, "MatMul", "m", "x w", "y", NULL);
    y_output(&graph);
    cm_graph *g = accepted(&graph);
    assert_int_equal(g->n_inputs, 1);
    has_shape(g, output(g), "[B, 5]");
}

/* ---- control flow ----------------------------------------------------------------------------------------------- */

static bytes branch(const char *op)
{
    bytes b = {0};
    w_node(&b, op, "", "x", "inner", NULL); /* x is a name of the outer scope */
    w_name(&b, 12, "inner");
    return b;
}

static void a_known_condition_takes_its_branch(void **state)
{
    (void)state;
    for (int condition = 0; condition < 2; condition++) {
        bytes   graph = {0}, attrs = {0}, yes = branch("Tanh"), no = branch("Relu"), c = w_tensor("c", 9, 0, NULL);
        uint8_t truth = (uint8_t)condition;
        x_input(&graph, 2, (int64_t[]){-1, 4});
        w_data(&c, 9, &truth, 1);
        w_message(&graph, 5, &c);
        w_attr_graph(&attrs, "then_branch", &yes);
        w_attr_graph(&attrs, "else_branch", &no);
        w_node(&graph, "If", "if", "c", "y", &attrs);
        y_output(&graph);
        cm_graph *g = accepted(&graph);
        assert_int_equal(g->n_nodes, 1);
        assert_int_equal(g->nodes[0].op, condition ? CM_OP_TANH : CM_OP_RELU);
    }
}

static bytes loop_body(void)
{
    bytes b = {0};
    w_name(&b, 11, "i");
    w_name(&b, 11, "go");
    w_name(&b, 11, "state");
    w_weight(&b, "w", 2, (int64_t[]){4, 4});
    w_node(&b, "MatMul", "step", "state w", "next", NULL);
    w_node(&b, "Identity", "", "go", "go_on", NULL);
    w_name(&b, 12, "go_on");
    w_name(&b, 12, "next");
    w_name(&b, 12, "next");
    return b;
}

static void a_counted_loop_is_unrolled(void **state)
{
    (void)state;
    bytes graph = {0}, attrs = {0}, body = loop_body(), trips = w_int64_tensor("trips", 0, 1, (int64_t[]){3});
    x_input(&graph, 2, (int64_t[]){-1, 4});
    w_message(&graph, 5, &trips);
    w_attr_graph(&attrs, "body", &body);
    w_node(&graph, "Loop", "loop", "trips - x", "y all", &attrs);
    y_output(&graph);
    w_name(&graph, 12, "all");
    cm_graph *g = accepted(&graph);
    assert_int_equal(count_ops(g, CM_OP_MATMUL), 3);
    has_shape(g, output(g), "[B, 4]");
    has_shape(g, cm__t(g, g->outputs[1]), "[3, B, 4]");
    cm_totals totals;
    cm__lifetimes(g);
    cm_graph_totals(g, 1, &totals);
    assert_int_equal(totals.parameters, 4 * 4); /* one weight, read three times */
}

static void a_loop_that_depends_on_data_is_refused(void **state)
{
    (void)state;
    bytes graph = {0}, attrs = {0}, body = loop_body();
    x_input(&graph, 2, (int64_t[]){-1, 4});
    w_value(&graph, 11, "trips", 7, 0, NULL, "");
    w_attr_graph(&attrs, "body", &body);
    w_node(&graph, "Loop", "loop", "trips - x", "y", &attrs);
    y_output(&graph);
    refused(&graph, "'loop' (Loop): operator 'Loop' is not supported where its number of iterations depends on data");
}

static void a_scan_is_unrolled(void **state)
{
    (void)state;
    bytes graph = {0}, attrs = {0}, body = {0};
    w_name(&body, 11, "sum");
    w_name(&body, 11, "item");
    w_node(&body, "Add", "", "sum item", "next", NULL);
    w_name(&body, 12, "next");
    w_name(&body, 12, "next");
    x_input(&graph, 3, (int64_t[]){-1, 5, 4});
    w_weight(&graph, "start", 1, (int64_t[]){4});
    w_attr_graph(&attrs, "body", &body);
    w_attr_int(&attrs, "num_scan_inputs", 1);
    w_attr_ints(&attrs, "scan_input_axes", 1, (int64_t[]){1});
    w_attr_ints(&attrs, "scan_output_axes", 1, (int64_t[]){1});
    w_node(&graph, "Scan", "scan", "start x", "last y", &attrs);
    y_output(&graph);
    cm_graph *g = accepted(&graph);
    assert_int_equal(count_ops(g, CM_OP_ADD), 5);
    has_shape(g, output(g), "[B, 5, 4]");
}

/* A function "double(a; axis)" that flattens at the axis given by its caller. */
static bytes flattening_model(const char *calls)
{
    bytes graph = {0}, attrs = {0}, f = {0};
    x_input(&graph, 3, (int64_t[]){-1, 5, 4});
    w_attr_int(&attrs, "at", 2);
    w_node_of(&graph, 1, "flatten", "local", "call", "x", "y", &attrs);
    y_output(&graph);
    bytes file = w_model(&graph, "test", 20);
    w_text(&f, 1, "flatten");
    w_text(&f, 4, "a");
    w_text(&f, 5, "c");
    w_text(&f, 6, "at");
    w_attr_reference(&attrs, "axis", "at", 2);
    w_node_of(&f, 7, calls, strcmp(calls, "Flatten") ? "local" : "", "", "a", "b", &attrs);
    w_node_of(&f, 7, "Relu", "", "act", "b", "c", NULL);
    w_text(&f, 10, "local");
    w_message(&file, 25, &f);
    return file;
}

static void functions_run_in_place(void **state)
{
    (void)state;
    bytes     file = flattening_model("Flatten"), recursive = flattening_model("flatten");
    cm_graph *g = load_with(&file, &(cm_load_options){0});
    assert_non_null(g);
    has_shape(g, output(g), "[5B, 4]");
    assert_string_equal(g->nodes[1].name, "call/act");
    assert_null(load_with(&recursive, &(cm_load_options){0}));
    assert_non_null(strstr(diag.reason, "calls itself"));
}

/* ---- refusals --------------------------------------------------------------------------------------------------- */

static void a_cycle_is_refused(void **state)
{
    (void)state;
    bytes graph = {0};
    x_input(&graph, 2, (int64_t[]){-1, 4});
    w_node(&graph, "Add", "loop_in", "x b", "a", NULL);
    w_node(&graph, "Relu", "loop_out", "a", "b", NULL);
    w_node(&graph, "Relu", "after", "b", "y", NULL);
    y_output(&graph);
    refused(&graph, "t.onnx: node 'loop_");
    assert_non_null(strstr(diag.reason, "cycle"));
}

static void names_must_be_defined_once(void **state)
{
    (void)state;
    bytes missing = {0}, twice = {0}, weights = {0}, nothing = {0};
    x_input(&missing, 2, (int64_t[]){-1, 4});
    w_node(&missing, "Add", "add", "x nowhere", "y", NULL);
    y_output(&missing);
    refused(&missing, "t.onnx: node 'add' (Add): input 'nowhere' is written by no node");
    x_input(&twice, 2, (int64_t[]){-1, 4});
    w_node(&twice, "Relu", "", "x", "y", NULL);
    w_node(&twice, "Tanh", "", "x", "y", NULL);
    y_output(&twice);
    refused(&twice, "node 1 (Tanh): tensor 'y' is written twice");
    w_weight(&weights, "w", 1, (int64_t[]){4});
    w_weight(&weights, "w", 1, (int64_t[]){4});
    y_output(&weights);
    refused(&weights, "initializer 'w': defined twice");
    x_input(&nothing, 2, (int64_t[]){-1, 4});
    y_output(&nothing);
    refused(&nothing, "output 'y' is written by no node");
}

static void impossible_sizes_are_refused(void **state)
{
    (void)state;
    bytes graph = {0}, negative = {0};
    x_input(&graph, 2, (int64_t[]){-1, 1000000000000000000});
    w_node(&graph, "Relu", "r", "x", "y", NULL);
    y_output(&graph);
    refused(&graph, "above 2^40");
    w_weight(&negative, "w", 1, (int64_t[]){-4});
    w_node(&negative, "Relu", "r", "w", "y", NULL);
    y_output(&negative);
    refused(&negative, "negative");
}

static void operators_are_refused_by_name(void **state)
{
    (void)state;
    static const struct {
        const char *op, *domain, *reason;
    } cases[] = {
        {"SequenceMap", "", "operator 'SequenceMap' is not supported (sequence types)"},
        {"NonZero", "", "operator 'NonZero' is not supported (the size of its output depends on data)"},
        {"Frobnicate", "", "operator 'Frobnicate' is not supported"},
        {"Relu", "org.example", "operator 'Relu' of domain 'org.example' is not supported"},
        {"ElementwiseGrad", "", "operator 'ElementwiseGrad' is not supported"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bytes graph = {0};
        x_input(&graph, 2, (int64_t[]){-1, 4});
        w_node_of(&graph, 1, cases[i].op, cases[i].domain, "n", "x", "y", NULL);
        y_output(&graph);
        refused(&graph, cases[i].reason);
    }
}

static void inputs_need_a_known_type_and_shape(void **state)
{
    (void)state;
    bytes untyped = {0}, text = {0};
    w_name(&untyped, 11, "x");
    w_node(&untyped, "Relu", "r", "x", "y", NULL);
    y_output(&untyped);
    refused(&untyped, "input 'x': it has no type");
    w_value(&text, 11, "x", 8, 1, (int64_t[]){-1}, "batch");
    w_node(&text, "Relu", "r", "x", "y", NULL);
    y_output(&text);
    refused(&text, "input 'x': strings are not supported");
}

static int allocations_left;

static void *failing_alloc(size_t count, size_t size) { return allocations_left-- > 0 ? calloc(count, size) : NULL; }

/* Also during the first of two attempts: then there is no second one. */
static void every_allocation_may_fail(void **state)
{
    (void)state;
    cm_graph *g = NULL;
    int       allowed = 1;
    for (; !g; allowed++) {
        bytes graph = {0};
        x_input(&graph, 2, (int64_t[]){8, 4});
        w_weight(&graph, "offset", 2, (int64_t[]){8, 4});
        for (int i = 0; i < 500; i++) {
            char name[16];
            snprintf(name, sizeof name, "t%d", i);
            w_node(&graph, "Relu", "", "x", name, NULL);
        }
        w_node(&graph, "Add", "a", "x offset", "y", NULL);
        y_output(&graph);
        bytes file = w_model(&graph, "test", 20);
        allocations_left = allowed;
        cm__chunk_alloc = failing_alloc;
        g = load_with(&file, &(cm_load_options){0});
        cm__chunk_alloc = calloc;
        if (!g) assert_int_equal(ctx->status, CM_ERR_MEMORY);
        if (!g) assert_non_null(strstr(diag.reason, "out of memory"));
    }
    assert_true(allowed > 4);
    has_shape(g, output(g), "[8, 4]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_linear_layer_with_a_named_batch),
        cmocka_unit_test(a_fixed_batch_is_read_as_free),
        cmocka_unit_test(a_batch_in_a_reshape_is_freed),
        cmocka_unit_test(a_batch_that_cannot_be_freed_stays),
        cmocka_unit_test(a_sequence_takes_what_is_given),
        cmocka_unit_test(unsorted_nodes_are_sorted),
        cmocka_unit_test(a_long_unsorted_chain_needs_no_deep_stack),
        cmocka_unit_test(shapes_are_computed),
        cmocka_unit_test(a_file_as_exported_is_known),
        cmocka_unit_test(initializers_among_inputs_are_no_inputs),
        cmocka_unit_test(a_known_condition_takes_its_branch),
        cmocka_unit_test(a_counted_loop_is_unrolled),
        cmocka_unit_test(a_loop_that_depends_on_data_is_refused),
        cmocka_unit_test(a_scan_is_unrolled),
        cmocka_unit_test(functions_run_in_place),
        cmocka_unit_test(a_cycle_is_refused),
        cmocka_unit_test(names_must_be_defined_once),
        cmocka_unit_test(impossible_sizes_are_refused),
        cmocka_unit_test(operators_are_refused_by_name),
        cmocka_unit_test(inputs_need_a_known_type_and_shape),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, teardown);
}
