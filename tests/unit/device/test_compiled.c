/* SPDX-License-Identifier: Apache-2.0 */
/* test_compiled.c - a compiled device is the device that its profile describes. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "device/compiled.h"

/* The writer of tools/, so that every member is compared in its written form. */
#include "../../../tools/precompute_devices.c"

noreturn void stop(const char *reason)
{
    fail_msg("%s", reason);
    abort();
}
FILE      *open_file(const char *path) { return fopen(path, "wb"); }
cm_device *load_device(const char *id)
{
    fail_msg("%s is not to be loaded", id);
    return NULL;
}

static cm_device *compiled(const char *id)
{
    cm_diag    diag;
    cm_device *d;
    if (cm_device_load(id, &d, &diag)) fail_msg("%s", diag.reason);
    assert_null(d->tree);
    return d;
}

/* The device as its profile describes it. */
static cm_device *read_profile(cm__ctx *ctx, const char *id)
{
    cm__profile profile = cm__profile_load(ctx, CM__PROFILE_DEVICE, id, CM__PROFILE_FULL);
    return cm__device_read(ctx, &profile);
}

static char *text_of(const cm_device *d)
{
    char    *text;
    size_t   size;
    FILE    *out = open_memstream(&text, &size);
    written *w = written_new();
    write_device(w, out, d);
    write_lists(w, out);
    written_free(w);
    fclose(out);
    return text;
}

static void each_device(void (*check)(const cm_device *compiled, const cm_device *read))
{
    assert_int_equal(cm__n_compiled_devices, cm_devices());
    for (int32_t i = 0; i < cm_devices(); i++) {
        cm_diag    diag;
        cm__ctx   *ctx = cm__ctx_new(&diag);
        cm_device *d = compiled(cm_device_id(i));
        if (setjmp(ctx->trap)) fail_msg("%s", diag.reason);
        assert_int_equal(cm__compiled_find(cm_device_id(i)), i);
        check(d, read_profile(ctx, cm_device_id(i)));
        cm_device_free(d);
        cm__ctx_free(ctx);
    }
}

static void same_text(const cm_device *a, const cm_device *b)
{
    char *first = text_of(a), *second = text_of(b);
    assert_string_equal(first, second);
    free(first);
    free(second);
}

/* A member that the writer forgets is zero in compiled devices. */
static void same_zeros(const cm_device *a, const cm_device *b)
{
    /* counts of lists are followed by padding, which has any value */
    static const size_t own[] = {offsetof(cm_device, ctx), offsetof(cm_device, tree), offsetof(cm_device, kernels),
                                 offsetof(cm_device, links.count), offsetof(cm_device, collectives.count),
                                 offsetof(cm_device, surfaces.count), offsetof(cm_device, kernels.count),
                                 offsetof(cm_device, built_in_kernels.count)};
    const uintptr_t    *x = (const void *)a, *y = (const void *)b;
    assert_true(a->links.count == b->links.count && a->collectives.count == b->collectives.count &&
                a->surfaces.count == b->surfaces.count);
    for (size_t i = 0; i < sizeof *a / sizeof *x; i++) {
        bool differs = !x[i] != !y[i];
        for (size_t k = 0; k < sizeof own / sizeof *own; k++) differs = differs && i * sizeof *x != own[k];
        if (differs) fail_msg("%s: byte %zu of its struct is lost", a->info.id, i * sizeof *x);
    }
}

static void same_tables(const cm_device *a, const cm_device *b)
{
    assert_int_equal(a->built_in_kernels.count, b->built_in_kernels.count);
    assert_ptr_equal(a->built_in_kernels.tables, b->built_in_kernels.tables);
    assert_int_equal(a->kernels.count, 0);
}

static void compiled_devices_are_those_of_profiles(void **state)
{
    (void)state;
    each_device(same_text);
    each_device(same_zeros);
    each_device(same_tables);
}

static void ids_are_found_in_any_spelling(void **state)
{
    (void)state;
    assert_true(cm__compiled_find("NVIDIA_H200") >= 0);
    assert_int_equal(cm__compiled_find("nvidia-hopper"), -1); /* a family */
    assert_int_equal(cm__compiled_find("nvidia"), -1);
}

/* The text of a profile is made on request. */
static void a_profile_is_parsed_on_request(void **state)
{
    (void)state;
    cm_device  *d = compiled("graphcore-bow");
    const char *text = cm_device_profile(d);
    assert_non_null(strstr(text, "\"id\":\"graphcore-bow\""));
    assert_ptr_equal(cm_device_profile(d), text);
    cm_device_free(d);
}

/* Devices are independent: what a caller changes in one is not seen in another. */
static void loaded_devices_are_copies(void **state)
{
    (void)state;
    cm_device *a = compiled("nvidia-t4"), *b = compiled("nvidia-t4");
    a->numbers[CM_CORES].value = 1;
    assert_true(b->numbers[CM_CORES].value > 1);
    cm_device_free(a);
    cm_device_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(compiled_devices_are_those_of_profiles), cmocka_unit_test(ids_are_found_in_any_spelling),
        cmocka_unit_test(a_profile_is_parsed_on_request), cmocka_unit_test(loaded_devices_are_copies)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
