/* SPDX-License-Identifier: Apache-2.0 */
/* test_costs.c - what a search knows of a model: layers, heads, bytes per parameter, and costs per place. */
#include "plan_case.h"
#include "plan/search.h"

typedef struct fixture {
    cm__ctx   *ctx;
    cm_device *device;
    cm_fabric *fabric;
    cm_graph  *step;
    cm__model *m;
} fixture;

static cm_graph *trained(const char *spec, const cm_train_options *train)
{
    cm_graph *forward = loaded(spec), *step;
    if (cm_graph_train(forward, train, &step, &diag)) fail_msg("%s", diag.reason);
    cm_graph_free(forward);
    return step;
}

static fixture made_as(const char *spec, const cm_train_options *train)
{
    fixture x = {.ctx = cm__ctx_new(&diag)};
    if (setjmp(x.ctx->trap)) fail_msg("%s", diag.reason);
    x.device = a100();
    x.fabric = fabric_of(x.device);
    x.step = trained(spec, train);
    x.m = cm__model_new(x.ctx, x.step, x.device, x.fabric, CM_RUNTIME_MEGATRON);
    return x;
}

static fixture made(const char *spec)
{
    return made_as(spec, &(cm_train_options){.precision = CM_PRECISION_FP16, .master = true});
}

static void release(fixture *x)
{
    cm_graph_free(x->step);
    cm__ctx_free(x->ctx);
    cm_fabric_free(x->fabric);
    cm_device_free(x->device);
}

/* fp16 weights; Adam's two moments and the master weight, four bytes each. */
static void bytes_per_parameter(void **state)
{
    (void)state;
    fixture x = made(GPT);
    assert_int_equal(x.m->layers, 4);
    assert_int_equal(x.m->experts, 0);
    assert_false(x.m->whole);
    is(x.m->weight_bytes, 2);
    is(x.m->state_bytes, 12);
    double most = cm_device_main_memory(x.device)->capacity_bytes.value; /* the allocator leaves a few percent free */
    assert_true(x.m->capacity_bytes < most && x.m->capacity_bytes > 0.9 * most);
    release(&x);
}

/* The same place is computed once. Eight tensor-parallel devices share a layer's parameters and arithmetic; twice the
   samples take twice the activations. */
static void places(void **state)
{
    (void)state;
    fixture x = made(GPT);
    if (setjmp(x.ctx->trap)) fail_msg("%s", diag.reason);
    cm_plan one = {.tp = 1, .cp = 1, .ep = 1, .pp = 1, .dp = 1}, eight = one;
    eight.tp = 8;
    int32_t a = cm__cost_at(x.m, &one, 2, 1), b = cm__cost_at(x.m, &eight, 2, 1), more = cm__cost_at(x.m, &one, 4, 1);
    assert_int_equal(cm__cost_at(x.m, &one, 2, 1), a);
    assert_int_equal(cm__cost_at(x.m, &eight, 2, 1), b);
    assert_true(a != b && a != more && x.m->n_costs == 3);
    const cm__cost *whole = &x.m->costs[a], *part = &x.m->costs[b], *twice = &x.m->costs[more];
    double layer = 12.0 * 256 * 256 + 13 * 256; /* 4 h^2 + 8 h^2 weights; biases and two norms */
    is(whole->layer.parameters, layer);
    assert_true(whole->layer.forward_comm_s == 0 && part->layer.forward_comm_s > 0);
    assert_true(part->layer.parameters < layer / 8 + 13 * 256 && part->layer.parameters >= layer / 8);
    is(twice->kept_bytes, 2 * whole->kept_bytes);
    is(whole->boundary_bytes, 2.0 * 128 * 256 * 2); /* 2 samples of 128 tokens, 256 numbers of two bytes */
    is(twice->boundary_bytes, 2 * whole->boundary_bytes);
    release(&x);
}

/* Autocast's 16-bit copies of weights are weights, not activations: these are proportional to the batch. */
static void copies_of_weights(void **state)
{
    (void)state;
    fixture x = made_as(GPT, &(cm_train_options){.precision = CM_PRECISION_AMP_BF16});
    if (setjmp(x.ctx->trap)) fail_msg("%s", diag.reason);
    cm_plan one = {.tp = 1, .cp = 1, .ep = 1, .pp = 1, .dp = 1};
    int32_t a = cm__cost_at(x.m, &one, 1, 1), b = cm__cost_at(x.m, &one, 4, 1);
    is(x.m->costs[b].kept_bytes, 4 * x.m->costs[a].kept_bytes);
    assert_true(x.m->weight_bytes > 5 && x.m->weight_bytes <= 6); /* norms and embeddings have none */
    is(x.m->frozen_copies, 1);
    release(&x);
}

/* The copies of frozen weights belong to these, however few numbers the adapters have. */
static void copies_of_frozen_weights(void **state)
{
    (void)state;
    const char     *spec = "llama:layers=4,hidden=256,heads=8,seq=128,vocab=1024";
    cm_step_options o = {.train = {.precision = CM_PRECISION_FP8}, .runtime = CM_RUNTIME_MEGATRON};
    cm_device      *device;
    assert_int_equal(cm_device_load("nvidia-h100", &device, &diag), CM_OK);
    assert_int_equal(cm_lora_parse("r=4", &o.train.tuning, &diag), CM_OK);
    assert_int_equal(cm_step_settle(spec, device, &o, &diag), CM_OK);
    cm_device_free(device);
    fixture x = made_as(spec, &o.train);
    assert_true(x.m->weight_bytes <= 6);
    assert_true(x.m->frozen_copies > 1.25 && x.m->frozen_copies <= 1.5); /* 8 bits beside 16; the embedding has none */
    release(&x);
}

static void experts(void **state)
{
    (void)state;
    fixture x = made("mixtral:layers=2,hidden=256,heads=4,kv_heads=4,ffn=512,seq=64,vocab=512,experts=8,top_k=2");
    assert_int_equal(x.m->experts, 8);
    assert_int_equal(x.m->layers, 2);
    assert_int_equal(x.m->heads, 4);
    assert_int_equal(x.m->tokens, 64);
    release(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(bytes_per_parameter), cmocka_unit_test(places),
                                       cmocka_unit_test(copies_of_weights), cmocka_unit_test(copies_of_frozen_weights),
                                       cmocka_unit_test(experts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
