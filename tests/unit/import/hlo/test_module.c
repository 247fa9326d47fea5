/* SPDX-License-Identifier: Apache-2.0 */
/* test_module.c - the text of XLA's HLO becomes the graph that StableHLO text would. */
#include "hlo_text.h"

#define SUM  "add.1 {\n  a.1 = f32[] parameter(0)\n  b.1 = f32[] parameter(1)\n  ROOT sum.1 = f32[] add(a.1, b.1)\n}\n\n"
#define HEAD "HloModule jit_step, input_output_alias={ {0}: (0, {}, may-alias) }, entry_computation_layout={(f32[8,4]{1,0})->f32[]}\n\n"
/* loss = sum(f(x w)); the new weights are w - x^T g. `more`: instructions between product and sum; `last`: what is summed. */
#define ENTRY(more, last)                                                                                               \
    "ENTRY main.9 {\n  %x.1 = f32[6,8]{1,0} parameter(1), metadata={op_name=\"x = [\\\"}\"}\n  w.1 = f32[8,4]{1,0} parameter(0)\n"      \
    "  p.1 = f32[6,4]{1,0} dot(f32[6,8]{1,0} %x.1, w.1), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n" more      \
    "  zero.1 = f32[] constant(0)\n  loss.1 = f32[] reduce(" last ", zero.1), dimensions={0,1}, to_apply=add.1\n"        \
    "  one.1 = f32[] constant(1)\n  g.1 = f32[6,4]{1,0} broadcast(one.1), dimensions={}\n"                              \
    "  d.1 = f32[8,4]{1,0} dot(x.1, g.1), lhs_contracting_dims={0}, rhs_contracting_dims={0}\n"                          \
    "  new.1 = f32[8,4]{1,0} subtract(w.1, d.1)\n  ROOT all.1 = (f32[8,4]{1,0}, /*index=1*/f32[]) tuple(new.1, loss.1)\n}\n"

static void a_linear_layer(void **state)
{
    (void)state;
    cm_graph        *g = imported(HEAD SUM ENTRY("", "p.1"));
    const cm_tensor *y = cm__t(g, only(g, "Gemm")->outputs[0]);
    assert_int_equal(y->dims[0].per_batch, 1);
    assert_int_equal(y->dims[1].fixed, 4);
    assert_int_equal(g->optimizer, CM_OPTIMIZER_SGD);
    cm_graph *step = trained(g, (cm_train_options){0});
    assert_int_equal(step->n_warnings, 0); /* the recorded backward is the derived one */
    cm_graph_free(step);
    cm_graph_free(g);
}

/* A loop of three iterations carries a tuple; a branch takes the index that is known; a call and a fusion are inlined. */
static void computations_that_others_name(void **state)
{
    (void)state;
    cm_graph *g = imported(
        HEAD SUM
        "test.1 {\n  s.1 = (s32[], f32[6,4]{1,0}) parameter(0)\n  i.1 = s32[] get-tuple-element(s.1), index=0\n  n.1 = s32[] constant(3)\n"
        "  ROOT l.1 = pred[] compare(i.1, n.1), direction=LT\n}\n\n"
        "body.1 {\n  s.2 = (s32[], f32[6,4]{1,0}) parameter(0)\n  i.2 = s32[] get-tuple-element(s.2), index=0\n  k.1 = s32[] constant(1)\n"
        "  j.1 = s32[] add(i.2, k.1)\n  v.1 = f32[6,4]{1,0} get-tuple-element(s.2), index=1\n  t.1 = f32[6,4]{1,0} tanh(v.1)\n"
        "  ROOT r.1 = (s32[], f32[6,4]{1,0}) tuple(j.1, t.1)\n}\n\n"
        "less.1 (v.2: f32[6,4]) -> f32[6,4] {\n  v.2 = f32[6,4]{1,0} parameter(0)\n  ROOT e.1 = f32[6,4]{1,0} exponential(v.2)\n}\n\n"
        "more.1 {\n  v.3 = f32[6,4]{1,0} parameter(0)\n  ROOT c.1 = f32[6,4]{1,0} cosine(v.3)\n}\n\n"
        ENTRY("  start.1 = s32[] constant(0)\n  s.3 = (s32[], f32[6,4]{1,0}) tuple(start.1, p.1)\n"
              "  w.2 = (s32[], f32[6,4]{1,0}) while(s.3), condition=test.1, body=body.1\n"
              "  v.4 = f32[6,4]{1,0} get-tuple-element(w.2), index=1\n  which.1 = s32[] constant(1)\n"
              "  b.2 = f32[6,4]{1,0} conditional(which.1, v.4, v.4), branch_computations={less.1, more.1}\n"
              "  f.1 = f32[6,4]{1,0} fusion(b.2), kind=kLoop, calls=less.1\n", "f.1"));
    assert_int_equal(count_of(g, "Tanh"), 3);
    assert_int_equal(count_of(g, "Cos"), 1);
    assert_int_equal(count_of(g, "Exp"), 1);
    cm_graph_free(g);
}

static void refusals(void **state)
{
    (void)state;
    static const struct {
        const char *text, *place, *reason;
    } cases[] = {
        {HEAD SUM ENTRY("  q.1 = f32[6,4]{1,0} fold(p.1)\n", "q.1"), "line 13", "operation 'fold' is not known"},
        {HEAD SUM ENTRY("  q.1 = f32[6,4]{1,0} tanh(p.7)\n", "q.1"), "line 13", "a value that nothing has made at 'p.7)'"},
        {HEAD SUM ENTRY("  q.1 = f32[6,4]{1,0} conditional(p.1, p.1)\n", "q.1"), "line 13", "a branch without a computation at ''"},
        {HEAD SUM ENTRY("  q.1 = f32[6,4]{1,0} conditional()\n", "q.1"), "line 13", "a branch without an index at ''"},
        {HEAD SUM ENTRY("  q.1 = f32[6,4]{1,0} call(p.1), to_apply=no.1\n", "q.1"), "line 13", "no computation 'no.1' comes before it at ''"},
        {HEAD SUM ENTRY("  q.1 = f32[6,4]{1,0} get-tuple-element(p.1), index=1\n", "q.1"), "line 13", "a part that the tuple does not have at ''"},
        {HEAD SUM ENTRY("  q.1 = f32[?,4]{1,0} tanh(p.1)\n", "q.1"), "line 13", "a size that is not known: lower the step with arrays of known shapes at '?,4]{1,0} tanh(p.1)'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cm_graph *g = NULL;
        cm_diag   diag = {0};
        assert_true(from(cases[i].text, &g, &diag) != CM_OK);
        assert_string_equal(diag.reason, cases[i].reason);
        assert_non_null(strstr(diag.place, cases[i].place));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_linear_layer), cmocka_unit_test(computations_that_others_name), cmocka_unit_test(refusals)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
