/* SPDX-License-Identifier: Apache-2.0 */
/*
 * generation.c - text generation: one pass over the prompt, then one step per new token with the stored keys and values
 * of all tokens before it. The time of a step grows linearly with them, so the first and the last step give the sum.
 */
#include <math.h>
#include "report/report.h"

static void free_step(void *step) { cm_step_free(step); }
static void free_prediction(void *prediction) { cm_prediction_free(prediction); }

typedef struct decoded {
    double step_s, peak_bytes;
} decoded;

static decoded decode(cm__predict_report *r, int64_t past)
{
    cm__graph_request graph = r->asked.graph;
    cm_step          *step;
    cm_prediction    *prediction;
    cm_memory_use     use;
    graph.load.seq = 1;
    graph.load.past = past;
    cm_step_options o = cm__step_options_of(&graph, &r->asked.options, r->fabric);
    cm__pass_on(r->ctx, cm_step_new(graph.model, r->device, &o, &step, r->ctx->diag));
    cm__defer(r->ctx, free_step, step);
    cm__pass_on(r->ctx, cm_step_memory(step, r->asked.options.batch, &use, r->ctx->diag));
    cm__pass_on(r->ctx, cm_step_predict(step, r->asked.options.batch, true, &prediction, r->ctx->diag));
    cm__defer(r->ctx, free_prediction, prediction);
    return (decoded){cm_prediction_get_info(prediction)->step_time_s, use.peak_bytes};
}

void cm__generation_add(cm__predict_report *r)
{
    cm__generation *g = &r->generation;
    double          prompt = r->asked.prompt, more = r->asked.generate;
    decoded         first = decode(r, r->asked.prompt), last = decode(r, (int64_t)r->asked.prompt + r->asked.generate);
    double          per_token = (last.peak_bytes - first.peak_bytes) / more;
    g->prefill_s = cm_prediction_get_info(r->prediction)->step_time_s;
    g->token_s[0] = first.step_s;
    g->token_s[1] = last.step_s;
    g->decode_s = more * (first.step_s + last.step_s) / 2;
    g->cache_bytes = per_token * (prompt + more);
    g->peak_bytes = fmax(last.peak_bytes, r->use.peak_bytes + per_token * prompt);
    g->tokens_s = (double)r->asked.options.batch * more / (g->prefill_s + g->decode_s);
    cm_memory_add(&r->use, g->peak_bytes - r->use.peak_bytes); /* keys and values beside the pass over the prompt */
}
