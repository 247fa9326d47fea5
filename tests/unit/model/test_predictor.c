/* SPDX-License-Identifier: Apache-2.0 */
/* test_predictor.c - many batch sizes: equal to cm_predict() at powers of two, and between its neighbours elsewhere. */
#include <math.h>
#include "time_device.h"

static cm_graph *step_of(const char *model)
{
    cm_graph       *forward, *step;
    cm_load_options load = {.fuse = CM_FUSE_EAGER};
    assert_int_equal(cm_graph_load(model, &load, &forward, NULL), CM_OK);
    assert_int_equal(cm_graph_train(forward, NULL, &step, NULL), CM_OK);
    cm_graph_free(forward);
    return step;
}

static cm_prediction_info at(cm_predictor *p, int64_t batch)
{
    cm_prediction_info info;
    assert_int_equal(cm_predictor_at(p, batch, &info, NULL), CM_OK);
    assert_int_equal(info.batch, batch);
    return info;
}

static void same(const cm_prediction_info *a, const cm_prediction_info *b)
{
    assert_true(a->step_time_s == b->step_time_s && a->device_time_s == b->device_time_s);
    assert_true(a->host_time_s == b->host_time_s && a->launches == b->launches && a->clock == b->clock);
    assert_true(a->interval_s[0] == b->interval_s[0] && a->interval_s[1] == b->interval_s[1]);
    assert_true(a->throughput_samples_s == b->throughput_samples_s && a->mfu == b->mfu);
    assert_int_equal(a->runtime, b->runtime);
    assert_int_equal(a->layout, b->layout);
    for (int h = 0; h < CM_HOWS; h++) assert_true(a->share[h] == b->share[h]);
}

static void holds_on(const char *device_id, const char *model)
{
    cm_graph     *step = step_of(model);
    cm_device    *device;
    cm_predictor *predictor;
    assert_int_equal(cm_device_load(device_id, &device, NULL), CM_OK);
    assert_int_equal(cm_predictor_new(step, device, NULL, &predictor, NULL), CM_OK);
    for (int64_t batch = 1; batch <= 64; batch *= 4) {
        cm_prediction     *p;
        cm_prediction_info info = at(predictor, batch);
        assert_int_equal(cm_predict(step, device, &(cm_predict_options){.batch = batch}, &p, NULL), CM_OK);
        same(&info, cm_prediction_get_info(p));
        cm_prediction_free(p);
    }
    cm_predictor_free(predictor);
    cm_device_free(device);
    cm_graph_free(step);
}

static void powers_of_two_are_exact(void **unused)
{
    (void)unused;
    holds_on("nvidia-h200", "resnet18");
    holds_on("nvidia-a100-40g", "bert:layers=2,hidden=128,heads=2,seq=64,vocab=1000");
    holds_on("habana-gaudi2", "resnet18"); /* with an execution model, at any batch size */
}

static void others_lie_between(void **unused)
{
    (void)unused;
    cm_graph     *step = step_of("resnet18");
    cm_device    *device;
    cm_predictor *p;
    assert_int_equal(cm_device_load("nvidia-h200", &device, NULL), CM_OK);
    assert_int_equal(cm_predictor_new(step, device, NULL, &p, NULL), CM_OK);
    cm_prediction_info low = at(p, 64), high = at(p, 128);
    double             last = low.device_time_s;
    for (int64_t batch = 65; batch < 128; batch += 7) {
        cm_prediction_info i = at(p, batch);
        assert_true(i.device_time_s >= last && i.device_time_s <= high.device_time_s);
        assert_true(i.share[CM_HOW_MEASURED] == 0); /* this size was not measured */
        last = i.device_time_s;
    }
    assert_true(at(p, 64).step_time_s == low.step_time_s); /* a prediction in between changes nothing */
    cm_predictor_free(p);
    cm_device_free(device);
    cm_graph_free(step);
}

static void nonsense_is_refused(void **unused)
{
    (void)unused;
    cm_graph          *step = step_of("resnet18");
    cm_device         *device;
    cm_predictor      *p;
    cm_prediction_info info;
    cm_diag            diag;
    assert_int_equal(cm_device_load("nvidia-h200", &device, NULL), CM_OK);
    assert_int_equal(cm_predictor_new(NULL, device, NULL, &p, &diag), CM_ERR_ARGUMENT);
    assert_int_equal(cm_predictor_new(step, device, NULL, &p, &diag), CM_OK);
    assert_int_equal(cm_predictor_at(p, 0, &info, &diag), CM_ERR_ARGUMENT);
    assert_int_equal(cm_predictor_at(p, INT64_MAX, &info, &diag), CM_ERR_ARGUMENT);
    assert_int_equal(cm_predictor_at(p, 8, NULL, &diag), CM_ERR_ARGUMENT);
    assert_int_equal(cm_predictor_at(p, 8, &info, &diag), CM_OK);
    cm_predictor_free(p);
    cm_predictor_free(NULL);
    cm_device_free(device);
    cm_graph_free(step);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(powers_of_two_are_exact),
        cmocka_unit_test(others_lie_between),
        cmocka_unit_test(nonsense_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
