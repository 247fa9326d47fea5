/* SPDX-License-Identifier: Apache-2.0 */
/* test_layers_comm.c - communication within layers. */
#include "plan_case.h"

/* With expert parallelism a device has the same FLOP and fewer parameters, and tokens are exchanged. */
static void experts(void **state)
{
    (void)state;
    cm__ctx *ctx = cm__ctx_new(&diag);
    if (setjmp(ctx->trap)) fail_msg("%s", diag.reason);
    cm_device *d;
    cm_fabric *f;
    if (cm_device_load("nvidia-h200", &d, &diag) || cm_fabric_new(d, NULL, &f, &diag)) fail_msg("%s", diag.reason);
    cm_graph *step = step_of("mixtral:layers=2,hidden=256,heads=4,kv_heads=4,ffn=512,seq=64,vocab=512,experts=8,"
                             "top_k=2", CM_RECOMPUTE_NONE);
    cm_predict_options options = {.runtime = CM_RUNTIME_MEGATRON, .plan = {.tp = 1, .ep = 1}};
    cm__step_model alone = cm__step_model_new(ctx, step, d, &options, NULL);
    options.plan.ep = 4;
    cm__step_model shared = cm__step_model_new(ctx, step, d, &options, NULL);
    is(flop_of(shared.calls), flop_of(alone.calls));
    size_t     calls = (size_t)shared.calls->n_calls + (size_t)alone.calls->n_calls;
    cm__timed *timed = cm__alloc_array(ctx, calls, sizeof *timed);
    cm__parts  a = cm__parts_new(ctx, &alone, f, 4, 1, timed), b = cm__parts_new(ctx, &shared, f, 4, 1, timed);
    is(a.parameters - b.parameters, 2 * 3 * 8 * 256 * 512 * (1 - 1.0 / 4));
    assert_true(a.all[1].forward_comm_s == 0 && b.all[1].forward_comm_s > 0);
    is(b.all[1].backward_comm_s, b.all[1].forward_comm_s);
    cm_graph_free(step);
    cm_fabric_free(f);
    cm_device_free(d);
    cm__ctx_free(ctx);
}

/* The first layer's communication with tensor parallelism 2: of Megatron-LM 2023, of Megatron Core, and in pieces. */
static cm__part layer_of(cm__ctx *ctx, const cm_device *d, cm_fabric *f, cm_graph *step, int32_t software, bool pieces)
{
    cm_predict_options options = {.runtime = CM_RUNTIME_MEGATRON,
                                  .plan = {.tp = 2, .ep = 1, .sequence_parallel = true, .async_tensor = pieces}};
    step->software = software;
    cm__step_model m = cm__step_model_new(ctx, step, d, &options, NULL);
    cm__timed     *timed = cm__alloc_array(ctx, (size_t)m.calls->n_calls, sizeof *timed);
    return cm__parts_new(ctx, &m, f, 1, 1, timed).all[1];
}

/* Forward waits for every sum. In backward the sums of input gradients run behind weight gradients, which last longer in
   a wide layer; the gathers of output gradients remain, half of the bytes. */
static void behind_products(void **state)
{
    (void)state;
    cm__ctx *ctx = cm__ctx_new(&diag);
    if (setjmp(ctx->trap)) fail_msg("%s", diag.reason);
    cm_device *d;
    cm_fabric *f;
    if (cm_device_load("nvidia-h200", &d, &diag) || cm_fabric_new(d, NULL, &f, &diag)) fail_msg("%s", diag.reason);
    cm_graph *step = step_of("llama:layers=1,hidden=4096,heads=32,ffn=16384,seq=4096,vocab=1024", CM_RECOMPUTE_NONE);
    cm__part  old = layer_of(ctx, d, f, step, 2023, false), core = layer_of(ctx, d, f, step, 0, false),
              pieces = layer_of(ctx, d, f, step, 0, true);
    is(core.forward_comm_s, old.forward_comm_s);
    is(pieces.forward_comm_s, core.forward_comm_s / 2);
    assert_true(core.backward_comm_s > 0.3 * old.backward_comm_s && core.backward_comm_s < 0.7 * old.backward_comm_s);
    is(pieces.backward_comm_s, core.backward_comm_s / 2);
    cm_fabric_free(f); /* one device per node: pieces cannot be written into the memory of another node */
    if (cm_fabric_new(d, "node=1,net=800Gb", &f, &diag)) fail_msg("%s", diag.reason);
    is(layer_of(ctx, d, f, step, 0, true).forward_comm_s, layer_of(ctx, d, f, step, 0, false).forward_comm_s);
    cm_graph_free(step);
    cm_fabric_free(f);
    cm_device_free(d);
    cm__ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(behind_products),
        cmocka_unit_test(experts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
