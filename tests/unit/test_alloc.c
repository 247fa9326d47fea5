/* SPDX-License-Identifier: Apache-2.0 */
/* test_alloc.c - for each n, the n-th allocation fails: the call reports it, leaks nothing, and works the next time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>
#include "base/ctx.h"

static long until_failure; /* allocations that still succeed; negative: all */

static void *failing_alloc(size_t count, size_t size)
{
    if (until_failure == 0) return NULL;
    if (until_failure > 0) until_failure--;
    return calloc(count, size);
}

static cm_status load_and_train(const char *model, cm_diag *diag)
{
    cm_graph *forward, *step;
    cm_status status = cm_graph_load(model, &(cm_load_options){0}, &forward, diag);
    if (status) return status;
    status = cm_graph_train(forward, &(cm_train_options){0}, &step, diag);
    cm_graph_free(forward);
    if (status) return status;
    cm_graph_free(step);
    return CM_OK;
}

static cm_status load_device(const char *id, cm_diag *diag)
{
    cm_device *device;
    cm_status  status = cm_device_load(id, &device, diag);
    if (status == CM_OK) cm_device_free(device);
    return status;
}

static cm_status use_memory(const cm_graph *step, const cm_device *device, cm_diag *diag)
{
    cm_footprint   *footprint;
    cm_batch_choice choice;
    cm_status       status = cm_footprint_new(step, device, NULL, &footprint, diag);
    if (status) return status;
    int64_t          tried[] = {1, 8};
    cm_batch_options o = {.candidates = tried, .n_candidates = 2};
    status = cm_batch_choose(footprint, &o, &choice, diag);
    cm_footprint_free(footprint);
    return status;
}

static cm_graph  *ready_step;
static cm_device *ready_device;

static cm_status footprint_and_batch(const char *unused, cm_diag *diag)
{
    (void)unused;
    return use_memory(ready_step, ready_device, diag);
}

static cm_status predict_step(const char *unused, cm_diag *diag)
{
    cm_prediction *prediction;
    (void)unused;
    cm_status status = cm_predict(ready_step, ready_device, &(cm_predict_options){.batch = 4}, &prediction, diag);
    if (status == CM_OK) cm_prediction_free(prediction);
    return status;
}

/* One device runs kernel by kernel and cannot fit the batch; the other has its own execution model. */
static cm_status rank_some(const char *model, cm_diag *diag)
{
    cm_rank_options o = {.devices = "nvidia-t4,graphcore-bow", .threads = 1, .batch = 1000000};
    cm_ranking     *ranking;
    cm_status       status = cm_rank(model, &o, &ranking, diag);
    if (status == CM_OK) cm_ranking_free(ranking);
    return status;
}

static cm_status check_tables(const char *unused, cm_diag *diag)
{
    cm_fitting *fitting;
    (void)unused;
    cm_status status = cm_fitting_check_tables(ready_device, &fitting, diag);
    if (status == CM_OK) cm_fitting_free(fitting);
    return status;
}

static void fail_each_allocation(cm_status (*call)(const char *, cm_diag *), const char *argument)
{
    cm_diag   diag;
    cm_status status = CM_ERR_MEMORY;
    long      n = 0;
    cm__chunk_alloc = failing_alloc;
    for (; status != CM_OK; n++) {
        until_failure = n;
        status = call(argument, &diag);
        if (status == CM_OK) break;
        assert_int_equal(status, CM_ERR_MEMORY);
        assert_int_not_equal(diag.reason[0], 0);
        assert_in_range(n, 0, 100000);
    }
    assert_in_range(n, 2, 100000); /* each call allocates its context and more */
    cm__chunk_alloc = calloc;
    assert_int_equal(call(argument, &diag), CM_OK);
}

static void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void captured(void **state)
{
    static const char text[] =
        "{\"schema\":1,\"kind\":\"trace\",\"name\":\"small\",\"loss\":-1,\"outputs\":[4],\"tensors\":["
        "{\"dims\":[[1,0],3],\"dtype\":\"fp32\",\"storage\":0,\"role\":\"input\"},"
        "{\"dims\":[3,5],\"dtype\":\"fp32\",\"storage\":1,\"role\":\"parameter\"},"
        "{\"dims\":[[1,0],5],\"dtype\":\"fp32\",\"storage\":2},{\"dims\":[[1,0],5],\"dtype\":\"fp32\",\"storage\":3},"
        "{\"dims\":[[1,0],7],\"dtype\":\"fp32\",\"storage\":4}],\"ops\":["
        "{\"op\":\"aten::mm\",\"in\":[0,1],\"out\":[2]},{\"op\":\"aten::gelu\",\"in\":[2],\"out\":[3]},"
        "{\"op\":\"aten::relu\",\"in\":[3],\"out\":[4]}]}";
    (void)state;
    write_text("alloc.cmt.json", text);
    fail_each_allocation(load_and_train, "alloc.cmt.json");
    remove("alloc.cmt.json");
}

static void ranked(void **state)
{
    (void)state;
    fail_each_allocation(rank_some, "uno");
}

static void memory(void **state)
{
    (void)state;
    cm_graph *forward;
    assert_int_equal(cm_graph_load("resnet18", NULL, &forward, NULL), CM_OK);
    assert_int_equal(cm_graph_train(forward, NULL, &ready_step, NULL), CM_OK);
    assert_int_equal(cm_device_load("nvidia-h200", &ready_device, NULL), CM_OK);
    fail_each_allocation(footprint_and_batch, "");
    cm_device_free(ready_device);
    cm_graph_free(ready_step);
    cm_graph_free(forward);
}

/* On a device with kernel tables, and on one that uses those of a reference device. */
static void prediction(void **state)
{
    static const char *const ids[] = {"nvidia-h200", "nvidia-a100-80g"};
    (void)state;
    cm_graph *forward;
    assert_int_equal(cm_graph_load("resnet18", &(cm_load_options){.fuse = CM_FUSE_EAGER}, &forward, NULL), CM_OK);
    assert_int_equal(cm_graph_train(forward, NULL, &ready_step, NULL), CM_OK);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(cm_device_load(ids[i], &ready_device, NULL), CM_OK);
        fail_each_allocation(predict_step, "");
        cm_device_free(ready_device);
    }
    cm_graph_free(ready_step);
    cm_graph_free(forward);
}

/* Small tables, because the test reads them again for every allocation. */
static void tables(void **state)
{
    static const char text[] =
        "{\"schema\":1,\"id\":\"few\",\"name\":\"A few rows\",\"base\":\"nvidia-v100-16g\",\"kernels\":["
        "{\"runtime\":\"torch-eager\",\"op\":\"gemm\",\"pass\":\"forward\",\"variant\":\"nn\",\"dtype\":\"fp32\","
        "\"kind\":\"measured\",\"source\":\"s\",\"date\":\"2026-11\",\"dims\":[\"batch\",\"m\",\"n\",\"k\"],"
        "\"rows\":[[1,1024,1024,1024,3e-4,1],[1,2048,1024,1024,6e-4,1],[1,64,64,64,1e-5,1]]}],"
        "\"sources\":{\"s\":{\"title\":\"made up\",\"where\":\"here\",\"date\":\"2026-11\"}}}";
    (void)state;
    write_text("alloc-few.json", text);
    assert_int_equal(cm_device_load("./alloc-few.json", &ready_device, NULL), CM_OK);
    fail_each_allocation(check_tables, "");
    cm_device_free(ready_device);
    remove("alloc-few.json");
}

static void named(void **state)
{
    (void)state;
    fail_each_allocation(load_and_train, "gpt2");
}

static void layers(void **state)
{
    (void)state;
    fail_each_allocation(load_and_train, "resnet50");
}

static void described(void **state)
{
    (void)state;
    fail_each_allocation(load_and_train, "gpt:layers=2,hidden=64,heads=4,seq=32,vocab=1000");
}

static void one_operator(void **state)
{
    (void)state;
    fail_each_allocation(load_and_train, "gemm:m=64,n=1760,k=1760");
}

static void device(void **state)
{
    (void)state;
    fail_each_allocation(load_device, "nvidia-a100-80g");
    fail_each_allocation(load_device, "this-machine");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(named),     cmocka_unit_test(memory),     cmocka_unit_test(ranked), cmocka_unit_test(layers),
        cmocka_unit_test(described), cmocka_unit_test(captured),   cmocka_unit_test(prediction),
        cmocka_unit_test(tables),    cmocka_unit_test(one_operator), cmocka_unit_test(device),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
