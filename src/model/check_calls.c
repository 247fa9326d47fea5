/* SPDX-License-Identifier: Apache-2.0 */
/* check_calls.c - how a device's calls are timed, by its own tables or a relative's, beside times of others. */
#include <math.h>
#include <string.h>
#include "base/csv.h"
#include "base/file.h"
#include "base/text.h"
#include "model/check.h"
#include "model/step.h"

#define FILE_MAX ((int64_t)1 << 28)
#define LINE_MAX 256

enum { CALL, LATENCY, FIELDS };
static const char *const names[FIELDS] = {"call", "latency_ms"};

static void read_call(cm__csv *in, cm__span text, cm__call *call)
{
    char line[LINE_MAX];
    snprintf(line, sizeof line, "%.*s", (int)text.length, text.text);
    if (text.length >= sizeof line || !cm__call_parse(line, call))
        cm__fail(in->ctx, CM_ERR_FORMAT, "line %d: '%.64s' is no call such as \"gemm forward nt fp32 1,64,64,64\"",
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

static void open_table(cm__ctx *ctx, const char *path, cm__csv *in)
{
    ctx->file = path;
    cm__mapping *file = cm__file_map(ctx, path, FILE_MAX, "split it");
    *in = cm__csv_open(ctx, (const char *)file->bytes, file->size, names, FIELDS);
    if (!in->found[CALL] || !in->found[LATENCY])
        cm__fail(ctx, CM_ERR_FORMAT, "line 1: the columns 'call' and 'latency_ms' are needed");
}

static cm_fitting *check(cm__ctx *ctx, const cm_device *device, const char *path, cm_runtime runtime)
{
    cm__checks all = {.ctx = ctx};
    cm__csv    in;
    cm__span   fields[FIELDS];
    cm__timer *timer = cm__timer_new(ctx, device, cm__relative_of(ctx, device), runtime);
    open_table(ctx, path, &in);
    while (cm__csv_row(&in, fields)) {
        cm__call call;
        read_call(&in, fields[CALL], &call);
        cm__check_add(&all, &call, read_time(&in, fields[LATENCY]), cm__timer_time(timer, &call).time_s);
    }
    ctx->file = NULL;
    if (!all.count) cm__fail(ctx, CM_ERR_FORMAT, "%s: no rows", path);
    cm_fit_class *classes = cm__alloc_array(ctx, (size_t)all.count, sizeof *classes);
    for (int32_t i = 0; i < all.count; i++)
        classes[i] = cm__check_class(&all.items[i], cm__text_copy(ctx, device->info.id), cm_runtime_name(runtime));
    return cm__fitting_of(ctx, classes, all.count);
}

cm_status cm_fitting_check_calls(const cm_device *device, const char *path, cm_runtime runtime, cm_fitting **fitting,
                                 cm_diag *diag)
{
    if (!device || !path || !fitting) return cm__diag_set(diag, CM_ERR_ARGUMENT, "no device, file or result given");
    cm__ctx *ctx = cm__ctx_new(diag);
    if (!ctx) return CM_ERR_MEMORY;
    if (setjmp(ctx->trap)) return cm__ctx_abandon(ctx);
    *fitting = check(ctx, device, path, runtime ? runtime : cm_device_runtime(device));
    ctx->diag = NULL;
    return CM_OK;
}
