/* SPDX-License-Identifier: Apache-2.0 */
/* check_calls.c - compare predicted with externally measured times of kernel calls. */
#include <math.h>
#include <string.h>
#include "base/csv.h"
#include "base/file.h"
#include "base/text.h"
#include "model/calibrate/check.h"
#include "model/step/step.h"

#define FILE_MAX ((int64_t)1 << 28)
#define LINE_MAX 256

enum { CALL, LATENCY, FIELDS };
static const char *const names[FIELDS] = {"call", "latency_ms"};

static void read_call(cm__csv *in, cm__span text, cm__call *call)
{
    char line[LINE_MAX];
    snprintf(line, sizeof line, "%.*s", (int)text.length, text.text);
    if (text.length >= sizeof line || !cm__call_parse(line, call))
        cm__fail(in->ctx, CM_ERR_FORMAT, "line %d: '%.64s' is not a call such as \"gemm forward nt fp32 1,64,64,64\"",
                 in->line, line);
}

static double read_time(cm__csv *in, cm__span text)
{
    double ms;
    if (!cm__parse_real(text, &ms) || !(ms > 0) || !isfinite(ms))
        cm__fail(in->ctx, CM_ERR_FORMAT, "line %d: latency_ms is '%.*s', not a time", in->line,
                 (int)(text.length < 32 ? text.length : 32), text.text);
    return ms * 1e-3;
}

void cm__timed_calls_read(cm__ctx *ctx, const char *text, size_t size,
                          void (*take)(void *user, const cm__call *call, double time_s), void *user)
{
    cm__csv  in = cm__csv_open(ctx, text, size, names, FIELDS);
    cm__span fields[FIELDS];
    int32_t  rows = 0;
    if (!in.found[CALL] || !in.found[LATENCY])
        cm__fail(ctx, CM_ERR_FORMAT, "line 1: the columns 'call' and 'latency_ms' are needed");
    for (; cm__csv_row(&in, fields); rows++) {
        cm__call call;
        read_call(&in, fields[CALL], &call);
        take(user, &call, read_time(&in, fields[LATENCY]));
    }
    if (!rows) cm__fail(ctx, CM_ERR_FORMAT, "no rows after the header line");
}

typedef struct checking {
    cm__checks all;
    cm__timer *timer;
} checking;

static void check_one(void *user, const cm__call *call, double time_s)
{
    checking *c = user;
    cm__check_add(&c->all, call, time_s, cm__timer_time(c->timer, call).time_s);
}

static cm_fitting *check(cm__ctx *ctx, const cm_device *device, const char *path, cm_runtime runtime)
{
    checking c = {.all = {.ctx = ctx},
                  .timer = cm__timer_new(ctx, device, cm__reference_of(ctx, device), runtime, NULL)};
    ctx->file = path;
    cm__mapping *file = cm__file_map(ctx, path, FILE_MAX, "split it");
    cm__timed_calls_read(ctx, (const char *)file->bytes, file->size, check_one, &c);
    ctx->file = NULL;
    cm_fit_class *classes = cm__alloc_array(ctx, (size_t)c.all.count, sizeof *classes);
    for (int32_t i = 0; i < c.all.count; i++)
        classes[i] = cm__check_class(&c.all.items[i], cm__text_copy(ctx, device->info.id), cm_runtime_name(runtime));
    return cm__fitting_of(ctx, classes, c.all.count);
}

cm_status cm_fitting_check_calls(const cm_device *device, const char *path, cm_runtime runtime, cm_fitting **fitting,
                                 cm_diag *diag)
{
    if (!device || !path || !fitting) return cm__diag_set(diag, CM_ERR_ARGUMENT, "no device, file or result given");
    cm__ctx *ctx = cm__ctx_new(diag);
    if (!ctx) return CM_ERR_MEMORY;
    if (setjmp(ctx->trap)) return cm__ctx_abandon(ctx);
    *fitting = check(ctx, device, path, cm__runtime_on(device, runtime));
    ctx->diag = NULL;
    return CM_OK;
}
