/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake_cuda.c - a fake of all of NVIDIA's libraries: it has every symbol, uses host memory, and its kernels do nothing.
 *
 * FAKE_CUDA="cuInit=100 devices=2" makes cuInit fail with code 100 and sets the number of devices.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/backends/cuda/load.h"

static int setting(const char *name, int otherwise)
{
    const char *text = getenv("FAKE_CUDA");
    size_t      length = strlen(name);
    for (const char *at = text; at && *at; at = strchr(at, ' ') ? strchr(at, ' ') + 1 : NULL)
        if (strncmp(at, name, length) == 0 && at[length] == '=') return atoi(at + length + 1);
    return otherwise;
}

static void give(void *to, uint64_t value, size_t size)
{
    memcpy(to, &value, size);
}

/* Functions whose names end in Create or begin with cudnnCreate return an object to destroy. */
static int object(void **to)
{
    *to = malloc(1);
    return 0;
}

/* A compiler with a single error: a macro (-DNAME=...) whose name the source does not use. The source is kept for
   cuModuleLoadData, which is called after the program was destroyed. */
static char *source;

static int create_program(void *program, const char *text)
{
    free(source);
    source = strdup(text);
    return give(program, 0, sizeof(void *)), 0;
}

static int compile(int count, char **options)
{
    char name[64];
    for (int i = 0; i < count; i++)
        if (sscanf(options[i], "-D%63[^=]", name) == 1 && !strstr(source, name)) return 6;
    return 0;
}

/* A module is a copy of the last compiled source. Its kernels are those that the source defines by name or by a macro
   with the name as an argument: "__global__ void spin(", "PAIRED(fma_fp16, ...". */
static int get_function(void *function, const char *module, const char *name)
{
    static const char *const before[] = {"__global__ void ", "("}, *const after[] = {"(", ","};
    char                     text[96];
    for (int i = 0; i < 2; i++) {
        snprintf(text, sizeof text, "%s%s%s", before[i], name, after[i]);
        if (strstr(module, text)) return give(function, 1, sizeof(void *)), 0;
    }
    return 500; /* CUDA_ERROR_NOT_FOUND */
}

static intptr_t driver_call(const char *name, void *a, void *b, void *c)
{
#define IS(text) (strcmp(name, text) == 0)
    if (IS("cuGetErrorName")) return *(const char **)b = "CUDA_ERROR_PRETENDED", 0;
    if (IS("cuGetErrorString")) return *(const char **)b = "pretended", 0;
    if (IS("cuDeviceGetCount")) return give(a, (uint64_t)setting("devices", 1), sizeof(int)), 0;
    if (IS("cuDriverGetVersion")) return give(a, 13000, sizeof(int)), 0;
    if (IS("cuDeviceGet")) return give(a, (uint64_t)(uintptr_t)b & 0xffff, sizeof(int)), 0;
    if (IS("cuDeviceGetName")) return strcpy(a, "Fake H0"), 0;
    if (IS("cuDeviceGetPCIBusId")) return strcpy(a, "0000:00:00.0"), 0;
    if (IS("cuDeviceGetAttribute")) {
        int attribute = (int)((uintptr_t)b & 0xffffffff);
        return give(a,
                    attribute == CU_ATTR_MAJOR      ? 9
                    : attribute == CU_ATTR_MINOR    ? 0
                    : attribute == CU_ATTR_L2_BYTES ? 1 << 20
                                                    : 4,
                    sizeof(int)),
               0;
    }
    if (IS("cuDeviceTotalMem") || IS("cuMemGetInfo")) give(a, (uint64_t)setting("gigabytes", 16) << 30, sizeof(size_t));
    if (IS("cuMemGetInfo")) give(b, (uint64_t)16 << 30, sizeof(size_t));
    if (IS("cuMemAlloc")) return *(void **)a = calloc(1, (size_t)b), 0;
    if (IS("cuMemHostAlloc")) return *(void **)a = calloc(1, (size_t)b), 0;
    if (IS("cuMemFree") || IS("cuMemFreeHost")) return free(a), 0;
    if (IS("cuMemcpyHtoDAsync") || IS("cuMemcpyDtoHAsync") || IS("cuMemcpyDtoDAsync"))
        return memcpy(a, b, (size_t)c), 0;
    if (IS("cuEventElapsedTime")) {
        float ms = 0.5f;
        return memcpy(a, &ms, sizeof ms), 0;
    }
    if (IS("cuModuleLoadData")) return *(void **)a = strdup(source), 0;
    if (IS("cuModuleUnload")) return free(a), 0;
    if (IS("cuModuleGetFunction")) return get_function(a, b, c);
    if (IS("cuGraphGetNodes")) return give(c, 1, sizeof(size_t)), 0;
    if (IS("cuStreamEndCapture")) return give(b, 1, sizeof(void *)), 0;
    if (IS("cuGraphInstantiate")) return give(a, 1, sizeof(void *)), 0;
    return 0;
}

static intptr_t library_call(const char *name, void *a, void *b, void *c, void *e, void *h, void *j)
{
    if (strstr(name, "ErrorString") || strstr(name, "StatusString")) return (intptr_t) "pretended";
    if (IS("nvrtcVersion")) return give(a, 13, sizeof(int)), give(b, 0, sizeof(int)), 0;
    if (IS("nvrtcGetCUBINSize") || IS("nvrtcGetProgramLogSize")) return give(b, 4, sizeof(size_t)), 0;
    if (IS("nvrtcGetCUBIN") || IS("nvrtcGetProgramLog")) return memcpy(b, "abc", 4), 0;
    if (IS("nvrtcCreateProgram")) return create_program(a, b);
    if (IS("nvrtcCompileProgram")) return compile((int)((uintptr_t)b & 0xffff), c);
    if (IS("cublasLtGetVersion")) return 130000;
    if (IS("cublasLtMatmulAlgoGetHeuristic")) return give(j, 1, sizeof(int)), 0;
    if (IS("cudnnGetRNNWeightSpaceSize")) return give(c, 1 << 20, sizeof(size_t)), 0;
    if (IS("cudnnGetRNNWeightParams")) return *(void **)h = *(void **)j = e, 0;
    if (IS("cudnnGetVersion")) return 91400;
    if (IS("cudnnBackendCreateDescriptor")) return object(b);
    if (IS("cudnnBackendGetAttribute"))
        return give(e, ((uintptr_t)b & 0xffff) != DNN_A_ENGINE_NUMERICAL_NOTE, sizeof(int64_t)), 0;
    if (strncmp(name, "nvrtc", 5) && strstr(name, "Create")) return object(a);
    if (strncmp(name, "nvrtc", 5) && strncmp(name, "nccl", 4) && strstr(name, "Destroy")) return free(a), 0;
    return 0;
}

static intptr_t call(const char *name, void *a, void *b, void *c, void *e, void *h, void *j)
{
    int code = setting(name, 0);
    if (code) return code;
    return strncmp(name, "cu", 2) == 0 && name[2] >= 'A' && name[2] <= 'Z' ? driver_call(name, a, b, c)
                                                                           : library_call(name, a, b, c, e, h, j);
}

/* Define a function with the exported name. It works for any arguments, because integers and pointers are passed in the
   same registers. */
#define STAND_IN(field, symbol)                                                                                        \
    intptr_t fake_##field(void *a, void *b, void *c, void *d, void *e, void *f, void *g, void *h, void *i,             \
                          void *j) __asm__(symbol);                                                                    \
    intptr_t fake_##field(void *a, void *b, void *c, void *d, void *e, void *f, void *g, void *h, void *i, void *j)    \
    {                                                                                                                  \
        (void)d, (void)f, (void)g, (void)i;                                                                            \
        return call(#field, a, b, c, e, h, j);                                                                         \
    }
#define X(field, symbol, arguments) STAND_IN(field, symbol)
CM__DRIVER_CALLS(X)
CM__NVML_CALLS(X)
#undef X
#define X(field, result, arguments) STAND_IN(field, #field)
CM__NVRTC_CALLS(X)
CM__BLASLT_CALLS(X)
CM__CUDNN_CALLS(X)
CM__NCCL_CALLS(X)
#undef X
