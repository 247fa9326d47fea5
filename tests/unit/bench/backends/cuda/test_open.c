/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_open.c - the CUDA backend without a GPU: no driver, an incomplete driver, no device, too little memory; and the
 * code of every call up to the launch, with a fake library. tests/gpu/libraries.c tests NVIDIA's own libraries.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "bench/backends/cuda/backend.h"
#include "bench/backends/cuda/cuda.h"

static const char *const texts[] = {
#include "calls.inc"
};
#define TEXTS ((int)(sizeof texts / sizeof *texts))

static char root[] = "/tmp/centimani-cuda-XXXXXX";

/* Create a folder in `root` with links from the libraries' names to `target`. */
static char *folder(const char *name, const char *target)
{
    static const char *const libraries[] = {"libcuda.so.1",  "libnvrtc.so.13",    "libcublasLt.so.13",
                                            "libcudnn.so.9", "libnvidia-ml.so.1", "libnccl.so.2"};
    static char              path[256];
    char                     command[700], link[300];
    snprintf(path, sizeof path, "%s/%s", root, name);
    snprintf(command, sizeof command, "mkdir -p '%s'", path);
    assert_int_equal(system(command), 0);
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++) {
        snprintf(link, sizeof link, "%s/%s", path, libraries[i]);
        if (symlink(target, link) != 0) assert_int_equal(access(link, R_OK), 0);
    }
    return path;
}

static void *opened(const char *settings)
{
    void              *state = NULL;
    cm_diag            diag = {{0}, {0}, {0}};
    cm_backend_options options = {.seed = 7};
    setenv("CENTIMANI_CUDA_PATH", folder("whole", FAKE_CUDA), 1);
    setenv("FAKE_CUDA", settings, 1);
    if (cm__backend_cuda.open(&options, &state, &diag)) fail_msg("%s", diag.reason);
    return state;
}

static void refused(const char *path, const char *settings, cm_status status, const char *words)
{
    void              *state = NULL;
    cm_diag            diag = {{0}, {0}, {0}};
    cm_backend_options options = {.seed = 7};
    setenv("CENTIMANI_CUDA_PATH", path, 1);
    setenv("FAKE_CUDA", settings, 1);
    assert_int_equal(cm__backend_cuda.open(&options, &state, &diag), status);
    assert_null(state);
    if (!strstr(diag.reason, words)) fail_msg("'%s' is not in '%s'", words, diag.reason);
    assert_null(strchr(diag.reason, '\n'));
}

/* ---- opening ----------------------------------------------------------------------------------------------------- */

/* The linker replaces dlopen() with __wrap_dlopen() (see meson.build), so that a test can hide this machine's driver:
   then libraries that are not opened by their paths are not found. */
static bool hide_installed;
void       *__wrap_dlopen(const char *name, int flags);
void       *__real_dlopen(const char *name, int flags);

void *__wrap_dlopen(const char *name, int flags)
{
    return hide_installed && !strchr(name, '/') ? NULL : __real_dlopen(name, flags);
}

static void no_driver_is_said(void **unused)
{
    (void)unused;
    hide_installed = true;
    refused("/nonexistent", "", CM_ERR_IO, "no NVIDIA driver: libcuda.so.1 is not there");
    hide_installed = false;
}

static void half_a_driver_is_said(void **unused)
{
    (void)unused;
    refused(folder("half", HALF_CUDA), "", CM_ERR_IO, "libcuda.so.1 has no cuDriverGetVersion");
}

static void a_file_that_is_no_library_is_said(void **unused)
{
    (void)unused;
    refused(folder("text", __FILE__), "", CM_ERR_IO, "libcuda.so.1");
}

static void a_stub_is_refused(void **unused)
{
    (void)unused;
    refused(folder("stubs", STUB_CUDA), "", CM_ERR_IO, "stub");
    refused(folder("whole", FAKE_CUDA), "cuInit=34", CM_ERR_IO, "stub");
}

static void no_device_is_said(void **unused)
{
    (void)unused;
    refused(folder("whole", FAKE_CUDA), "cuInit=100", CM_ERR_IO, "no NVIDIA GPU");
    refused(folder("whole", FAKE_CUDA), "devices=0", CM_ERR_IO, "no NVIDIA GPU");
    refused(folder("whole", FAKE_CUDA), "cuInit=803", CM_ERR_IO, "cuInit: pretended (CUDA_ERROR_PRETENDED)");
}

static void a_device_that_is_not_there_is_said(void **unused)
{
    (void)unused;
    void              *state = NULL;
    cm_diag            diag = {{0}, {0}, {0}};
    cm_backend_options options = {.device = 3, .seed = 7};
    setenv("CENTIMANI_CUDA_PATH", folder("whole", FAKE_CUDA), 1);
    setenv("FAKE_CUDA", "", 1);
    assert_int_equal(cm__backend_cuda.open(&options, &state, &diag), CM_ERR_ARGUMENT);
    assert_string_equal(diag.reason, "no GPU 4: there is 1");
}

static void a_failing_library_is_said(void **unused)
{
    (void)unused;
    refused(folder("whole", FAKE_CUDA), "cublasLtCreate=1", CM_ERR_IO, "cublasLtCreate: pretended");
    refused(folder("whole", FAKE_CUDA), "cudnnCreate=1001", CM_ERR_IO, "cudnnCreate: pretended");
    refused(folder("whole", FAKE_CUDA), "cuDevicePrimaryCtxRetain=2", CM_ERR_LIMIT,
            "cuDevicePrimaryCtxRetain: pretended");
    refused(folder("whole", FAKE_CUDA), "nvrtcCompileProgram=6", CM_ERR_IO, "base.cu does not compile: pretended: abc");
}

static void it_describes_itself(void **unused)
{
    (void)unused;
    cm_bench_device device;
    void           *state = opened("");
    memset(&device, 0, sizeof device);
    cm__backend_cuda.describe(state, &device);
    assert_string_equal(device.id, "fake-h0");
    assert_string_equal(device.software, "driver ? (CUDA 13.0), NVRTC 13.0, cuBLASLt 13.0.0, cuDNN 9.14.0");
    assert_string_equal(device.rates[0].dtype, "fp32");
    cm__backend_cuda.close(state);
}

/* ---- calls ------------------------------------------------------------------------------------------------------- */

static void parse(const char *text, cm_call *call, char words[4][48])
{
    char sizes[200];
    assert_int_equal(sscanf(text, "%47s %47s %47s %47s %199s", words[0], words[1], words[2], words[3], sizes), 5);
    if (strcmp(words[2], "-") == 0) words[2][0] = '\0';
    *call = (cm_call){.op = words[0], .pass = words[1], .variant = words[2], .dtype = words[3]};
    for (char *at = strtok(sizes, ","); at; at = strtok(NULL, ",")) call->dims[call->n_dims++] = atoll(at);
}

static cm_status prepared(void *state, const char *text, bool cold, bool search, void **a_case, cm_diag *diag)
{
    char            words[4][48];
    cm_call         call;
    cm_case_options options = {.cold = cold, .search = search};
    memset(diag, 0, sizeof *diag);
    *a_case = NULL;
    parse(text, &call, words);
    assert_true(cm__backend_cuda.supports(state, &call));
    return cm__backend_cuda.prepare(state, &call, &options, a_case, diag);
}

/* Operands, setup, launch, graph and release of every kind of call. */
static void every_call_runs_up_to_the_launch(void **unused)
{
    (void)unused;
    void *state = opened(""), *a_case;
    for (int i = 0; i < TEXTS; i++) {
        cm_diag diag;
        double  time_s = 0;
        if (prepared(state, texts[i], false, i % 2, &a_case, &diag)) fail_msg("%s: %s", texts[i], diag.reason);
        if (cm__backend_cuda.run(a_case, 10, &time_s, &diag)) fail_msg("%s: %s", texts[i], diag.reason);
        assert_true(time_s > 0);
        assert_true(cm__backend_cuda.kernels(a_case) >= 1);
        cm__backend_cuda.release(a_case);
    }
    cm__backend_cuda.close(state);
}

/* The fake library computes nothing, so every check must report wrong results. Calls whose right results are all zero
   are not in this list. */
static void wrong_results_are_counted(void **unused)
{
    (void)unused;
    static const char *const calls[] = {"gemm forward nt bf16 2,64,48,32",
                                        "conv forward nhwc bf16 2,8,16,9,9,3,3,2,2,1,1,1,1,2",
                                        "conv bwd_input nchw fp32 2,8,16,9,9,3,3,1,1,1,1,1,1,1",
                                        "conv bwd_weight nhwc fp16 2,8,16,9,9,3,3,1,1,1,1,1,1,1",
                                        "elementwise forward add bf16 8,8",
                                        "elementwise forward cat fp32 8,8",
                                        "layer_norm forward - bf16 8,64",
                                        "layer_norm backward - fp32 8,64",
                                        "softmax forward - fp32 8,64",
                                        "softmax backward log fp32 8,64",
                                        "cross_entropy forward - fp32 8,64",
                                        "cross_entropy backward - fp32 8,64",
                                        "reduce forward sum fp32 4,100,3",
                                        "reduce forward sum:nchw fp32 4,5,6",
                                        "embedding forward - fp32 8,100,16",
                                        "embedding backward - fp32 8,100,16",
                                        "optimizer update adamw fp32 2,64",
                                        "batch_norm forward nhwc bf16 2,4,9",
                                        "batch_norm backward nchw fp32 2,4,9",
                                        "pool forward max:nhwc fp32 2,3,8,8,3,2,1",
                                        "pool backward avg:nchw fp32 2,3,8,8,2,2,0",
                                        "attention forward - fp32 1,8,8,2,2,16,1",
                                        "attention backward - fp32 1,8,8,2,1,16,0",
                                        "rnn forward lstm fp32 2,3,8,16,2,2",
                                        "rnn backward gru fp32 2,3,8,16,2,1",
                                        "group_norm forward nhwc fp32 2,4,9,2",
                                        "group_norm backward nchw bf16 2,4,9,2",
                                        "resize forward bilinear:nhwc fp32 1,2,4,4,8,8",
                                        "resize backward nearest:nchw fp32 1,2,4,4,8,8"};
    void                    *state = opened(""), *a_case;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        cm_diag diag;
        int64_t wrong = 0;
        if (prepared(state, calls[i], false, false, &a_case, &diag)) fail_msg("%s: %s", calls[i], diag.reason);
        if (cm__backend_cuda.verify(a_case, &wrong, &diag)) fail_msg("%s: %s", calls[i], diag.reason);
        if (wrong == 0) fail_msg("%s: nothing was computed and nothing was found wrong", calls[i]);
        cm__backend_cuda.release(a_case);
    }
    cm__backend_cuda.close(state);
}

static void unknown_calls_are_not_offered(void **unused)
{
    (void)unused;
    static const char *const calls[] = {"gemm forward xx bf16 1,8,8,8",
                                        "gemm forward nn int8 1,8,8,8",
                                        "gemm forward nt fp8 1,8,8,7",
                                        "gemm forward nn bf16 1,8,8",
                                        "gemm forward nn bf16 1,0,8,8",
                                        "conv forward nhwc bf16 1,3,8,4,4,7,7,1,1,0,0,1,1,1",
                                        "conv forward nhwc bf16 1,3,8,9,9,3,3,1,1,0,0,1,1,2",
                                        "elementwise forward nosuch bf16 8,8",
                                        "elementwise forward relu:row bf16 8,8",
                                        "softmax forward nosuch bf16 8,8",
                                        "pool forward max:nhwc bf16 1,1,4,4,3,1,2",
                                        "attention forward - bf16 1,8,8,3,2,8,0",
                                        "rnn backward lstm bf16 2,3,8,8,1,2"};
    void                    *state = opened("");
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        char    words[4][48];
        cm_call call;
        parse(calls[i], &call, words);
        if (cm__backend_cuda.supports(state, &call)) fail_msg("%s is offered", calls[i]);
    }
    cm__backend_cuda.close(state);
}

static void too_little_memory_is_said(void **unused)
{
    (void)unused;
    cm_diag diag;
    void   *state = opened("gigabytes=1"), *a_case;
    assert_int_equal(prepared(state, "gemm forward nn fp32 1,8192,8192,8192", false, false, &a_case, &diag),
                     CM_ERR_LIMIT);
    /* three matrices of 2^28 bytes, 2^25 of workspace, 2^29 in reserve; 2^30 are free */
    assert_string_equal(diag.reason, "it needs 1.38 GB of device memory; 1.07 GB are free");
    setenv("FAKE_CUDA", "cuMemAlloc=2", 1);
    assert_int_equal(prepared(state, "gemm forward nn fp32 1,8,8,8", false, false, &a_case, &diag), CM_ERR_LIMIT);
    assert_string_equal(diag.reason, "cuMemAlloc: pretended (CUDA_ERROR_PRETENDED)");
    setenv("FAKE_CUDA", "", 1); /* the backend still works */
    assert_int_equal(prepared(state, "gemm forward nn fp32 1,8,8,8", false, false, &a_case, &diag), CM_OK);
    cm__backend_cuda.release(a_case);
    cm__backend_cuda.close(state);
}

static void a_failing_launch_is_said(void **unused)
{
    (void)unused;
    cm_diag diag;
    double  time_s;
    void   *state = opened(""), *a_case;
    assert_int_equal(prepared(state, "elementwise forward add bf16 64,64", false, false, &a_case, &diag), CM_OK);
    setenv("FAKE_CUDA", "cuLaunchKernel=719", 1);
    assert_int_equal(cm__backend_cuda.run(a_case, 1, &time_s, &diag), CM_ERR_IO);
    assert_non_null(strstr(diag.reason, "cuLaunchKernel: pretended"));
    cm__backend_cuda.release(a_case);
    setenv("FAKE_CUDA", "cublasLtMatmul=13", 1);
    assert_int_equal(prepared(state, "gemm forward nn fp32 1,8,8,8", false, false, &a_case, &diag), CM_OK);
    assert_int_equal(cm__backend_cuda.run(a_case, 1, &time_s, &diag), CM_ERR_IO);
    assert_string_equal(diag.reason, "cublasLtMatmul: pretended");
    cm__backend_cuda.release(a_case);
    setenv("FAKE_CUDA", "cudnnBackendFinalize=3000", 1);
    assert_int_equal(
        prepared(state, "conv forward nhwc bf16 2,8,16,9,9,3,3,2,2,1,1,1,1,1", false, false, &a_case, &diag),
        CM_ERR_UNSUPPORTED);
    assert_string_equal(diag.reason, "cudnnBackendFinalize(tensor): pretended");
    cm__backend_cuda.close(state);
}

/* The copies of 3 x 32 KiB are as many as fill the fake cache of 1 MiB twice, plus two. */
static void cold_operands_are_rotated(void **unused)
{
    (void)unused;
    cm_diag diag;
    void   *state = opened(""), *a_case;
    assert_int_equal(prepared(state, "elementwise forward add fp32 64,128", true, false, &a_case, &diag), CM_OK);
    cm__cuda_case *c = a_case;
    assert_int_equal(c->copy_bytes, 3 * 32768);
    assert_true((size_t)(c->copies - 1) * c->copy_bytes > (1 << 21));
    assert_int_equal(cm__cuda_address(c, 0, 2) - cm__cuda_address(c, 0, 1), c->copy_bytes);
    cm__backend_cuda.release(a_case);
    assert_int_equal(prepared(state, "elementwise forward relu fp32 1,8", true, false, &a_case, &diag),
                     CM_ERR_UNSUPPORTED);
    assert_non_null(strstr(diag.reason, "too small for cold runs"));
    cm__backend_cuda.close(state);
}

static void probes_run_up_to_the_launch(void **unused)
{
    (void)unused;
    void *state = opened("");
    for (int probe = 0; probe < CM_PROBES; probe++) {
        cm_probe_request request = {(cm_probe)probe, 1 << 20, "fp32"};
        cm_diag          diag = {{0}, {0}, {0}};
        void            *a_case = NULL;
        double           work = 0, time_s = 0;
        if (cm__backend_cuda.probe(state, &request, &a_case, &work, &diag))
            fail_msg("probe %d: %s", probe, diag.reason);
        assert_int_equal(cm__backend_cuda.run(a_case, 3, &time_s, &diag), CM_OK);
        assert_true(work > 0 && time_s >= 0);
        cm__backend_cuda.release(a_case);
    }
    cm_diag          diag = {{0}, {0}, {0}};
    void            *a_case = NULL;
    double           work = 0;
    cm_probe_request request = {CM_PROBE_VECTOR, 0, "tf32"};
    assert_int_equal(cm__backend_cuda.probe(state, &request, &a_case, &work, &diag), CM_ERR_UNSUPPORTED);
    cm__backend_cuda.close(state);
}

/* ---- several GPUs ------------------------------------------------------------------------------------------------ */

static void one_gpu_has_no_collectives(void **unused)
{
    (void)unused;
    void              *state = NULL;
    cm_diag            diag = {{0}, {0}, {0}};
    cm_backend_options options = {.seed = 7};
    setenv("CENTIMANI_CUDA_PATH", folder("whole", FAKE_CUDA), 1);
    setenv("FAKE_CUDA", "", 1);
    assert_int_equal(cm__fabric_nccl.open(&options, &state, &diag), CM_ERR_UNSUPPORTED);
    assert_string_equal(diag.reason, "collectives need at least two GPUs, and there is 1");
}

static void wrong_sums_are_counted(void **unused)
{
    (void)unused;
    void              *state = NULL;
    cm_diag            diag = {{0}, {0}, {0}};
    cm_backend_options options = {.seed = 7};
    setenv("CENTIMANI_CUDA_PATH", folder("whole", FAKE_CUDA), 1);
    setenv("FAKE_CUDA", "devices=2", 1);
    assert_int_equal(cm__fabric_nccl.open(&options, &state, &diag), CM_OK);
    assert_int_equal(cm__fabric_nccl.ranks(state), 2);
    for (int op = 0; op < CM_COLLECTIVE_OPS; op++) {
        void   *a_case = NULL;
        int64_t wrong = 0;
        double  time_s = 0;
        assert_int_equal(cm__fabric_nccl.prepare(state, (cm_collective_op)op, 64, &a_case, &diag), CM_OK);
        assert_int_equal(cm__fabric_nccl.run(a_case, 2, &time_s, &diag), CM_OK);
        assert_int_equal(cm__fabric_nccl.verify(a_case, &wrong, &diag), CM_OK);
        assert_int_equal(wrong,
                         op == CM_REDUCE_SCATTER ? 16 : 32); /* nothing arrived: all elements are wrong */
        cm__fabric_nccl.release(a_case);
    }
    cm__fabric_nccl.close(state);
}

/* ---- values and kernels ------------------------------------------------------------------------------------------ */

static void values_round_as_the_formats_do(void **unused)
{
    (void)unused;
    static const struct {
        cm__type type;
        double   value, rounded;
    } cases[] = {{TYPE_BF16, 1 + 0x1p-8, 1},    {TYPE_BF16, 1 + 0x3p-8, 1 + 0x1p-6}, {TYPE_FP16, 1 + 0x1p-11, 1},
                 {TYPE_FP16, 65519, 65504},     {TYPE_FP16, 65520, INFINITY},        {TYPE_FP16, 0x1p-25, 0},
                 {TYPE_FP16, 0x3p-25, 0x1p-23}, {TYPE_FP8, 1 + 0x1p-4, 1},           {TYPE_FP8, 1e6, 448},
                 {TYPE_FP8, -0x1p-10, 0},       {TYPE_FP8, 0x3p-10, 0x1p-8}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_true(cm__rounded(cases[i].type, cases[i].value) == cases[i].rounded);
    assert_true(cm__stored(TYPE_FP16, (uint16_t[]){0x7bff}) == 65504);
    assert_true(cm__stored(TYPE_FP16, (uint16_t[]){0x8001}) == -0x1p-24);
    assert_true(cm__stored(TYPE_BF16, (uint16_t[]){0xbf80}) == -1);
    assert_true(cm__stored(TYPE_FP8, (uint8_t[]){0x7e}) == 448);
    assert_true(cm__stored(TYPE_FP8, (uint8_t[]){0x01}) == 0x1p-9);
    assert_true(isnan(cm__stored(TYPE_FP8, (uint8_t[]){0x7f})));
}

/* Values are (sum of four uniform 16-bit numbers - its mean) / 2^15. The variance is 4 (2^32 - 1) / 12 / 2^30 = 4/3. */
static void values_are_nearly_normal(void **unused)
{
    (void)unused;
    double sum = 0, squares = 0;
    for (uint64_t i = 0; i < 100000; i++) {
        double x = (double)cm__cuda_random(42, i);
        assert_true(x != 0);
        sum += x;
        squares += x * x;
    }
    assert_true(fabs(sum / 1e5) < 0.02);
    assert_true(fabs(squares / 1e5 - 4.0 / 3) < 0.03);
}

static const char *source_named(const char *name)
{
    for (int32_t i = 0; i < cm__n_cuda_sources; i++)
        if (strcmp(cm__cuda_sources[i].name, name) == 0) return cm__cuda_sources[i].text;
    fail_msg("%s is not built in", name);
    return NULL;
}

/* The embedded kernel sources are complete: they have as many opening braces as closing ones. */
static void every_source_is_built_in(void **unused)
{
    (void)unused;
    static const char *const names[] = {"base.cu",   "elementwise.cu", "images.cu", "probe.cu",
                                        "rows.cu",   "tensors.cu",     "types.cuh"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *text = source_named(names[i]);
        int         open = 0, close = 0;
        for (const char *at = text; *at; at++) open += *at == '{', close += *at == '}';
        if (open == 0 || open != close) fail_msg("%s: %d opening and %d closing braces", names[i], open, close);
    }
    assert_int_equal(cm__n_cuda_sources, sizeof names / sizeof *names);
}

/* The fake library finds a kernel only if its source defines it. */
static void a_kernel_that_no_source_defines_is_said(void **unused)
{
    (void)unused;
    cm__cuda *cu = opened("");
    cm_diag   diag = {{0}, {0}, {0}};
    cm__ctx  *ctx = cm__ctx_new(&diag);
    if (!setjmp(ctx->trap)) {
        assert_non_null(cm__cuda_kernel(ctx, cu, "base.cu", "spin", "-DTYPE_T=float"));
        cm__cuda_kernel(ctx, cu, "base.cu", "spi", "-DTYPE_T=float");
        fail_msg("the kernel 'spi' was found");
    }
    assert_string_equal(diag.reason, "spi: pretended (CUDA_ERROR_PRETENDED)");
    cm__ctx_free(ctx);
    cm__backend_cuda.close(cu);
}

static int make_root(void **unused)
{
    (void)unused;
    return mkdtemp(root) ? 0 : -1;
}

static int remove_root(void **unused)
{
    char command[128];
    (void)unused;
    snprintf(command, sizeof command, "rm -rf '%s'", root);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_driver_is_said),
        cmocka_unit_test(half_a_driver_is_said),
        cmocka_unit_test(a_file_that_is_no_library_is_said),
        cmocka_unit_test(a_stub_is_refused),
        cmocka_unit_test(no_device_is_said),
        cmocka_unit_test(a_device_that_is_not_there_is_said),
        cmocka_unit_test(a_failing_library_is_said),
        cmocka_unit_test(it_describes_itself),
        cmocka_unit_test(every_call_runs_up_to_the_launch),
        cmocka_unit_test(wrong_results_are_counted),
        cmocka_unit_test(unknown_calls_are_not_offered),
        cmocka_unit_test(too_little_memory_is_said),
        cmocka_unit_test(a_failing_launch_is_said),
        cmocka_unit_test(cold_operands_are_rotated),
        cmocka_unit_test(probes_run_up_to_the_launch),
        cmocka_unit_test(one_gpu_has_no_collectives),
        cmocka_unit_test(wrong_sums_are_counted),
        cmocka_unit_test(values_round_as_the_formats_do),
        cmocka_unit_test(values_are_nearly_normal),
        cmocka_unit_test(every_source_is_built_in),
        cmocka_unit_test(a_kernel_that_no_source_defines_is_said),
    };
    return cmocka_run_group_tests(tests, make_root, remove_root);
}
