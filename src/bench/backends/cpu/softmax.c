/* SPDX-License-Identifier: Apache-2.0 */
/* softmax.c - softmax, log-softmax and their gradients over rows. */
#include "bench/backends/cpu/kernels.h"
#include "bench/backends/cpu/math.h"

#define GRAIN_ELEMENTS 8192 /* fewer than this are not worth waking a thread */

typedef struct rows {
    float       *to;
    const float *from, *second;
    int64_t      rows, columns;
    bool         causal, log;
} rows;

static int64_t grain_of(int64_t columns) { return columns >= GRAIN_ELEMENTS ? 1 : GRAIN_ELEMENTS / columns; }

CM__VECTORS static void spread(void *arg, int64_t first, int64_t last)
{
    const rows *r = arg;
    for (int64_t i = first; i < last; i++) memcpy(r->to + i * r->columns, r->from, (size_t)r->columns * sizeof(float));
}

void cm__spread_row(cm__pool *pool, float *to, const float *row, int64_t count, int64_t columns)
{
    rows r = {.to = to, .from = row, .rows = count, .columns = columns};
    cm__pool_run(pool, spread, &r, count, grain_of(columns));
}

static inline float largest(const float *x, int64_t n)
{
    float lanes[8], most = x[0];
    if (n < 8) {
        for (int64_t j = 1; j < n; j++) most = x[j] > most ? x[j] : most;
        return most;
    }
    memcpy(lanes, x, sizeof lanes);
    int64_t j = 8;
    for (; j + 8 <= n; j += 8)
        for (int l = 0; l < 8; l++) lanes[l] = x[j + l] > lanes[l] ? x[j + l] : lanes[l];
    for (; j < n; j++) lanes[0] = x[j] > lanes[0] ? x[j] : lanes[0];
    for (int l = 0; l < 8; l++) most = lanes[l] > most ? lanes[l] : most;
    return most;
}

static inline void softmax_row(const rows *r, int64_t i)
{
    const float *x = r->from + i * r->columns;
    float       *y = r->to + i * r->columns;
    int64_t      visible = r->causal ? i + 1 + r->columns - r->rows : r->columns;
    float        most = largest(x, visible), sum = 0;
    for (int64_t j = 0; !r->log && j < visible; j++) {
        float e = fast_exp(x[j] - most);
        y[j] = e;
        sum += e;
    }
    for (int64_t j = 0; r->log && j < visible; j++) sum += fast_exp(x[j] - most);
    float scale = 1 / sum, shift = most + logf(sum);
    for (int64_t j = 0; !r->log && j < visible; j++) y[j] *= scale;
    for (int64_t j = 0; r->log && j < visible; j++) y[j] = x[j] - shift;
    for (int64_t j = visible; j < r->columns; j++) y[j] = 0;
}

CM__VECTORS static void softmax(void *arg, int64_t first, int64_t last)
{
    for (int64_t i = first; i < last; i++) softmax_row(arg, i);
}

void cm__softmax_rows(cm__pool *pool, float *to, const float *from, int64_t count, int64_t columns, bool causal,
                      bool log)
{
    rows r = {to, from, NULL, count, columns, causal, log};
    cm__pool_run(pool, softmax, &r, count, grain_of(columns));
}

static inline void softmax_row_backward(const rows *r, int64_t i)
{
    const float *y = r->from + i * r->columns, *dy = r->second + i * r->columns;
    float       *dx = r->to + i * r->columns, sum = 0;
    for (int64_t j = 0; !r->log && j < r->columns; j++) sum += y[j] * dy[j];
    for (int64_t j = 0; r->log && j < r->columns; j++) sum += dy[j];
    for (int64_t j = 0; !r->log && j < r->columns; j++) dx[j] = y[j] * (dy[j] - sum);
    for (int64_t j = 0; r->log && j < r->columns; j++) dx[j] = dy[j] - fast_exp(y[j]) * sum;
}

CM__VECTORS static void softmax_backward(void *arg, int64_t first, int64_t last)
{
    for (int64_t i = first; i < last; i++) softmax_row_backward(arg, i);
}

void cm__softmax_rows_backward(cm__pool *pool, float *to, const float *y, const float *gradient, int64_t count,
                               int64_t columns, bool log)
{
    rows r = {to, y, gradient, count, columns, false, log};
    cm__pool_run(pool, softmax_backward, &r, count, grain_of(columns));
}
