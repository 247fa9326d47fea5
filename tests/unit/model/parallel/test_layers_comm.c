/* SPDX-License-Identifier: Apache-2.0 */
/* test_layers_comm.c - communication within layers. */
#include "graph/releases.h"
#include "plan_case.h"
#include "model/parallel/comm.h"
#include "model/time/factors.h"

static cm_device *d;
static cm_fabric *f; /* of its node */

static int begin(void **state)
{
    (void)state;
    return cm_device_load("nvidia-h200", &d, &diag) || cm_fabric_new(d, NULL, &f, &diag);
}

static int end(void **state)
{
    (void)state;
    cm_fabric_free(f);
    cm_device_free(d);
    return 0;
}

/* With expert parallelism a device has the same FLOP and fewer parameters, and tokens are exchanged. */
static void experts(void **state)
{
    (void)state;
    cm__ctx *ctx = cm__ctx_new(&diag);
    if (setjmp(ctx->trap)) fail_msg("%s", diag.reason);
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
    assert_true(a.all[1].forward_comm_s == 0);
    is(b.all[1].forward_comm_s - b.all[1].backward_comm_s, shared.host_route_s); /* the host reads counts in forward */
    assert_true(shared.host_route_s > 0);
    cm_graph_free(step);
    cm__ctx_free(ctx);
}

/* The first layer of one sample. */
static cm__part first_layer(cm__ctx *ctx, cm_fabric *on, cm_graph *step, cm_runtime runtime,
                            cm_plan plan)
{
    cm_predict_options options = {.runtime = runtime, .plan = plan};
    cm__step_model     m = cm__step_model_new(ctx, step, d, &options, NULL);
    cm__timed         *timed = cm__alloc_array(ctx, (size_t)m.calls->n_calls, sizeof *timed);
    return cm__parts_new(ctx, &m, on, 1, plan.cp > 1 ? plan.cp : 1, timed).all[1];
}

/* Bytes of 4,096 tokens of 1,024 numbers in bf16, with two experts each. All-to-all sends each copy; today's
   dispatchers send a token once to each device that has experts for it, 4 (1 - (3/4)^2) = 1.75 of four. Of two nodes a
   token reaches 1.5, and the slower link counts. Inside a node another micro-batch hides all of it. */
static void dispatched(void **state)
{
    (void)state;
    cm__ctx *ctx = cm__ctx_new(&diag);
    if (setjmp(ctx->trap)) fail_msg("%s", diag.reason);
    static const char model[] = "mixtral:layers=1,hidden=1024,heads=8,kv_heads=8,ffn=4096,seq=4096,vocab=512,"
                                "experts=8,top_k=2";
    cm_plan   plan = {.tp = 1, .ep = 4, .cp = 1}, behind = plan;
    double    once = 4096.0 * 1024 * 2;
    cm__group all = {4, 4};
    cm_graph *step = step_of(model, CM_RECOMPUTE_NONE);
    is(first_layer(ctx, f, step, CM_RUNTIME_MEGATRON, plan).backward_comm_s,
       2 * cm__comm_time(f, CM__ALL_TO_ALL, all, 1.75 * once));
    cm_fabric *two; /* nodes of two devices */
    cm__group  pair = {2, 1};
    if (cm_fabric_new(d, "node=2,net=400Gb", &two, &diag)) fail_msg("%s", diag.reason);
    is(first_layer(ctx, two, step, CM_RUNTIME_MEGATRON, plan).backward_comm_s,
       2 * cm__comm_time(two, CM__ALL_TO_ALL, pair, 1.5 * once));
    cm_fabric_free(two);
    behind.async_experts = true;
    is(first_layer(ctx, f, step, CM_RUNTIME_MEGATRON, behind).backward_comm_s, 0);
    is(first_layer(ctx, f, step, CM_RUNTIME_MEGATRON, behind).forward_comm_s, 0);
    step->asked.software = cm__software_of_year(2025);
    is(first_layer(ctx, f, step, CM_RUNTIME_MEGATRON, plan).backward_comm_s,
       2 * cm__comm_time(f, CM__ALL_TO_ALL, all, 2 * once));
    cm_graph_free(step);
    cm__ctx_free(ctx);
}

/* The first layer's communication with tensor parallelism 2: of Megatron-LM 2023, of Megatron Core, and in pieces. */
static cm__part layer_of(cm__ctx *ctx, cm_fabric *on, cm_graph *step, int32_t software, bool pieces)
{
    step->asked.software = cm__software_of_year(software);
    return first_layer(ctx, on, step, CM_RUNTIME_MEGATRON,
                       (cm_plan){.tp = 2, .ep = 1, .cp = 1, .sequence_parallel = true, .async_tensor = pieces});
}

/* Forward waits for every sum. In backward the sums of input gradients run behind weight gradients, which last longer in
   a wide layer; the gathers of output gradients remain, half of the bytes. */
static void behind_products(void **state)
{
    (void)state;
    cm__ctx *ctx = cm__ctx_new(&diag);
    if (setjmp(ctx->trap)) fail_msg("%s", diag.reason);
    cm_graph *step = step_of("llama:layers=1,hidden=4096,heads=32,ffn=16384,seq=4096,vocab=1024", CM_RECOMPUTE_NONE);
    cm__part  old = layer_of(ctx, f, step, 2023, false), core = layer_of(ctx, f, step, 0, false),
              pieces = layer_of(ctx, f, step, 0, true);
    is(core.forward_comm_s, old.forward_comm_s);
    is(pieces.forward_comm_s, core.forward_comm_s / 2);
    assert_true(core.backward_comm_s > 0.3 * old.backward_comm_s && core.backward_comm_s < 0.7 * old.backward_comm_s);
    is(pieces.backward_comm_s, core.backward_comm_s / 2);
    cm_fabric *apart; /* one device per node: pieces cannot be written into the memory of another node */
    if (cm_fabric_new(d, "node=1,net=800Gb", &apart, &diag)) fail_msg("%s", diag.reason);
    is(layer_of(ctx, apart, step, 0, true).forward_comm_s, layer_of(ctx, apart, step, 0, false).forward_comm_s);
    cm_fabric_free(apart);
    cm_graph_free(step);
    cm__ctx_free(ctx);
}

/* Both reduce-scatters of a layer's forward pass and the all-gathers after them copy a tensor of all tokens in
   PyTorch. In pieces, each reduce-scatter reads it once and writes half of it. */
static void reordered(void **state)
{
    (void)state;
    cm__ctx *ctx = cm__ctx_new(&diag);
    if (setjmp(ctx->trap)) fail_msg("%s", diag.reason);
    cm_graph *step = step_of("llama:layers=1,hidden=4096,heads=32,ffn=16384,seq=4096,vocab=1024", CM_RECOMPUTE_NONE);
    cm_plan   plan = {.tp = 2, .ep = 1, .cp = 1, .sequence_parallel = true};
    double    bytes = 2.0 * 4096 * 4096;
    double    rate = cm__time_factors.reached_bandwidth * cm_device_main_memory(d)->bw_bytes_s.value;
    cm__part  old = layer_of(ctx, f, step, 2023, false), torch;
    step->asked.software = cm__software_of_year(0);
    torch = first_layer(ctx, f, step, CM_RUNTIME_TORCH_EAGER, plan);
    is(torch.forward_comm_s, old.forward_comm_s + 2 * 2 * 2 * bytes / rate);
    plan.async_tensor = true;
    torch = first_layer(ctx, f, step, CM_RUNTIME_TORCH_EAGER, plan);
    is(torch.forward_comm_s, old.forward_comm_s / 2 + 2 * 1.5 * bytes / rate);
    cm_graph_free(step);
    cm__ctx_free(ctx);
}

/* The backward pass of a wide layer in pieces. Llama adds the input gradients of three products, then of two, before the
   reduce-scatters, which PyTorch then runs whole. GPT has one product before each: all exchanges are in pieces. */
static void several_products(void **state)
{
    (void)state;
    cm__ctx *ctx = cm__ctx_new(&diag);
    if (setjmp(ctx->trap)) fail_msg("%s", diag.reason);
    cm_graph *three = step_of("llama:layers=1,hidden=4096,heads=32,ffn=16384,seq=4096,vocab=1024", CM_RECOMPUTE_NONE);
    cm_graph *one = step_of("gpt:layers=1,hidden=4096,heads=32,ffn=16384,seq=4096,vocab=1024,dropout=0,"
                            "embed_dropout=0,attention_dropout=0", CM_RECOMPUTE_NONE);
    cm_plan   plan = {.tp = 2, .ep = 1, .cp = 1, .sequence_parallel = true, .async_tensor = true};
    double    bytes = 2.0 * 4096 * 4096;
    cm__group pair = {2, 2};
    double    gather = cm__comm_time(f, CM__ALL_GATHER, pair, bytes);
    double    scatter = cm__comm_time(f, CM__REDUCE_SCATTER, pair, bytes);
    double    copy = bytes / (cm__time_factors.reached_bandwidth * cm_device_main_memory(d)->bw_bytes_s.value);
    cm__part  llama = first_layer(ctx, f, three, CM_RUNTIME_TORCH_COMPILE, plan);
    cm__part  gpt = first_layer(ctx, f, one, CM_RUNTIME_TORCH_COMPILE, plan);
    double added = (2 + 1) * copy / 2; /* read beside the copy: two more gradients, then one; half of them is counted */
    is(llama.backward_comm_s, 2 * (gather / 2 + scatter + 2 * copy) + added);
    is(gpt.backward_comm_s, 2 * (gather / 2 + scatter / 2 + 1.5 * copy));
    cm_graph_free(three);
    cm_graph_free(one);
    cm__ctx_free(ctx);
}

/* A recomputed layer gathers its tokens twice and scatters the output of attention, but not that of its last product,
   which is not repeated. The backward pass gathers and scatters twice. Each exchange has a copy of 2 n bytes. */
static void recomputed(void **state)
{
    (void)state;
    cm__ctx *ctx = cm__ctx_new(&diag);
    if (setjmp(ctx->trap)) fail_msg("%s", diag.reason);
    cm_graph *step = step_of("llama:layers=1,hidden=4096,heads=32,ffn=16384,seq=4096,vocab=1024", CM_RECOMPUTE_FULL);
    cm_plan   plan = {.tp = 2, .ep = 1, .cp = 1, .sequence_parallel = true};
    double    bytes = 2.0 * 4096 * 4096;
    cm__group pair = {2, 2};
    double    gather = cm__comm_time(f, CM__ALL_GATHER, pair, bytes);
    double    scatter = cm__comm_time(f, CM__REDUCE_SCATTER, pair, bytes);
    double    copy = bytes / (cm__time_factors.reached_bandwidth * cm_device_main_memory(d)->bw_bytes_s.value);
    cm__part  torch = first_layer(ctx, f, step, CM_RUNTIME_TORCH_COMPILE, plan);
    is(torch.backward_comm_s, 4 * gather + 3 * scatter + 7 * 2 * copy + (2 + 1) * copy / 2);
    cm_graph_free(step);
    cm__ctx_free(ctx);
}

/* Exchanges that move bytes in the device's memory leave less power for a step at its limit than those that do not. */
static void exchanges_draw_power(void **state)
{
    (void)state;
    cm__ctx *ctx = cm__ctx_new(&diag);
    if (setjmp(ctx->trap)) fail_msg("%s", diag.reason);
    cm_graph          *step = step_of("llama:layers=1,hidden=8192,heads=64,ffn=28672,seq=8192,vocab=1024",
                                      CM_RECOMPUTE_NONE);
    cm_predict_options options = {.runtime = CM_RUNTIME_TORCH_COMPILE, .plan = {.tp = 1, .ep = 1}};
    cm__step_model     m = cm__step_model_new(ctx, step, d, &options, NULL);
    cm__timed         *timed = cm__alloc_array(ctx, (size_t)m.calls->n_calls, sizeof *timed);
    double             clock[2], seconds = 0.02, bytes[2] = {0, 0.02 * 2e12};
    for (int i = 0; i < 2; i++) {
        cm__step_time(&m, 2, timed);
        cm__exchanges sent = {seconds, bytes[i]};
        clock[i] = cm__step_throttle(&m, 2, sent, timed).clock;
    }
    assert_true(clock[0] < 1 && clock[1] < clock[0]);
    cm_graph_free(step);
    cm__ctx_free(ctx);
}

/* Four of two replicas' tensor-parallel devices have two of eight experts each, whole: a quarter of the experts instead
   of a half of each, and the same FLOP but for the router, which every device computes. */
static void whole_experts(void **state)
{
    (void)state;
    cm__ctx *ctx = cm__ctx_new(&diag);
    if (setjmp(ctx->trap)) fail_msg("%s", diag.reason);
    cm_graph *step = step_of("mixtral:layers=2,hidden=256,heads=4,kv_heads=4,ffn=512,seq=64,vocab=512,experts=8,"
                             "top_k=2", CM_RECOMPUTE_NONE);
    cm_plan            plan = {.tp = 2, .dp = 2, .ep = 1, .cp = 1, .sequence_parallel = true};
    cm_predict_options options = {.runtime = CM_RUNTIME_MEGATRON, .plan = plan};
    cm__step_model     divided = cm__step_model_new(ctx, step, d, &options, NULL);
    options.plan.ep = 4;
    cm__step_model whole = cm__step_model_new(ctx, step, d, &options, NULL);
    is(flop_of(whole.calls), flop_of(divided.calls));
    size_t     calls = (size_t)whole.calls->n_calls + (size_t)divided.calls->n_calls;
    cm__timed *timed = cm__alloc_array(ctx, calls, sizeof *timed);
    cm__parts  a = cm__parts_new(ctx, &divided, f, 4, 1, timed), b = cm__parts_new(ctx, &whole, f, 4, 1, timed);
    is(a.parameters - b.parameters, 2 * 3 * 8 * 256 * 512 * (1.0 / 2 - 1.0 / 4));
    cm_graph_free(step);
    cm__ctx_free(ctx);
}

/* Products of 8 x 4,096 tokens that a device of eight shares take less time than their exchange over a slow link, which
   then shows all of it but what they last: the answer lies between the exchange and one of its pieces. */
static void short_products(void **state)
{
    (void)state;
    cm__ctx *ctx = cm__ctx_new(&diag);
    if (setjmp(ctx->trap)) fail_msg("%s", diag.reason);
    cm_graph  *step = step_of("llama:layers=1,hidden=1024,heads=8,ffn=4096,seq=4096,vocab=1024", CM_RECOMPUTE_NONE);
    cm_fabric *slow;
    if (cm_fabric_new(d, "node=8,link=10GB", &slow, &diag)) fail_msg("%s", diag.reason);
    cm_plan  plan = {.tp = 8, .ep = 1, .cp = 1, .sequence_parallel = true};
    cm__part whole = first_layer(ctx, slow, step, CM_RUNTIME_MEGATRON, plan);
    plan.async_tensor = true;
    cm__part pieces = first_layer(ctx, slow, step, CM_RUNTIME_MEGATRON, plan);
    assert_true(pieces.forward_comm_s < whole.forward_comm_s);
    assert_true(pieces.forward_comm_s > 0.5 * whole.forward_comm_s);
    assert_true(pieces.forward_comm_s >= whole.forward_comm_s - pieces.forward_s);
    cm_fabric_free(slow);
    cm_graph_free(step);
    cm__ctx_free(ctx);
}

/* Context parallelism 2 of 32 heads that share keys by fours. Megatron-LM exchanges those of 8 heads. PyTorch
   exchanges those of 32, and gradients in fp32 twice; compiled graphs wait for it, eager ones run it behind long
   attention, but for the last exchange. It merges one block in forward, and adds both in backward. */
static void context(void **state)
{
    (void)state;
    cm__ctx *ctx = cm__ctx_new(&diag);
    if (setjmp(ctx->trap)) fail_msg("%s", diag.reason);
    cm_graph *step = step_of("llama:layers=1,hidden=4096,heads=32,kv_heads=8,ffn=16384,seq=32768,vocab=1024",
                             CM_RECOMPUTE_NONE);
    cm_plan   plan = {.tp = 1, .ep = 1, .cp = 2};
    double    shared = 2.0 * 2 * 32768 * 1024, all = 4 * shared;
    cm__group pair = {2, 2};
    double    gather = cm__comm_time(f, CM__ALL_GATHER, pair, all);
    double    hop = cm__comm_time(f, CM__REDUCE_SCATTER, pair, 2 * all);
    double    rate = cm__time_factors.reached_bandwidth * cm_device_main_memory(d)->bw_bytes_s.value;
    double    numbers = 16384.0 * 4096, added = 2 * 46 * numbers / rate;
    cm__part  megatron = first_layer(ctx, f, step, CM_RUNTIME_MEGATRON, plan);
    is(megatron.forward_comm_s, cm__comm_time(f, CM__ALL_GATHER, pair, shared));
    cm__part compiled = first_layer(ctx, f, step, CM_RUNTIME_TORCH_COMPILE, plan);
    is(compiled.forward_comm_s, gather + 10 * numbers / rate);
    is(compiled.backward_comm_s, gather + 2 * hop + added);
    cm__part eager = first_layer(ctx, f, step, CM_RUNTIME_TORCH_EAGER, plan);
    is(eager.forward_comm_s, 42 * numbers / rate);
    is(eager.backward_comm_s, hop + added);
    cm_graph_free(step);
    cm__ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(behind_products),
        cmocka_unit_test(reordered),
        cmocka_unit_test(several_products),
        cmocka_unit_test(recomputed),
        cmocka_unit_test(exchanges_draw_power),
        cmocka_unit_test(whole_experts),
        cmocka_unit_test(short_products),
        cmocka_unit_test(context),
        cmocka_unit_test(dispatched),
        cmocka_unit_test(experts),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
