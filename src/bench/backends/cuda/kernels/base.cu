/* SPDX-License-Identifier: Apache-2.0 */
/* base.cu - fill operands of type T, and a kernel that only waits. */
typedef TYPE_T T;

extern "C" __global__ void fill(T *to, i64 count, u64 key, float scale, i64 positive)
{
    for (i64 i = blockIdx.x * (i64)blockDim.x + threadIdx.x; i < count; i += (i64)gridDim.x * blockDim.x) {
        float x = random_value(key, i) * scale;
        down(&to[i], positive && x < 0 ? -x : x);
    }
}

extern "C" __global__ void fill_one(T *to, i64 count, float value)
{
    for (i64 i = blockIdx.x * (i64)blockDim.x + threadIdx.x; i < count; i += (i64)gridDim.x * blockDim.x)
        down(&to[i], value);
}

extern "C" __global__ void fill_index(i64 *to, i64 count, u64 key, i64 limit)
{
    for (i64 i = blockIdx.x * (i64)blockDim.x + threadIdx.x; i < count; i += (i64)gridDim.x * blockDim.x)
        to[i] = (i64)(hash(key, i) % (u64)limit);
}

extern "C" __global__ void fill_byte(unsigned char *to, i64 count, u64 key)
{
    for (i64 i = blockIdx.x * (i64)blockDim.x + threadIdx.x; i < count; i += (i64)gridDim.x * blockDim.x)
        to[i] = (unsigned char)(hash(key, i) >> 63);
}

extern "C" __global__ void spin(i64 nanoseconds)
{
    u64 start, now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
    do asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    while (now - start < (u64)nanoseconds);
}

extern "C" __global__ void empty(void) {}
