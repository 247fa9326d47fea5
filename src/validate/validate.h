/* SPDX-License-Identifier: Apache-2.0 */
/*
 * validate.h - results of others, and what holds against them.
 *
 * A set is a JSON text under data/results (docs/adding-results.md): rows with what was measured and how it was run. A
 * row becomes a case (case.c), an estimator gives the time of a case (estimate.c, baselines.c), a metric turns times
 * into what the row measures (metrics.c), and statistics.c says how far off that is. Batch sizes and memory are no
 * matter of time: a set of these names predictors of its own (predictors.c).
 */
#ifndef CM_VALIDATE_VALIDATE_H
#define CM_VALIDATE_VALIDATE_H

#include <jansson.h>
#include "base/ctx.h"

typedef struct cm__embedded_set {
    const char *id, *text;
    size_t      text_size;
} cm__embedded_set;

extern const cm__embedded_set cm__embedded_sets[]; /* the last one is NULL */
extern const int32_t          cm__n_embedded_sets;

/* ---- what all sets share ---------------------------------------------------------------------------------------- */

/* Graphs, devices and predictions, each made once; the texts of all sets; what others benchmarked. */
typedef struct cm__store {
    cm__ctx                  *ctx;
    struct cm__kept          *kept;
    int32_t                   n_kept, kept_capacity;
    const json_t            **sets;       /* parsed, in the order of cm__embedded_sets; NULL: not asked for yet */
    const struct cm__benchmark *benchmarks;
    int32_t                   n_benchmarks;
    bool                      benchmarks_read;
} cm__store;

cm__store    *cm__store_new(cm__ctx *ctx);
void         *cm__store_find(const cm__store *store, const char *key); /* NULL: none */
void          cm__store_keep(cm__store *store, const char *key, void *value);
const json_t *cm__store_set(cm__store *store, int32_t index);
const json_t *cm__store_named(cm__store *store, const char *id); /* also what is no set; NULL: none */
const json_t *cm__store_json(cm__store *store, json_t *json);    /* owned from now on; NULL: out of memory */

/* A user's file. */
const json_t *cm__set_read(cm__store *store, const char *path);
struct cm__origin;
/* Whether it is a set as docs/adding-results.md has it; else cm__refuse(). */
void cm__set_check(cm__ctx *ctx, const json_t *set, const struct cm__origin *origin);

/* ---- cases ------------------------------------------------------------------------------------------------------ */

/* One way that a row was run. */
typedef struct cm__case {
    cm__store       *store;
    const json_t    *set, *run;   /* run: the row, with what it says of this run */
    const cm_device *device;
    const cm_graph  *step;
    const char      *device_key, *graph_key; /* in the store */
    cm_runtime       runtime;
    int64_t          batch;       /* samples of a step over all devices; of one device's share where per_device */
    int32_t          devices, accumulate;
    bool             per_device;
    const char      *left_out;    /* the model that the device's profile was fitted without, for this row; NULL: none */
    const char      *reason;      /* why it cannot be predicted; NULL: it can */
} cm__case;

/* A call failed: that is the case's reason, unless it is for want of memory. CM_OK: nothing. */
void cm__case_give_up(cm__case *c, cm_status status, const cm_diag *diag);

/* `over`: members that replace those of the row; NULL: none. */
cm__case *cm__case_new(cm__store *store, const json_t *set, const json_t *row, const json_t *over);
/* The step of a case under a plan (NULL: one device), as the program would run it. */
cm_status cm__case_step(const cm__case *c, const cm_plan *plan, cm_step **step, cm_diag *diag);

/* What joins the devices of a row: of the cluster it names, or the device's own. NULL: c->reason says why. */
const cm_fabric *cm__case_fabric(cm__case *c);
const char      *cm__cluster_of(const cm__case *c); /* "": the device's own */

const char *cm__text_of(const json_t *object, const char *key);             /* NULL: none */
double      cm__number_of(const json_t *object, const char *key, double otherwise);
/* The model of a row as calibration counts models: rows of one group are left out together. */
const char *cm__group_of(const json_t *row);
/* "nvidia-a100-40g" of "nvidia-a100-40g", the family of "graphcore-bow": who shares parameters. */
const char *cm__family_of(cm__store *store, const char *device);

/* ---- times ------------------------------------------------------------------------------------------------------ */

/* A step: how long, over how many samples and devices. */
typedef struct cm__estimate {
    double step_s, device_s, samples, devices, interval_s[2];
    double latency_s; /* of inference, from host to host; NAN: none */
} cm__estimate;

/* False: no answer. Only the first estimator gives a reason (c->reason). */
typedef bool cm__estimator(cm__case *c, cm__estimate *e);
cm__estimator cm__estimate_step, cm__estimate_roofline, cm__estimate_utilisation, cm__estimate_similarity;

double cm__case_flop(const cm__case *c); /* of matrix units, one step */
double cm__case_peak(const cm__case *c); /* of one device in the step's precision, FLOP/s; NAN: not known */
bool   cm__case_fits(cm__case *c);

/* ---- metrics ---------------------------------------------------------------------------------------------------- */

typedef struct cm__answer {
    double value, interval[2]; /* NAN: none */
} cm__answer;

typedef enum cm__metric_kind { CM__METRIC_TIME, CM__METRIC_OWN, CM__METRIC_ORDER, CM__METRIC_FITS } cm__metric_kind;

typedef struct cm__metric {
    const char     *name, *unit;
    cm__metric_kind kind;   /* OWN: by the set's own predictors */
    int             better; /* 1: more is better, -1: less, 0: neither */
    cm__answer (*value)(cm__case *c, cm__estimator *estimate);
} cm__metric;

const cm__metric *cm__metric_of(const json_t *set, const json_t *row); /* NULL: the row has none that is known */
double            cm__measured_of(const cm__metric *metric, const json_t *row);

/* ---- predictors of batch sizes and memory ------------------------------------------------------------------------ */

typedef double cm__own_predictor(cm__case *c); /* NAN: has no answer */
cm__own_predictor *cm__own_predictor_named(const char *name); /* NULL: none */
/* shares.c: the batch size whose working set, by shares per device and category, fits the chip. */
cm__own_predictor cm__predict_by_shares;

/* ---- statistics ------------------------------------------------------------------------------------------------- */

/* Errors and rankings of predictor p on the rows of one device (NULL: of all). */
cm_validation_summary cm__summarise(cm__ctx *ctx, const cm_validation_row *rows, int32_t n_rows, int32_t p,
                                    const char *device);

#endif
