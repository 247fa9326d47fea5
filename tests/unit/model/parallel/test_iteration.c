/* SPDX-License-Identifier: Apache-2.0 */
/* test_iteration.c - schedules by formula, divided calls, and plans that are predicted and searched. */
#include <math.h>
#include <string.h>
#include "time_device.h"
#include "model/parallel/iteration.h"
#include "model/dispatch/tensor_parallel.h"
#include "plan/search.h"

#define GPT "gpt:layers=4,hidden=256,heads=8,seq=128,vocab=1024"

static cm_diag diag;

static void is(double got, double expected)
{
    if (!(fabs(got - expected) <= 1e-9 * fabs(expected))) fail_msg("%.12g, expected %.12g", got, expected);
}

static cm_graph *loaded(const char *spec)
{
    cm_graph *g;
    if (cm_graph_load(spec, NULL, &g, &diag)) fail_msg("%s", diag.reason);
    return g;
}

static cm_graph *step_of(const char *spec, cm_recompute recompute)
{
    cm_train_options train = {.precision = CM_PRECISION_FP16, .recompute = recompute, .master = true};
    cm_graph        *forward = loaded(spec), *step;
    if (cm_graph_train(forward, &train, &step, &diag)) fail_msg("%s", diag.reason);
    cm_graph_free(forward);
    return step;
}

/* ---- schedules -------------------------------------------------------------------------------------------------- */

/* p equal stages and M micro-batches take (M + p - 1) t; v chunks per stage shorten the bubble v times. */
static void pipelines(void **state)
{
    (void)state;
    cm__stages st = {.sum_s = 4 * 3.0, .longest_s = 3.0, .backward_s = 2, .update_s = 0.5, .parts = 6};
    cm__waits  none = {0}, exchange = {.exchange_s = 0.01};
    cm_plan    plan = {.tp = 1, .pp = 4, .dp = 1, .interleave = 1, .accumulate = 8};
    is(cm__iterate(&st, &none, &plan, true).step_s, (8 + 4 - 1) * 3.0 + 0.5);
    is(cm__iterate(&st, &exchange, &plan, true).step_s, (8 + 4 - 1) * (3.0 + 2 * 0.01) + 0.5);
    plan.interleave = 3;
    is(cm__iterate(&st, &none, &plan, true).step_s, 8 * 3.0 + 3 * 3.0 / 3 + 0.5);
}

/* A late all-reduce runs after backward. An early one overlaps with it, except for the part sent after its end. */
static void replicas(void **state)
{
    (void)state;
    cm__stages st = {.sum_s = 3, .longest_s = 3, .backward_s = 2, .update_s = 1, .parts = 10};
    cm__waits  w = {.reduce_s = 1, .scatter_s = 0.5, .gather_s = 0.4, .reduced = {1.2, 0.1}, .scattered = {0.6, 0.05}};
    cm_plan    plan = {.tp = 1, .pp = 1, .dp = 4, .interleave = 1, .accumulate = 2};
    is(cm__iterate(&st, &w, &plan, true).step_s, 2 * 3 + 1 + 1);
    is(cm__iterate(&st, &w, &plan, false).step_s, 2 * 3 + 0.1 + 1);
    is(cm__iterate(&st, &w, &plan, false).data_s, 1.2);
    plan.overlap = true;
    is(cm__iterate(&st, &w, &plan, true).step_s, 2 * 3 + 0.1 + 1);
    plan = (cm_plan){.tp = 1, .pp = 1, .dp = 4, .interleave = 1, .accumulate = 2, .zero = 1};
    is(cm__iterate(&st, &w, &plan, true).step_s, 2 * 3 + 0.9 + 1.0 / 4);         /* each device updates a quarter */
    is(cm__iterate(&st, &w, &plan, false).step_s, 2 * 3 + 0.05 + 0.4 + 1.0 / 4); /* and gathers the other quarters */
    plan.zero = 3;
    double sums = 2 * (0.5 + 2 * 0.4);
    is(cm__iterate(&st, &w, &plan, true).data_s, sums);
}

#define MIB (1024.0 * 1024)

/* sent_k = max(sent_{k-1}, complete_k) + t(bytes_k), over three parts of 1, 2 and 3 s of backward. */
static void buckets(void **state)
{
    (void)state;
    cm_device *d;
    cm_fabric *f;
    if (cm_device_load("nvidia-a100-80g", &d, &diag) || cm_fabric_new(d, NULL, &f, &diag)) fail_msg("%s", diag.reason);
    cm__channel  channel = {f, CM__ALL_REDUCE, {8, 8}, 1};
    cm__part     all[3] = {{.backward_s = 1}, {.backward_s = 1.5, .backward_comm_s = 0.5}, {.backward_s = 3}};
    cm__gradient gradients[4] = {{15 * MIB, 0.5, 2}, {20 * MIB, 0.25, 1}, {5 * MIB, 1, 1}, {2 * MIB, 1, 0}};
    cm__parts    parts = {.all = all, .count = 3, .gradients = gradients, .n_gradients = 4, .gradient_bytes = 2};
    double       first = cm__comm_time(f, CM__ALL_REDUCE, channel.group, 30 * MIB),
                 second = cm__comm_time(f, CM__ALL_REDUCE, channel.group, 40 * MIB),
                 last = cm__comm_time(f, CM__ALL_REDUCE, channel.group, 14 * MIB);
    cm__sent     sent = cm__buckets_send(&parts, 3, 1, &channel);
    is(sent.time_s, first + second + last);
    is(sent.after_s, last); /* the first part's gradients are complete when backward ends */
    gradients[3].done = 0.5;
    is(cm__buckets_send(&parts, 3, 1, &channel).after_s, 0); /* half a second is enough to overlap everything */
    is(cm__buckets_send(&parts, 3, 0, &channel).after_s, sent.time_s); /* nothing to overlap with */
    is(cm__buckets_send(&parts, 2, 1, &channel).time_s, second + last); /* a first stage with two parts */
    cm_fabric_free(f);
    cm_device_free(d);
}

/* The embedding table, which the logits share, is complete last: its all-reduce does not overlap. */
static void tied_last(void **state)
{
    (void)state;
    cm__ctx *ctx = cm__ctx_new(&diag);
    if (setjmp(ctx->trap)) fail_msg("%s", diag.reason);
    cm_device *d;
    cm_fabric *f;
    if (cm_device_load("nvidia-a100-80g", &d, &diag) || cm_fabric_new(d, NULL, &f, &diag)) fail_msg("%s", diag.reason);
    cm_graph          *step = step_of("gpt:layers=2,hidden=256,heads=8,seq=128,vocab=1000", CM_RECOMPUTE_NONE);
    cm_predict_options options = {.runtime = CM_RUNTIME_TORCH_EAGER, .plan = {.tp = 1, .ep = 1}};
    cm__step_model     m = cm__step_model_new(ctx, step, d, &options, NULL);
    cm__timed         *timed = cm__alloc_array(ctx, (size_t)m.calls->n_calls, sizeof *timed);
    cm__parts          parts = cm__parts_new(ctx, &m, f, 4, 1, timed);
    double             sum = 0, table = 0;
    for (int32_t i = 0; i < parts.n_gradients; i++) {
        const cm__gradient *g = &parts.gradients[i];
        sum += g->elements;
        assert_true(g->done > 0 && g->done <= 1 && g->part >= 0 && g->part < parts.count);
        if (g->elements == 1000 * 256) {
            table = g->elements;
            assert_int_equal(g->part, 0);
            assert_true(g->done > 0.5);
        }
    }
    is(sum, parts.parameters);
    is(table, 1000 * 256);
    cm_graph_free(step);
    cm_fabric_free(f);
    cm_device_free(d);
    cm__ctx_free(ctx);
}

static void dealt(void **state)
{
    (void)state;
    cm__ctx *ctx = cm__ctx_new(&diag);
    if (setjmp(ctx->trap)) fail_msg("%s", diag.reason);
    /* first part 1 s, six layers of 1 s, last part 2 s: nine seconds are three per stage */
    cm__part  all[8] = {{.forward_s = 1}, {.forward_s = 1}, {.forward_s = 1}, {.forward_s = 1},
                        {.forward_s = 1}, {.forward_s = 1}, {.forward_s = 1}, {.forward_s = 2}};
    cm__parts parts = {.all = all, .count = 8, .host_bytes_s = 1};
    cm_plan   plan = {.tp = 1, .pp = 3, .dp = 1, .interleave = 1, .accumulate = 1};
    is(cm__stages_new(ctx, &parts, &plan, true).longest_s, 4);  /* two layers and the loss */
    is(cm__stages_new(ctx, &parts, &plan, false).longest_s, 3);
    is(cm__stages_new(ctx, &parts, &plan, false).sum_s, 9);
    cm__ctx_free(ctx);
}

/* ---- shards ----------------------------------------------------------------------------------------------------- */

static double flop_of(const cm__dispatch *d)
{
    double sum = 0, flop, bytes;
    for (int32_t i = 0; i < d->n_calls; i++) {
        cm__call c;
        cm__call_at(&d->calls[i], 2, &c);
        if (c.op != CM__CALL_GEMM) continue;
        cm__call_work(&c, &flop, &bytes);
        sum += flop * d->runs[i];
    }
    return sum;
}

/* Every product is divided exactly once, forward and backward, by columns, rows or heads. */
static void divided(void **state)
{
    (void)state;
    cm__ctx *ctx = cm__ctx_new(&diag);
    if (setjmp(ctx->trap)) fail_msg("%s", diag.reason);
    static const char *const models[] = {GPT, "llama:layers=3,hidden=256,heads=8,kv_heads=8,seq=64,vocab=512"};
    for (int m = 0; m < 2; m++) {
        cm_graph     *step = step_of(models[m], CM_RECOMPUTE_FULL);
        cm__dispatch *whole = cm__dispatch_new(ctx, step, CM_LAYOUT_AUTO, CM_RUNTIME_MEGATRON);
        for (int tp = 2; tp <= 8; tp *= 2) {
            cm_plan       plan = {.tp = tp, .ep = 1};
            cm__dispatch *part = cm__dispatch_shard(ctx, step, CM_LAYOUT_AUTO, CM_RUNTIME_MEGATRON, &plan, true);
            is(flop_of(part) * tp, flop_of(whole));
            assert_int_equal(part->n_of, whole->n_of);
        }
        cm_graph_free(step);
    }
    cm__ctx_free(ctx);
}

/* With expert parallelism a device has the same FLOP and fewer parameters, and tokens are exchanged. */
static void experts(void **state)
{
    (void)state;
    cm__ctx *ctx = cm__ctx_new(&diag);
    if (setjmp(ctx->trap)) fail_msg("%s", diag.reason);
    cm_device *d;
    cm_fabric *f;
    if (cm_device_load("nvidia-h200", &d, &diag) || cm_fabric_new(d, NULL, &f, &diag)) fail_msg("%s", diag.reason);
    cm_graph      *step = step_of("mixtral:layers=2,hidden=256,heads=4,kv_heads=4,ffn=512,seq=64,vocab=512,experts=8,top_k=2",
                                  CM_RECOMPUTE_NONE);
    cm_predict_options options = {.runtime = CM_RUNTIME_MEGATRON, .plan = {.tp = 1, .ep = 1}};
    cm__step_model alone = cm__step_model_new(ctx, step, d, &options, NULL);
    options.plan.ep = 4;
    cm__step_model shared = cm__step_model_new(ctx, step, d, &options, NULL);
    is(flop_of(shared.calls), flop_of(alone.calls));
    cm__timed *timed = cm__alloc_array(ctx, (size_t)shared.calls->n_calls + (size_t)alone.calls->n_calls, sizeof *timed);
    cm__parts  a = cm__parts_new(ctx, &alone, f, 4, 1, timed), b = cm__parts_new(ctx, &shared, f, 4, 1, timed);
    is(a.parameters - b.parameters, 2 * 3 * 8 * 256 * 512 * (1 - 1.0 / 4));
    assert_true(a.all[1].forward_comm_s == 0 && b.all[1].forward_comm_s > 0);
    is(b.all[1].backward_comm_s, b.all[1].forward_comm_s);
    cm_graph_free(step);
    cm_fabric_free(f);
    cm_device_free(d);
    cm__ctx_free(ctx);
}

/* Unfused attention of Megatron-LM: two products forward, four backward, and forward again if recomputed. */
static void unfused(void **state)
{
    (void)state;
    cm__ctx *ctx = cm__ctx_new(&diag);
    if (setjmp(ctx->trap)) fail_msg("%s", diag.reason);
    cm_graph     *step = step_of(GPT, CM_RECOMPUTE_FULL);
    cm__dispatch *d = cm__dispatch_new(ctx, step, CM_LAYOUT_AUTO, CM_RUNTIME_MEGATRON);
    int32_t       products = 0, softmaxes[CM__PASSES] = {0};
    for (int32_t i = 0; i < d->n_of; i++) {
        const cm_node        *n = &step->nodes[d->node[i]];
        const cm__sized_call *c = &d->calls[d->of[i]];
        products += cm_node_class(n) == CM_CLASS_ATTENTION && c->op == CM__CALL_GEMM;
        if (c->op == CM__CALL_SOFTMAX) softmaxes[c->pass]++;
        assert_int_not_equal(c->op, CM__CALL_ATTENTION);
    }
    assert_int_equal(products, 4 * (2 + 2 + 4));
    assert_int_equal(softmaxes[CM__PASS_FORWARD], 4 * 2);
    assert_int_equal(softmaxes[CM__PASS_BACKWARD], 4);
    cm_graph_free(step);
    cm__ctx_free(ctx);
}

static int32_t calls_of(const cm__dispatch *d, int op, int class, double *second)
{
    int32_t count = 0;
    for (int32_t i = 0; i < d->n_of; i++) {
        if (d->g->nodes[d->node[i]].op != op || d->calls[d->of[i]].op != class) continue;
        *second = cm_poly_at(&d->calls[d->of[i]].sizes[1], 2);
        count++;
    }
    return count;
}

/* Megatron-LM's loss: maximum, exponentials, sum, probabilities; backward is one pass. Tensor parallelism divides
   the classes. */
static void written_loss(void **state)
{
    (void)state;
    cm__ctx *ctx = cm__ctx_new(&diag);
    if (setjmp(ctx->trap)) fail_msg("%s", diag.reason);
    cm_graph *step = step_of(GPT, CM_RECOMPUTE_NONE);
    for (int tp = 1; tp <= 4; tp *= 4) {
        cm_plan       plan = {.tp = tp, .ep = 1};
        cm__dispatch *d = cm__dispatch_shard(ctx, step, CM_LAYOUT_AUTO, CM_RUNTIME_MEGATRON, &plan, true);
        double        elements, classes;
        assert_int_equal(calls_of(d, CM_OP_CROSS_ENTROPY, CM__CALL_ELEMENTWISE, &elements), 3);
        is(elements, 2 * 127 * 1024.0 / tp); /* the last token of a sample has no label */
        assert_int_equal(calls_of(d, CM_OP_CROSS_ENTROPY, CM__CALL_REDUCE, &classes), 2);
        is(classes, 1024.0 / tp);
        assert_int_equal(calls_of(d, CM_OP_LOSS_GRAD, CM__CALL_ELEMENTWISE, &elements), 1);
        assert_int_equal(calls_of(d, CM_OP_CROSS_ENTROPY, CM__CALL_CROSS_ENTROPY, &elements), 0);
    }
    cm_graph_free(step);
    cm__ctx_free(ctx);
}

/* Scores of unfused attention: 5 bytes per pair of tokens, head and layer, unless recomputed. */
static void scores(void **state)
{
    (void)state;
    cm_device *d;
    double     peak[2][2];
    if (cm_device_load("nvidia-a100-80g", &d, &diag)) fail_msg("%s", diag.reason);
    cm_graph *forward = loaded("gpt:layers=4,hidden=256,heads=8,seq=512,vocab=128");
    for (int fused = 0; fused < 2; fused++)
        for (int again = 0; again < 2; again++) {
            cm_train_options  train = {.precision = CM_PRECISION_FP16, .master = true,
                                       .recompute = again ? CM_RECOMPUTE_SELECTIVE : CM_RECOMPUTE_NONE,
                                       .attention = fused ? CM_ATTENTION_FLASH : CM_ATTENTION_AUTO};
            cm_memory_options o = {.runtime = CM_RUNTIME_MEGATRON};
            cm_graph         *step;
            cm_footprint     *f;
            cm_memory_use     use;
            if (cm_graph_train(forward, &train, &step, &diag)) fail_msg("%s", diag.reason);
            if (cm_footprint_new(step, d, &o, &f, &diag)) fail_msg("%s", diag.reason);
            cm_footprint_at(f, 16, &use);
            peak[fused][again] = use.peak_bytes;
            cm_footprint_free(f);
            cm_graph_free(step);
        }
    cm_graph_free(forward);
    double layer = 5.0 * 16 * 8 * 512 * 512;
    assert_true(fabs(peak[0][0] - peak[1][0] - 4 * layer) < 0.02 * layer);
    /* at most the scores of the current layer */
    assert_true(peak[0][1] >= peak[1][1] && peak[0][1] - peak[1][1] < 1.02 * layer);
    cm_device_free(d);
}

/* ---- predictions ------------------------------------------------------------------------------------------------ */

static cm_device *a100(void)
{
    cm_device *d;
    if (cm_device_load("nvidia-a100-80g", &d, &diag)) fail_msg("%s", diag.reason);
    return d;
}

static cm_fabric *fabric_of(const cm_device *d)
{
    cm_fabric *f;
    if (cm_fabric_new(d, "node=8,net=800Gb", &f, &diag)) fail_msg("%s", diag.reason);
    return f;
}

static cm_prediction_info predicted(const cm_graph *step, const cm_device *d, const cm_fabric *f, cm_plan plan)
{
    cm_predict_options o = {.runtime = CM_RUNTIME_MEGATRON, .plan = plan, .fabric = f};
    cm_prediction     *p;
    if (cm_predict(step, d, &o, &p, &diag)) fail_msg("%s", diag.reason);
    cm_prediction_info i = *cm_prediction_get_info(p);
    cm_prediction_free(p);
    return i;
}

static void of_a_plan(void **state)
{
    (void)state;
    cm_device         *d = a100();
    cm_fabric         *f = fabric_of(d);
    cm_graph          *step = step_of(GPT, CM_RECOMPUTE_NONE);
    cm_prediction_info one = predicted(step, d, f, (cm_plan){.micro_batch = 2, .global_batch = 16});
    cm_plan            eight = {.tp = 2, .pp = 2, .dp = 2, .micro_batch = 2, .global_batch = 16};
    cm_prediction_info all = predicted(step, d, f, eight);
    assert_int_equal(one.plan.accumulate, 8);
    assert_int_equal(all.plan.accumulate, 4);
    assert_int_equal(all.devices, 8);
    assert_true(one.tensor_s == 0 && one.pipeline_s == 0 && one.data_s == 0 && one.bubble_s == 0);
    assert_true(all.tensor_s > 0 && all.pipeline_s > 0 && all.data_s > 0 && all.bubble_s > 0);
    assert_true(all.interval_s[0] < all.step_time_s && all.step_time_s < all.interval_s[1]);
    is(all.throughput_samples_s, 16 / all.step_time_s);
    /* twice the micro-batches: the time grows by theirs */
    eight.global_batch = 32;
    cm_prediction_info more = predicted(step, d, f, eight);
    is(more.bubble_s, all.bubble_s);
    is(more.tensor_s, 2 * all.tensor_s);
    cm_graph_free(step);
    cm_fabric_free(f);
    cm_device_free(d);
}

static void refused(void **state)
{
    (void)state;
    cm_device    *d = a100();
    cm_fabric    *f = fabric_of(d), *node;
    cm_graph     *step = step_of(GPT, CM_RECOMPUTE_NONE);
    cm_prediction *p;
    if (cm_fabric_new(d, "node=8", &node, &diag)) fail_msg("%s", diag.reason);
    const struct {
        cm_plan          plan;
        const cm_fabric *fabric;
    } bad[] = {{{.tp = 2, .pp = 2, .dp = 2, .devices = 9}, f},
               {{.dp = 4, .micro_batch = 3, .global_batch = 16}, f},
               {{.pp = 8, .micro_batch = 1, .global_batch = 8}, f},
               {{.dp = 2, .micro_batch = 1, .global_batch = 8}, NULL},
               {{.dp = 64, .micro_batch = 1, .global_batch = 64}, node},
               {{.tp = -1}, f}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        cm_predict_options o = {.runtime = CM_RUNTIME_MEGATRON, .plan = bad[i].plan, .fabric = bad[i].fabric};
        if (bad[i].plan.tp < 0) o.plan.dp = 2;
        if (cm_predict(step, d, &o, &p, &diag) != CM_ERR_ARGUMENT) fail_msg("plan %zu is taken", i);
    }
    cm_fabric_free(node);
    cm_graph_free(step);
    cm_fabric_free(f);
    cm_device_free(d);
}

/* ---- searches --------------------------------------------------------------------------------------------------- */

static cm_search *searched(const cm_device *d, const cm_fabric *f, const cm_graph *forward, int32_t threads,
                           cm_objective objective)
{
    cm_search_options o = {.devices = 8, .global_batch = 32, .runtime = CM_RUNTIME_MEGATRON, .fabric = f,
                           .objective = objective,
                           .threads = threads, .train = {.precision = CM_PRECISION_FP16, .master = true}};
    cm_search        *s;
    if (cm_search_run(forward, d, &o, &s, &diag)) fail_msg("%s", diag.reason);
    return s;
}

/* Without attention, selective recomputation has nothing to recompute: such plans equal others and are not listed
   again. */
static void every_plan_gains_something(void **state)
{
    (void)state;
    cm_device *d = a100();
    cm_fabric *f = fabric_of(d);
    cm_graph  *forward = loaded("resnet18");
    cm_search *s = searched(d, f, forward, 1, CM_OBJECTIVE_THROUGHPUT);
    assert_true(cm_search_plans(s) > 1);
    for (int32_t i = 0; i < cm_search_plans(s); i++) {
        const cm_found *a = cm_search_plan(s, i);
        assert_true(a->plan.recompute != CM_RECOMPUTE_SELECTIVE);
        for (int32_t k = i + 1; k < cm_search_plans(s); k++) {
            const cm_found *b = cm_search_plan(s, k);
            assert_true(b->step_time_s > a->step_time_s || b->peak_bytes < a->peak_bytes);
        }
    }
    cm_search_free(s);
    cm_graph_free(forward);
    cm_fabric_free(f);
    cm_device_free(d);
}

/* The list of plans does not depend on the number of threads, and each plan is predicted as by cm_predict(). */
static void best_plan(void **state)
{
    (void)state;
    cm_device *d = a100();
    cm_fabric *f = fabric_of(d);
    cm_graph  *forward = loaded(GPT);
    cm_search *one = searched(d, f, forward, 1, CM_OBJECTIVE_THROUGHPUT);
    cm_search *four = searched(d, f, forward, 4, CM_OBJECTIVE_THROUGHPUT);
    assert_int_equal(cm_search_get_info(one)->evaluated, cm_search_get_info(four)->evaluated);
    assert_int_equal(cm_search_plans(one), cm_search_plans(four));
    assert_true(cm_search_plans(one) > 0);
    for (int32_t i = 0; i < cm_search_plans(one); i++) {
        const cm_found *a = cm_search_plan(one, i), *b = cm_search_plan(four, i);
        assert_true(a->step_time_s == b->step_time_s && a->plan.tp == b->plan.tp && a->plan.zero == b->plan.zero);
        assert_int_equal((int64_t)a->plan.tp * a->plan.cp * a->plan.pp * a->plan.dp, 8);
        assert_int_equal(a->plan.micro_batch * a->plan.accumulate * a->plan.dp, 32);
        if (i) assert_true(cm_search_plan(one, i - 1)->step_time_s <= a->step_time_s);
    }
    const cm_found    *best = cm_search_plan(one, 0);
    cm_graph          *step = step_of(GPT, best->plan.recompute);
    cm_prediction_info i = predicted(step, d, f, best->plan);
    is(best->step_time_s, i.step_time_s);
    assert_true(cm_search_plan(one, cm_search_plans(one)) == NULL);
    cm_graph_free(step);
    cm_search_free(one);
    cm_search_free(four);
    cm_graph_free(forward);
    cm_fabric_free(f);
    cm_device_free(d);
}

/* The host launches two all-reduces forward and two backward per layer, prepares each micro-batch, and uses a
   buffer. */
static void megatron_host(void **state)
{
    (void)state;
    cm__ctx *ctx = cm__ctx_new(&diag);
    if (setjmp(ctx->trap)) fail_msg("%s", diag.reason);
    cm_device         *d = a100();
    cm_fabric         *f = fabric_of(d);
    cm_graph          *step = step_of(GPT, CM_RECOMPUTE_NONE);
    double             host[2];
    for (int shared = 0; shared < 2; shared++) {
        cm_predict_options options = {.runtime = CM_RUNTIME_MEGATRON, .plan = {.tp = shared ? 2 : 1, .ep = 1}};
        cm__step_model     m = cm__step_model_new(ctx, step, d, &options, NULL);
        cm__timed         *timed = cm__alloc_array(ctx, (size_t)m.calls->n_calls, sizeof *timed);
        cm__parts          parts = cm__parts_new(ctx, &m, f, 1, 1, timed);
        host[shared] = parts.all[2].host_s;
        assert_true(parts.buffered && parts.accumulate_s > 0 && parts.batch_host_s == m.host_batch_s);
        if (shared) is(host[1] - host[0], 4 * m.host_collective_s);
    }
    cm_graph_free(step);
    cm__ctx_free(ctx);
    cm_fabric_free(f);
    cm_device_free(d);
}

/* The closed form equals the full prediction for every plan of a small space without recomputation. */
typedef struct comparing {
    cm__model       *m;
    const cm_graph  *step;
    int32_t          compared;
} comparing;

static void compare(void *user, const cm_plan *plan)
{
    comparing *c = user;
    if (plan->recompute || plan->cp > 1) return;
    cm__spot  spot = {*plan, cm__cost_at(c->m, plan, plan->micro_batch, plan->cp)};
    cm__best  best = {0};
    cm__evaluate(c->m, &spot, 0, NULL, NULL, &best);
    assert_int_equal(best.evaluated, cm__plans_at(c->m, plan));
    for (int32_t i = 0; i < best.count; i++) {
        cm_prediction_info info = predicted(c->step, c->m->device, c->m->fabric, best.list[i].plan);
        if (fabs(best.list[i].step_s / info.step_time_s - 1) > 0.01)
            fail_msg("tp %d pp %d dp %d zero %d: %g s, predicted %g s", plan->tp, plan->pp, plan->dp,
                     best.list[i].plan.zero, best.list[i].step_s, info.step_time_s);
        c->compared++;
    }
}

static void closed_form(void **state)
{
    (void)state;
    cm__ctx *ctx = cm__ctx_new(&diag);
    if (setjmp(ctx->trap)) fail_msg("%s", diag.reason);
    cm_device *d = a100();
    cm_fabric *f = fabric_of(d);
    comparing  c = {.step = step_of("gpt:layers=4,hidden=2048,heads=16,seq=512,vocab=1024", CM_RECOMPUTE_NONE)};
    c.m = cm__model_new(ctx, c.step, d, f, CM_RUNTIME_MEGATRON);
    cm__space(c.m, 8, 16, compare, &c);
    assert_true(c.compared > 200);
    cm_graph_free((cm_graph *)(uintptr_t)c.step);
    cm__ctx_free(ctx);
    cm_fabric_free(f);
    cm_device_free(d);
}

static void goals(void **state)
{
    (void)state;
    cm_device *d = a100();
    cm_fabric *f = fabric_of(d);
    cm_graph  *forward = loaded(GPT);
    cm_search *s = searched(d, f, forward, 1, CM_OBJECTIVE_DEVICES);
    assert_int_equal(cm_search_plan(s, 0)->plan.devices, 1);
    cm_search_free(s);
    s = searched(d, f, forward, 1, CM_OBJECTIVE_COST); /* a single device does not wait for others */
    assert_true(cm_search_plan(s, 0)->communication_s == 0);
    cm_search_free(s);
    volatile bool     stop = true;
    cm_search_options o = {.devices = 8, .global_batch = 32, .runtime = CM_RUNTIME_MEGATRON, .fabric = f, .stop = &stop,
                           .train = {.precision = CM_PRECISION_FP16}};
    assert_int_equal(cm_search_run(forward, d, &o, &s, &diag), CM_OK);
    assert_true(cm_search_get_info(s)->stopped && cm_search_plans(s) == 0);
    cm_search_free(s);
    o.global_batch = 0;
    assert_int_equal(cm_search_run(forward, d, &o, &s, &diag), CM_ERR_ARGUMENT);
    cm_graph_free(forward);
    cm_fabric_free(f);
    cm_device_free(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pipelines), cmocka_unit_test(replicas),  cmocka_unit_test(dealt),
        cmocka_unit_test(buckets),   cmocka_unit_test(tied_last), cmocka_unit_test(written_loss),
        cmocka_unit_test(megatron_host),
        cmocka_unit_test(divided),   cmocka_unit_test(unfused),   cmocka_unit_test(of_a_plan),
        cmocka_unit_test(refused),   cmocka_unit_test(best_plan), cmocka_unit_test(closed_form),
        cmocka_unit_test(every_plan_gains_something),
        cmocka_unit_test(goals),     cmocka_unit_test(experts),   cmocka_unit_test(scores),
    };
    return cmocka_run_group_tests_name("plan", tests, NULL, NULL);
}
