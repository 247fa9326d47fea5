/* SPDX-License-Identifier: Apache-2.0 */
/* test_stages.c - how a pipeline of chips divides a network. */
#include "chip_device.h"

typedef struct stage {
    double longest, forward, backward; /* of one sample: the longest stage, and all of the network on one chip */
} stage;

static stage stage_of(const char *model, int32_t chips, bool inference)
{
    cm_predict_options o = {.plan = {.pp = chips, .micro_batch = 1, .accumulate = 100}}, more = o;
    more.plan.accumulate = 200;
    answer few = ask_with(BSP("1e12", "1e-9", LINKS), model, inference, o);
    answer many = ask_with(BSP("1e12", "1e-9", LINKS), model, inference, more);
    answer one = ask(BSP("1e12", "1e-9", LINKS), model, 1, inference);
    return (stage){.longest = (many.info.device_time_s - few.info.device_time_s) / 100,
                   .forward = one.info.phase_s[CM_FORWARD],
                   .backward = one.info.phase_s[CM_BACKWARD]};
}

/* ResNet-50 has 16 blocks of nearly equal FLOP, and most of its parameters in the last ones. With x of the blocks on
   the first of two chips, which computes forward twice, the stages take x (2 F + B) and (1 - x) (F + B): 3/7 of 4 F,
   where backward takes twice as long. */
static void stages_of_convolutions_have_equal_times(void **state)
{
    (void)state;
    stage  two = stage_of("resnet50", 2, false), four = stage_of("resnet50", 4, false);
    double all = 2 * two.forward + two.backward;
    assert_near(two.longest, 3.0 / 7 * all, 6e-2);
    assert_near(four.longest, all / (3 + 4.0 / 3), 0.15); /* three stages that compute forward twice */
}

static void inference_computes_forward_once(void **state)
{
    (void)state;
    stage two = stage_of("resnet50", 2, true);
    assert_near(two.longest, two.forward / 2, 8e-2);
}

/* The first chip has nothing but a head of 100,000 words and the loss, whose backward follows at once. */
static void what_is_behind_the_layers_is_not_recomputed(void **state)
{
    (void)state;
    stage two = stage_of("gpt:layers=2,hidden=256,heads=4,seq=32,vocab=100000", 2, false);
    assert_near(two.longest, two.forward + two.backward, 8e-2); /* 4/3 of it if it were */
}

static void layers_are_not_divided(void **state)
{
    (void)state;
    const char *model = "gpt:layers=2,hidden=256,heads=4,seq=32,vocab=100";
    assert_near(stage_of(model, 4, false).longest, stage_of(model, 2, false).longest, 1e-6);
}

/* Three layers in which next to nothing happens, and a product after the first and the second. It counts to the layer
   before it, so that each of two chips has one of them: forward twice and one gradient on the first, whose input has
   none, forward once and two gradients on the second, three of five products on each. */
static void what_is_between_two_layers_counts_to_the_first(void **state)
{
    (void)state;
    char model[512];
    snprintf(model, sizeof model, "%s", file_named("between.net"));
    write_file("between.net", "block lay\n    relu\nend\ninput x 512\nrepeat 2 i\n    l{i}: lay\n    fc{i}: linear 512\n"
                              "end\nl2: lay\noutput\n");
    stage two = stage_of(model, 2, false);
    assert_near(two.longest, 0.6 * (two.forward + two.backward), 8e-2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stages_of_convolutions_have_equal_times),
        cmocka_unit_test(inference_computes_forward_once),
        cmocka_unit_test(what_is_behind_the_layers_is_not_recomputed),
        cmocka_unit_test(layers_are_not_divided),
        cmocka_unit_test(what_is_between_two_layers_counts_to_the_first),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
