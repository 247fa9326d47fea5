/* SPDX-License-Identifier: Apache-2.0 */
/* test_dataset.c - bytes and work of one sample: by numbers, as files, by name, and from the model's inputs. */
#include <math.h>
#include "time_device.h"
#include "model/step/loading.h"

static cm_graph *forward_of(const char *model)
{
    cm_graph *g;
    assert_int_equal(cm_graph_load(model, NULL, &g, NULL), CM_OK);
    return g;
}

/* Reads a data set. Without a `reason` it must succeed; otherwise it must be refused with that text. */
static cm__dataset dataset(const char *text, const cm_graph *g, const char *reason)
{
    cm_diag     diag = {0};
    cm__ctx    *ctx = cm__ctx_new(&diag);
    cm__dataset d = {0};
    if (setjmp(ctx->trap)) {
        cm__ctx_abandon(ctx);
        if (!reason || !strstr(diag.reason, reason)) fail_msg("'%s': %s", text, diag.reason);
        return d;
    }
    d = cm__dataset_of(ctx, text, g);
    if (reason) fail_msg("'%s' is accepted", text);
    d.name = NULL; /* freed with the context */
    cm__ctx_free(ctx);
    return d;
}

static void test_numbers(void **state)
{
    (void)state;
    cm_graph   *g = forward_of("resnet18");
    cm__dataset d = dataset("bytes=110k,decode=2ms,samples=1.2M,begin=3s", g, NULL);
    assert_true(d.bytes == 110e3 && d.prepare_s == 2e-3 && d.samples == 1.2e6 && d.begin_s == 3);
    d = dataset("rate=7k,turn=660us", g, NULL);
    assert_true(d.bytes == 0 && d.rate == 7e3 && d.turn_s == 660e-6);
    d = dataset("bytes=4KiB", g, NULL);
    assert_true(d.bytes == 4096 && d.prepare_s == 0 && isnan(d.samples));
    dataset("decode=2ms", g, "bytes=N, the stored size of a sample, is missing");
    dataset("bytes=", g, "not a number");
    dataset("bytes=-1", g, "not a number");
    dataset("bytes=1kk", g, "not a number");
    dataset("bytes=1,speed=2", g, "'speed=2' is none of");
    dataset("bytes=1,decode", g, "'decode' is none of");
    dataset("imagnet", g, "did you mean 'imagenet'?");
    cm_graph_free(g);
}

/* Two files of 100 and 300 bytes, one of them in a subfolder; hidden files do not count. */
static void test_files(void **state)
{
    (void)state;
    cm_graph *g = forward_of("resnet18");
    char      text[128], spec[256];
    memset(text, 'x', 100);
    text[100] = 0;
    write_file("a.bin", text);
    write_file(".hidden", text);
    assert_int_equal(mkdir(file_named("inner"), 0700), 0);
    FILE *file = fopen(file_named("inner/b.jpg"), "w");
    for (int i = 0; i < 3; i++) fputs(text, file);
    fclose(file);
    snprintf(spec, sizeof spec, "files:%s", folder);
    cm__dataset d = dataset(spec, g, NULL);
    assert_true(d.samples == 2 && d.bytes == 200);
    /* the JPEG's 300 bytes over two samples, in units of an ImageNet image */
    assert_true(fabs(d.images * 115440 - 150) < 1e-6);
    assert_int_equal(mkdir(file_named("empty"), 0700), 0);
    snprintf(spec, sizeof spec, "files:%s/empty", folder);
    dataset(spec, g, "no files in the folder");
    dataset("files:/nonexistent", g, "cannot read the folder");
    cm_graph_free(g);
}

/* A text sample has as many tokens as the model's longest input; images are decoded one by one. */
static void test_named(void **state)
{
    (void)state;
    cm_graph   *text = forward_of("gpt2"), *images = forward_of("resnet18");
    cm__dataset d = dataset("openwebtext", text, NULL);
    assert_true(d.tokens == 1024 && d.images == 0);
    assert_true(dataset("imagenet", images, NULL).images == 1);
    assert_true(dataset("ImageNet", images, NULL).samples == 1281167); /* ILSVRC 2012 */
    dataset("openwebtext", images, "this model takes none");
    assert_true(cm__sample_bytes(images) == 3 * 224 * 224 * 4);
    assert_true(dataset(NULL, images, NULL).bytes == 3 * 224 * 224 * 4);
    assert_true(cm__sample_bytes(text) == 1024 * 8); /* 64-bit ids */
    cm_graph_free(text);
    cm_graph_free(images);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_numbers), cmocka_unit_test(test_files),
                                       cmocka_unit_test(test_named)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
