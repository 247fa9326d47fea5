/* SPDX-License-Identifier: Apache-2.0 */
/* test_arranged.c - the size of the built-in tables, and features that several threads fill in. */
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "device/device.h"
#include "model/time/arranged.h"
#include "model/time/features.h"

#define BYTES_MOST 3e6 /* what the tables may add to the program */

static size_t bytes_of_a_row(const cm__kernel_table *t)
{
    return (t->shapes ? sizeof *t->shapes : t->row_bytes) + (t->time_s ? sizeof *t->time_s : sizeof *t->times) +
           (t->many_launches ? sizeof *t->many_launches : sizeof *t->launches);
}

/* Bytes of the shapes that a table shares with those behind it; 0 if it shares them with one before it. */
static double shared_bytes(const cm__embedded_kernels *of, int32_t table)
{
    const cm__kernel_table *t = &of->tables[table];
    int32_t                 shapes = 0;
    for (int32_t i = 0; t->shapes && i < of->count; i++) {
        const cm__kernel_table *other = &of->tables[i];
        if (other->sizes != t->sizes) continue;
        if (i < table) return 0;
        for (int32_t row = 0; row < other->n_rows; row++)
            if (other->shapes[row] >= shapes) shapes = other->shapes[row] + 1;
    }
    return (double)shapes * t->row_bytes;
}

static void the_tables_are_small(void **state)
{
    (void)state;
    double bytes = 0, rows = 0;
    for (int32_t d = 0; d < cm__n_embedded_kernels; d++)
        for (int32_t i = 0; i < cm__all_embedded_kernels[d].count; i++) {
            const cm__kernel_table *t = &cm__all_embedded_kernels[d].tables[i];
            bytes += (double)(sizeof *t + (size_t)t->n_rows * bytes_of_a_row(t));
            bytes += shared_bytes(&cm__all_embedded_kernels[d], i);
            rows += t->n_rows;
        }
    const cm__arranged *end = &cm__all_arranged[cm__n_arranged];
    bytes += (double)sizeof *end * (cm__n_arranged + 1) + (double)sizeof *cm__arranged_values * end->values +
             (double)sizeof *cm__arranged_numbers * end->numbers;
    print_message("# %.0f rows in %.2f MB, %.1f bytes each\n", rows, bytes / 1e6, bytes / rows);
    assert_true(end->values == rows * (1 + CM__WORK_FEATURES) && rows > 50000);
    assert_true(bytes < BYTES_MOST);
}

/* ---- threads ------------------------------------------------------------------------------------------------------ */

#define THREADS 4

typedef struct reader {
    pthread_t       thread;
    const cm__rows *rows;
    int             width, from;
    double          sum;
} reader;

/* Every thread reads all blocks, beginning at another one. */
static void *read_all(void *user)
{
    reader *r = user;
    int32_t blocks = (int32_t)cm__blocks((size_t)r->rows->count);
    for (int32_t i = 0; i < blocks; i++) {
        const float *features = cm__block_at(r->rows, (i + r->from * blocks / THREADS) % blocks, r->width);
        for (int f = 0; f < r->width * CM__BLOCK; f++) r->sum += (double)lrintf(features[f] * 1024); /* exact in any order */
    }
    return NULL;
}

static void threads_fill_blocks(void **state)
{
    (void)state;
    cm__ctx                *ctx = cm__ctx_new(NULL);
    cm_device              *device;
    const cm__kernel_table *table = cm__all_embedded_kernels[0].tables;
    reader                  readers[THREADS];
    assert_int_equal(cm_device_load(cm__all_embedded_kernels[0].device, &device, NULL), CM_OK);
    for (int32_t i = 0; i < cm__all_embedded_kernels[0].count; i++)
        if (cm__all_embedded_kernels[0].tables[i].n_rows > table->n_rows) table = &cm__all_embedded_kernels[0].tables[i];
    cm__limits      limits = cm__limits_of(device);
    const cm__rows *rows = cm__rows_of(ctx, NULL, (cm__tables){&table, 1}, &limits);
    for (int i = 0; i < THREADS; i++) {
        readers[i] = (reader){.rows = rows, .width = cm__n_features(table->op), .from = i};
        assert_int_equal(pthread_create(&readers[i].thread, NULL, read_all, &readers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) pthread_join(readers[i].thread, NULL);
    for (int i = 1; i < THREADS; i++) assert_true(readers[i].sum == readers[0].sum);
    cm_device_free(device);
    cm__ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_tables_are_small), cmocka_unit_test(threads_fill_blocks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
