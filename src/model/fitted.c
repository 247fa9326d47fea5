/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fitted.c - calls timed by fitted operator models.
 *
 * A model is of one device, library, pass and type, but reads the ceilings it is given: where a device has none of its
 * own, that of a sibling (a built-in device of the same base) is read with this device's ceilings. Of several the one
 * fitted to most rows is taken. Products of 16-bit types are timed alike; a softmax fused with its scale and mask, and
 * an update fused over all parameters, are streams, as sums are. What models of streams have as their overhead is a
 * call from the host; a queued kernel costs the device its launch.
 */
#include "model/fitted.h"

#include <math.h>
#include <string.h>
#include "device/forms.h"

#define PARAMETERS_MAX 48
/* Products for a weight's gradient, over a transposed left operand, beside others of their shape: geometric mean of 55
   shapes in bf16 on an A100 PCIe (SimuMax, fwd and bwd_grad_w efficiencies). */
#define TURNED_FACTOR 1.056

typedef struct model {
    const char     *op, *dtype;
    const cm__form *form;
    double          parameters[PARAMETERS_MAX], error;
    int32_t         rows; /* it was fitted to */
    bool            own;
} model;

struct cm__fits {
    cm__limits limits;
    model     *models;
    int32_t    count, capacity;
};

static void free_device(void *device) { cm_device_free(device); }

static bool read_parameters(const cm_fit *fit, const cm__form *form, double *p)
{
    int at = 0;
    for (int r = 0; r < form->n_rows; at += form->rows[r++].count) {
        const cm_parameter *found = NULL;
        for (int32_t i = 0; i < fit->n_parameters; i++)
            if (strcmp(fit->parameters[i].name, form->rows[r].name) == 0) found = &fit->parameters[i];
        if (!found || found->count != form->rows[r].count || at + found->count > PARAMETERS_MAX) return false;
        memcpy(p + at, found->values, (size_t)found->count * sizeof *p);
    }
    return true;
}

static void take(cm__ctx *ctx, cm__fits *f, const cm_device *device, bool own)
{
    for (int32_t i = 0; i < cm_device_fits(device); i++) {
        const cm_fit *fit = cm_device_fit(device, i);
        model         m = {.op = fit->op, .dtype = fit->dtype, .form = cm__form_find(fit->form), .error = fit->mape,
                           .rows = fit->n, .own = own};
        if (!m.form || strcmp(fit->pass, "forward") || !read_parameters(fit, m.form, m.parameters)) continue;
        f->models = cm__grow(ctx, f->models, f->count, &f->capacity, sizeof *f->models);
        f->models[f->count++] = m;
    }
}

static bool same_base(const cm_device *a, const cm_device *b)
{
    const char *x = cm_device_get_info(a)->base, *y = cm_device_get_info(b)->base;
    return x && y && strcmp(x, y) == 0;
}

cm__fits *cm__fits_new(cm__ctx *ctx, const cm_device *device)
{
    cm__fits *f = cm__alloc(ctx, sizeof *f);
    f->limits = cm__limits_of(device);
    take(ctx, f, device, true);
    for (int32_t i = 0; i < cm_devices(); i++) {
        cm_device *other, *brief;
        if (strcmp(cm_device_id(i), cm_device_get_info(device)->id) == 0) continue;
        if (cm_device_load_brief(cm_device_id(i), &brief, NULL)) continue;
        bool sibling = same_base(device, brief);
        cm_device_free(brief);
        if (!sibling || cm_device_load(cm_device_id(i), &other, NULL)) continue;
        cm__defer(ctx, free_device, other);
        take(ctx, f, other, false);
    }
    return f;
}

/* ---- choosing --------------------------------------------------------------------------------------------------- */

static bool better(const model *a, const model *b)
{
    if (a->own != b->own) return a->own;
    return a->rows != b->rows ? a->rows > b->rows : a->error < b->error;
}

/* Own models before siblings', those of more rows, then of the least error. dtype NULL: of any. */
static const model *find(const cm__fits *f, const char *op, const char *dtype)
{
    const model *best = NULL;
    for (int32_t i = 0; i < f->count; i++) {
        const model *m = &f->models[i];
        if (strcmp(m->op, op) || (dtype && strcmp(m->dtype, dtype))) continue;
        if (!best || better(m, best)) best = m;
    }
    return best;
}

static const model *product_model(const cm__fits *f, const char *dtype)
{
    const model *m = find(f, "gemm", dtype);
    if (!m && strcmp(dtype, "fp16") == 0) m = find(f, "gemm", "bf16");
    if (!m && strcmp(dtype, "bf16") == 0) m = find(f, "gemm", "fp16");
    return m ? m : strcmp(dtype, "fp32") == 0 ? find(f, "linear", dtype) : NULL;
}

static cm__ceilings ceilings_of(const cm__limits *l, const cm__call *c)
{
    double peak = l->peak[cm__call_kinds[c->op].engine][cm__call_rate(c)];
    return (cm__ceilings){.cores = l->cores, .peak_flop_s = peak, .bandwidth_bytes_s = l->memory_bytes_s,
                          .cache_bytes = l->cache_bytes};
}

bool cm__fits_time(const cm__fits *f, const cm__call *c, double *time_s, double *error)
{
    bool         product = c->op == CM__CALL_GEMM;
    /* With scale and mask, or over all states of all parameters: one pass over the data. */
    bool         fused = (c->op == CM__CALL_SOFTMAX && c->variant[0]) || c->op == CM__CALL_OPTIMIZER;
    const model *m = product ? product_model(f, c->dtype) : fused ? find(f, "add", NULL) : NULL;
    cm__ceilings ceilings = ceilings_of(&f->limits, c);
    cm__work     w = {0};
    if (!m || ceilings.peak_flop_s <= 0 || ceilings.bandwidth_bytes_s <= 0) return false;
    cm__call_work(c, &w.flop, &w.bytes);
    if (w.bytes <= 0) return false;
    if (product) {
        w.batch = (double)c->sizes[0], w.m = (double)c->sizes[1], w.n = (double)c->sizes[2], w.k = (double)c->sizes[3];
        if (w.batch < 1 || w.m < 1 || w.n < 1 || w.k < 1) return false;
    } else w.m = 0; /* bytes alone: what a type's width saves, its kernels gain */
    *time_s = m->form->time(m->parameters, &w, &ceilings);
    if (!product) *time_s += f->limits.floor_s - m->parameters[0];
    if (product && strcmp(c->variant, "tn") == 0) *time_s *= TURNED_FACTOR;
    *error = m->error;
    return isfinite(*time_s) && *time_s > 0;
}
