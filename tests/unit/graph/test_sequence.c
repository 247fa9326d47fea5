/* SPDX-License-Identifier: Apache-2.0 */
/* test_sequence.c - the sequence length of every named model, by its description and by --seq. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "centimani.h"

static int64_t seq_of(const char *model, int64_t asked, bool step)
{
    cm_graph       *forward, *trained = NULL;
    cm_load_options o = {.seq = asked};
    assert_int_equal(cm_graph_load(model, &o, &forward, NULL), CM_OK);
    if (step) assert_int_equal(cm_graph_train(forward, NULL, &trained, NULL), CM_OK);
    int64_t seq = cm_graph_seq(step ? trained : forward);
    cm_graph_free(trained);
    cm_graph_free(forward);
    return seq;
}

static void token_models_have_one(void **state)
{
    (void)state;
    static const struct {
        const char *model;
        int64_t     seq;
    } rows[] = {{"gpt2", 1024}, {"bert:layers=2,hidden=64,heads=2,seq=96", 96},
                {"gpt:layers=2,hidden=64,heads=2,seq=48,vocab=100", 48}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_equal(seq_of(rows[i].model, 0, false), rows[i].seq);
        assert_int_equal(seq_of(rows[i].model, 0, true), rows[i].seq);
        assert_int_equal(seq_of(rows[i].model, 32, false), 32);
    }
}

static void others_have_none(void **state)
{
    (void)state;
    assert_int_equal(seq_of("resnet18", 0, false), 0);
    assert_int_equal(seq_of("resnet18", 0, true), 0);
    assert_int_equal(seq_of("gemm:m=64,n=64,k=64", 0, true), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(token_models_have_one), cmocka_unit_test(others_have_none)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
