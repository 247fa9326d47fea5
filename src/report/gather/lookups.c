/* SPDX-License-Identifier: Apache-2.0 */
/* lookups.c - collect the random look-ups per second of one device, or of all. */
#include <stdlib.h>
#include <string.h>
#include "report/render.h"

const char *cm__lookup_bound_name(cm_lookup_bound bound)
{
    static const char *const names[CM_LOOKUP_BOUNDS] = {"bandwidth", "latency", "instructions"};
    return names[bound];
}

static void free_device(void *device) { cm_device_free(*(cm_device **)device); }

/* A device that cannot do it gets a reason; wrong options end the report. */
static void add_device(cm__lookups_report *r, const char *name)
{
    cm_device **device = cm__alloc(r->ctx, sizeof *device);
    cm_diag     diag = {0};
    cm__defer(r->ctx, free_device, device);
    cm_status        status = cm_device_load(name, device, &diag);
    cm__lookups_row *row = &r->rows[r->n_rows];
    if (!status) status = cm_device_lookups(*device, &r->asked.options, &row->rate, &diag);
    if (status && status != CM_ERR_UNSUPPORTED && status != CM_ERR_FIT) cm__fail(r->ctx, status, "%s", diag.reason);
    row->id = cm__text_copy(r->ctx, cm_device_get_info(*device)->id);
    if (status) row->reason = cm__text_copy(r->ctx, diag.reason);
    r->n_rows++;
    r->n_rated += !status;
}

static int fastest_first(const void *left, const void *right)
{
    const cm__lookups_row *a = left, *b = right;
    if (!a->reason != !b->reason) return a->reason ? 1 : -1;
    if (!a->reason && a->rate.lookups_s != b->rate.lookups_s) return a->rate.lookups_s < b->rate.lookups_s ? 1 : -1;
    return strcmp(a->id, b->id);
}

cm_status cm__lookups_report_new(const cm__lookups_request *asked, cm__lookups_report **report, cm_diag *diag)
{
    cm__ctx *ctx = cm__ctx_new(diag);
    if (!ctx) return CM_ERR_MEMORY;
    if (setjmp(ctx->trap)) return cm__ctx_abandon(ctx);
    cm__lookups_report *r = cm__alloc(ctx, sizeof *r);
    int32_t             count = asked->device ? 1 : cm_devices();
    r->ctx = ctx;
    r->asked = *asked;
    r->rows = cm__alloc_array(ctx, (size_t)count, sizeof *r->rows);
    for (int32_t i = 0; i < count; i++) add_device(r, asked->device ? asked->device : cm_device_id(i));
    qsort(r->rows, (size_t)count, sizeof *r->rows, fastest_first);
    ctx->diag = NULL;
    *report = r;
    return CM_OK;
}

void cm__lookups_report_free(cm__lookups_report *report)
{
    if (report) cm__ctx_free(report->ctx);
}
