/* SPDX-License-Identifier: Apache-2.0 */
/* rows.cu - kernels over rows of [rows, cols] of type T: normalisation, softmax, cross-entropy. One block per row. */
typedef TYPE_T T;
static const int N = VECTOR;

#define EPSILON 1e-5f

typedef vec<T, N> pack;

/* Loads take N columns: 16 bytes, or 1 element. cols is a multiple of N, and rows are aligned. Rows of at most ITEMS
   packs per thread are read once and kept in registers; longer rows (ITEMS 0) are read again in every pass. */
#if ITEMS
#define EACH(v, cols)                                                                                                  \
    _Pragma("unroll") for (int item = 0; item < ITEMS; item++) for (i64 v = threadIdx.x + item * (i64)blockDim.x;      \
                                                                    v < (cols) / N; v = (cols) / N)
#define HOLD(held, from, cols)                                                                                         \
    pack held[ITEMS];                                                                                                  \
    EACH (held_at, cols) held[item] = (from)[held_at]
#define AT(held, from, v) held[item]
#else
#define EACH(v, cols) for (i64 v = threadIdx.x; v < (cols) / N; v += blockDim.x)
#define HOLD(held, from, cols)
#define AT(held, from, v) (from)[v]
#endif

/* WHAT selects the kernels to compile: 0 normalisation, 1 softmax, 2 cross-entropy. */
#if WHAT == 0

/* RMS: without the mean and the bias. */
extern "C" __global__ void norm_forward(const T *x, const T *gain, const T *bias, T *y, float *mean_of, float *scale_of,
                                        i64 cols)
{
    const pack *in = (const pack *)(x + blockIdx.x * cols);
    HOLD(row, in, cols);
    float sum = 0, squares = 0;
    EACH (v, cols) {
        pack p = AT(row, in, v);
#pragma unroll
        for (int i = 0; i < N; i++) sum += up(p.at[i]);
    }
    float mean = RMS ? 0 : over_block<add_op>(sum, 0) / cols;
    EACH (v, cols) {
        pack p = AT(row, in, v);
#pragma unroll
        for (int i = 0; i < N; i++) squares += (up(p.at[i]) - mean) * (up(p.at[i]) - mean);
    }
    float scale = rsqrtf(over_block<add_op>(squares, 0) / cols + EPSILON);
    EACH (v, cols) {
        pack p = AT(row, in, v), g = ((const pack *)gain)[v], b, out;
        if (!RMS) b = ((const pack *)bias)[v];
#pragma unroll
        for (int i = 0; i < N; i++)
            down(&out.at[i], (up(p.at[i]) - mean) * scale * up(g.at[i]) + (RMS ? 0 : up(b.at[i])));
        ((pack *)(y + blockIdx.x * cols))[v] = out;
    }
    if (threadIdx.x == 0) {
        mean_of[blockIdx.x] = mean;
        scale_of[blockIdx.x] = scale;
    }
}

/* dx */
extern "C" __global__ void norm_backward(const T *dy, const T *x, const T *gain, const float *mean_of,
                                         const float *scale_of, T *dx, i64 cols)
{
    const pack *in = (const pack *)(x + blockIdx.x * cols), *grad = (const pack *)(dy + blockIdx.x * cols);
    HOLD(row, in, cols);
    HOLD(slope, grad, cols);
    float mean = RMS ? 0 : mean_of[blockIdx.x], scale = scale_of[blockIdx.x], sum = 0, product = 0;
    EACH (v, cols) {
        pack p = AT(row, in, v), d = AT(slope, grad, v), g = ((const pack *)gain)[v];
#pragma unroll
        for (int i = 0; i < N; i++) {
            float a = up(d.at[i]) * up(g.at[i]);
            sum += a;
            product += a * (up(p.at[i]) - mean) * scale;
        }
    }
    sum = RMS ? 0 : over_block<add_op>(sum, 0) / cols;
    product = over_block<add_op>(product, 0) / cols;
    EACH (v, cols) {
        pack p = AT(row, in, v), d = AT(slope, grad, v), g = ((const pack *)gain)[v], out;
#pragma unroll
        for (int i = 0; i < N; i++)
            down(&out.at[i], scale * (up(d.at[i]) * up(g.at[i]) - sum - (up(p.at[i]) - mean) * scale * product));
        ((pack *)(dx + blockIdx.x * cols))[v] = out;
    }
}

/* The gradients of gain and bias, first step: each thread sums N columns over its block's rows. */
extern "C" __global__ void norm_columns(const T *dy, const T *x, const float *mean_of, const float *scale_of,
                                        float *parts, i64 rows, i64 cols)
{
    i64 first = (blockIdx.x * (i64)blockDim.x + threadIdx.x) * N;
    if (first >= cols) return;
    float gain[N] = {0}, bias[N] = {0};
    for (i64 row = blockIdx.y; row < rows; row += gridDim.y) {
        pack d = *(const pack *)(dy + row * cols + first), p = *(const pack *)(x + row * cols + first);
        float mean = RMS ? 0 : mean_of[row], scale = scale_of[row];
#pragma unroll
        for (int i = 0; i < N; i++) {
            bias[i] += up(d.at[i]);
            gain[i] += up(d.at[i]) * (up(p.at[i]) - mean) * scale;
        }
    }
#pragma unroll
    for (int i = 0; i < N; i++) {
        parts[(blockIdx.y * 2) * cols + first + i] = gain[i];
        parts[(blockIdx.y * 2 + 1) * cols + first + i] = bias[i];
    }
}

/* Second step: add the sums of all blocks. */
extern "C" __global__ void norm_columns_end(const float *parts, T *d_gain, T *d_bias, i64 shares, i64 cols)
{
    i64 col = blockIdx.x * (i64)blockDim.x + threadIdx.x;
    if (col >= cols) return;
    float gain = 0, bias = 0;
    for (i64 share = 0; share < shares; share++) {
        gain += parts[share * 2 * cols + col];
        bias += parts[(share * 2 + 1) * cols + col];
    }
    down(&d_gain[col], gain);
    if (!RMS) down(&d_bias[col], bias);
}

#elif WHAT == 1

/* y = softmax(scale * x). causal_rows: rows of one matrix; its columns right of the diagonal are masked. 0: no mask. */
extern "C" __global__ void softmax_forward(const T *x, T *y, i64 cols, float scale, i64 causal_rows)
{
    const pack *in = (const pack *)(x + blockIdx.x * cols);
    HOLD(row, in, cols);
    i64 seen = causal_rows ? blockIdx.x % causal_rows + cols - causal_rows + 1 : cols;
    float highest = -INFINITY, sum = 0;
    EACH (v, cols) {
        pack p = AT(row, in, v);
#pragma unroll
        for (int i = 0; i < N; i++)
            if (v * N + i < seen) highest = fmaxf(highest, up(p.at[i]) * scale);
    }
    highest = over_block<max_op>(highest, -INFINITY);
    EACH (v, cols) {
        pack p = AT(row, in, v);
#pragma unroll
        for (int i = 0; i < N; i++)
            if (v * N + i < seen) sum += __expf(up(p.at[i]) * scale - highest);
    }
    sum = over_block<add_op>(sum, 0);
    float inverse = 1 / sum, log_sum = __logf(sum);
    EACH (v, cols) {
        pack p = AT(row, in, v), out;
#pragma unroll
        for (int i = 0; i < N; i++) {
            float e = up(p.at[i]) * scale - highest;
            down(&out.at[i], v * N + i >= seen ? 0 : LOG ? e - log_sum : __expf(e) * inverse);
        }
        ((pack *)(y + blockIdx.x * cols))[v] = out;
    }
}

/* dx = scale * y (dy - sum(dy y)); log: dy - exp(y) sum(dy) */
extern "C" __global__ void softmax_backward(const T *dy, const T *y, T *dx, i64 cols, float scale)
{
    const pack *in = (const pack *)(y + blockIdx.x * cols), *grad = (const pack *)(dy + blockIdx.x * cols);
    HOLD(row, in, cols);
    HOLD(slope, grad, cols);
    float sum = 0;
    EACH (v, cols) {
        pack p = AT(row, in, v), d = AT(slope, grad, v);
#pragma unroll
        for (int i = 0; i < N; i++) sum += LOG ? up(d.at[i]) : up(d.at[i]) * up(p.at[i]);
    }
    sum = over_block<add_op>(sum, 0);
    EACH (v, cols) {
        pack p = AT(row, in, v), d = AT(slope, grad, v), out;
#pragma unroll
        for (int i = 0; i < N; i++)
            down(&out.at[i], LOG ? up(d.at[i]) - __expf(up(p.at[i])) * sum : scale * up(p.at[i]) * (up(d.at[i]) - sum));
        ((pack *)(dx + blockIdx.x * cols))[v] = out;
    }
}

#else

/* Adds the mean over rows of -log softmax(x)[target] to `loss`, which the caller zeroes. */
extern "C" __global__ void loss_forward(const T *x, const i64 *target, float *highest_of, float *sum_of, float *loss,
                                        i64 rows, i64 cols)
{
    const pack *in = (const pack *)(x + blockIdx.x * cols);
    HOLD(row, in, cols);
    float highest = -INFINITY, sum = 0;
    EACH (v, cols) {
        pack p = AT(row, in, v);
#pragma unroll
        for (int i = 0; i < N; i++) highest = fmaxf(highest, up(p.at[i]));
    }
    highest = over_block<max_op>(highest, -INFINITY);
    EACH (v, cols) {
        pack p = AT(row, in, v);
#pragma unroll
        for (int i = 0; i < N; i++) sum += __expf(up(p.at[i]) - highest);
    }
    sum = over_block<add_op>(sum, 0);
    if (threadIdx.x == 0) {
        highest_of[blockIdx.x] = highest;
        sum_of[blockIdx.x] = sum;
        atomicAdd(loss, (highest + logf(sum) - up(x[blockIdx.x * cols + target[blockIdx.x]])) / rows);
    }
}

/* dx = (softmax(x) - one(target)) / rows */
extern "C" __global__ void loss_backward(const T *x, const i64 *target, const float *highest_of, const float *sum_of,
                                         T *dx, i64 rows, i64 cols)
{
    const pack *in = (const pack *)(x + blockIdx.x * cols);
    HOLD(row, in, cols);
    float highest = highest_of[blockIdx.x], inverse = 1 / (sum_of[blockIdx.x] * rows), share = 1.0f / rows;
    i64 hit = target[blockIdx.x];
    EACH (v, cols) {
        pack p = AT(row, in, v), out;
#pragma unroll
        for (int i = 0; i < N; i++)
            down(&out.at[i], __expf(up(p.at[i]) - highest) * inverse - (v * N + i == hit ? share : 0));
        ((pack *)(dx + blockIdx.x * cols))[v] = out;
    }
}

#endif
