/* SPDX-License-Identifier: Apache-2.0 */
/* test_predictor.c - many batch sizes: equal to cm_predict() at powers of two, and between its neighbours elsewhere. */
#include <math.h>
#include "model/predictor.h"
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

/* Batch sizes that are surely slower are slower, clearly slower ones are found, and timing only some calls changes
   nothing. */
static void slower_batches_are_known(const char *device_id, const char *model)
{
    static const double parts[] = {0.5, 0.9, 0.999, 1.001, 1.2, 2, 1e9};
    cm_graph           *step = step_of(model);
    cm_device          *device;
    cm_predictor       *asked, *plain;
    cm_prediction_info  info, exact;
    assert_int_equal(cm_device_load(device_id, &device, NULL), CM_OK);
    assert_int_equal(cm_predictor_new(step, device, NULL, &plain, NULL), CM_OK);
    for (int64_t batch = 4; batch <= 256; batch *= 4)
        for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
            exact = at(plain, batch);
            double bound = parts[i] * exact.throughput_samples_s, alone_s = exact.step_time_s;
            assert_int_equal(cm_predictor_new(step, device, NULL, &asked, NULL), CM_OK);
            at(asked, 2 * batch);
            bool below = cm__predictor_below(asked, batch, bound);
            assert_true(!below || exact.throughput_samples_s < bound);
            if (parts[i] >= 2) assert_true(below); /* a limit of the clock makes no step twice as long */
            assert_int_equal(cm__predictor_exactly(asked, batch, &info, NULL), CM_OK);
            same(&info, &exact);
            assert_true(info.step_time_s == alone_s);
            cm_predictor_free(asked);
        }
    cm_predictor_free(plain);
    cm_device_free(device);
    cm_graph_free(step);
}

static void a_slower_batch_is_known(void **unused)
{
    (void)unused;
    slower_batches_are_known("nvidia-h200", "resnet18");
    slower_batches_are_known("nvidia-l4", "bert:layers=2,hidden=128,heads=2,seq=64,vocab=1000");
}

static void only_powers_of_two_by_calls_are_compared(void **unused)
{
    (void)unused;
    cm_graph     *step = step_of("resnet18");
    cm_device    *device[2];
    cm_predictor *p[2];
    const char   *ids[] = {"nvidia-h200", "habana-gaudi2"}; /* the second one has an execution model */
    for (int i = 0; i < 2; i++) {
        assert_int_equal(cm_device_load(ids[i], &device[i], NULL), CM_OK);
        assert_int_equal(cm_predictor_new(step, device[i], NULL, &p[i], NULL), CM_OK);
        at(p[i], 64);
        assert_false(cm__predictor_below(p[i], 48, 1e12));
        assert_false(cm__predictor_below(p[i], 0, 1e12));
        assert_false(cm__predictor_below(p[i], 32, 0));
        assert_int_equal(cm__predictor_below(p[i], 32, 1e12), i == 0);
        cm_predictor_free(p[i]);
        cm_device_free(device[i]);
    }
    cm_graph_free(step);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(powers_of_two_are_exact),
        cmocka_unit_test(others_lie_between),
        cmocka_unit_test(nonsense_is_refused),
        cmocka_unit_test(a_slower_batch_is_known),
        cmocka_unit_test(only_powers_of_two_by_calls_are_compared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
