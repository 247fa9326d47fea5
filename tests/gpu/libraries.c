/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libraries.c - NVIDIA's libraries as the CUDA backend uses them: each exports every function of its table, and NVRTC
 * compiles every kernel for three architectures. Needs the libraries, not a GPU. Prints one line per check, and exits
 * with 1 if one fails. Built by tests/gpu/build.sh, run by tests/gpu/run.sh.
 */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/backends/cuda/cuda.h"

/* Compiler options of one kernel source. `vector`: elements per load, at least 1. */
typedef struct target {
    const char *arch, *type;
    int         vector;
} target;

static const target targets[] = {{"sm_75", "float", 1}, {"sm_80", "bf16", 8}, {"sm_90", "fp16", 1}};
static int          failures, checks;

static void report(bool passed, const char *name, const char *why)
{
    checks++;
    if (!passed) failures++;
    printf("%-5s %-60s %s\n", passed ? "ok" : "FAIL", name, passed ? "" : why);
    fflush(stdout);
}

/* ---- kernels ----------------------------------------------------------------------------------------------------- */

static void compile(const cm__nvrtc *rtc, const char *file, const char *arch, const char *defines)
{
    cm_diag  diag = {{0}, {0}, {0}};
    cm__ctx *ctx = cm__ctx_new(&diag);
    char    *cubin = NULL, name[400];
    snprintf(name, sizeof name, "%s %s %s", file, arch, defines);
    if (setjmp(ctx->trap))
        report(false, name, diag.reason);
    else
        report(cm__cuda_compile(ctx, rtc, file, defines, arch, &cubin) > 0, name, "the code is empty");
    cm__ctx_free(ctx);
}

static void compile_rows(const cm__nvrtc *rtc, target t)
{
    char defines[256];
    for (int what = 0; what < 3; what++) {
        snprintf(defines, sizeof defines, "-DTYPE_T=%s -DVECTOR=%d -DITEMS=%d -DWHAT=%d -DRMS=%d -DLOG=%d", t.type,
                 t.vector, t.vector > 1 ? 4 : 0, what, t.vector > 1, t.vector > 1);
        compile(rtc, "rows.cu", t.arch, defines);
    }
}

static void compile_elementwise(const cm__nvrtc *rtc, target t)
{
    char defines[256];
    snprintf(defines, sizeof defines,
             "-DF=gelu_grad -DTYPE_A=%s -DTYPE_B=%s -DTYPE_O=float -DINPUTS=2 -DMASKED=0 -DDRAWS=0 -DSHAPE=%d", t.type,
             t.type, t.vector > 1);
    compile(rtc, "elementwise.cu", t.arch, defines);
    snprintf(defines, sizeof defines,
             "-DF=dropout -DTYPE_A=%s -DTYPE_B=%s -DTYPE_O=%s -DINPUTS=1 -DMASKED=1 -DDRAWS=1 -DSHAPE=0", t.type,
             t.type, t.type);
    compile(rtc, "elementwise.cu", t.arch, defines);
}

static void compile_all(const cm__nvrtc *rtc, target t)
{
    char defines[256];
    snprintf(defines, sizeof defines, "-DTYPE_T=%s", t.type);
    compile(rtc, "base.cu", t.arch, defines);
    compile_rows(rtc, t);
    snprintf(defines, sizeof defines, "-DTYPE_T=%s -DVECTOR=%d -DMAXIMUM=%d -DPLANES=%d -DATOMICS=%d -DRULE=%d", t.type,
             t.vector, t.vector > 1, t.vector > 1, strcmp(t.arch, "sm_90") == 0, t.vector > 1 ? 3 : 1);
    compile(rtc, "tensors.cu", t.arch, defines);
    compile_elementwise(rtc, t);
    snprintf(defines, sizeof defines, "-DTYPE_T=%s -DLAST=%d -DNEAREST=%d", t.type, t.vector > 1, t.vector > 1);
    compile(rtc, "images.cu", t.arch, defines);
    compile(rtc, "probe.cu", t.arch, "");
}

/* ---- libraries --------------------------------------------------------------------------------------------------- */

static cm__nvrtc  nvrtc;
static cm__blaslt blaslt;
static cm__cudnn  cudnn;
static cm__nccl   nccl;

static bool load_nvrtc(cm__ctx *ctx, char *missing, size_t size)
{
    return cm__cuda_load_nvrtc(ctx, &nvrtc, missing, size);
}

static bool load_blaslt(cm__ctx *ctx, char *missing, size_t size)
{
    return cm__cuda_load_blaslt(ctx, &blaslt, missing, size);
}

static bool load_cudnn(cm__ctx *ctx, char *missing, size_t size)
{
    return cm__cuda_load_cudnn(ctx, &cudnn, missing, size);
}

static bool load_nccl(cm__ctx *ctx, char *missing, size_t size)
{
    return cm__cuda_load_nccl(ctx, &nccl, missing, size);
}

typedef bool loader(cm__ctx *ctx, char *missing, size_t size);

/* True if the library is installed and has every function of its table. */
static bool has_every_function(const char *name, loader *load)
{
    cm_diag       diag = {{0}, {0}, {0}};
    cm__ctx      *ctx = cm__ctx_new(&diag);
    char          missing[256] = "";
    volatile bool found = false;
    if (!setjmp(ctx->trap)) found = load(ctx, missing, sizeof missing);
    report(found, name, diag.reason[0] ? diag.reason : missing);
    cm__ctx_free(ctx);
    return found;
}

int main(void)
{
    has_every_function("cuBLASLt exports every function used", load_blaslt);
    has_every_function("cuDNN exports every function used", load_cudnn);
    has_every_function("NCCL exports every function used", load_nccl);
    if (has_every_function("NVRTC exports every function used", load_nvrtc))
        for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) compile_all(&nvrtc, targets[i]);
    printf("libraries: %d checks, %d failed\n", checks, failures);
    return failures ? 1 : 0;
}
