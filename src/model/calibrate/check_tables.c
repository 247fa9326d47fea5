/* SPDX-License-Identifier: Apache-2.0 */
/* check_tables.c - leave-one-out errors of a device's kernel tables: each row is predicted from the others. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "model/calibrate/check.h"
#include "model/time/timer.h"

typedef struct noted {
    cm__checks  all;
    const char *runtime;
} noted;

static cm__checked *check_of(cm__checks *all, const cm__call *c)
{
    char text[CM__CALL_TEXT];
    for (int32_t i = 0; i < all->count; i++)
        if (all->items[i].op == c->op && all->items[i].pass == c->pass && all->items[i].types == c->types)
            return &all->items[i];
    all->items = cm__grow(all->ctx, all->items, all->count, &all->capacity, sizeof *all->items);
    all->items[all->count] = (cm__checked){.op = c->op, .pass = c->pass, .types = c->types,
                                             .dtype = cm__text_copy(all->ctx, cm__types_text(c->types, text))};
    return &all->items[all->count++];
}

void cm__check_add(cm__checks *all, const cm__call *call, double measured_s, double predicted_s)
{
    cm__checked *g = check_of(all, call);
    g->errors = cm__grow(all->ctx, g->errors, g->count, &g->capacity, sizeof *g->errors);
    g->errors[g->count++] = predicted_s / measured_s - 1;
    g->measured_s += measured_s;
    g->off_s += fabs(predicted_s - measured_s);
}

static void note(void *user, const cm__kernel_table *table, const cm__call *call, double measured, double predicted)
{
    noted *n = user;
    if (strcmp(table->runtime, n->runtime)) return; /* a table that several runtimes share is reported once */
    cm__check_add(&n->all, call, measured, predicted);
}

static int by_size(const void *a, const void *b)
{
    double x = fabs(*(const double *)a), y = fabs(*(const double *)b);
    return (x > y) - (x < y);
}

cm_fit_class cm__check_class(const cm__checked *g, const char *device, const char *runtime)
{
    cm_fit_class c = {.device = device,
                      .runtime = runtime,
                      .op = cm__call_kinds[g->op].name,
                      .pass = cm__pass_names[g->pass],
                      .dtype = g->dtype,
                      .n = g->count,
                      .measured_s = g->measured_s,
                      .off_s = g->off_s};
    qsort(g->errors, (size_t)g->count, sizeof *g->errors, by_size);
    for (int32_t i = 0; i < g->count; i++) {
        c.mape += fabs(g->errors[i]) / g->count;
        c.bias += g->errors[i] / g->count;
    }
    c.p90 = fabs(g->errors[(int32_t)(0.9 * (g->count - 1))]);
    return c;
}

static cm_fitting *check(cm__ctx *ctx, const cm_device *device)
{
    cm_fit_class *classes = NULL;
    int32_t       count = 0, capacity = 0;
    for (cm_runtime r = CM_RUNTIME_TORCH_EAGER; r < CM_RUNTIMES; r++) {
        if (cm_runtime_base(r) != r) continue; /* a mode has the tables of its runtime */
        noted n = {.all = {.ctx = ctx}, .runtime = cm_runtime_name(r)};
        cm__timer_cross_validate(cm__timer_new(ctx, device, NULL, r, NULL), note, &n);
        for (int32_t i = 0; i < n.all.count; i++) {
            classes = cm__grow(ctx, classes, count, &capacity, sizeof *classes);
            const char *id = cm__text_copy(ctx, cm_device_get_info(device)->id);
            classes[count++] = cm__check_class(&n.all.items[i], id, cm_runtime_name(r));
        }
    }
    if (!count)
        cm__fail(ctx, CM_ERR_ARGUMENT,
                 "'%s' has no kernel tables to check; give a file of timings to check its operator models",
                 cm_device_get_info(device)->id);
    return cm__fitting_of(ctx, classes, count);
}

cm_status cm_fitting_check_tables(const cm_device *device, cm_fitting **fitting, cm_diag *diag)
{
    if (!device || !fitting) return cm__diag_set(diag, CM_ERR_ARGUMENT, "no device or result given");
    cm__ctx *ctx = cm__ctx_new(diag);
    if (!ctx) return CM_ERR_MEMORY;
    if (setjmp(ctx->trap)) return cm__ctx_abandon(ctx);
    *fitting = check(ctx, device);
    ctx->diag = NULL;
    return CM_OK;
}
