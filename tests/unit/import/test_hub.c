/* SPDX-License-Identifier: Apache-2.0 */
/* test_hub.c - names of huggingface.co, the folder of its cache, and the config.json that is found there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utime.h>
#include <cmocka.h>
#include "base/text.h"
#include "import/import.h"

static const char *const variables[] = {"HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HOME", "XDG_CACHE_HOME", "HOME"};
#define VARIABLES (sizeof variables / sizeof *variables)

static cm__ctx *ctx;
static char     root[] = "/tmp/centimani-hub-XXXXXX";
static char    *before[VARIABLES];

static int set_up(void **state)
{
    (void)state;
    for (size_t i = 0; i < VARIABLES; i++) {
        before[i] = getenv(variables[i]) ? strdup(getenv(variables[i])) : NULL;
        unsetenv(variables[i]);
    }
    ctx = cm__ctx_new(NULL);
    return !ctx || !mkdtemp(root);
}

static int tear_down(void **state)
{
    (void)state;
    int code = system(cm__format(ctx, "rm -rf '%s'", root));
    for (size_t i = 0; i < VARIABLES; i++) {
        if (before[i]) setenv(variables[i], before[i], 1);
        else unsetenv(variables[i]);
        free(before[i]);
    }
    cm__ctx_free(ctx);
    return code;
}

static void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

/* A snapshot with a config.json, written at a time; its path. */
static const char *snapshot(const char *folder, const char *name, time_t written)
{
    const char *path = cm__format(ctx, "%s/%s/snapshots/%s", root, folder, name);
    assert_int_equal(system(cm__format(ctx, "mkdir -p '%s'", path)), 0);
    path = cm__format(ctx, "%s/config.json", path);
    write_text(path, "{}");
    assert_int_equal(utime(path, &(struct utimbuf){written, written}), 0);
    return path;
}

static void names(void **state)
{
    static const char *const are[] = {"meta-llama/Llama-3.1-8B", "gpt2", "a/b_c.d"};
    static const char *const are_not[] = {"", "/b", "a/", "a/b/c", "../b", "a/..", "a/.b", ".a/b", "a--b/c", "a b/c", "a/b\n",
                                          "gpt:layers=1"};
    char long_one[256];
    (void)state;
    for (size_t i = 0; i < sizeof are / sizeof *are; i++) assert_true(cm__is_hub_name(are[i]));
    for (size_t i = 0; i < sizeof are_not / sizeof *are_not; i++)
        if (cm__is_hub_name(are_not[i])) fail_msg("'%s' is taken for a repository", are_not[i]);
    memset(long_one, 'a', sizeof long_one);
    long_one[192] = 0;
    assert_true(cm__is_hub_name(long_one));
    long_one[192] = 'a';
    long_one[193] = 0;
    assert_false(cm__is_hub_name(long_one));
}

/* The first variable that is set decides, as in huggingface_hub. */
static void caches(void **state)
{
    (void)state;
    assert_null(cm__hub_cache(ctx));
    assert_null(cm__hub_config(ctx, "lab/tiny"));
    setenv("HOME", "/h", 1);
    assert_string_equal(cm__hub_cache(ctx), "/h/.cache/huggingface/hub");
    setenv("XDG_CACHE_HOME", "/x", 1);
    assert_string_equal(cm__hub_cache(ctx), "/x/huggingface/hub");
    setenv("HF_HOME", "/f", 1);
    assert_string_equal(cm__hub_cache(ctx), "/f/hub");
    setenv("HUGGINGFACE_HUB_CACHE", "/g", 1);
    assert_string_equal(cm__hub_cache(ctx), "/g");
    setenv("HF_HUB_CACHE", "/c", 1);
    assert_string_equal(cm__hub_cache(ctx), "/c");
    setenv("HF_HUB_CACHE", "", 1); /* as if it were not set */
    assert_string_equal(cm__hub_cache(ctx), "/g");
    assert_string_equal(cm__hub_folder(ctx, "lab/tiny"), "models--lab--tiny");
    assert_string_equal(cm__hub_folder(ctx, "gpt2"), "models--gpt2");
}

static void configs(void **state)
{
    (void)state;
    setenv("HF_HUB_CACHE", root, 1);
    assert_null(cm__hub_config(ctx, "lab/tiny"));
    const char *old = snapshot("models--lab--tiny", "aaa", 1000), *new = snapshot("models--lab--tiny", "bbb", 2000);
    const char *same = snapshot("models--lab--tiny", "abc", 2000);
    assert_string_equal(cm__hub_config(ctx, "lab/tiny"), same); /* as new as bbb, and before it */
    assert_int_equal(mkdir(cm__format(ctx, "%s/models--lab--tiny/refs", root), 0700), 0);
    const char *ref = cm__format(ctx, "%s/models--lab--tiny/refs/main", root);
    write_text(ref, "aaa\n");
    assert_string_equal(cm__hub_config(ctx, "lab/tiny"), old);
    write_text(ref, "bbb");
    assert_string_equal(cm__hub_config(ctx, "lab/tiny"), new);
    write_text(ref, "../../elsewhere"); /* no name of a snapshot */
    assert_string_equal(cm__hub_config(ctx, "lab/tiny"), same);
    write_text(ref, "ccc"); /* a snapshot that is not there */
    assert_string_equal(cm__hub_config(ctx, "lab/tiny"), same);
    assert_null(cm__hub_config(ctx, "lab/other"));
    assert_null(cm__hub_config(ctx, "../models--lab--tiny"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(names), cmocka_unit_test(caches), cmocka_unit_test(configs)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
