/* SPDX-License-Identifier: Apache-2.0 */
/* test_section_traffic.c - bytes that leave a chip on which a graph is laid out in several sections. */
#include "chip_device.h"

#define SLOW_MEMORY "1e9" /* B/s: traffic decides */

/* Time of a step beyond that of another, with 1 GB/s to the memory: GB. */
static double more_bytes(const char *profile, const char *model, const char *other, int64_t batch)
{
    return 1e9 * (ask(profile, model, batch, false).info.device_time_s -
                  ask(profile, other, batch, false).info.device_time_s);
}

/* One section per phase: hidden results are written for backward and read once, at two bytes a number. */
static void only_what_backward_reads_grows_with_the_batch(void **state)
{
    (void)state;
    const char *wide = "mlp:in=10,hidden=3000,out=10", *narrow = "mlp:in=10,hidden=2900,out=10";
    const char *profile = SECTIONS("2e5", SLOW_MEMORY, "1", "1e-9"); /* weights: 120 kB, used in two phases */
    assert_true(ask(profile, wide, 1000, false).info.launches == 3);
    double per_sample = (more_bytes(profile, wide, narrow, 2000) - more_bytes(profile, wide, narrow, 1000)) / 1000;
    assert_near(per_sample, 100 * 2 * 2, 1e-3);
}

/* Results that a later section reads are written and read at the cut. Four layers of 4 MB do not fit together: hidden
   results of 1,000 numbers cross every cut in backward, where nothing else needs their gradients. */
static void cuts_cost_what_crosses_them(void **state)
{
    (void)state;
    const char *model = "mlp:in=1000,hidden=1000x1000x1000,out=1000";
    answer      large = ask(SECTIONS("1e7", SLOW_MEMORY, "1", "1e-9"), model, 1000, false);
    answer      small = ask(SECTIONS("2.1e6", SLOW_MEMORY, "1", "1e-9"), model, 1000, false);
    assert_true(small.info.launches > large.info.launches);
    /* at each of three more cuts a gradient of 1,000 x 1,000 numbers of two bytes is written and read */
    assert_true(small.info.device_time_s - large.info.device_time_s > 3 * 2 * 2e6 / 1e9 * 0.99);
}

#define FOUR "gpt:layers=1,hidden=256,heads=4,seq=512,vocab=50000"
#define EIGHT "gpt:layers=1,hidden=256,heads=8,seq=512,vocab=50000"
#define HEAD (512.0 * 512 * 2) /* bytes of the scores of a head */

/* A chip of two tiles, of `memory` bytes together. */
#define TILED(memory, more)                                                                                            \
    CHIP("dataflow-sections", memory, SLOW_MEMORY, EFFICIENCY("1") ", \"section_overhead\": " NUMBER("1e-9", "s")      \
         ", \"tiles\": " NUMBER("2", "1") more, PLACED("DRAM"))

/* The softmax of a sample's scores is written in forward and read in backward: four more heads, their bytes more. */
static void scores_are_stored_for_backward(void **state)
{
    (void)state;
    assert_near(more_bytes(TILED("2e7", ""), EIGHT, FOUR, 3), 3 * 4 * 2 * HEAD, 2e-2);
    /* on tiles of 200 kB, the rest of the gradient of a head's scores is written and read as well */
    assert_near(more_bytes(TILED("4e5", ""), EIGHT, FOUR, 3), 3 * 4 * (2 * HEAD + 2 * (HEAD - 2e5)), 2e-2);
}

/* A chip without tiles is one tile. */
static void a_head_may_take_the_chip(void **state)
{
    (void)state;
    assert_near(more_bytes(SECTIONS("4e5", SLOW_MEMORY, "1", "1e-9"), EIGHT, FOUR, 3),
                3 * 4 * (2 * HEAD + 2 * (HEAD - 4e5)), 2e-2);
}

#define SEGMENTS(tokens) TILED("4e5", ", \"segmented_softmax\": " NUMBER(tokens, "1"))

/* A softmax in segments leaves its gradient on the chip: only the softmax itself is written and read. */
static void segments_keep_the_gradient_of_scores(void **state)
{
    (void)state;
    assert_near(more_bytes(SEGMENTS("512"), EIGHT, FOUR, 3), 3 * 4 * 2 * HEAD, 2e-2);
    assert_near(more_bytes(SEGMENTS("513"), EIGHT, FOUR, 3), 3 * 4 * (2 * HEAD + 2 * (HEAD - 2e5)), 2e-2);
}

/* Bytes of one more sample. */
static double sample_bytes(const char *profile, const char *model)
{
    return 1e9 * (ask(profile, model, 2, false).info.device_time_s - ask(profile, model, 1, false).info.device_time_s);
}

/* A matrix of 1,000 x 1,000 gradients is larger than a chip of 1 MB: it goes in slices, and its sums do not pass. */
static void sums_of_gradients_beyond_the_chip_do_not_pass(void **state)
{
    (void)state;
    assert_true(sample_bytes(SECTIONS("1e6", SLOW_MEMORY, "1", "1e-9"), "mlp:in=1000,hidden=1000,out=10") < 2e4);
}

/* Every operator is a section. Results and gradients of 1,000 numbers pass 18 times: a gradient that two sections read
   is written once, and those between them neither read nor write it. */
static void what_crosses_several_cuts_is_written_once(void **state)
{
    (void)state;
    const char *model = "mlp:in=1000,hidden=1000,out=1000";
    assert_near(sample_bytes(SECTIONS("1e3", SLOW_MEMORY, "1", "1e-9"), model), 18 * 2e3, 1e-2);
}

/* Logits of a sample take 51 MB, and the weights of the head 26: on a chip that does not hold them in 32 bits as
   much passes as on a larger one. */
static void logits_take_16_bits_of_the_chip(void **state)
{
    (void)state;
    assert_near(sample_bytes(SECTIONS("1.6e8", SLOW_MEMORY, "1", "1e-9"), FOUR),
                sample_bytes(SECTIONS("2.4e8", SLOW_MEMORY, "1", "1e-9"), FOUR), 1e-2);
}

/* The loss reads logits in 32 bits. The chip hands them on in 16: 1,000 more of them for each of 512 tokens are written
   once and read once. */
static void logits_pass_in_16_bits(void **state)
{
    (void)state;
    const char *profile = SECTIONS("2.4e8", SLOW_MEMORY, "1", "1e-9");
    const char *more = "gpt:layers=1,hidden=256,heads=4,seq=512,vocab=51000";
    assert_near(sample_bytes(profile, more) - sample_bytes(profile, FOUR), 1000.0 * 512 * 2 * 2, 1e-2);
}

/* Time of a step with every layer recomputed. */
static double recomputed_s(const char *profile, const char *model)
{
    cm_train_options train = {.recompute = CM_RECOMPUTE_FULL};
    return ask_trained(profile, model, train, (cm_predict_options){.batch = 3}).info.device_time_s;
}

/* Recomputed scores pass as far as a head exceeds a tile: not at all, or as softmax and as gradient. */
static void recomputed_scores_stay_on_tiles_that_hold_them(void **state)
{
    (void)state;
    const char *large = TILED("2e7", ""), *small = TILED("4e5", "");
    assert_true(fabs(1e9 * (recomputed_s(large, EIGHT) - recomputed_s(large, FOUR))) < 1e-2 * 4 * HEAD);
    assert_near(1e9 * (recomputed_s(small, EIGHT) - recomputed_s(small, FOUR)), 3 * 4 * 4 * (HEAD - 2e5), 2e-2);
}

/* With few scores: results of a recomputed layer are not written, those of forward would be. */
static void recomputed_results_do_not_leave_the_chip(void **state)
{
    (void)state;
    const char *model = "gpt:layers=4,hidden=256,heads=1,seq=128,vocab=100";
    const char *profile = SECTIONS("2e6", SLOW_MEMORY, "1", "1e-9");
    /* per layer, sample and token at least: queries, keys and values, and the two wide results, two bytes a number,
       written and read */
    double stored = 4.0 * 3 * 128 * (3 + 4 + 4) * 256 * 2 * 2, weights = 4.0 * 12 * 256 * 256 * 2; /* read once more */
    double saved = 1e9 * (ask(profile, model, 3, false).info.device_time_s - recomputed_s(profile, model));
    assert_true(saved > stored - weights);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_what_backward_reads_grows_with_the_batch),
        cmocka_unit_test(cuts_cost_what_crosses_them),
        cmocka_unit_test(scores_are_stored_for_backward),
        cmocka_unit_test(a_head_may_take_the_chip),
        cmocka_unit_test(segments_keep_the_gradient_of_scores),
        cmocka_unit_test(sums_of_gradients_beyond_the_chip_do_not_pass),
        cmocka_unit_test(what_crosses_several_cuts_is_written_once),
        cmocka_unit_test(logits_take_16_bits_of_the_chip),
        cmocka_unit_test(logits_pass_in_16_bits),
        cmocka_unit_test(recomputed_scores_stay_on_tiles_that_hold_them),
        cmocka_unit_test(recomputed_results_do_not_leave_the_chip),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
