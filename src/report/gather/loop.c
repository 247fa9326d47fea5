/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loop.c - a step of post-training with rewards as three phases on the same devices: generate, score, train.
 *
 * The weights and optimizer states of training stay in memory in all phases, as do the weights of the reference and the
 * reward model. The copy of the weights that generates, its keys and values, and what scoring stores are there in their
 * own phase only. With adapters the reference is the policy without them: it needs no weights of its own.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/text.h"
#include "report/report.h"

static const char *const kinds[CM__LOOPS] = {"none", "grpo", "ppo"};
static const int32_t     groups[CM__LOOPS] = {1, 8, 1}; /* TRL's num_generations; one answer */

const char *cm__loop_name(cm__loop_kind kind) { return kinds[kind]; }

/* ---- options ----------------------------------------------------------------------------------------------------- */

static bool read_switch(cm__span value, bool *off)
{
    *off = cm__span_is(value, "off");
    return *off || cm__span_is(value, "on");
}

static bool read_count(cm__span value, int32_t *count)
{
    int64_t n;
    bool    good = cm__parse_int(value, &n) && n >= 1 && n <= 1000000;
    if (good) *count = (int32_t)n;
    return good;
}

/* A description of a reward model has commas: it is the last option. */
static bool read_option(cm__span word, cm__loop_options *loop, bool *last)
{
    const char *equals = memchr(word.text, '=', word.length);
    if (!equals) return false;
    cm__span key = {word.text, (size_t)(equals - word.text)}, value = {equals + 1, word.length - key.length - 1};
    if (cm__span_is(key, "group")) return read_count(value, &loop->group);
    if (cm__span_is(key, "epochs")) return read_count(value, &loop->epochs);
    if (cm__span_is(key, "reference")) return read_switch(value, &loop->alone);
    if (cm__span_is(key, "copy")) return read_switch(value, &loop->in_place);
    *last = cm__span_is(key, "reward") && strlen(equals + 1) > 0 && strlen(equals + 1) < sizeof loop->reward;
    if (*last) memcpy(loop->reward, equals + 1, strlen(equals + 1) + 1);
    return *last;
}

bool cm__loop_parse(const char *text, cm__loop_options *loop, const char **wrong)
{
    bool last = false;
    *loop = (cm__loop_options){.kind = CM__LOOP_NONE};
    for (const char *at = text; *at && !last; at += *at == ',') {
        cm__span word = {at, strcspn(at, ",")};
        *wrong = at;
        if (at == text) {
            for (int k = CM__LOOP_GRPO; k < CM__LOOPS; k++)
                if (cm__span_is(word, kinds[k])) loop->kind = (cm__loop_kind)k;
            if (!loop->kind) return false;
        } else if (!read_option(word, loop, &last)) return false;
        at += word.length;
    }
    *wrong = text;
    return loop->kind != CM__LOOP_NONE;
}

/* ---- phases ------------------------------------------------------------------------------------------------------ */

static void free_report(void *report) { cm__predict_report_free(report); }

/* Weights in the type in which the step computes. */
static cm_precision computing(cm_precision p)
{
    static const cm_precision low[CM_PRECISIONS] = {[CM_PRECISION_AMP_BF16] = CM_PRECISION_BF16,
                                                    [CM_PRECISION_AMP_FP16] = CM_PRECISION_FP16,
                                                    [CM_PRECISION_FP8] = CM_PRECISION_BF16};
    return low[p] ? low[p] : p;
}

/* Engines that generate with a copy of the weights (vLLM, SGLang) replay CUDA graphs. */
static cm_runtime engine_of(cm_runtime runtime)
{
    if (runtime == CM_RUNTIME_MEGATRON) return CM_RUNTIME_EAGER_GRAPHS;
    cm_runtime with = runtime;
    return cm_runtime_with_graphs(&with, NULL) == CM_OK ? with : runtime;
}

/* A forward pass of a model, or generation: on the tensor-parallel devices of a replica. */
static const cm__predict_report *forward_of(cm__ctx *ctx, const cm__predict_request *asked, const char *model,
                                            int64_t batch, bool generates)
{
    cm__predict_request q = {.graph = asked->graph, .device = asked->device, .cluster = asked->cluster,
                             .options = {.runtime = asked->options.runtime, .layout = asked->options.layout,
                                         .loading.host = asked->options.loading.host}};
    cm__predict_report *r;
    int32_t             tp = asked->options.plan.tp;
    q.graph.model = model;
    q.graph.batch = q.options.batch = batch;
    q.graph.load.seq = (int64_t)asked->prompt + asked->generate;
    q.graph.load.tokens = 0;
    q.graph.train = (cm_train_options){.precision = computing(asked->graph.train.precision), .inference = true,
                                       .attention = asked->graph.train.attention,
                                       .software = asked->graph.train.software};
    if (tp > 1) q.options.plan = (cm_plan){.devices = tp, .tp = tp, .dp = 1};
    if (generates) q.prompt = asked->prompt, q.generate = asked->generate;
    if (generates && !asked->loop.in_place) q.options.runtime = engine_of(asked->options.runtime);
    cm__pass_on(ctx, cm__predict_report_new(&q, &r, ctx->diag));
    cm__defer(ctx, free_report, r);
    return r;
}

static double weights_of(const cm_memory_use *use) { return use->categories[CM_CATEGORY_WEIGHTS_BIASES]; }

/* Adds `times` passes of a forward step. */
static void add_time(cm__phase *p, const cm_prediction_info *i, double times)
{
    p->time_s += times * i->step_time_s;
    for (int side = 0; side < 2; side++) p->interval_s[side] += times * i->interval_s[side];
}

/* A pass of all answers through a model; what it stores beside its weights. */
static double score_by(cm__ctx *ctx, const cm__predict_request *asked, const char *model, int64_t at_once,
                       double passes, cm__phase *score, double *weights)
{
    const cm__predict_report *r = forward_of(ctx, asked, model, at_once, false);
    add_time(score, cm_prediction_get_info(r->prediction), passes);
    *weights = weights_of(&r->use);
    return r->use.peak_bytes - *weights;
}

/* Returns the bytes that scoring stores beside weights; *kept: weights that stay in memory for it. */
static double score(cm__ctx *ctx, const cm__predict_request *asked, int64_t at_once, double passes, cm__phase *phase,
                    double *kept)
{
    const cm__loop_options *o = &asked->loop;
    const char             *policy = asked->graph.model;
    bool                    critic = o->kind == CM__LOOP_PPO;
    const char             *reward = o->reward[0] ? o->reward : critic ? policy : NULL;
    /* passes of the policy's size: reference, the policy before its updates, critic */
    int    own = !o->alone + (o->epochs > 1) + critic;
    double stored = 0, weights = 0;
    *kept = 0;
    if (own) stored = score_by(ctx, asked, policy, at_once, own * passes, phase, &weights);
    if (!o->alone && !asked->graph.train.tuning.rank) *kept += weights;
    if (reward) {
        stored = fmax(stored, score_by(ctx, asked, reward, at_once, passes, phase, &weights));
        *kept += weights;
    }
    return stored;
}

static void generate(cm__ctx *ctx, const cm__predict_request *asked, int64_t answers, double resident, cm__phase *p)
{
    const cm__predict_report *r = forward_of(ctx, asked, asked->graph.model, answers, true);
    const cm_prediction_info *i = cm_prediction_get_info(r->prediction);
    const cm__generation     *g = &r->generation;
    p->time_s = g->prefill_s + g->decode_s;
    for (int side = 0; side < 2; side++) p->interval_s[side] = p->time_s * i->interval_s[side] / i->step_time_s;
    p->peak_bytes = resident + g->peak_bytes - (asked->loop.in_place ? weights_of(&r->use) : 0);
}

/* The memory of the phase with the highest peak. */
static void highest(const cm__loop *loop, cm_memory_use *use)
{
    double most = 0;
    for (int p = 0; p < CM__PHASES; p++) most = fmax(most, loop->phases[p].peak_bytes);
    double more = fmax(0, most - use->peak_bytes);
    cm_memory_add(use, more);
    use->categories[CM_CATEGORY_WEIGHTS_BIASES] += more; /* of the other models, and what generates */
}

static void check(cm__ctx *ctx, const cm__predict_request *asked, int64_t answers)
{
    const cm_plan *p = &asked->options.plan;
    if (!asked->prompt || !asked->generate)
        cm__fail(ctx, CM_ERR_ARGUMENT, "--loop needs the tokens of a prompt and of an answer: --prompt N --generate N");
    if (p->pp > 1 || p->cp > 1)
        cm__fail(ctx, CM_ERR_UNSUPPORTED, "--loop generates on data- and tensor-parallel devices: omit --pp and --cp");
    if (answers % asked->loop.group)
        cm__fail(ctx, CM_ERR_ARGUMENT, "%lld answers per replica and step are no groups of %d: --batch counts answers",
                 (long long)answers, asked->loop.group);
}

void cm__loop_add(cm__ctx *ctx, const cm__predict_request *request, const cm_prediction_info *train, int64_t at_once,
                  cm_memory_use *use, cm__loop *loop)
{
    static const char *const names[CM__PHASES] = {"generate", "score", "train"};
    cm__predict_request      asked = *request;
    cm__phase               *phases = loop->phases;
    int32_t                  passes = asked.options.plan.accumulate > 1 ? asked.options.plan.accumulate : 1;
    int64_t                  answers = at_once * passes;
    double                   kept, critic = asked.loop.kind == CM__LOOP_PPO;
    if (!asked.loop.group) asked.loop.group = groups[asked.loop.kind];
    if (!asked.loop.epochs) asked.loop.epochs = 1;
    check(ctx, &asked, answers);
    for (int p = 0; p < CM__PHASES; p++) phases[p] = (cm__phase){.name = names[p]};
    double stored = score(ctx, &asked, at_once, (double)passes, &phases[CM__SCORE], &kept);
    double states = weights_of(use) + use->categories[CM_CATEGORY_ALGORITHM];
    loop->resident_bytes = states * (1 + critic) + kept;
    phases[CM__SCORE].peak_bytes = loop->resident_bytes + stored;
    loop->beside_bytes = states * critic + kept;
    phases[CM__TRAIN].peak_bytes = use->peak_bytes + loop->beside_bytes;
    add_time(&phases[CM__TRAIN], train, asked.loop.epochs * (1 + critic));
    generate(ctx, &asked, answers, loop->resident_bytes, &phases[CM__GENERATE]);
    for (int p = 0; p < CM__PHASES; p++) {
        loop->total_s += phases[p].time_s;
        for (int side = 0; side < 2; side++) loop->interval_s[side] += phases[p].interval_s[side];
    }
    loop->new_tokens_s = (double)answers * asked.generate / loop->total_s;
    highest(loop, use);
}
