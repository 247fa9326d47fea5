/* SPDX-License-Identifier: Apache-2.0 */
/* types.cuh - number types, 16-byte vectors, reductions over a block. Included before every source. Needs no header of
   the CUDA toolkit. */
typedef long long i64;
typedef unsigned long long u64;
#define INFINITY __uint_as_float(0x7f800000u)

struct bf16 {
    unsigned short bits;
};
struct fp16 {
    unsigned short bits;
};
struct fp8 {
    unsigned char bits;
}; /* e4m3 */

__device__ inline float up(float x)
{
    return x;
}
__device__ inline double up(double x)
{
    return x;
}
__device__ inline float up(bf16 x)
{
    return __uint_as_float((unsigned)x.bits << 16);
}
__device__ inline float up(unsigned char x)
{
    return (float)x;
}
__device__ inline float up(fp16 x)
{
    float y;
    asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x.bits));
    return y;
}

__device__ inline void down(float *to, float x)
{
    *to = x;
}
__device__ inline void down(double *to, double x)
{
    *to = x;
}
__device__ inline void down(unsigned char *to, float x)
{
    *to = (unsigned char)x;
}
__device__ inline void down(fp16 *to, float x)
{
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(to->bits) : "f"(x));
}
__device__ inline void down(bf16 *to, float x)
{
#if __CUDA_ARCH__ >= 800
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(to->bits) : "f"(x));
#else
    unsigned u = __float_as_uint(x);
    to->bits = (unsigned short)((u + 0x7fff + (u >> 16 & 1)) >> 16);
#endif
}
#if __CUDA_ARCH__ >= 890
__device__ inline void down(fp8 *to, float x)
{
    unsigned short pair;
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(0.0f), "f"(x));
    to->bits = (unsigned char)(pair & 0xff);
}
#endif

/* N numbers that are loaded and stored with one instruction. */
template <typename T, int N> struct __align__(sizeof(T) * N) vec
{
    T at[N];
};

__device__ inline u64 hash(u64 key, u64 index)
{
    u64 h = key + index * 0x9e3779b97f4a7c15ull;
    h = (h ^ h >> 30) * 0xbf58476d1ce4e5b9ull;
    h = (h ^ h >> 27) * 0x94d049bb133111ebull;
    return h ^ h >> 31;
}

__device__ inline float random_value(u64 key, u64 index)
{
    u64 h = hash(key, index);
    int sum = (int)(h & 0xffff) + (int)(h >> 16 & 0xffff) + (int)(h >> 32 & 0xffff) + (int)(h >> 48) - 131070;
    return (float)(sum ? sum : 1) * 0x1p-15f;
}

struct add_op {
    __device__ static float of(float a, float b) { return a + b; }
};
struct max_op {
    __device__ static float of(float a, float b) { return a > b || a != a ? a : b; }
};

/* Reduce over the block (a multiple of 32 threads, at most 1024). Every thread gets the result. */
template <typename OP> __device__ inline float over_block(float x, float neutral)
{
    __shared__ float part[32];
    int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = blockDim.x >> 5;
    for (int step = 16; step; step >>= 1) x = OP::of(x, __shfl_xor_sync(0xffffffffu, x, step));
    __syncthreads(); /* threads may still be reading part[] of the previous call */
    if (lane == 0) part[warp] = x;
    __syncthreads();
    x = lane < warps ? part[lane] : neutral;
    for (int step = 16; step; step >>= 1) x = OP::of(x, __shfl_xor_sync(0xffffffffu, x, step));
    return x;
}
