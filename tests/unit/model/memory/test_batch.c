/* SPDX-License-Identifier: Apache-2.0 */
/* test_batch.c - the choice of a batch size: equation (5) by hand, the largest that fits, candidates, nothing fits. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "centimani.h"
#include "model/memory/batch.h"

typedef struct subject {
    cm_graph     *forward, *step;
    cm_device    *device;
    cm_footprint *footprint;
} subject;

static subject make(const char *model, const char *device)
{
    subject s;
    assert_int_equal(cm_graph_load(model, NULL, &s.forward, NULL), CM_OK);
    assert_int_equal(cm_graph_train(s.forward, NULL, &s.step, NULL), CM_OK);
    assert_int_equal(cm_device_load(device, &s.device, NULL), CM_OK);
    assert_int_equal(cm_footprint_new(s.step, s.device, NULL, &s.footprint, NULL), CM_OK);
    return s;
}

static void drop(subject *s)
{
    cm_footprint_free(s->footprint);
    cm_device_free(s->device);
    cm_graph_free(s->step);
    cm_graph_free(s->forward);
}

static bool fits(const subject *s, int64_t batch)
{
    cm_memory_use use;
    assert_int_equal(cm_footprint_simulate(s->footprint, batch, &use, NULL), CM_OK);
    return use.fits;
}

static void test_any_is_the_largest(void **state)
{
    static const char *const models[] = {"resnet50", "gpt2", "unet"};
    (void)state;
    for (int i = 0; i < 3; i++) {
        subject         s = make(models[i], "nvidia-a100-40g");
        cm_batch_choice c;
        assert_int_equal(cm_batch_choose(s.footprint, &(cm_batch_options){.any = true}, &c, NULL), CM_OK);
        assert_true(c.batch > 1);
        assert_true(fits(&s, c.batch));
        assert_false(fits(&s, c.batch + 1));
        drop(&s);
    }
}

/* 10 (on-chip left)^2 + (off-chip left)^2 on a machine with both; the candidate with the minimum is chosen. */
static void test_equation5(void **state)
{
    (void)state;
    subject         s = make("resnet50", "cerebras-cs2");
    cm_batch_choice c;
    int64_t         tried[] = {2, 4, 8};
    cm_batch_options o = {.candidates = tried, .n_candidates = 3};
    assert_int_equal(cm_batch_choose(s.footprint, &o, &c, NULL), CM_OK);
    assert_int_equal(c.n_candidates, 3);
    assert_int_equal(c.batch, 8);
    for (int i = 0; i < 3; i++) {
        cm_memory_use use;
        double        expected = 0;
        cm_footprint_at(s.footprint, tried[i], &use);
        assert_int_equal(use.n_levels, 2);
        for (int l = 0; l < 2; l++)
            expected += (l == 0 ? 10 : 1) * pow(use.levels[l].capacity_bytes - use.levels[l].used_bytes, 2);
        assert_true(fabs(c.candidates[i].objective / expected - 1) < 1e-12);
    }
    drop(&s);
}

/* Powers of two up to the first that does not fit. */
static void test_powers_of_two(void **state)
{
    (void)state;
    subject         s = make("gpt2-xl", "nvidia-h200");
    cm_batch_choice c;
    assert_int_equal(cm_batch_choose(s.footprint, NULL, &c, NULL), CM_OK);
    for (int i = 0; i < c.n_candidates; i++) {
        assert_int_equal(c.candidates[i].batch, 1 << i);
        assert_int_equal(c.candidates[i].fits, i + 1 < c.n_candidates);
    }
    assert_int_equal(c.batch, c.candidates[c.n_candidates - 2].batch);
    drop(&s);
}

static double falling(void *user, int64_t batch)
{
    (void)user;
    return 100.0 / (double)batch;
}

static void test_throughput(void **state)
{
    (void)state;
    subject          s = make("resnet18", "nvidia-h200");
    cm_batch_choice  c;
    cm_batch_options o = {.objective = CM_OBJECTIVE_THROUGHPUT, .throughput = falling};
    assert_int_equal(cm_batch_choose(s.footprint, &o, &c, NULL), CM_OK);
    assert_int_equal(c.batch, 1);
    assert_true(c.candidates[1].throughput_samples_s == 50);
    drop(&s);
}

static void test_nothing_fits(void **state)
{
    (void)state;
    subject         s = make("gpt3-175b", "nvidia-h200");
    cm_batch_choice c;
    cm_memory_use   use;
    assert_int_equal(cm_batch_choose(s.footprint, NULL, &c, NULL), CM_OK);
    assert_int_equal(c.batch, 0);
    cm_footprint_at(s.footprint, 1, &use);
    assert_false(use.fits);
    assert_true(use.shortfall_bytes > 174e9 * 16 - 160e9); /* at least weights, gradients and two states in fp32 */
    drop(&s);
}

static double up_to_eight(void *user, int64_t batch)
{
    (void)user;
    return batch <= 8 ? (double)batch : NAN;
}

/* A batch without a step time is not chosen, but smaller ones are. */
static void test_unknown_times_are_skipped(void **state)
{
    (void)state;
    subject          s = make("resnet18", "nvidia-h200");
    cm_batch_choice  c;
    cm_batch_options o = {.objective = CM_OBJECTIVE_THROUGHPUT, .throughput = up_to_eight};
    assert_int_equal(cm_batch_choose(s.footprint, &o, &c, NULL), CM_OK);
    assert_int_equal(c.batch, 8);
    drop(&s);
}

/* Convolutions go without the workspace that has no room, whichever way the question is asked. */
static void test_refused_workspaces(void **state)
{
    (void)state;
    subject       s = make("vgg16", "nvidia-p4");
    cm_memory_use quick, simulated;
    assert_int_equal(cm__footprint_use(s.footprint, 32, &quick, NULL), CM_OK);
    assert_int_equal(cm_footprint_simulate(s.footprint, 32, &simulated, NULL), CM_OK);
    assert_true(simulated.fits);
    assert_true(quick.fits);
    assert_true(quick.peak_bytes == simulated.peak_bytes);
    drop(&s);
}

static void test_refusals(void **state)
{
    (void)state;
    subject          s = make("uno", "nvidia-h200");
    cm_batch_choice  c;
    cm_diag          diag;
    cm_batch_options many = {.n_candidates = CM_CANDIDATES_MAX + 1}, odd = {.objective = CM_OBJECTIVES};
    assert_int_equal(cm_batch_choose(s.footprint, &many, &c, &diag), CM_ERR_LIMIT);
    assert_int_equal(cm_batch_choose(s.footprint, &odd, &c, &diag), CM_ERR_ARGUMENT);
    drop(&s);
}

/* Throughputs and memory by hand, of batch sizes 1, 2, 4 and 8. */
typedef struct by_hand {
    double  samples_s[4];
    int64_t fits, roughly_fits, full; /* largest that fit, by simulation and by sizes; smallest that nearly fills */
    int     asked, simulated;         /* throughputs that were computed, nearly full memories that were simulated */
} by_hand;

static int place_of(int64_t batch) { return batch == 1 ? 0 : batch == 2 ? 1 : batch == 4 ? 2 : 3; }

static cm_status always_fits(void *user, int64_t batch, cm_memory_use *use, cm_diag *diag)
{
    (void)user, (void)batch, (void)diag;
    *use = (cm_memory_use){.fits = true, .sure = true};
    return CM_OK;
}

static cm_memory_use use_of(const by_hand *h, int64_t batch, bool fits)
{
    double used = batch >= h->full ? 0.7 : 0.5;
    return (cm_memory_use){.fits = fits, .sure = true, .n_levels = 1,
                           .levels = {{.used_bytes = used, .capacity_bytes = 1}}};
}

static cm_status use_by_hand(void *user, int64_t batch, cm_memory_use *use, cm_diag *diag)
{
    by_hand *h = user;
    (void)diag;
    h->simulated += batch >= h->full;
    *use = use_of(h, batch, batch <= h->fits);
    return CM_OK;
}

static cm_status roughly_by_hand(void *user, int64_t batch, cm_memory_use *use, cm_diag *diag)
{
    (void)diag;
    *use = use_of(user, batch, batch <= ((const by_hand *)user)->roughly_fits);
    return CM_OK;
}

static double throughput_by_hand(void *user, int64_t batch)
{
    by_hand *h = user;
    h->asked++;
    return h->samples_s[place_of(batch)];
}

static bool below_by_hand(void *user, int64_t batch, double samples_s)
{
    return ((by_hand *)user)->samples_s[place_of(batch)] < samples_s;
}

static int64_t chosen(const cm_device *device, by_hand *h, bool bounds)
{
    static const int64_t   sizes[] = {1, 2, 4, 8};
    const cm_batch_options o = {.objective = CM_OBJECTIVE_THROUGHPUT, .candidates = sizes, .n_candidates = 4,
                                .throughput = throughput_by_hand, .user = h};
    const cm__batch_rule rule = {.device = device, .most = 8, .least = 1, .use = always_fits,
                                 .below = bounds ? below_by_hand : NULL, .user = h};
    cm_batch_choice      choice;
    h->asked = 0;
    assert_int_equal(cm__batch_choose(&rule, &o, &choice, NULL), CM_OK);
    return choice.batch;
}

/* Bounds save throughputs but never change the choice, whatever the order of the throughputs; NAN: unknown. */
static void test_bounds_do_not_change_the_choice(void **state)
{
    static const double values[] = {NAN, 80, 90, 97, 99, 102};
    enum { VALUES = sizeof values / sizeof *values };
    subject s = make("resnet50", "nvidia-h200");
    (void)state;
    for (int all = 0; all < VALUES * VALUES * VALUES * VALUES; all++) {
        by_hand h = {.asked = 0};
        for (int i = 0, rest = all; i < 4; i++, rest /= VALUES) h.samples_s[i] = values[rest % VALUES];
        int64_t without = chosen(s.device, &h, false);
        assert_int_equal(chosen(s.device, &h, true), without);
    }
    by_hand second = {.samples_s = {70, 80, 100, 101}};
    assert_int_equal(chosen(s.device, &second, true), 4);
    assert_int_equal(second.asked, 1);
    by_hand dip = {.samples_s = {155, 168, 161, 165}}; /* the highest throughput lies behind a lower one */
    assert_int_equal(chosen(s.device, &dip, false), 2);
    drop(&s);
}

static int64_t chosen_power(const cm_device *device, by_hand *h, bool roughly)
{
    const cm_batch_options o = {.objective = CM_OBJECTIVE_THROUGHPUT, .throughput = throughput_by_hand, .user = h};
    const cm__batch_rule rule = {.device = device, .most = 8, .least = 1, .use = use_by_hand, .user = h,
                                 .roughly = roughly ? roughly_by_hand : NULL, .below = below_by_hand};
    cm_batch_choice      choice;
    h->simulated = 0;
    assert_int_equal(cm__batch_choose(&rule, &o, &choice, NULL), CM_OK);
    return choice.batch;
}

/* A nearly full memory that is simulated later, or not at all, never changes the choice. */
static void test_unsure_candidates(void **state)
{
    static const double  values[] = {NAN, 90, 99, 100, 102};
    static const int64_t sizes[] = {0, 1, 2, 4, 8, 16};
    enum { VALUES = sizeof values / sizeof *values, SIZES = sizeof sizes / sizeof *sizes };
    subject s = make("resnet50", "nvidia-h200");
    (void)state;
    for (int all = 0; all < VALUES * VALUES * VALUES * VALUES * SIZES * SIZES * SIZES; all++) {
        int     rest = all / (SIZES * SIZES * SIZES);
        by_hand h = {.fits = sizes[all % SIZES], .roughly_fits = sizes[all / SIZES % SIZES],
                     .full = sizes[all / (SIZES * SIZES) % SIZES]};
        for (int i = 0; i < 4; i++, rest /= VALUES) h.samples_s[i] = values[rest % VALUES];
        if (2 * h.fits < h.full && h.fits < h.roughly_fits) continue; /* the sum and the simulation differ only near a full memory */
        int64_t without = chosen_power(s.device, &h, false);
        assert_int_equal(chosen_power(s.device, &h, true), without);
    }
    by_hand slower = {.samples_s = {80, 90, 100, 99}, .fits = 8, .roughly_fits = 8, .full = 8};
    assert_int_equal(chosen_power(s.device, &slower, true), 4);
    assert_int_equal(slower.simulated, 0);
    drop(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_is_the_largest),
        cmocka_unit_test(test_bounds_do_not_change_the_choice), cmocka_unit_test(test_equation5),
        cmocka_unit_test(test_powers_of_two),      cmocka_unit_test(test_throughput),
        cmocka_unit_test(test_nothing_fits),       cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_unknown_times_are_skipped), cmocka_unit_test(test_refused_workspaces),
        cmocka_unit_test(test_unsure_candidates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
