/* SPDX-License-Identifier: Apache-2.0 */
/* operator_fits.c - choose the fitted operator model for a call: the device's own, or that of a device with the same
   chip or family; and evaluate it. */
#include "model/time/operator_fits.h"

#include <math.h>
#include <string.h>
#include "base/text.h"
#include "device/fits/forms.h"
#include "model/time/factors.h"

#define PARAMETERS_MOST 64

typedef enum closeness { ITSELF, SAME_CHIP, SAME_FAMILY, UNRELATED } closeness;

typedef struct model {
    const cm_fit   *fit;
    const cm__form *form;
    closeness       of;
    bool            read; /* whether `parameters` was looked for */
    double         *parameters;
} model;

struct cm__operator_fits {
    cm__ctx         *ctx;
    const cm_device *device;
    cm__limits       limits;
    bool             plain, megatron; /* which calls to predict */
    bool             related_loaded;  /* the models of related devices */
    model           *models;
    int32_t          count, capacity;
};

static void take(cm__operator_fits *m, const cm_device *device, closeness of)
{
    for (int32_t i = 0; i < cm_device_fits(device); i++) {
        const cm_fit   *fit = cm_device_fit(device, i);
        const cm__form *form = cm__form_find(fit->form);
        if (!form) continue;
        m->models = cm__grow(m->ctx, m->models, m->count, &m->capacity, sizeof *m->models);
        m->models[m->count++] = (model){.fit = fit, .form = form, .of = of};
    }
}

cm__operator_fits *cm__operator_fits_new(cm__ctx *ctx, const cm_device *device, const cm__limits *limits, bool plain,
                                         bool megatron)
{
    cm__operator_fits *m = cm__alloc(ctx, sizeof *m);
    *m = (cm__operator_fits){.ctx = ctx, .device = device, .limits = *limits, .plain = plain, .megatron = megatron};
    take(m, device, ITSELF);
    return m;
}

/* ---- related devices -------------------------------------------------------------------------------------------- */

static bool same_text(const char *a, const char *b) { return a && b && strcmp(a, b) == 0; }

static closeness closeness_to(const cm__operator_fits *m, const cm_device *other)
{
    if (same_text(m->device->chip, other->chip)) return SAME_CHIP;
    bool family = m->megatron && same_text(cm__device_family(m->device), cm__device_family(other));
    return family ? SAME_FAMILY : UNRELATED;
}

static closeness closeness_by_id(const cm__operator_fits *m, const char *id)
{
    const cm_device *peer = cm__device_peer(m->device, id);
    cm_device       *other;
    if (strcmp(m->device->info.id, id) == 0) return UNRELATED; /* its own models are loaded already */
    if (peer) return closeness_to(m, peer);
    if (cm_device_load(id, &other, NULL)) return UNRELATED;
    closeness of = closeness_to(m, other);
    cm_device_free(other);
    return of;
}

static void load_related(cm__operator_fits *m)
{
    m->related_loaded = true;
    for (int32_t i = 0; (m->megatron || m->device->chip) && cm_device_id(i); i++) {
        closeness        of = closeness_by_id(m, cm_device_id(i));
        const cm_device *other = of == UNRELATED ? NULL : cm__device_beside(m->ctx, m->device, cm_device_id(i));
        if (other) take(m, other, of);
    }
}

/* ---- choice of a model ------------------------------------------------------------------------------------------ */

#define NAMES 3
#define TYPES 3

/* The operator models that can time a call, best first. */
typedef struct candidates {
    const char *names[NAMES], *dtypes[TYPES];
    closeness   farthest;
    bool        stream; /* one pass over the data, in any type */
} candidates;

/* True: a softmax fused with scale and mask, or an update of all parameters. */
static bool is_fused(const cm__call *c)
{
    return (c->op == CM__CALL_SOFTMAX && c->variant != CM__V_NONE) || c->op == CM__CALL_OPTIMIZER;
}

static candidates products_in_16_bits(const cm__call *c, closeness farthest)
{
    bool half = c->types == CM__ALL(CM_FP16); /* all three take the same time */
    return (candidates){.names = {"gemm"}, .farthest = farthest,
                        .dtypes = {half ? "fp16" : "bf16", half ? "bf16" : "fp16", "fp16in_fp32acc"}};
}

/* Models for Megatron-LM's own kernels; an empty result: use the rule for plain fp32. */
static candidates candidates_for_megatron(const cm__call *c)
{
    if (is_fused(c)) return (candidates){.names = {"add"}, .dtypes = {""}, .farthest = SAME_FAMILY, .stream = true};
    return c->op == CM__CALL_GEMM && cm__types_16_bits(c->types) ? products_in_16_bits(c, SAME_FAMILY) : (candidates){0};
}

static candidates candidates_in_fp32(const cm__call *c)
{
    static const char *const linear[NAMES] = {"linear", "gemm", "bmm"}, *const norm[NAMES] = {"layernorm"},
                            *const batched[NAMES] = {"bmm", "linear", "gemm"}, *const softmax[NAMES] = {"softmax"},
                            *const conv[NAMES] = {"conv2d", "conv2d_full"};
    const char *const *found = c->op == CM__CALL_GEMM ? (c->sizes[CM__GEMM_BATCH] > 1 ? batched : linear)
                               : c->op == CM__CALL_CONV ? conv
                               : c->op == CM__CALL_SOFTMAX ? softmax
                               : c->op == CM__CALL_LAYER_NORM ? norm
                                                              : NULL;
    bool grouped = c->op == CM__CALL_CONV && c->sizes[CM__CONV_GROUPS] > 1;
    if (grouped || c->types != CM__ALL(CM_FP32)) return (candidates){0};
    bool       function = c->op == CM__CALL_ELEMENTWISE && !cm__form_of(c->variant);
    candidates w = {.names = {function ? cm__variant_word(c->variant) : NULL}, .dtypes = {"fp32"}};
    w.farthest = SAME_CHIP;
    if (found) memcpy(w.names, found, sizeof w.names);
    return w;
}

/* Products and convolutions use the model of their pass. Convolutions may fall back to the forward model: the work
   is the same. */
static int fitness(const model *m, const cm__call *c, bool stream)
{
    static const char *const passes[CM__PASSES] = {[CM__PASS_FORWARD] = "forward", [CM__PASS_BACKWARD] = "backward",
                                                   [CM__PASS_BWD_INPUT] = "backward_input",
                                                   [CM__PASS_BWD_WEIGHT] = "backward_weight", [CM__PASS_UPDATE] = ""};
    if (!stream && cm__same_text(m->fit->pass, passes[c->pass])) return 2;
    return (stream || c->op == CM__CALL_CONV) && strcmp(m->fit->pass, "forward") == 0;
}

static bool better(const model *a, const model *b)
{
    return a->fit->n != b->fit->n ? a->fit->n > b->fit->n : a->fit->mape < b->fit->mape;
}

/* Among equally related devices: the model fitted to most rows, then the one with the smallest error. */
static const model *best_of(const cm__operator_fits *m, const cm__call *c, const char *name, const char *dtype,
                            closeness of, int least)
{
    const model *best = NULL;
    int          found = least;
    bool         any = !dtype[0];
    for (int32_t i = 0; i < m->count; i++) {
        const model *at = &m->models[i];
        if (at->of != of || !cm__same_text(at->fit->op, name)) continue;
        if (!any && !cm__same_text(at->fit->dtype, dtype)) continue;
        int fit = fitness(at, c, any);
        if (fit < found || (fit == found && best && !better(at, best))) continue;
        best = at;
        found = fit;
    }
    return best;
}

static const model *model_of_fitness(cm__operator_fits *m, const cm__call *c, const candidates *w, int least)
{
    for (int d = 0; d < TYPES && w->dtypes[d]; d++)
        for (int of = ITSELF; of <= (int)w->farthest; of++) {
            if (of > ITSELF && !m->related_loaded) load_related(m);
            for (int k = 0; k < NAMES && w->names[k]; k++) {
                const model *best = best_of(m, c, w->names[k], w->dtypes[d], (closeness)of, least);
                if (best) return best;
            }
        }
    return NULL;
}

/* A model of the call's pass, under any name or of a related device, before one of the forward pass, which only streams
   and convolutions can use. */
static const model *model_for(cm__operator_fits *m, const cm__call *c, const candidates *w)
{
    const model *own = model_of_fitness(m, c, w, 2);
    return own || !(w->stream || c->op == CM__CALL_CONV) ? own : model_of_fitness(m, c, w, 1);
}

/* ---- evaluation ------------------------------------------------------------------------------------------------- */

/* Reads the parameters of a form, with its launch overhead set to 0. False: they do not match the form. */
static bool read_parameters(const cm_fit *fit, const cm__form *form, double *p)
{
    for (int r = 0, at = 0; r < form->n_rows; at += form->rows[r++].count) {
        const cm_parameter *found = NULL;
        for (int32_t i = 0; i < fit->n_parameters; i++)
            if (cm__same_text(fit->parameters[i].name, form->rows[r].name)) found = &fit->parameters[i];
        if (!found || found->count != form->rows[r].count || at + found->count > PARAMETERS_MOST) return false;
        memcpy(p + at, found->values, (size_t)found->count * sizeof *p);
        if (strcmp(found->name, "overhead_s") == 0) p[at] = 0;
    }
    return true;
}

/* Calls of rows: softmax and layer norm have the same sizes. */
_Static_assert((int)CM__SOFTMAX_ROWS == CM__LAYER_NORM_ROWS && (int)CM__SOFTMAX_COLS == CM__LAYER_NORM_COLS, "rows");
static cm__work work_of(const cm__call *c, bool stream)
{
    double   p[4];
    cm__work w = {.batch = 1, .k = 1};
    cm__call_work(c, &w.flop, &w.bytes);
    if (stream) return w; /* bytes alone: narrower types are faster in proportion */
    if (cm__as_product(c, p)) w.batch = p[0], w.m = p[1], w.n = p[2], w.k = p[3];
    else if (c->op == CM__CALL_ELEMENTWISE)
        w.m = 1, w.n = cm__size(c, CM__ELEMENTWISE_OUTER) * cm__size(c, CM__ELEMENTWISE_INNER);
    else w.m = cm__size(c, CM__SOFTMAX_ROWS), w.n = cm__size(c, CM__SOFTMAX_COLS);
    return w;
}

static cm__ceilings ceilings_of(const cm__limits *l, const cm__call *c)
{
    cm_engine engine = cm__call_kinds[c->op].engine;
    return (cm__ceilings){.cores = l->cores,
                          .peak_flop_s = l->peak[engine][cm__rate_available(l, engine, cm__call_rate(c))],
                          .bandwidth_bytes_s = l->memory_bytes_s,
                          .cache_bytes = fmax(l->cache_bytes, 1 << 20)};
}

/* The parameters of a model, read when it is first used; NULL: they do not match its form. */
static const double *parameters_of(cm__operator_fits *m, const model *found)
{
    model *at = &m->models[found - m->models];
    if (!at->read) {
        double p[PARAMETERS_MOST];
        at->read = true;
        if (read_parameters(at->fit, at->form, p)) {
            at->parameters = cm__alloc_unset(m->ctx, 1, sizeof p);
            memcpy(at->parameters, p, sizeof p);
        }
    }
    return at->parameters;
}

/* The time of a call by the best of the candidates. */
static double time_by(cm__operator_fits *m, const cm__call *c, const candidates *w, double *error)
{
    const model  *found = w->names[0] ? model_for(m, c, w) : NULL;
    const double *p = found ? parameters_of(m, found) : NULL;
    if (!p) return NAN;
    cm__ceilings ceilings = ceilings_of(&m->limits, c);
    cm__work     work = work_of(c, w->stream);
    if (ceilings.peak_flop_s <= 0 || ceilings.bandwidth_bytes_s <= 0 || work.bytes <= 0) return NAN;
    double time_s = found->form->time(p, &work, &ceilings);
    if (c->op == CM__CALL_GEMM && cm__types_16_bits(c->types) && c->variant == CM__V_TN)
        time_s *= cm__time_factors.transposed_product;
    *error = hypot(cm__time_factors.fit_source_error, found->fit->mape);
    return isfinite(time_s) ? m->limits.floor_s + time_s : NAN;
}

double cm__operator_fits_time(cm__operator_fits *m, const cm__call *c, double *error)
{
    candidates w = m->megatron ? candidates_for_megatron(c) : (candidates){0};
    if (!w.names[0] && m->plain) w = candidates_in_fp32(c);
    return time_by(m, c, &w, error);
}

#define ALIGNED 8 /* numbers of 16 bits in the 16 bytes that kernels of products load at once */

/* Models are fitted to products of language models, whose sizes are multiples of it. Other products run other kernels,
   which take up to four times as long. */
static bool is_aligned(const cm__call *c)
{
    return c->sizes[CM__GEMM_N] % ALIGNED == 0 && c->sizes[CM__GEMM_K] % ALIGNED == 0;
}

double cm__operator_fits_product(cm__operator_fits *m, const cm__call *c, double *error)
{
    bool       modelled = c->op == CM__CALL_GEMM && cm__types_16_bits(c->types) && is_aligned(c);
    candidates w = modelled ? products_in_16_bits(c, SAME_CHIP) : (candidates){0};
    return time_by(m, c, &w, error);
}
