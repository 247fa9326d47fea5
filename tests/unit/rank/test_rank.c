/* SPDX-License-Identifier: Apache-2.0 */
/* test_rank.c - a ranking: each device as predicted alone, its numbers by their formulas, and devices without a
   rank. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <string.h>
#include "centimani.h"

#define HOUR 3600.0

static cm_ranking *rank(const char *model, const cm_rank_options *o)
{
    cm_ranking *r;
    cm_diag     diag = {0};
    if (cm_rank(model, o, &r, &diag)) fail_msg("%s", diag.reason);
    return r;
}

static const cm_rank_entry *of(const cm_ranking *r, const char *id)
{
    for (int32_t i = 0; i < cm_ranking_entries(r); i++)
        if (strcmp(cm_device_get_info(cm_ranking_entry(r, i)->device)->id, id) == 0) return cm_ranking_entry(r, i);
    fail_msg("%s is not there", id);
    return NULL;
}

static void near(double got, double wanted) { assert_true(fabs(got - wanted) <= 1e-9 * fabs(wanted)); }

/* ---- predictions ------------------------------------------------------------------------------------------------ */

/* Sharing objects among devices does not change a prediction. */
static void as_alone(const char *model, const cm_rank_entry *e)
{
    cm_graph          *forward, *step;
    cm_device         *device;
    cm_predictor      *predictor;
    cm_prediction_info alone;
    assert_int_equal(cm_device_load(cm_device_get_info(e->device)->id, &device, NULL), CM_OK);
    cm_step_options o = {.train.precision = e->precision};
    assert_int_equal(cm_step_settle(model, device, &o, NULL), CM_OK);
    assert_int_equal(cm_graph_load(model, &o.load, &forward, NULL), CM_OK);
    assert_int_equal(cm_graph_train(forward, &o.train, &step, NULL), CM_OK);
    assert_int_equal(cm_predictor_new(step, device, NULL, &predictor, NULL), CM_OK);
    assert_int_equal(cm_predictor_at(predictor, e->prediction.batch, &alone, NULL), CM_OK);
    assert_true(alone.step_time_s == e->prediction.step_time_s);
    assert_true(alone.interval_s[1] == e->prediction.interval_s[1]);
    assert_int_equal(alone.devices, e->prediction.devices);
    cm_predictor_free(predictor);
    cm_graph_free(step);
    cm_graph_free(forward);
    cm_device_free(device);
}

static void test_each_as_alone(void **state)
{
    static const char *const models[] = {"resnet18", "gpt2", "lstm"};
    (void)state;
    for (int m = 0; m < 3; m++) {
        cm_ranking *r = rank(models[m], NULL);
        assert_true(cm_ranking_placed(r) > 25);
        for (int32_t i = 0; i < cm_ranking_entries(r); i++)
            if (cm_ranking_entry(r, i)->fits) as_alone(models[m], cm_ranking_entry(r, i));
        cm_ranking_free(r);
    }
}

/* No batch size that fits is more than 2 % faster, and half of the chosen one is slower than that. */
static void test_best_batch(void **state)
{
    cm_ranking      *best = rank("resnet18", &(cm_rank_options){.devices = "nvidia-h200,nvidia-t4"});
    const char      *ids[] = {"nvidia-h200", "nvidia-t4"};
    (void)state;
    for (int k = 0; k < 2; k++) {
        const cm_rank_entry *e = of(best, ids[k]);
        double               most = 0;
        for (int64_t b = 1; b <= 1 << 16; b *= 2) {
            cm_ranking          *at = rank("resnet18", &(cm_rank_options){.devices = ids[k], .batch = b});
            const cm_rank_entry *other = of(at, ids[k]);
            if (other->fits) most = fmax(most, other->prediction.throughput_samples_s);
            if (b == e->prediction.batch / 2)
                assert_true(other->prediction.throughput_samples_s < e->prediction.throughput_samples_s);
            bool fits = other->fits;
            cm_ranking_free(at);
            if (!fits) break;
        }
        assert_true(e->prediction.throughput_samples_s >= 0.98 * most);
    }
    cm_ranking_free(best);
}

static void test_threads_agree(void **state)
{
    cm_ranking *one = rank("bert-base", &(cm_rank_options){.threads = 1});
    cm_ranking *four = rank("bert-base", &(cm_rank_options){.threads = 4});
    (void)state;
    assert_int_equal(cm_ranking_entries(one), cm_ranking_entries(four));
    for (int32_t i = 0; i < cm_ranking_entries(one); i++) {
        const cm_rank_entry *a = cm_ranking_entry(one, i), *b = cm_ranking_entry(four, i);
        assert_string_equal(cm_device_get_info(a->device)->id, cm_device_get_info(b->device)->id);
        assert_true(!a->fits || a->value == b->value);
        assert_true(a->peak_bytes == b->peak_bytes || !a->fits);
    }
    cm_ranking_free(one);
    cm_ranking_free(four);
}

/* ---- order ------------------------------------------------------------------------------------------------------ */

static bool beats(const cm_rank_entry *a, const cm_rank_entry *b)
{
    double pace = a->prediction.throughput_samples_s - b->prediction.throughput_samples_s;
    double money = a->samples_per_usd - b->samples_per_usd;
    return pace >= 0 && money >= 0 && (pace > 0 || money > 0);
}

static void check_order(cm_objective objective)
{
    cm_ranking *r = rank("resnet50", &(cm_rank_options){.objective = objective, .samples = 1e6});
    int32_t     placed = cm_ranking_placed(r);
    assert_true(placed > 10);
    for (int32_t i = 0; i < placed; i++) {
        const cm_rank_entry *e = cm_ranking_entry(r, i), *next = i + 1 < placed ? cm_ranking_entry(r, i + 1) : NULL;
        assert_true(e->interval[0] <= e->value && e->value <= e->interval[1]);
        bool dominated = isnan(e->samples_per_usd);
        for (int32_t k = 0; k < placed; k++) dominated = dominated || beats(cm_ranking_entry(r, k), e);
        assert_int_equal(e->pareto, !dominated);
        if (!next) continue;
        assert_true(cm_objective_is_less(objective) ? e->value <= next->value : e->value >= next->value);
        bool overlap = e->interval[0] <= next->interval[1] && next->interval[0] <= e->interval[1];
        assert_true(overlap || !e->tied_with_next); /* errors cannot be more than opposed */
    }
    cm_ranking_free(r);
}

static void test_order(void **state)
{
    (void)state;
    for (int32_t i = 0; i < cm_choice_objectives(CM_CHOICE_DEVICE); i++)
        check_order(cm_choice_objective(CM_CHOICE_DEVICE, i));
}

/* ---- the job ---------------------------------------------------------------------------------------------------- */

static void test_job(void **state)
{
    (void)state;
    cm_rank_price   prices[] = {{"nvidia-h200", 10}};
    cm_rank_options o = {.devices = "nvidia-h200,nvidia-a100-40g", .samples = 1281167, .epochs = 90,
                         .objective = CM_OBJECTIVE_COST, .prices = prices, .n_prices = 1};
    cm_ranking     *r = rank("resnet50", &o);
    near(cm_ranking_get_info(r)->job_samples, 90.0 * 1281167);
    const cm_rank_entry *e = of(r, "nvidia-h200");
    near(e->hours, 90.0 * 1281167 / e->prediction.throughput_samples_s / HOUR);
    near(e->usd, 10 * e->hours);
    near(e->value, e->usd);
    assert_true(e->power_w > 105 && e->power_w <= 700); /* between its idle power and its limit */
    near(e->power_w, e->prediction.power_w);
    near(e->kwh, e->power_w * e->hours / 1000);
    near(e->samples_per_usd, e->prediction.throughput_samples_s * HOUR / 10);
    near(e->energy_j_per_sample, e->power_w / e->prediction.throughput_samples_s);
    near(e->interval[1], 10 * 90.0 * 1281167 / (double)e->prediction.batch * e->prediction.interval_s[1] / HOUR);
    assert_null(e->price);
    cm_ranking_free(r);
}

static void test_tokens(void **state)
{
    (void)state;
    cm_ranking *r = rank("gpt2", &(cm_rank_options){.devices = "nvidia-h200", .tokens = 1024e6});
    near(cm_ranking_get_info(r)->tokens_per_sample, 1024);
    near(cm_ranking_get_info(r)->job_samples, 1e6);
    cm_ranking_free(r);
    cm_diag diag = {0};
    assert_int_equal(cm_rank("resnet18", &(cm_rank_options){.tokens = 1e9}, &r, &diag), CM_ERR_ARGUMENT);
    assert_non_null(strstr(diag.reason, "--samples"));
}

/* Samples of several lengths: each device as predicted alone, and a job counts tokens without padding. */
static void test_lengths(void **state)
{
    (void)state;
    cm_load_options    load = {.seq = 1024, .tokens = 256};
    cm_rank_options    o = {.devices = "nvidia-h200,amd-mi300x", .batch = 8, .tokens = 256e6, .load = load};
    cm_ranking        *r = rank("gpt2", &o);
    cm_step_options    alone = {.load = load};
    cm_prediction_info info;
    cm_memory_use      use;
    cm_device         *device;
    cm_step           *step;
    near(cm_ranking_get_info(r)->tokens_per_sample, 256);
    near(cm_ranking_get_info(r)->job_samples, 1e6);
    assert_int_equal(cm_ranking_get_info(r)->seq, 1024);
    assert_int_equal(cm_ranking_entries(r), 2);
    for (int32_t i = 0; i < 2; i++) {
        const cm_rank_entry *e = cm_ranking_entry(r, i);
        assert_int_equal(cm_device_load(cm_device_get_info(e->device)->id, &device, NULL), CM_OK);
        assert_int_equal(cm_step_new("gpt2", device, &alone, &step, NULL), CM_OK);
        assert_int_equal(cm_step_time(step, 8, &info, NULL), CM_OK);
        assert_int_equal(cm_step_memory(step, 8, &use, NULL), CM_OK);
        near(e->prediction.step_time_s, info.step_time_s);
        near(e->peak_bytes, use.peak_bytes);
        cm_step_free(step);
        cm_device_free(device);
    }
    cm_ranking_free(r);
}

/* ---- the baseline ----------------------------------------------------------------------------------------------- */

static void test_baseline(void **state)
{
    (void)state;
    cm_rank_options o = {.devices = "habana-gaudi2,nvidia-h200", .baseline = "nvidia-a100-40g", .port_hours = 80,
                         .price_basis = CM_BASIS_PAPER,
                         .port_usd_hour = 100};
    cm_ranking          *r = rank("resnet50", &o);
    const cm_rank_entry *base = cm_ranking_get_info(r)->baseline, *e = of(r, "habana-gaudi2"),
                        *gpu = of(r, "nvidia-h200");
    assert_int_equal(cm_ranking_entries(r), 2); /* the baseline is not ranked unless requested */
    near(e->relative, e->value / base->value);
    near(e->relative_interval[0], e->interval[0] / base->value);
    near(e->port_usd, 8000);
    double saved = 1 / base->samples_per_usd - 1 / e->samples_per_usd;
    near(e->break_even_samples, 8000 / saved);
    near(e->break_even_hours, 8000 / saved / base->prediction.throughput_samples_s / HOUR);
    double pace = e->prediction.throughput_samples_s / base->prediction.throughput_samples_s;
    near(e->break_even_price_hour, base->price_hour * pace);
    assert_true(gpu->port_usd == 0); /* another GPU runs the same program */
    cm_ranking_free(r);
}

/* Conditions select the ranked devices, not the baseline they are compared with. */
static void test_baseline_left_out(void **state)
{
    (void)state;
    cm_rank_options      o = {.devices = "nvidia-a100-40g,nvidia-h200", .baseline = "nvidia-a100-40g",
                              .where = "memory>80GB"};
    cm_ranking          *r = rank("resnet50", &o);
    const cm_rank_entry *base = cm_ranking_get_info(r)->baseline, *e = of(r, "nvidia-h200");
    assert_int_equal(cm_ranking_entries(r), 1);
    assert_int_equal(cm_ranking_get_info(r)->left_out, 1);
    assert_non_null(base);
    near(e->relative, e->value / base->value);
    cm_ranking_free(r);
}

static void test_porting_never_pays(void **state)
{
    (void)state;
    cm_rank_price   prices[] = {{"habana-gaudi2", 1e4}};
    cm_rank_options o = {.devices = "habana-gaudi2", .baseline = "nvidia-a100-40g", .port_hours = 1, .port_usd_hour = 1,
                         .prices = prices, .n_prices = 1};
    cm_ranking     *r = rank("resnet50", &o);
    assert_true(isinf(of(r, "habana-gaudi2")->break_even_samples));
    cm_ranking_free(r);
}

/* ---- who takes part --------------------------------------------------------------------------------------------- */

static void test_filters(void **state)
{
    (void)state;
    cm_ranking *r = rank("resnet18", &(cm_rank_options){.vendor = "amd", .where = "memory>100GB"});
    for (int32_t i = 0; i < cm_ranking_entries(r); i++) {
        const cm_device *d = cm_ranking_entry(r, i)->device;
        assert_string_equal(cm_device_get_info(d)->vendor, "AMD");
        assert_true(cm_device_main_memory(d)->capacity_bytes.value > 100 * 0x1p30);
    }
    assert_true(cm_ranking_entries(r) > 0);
    cm_ranking_free(r);
    r = rank("resnet18", &(cm_rank_options){.provider = "Xie", .price_basis = CM_BASIS_PAPER});
    for (int32_t i = 0; i < cm_ranking_entries(r); i++)
        assert_string_equal(cm_ranking_entry(r, i)->price->provider, "Xie et al. 2024");
    near(of(r, "graphcore-bow")->price_hour, 1.21); /* section 6.2.1 of Xie et al. 2024, as is the next */
    near(of(r, "nvidia-a100-40g")->price_hour, 2.87);
    cm_ranking_free(r);
}

/* A device without a price of the requested basis has no rank by price; the reason names the bases it has. */
static void test_price_basis(void **state)
{
    static const char *const devices = "nvidia-h200,graphcore-bow,habana-gaudi2";
    (void)state;
    cm_ranking *r = rank("resnet18", &(cm_rank_options){.devices = devices, .objective = CM_OBJECTIVE_PRICE});
    assert_int_equal(cm_ranking_placed(r), 1);
    assert_string_equal(of(r, "nvidia-h200")->price->basis, "on-demand");
    assert_int_equal(of(r, "graphcore-bow")->state, CM_RANK_NO_VALUE);
    assert_non_null(strstr(of(r, "graphcore-bow")->reason, "no on-demand price"));
    assert_non_null(strstr(of(r, "graphcore-bow")->reason, "--price-basis paper"));
    assert_non_null(strstr(of(r, "habana-gaudi2")->reason, "--price-basis marketplace"));
    double list = of(r, "nvidia-h200")->price_hour;
    cm_ranking_free(r);
    r = rank("resnet18", &(cm_rank_options){.devices = devices, .objective = CM_OBJECTIVE_PRICE,
                                            .price_basis = CM_BASIS_SPOT});
    assert_string_equal(of(r, "nvidia-h200")->price->basis, "spot");
    assert_true(of(r, "nvidia-h200")->price_hour < list);
    cm_ranking_free(r);
    r = rank("resnet18", &(cm_rank_options){.devices = devices, .objective = CM_OBJECTIVE_PRICE,
                                            .price_basis = CM_BASIS_ANY});
    assert_int_equal(cm_ranking_placed(r), 2);
    assert_int_equal(of(r, "habana-gaudi2")->state, CM_RANK_UNCERTAIN); /* it has a price, and a wide interval */
    cm_ranking_free(r);
}

/* Devices with wide intervals have no place beside others, and are ranked among themselves. */
static void test_uncertain(void **state)
{
    (void)state;
    cm_ranking *r = rank("resnet50", &(cm_rank_options){.devices = "cerebras-cs3,nvidia-t4,habana-gaudi3"});
    assert_int_equal(cm_ranking_placed(r), 1);
    assert_string_equal(cm_device_get_info(cm_ranking_entry(r, 0)->device)->id, "nvidia-t4");
    for (int32_t i = 1; i < 3; i++) {
        const cm_rank_entry *e = cm_ranking_entry(r, i);
        assert_true(e->too_uncertain && e->prediction.interval_s[1] > 4 * e->prediction.interval_s[0]);
        assert_non_null(strstr(e->reason, "samples/s"));
    }
    cm_ranking_free(r);
    r = rank("resnet50", &(cm_rank_options){.devices = "cerebras-cs3,habana-gaudi3"});
    assert_int_equal(cm_ranking_placed(r), 2);
    assert_true(cm_ranking_entry(r, 0)->too_uncertain && !cm_ranking_entry(r, 0)->reason);
    cm_ranking_free(r);
}

/* Without a choice of devices, only those that are for rent or sale have a place. */
static void test_offered(void **state)
{
    static const char *const all[] = {NULL, "all"};
    (void)state;
    for (int i = 0; i < 2; i++) {
        cm_ranking *r = rank("gpt2", &(cm_rank_options){.devices = all[i]});
        cm_rank_state apart = i ? CM_RANK_PLACED : CM_RANK_NOT_OFFERED;
        assert_int_equal(of(r, "cerebras-cs2")->state, apart);
        assert_int_equal(of(r, "graphcore-bow")->state, apart);
        assert_int_equal(of(r, "nvidia-h200")->state, CM_RANK_PLACED);
        assert_string_equal(cm_device_get_info(of(r, "cerebras-cs2")->device)->part_of, "one eighth of a wafer");
        cm_ranking_free(r);
    }
}

static void test_limits(void **state)
{
    (void)state;
    cm_ranking *all = rank("resnet18", &(cm_rank_options){.objective = CM_OBJECTIVE_TIME, .samples = 1e8});
    double      hours = cm_ranking_entry(all, 5)->hours;
    int32_t     within = 6;
    while (cm_ranking_entry(all, within)->hours <= hours) within++; /* two devices may take equally long */
    cm_ranking *few = rank("resnet18", &(cm_rank_options){.objective = CM_OBJECTIVE_TIME, .samples = 1e8,
                                                          .max_hours = hours});
    assert_int_equal(cm_ranking_placed(few), within);
    const cm_rank_entry *over = of(few, cm_device_get_info(cm_ranking_entry(all, within)->device)->id);
    assert_int_equal(over->state, CM_RANK_OVER);
    assert_non_null(strstr(over->reason, "more than"));
    cm_ranking_free(few);
    few = rank("resnet18", &(cm_rank_options){.max_usd = 1e-9, .samples = 1e8});
    assert_int_equal(cm_ranking_placed(few), 0);
    cm_ranking_free(few);
    cm_ranking_free(all);
}

static void test_does_not_fit(void **state)
{
    (void)state;
    cm_ranking          *r = rank("gpt3-13b", &(cm_rank_options){.devices = "nvidia-h100,nvidia-t4"});
    const cm_rank_entry *e = of(r, "nvidia-h100");
    assert_int_equal(e->state, CM_RANK_NO_FIT);
    assert_false(e->fits);
    assert_non_null(strstr(e->reason, "--zero 3"));
    assert_true(e->peak_bytes > 12.9e9 * 16); /* weights, gradients and two states, 4 bytes each */
    assert_int_equal(cm_ranking_placed(r), 0);
    cm_ranking_free(r);
}

/* The time is that of the step as asked, so that a step which fits only if recomputed has no place. */
static void test_fits_recomputed(void **state)
{
    (void)state;
    cm_rank_options      o = {.batch = 32, .devices = "habana-gaudi2,google-tpu-v6e"};
    cm_ranking          *r = rank("gpt2-xl", &o);
    const cm_rank_entry *e = of(r, "habana-gaudi2");
    assert_int_equal(e->state, CM_RANK_RECOMPUTED);
    assert_int_equal(of(r, "google-tpu-v6e")->state, CM_RANK_RECOMPUTED);
    assert_true(!e->fits && e->chance.likely && strstr(e->reason, "--recompute full"));
    assert_int_equal(cm_ranking_placed(r), 0);
    cm_ranking_free(r);
    o.train.recompute = CM_RECOMPUTE_FULL;
    r = rank("gpt2-xl", &o);
    assert_int_equal(of(r, "habana-gaudi2")->state, CM_RANK_PLACED);
    cm_ranking_free(r);
}

/* ---- errors ----------------------------------------------------------------------------------------------------- */

static void refused(const cm_rank_options *o, cm_status status, const char *words)
{
    cm_ranking *r;
    cm_diag     diag = {0};
    assert_int_equal(cm_rank("resnet18", o, &r, &diag), status);
    if (!strstr(diag.reason, words)) fail_msg("'%s' lacks '%s'", diag.reason, words);
}

static void test_refused(void **state)
{
    (void)state;
    refused(&(cm_rank_options){.devices = "nvidia-h20"}, CM_ERR_UNKNOWN, "nvidia-h200");
    refused(&(cm_rank_options){.baseline = "nvidia-a10-40g"}, CM_ERR_UNKNOWN, "nvidia-a100-40g");
    refused(&(cm_rank_options){.vendor = "Acme"}, CM_ERR_UNKNOWN, "Graphcore");
    refused(&(cm_rank_options){.provider = "Acme"}, CM_ERR_UNKNOWN, "RunPod");
    refused(&(cm_rank_options){.port_hours = 1, .port_usd_hour = 1}, CM_ERR_ARGUMENT, "baseline");
    refused(&(cm_rank_options){.objective = CM_OBJECTIVE_MEMORY}, CM_ERR_ARGUMENT, "objective");
    cm_objective objective;
    cm_diag diag = {0};
    assert_int_equal(cm_objective_parse("prize", CM_CHOICE_DEVICE, &objective, &diag), CM_ERR_UNKNOWN);
    assert_non_null(strstr(diag.reason, "'price'"));
    cm_ranking *r;
    assert_int_equal(cm_rank("resnet5", NULL, &r, &diag), CM_ERR_UNKNOWN);
    assert_non_null(strstr(diag.reason, "resnet50"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_as_alone), cmocka_unit_test(test_best_batch), cmocka_unit_test(test_threads_agree),
        cmocka_unit_test(test_order), cmocka_unit_test(test_job), cmocka_unit_test(test_tokens), cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_baseline), cmocka_unit_test(test_baseline_left_out),
        cmocka_unit_test(test_porting_never_pays), cmocka_unit_test(test_filters), cmocka_unit_test(test_price_basis), cmocka_unit_test(test_uncertain),
        cmocka_unit_test(test_offered),
        cmocka_unit_test(test_limits), cmocka_unit_test(test_does_not_fit), cmocka_unit_test(test_fits_recomputed),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
