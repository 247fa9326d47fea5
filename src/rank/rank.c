/* SPDX-License-Identifier: Apache-2.0 */
/* rank.c - cm_rank(): load devices and steps, predict, compute values, sort. */
#include "rank/rank.h"

#include <string.h>
#include "base/sized.h"
#include "base/text.h"

noreturn void cm__rank_pass_on(cm_ranking *r, cm_status status, const cm_diag *diag)
{
    if (r->ctx->diag) *r->ctx->diag = *diag;
    r->ctx->status = status;
    longjmp(r->ctx->trap, 1);
}

static void evaluate(void *user, int32_t index)
{
    cm_ranking *r = user;
    cm__rank_evaluate(r, &r->devices[index]);
    cm__rank_find_remedy(r, &r->devices[index]);
}

static const cm_rank_entry *find_baseline(cm_ranking *r)
{
    for (int32_t i = 0; r->options.baseline && i < r->n_devices; i++)
        if (cm__same_name(r->devices[i].name, r->options.baseline)) {
            if (!r->devices[i].entry.fits)
                cm__fail(r->ctx, CM_ERR_FIT, "the baseline %s does not fit: %s", r->options.baseline,
                         r->devices[i].reason);
            return &r->devices[i].entry;
        }
    return NULL;
}

/* Porting from one GPU to another costs nothing: PyTorch runs on all of them. */
static void find_porting(cm_ranking *r)
{
    const cm_device_info *base = r->info.baseline ? cm_device_get_info(r->info.baseline->device) : NULL;
    for (int32_t i = 0; base && r->options.port_hours > 0 && i < r->n_devices; i++) {
        const cm_device_info *info = cm_device_get_info(r->devices[i].device);
        bool                  same = strcmp(info->device_class, base->device_class) == 0;
        if (!same) r->devices[i].entry.port_usd = r->options.port_hours * r->options.port_usd_hour;
    }
}

static void run(cm_ranking *r)
{
    const cm_rank_options *o = &r->options;
    r->where = cm__where_parse(r->ctx, o->where);
    r->memo = cm__memo_new(r->ctx);
    if (o->port_hours > 0 && !o->baseline)
        cm__fail(r->ctx, CM_ERR_ARGUMENT, "porting needs --baseline: the device on which the model runs now");
    cm__rank_list_devices(r);
    cm__defer(r->ctx, cm__rank_free_devices, r);
    cm__parallel(o->threads, r->n_devices, cm__rank_load_device, r);
    cm__rank_take_part(r);
    if (!r->options.train.precision) r->options.train.precision = cm_model_precision(r->info.model);
    r->own = cm_model_runtime(r->info.model);
    cm__rank_find_steps(r);
    cm__defer(r->ctx, cm__rank_free_steps, r);
    cm__parallel(o->threads, r->n_steps, cm__rank_load_graph, r);
    cm__rank_share_forward(r);
    cm__rank_check_options(r);
    cm__parallel(o->threads, r->n_steps, cm__rank_make_step, r);
    cm__rank_share_graphs(r);
    cm__parallel(o->threads, r->n_steps, cm__rank_make_footprint, r);
    cm__rank_share_footprints(r);
    cm__parallel(o->threads, r->n_devices, evaluate, r);
    for (int32_t i = 0; i < r->n_devices; i++)
        if (r->devices[i].status) cm__rank_pass_on(r, r->devices[i].status, &r->devices[i].diag);
    r->info.baseline = find_baseline(r);
    find_porting(r);
    cm__rank_read_job(r);
    for (int32_t i = 0; i < r->n_devices; i++) cm__rank_value(r, &r->devices[i]);
    for (int32_t i = 0; i < r->n_devices; i++) {
        if (r->info.baseline) cm__rank_relate(r, &r->devices[i], r->info.baseline);
        cm__rank_settle_state(r, &r->devices[i]);
        r->devices[i].entry.reason = r->devices[i].reason[0] ? r->devices[i].reason : NULL;
    }
    cm__rank_sort(r);
}

cm_status cm_rank(const char *model, const cm_rank_options *options, cm_ranking **ranking, cm_diag *diag)
{
    if (!model || !ranking) return cm__diag_set(diag, CM_ERR_ARGUMENT, "no model given");
    cm__ctx *ctx = cm__ctx_new(diag);
    if (!ctx) return CM_ERR_MEMORY;
    if (setjmp(ctx->trap)) return cm__ctx_abandon(ctx);
    cm_ranking *r = cm__alloc(ctx, sizeof *r);
    r->ctx = ctx;
    cm__take_options(&r->options, sizeof r->options, options);
    if (!cm_objective_applies(r->options.objective, CM_CHOICE_DEVICE))
        cm__fail(ctx, CM_ERR_ARGUMENT, "devices are not ranked by this objective");
    r->info.model = cm__text_copy(ctx, model);
    r->info.objective = r->options.objective;
    run(r);
    ctx->diag = NULL;
    *ranking = r;
    return CM_OK;
}

void cm_ranking_free(cm_ranking *ranking)
{
    if (ranking) cm__ctx_free(ranking->ctx);
}

const cm_ranking_info *cm_ranking_get_info(const cm_ranking *r) { return &r->info; }
int32_t                cm_ranking_entries(const cm_ranking *r) { return r->n_entries; }
int32_t                cm_ranking_placed(const cm_ranking *r) { return r->n_placed; }
const cm_rank_entry   *cm_ranking_entry(const cm_ranking *r, int32_t i)
{
    return i >= 0 && i < r->n_entries ? &r->order[i]->entry : NULL;
}
const cm_graph *cm_ranking_graph(const cm_ranking *r, int32_t i)
{
    return i >= 0 && i < r->n_entries && r->order[i]->step ? r->order[i]->step->step : NULL;
}
