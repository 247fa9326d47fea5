/* SPDX-License-Identifier: Apache-2.0 */
/* test_html.c - text from a model file cannot become markup or end a script. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include "report/html/html.h"

static char *written(void (*write)(cm__ctx *ctx, FILE *out, const char *text), const char *text)
{
    char    *got;
    size_t   size;
    FILE    *out = open_memstream(&got, &size);
    cm__ctx *ctx = cm__ctx_new(NULL);
    write(ctx, out, text);
    cm__ctx_free(ctx);
    fclose(out);
    return got;
}

static void test_text(void **state)
{
    (void)state;
    char *got = written(cm__html_text, "<b a=\"1\" b='2'>&\x01</b>");
    assert_string_equal(got, "&lt;b a=&quot;1&quot; b=&#39;2&#39;&gt;&amp;?&lt;/b&gt;");
    free(got);
}

static void write_data(cm__ctx *ctx, FILE *out, const char *text)
{
    json_t *data = json_pack("{s:s}", "name", text);
    cm__html_data(ctx, out, data);
    json_decref(data);
}

static void test_data(void **state)
{
    (void)state;
    char *got = written(write_data, "</script><!--<script>");
    assert_string_equal(got, "<script type=\"application/json\" id=\"data\">"
                             "{\"name\":\"\\u003c/script>\\u003c!--\\u003cscript>\"}</script>\n");
    free(got);
}

static void test_files(void **state)
{
    (void)state;
    assert_non_null(cm__web_file_named("style.css"));
    assert_null(cm__web_file_named("../style.css"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_text), cmocka_unit_test(test_data),
                                       cmocka_unit_test(test_files)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
