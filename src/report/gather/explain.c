/* SPDX-License-Identifier: Apache-2.0 */
/*
 * explain.c - compare the operators of a step with the roofline, and with the same operators on another device.
 *
 * Operators of the two devices are matched by name, phase and type: the gradients of a convolution's input and weights
 * have its name, and are different operators. Times of the second device are scaled to the number of samples in the
 * first device's step. An operator that one runtime fuses into another has no time on that device.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "report/render.h"

static void free_predict(void *report) { cm__predict_report_free(report); }

/* ---- matching of operators -------------------------------------------------------------------------------------- */

static int by_name(const void *left, const void *right)
{
    const cm__explain_op *a = left, *b = right;
    int                   order = strcmp(a->name, b->name);
    if (!order) order = (a->phase > b->phase) - (a->phase < b->phase);
    return order ? order : strcmp(a->type, b->type);
}

static int by_weight(const void *left, const void *right)
{
    const cm__explain_op *a = left, *b = right;
    double x = fabs(a->weight), y = fabs(b->weight);
    return x != y ? (x < y) - (x > y) : by_name(left, right);
}

static void gather(cm__explain_report *r, int side, double samples)
{
    const cm__predict_report *p = r->sides[side];
    double                    scale = samples / (double)cm_prediction_get_info(p->prediction)->batch;
    for (int32_t i = 0; i < cm_prediction_ops(p->prediction); i++) {
        const cm_op_time *t = cm_prediction_op(p->prediction, i);
        const cm_node    *n = cm_graph_node(p->graph->step, t->node);
        r->ops = cm__grow(r->ctx, r->ops, r->n_ops, &r->cap_ops, sizeof *r->ops);
        cm__explain_op *op = &r->ops[r->n_ops++];
        *op = (cm__explain_op){.name = cm_node_name(n), .type = cm_node_type(n), .phase = cm_node_phase(n),
                               .op_class = cm_node_class(n), .first = t->node};
        op->on[side] = (cm__explain_side){.time_s = t->time_s * scale, .flop = t->flop * scale,
                                          .bytes = t->bytes * scale, .how = t->how};
    }
}

static void add_side(cm__explain_side *to, const cm__explain_side *more)
{
    if (more->time_s > to->time_s) to->how = more->how;
    to->time_s += more->time_s;
    to->flop += more->flop;
    to->bytes += more->bytes;
}

static void join_equal(cm__explain_report *r)
{
    int32_t kept = 0;
    if (r->n_ops) qsort(r->ops, (size_t)r->n_ops, sizeof *r->ops, by_name);
    for (int32_t i = 1; i < r->n_ops; i++) {
        if (by_name(&r->ops[kept], &r->ops[i]) != 0) r->ops[++kept] = r->ops[i];
        else {
            for (int side = 0; side < 2; side++) add_side(&r->ops[kept].on[side], &r->ops[i].on[side]);
            if (r->ops[i].first < r->ops[kept].first) r->ops[kept].first = r->ops[i].first;
        }
    }
    r->n_ops = r->n_ops ? kept + 1 : 0;
}

/* ---- the roofline ----------------------------------------------------------------------------------------------- */

static const cm_rate rate_of[CM_PRECISIONS] = {
    [CM_PRECISION_DEFAULT] = CM_RATE_BF16,  [CM_PRECISION_FP32] = CM_RATE_FP32, [CM_PRECISION_TF32] = CM_RATE_TF32,
    [CM_PRECISION_AMP_BF16] = CM_RATE_BF16, [CM_PRECISION_AMP_FP16] = CM_RATE_FP16, [CM_PRECISION_BF16] = CM_RATE_BF16,
    [CM_PRECISION_FP16] = CM_RATE_FP16,     [CM_PRECISION_FP8] = CM_RATE_FP8,
};

/* A cache-aware roofline: every memory of the device with a known bandwidth has a roof. */
static void add_levels(const cm_device *device, cm__roof *roof)
{
    for (int32_t i = 0; i < cm_device_memories(device) && roof->n_levels < CM__ROOF_LEVELS; i++) {
        const cm_memory *m = cm_device_memory(device, i);
        if (!m->bw_bytes_s.known || m->place == CM_PLACE_HOST) continue;
        roof->levels[roof->n_levels++] = (cm__roof_level){
            .name = m->name,
            .capacity_bytes = m->capacity_bytes.known ? m->capacity_bytes.value : NAN,
            .bw_bytes_s = m->bw_bytes_s.value,
            .ridge_flop_byte = roof->peak_flop_s / m->bw_bytes_s.value};
    }
}

static cm__roof roof_of(const cm_device *device, cm_precision precision)
{
    cm_number        peak = cm_device_peak(device, CM_ENGINE_MATRIX, rate_of[precision]);
    const cm_memory *memory = cm_device_main_memory(device);
    if (!peak.known) peak = cm_device_peak(device, CM_ENGINE_VECTOR, rate_of[precision]);
    if (!peak.known) peak = cm_device_peak_16bit(device);
    cm__roof roof = {.peak_flop_s = peak.known ? peak.value : NAN,
                     .bw_bytes_s = memory && memory->bw_bytes_s.known ? memory->bw_bytes_s.value : NAN,
                     .memory = memory ? memory->name : NULL};
    add_levels(device, &roof);
    return roof;
}

/* The nearest memory that has room for all bytes that an operator reads and writes, and the rate under its roof. */
static void place_on_level(cm__explain_side *s, const cm__roof *roof)
{
    int32_t at = 0;
    while (at + 1 < roof->n_levels && s->bytes > roof->levels[at].capacity_bytes) at++;
    s->level = roof->n_levels ? at : -1;
    s->attainable_flop_s = s->level < 0 || !(s->bytes > 0) ? NAN
                           : fmin(roof->peak_flop_s, s->flop / s->bytes * roof->levels[at].bw_bytes_s);
}

/* An operator is memory-bound if its traffic takes longer at its ceiling than its arithmetic. */
static void place_on_roof(cm__explain_side *s, const cm__roof *roof)
{
    double compute = s->flop / roof->peak_flop_s, traffic = s->bytes / roof->bw_bytes_s;
    s->intensity = s->bytes > 0 ? s->flop / s->bytes : NAN;
    s->memory_bound = !(compute > traffic);
    s->of_ceiling = s->time_s > 0 ? fmax(compute, traffic) / s->time_s : NAN;
}

static void place_all(cm__explain_report *r)
{
    for (int side = 0; side < 2 && r->sides[side]; side++) {
        r->roofs[side] = roof_of(r->sides[side]->device, cm_graph_precision(r->sides[side]->graph->step));
        for (int32_t i = 0; i < r->n_ops; i++) {
            cm__explain_side *s = &r->ops[i].on[side];
            place_on_roof(s, &r->roofs[side]);
            place_on_level(s, &r->roofs[side]);
            if (s->memory_bound) r->memory_s[side] += s->time_s;
            else r->compute_s[side] += s->time_s;
        }
    }
    for (int32_t i = 0; i < r->n_ops; i++) {
        cm__explain_op *op = &r->ops[i];
        op->weight = r->sides[1] ? op->on[1].time_s - op->on[0].time_s : op->on[0].time_s;
    }
    if (r->n_ops) qsort(r->ops, (size_t)r->n_ops, sizeof *r->ops, by_weight);
}

/* ---- operator types --------------------------------------------------------------------------------------------- */

static int by_time(const void *left, const void *right)
{
    const cm__explain_kind *a = left, *b = right;
    double                  x = fmax(a->time_s[0], a->time_s[1]), y = fmax(b->time_s[0], b->time_s[1]);
    if (x != y) return (x < y) - (x > y);
    int order = strcmp(a->type, b->type);
    return order ? order : (int)a->phase - (int)b->phase;
}

static cm__explain_kind *kind_of(cm__explain_report *r, const cm__explain_op *op)
{
    for (int32_t k = 0; k < r->n_kinds; k++)
        if (strcmp(r->kinds[k].type, op->type) == 0 && r->kinds[k].phase == op->phase) return &r->kinds[k];
    r->kinds = cm__grow(r->ctx, r->kinds, r->n_kinds, &r->cap_kinds, sizeof *r->kinds);
    r->kinds[r->n_kinds] = (cm__explain_kind){.type = op->type, .phase = op->phase, .first = op->first};
    return &r->kinds[r->n_kinds++];
}

static void sum_kinds(cm__explain_report *r)
{
    for (int32_t i = 0; i < r->n_ops; i++) {
        cm__explain_kind *k = kind_of(r, &r->ops[i]);
        if (r->ops[i].first < k->first) k->first = r->ops[i].first;
        for (int side = 0; side < 2; side++) {
            const cm__explain_side *s = &r->ops[i].on[side];
            k->time_s[side] += s->time_s;
            if (s->time_s > 0) k->best_s[side] += s->of_ceiling * s->time_s;
        }
    }
    if (r->n_kinds) qsort(r->kinds, (size_t)r->n_kinds, sizeof *r->kinds, by_time);
}

/* The bottleneck that `predict` names, and the device time in memory-bound and compute-bound operators. */
static const char *bottleneck(const cm__explain_report *r)
{
    double all = r->memory_s[0] + r->compute_s[0], share = all > 0 ? 100 * r->memory_s[0] / all : 0;
    return cm__format(r->ctx,
                      "%s; operators bound by memory traffic take %.0f %% of the device's time, by arithmetic %.0f %%",
                      cm__bottleneck(r->ctx, r->sides[0]), share, all > 0 ? 100 - share : 0);
}

cm_status cm__explain_report_new(const cm__predict_request *asked, const char *versus, cm__explain_report **report,
                                 cm_diag *diag)
{
    cm__ctx *ctx = cm__ctx_new(diag);
    if (!ctx) return CM_ERR_MEMORY;
    if (setjmp(ctx->trap)) return cm__ctx_abandon(ctx);
    cm__explain_report *r = cm__alloc(ctx, sizeof *r);
    r->ctx = ctx;
    r->versus = versus;
    cm__predict_request request = *asked;
    for (int side = 0; side < (versus ? 2 : 1); side++) {
        if (side) request.device = versus;
        cm__pass_on(ctx, cm__predict_report_new(&request, &r->sides[side], diag));
        cm__defer(ctx, free_predict, r->sides[side]);
    }
    r->samples = (double)cm_prediction_get_info(r->sides[0]->prediction)->batch;
    for (int side = 0; side < 2 && r->sides[side]; side++) gather(r, side, r->samples);
    join_equal(r);
    place_all(r);
    sum_kinds(r);
    r->bottleneck = bottleneck(r);
    ctx->diag = NULL;
    *report = r;
    return CM_OK;
}

void cm__explain_report_free(cm__explain_report *report)
{
    if (report) cm__ctx_free(report->ctx);
}
