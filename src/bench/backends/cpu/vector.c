/* SPDX-License-Identifier: Apache-2.0 */
/* vector.c - independent chains of multiply-adds: enough to hide their latency, few enough to fit into registers. */
#include "bench/backends/cpu/vector.h"

#define TURNS 100000

/* `chains` vectors of `bytes` bytes. Each adds a fraction of its neighbour, so that compilers cannot hoist products. */
#define MULTIPLY_ADDS(name, bytes, chains, target)                                                                     \
    typedef float name##_vector __attribute__((vector_size(bytes)));                                                   \
    target static float name(void)                                                                                     \
    {                                                                                                                  \
        name##_vector x[chains], a = {0};                                                                              \
        float         sum = 0;                                                                                         \
        a = a + 0.000001f;                                                                                             \
        for (int i = 0; i < chains; i++) x[i] = a + (float)i;                                                          \
        for (int turn = 0; turn < TURNS; turn++)                                                                       \
            _Pragma("GCC unroll 24") for (int i = 0; i < chains; i++) x[i] += x[(i + 1) % chains] * a;                 \
        for (int i = 0; i < chains; i++) sum += x[i][0];                                                               \
        return sum;                                                                                                    \
    }

#if defined(__x86_64__)
MULTIPLY_ADDS(widest, 64, 24, __attribute__((target("avx512f"))))
MULTIPLY_ADDS(wide, 32, 12, __attribute__((target("avx2,fma"))))
#define TARGETS                                                                                                        \
    {__builtin_cpu_supports("avx512f") != 0, 64, 24, widest}, {__builtin_cpu_supports("fma") != 0, 32, 12, wide},
#else
#define TARGETS
#endif
MULTIPLY_ADDS(plain, 16, 24, )

typedef struct version {
    int supported, bytes, chains;
    float (*work)(void);
} version;

static version best(void)
{
    const version versions[] = {TARGETS{1, 16, 24, plain}};
    int           i = 0;
    while (!versions[i].supported) i++;
    return versions[i];
}

float cm__vector_work(void) { return best().work(); }

double cm__vector_flop(void)
{
    version v = best();
    return 2.0 * TURNS * v.chains * v.bytes / 4;
}
