/* SPDX-License-Identifier: Apache-2.0 */
/* kernel.c - compile our own kernels for the device with NVRTC on first use, and cache them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/backends/cuda/cuda.h"

#define OPTIONS 24

struct cm__kernel {
    struct cm__kernel *next;
    const char        *file;
    cu_module          module;
    char               defines[];
};

static const char *source_of(cm__ctx *ctx, const char *file)
{
    for (int32_t i = 0; i < cm__n_cuda_sources; i++)
        if (strcmp(cm__cuda_sources[i].name, file) == 0) return cm__cuda_sources[i].text;
    cm__fail(ctx, CM_ERR_UNKNOWN, "no kernels %s are built in", file);
}

/* Report only the first line of the log; later errors usually follow from the first. */
static noreturn void fail_compile(cm__ctx *ctx, const cm__nvrtc *rtc, rtc_program program, int result, const char *file)
{
    size_t size = 0;
    char  *log = cm__text_copy(ctx, "");
    if (rtc->nvrtcGetProgramLogSize(program, &size) == 0 && size > 1) {
        log = cm__alloc(ctx, size + 1);
        rtc->nvrtcGetProgramLog(program, log);
        log[strcspn(log, "\n")] = '\0';
    }
    rtc->nvrtcDestroyProgram(&program);
    cm__fail(ctx, CM_ERR_IO, "%s does not compile: %s: %s", file, rtc->nvrtcGetErrorString(result), log);
}

static int split(char *text, const char **words, int room)
{
    int n = 0;
    for (char *word = strtok(text, " "); word && n < room; word = strtok(NULL, " ")) words[n++] = word;
    return n;
}

size_t cm__cuda_compile(cm__ctx *ctx, const cm__nvrtc *rtc, const char *file, const char *defines, const char *arch,
                        char **cubin)
{
    rtc_program program;
    size_t      size = 0;
    const char *options[OPTIONS] = {cm__format(ctx, "--gpu-architecture=%s", arch)};
    char *text = cm__format(ctx, "%s\n#line 1 \"%s\"\n%s", source_of(ctx, "types.cuh"), file, source_of(ctx, file));
    int   n = 1 + split(cm__text_copy(ctx, defines), options + 1, OPTIONS - 1);
    int   result = rtc->nvrtcCreateProgram(&program, text, file, 0, NULL, NULL);
    if (result) cm__fail(ctx, CM_ERR_IO, "nvrtcCreateProgram: %s", rtc->nvrtcGetErrorString(result));
    result = rtc->nvrtcCompileProgram(program, n, options);
    if (result) fail_compile(ctx, rtc, program, result, file);
    result = rtc->nvrtcGetCUBINSize(program, &size);
    if (!result && size) {
        *cubin = cm__alloc(ctx, size);
        result = rtc->nvrtcGetCUBIN(program, *cubin);
    }
    rtc->nvrtcDestroyProgram(&program);
    if (result || !size)
        cm__fail(ctx, CM_ERR_IO, "nvrtcGetCUBIN of %s: %s", file,
                 size ? rtc->nvrtcGetErrorString(result) : "nothing was made");
    return size;
}

/* Modules outlive the case that compiled them, so the case's arena does not own them. */
static struct cm__kernel *load_module(cm__ctx *ctx, cm__cuda *cu, const char *file, const char *defines,
                                      const char *cubin)
{
    struct cm__kernel *k = calloc(1, sizeof *k + strlen(defines) + 1);
    if (!k) cm__fail(ctx, CM_ERR_MEMORY, "out of memory");
    k->next = cu->kernels;
    k->file = file;
    strcpy(k->defines, defines);
    cu->kernels = k;
    int result = cu->driver.cuModuleLoadData(&k->module, cubin);
    if (result) {
        cu->kernels = k->next;
        free(k);
    }
    cm__cuda_need(ctx, cu, result, "cuModuleLoadData");
    return k;
}

static struct cm__kernel *module_of(cm__ctx *ctx, cm__cuda *cu, const char *file, const char *defines)
{
    char  arch[16];
    char *cubin = NULL;
    for (struct cm__kernel *k = cu->kernels; k; k = k->next)
        if (strcmp(k->file, file) == 0 && strcmp(k->defines, defines) == 0) return k;
    snprintf(arch, sizeof arch, "sm_%d%d", cu->major, cu->minor);
    cm__cuda_compile(ctx, &cu->nvrtc, file, defines, arch, &cubin);
    return load_module(ctx, cu, file, defines, cubin);
}

void cm__cuda_unload_kernels(cm__cuda *cu)
{
    for (struct cm__kernel *k = cu->kernels, *next; k; k = next) {
        next = k->next;
        cu->driver.cuModuleUnload(k->module);
        free(k);
    }
    cu->kernels = NULL;
}

cu_function cm__cuda_kernel(cm__ctx *ctx, cm__cuda *cu, const char *file, const char *name, const char *defines)
{
    cu_function        function;
    struct cm__kernel *k = module_of(ctx, cu, file, defines);
    cm__cuda_need(ctx, cu, cu->driver.cuModuleGetFunction(&function, k->module, name), name);
    return function;
}
