/* SPDX-License-Identifier: Apache-2.0 */
/* test_diff.c - two answers: changed numbers, matched rows, kernels, figures to which a limit applies, refusals. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "report/report.h"

static cm_diag diag;

#define HEAD "{\"schema\":1,\"command\":\"predict\",\"version\":\"1\","

static void saved(const char *text, char *path)
{
    FILE *file = fdopen(mkstemp(path), "w");
    fputs(text, file);
    fclose(file);
}

static cm_status compared(const char *old, const char *new, double limit, cm__diff_report **r)
{
    char first[] = "/tmp/centimani-old-XXXXXX", second[] = "/tmp/centimani-new-XXXXXX";
    saved(old, first);
    saved(new, second);
    cm_status status = cm__diff_report_new(first, second, limit, r, &diag);
    unlink(first);
    unlink(second);
    return status;
}

static const cm__changed *row_of(const cm__changes *c, const char *name)
{
    for (int32_t i = 0; i < c->count; i++)
        if (strcmp(c->rows[i].name, name) == 0) return &c->rows[i];
    return NULL;
}

static void numbers_and_words(void **state)
{
    (void)state;
    cm__diff_report *r;
    const char *old = HEAD "\"step_time_s\":2,\"same\":1,\"gone\":3,\"fits\":true,\"precision\":\"fp16\",\"stages\":{\"load_s\":1,\"none\":null}}";
    const char *new = "{\"schema\":1,\"command\":\"predict\",\"version\":\"2\",\"step_time_s\":1.5,\"same\":1.0,\"fits\":false,"
                      "\"precision\":\"bf16\",\"stages\":{\"load_s\":9,\"none\":null}}";
    assert_int_equal(compared(old, new, 0, &r), CM_OK);
    assert_int_equal(r->fields.count, 5); /* not `version`, not 1 and 1.0, not null twice */
    const cm__changed *c = row_of(&r->fields, "step_time_s");
    assert_true(c->before == 2 && c->after == 1.5 && fabs(c->change + 0.25) < 1e-12 && c->counts);
    c = row_of(&r->fields, "stages.load_s");
    assert_true(c->change == 8 && !c->counts); /* a detail */
    assert_true(isinf(row_of(&r->fields, "gone")->change) && isnan(row_of(&r->fields, "gone")->after));
    assert_true(row_of(&r->fields, "fits")->counts && !row_of(&r->fields, "precision")->counts);
    assert_string_equal(r->fields.rows[0].name, "gone"); /* the largest first */
    assert_string_equal(r->fields.rows[1].name, "step_time_s");
    assert_string_equal(r->fields.rows[3].name, "stages.load_s"); /* details after figures */
    assert_false(r->exceeded); /* no limit */
    cm__diff_report_free(r);
}

/* Rows of a table are matched by device, whatever their order; operators by name, type and phase. */
static void rows_are_matched(void **state)
{
    (void)state;
    cm__diff_report *r;
    const char *old = HEAD "\"ranking\":[{\"device\":\"a\",\"x\":1},{\"device\":\"b\",\"x\":2}],"
                      "\"ops\":[{\"name\":\"m\",\"type\":\"Gemm\",\"phase\":\"forward\",\"time_s\":1,\"flop\":5},"
                      "{\"name\":\"m\",\"type\":\"Gemm\",\"phase\":\"forward\",\"time_s\":3},"
                      "{\"name\":\"n\",\"type\":\"Add\",\"phase\":\"forward\",\"time_s\":2}]}";
    const char *new = HEAD "\"ranking\":[{\"device\":\"b\",\"x\":2},{\"device\":\"a\",\"x\":1.1},{\"device\":\"c\",\"x\":1}],"
                      "\"ops\":[{\"name\":\"m\",\"type\":\"Gemm\",\"phase\":\"forward\",\"time_s\":1,\"flop\":6},"
                      "{\"name\":\"m\",\"type\":\"Gemm\",\"phase\":\"forward\",\"time_s\":4},"
                      "{\"name\":\"o\",\"type\":\"Add\",\"phase\":\"forward\",\"time_s\":2.5}]}";
    assert_int_equal(compared(old, new, 0, &r), CM_OK);
    const cm__changed *c = row_of(&r->fields, "ranking[a].x");
    assert_true(fabs(c->change - 0.1) < 1e-9 && c->counts);
    assert_null(row_of(&r->fields, "ranking[b].x"));
    assert_non_null(row_of(&r->fields, "ranking[c].x"));
    assert_int_equal(r->kernels.count, 3);
    assert_string_equal(r->kernels.rows[0].name, "o Add forward"); /* 2.5 s more */
    assert_true(isnan(r->kernels.rows[0].before));
    c = row_of(&r->kernels, "m Gemm forward #2");
    assert_true(c->before == 3 && c->after == 4);
    assert_int_equal(r->layers.count, 3);
    cm__diff_report_free(r);
}

/* Kernels of layers that differ by their number alone are summed; a digit inside a word is no number of a layer. */
static void layers_are_summed(void **state)
{
    (void)state;
#define OP(name, time) "{\"name\":\"" name "\",\"type\":\"T\",\"phase\":\"p\",\"time_s\":" time "}"
    cm__diff_report *r;
    const char *old = HEAD "\"ops\":[" OP("h.0.q", "1") "," OP("h.11.q", "2") "," OP("7", "4") "," OP("fc1", "1") "]}";
    const char *new = HEAD "\"ops\":[" OP("h.0.q", "2") "," OP("h.11.q", "4") "," OP("7", "5") "," OP("fc1", "1.5") "]}";
    assert_int_equal(compared(old, new, 0, &r), CM_OK);
    assert_int_equal(r->layers.count, 3);
    const cm__changed *c = &r->layers.rows[0];
    assert_string_equal(c->name, "h.*.q T p");
    assert_true(c->before == 3 && c->after == 6 && c->change == 1);
    assert_non_null(row_of(&r->layers, "* T p"));
    assert_non_null(row_of(&r->layers, "fc1 T p"));
    cm__diff_report_free(r);
}

/* A limit applies to figures in both directions; a changed detail never exceeds it, a lost "fits" always does. */
static void limits(void **state)
{
    (void)state;
    static const struct {
        const char *old, *new;
        bool        exceeded;
    } cases[] = {{"\"a\":100", "\"a\":104.9", false}, {"\"a\":100", "\"a\":105.1", true}, {"\"a\":100", "\"a\":94", true},
                 {"\"a\":{\"b\":1}", "\"a\":{\"b\":9}", false}, {"\"fits\":true", "\"fits\":false", true},
                 {"\"a\":\"x\"", "\"a\":\"y\"", false}, {"\"a\":1", "\"a\":1", false},
                 {"\"ops\":[{\"name\":\"a\",\"time_s\":1}]", "\"ops\":[{\"name\":\"a\",\"time_s\":9}]", false},
                 {"\"points\":[{\"n\":8,\"t\":1}]", "\"points\":[{\"n\":8,\"t\":2}]", true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char             old[256], new[256];
        cm__diff_report *r;
        snprintf(old, sizeof old, HEAD "%s}", cases[i].old);
        snprintf(new, sizeof new, HEAD "%s}", cases[i].new);
        assert_int_equal(compared(old, new, 0.05, &r), CM_OK);
        assert_int_equal(r->exceeded, cases[i].exceeded);
        cm__diff_report_free(r);
    }
}

static void hostile_files(void **state)
{
    (void)state;
    static const char *const bad[] = {"", "no", "[]", "{}", "{\"schema\":1}", "{\"command\":\"predict\"}",
                                      "{\"schema\":\"1\",\"command\":\"predict\"}", "{\"schema\":1,\"command\":[]}"};
    cm__diff_report *r;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_true(compared(bad[i], HEAD "\"a\":1}", 0, &r) != CM_OK);
        assert_true(compared(HEAD "\"a\":1}", bad[i], 0, &r) != CM_OK);
    }
    assert_int_equal(compared(HEAD "\"a\":1}", "{\"schema\":1,\"command\":\"rank\"}", 0, &r), CM_ERR_ARGUMENT);
    assert_non_null(strstr(diag.reason, "rank"));
    assert_int_equal(compared(HEAD "\"a\":1}", "{\"schema\":2,\"command\":\"predict\"}", 0, &r), CM_ERR_ARGUMENT);
    assert_int_equal(compared(HEAD "\"a\":[[[{}]],1,null],\"b\":{\"ops\":[1,[]]}}", HEAD "\"a\":{\"x\":[]},\"b\":[{\"ops\":7}]}", 1, &r), CM_OK);
    cm__diff_report_free(r);
    char deep[2048] = HEAD "\"a\":";
    for (int i = 0; i < 100; i++) strcat(deep, "[");
    for (int i = 0; i < 100; i++) strcat(deep, "]");
    strcat(deep, "}");
    assert_int_equal(compared(deep, HEAD "\"a\":[]}", 0, &r), CM_ERR_LIMIT);
    assert_int_equal(cm__diff_report_new("/nonexistent", "/nonexistent", 0, &r, &diag), CM_ERR_IO);
    cm__diff_report_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(numbers_and_words), cmocka_unit_test(rows_are_matched),
                                       cmocka_unit_test(layers_are_summed),
                                       cmocka_unit_test(limits), cmocka_unit_test(hostile_files)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
