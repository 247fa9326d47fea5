/* SPDX-License-Identifier: Apache-2.0 */
/* test_loading.c - the size of a sample, the time to load a step's samples, and how much of it delays the step. */
#include <math.h>
#include "time_device.h"
#include "model/step/loading.h"

#define NATIVE(what, time) "{\"runtime\": \"native\", \"what\": \"" what "\", \"time\": " NUMBER(time, "s") "}"
/* A core decodes 1,000 images/s and batches 1e6 tokens/s; storage and link give 1e9 B/s. */
#define FED                                                                                                            \
    ",\n\"host_link\": {\"name\": \"link\", \"bandwidth\": " NUMBER("1e9", "B/s") "},\n\"host\": ["                    \
    NATIVE("decode-image", "1e-3") "," NATIVE("batch-token", "1e-6") "," NATIVE("read-byte", "1e-9") "]"
#define OF_CLASS(kind)                                                                                                 \
    "{\"schema\": 1, \"id\": \"fed\", \"name\": \"Fed\", \"vendor\": \"Acme\", \"class\": \"" kind "\", "              \
    "\"style\": \"kernel-by-kernel\", \"modes\": [\"training\"], \"precisions\": [\"fp32\", \"bf16\"],\n"              \
    CEILINGS("100", "1e-6") ",\n" SOURCES FED "}\n"

#define IMAGE_BYTES (3 * 224 * 224 * 4.0)
#define JPEG_BYTES 115440.0 /* data/datasets.tsv */
#define WORKER 4.3 /* data/factors.tsv: torchvision's time per image over the host's rate, in a worker */
#define ALONE 3.4  /* without workers */

static void near(double got, double expected)
{
    if (!(fabs(got - expected) <= 1e-9 * fabs(expected))) fail_msg("%.12g, expected %.12g", got, expected);
}

/* The wait for an epoch's first batch, which one worker makes, divided by the epoch's steps. */
static double first(double batch, double sample_s, double samples) { return batch * sample_s / floor(samples / batch); }

static cm_graph *forward_of(const char *model)
{
    cm_graph        *forward, *step;
    cm_train_options train = {.inference = true, .precision = CM_PRECISION_FP32};
    assert_int_equal(cm_graph_load(model, NULL, &forward, NULL), CM_OK);
    assert_int_equal(cm_graph_train(forward, &train, &step, NULL), CM_OK);
    cm_graph_free(forward);
    return step;
}

static cm_prediction_info predicted(const cm_graph *g, const cm_device *device, cm_loading_options loading)
{
    cm_prediction     *p;
    cm_diag            diag = {0};
    cm_predict_options o = {.batch = 10, .loading = loading};
    if (cm_predict(g, device, &o, &p, &diag)) fail_msg("%s", diag.reason);
    cm_prediction_info info = *cm_prediction_get_info(p);
    cm_prediction_free(p);
    return info;
}

static void images(void **state)
{
    (void)state;
    cm_graph *g = forward_of("resnet18");
    for (int gpu = 0; gpu < 2; gpu++) {
        cm_device         *device = device_of(gpu ? OF_CLASS("gpu") : OF_CLASS("npu"));
        cm_prediction_info none = predicted(g, device, (cm_loading_options){0});
        cm_prediction_info i = predicted(g, device, (cm_loading_options){.dataset = "ImageNet", .workers = 4});
        double             each = 1e-3 * (gpu ? WORKER : 1); /* PyTorch users' images pass through torchvision */
        double             read = 10 * JPEG_BYTES / 1e9, prepare = 10 * each / 4, copy = 10 * IMAGE_BYTES / 1e9;
        assert_true(none.load_s == 0 && none.compute_s == none.step_time_s && !none.loading.dataset);
        near(i.loading.read_s, read);
        near(i.loading.prepare_s, prepare);
        near(i.loading.copy_s, copy);
        double             begin = first(10, JPEG_BYTES / 1e9 + each + IMAGE_BYTES / 1e9, 1281167);
        near(i.load_s, (gpu ? fmax(copy, prepare) : copy + prepare) + begin);
        near(i.compute_s, none.step_time_s);
        near(i.step_time_s, fmax(i.compute_s, i.load_s - begin) + begin);
        near(i.step_time_s, i.compute_s + i.load_s - i.overlapped_s);
        near(i.throughput_samples_s, 10 / i.step_time_s);
        near(i.mfu, none.mfu * none.step_time_s / i.step_time_s);
        near(i.loading.epoch_samples, 1281167);
        assert_true(i.interval_s[0] <= i.step_time_s && i.step_time_s <= i.interval_s[1]);
        cm_device_free(device);
    }
    cm_graph_free(g);
}

/* Without workers the step waits, and one core prepares the samples. */
static void nobody_loads(void **state)
{
    (void)state;
    cm_graph          *g = forward_of("resnet18");
    cm_device         *device = device_of(OF_CLASS("gpu"));
    cm_prediction_info i = predicted(g, device, (cm_loading_options){.dataset = "imagenet", .workers = -1});
    near(i.load_s, 10 * (JPEG_BYTES / 1e9 + ALONE * 1e-3 + IMAGE_BYTES / 1e9));
    near(i.step_time_s, i.compute_s + i.load_s);
    assert_true(i.overlapped_s == 0 && i.loading.workers == 0);
    cm_device_free(device);
    cm_graph_free(g);
}

/* Three passes on one device load 30 samples; the device waits if loading takes longer than the passes. */
static void under_a_plan(void **state)
{
    (void)state;
    cm_graph          *g = forward_of("resnet18");
    cm_device         *device = device_of(OF_CLASS("gpu"));
    cm_prediction     *p;
    cm_predict_options o = {.plan = {.accumulate = 3, .micro_batch = 10},
                            .loading = {.dataset = "imagenet", .workers = 4}};
    assert_int_equal(cm_predict(g, device, &o, &p, NULL), CM_OK);
    const cm_prediction_info *i = cm_prediction_get_info(p);
    double begin = first(30, JPEG_BYTES / 1e9 + WORKER * 1e-3 + IMAGE_BYTES / 1e9, 1281167);
    near(i->load_s, 3 * fmax(10 * IMAGE_BYTES / 1e9, 10 * WORKER * 1e-3 / 4) + begin);
    near(i->step_time_s, fmax(i->compute_s, i->load_s - begin) + begin);
    near(i->step_time_s, i->compute_s + i->load_s - i->overlapped_s);
    near(i->throughput_samples_s, 30 / i->step_time_s);
    cm_prediction_free(p);
    cm_device_free(device);
    cm_graph_free(g);
}

/* An epoch of 95 samples in batches of 10 has nine steps. Its start takes 18 ms; with 5 steps per call it has one
   call. */
static void epochs(void **state)
{
    (void)state;
    cm_graph          *g = forward_of("resnet18");
    cm_device         *device = device_of(OF_CLASS("gpu"));
    const char        *text = "bytes=1k,decode=1us,samples=95,begin=18ms";
    double             sample_s = 1e3 / 1e9 + 1e-6 + IMAGE_BYTES / 1e9;
    cm_prediction_info i = predicted(g, device, (cm_loading_options){.dataset = text, .workers = 2});
    near(i.load_s, 10 * IMAGE_BYTES / 1e9 + 18e-3 / 9 + first(10, sample_s, 95));
    near(i.step_time_s, i.compute_s + i.load_s - i.overlapped_s);
    cm_device_free(device);
    assert_int_equal(cm_device_load("graphcore-gc200", &device, NULL), CM_OK);
    cm_prediction     *p;
    cm_predict_options o = {.batch = 10, .steps_per_call = 5, .loading = {.dataset = text, .host = "neoverse-v1"}};
    cm_prediction_info once = predicted(g, device, (cm_loading_options){0});
    assert_int_equal(cm_predict(g, device, &o, &p, NULL), CM_OK);
    const cm_prediction_info *five = cm_prediction_get_info(p);
    double link = 6.25e9, steady = 10 * (IMAGE_BYTES / link + 1e-6 / 2);
    double begin = (18e-3 + 50 * (1e3 / 7.36e9 + 1e-6 + IMAGE_BYTES / link)) / 5;
    near(five->host_time_s, once.host_time_s / 5);
    near(five->compute_s, once.device_time_s + once.host_time_s / 5);
    near(five->load_s, steady + begin);
    cm_prediction_free(p);
    cm_device_free(device);
    cm_graph_free(g);
}

/* One process that supplies 100 samples/s and takes 5 ms for each turn: ten samples take 0.1 s, 5 ms and their copy. */
static void one_process_feeds_all(void **state)
{
    (void)state;
    cm_graph          *g = forward_of("resnet18");
    cm_device         *device = device_of(OF_CLASS("gpu"));
    cm_prediction_info i = predicted(g, device, (cm_loading_options){.dataset = "rate=100,turn=5ms"});
    assert_true(i.compute_s < 0.1);
    near(i.step_time_s, 0.1 + 5e-3 + 10 * IMAGE_BYTES / 1e9);
    i = predicted(g, device, (cm_loading_options){.dataset = "turn=5ms"});
    near(i.step_time_s, i.compute_s + 5e-3 + 10 * IMAGE_BYTES / 1e9);
    cm_device_free(device);
    cm_graph_free(g);
}

static void tokens(void **state)
{
    (void)state;
    cm_graph          *g = forward_of("gpt:layers=1,hidden=64,heads=2,seq=128,vocab=100");
    cm_device         *device = device_of(OF_CLASS("gpu"));
    cm_prediction_info i = predicted(g, device, (cm_loading_options){.dataset = "openwebtext", .workers = 2});
    near(i.loading.read_s, 10 * 128 * 2 / 1e9);
    near(i.loading.prepare_s, 10 * 128 * 1e-6 / 2);
    near(i.loading.epoch_samples, 9035582198.0 / 128);
    cm_device_free(device);
    cm_graph_free(g);
}

/* Samples from the model's inputs, from numbers, and from a folder of files. */
static void other_samples(void **state)
{
    (void)state;
    cm_graph          *g = forward_of("resnet18");
    cm_device         *device = device_of(OF_CLASS("gpu"));
    cm_prediction_info i = predicted(g, device, (cm_loading_options){.on = true, .workers = 1});
    near(i.loading.read_s, 10 * IMAGE_BYTES / 1e9);
    assert_true(i.loading.prepare_s == 0 && isnan(i.loading.epoch_samples));
    i = predicted(g, device, (cm_loading_options){.dataset = "files:samples=1e6,bytes=1.5MB,decode=2ms", .workers = 1});
    near(i.loading.read_s, 10 * 1.5e6 / 1e9);
    near(i.loading.prepare_s, 10 * 2e-3);
    near(i.loading.epoch_samples, 1e6);
    char *kilobytes = calloc(1, 3001), name[128];
    memset(kilobytes, 'x', 3000);
    snprintf(name, sizeof name, "%s/images", folder);
    assert_int_equal(mkdir(name, 0700), 0);
    write_file("images/a.jpg", kilobytes);
    kilobytes[1000] = 0;
    write_file("images/b.JPEG", kilobytes);
    char *dataset = kilobytes;
    snprintf(dataset, 3000, "files:%s", name);
    i = predicted(g, device, (cm_loading_options){.dataset = dataset, .workers = 1});
    near(i.loading.read_s, 10 * 2000 / 1e9);
    near(i.loading.prepare_s, 10 * WORKER * 1e-3 * 2000 / JPEG_BYTES);
    near(i.loading.epoch_samples, 2);
    unlink(file_named("images/a.jpg"));
    unlink(file_named("images/b.JPEG"));
    rmdir(name);
    free(kilobytes);
    cm_device_free(device);
    cm_graph_free(g);
}

/* A host with its own decoding rate and 14 cores. The training
   process needs two of them, so that 13 workers load as 12 do; on two cores one is left. */
static void another_host(void **state)
{
    (void)state;
    cm_graph  *g = forward_of("resnet18");
    cm_device *device;
    assert_int_equal(cm_device_load("nvidia-h200", &device, NULL), CM_OK);
    cm_prediction_info i = predicted(g, device, (cm_loading_options){.dataset = "imagenet"});
    assert_int_equal(i.loading.workers, 14);
    near(i.loading.prepare_s, 10 * WORKER / 709.0 / 12);
    i = predicted(g, device, (cm_loading_options){.dataset = "imagenet", .workers = 13});
    near(i.loading.prepare_s, 10 * WORKER / 709.0 / 12);
    i = predicted(g, device, (cm_loading_options){.dataset = "imagenet", .workers = 11});
    near(i.loading.prepare_s, 10 * WORKER / 709.0 / 11);
    i = predicted(g, device, (cm_loading_options){.dataset = "imagenet", .host = "neoverse-v1"});
    assert_int_equal(i.loading.workers, 2);
    near(i.loading.prepare_s, 10 * WORKER / 877.0);
    cm_device_free(device);
    cm_graph_free(g);
}

static void refusals(void **state)
{
    static const struct {
        cm_loading_options o;
        cm_status          status;
    } bad[] = {{{.dataset = "imagenett"}, CM_ERR_UNKNOWN},      {{.dataset = "bytes=many"}, CM_ERR_ARGUMENT},
               {{.dataset = "decode=1ms"}, CM_ERR_ARGUMENT},    {{.dataset = "bytes=1,size=2"}, CM_ERR_ARGUMENT},
               {{.dataset = "openwebtext"}, CM_ERR_ARGUMENT},   {{.dataset = "files:/nowhere/at/all"}, CM_ERR_IO},
               {{.dataset = "bytes=-1"}, CM_ERR_ARGUMENT},      {{.dataset = "bytes=1Q"}, CM_ERR_ARGUMENT},
               {{.dataset = "imagenet", .host = "toaster"}, CM_ERR_UNKNOWN}};
    (void)state;
    cm_graph  *g = forward_of("resnet18");
    cm_device *device = device_of(OF_CLASS("gpu"));
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        cm_prediction     *p = NULL;
        cm_diag            diag = {0};
        cm_predict_options o = {.batch = 1, .loading = bad[k].o};
        assert_int_equal(cm_predict(g, device, &o, &p, &diag), bad[k].status);
        assert_true(strlen(diag.reason) > 10 && !p);
    }
    cm_device_free(device);
    cm_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(images),        cmocka_unit_test(nobody_loads),
                                       cmocka_unit_test(tokens),        cmocka_unit_test(other_samples),
                                       cmocka_unit_test(another_host),  cmocka_unit_test(refusals),
                                       cmocka_unit_test(under_a_plan), cmocka_unit_test(epochs),
                                       cmocka_unit_test(one_process_feeds_all)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
