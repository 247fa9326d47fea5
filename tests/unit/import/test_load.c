/* SPDX-License-Identifier: Apache-2.0 */
/* test_load.c - the importer chosen for a spec, and files of no known format. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>
#include "graph/graph.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static char folder[64];

static int make_folder(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/cm_load_XXXXXX");
    return mkdtemp(folder) ? chdir(folder) : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    static const char *const left[] = {"a.json", "model/config.json", "model", "empty.onnx", "fifo", "text.onnx",
                                       "spaces.json", "gpt2", "run.cmt.json", "nothing", "resnet18"};
    for (size_t i = 0; i < COUNT(left); i++) remove(left[i]);
    return chdir("/") || rmdir(folder);
}

static void write_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static cm_graph *loaded(const char *spec, const cm_load_options *options)
{
    cm_graph *g = NULL;
    cm_diag   diag;
    if (cm_graph_load(spec, options, &g, &diag) != CM_OK) fail_msg("%s: %s: %s", spec, diag.place, diag.reason);
    return g;
}

static void assert_refused(const char *spec, cm_status status, const char *file, const char *reason)
{
    cm_graph *g = NULL;
    cm_diag   diag;
    cm_status got = cm_graph_load(spec, NULL, &g, &diag);
    if (got != status || strcmp(diag.file, file) || !strstr(diag.reason, reason))
        fail_msg("%s: status %d, said '%s: %s: %s'", spec, got, diag.file, diag.place, diag.reason);
    assert_null(g); /* written only on success */
}

/* ---- ways in ----------------------------------------------------------------------------------------------------- */

static void each_spec_takes_its_way(void **state)
{
    (void)state;
    static const struct {
        const char *spec, *source, *name;
    } rows[] = {
        {"gemm:m=1,n=2,k=3", "description", "gemm:m=1,n=2,k=3"},
        {"a.json", "config", "a.json"},
        {"./a.json", "config", "a.json"},
        {"spaces.json", "config", "spaces.json"},
        {"model", "config", "config.json"},
        {"model/", "config", "config.json"},
        {"gpt2-xl", "named", "gpt2-xl"},
        {"GPT2_XL", "named", "gpt2-xl"},
        {"resnet18", "named", "resnet18"}, /* although there is a directory of that name */
        {"gpt2", "config", "gpt2"}, /* a file has precedence over the named model */
    };
    write_file("a.json", "{\"model_type\":\"gpt2\",\"n_layer\":1}");
    write_file("gpt2", "{\"model_type\":\"gpt2\",\"n_layer\":1}");
    write_file("spaces.json", " \n\t {\"model_type\":\"gpt2\",\"n_layer\":1}");
    assert_int_equal(mkdir("model", 0700), 0);
    assert_int_equal(mkdir("resnet18", 0700), 0);
    write_file("model/config.json", "{\"model_type\":\"bert\",\"num_hidden_layers\":1}");
    for (size_t i = 0; i < COUNT(rows); i++) {
        cm_graph *g = loaded(rows[i].spec, NULL);
        assert_string_equal(cm_graph_source(g), rows[i].source);
        assert_string_equal(cm_graph_name(g), rows[i].name);
        cm_graph_free(g);
    }
}

static void options_are_passed_on(void **state)
{
    (void)state;
    cm_load_options shorter = {.seq = 128}, plain = {.fuse = CM_FUSE_NONE};
    cm_graph       *g = loaded("bert-large", &shorter);
    assert_true(cm__dim_is(cm__t(g, g->inputs[0])->dims[1], 128));
    cm_graph_free(g);
    cm_graph *fused = loaded("gpt2-small", NULL), *written = loaded("gpt2-small", &plain);
    assert_true(cm_graph_nodes(fused) < cm_graph_nodes(written)); /* GELU is eight operators in GPT-2's code */
    assert_int_equal(cm_graph_nodes_read(fused), cm_graph_nodes_read(written));
    cm_graph_free(fused);
    cm_graph_free(written);
}

/* ---- no way in --------------------------------------------------------------------------------------------------- */

static void what_is_no_file_is_refused(void **state)
{
    (void)state;
    write_file("empty.onnx", "");
    write_file("run.cmt.json", "{}");
    write_file("text.onnx", "this is not a protobuf message, whatever its name says");
    assert_int_equal(mkfifo("fifo", 0600), 0);
    assert_int_equal(mkdir("nothing", 0700), 0);
    assert_refused("empty.onnx", CM_ERR_FORMAT, "empty.onnx", "empty");
    assert_refused("fifo", CM_ERR_IO, "fifo", "regular file");
    assert_refused("/dev/null", CM_ERR_IO, "/dev/null", "regular file");
    assert_refused("nothing", CM_ERR_IO, "nothing", "config.json");
    assert_refused("run.cmt.json", CM_ERR_FORMAT, "run.cmt.json", "not a trace");
    assert_refused("missing.onnx", CM_ERR_IO, "missing.onnx", "No such file");
    assert_refused("far/away/there", CM_ERR_IO, "far/away/there", "No such file");
    assert_refused("far/away", CM_ERR_UNKNOWN, "", "hf download far/away"); /* the name of a repository */
    assert_refused("text.onnx", CM_ERR_FORMAT, "text.onnx", "");
}

static void what_nobody_knows_is_refused(void **state)
{
    (void)state;
    assert_refused("resnet5O", CM_ERR_UNKNOWN, "", "did you mean 'resnet50'?");
    assert_refused("zzz", CM_ERR_UNKNOWN, "", "`centimani models`");
    assert_refused("", CM_ERR_UNKNOWN, "", "neither");
    assert_refused("gtp:layers=1", CM_ERR_UNKNOWN, "", "did you mean 'gpt'?");
}

static void missing_arguments_are_refused(void **state)
{
    (void)state;
    cm_graph *g = NULL;
    assert_int_equal(cm_graph_load(NULL, NULL, &g, NULL), CM_ERR_ARGUMENT);
    assert_int_equal(cm_graph_load("gpt2", NULL, NULL, NULL), CM_ERR_ARGUMENT);
    assert_int_equal(cm_graph_load("zzz", NULL, &g, NULL), CM_ERR_UNKNOWN); /* without a diag */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_spec_takes_its_way),
        cmocka_unit_test(options_are_passed_on),
        cmocka_unit_test(what_is_no_file_is_refused),
        cmocka_unit_test(what_nobody_knows_is_refused),
        cmocka_unit_test(missing_arguments_are_refused),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
