/* SPDX-License-Identifier: Apache-2.0 */
/* test_tiles.c - images of convolutions in tiles of 8 x 128, as Google's compiler stores them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "centimani.h"

#define PIXELS (112.0 * 112 * 2) /* of ResNet's first image of 64 channels, in 16 bits */

static cm_step *step_on(const char *id, cm_device **device)
{
    cm_step_options o = {.train = {.precision = CM_PRECISION_AMP_BF16}};
    cm_step        *step;
    assert_int_equal(cm_device_load(id, device, NULL), CM_OK);
    assert_int_equal(cm_step_new("resnet18", *device, &o, &step, NULL), CM_OK);
    return step;
}

static double bytes_of(const cm_step *step, const char *name, int64_t batch)
{
    const cm_footprint *f = cm_step_footprint(step);
    double              bytes = 0;
    for (int32_t i = 0; i < cm_footprint_pieces(f); i++) {
        cm_stored p = cm_footprint_piece(f, batch, i);
        if (!strcmp(cm_tensor_name(cm_graph_tensor(cm_step_graph(step), p.tensor)), name) && p.bytes > bytes) bytes = p.bytes;
    }
    return bytes;
}

/* 64 channels take the place of 128 up to 64 images; of 65 to 128 images the batch takes it. */
static void test_images(void **state)
{
    (void)state;
    static const struct {
        int64_t batch;
        double  places;
    } cases[] = {{8, 8 * 128}, {12, 16 * 128}, {64, 64 * 128}, {96, 128 * 64}, {128, 128 * 64}, {192, 256 * 64}};
    cm_device *device;
    cm_step   *step = step_on("google-tpu-v5e", &device);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_true(bytes_of(step, "conv1", cases[i].batch) == cases[i].places * PIXELS);
    assert_true(bytes_of(step, "x", 16) == 128.0 * 4 * 224 * 224 * 2); /* the copy in 16 bits that the first convolution reads */
    cm_step_free(step);
    cm_device_free(device);
}

/* More images never need less, and the parts are the whole. */
static void test_peak(void **state)
{
    (void)state;
    cm_device    *device;
    cm_step      *step = step_on("google-tpu-v6e", &device);
    cm_memory_use use;
    double        before = 0;
    for (int64_t batch = 1; batch < 300; batch += 7) {
        double sum = 0;
        assert_int_equal(cm_step_memory(step, batch, &use, NULL), CM_OK);
        for (int c = 0; c < CM_CATEGORIES; c++) sum += use.categories[c];
        assert_true(sum == use.peak_bytes && sum >= before);
        before = sum;
    }
    cm_step_free(step);
    cm_device_free(device);
}

/* Another maker's compiler stores the numbers alone. */
static void test_others(void **state)
{
    (void)state;
    cm_device *device;
    cm_step   *step = step_on("habana-gaudi2", &device);
    assert_true(bytes_of(step, "conv1", 8) == 8 * 64 * PIXELS);
    cm_step_free(step);
    cm_device_free(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_images), cmocka_unit_test(test_peak), cmocka_unit_test(test_others)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
