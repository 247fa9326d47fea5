/* SPDX-License-Identifier: Apache-2.0 */
/* images.cu - group normalisation and resizing of images of type T, channels last (LAST) or first. */
typedef TYPE_T T;
#define EPSILON 1e-5f

/* ---- group normalisation: blockIdx.y is a group of an image, blockIdx.x a part of it ---------------------------- */

struct group {
    i64 image, first_channel, channels, each, pixels, from, to;
    __device__ group(i64 all, i64 per_group, i64 area)
    {
        i64 groups = all / per_group, count = per_group * area, share = (count + gridDim.x - 1) / gridDim.x;
        image = blockIdx.y / groups;
        first_channel = blockIdx.y % groups * per_group;
        channels = all;
        each = per_group;
        pixels = area;
        from = blockIdx.x * share;
        to = from + share < count ? from + share : count;
    }
    __device__ i64 channel(i64 e) const { return first_channel + (LAST ? e % each : e / pixels); }
    __device__ i64 place(i64 e) const
    {
        return LAST ? (image * pixels + e / each) * channels + first_channel + e % each
                    : (image * channels + first_channel) * pixels + e;
    }
};

__device__ inline void put_parts(float *parts, float a, float b)
{
    a = over_block<add_op>(a, 0);
    b = over_block<add_op>(b, 0);
    if (threadIdx.x == 0) {
        parts[(blockIdx.y * (i64)gridDim.x + blockIdx.x) * 2] = a;
        parts[(blockIdx.y * (i64)gridDim.x + blockIdx.x) * 2 + 1] = b;
    }
}

__device__ inline float sum_parts(const float *parts, int which)
{
    float sum = 0;
    for (int i = threadIdx.x; i < gridDim.x; i += blockDim.x)
        sum += parts[(blockIdx.y * (i64)gridDim.x + i) * 2 + which];
    return over_block<add_op>(sum, 0);
}

extern "C" __global__ void group_sums(const T *x, float *parts, i64 channels, i64 each, i64 pixels)
{
    group g(channels, each, pixels);
    float sum = 0, squares = 0;
    for (i64 e = g.from + threadIdx.x; e < g.to; e += blockDim.x) {
        float v = up(x[g.place(e)]);
        sum += v;
        squares += v * v;
    }
    put_parts(parts, sum, squares);
}

extern "C" __global__ void group_forward(const T *x, const T *gain, const T *bias, const float *parts, T *y,
                                         float *mean_of, float *scale_of, i64 channels, i64 each, i64 pixels)
{
    group g(channels, each, pixels);
    float count = (float)(each * pixels), mean = sum_parts(parts, 0) / count;
    float scale = rsqrtf(sum_parts(parts, 1) / count - mean * mean + EPSILON);
    for (i64 e = g.from + threadIdx.x; e < g.to; e += blockDim.x) {
        i64 at = g.place(e), c = g.channel(e);
        down(&y[at], (up(x[at]) - mean) * scale * up(gain[c]) + up(bias[c]));
    }
    if (threadIdx.x == 0 && blockIdx.x == 0) {
        mean_of[blockIdx.y] = mean;
        scale_of[blockIdx.y] = scale;
    }
}

extern "C" __global__ void group_backward_sums(const T *dy, const T *x, const T *gain, const float *mean_of,
                                               const float *scale_of, float *parts, i64 channels, i64 each, i64 pixels)
{
    group g(channels, each, pixels);
    float sum = 0, product = 0, mean = mean_of[blockIdx.y], scale = scale_of[blockIdx.y];
    for (i64 e = g.from + threadIdx.x; e < g.to; e += blockDim.x) {
        i64 at = g.place(e);
        float d = up(dy[at]) * up(gain[g.channel(e)]);
        sum += d;
        product += d * (up(x[at]) - mean) * scale;
    }
    put_parts(parts, sum, product);
}

extern "C" __global__ void group_backward(const T *dy, const T *x, const T *gain, const float *mean_of,
                                          const float *scale_of, const float *parts, T *dx, i64 channels, i64 each,
                                          i64 pixels)
{
    group g(channels, each, pixels);
    float count = (float)(each * pixels), mean = mean_of[blockIdx.y], scale = scale_of[blockIdx.y];
    float sum = sum_parts(parts, 0) / count, product = sum_parts(parts, 1) / count;
    for (i64 e = g.from + threadIdx.x; e < g.to; e += blockDim.x) {
        i64 at = g.place(e);
        down(&dx[at], scale * (up(dy[at]) * up(gain[g.channel(e)]) - sum - (up(x[at]) - mean) * scale * product));
    }
}

/* The gradients of gain and bias. Threads cover channels if these are last, otherwise the pixels of one channel. */
extern "C" __global__ void group_channels(const T *dy, const T *x, const float *mean_of, const float *scale_of,
                                          float *parts, i64 images, i64 channels, i64 each, i64 pixels)
{
    i64 c = LAST ? blockIdx.x * (i64)blockDim.x + threadIdx.x : blockIdx.x, groups = channels / each,
        all = images * pixels;
    float gain = 0, bias = 0;
    for (i64 i = LAST ? blockIdx.y : blockIdx.y * (i64)blockDim.x + threadIdx.x; c < channels && i < all;
         i += LAST ? gridDim.y : gridDim.y * (i64)blockDim.x) {
        i64 image = i / pixels, at = LAST ? i * channels + c : (image * channels + c) * pixels + i % pixels,
            g = image * groups + c / each;
        float d = up(dy[at]);
        bias += d;
        gain += d * (up(x[at]) - mean_of[g]) * scale_of[g];
    }
    if (!LAST) {
        gain = over_block<add_op>(gain, 0);
        bias = over_block<add_op>(bias, 0);
    }
    if (c < channels && (LAST || threadIdx.x == 0)) {
        parts[(blockIdx.y * 2) * channels + c] = gain;
        parts[(blockIdx.y * 2 + 1) * channels + c] = bias;
    }
}

extern "C" __global__ void group_channels_end(const float *parts, T *d_gain, T *d_bias, i64 shares, i64 channels)
{
    i64 c = blockIdx.x * (i64)blockDim.x + threadIdx.x;
    if (c >= channels) return;
    float gain = 0, bias = 0;
    for (i64 s = 0; s < shares; s++) {
        gain += parts[s * 2 * channels + c];
        bias += parts[(s * 2 + 1) * channels + c];
    }
    down(&d_gain[c], gain);
    down(&d_bias[c], bias);
}

/* ---- resizing ---------------------------------------------------------------------------------------------------- */

/* The two inputs of an output position and the second one's weight. Pixels are areas (align_corners is false). */
struct source {
    int low, high;
    float part;
    __device__ source(int at, int in, int out)
    {
        float ratio = (float)in / out;
        if (NEAREST) {
            low = min((int)floorf(at * ratio), in - 1);
            high = low;
            part = 0;
            return;
        }
        float where = fmaxf((at + 0.5f) * ratio - 0.5f, 0);
        low = min((int)where, in - 1);
        high = min(low + 1, in - 1);
        part = where - low;
    }
    __device__ float weight(int of) const { return (of == low ? 1 - part : 0) + (of == high ? part : 0); }
};

struct pixel {
    i64 image, channel;
    int row, column;
    __device__ pixel(i64 i, i64 channels, int h, int w)
    {
        if (LAST) {
            channel = i % channels;
            i /= channels;
        }
        column = (int)(i % w);
        row = (int)(i / w % h);
        i /= (i64)h * w;
        if (!LAST) {
            channel = i % channels;
            i /= channels;
        }
        image = i;
    }
    __device__ i64 place(i64 channels, int h, int w, int y, int x) const
    {
        return LAST ? ((image * h + y) * w + x) * channels + channel : ((image * channels + channel) * h + y) * w + x;
    }
};

extern "C" __global__ void resize(const T *x, T *y, i64 images, i64 channels, i64 h, i64 w, i64 out_h, i64 out_w)
{
    i64 count = images * channels * out_h * out_w;
    for (i64 i = blockIdx.x * (i64)blockDim.x + threadIdx.x; i < count; i += (i64)gridDim.x * blockDim.x) {
        pixel p(i, channels, out_h, out_w);
        source v(p.row, h, out_h), u(p.column, w, out_w);
        if (NEAREST) {
            y[i] = x[p.place(channels, h, w, v.low, u.low)];
            continue;
        }
        float top = (1 - u.part) * up(x[p.place(channels, h, w, v.low, u.low)]) +
                    u.part * up(x[p.place(channels, h, w, v.low, u.high)]);
        float bottom = (1 - u.part) * up(x[p.place(channels, h, w, v.high, u.low)]) +
                       u.part * up(x[p.place(channels, h, w, v.high, u.high)]);
        down(&y[i], (1 - v.part) * top + v.part * bottom);
    }
}

/* Each input sums the gradients of the outputs that used it. */
extern "C" __global__ void resize_backward(const T *dy, T *dx, i64 images, i64 channels, i64 h, i64 w, i64 out_h,
                                           i64 out_w)
{
    i64 count = images * channels * h * w;
    for (i64 i = blockIdx.x * (i64)blockDim.x + threadIdx.x; i < count; i += (i64)gridDim.x * blockDim.x) {
        pixel p(i, channels, h, w);
        int top = max((int)((p.row - 1) * (float)out_h / h) - 2, 0),
            bottom = min((int)((p.row + 2) * (float)out_h / h) + 2, (int)out_h);
        int left = max((int)((p.column - 1) * (float)out_w / w) - 2, 0),
            right = min((int)((p.column + 2) * (float)out_w / w) + 2, (int)out_w);
        float total = 0;
        for (int r = top; r < bottom; r++) {
            float down_by = source(r, h, out_h).weight(p.row);
            for (int c = left; down_by != 0 && c < right; c++) {
                float across = source(c, w, out_w).weight(p.column);
                if (across != 0) total += down_by * across * up(dy[p.place(channels, out_h, out_w, r, c)]);
            }
        }
        down(&dx[i], total);
    }
}
