/* SPDX-License-Identifier: Apache-2.0 */
/*
 * step_calls.c - list the kernel calls of steps, with the time and error of each on a device.
 *
 * step_calls reads lines of tab-separated fields: model, device, batch size, precision, layout, optimizer (auto: the
 * usual one), mode (training or inference) and software (newest, or torch=1.12). For each line it prints
 *
 *     step	MODEL	DEVICE	BATCH	HOST_S	GAP_S
 *
 * and one line per distinct call: number of runs, seconds, relative error, how it was estimated, kernels, FLOP, bytes,
 * the call, the kind of its correction, and the device's factor for that kind. tools/census.py builds and runs it.
 */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "centimani.h"
#include "model/step/step.h"
#include "model/time/corrections.h"

enum { MODEL, DEVICE, BATCH, PRECISION, LAYOUT, OPTIMIZER, MODE, SOFTWARE, FIELDS };

static const char *const kinds[CM__CORRECTIONS + 1] = {
#define CORRECTION(id, name) name,
#include "device/corrections.def"
#undef CORRECTION
    "none",
};

static bool split(char *line, char *fields[FIELDS])
{
    int count = 0;
    line[strcspn(line, "\n")] = '\0';
    for (char *at = strtok(line, "\t"); at && count < FIELDS; at = strtok(NULL, "\t")) fields[count++] = at;
    return count == FIELDS;
}

static cm_status options_of(char *const f[FIELDS], cm_step_options *o, cm_diag *diag)
{
    cm_status status = cm_precision_parse(f[PRECISION], &o->train.precision, diag);
    if (!status) status = cm_layout_parse(f[LAYOUT], &o->layout, diag);
    if (!status && strcmp(f[OPTIMIZER], "auto")) status = cm_optimizer_parse(f[OPTIMIZER], &o->train.optimizer, diag);
    if (!status && strcmp(f[SOFTWARE], "newest")) status = cm_software_parse(f[SOFTWARE], &o->train.software, diag);
    o->train.inference = strcmp(f[MODE], "inference") == 0;
    return status;
}

static void print_calls(const cm__step_model *m, double batch, const cm__timed *timed)
{
    for (int32_t i = 0; i < m->calls->n_calls; i++) {
        cm__call call;
        char     text[256];
        double   flop, bytes;
        bool     known;
        cm__call_at(&m->calls->calls[i], batch, &call);
        cm__call_work(&call, &flop, &bytes);
        cm__correction kind = cm__correction_of_work(&call, flop, bytes);
        printf("%d\t%.6g\t%.4g\t%d\t%g\t%.6g\t%.6g\t%s\t%s\t%g\n", m->calls->runs[i], timed[i].time_s, timed[i].error,
               (int)timed[i].how, timed[i].launches, flop, bytes, cm__call_text(&call, text, sizeof text),
               kinds[kind], cm__correction_factor(m->device, kind, &call, &known));
    }
}

static cm_status list(const cm_step *step, const cm_device *device, char *const f[FIELDS], cm_diag *diag)
{
    const cm_step_options *o = cm_step_get_options(step);
    cm_predict_options     p = {.batch = atoll(f[BATCH]), .runtime = o->runtime, .layout = o->layout};
    cm__ctx               *ctx = cm__ctx_new(diag);
    if (!ctx) return CM_ERR_MEMORY;
    if (setjmp(ctx->trap)) return cm__ctx_abandon(ctx);
    cm__step_model m = cm__step_model_new(ctx, cm_step_graph(step), device, &p, NULL);
    cm__timed     *timed = cm__alloc_array(ctx, (size_t)m.calls->n_calls + 1, sizeof *timed);
    cm__step_time(&m, (double)p.batch, timed);
    printf("step\t%s\t%s\t%s\t%.6g\t%.6g\n", f[MODEL], f[DEVICE], f[BATCH], m.host_s, m.gap_s);
    print_calls(&m, (double)p.batch, timed);
    cm__ctx_free(ctx);
    return CM_OK;
}

/* A list has one release for all its networks; those without attention refuse it. */
static cm_status step_of(char *const f[FIELDS], const cm_device *device, cm_step_options o, cm_step **step, cm_diag *diag)
{
    cm_status status = cm_step_new(f[MODEL], device, &o, step, diag);
    if (!status || !o.train.software.given) return status;
    o.train.software = (cm_software){0};
    return cm_step_new(f[MODEL], device, &o, step, diag);
}

static cm_status answer(char *const f[FIELDS], cm_diag *diag)
{
    cm_device      *device = NULL;
    cm_step        *step = NULL;
    cm_step_options o = {.steps_per_call = 0};
    cm_status       status = options_of(f, &o, diag);
    if (!status) status = cm_device_load(f[DEVICE], &device, diag);
    if (!status) status = step_of(f, device, o, &step, diag);
    if (!status) status = list(step, device, f, diag);
    cm_step_free(step);
    cm_device_free(device);
    return status;
}

int main(void)
{
    char line[4096], *fields[FIELDS];
    int  failed = 0;
    while (fgets(line, sizeof line, stdin)) {
        cm_diag diag = {0};
        if (!split(line, fields)) return fprintf(stderr, "step_calls: a line needs %d fields\n", FIELDS), 2;
        if (!answer(fields, &diag)) continue;
        printf("failed\t%s\t%s\n", fields[MODEL], diag.reason);
        failed++;
    }
    return failed > 0;
}
