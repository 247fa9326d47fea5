/* SPDX-License-Identifier: Apache-2.0 */
/* test_plan_divisors.c - plans must divide heads, tokens and experts; the refusal names the sizes that do. */
#include "graph/plan/counts.h"
#include "graph_builder.h"

static void check(const char *model, cm_plan plan)
{
    cm_graph *forward;
    assert_int_equal(cm_graph_load(model, NULL, &forward, NULL), CM_OK);
    cm_status expected = cm__plan_divides(forward, &plan) ? CM_OK : CM_ERR_ARGUMENT;
    cm__defer(ctx, (void (*)(void *))cm_graph_free, forward);
    cm__plan_check(ctx, forward, &plan);
    assert_int_equal(expected, CM_OK); /* both functions agree */
}

#define GPT "gpt:layers=1,hidden=96,heads=12,seq=30,vocab=64"

TEST(heads)
{
    for (int tp = 1; tp <= 12; tp++)
        if (12 % tp == 0) check(GPT, (cm_plan){.tp = tp});
    REFUSES(ARGUMENT, "--tp 8 does not divide the 12 attention heads: --tp 1, 2, 3, 4, 6 or 12 does",
            (check(GPT, (cm_plan){.tp = 8}), 0));
}

/* Keys and values of grouped heads are divided, or copied to several devices. */
TEST(grouped_heads)
{
    const char *llama = "llama:layers=1,hidden=96,heads=12,kv_heads=4,ffn=64,seq=32,vocab=64";
    check(llama, (cm_plan){.tp = 2});
    check(llama, (cm_plan){.tp = 12});
    REFUSES(ARGUMENT, "the 4 heads of keys and values", (check(llama, (cm_plan){.tp = 6}), 0));
}

/* Under a causal mask every device has two parts of the sequence: 30 tokens are not divided into 4, but 15 x 2 are. */
TEST(tokens)
{
    check(GPT, (cm_plan){.cp = 3});
    check(GPT, (cm_plan){.cp = 15});
    REFUSES(ARGUMENT, "--cp 2 does not divide the 30 tokens", (check(GPT, (cm_plan){.cp = 2}), 0));
    check("bert:layers=1,hidden=96,heads=12,seq=30,vocab=64", (cm_plan){.cp = 2}); /* no mask */
    REFUSES(ARGUMENT, "no attention", (check("resnet18", (cm_plan){.cp = 2}), 0));
}

TEST(experts)
{
    const char *moe = "mixtral:layers=1,hidden=64,heads=4,kv_heads=4,ffn=64,seq=16,vocab=64,experts=8,top_k=2";
    check(moe, (cm_plan){.ep = 4});
    REFUSES(ARGUMENT, "--ep 3 does not divide the 8 experts: --ep 1, 2, 4 or 8 does",
            (check(moe, (cm_plan){.ep = 3}), 0));
    REFUSES(ARGUMENT, "no experts", (check(GPT, (cm_plan){.ep = 2}), 0));
}

TEST(convolutions_are_not_divided)
{
    REFUSES(UNSUPPORTED, "--dp divides its samples", (check("resnet18", (cm_plan){.tp = 2}), 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(heads), cmocka_unit_test(grouped_heads),
                                       cmocka_unit_test(tokens), cmocka_unit_test(experts),
                                       cmocka_unit_test(convolutions_are_not_divided)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
