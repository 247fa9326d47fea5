/* SPDX-License-Identifier: Apache-2.0 */
/* test_cases.c - files of calls: rows of sizes, calls that a prediction misses, and refusals with their place. */
#include "bench_case.h"
#include "profile_texts.h"

static char    texts[8][128];
static int32_t taken;

static void take(void *user, const cm__call *call)
{
    (void)user;
    assert_in_range(taken, 0, 7);
    cm__call_text(call, texts[taken++], sizeof texts[0]);
}

/* A file, with single quotes for readability. */
static void parse(const char *text)
{
    char *quoted = cm__text_copy(b->ctx, text);
    for (char *c = quoted; *c; c++)
        if (*c == '\'') *c = '"';
    taken = 0;
    cm__cases_parse(b->ctx, quoted, strlen(quoted), take, NULL);
}

#define CASES(entry) "{'schema': 1, 'cases': [" entry "]}"
#define GEMM(more) "{'op': 'gemm', 'pass': 'forward', 'variant': 'nn', 'dtype': 'fp32'" more "}"

TEST(rows_of_sizes)
{
    parse(CASES(GEMM(", 'rows': [[1, 2, 3, 4], [5, 6, 7, 0]]") ", {'op': 'softmax', 'pass': 'backward', 'dtype': 'bf16',"
                " 'dims': ['rows', 'cols'], 'rows': [[8, 1099511627776]]}"));
    assert_int_equal(taken, 3);
    assert_string_equal(texts[0], "gemm forward nn fp32 1,2,3,4");
    assert_string_equal(texts[1], "gemm forward nn fp32 5,6,7,0");
    assert_string_equal(texts[2], "softmax backward - bf16 8,1099511627776");
    parse(CASES(GEMM(", 'rows': []")));
    assert_int_equal(taken, 0);
    parse("{'schema': 1, 'cases': []}");
    assert_int_equal(taken, 0);
}

TEST(calls_that_a_prediction_misses)
{
    parse("{'schema': 1, 'missing': [{'call': 'gemm forward nt fp32 1,64,64,64', 'time_s': 1}]}");
    assert_int_equal(taken, 1);
    assert_string_equal(texts[0], "gemm forward nt fp32 1,64,64,64");
}

static const struct {
    const char *text, *place, *reason;
} refused[] = {
    {"{'cases': []}", "", "no list of cases"},
    {"{'schema': 2, 'cases': []}", "", "no list of cases"},
    {"{'schema': 1}", "", "no list of cases"},
    {"{'schema': 1, 'cases': {}}", "", "no list of cases"},
    {CASES("{'op': 'gem', 'pass': 'forward', 'dtype': 'fp32', 'rows': []}"), "case 1", "no call 'gem'"},
    {CASES("{'op': 'gemm', 'pass': 'up', 'dtype': 'fp32', 'rows': []}"), "case 1", "no pass 'up'"},
    {CASES("{'op': 'gemm', 'pass': 'forward', 'rows': []}"), "case 1", "'dtype' must be one word"},
    {CASES("{'op': 'gemm', 'pass': 'forward', 'dtype': '', 'rows': []}"), "case 1", "'dtype' must be one word"},
    {CASES("{'op': 'gemm', 'pass': 'forward', 'dtype': 'a b', 'rows': []}"), "case 1", "'dtype' must be one word"},
    {CASES("{'op': 7, 'pass': 'forward', 'dtype': 'fp32', 'rows': []}"), "case 1", "'op' must be one word"},
    {CASES("{'op': 'gemm', 'pass': 'forward', 'dtype': 'fp32', 'variant': 'more-than-thirty-one-letters-long'}"),
     "case 1", "'variant' must be one word of at most 31 letters"},
    {CASES(GEMM("")), "case 1", "'rows' must be an array"},
    {CASES(GEMM(", 'rows': [[1, 2, 3]]")), "case 1", "a row of 'gemm' must have 4 sizes"},
    {CASES(GEMM(", 'rows': [7]")), "case 1", "must have 4 sizes"},
    {CASES(GEMM(", 'rows': []") ", " GEMM(", 'rows': [[1, 2, 3, -4]]")), "case 2", "'k' must be a whole number"},
    {CASES(GEMM(", 'rows': [[1, 2, 3.5, 4]]")), "case 1", "'n' must be a whole number"},
    {CASES(GEMM(", 'rows': [[1, 2, 3, 1099511627777]]")), "case 1", "from 0 to 2^40"},
    {CASES(GEMM(", 'dims': ['m', 'n', 'k'], 'rows': []")), "case 1", "'dims' must be the sizes of 'gemm'"},
    {CASES(GEMM(", 'dims': ['batch', 'n', 'm', 'k'], 'rows': []")), "case 1", "'dims' must be"},
    {"{'schema': 1, 'missing': [{'call': 'gemm forward'}]}", "missing call 1", "'call' must be a text"},
    {"{'schema': 1, 'missing': [7]}", "missing call 1", "'call' must be a text"},
};

TEST(refusals)
{
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        REFUSES(FORMAT, refused[i].reason, parse(refused[i].text));
        if (strcmp(diag.place, refused[i].place)) fail_msg("%s: at '%s'", refused[i].text, diag.place);
        cm__place(b->ctx, "%s", "");
    }
}

/* Calls of a file are cases; those that the backend cannot run are skipped. */
TEST(a_file)
{
    write_file("cases.json", "{\"schema\": 1, \"cases\": [{\"op\": \"gemm\", \"pass\": \"forward\", \"variant\": \"nn\", "
                             "\"dtype\": \"fp32\", \"rows\": [[1, 2, 3, 4]]}, {\"op\": \"gemm\", \"pass\": \"forward\", "
                             "\"variant\": \"nn\", \"dtype\": \"fp64\", \"rows\": [[1, 2, 3, 4]]}]}");
    cm__add_cases_of_file(b, file_named("cases.json"));
    assert_int_equal(b->n_cases, 2);
    assert_null(result("gemm forward nn fp32 1,2,3,4")->skipped);
    assert_non_null(result("gemm forward nn fp64 1,2,3,4")->skipped);
    assert_string_equal(b->rows[0].suite, "cases");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_of_sizes), cmocka_unit_test(calls_that_a_prediction_misses), cmocka_unit_test(refusals),
        cmocka_unit_test(a_file),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
