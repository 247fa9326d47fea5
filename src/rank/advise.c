/* SPDX-License-Identifier: Apache-2.0 */
/*
 * advise.c - the cheapest measurement that would settle the order of a ranking's first places.
 *
 * A benchmark of a device's calls leaves the error of what joins them. With r the logarithm of the ratio of two values
 * and s and t its standard deviations now and afterwards, the estimate of r then has the standard deviation
 * u = sqrt(s^2 - t^2) around its value today. The order is settled if it is further from 0 than z t (90 %):
 *
 *     p = Phi((r - z t) / u) + Phi((-r - z t) / u)
 *
 * Tried are the first device, each that is too close to it, pairs of these, and all. The cheapest one is chosen that
 * settles all with a probability of at least a half, or else the one with the highest probability.
 */
#include <math.h>
#include <string.h>
#include "base/text.h"
#include "graph/runtimes.h"
#include "model/time/factors.h"
#include "rank/close.h"
#include "rank/rank.h"

#define WHOLE_S 480.0  /* of a benchmark without a list of calls: the budget in its command */
#define ENOUGH 0.5     /* probability */

/* PyTorch's name of a kind of device, for the benchmark. */
static const struct {
    const char *device_class, *vendor, *name;
} backends[] = {{"gpu", "Intel", "xpu"}, {"gpu", "Apple", "mps"}, {"gpu", NULL, "cuda"}, {"hpu", NULL, "hpu"},
                {"tpu", NULL, "xla"},    {"npu", "AWS", "xla"},   {"cpu", NULL, "cpu"}};

static const char *backend_of(const cm_device *device)
{
    const cm_device_info *info = cm_device_get_info(device);
    for (size_t i = 0; i < sizeof backends / sizeof *backends; i++)
        if (strcmp(info->device_class, backends[i].device_class) == 0 &&
            (!backends[i].vendor || cm__same_name(info->vendor, backends[i].vendor)))
            return backends[i].name;
    return NULL;
}

/* The error of a step whose calls are measured. */
static double error_after(const cm_rank_entry *e)
{
    const cm_prediction_info *p = &e->prediction;
    bool                      whole = cm__is_vendors(p->runtime);
    double left = whole ? cm__time_factors.stand_in_error
                        : cm__compiles(p->runtime) ? cm__time_factors.compiled_error : cm__time_factors.common_error;
    return fmin(hypot(left, cm__time_factors.measured_error), cm__rank_error(e));
}

static double phi(double x) { return 0.5 * erfc(-x / sqrt(2)); }

static double deviation(const cm_rank_entry *a, const cm_rank_entry *b, double x, double y)
{
    return sqrt(fmax(0, x * x + y * y - 2 * cm__rank_correlation(a, b) * x * y));
}

/* The probability that the order of two devices is settled once those that are marked are measured. What they shared
   with the other one is known then. */
static double settles(const cm_rank_entry *a, const cm_rank_entry *b, bool a_measured, bool b_measured)
{
    double x = cm__rank_error(a), y = cm__rank_error(b), r = fabs(log(a->value / b->value)), before = deviation(a, b, x, y);
    double after = hypot(a_measured ? error_after(a) : x, b_measured ? error_after(b) : y);
    if (!a_measured && !b_measured) after = before;
    double z = CM__SIGMAS_OF_90_PERCENT * after, u = sqrt(fmax(0, before * before - after * after));
    return u > 0 ? phi((r - z) / u) + phi((-r - z) / u) : r > z;
}

typedef struct group {
    const cm_rank_entry *items[CM_ADVICE_MOST]; /* the first one, and those that are too close to it */
    double               minutes[CM_ADVICE_MOST];
    int32_t              count;
} group;

/* Calls of an entry's step that no table of its device has: 0 if its runtime has whole graphs. */
static int32_t missing_calls(const cm_ranking *r, int32_t i)
{
    const cm__rank_device *d = r->order[i];
    const cm_predict_options o = {.batch = d->entry.prediction.batch, .runtime = d->step->options.runtime,
                                  .layout = d->step->options.layout};
    cm_prediction *p;
    if (cm_predict(d->step->step, d->device, &o, &p, NULL)) return 0;
    int32_t count = cm_prediction_missing_calls(p);
    cm_prediction_free(p);
    return count;
}

static group group_of(const cm_ranking *r)
{
    group g = {.count = 0};
    for (int32_t i = 0; i < r->n_placed && g.count < CM_ADVICE_MOST; i++) {
        const cm_rank_entry *e = &r->order[i]->entry;
        if (i > 0 && !e->tied_with_best) continue;
        bool whole = cm__is_vendors(e->prediction.runtime);
        double seconds = whole ? WHOLE_S : cm__time_factors.benchmark_call * missing_calls(r, i);
        g.minutes[g.count] = (cm__time_factors.benchmark_start + seconds) / 60;
        g.items[g.count++] = e;
    }
    return g;
}

static double probability_of(const group *g, uint32_t set)
{
    double p = 1;
    for (int32_t i = 1; i < g->count; i++) p *= settles(g->items[0], g->items[i], set & 1, set >> i & 1);
    return p;
}

static cm_rank_advice advice_of(const group *g, uint32_t set)
{
    cm_rank_advice a = {.probability = probability_of(g, set), .tied = g->count};
    for (int32_t i = 0; i < g->count; i++) {
        const cm_rank_entry *e = g->items[i];
        if (!(set >> i & 1)) continue;
        double z = CM__SIGMAS_OF_90_PERCENT * error_after(e);
        a.items[a.count++] = (cm_measurement){.entry = e, .backend = backend_of(e->device), .minutes = g->minutes[i],
                                              .interval = {e->value * exp(-z), e->value * exp(z)}};
        a.minutes += g->minutes[i];
    }
    return a;
}

/* Whether every device of a set can be measured, and would become more certain. */
static bool is_possible(const group *g, uint32_t set)
{
    for (int32_t i = 0; i < g->count; i++)
        if (set >> i & 1 && (!backend_of(g->items[i]->device) || error_after(g->items[i]) >= cm__rank_error(g->items[i])))
            return false;
    return true;
}

cm_rank_advice cm_ranking_advise(const cm_ranking *r)
{
    cm_rank_advice best = {.count = 0};
    const group    g = group_of(r);
    best.tied = g.count;
    for (uint32_t set = 1; g.count > 1 && set < 1u << g.count; set++) {
        if (!is_possible(&g, set)) continue;
        cm_rank_advice a = advice_of(&g, set);
        bool           settles_now = best.probability >= ENOUGH, would = a.probability >= ENOUGH;
        bool cheaper = would && settles_now && a.minutes < best.minutes;
        if (!best.count || cheaper || (!settles_now && a.probability > best.probability)) best = a;
    }
    return best;
}
