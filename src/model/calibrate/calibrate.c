/* SPDX-License-Identifier: Apache-2.0 */
/*
 * calibrate.c - scale a device's predicted times so that they match a log of real steps.
 *
 * The fit has at most three factors: one for all device time, one for host time, and one for the contrast between
 * matrix kernels and all other kernels. One step fits a single factor, the one its time depends on most. Two or three
 * steps fit the first two; four or more fit all. A penalty pulls the factors towards 1. Outliers lose weight: in the
 * first round a step whose error differs from the median, then, twice, a step that the factors do not explain.
 */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "base/file.h"
#include "base/lsq.h"
#include "device/device.h"
#include "model/calibrate/log.h"

#define IMPLAUSIBLE 20.0 /* largest plausible ratio of measured to predicted time (median of the log) */
#define FILE_MAX ((int64_t)1 << 24)
#define SPREAD 0.05       /* spread of real step times around a correct prediction */
#define PENALTY 0.1       /* penalty weight of a factor's logarithm, relative to a step's log error */
#define FAR 0.25          /* log error at which a step has lost half of its weight */
#define ROUNDS 3
#define ITERATIONS 15
#define ALL_FROM 4        /* number of steps from which all factors are fitted */
#define LEAST_CHANGE 1e-3 /* smaller changes of a factor are not reported */

enum { DEVICE, HOST, CONTRAST, FACTORS };
enum { MATRIX, VECTOR, HOST_SCALE, SCALES };
static const char *const scale_names[SCALES] = {"calibration.matrix", "calibration.vector", "calibration.host"};

struct cm_calibration {
    cm__ctx               *ctx;
    cm_device             *device;
    const cm__steps       *steps;
    cm_graph             **graphs; /* one per row; rows of one model share a graph */
    cm_calibration_row    *rows;
    cm_calibration_change  changes[SCALES];
    int32_t                n_changes, n_free;
    int                    free_factors[FACTORS];
    double                *weights;       /* one per row */
    double                 first[SCALES]; /* scales of the profile before calibration */
    double                 before, after;
    const char            *profile;
};

/* ---- steps ------------------------------------------------------------------------------------------------------- */

static void free_graph(void *graph) { cm_graph_free(graph); }
static void free_device(void *device) { cm_device_free(device); }
static void free_text(void *text) { free(text); }

static void check(cm_calibration *c, const cm__step_time *s, cm_status status)
{
    char text[512];
    if (!status) return;
    if (!c->ctx->diag) cm__fail(c->ctx, status, "line %d: %s", s->line, cm_status_text(status));
    snprintf(text, sizeof text, "%s", c->ctx->diag->reason);
    cm__fail(c->ctx, status, "line %d: %.440s", s->line, text);
}

static cm_runtime runtime_of(const cm_calibration *c, const cm__step_time *s)
{
    return cm__runtime_on(c->device, s->runtime);
}

static bool same_graph(const cm_calibration *c, const cm__step_time *a, const cm__step_time *b)
{
    return strcmp(a->model, b->model) == 0 && a->seq == b->seq && a->precision == b->precision &&
           a->optimizer == b->optimizer && runtime_of(c, a) == runtime_of(c, b);
}

static cm_graph *graph_of(cm_calibration *c, int32_t row)
{
    const cm__step_time *s = &c->steps->rows[row];
    cm_graph            *forward, *step;
    for (int32_t i = 0; i < row; i++)
        if (same_graph(c, s, &c->steps->rows[i])) return c->graphs[i];
    cm_step_options o = {.load = {.seq = s->seq}, .runtime = s->runtime,
                         .train = {.precision = s->precision, .optimizer = s->optimizer}};
    check(c, s, cm_step_settle(s->model, c->device, &o, c->ctx->diag));
    check(c, s, cm_graph_load(s->model, &o.load, &forward, c->ctx->diag));
    cm_status status = cm_graph_train(forward, &o.train, &step, c->ctx->diag);
    cm_graph_free(forward);
    check(c, s, status);
    cm__defer(c->ctx, free_graph, step);
    return step;
}

static double predicted(cm_calibration *c, int32_t row)
{
    const cm__step_time     *s = &c->steps->rows[row];
    const cm_predict_options o = {.batch = s->batch, .runtime = s->runtime};
    cm_prediction           *p;
    check(c, s, cm_predict(c->graphs[row], c->device, &o, &p, c->ctx->diag));
    double time = cm_prediction_get_info(p)->step_time_s;
    cm_prediction_free(p);
    return time;
}

/* ---- factors ----------------------------------------------------------------------------------------------------- */

static cm_number *scale_at(cm_device *d, int scale)
{
    cm_number *all[SCALES] = {&d->calibration.matrix, &d->calibration.vector, &d->calibration.host};
    return all[scale];
}

static void set_scales(cm_calibration *c, const double *x)
{
    double f[FACTORS] = {0};
    for (int32_t i = 0; i < c->n_free; i++) f[c->free_factors[i]] = x[i];
    const double logs[SCALES] = {f[DEVICE] + f[CONTRAST], f[DEVICE] - f[CONTRAST], f[HOST]};
    for (int s = 0; s < SCALES; s++) {
        cm_number *n = scale_at(c->device, s);
        n->known = true;
        n->value = c->first[s] * exp(fmax(-7, fmin(7, logs[s])));
    }
}

static double log_error(cm_calibration *c, int32_t row)
{
    return log(predicted(c, row) / c->steps->rows[row].measured_s);
}

static void residuals(const double *x, double *r, void *data)
{
    cm_calibration *c = data;
    set_scales(c, x);
    for (int32_t i = 0; i < c->steps->n_rows; i++) r[i] = c->weights[i] * log_error(c, i);
    for (int32_t i = 0; i < c->n_free; i++) r[c->steps->n_rows + i] = PENALTY * x[i];
}

/* The factor that the time of a single step depends on most. */
static int strongest(cm_calibration *c)
{
    double slope[2], here = log(predicted(c, 0));
    c->n_free = 1;
    for (int f = DEVICE; f <= HOST; f++) {
        c->free_factors[0] = f;
        set_scales(c, (double[]){0.05});
        slope[f] = log(predicted(c, 0)) - here;
    }
    set_scales(c, (double[]){0});
    return slope[HOST] > slope[DEVICE] ? HOST : DEVICE;
}

static void choose_factors(cm_calibration *c)
{
    int32_t rows = c->steps->n_rows, count = rows >= ALL_FROM ? 3 : rows > 1 ? 2 : 1;
    int     single = count == 1 ? strongest(c) : DEVICE;
    for (int32_t i = 0; i < count; i++) c->free_factors[i] = (int)i;
    if (count == 1) c->free_factors[0] = single;
    c->n_free = count;
}

/* ---- output profile ---------------------------------------------------------------------------------------------- */

static json_t *number_of(double value, const char *date)
{
    return json_pack("{s:f,s:s,s:s,s:s,s:s}", "value", value, "unit", "1", "kind", "fitted", "source", "steps", "date",
                     date);
}

/* Replaces characters outside printable ASCII, so that the name is valid in JSON. */
static const char *plain(cm__ctx *ctx, const char *file)
{
    char *text = cm__text_copy(ctx, file);
    for (char *at = text; *at; at++)
        if (*at < ' ' || *at > '~') *at = '?';
    return text;
}

static void write_profile(cm_calibration *c, const char *path)
{
    static const char *const members[SCALES] = {"matrix", "vector", "host"};
    const cm_device_info    *info = cm_device_get_info(c->device);
    const char              *slash = strrchr(path, '/');
    char                     date[16];
    time_t                   now = time(NULL);
    struct tm                utc;
    strftime(date, sizeof date, "%Y-%m-%d", gmtime_r(&now, &utc));
    json_t *factors = json_object();
    for (int s = 0; s < SCALES; s++)
        json_object_set_new(factors, members[s], number_of(scale_at(c->device, s)->value, date));
    json_t *steps = json_pack("{s:s,s:s,s:s}", "title", "real training steps", "where",
                              plain(c->ctx, slash ? slash + 1 : path), "date", date);
    json_t *profile = json_pack("{s:i,s:s,s:s,s:s,s:o,s:{s:o}}", "schema", 1, "id",
                                cm__format(c->ctx, "my-%s", info->id), "base", info->id, "name",
                                cm__format(c->ctx, "%s, calibrated", info->name), "calibration", factors, "sources",
                                "steps", steps);
    char *text = profile ? json_dumps(profile, JSON_INDENT(1) | JSON_REAL_PRECISION(6)) : NULL;
    json_decref(profile);
    if (!text) cm__fail(c->ctx, CM_ERR_MEMORY, "out of memory");
    cm__defer(c->ctx, free_text, text);
    c->profile = text;
}

/* ---- calibration ------------------------------------------------------------------------------------------------- */

static void begin(cm_calibration *c)
{
    int32_t n = c->steps->n_rows;
    c->graphs = cm__alloc_array(c->ctx, (size_t)n, sizeof(cm_graph *));
    c->rows = cm__alloc_array(c->ctx, (size_t)n, sizeof *c->rows);
    c->weights = cm__alloc_array(c->ctx, (size_t)n, sizeof *c->weights);
    for (int s = 0; s < SCALES; s++) c->first[s] = scale_at(c->device, s)->known ? scale_at(c->device, s)->value : 1;
    for (int32_t i = 0; i < n; i++) {
        const cm__step_time *s = &c->steps->rows[i];
        c->graphs[i] = graph_of(c, i);
        c->rows[i] = (cm_calibration_row){.model = s->model, .batch = s->batch, .measured_s = s->measured_s};
        c->rows[i].before_s = predicted(c, i);
        if (!(c->rows[i].before_s > 0)) cm__fail(c->ctx, CM_ERR_ARGUMENT, "line %d: predicted step time is 0", s->line);
        c->before += fabs(c->rows[i].before_s / s->measured_s - 1) / n;
    }
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The first round measures errors from their median, later rounds from zero. */
static void weigh(cm_calibration *c, bool first)
{
    int32_t n = c->steps->n_rows;
    double *errors = cm__alloc_array(c->ctx, (size_t)n, 2 * sizeof *errors), *sorted = errors + n;
    for (int32_t i = 0; i < n; i++) errors[i] = sorted[i] = log_error(c, i);
    qsort(sorted, (size_t)n, sizeof *sorted, by_value);
    double middle = first ? (sorted[(n - 1) / 2] + sorted[n / 2]) / 2 : 0;
    for (int32_t i = 0; i < n; i++) c->weights[i] = n < ALL_FROM ? 1 : 1 / (1 + pow((errors[i] - middle) / FAR, 2));
}

/* Calibration changes a measured profile by a few percent, and an unmeasured one by a small factor. A factor of a
   thousand is a wrong unit. */
static void refuse_wrong_unit(cm_calibration *c)
{
    int32_t n = c->steps->n_rows;
    double *ratios = cm__alloc_array(c->ctx, (size_t)n, sizeof *ratios);
    for (int32_t i = 0; i < n; i++) ratios[i] = c->rows[i].measured_s / c->rows[i].before_s;
    qsort(ratios, (size_t)n, sizeof *ratios, by_value);
    double      middle = sqrt(ratios[(n - 1) / 2] * ratios[n / 2]);
    const char *device = cm_device_get_info(c->device)->id;
    if (middle <= IMPLAUSIBLE && middle >= 1 / IMPLAUSIBLE) return;
    if (middle > 1)
        cm__fail(c->ctx, CM_ERR_ARGUMENT,
                 "the steps take %.3g times as long as predicted on %s: step_time_s looks like milliseconds; divide "
                 "the column by 1000, or check the device, batch size and precision", middle, device);
    cm__fail(c->ctx, CM_ERR_ARGUMENT,
             "the steps take 1/%.3g of the time predicted on %s: step_time_s is the time of one step in seconds; "
             "check its unit, the device, the batch size and the precision", 1 / middle, device);
}

static void run(cm_calibration *c)
{
    double  x[FACTORS] = {0};
    int32_t n = c->steps->n_rows;
    begin(c);
    refuse_wrong_unit(c);
    choose_factors(c);
    cm__lsq problem = {.parameters = c->n_free, .rows = n + c->n_free, .iterations = ITERATIONS, .scale = SPREAD,
                       .residuals = residuals, .data = c};
    for (int round = 0; round < ROUNDS; round++) {
        weigh(c, round == 0);
        cm__lsq_solve(c->ctx, &problem, x);
        set_scales(c, x);
    }
    for (int32_t i = 0; i < n; i++) {
        c->rows[i].after_s = predicted(c, i);
        c->after += fabs(c->rows[i].after_s / c->rows[i].measured_s - 1) / n;
    }
    for (int s = 0; s < SCALES; s++) {
        double to = scale_at(c->device, s)->value;
        if (fabs(to / c->first[s] - 1) < LEAST_CHANGE) scale_at(c->device, s)->value = c->first[s];
        else c->changes[c->n_changes++] = (cm_calibration_change){scale_names[s], c->first[s], to};
    }
}

cm_status cm_calibrate(const char *device, const char *log, cm_calibration **calibration, cm_diag *diag)
{
    if (!device || !log || !calibration) return cm__diag_set(diag, CM_ERR_ARGUMENT, "no device, log or result given");
    cm__ctx *ctx = cm__ctx_new(diag);
    if (!ctx) return CM_ERR_MEMORY;
    if (setjmp(ctx->trap)) return cm__ctx_abandon(ctx);
    cm_calibration *c = cm__alloc(ctx, sizeof *c);
    cm_status       status = cm_device_load(device, &c->device, diag);
    if (status) {
        cm__ctx_free(ctx);
        return status;
    }
    cm__defer(ctx, free_device, c->device);
    c->ctx = ctx;
    ctx->file = cm__text_copy(ctx, log);
    cm__mapping *m = cm__file_map(ctx, log, FILE_MAX, "give the mean step time of each run");
    c->steps = cm__steps_read(ctx, (const char *)m->bytes, m->size);
    cm__file_unmap(m);
    run(c);
    write_profile(c, log);
    ctx->diag = NULL;
    *calibration = c;
    return CM_OK;
}

void cm_calibration_free(cm_calibration *calibration)
{
    if (calibration) cm__ctx_free(calibration->ctx);
}

double                       cm_calibration_before(const cm_calibration *c) { return c->before; }
double                       cm_calibration_after(const cm_calibration *c) { return c->after; }
int32_t                      cm_calibration_rows(const cm_calibration *c) { return c->steps->n_rows; }
const cm_calibration_row    *cm_calibration_get_row(const cm_calibration *c, int32_t i) { return &c->rows[i]; }
int32_t                      cm_calibration_changes(const cm_calibration *c) { return c->n_changes; }
const cm_calibration_change *cm_calibration_get_change(const cm_calibration *c, int32_t i) { return &c->changes[i]; }
const char                  *cm_calibration_profile(const cm_calibration *c) { return c->profile; }
const cm_device             *cm_calibration_device(const cm_calibration *c) { return c->device; }
