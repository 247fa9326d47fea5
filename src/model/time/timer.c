/* SPDX-License-Identifier: Apache-2.0 */
/* timer.c - the time of a call, from table rows, neighbours, a reference device's tables, operator models or the
   roofline. */
#include "model/time/timer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/versions.h"
#include "graph/runtimes.h"
#include "model/time/attention_kernels.h"
#include "model/time/corrections.h"
#include "model/time/factors.h"
#include "model/time/generated.h"
#include "model/time/laws.h"
#include "model/time/tables.h"
#include "model/time/operator_fits.h"
#include "model/time/surfaces.h"
#include "model/time/transfer.h"

enum { OWN, BUILT_IN, REFERENCE, LIBRARIES };

/* How the rows of an own table differ from the times that other tables give. */
typedef struct cm__ratio {
    bool   known;
    int    rows;
    double mean, spread; /* of logarithms; spread INFINITY: fewer than two rows */
} cm__ratio;

struct cm__timer {
    cm__ctx           *ctx;
    const cm_device   *device, *reference;
    cm_runtime         runtime;
    cm_versions        asked;
    cm__limits         limits;
    cm__limits         streaming; /* with the bandwidth that streaming kernels reach here */
    bool               trains, tuned;
    cm__library        libraries[LIBRARIES];
    cm__operator_fits *operator_fits; /* NULL: not used */
    cm__memo          *memo;          /* NULL: none */
    cm__memo          *results;       /* times on this device, by call; NULL: not kept */
    cm__ratio         *ratios;        /* for each table of libraries[OWN]; NULL: none was compared yet */
    cm__kept_call    **kept;          /* by the call's number, then by power of the batch size; NULL: none yet */
    int32_t            n_kept;
    double             medians[CM_ENGINES]; /* of their means, by engine */
    bool               medians_known;
};

/* Tables have times of the device on which they were measured: the device itself, or its base. */
static void open_tables(cm__timer *t, int at, cm__kernels kernels, const cm_device *measured)
{
    cm__library *l = &t->libraries[at];
    cm__library_open(t->ctx, l, kernels, measured ? measured : t->device, t->runtime, t->asked, false, t->memo);
    l->transfers = memcmp(&l->limits, &t->limits, sizeof l->limits) != 0;
}

static void open_libraries(cm__timer *t)
{
    const cm_device *device = t->device, *r = t->reference;
    open_tables(t, OWN, device->kernels, device->kernels_of);
    open_tables(t, BUILT_IN, device->built_in_kernels, device->built_in_kernels_of);
    if (r) cm__library_open(t->ctx, &t->libraries[REFERENCE], r->built_in_kernels, r, t->runtime, t->asked, true, t->memo);
}

void cm__timer_asks(cm__timer *t, cm_versions versions)
{
    static const cm_versions newest = {{0}};
    if (memcmp(&versions, &newest, sizeof versions) == 0) return;
    t->asked = versions;
    open_libraries(t);
}

/* The newest release among the device's tables. */
static cm_versions newest_of(const cm__timer *t)
{
    cm_versions newest = {{0}};
    for (int at = OWN; at <= BUILT_IN; at++)
        for (int32_t i = 0; i < t->libraries[at].count; i++) {
            cm_versions of = t->libraries[at].tables[i]->software;
            if (cm__versions_better(of, newest, (cm_versions){{0}})) newest = of;
        }
    return newest;
}

cm__timer *cm__timer_new(cm__ctx *ctx, const cm_device *device, const cm_device *reference, cm_runtime runtime,
                         cm__memo *memo)
{
    cm__timer *t = cm__alloc(ctx, sizeof *t);
    t->ctx = ctx;
    t->memo = memo;
    t->device = device;
    t->reference = reference;
    t->runtime = runtime;
    t->limits = cm__limits_of(device);
    t->streaming = t->limits;
    t->streaming.memory_bytes_s *= cm__correction_of_streaming(device);
    t->tuned = cm__is_tuned(runtime);
    open_libraries(t);
    t->asked = newest_of(t);
    bool plain = reference && !t->libraries[OWN].count && !t->libraries[BUILT_IN].count;
    bool megatron = cm__is_megatron(runtime);
    if (plain || megatron) t->operator_fits = cm__operator_fits_new(ctx, device, &t->limits, plain, megatron);
    return t;
}

const char *cm__timer_other_release(const cm__timer *t)
{
    for (int at = OWN; at < LIBRARIES; at++)
        for (int32_t i = 0; i < t->libraries[at].count; i++) {
            cm_versions of = t->libraries[at].tables[i]->software;
            if (cm__versions_differ(of, t->asked)) return cm__versions_text(t->ctx, of);
        }
    return NULL;
}

void cm__timer_trains(cm__timer *t, bool trains) { t->trains = trains; }
void cm__timer_remember(cm__timer *t) { t->results = cm__memo_new(t->ctx); }

#define POWERS 16 /* batch sizes below 65,536 */

static void make_room(cm__timer *t, int32_t number)
{
    int32_t         count = 2 * number + 256;
    cm__kept_call **kept = cm__alloc_array(t->ctx, (size_t)count, sizeof *kept);
    if (t->n_kept) memcpy(kept, t->kept, (size_t)t->n_kept * sizeof *kept);
    t->kept = kept;
    t->n_kept = count;
}

cm__kept_call *cm__timer_kept(cm__timer *t, int32_t number, int power)
{
    if (!t->results || power >= POWERS) return NULL;
    if (number >= t->n_kept) make_room(t, number);
    if (!t->kept[number]) t->kept[number] = cm__alloc_array(t->ctx, POWERS, sizeof *t->kept[number]);
    return &t->kept[number][power];
}

/* The time on the table's device. */
static cm__timed from_table(cm__timer *t, cm__library *l, int32_t table, const cm__call *c, bool same)
{
    int32_t exact = same && !l->reference ? cm__library_row(l, table, c) : -1;
    bool    other = cm__versions_differ(l->tables[table]->software, t->asked);
    double  shared = other ? cm__time_factors.fit_source_error : 0;
    if (exact >= 0)
        return (cm__timed){.time_s = (double)cm__row_time(l->tables[table], exact),
                           .launches = cm__row_launches(l->tables[table], exact),
                           .how = CM_HOW_MEASURED,
                           .error = cm__time_factors.measured_error,
                           .shared = shared};
    cm__memo_value value = cm__library_neighbours(l, table, c, t->memo);
    value.timed.shared = shared;
    value.timed.how = l->reference ? CM_HOW_TRANSFERRED : CM_HOW_INTERPOLATED;
    value.timed.error = fmax(cm__time_factors.measured_error, sqrt(value.unknown)); /* of the interpolation */
    if (value.timed.error > cm__time_factors.roofline_error) value.timed.how = CM_HOW_ROOFLINE; /* it is as accurate */
    if (!same) value.timed.error += cm__time_factors.stand_in_error;
    return value.timed;
}

static bool has_own_table(const cm__timer *t, const cm__call *c)
{
    return cm__library_own(&t->libraries[OWN], c) >= 0 || cm__library_own(&t->libraries[BUILT_IN], c) >= 0;
}

/* Uses operator models or surfaces if the device has no table of its own for the call. */
static bool by_fits(cm__timer *t, const cm__call *c, cm__timed *timed)
{
    if (!t->operator_fits && !t->device->surfaces.count) return false;
    if (has_own_table(t, c)) return false;
    *timed = (cm__timed){.launches = 1, .how = CM_HOW_INTERPOLATED, .time_s = NAN};
    if (t->operator_fits) timed->time_s = cm__operator_fits_time(t->operator_fits, c, &timed->error);
    if (!(timed->time_s > 0)) timed->time_s = cm__surface_time(t->device, &t->limits, c, t->trains, &timed->error);
    return timed->time_s > 0;
}

/* Returns the library with the best table for the call, and the time on that library's device; NULL: none has a
   table. */
static const cm__library *by_libraries(cm__timer *t, const cm__call *c, cm__timed *timed)
{
    static int32_t (*const ways[])(const cm__library *, const cm__call *) = {
        cm__library_own, cm__library_stand_in, cm__library_any_function};
    const cm__call tabled = cm__generated_as_tabled(c);
    for (int way = 0; way < 3; way++)
        for (int i = 0; i < LIBRARIES; i++) {
            cm__library *l = &t->libraries[i];
            int32_t      table = l->count ? ways[way](l, &tabled) : -1;
            if (table < 0 || !l->tables[table]->n_rows) continue;
            *timed = from_table(t, l, table, &tabled, way == 0);
            return l;
        }
    return NULL;
}

/* by: the library that gave the time; NULL: none. */
static void find_work(const cm__call *c, const cm__library *by, cm__memo_value *found)
{
    cm__call_work(c, &found->flop, &found->bytes);
    if (by) found->shortest = cm__shortest_of(&by->limits, c, found->flop, found->bytes);
    found->kind = cm__correction_of_work(c, found->flop, found->bytes);
}

/* As by_libraries(), with one look-up for all devices that share the memo: copies of a device with other limits, and
   devices without tables of their own. */
static const cm__library *by_memo(cm__timer *t, const cm__call *c, cm__memo_value *found)
{
    const cm__library *first = t->libraries, *by;
    while (first < t->libraries + LIBRARIES && !first->count) first++;
    cm__memo    *memo = first < t->libraries + LIBRARIES ? t->memo : NULL;
    cm__memo_key key = {.search = true};
    if (memo)
        key = (cm__memo_key){.table = first->tables[0]->sizes, .runtime = first->runtime, .search = true,
                             .reference = first->reference};
    *found = (cm__memo_value){.library = LIBRARIES};
    if (!memo || !cm__memo_find(memo, key, c, found)) {
        by = by_libraries(t, c, &found->timed);
        if (by) found->library = (int)(by - t->libraries);
        find_work(c, by, found);
        if (memo) cm__memo_keep(memo, key, c, found);
    }
    return found->library < LIBRARIES ? &t->libraries[found->library] : NULL;
}

/* The found time on the device, which differs from the table's in its limits. corrected: the device has a correction of
   the call's kind. */
static double transferred(const cm__timer *t, const cm__library *by, const cm__call *c, const cm__memo_value *found,
                          bool corrected)
{
    bool           streams = by->reference && !corrected; /* the correction would have it already */
    cm__known_time known = {found->timed.time_s, found->timed.launches, found->flop, found->bytes, found->shortest};
    return cm__transferred_known(streams ? &t->streaming : &t->limits, &by->limits, c, &known);
}

/* How much of the error of a transfer applies: it grows with the change of the time, from a least part to all of it. */
static double part_of_error(double here_s, double there_s)
{
    return fmin(1, fmax(cm__time_factors.least_transfer, fabs(log2(here_s / there_s))));
}

/* Transfers a time to a device whose limits differ from the measured one. */
static void transfer_here(const cm__timer *t, const cm__library *by, const cm__call *c, cm__memo_value *found)
{
    cm__timed *timed = &found->timed;
    double     measured = timed->time_s;
    timed->time_s = transferred(t, by, c, found, true);
    timed->shared = cm__time_factors.transfer_error * fmin(1, fabs(log2(timed->time_s / measured)));
    if (timed->how < CM_HOW_TRANSFERRED) timed->how = CM_HOW_TRANSFERRED;
}

/* The corrected time of a call from the reference device's tables; 0: they have none. */
static double corrected_transfer(cm__timer *t, const cm__library *by, const cm__call *c)
{
    cm__memo_value there;
    bool           known;
    if (by_memo(t, c, &there) != by) return 0;
    double factor = cm__correction_factor(t->device, there.kind, c, &known);
    return factor * transferred(t, by, c, &there, known);
}

/* A product has two estimates if the device or its chip has a model of products: the model, and the transferred time.
   They are joined by the mean of their logarithms, with weights by the squares of their errors: `uncorrected` is that of
   the transfer without its correction, which says nothing that the model of the same calls does not. Models are of the
   plain product; what another variant takes longer is known from the reference device. */
static void join_fitted(cm__timer *t, const cm__library *by, const cm__call *c, double uncorrected, cm__timed *timed)
{
    double error;
    if (c->op != CM__CALL_GEMM || !t->operator_fits || !(timed->shared > 0)) return;
    cm__call plain = *c;
    plain.variant = CM__V_NT;
    double fitted_s = cm__operator_fits_product(t->operator_fits, &plain, &error);
    double here_s = fitted_s > 0 ? corrected_transfer(t, by, &plain) : 0;
    if (!(here_s > 0)) return;
    double fitted = 1 / (error * error), transferred = 1 / (uncorrected * uncorrected);
    timed->time_s *= pow(fitted_s / here_s, fitted / (fitted + transferred));
}

/* Transfers a time from the reference device, and corrects it as results of the device suggest. */
static void take_from_reference(cm__timer *t, const cm__library *by, const cm__call *c, cm__memo_value *found)
{
    bool       corrected;
    double     factor = cm__correction_factor(t->device, found->kind, c, &corrected);
    cm__timed *timed = &found->timed;
    double     there_s = timed->time_s, here_s = transferred(t, by, c, found, corrected);
    if (cm__correction_of_traffic(t->device, found->kind)) {
        timed->time_s = fmax(here_s, factor * found->bytes / t->limits.memory_bytes_s);
        timed->shared = cm__time_factors.slow_groups_error;
        return;
    }
    timed->time_s = factor * here_s;
    double part = part_of_error(here_s, there_s), uncorrected = part * cm__time_factors.transfer_error;
    timed->shared = corrected ? part * cm__time_factors.corrected_error : uncorrected;
    join_fitted(t, by, c, uncorrected, timed);
}

/* The time of a call from the tables of the built-in device that a profile extends, or of the reference device. Returns
   false if they have no table of the call's kind. */
static bool by_others(cm__timer *t, const cm__call *c, cm__timed *timed)
{
    const cm__call tabled = cm__generated_as_tabled(c);
    for (int i = BUILT_IN; i < LIBRARIES; i++) {
        cm__library   *l = &t->libraries[i];
        int32_t        table = l->count ? cm__library_own(l, &tabled) : -1;
        cm__memo_value found;
        if (table < 0 || !l->tables[table]->n_rows) continue;
        found.timed = from_table(t, l, table, &tabled, true);
        find_work(c, l, &found);
        if (l->reference) take_from_reference(t, l, c, &found);
        if (l->transfers) transfer_here(t, l, c, &found);
        *timed = found.timed;
        timed->time_s = fmax(timed->time_s, cm__traffic_time(&t->limits, c, found.bytes));
        return true;
    }
    return false;
}

#define COMPARED 16 /* rows of an own table */
#define NEGLIGIBLE 1e-3 /* weight of a row */

static double squared(double x) { return x * x; }

/* The times of an own table's rows over those from the other tables: mean and spread of the logarithms. */
static cm__ratio compare_table(cm__timer *t, const cm__kernel_table *table)
{
    int32_t  every = (table->n_rows + COMPARED - 1) / COMPARED, count = 0;
    double   sum = 0, squares = 0;
    cm__call call = cm__call_of_table(table);
    for (int32_t row = 0; row < table->n_rows; row += every) {
        cm__timed other;
        cm__set_row(&call, table, row);
        if (!by_others(t, &call, &other)) continue;
        double ratio = log((double)cm__row_time(table, row) / other.time_s);
        sum += ratio, squares += ratio * ratio, count++;
    }
    double mean = count ? sum / count : 0;
    return (cm__ratio){.known = true, .rows = count, .mean = mean,
                       .spread = count > 1 ? sqrt(fmax(0, (squares - count * mean * mean) / (count - 1))) : INFINITY};
}

static const cm__ratio *ratio_of(cm__timer *t, int32_t table)
{
    const cm__library *own = &t->libraries[OWN];
    if (!t->ratios) t->ratios = cm__alloc_array(t->ctx, (size_t)own->count, sizeof *t->ratios);
    if (!t->ratios[table].known) t->ratios[table] = compare_table(t, own->tables[table]);
    return &t->ratios[table];
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

#define AGREEING 3 /* tables that say how a device differs from others */

/* A call of a kind that the own tables lack: the device differs from the others as in the median of its tables whose
   calls use the same engine. */
static void correct_unknown(cm__timer *t, const cm__call *c, cm__timed *timed)
{
    const cm__library *own = &t->libraries[OWN];
    cm_engine          engine = cm__call_kinds[c->op].engine;
    if (!t->medians_known)
        for (int e = 0; e < CM_ENGINES; e++) {
            double *means = cm__alloc_array(t->ctx, (size_t)own->count + 1, sizeof *means);
            size_t  count = 0;
            for (int32_t i = 0; i < own->count; i++)
                if (cm__call_kinds[own->tables[i]->op].engine == (cm_engine)e && ratio_of(t, i)->rows)
                    means[count++] = ratio_of(t, i)->mean;
            if (count) qsort(means, count, sizeof *means, ascending);
            t->medians[e] = count >= AGREEING ? means[count / 2] : 0;
        }
    t->medians_known = true;
    timed->time_s *= exp(t->medians[engine]);
    if (timed->how == CM_HOW_MEASURED && t->medians[engine] != 0) timed->how = CM_HOW_INTERPOLATED;
}

/* The measured time of a row over the time that the other tables give, as a logarithm; 0: they give none. */
static double ratio_of_row(cm__timer *t, const cm__kernel_table *table, int32_t row)
{
    cm__timed other;
    cm__call  call = cm__call_of_table(table);
    cm__set_row(&call, table, row);
    cm__drop_shape(&call);
    return by_others(t, &call, &other) ? log((double)cm__row_time(table, row) / other.time_s) : 0;
}

/* The ratio that all rows of a table agree on. Rows of a benchmark need not resemble a network's calls, so that their mean
   counts only as far as it is larger than twice their spread. */
static double agreed(const cm__ratio *r)
{
    return r->rows > 1 && r->mean != 0 ? r->mean / (1 + squared(2 * r->spread / r->mean)) : 0;
}

/* Corrects a time from the other tables by the ratios of the nearest own rows, beside the ratio that all agree on: the
   device may be another one or have other software. A row at no distance has weight 1. */
static void correct_others(cm__timer *t, int32_t table, const cm__call *c, cm__timed *other)
{
    cm__library   *own = &t->libraries[OWN];
    cm__neighbours near;
    double         weights = cm__time_factors.agreed_ratio, sum = weights * agreed(ratio_of(t, table));
    cm__library_nearest(own, table, c, &near);
    for (int i = 0; i < near.count; i++) {
        double away = sqrt(3 * (double)near.of[i].squared) / cm__time_factors.ratio_reach, weight = (1 + away) * exp(-away);
        if (weight < NEGLIGIBLE) break;
        sum += weight * ratio_of_row(t, own->tables[table], near.of[i].number);
        weights += weight;
    }
    other->time_s *= exp(sum / weights);
}

/* A profile's own table has few rows beside those of the other tables. The time between its rows is joined with the
   corrected time from these: the mean of the logarithms, with weights by the squares of the errors. */
static void join_others(cm__timer *t, const cm__call *c, cm__timed *timed)
{
    cm__timed other;
    if (timed->how == CM_HOW_MEASURED || !by_others(t, c, &other)) return;
    correct_others(t, cm__library_own(&t->libraries[OWN], c), c, &other);
    double own_error = cm__time_factors.sparse_rows * timed->error, own = 1 / (own_error * own_error);
    double others = 1 / (other.error * other.error + squared(cm__time_factors.corrected_error)), part = others / (own + others);
    other.time_s = timed->time_s * pow(other.time_s / timed->time_s, part);
    if (other.how == CM_HOW_MEASURED) other.how = CM_HOW_INTERPOLATED;
    *timed = other;
}

/* *bytes: of the call; NAN: not computed. */
static cm__timed by_tables(cm__timer *t, const cm__call *c, double *bytes)
{
    cm__memo_value found;
    *bytes = NAN;
    if (by_fits(t, c, &found.timed)) return found.timed;
    const cm__library *by = by_memo(t, c, &found);
    *bytes = found.bytes;
    if (by && by->reference) take_from_reference(t, by, c, &found);
    if (by && by->transfers) transfer_here(t, by, c, &found);
    if (by == &t->libraries[OWN]) join_others(t, c, &found.timed);
    else if (by && t->libraries[OWN].count) correct_unknown(t, c, &found.timed);
    if (by) return found.timed;
    return (cm__timed){
        .time_s = cm__roofline(&t->limits, c), .launches = 1, .error = cm__time_factors.roofline_error,
        .how = CM_HOW_ROOFLINE};
}

/* GPUs have tables, of their own or of a reference device. */
static bool is_gpu(const cm__timer *t) { return t->libraries[BUILT_IN].count || t->libraries[REFERENCE].count; }

/* bytes: of the call; NAN: not computed. */
static double traffic_time(const cm__timer *t, const cm__call *c, double bytes)
{
    double flop;
    if (isnan(bytes)) cm__call_work(c, &flop, &bytes);
    return cm__traffic_time(&t->limits, c, bytes);
}

/* At this batch size the kernel is not needed: a sum that one block makes has no second kernel. */
static bool is_left_out(const cm__call *c)
{
    return c->op == CM__CALL_ELEMENTWISE && c->sizes[CM__ELEMENTWISE_INNER] == 0;
}

/* A call of a GPU that was not measured: an estimate, the laws of its kernel, and at last the peak rates of the memory
   and, for times of another GPU, of the matrix units. */
static cm__timed time_of(cm__timer *t, const cm__call *c)
{
    double bytes;
    bool   replaced;
    if (is_left_out(c)) return (cm__timed){.how = CM_HOW_MEASURED};
    cm__timed timed = by_tables(t, c, &bytes);
    if (!is_gpu(t) || timed.how == CM_HOW_MEASURED) return timed;
    bool transferred = t->libraries[REFERENCE].count && timed.how >= CM_HOW_TRANSFERRED;
    timed.time_s = cm__by_laws(&t->limits, c, timed.time_s, &replaced);
    if (replaced) timed.error = fmax(timed.error, cm__time_factors.stand_in_error);
    timed.time_s = fmax(timed.time_s, traffic_time(t, c, transferred ? bytes : cm__generated_counted(c, bytes)));
    if (transferred) timed.time_s = fmax(timed.time_s, cm__arithmetic_time(&t->limits, c));
    return timed;
}

/* A kernel of attention that no table of the device has takes longer by a factor than the one that the runtime
   chooses. */
static cm__timed with_kernel(cm__timer *t, const cm__call *c)
{
    cm__call usual;
    double   factor;
    if (!cm__attention_named(t->device, c, &usual, &factor) || has_own_table(t, c)) return time_of(t, c);
    cm__timed timed = time_of(t, &usual);
    timed.time_s *= factor;
    timed.error += cm__time_factors.stand_in_error;
    if (timed.how == CM_HOW_MEASURED) timed.how = CM_HOW_INTERPOLATED;
    return timed;
}

/* Vendors have kernels for convolutions of volumes that PyTorch does not have. */
static double tuned_factor(const cm__timer *t, const cm__call *c)
{
    return t->tuned && c->op == CM__CALL_CONV3D ? cm__time_factors.tuned_volume : 1;
}

/* TF32 is allowed, not required. Libraries run fp32 products if these are faster, for instance on devices whose
   matrix units have no higher peak in TF32 than the vector units in fp32. */
static cm__timed faster_type(cm__timer *t, cm__call *call)
{
    cm__timed timed = with_kernel(t, call);
    timed.time_s *= tuned_factor(t, call);
    if (timed.how < CM_HOW_TRANSFERRED || call->types != CM__ALL(CM__TF32)) return timed;
    call->types = CM__ALL(CM_FP32);
    cm__timed plain = with_kernel(t, call);
    return plain.time_s < timed.time_s ? plain : timed;
}

cm__timed cm__timer_time(cm__timer *t, const cm__call *given)
{
    cm__call           call = cm__without_shape(given);
    const cm__memo_key key = {.table = t};
    cm__memo_value     kept = {0};
    if (t->results && cm__memo_find(t->results, key, &call, &kept)) return kept.timed;
    cm__call priced = cm__generated_priced(&call);
    kept.timed = faster_type(t, &priced);
    if (t->results) cm__memo_keep(t->results, key, &call, &kept);
    return kept.timed;
}

bool cm__timer_bounds(const cm__timer *t)
{
    const cm__library *l = &t->libraries[BUILT_IN];
    return l->count && !l->transfers && !t->libraries[OWN].count && !t->tuned;
}

cm__timed cm__timer_least(const cm__timer *t, const cm__call *given)
{
    const cm__library *l = &t->libraries[BUILT_IN];
    cm__call           flat = cm__without_shape(given), c = cm__generated_priced(&flat);
    bool               other = c.op == CM__CALL_ATTENTION || c.types == CM__ALL(CM__TF32);
    if (other || is_left_out(&c) || !cm__timer_bounds(t)) return (cm__timed){0};
    int32_t table = cm__library_own(l, &c), row = table >= 0 ? cm__library_row(l, table, &c) : -1;
    if (row < 0) return (cm__timed){.time_s = traffic_time(t, &c, NAN)};
    return (cm__timed){.time_s = (double)cm__row_time(l->tables[table], row),
                       .launches = cm__row_launches(l->tables[table], row)};
}

void cm__timer_cross_validate(cm__timer *t, cm__left_out *visit, void *user)
{
    for (int at = OWN; at <= BUILT_IN; at++) {
        cm__library *l = &t->libraries[at];
        for (int32_t i = 0; i < l->count; i++)
            for (int32_t row = 0; l->tables[i]->n_rows > 1 && row < l->tables[i]->n_rows; row++) {
                cm__call c;
                double   predicted = cm__library_left_out(l, i, row, &c);
                visit(user, l->tables[i], &c, (double)cm__row_time(l->tables[i], row), predicted);
            }
    }
}
