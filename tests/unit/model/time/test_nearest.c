/* SPDX-License-Identifier: Apache-2.0 */
/* test_nearest.c - the search by blocks finds the same rows in the same order as a search of all rows one by one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>
#include <string.h>
#include <cmocka.h>
#include "model/time/nearest.h"

#define MOST 4200 /* rows: more than the search compares at once */
#define COUNT 8

typedef struct memory {
    float    plain[MOST * COUNT], values[MOST], floats[(MOST + CM__BLOCK) * (2 * COUNT + 1) + 10 * COUNT];
    uint16_t numbers[4 * MOST];
    cm__rows rows;
} memory;

static uint32_t random_state = 1;

static float random_step(uint32_t steps)
{
    random_state = random_state * 1664525u + 1013904223u;
    return (float)((random_state >> 8) % steps) / 4;
}

/* Few different values, so that many rows are equally near. */
static void fill(memory *m, size_t rows, uint32_t steps)
{
    for (size_t i = 0; i < rows * COUNT; i++) m->plain[i] = random_step(steps);
    for (size_t i = 0; i < rows; i++) m->values[i] = (float)i;
    m->rows = cm__rows_arrange(m->plain, m->values, COUNT, rows, m->floats, m->numbers);
}

/* ---- all rows one by one ----------------------------------------------------------------------------------------- */

static void add(cm__neighbours *n, cm__neighbour found)
{
    int at = n->count < CM__NEIGHBOURS ? n->count++ : CM__NEIGHBOURS - 1;
    for (; at > 0 && n->of[at - 1].squared > found.squared; at--) n->of[at] = n->of[at - 1];
    n->of[at] = found;
}

static float squared(const float *a, const float *b)
{
    float sum = 0, d[COUNT];
    for (int i = 0; i < COUNT; i++) d[i] = (a[i] - b[i]) * (a[i] - b[i]);
    for (int i = COUNT - 4; i >= 0; i -= 4) sum += (d[i] + d[i + 1]) + (d[i + 2] + d[i + 3]);
    return sum;
}

static void one_by_one(cm__neighbours *n, const memory *m, int32_t table, float offset, const float *call,
                       int32_t without)
{
    for (int32_t i = 0; i < m->rows.count; i++) {
        float most = n->count < CM__NEIGHBOURS ? 1e30f : n->of[CM__NEIGHBOURS - 1].squared - offset;
        float d = squared(call, m->plain + (size_t)i * COUNT);
        if (d < most && i != without) add(n, (cm__neighbour){.squared = d + offset, .number = i, .table = table});
    }
}

static void compare(const cm__neighbours *a, const cm__neighbours *b, const cm__rows *tables)
{
    assert_int_equal(a->count, b->count);
    for (int i = 0; i < a->count; i++) {
        assert_true(a->of[i].squared == b->of[i].squared);
        assert_int_equal(a->of[i].number, b->of[i].number);
        assert_int_equal(a->of[i].table, b->of[i].table);
        assert_int_equal((int32_t)tables[a->of[i].table].values[a->of[i].row], a->of[i].number);
    }
}

static void same_rows(void **state)
{
    static const size_t sizes[] = {1, 2, 15, 16, 17, 19, 20, 33, 48, 100, 257, MOST};
    static const float  offsets[] = {0, 0.1f, 0.3f, 1.7f, 30};
    static memory       m[2];
    (void)state;
    for (size_t trial = 0; trial < 2000; trial++) {
        uint32_t steps = trial % 3 ? 6 : 4000;
        int32_t  without = trial % 2 ? (int32_t)(trial % sizes[trial % 12]) : -1;
        float    offset = offsets[trial % 5], call[COUNT];
        fill(&m[0], sizes[trial % 12], steps);
        fill(&m[1], sizes[trial / 12 % 12], steps);
        for (int i = 0; i < COUNT; i++) call[i] = random_step(steps);
        cm__rows       tables[] = {m[0].rows, m[1].rows};
        cm__neighbours found = {.count = 0}, expected = {.count = 0};
        cm__nearest_at_home(&found, tables, 0, call, COUNT, without);
        cm__nearest_beside(&found, tables, 1, offset, call, COUNT);
        one_by_one(&expected, &m[0], 0, 0, call, without);
        one_by_one(&expected, &m[1], 1, offset, call, -1);
        compare(&found, &expected, tables);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(same_rows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
