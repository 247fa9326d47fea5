/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gemm_overhead.c - [ROUNDS]: compare `centimani bench` of matrix products with a bare loop of cblas_sgemm.
 *
 * The two alternate, so that other load on the machine affects both. The result of each is the smallest median of all
 * rounds. Exits with 1 if they differ by more than 3 %.
 */
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "bench/stats.h"
#include "centimani.h"

#define ROUNDS_MAX 64
#define SAMPLES    9

typedef void sgemm(int, int, int, int, int, int, float, const float *, int, const float *, int, float, float *, int);

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static sgemm *open_blas(void)
{
    void  *library = dlopen("libopenblas.so.0", RTLD_NOW), *address = library ? dlsym(library, "cblas_sgemm") : NULL;
    sgemm *function = NULL;
    memcpy(&function, &address, sizeof address);
    return function;
}

/* Median of samples of about 20 ms each, after one warm-up call. */
static double bare_s(sgemm *multiply, int m, int n, int k, const float *a, const float *b, float *c)
{
    double samples[SAMPLES];
    multiply(101, 111, 111, m, n, k, 1, a, k, b, n, 0, c, n);
    double began = now_s();
    multiply(101, 111, 111, m, n, k, 1, a, k, b, n, 0, c, n);
    int repetitions = (int)fmax(1, 0.02 / (now_s() - began));
    for (int s = 0; s < SAMPLES; s++) {
        began = now_s();
        for (int i = 0; i < repetitions; i++) multiply(101, 111, 111, m, n, k, 1, a, k, b, n, 0, c, n);
        samples[s] = (now_s() - began) / repetitions;
    }
    return cm__stats_of(samples, SAMPLES).median;
}

static double harness_s(const char *name)
{
    cm_bench        *bench;
    cm_diag          diag = {0};
    cm_bench_options o = {.backend = "cpu", .suites = "primitives,roofline", .only = name};
    if (cm_bench_run(&o, &bench, &diag) != CM_OK) {
        fprintf(stderr, "%s\n", diag.reason);
        return NAN;
    }
    double time_s = cm_bench_get_result(bench, 0)->time_s;
    cm_bench_free(bench);
    return time_s;
}

static float *random_numbers(size_t count)
{
    float *x = malloc(count * sizeof *x);
    for (size_t i = 0; x && i < count; i++) x[i] = (float)(i * 2654435761u % 1000) / 500 - 0.9995f;
    return x;
}

static double compare(sgemm *multiply, int m, int n, int k, int rounds)
{
    char   name[96];
    double harness[ROUNDS_MAX], bare[ROUNDS_MAX];
    float *a = random_numbers((size_t)m * (size_t)k), *b = random_numbers((size_t)k * (size_t)n),
          *c = random_numbers((size_t)m * (size_t)n);
    snprintf(name, sizeof name, "gemm forward nn fp32 1,%d,%d,%d", m, n, k);
    for (int i = 0; i < rounds; i++) {
        harness[i] = harness_s(name);
        bare[i] = bare_s(multiply, m, n, k, a, b, c);
    }
    double h = cm__stats_of(harness, rounds).least, r = cm__stats_of(bare, rounds).least;
    printf("%-36s %10.4f ms %10.4f ms %7.3f\n", name, 1e3 * h, 1e3 * r, h / r);
    free(a);
    free(b);
    free(c);
    return h / r;
}

int main(int argc, char **argv)
{
    static const int sizes[][3] = {
        {64, 1760, 1760}, {2560, 64, 2560}, {1760, 128, 1760}, {1024, 1024, 1024}, {2560, 2560, 2560}};
    int              rounds = argc > 1 ? atoi(argv[1]) : 5, off = 0;
    sgemm           *multiply = open_blas();
    if (!multiply || rounds < 1 || rounds > ROUNDS_MAX) {
        fprintf(stderr, "needs libopenblas.so.0 and 1 to %d rounds\n", ROUNDS_MAX);
        return 1;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    printf("%-36s %13s %13s %7s\n", "", "bench", "bare loop", "ratio");
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        off += fabs(compare(multiply, sizes[i][0], sizes[i][1], sizes[i][2], rounds) - 1) > 0.03;
    return off > 0;
}
