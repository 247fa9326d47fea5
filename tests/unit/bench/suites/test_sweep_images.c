/* SPDX-License-Identifier: Apache-2.0 */
/* test_sweep_images.c - convolutions, norms, pools and resizes of real networks' images, in both layouts and all
   passes. */
#include "bench_case.h"
#include "bench/suites/sweep.h"

/* On a device without limits. */
static cm__sweep swept(void (*part)(cm__sweep *, const char *))
{
    cm__sweep s = {.b = b};
    b->device.free_bytes = b->device.memory_bytes = 1e18;
    b->device.rates[0].matrix_flop_s = 1e24;
    part(&s, "bf16");
    return s;
}

static int32_t count(const cm__sweep *s, int16_t op, int16_t pass, const char *variant)
{
    int32_t n = 0;
    for (int32_t i = 0; i < s->count; i++)
        n += s->calls[i].op == op && s->calls[i].pass == pass && s->calls[i].variant == cm__variant_find(variant);
    return n;
}

static bool lists(const cm__sweep *s, const char *text)
{
    cm__call c = call_of(text);
    for (int32_t i = 0; i < s->count; i++)
        if (memcmp(&s->calls[i], &c, sizeof c) == 0) return true;
    return false;
}

/* Each shape at five batch sizes, in three passes and two layouts: as many of one kind as of another. */
TEST(every_pass_and_layout)
{
    static const int16_t passes[] = {CM__PASS_FORWARD, CM__PASS_BWD_INPUT, CM__PASS_BWD_WEIGHT};
    cm__sweep            s = swept(cm__sweep_convs);
    for (int p = 0; p < 3; p++) {
        assert_int_equal(6 * count(&s, CM__CALL_CONV, passes[p], "nchw"), s.count);
        assert_int_equal(6 * count(&s, CM__CALL_CONV, passes[p], "nhwc"), s.count);
    }
}

/* Layers of the networks, by their papers. */
TEST(layers_of_networks)
{
    cm__sweep s = swept(cm__sweep_convs);
    assert_true(lists(&s, "conv forward nchw bf16 1,3,64,224,224,7,7,2,2,3,3,1,1,1"));          /* ResNet's first */
    assert_true(lists(&s, "conv bwd_weight nhwc bf16 256,512,2048,7,7,1,1,1,1,0,0,1,1,1"));     /* and last */
    assert_true(lists(&s, "conv forward nhwc bf16 32,3,768,224,224,16,16,16,16,0,0,1,1,1"));    /* ViT's patches */
    assert_true(lists(&s, "conv bwd_input nhwc bf16 8,960,960,7,7,5,5,1,1,2,2,1,1,960"));       /* depthwise */
    assert_true(lists(&s, "conv forward nchw bf16 128,128,128,56,56,3,3,1,1,1,1,1,1,32"));      /* ResNeXt */
}

/* Groups divide channels, and windows fit their images; a stride of s makes an image of ceil(size / s). */
TEST(shapes_are_possible)
{
    cm__sweep s = swept(cm__sweep_convs);
    for (int32_t i = 0; i < s.count; i++) {
        const int64_t *z = s.calls[i].sizes;
        int64_t        size = z[CM__CONV_H], window = z[CM__CONV_R], stride = z[CM__CONV_STRIDE_H];
        int64_t        out = (size + 2 * z[CM__CONV_PAD_H] - window) / stride + 1;
        assert_true(z[CM__CONV_C] % z[CM__CONV_GROUPS] == 0 && z[CM__CONV_K] % z[CM__CONV_GROUPS] == 0);
        assert_true(z[CM__CONV_W] == size && z[CM__CONV_S] == window && z[CM__CONV_N] >= 1);
        assert_int_equal(out, (size + stride - 1) / stride);
    }
}

/* Seven planes at five batch sizes, forward and backward, in two layouts: 35 of each. */
TEST(planes)
{
    cm__sweep s = swept(cm__sweep_planes);
    assert_int_equal(count(&s, CM__CALL_BATCH_NORM, CM__PASS_FORWARD, "nchw"), 35);
    assert_int_equal(count(&s, CM__CALL_BATCH_NORM, CM__PASS_BACKWARD, "nhwc"), 35);
    assert_int_equal(count(&s, CM__CALL_GROUP_NORM, CM__PASS_BACKWARD, "nchw"), 35);
    assert_int_equal(count(&s, CM__CALL_POOL, CM__PASS_FORWARD, "max:nhwc"), 35);
    assert_int_equal(count(&s, CM__CALL_POOL, CM__PASS_BACKWARD, "avg:nchw"), 35);
    assert_int_equal(count(&s, CM__CALL_RESIZE, CM__PASS_FORWARD, "bilinear:nchw"), 35);
    assert_int_equal(s.count, 35 * 4 * 6);
    assert_true(lists(&s, "batch_norm forward nhwc bf16 32,256,3136"));
    assert_true(lists(&s, "pool forward max:nchw bf16 8,64,112,112,3,2,1"));
    assert_true(lists(&s, "resize backward nearest:nhwc bf16 1,512,28,28,56,56"));
}

/* A small device gets a part of the same calls. */
TEST(a_small_device)
{
    cm__sweep all = swept(cm__sweep_convs), some = {.b = b};
    b->device.rates[0].matrix_flop_s = 1e10;
    b->device.rates[0].vector_flop_s = b->device.rates[1].matrix_flop_s = b->device.rates[1].vector_flop_s = 0;
    cm__sweep_convs(&some, "bf16");
    assert_true(some.count > 0 && some.count < all.count);
    for (int32_t i = 0; i < some.count; i++) {
        double flop, bytes;
        cm__call_work(&some.calls[i], &flop, &bytes);
        assert_true(flop <= 5e9 && bytes <= 5e8);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_pass_and_layout), cmocka_unit_test(layers_of_networks),
        cmocka_unit_test(shapes_are_possible),   cmocka_unit_test(planes), cmocka_unit_test(a_small_device),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
