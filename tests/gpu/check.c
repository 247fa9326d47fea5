/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check.c - test of the CUDA backend on a machine with a GPU; needs only a C compiler.
 *
 *     check [--budget SECONDS] [calls] [gemm] [probes] [conv] [-o FILE.csv]
 *
 * Verifies and times every call. FILE.csv receives the times, which tests/gpu/compare.py compares with PyTorch's. Exits
 * with 1 if a call failed or gave a wrong result. Built by tests/gpu/build.sh.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "centimani_backend.h"

extern const cm_backend        cm__backend_cuda;
static const cm_backend *const backend = &cm__backend_cuda;

static void  *state;
static FILE  *csv;
static double deadline_s;
static int    failures, cases;

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* The shortest of five runs of about 10 ms each. */
static double time_case(void *a_case, cm_diag *diag, cm_status *status)
{
    double time_s = 0, best_s = INFINITY;
    *status = backend->run(a_case, 1, &time_s, diag);
    if (*status) return NAN;
    int64_t n = (int64_t)fmin(fmax(ceil(0.01 / fmax(time_s, 1e-7)), 1), 100000);
    for (int i = 0; i < 5 && !*status; i++) {
        *status = backend->run(a_case, n, &time_s, diag);
        best_s = fmin(best_s, time_s / (double)n);
    }
    return best_s;
}

static double finish(const char *name, void *a_case, double work, const char *unit)
{
    cm_diag   diag = {{0}, {0}, {0}};
    int64_t   wrong = 0;
    cm_status status = backend->verify(a_case, &wrong, &diag);
    double    time_s = status ? NAN : time_case(a_case, &diag, &status);
    cases++;
    if (status) {
        printf("FAIL  %-60s %s\n", name, diag.reason);
        failures++;
    } else {
        const char *algorithm = backend->algorithm(a_case);
        if (wrong) failures++;
        printf("%-5s %-60s %10.2f us %9.2f G%s/s %2d kernels %lld wrong  %s\n", wrong ? "WRONG" : "ok", name,
               time_s * 1e6, work / time_s * 1e-9, unit, backend->kernels(a_case), (long long)wrong,
               algorithm ? algorithm : "");
    }
    fflush(stdout);
    backend->release(a_case);
    return wrong ? NAN : time_s;
}

/* Parse a call such as "gemm forward nt bf16 1,64,64,64"; "-": no variant. */
static bool parse(const char *text, cm_call *call, char words[4][48])
{
    char sizes[200];
    if (sscanf(text, "%47s %47s %47s %47s %199s", words[0], words[1], words[2], words[3], sizes) != 5) return false;
    if (strcmp(words[2], "-") == 0) words[2][0] = '\0';
    *call = (cm_call){.op = words[0], .pass = words[1], .variant = words[2], .dtype = words[3]};
    for (char *at = strtok(sizes, ","); at && call->n_dims < CM_CALL_DIMS; at = strtok(NULL, ","))
        call->dims[call->n_dims++] = atoll(at);
    return true;
}

static double work_of(const cm_call *call)
{
    const int64_t *d = call->dims;
    if (strcmp(call->op, "gemm") == 0) return 2.0 * (double)d[0] * (double)d[1] * (double)d[2] * (double)d[3];
    if (strcmp(call->op, "conv") == 0) {
        double p = floor((double)(d[3] + 2 * d[9] - d[11] * (d[5] - 1) - 1) / (double)d[7]) + 1;
        double q = floor((double)(d[4] + 2 * d[10] - d[12] * (d[6] - 1) - 1) / (double)d[8]) + 1;
        return 2.0 * (double)d[0] * (double)d[2] * p * q * (double)d[1] / (double)d[13] * (double)d[5] * (double)d[6];
    }
    return NAN;
}

static double call(const char *text, bool search, bool cold)
{
    char            words[4][48], name[160];
    cm_call         c;
    cm_diag         diag = {{0}, {0}, {0}};
    cm_case_options options = {.search = search, .cold = cold};
    void           *a_case = NULL;
    if (now_s() > deadline_s) return NAN;
    snprintf(name, sizeof name, "%s%s%s", text, search ? " search" : "", cold ? " cold" : "");
    if (!parse(text, &c, words)) return NAN;
    cm_status status = backend->supports(state, &c) ? backend->prepare(state, &c, &options, &a_case, &diag)
                                                    : CM_ERR_UNSUPPORTED;
    if (status) {
        printf("FAIL  %-60s prepare: %s\n", name, diag.reason[0] ? diag.reason : "not supported");
        failures++;
        return NAN;
    }
    return finish(name, a_case, work_of(&c), "FLOP");
}

static double probe(const char *name, cm_probe kind, int64_t bytes, const char *dtype, const char *unit)
{
    void            *a_case = NULL;
    double           work = 0;
    char             text[96];
    cm_diag          diag = {{0}, {0}, {0}};
    cm_probe_request request = {kind, bytes, dtype};
    if (now_s() > deadline_s) return NAN;
    snprintf(text, sizeof text, "%s %s %lld", name, dtype ? dtype : "", (long long)bytes);
    cm_status status = backend->probe(state, &request, &a_case, &work, &diag);
    if (status) {
        printf("FAIL  %-60s probe: %s\n", text, diag.reason);
        failures++;
        return NAN;
    }
    return work / finish(text, a_case, work, unit);
}

static void check_calls(void)
{
    static const char *const texts[] = {
#include "calls.inc"
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) call(texts[i], false, false);
    call("gemm forward nt bf16 1,512,512,512", true, false);
    call("gemm forward nt bf16 1,512,512,512", false, true);
    call("elementwise forward add bf16 1024,4096", false, true);
    call("conv forward nhwc bf16 8,64,64,28,28,3,3,1,1,1,1,1,1,1", true, true);
}

static void check_gemm(void)
{
    double time_s = call("gemm forward nn bf16 1,8192,8192,8192", false, false);
    if (csv) fprintf(csv, "gemm,8192,bf16,%.9g\n", time_s);
    call("gemm forward nn bf16 1,8192,8192,8192", true, false);
    call("gemm forward nn fp16 1,8192,8192,8192", false, false);
    call("gemm forward nn tf32 1,8192,8192,8192", false, false);
    call("gemm forward nt fp8 1,8192,8192,8192", false, false);
    double rate = probe("copy", CM_PROBE_COPY, (int64_t)8 << 30, NULL, "B");
    if (csv) fprintf(csv, "copy,4294967296,bytes/s,%.9g\n", rate);
}

static void check_probes(void)
{
    static const char *const dtypes[] = {"fp32", "fp64", "fp16", "bf16"};
    for (int64_t bytes = 1 << 20; bytes <= (int64_t)1 << 32; bytes *= 8) probe("read", CM_PROBE_READ, bytes, NULL, "B");
    probe("read", CM_PROBE_READ, 33554432, NULL, "B");
    for (int64_t bytes = 1 << 20; bytes <= (int64_t)1 << 32; bytes *= 8) probe("copy", CM_PROBE_COPY, bytes, NULL, "B");
    for (int i = 0; i < 4; i++) probe("vector", CM_PROBE_VECTOR, 0, dtypes[i], "FLOP");
    probe("launch", CM_PROBE_LAUNCH, 0, NULL, "");
    probe("submit", CM_PROBE_SUBMIT, 0, NULL, "");
    probe("round-trip", CM_PROBE_ROUND_TRIP, 0, NULL, "");
    probe("to-pinned", CM_PROBE_TO_PINNED, 64 << 20, NULL, "B");
    probe("to-pageable", CM_PROBE_TO_PAGEABLE, 64 << 20, NULL, "B");
    probe("from-pinned", CM_PROBE_FROM_PINNED, 64 << 20, NULL, "B");
    probe("from-pageable", CM_PROBE_FROM_PAGEABLE, 64 << 20, NULL, "B");
    probe("lookup", CM_PROBE_LOOKUP, 1 << 20, NULL, "lookups");
    probe("lookup", CM_PROBE_LOOKUP, (int64_t)1 << 30, NULL, "lookups");
}

/* ---- ResNet-50 --------------------------------------------------------------------------------------------------- */

typedef struct layer {
    int c, k, size, window, stride, count;
} layer;

static void add(layer *layers, int *n, layer l)
{
    for (int i = 0; i < *n; i++)
        if (layers[i].c == l.c && layers[i].k == l.k && layers[i].size == l.size && layers[i].window == l.window &&
            layers[i].stride == l.stride) {
            layers[i].count++;
            return;
        }
    l.count = 1;
    layers[(*n)++] = l;
}

/* As in torchvision, the 3x3 convolution has the stride. */
static int resnet50(layer *layers)
{
    static const int blocks[] = {3, 4, 6, 3};
    int              n = 0, in = 64, size = 56;
    add(layers, &n, (layer){3, 64, 224, 7, 2, 0});
    for (int stage = 0; stage < 4; stage++) {
        int width = 64 << stage;
        for (int b = 0; b < blocks[stage]; b++) {
            int stride = b == 0 && stage > 0 ? 2 : 1;
            add(layers, &n, (layer){in, width, size, 1, 1, 0});
            add(layers, &n, (layer){width, width, size, 3, stride, 0});
            add(layers, &n, (layer){width, 4 * width, size / stride, 1, 1, 0});
            if (b == 0) add(layers, &n, (layer){in, 4 * width, size, 1, stride, 0});
            in = 4 * width;
            size /= stride;
        }
    }
    return n;
}

static void check_conv(void)
{
    static const char *const passes[] = {"forward", "bwd_input", "bwd_weight"};
    layer                    layers[64];
    int                      n = resnet50(layers);
    double                   sum[3] = {0, 0, 0};
    for (int i = 0; i < n; i++)
        for (int p = 0; p < 3; p++) {
            const layer *l = &layers[i];
            char         text[160];
            if (l->c == 3 && p == 1) continue; /* training does not need the image's gradient */
            snprintf(text, sizeof text, "conv %s nhwc bf16 256,%d,%d,%d,%d,%d,%d,%d,%d,%d,%d,1,1,1", passes[p], l->c,
                     l->k, l->size, l->size, l->window, l->window, l->stride, l->stride, l->window / 2, l->window / 2);
            double time_s = call(text, true, false);
            sum[p] += time_s * l->count;
            if (csv)
                fprintf(csv, "conv,%s,%d,%d,%d,%d,%d,%d,%.9g\n", passes[p], l->c, l->k, l->size, l->window, l->stride,
                        l->count, time_s);
        }
    for (int p = 0; p < 3; p++) printf("ResNet-50, batch 256, %-10s: %.3f ms in all\n", passes[p], sum[p] * 1e3);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } parts[] = {{"calls", check_calls}, {"gemm", check_gemm}, {"probes", check_probes}, {"conv", check_conv}};
    cm_backend_options options = {.seed = 1};
    cm_bench_device    device;
    cm_diag            diag = {{0}, {0}, {0}};
    bool               all = true, asked[4] = {false};
    double             budget_s = 80;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--budget") == 0 && i + 1 < argc)
            budget_s = atof(argv[++i]);
        else if (strcmp(argv[i], "-o") == 0 && i + 1 < argc)
            csv = fopen(argv[++i], "w");
        for (int p = 0; p < 4; p++)
            if (strcmp(argv[i], parts[p].name) == 0) asked[p] = true, all = false;
    }
    double start_s = now_s();
    deadline_s = start_s + budget_s;
    if (backend->open(&options, &state, &diag)) {
        fprintf(stderr, "check: %s\n", diag.reason);
        return 1;
    }
    memset(&device, 0, sizeof device);
    backend->describe(state, &device);
    printf("%s (%s): %s; %.0f %ss, %.1f GB, %.1f GB free, L2 %.1f MB, L1 %.1f MB, limit %.0f W; opened in %.2f s\n",
           device.name, device.id, device.software, device.cores, device.core_name, device.memory_bytes * 1e-9,
           device.free_bytes * 1e-9, device.caches[1].bytes * 1e-6, device.caches[0].bytes * 1e-6, device.tdp_w,
           now_s() - start_s);
    for (int p = 0; p < 4; p++)
        if (all || asked[p]) parts[p].run();
    cm_sense sense;
    if (backend->sense(state, &sense))
        printf("sensors: %.0f W, %.0f MHz, memory %.0f MHz, %.0f C\n", sense.power_w, sense.clock_hz * 1e-6,
               sense.memory_clock_hz * 1e-6, sense.temperature_c);
    backend->close(state);
    if (csv) fclose(csv);
    printf("%d cases, %d failed, %.1f s\n", cases, failures, now_s() - start_s);
    return failures ? 1 : 0;
}
