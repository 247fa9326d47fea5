/* SPDX-License-Identifier: Apache-2.0 */
/* test_kernels.c - kernel tables: reading, refusals with their place, and the built-in tables. */
#include "time_device.h"
#include "device/row_sizes.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define GEMM(rows) TIME_DEVICE(KERNELS(TABLE("gemm", "forward", "nn", "bf16", GEMM_DIMS, rows)))

static void rows_as_written(void **state)
{
    (void)state;
    cm_device *d = device_of(GEMM("[[1, 2, 3, 4, 5e-6, 1],\n[8, 16, 32, 64, 0.25, 3]]"));
    assert_int_equal(d->kernels.count, 1);
    const cm__kernel_table *t = d->kernels.tables;
    assert_int_equal(t->op, CM__CALL_GEMM);
    assert_int_equal(t->pass, CM__PASS_FORWARD);
    assert_int_equal(t->variant, CM__V_NN);
    assert_int_equal(t->types, CM__ALL(CM_BF16));
    assert_string_equal(t->runtime, "torch-eager");
    assert_int_equal(t->n_rows, 2);
    for (int i = 0; i < 4; i++) {
        int64_t first[4], second[4];
        cm__row_unpack(t, 0, first);
        cm__row_unpack(t, 1, second);
        assert_int_equal(first[i], i + 1);
        assert_int_equal(second[i], 8 << i);
    }
    assert_true(t->time_s[0] == 5e-6f);
    assert_true(t->time_s[1] == 0.25f);
    assert_int_equal(cm__row_launches(t, 1), 3);
    assert_int_equal(d->built_in_kernels.count, 0); /* it was not measured */
    cm_device_free(d);
}

static void an_absent_variant_is_empty(void **state)
{
    (void)state;
    cm_device *d = device_of(TIME_DEVICE(
        KERNELS("{\"runtime\": \"torch-eager\", \"op\": \"softmax\", \"pass\": \"forward\", \"dtype\": \"fp32\", "
                "\"kind\": \"measured\", "
                "\"source\": \"sheet\", \"date\": \"2026-11\", \"dims\": [\"rows\", \"cols\"], \"rows\": []}")));
    assert_int_equal(d->kernels.tables[0].variant, CM__V_NONE);
    assert_int_equal(d->kernels.tables[0].n_rows, 0);
    cm_device_free(d);
}

/* ---- refusals --------------------------------------------------------------------------------------------------- */

/* The tables begin on line 11: identity, cores, launch, peaks in two, memory in two, sources, "kernels". */
static const struct {
    const char *text, *place, *reason;
} refused[] = {
    {TIME_DEVICE(KERNELS(TABLE("gem", "forward", "nn", "bf16", GEMM_DIMS, "[]"))), "line 10: kernels[0].op",
     "no call 'gem', did you mean 'gemm'?"},
    {TIME_DEVICE(KERNELS(TABLE("gemm", "onward", "nn", "bf16", GEMM_DIMS, "[]"))), "line 10: kernels[0].pass",
     "onward"},
    {TIME_DEVICE(KERNELS(TABLE("gemm", "forward", "nn", "bf16", "[\"m\", \"n\", \"k\"]", "[]"))),
     "line 12: kernels[0].dims", "the sizes of gemm are batch, m, n, k"},
    {TIME_DEVICE(KERNELS(TABLE("gemm", "forward", "nn", "bf16", "[\"batch\", \"n\", \"m\", \"k\"]", "[]"))),
     "kernels[0].dims", "the sizes of gemm are batch, m, n, k"},
    {GEMM("[[1, 2, 3, 4, 5e-6, 1],\n[1, 2, 3, 4, 5e-6]]"), "line 14: kernels[0].rows[1]",
     "5 numbers, expected 4 sizes"},
    {GEMM("[[1, 2, 3, 4, 5e-6, 1, 1]]"), "line 13: kernels[0].rows[0]", "7 numbers"},
    {GEMM("[[]]"), "kernels[0].rows[0]", "0 numbers"},
    {GEMM("[[1, 2, 3, 4.5, 5e-6, 1]]"), "kernels[0].rows[0]", "size 4 is not a whole number"},
    {GEMM("[[1, 2, 3, 4, 0, 1]]"), "kernels[0].rows[0]", "a time of 0 s"},
    {GEMM("[[1, 2, 3, 4, 1e6, 1]]"), "kernels[0].rows[0]", "a time of 1e+06 s"},
    {GEMM("[[1, 2, 3, 4, 5e-6, 1000000]]"), "kernels[0].rows[0]", "1e+06 kernels"},
    {GEMM("[[1, 2, 3, 4, null, 1]]"), "line 13: kernels[0].rows[0]", ""},
    {GEMM("[[1, 2, 3, \"4\", 5e-6, 1]]"), "line 13: kernels[0].rows[0]", ""},
    {GEMM("[[1, 2, 3, -4, 5e-6, 1]]"), "line 13: kernels[0].rows[0]", "below 0"},
    {GEMM("[[1, 2, 3, 4, NaN, 1]]"), "line 13", "not JSON"},
    {GEMM("{}"), "line 13: kernels[0].rows", ""},
    {TIME_DEVICE(KERNELS(
         TABLE("gemm", "forward", "a-variant-of-far-more-than-thirty-one-characters", "bf16", GEMM_DIMS, "[]"))),
     "kernels[0].variant", "no variant"},
    {TIME_DEVICE(KERNELS(TABLE("gemm", "forward", "nn", "bf16+bf16+bf16+bf16+bf16+bf16+bf16>fp32", GEMM_DIMS, "[]"))),
     "kernels[0].dtype", "no types"},
    {TIME_DEVICE(KERNELS("{\"op\": \"gemm\"}")), "kernels[0]", "runtime"},
};

static void malformed_tables(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(refused); i++) {
        cm_device *d;
        cm_diag    diag = {0};
        write_file("refused.json", refused[i].text);
        if (cm_device_load(file_named("refused.json"), &d, &diag) != CM_ERR_FORMAT)
            fail_msg("case %zu is not refused: %s", i, refused[i].reason);
        assert_string_equal(diag.file, file_named("refused.json"));
        if (!strstr(diag.place, refused[i].place) || !strstr(diag.reason, refused[i].reason))
            fail_msg("case %zu: '%s' '%s', expected '%s' '%s'", i, diag.place, diag.reason, refused[i].place,
                     refused[i].reason);
    }
}

/* The order of rows is stored in 16 bits. */
static void too_many_rows(void **state)
{
    (void)state;
    enum { ROWS = 65536, LENGTH = 17 };
    static const char begin[] = TIME_DEVICE(KERNELS(TABLE("gemm", "forward", "nn", "bf16", GEMM_DIMS, "[$]")));
    const char       *at = strchr(begin, '$');
    char             *text = malloc(sizeof begin + (size_t)ROWS * LENGTH), *end = text;
    cm_device        *d;
    cm_diag           diag = {0};
    memcpy(end, begin, (size_t)(at - begin));
    end += at - begin;
    for (int i = 0; i < ROWS; i++) end += sprintf(end, "%s[1,1,1,1,1e-6,1]", i ? "," : "");
    strcpy(end, at + 1);
    write_file("long.json", text);
    assert_int_equal(cm_device_load(file_named("long.json"), &d, &diag), CM_ERR_FORMAT);
    assert_non_null(strstr(diag.place, "kernels[0].rows"));
    assert_non_null(strstr(diag.reason, "65536 rows"));
    free(text);
}

/* Times in 16 bits: the ends of their ranges, and every number is a longer time of four digits. */
static void short_times(void **state)
{
    (void)state;
    const struct {
        uint16_t number;
        float    time_s;
    } known[] = {{1, 1e-10f}, {9999, 9.999e-7f}, {10000, 1e-6f}, {18999, 9.999e-6f}, {19000, 1e-5f}, {65535, 2.535f}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        assert_true(cm__short_time(known[i].number) == known[i].time_s);
    for (int number = 1; number <= UINT16_MAX; number++) {
        char  text[32];
        float time_s = cm__short_time((uint16_t)number);
        snprintf(text, sizeof text, "%.3e", (double)time_s);
        assert_true(strtof(text, NULL) == time_s);
        assert_true(time_s > cm__short_time((uint16_t)(number - 1)));
    }
}

/* ---- built in --------------------------------------------------------------------------------------------------- */

static cm_device *h200;

static void each_row(void (*check)(const cm__kernel_table *, const cm__call *, double time_s))
{
    assert_int_equal(cm_device_load("nvidia-h200", &h200, NULL), CM_OK);
    assert_true(h200->built_in_kernels.count > 0);
    for (int32_t i = 0; i < h200->built_in_kernels.count; i++) {
        const cm__kernel_table *t = &h200->built_in_kernels.tables[i];
        for (int32_t row = 0; row < t->n_rows; row++) {
            cm__call c = {.op = t->op, .pass = t->pass};
            c.variant = t->variant;
            c.types = t->types;
            cm__row_unpack(t, row, c.sizes);
            check(t, &c, (double)cm__row_time(t, row));
        }
    }
    cm_device_free(h200);
}

static void no_kernel_is_shorter_than_half_a_microsecond(const cm__kernel_table *t, const cm__call *c, double time_s)
{
    (void)t, (void)c;
    assert_true(time_s > 0.5e-6);
}

/* Not checked for convolutions: Winograd and FFT algorithms need fewer FLOP than are counted. */
static void no_product_beats_the_peak(const cm__kernel_table *t, const cm__call *c, double time_s)
{
    if (t->op != CM__CALL_GEMM) return;
    cm_rate   rate = cm__call_rate(c);
    cm_number peak = cm_device_peak(h200, rate == CM_RATE_FP32 ? CM_ENGINE_VECTOR : CM_ENGINE_MATRIX, rate);
    double    flop, bytes;
    char      text[256];
    cm__call_work(c, &flop, &bytes);
    if (flop / time_s > peak.value) fail_msg("%s: %g FLOP/s", cm__call_text(c, text, sizeof text), flop / time_s);
}

static void no_stream_beats_the_cache(const cm__kernel_table *t, const cm__call *c, double time_s)
{
    if (t->op != CM__CALL_ELEMENTWISE) return;
    double flop, bytes, fastest = 0;
    char   text[256];
    for (int32_t i = 0; i < cm_device_memories(h200); i++) {
        const cm_memory *m = cm_device_memory(h200, i);
        if (!m->per_core && m->bw_bytes_s.value > fastest) fastest = m->bw_bytes_s.value;
    }
    cm__call_work(c, &flop, &bytes);
    if (bytes / time_s > fastest) fail_msg("%s: %g B/s", cm__call_text(c, text, sizeof text), bytes / time_s);
}

static void built_in_rows(void **state)
{
    (void)state;
    each_row(no_kernel_is_shorter_than_half_a_microsecond);
    each_row(no_product_beats_the_peak);
    each_row(no_stream_beats_the_cache);
}

static void one_table_of_a_kind(void **state)
{
    (void)state;
    cm__kernels k = cm__kernels_built_in("nvidia-h200");
    for (int32_t i = 0; i < k.count; i++)
        for (int32_t j = 0; j < i; j++) {
            const cm__kernel_table *a = &k.tables[i], *b = &k.tables[j];
            bool                    same = a->op == b->op && a->pass == b->pass && a->variant == b->variant &&
                        a->types == b->types && !strcmp(a->runtime, b->runtime);
            if (same) fail_msg("tables %d and %d are of the same calls", i, j);
        }
    assert_int_equal(cm__kernels_built_in("no-such-device").count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_as_written),  cmocka_unit_test(an_absent_variant_is_empty),
        cmocka_unit_test(malformed_tables), cmocka_unit_test(too_many_rows), cmocka_unit_test(built_in_rows),
        cmocka_unit_test(one_table_of_a_kind), cmocka_unit_test(short_times),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
