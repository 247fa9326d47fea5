/* SPDX-License-Identifier: Apache-2.0 */
/* validate.c - runs a set of results: every row by every predictor, and how far off each one is. */
#include "validate/validate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- predictors -------------------------------------------------------------------------------------------------- */

static double predict_batch(const cm__case *c)
{
    cm_footprint   *footprint;
    cm_batch_choice choice;
    cm__pass_on(c->ctx, cm_footprint_new(c->step, c->device, NULL, &footprint, c->ctx->diag));
    cm_status status = cm_batch_choose(footprint, NULL, &choice, c->ctx->diag);
    cm_footprint_free(footprint);
    cm__pass_on(c->ctx, status);
    return choice.batch ? (double)choice.batch : NAN;
}

static int64_t batch_of(const cm__case *c) { return (int64_t)json_number_value(json_object_get(c->row, "batch")); }

static double peak_of(const cm__case *c, bool exact)
{
    cm_footprint     *footprint;
    cm_memory_use     use;
    cm_memory_options options = {.runtime = c->runtime};
    cm__pass_on(c->ctx, cm_footprint_new(c->step, c->device, &options, &footprint, c->ctx->diag));
    cm_status status = CM_OK;
    if (exact) status = cm_footprint_simulate(footprint, batch_of(c), &use, c->ctx->diag);
    else cm_footprint_at(footprint, batch_of(c), &use);
    cm_footprint_free(footprint);
    cm__pass_on(c->ctx, status);
    return use.peak_bytes;
}

static double predict_memory(const cm__case *c) { return peak_of(c, true); }
static double predict_polynomials(const cm__case *c) { return peak_of(c, false); }

static double predict_lifetimes(const cm__case *c)
{
    cm_totals totals;
    cm_graph_totals(c->step, batch_of(c), &totals);
    return totals.peak_bytes;
}

static double predict_published(const cm__case *c)
{
    const json_t *value = json_object_get(c->row, "published");
    return value ? json_number_value(value) : NAN;
}

const cm__predictor cm__predictors[] = {
    {"batch", predict_batch},
    {"lifetimes", predict_lifetimes},
    {"memory", predict_memory},
    {"polynomials", predict_polynomials},
    {"published", predict_published},
    {"shares", cm__predict_by_shares},
};
const int32_t cm__n_predictors = sizeof cm__predictors / sizeof *cm__predictors;

/* ---- sets -------------------------------------------------------------------------------------------------------- */

struct cm_validation {
    cm__ctx               *ctx;
    const json_t          *set;
    cm_validation_info     info;
    cm_validation_row     *rows;
    cm_validation_summary *summaries;
    int32_t                n_rows, n_summaries;
};

int32_t     cm_validation_sets(void) { return cm__n_embedded_sets; }
const char *cm_validation_set(int32_t index)
{
    return index >= 0 && index < cm__n_embedded_sets ? cm__embedded_sets[index].id : NULL;
}

static void release_json(void *json) { json_decref(json); }

static const json_t *load_set(cm__ctx *ctx, const char *id)
{
    const char *known = "";
    for (int32_t i = 0; i < cm__n_embedded_sets; i++) {
        const cm__embedded_set *s = &cm__embedded_sets[i];
        known = cm__format(ctx, "%s%s%s", known, i ? ", " : "", s->id);
        if (strcmp(s->id, id) != 0) continue;
        json_t *set = json_loadb(s->text, s->text_size, 0, NULL);
        if (!set) cm__fail(ctx, CM_ERR_MEMORY, "out of memory while reading the set '%s'", id);
        cm__defer(ctx, release_json, set);
        return set;
    }
    cm__fail(ctx, CM_ERR_UNKNOWN, "no set of results '%.64s'; there are %s", id, known);
}

static const char *text_at(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static void free_graph(void *graph) { cm_graph_free(graph); }
static void free_device(void *device) { cm_device_free(device); }

/* A row says how its step was run; in pure 16 bits otherwise, as the papers' accelerators train. */
static void read_options(cm__case *c, cm_load_options *load, cm_train_options *train)
{
    const char *precision = text_at(c->row, "precision"), *optimizer = text_at(c->row, "optimizer"),
               *runtime = text_at(c->row, "runtime");
    load->seq = (int64_t)json_number_value(json_object_get(c->row, "seq"));
    train->precision = CM_PRECISION_BF16;
    if (precision) cm__pass_on(c->ctx, cm_precision_parse(precision, &train->precision, c->ctx->diag));
    if (optimizer) cm__pass_on(c->ctx, cm_optimizer_parse(optimizer, &train->optimizer, c->ctx->diag));
    if (runtime) cm__pass_on(c->ctx, cm_runtime_parse(runtime, &c->runtime, c->ctx->diag));
    if (!c->runtime) c->runtime = cm_device_runtime(c->device);
    load->fuse = c->runtime == CM_RUNTIME_TORCH_EAGER ? CM_FUSE_EAGER : CM_FUSE_ALL;
}

static void load_case(cm__case *c)
{
    cm_graph        *forward, *step;
    cm_device       *device;
    cm_load_options  load = {0};
    cm_train_options train = {0};
    cm__pass_on(c->ctx, cm_device_load(text_at(c->row, "device"), &device, c->ctx->diag));
    cm__defer(c->ctx, free_device, device);
    c->device = device;
    read_options(c, &load, &train);
    cm__pass_on(c->ctx, cm_graph_load(text_at(c->row, "model"), &load, &forward, c->ctx->diag));
    cm__defer(c->ctx, free_graph, forward);
    cm__pass_on(c->ctx, cm_graph_train(forward, &train, &step, c->ctx->diag));
    cm__defer(c->ctx, free_graph, step);
    c->step = step;
}

static const cm__predictor *predictor_named(cm__ctx *ctx, const char *name)
{
    for (int32_t i = 0; i < cm__n_predictors; i++)
        if (strcmp(cm__predictors[i].name, name) == 0) return &cm__predictors[i];
    cm__fail(ctx, CM_ERR_FORMAT, "no predictor '%.64s'", name);
}

/* "amp-bf16, adamw, batch 16, seq 128": what of it the row says */
static const char *setting_text(const cm__case *c)
{
    static const char *const names[] = {"precision", "optimizer", "runtime"};
    const char              *text = "";
    for (int i = 0; i < 3; i++)
        if (text_at(c->row, names[i]))
            text = cm__format(c->ctx, "%s%s%s", text, *text ? " " : "", text_at(c->row, names[i]));
    if (batch_of(c)) text = cm__format(c->ctx, "%s%sb%lld", text, *text ? " " : "", (long long)batch_of(c));
    long long seq = (long long)json_number_value(json_object_get(c->row, "seq"));
    return seq ? cm__format(c->ctx, "%s%ss%lld", text, *text ? " " : "", seq) : text;
}

static void run_row(cm_validation *v, const json_t *row)
{
    cm__case             c = {.ctx = v->ctx, .set = v->set, .row = row};
    const json_t        *predictors = json_object_get(v->set, "predictors");
    double              *predicted = cm__alloc_array(v->ctx, (size_t)v->n_summaries + 1, sizeof *predicted);
    load_case(&c);
    for (int32_t p = 0; p < v->n_summaries; p++)
        predicted[p] = predictor_named(v->ctx, text_at(json_array_get(predictors, (size_t)p), "name"))->predict(&c);
    v->rows[v->n_rows++] = (cm_validation_row){.model = text_at(row, "model"), .device = text_at(row, "device"),
                                               .setting = setting_text(&c),
                                               .measured = json_number_value(json_object_get(row, "measured")),
                                               .predicted = predicted};
}

/* ---- sums -------------------------------------------------------------------------------------------------------- */

static int by_size(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static void summarise(cm_validation *v, int32_t p)
{
    cm_validation_summary *s = &v->summaries[p];
    double                *errors = cm__alloc_array(v->ctx, (size_t)v->n_rows + 1, sizeof *errors);
    double                 sum = 0, signed_sum = 0;
    for (int32_t i = 0; i < v->n_rows; i++) {
        double error = v->rows[i].predicted[p] / v->rows[i].measured - 1;
        if (isnan(error)) continue;
        s->equal += error == 0;
        signed_sum += error;
        sum += fabs(error);
        errors[s->n++] = fabs(error);
    }
    if (s->n) qsort(errors, (size_t)s->n, sizeof *errors, by_size);
    s->mape = s->n ? sum / s->n : NAN;
    s->bias = s->n ? signed_sum / s->n : NAN;
    s->worst = s->n ? errors[s->n - 1] : NAN;
    s->p90 = s->n ? errors[(int32_t)(0.9 * (s->n - 1) + 0.5)] : NAN;
}

/* ---- the public calls -------------------------------------------------------------------------------------------- */

static void describe(cm_validation *v)
{
    const json_t *source = json_object_get(v->set, "source");
    const json_t *predictors = json_object_get(v->set, "predictors");
    v->info = (cm_validation_info){text_at(v->set, "id"), text_at(v->set, "title"), text_at(v->set, "metric"),
                                   text_at(source, "where")};
    v->n_summaries = (int32_t)json_array_size(predictors);
    v->summaries = cm__alloc_array(v->ctx, (size_t)v->n_summaries, sizeof *v->summaries);
    for (int32_t p = 0; p < v->n_summaries; p++) {
        const json_t *o = json_array_get(predictors, (size_t)p);
        v->summaries[p].predictor = text_at(o, "title");
        v->summaries[p].what = text_at(o, "what");
    }
}

cm_status cm_validation_run(const char *set, cm_validation **validation, cm_diag *diag)
{
    if (!set || !validation) return cm__diag_set(diag, CM_ERR_ARGUMENT, "no set of results given");
    cm__ctx *ctx = cm__ctx_new(diag);
    if (!ctx) return CM_ERR_MEMORY;
    if (setjmp(ctx->trap)) return cm__ctx_abandon(ctx);
    cm_validation *v = cm__alloc(ctx, sizeof *v);
    v->ctx = ctx;
    v->set = load_set(ctx, set);
    describe(v);
    const json_t *rows = json_object_get(v->set, "rows");
    v->rows = cm__alloc_array(ctx, json_array_size(rows), sizeof *v->rows);
    for (size_t i = 0; i < json_array_size(rows); i++) run_row(v, json_array_get(rows, i));
    for (int32_t p = 0; p < v->n_summaries; p++) summarise(v, p);
    ctx->diag = NULL;
    *validation = v;
    return CM_OK;
}

void cm_validation_free(cm_validation *validation)
{
    if (validation) cm__ctx_free(validation->ctx);
}

cm_validation_info cm_validation_get_info(const cm_validation *v) { return v->info; }
int32_t            cm_validation_rows(const cm_validation *v) { return v->n_rows; }
int32_t            cm_validation_summaries(const cm_validation *v) { return v->n_summaries; }

int32_t cm_validation_notes(const cm_validation *v)
{
    return (int32_t)json_array_size(json_object_get(v->set, "notes"));
}

const cm_validation_row *cm_validation_get_row(const cm_validation *v, int32_t index)
{
    return index >= 0 && index < v->n_rows ? &v->rows[index] : NULL;
}

const cm_validation_summary *cm_validation_summary_of(const cm_validation *v, int32_t index)
{
    return index >= 0 && index < v->n_summaries ? &v->summaries[index] : NULL;
}

const char *cm_validation_note(const cm_validation *v, int32_t index)
{
    return json_string_value(json_array_get(json_object_get(v->set, "notes"), (size_t)index));
}
