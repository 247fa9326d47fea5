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

static fixture made_for(const char *spec, const cm_train_options *train, cm_runtime runtime)
{
    fixture x = {.ctx = cm__ctx_new(&diag)};
    if (setjmp(x.ctx->trap)) fail_msg("%s", diag.reason);
    x.device = a100();
    x.fabric = fabric_of(x.device);
    x.step = trained(spec, train);
    x.m = cm__model_new(x.ctx, x.step, x.device, x.fabric, runtime);
    return x;
}

static fixture made_as(const char *spec, const cm_train_options *train)
{
    return made_for(spec, train, CM_RUNTIME_MEGATRON);
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

/* Sequence parallelism divides the input of a layer, too, context parallelism the tokens; each place is another cost. */
static void divided_tokens(void **state)
{
    (void)state;
    fixture x = made(GPT);
    if (setjmp(x.ctx->trap)) fail_msg("%s", diag.reason);
    cm_plan one = {.tp = 1, .cp = 1, .ep = 1, .pp = 1, .dp = 1}, tensor = one, sequence = one;
    tensor.tp = sequence.tp = 4;
    sequence.sequence_parallel = true;
    int32_t        at[] = {cm__cost_at(x.m, &one, 4, 1), cm__cost_at(x.m, &tensor, 4, 1), cm__cost_at(x.m, &sequence, 4, 1),
                           cm__cost_at(x.m, &one, 4, 2)};
    const cm__cost *whole = &x.m->costs[at[0]], *shared = &x.m->costs[at[1]], *parts = &x.m->costs[at[2]], *halves = &x.m->costs[at[3]];
    assert_int_equal(x.m->n_costs, 4);
    is(shared->boundary_bytes, whole->boundary_bytes);
    is(parts->boundary_bytes, whole->boundary_bytes / 4);
    is(parts->kept_bytes, whole->kept_bytes / 4); /* all that a layer keeps */
    assert_true(shared->kept_bytes > whole->kept_bytes / 4 && shared->kept_bytes < whole->kept_bytes);
    is(halves->kept_bytes, whole->kept_bytes / 2);
    is(halves->samples, 2);
    is(parts->last_bytes, whole->last_bytes / 4);
    assert_true(shared->last_bytes > parts->last_bytes && shared->last_bytes < whole->last_bytes);
    release(&x);
}

/* Megatron-LM repeats attention alone and stores no scores. PyTorch keeps some products and repeats the others, so that
   less is stored. */
static void repeated_calls(void **state)
{
    (void)state;
    cm_train_options half = {.precision = CM_PRECISION_BF16};
    fixture          core = made(GPT), torch = made_for(GPT, &half, CM_RUNTIME_TORCH_EAGER);
    cm_plan          one = {.tp = 1, .cp = 1, .ep = 1, .pp = 1, .dp = 1}, two = one;
    if (setjmp(core.ctx->trap) || setjmp(torch.ctx->trap)) fail_msg("%s", diag.reason);
    two.tp = 2;
    int32_t         place = cm__cost_at(core.m, &one, 2, 1);
    const cm__cost *attention = &core.m->costs[place];
    fixture deeper = made("gpt:layers=8,hidden=256,heads=8,seq=128,vocab=1024");
    int32_t same = cm__cost_at(deeper.m, &one, 2, 1);
    is(attention->again_launches, deeper.m->costs[same].again_launches); /* of one layer, however many there are */
    is(attention->again_s, deeper.m->costs[same].again_s);
    assert_true(attention->again_launches >= 1 && attention->again_launches < attention->layer.forward_launches / 2);
    assert_true(attention->again_s > 0 && attention->again_s < attention->layer.forward_s / 2);
    release(&deeper);
    is(attention->selective_bytes, attention->kept_bytes - attention->parts.scores_bytes);
    int32_t        a = cm__cost_at(torch.m, &one, 2, 1), b = cm__cost_at(torch.m, &two, 2, 1), more = cm__cost_at(torch.m, &one, 4, 1);
    const cm__cost *whole = &torch.m->costs[a], *part = &torch.m->costs[b], *twice = &torch.m->costs[more];
    assert_true(whole->again_launches > 4 && whole->again_launches < whole->layer.forward_launches);
    assert_true(whole->again_s < whole->layer.forward_s);
    assert_true(whole->selective_bytes > whole->boundary_bytes && whole->selective_bytes < whole->kept_bytes);
    is(twice->selective_bytes, 2 * whole->selective_bytes);
    assert_true(part->selective_bytes < whole->selective_bytes && part->selective_bytes > whole->selective_bytes / 2);
    release(&core);
    release(&torch);
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
                                       cmocka_unit_test(divided_tokens), cmocka_unit_test(repeated_calls),
                                       cmocka_unit_test(experts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
