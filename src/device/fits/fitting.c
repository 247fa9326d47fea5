/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fitting.c - fit models to a file of timings, or compare the timings with the models of a profile.
 *
 * Rows are grouped by device, library, operator, pass and type. The ceilings of a group come from the profile that the
 * user names, else from the profile whose alias is the rows' device name, else from the best rates in the rows.
 */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "base/sized.h"
#include "base/file.h"
#include "device/device.h"
#include "device/fits/fit.h"

#define ROWS_LEAST 24   /* fewest rows of a group for a fit */
#define FILE_MAX ((int64_t)1 << 30)
#define DIGITS 5        /* of a parameter in a profile: far more than its accuracy */

typedef struct model {
    cm_fit_class    class_;
    const cm__form *form;
    double          parameters[48];
} model;

struct cm_fitting {
    cm__ctx    *ctx;
    model      *models;
    const char *id, *profile, *first_skipped;
    int32_t     n_models, skipped;
};

/* ---- names ------------------------------------------------------------------------------------------------------ */

static bool rate_of(const char *dtype, cm_rate *rate)
{
    static const struct {
        const char *name;
        cm_rate     rate;
    } rates[] = {{"fp64", CM_RATE_FP64}, {"fp32", CM_RATE_FP32}, {"tf32", CM_RATE_TF32},
                 {"bf16", CM_RATE_BF16}, {"fp16", CM_RATE_FP16}, {"fp16in_fp32acc", CM_RATE_FP16},
                 {"fp8", CM_RATE_FP8},   {"nvfp4", CM_RATE_FP4}, {"int8", CM_RATE_INT8}};
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++)
        if (strcmp(dtype, rates[i].name) == 0) {
            *rate = rates[i].rate;
            return true;
        }
    return false;
}

/* ---- ceilings --------------------------------------------------------------------------------------------------- */

static double peak_of(const cm_device *d, const char *dtype)
{
    cm_rate rate;
    if (!rate_of(dtype, &rate)) return NAN;
    cm_number matrix = cm_device_peak(d, CM_ENGINE_MATRIX, rate), vector = cm_device_peak(d, CM_ENGINE_VECTOR, rate);
    return matrix.known ? matrix.value : vector.known ? vector.value : NAN;
}

static double cache_of(const cm_device *d)
{
    double largest = 1 << 20;
    for (int32_t i = 0; i < cm_device_memories(d); i++) {
        const cm_memory *m = cm_device_memory(d, i);
        if (m->place == CM_PLACE_ON_CHIP && !m->per_core && m->capacity_bytes.known)
            largest = fmax(largest, m->capacity_bytes.value);
    }
    return largest;
}

static bool known_ceilings(const cm_device *d, const char *dtype, cm__ceilings *c)
{
    const cm_memory *memory = cm_device_main_memory(d);
    cm_number        cores = cm_device_number(d, CM_CORES);
    double           peak = peak_of(d, dtype);
    if (!memory || !memory->bw_bytes_s.known || !cores.known || isnan(peak)) return false;
    *c = (cm__ceilings){.cores = cores.value,
                        .peak_flop_s = peak,
                        .bandwidth_bytes_s = memory->bw_bytes_s.value,
                        .cache_bytes = cache_of(d)};
    return true;
}

static void free_device(void *device) { cm_device_free(device); }

static cm_device *open_device(cm__ctx *ctx, const char *name)
{
    cm_device *d;
    cm_diag    diag;
    cm_status  status = cm_device_load(name, &d, &diag);
    if (status != CM_OK) {
        ctx->file = *diag.file ? diag.file : NULL; /* the error concerns the profile, not the table */
        cm__place(ctx, "%s", diag.place);
        cm__fail(ctx, status, "%s", diag.reason);
    }
    cm__defer(ctx, free_device, d);
    return d;
}

/* ---- models ----------------------------------------------------------------------------------------------------- */

static void describe(model *m, const cm__timing_group *g, const cm__fit_error *e)
{
    m->class_ = (cm_fit_class){.device = g->device,
                               .runtime = *g->library ? g->library : "native",
                               .op = g->op,
                               .pass = g->pass,
                               .dtype = g->dtype,
                               .n = e->n,
                               .mape = e->mape,
                               .bias = e->bias,
                               .p90 = e->p90};
}

static const cm_parameter *parameter_named(const cm_fit *fit, const char *name)
{
    for (int32_t i = 0; i < fit->n_parameters; i++)
        if (strcmp(fit->parameters[i].name, name) == 0) return &fit->parameters[i];
    return NULL;
}

static void read_parameters(cm__ctx *ctx, const cm_fit *fit, const cm__form *form, double *p)
{
    for (int r = 0, at = 0; r < form->n_rows; at += form->rows[r++].count) {
        const cm_parameter *q = parameter_named(fit, form->rows[r].name);
        if (!q || q->count != form->rows[r].count)
            cm__fail(ctx, CM_ERR_FORMAT,
                     "the profile's model of %s has %d numbers as '%s', the form '%s' reads %d: fit it again", fit->op,
                     q ? q->count : 0, form->rows[r].name, form->name, form->rows[r].count);
        memcpy(p + at, q->values, (size_t)q->count * sizeof *p);
    }
}

/* The profile's model for a group: of the same library if there is one, else of any library. */
static const cm_fit *model_for(const cm_device *d, const cm__timing_group *g)
{
    const cm_fit *found = NULL;
    for (int32_t i = 0; i < cm_device_fits(d); i++) {
        const cm_fit *f = cm_device_fit(d, i);
        if (strcmp(f->op, g->op) || strcmp(f->pass, g->pass) || strcmp(f->dtype, g->dtype)) continue;
        if (strcmp(f->runtime, *g->library ? g->library : "native") == 0) return f;
        if (!found) found = f;
    }
    return found;
}

static bool check_one(cm_fitting *f, const cm__timings *t, int32_t group, const cm_device *d, model *m)
{
    const cm_fit   *fit = model_for(d, &t->groups[group]);
    const cm__form *form = fit ? cm__form_find(fit->form) : NULL;
    cm__ceilings    c;
    if (!form || !known_ceilings(d, t->groups[group].dtype, &c)) return false;
    read_parameters(f->ctx, fit, form, m->parameters);
    cm__fit_error e = cm__fit_check(f->ctx, t, group, &c, form, m->parameters);
    m->form = form;
    describe(m, &t->groups[group], &e);
    return true;
}

static bool fit_one(cm_fitting *f, const cm__timings *t, int32_t group, const cm_device *d, model *m)
{
    cm__ceilings c;
    cm__fit      fit;
    if (t->groups[group].rows < ROWS_LEAST) return false;
    if (!d || !known_ceilings(d, t->groups[group].dtype, &c)) c = cm__ceilings_seen(t, group);
    cm__fit_group(f->ctx, t, group, &c, &fit);
    m->form = fit.form;
    memcpy(m->parameters, fit.parameters, sizeof m->parameters);
    describe(m, &t->groups[group], &fit.error);
    return true;
}

/* ---- profile ---------------------------------------------------------------------------------------------------- */

static json_t *rounded(double x)
{
    char text[32];
    snprintf(text, sizeof text, "%.*g", DIGITS, x);
    return json_real(strtod(text, NULL));
}

static json_t *parameters_of(const model *m)
{
    json_t *all = json_object();
    for (int r = 0, at = 0; r < m->form->n_rows; at += m->form->rows[r++].count) {
        const cm__parameter_row *row = &m->form->rows[r];
        json_t                  *list = row->count > 1 ? json_array() : NULL;
        for (int k = 0; list && k < row->count; k++) json_array_append_new(list, rounded(m->parameters[at + k]));
        json_object_set_new(all, row->name, list ? list : rounded(m->parameters[at]));
    }
    return all;
}

static json_t *fit_of(const model *m, const char *date)
{
    const cm_fit_class *c = &m->class_;
    return json_pack("{s:s,s:s,s:s,s:s,s:s,s:o,s:i,s:{s:o,s:o,s:o},s:s,s:s,s:s}", "op", c->op, "pass", c->pass, "dtype",
                     c->dtype, "runtime", c->runtime, "form", m->form->name, "parameters", parameters_of(m), "n",
                     (int)c->n, "error", "mape", rounded(c->mape), "bias", rounded(c->bias), "p90", rounded(c->p90),
                     "kind", "fitted", "source", "timings", "date", date);
}

static void free_text(void *text) { free(text); }

/* A file name, as a valid JSON string. */
static const char *plain(cm__ctx *ctx, const char *file)
{
    char *text = cm__text_copy(ctx, file);
    for (char *c = text; *c; c++)
        if (*c < ' ' || *c > '~') *c = '?';
    return text;
}

static const char *write_profile(cm_fitting *f, const char *base, const char *file)
{
    char      date[16];
    time_t    now = time(NULL);
    struct tm utc;
    strftime(date, sizeof date, "%Y-%m-%d", gmtime_r(&now, &utc));
    json_t *fits = json_array(), *profile = json_pack("{s:i,s:s,s:s}", "schema", 1, "id", f->id, "base", base);
    for (int32_t i = 0; i < f->n_models; i++) json_array_append_new(fits, fit_of(&f->models[i], date));
    json_object_set_new(profile, "fits", fits);
    json_object_set_new(profile, "sources",
                        json_pack("{s:{s:s,s:s,s:s}}", "timings", "title", "operator timings", "where",
                                  plain(f->ctx, file), "date", date));
    char *text = json_dumps(profile, JSON_INDENT(1) | JSON_REAL_PRECISION(DIGITS + 1));
    json_decref(profile);
    if (!text) cm__fail(f->ctx, CM_ERR_MEMORY, "out of memory");
    cm__defer(f->ctx, free_text, text);
    return text;
}

/* ---- the call --------------------------------------------------------------------------------------------------- */

static const cm_device *device_of(cm__ctx *ctx, const cm_fit_options *o, const cm__timing_group *g)
{
    if (o->device) return open_device(ctx, o->device);
    for (int32_t i = 0; *g->device && i < cm_devices(); i++) {
        cm_device *d;
        cm_status  status = cm_device_load(cm_device_id(i), &d, NULL);
        if (status != CM_OK) cm__fail(ctx, status, "%s: %s", cm_device_id(i), cm_status_text(status));
        bool is = cm_device_has_alias(d, g->device);
        cm_device_free(d);
        if (is) return open_device(ctx, cm_device_id(i));
    }
    return NULL;
}

static void run(cm_fitting *f, const char *path, const cm__timings *t, const cm_fit_options *o)
{
    const cm_device *device = NULL;
    const char      *of = NULL;
    bool             one_device = true;
    f->models = cm__alloc_array(f->ctx, (size_t)t->n_groups, sizeof *f->models);
    for (int32_t g = 0; g < t->n_groups; g++) {
        if (!of || strcmp(of, t->groups[g].device) != 0) device = device_of(f->ctx, o, &t->groups[g]);
        one_device &= !of || o->device || strcmp(of, t->groups[g].device) == 0;
        of = t->groups[g].device;
        if (o->progress) o->progress(o->user, g, t->n_groups, t->groups[g].op);
        model *m = &f->models[f->n_models];
        f->n_models += o->check ? device && check_one(f, t, g, device, m) : fit_one(f, t, g, device, m);
    }
    if (o->progress) o->progress(o->user, t->n_groups, t->n_groups, "");
    if (!f->n_models && o->check) cm__fail(f->ctx, CM_ERR_ARGUMENT, "the profile has no model for any of these rows");
    if (!f->n_models)
        cm__fail(f->ctx, CM_ERR_ARGUMENT, "no operator has %d rows or more; %d rows were left out%s%s", ROWS_LEAST,
                 t->skipped, t->skipped ? ", first " : "", t->skipped ? t->first_skipped : "");
    if (o->check || !device || !one_device) return; /* a profile describes one known device */
    const char *base = cm_device_get_info(device)->id, *slash = strrchr(path, '/');
    f->id = cm__format(f->ctx, "my-%s", base);
    f->profile = write_profile(f, base, slash ? slash + 1 : path);
}

cm_status cm_fitting_run(const char *path, const cm_fit_options *options, cm_fitting **fitting, cm_diag *diag)
{
    cm_fit_options own;
    cm__take_options(&own, sizeof own, options);
    cm__ctx *ctx = cm__ctx_new(diag);
    if (!ctx) return CM_ERR_MEMORY;
    if (setjmp(ctx->trap)) return cm__ctx_abandon(ctx);
    ctx->file = cm__text_copy(ctx, path);
    cm__mapping *m = cm__file_map(ctx, path, FILE_MAX, "split the table");
    cm_fitting  *f = cm__alloc(ctx, sizeof *f);
    f->ctx = ctx;
    cm__timings *t = cm__timings_read(ctx, (const char *)m->bytes, m->size);
    cm__file_unmap(m);
    f->skipped = t->skipped;
    f->first_skipped = t->first_skipped;
    run(f, path, t, &own);
    ctx->diag = NULL;
    *fitting = f;
    return CM_OK;
}

cm_fitting *cm__fitting_of(cm__ctx *ctx, const cm_fit_class *classes, int32_t count)
{
    cm_fitting *f = cm__alloc(ctx, sizeof *f);
    f->ctx = ctx;
    f->models = cm__alloc_array(ctx, (size_t)count, sizeof *f->models);
    f->n_models = count;
    for (int32_t i = 0; i < count; i++) f->models[i].class_ = classes[i];
    return f;
}

void cm_fitting_free(cm_fitting *fitting)
{
    if (fitting) cm__ctx_free(fitting->ctx);
}

int32_t             cm_fitting_classes(const cm_fitting *fitting) { return fitting->n_models; }
const cm_fit_class *cm_fitting_class(const cm_fitting *fitting, int32_t index)
{
    return &fitting->models[index].class_;
}
const char         *cm_fitting_profile(const cm_fitting *fitting) { return fitting->profile; }
int32_t             cm_fitting_skipped(const cm_fitting *fitting, const char **first)
{
    *first = fitting->first_skipped;
    return fitting->skipped;
}
