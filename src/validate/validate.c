/* SPDX-License-Identifier: Apache-2.0 */
/* validate.c - run sets of results: predict every row with every predictor and compute the errors. */
#include "validate/validate.h"

#include <math.h>
#include <string.h>
#include "base/text.h"
#include "device/profile.h"

#define DEVICES_MAX 64

/* The predictors of sets of times. A set of batch sizes or memory names its own. */
static const struct {
    const char    *title, *what;
    cm__estimator *estimate;
} estimators[] = {
    {"centimani", "as 'predict'; models that a profile was fitted to are predicted by a fit without them",
     cm__estimate_step},
    {"roofline", "all FLOP at the peak or all bytes at the bandwidth, whichever takes longer", cm__estimate_roofline},
    {"utilisation", "the fraction of peak that an A100 reaches, applied to this device's peak",
     cm__estimate_utilisation},
    {"similarity", "the fraction of peak that the most similar other model reaches on this device",
     cm__estimate_similarity},
};
#define ESTIMATORS ((int32_t)(sizeof estimators / sizeof *estimators))

struct cm_validation {
    const json_t          *set;
    cm_validation_info     info;
    cm_validation_row     *rows;
    cm_validation_summary *summaries, *by_device;
    int32_t                n_rows, n_summaries, n_by_device;
};

struct cm_scoreboard {
    cm__ctx        *ctx;
    cm_validation **sets;
    int32_t         n_sets;
    bool            leaves_out; /* results of the predicted device are not used */
};

/* Some embedded files are not sets: they have no rows. */
static bool is_set(cm__store *store, int32_t index) { return json_object_get(cm__store_set(store, index), "rows"); }

/* ---- rows ------------------------------------------------------------------------------------------------------- */

/* "amp-bf16 adamw b16 s128": the options that the row gives */
static const char *setting_text(const cm__case *c)
{
    static const char *const names[] = {"mode", "precision", "optimizer", "runtime"};
    cm__ctx                 *ctx = c->store->ctx;
    const char              *text = "";
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (cm__text_of(c->run, names[i]))
            text = cm__format(ctx, "%s%s%s", text, *text ? " " : "", cm__text_of(c->run, names[i]));
    double seq = cm__number_of(c->run, "seq", 0);
    if (c->batch) text = cm__format(ctx, "%s%sb%lld", text, *text ? " " : "", (long long)c->batch);
    return seq > 0 ? cm__format(ctx, "%s%ss%.0f", text, *text ? " " : "", seq) : text;
}

/* The location of the figure in its source: the row's own text, or a key of the set's sources with a note. */
static const char *where_text(cm__ctx *ctx, const json_t *set, const json_t *row)
{
    const char *where = cm__text_of(row, "where"), *key = cm__text_of(row, "source"), *note = cm__text_of(row, "note");
    const char *source = key ? cm__text_of(json_object_get(set, "sources"), key) : NULL;
    if (where) return where;
    if (!source) return note ? note : cm__text_of(json_object_get(set, "source"), "where");
    return note ? cm__format(ctx, "%s; %s", source, note) : source;
}

static const json_t *own_predictors(const cm_validation *v) { return json_object_get(v->set, "predictors"); }

/* If one predictor has no answer, another may. Only a reason that the row itself gives applies to all. */
static void predict_row(const cm_validation *v, cm__case *c, const cm__metric *m, cm_validation_row *r)
{
    double     *predicted = cm__alloc_array(c->store->ctx, (size_t)v->n_summaries + 1, sizeof *predicted);
    const char *refused = c->reason, *not_modelled = cm__text_of(c->run, "not_modelled");
    r->predicted = predicted;
    for (int32_t p = 0; p < v->n_summaries; p++) {
        cm__answer         a = {NAN, {NAN, NAN}};
        const json_t      *own = json_array_get(own_predictors(v), (size_t)p);
        cm__own_predictor *by = own ? cm__own_predictor_named(cm__text_of(own, "name")) : NULL;
        if (by && !refused) a.value = by(c);
        if (!own && m->value && !refused && (p || !not_modelled)) a = m->value(c, estimators[p].estimate);
        predicted[p] = a.value;
        if (p == 0) {
            r->interval[0] = a.interval[0];
            r->interval[1] = a.interval[1];
            if (isnan(a.value))
                r->reason = not_modelled ? not_modelled : c->reason ? c->reason : "no predictor has an answer";
        }
        c->reason = refused;
    }
}

/* True: the device runs PyTorch by default, whose allocator is simulated. */
static bool memory_is_simulated(const cm__case *c)
{
    return c->device && cm_device_runtime(c->device) != CM_RUNTIME_NATIVE;
}

/* True unless the other run of a ratio is predicted not to fit. It did run, so a prediction that it does not fit is
   wrong. */
static bool rest_fits(const cm__case *c, const cm_validation *v)
{
    const json_t *versus = json_object_get(c->run, "versus");
    cm__case     *other = versus ? cm__case_new(c->store, v->set, c->run, versus) : NULL;
    return !other || !memory_is_simulated(other) || cm__case_fits(other);
}

/* Compares whether a run was predicted to fit with whether it ran. Only GPUs are tested; other devices report an
   error. */
static void check_memory(const cm_validation *v, cm__case *c, const cm__metric *m, cm_validation_row *r)
{
    static const bool checked[] = {[CM__METRIC_TIME] = true, [CM__METRIC_FITS] = true};
    r->fits = -1;
    r->ran = m->kind != CM__METRIC_FITS || r->measured > 0;
    if (m->kind > CM__METRIC_FITS || !checked[m->kind] || r->reason || !c->step) return;
    if (memory_is_simulated(c) || m->kind == CM__METRIC_FITS) r->fits = cm__case_fits(c);
    if (!rest_fits(c, v)) r->fits = false;
}

/* Members of a row, or of the whole set, that lower its evidence class. The text says why. The last one that is given
   decides. */
static const struct {
    const char *member;
    cm_evidence evidence;
} declared[] = {
    {"first_sight", CM_EVIDENCE_FIRST_SIGHT},
    {"lookup", CM_EVIDENCE_LOOKUP},
    {"sibling", CM_EVIDENCE_SIBLING},
    {"fitted", CM_EVIDENCE_FITTED},
};
#define DECLARED (sizeof declared / sizeof *declared)

static const char *declared_text(const cm__case *c, const json_t *row, size_t i)
{
    const char *own = cm__text_of(row, declared[i].member);
    return own ? own : cm__text_of(c->set, declared[i].member);
}

static cm_evidence evidence_of(const cm__case *c, const json_t *row)
{
    bool        left_out = c->left_out || c->store->leave_device_out;
    cm_evidence evidence = left_out ? CM_EVIDENCE_LEFT_OUT : CM_EVIDENCE_NOT_FITTED;
    for (size_t i = 0; i < DECLARED; i++)
        if (declared_text(c, row, i)) evidence = declared[i].evidence;
    return evidence;
}

static const char *evidence_note(const cm__case *c, const json_t *row)
{
    const char *note = cm__text_of(row, "note"), *text = NULL;
    for (size_t i = 0; i < DECLARED; i++)
        if (declared_text(c, row, i)) text = declared_text(c, row, i);
    return text ? text : note ? note : c->left_out;
}

/* A row of a run that is not described well enough, or that a fit excluded, has a reason of its own: that is no
   refusal. Neither is a device that has no prediction without its own results. */
static bool is_refused(const cm__case *c, const json_t *row, const cm_validation_row *r)
{
    bool stated = cm__text_of(row, "reason") || cm__text_of(row, "left_out");
    return r->reason && !stated && c->device && !c->store->leave_device_out;
}

static void run_row(cm__store *store, cm_validation *v, const json_t *row)
{
    static const cm_row_kind kinds[] = {[CM__METRIC_TIME] = CM_ROW_FIGURE, [CM__METRIC_OWN] = CM_ROW_FIGURE,
                                        [CM__METRIC_ORDER] = CM_ROW_ORDER, [CM__METRIC_FITS] = CM_ROW_FITS};
    const cm__metric *m = cm__metric_of(v->set, row);
    if (!m) cm__fail(store->ctx, CM_ERR_FORMAT, "%s: row %d has no known metric", v->info.set, v->n_rows + 1);
    cm__case          *c = cm__case_new(store, v->set, row, NULL);
    cm_validation_row *r = &v->rows[v->n_rows++];
    const char        *device = cm__text_of(row, "device"), *model = cm__text_of(row, "model");
    *r = (cm_validation_row){.where = where_text(store->ctx, v->set, row), .model = model ? model : "-",
                             .device = device ? device : "-", .metric = m->name, .unit = m->unit, .devices = c->devices,
                             .setting = setting_text(c), .measured = cm__measured_of(m, row), .kind = kinds[m->kind],
                             .compare = cm__text_of(row, "compare"), .better = m->better,
                             .note = evidence_note(c, row)};
    r->evidence = evidence_of(c, row);
    predict_row(v, c, m, r);
    r->refused = is_refused(c, row, r);
    check_memory(v, c, m, r);
}

/* ---- sets ------------------------------------------------------------------------------------------------------- */

static void describe(cm__ctx *ctx, cm_validation *v)
{
    const json_t *own = own_predictors(v);
    v->info = (cm_validation_info){.set = cm__text_of(v->set, "id"),
                                   .title = cm__text_of(v->set, "title"),
                                   .metric = cm__text_of(v->set, "metric"),
                                   .where = cm__text_of(json_object_get(v->set, "source"), "where")};
    v->n_summaries = own ? (int32_t)json_array_size(own) : ESTIMATORS;
    v->summaries = cm__alloc_array(ctx, (size_t)v->n_summaries, sizeof *v->summaries);
}

static void name_predictor(const cm_validation *v, int32_t p, cm_validation_summary *s)
{
    const json_t *own = json_array_get(own_predictors(v), (size_t)p);
    s->predictor = own ? cm__text_of(own, "title") : estimators[p].title;
    s->what = own ? cm__text_of(own, "what") : estimators[p].what;
}

static bool seen_before(const cm_validation *v, int32_t row)
{
    for (int32_t i = 0; i < row; i++)
        if (strcmp(v->rows[i].device, v->rows[row].device) == 0) return true;
    return false;
}

static void summarise(cm__ctx *ctx, cm_validation *v)
{
    v->by_device = cm__alloc_array(ctx, DEVICES_MAX * (size_t)v->n_summaries, sizeof *v->by_device);
    for (int32_t p = 0; p < v->n_summaries; p++) {
        v->summaries[p] = cm__summarise(ctx, v->rows, v->n_rows, p, NULL);
        name_predictor(v, p, &v->summaries[p]);
    }
    for (int32_t i = 0; i < v->n_rows; i++)
        for (int32_t p = 0; !seen_before(v, i) && p < v->n_summaries; p++) {
            if (v->n_by_device >= DEVICES_MAX * v->n_summaries) return;
            cm_validation_summary *s = &v->by_device[v->n_by_device++];
            *s = cm__summarise(ctx, v->rows, v->n_rows, p, v->rows[i].device);
            name_predictor(v, p, s);
        }
}

static cm_validation *run_set(cm__store *store, const json_t *set)
{
    cm_validation *v = cm__alloc(store->ctx, sizeof *v);
    const json_t  *rows = json_object_get(set, "rows");
    v->set = set;
    describe(store->ctx, v);
    v->rows = cm__alloc_array(store->ctx, json_array_size(rows), sizeof *v->rows);
    for (size_t i = 0; i < json_array_size(rows); i++) run_row(store, v, json_array_get(rows, i));
    summarise(store->ctx, v);
    return v;
}

/* ---- public functions -------------------------------------------------------------------------------------------- */

static noreturn void refuse(cm__store *store, const char *set)
{
    const char **names = cm__alloc_array(store->ctx, (size_t)cm__n_embedded_sets, sizeof *names), *known = "all";
    size_t       n = 0;
    for (int32_t i = 0; i < cm__n_embedded_sets; i++) {
        if (!is_set(store, i)) continue;
        names[n++] = cm__embedded_sets[i].id;
        known = cm__format(store->ctx, "%s, %s", known, cm__embedded_sets[i].id);
    }
    const char *meant = cm__nearest(set, names, n);
    if (meant) cm__fail(store->ctx, CM_ERR_UNKNOWN, "no set of results '%.64s'; did you mean '%s'?", set, meant);
    cm__fail(store->ctx, CM_ERR_UNKNOWN, "no set of results '%.64s'; there are %s", set, known);
}

cm_status cm_scoreboard_run(const char *set, bool leave_device_out, cm_scoreboard **scoreboard, cm_diag *diag)
{
    if (!scoreboard) return cm__diag_set(diag, CM_ERR_ARGUMENT, "no result pointer given");
    cm__ctx *ctx = cm__ctx_new(diag);
    if (!ctx) return CM_ERR_MEMORY;
    if (setjmp(ctx->trap)) return cm__ctx_abandon(ctx);
    cm_scoreboard *b = cm__alloc(ctx, sizeof *b);
    cm__store     *store = cm__store_new(ctx);
    bool           all = !set || strcmp(set, "all") == 0;
    b->ctx = ctx;
    b->leaves_out = store->leave_device_out = leave_device_out;
    b->sets = cm__alloc_array(ctx, (size_t)cm__n_embedded_sets, sizeof *b->sets);
    if (set && cm__is_path(set)) b->sets[b->n_sets++] = run_set(store, cm__set_read(store, set));
    for (int32_t i = 0; i < cm__n_embedded_sets; i++)
        if (is_set(store, i) && (all || strcmp(set, cm__embedded_sets[i].id) == 0))
            b->sets[b->n_sets++] = run_set(store, cm__store_set(store, i));
    if (!b->n_sets) refuse(store, set);
    ctx->diag = NULL;
    *scoreboard = b;
    return CM_OK;
}

void cm_scoreboard_free(cm_scoreboard *scoreboard)
{
    if (scoreboard) cm__ctx_free(scoreboard->ctx);
}

bool    cm_scoreboard_leaves_out(const cm_scoreboard *b) { return b->leaves_out; }
int32_t cm_scoreboard_sets(const cm_scoreboard *b) { return b->n_sets; }

const cm_validation *cm_scoreboard_set(const cm_scoreboard *b, int32_t index)
{
    return index >= 0 && index < b->n_sets ? b->sets[index] : NULL;
}

cm_validation_info cm_validation_get_info(const cm_validation *v) { return v->info; }

/* Defines two functions per list: its length, and its n-th entry. */
#define LIST(type, plural, singular, items, count)                                                                     \
    int32_t     cm_validation_##plural(const cm_validation *v) { return v->count; }                                    \
    const type *cm_validation_##singular(const cm_validation *v, int32_t index)                                        \
    {                                                                                                                  \
        return index >= 0 && index < v->count ? &v->items[index] : NULL;                                               \
    }
LIST(cm_validation_row, rows, get_row, rows, n_rows)
LIST(cm_validation_summary, summaries, get_summary, summaries, n_summaries)
LIST(cm_validation_summary, device_summaries, device_summary, by_device, n_by_device)

int32_t cm_validation_notes(const cm_validation *v)
{
    return (int32_t)json_array_size(json_object_get(v->set, "notes"));
}

const char *cm_validation_note(const cm_validation *v, int32_t index)
{
    return json_string_value(json_array_get(json_object_get(v->set, "notes"), (size_t)index));
}

const char *cm_evidence_name(cm_evidence evidence)
{
    static const char *const names[CM_EVIDENCES] = {
        [CM_EVIDENCE_NOT_FITTED] = "not fitted", [CM_EVIDENCE_LEFT_OUT] = "left out",
        [CM_EVIDENCE_FIRST_SIGHT] = "first sight", [CM_EVIDENCE_SIBLING] = "sibling",
        [CM_EVIDENCE_LOOKUP] = "look-up", [CM_EVIDENCE_FITTED] = "fitted"};
    return (unsigned)evidence < CM_EVIDENCES ? names[evidence] : NULL;
}
