/* SPDX-License-Identifier: Apache-2.0 */
/* test_words.c - shapes as text, and names from model files with unsafe characters replaced. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "graph/graph.h"
#include "report/render.h"

static void clean_text_stays(void **state)
{
    (void)state;
    static const char *const texts[] = {"", "layer1.0/conv", "Gewöhnlich", "注意力", "\xf0\x9f\xa6\x99"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char buf[64];
        strcpy(buf, texts[i]);
        assert_string_equal(cm__make_printable(buf), texts[i]);
    }
}

static void what_steers_a_terminal_goes(void **state)
{
    (void)state;
    static const struct {
        const char *dirty, *clean;
    } cases[] = {
        {"a\033[2Jb", "a?[2Jb"},      /* escape */
        {"a\nb\tc\177", "a?b?c?"},    /* controls */
        {"\xc2\x9b""31m", "??31m"},   /* C1 control */
        {"\xff\xfe", "??"},           /* never in UTF-8 */
        {"\xc0\xaf", "??"},           /* overlong slash */
        {"\xe0\x80\xaf", "???"},      /* overlong, three bytes */
        {"\xed\xa0\x80", "???"},      /* surrogate */
        {"\xf4\x90\x80\x80", "????"}, /* past U+10FFFF */
        {"x\xe6\xb3", "x??"},         /* cut short */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char buf[64];
        strcpy(buf, cases[i].dirty);
        assert_string_equal(cm__make_printable(buf), cases[i].clean);
    }
}

static void doubt_about_memory(void **state)
{
    (void)state;
    cm__ctx      *ctx = cm__ctx_new(NULL);
    cm_memory_use use = {.fits = true, .sure = true, .peak_bytes = 3.0 * (1 << 30)};
    assert_null(cm__unsure(ctx, &use));
    use.n_alternatives = 2;
    use.alternatives[0] = (cm_alternative){"plain loss", CM_OPEN_LOSS, 3.0 * (1 << 30), 3};
    use.alternatives[1] = (cm_alternative){"fused loss", CM_OPEN_LOSS, 1.0 * (1 << 30), 0.25};
    const char *text = cm__unsure(ctx, &use);
    assert_non_null(strstr(text, "plain loss: no, 0 % (peak 3.00 GiB); fused loss: yes, 100 % (peak 1.00 GiB)"));
    assert_non_null(strstr(text, "--loss-kernel"));
    use.alternatives[1].fullness = 2.5; /* all agree */
    assert_null(cm__unsure(ctx, &use));
    assert_string_equal(cm__fits_word(&(cm_chance){.verdict = CM_FITS}), "yes");
    assert_string_equal(cm__fits_word(&(cm_chance){.verdict = CM_UNSURE}), "unsure");
    assert_string_equal(cm__fits_word(&(cm_chance){.verdict = CM_DOES_NOT_FIT}), "no");
    cm__ctx_free(ctx);
}

static void shapes_in_the_batch_size(void **state)
{
    (void)state;
    static const cm_dim dims[] = {{1, 0}, {0, 3}, {2, 0}, {1, 1}, {3, -2}};
    cm__ctx *ctx = cm__ctx_new(NULL);
    assert_string_equal(cm__shape_text(ctx, &(cm_tensor){.dims = dims, .rank = 5}), "Bx3x2Bx(B+1)x(3B-2)");
    assert_string_equal(cm__shape_text(ctx, &(cm_tensor){.rank = 0}), "scalar");
    cm__ctx_free(ctx);
}

static void costs_at_a_batch_size(void **state)
{
    (void)state;
    cm_node       node = {.flop = {{1, 2, 3, 4}}, .read_bytes = {{10}}, .write_bytes = {{0, 1}}};
    cm__node_cost cost = cm__node_cost_at(&node, 10);
    assert_true(cost.flop == 1 + 2 * 10 + 3 * 100 + 4 * 1000);
    assert_true(cost.read_bytes == 10 && cost.write_bytes == 10);
    assert_true(cost.intensity == cost.flop / 20);
    cost = cm__node_cost_at(&(cm_node){0}, 1);
    assert_true(cost.intensity != cost.intensity); /* NAN: unknown, not zero */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clean_text_stays), cmocka_unit_test(what_steers_a_terminal_goes),
        cmocka_unit_test(doubt_about_memory),
        cmocka_unit_test(shapes_in_the_batch_size), cmocka_unit_test(costs_at_a_batch_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
