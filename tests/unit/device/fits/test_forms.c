/* SPDX-License-Identifier: Apache-2.0 */
/* test_forms.c - physical limits of every form: not above the ceilings, more work never faster, an overhead. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "device/fits/forms.h"

#define TRIALS 4000
#define ROUNDING 1e-9
#define PARAMETERS_MAX 48

static const char *const names[] = {"tiles", "attention", "stream", "rows"};
#define FORMS (sizeof names / sizeof *names)

static const cm__ceilings ceilings = {.cores = 108, .peak_flop_s = 312e12, .bandwidth_bytes_s = 2e12, .cache_bytes = 4e7};

static uint32_t seed = 1;

static double uniform(void)
{
    seed = seed * 1664525u + 1013904223u;
    return (double)(seed >> 8) / (1 << 24);
}

static double size_up_to(double most) { return floor(exp(uniform() * log(most))); }

/* ---- work ------------------------------------------------------------------------------------------------------- */

static cm__work product(double batch, double m, double n, double k)
{
    return (cm__work){.batch = batch, .m = m, .n = n, .k = k, .flop = 2 * batch * m * n * k,
                      .bytes = 2 * batch * (m * k + k * n + m * n)};
}

static cm__work attention(double batch, double heads, double queries, double width, bool causal)
{
    return (cm__work){.batch = batch, .heads = heads, .queries = queries, .keys = queries, .width = width, .causal = causal,
                      .m = 1, .n = 1, .k = 1, .flop = 4 * batch * heads * queries * queries * width,
                      .bytes = 2 * batch * heads * queries * width * 4};
}

static cm__work table(double m, double n)
{
    return (cm__work){.batch = 1, .m = m, .n = n, .k = 1, .flop = m * n, .bytes = 2 * m * n * 2};
}

static cm__work work_of(const char *form, const double d[4])
{
    if (strcmp(form, "tiles") == 0) return product(fmin(d[0], 512), d[1], d[2], d[3]);
    if (strcmp(form, "attention") == 0) return attention(fmin(d[0], 64), fmin(d[1], 64), d[2], fmin(d[3], 256), fmod(d[0], 2) == 0);
    return table(d[0] * d[1], d[2]);
}

static void random_dims(double d[4])
{
    for (int i = 0; i < 4; i++) d[i] = size_up_to(16384);
}

static double time_of(const char *form, const cm__work *w)
{
    const cm__form *f = cm__form_find(form);
    double          p[PARAMETERS_MAX];
    cm__form_first(f, p);
    return f->time(p, w, &ceilings);
}

/* The first index of a parameter among the values of its form. */
static int place_of(const cm__form *form, const char *name)
{
    int at = 0;
    for (int r = 0; r < form->n_rows; at += form->rows[r++].count)
        if (strcmp(form->rows[r].name, name) == 0) return at;
    fail_msg("%s has no %s", form->name, name);
    return -1;
}

/* ---- the table -------------------------------------------------------------------------------------------------- */

static void forms_are_found_by_name(void **state)
{
    (void)state;
    for (size_t i = 0; i < FORMS; i++) assert_string_equal(cm__form_find(names[i])->name, names[i]);
    assert_null(cm__form_find("no such form"));
    assert_null(cm__form_find(""));
}

static void parameters_are_named_once(void **state)
{
    (void)state;
    for (size_t i = 0; i < FORMS; i++) {
        const cm__form *f = cm__form_find(names[i]);
        int             size = 0;
        for (int r = 0; r < f->n_rows; r++) {
            size += f->rows[r].count;
            for (int other = 0; other < r; other++) assert_string_not_equal(f->rows[r].name, f->rows[other].name);
        }
        assert_int_equal(cm__form_size(f), size);
        assert_in_range(size, 1, PARAMETERS_MAX);
    }
}

static void starting_points_are_in_bounds(void **state)
{
    (void)state;
    for (size_t i = 0; i < FORMS; i++) {
        const cm__form *f = cm__form_find(names[i]);
        double          p[PARAMETERS_MAX];
        cm__form_first(f, p);
        for (int r = 0, at = 0; r < f->n_rows; r++)
            for (int k = 0; k < f->rows[r].count; k++, at++) {
                assert_true(p[at] > (f->rows[r].scale == CM__ABOVE_ONE));
                assert_true(f->rows[r].scale != CM__FRACTION || p[at] < 1);
            }
    }
}

/* ---- transforms ------------------------------------------------------------------------------------------------- */

static void transforms_undo_each_other(void **state)
{
    (void)state;
    for (size_t i = 0; i < FORMS; i++)
        for (int trial = 0; trial < 100; trial++) {
            const cm__form *f = cm__form_find(names[i]);
            double          x[PARAMETERS_MAX], p[PARAMETERS_MAX], back[PARAMETERS_MAX];
            for (int k = 0; k < cm__form_size(f); k++) x[k] = 12 * (uniform() - 0.5);
            cm__form_from_free(f, x, p);
            cm__form_to_free(f, p, back);
            for (int k = 0; k < cm__form_size(f); k++) assert_true(fabs(back[k] - x[k]) < 1e-6);
        }
}

static void any_free_number_is_in_bounds(void **state)
{
    (void)state;
    static const double extremes[] = {-1e6, -1000, -70, -1, 0, 1, 70, 1000, 1e6};
    const cm__form     *f = cm__form_find("stream"); /* has all three kinds */
    for (size_t e = 0; e < sizeof extremes / sizeof *extremes; e++) {
        double x[PARAMETERS_MAX], p[PARAMETERS_MAX];
        for (int k = 0; k < cm__form_size(f); k++) x[k] = extremes[e];
        cm__form_from_free(f, x, p);
        for (int r = 0; r < f->n_rows; r++) { /* all of count 1 */
            assert_true(isfinite(p[r]) && p[r] >= (f->rows[r].scale == CM__ABOVE_ONE));
            assert_true(f->rows[r].scale != CM__FRACTION || p[r] <= 1);
        }
    }
}

/* ---- physics ---------------------------------------------------------------------------------------------------- */

static void products_respect_both_ceilings(void **state)
{
    (void)state;
    for (int i = 0; i < TRIALS; i++) {
        double d[4];
        random_dims(d);
        cm__work w = work_of("tiles", d);
        double   t = time_of("tiles", &w);
        assert_true(t * (1 + ROUNDING) >= w.flop / ceilings.peak_flop_s);
        assert_true(t * (1 + ROUNDING) >= w.bytes / ceilings.bandwidth_bytes_s);
    }
}

/* A causal kernel may skip the half of the scores that is masked, no more. */
static void attention_respects_both_ceilings(void **state)
{
    (void)state;
    for (int i = 0; i < TRIALS; i++) {
        double d[4];
        random_dims(d);
        cm__work w = work_of("attention", d);
        double   t = time_of("attention", &w);
        assert_true(t * (1 + ROUNDING) >= w.flop / (w.causal ? 2 : 1) / ceilings.peak_flop_s);
        assert_true(t * (1 + ROUNDING) >= w.bytes / ceilings.bandwidth_bytes_s);
    }
}

/* Data in the cache is faster by the cache's speed-up at most; data far larger than the cache is not faster. */
static void streams_respect_the_bandwidth(void **state)
{
    (void)state;
    const cm__form *f = cm__form_find("stream");
    double          p[PARAMETERS_MAX];
    cm__form_first(f, p);
    double speedup = p[place_of(f, "cache_speedup")];
    for (int i = 0; i < TRIALS; i++) {
        cm__work w = table(size_up_to(1e6), size_up_to(1e5));
        for (int form = 2; form < 4; form++)
            assert_true(time_of(names[form], &w) >= w.bytes / ceilings.bandwidth_bytes_s / speedup);
    }
    cm__work huge = table(1e6, 1e5);
    assert_true(time_of("stream", &huge) >= huge.bytes / ceilings.bandwidth_bytes_s);
    assert_true(time_of("rows", &huge) >= huge.bytes / ceilings.bandwidth_bytes_s);
}

/* No parameters that fitting may reach exceed the ceilings. */
static void no_parameters_break_the_ceilings(void **state)
{
    (void)state;
    for (int i = 0; i < TRIALS; i++)
        for (int form = 0; form < 2; form++) {
            const cm__form *f = cm__form_find(names[form]);
            double          d[4], x[PARAMETERS_MAX], p[PARAMETERS_MAX];
            random_dims(d);
            cm__form_first(f, p);
            cm__form_to_free(f, p, x);
            for (int k = 0; k < cm__form_size(f); k++) x[k] += 8 * (uniform() - 0.5);
            cm__form_from_free(f, x, p);
            cm__work w = work_of(names[form], d);
            double   t = f->time(p, &w, &ceilings);
            assert_true(t * (1 + ROUNDING) >= w.flop / (w.causal ? 2 : 1) / ceilings.peak_flop_s);
            assert_true(t * (1 + ROUNDING) >= w.bytes / ceilings.bandwidth_bytes_s);
        }
}

static void never_faster(const char *form, const cm__work *less, const cm__work *more)
{
    double a = time_of(form, less), b = time_of(form, more);
    if (b < a * (1 - ROUNDING))
        fail_msg("%s: %g s, with more work %g s (batch %g m %g n %g k %g to batch %g m %g n %g k %g)", form, a, b, less->batch,
                 less->m, less->n, less->k, more->batch, more->m, more->n, more->k);
}

/* Each dimension by itself, a little or much larger. The width of attention has its own test. */
static void more_work_is_never_faster(void **state)
{
    (void)state;
    for (size_t form = 0; form < FORMS; form++)
        for (int i = 0; i < TRIALS; i++) {
            double d[4], more[4];
            int    which = (int)(uniform() * (strcmp(names[form], "attention") == 0 ? 3 : 4));
            random_dims(d);
            memcpy(more, d, sizeof d);
            more[which] = uniform() < 0.5 ? d[which] + 1 : floor(d[which] * (1 + 3 * uniform()));
            cm__work small = work_of(names[form], d), large = work_of(names[form], more);
            large.causal = small.causal;
            never_faster(names[form], &small, &large);
        }
}

/* Each width has its own efficiency (kernels are compiled for some); among widths of equal efficiency time is
   monotone. */
static void wider_heads_are_never_faster(void **state)
{
    (void)state;
    static const double ranges[][2] = {{1, 64}, {65, 72}, {73, 80}, {81, 96}, {97, 128}, {129, 192}, {193, 256}, {257, 1024}};
    for (int i = 0; i < TRIALS; i++) {
        const double *range = ranges[i % (int)(sizeof ranges / sizeof *ranges)];
        double        a = range[0] + floor(uniform() * (range[1] - range[0])), b = a + floor(uniform() * (range[1] - a)) + 1;
        double        batch = size_up_to(64), heads = size_up_to(64), queries = size_up_to(8192);
        cm__work      narrow = attention(batch, heads, queries, a, false), wide = attention(batch, heads, queries, fmin(b, range[1]), false);
        never_faster("attention", &narrow, &wide);
    }
}

static void causal_is_never_slower(void **state)
{
    (void)state;
    for (int i = 0; i < TRIALS; i++) {
        double   batch = size_up_to(64), heads = size_up_to(64), queries = size_up_to(16384);
        cm__work full = attention(batch, heads, queries, 128, false), causal = attention(batch, heads, queries, 128, true);
        never_faster("attention", &causal, &full);
    }
}

/* There are as many keys as queries, or as the window if smaller; a block reads between the window and all keys. */
static void windows_are_never_slower(void **state)
{
    (void)state;
    for (int i = 0; i < TRIALS; i++) {
        double   queries = size_up_to(16384), causal = uniform() < 0.5;
        cm__work full = attention(size_up_to(16), size_up_to(64), queries, 128, causal), window = full, wider = full;
        window.keys = fmin(queries, size_up_to(queries));
        wider.keys = fmin(queries, window.keys + size_up_to(queries));
        window.flop = full.flop * window.keys / queries;
        wider.flop = full.flop * wider.keys / queries;
        never_faster("attention", &window, &wider);
        never_faster("attention", &wider, &full);
        assert_true(time_of("attention", &window) * (1 + ROUNDING) >= window.flop / (causal ? 2 : 1) / ceilings.peak_flop_s);
    }
}

/* One element costs the overhead plus one tile, block or row. */
static void tiny_work_costs_the_overhead(void **state)
{
    (void)state;
    static const double one[4] = {1, 1, 1, 1};
    for (size_t i = 0; i < FORMS; i++) {
        const cm__form *f = cm__form_find(names[i]);
        double          p[PARAMETERS_MAX];
        cm__work        w = work_of(names[i], one);
        cm__form_first(f, p);
        double overhead_s = p[place_of(f, "overhead_s")], t = f->time(p, &w, &ceilings);
        assert_true(t >= overhead_s && t < overhead_s + 2e-6);
        p[place_of(f, "overhead_s")] += 1e-3;
        assert_true(fabs(f->time(p, &w, &ceilings) - t - 1e-3) < 1e-12);
    }
}

/* One tile more than fits into a wave starts another wave; without smoothing it costs a whole one. */
static void waves_are_quantised(void **state)
{
    (void)state;
    const cm__form *f = cm__form_find("tiles");
    double          p[PARAMETERS_MAX];
    cm__form_first(f, p);
    p[place_of(f, "wave_smoothing")] = 0;
    p[place_of(f, "sustained_fraction")] = p[place_of(f, "heated_fraction")] = 1 - 1e-12;
    for (int tile = 0; tile < 16; tile++) p[place_of(f, "tile_efficiency") + tile] = tile == 15 ? 0.8 : 1e-6; /* 256 x 256 alone */
    cm__ceilings compute_bound = ceilings;
    compute_bound.bandwidth_bytes_s = 1e16;
    double       overhead_s = p[place_of(f, "overhead_s")], t[3];
    const double batches[3] = {ceilings.cores, ceilings.cores + 1, 2 * ceilings.cores};
    for (int i = 0; i < 3; i++) {
        cm__work w = product(batches[i], 256, 256, 16384);
        t[i] = f->time(p, &w, &compute_bound) - overhead_s;
    }
    assert_true(fabs(t[1] / t[0] - 2) < 0.01);
    assert_true(fabs(t[2] / t[1] - 1) < 0.01);
}

/* With half the bandwidth, a stream far larger than the cache takes twice the time. */
static void streams_scale_with_their_fraction(void **state)
{
    (void)state;
    const cm__form *f = cm__form_find("stream");
    double          p[PARAMETERS_MAX];
    cm__work        w = table(1e6, 1e5);
    cm__form_first(f, p);
    p[place_of(f, "memory_fraction")] = 0.8;
    p[place_of(f, "element_s")] = 1e-20;
    double fast = f->time(p, &w, &ceilings);
    assert_true(fabs(fast / (w.bytes / (0.8 * ceilings.bandwidth_bytes_s)) - 1) < 0.01);
    p[place_of(f, "memory_fraction")] = 0.4;
    assert_true(fabs(f->time(p, &w, &ceilings) / fast - 2) < 0.01);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forms_are_found_by_name),
        cmocka_unit_test(parameters_are_named_once),
        cmocka_unit_test(starting_points_are_in_bounds),
        cmocka_unit_test(transforms_undo_each_other),
        cmocka_unit_test(any_free_number_is_in_bounds),
        cmocka_unit_test(products_respect_both_ceilings),
        cmocka_unit_test(attention_respects_both_ceilings),
        cmocka_unit_test(streams_respect_the_bandwidth),
        cmocka_unit_test(no_parameters_break_the_ceilings),
        cmocka_unit_test(more_work_is_never_faster),
        cmocka_unit_test(wider_heads_are_never_faster),
        cmocka_unit_test(causal_is_never_slower),
        cmocka_unit_test(windows_are_never_slower),
        cmocka_unit_test(tiny_work_costs_the_overhead),
        cmocka_unit_test(waves_are_quantised),
        cmocka_unit_test(streams_scale_with_their_fraction),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
