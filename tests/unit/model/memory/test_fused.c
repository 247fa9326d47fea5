/* SPDX-License-Identifier: Apache-2.0 */
/* test_fused.c - activations that fused kernels do not store: copies of the logits, gate activations, 8-bit copies. */
#include "graph/releases.h"
#include "memory_case.h"

static double bytes_of(cm_category category, const char *model, cm_runtime runtime, int64_t batch, cm_train_options o)
{
    cm_graph *forward, *step;
    o.optimizer = CM_OPTIMIZER_SGD;
    o.attention = CM_ATTENTION_FLASH;
    o.master = true;
    assert_int_equal(cm_graph_load(model, NULL, &forward, NULL), CM_OK);
    assert_int_equal(cm_graph_train(forward, &o, &step, NULL), CM_OK);
    cm_memory_use use = use_of(step, (cm_memory_options){.runtime = runtime}, batch, false);
    cm_graph_free(step);
    cm_graph_free(forward);
    return use.categories[category];
}

static double peak_as(const char *model, cm_runtime runtime, int64_t batch, cm_train_options o)
{
    return bytes_of(CM_CATEGORY_INPUT_OUTPUT, model, runtime, batch, o);
}

static double peak_of(const char *model, cm_runtime runtime, int64_t batch, cm_loss_kernel kernel, cm_logits logits)
{
    return peak_as(model, runtime, batch,
                   (cm_train_options){.precision = CM_PRECISION_BF16, .loss_kernel = kernel, .script.logits = logits});
}

static double peak_with(const char *model, cm_runtime runtime, int64_t batch, cm_loss_kernel kernel)
{
    return peak_of(model, runtime, batch, kernel, CM_LOGITS_AUTO);
}

static double peak(const char *model, cm_runtime runtime, int64_t batch)
{
    return peak_with(model, runtime, batch, CM_LOSS_KERNEL_AUTO);
}

/* The peak is at the loss of a model with a large vocabulary. Eager PyTorch stores several copies of the logits there;
   Megatron-LM overwrites one fp32 copy. The last of 128 tokens has no label. */
static void test_logits(void **state)
{
    (void)state;
    const char *wide = "gpt:layers=1,hidden=64,heads=2,seq=128,vocab=60000";
    const char *narrow = "gpt:layers=1,hidden=64,heads=2,seq=128,vocab=30000";
    double      logits = 8.0 * 127 * 30000;
    double      fused = peak(wide, CM_RUNTIME_MEGATRON, 8) - peak(narrow, CM_RUNTIME_MEGATRON, 8);
    double      eager = peak(wide, CM_RUNTIME_TORCH_EAGER, 8) - peak(narrow, CM_RUNTIME_TORCH_EAGER, 8);
    near(fused / logits, 4 + 2 + 2 * 128.0 / 127, 1e-3); /* its 16-bit cast, and the gradient of all 128 tokens */
    assert_true(eager > fused + 4 * logits);             /* at least one more fp32 copy */
}

/* PyTorch's plain loss has 3.5 fp32 copies of the logits, a fused one 1: 16-bit logits and their gradient. There are as
   many chunks as 60,000 words are times 64 hidden units: 938. */
static void test_loss_kernels(void **state)
{
    (void)state;
    const char *wide = "gpt:layers=1,hidden=64,heads=2,seq=128,vocab=60000";
    const char *narrow = "gpt:layers=1,hidden=64,heads=2,seq=128,vocab=30000";
    double      logits = 4.0 * 8 * 128 * 30000, difference[CM_LOSS_KERNELS];
    for (int k = CM_LOSS_KERNEL_PLAIN; k < CM_LOSS_KERNELS; k++)
        difference[k] = peak_with(wide, CM_RUNTIME_TORCH_EAGER, 8, (cm_loss_kernel)k) -
                        peak_with(narrow, CM_RUNTIME_TORCH_EAGER, 8, (cm_loss_kernel)k);
    near(difference[CM_LOSS_KERNEL_PLAIN] / logits, 0.5 + 3 * 127.0 / 128, 1e-3); /* the last token has no label */
    near(difference[CM_LOSS_KERNEL_FUSED] / logits, 1, 1e-3);
    near(difference[CM_LOSS_KERNEL_CHUNKED] / logits, 0, 0.05); /* gradients of the tied table */
}

/* SwiGLU's activation, one number of two bytes per token and hidden unit of every layer, is not kept for backward. */
static void test_gates(void **state)
{
    (void)state;
    const char *many = "llama:layers=9,hidden=64,heads=2,kv_heads=2,ffn=4096,seq=64,vocab=64";
    const char *few = "llama:layers=5,hidden=64,heads=2,kv_heads=2,ffn=4096,seq=64,vocab=64";
    double      gate = 4 * 2.0 * 8 * 64 * 4096; /* of four layers */
    double      fused = peak(many, CM_RUNTIME_MEGATRON, 8) - peak(few, CM_RUNTIME_MEGATRON, 8);
    double      eager = peak(many, CM_RUNTIME_TORCH_EAGER, 8) - peak(few, CM_RUNTIME_TORCH_EAGER, 8);
    assert_true(eager - fused > 0.95 * gate && eager - fused < 1.05 * gate);
}

/* Bytes that a layer stores in 8-bit training with Megatron-LM, in bytes per token and number of the width h, if the
   inner width is h too: the inputs of both norms 2 + 2, queries, keys and values 6, attention's result 2, the outputs
   of the gated network's first product 4; and 8-bit copies of what each of the four products reads, 1 each. Besides,
   four bytes for each of eight heads (attention's sums) and of two norms. */
static void test_casts(void **state)
{
    (void)state;
    const char      *many = "llama:layers=9,hidden=1024,heads=8,kv_heads=8,ffn=1024,seq=64,vocab=64";
    const char      *few = "llama:layers=5,hidden=1024,heads=8,kv_heads=8,ffn=1024,seq=64,vocab=64";
    cm_train_options o = {.precision = CM_PRECISION_FP8};
    double           more = peak_as(many, CM_RUNTIME_MEGATRON, 8, o) - peak_as(few, CM_RUNTIME_MEGATRON, 8, o);
    near(more / (4 * 8.0 * 64 * 1024), 2 + 2 + 6 + 2 + 4 + 4 + 4.0 * (8 + 2) / 1024, 1e-3);
}

/* Four layers' weights of 8-bit products, one byte each: queries, keys, values and attention's output 4 h^2, the gated
   network 3 h f. With --fp8-param-gather there is no such copy beside the weight. */
static void test_narrow_weights(void **state)
{
    (void)state;
    const char *models[] = {"llama:layers=9,hidden=256,heads=4,kv_heads=4,ffn=512,seq=64,vocab=64",
                            "llama:layers=5,hidden=256,heads=4,kv_heads=4,ffn=512,seq=64,vocab=64"};
    double      more[2]; /* of four more layers, with copies and without */
    for (int narrow = 0; narrow < 2; narrow++) {
        cm_train_options o = {.precision = CM_PRECISION_FP8, .megatron.narrow_weights = narrow};
        more[narrow] = bytes_of(CM_CATEGORY_ALGORITHM, models[0], CM_RUNTIME_MEGATRON, 64, o) -
                       bytes_of(CM_CATEGORY_ALGORITHM, models[1], CM_RUNTIME_MEGATRON, 64, o);
    }
    near(more[0] - more[1], 4 * (4.0 * 256 * 256 + 3.0 * 256 * 512), 1);
}

/* Bytes per token and layer that a model of `many` layers stores more than one of `few`. */
static double per_layer(const char *many, const char *few, int layers, cm_train_options o)
{
    return (peak_as(many, CM_RUNTIME_MEGATRON, 8, o) - peak_as(few, CM_RUNTIME_MEGATRON, 8, o)) / (layers * 8.0 * 64);
}

/* Each token has two experts of 16-bit results as wide as the model. Until the router's weights were multiplied inside
   the experts, backward read these results. */
static void test_weighed(void **state)
{
    (void)state;
    const char      *many = "mixtral:layers=9,hidden=512,heads=2,kv_heads=2,ffn=64,seq=64,vocab=64,experts=4,top_k=2";
    const char      *few = "mixtral:layers=5,hidden=512,heads=2,kv_heads=2,ffn=64,seq=64,vocab=64,experts=4,top_k=2";
    cm_train_options old = {.precision = CM_PRECISION_BF16, .software = cm__software_of_year(2024)}, now = {.precision = CM_PRECISION_BF16};
    near(per_layer(many, few, 4, old) - per_layer(many, few, 4, now), 2 * 2 * 512, 1e-3);
}

/* Latent attention of four heads: the second product makes keys of 128 and values of 128 for each, of which the values
   alone are kept beside the keys with their positions. More heads add 2 x (128 + 64) numbers of queries and keys, 128 of
   values and 128 of the result, 2 bytes each, and 4 bytes of attention's sums. */
static void test_latent_values(void **state)
{
    (void)state;
#define LATENT(layers, heads)                                                                                          \
    "deepseek:layers=" #layers ",hidden=64,heads=" #heads ",ffn=64,seq=64,vocab=64,experts=4,top_k=2,expert_ffn=64,"      \
    "shared_ffn=64,dense_layers=" #layers ",q_rank=64"
    cm_train_options o = {.precision = CM_PRECISION_BF16};
    double more = per_layer(LATENT(9, 8), LATENT(5, 8), 4, o) - per_layer(LATENT(9, 4), LATENT(5, 4), 4, o);
    near(more, 4 * (2 * (2 * (128 + 64) + 128 + 128) + 4), 1e-3);
#undef LATENT
}

/* Copies of the logits at the peak, in fp32 logits of all 128 tokens: those that the script keeps, their shifted
   copy of 127 tokens, and in a plain loss as many log-probabilities. A fused loss writes its gradient over the copy. */
static void test_copies(void **state)
{
    static const struct {
        cm_logits logits;
        double    plain, fused;
    } cases[] = {{CM_LOGITS_OWN, 1.5, 1}, {CM_LOGITS_FP32, 3, 2}, {CM_LOGITS_BOTH, 3.5, 2.5}};
    (void)state;
    const char *wide = "gpt:layers=1,hidden=64,heads=2,seq=128,vocab=60000";
    const char *narrow = "gpt:layers=1,hidden=64,heads=2,seq=128,vocab=30000";
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int fused = 0; fused < 2; fused++) {
            cm_loss_kernel kernel = fused ? CM_LOSS_KERNEL_FUSED : CM_LOSS_KERNEL_PLAIN;
            double         more = peak_of(wide, CM_RUNTIME_TORCH_EAGER, 8, kernel, cases[i].logits) -
                          peak_of(narrow, CM_RUNTIME_TORCH_EAGER, 8, kernel, cases[i].logits);
            near(more / (4 * 8.0 * 128 * 30000), fused ? cases[i].fused : cases[i].plain, 0.03);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_logits), cmocka_unit_test(test_copies),
                                       cmocka_unit_test(test_gates), cmocka_unit_test(test_casts),
                                       cmocka_unit_test(test_loss_kernels), cmocka_unit_test(test_weighed), cmocka_unit_test(test_narrow_weights),
                                       cmocka_unit_test(test_latent_values)};
    return cmocka_run_group_tests(tests, begin, end);
}
