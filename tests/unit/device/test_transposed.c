/* SPDX-License-Identifier: Apache-2.0 */
/* test_transposed.c - which rows time a transposed operand. Times are those of the H200: transposed.jsonl.xz. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "device/transposed.h"

typedef struct expected {
    cm__transposed    of;
    cm__transposed_as as;
} expected;

static void check(const expected *cases, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (cm__transposed_form(&cases[i].of) != cases[i].as)
            fail_msg("case %zu: %d", i, (int)cm__transposed_form(&cases[i].of));
}

#define CHECK(cases) check(cases, sizeof(cases) / sizeof *(cases))

/* A line of 128 bytes holds 64 numbers of 16 bits or 32 of 32 bits. Nearer neighbours share it: 16 numbers apart take
   2.8 ps in bf16, 64 and 2,048 apart 6.7 ps; in fp32 16 apart take 4.0 ps, 32 apart 7.1 ps. */
static void neighbours_in_one_line(void **state)
{
    static const expected cases[] = {
        {{16, 331776, 4, 2, true, false}, CM__TRANSPOSED_TURNED},  /* scores of CaiT, 16 heads last */
        {{63, 4096, 256, 2, true, false}, CM__TRANSPOSED_TURNED},
        {{64, 4096, 256, 2, true, false}, CM__TRANSPOSED_MATRIX},
        {{31, 4096, 256, 4, true, false}, CM__TRANSPOSED_TURNED},
        {{32, 4096, 256, 4, true, false}, CM__TRANSPOSED_MATRIX},
        {{2048, 4096, 8, 2, false, false}, CM__TRANSPOSED_MATRIX},
        {{16, 331776, 1, 4, false, false}, CM__TRANSPOSED_TURNED},
    };
    (void)state;
    CHECK(cases);
}

/* One row reads a line for each of its numbers, or all bytes in between if these are fewer. 33.5 MB stay in the cache
   (3.7 ps), 67 MB do not (15 ps). */
static void rows_that_evict_their_lines(void **state)
{
    static const expected cases[] = {
        {{16, 1048576, 4, 2, true, false}, CM__TRANSPOSED_TURNED},
        {{16, 1048576, 4, 4, true, false}, CM__TRANSPOSED_STRIDED},
        {{512, 262144, 2, 2, true, false}, CM__TRANSPOSED_MATRIX},
        {{512, 524288, 2, 2, true, false}, CM__TRANSPOSED_STRIDED},
    };
    (void)state;
    CHECK(cases);
}

/* A thread block writes 512 numbers: several short rows, for which it uses several numbers of a line (64 apart:
   rows of 64 take 4.5 ps, of 577 6.6 ps). The tables have copies of short rows, whatever their distance, and small blocks. */
static void short_rows(void **state)
{
    static const expected cases[] = {
        {{784, 72, 1024, 2, false, false}, CM__TRANSPOSED_TURNED},
        {{3136, 511, 64, 2, true, false}, CM__TRANSPOSED_TURNED},
        {{69696, 56, 32, 2, false, false}, CM__TRANSPOSED_TURNED},
        {{65536, 64, 8, 2, true, false}, CM__TRANSPOSED_STRIDED},
        {{17424, 240, 32, 2, false, false}, CM__TRANSPOSED_MATRIX},
    };
    (void)state;
    CHECK(cases);
}

/* A matrix of 8,192 rows needs as many elements at a batch size of 1, too: sizes are given at 7. */
static void small_blocks(void **state)
{
    static const expected cases[] = {
        {{64, 1023, 7, 2, true, false}, CM__TRANSPOSED_TURNED},
        {{64, 1024, 7, 2, true, false}, CM__TRANSPOSED_MATRIX},
    };
    (void)state;
    CHECK(cases);
}

/* Rows of other functions of one operand are few, and those of large operands are of broadcast ones. */
static void one_operand(void **state)
{
    static const expected cases[] = {
        {{64, 4096, 256, 2, false, true}, CM__TRANSPOSED_TURNED},
        {{1024, 4096, 256, 2, false, true}, CM__TRANSPOSED_STRIDED},
    };
    (void)state;
    CHECK(cases);
}

/* The tables' own matrices: one block. */
static void one_matrix(void **state)
{
    static const expected cases[] = {
        {{8192, 8192, 1, 2, true, false}, CM__TRANSPOSED_STRIDED},
        {{8192, 8192, 2, 2, true, false}, CM__TRANSPOSED_MATRIX},
    };
    (void)state;
    CHECK(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(neighbours_in_one_line),
                                       cmocka_unit_test(rows_that_evict_their_lines),
                                       cmocka_unit_test(short_rows), cmocka_unit_test(small_blocks),
                                       cmocka_unit_test(one_operand), cmocka_unit_test(one_matrix)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
