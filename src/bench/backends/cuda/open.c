/* SPDX-License-Identifier: Apache-2.0 */
/* open.c - the CUDA backend: open its libraries and the device, describe the device; and the table of its functions. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "bench/backends/cuda/backend.h"
#include "bench/backends/cuda/cuda.h"

void cm__cuda_need(cm__ctx *ctx, const cm__cuda *cu, int result, const char *call)
{
    const char *name = NULL, *text = NULL;
    if (result == CU_SUCCESS) return;
    cu->driver.cuGetErrorName(result, &name);
    cu->driver.cuGetErrorString(result, &text);
    cm__fail(ctx, result == CU_OUT_OF_MEMORY ? CM_ERR_LIMIT : CM_ERR_IO, "%s: %s (%s)", call,
             text ? text : "unknown error", name ? name : "?");
}

#define DRIVER(cu, call, ...) cm__cuda_need((cu)->ctx, cu, (cu)->driver.call(__VA_ARGS__), #call)

static void need_driver(cm__cuda *cu)
{
    char missing[256];
    if (!cm__cuda_load_driver(cu->ctx, &cu->driver, missing, sizeof missing))
        cm__fail(cu->ctx, CM_ERR_IO, "no NVIDIA driver: %s", missing);
    int result = cu->driver.cuInit(0);
    if (result == CU_NO_DEVICE)
        cm__fail(cu->ctx, CM_ERR_IO,
                 "no NVIDIA GPU: the driver is installed but finds none (not passed into this container, or hidden by "
                 "CUDA_VISIBLE_DEVICES?)");
    if (result == CU_STUB_LIBRARY)
        cm__fail(cu->ctx, CM_ERR_IO,
                 "libcuda.so.1 is the toolkit's stub, not a driver: remove its folder from LD_LIBRARY_PATH");
    cm__cuda_need(cu->ctx, cu, result, "cuInit");
}

static void choose_device(cm__cuda *cu, int32_t wanted)
{
    int count = 0;
    DRIVER(cu, cuDeviceGetCount, &count);
    if (count == 0) cm__fail(cu->ctx, CM_ERR_IO, "no NVIDIA GPU: the driver is installed but finds none");
    if (wanted < 0 || wanted >= count)
        cm__fail(cu->ctx, CM_ERR_ARGUMENT, "no GPU %d: there %s %d", wanted + 1, count == 1 ? "is" : "are",
                 count);
    DRIVER(cu, cuDeviceGet, &cu->device, wanted);
}

static void ask_device(cm__cuda *cu)
{
    static const struct {
        int    attribute;
        size_t offset;
    } attributes[] = {
        {CU_ATTR_MULTIPROCESSORS, offsetof(cm__cuda, processors)},
        {CU_ATTR_CLOCK_RATE_KHZ, offsetof(cm__cuda, clock_khz)},
        {CU_ATTR_L2_BYTES, offsetof(cm__cuda, l2_bytes)},
        {CU_ATTR_SHARED_PER_PROCESSOR, offsetof(cm__cuda, l1_bytes)},
        {CU_ATTR_MAJOR, offsetof(cm__cuda, major)},
        {CU_ATTR_MINOR, offsetof(cm__cuda, minor)},
    };
    for (size_t i = 0; i < sizeof attributes / sizeof *attributes; i++)
        DRIVER(cu, cuDeviceGetAttribute, (int *)((char *)cu + attributes[i].offset), attributes[i].attribute,
               cu->device);
    DRIVER(cu, cuDeviceGetName, cu->name, sizeof cu->name, cu->device);
    DRIVER(cu, cuDeviceGetPCIBusId, cu->bus_id, sizeof cu->bus_id, cu->device);
    DRIVER(cu, cuDeviceTotalMem, &cu->total_bytes, cu->device);
    DRIVER(cu, cuDriverGetVersion, &cu->driver_version);
}

static void release_context(void *state)
{
    cm__cuda *cu = state;
    cm__cuda_unload_kernels(cu);
    if (cu->dnn) cu->cudnn.cudnnDestroy(cu->dnn);
    if (cu->lt) cu->blaslt.cublasLtDestroy(cu->lt);
    if (cu->start) cu->driver.cuEventDestroy(cu->start);
    if (cu->end) cu->driver.cuEventDestroy(cu->end);
    if (cu->stream) cu->driver.cuStreamDestroy(cu->stream);
    cu->driver.cuDevicePrimaryCtxRelease(cu->device);
}

/* cuBLASLt and cuDNN use the primary context, so the backend uses it, too. */
static void make_context(cm__cuda *cu)
{
    DRIVER(cu, cuDevicePrimaryCtxRetain, &cu->context, cu->device);
    cm__defer(cu->ctx, release_context, cu);
    DRIVER(cu, cuCtxSetCurrent, cu->context);
    DRIVER(cu, cuStreamCreate, &cu->stream, CU_STREAM_NON_BLOCKING);
    DRIVER(cu, cuEventCreate, &cu->start, 0);
    DRIVER(cu, cuEventCreate, &cu->end, 0);
}

/* NVRTC is required, because kernels fill the operands. Without cuBLASLt or cuDNN, their calls are unsupported. */
static void open_libraries(cm__cuda *cu)
{
    char missing[256];
    if (!cm__cuda_load_nvrtc(cu->ctx, &cu->nvrtc, missing, sizeof missing))
        cm__fail(cu->ctx, CM_ERR_IO, "CUDA is incomplete: %s; name its folder in CENTIMANI_CUDA_PATH", missing);
    cu->has_blaslt = cm__cuda_load_blaslt(cu->ctx, &cu->blaslt, cu->blaslt_missing, sizeof cu->blaslt_missing);
    cu->has_cudnn = cm__cuda_load_cudnn(cu->ctx, &cu->cudnn, cu->cudnn_missing, sizeof cu->cudnn_missing);
    int result = cu->has_blaslt ? cu->blaslt.cublasLtCreate(&cu->lt) : 0;
    if (result) cm__fail(cu->ctx, CM_ERR_IO, "cublasLtCreate: %s", cu->blaslt.cublasLtGetStatusString(result));
    result = cu->has_cudnn ? cu->cudnn.cudnnCreate(&cu->dnn) : 0;
    if (result) cm__fail(cu->ctx, CM_ERR_IO, "cudnnCreate: %s", cu->cudnn.cudnnGetErrorString(result));
    result = cu->dnn ? cu->cudnn.cudnnSetStream(cu->dnn, cu->stream) : 0;
    if (result) cm__fail(cu->ctx, CM_ERR_IO, "cudnnSetStream: %s", cu->cudnn.cudnnGetErrorString(result));
}

static void release_sensors(void *state)
{
    ((cm__cuda *)state)->nvml.nvmlShutdown();
}

static void open_sensors(cm__cuda *cu)
{
    char missing[256];
    if (!cm__cuda_load_nvml(cu->ctx, &cu->nvml, missing, sizeof missing) || cu->nvml.nvmlInit() != 0) return;
    cm__defer(cu->ctx, release_sensors, cu);
    cu->nvml.nvmlSystemGetDriverVersion(cu->driver_text, sizeof cu->driver_text);
    cu->has_nvml = cu->nvml.nvmlDeviceGetHandleByPciBusId(cu->bus_id, &cu->sensors) == 0;
}

static void open_all(cm__cuda *cu, const cm_backend_options *options)
{
    cu->seed = options->seed;
    need_driver(cu);
    choose_device(cu, options->device);
    ask_device(cu);
    make_context(cu);
    open_libraries(cu);
    open_sensors(cu);
    cm__cuda_list_kinds(cu);
    cu->spin = cm__cuda_kernel(cu->ctx, cu, "base.cu", "spin", "-DTYPE_T=float");
}

static cm_status open_backend(const cm_backend_options *options, void **state, cm_diag *diag)
{
    cm__ctx *ctx = cm__ctx_new(diag);
    if (!ctx) return CM_ERR_MEMORY;
    if (setjmp(ctx->trap)) return cm__ctx_abandon(ctx);
    cm__cuda *cu = cm__alloc(ctx, sizeof *cu);
    cu->ctx = ctx;
    open_all(cu, options);
    ctx->diag = NULL;
    *state = cu;
    return CM_OK;
}

static void close_backend(void *state)
{
    if (state) cm__ctx_free(((cm__cuda *)state)->ctx);
}

/* "NVIDIA H200" -> "nvidia-h200" */
static void id_of(const char *name, char *id, size_t size)
{
    size_t length = 0;
    for (; *name && length + 1 < size; name++) {
        if (isalnum((unsigned char)*name))
            id[length++] = (char)tolower((unsigned char)*name);
        else if (length && id[length - 1] != '-')
            id[length++] = '-';
    }
    while (length && id[length - 1] == '-') length--;
    id[length] = '\0';
}

static void describe_software(cm__cuda *cu, char *text, size_t size)
{
    int    major = 0, minor = 0;
    size_t used = (size_t)snprintf(text, size, "driver %s (CUDA %d.%d)", cu->driver_text[0] ? cu->driver_text : "?",
                                   cu->driver_version / 1000, cu->driver_version % 1000 / 10);
    cu->nvrtc.nvrtcVersion(&major, &minor);
    if (used < size) used += (size_t)snprintf(text + used, size - used, ", NVRTC %d.%d", major, minor);
    if (used < size) {
        size_t v = cu->has_blaslt ? cu->blaslt.cublasLtGetVersion() : 0;
        used += v ? (size_t)snprintf(text + used, size - used, ", cuBLASLt %zu.%zu.%zu", v / 10000, v % 10000 / 100,
                                     v % 100)
                  : (size_t)snprintf(text + used, size - used, ", no cuBLASLt");
    }
    if (used < size) {
        size_t v = cu->has_cudnn ? cu->cudnn.cudnnGetVersion() : 0;
        if (!v)
            snprintf(text + used, size - used, ", no cuDNN");
        else if (v >= 90000)
            snprintf(text + used, size - used, ", cuDNN %zu.%zu.%zu", v / 10000, v % 10000 / 100, v % 100);
        else
            snprintf(text + used, size - used, ", cuDNN %zu.%zu.%zu", v / 1000, v % 1000 / 100, v % 100);
    }
}

/* The name of the host's processor, if Linux reports one. */
static void describe_host(char *text, size_t size)
{
    static const char key[] = "model name";
    char              line[256];
    FILE             *file = fopen("/proc/cpuinfo", "r");
    while (file && !*text && fgets(line, sizeof line, file)) {
        char *value = strncmp(line, key, sizeof key - 1) == 0 ? strchr(line, ':') : NULL;
        if (!value) continue;
        value += strspn(value, ": \t");
        value[strcspn(value, "\n")] = '\0';
        snprintf(text, size, "%s", value);
    }
    if (file) fclose(file);
}

static void describe_rates(const cm__cuda *cu, cm_bench_device *device)
{
    static const struct {
        const char *dtype;
        int         capability; /* first compute capability with hardware for the type */
    } rates[] = {{"fp32", 0}, {"tf32", 80}, {"fp16", 53}, {"bf16", 80}, {"fp8", 89}, {"fp64", 0}};
    int n = 0;
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++)
        if (cu->major * 10 + cu->minor >= rates[i].capability) device->rates[n++].dtype = rates[i].dtype;
}

static void describe(void *state, cm_bench_device *device)
{
    cm__cuda *cu = state;
    size_t    free_bytes = 0, total_bytes = 0;
    unsigned  limit = 0, clock = 0;
    id_of(cu->name, device->id, sizeof device->id);
    snprintf(device->name, sizeof device->name, "%s", cu->name);
    snprintf(device->vendor, sizeof device->vendor, "NVIDIA");
    snprintf(device->device_class, sizeof device->device_class, "gpu");
    snprintf(device->unit, sizeof device->unit, "card");
    snprintf(device->core_name, sizeof device->core_name, "streaming multiprocessor");
    snprintf(device->memory_name, sizeof device->memory_name, "device memory");
    describe_software(cu, device->software, sizeof device->software);
    describe_rates(cu, device);
    describe_host(device->host, sizeof device->host);
    device->cores = cu->processors;
    device->clock_hz = cu->clock_khz * 1e3;
    device->memory_bytes = (double)cu->total_bytes;
    if (cu->driver.cuMemGetInfo(&free_bytes, &total_bytes) == CU_SUCCESS) device->free_bytes = (double)free_bytes;
    if (cu->has_nvml && cu->nvml.nvmlDeviceGetEnforcedPowerLimit(cu->sensors, &limit) == 0)
        device->tdp_w = limit * 1e-3;
    if (cu->has_nvml && cu->nvml.nvmlDeviceGetMaxClockInfo(cu->sensors, NVML_CLOCK_MEMORY, &clock) == 0)
        device->memory_clock_hz = clock * 1e6;
    snprintf(device->caches[0].name, sizeof device->caches[0].name, "L1");
    device->caches[0].bytes = (double)cu->l1_bytes * cu->processors;
    device->caches[0].per_core = true;
    snprintf(device->caches[1].name, sizeof device->caches[1].name, "L2");
    device->caches[1].bytes = cu->l2_bytes;
}

static bool sense_clocks(void *state, cm_sense *sense)
{
    cm__cuda          *cu = state;
    unsigned           value = 0;
    unsigned long long energy = 0;
    *sense = (cm_sense){NAN, NAN, NAN, NAN, NAN};
    if (!cu->has_nvml) return false;
    if (cu->nvml.nvmlDeviceGetPowerUsage(cu->sensors, &value) == 0) sense->power_w = value * 1e-3;
    if (cu->nvml.nvmlDeviceGetTotalEnergyConsumption(cu->sensors, &energy) == 0)
        sense->energy_j = (double)energy * 1e-3;
    if (cu->nvml.nvmlDeviceGetClockInfo(cu->sensors, NVML_CLOCK_SM, &value) == 0) sense->clock_hz = value * 1e6;
    if (cu->nvml.nvmlDeviceGetClockInfo(cu->sensors, NVML_CLOCK_MEMORY, &value) == 0)
        sense->memory_clock_hz = value * 1e6;
    if (cu->nvml.nvmlDeviceGetTemperature(cu->sensors, NVML_TEMPERATURE_GPU, &value) == 0) sense->temperature_c = value;
    return true;
}

const cm_backend cm__backend_cuda = {
    .version = CM_BACKEND_VERSION,
    .name = "cuda",
    .summary = "an NVIDIA GPU: cuBLASLt, cuDNN, and built-in kernels compiled at run time",
    .open = open_backend,
    .close = close_backend,
    .describe = describe,
    .calls = cm__cuda_calls,
    .supports = cm__cuda_supports,
    .prepare = cm__cuda_prepare,
    .probe = cm__cuda_prepare_probe,
    .run = cm__cuda_run,
    .verify = cm__cuda_verify,
    .kernels = cm__cuda_kernels,
    .algorithm = cm__cuda_algorithm,
    .release = cm__cuda_release,
    .sense = sense_clocks,
};
