/* SPDX-License-Identifier: Apache-2.0 */
/* nvrtc.h - functions of NVIDIA's run-time compiler (libnvrtc), loaded at run time. */
#ifndef CM_BENCH_CUDA_NVRTC_H
#define CM_BENCH_CUDA_NVRTC_H

#include <stddef.h>

typedef struct _nvrtcProgram *rtc_program;

#define CM__NVRTC_CALLS(X)                                                                                             \
    X(nvrtcVersion, int, (int *major, int *minor))                                                                     \
    X(nvrtcGetErrorString, const char *, (int result))                                                                 \
    X(nvrtcCreateProgram, int,                                                                                         \
        (rtc_program * program, const char *source, const char *name, int count, const char *const *headers,           \
            const char *const *names))                                                                                 \
    X(nvrtcCompileProgram, int, (rtc_program program, int count, const char *const *options))                          \
    X(nvrtcGetProgramLogSize, int, (rtc_program program, size_t *size))                                                \
    X(nvrtcGetProgramLog, int, (rtc_program program, char *log))                                                       \
    X(nvrtcGetCUBINSize, int, (rtc_program program, size_t *size))                                                     \
    X(nvrtcGetCUBIN, int, (rtc_program program, char *cubin))                                                          \
    X(nvrtcDestroyProgram, int, (rtc_program * program))

typedef struct cm__nvrtc {
#define X(field, result, arguments) result(*field) arguments;
    CM__NVRTC_CALLS(X)
#undef X
} cm__nvrtc;

#endif
