/* SPDX-License-Identifier: Apache-2.0 */
/* test_shards.c - what one device of a plan stores: ZeRO, accumulation, tensor and pipeline parallelism. */
#include "base/ctx.h"
#include "graph/plan/counts.h"
#include "memory_case.h"
#include "model/memory/footprint.h"

/* ZeRO: eight devices share states, then gradients, then weights. Each device updates an eighth. */
static void test_zero(void **state)
{
    (void)state;
    cm_graph *step = step_of("uno", CM_PRECISION_FP32, CM_OPTIMIZER_ADAM);
    double    p = parameter_bytes(step);
    for (int zero = 0; zero <= 3; zero++) {
        cm_memory_use use = use_of(step, spread((cm_plan){.dp = 8, .zero = zero, .accumulate = 2}), 1, false);
        near(use.categories[CM_CATEGORY_ALGORITHM], 2 * p / (zero >= 1 ? 8 : 1), 1);
        near(use.categories[CM_CATEGORY_GRADIENTS], p / (zero >= 2 ? 8 : 1), 1);
        near(use.categories[CM_CATEGORY_WEIGHTS_BIASES], p / (zero >= 3 ? 8 : 1), 1);
    }
    cm_graph_free(step);
}

/* A small Llama with 16-bit weights beside fp32 ones. */
static cm_graph *fsdp_step(cm_graph **forward)
{
    cm_graph        *step;
    cm_train_options o = {.precision = CM_PRECISION_AMP_BF16, .optimizer = CM_OPTIMIZER_ADAMW, .master = true};
    assert_int_equal(cm_graph_load("llama:layers=4,hidden=256,heads=4,ffn=512,vocab=1000,seq=64", NULL, forward, NULL),
                     CM_OK);
    assert_int_equal(cm_graph_train(*forward, &o, &step, NULL), CM_OK);
    return step;
}

/* FSDP's mixed precision: fp32 shards of weights, gradients and states. ZeRO 2 also keeps whole 16-bit weights. */
static void test_fsdp(void **state)
{
    (void)state;
    cm_graph *forward, *step = fsdp_step(&forward);
    double p = parameter_bytes(step); /* in fp32 */
    for (int zero = 2; zero <= 3; zero++) {
        cm_memory_options options = {.runtime = CM_RUNTIME_TORCH_EAGER,
                                     .plan = {.dp = 8, .zero = zero, .accumulate = 2, .micro_batch = 1}};
        cm_memory_use     use = use_of(step, options, 1, false);
        near(use.categories[CM_CATEGORY_ALGORITHM], 2 * p / 8, 1);
        near(use.categories[CM_CATEGORY_GRADIENTS], p / 8, 1);
        double positions = 64 * 64 * 4; /* angles of the rotary embedding, a buffer */
        near(use.categories[CM_CATEGORY_WEIGHTS_BIASES], p / 8 + (zero == 2 ? p / 2 : 0), positions);
    }
    cm_graph_free(step);
    cm_graph_free(forward);
}

/* Activations of eight layers on one device: if those of four are in host memory, half of what offloading all of them
   saves is saved. */
static void test_some_layers_offloaded(void **state)
{
    (void)state;
    cm_graph *step = step_of("llama:layers=8,hidden=64,heads=2,ffn=4096,seq=64,vocab=64", CM_PRECISION_FP32, CM_OPTIMIZER_SGD);
    double    bytes[3];
    for (int k = 0; k < 3; k++) {
        cm_plan p = {.offload_activations = k > 0, .offload_layers = k == 1 ? 4 : 0};
        bytes[k] = use_of(step, spread(p), 32, false).categories[CM_CATEGORY_INPUT_OUTPUT];
    }
    near(bytes[0] - bytes[1], (bytes[0] - bytes[2]) / 2, 0.02 * bytes[0]);
    assert_true(bytes[2] < 0.5 * bytes[0]);
    cm_graph_free(step);
}

/* Two stages of two layers: only the last two have experts, so the last stage has all of them, half of the other
   layers and the head. */
static void test_stages_of_experts(void **state)
{
    (void)state;
    cm_graph *step = step_of("qwen3:layers=4,hidden=64,heads=4,kv_heads=4,ffn=128,vocab=100,seq=8,tied=0,experts=8,"
                             "top_k=2,expert_ffn=256,dense_layers=2", CM_PRECISION_FP32, CM_OPTIMIZER_ADAM);
    cm_memory_use use = use_of(step, spread((cm_plan){.pp = 2, .accumulate = 2}), 2, false);
    double        words = 64 * 100, experts = 2 * 8 * 3 * 64 * 256, router = 2 * 8 * 64, dense = 2 * 3 * 64 * 128;
    double        others = parameter_bytes(step) / 4 - experts - 2 * words;
    double        last = experts + router + (others - router - dense - 64) / 2 + 64 + words; /* 64: the last norm */
    near(use.categories[CM_CATEGORY_GRADIENTS], 4 * last, 1);
    near(use.categories[CM_CATEGORY_ALGORITHM], 8 * last, 1);
    cm_graph_free(step);
}

/* PyTorch's pipelines reduce gradients after the last micro-batch: until then a stage has them whole, in fp32, beside
   whole 16-bit weights and fp32 shards. */
static void test_fsdp_in_stages(void **state)
{
    (void)state;
    cm_graph *forward, *step = fsdp_step(&forward);
    cm_memory_options options = {.runtime = CM_RUNTIME_TORCH_EAGER,
                                 .plan = {.dp = 8, .pp = 2, .zero = 2, .accumulate = 2, .micro_batch = 1}};
    cm_memory_use     waiting = use_of(step, options, 1, false);
    double            positions = 64 * 64 * 4; /* angles of the rotary embedding, a buffer */
    near(waiting.categories[CM_CATEGORY_GRADIENTS],
         waiting.categories[CM_CATEGORY_WEIGHTS_BIASES] / (1.0 / 8 + 1.0 / 2), 2 * positions);
    options.plan.pp = 1; /* reduced after each micro-batch */
    cm_memory_use reduced = use_of(step, options, 1, false);
    near(reduced.categories[CM_CATEGORY_GRADIENTS], parameter_bytes(step) / 8, 1);
    cm_graph_free(step);
    cm_graph_free(forward);
}

/* Gradients of earlier micro-batches exist at the peak of activations. */
static void test_accumulation(void **state)
{
    (void)state;
    cm_graph     *step = step_of("resnet50", CM_PRECISION_AMP_BF16, CM_OPTIMIZER_MOMENTUM);
    double        p = parameter_bytes(step);
    cm_memory_use once = use_of(step, (cm_memory_options){0}, 64, false);
    cm_memory_use many = use_of(step, (cm_memory_options){.plan = {.accumulate = 4}}, 64, false);
    assert_true(once.categories[CM_CATEGORY_GRADIENTS] < 0.5 * p);
    near(many.categories[CM_CATEGORY_GRADIENTS], p, 1);
    cm_graph_free(step);
}

/* Tensor and pipeline parallel devices store their part of the weights. Split activations shrink, others do not. */
static void test_tensor_and_pipeline(void **state)
{
    (void)state;
    cm_graph     *step = step_of("gpt2", CM_PRECISION_AMP_BF16, CM_OPTIMIZER_ADAMW);
    cm_memory_use one = use_of(step, spread((cm_plan){0}), 8, false);
    cm_memory_use four = use_of(step, spread((cm_plan){.tp = 4}), 8, false);
    cm_memory_use sequence = use_of(step, spread((cm_plan){.tp = 4, .sequence_parallel = true}), 8, false);
    cm_memory_use stages = use_of(step, spread((cm_plan){.pp = 4}), 8, false);
    double        io = one.categories[CM_CATEGORY_INPUT_OUTPUT];
    near(four.categories[CM_CATEGORY_WEIGHTS_BIASES], one.categories[CM_CATEGORY_WEIGHTS_BIASES] / 4,
         1024 * 8); /* position ids of 64 bits are not divided */
    /* the logits share the embedding table */
    double table = 50257 * 768, layer = 12 * 768 * 768 + 13 * 768, positions = 1024 * 768;
    near(stages.categories[CM_CATEGORY_WEIGHTS_BIASES], 4 * (table + 3 * layer),
         4 * positions + 1024 * 8 + 4 * 2 * 768);
    assert_true(four.categories[CM_CATEGORY_INPUT_OUTPUT] < 0.6 * io);
    assert_true(four.categories[CM_CATEGORY_INPUT_OUTPUT] > io / 4);
    assert_true(sequence.categories[CM_CATEGORY_INPUT_OUTPUT] < four.categories[CM_CATEGORY_INPUT_OUTPUT]);
    cm_graph_free(step);
}

/* A table of words that also makes the logits gets two gradients. Each device has those of its own rows, in the sum and
   before it. Devices that divide tokens have the whole table. */
static void test_tied_gradients(void **state)
{
    (void)state;
    cm_graph     *step = step_of("gpt:layers=1,hidden=64,heads=4,vocab=40000,seq=8,tied=1", CM_PRECISION_FP32,
                                 CM_OPTIMIZER_ADAMW);
    double        p = parameter_bytes(step), table = 4.0 * 40000 * 64;
    cm_memory_use one = use_of(step, spread((cm_plan){.accumulate = 2}), 1, false);
    cm_memory_use four = use_of(step, spread((cm_plan){.tp = 4, .accumulate = 2}), 1, false);
    cm_memory_use tokens = use_of(step, spread((cm_plan){.cp = 4, .accumulate = 2}), 1, false);
    cm_memory_use stages = use_of(step, spread((cm_plan){.tp = 4, .pp = 1, .sequence_parallel = true, .accumulate = 2}), 1,
                                  false);
    near(one.categories[CM_CATEGORY_GRADIENTS], p, 1);
    near(four.categories[CM_CATEGORY_GRADIENTS], p / 4, 1);
    near(stages.categories[CM_CATEGORY_GRADIENTS], p / 4, 1);
    near(tokens.categories[CM_CATEGORY_GRADIENTS], p, 1);
    assert_true(one.categories[CM_CATEGORY_INPUT_OUTPUT] > table);
    assert_true(tokens.categories[CM_CATEGORY_INPUT_OUTPUT] > table);
    assert_true(four.categories[CM_CATEGORY_INPUT_OUTPUT] < table);
    cm_graph_free(step);
}

/* Plans for which cm__same_shards() holds need the same memory at the same batch size; the others of the list do not. */
static void test_same_shards(void **state)
{
    static const struct {
        cm_plan a, b;
        bool    same;
    } cases[] = {
        {{.dp = 4, .accumulate = 2}, {.dp = 8, .accumulate = 16}, true},  /* replicas that share nothing */
        {{.dp = 1, .accumulate = 2}, {.dp = 4, .accumulate = 2}, false},  /* buckets of gradients */
        {{.dp = 4, .accumulate = 1}, {.dp = 4, .accumulate = 2}, false},  /* gradients outlive backward */
        {{.dp = 4, .zero = 3, .accumulate = 2}, {.dp = 8, .zero = 3, .accumulate = 2}, false},
        {{.dp = 8, .zero = 3, .accumulate = 2}, {.dp = 8, .zero = 3, .accumulate = 4}, true},
        {{.pp = 4, .gpipe = true, .accumulate = 2}, {.pp = 4, .gpipe = true, .accumulate = 4}, false}, /* all in flight */
    };
    (void)state;
    cm_graph *step = step_of("gpt2", CM_PRECISION_AMP_BF16, CM_OPTIMIZER_ADAMW);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cm_memory_options a = {.runtime = CM_RUNTIME_TORCH_EAGER, .plan = cases[i].a};
        cm_memory_options b = {.runtime = CM_RUNTIME_TORCH_EAGER, .plan = cases[i].b};
        cm__ctx          *ctx = cm__ctx_new(NULL);
        cm__plan_fill(ctx, &a.plan);
        cm__plan_fill(ctx, &b.plan);
        assert_int_equal(cm__same_shards(&a.plan, &b.plan), cases[i].same);
        double peak = use_of(step, a, 8, false).peak_bytes, other = use_of(step, b, 8, false).peak_bytes;
        if (cases[i].same) near(peak, other, 0.5);
        else assert_true(peak < other - 1 || peak > other + 1);
        cm__ctx_free(ctx);
    }
    cm_graph_free(step);
}

/* FSDP's no_sync(): beside the shards of the last micro-batch, whole 16-bit gradients until they are added and
   divided. They are all alive when backward begins, and none when the update runs. */
static void test_no_sync(void **state)
{
    (void)state;
    cm_graph *forward, *step = fsdp_step(&forward);
    double    p = parameter_bytes(step), peak[2]; /* in fp32 */
    for (int piled = 0; piled < 2; piled++) {
        cm_memory_options options = {.runtime = CM_RUNTIME_TORCH_EAGER,
                                     .plan = {.dp = 8, .zero = 3, .accumulate = 2, .micro_batch = 1, .no_sync = piled}};
        cm_memory_use     use = use_of(step, options, 1, false);
        peak[piled] = use.peak_bytes;
        if (piled) assert_true(use.categories[CM_CATEGORY_GRADIENTS] > 0.8 * p / 2);
        else near(use.categories[CM_CATEGORY_GRADIENTS], p / 8, 1);
        options.plan.accumulate = 1; /* nothing piles up */
        cm_memory_use once = use_of(step, options, 1, false);
        options.plan.no_sync = false;
        near(once.peak_bytes, use_of(step, options, 1, false).peak_bytes, 0.5);
    }
    assert_true(peak[1] > peak[0] + 0.25 * p && peak[1] < peak[0] + 0.5 * p + 1);
    cm_graph_free(step);
    cm_graph_free(forward);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_zero), cmocka_unit_test(test_some_layers_offloaded),
        cmocka_unit_test(test_fsdp), cmocka_unit_test(test_tied_gradients),
        cmocka_unit_test(test_stages_of_experts),
        cmocka_unit_test(test_fsdp_in_stages),
        cmocka_unit_test(test_accumulation), cmocka_unit_test(test_no_sync),
        cmocka_unit_test(test_tensor_and_pipeline),
        cmocka_unit_test(test_same_shards),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
