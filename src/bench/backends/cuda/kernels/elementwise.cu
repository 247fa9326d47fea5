/* SPDX-License-Identifier: Apache-2.0 */
/*
 * elementwise.cu - one function F of up to two operands of type A and B, and a mask, into type O.
 * INPUTS: number of operands read. MASKED: a mask is read, too. DRAWS: the mask is drawn and written instead.
 * SHAPE 1: operand 2 is [inner]; 2: operand 2 is [outer, 1]; 3: operand 1 is stored as [inner, outer].
 */
typedef TYPE_A A;
typedef TYPE_B B;
typedef TYPE_O O;

#define PI_HALF_ROOT 0.7978845608028654f /* sqrt(2 / pi) */

struct copy_f {
    __device__ static float of(float a, float) { return a; }
};
struct fill_f {
    __device__ static float of(float, float) { return 0.5f; }
};
struct add_f {
    __device__ static float of(float a, float b) { return a + b; }
};
struct sub_f {
    __device__ static float of(float a, float b) { return a - b; }
};
struct mul_f {
    __device__ static float of(float a, float b) { return a * b; }
};
struct div_f {
    __device__ static float of(float a, float b) { return a / b; }
};
struct pow_f {
    __device__ static float of(float a, float b) { return powf(a, b); }
};
struct where_f {
    __device__ static float of(float a, float b, bool m) { return m ? a : b; }
};
struct relu_f {
    __device__ static float of(float a, float) { return a > 0 ? a : 0; }
};
struct sigmoid_f {
    __device__ static float of(float a, float) { return 1 / (1 + __expf(-a)); }
};
struct tanh_f {
    __device__ static float of(float a, float) { return tanhf(a); }
};
struct gelu_f {
    __device__ static float of(float a, float) { return 0.5f * a * (1 + erff(a * 0.70710678f)); }
};
struct gelu_tanh_f {
    __device__ static float of(float a, float)
    {
        return 0.5f * a * (1 + tanhf(PI_HALF_ROOT * (a + 0.044715f * a * a * a)));
    }
};
struct silu_f {
    __device__ static float of(float a, float) { return a / (1 + __expf(-a)); }
};
struct exp_f {
    __device__ static float of(float a, float) { return expf(a); }
};
struct log_f {
    __device__ static float of(float a, float) { return logf(a); }
};
struct sqrt_f {
    __device__ static float of(float a, float) { return sqrtf(a); }
};
struct rsqrt_f {
    __device__ static float of(float a, float) { return rsqrtf(a); }
};
struct erf_f {
    __device__ static float of(float a, float) { return erff(a); }
};
struct neg_f {
    __device__ static float of(float a, float) { return -a; }
};
struct scale_f {
    __device__ static float of(float a, float) { return a * 0.125f; }
};
struct clip_f {
    __device__ static float of(float a, float) { return fminf(fmaxf(a, -1), 1); }
};
struct hardswish_f {
    __device__ static float of(float a, float) { return a * fminf(fmaxf(a + 3, 0), 6) / 6; }
};
struct dropout_f {
    __device__ static float of(float a, float, bool m) { return m ? a * 2 : 0; }
};
/* Backward: a is the gradient of the result; b is the operand, or the result for sigmoid and tanh. */
struct relu_grad_f {
    __device__ static float of(float a, float b) { return b > 0 ? a : 0; }
};
struct sigmoid_grad_f {
    __device__ static float of(float a, float b) { return a * b * (1 - b); }
};
struct tanh_grad_f {
    __device__ static float of(float a, float b) { return a * (1 - b * b); }
};
struct silu_grad_f {
    __device__ static float of(float a, float b)
    {
        float s = 1 / (1 + __expf(-b));
        return a * s * (1 + b * (1 - s));
    }
};
struct gelu_grad_f {
    __device__ static float of(float a, float b)
    {
        return a * (0.5f * (1 + erff(b * 0.70710678f)) + b * 0.3989422804f * __expf(-0.5f * b * b));
    }
};
struct gelu_tanh_grad_f {
    __device__ static float of(float a, float b)
    {
        float t = tanhf(PI_HALF_ROOT * (b + 0.044715f * b * b * b));
        return a * (0.5f * (1 + t) + 0.5f * b * (1 - t * t) * PI_HALF_ROOT * (1 + 3 * 0.044715f * b * b));
    }
};
struct hardswish_grad_f {
    __device__ static float of(float a, float b) { return b <= -3 ? 0 : b >= 3 ? a : a * (b / 3 + 0.5f); }
};
struct dropout_grad_f {
    __device__ static float of(float a, float, bool m) { return m ? a * 2 : 0; }
};

#define CONCAT_(a, b) a##b
#define CONCAT(a, b) CONCAT_(a, b)
typedef CONCAT(F, _f) f;

/* Elements that fill 16 bytes of the widest operand. */
#define WIDEST                                                                                                         \
    ((sizeof(A) > sizeof(O) ? sizeof(A) : sizeof(O)) > (INPUTS > 1 ? sizeof(B) : 0)                                    \
         ? (sizeof(A) > sizeof(O) ? sizeof(A) : sizeof(O))                                                             \
         : sizeof(B))
static const int N = 16 / WIDEST;

__device__ inline float apply(float a, float b, bool m)
{
#if MASKED
    return f::of(a, b, m);
#else
    return f::of(a, b);
#endif
}

/* Dropout draws its mask with one hash per four elements. */
__device__ inline bool drawn(u64 key, i64 i)
{
    return hash(key, (u64)i >> 2) >> (16 * (i & 3)) & 1;
}

/* Without broadcasting: `count` elements, in vectors of N and a scalar remainder. */
extern "C" __global__ void flat(const A *a, const B *b, unsigned char *mask, O *to, i64 count, u64 key)
{
    i64 vectors = count / N, stride = (i64)gridDim.x * blockDim.x;
    for (i64 v = blockIdx.x * (i64)blockDim.x + threadIdx.x; v < vectors; v += stride) {
        vec<A, N> x;
        vec<B, N> y;
        vec<O, N> z;
        vec<unsigned char, N> m;
        if (INPUTS > 0) x = ((const vec<A, N> *)a)[v];
        if (INPUTS > 1) y = ((const vec<B, N> *)b)[v];
        if (MASKED && !DRAWS) m = ((const vec<unsigned char, N> *)mask)[v];
#pragma unroll
        for (int i = 0; i < N; i++) {
            if (DRAWS) m.at[i] = drawn(key, v * N + i);
            down(&z.at[i], apply(INPUTS > 0 ? up(x.at[i]) : 0, INPUTS > 1 ? up(y.at[i]) : 0, MASKED ? m.at[i] : false));
        }
        ((vec<O, N> *)to)[v] = z;
        if (DRAWS) ((vec<unsigned char, N> *)mask)[v] = m;
    }
    i64 i = vectors * N + blockIdx.x * (i64)blockDim.x + threadIdx.x;
    if (i < count) {
        bool m = DRAWS ? drawn(key, i) : MASKED ? mask[i] : false;
        down(&to[i], apply(INPUTS > 0 ? up(a[i]) : 0, INPUTS > 1 ? up(b[i]) : 0, m));
        if (DRAWS) mask[i] = m;
    }
}

/* Operand 2 is broadcast or operand 1 is a transposed view: one element per thread, one row per blockIdx.y. */
extern "C" __global__ void shaped(const A *a, const B *b, unsigned char *mask, O *to, i64 outer, i64 inner)
{
    for (i64 row = blockIdx.y; row < outer; row += gridDim.y)
        for (i64 col = blockIdx.x * (i64)blockDim.x + threadIdx.x; col < inner; col += (i64)gridDim.x * blockDim.x) {
            i64 i = row * inner + col;
            i64 ia = SHAPE == 3 ? col * outer + row : i, ib = SHAPE == 1 ? col : SHAPE == 2 ? row : i;
            down(&to[i], apply(INPUTS > 0 ? up(a[ia]) : 0, INPUTS > 1 ? up(b[ib]) : 0, MASKED ? mask[i] : false));
        }
}

/* Concatenate two tensors [outer, inner] along the inner dimension. */
extern "C" __global__ void cat(const A *a, const A *b, O *to, i64 outer, i64 inner)
{
    for (i64 row = blockIdx.y; row < outer; row += gridDim.y)
        for (i64 col = blockIdx.x * (i64)blockDim.x + threadIdx.x; col < inner; col += (i64)gridDim.x * blockDim.x)
            down(&to[row * inner + col],
                 up(col < inner / 2 ? a[row * (inner / 2) + col] : b[row * (inner - inner / 2) + col - inner / 2]));
}
