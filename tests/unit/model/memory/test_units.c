/* SPDX-License-Identifier: Apache-2.0 */
/* test_units.c - the units that FSDP gathers, counted by hand. */
#include "memory_case.h"
#include "model/memory/footprint.h"

static cm__units units_of(const char *model, cm_precision precision)
{
    cm_graph *step = step_of(model, precision, CM_OPTIMIZER_ADAMW);
    cm__ctx  *ctx = cm__ctx_new(NULL);
    cm__units units = cm__units_of(ctx, step);
    cm__ctx_free(ctx);
    cm_graph_free(step);
    return units;
}

/* Two units are gathered at once: here the last layer, and the norm with the logits' weight. */
static void test_layers(void **state)
{
    const double layer = 4 * 64 * 64 + 3 * 64 * 128 + 2 * 64, last = 64 + 1000 * 64;
    (void)state;
    cm__units u = units_of("llama:layers=3,hidden=64,heads=4,ffn=128,vocab=1000,seq=16", CM_PRECISION_FP32);
    near(u.gathered_bytes, 4 * (layer + last), 0);
    near(u.gradient_bytes, 4 * last, 0);
    u = units_of("llama:layers=3,hidden=64,heads=4,ffn=128,vocab=1000,seq=16", CM_PRECISION_BF16);
    near(u.gathered_bytes, 2 * (layer + last), 0);
}

/* A tied table is gathered for the embedding and for the logits, and counts in both units. */
static void test_tied(void **state)
{
    const double layer = 4 * 64 * 64 + 3 * 64 * 128 + 2 * 64, table = 1000 * 64;
    (void)state;
    cm__units u = units_of("llama:layers=3,hidden=64,heads=4,ffn=128,vocab=1000,tied=1,seq=16", CM_PRECISION_FP32);
    near(u.gathered_bytes, 4 * (layer + 64 + table), 0);
}

static void test_without_layers(void **state)
{
    (void)state;
    cm__units u = units_of("mlp:in=784,hidden=512x256,out=10", CM_PRECISION_FP32);
    near(u.gathered_bytes, 2 * 4 * 784 * 512, 0);
    near(u.gradient_bytes, 4 * 784 * 512, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_layers), cmocka_unit_test(test_tied),
                                       cmocka_unit_test(test_without_layers)};
    return cmocka_run_group_tests(tests, begin, end);
}
