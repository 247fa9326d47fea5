/* SPDX-License-Identifier: Apache-2.0 */
/* detail.c - collect everything that the HTML pages show about one device. */
#include <math.h>
#include <string.h>
#include "report/viewers/viewers.h"

#define BATCH_MOST 4096

static void free_explain(void *report) { cm__explain_report_free(report); }
static void free_fabric(void *fabric) { cm_fabric_free(fabric); }

static void find_curve(cm__detail *d)
{
    cm_step       *step = d->explain->sides[0]->step;
    const cm_plan *plan = &d->explain->sides[0]->asked.options.plan;
    if (plan->micro_batch || plan->global_batch) return; /* the plan has the batch sizes */
    for (int64_t b = 1; b <= BATCH_MOST && d->n_curve < CM__BATCH_POINTS; b *= 2) {
        cm_memory_use      use;
        cm_prediction_info i;
        if (cm_step_memory(step, b, &use, NULL) != CM_OK || cm_step_time(step, b, &i, NULL) != CM_OK) break;
        cm__batch_point *point = &d->curve[d->n_curve++];
        *point = (cm__batch_point){.batch = b, .throughput_samples_s = i.throughput_samples_s,
                                   .chance = cm_memory_chance(&use), .peak_bytes = use.peak_bytes};
        for (int k = 0; k < 2; k++) point->interval[k] = (double)b / i.interval_s[1 - k];
        if (!use.fits) break;
    }
}

/* Double the number of data-parallel replicas until the interconnect is unknown. */
static void find_scaling(cm__detail *d)
{
    const cm__predict_report *p = d->explain->sides[0];
    int64_t                   batch = cm_prediction_get_info(p->prediction)->batch;
    cm_fabric                *fabric;
    cm_diag                   diag;
    if (cm_fabric_new(p->device, NULL, &fabric, &diag) != CM_OK) return;
    cm__defer(d->ctx, free_fabric, fabric);
    for (int32_t n = 1; d->n_scaling < CM__SCALE_POINTS; n *= 2) {
        const cm__scale_point *first = d->n_scaling ? d->scaling : NULL;
        if (cm__scale_point_at(p->asked.graph.model, p->step, p->device, fabric, batch, n, false, first,
                               &d->scaling[d->n_scaling], &diag)) {
            d->scaling_ends = cm__text_copy(d->ctx, diag.reason);
            return;
        }
        d->n_scaling++;
    }
}

/* ---- sources ---------------------------------------------------------------------------------------------------- */

static void add_source(cm__detail *d, const cm_device *device, const char *key)
{
    const cm_source *s = key ? cm_device_source(device, key) : NULL;
    for (int32_t i = 0; s && i < d->n_sources; i++)
        if (d->sources[i] == s) return;
    if (s && d->n_sources < (int32_t)(sizeof d->sources / sizeof *d->sources)) d->sources[d->n_sources++] = s;
}

static void find_sources(cm__detail *d)
{
    const cm_device *device = d->explain->sides[0]->device;
    add_source(d, device, cm_device_peak_16bit(device).source);
    for (int32_t i = 0; i < cm_device_memories(device); i++) {
        add_source(d, device, cm_device_memory(device, i)->capacity_bytes.source);
        add_source(d, device, cm_device_memory(device, i)->bw_bytes_s.source);
    }
    for (int32_t i = 0; i < cm_device_links(device); i++)
        add_source(d, device, cm_device_link(device, i)->bw_bytes_s.source);
    add_source(d, device, cm_device_number(device, CM_TDP_W).source);
    for (int32_t i = 0; i < cm_device_fits(device); i++) add_source(d, device, cm_device_fit(device, i)->source);
}

cm_status cm__detail_new(const cm__predict_request *asked, cm__detail **detail, cm_diag *diag)
{
    cm__ctx *ctx = cm__ctx_new(diag);
    if (!ctx) return CM_ERR_MEMORY;
    if (setjmp(ctx->trap)) return cm__ctx_abandon(ctx);
    cm__detail *d = cm__alloc(ctx, sizeof *d);
    d->ctx = ctx;
    cm__pass_on(ctx, cm__explain_report_new(asked, NULL, &d->explain, diag));
    cm__defer(ctx, free_explain, d->explain);
    d->use = d->explain->sides[0]->use;
    find_curve(d);
    find_scaling(d);
    cm__lanes_of(ctx, d->explain->sides[0], &d->lanes);
    find_sources(d);
    ctx->diag = NULL;
    *detail = d;
    return CM_OK;
}

void cm__detail_free(cm__detail *detail)
{
    if (detail) cm__ctx_free(detail->ctx);
}
