/* SPDX-License-Identifier: Apache-2.0 */
/* test_saved.c - what a loop over layers stores for backward in JAX, counted by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "centimani.h"

#define TOKENS (2 * 128.0)
#define WIDTH  256.0
#define INNER  512.0
#define LOGITS (6.0 * TOKENS * 1000)
#define OUTSIDE (4 * 4 * TOKENS * WIDTH) /* at most, of what lies outside the layers and while a layer runs */

/* Activations when the loss's gradient has been computed. */
static double stored(const char *model, cm_attention attention, cm_recompute recompute)
{
    cm_step_options o = {.train = {.precision = CM_PRECISION_AMP_BF16, .recompute = recompute, .attention = attention}};
    cm_device      *device;
    cm_step        *step;
    assert_int_equal(cm_device_load("google-tpu-v6e", &device, NULL), CM_OK);
    assert_int_equal(cm_step_new(model, device, &o, &step, NULL), CM_OK);
    const cm_graph     *g = cm_step_graph(step);
    const cm_footprint *f = cm_step_footprint(step);
    int32_t             node = -1;
    double              sum = 0;
    for (int32_t i = 0; i < cm_graph_nodes(g); i++)
        if (!strcmp(cm_node_type(cm_graph_node(g, i)), "LossGrad")) node = i;
    for (int32_t i = 0; i < cm_footprint_pieces(f); i++) {
        cm_stored p = cm_footprint_piece(f, 2, i);
        if (p.born <= node && p.dies >= node && p.category == CM_CATEGORY_INPUT_OUTPUT) sum += p.bytes;
    }
    cm_step_free(step);
    cm_device_free(device);
    return sum;
}

#define LLAMA "llama:layers=4,hidden=256,heads=4,ffn=512,vocab=1000,seq=128"

static void check(double bytes, double per_token)
{
    double least = 4 * TOKENS * per_token + LOGITS;
    assert_in_range((uint64_t)bytes, (uint64_t)least, (uint64_t)(least + OUTSIDE));
}

/* Two RMS norms store 6 bytes for each number and their results 2; SiLU, the product with the other half and the last
   product store six tensors of the inner width. */
#define OF_LLAMA (2 * (6 + 2) * WIDTH + 6 * 2 * INNER)

/* A kernel reads and writes rows of 64 numbers, which fill 128; its result is copied for the next product. */
static void test_kernel(void **state)
{
    (void)state;
    check(stored(LLAMA, CM_ATTENTION_FLASH, CM_RECOMPUTE_NONE), OF_LLAMA + (4 * 2 + 1) * 2 * WIDTH);
}

/* 4 heads of 128 scores for each token, in fp32 and in 16 bits. */
static void test_scores(void **state)
{
    (void)state;
    check(stored(LLAMA, CM_ATTENTION_MATH, CM_RECOMPUTE_NONE), OF_LLAMA + 4 * 2 * WIDTH + 4 * 128 * 6);
}

/* Only the input of each layer. */
static void test_recomputed(void **state)
{
    (void)state;
    check(stored(LLAMA, CM_ATTENTION_MATH, CM_RECOMPUTE_FULL), 2 * WIDTH);
}

/* Layer norms store 12 bytes for each number, GELU five tensors, the next product its operand. Tokens that are no multiple of
   eight are filled up. */
static void test_gpt(void **state)
{
    (void)state;
    check(stored("gpt:layers=4,hidden=256,heads=4,vocab=1000,seq=128,dropout=0,embed_dropout=0,attention_dropout=0", CM_ATTENTION_MATH,
                 CM_RECOMPUTE_NONE),
          2 * (12 + 2) * WIDTH + 6 * 2 * 4 * WIDTH + 4 * 2 * WIDTH + 4 * 128 * 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_kernel), cmocka_unit_test(test_scores),
                                       cmocka_unit_test(test_recomputed), cmocka_unit_test(test_gpt)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
