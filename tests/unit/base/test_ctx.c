/* SPDX-License-Identifier: Apache-2.0 */
/* test_ctx.c - arena, cleanups, and failing through the context. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "base/ctx.h"

static void memory_is_zeroed_and_aligned(void **state)
{
    (void)state;
    cm__ctx *ctx = cm__ctx_new(NULL);
    for (size_t size = 0; size < 100000; size = size * 3 + 1) {
        unsigned char *p = cm__alloc(ctx, size);
        assert_int_equal((uintptr_t)p % _Alignof(max_align_t), 0);
        for (size_t i = 0; i < size; i++) assert_int_equal(p[i], 0);
        memset(p, 0xff, size);
    }
    cm__ctx_free(ctx);
    cm__ctx_free(NULL);
}

/* Memory that was not zeroed must not let later memory of the same chunk pass for zeroed. */
static void memory_after_unset_memory_is_zeroed(void **state)
{
    (void)state;
    cm__ctx *ctx = cm__ctx_new(NULL);
    for (size_t size = 16; size < 200000; size *= 4) {
        unsigned char *unset = cm__alloc_unset(ctx, size, 1);
        assert_int_equal((uintptr_t)unset % _Alignof(max_align_t), 0);
        memset(unset, 0xff, size);
        unsigned char *p = cm__alloc(ctx, size / 2);
        for (size_t i = 0; i < size / 2; i++) assert_int_equal(p[i], 0);
    }
    cm__ctx_free(ctx);
}

static void growing_keeps_what_was_there(void **state)
{
    (void)state;
    cm__ctx *ctx = cm__ctx_new(NULL);
    int32_t *numbers = NULL, capacity = 0;
    for (int32_t i = 0; i < 1000; i++) {
        numbers = cm__grow(ctx, numbers, i, &capacity, sizeof *numbers);
        numbers[i] = i * i;
    }
    for (int32_t i = 0; i < 1000; i++) assert_int_equal(numbers[i], i * i);
    cm__ctx_free(ctx);
}

/* The same with a first capacity of 3: growth copies, and only doubles the size. */
static void a_large_array_grows(void **state)
{
    (void)state;
    cm__ctx *ctx = cm__ctx_new(NULL);
    int32_t  capacity = 0, *numbers = NULL;
    for (int32_t i = 0; i < 100; i++) {
        numbers = cm__grow_unset(ctx, numbers, i, &capacity, sizeof *numbers, 3);
        numbers[i] = i;
        if (i == 2) assert_int_equal(capacity, 3);
    }
    assert_int_equal(capacity, 192); /* 3, 6 ... */
    for (int32_t i = 0; i < 100; i++) assert_int_equal(numbers[i], i);
    cm__ctx_free(ctx);
}

static void note_release(void *count) { ++*(int *)count; }

static void failing_tells_where_and_why(void **state)
{
    (void)state;
    cm_diag      diag;
    char         text[1024];
    volatile int released = 0;
    cm__ctx     *ctx = cm__ctx_new(&diag);
    if (!setjmp(ctx->trap)) {
        ctx->file = "resnet.onnx";
        cm__defer(ctx, note_release, (void *)&released);
        cm__place(ctx, "node '%s'", "Conv_3");
        cm__fail(ctx, CM_ERR_FORMAT, "%d pads, expected %d", 3, 4);
    }
    assert_int_equal(cm__ctx_abandon(ctx), CM_ERR_FORMAT);
    assert_string_equal(cm_diag_text(&diag, text, sizeof text), "resnet.onnx: node 'Conv_3': 3 pads, expected 4");
    assert_int_equal(released, 1);
}

/* The place is formatted when it is needed; a later place replaces it. */
static void places_of_numbers(void **state)
{
    (void)state;
    for (int columns = 0; columns < 2; columns++) {
        cm_diag  diag;
        cm__ctx *ctx = cm__ctx_new(&diag);
        if (!setjmp(ctx->trap)) {
            cm__place_names(ctx, "node '%s' (%s)", "Conv_3", "Conv");
            cm__place_numbers(ctx, columns ? "line %d, column %d" : "line %d", 12, 34);
            cm__fail(ctx, CM_ERR_FORMAT, "no");
        }
        cm__ctx_abandon(ctx);
        assert_string_equal(diag.place, columns ? "line 12, column 34" : "line 12");
    }
}

static void texts_of_any_length(void **state)
{
    (void)state;
    cm__ctx *ctx = cm__ctx_new(NULL);
    for (int length = 250; length < 260; length++) { /* around the size of the first attempt */
        char *text = cm__format(ctx, "%0*d", length, 7);
        assert_int_equal(strlen(text), length);
        assert_int_equal(text[length - 1], '7');
    }
    cm__ctx_free(ctx);
}

static cm_status try_alloc(size_t count, size_t size)
{
    cm__ctx *ctx = cm__ctx_new(NULL);
    if (!setjmp(ctx->trap)) cm__alloc_array(ctx, count, size);
    return cm__ctx_abandon(ctx);
}

static void impossible_sizes_are_refused(void **state)
{
    (void)state;
    assert_int_equal(try_alloc(1, 1), CM_OK);
    assert_int_equal(try_alloc(SIZE_MAX, 1), CM_ERR_MEMORY);
    assert_int_equal(try_alloc(SIZE_MAX / 2, 3), CM_ERR_MEMORY);
    assert_int_equal(try_alloc((size_t)1 << 62, 1), CM_ERR_MEMORY);
}

static void a_long_place_is_cut_not_spilled(void **state)
{
    (void)state;
    char     name[2000];
    cm_diag  diag;
    cm__ctx *ctx = cm__ctx_new(&diag);
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = 0;
    if (!setjmp(ctx->trap)) {
        cm__place(ctx, "node '%s'", name);
        cm__fail(ctx, CM_ERR_FORMAT, "%s", name);
    }
    cm__ctx_abandon(ctx);
    assert_int_equal(strlen(diag.place), sizeof diag.place - 1);
    assert_int_equal(strlen(diag.reason), sizeof diag.reason - 1);
}

static void joined_texts(void **state)
{
    (void)state;
    cm__ctx *ctx = cm__ctx_new(NULL);
    assert_string_equal(cm__text_join(ctx, "layer.weight", ".state1"), "layer.weight.state1");
    assert_string_equal(cm__text_join(ctx, "", ""), "");
    assert_string_equal(cm__text_dotted(ctx, "layer", "weight"), "layer.weight");
    cm__ctx_free(ctx);
}

static void every_status_has_a_text(void **state)
{
    (void)state;
#define X(id, value, text) assert_string_equal(cm_status_text(id), text);
    CM_STATUS_MAP(X)
#undef X
    assert_non_null(cm_status_text((cm_status)-99));
}

/* Scratch memory is freed at once, or with its parent; its failures are the parent's. */
static void scratch(void **state)
{
    (void)state;
    cm_diag      diag = {0};
    volatile int released = 0;
    cm__ctx     *ctx = cm__ctx_new(&diag);
    if (!setjmp(ctx->trap)) {
        cm__ctx *first = cm__scratch_new(ctx), *second = cm__scratch_new(ctx);
        cm__defer(first, note_release, (void *)&released);
        cm__defer(second, note_release, (void *)&released);
        assert_non_null(cm__alloc(first, 100000));
        cm__scratch_free(first);
        assert_int_equal(released, 1);
        cm__fail(second, CM_ERR_LIMIT, "too many");
    }
    assert_int_equal(cm__ctx_abandon(ctx), CM_ERR_LIMIT);
    assert_string_equal(diag.reason, "too many");
    assert_int_equal(released, 2);
}

/* So is the status of a public call that was made with scratch memory, and what it reported. */
static void scratch_passes_on(void **state)
{
    (void)state;
    cm_diag  diag = {0};
    cm__ctx *ctx = cm__ctx_new(&diag);
    if (!setjmp(ctx->trap)) {
        cm__ctx *scratch = cm__scratch_new(ctx);
        cm__pass_on(scratch, CM_OK);
        cm__pass_on(scratch, cm__diag_set(scratch->diag, CM_ERR_FIT, "too large"));
    }
    assert_int_equal(cm__ctx_abandon(ctx), CM_ERR_FIT);
    assert_string_equal(diag.reason, "too large");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_zeroed_and_aligned),
        cmocka_unit_test(memory_after_unset_memory_is_zeroed), cmocka_unit_test(growing_keeps_what_was_there),
        cmocka_unit_test(a_large_array_grows),
        cmocka_unit_test(failing_tells_where_and_why), cmocka_unit_test(impossible_sizes_are_refused),
        cmocka_unit_test(places_of_numbers), cmocka_unit_test(texts_of_any_length),
        cmocka_unit_test(a_long_place_is_cut_not_spilled), cmocka_unit_test(every_status_has_a_text),
        cmocka_unit_test(joined_texts), cmocka_unit_test(scratch), cmocka_unit_test(scratch_passes_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
