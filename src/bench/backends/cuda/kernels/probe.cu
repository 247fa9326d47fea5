/* SPDX-License-Identifier: Apache-2.0 */
/* probe.cu - probes of bandwidth by working set, of arithmetic in registers, and of look-ups. */

/* Word i is i * 2654435761, so that the sum of any number of words is known. */
extern "C" __global__ void pattern(unsigned *to, i64 words)
{
    for (i64 i = blockIdx.x * (i64)blockDim.x + threadIdx.x; i < words; i += (i64)gridDim.x * blockDim.x)
        to[i] = (unsigned)i * 2654435761u;
}

__device__ inline uint4 load(const uint4 *from, bool near)
{
    uint4 v;
    if (near)
        asm volatile("ld.global.ca.v4.u32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                     : "l"(from));
    else
        asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                     : "l"(from));
    return v;
}

/* What a block reads: a slice of its own, or, if `slice` is 0, every gridDim.x-th chunk of the whole set. */
struct range {
    i64 first, last, step;
    __device__ range(i64 slice, i64 vectors)
    {
        first = slice ? blockIdx.x * slice : blockIdx.x * 4 * (i64)blockDim.x;
        last = slice && first + slice < vectors ? first + slice : vectors;
        step = 4 * (i64)blockDim.x * (slice ? 1 : gridDim.x);
    }
};

/* Read the working set `passes` times and add its sum to *sum. slice 0: bypass the first-level cache. */
extern "C" __global__ void read(const uint4 *from, i64 slice, i64 vectors, i64 passes, unsigned *sum)
{
    unsigned total = 0;
    range r(slice, vectors);
    for (i64 pass = 0; pass < passes; pass++)
        for (i64 base = r.first + threadIdx.x; base < r.last; base += r.step) {
            uint4 v[4];
#pragma unroll
            for (int i = 0; i < 4; i++)
                if (base + i * (i64)blockDim.x < r.last)
                    v[i] = load(from + base + i * (i64)blockDim.x, slice != 0);
                else
                    v[i] = make_uint4(0, 0, 0, 0);
#pragma unroll
            for (int i = 0; i < 4; i++) total += v[i].x + v[i].y + v[i].z + v[i].w;
        }
    for (int step = 16; step; step >>= 1) total += __shfl_xor_sync(0xffffffffu, total, step);
    if ((threadIdx.x & 31) == 0) atomicAdd(sum, total);
}

extern "C" __global__ void copy(const uint4 *from, uint4 *to, i64 vectors, i64 passes)
{
    range r(0, vectors);
    for (i64 pass = 0; pass < passes; pass++)
        for (i64 base = r.first + threadIdx.x; base < r.last; base += r.step) {
            uint4 v[4];
#pragma unroll
            for (int i = 0; i < 4; i++)
                if (base + i * (i64)blockDim.x < r.last) v[i] = load(from + base + i * (i64)blockDim.x, false);
#pragma unroll
            for (int i = 0; i < 4; i++)
                if (base + i * (i64)blockDim.x < r.last) to[base + i * (i64)blockDim.x] = v[i];
        }
}

#define CHAINS 8

/* x = x * a + b in CHAINS independent chains per thread; a = 1/2 and b = 1, so that every chain converges to 2. */
extern "C" __global__ void fma_fp32(float *to, i64 rounds)
{
    float x[CHAINS];
    for (int i = 0; i < CHAINS; i++) x[i] = threadIdx.x * 0.001f + i;
#pragma unroll 16
    for (i64 r = 0; r < rounds; r++)
#pragma unroll
        for (int i = 0; i < CHAINS; i++) x[i] = fmaf(x[i], 0.5f, 1.0f);
    float sum = 0;
    for (int i = 0; i < CHAINS; i++) sum += x[i];
    to[blockIdx.x * (i64)blockDim.x + threadIdx.x] = sum / CHAINS;
}

extern "C" __global__ void fma_fp64(float *to, i64 rounds)
{
    double x[CHAINS], sum = 0;
    for (int i = 0; i < CHAINS; i++) x[i] = threadIdx.x * 0.001 + i;
#pragma unroll 16
    for (i64 r = 0; r < rounds; r++)
#pragma unroll
        for (int i = 0; i < CHAINS; i++) x[i] = fma(x[i], 0.5, 1.0);
    for (int i = 0; i < CHAINS; i++) sum += x[i];
    to[blockIdx.x * (i64)blockDim.x + threadIdx.x] = (float)(sum / CHAINS);
}

/* Two 16-bit numbers per word. */
#define PAIRED(name, op, half, one, start)                                                                             \
    extern "C" __global__ void name(float *to, i64 rounds)                                                             \
    {                                                                                                                  \
        unsigned x[CHAINS];                                                                                            \
        for (int i = 0; i < CHAINS; i++) x[i] = start + i + threadIdx.x % 7;                                           \
        _Pragma("unroll 16") for (i64 r = 0; r < rounds; r++)                                                          \
            _Pragma("unroll") for (int i = 0; i < CHAINS;                                                              \
                                   i++) asm volatile(op " %0, %0, %1, %2;" : "+r"(x[i]) : "r"(half), "r"(one));        \
        unsigned same = 0;                                                                                             \
        for (int i = 0; i < CHAINS; i++) same |= x[i] ^ x[0];                                                          \
        fp16 h = {(unsigned short)x[0]};                                                                               \
        bf16 b = {(unsigned short)x[0]};                                                                               \
        to[blockIdx.x * (i64)blockDim.x + threadIdx.x] = same ? 0 : (start == 0x3c003c00u ? up(h) : up(b));            \
    }
PAIRED(fma_fp16, "fma.rn.f16x2", 0x38003800u, 0x3c003c00u, 0x3c003c00u)
#if __CUDA_ARCH__ >= 800
PAIRED(fma_bf16, "fma.rn.bf16x2", 0x3f003f00u, 0x3f803f80u, 0x3f803f80u)
#endif

/* A grid of energies with five random cross sections each; row i has the energy (i + 0.5) / rows. */
#define COLUMNS 6

__device__ inline double drawn(u64 key, u64 index)
{
    return (double)(hash(key, index) >> 11) * 0x1p-53;
}

extern "C" __global__ void lookup_fill(double *table, i64 rows, u64 key)
{
    for (i64 i = blockIdx.x * (i64)blockDim.x + threadIdx.x; i < rows * COLUMNS; i += (i64)gridDim.x * blockDim.x)
        table[i] = i % COLUMNS ? drawn(key, i) : ((double)(i / COLUMNS) + 0.5) / (double)rows;
}

/* Draw an energy, find the rows around it by bisection, and interpolate the five cross sections. Each thread does
   `lookups` look-ups and writes their sum to `sums`. */
extern "C" __global__ void lookup(const double *table, i64 rows, u64 key, i64 lookups, double *sums)
{
    u64 thread = blockIdx.x * (u64)blockDim.x + threadIdx.x;
    double total = 0;
    for (i64 i = 0; i < lookups; i++) {
        double energy = drawn(key, thread * lookups + i);
        i64 low = 0, high = rows - 1;
        while (high - low > 1) {
            i64 middle = (low + high) / 2;
            if (table[middle * COLUMNS] > energy)
                high = middle;
            else
                low = middle;
        }
        const double *a = table + low * COLUMNS, *b = a + COLUMNS;
        double part = (energy - a[0]) / (b[0] - a[0]);
        for (int k = 1; k < COLUMNS; k++) total += a[k] + (b[k] - a[k]) * part;
    }
    sums[thread] = total;
}
