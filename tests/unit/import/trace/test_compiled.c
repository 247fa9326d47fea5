/* SPDX-License-Identifier: Apache-2.0 */
/* test_compiled.c - the kernels of torch.compile and the answer of a chip's compiler in a capture are read, and refused where
   they make no sense. */
#include "recorded_step.h"

#include "import/trace/trace.h"

#define KERNEL(kind, terms) "{\"kernel\":\"k\",\"kind\":" kind ",\"terms\":{" terms "}}"
#define GRAPH(pass, kernels) "{\"pass\":\"" pass "\",\"kernels\":[" kernels "]}"
/* x -> relu, with generated kernels. */
#define COMPILED(precision, graphs)                                                                                    \
    TRACE("\"loss\":-1,\"outputs\":[1],\"compiled_precision\":\"" precision "\",\"compiled\":[" graphs "]",            \
          T("[[1,0],8]", "fp32", "input") "," X("[[1,0],8]"), OP("aten::relu", "[0]", "[1]"))

static void kernels_are_read_with_their_pass(void **state)
{
    (void)state;
    cm_graph *g = accepted(COMPILED("amp-bf16", GRAPH("forward", KERNEL("\"fused\"", "\"moved4\":[64,8]")) ","
                                    GRAPH("backward", KERNEL("null", "") "," KERNEL("\"row_sum\"", "\"random\":[0.5,3]"))), 0);
    const cm__recorded *r = g->recorded;
    assert_non_null(r);
    assert_int_equal(r->n_kernels, 3);
    assert_int_equal(r->precision, CM_PRECISION_AMP_BF16);
    assert_int_equal(r->kernels[0].phase, CM_FORWARD);
    assert_string_equal(r->kernels[0].kind, "fused");
    assert_true(cm__poly_at(&r->kernels[0].moved[2], 2) == 136);
    assert_int_equal(r->kernels[1].phase, CM_BACKWARD);
    assert_null(r->kernels[1].kind);
    assert_true(cm__poly_at(&r->kernels[2].random, 4) == 5);
    cm_graph_free(g);
}

/* The types of generated kernels are the same in fp32 and tf32. Inference, recomputation and other precisions have
   other kernels. */
static void a_step_has_them_in_its_precision_only(void **state)
{
    (void)state;
    static const struct {
        cm_train_options options;
        bool             has;
    } cases[] = {
        {{.precision = CM_PRECISION_FP32}, true},
        {{.precision = CM_PRECISION_TF32}, true},
        {{.precision = CM_PRECISION_AMP_BF16}, false},
        {{.precision = CM_PRECISION_FP32, .inference = true}, false},
        {{.precision = CM_PRECISION_FP32, .recompute = CM_RECOMPUTE_FULL}, false},
    };
    cm_graph *g = accepted(COMPILED("tf32", GRAPH("forward", KERNEL("\"fused\"", "\"moved4\":[64,0]"))), 0);
    for (size_t i = 0; i < COUNT(cases); i++) {
        cm_graph *step = trained(g, cases[i].options);
        assert_int_equal(step->recorded != NULL, cases[i].has);
        cm_graph_free(step);
    }
    cm_graph_free(g);
}

#define LOOPS(text) TRACE("\"loss\":-1,\"outputs\":[1]," text, T("[[1,0],8]", "fp32", "input") "," X("[[1,0],8]"), OP("aten::relu", "[0]", "[1]"))

static void loops_store_bytes_and_arguments_may_be_kept(void **state)
{
    (void)state;
    cm_graph *g = accepted(LOOPS("\"keeps_arguments\":true,\"loops\":{\"iterations\":12,\"stored_bytes\":[64,8]}"), 0);
    cm_graph *step = trained(g, (cm_train_options){.precision = CM_PRECISION_FP32});
    assert_true(step->jax.keeps_arguments && step->jax.iterations == 12 && cm__poly_at(&step->jax.stored, 2) == 136);
    cm_graph_free(step);
    cm_graph_free(g);
}

/* Captures of older releases have no sizes; some have no kernels at all. */
static void kernels_without_sizes_are_not_used(void **state)
{
    (void)state;
    static const char *const texts[] = {
        COMPILED("fp32", GRAPH("forward", "{\"kernel\":\"k\"}")),
        COMPILED("fp32", GRAPH("forward", KERNEL("\"fused\"", "\"moved4\":[1,2]") ",{\"kernel\":\"k\"}")),
        COMPILED("fp32", ""),
        COMPILED("another", GRAPH("forward", KERNEL("\"fused\"", "\"moved4\":[1,2]"))),
    };
    for (size_t i = 0; i < COUNT(texts); i++) {
        cm_graph *g = accepted(texts[i], 0);
        assert_null(g->recorded);
        cm_graph_free(g);
    }
}

static void nonsense_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *reason;
    } cases[] = {
        {COMPILED("fp32", GRAPH("forward", KERNEL("\"magic\"", "\"moved4\":[1,2]"))), "its kind is not known"},
        {COMPILED("fp32", GRAPH("forward", KERNEL("7", "\"moved4\":[1,2]"))), "its kind is not known"},
        {COMPILED("fp32", GRAPH("forward", KERNEL("\"fused\"", "\"moved4\":[1]"))), "'moved4' is not a pair of numbers"},
        {COMPILED("fp32", GRAPH("forward", KERNEL("\"fused\"", "\"moved1\":[1,1e300]"))), "'moved1' is not a pair of numbers"},
        {COMPILED("fp32", GRAPH("forward", KERNEL("\"fused\"", "\"sums\":\"many\""))), "'sums' is not a pair of numbers"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        cm_graph *g = NULL;
        cm_diag   diag = {0};
        assert_int_equal(import(cases[i].text, 0, &g, &diag), CM_ERR_FORMAT);
        assert_string_equal(diag.reason, cases[i].reason);
        assert_string_equal(diag.place, "generated kernel 0");
    }
}

#define ANSWERED(plan, xla)                                                                                            \
    TRACE("\"loss\":-1,\"outputs\":[1],\"plan\":" plan ",\"xla\":" xla, T("[[1,0],8]", "fp32", "input") "," X("[[1,0],8]"), \
          OP("aten::relu", "[0]", "[1]"))
#define PLAN "{\"tp\":2,\"cp\":1,\"dp\":4,\"zero\":3,\"ep\":1}"
#define XLA(batch, peak) "{\"device\":\"google-tpu-v5e\",\"devices\":8,\"batch\":" batch ",\"fits\":true,\"peak_bytes\":" peak ",\"cycles\":7}"

static void answers_of_a_chips_compiler_are_read(void **state)
{
    (void)state;
    cm_graph *g = accepted(ANSWERED(PLAN, XLA("16", "1000")), 0);
    assert_non_null(g->compiled);
    assert_string_equal(g->compiled->device, "google-tpu-v5e");
    assert_int_equal(g->compiled->batch, 16);
    assert_int_equal(g->compiled->plan.devices, 8);
    assert_int_equal(g->compiled->plan.zero, 3);
    assert_true(g->compiled->fits && g->compiled->peak_bytes == 1000 && g->compiled->cycles == 7);
    cm_graph_free(g);
    static const char *const without[] = {ANSWERED(PLAN, "null"), ANSWERED("7", XLA("1", "0")), ANSWERED("{}", "[1]")};
    for (size_t i = 0; i < COUNT(without); i++) {
        g = accepted(without[i], 0);
        assert_null(g->compiled);
        cm_graph_free(g);
    }
}

static void answers_out_of_range_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *reason;
    } cases[] = {
        {ANSWERED(PLAN, XLA("0", "1")), "the compiler's answer has no device, number of devices or batch"},
        {ANSWERED(PLAN, "{\"batch\":1,\"devices\":1}"), "the compiler's answer has no device, number of devices or batch"},
        {ANSWERED(PLAN, XLA("1", "-1")), "'peak_bytes' of the compiler is out of range"},
        {ANSWERED(PLAN, XLA("1", "1e300")), "'peak_bytes' of the compiler is out of range"},
        {LOOPS("\"loops\":{\"iterations\":0,\"stored_bytes\":[64,8]}"), "'loops' has no iterations, or they store nothing"},
        {LOOPS("\"loops\":{\"iterations\":2,\"stored_bytes\":[-1,8]}"), "'loops' has no iterations, or they store nothing"},
        {LOOPS("\"loops\":{\"iterations\":2,\"stored_bytes\":[64]}"), "'stored_bytes' is not a pair of numbers"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        cm_graph *g = NULL;
        cm_diag   diag = {0};
        assert_int_equal(import(cases[i].text, 0, &g, &diag), CM_ERR_FORMAT);
        assert_string_equal(diag.reason, cases[i].reason);
    }
    static const char *const plans[] = {"{\"tp\":0,\"cp\":1,\"dp\":4,\"zero\":3,\"ep\":1}",
                                        "{\"tp\":1048576,\"cp\":1048576,\"dp\":1048576,\"zero\":3,\"ep\":1}"};
    for (size_t i = 0; i < COUNT(plans); i++) {
        cm_plan plan = {0};
        json_t *root = json_pack("{s:o}", "plan", json_loads(plans[i], 0, NULL));
        assert_false(cm__trace_plan(root, &plan));
        assert_int_equal(plan.devices, 0);
        json_decref(root);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_are_read_with_their_pass), cmocka_unit_test(loops_store_bytes_and_arguments_may_be_kept), cmocka_unit_test(a_step_has_them_in_its_precision_only),
        cmocka_unit_test(kernels_without_sizes_are_not_used), cmocka_unit_test(nonsense_is_refused),
        cmocka_unit_test(answers_of_a_chips_compiler_are_read), cmocka_unit_test(answers_out_of_range_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
