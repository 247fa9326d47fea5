/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metrics.c - compute what a row measures from the time of a step.
 *
 * A row has a member named after its metric ("throughput_samples_s": 2130), or `measured` if the set names the metric
 * for all rows. A ratio compares one run with another: `versus` has the members that differ in the other run. A mean of
 * ratios (`over`) has one entry per model. An order states which runs are faster than which. Look-ups are no step.
 */
#include <math.h>
#include <string.h>
#include "validate/validate.h"

static const cm__answer no_answer = {NAN, {NAN, NAN}};

/* A row may measure one pass only. Operator metrics (kernel_*) use device time, without the time to launch. */
static double rate_of(const cm__case *c, const cm__estimate *e, double step_s)
{
    return e->samples / step_s / (c->per_device ? e->devices : 1);
}

/* ---- metrics of one run ----------------------------------------------------------------------------------------- */

static cm__answer step_time(cm__case *c, cm__estimator *estimate)
{
    cm__estimate e;
    return estimate(c, &e) ? (cm__answer){e.step_s, {e.interval_s[0], e.interval_s[1]}} : no_answer;
}

/* Uses the latency of a single step, from host to host. Its relative error is that of the step. */
static void take_alone(cm__estimate *e)
{
    double factor = isnan(e->latency_s) ? 1 : e->latency_s / e->step_s;
    e->step_s *= factor;
    for (int side = 0; side < 2; side++) e->interval_s[side] *= factor;
}

static cm__answer latency(cm__case *c, cm__estimator *estimate)
{
    cm__estimate e;
    if (!estimate(c, &e)) return no_answer;
    take_alone(&e);
    return (cm__answer){e.step_s, {e.interval_s[0], e.interval_s[1]}};
}

static cm__answer device_time(cm__case *c, cm__estimator *estimate)
{
    cm__estimate e;
    return estimate(c, &e) ? (cm__answer){e.device_s, {NAN, NAN}} : no_answer;
}

/* Random look-ups in the row's `tables`, whose members are the options of `centimani lookups`. */
static cm__answer lookups(cm__case *c, cm__estimator *estimate)
{
    const json_t     *t = json_object_get(c->run, "tables");
    const char       *grid = cm__text_of(t, "grid"), *sums = cm__text_of(t, "sums");
    cm_lookup_options o = {.visited = cm__number_of(t, "visited", 0), .longest = cm__number_of(t, "longest", 0),
                           .nuclides = (int64_t)cm__number_of(t, "nuclides", 0),
                           .points = (int64_t)cm__number_of(t, "points", 0),
                           .bits = (int32_t)cm__number_of(t, "bits", 0),
                           .nuclide_grid = grid && strcmp(grid, "nuclide") == 0,
                           .drawn = json_is_true(json_object_get(t, "drawn")),
                           .sorted = json_is_true(json_object_get(t, "sorted")),
                           .sums_in_memory = sums && strcmp(sums, "memory") == 0};
    cm_lookup_rate    rate;
    cm_diag           diag = {0};
    if (c->reason || !t || estimate != cm__estimate_step) return no_answer;
    if (cm_device_lookups(c->device, &o, &rate, &diag)) {
        c->reason = cm__text_copy(c->store->ctx, diag.reason);
        return no_answer;
    }
    return (cm__answer){rate.lookups_s, {rate.low_s, rate.high_s}};
}

/* A row may measure requests that are sent one after the other. */
static cm__answer throughput(cm__case *c, cm__estimator *estimate)
{
    cm__estimate e;
    if (json_object_get(c->run, "tables")) return lookups(c, estimate);
    if (!estimate(c, &e)) return no_answer;
    if (json_is_true(json_object_get(c->run, "one_at_a_time"))) take_alone(&e);
    return (cm__answer){rate_of(c, &e, e.step_s), {rate_of(c, &e, e.interval_s[1]), rate_of(c, &e, e.interval_s[0])}};
}

static cm__answer times(cm__answer a, double factor)
{
    return (cm__answer){a.value * factor, {a.interval[0] * factor, a.interval[1] * factor}};
}

static cm__answer tokens(cm__case *c, cm__estimator *estimate)
{
    return times(throughput(c, estimate), cm__number_of(c->run, "seq", NAN));
}

/* FLOP of a step: of matrix units, or of all operators if there is no product. Recomputation does not count. */
static double work_of(const cm__case *c)
{
    const cm_totals *totals = cm__case_totals(c);
    double           flop = cm__case_flop(c) - cm_totals_matrix_flop(totals, CM_RECOMPUTE);
    if (flop > 0) return flop;
    for (int phase = 0; phase < CM_PHASES; phase++)
        for (int class = 0; class < CM_CLASSES; class++) flop += totals->flop[phase][class];
    return flop;
}

static cm__answer utilisation(cm__case *c, cm__estimator *estimate)
{
    cm__estimate e;
    if (!estimate(c, &e)) return no_answer;
    double ideal_s = work_of(c) * e.samples / (double)c->batch / cm__case_peak(c) / e.devices;
    return (cm__answer){ideal_s / e.step_s, {ideal_s / e.interval_s[1], ideal_s / e.interval_s[0]}};
}

/* FLOP/s of single operators, without the launch. */
static cm__answer kernel_rate(cm__case *c, cm__estimator *estimate)
{
    cm__estimate e;
    return estimate(c, &e) ? (cm__answer){work_of(c) / e.device_s, {NAN, NAN}} : no_answer;
}

static cm__answer kernel_utilisation(cm__case *c, cm__estimator *estimate)
{
    cm__answer rate = kernel_rate(c, estimate);
    return c->reason ? no_answer : times(rate, 1 / cm__case_peak(c));
}

/* Link utilisation of a collective. The row has its bytes, and the link bandwidth that the utilisation refers to. */
static cm__answer link_share(cm__case *c, cm__estimator *estimate)
{
    double           bytes = cm__number_of(c->run, "bytes", NAN), link = cm__number_of(c->run, "link_bytes_s", NAN);
    const cm_fabric *fabric = c->reason || estimate != cm__estimate_step ? NULL : cm__case_fabric(c);
    if (!fabric) return no_answer;
    return (cm__answer){bytes / cm_fabric_time(fabric, cm__text_of(c->run, "model"), c->devices, bytes) / link,
                        {NAN, NAN}};
}

/* ---- metrics that compare two runs ------------------------------------------------------------------------------ */

/* If the other run cannot be predicted, neither can the ratio. */
static cm__case *other_run(cm__case *c, const json_t *over)
{
    cm__case *other = cm__case_new(c->store, c->set, c->run, over);
    if (other->reason && !c->reason) c->reason = other->reason;
    return other;
}

typedef cm__answer measure(cm__case *c, cm__estimator *estimate);

static cm__answer kernel_throughput(cm__case *c, cm__estimator *estimate)
{
    cm__estimate e;
    return estimate(c, &e) ? (cm__answer){rate_of(c, &e, e.device_s), {NAN, NAN}} : no_answer;
}

static double ratio_of(cm__case *c, cm__estimator *estimate, measure *rate)
{
    const json_t *over = json_object_get(c->run, "versus");
    if (!over && !c->reason) c->reason = "'versus' is missing: the run to compare with";
    if (!over) return NAN;
    cm__case  *versus = other_run(c, over);
    cm__answer above = rate(c, estimate), below = rate(versus, estimate);
    if (versus->reason && !c->reason) c->reason = versus->reason;
    return above.value / below.value;
}

static cm__answer ratio_by(cm__case *c, cm__estimator *estimate, measure *rate)
{
    const json_t *over = json_object_get(c->run, "over");
    size_t        n = json_array_size(over);
    double        sum = 0;
    if (!n) return (cm__answer){ratio_of(c, estimate, rate), {NAN, NAN}};
    for (size_t i = 0; i < n; i++) {
        cm__case *one = other_run(c, json_array_get(over, i));
        sum += ratio_of(one, estimate, rate);
        if (one->reason && !c->reason) c->reason = one->reason;
    }
    return (cm__answer){sum / (double)n, {NAN, NAN}};
}

static cm__answer ratio(cm__case *c, cm__estimator *estimate) { return ratio_by(c, estimate, throughput); }
static cm__answer kernel_ratio(cm__case *c, cm__estimator *estimate)
{
    return ratio_by(c, estimate, kernel_throughput);
}

static cm__answer efficiency(cm__case *c, cm__estimator *estimate)
{
    double before = cm__number_of(json_object_get(c->run, "versus"), "devices", 1);
    return times(ratio(c, estimate), before / c->devices);
}

/* ---- orders ----------------------------------------------------------------------------------------------------- */

/* Samples per second, or samples per second and dollar if the order has prices. An entry is a device or members of a
   row. */
static double merit(cm__case *c, const json_t *stated, const json_t *entry, cm__estimator *estimate, measure *rate)
{
    cm__case  *run = cm__case_new(c->store, c->set, c->run, entry);
    cm__answer a = rate(run, estimate);
    if (run->reason && !c->reason) c->reason = run->reason;
    return a.value / cm__number_of(json_object_get(stated, "usd_hour"), cm__text_of(run->run, "device"), 1);
}

/* The number of stated pairs that are predicted in the stated order. */
static cm__answer order_by(cm__case *c, const json_t *stated, cm__estimator *estimate, measure *rate)
{
    const json_t *faster = json_object_get(stated, "faster"), *slower = json_object_get(stated, "slower");
    double        right = 0;
    for (size_t i = 0; i < json_array_size(faster); i++)
        for (size_t k = 0; k < json_array_size(slower); k++) {
            double a = merit(c, stated, json_array_get(faster, i), estimate, rate);
            double b = merit(c, stated, json_array_get(slower, k), estimate, rate);
            if (isnan(a) || isnan(b)) return no_answer;
            right += a > b;
        }
    return (cm__answer){right, {NAN, NAN}};
}

static cm__answer order(cm__case *c, cm__estimator *estimate)
{
    return order_by(c, json_object_get(c->run, "order"), estimate, throughput);
}

static cm__answer kernel_order(cm__case *c, cm__estimator *estimate)
{
    return order_by(c, json_object_get(c->run, "kernel_order"), estimate, kernel_throughput);
}

static cm__answer fits(cm__case *c, cm__estimator *estimate)
{
    if (estimate != cm__estimate_step || c->reason) return no_answer;
    return (cm__answer){cm__case_fits(c), {NAN, NAN}};
}

/* ---- table of metrics ------------------------------------------------------------------------------------------- */

static const cm__metric metrics[] = {
    {"throughput_samples_s", "samples/s", CM__METRIC_TIME, 1, throughput},
    {"throughput_tokens_s", "tokens/s", CM__METRIC_TIME, 1, tokens},
    {"step_time_s", "s", CM__METRIC_TIME, -1, step_time},
    {"device_time_s", "s", CM__METRIC_TIME, -1, device_time},
    {"latency_s", "s", CM__METRIC_TIME, -1, latency},
    {"utilisation", "of peak", CM__METRIC_TIME, 1, utilisation},
    {"mfu", "of peak", CM__METRIC_TIME, 1, utilisation},
    {"kernel_utilisation", "of peak", CM__METRIC_TIME, 1, kernel_utilisation},
    {"kernel_flop_s", "FLOP/s", CM__METRIC_TIME, 1, kernel_rate},
    {"ratio", "times", CM__METRIC_TIME, 1, ratio},
    {"kernel_ratio", "times", CM__METRIC_TIME, 1, kernel_ratio},
    {"efficiency", "of linear", CM__METRIC_TIME, 1, efficiency},
    {"order", "pairs", CM__METRIC_ORDER, 0, order},
    {"kernel_order", "pairs", CM__METRIC_ORDER, 0, kernel_order},
    {"fits", "", CM__METRIC_FITS, 0, fits},
    {"bytes_s", "B/s", CM__METRIC_TIME, 1, NULL},
    {"link_share", "of link", CM__METRIC_TIME, 1, link_share},
    {"share", "share", CM__METRIC_TIME, 0, NULL},
    {"lookups_s", "look-ups/s", CM__METRIC_TIME, 1, lookups},
    {"batch", "samples", CM__METRIC_OWN, 0, NULL},
    {"peak_bytes", "B", CM__METRIC_OWN, -1, NULL},
};

/* The set's metric, or the one that a member of the row is named after. `batch` is an option of the run unless the
   set declares it as the measured value. */
const cm__metric *cm__metric_of(const json_t *set, const json_t *row)
{
    const char *name = cm__text_of(set, "metric");
    for (size_t i = 0; i < sizeof metrics / sizeof *metrics; i++) {
        bool of_set = name && strcmp(metrics[i].name, name) == 0;
        bool of_row = metrics[i].kind != CM__METRIC_OWN && json_object_get(row, metrics[i].name);
        if (json_object_get(row, "measured") ? of_set : of_row) return &metrics[i];
    }
    return NULL;
}

double cm__measured_of(const cm__metric *metric, const json_t *row)
{
    const json_t *value = json_object_get(row, "measured");
    if (!value) value = json_object_get(row, metric->name);
    if (json_is_boolean(value)) return json_is_true(value);
    const json_t *faster = json_object_get(value, "faster"), *slower = json_object_get(value, "slower");
    /* an order: number of pairs */
    if (json_is_object(value)) return (double)(json_array_size(faster) * json_array_size(slower));
    return json_is_number(value) ? json_number_value(value) : NAN;
}
