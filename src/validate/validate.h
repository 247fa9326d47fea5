/* SPDX-License-Identifier: Apache-2.0 */
/*
 * validate.h - published results, and how predictions compare with them.
 *
 * A set is a JSON file under data/results (docs/dev/adding-results.md): rows with measured values and how each was run.
 * A row becomes a case (case.c). An estimator predicts the time of a case (estimate.c, baselines.c). A metric turns times
 * into the row's quantity (metrics.c), and statistics.c computes the errors. Batch sizes and memory do not depend on
 * time: a set of these names its own predictors (predictors.c).
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

/* ---- shared by all sets ----------------------------------------------------------------------------------------- */

/* Graphs, devices and predictions, each built once; the parsed sets; and published benchmark results. */
typedef struct cm__store {
    cm__ctx                  *ctx;
    struct cm__kept          *kept;
    int32_t                   n_kept, kept_capacity;
    const json_t            **sets;       /* in the order of cm__embedded_sets; NULL: not parsed yet */
    const struct cm__benchmark *benchmarks;
    int32_t                   n_benchmarks;
    bool                      benchmarks_read;
    bool                      leave_device_out; /* use no result of the predicted device */
} cm__store;

cm__store    *cm__store_new(cm__ctx *ctx);
void         *cm__store_find(const cm__store *store, const char *key); /* NULL: none */
void          cm__store_keep(cm__store *store, const char *key, void *value);
const json_t *cm__store_set(cm__store *store, int32_t index);
const json_t *cm__store_named(cm__store *store, const char *id); /* also files that are not sets; NULL: none */
const json_t *cm__store_json(cm__store *store, json_t *json);    /* takes ownership; NULL: out of memory */

/* Reads a user's file. */
const json_t *cm__set_read(cm__store *store, const char *path);
struct cm__origin;
/* Checks a set against the format in docs/dev/adding-results.md; calls cm__refuse() on an error. */
void cm__set_check(cm__ctx *ctx, const json_t *set, const struct cm__origin *origin);
/* Add the rows of a contribution, read from `path`, to a set; calls cm__refuse() if evidence is missing or a row is
   there already. */
void cm__results_join(cm__ctx *ctx, json_t *into, const json_t *set, const struct cm__origin *origin, const char *path);

/* ---- cases ------------------------------------------------------------------------------------------------------ */

/* One run of a row. */
/* The totals of a case's step at this batch size. Batch size 0: they have not been counted. */
typedef struct cm__counted {
    cm_totals totals;
    int64_t   batch;
} cm__counted;

typedef struct cm__case {
    cm__store       *store;
    const json_t    *set, *run;   /* run: the row, with the members of this run */
    const cm_device *device;
    const cm_graph  *forward, *step;
    cm_train_options train;       /* with every default replaced */
    const char      *device_key, *graph_key; /* keys in the store */
    cm_runtime       runtime;
    cm_layout        layout;
    int64_t          batch;       /* samples per step over all devices; of one device's share if per_device */
    int32_t          devices, accumulate;
    cm__counted     *counted;     /* cm__case_totals() */
    bool             per_device;
    const char      *left_out;    /* model that was left out of the fit of the device's profile; NULL: none */
    const char      *reason;      /* why it cannot be predicted; NULL: it can */
} cm__case;

/* Stores a failed call as the case's reason; running out of memory fails the whole call. CM_OK: does nothing. */
void cm__case_give_up(cm__case *c, cm_status status, const cm_diag *diag);

/* `over`: members that replace those of the row; NULL: none. */
cm__case *cm__case_new(cm__store *store, const json_t *set, const json_t *row, const json_t *over);
/* The step of a case under a plan (NULL: one device), with the same defaults as the program. */
cm_status cm__case_step(const cm__case *c, const cm_plan *plan, cm_step **step, cm_diag *diag);

/* The links of the row's devices: of the cluster it names, or the device's own. NULL: c->reason says why. */
const cm_fabric *cm__case_fabric(cm__case *c);
const char      *cm__cluster_of(const cm__case *c); /* "": the device's own links */

const char *cm__text_of(const json_t *object, const char *key);             /* NULL: none */
double      cm__number_of(const json_t *object, const char *key, double otherwise);
/* The model of a row for leaving out: calibration leaves out all rows of one group together. */
const char *cm__group_of(const json_t *row);
/* The devices that share fitted parameters: the family of "graphcore-bow"; "nvidia-a100-40g" is its own. */
const char *cm__family_of(cm__store *store, const char *device);

/* ---- times ------------------------------------------------------------------------------------------------------ */

/* The predicted time of a step, and its number of samples and devices. */
typedef struct cm__estimate {
    double step_s, device_s, samples, devices, interval_s[2];
    double latency_s; /* for inference, from host to host; NAN: none */
} cm__estimate;

/* False: no answer. Only the first estimator sets a reason (c->reason). */
typedef bool cm__estimator(cm__case *c, cm__estimate *e);
cm__estimator cm__estimate_step, cm__estimate_roofline, cm__estimate_utilisation, cm__estimate_similarity;

/* Adds what the row's host takes to a baseline's step: see 'feeding' and 'dataset' in docs/dev/adding-results.md. */
void   cm__case_add_host(cm__case *c, cm__estimate *e);
double cm__case_flop(const cm__case *c);
const cm_totals *cm__case_totals(const cm__case *c); /* of its step at its batch size */ /* matrix FLOP of one step */
double cm__case_peak(const cm__case *c); /* FLOP/s of one device in the step's precision; NAN: unknown */
bool   cm__case_fits(cm__case *c);

/* ---- metrics ---------------------------------------------------------------------------------------------------- */

typedef struct cm__answer {
    double value, interval[2]; /* NAN: no answer */
} cm__answer;

typedef enum cm__metric_kind { CM__METRIC_TIME, CM__METRIC_OWN, CM__METRIC_ORDER, CM__METRIC_FITS } cm__metric_kind;

typedef struct cm__metric {
    const char     *name, *unit;
    cm__metric_kind kind;   /* OWN: predicted by the set's own predictors */
    int             better; /* 1: more is better, -1: less, 0: neither */
    cm__answer (*value)(cm__case *c, cm__estimator *estimate);
} cm__metric;

const cm__metric *cm__metric_of(const json_t *set, const json_t *row); /* NULL: the row has no known metric */
double            cm__measured_of(const cm__metric *metric, const json_t *row);

/* ---- predictors of batch sizes and memory ------------------------------------------------------------------------ */

typedef double cm__own_predictor(cm__case *c); /* NAN: no answer */
cm__own_predictor *cm__own_predictor_named(const char *name); /* NULL: none */
/* shares.c: the batch size whose working set fits the chip, with weights per device and category. */
cm__own_predictor cm__predict_by_shares;

/* ---- statistics ------------------------------------------------------------------------------------------------- */

/* Errors and ranking quality of predictor p on the rows of one device (NULL: of all). */
cm_validation_summary cm__summarise(cm__ctx *ctx, const cm_validation_row *rows, int32_t n_rows, int32_t p,
                                    const char *device);

#endif
