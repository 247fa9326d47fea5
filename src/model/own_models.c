/* SPDX-License-Identifier: Apache-2.0 */
/* own_models.c - which of a device's fitted models tells of a call, and what it says. */
#include "model/own_models.h"

#include <math.h>
#include <string.h>
#include "device/forms.h"

#define PARAMETERS_MOST 64
#define SISTERS_MOST 8
#define ERROR_LEAST 0.1 /* of timings by another library version and harness */

struct cm__own_models {
    cm__ctx         *ctx;
    const cm_device *devices[SISTERS_MOST + 1]; /* itself first */
    cm__limits       limits;
    int32_t          count;
    bool             sought; /* sisters are there already */
};

static void free_device(void *device) { cm_device_free(device); }

cm__own_models *cm__own_models_new(cm__ctx *ctx, const cm_device *device, const cm__limits *limits)
{
    cm__own_models *m = cm__alloc(ctx, sizeof *m);
    *m = (cm__own_models){.ctx = ctx, .devices = {device}, .limits = *limits, .count = 1};
    return m;
}

/* ---- sisters ---------------------------------------------------------------------------------------------------- */

/* "nvidia-v100" of "nvidia-v100-16g". */
static size_t chip_of(const char *id)
{
    const char *dash = strchr(id, '-'), *next = dash ? strchr(dash + 1, '-') : NULL;
    return next ? (size_t)(next - id) : strlen(id);
}

static bool is_sister(const char *a, const char *b)
{
    size_t length = chip_of(a);
    return strcmp(a, b) != 0 && chip_of(b) == length && strncmp(a, b, length) == 0;
}

static void seek_sisters(cm__own_models *m)
{
    const char *id = m->devices[0]->info.id;
    m->sought = true;
    for (int32_t i = 0; cm_device_id(i) && m->count <= SISTERS_MOST; i++) {
        cm_device *sister;
        if (!is_sister(id, cm_device_id(i)) || cm_device_load(cm_device_id(i), &sister, NULL)) continue;
        cm__defer(m->ctx, free_device, sister);
        m->devices[m->count++] = sister;
    }
}

/* ---- which model ------------------------------------------------------------------------------------------------ */

#define NAMES 3

/* Names of models for a call, best first. */
static void names_of(const cm__call *c, const char *names[NAMES])
{
    static const char *const linear[NAMES] = {"linear", "gemm", "bmm"}, *const norm[NAMES] = {"layernorm"},
                            *const batched[NAMES] = {"bmm", "linear", "gemm"}, *const softmax[NAMES] = {"softmax"},
                            *const conv[NAMES] = {"conv2d", "conv2d_full"};
    const char *const *found = c->op == CM__CALL_GEMM ? (c->sizes[0] > 1 ? batched : linear)
                               : c->op == CM__CALL_CONV ? conv
                               : c->op == CM__CALL_SOFTMAX ? softmax
                               : c->op == CM__CALL_LAYER_NORM ? norm
                                                              : NULL;
    const char *const function[NAMES] = {c->op == CM__CALL_ELEMENTWISE ? c->variant : NULL};
    memcpy(names, found ? found : function, sizeof function);
}

/* Products and convolutions take their pass's model or, for want of it, forward's: the work is the same. */
static const cm_fit *fit_for(const cm_device *d, const char *name, const cm__call *c)
{
    static const char *const passes[CM__PASSES] = {[CM__PASS_FORWARD] = "forward", [CM__PASS_BACKWARD] = "backward",
                                                   [CM__PASS_BWD_INPUT] = "backward_input",
                                                   [CM__PASS_BWD_WEIGHT] = "backward_weight", [CM__PASS_UPDATE] = ""};
    const cm_fit *forward = NULL;
    for (int32_t i = 0; i < cm_device_fits(d); i++) {
        const cm_fit *f = cm_device_fit(d, i);
        if (strcmp(f->op, name) || strcmp(f->dtype, c->dtype)) continue;
        if (strcmp(f->pass, passes[c->pass]) == 0) return f;
        if (strcmp(f->pass, "forward") == 0) forward = f;
    }
    return c->op == CM__CALL_CONV ? forward : NULL;
}

static const cm_fit *model_for(cm__own_models *m, const cm__call *c, int32_t *device)
{
    const char *names[NAMES];
    names_of(c, names);
    for (*device = 0; *device < m->count; ++*device) {
        for (int k = 0; k < NAMES && names[k]; k++) {
            const cm_fit *f = fit_for(m->devices[*device], names[k], c);
            if (f) return f;
        }
        if (!m->sought) seek_sisters(m);
    }
    return NULL;
}

/* ---- what it says ----------------------------------------------------------------------------------------------- */

/* A form's parameters, without the launch that its timings held. False: not those of the form. */
static bool read_parameters(const cm_fit *fit, const cm__form *form, double *p)
{
    for (int r = 0, at = 0; r < form->n_rows; at += form->rows[r++].count) {
        const cm_parameter *found = NULL;
        for (int32_t i = 0; i < fit->n_parameters; i++)
            if (strcmp(fit->parameters[i].name, form->rows[r].name) == 0) found = &fit->parameters[i];
        if (!found || found->count != form->rows[r].count || at + found->count > PARAMETERS_MOST) return false;
        memcpy(p + at, found->values, (size_t)found->count * sizeof *p);
        if (strcmp(found->name, "overhead_s") == 0) p[at] = 0;
    }
    return true;
}

static cm__work work_of(const cm__call *c)
{
    double   p[4];
    cm__work w = {.batch = 1};
    cm__call_work(c, &w.flop, &w.bytes);
    if (cm__as_product(c, p)) w.batch = p[0], w.m = p[1], w.n = p[2], w.k = p[3];
    else if (c->op == CM__CALL_ELEMENTWISE) w.m = 1, w.n = (double)c->sizes[0] * (double)c->sizes[1], w.k = 1;
    else w.m = (double)c->sizes[0], w.n = (double)c->sizes[1], w.k = 1;
    return w;
}

double cm__own_models_time(cm__own_models *m, const cm__call *c, double *error)
{
    double  p[PARAMETERS_MOST];
    int32_t at;
    bool    grouped = c->op == CM__CALL_CONV && c->sizes[13] > 1;
    if (strcmp(c->dtype, "fp32") != 0 || grouped) return NAN;
    const cm_fit   *fit = model_for(m, c, &at);
    const cm__form *form = fit ? cm__form_find(fit->form) : NULL;
    if (!form || !read_parameters(fit, form, p)) return NAN;
    cm_engine    engine = cm__call_kinds[c->op].engine;
    cm__ceilings ceilings = {.cores = m->limits.cores,
                             .peak_flop_s = m->limits.peak[engine][cm__rate_there(&m->limits, engine, CM_RATE_FP32)],
                             .bandwidth_bytes_s = m->limits.memory_bytes_s,
                             .cache_bytes = fmax(m->limits.cache_bytes, 1 << 20)};
    cm__work     work = work_of(c);
    *error = fmax(ERROR_LEAST, fit->mape);
    return m->limits.floor_s + form->time(p, &work, &ceilings);
}
