/* SPDX-License-Identifier: Apache-2.0 */
/*
 * driver.h - functions of NVIDIA's driver (libcuda.so.1), loaded at run time.
 *
 * Names, arguments and values are those of the CUDA driver API reference. The build does not need the CUDA toolkit.
 */
#ifndef CM_BENCH_CUDA_DRIVER_H
#define CM_BENCH_CUDA_DRIVER_H

#include <stddef.h>
#include <stdint.h>

typedef uint64_t              cu_address; /* CUdeviceptr */
typedef struct CUctx_st      *cu_context;
typedef struct CUstream_st   *cu_stream;
typedef struct CUevent_st    *cu_event;
typedef struct CUmod_st      *cu_module;
typedef struct CUfunc_st     *cu_function;
typedef struct CUgraph_st    *cu_graph;
typedef struct CUgraphExec_st *cu_graph_exec;

enum { CU_SUCCESS = 0, CU_OUT_OF_MEMORY = 2, CU_STUB_LIBRARY = 34, CU_NO_DEVICE = 100 };
enum { CU_STREAM_NON_BLOCKING = 1, CU_CAPTURE_RELAXED = 2, CU_FUNC_MAX_DYNAMIC_SHARED = 8 };

/* CUdevice_attribute */
enum {
    CU_ATTR_CLOCK_RATE_KHZ = 13,
    CU_ATTR_MULTIPROCESSORS = 16,
    CU_ATTR_L2_BYTES = 38,
    CU_ATTR_MAJOR = 75,
    CU_ATTR_MINOR = 76,
    CU_ATTR_SHARED_PER_PROCESSOR = 81,
};

/* X(field, exported symbol, arguments) */
#define CM__DRIVER_CALLS(X)                                                                                            \
    X(cuInit, "cuInit", (unsigned flags))                                                                              \
    X(cuDriverGetVersion, "cuDriverGetVersion", (int *version))                                                        \
    X(cuGetErrorName, "cuGetErrorName", (int error, const char **text))                                                \
    X(cuGetErrorString, "cuGetErrorString", (int error, const char **text))                                            \
    X(cuDeviceGetCount, "cuDeviceGetCount", (int *count))                                                              \
    X(cuDeviceGet, "cuDeviceGet", (int *device, int ordinal))                                                          \
    X(cuDeviceGetName, "cuDeviceGetName", (char *name, int size, int device))                                          \
    X(cuDeviceGetPCIBusId, "cuDeviceGetPCIBusId", (char *id, int size, int device))                                    \
    X(cuDeviceGetAttribute, "cuDeviceGetAttribute", (int *value, int attribute, int device))                           \
    X(cuDeviceTotalMem, "cuDeviceTotalMem_v2", (size_t *bytes, int device))                                            \
    X(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", (cu_context *context, int device))                         \
    X(cuDevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2", (int device))                                         \
    X(cuCtxSetCurrent, "cuCtxSetCurrent", (cu_context context))                                                        \
    X(cuCtxSynchronize, "cuCtxSynchronize", (void))                                                                    \
    X(cuMemGetInfo, "cuMemGetInfo_v2", (size_t *free_bytes, size_t *total_bytes))                                      \
    X(cuMemAlloc, "cuMemAlloc_v2", (cu_address *address, size_t bytes))                                                \
    X(cuMemFree, "cuMemFree_v2", (cu_address address))                                                                 \
    X(cuMemHostAlloc, "cuMemHostAlloc", (void **pointer, size_t bytes, unsigned flags))                                \
    X(cuMemFreeHost, "cuMemFreeHost", (void *pointer))                                                                 \
    X(cuMemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2", (cu_address to, const void *from, size_t bytes, cu_stream stream))    \
    X(cuMemcpyDtoHAsync, "cuMemcpyDtoHAsync_v2", (void *to, cu_address from, size_t bytes, cu_stream stream))          \
    X(cuMemcpyDtoDAsync, "cuMemcpyDtoDAsync_v2", (cu_address to, cu_address from, size_t bytes, cu_stream stream))     \
    X(cuMemsetD8Async, "cuMemsetD8Async", (cu_address to, unsigned char value, size_t count, cu_stream stream))        \
    X(cuStreamCreate, "cuStreamCreate", (cu_stream * stream, unsigned flags))                                          \
    X(cuStreamDestroy, "cuStreamDestroy_v2", (cu_stream stream))                                                       \
    X(cuStreamSynchronize, "cuStreamSynchronize", (cu_stream stream))                                                  \
    X(cuEventCreate, "cuEventCreate", (cu_event * event, unsigned flags))                                              \
    X(cuEventDestroy, "cuEventDestroy_v2", (cu_event event))                                                           \
    X(cuEventRecord, "cuEventRecord", (cu_event event, cu_stream stream))                                              \
    X(cuEventSynchronize, "cuEventSynchronize", (cu_event event))                                                      \
    X(cuEventElapsedTime, "cuEventElapsedTime", (float *milliseconds, cu_event start, cu_event end))                   \
    X(cuModuleLoadData, "cuModuleLoadData", (cu_module * module, const void *image))                                   \
    X(cuModuleUnload, "cuModuleUnload", (cu_module module))                                                            \
    X(cuModuleGetFunction, "cuModuleGetFunction", (cu_function * function, cu_module module, const char *name))        \
    X(cuFuncSetAttribute, "cuFuncSetAttribute", (cu_function function, int attribute, int value))                      \
    X(cuLaunchKernel, "cuLaunchKernel",                                                                                \
        (cu_function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,  \
            unsigned block_z, unsigned shared_bytes, cu_stream stream, void **arguments, void **extra))                \
    X(cuStreamBeginCapture, "cuStreamBeginCapture_v2", (cu_stream stream, int mode))                                   \
    X(cuStreamEndCapture, "cuStreamEndCapture", (cu_stream stream, cu_graph * graph))                                  \
    X(cuGraphInstantiate, "cuGraphInstantiateWithFlags",                                                               \
        (cu_graph_exec * executable, cu_graph graph, unsigned long long flags))                                        \
    X(cuGraphGetNodes, "cuGraphGetNodes", (cu_graph graph, void *nodes, size_t *count))                                \
    X(cuGraphLaunch, "cuGraphLaunch", (cu_graph_exec executable, cu_stream stream))                                    \
    X(cuGraphExecDestroy, "cuGraphExecDestroy", (cu_graph_exec executable))                                            \
    X(cuGraphDestroy, "cuGraphDestroy", (cu_graph graph))

typedef struct cm__driver {
#define X(field, symbol, arguments) int(*field) arguments;
    CM__DRIVER_CALLS(X)
#undef X
} cm__driver;

#endif
