/* SPDX-License-Identifier: Apache-2.0 */
/* test_shares.c - batch sizes from four sums of bytes, each of which is computed by hand for one convolution. */
#include <math.h>
#include "graph_builder.h"
#include "profile_texts.h"
#include "validate/validate.h"

/* Per image: 4 * 3 * 8 * 8 = 768 B in, 4 * 6 * 6 * 6 = 864 B out, windows of 27 numbers at 36 places, 3888 B. The
   weights have 4 * 6 * 27 = 648 B. */
static void build(void)
{
    int32_t y = op(CM_OP_CONV, IN(input("B,3,8,8"), weight("w", "6,3,3,3")));
    cm__output(g, y);
    cm__finish(g, CM_FUSE_NONE);
}

#define CHIP                                                                                                           \
    "{" IDENTITY("chip") ", " PEAK ", \"memory\": [{\"name\": \"SRAM\", \"place\": \"on-chip\", \"managed\": "          \
    "\"explicit\", \"scope\": \"core\", \"capacity\": " NUMBER("%s", "B") ", \"bandwidth\": " NUMBER("1e12", "B/s")      \
    "}], " SOURCES "}"

/* The batch size of a chip with this much memory; shares of fed, input_output, ephemeral and weights_biases. */
static double batch_with(const char *sram, double fed, double io, double ephemeral, double weights)
{
    cm_device *device;
    char       profile[2048];
    snprintf(profile, sizeof profile, CHIP, sram);
    write_file("chip.json", profile);
    if (cm_device_load(file_named("chip.json"), &device, &diag)) fail_msg("%s: %s", diag.place, diag.reason);
    json_t *set = json_pack("{s:{s:{s:f, s:f, s:f, s:f, s:[i, i, i, i, i]}}}", "parameters", "chip", "fed", fed,
                            "input_output", io, "ephemeral", ephemeral, "weights_biases", weights, "candidates", 1, 8,
                            15, 16, 32);
    json_t *run = json_pack("{s:s}", "device", "chip");
    cm__case c = {.set = set, .run = run, .device = device, .step = g};
    double   batch = cm__predict_by_shares(&c);
    json_decref(run);
    json_decref(set);
    cm_device_free(device);
    return batch;
}

TEST(each_sum)
{
    build();
    assert_true(batch_with("1e4", 1, 0, 0, 0) == 8);  /* 13 images */
    assert_true(batch_with("12288", 1, 0, 0, 0) == 16); /* exactly 16 */
    assert_true(batch_with("12287", 1, 0, 0, 0) == 15);
    assert_true(batch_with("26112", 0, 1, 0, 0) == 16); /* 16 * (768 + 864) */
    assert_true(batch_with("26111", 0, 1, 0, 0) == 15);
    assert_true(batch_with("62208", 0, 0, 1, 0) == 16);
    assert_true(batch_with("62207", 0, 0, 1, 0) == 15);
    assert_true(batch_with("648", 0, 0, 0, 1) == 32); /* the weights do not grow */
    assert_true(isnan(batch_with("647", 0, 0, 0, 1)));
}

/* 15 * (768 + 1632 + 3888) + 648 = 94968, 16 images need 101256 */
TEST(all_sums)
{
    build();
    assert_true(batch_with("94968", 1, 1, 1, 1) == 15);
    assert_true(batch_with("101255", 1, 1, 1, 1) == 15);
    assert_true(batch_with("101256", 1, 1, 1, 1) == 16);
    assert_true(batch_with("101256", 1, 1, 1, 2) == 15);
    assert_true(batch_with("50628", 0.5, 0.5, 0.5, 0.5) == 16);
}

/* The largest operator counts, not the sum: a product of 864 + 4 B per image beside the convolution changes
   nothing but the largest weight, 4 * 216 B. */
TEST(the_largest_operator)
{
    int32_t y = op(CM_OP_CONV, IN(input("B,3,8,8"), weight("w", "6,3,3,3")));
    int32_t z = op(CM_OP_GEMM, IN(op(CM_OP_FLATTEN, IN(y)), weight("v", "216,1")));
    cm__output(g, z);
    cm__finish(g, CM_FUSE_NONE);
    assert_true(batch_with("26112", 0, 1, 0, 0) == 16);
    assert_true(batch_with("26111", 0, 1, 0, 0) == 15);
    assert_true(batch_with("864", 0, 0, 0, 1) == 32);
    assert_true(isnan(batch_with("863", 0, 0, 0, 1)));
}

/* A device without such factors in the set has no answer. */
TEST(no_factors)
{
    build();
    json_t  *set = json_pack("{s:{}}", "parameters"), *run = json_pack("{s:s}", "device", "chip");
    cm__case c = {.set = set, .run = run, .step = g};
    assert_true(isnan(cm__predict_by_shares(&c)));
    json_decref(run);
    json_decref(set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_sum), cmocka_unit_test(all_sums),
                                       cmocka_unit_test(the_largest_operator), cmocka_unit_test(no_factors)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
