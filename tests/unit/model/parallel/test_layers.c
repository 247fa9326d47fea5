/* SPDX-License-Identifier: Apache-2.0 */
/* test_layers.c - the parts of a step, with the host time of their collectives. */
#include "graph/releases.h"
#include "plan_case.h"
#include "model/dispatch/attention.h"
#include "model/parallel/layering.h"

/* The host launches two all-reduces forward and two backward per layer, prepares each micro-batch, and uses a
   buffer. */
static void megatron_host(void **state)
{
    (void)state;
    cm__ctx *ctx = cm__ctx_new(&diag);
    if (setjmp(ctx->trap)) fail_msg("%s", diag.reason);
    cm_device         *d = a100();
    cm_fabric         *f = fabric_of(d);
    cm_graph          *step = step_of(GPT, CM_RECOMPUTE_NONE);
    double             host[2];
    for (int shared = 0; shared < 2; shared++) {
        cm_predict_options options = {.runtime = CM_RUNTIME_MEGATRON, .plan = {.tp = shared ? 2 : 1, .ep = 1}};
        cm__step_model     m = cm__step_model_new(ctx, step, d, &options, NULL);
        cm__timed         *timed = cm__alloc_array(ctx, (size_t)m.calls->n_calls, sizeof *timed);
        cm__parts          parts = cm__parts_new(ctx, &m, f, 1, 1, timed);
        host[shared] = parts.all[2].host_s;
        assert_true(parts.buffered && parts.accumulate_s > 0 && parts.batch_host_s == m.host_batch_s);
        if (shared) is(host[1] - host[0], 4 * m.host_collective_s);
    }
    cm_graph_free(step);
    cm__ctx_free(ctx);
    cm_fabric_free(f);
    cm_device_free(d);
}

/* The host reads the loss: it waits for the last part's forward pass, beyond what launching takes. Megatron-LM of 2022
   does not. */
static void megatron_reads_loss(void **state)
{
    (void)state;
    cm__ctx *ctx = cm__ctx_new(&diag);
    if (setjmp(ctx->trap)) fail_msg("%s", diag.reason);
    cm_device *d = a100();
    cm_fabric *f = fabric_of(d);
    for (int old = 0; old < 2; old++) {
        cm_graph          *step = step_of(GPT, CM_RECOMPUTE_NONE);
        cm_predict_options options = {.runtime = CM_RUNTIME_MEGATRON, .plan = {.tp = 1, .ep = 1}};
        step->asked.software = cm__software_of_year(old ? 2022 : 0);
        cm__step_model     m = cm__step_model_new(ctx, step, d, &options, NULL);
        cm__timed         *timed = cm__alloc_array(ctx, (size_t)m.calls->n_calls, sizeof *timed);
        cm__parts          parts = cm__parts_new(ctx, &m, f, 1, 1, timed);
        const cm__part    *layer = &parts.all[1], *last = &parts.all[parts.count - 1];
        is(last->host_s - layer->host_s / layer->launches * last->launches, old ? 0 : last->forward_s);
        cm_graph_free(step);
    }
    cm__ctx_free(ctx);
    cm_fabric_free(f);
    cm_device_free(d);
}

static cm__parts parts_of(cm__ctx *ctx, const cm_graph *step, const cm_device *d, const cm_fabric *f,
                          cm_runtime runtime, cm_plan plan, const cm__twins *twins)
{
    cm_predict_options options = {.runtime = runtime, .plan = plan};
    bool               math = cm__attention_math(step, d, runtime);
    cm__common         common = cm__common_divided(ctx, step, d, runtime, &plan, math, NULL, NULL, twins);
    assert_true(!twins || common.calls->n_of < step->n_nodes / 2);
    common.layering = cm__layering_new(ctx, step, common.calls, NULL);
    cm__step_model m = cm__step_model_new(ctx, step, d, &options, &common);
    cm__timed     *timed = cm__alloc_array(ctx, (size_t)m.calls->n_calls, sizeof *timed);
    return cm__parts_new(ctx, &m, f, 2, plan.cp, timed);
}

static void same_parts(const cm__parts *a, const cm__parts *b)
{
    assert_int_equal(a->count, b->count);
    is(a->device_s, b->device_s);
    is(a->update_s, b->update_s);
    is(a->parameters, b->parameters);
    is(a->kept_bytes, b->kept_bytes);
    for (int32_t i = 0; i < a->count; i++) {
        const cm__part *x = &a->all[i], *y = &b->all[i];
        is(x->forward_s, y->forward_s);
        is(x->backward_s, y->backward_s);
        is(x->forward_comm_s, y->forward_comm_s);
        is(x->backward_comm_s, y->backward_comm_s);
        is(x->host_s, y->host_s);
        is(x->launches, y->launches);
        is(x->boundary_bytes, y->boundary_bytes);
        is(x->parameters, y->parameters);
    }
}

/* Timing one of several equal layers gives the same parts as timing all of them. */
static void equal_layers_once(void **state)
{
    (void)state;
    cm__ctx *ctx = cm__ctx_new(&diag);
    if (setjmp(ctx->trap)) fail_msg("%s", diag.reason);
    cm_device       *d = a100();
    cm_fabric       *f = fabric_of(d);
    cm_graph        *step = step_of("gpt:layers=12,hidden=256,heads=8,seq=128,vocab=1024", CM_RECOMPUTE_NONE);
    const cm__twins *twins = cm__twins_of(ctx, step);
    const cm_plan    plans[] = {{.tp = 1, .cp = 1, .ep = 1}, {.tp = 4, .cp = 1, .ep = 1}, {.tp = 1, .cp = 2, .ep = 1},
                                {.tp = 2, .cp = 2, .ep = 1, .sequence_parallel = true}};
    const cm_runtime runtimes[] = {CM_RUNTIME_TORCH_EAGER, CM_RUNTIME_MEGATRON};
    for (size_t i = 0; i < sizeof plans / sizeof *plans; i++)
        for (size_t r = 0; r < sizeof runtimes / sizeof *runtimes; r++) {
            cm__parts all = parts_of(ctx, step, d, f, runtimes[r], plans[i], NULL);
            cm__parts once = parts_of(ctx, step, d, f, runtimes[r], plans[i], twins);
            same_parts(&once, &all);
        }
    cm_graph_free(step);
    cm__ctx_free(ctx);
    cm_fabric_free(f);
    cm_device_free(d);
}

/* PyTorch keeps the first micro-batch's gradients and adds the others'; Megatron-LM adds all to its buffer. */
static void first_gradients_are_kept(void **state)
{
    (void)state;
    cm__parts parts = {.parameters = 8, .accumulate_s = 2};
    is(cm__accumulate_each(&parts, 1), 0);
    is(cm__accumulate_each(&parts, 4), 3.0 / 4 * 2 / 8);
    parts.buffered = true;
    is(cm__accumulate_each(&parts, 1), 2.0 / 8);
    is(cm__accumulate_each(&parts, 4), 2.0 / 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(megatron_host), cmocka_unit_test(megatron_reads_loss),
        cmocka_unit_test(equal_layers_once), cmocka_unit_test(first_gradients_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
