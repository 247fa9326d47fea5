/* SPDX-License-Identifier: Apache-2.0 */
/* test_text.c - parsing and formatting of numbers and names. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "base/text.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static void whole_numbers(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t     value;
    } good[] = {{"0", 0}, {"-7", -7}, {"9223372036854775807", INT64_MAX}, {"-9223372036854775808", INT64_MIN}};
    for (size_t i = 0; i < COUNT(good); i++) {
        int64_t n;
        assert_true(cm__parse_int(cm__span_of(good[i].text), &n));
        assert_true(n == good[i].value);
    }
}

static void no_whole_numbers(void **state)
{
    (void)state;
    static const char *const bad[] = {"", " 1", "1 ", "1.0", "1e3", "0x10", "one", "-", "9223372036854775808", "1\n2"};
    int64_t n = 42;
    for (size_t i = 0; i < COUNT(bad); i++) assert_false(cm__parse_int(cm__span_of(bad[i]), &n));
    assert_false(cm__parse_int((cm__span){"1\0002", 3}, &n)); /* a zero byte does not end the text */
    assert_int_equal(n, 42);
}

static void a_span_ends_before_its_text(void **state)
{
    (void)state;
    int64_t n;
    assert_true(cm__parse_int((cm__span){"12345", 3}, &n));
    assert_int_equal(n, 123);
}

static void real_numbers(void **state)
{
    (void)state;
    double x;
    assert_true(cm__parse_real(cm__span_of("2.5e-1"), &x));
    assert_true(x == 0.25);
    static const char *const bad[] = {"", "nan", "inf", "1e999", "1,5", "1.0x"};
    for (size_t i = 0; i < COUNT(bad); i++) assert_false(cm__parse_real(cm__span_of(bad[i]), &x));
}

static void prefixes(void **state)
{
    (void)state;
    char buf[32];
    assert_string_equal(cm__si(buf, sizeof buf, 0), "0 ");
    assert_string_equal(cm__si(buf, sizeof buf, 999), "999 ");
    assert_string_equal(cm__si(buf, sizeof buf, 1000), "1.00 k");
    assert_string_equal(cm__si(buf, sizeof buf, 4.089e9), "4.09 G");
    assert_string_equal(cm__si(buf, sizeof buf, 999999), "1.00 M"); /* never "1000 k" */
    assert_string_equal(cm__si(buf, sizeof buf, 0.5), "0.50 ");
    assert_string_equal(cm__si(buf, sizeof buf, -25.5e6), "-25.5 M");
    assert_string_equal(cm__si(buf, sizeof buf, 5e21), "5000 E"); /* the last prefix */
    assert_string_equal(cm__binary(buf, sizeof buf, 1024.0 * 1024 * 97.5), "97.5 Mi");
}

static void thousands(void **state)
{
    (void)state;
    char buf[32];
    assert_string_equal(cm__grouped(buf, sizeof buf, 0), "0");
    assert_string_equal(cm__grouped(buf, sizeof buf, 999), "999");
    assert_string_equal(cm__grouped(buf, sizeof buf, 25557032), "25,557,032");
    assert_string_equal(cm__grouped(buf, sizeof buf, -100000), "-100,000");
    assert_string_equal(cm__grouped(buf, sizeof buf, INT64_MAX), "9,223,372,036,854,775,807");
}

static void names_that_were_meant(void **state)
{
    (void)state;
    static const char *const names[] = {"resnet18", "resnet50", "vgg16"};
    char long_name[512];
    memset(long_name, 'r', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = 0;
    assert_string_equal(cm__nearest("resnt50", names, 3), "resnet50");
    assert_string_equal(cm__nearest("vgg-16", names, 3), "vgg16");
    assert_null(cm__nearest("llama", names, 3));
    assert_null(cm__nearest(long_name, names, 3));
    assert_null(cm__nearest("resnet50", names, 0));
}

static void below_one(void **state)
{
    (void)state;
    char buf[32];
    assert_string_equal(cm__si_small(buf, sizeof buf, 2.2e-6), "2.20 u");
    assert_string_equal(cm__si_small(buf, sizeof buf, 0.0155), "15.5 m");
    assert_string_equal(cm__si_small(buf, sizeof buf, 0.9999e-3), "1.00 m");
    char plain[32];
    assert_string_equal(cm__si_small(buf, sizeof buf, NAN), cm__si(plain, sizeof plain, NAN));
    assert_string_equal(cm__si(buf, sizeof buf, NAN), "- ");
    assert_string_equal(cm__si(buf, sizeof buf, -INFINITY), "- ");
    assert_string_equal(cm__binary(buf, sizeof buf, INFINITY), "- ");
    assert_string_equal(cm__cell(buf, sizeof buf, INFINITY), "-");
    assert_string_equal(cm__si_small(buf, sizeof buf, 4e-10), "400 p");
    assert_string_equal(cm__si_small(buf, sizeof buf, 3.2e9), "3.20 G");
}

static void cells_have_three_digits(void **state)
{
    static const struct {
        double      value;
        const char *text;
    } cases[] = {{1.5678, "1.57"}, {9.996, "10.0"},   {99.96, "100"},    {99999, "99999"}, {125000, "125 k"},
                 {0.0451, "0.05"}, {0.002814, "2.81 m"}, {2.81e-4, "281 u"}, {0, "0.00"},      {-3.2e6, "-3.20 M"}};
    char buf[32];
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(cm__cell(buf, sizeof buf, cases[i].value), cases[i].text);
}

static void spellings_of_one_name(void **state)
{
    (void)state;
    assert_true(cm__same_name("bert_large", "BERT-Large"));
    assert_true(cm__same_name("", ""));
    assert_false(cm__same_name("bert", "bert-large"));
    assert_false(cm__same_name("bert-large", "bert"));
}

static void amounts(void **state)
{
    (void)state;
    static const struct {
        double      value;
        const char *text;
    } all[] = {{640, "640"}, {0.5, "0.5"}, {50000, "50,000"}, {999400, "999,400"}, {999500, "1 million"},
               {1281167, "1.28 million"}, {3e11, "300 billion"}, {1e12, "1 trillion"}, {1e16, "1e+16"}};
    char buf[32];
    for (size_t i = 0; i < COUNT(all); i++) assert_string_equal(cm__amount(buf, sizeof buf, all[i].value), all[i].text);
}

static void durations(void **state)
{
    (void)state;
    char buf[32];
    assert_string_equal(cm__duration(buf, sizeof buf, 60, 60, 3), "60 s");
    assert_string_equal(cm__duration(buf, sizeof buf, 2225, 2225, 3), "37.1 min");
    assert_string_equal(cm__duration(buf, sizeof buf, 2225, 2225, 4), "37.08 min");
    assert_string_equal(cm__duration(buf, sizeof buf, 5400, 5400, 3), "1.5 h");
    assert_string_equal(cm__duration(buf, sizeof buf, 3600, 7200, 3), "1 h"); /* in the unit of the other one */
    assert_string_equal(cm__duration(buf, sizeof buf, 1334 * 86400.0, 1e9, 3), "1334 days");
}

static void joined_texts(void **state)
{
    char buf[8] = "xxxxxxx";
    (void)state;
    cm__join(buf, sizeof buf, "bf16", ">", "fp32", NULL); /* one letter too many */
    assert_string_equal(buf, "bf16>fp");
    cm__join(buf, sizeof buf, "", "a", "", NULL);
    assert_string_equal(buf, "a");
    assert_int_equal(buf[2], '1'); /* nothing behind the end is written */
    cm__join(buf, 1, "a", NULL);
    assert_string_equal(buf, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_numbers), cmocka_unit_test(no_whole_numbers),
        cmocka_unit_test(a_span_ends_before_its_text), cmocka_unit_test(real_numbers),
        cmocka_unit_test(prefixes), cmocka_unit_test(thousands), cmocka_unit_test(names_that_were_meant),
        cmocka_unit_test(below_one), cmocka_unit_test(spellings_of_one_name),
        cmocka_unit_test(cells_have_three_digits), cmocka_unit_test(joined_texts),
        cmocka_unit_test(amounts), cmocka_unit_test(durations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
