/* SPDX-License-Identifier: Apache-2.0 */
/* test_kernels.c - operators one after the other: engines beside each other, joined operators, and attention that stores
   its scores. */
#include "chip_device.h"

/* Products of weight gradients run beside the other operators; all else takes turns. Products are so slow that only their
   arithmetic counts. The update has no products beside it. */
static void weight_gradients_run_beside_other_operators(void **state)
{
    (void)state;
#define WIDE "mlp:in=4096,hidden=4096,out=4096"
#define WEIGHT_GRADIENTS (2.0 / 5) /* two of five products: the first layer has no gradient of its input */
#define ENGINES(rate, engines)                                                                                         \
    CHIP("kernel-by-kernel", "1e3", rate, EFFICIENCY("1e-6") ", \"engines\": " NUMBER(engines, "1"),                   \
         ", \"placement\": {\"ephemeral\": \"DRAM\"}")
    double products_s = ask(ENGINES("1e18", "1"), WIDE, 4096, false).info.device_time_s;
    answer one = ask(ENGINES("4e5", "1"), WIDE, 4096, false), two = ask(ENGINES("4e5", "2"), WIDE, 4096, false);
    double one_s = one.info.device_time_s, update_s = one.info.phase_s[CM_UPDATE];
    double others_s = one_s - update_s - products_s;
    assert_true(update_s > 0 && others_s > 0.2 * products_s && others_s < WEIGHT_GRADIENTS * products_s);
    assert_near(two.info.device_time_s, products_s + update_s, 1e-6);
    assert_near(two.info.phase_s[CM_UPDATE], update_s, 1e-6);
    one = ask(ENGINES("1e5", "1"), WIDE, 4096, false);
    two = ask(ENGINES("1e5", "2"), WIDE, 4096, false);
    double free_s = one.info.device_time_s - two.info.device_time_s;
    assert_true(one.info.device_time_s - one.info.phase_s[CM_UPDATE] > 2 * products_s);
    assert_near(free_s, WEIGHT_GRADIENTS * products_s, 1e-6);
    assert_near(two.info.phase_s[CM_UPDATE], one.info.phase_s[CM_UPDATE], 1e-6);
}

#define BATCH_OF_IMAGES 2
#define SHARE(memory) "\"efficiency\": {\"gemm\": " NUMBER("0.5", "1") ", \"memory\": " NUMBER(memory, "1") "}"
#define JOINING ", \"joined_elementwise\": " NUMBER("1", "1")
#define SHARED(memory, more)                                                                                           \
    CHIP("kernel-by-kernel", "1e3", "1e6", SHARE(memory) more, ", \"placement\": {\"ephemeral\": \"DRAM\"}")

/* Elements between a batch norm and its activation, or between it, the sum of a block and the activation of the sum. */
static double between_norms_and_activations(void)
{
    static const int blocks[4] = {3, 4, 6, 3};
    double           sum = 64 * 112 * 112;
    for (int s = 0; s < 4; s++) {
        double width = 64 << s, area = (56 >> s) * (56 >> s), wide = 4 * width * area;
        sum += (blocks[s] - 1) * 2 * width * area;
        sum += (s ? 4 + 1 : 1 + 1) * width * area; /* first block: its 3x3 kernel halves the image */
        sum += (2 * blocks[s] + 1) * wide; /* last norms and sums; the norm of the shortcut */
    }
    return sum;
}

/* Forward of ResNet-50: what is between a norm, the sum and the activation is neither written nor read. Activations that
   a convolution reads are written, and the next sum reads them. */
static void joined_operators_pass_no_memory(void **state)
{
    (void)state;
    double apart_s = ask(SHARED("1", ""), "resnet50", BATCH_OF_IMAGES, true).info.device_time_s;
    double joined_s = ask(SHARED("1", JOINING), "resnet50", BATCH_OF_IMAGES, true).info.device_time_s;
    assert_near((apart_s - joined_s) * 1e6, between_norms_and_activations() * BATCH_OF_IMAGES * 2 * 2, 1e-6);
}

/* A share of the bandwidth above 1 comes from joining, so the update has none of it. */
static void updates_take_the_bandwidth_of_the_memory(void **state)
{
    (void)state;
    double plain_s = ask(SHARED("1", JOINING), WIDE, 64, false).info.phase_s[CM_UPDATE];
    assert_true(plain_s > 0);
    assert_near(ask(SHARED("2", JOINING), WIDE, 64, false).info.phase_s[CM_UPDATE], plain_s, 1e-6);
    assert_near(ask(SHARED("0.5", JOINING), WIDE, 64, false).info.phase_s[CM_UPDATE], 2 * plain_s, 1e-6);
    assert_near(ask(SHARED("2", ""), WIDE, 64, false).info.phase_s[CM_UPDATE], plain_s / 2, 1e-6);
}

#define BATCH 4
#define SCORES (BATCH * 2.0 * 128 * 128) /* two heads, 128 queries and keys */
#define BARE "gpt:layers=1,hidden=64,heads=2,seq=128,vocab=0,head=none,attention_dropout="

/* How much longer a step takes if scores are stored, in bytes for each score. */
static double bytes_of_scores(const char *model, bool inference)
{
    double s[2];
    for (int i = 0; i < 2; i++) {
        cm_train_options o = {.inference = inference, .attention = i ? CM_ATTENTION_MATH : CM_ATTENTION_FLASH};
        answer a = ask_trained(KERNELS("0.5", "1e6"), model, o, (cm_predict_options){.batch = BATCH});
        assert_int_equal(a.status, CM_OK);
        s[i] = a.info.device_time_s;
    }
    return (s[1] - s[0]) * 1e6 / SCORES;
}

/* Forward: written by a product, read and written by the softmax, read by a product. Backward: the gradient written by a
   product, the softmax reads it and the probabilities and writes, three products read. Two bytes each. */
static void stored_scores_pass_memory(void **state)
{
    (void)state;
    assert_near(bytes_of_scores(BARE "0", true), 4 * 2, 1e-6);
    assert_near(bytes_of_scores(BARE "0", false), (4 + 7) * 2, 1e-6);
}

/* Dropout reads and writes them again in both directions, with a mask of one byte. */
static void dropout_of_scores_passes_again(void **state)
{
    (void)state;
    assert_near(bytes_of_scores(BARE "0.1", false), (4 + 7) * 2 + 2 * (2 * 2 + 1), 1e-6);
}

#define KERNEL_BY_KERNEL(efficiency, rate, more)                                                                       \
    CHIP("kernel-by-kernel", "1e3", rate, EFFICIENCY(efficiency) more, ", \"placement\": {\"ephemeral\": \"DRAM\"}")

/* A compiler that joins elementwise operators has a kernel for the scaling and the mask beside that of the softmax. */
static void joined_scaling_passes_scores_again(void **state)
{
    (void)state;
    for (int training = 0; training < 2; training++) {
        double s[2];
        for (int i = 0; i < 2; i++) {
            cm_train_options o = {.inference = !training, .attention = i ? CM_ATTENTION_MATH : CM_ATTENTION_FLASH};
            s[i] = ask_trained(KERNEL_BY_KERNEL("0.5", "1e6", JOINING), BARE "0", o,
                               (cm_predict_options){.batch = BATCH}).info.device_time_s;
        }
        assert_near((s[1] - s[0]) * 1e6 / SCORES, (training ? 6 + 9 : 6) * 2, 1e-6);
    }
}

/* Backward of one kernel computes the scores again, five products for the two of forward; with stored ones it is four.
   Products are so slow that only their arithmetic counts. */
static void stored_scores_are_not_computed_again(void **state)
{
    (void)state;
    double s[2][2];
    for (int training = 0; training < 2; training++)
        for (int i = 0; i < 2; i++) {
            cm_train_options o = {.inference = !training, .attention = i ? CM_ATTENTION_MATH : CM_ATTENTION_FLASH};
            s[training][i] = ask_trained(KERNEL_BY_KERNEL("1e-6", "1e18", ""), BARE "0", o,
                                         (cm_predict_options){.batch = BATCH}).info.device_time_s;
        }
    assert_near(s[0][0], s[0][1], 1e-6);
    assert_near(s[1][1], 3 * s[0][1], 1e-6); /* backward: two products for each of forward */
    assert_true(s[1][0] > 1.01 * s[1][1]);
}

/* A profile whose models call products and softmax one by one: the same without asking, and one kernel if asked for. */
static void profiles_may_store_scores(void **state)
{
    (void)state;
#define STORES                                                                                                         \
    CHIP("kernel-by-kernel", "1e3", "1e6", EFFICIENCY("0.5") ", \"stored_scores\": " NUMBER("1", "1"),                 \
         ", \"placement\": {\"ephemeral\": \"DRAM\"}")
    double bytes[2];
    for (int i = 0; i < 2; i++) {
        cm_train_options o = {.inference = true, .attention = i ? CM_ATTENTION_AUTO : CM_ATTENTION_FLASH};
        answer a = ask_trained(STORES, BARE "0", o, (cm_predict_options){.batch = BATCH});
        bytes[i] = a.info.device_time_s * 1e6 / SCORES;
    }
    assert_near(bytes[1] - bytes[0], 4 * 2, 1e-6);
    answer none = ask(KERNELS("0.5", "1e6"), BARE "0", BATCH, true);
    assert_near(none.info.device_time_s * 1e6 / SCORES, bytes[0], 1e-6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weight_gradients_run_beside_other_operators),
        cmocka_unit_test(joined_operators_pass_no_memory),
        cmocka_unit_test(updates_take_the_bandwidth_of_the_memory),
        cmocka_unit_test(stored_scores_pass_memory),
        cmocka_unit_test(dropout_of_scores_passes_again),
        cmocka_unit_test(joined_scaling_passes_scores_again),
        cmocka_unit_test(stored_scores_are_not_computed_again),
        cmocka_unit_test(profiles_may_store_scores),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
