/* SPDX-License-Identifier: Apache-2.0 */
/* test_step.c - small training steps as StableHLO text become the graphs that they describe, at any batch size. */
#include "hlo_text.h"

#define WT "tensor<8x4xf32>"
#define XT "tensor<6x8xf32>"
#define YT "tensor<6x4xf32>"
#define MODULE(body) "module @step {\n" body "}\n"
#define MAIN(arguments, results, body) "  func.func public @main(" arguments ") -> (" results ") {\n" body "  }\n"
/* loss = sum(f(x w)); the new weights are w - x^T g, as backward gives them. `more`: operations between product and sum. */
#define STEP(more, last)                                                                                               \
    MODULE(MAIN("%w: " WT " {tf.aliasing_output = 0 : i32}, %x: " XT, WT ", tensor<f32>",                                 \
                "    %p = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (" XT ", " WT ") -> " YT "\n" more \
                "    %zero = stablehlo.constant dense<0.0> : tensor<f32>\n"                                            \
                "    %loss = stablehlo.reduce(" last " init: %zero) applies stablehlo.add across dimensions = [0, 1] : (" YT ", tensor<f32>) -> tensor<f32>\n" \
                "    %one = stablehlo.constant dense<1.0> : tensor<f32>\n"                                             \
                "    %g = stablehlo.broadcast_in_dim %one, dims = [] : (tensor<f32>) -> " YT "\n"                       \
                "    %d = stablehlo.dot_general %x, %g, contracting_dims = [0] x [0] : (" XT ", " YT ") -> " WT "\n"      \
                "    %new = stablehlo.subtract %w, %d : " WT "\n"                                                       \
                "    return %new, %loss : " WT ", tensor<f32>\n"))
#define HELPERS(body, more)                                                                                            \
    "module @step {\n" MAIN("%w: " WT ", %x: " XT, WT ", tensor<f32>",                                                    \
                "    %p = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (" XT ", " WT ") -> " YT "\n" body \
                "    %zero = stablehlo.constant dense<0.0> : tensor<f32>\n"                                            \
                "    %loss = stablehlo.reduce(%y init: %zero) applies stablehlo.add across dimensions = [0, 1] : (" YT ", tensor<f32>) -> tensor<f32>\n" \
                "    %one = stablehlo.constant dense<1.0> : tensor<f32>\n"                                             \
                "    %g = stablehlo.broadcast_in_dim %one, dims = [] : (tensor<f32>) -> " YT "\n"                       \
                "    %d = stablehlo.dot_general %x, %g, contracting_dims = [0] x [0] : (" XT ", " YT ") -> " WT "\n"      \
                "    %new = stablehlo.subtract %w, %d : " WT "\n"                                                       \
                "    return %new, %loss : " WT ", tensor<f32>\n") more "}\n"

static void a_linear_layer(void **state)
{
    (void)state;
    cm_graph *g = imported(STEP("", "%p"));
    const cm_node *n = only(g, "Gemm");
    const cm_tensor *y = cm__t(g, n->outputs[0]);
    assert_int_equal(y->dims[0].per_batch, 1);
    assert_int_equal(y->dims[1].fixed, 4);
    assert_int_equal(g->optimizer, CM_OPTIMIZER_SGD);
    assert_true(g->own_loss);
    cm_graph *step = trained(g, (cm_train_options){0});
    assert_int_equal(step->n_warnings, 0); /* the recorded backward is the derived one */
    cm_graph_free(step);
    cm_graph_free(g);
}

/* The batch is followed through reshapes, transposes, slices of other dimensions and constants. */
static void the_batch_is_followed(void **state)
{
    (void)state;
    static const char *const between[] = {
        HELPERS("    %a = stablehlo.reshape %p : (" YT ") -> tensor<24xf32>\n    %y = stablehlo.reshape %a : (tensor<24xf32>) -> " YT "\n", ""),
        HELPERS("    %a = stablehlo.reshape %p : (" YT ") -> tensor<6x2x2xf32>\n    %b = stablehlo.reshape %a : (tensor<6x2x2xf32>) -> tensor<12x2xf32>\n"
                "    %y = stablehlo.reshape %b : (tensor<12x2xf32>) -> " YT "\n", ""),
        HELPERS("    %a = stablehlo.transpose %p, dims = [1, 0] : (" YT ") -> tensor<4x6xf32>\n"
                "    %y = stablehlo.transpose %a, dims = [1, 0] : (tensor<4x6xf32>) -> " YT "\n", ""),
        HELPERS("    %c = stablehlo.constant dense<3.0> : " YT "\n    %y = stablehlo.add %p, %c : " YT "\n", ""),
        HELPERS("    %a = stablehlo.slice %p [0:6, 0:2] : (" YT ") -> tensor<6x2xf32>\n"
                "    %y = stablehlo.concatenate %a, %a, dim = 1 : (tensor<6x2xf32>, tensor<6x2xf32>) -> " YT "\n", ""),
    };
    for (size_t i = 0; i < COUNT(between); i++) {
        cm_graph *g = imported(between[i]);
        for (int32_t t = 0; t < g->n_tensors; t++)
            for (int32_t d = 0; d < cm__t(g, t)->rank; d++) {
                cm_dim dim = cm__t(g, t)->dims[d];
                if (dim.per_batch == 0 && dim.fixed % 6 == 0) fail_msg("case %zu: '%s' has a dimension of %lld", i, cm__t(g, t)->name, (long long)dim.fixed);
            }
        cm_graph_free(g);
    }
}

static void calls_and_loops(void **state)
{
    (void)state;
    cm_graph *g = imported(HELPERS("    %y = call @f(%p) : (" YT ") -> " YT "\n",
                                   "  func.func private @f(%a: " YT ") -> " YT " {\n"
                                   "    %0 = stablehlo.tanh %a : " YT "\n    return %0 : " YT "\n  }\n"));
    only(g, "Tanh");
    cm_graph_free(g);
    g = imported(HELPERS("    %i = stablehlo.constant dense<0> : tensor<i32>\n"
                         "    %r:2 = stablehlo.while(%k = %i, %v = %p) : tensor<i32>, " YT "\n"
                         "    cond {\n      %n = stablehlo.constant dense<3> : tensor<i32>\n"
                         "      %t = stablehlo.compare LT, %k, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
                         "      stablehlo.return %t : tensor<i1>\n    } do {\n"
                         "      %u = stablehlo.constant dense<1> : tensor<i32>\n      %j = stablehlo.add %k, %u : tensor<i32>\n"
                         "      %q = stablehlo.tanh %v : " YT "\n      stablehlo.return %j, %q : tensor<i32>, " YT "\n    }\n"
                         "    %y = stablehlo.negate %r#1 : " YT "\n", ""));
    assert_int_equal(count_of(g, "Tanh"), 3);
    cm_graph_free(g);
}

static void sigmoids_and_powers_are_found(void **state)
{
    (void)state;
    cm_graph *g = imported(HELPERS("    %m = stablehlo.negate %p : " YT "\n    %e = stablehlo.exponential %m : " YT "\n"
                                   "    %c = stablehlo.constant dense<1.0> : " YT "\n    %s = stablehlo.add %e, %c : " YT "\n"
                                   "    %z = stablehlo.divide %c, %s : " YT "\n    %q = stablehlo.multiply %z, %z : " YT "\n"
                                   "    %y = stablehlo.multiply %z, %q : " YT "\n", ""));
    only(g, "Sigmoid");
    only(g, "Pow");
    assert_int_equal(count_of(g, "Exp"), 0);
    cm_graph_free(g);
}

static void what_is_no_step_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *place, *reason;
    } cases[] = {
        {STEP("    %q = stablehlo.frobnicate %p : " YT "\n", "%q"), "line 4", "operation 'frobnicate' is not known"},
        {STEP("    %q = stablehlo.custom_call @magic(%p) : (" YT ") -> " YT "\n", "%q"), "line 4", "custom_call: what '@magic' computes is not known"},
        {STEP("    %q = stablehlo.tanh %nothing : " YT "\n", "%q"), "line 4", "a value that nothing has made"},
        {STEP("    %q = stablehlo.slice %p [0:3, 0:4] : (" YT ") -> tensor<3x4xf32>\n    %z = stablehlo.concatenate %q, %q, dim = 0 : "
              "(tensor<3x4xf32>, tensor<3x4xf32>) -> " YT "\n", "%z"), "line 4", "slice: it takes a part of the batch"},
        {STEP("    %q = call @absent(%p) : (" YT ") -> " YT "\n", "%q"), "line 4", "call: the function that it calls is not in the module"},
        {STEP("    %q = stablehlo.tanh %p : tensor<?x4xf32>\n", "%q"), "line 4", "a size that is not known: lower the step with arrays of known shapes"},
        {MODULE(MAIN("%x: " XT, XT, "    return %x : " XT "\n")), "", "no result of the step is its loss"},
        {MODULE(""), "", "the module has no function 'main'"},
        {"", "line 1", "StableHLO text starts with 'module'"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        cm_graph *g = NULL;
        cm_diag   diag = {0};
        assert_int_not_equal(from(cases[i].text, &g, &diag), CM_OK);
        if (strncmp(diag.reason, cases[i].reason, strlen(cases[i].reason)) != 0 || strcmp(diag.place, cases[i].place) != 0)
            fail_msg("case %zu: %s: %s", i, diag.place, diag.reason);
    }
}

/* A text that ends anywhere, or lacks any byte, is refused with a reason or read. */
static void cut_texts(void **state)
{
    (void)state;
    char text[] = STEP("    %q = stablehlo.tanh %p : " YT "\n", "%q"), other[sizeof text];
    for (size_t i = 0; i < 2 * sizeof text - 2; i++) {
        size_t    at = i / 2;
        cm_graph *g = NULL;
        cm_diag   diag = {0};
        memcpy(other, text, sizeof text);
        if (i % 2) other[at] = 0;
        else memmove(other + at, other + at + 1, sizeof text - at - 1);
        if (from(other, &g, &diag) == CM_OK) cm_graph_free(g);
        else assert_true(*diag.reason);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_linear_layer), cmocka_unit_test(the_batch_is_followed), cmocka_unit_test(calls_and_loops),
        cmocka_unit_test(sigmoids_and_powers_are_found), cmocka_unit_test(what_is_no_step_is_refused), cmocka_unit_test(cut_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
