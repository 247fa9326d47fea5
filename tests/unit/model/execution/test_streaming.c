/* SPDX-License-Identifier: Apache-2.0 */
/* test_streaming.c - weights streamed layer by layer, pruned weights, and micro-batches. */
#include "graph/releases.h"
#include "chip_device.h"

static void a_slow_link_bounds_the_step(void **state)
{
    (void)state;
    answer a = ask(STREAMING("1e12", "1e8", ""), "resnet18", 1, false);
    /* 11.69 million weights of two bytes: in for forward, in again and gradients out for backward */
    assert_near(a.info.device_time_s, 2 * 2 * 11689512.0 / 1e8, 2e-2);
}

static void a_fast_link_leaves_the_arithmetic(void **state)
{
    (void)state;
    answer a = ask(STREAMING("1e12", "1e18", ""), "resnet18", 64, false);
    assert_near(a.info.device_time_s, a.flop / 1e14, 1e-2);
}

#define SKIPPING(sram, rate)                                                                                           \
    CHIP("weight-streaming", sram, rate, EFFICIENCY("1"),                                                              \
         PLACED("DRAM") ", \"sparsity\": {\"skipped\": " NUMBER("1", "1") "}")

/* With four fifths pruned, a chip that skips all zeros does a fifth of the arithmetic and streams a fifth of the
   weights. One that skips none does all of it. */
static void pruned_weights_are_skipped(void **state)
{
    (void)state;
    const cm_sparsity most = {.pruned = 0.8};
    const char       *mlp = "mlp:in=4000,hidden=3000x2000,out=1000";
    const double      weights = 4000.0 * 3000 + 3000 * 2000 + 2000 * 1000;
    answer            fast = ask_pruned(SKIPPING("1e12", "1e18"), mlp, 64, false, most);
    assert_near(fast.info.device_time_s, 0.2 * fast.flop / 1e14, 2e-2);
    assert_true(fast.info.sparsity_used);
    answer slow = ask_pruned(SKIPPING("1e12", "1e8"), mlp, 1, false, most);
    /* in for forward; in for backward while gradients go out */
    assert_near(slow.info.device_time_s, 0.2 * 2 * 2 * weights / 1e8, 2e-2);
    answer none = ask_pruned(STREAMING("1e12", "1e18", ""), mlp, 64, false, most);
    assert_near(none.info.device_time_s, none.flop / 1e14, 1e-2);
    assert_false(none.info.sparsity_used);
    assert_int_equal(ask_pruned(STREAMING("1e12", "1e18", ""), "resnet18", 1, true, (cm_sparsity){.pruned = 1}).status,
                     CM_ERR_ARGUMENT);
}

/* In mixed precision a cast stores the gradient that a product makes in 16 bits. Pruned weights have none there either:
   a tenth of the arithmetic, and with a slow link a tenth of the traffic. */
static void pruned_weights_have_no_gradient(void **state)
{
    (void)state;
    const char              *mlp = "mlp:in=4000,hidden=3000x2000,out=1000";
    const cm_train_options   mixed = {.precision = CM_PRECISION_AMP_FP16};
    const cm_predict_options dense = {.batch = 64}, sparse = {.batch = 64, .sparsity = {.pruned = 0.9}};
    const char              *chips[] = {SKIPPING("1e12", "1e18"), SKIPPING("1e12", "1e8")};
    for (size_t i = 0; i < sizeof chips / sizeof *chips; i++) {
        answer a = ask_trained(chips[i], mlp, mixed, dense), b = ask_trained(chips[i], mlp, mixed, sparse);
        assert_near(b.info.device_time_s, 0.1 * a.info.device_time_s, 2e-2);
    }
}

/* Embeddings, attention and the head of a model with repeated blocks are not pruned. */
static void blocks_alone_are_pruned(void **state)
{
    (void)state;
    const char *gpt = "gpt:layers=2,hidden=512,heads=8,seq=256,vocab=8192";
    answer      whole = ask(SKIPPING("1e12", "1e18"), gpt, 8, true);
    answer      pruned = ask_pruned(SKIPPING("1e12", "1e18"), gpt, 8, true, (cm_sparsity){.pruned = 0.9});
    double      in_blocks = 2.0 * 8 * 256 * 2 * 12 * 512 * 512; /* forward products: 12 hidden^2 weights per layer */
    assert_near(whole.info.device_time_s - pruned.info.device_time_s, 0.9 * in_blocks / 1e14, 2e-2);
}

static void layers_have_a_latency(void **state)
{
    (void)state;
    answer a = ask(STREAMING("1e12", "1e18", ", \"layer_latency\": " NUMBER("1", "s")), "resnet18", 1, false);
    assert_near(a.info.device_time_s, a.info.launches, 1e-3);
}

/* A layer of twice the width takes the same latency. */
static void the_latency_does_not_depend_on_the_width(void **state)
{
    (void)state;
    const char *chip = STREAMING("1e12", "1e18", ", \"layer_latency\": " NUMBER("1", "s"));
    answer      narrow = ask(chip, "gpt:layers=4,hidden=256,heads=4,seq=64,vocab=1000", 1, false);
    answer      wide = ask(chip, "gpt:layers=4,hidden=512,heads=8,seq=64,vocab=1000", 1, false);
    assert_near(narrow.info.device_time_s, narrow.info.launches, 1e-3);
    assert_near(wide.info.device_time_s, narrow.info.device_time_s, 1e-3);
}

/* Twice as many heads of half the width have the same products and twice as many scores. A core takes `score_latency`
   for each in forward and in backward; four cores share the scores of one. */
static void scores_take_the_time_of_a_core(void **state)
{
    (void)state;
    const char  *few = "bert:layers=2,hidden=512,heads=8,seq=256,vocab=1000";
    const char  *many = "bert:layers=2,hidden=512,heads=16,seq=256,vocab=1000";
    const char  *one = STREAMING("1e12", "1e18", ", \"score_latency\": " NUMBER("1e-6", "s"));
    const char  *four = CHIP("weight-streaming", "1e12", "1e18",
                             EFFICIENCY("1") ", \"score_latency\": " NUMBER("1e-6", "s"),
                             PLACED("DRAM") ", \"cores\": " NUMBER("4", "1"));
    const double scores = 2 * 8 * 4 * 256.0 * 256; /* layers, heads and samples more */
    answer       forward = ask(one, few, 4, true), twice = ask(one, many, 4, true);
    assert_near(twice.info.device_time_s - forward.info.device_time_s, scores * 1e-6, 1e-3);
    answer step = ask(one, few, 4, false), both = ask(one, many, 4, false);
    assert_near(both.info.device_time_s - step.info.device_time_s, 2 * scores * 1e-6, 1e-3);
    answer shared = ask(four, few, 4, true), shared_twice = ask(four, many, 4, true);
    assert_near(shared_twice.info.device_time_s - shared.info.device_time_s, scores * 1e-6 / 4, 1e-3);
}

/* Before the release with the feature wafer-gpt, causal models take `older_software` times as long, whatever bounds
   them. */
static void older_software_is_slower_for_causal_models(void **state)
{
    (void)state;
    const char *chip = STREAMING("1e12", "1e9", ", \"layer_latency\": " NUMBER("1e-3", "s") ", \"older_software\": "
                                 NUMBER("1.25", "1"));
    const char *causal = "gpt:layers=2,hidden=512,heads=8,seq=256,vocab=8192";
    const char *other = "bert:layers=2,hidden=512,heads=8,seq=256,vocab=8192";
    const struct {
        const char *model;
        int32_t     year;
        double      factor;
    } cases[] = {{causal, 2023, 1.25}, {causal, 2024, 1}, {other, 2023, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const cm_predict_options batch = {.batch = 8};
        const cm_train_options   then = {.software = cm__software_of_year(cases[i].year)};
        answer today = ask(chip, cases[i].model, 8, false), asked = ask_trained(chip, cases[i].model, then, batch);
        assert_near(asked.info.device_time_s, cases[i].factor * today.info.device_time_s, 1e-9);
    }
}

/* The chip holds a layer of 32 samples, but not the inputs of all 64 layers, 4.2 MB each in 16 bits. What it lacks goes
   out in forward, beside the 6.3 MB of a layer's weights that come in, and comes in with them in backward. */
static void inputs_of_layers_leave_the_chip(void **state)
{
    (void)state;
    const char *model = "gpt:layers=64,hidden=512,heads=8,seq=128,vocab=1000";
    answer      less = ask(STREAMING("1.5e8", "1e8", ""), model, 32, false);
    answer      more = ask(STREAMING("2e8", "1e8", ""), model, 32, false);
    assert_int_equal(less.info.micro_batch, 32);
    assert_int_equal(more.info.micro_batch, 32);
    assert_near(less.info.device_time_s - more.info.device_time_s, (2e8 - 1.5e8) / 1e8, 1e-2);
}

static void activations_bound_the_micro_batch(void **state)
{
    (void)state;
    const char *model = "bert:layers=8,hidden=512,heads=8,seq=128,vocab=1000";
    answer      a = ask(STREAMING("1e8", "1e8", ""), model, 64, false);
    answer      b = ask(STREAMING("1e12", "1e8", ""), model, 64, false);
    assert_true(a.info.micro_batch >= 1 && a.info.micro_batch < 64);
    assert_int_equal(b.info.micro_batch, 64);
    double micros = ceil(64.0 / (double)a.info.micro_batch); /* each micro-batch streams the weights */
    assert_near(a.info.launches / b.info.launches, micros, 1e-9);
    assert_int_equal(ask(STREAMING("1e4", "1e8", ""), model, 64, false).status, CM_ERR_FIT);
}

/* The chip holds the logits of 25 samples. 64 run in four times 16, 61, a prime number, in 21, 20 and 20. 17 times a
   prime number runs in 17, and a large prime number in 25. */
static void micro_batches_are_equal(void **state)
{
    (void)state;
    const char *chip = STREAMING("8.2e7", "1e8", ""), *model = "gpt:layers=2,hidden=64,heads=2,seq=64,vocab=12800";
    assert_int_equal(ask(chip, model, 64, false).info.micro_batch, 16);
    assert_int_equal(ask(chip, model, 61, false).info.micro_batch, 21);
    assert_int_equal(ask(chip, model, 17 * 1009, false).info.micro_batch, 17);
    assert_int_equal(ask(chip, model, 999999937, false).info.micro_batch, 25);
}

/* A chip that cannot store all results computes those of the blocks again, but not the logits, from which backward
   begins. */
static void the_head_is_not_computed_again(void **state)
{
    (void)state;
    const char  *model = "gpt:layers=8,hidden=512,heads=8,seq=128,vocab=16384";
    const double tokens = 8 * 128, blocks = 8 * tokens * (24.0 * 512 * 512 + 4 * 128 * 512);
    answer       small = ask(STREAMING("1e8", "1e18", ""), model, 8, false);
    answer       large = ask(STREAMING("1e12", "1e18", ""), model, 8, false);
    assert_true(small.info.recomputes && !large.info.recomputes);
    assert_near(small.info.device_time_s - large.info.device_time_s, blocks / 1e14, 3e-2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_slow_link_bounds_the_step),
        cmocka_unit_test(a_fast_link_leaves_the_arithmetic),
        cmocka_unit_test(pruned_weights_are_skipped),
        cmocka_unit_test(pruned_weights_have_no_gradient),
        cmocka_unit_test(blocks_alone_are_pruned),
        cmocka_unit_test(layers_have_a_latency),
        cmocka_unit_test(the_latency_does_not_depend_on_the_width),
        cmocka_unit_test(scores_take_the_time_of_a_core),
        cmocka_unit_test(inputs_of_layers_leave_the_chip),
        cmocka_unit_test(older_software_is_slower_for_causal_models),
        cmocka_unit_test(activations_bound_the_micro_batch),
        cmocka_unit_test(micro_batches_are_equal),
        cmocka_unit_test(the_head_is_not_computed_again),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
