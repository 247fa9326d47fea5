/* SPDX-License-Identifier: Apache-2.0 */
/* tensors.cu - reductions, embedding, optimizer updates of type T, in vectors of N elements. */
typedef TYPE_T T;
static const int N = VECTOR;
typedef vec<T, N> pack;

/* ---- reductions: OP over `length` elements for each of `kept` results -------------------------------------------- */

#if MAXIMUM
typedef max_op op;
#define NEUTRAL (-INFINITY)
#else
typedef add_op op;
#define NEUTRAL 0.0f
#endif

/* Threads cover the reduced elements: blockIdx.x takes a part of them, blockIdx.y every gridDim.y-th result. PLANES:
   the tensor is [outer, kept, inner], and the dimensions outer and inner are reduced. */
extern "C" __global__ void reduce_along(const T *x, float *parts, T *y, i64 kept, i64 length, i64 inner, float factor)
{
    i64 share = (length / N + gridDim.x - 1) / gridDim.x, first = blockIdx.x * share;
    i64 last = first + share < length / N ? first + share : length / N;
    for (i64 k = blockIdx.y; k < kept; k += gridDim.y) {
        float total = NEUTRAL;
        for (i64 v = first + threadIdx.x; v < last; v += blockDim.x) {
            i64 at = PLANES ? (v * N / inner * kept + k) * inner + v * N % inner : k * length + v * N;
            pack p = *(const pack *)(x + at);
#pragma unroll
            for (int i = 0; i < N; i++) total = op::of(total, up(p.at[i]));
        }
        total = over_block<op>(total, NEUTRAL);
        if (threadIdx.x == 0) {
            if (gridDim.x == 1)
                down(&y[k], total * factor);
            else
                parts[blockIdx.x * kept + k] = total;
        }
    }
}

/* Short rows: one warp per row. */
extern "C" __global__ void reduce_short(const T *x, T *y, i64 kept, i64 length, float factor)
{
    i64 warps = (i64)gridDim.x * (blockDim.x >> 5);
    for (i64 k = blockIdx.x * (i64)(blockDim.x >> 5) + (threadIdx.x >> 5); k < kept; k += warps) {
        float total = NEUTRAL;
        for (i64 i = threadIdx.x & 31; i < length; i += 32) total = op::of(total, up(x[k * length + i]));
        for (int step = 16; step; step >>= 1) total = op::of(total, __shfl_xor_sync(0xffffffffu, total, step));
        if ((threadIdx.x & 31) == 0) down(&y[k], total * factor);
    }
}

/* Threads cover the results. The tensor is [outer, length, inner]; blockIdx.y takes a part of the length. */
extern "C" __global__ void reduce_across(const T *x, float *parts, i64 kept, i64 length, i64 inner)
{
    i64 share = (length + gridDim.y - 1) / gridDim.y, first = blockIdx.y * share,
        last = first + share < length ? first + share : length;
    for (i64 k = blockIdx.x * (i64)blockDim.x + threadIdx.x; k < kept; k += (i64)gridDim.x * blockDim.x) {
        const T *column = x + k / inner * length * inner + k % inner;
        float total = NEUTRAL;
        for (i64 i = first; i < last; i++) total = op::of(total, up(column[i * inner]));
        parts[blockIdx.y * kept + k] = total;
    }
}

/* Combine partial results with one block per result, for many parts. */
extern "C" __global__ void reduce_end(const float *parts, T *y, i64 kept, i64 shares, float factor)
{
    for (i64 k = blockIdx.x; k < kept; k += gridDim.x) {
        float total = NEUTRAL;
        for (i64 s = threadIdx.x; s < shares; s += blockDim.x) total = op::of(total, parts[s * kept + k]);
        total = over_block<op>(total, NEUTRAL);
        if (threadIdx.x == 0) down(&y[k], total * factor);
    }
}

/* Combine partial results with one thread per result. */
extern "C" __global__ void reduce_end_few(const float *parts, T *y, i64 kept, i64 shares, float factor)
{
    for (i64 k = blockIdx.x * (i64)blockDim.x + threadIdx.x; k < kept; k += (i64)gridDim.x * blockDim.x) {
        float total = NEUTRAL;
        for (i64 s = 0; s < shares; s++) total = op::of(total, parts[s * kept + k]);
        down(&y[k], total * factor);
    }
}

/* ---- embedding --------------------------------------------------------------------------------------------------- */

extern "C" __global__ void embed(const i64 *index, const T *table, T *y, i64 tokens, i64 width)
{
    for (i64 token = blockIdx.x; token < tokens; token += gridDim.x) {
        const pack *row = (const pack *)(table + index[token] * width);
        for (i64 v = threadIdx.x; v < width / N; v += blockDim.x) ((pack *)(y + token * width))[v] = row[v];
    }
}

extern "C" __global__ void clear(uint4 *to, i64 vectors)
{
    for (i64 v = blockIdx.x * (i64)blockDim.x + threadIdx.x; v < vectors; v += (i64)gridDim.x * blockDim.x)
        to[v] = make_uint4(0, 0, 0, 0);
}

__device__ inline void add_to(float *to, const float *from)
{
    atomicAdd(to, *from);
}
#if __CUDA_ARCH__ >= 700
__device__ inline void add_to(fp16 *to, const fp16 *from)
{
    asm volatile("red.global.add.noftz.f16x2 [%0], %1;" ::"l"(to), "r"(*(const unsigned *)from) : "memory");
}
#endif
#if __CUDA_ARCH__ >= 900
__device__ inline void add_to(bf16 *to, const bf16 *from)
{
    asm volatile("red.global.add.noftz.bf16x2 [%0], %1;" ::"l"(to), "r"(*(const unsigned *)from) : "memory");
}
#endif

#if ATOMICS
/* Add each token's gradient to its row. */
extern "C" __global__ void embed_backward(const i64 *index, const T *dy, T *table, i64 tokens, i64 width)
{
    const int step = sizeof(T) == 2 ? 2 : 1;
    for (i64 token = blockIdx.x; token < tokens; token += gridDim.x)
        for (i64 i = threadIdx.x * step; i < width; i += blockDim.x * step)
            add_to(table + index[token] * width + i, dy + token * width + i);
}
#endif

/* ---- optimizer updates: tensors of `each` elements, a block takes CHUNK of one of them --------------------------- */

#define CHUNK 16384
struct hyper {
    float rate, momentum, beta1, beta2, epsilon, decay, correction1, correction2;
};

__device__ inline void update(hyper h, float *p, float g, float *m, float *v)
{
#if RULE == 0
    *p -= h.rate * g;
#elif RULE == 1
    *m = h.momentum * *m + g;
    *p -= h.rate * *m;
#else
    if (RULE == 3) *p -= h.rate * h.decay * *p;
    *m = h.beta1 * *m + (1 - h.beta1) * g;
    *v = h.beta2 * *v + (1 - h.beta2) * g * g;
    *p -= h.rate / h.correction1 * *m / (sqrtf(*v) / sqrtf(h.correction2) + h.epsilon);
#endif
}

extern "C" __global__ void optimize(T *p, const T *g, T *m, T *v, i64 each, float rate, float momentum, float beta1,
                                    float beta2, float epsilon, float decay, float correction1, float correction2)
{
    hyper h = {rate, momentum, beta1, beta2, epsilon, decay, correction1, correction2};
    i64 chunks = (each + CHUNK - 1) / CHUNK, tensor = blockIdx.x / chunks, first = blockIdx.x % chunks * CHUNK;
    i64 last = first + CHUNK < each ? first + CHUNK : each, base = tensor * each;
    for (i64 i = first + threadIdx.x * N; i < last; i += blockDim.x * N) {
        pack pp = *(pack *)(p + base + i), gg = *(const pack *)(g + base + i), mm, vv;
        if (RULE > 0) mm = *(pack *)(m + base + i);
        if (RULE > 1) vv = *(pack *)(v + base + i);
#pragma unroll
        for (int k = 0; k < N; k++) {
            float a = up(pp.at[k]), b = RULE > 0 ? up(mm.at[k]) : 0, c = RULE > 1 ? up(vv.at[k]) : 0;
            update(h, &a, up(gg.at[k]), &b, &c);
            down(&pp.at[k], a);
            if (RULE > 0) down(&mm.at[k], b);
            if (RULE > 1) down(&vv.at[k], c);
        }
        *(pack *)(p + base + i) = pp;
        if (RULE > 0) *(pack *)(m + base + i) = mm;
        if (RULE > 1) *(pack *)(v + base + i) = vv;
    }
}
