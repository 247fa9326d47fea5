/* SPDX-License-Identifier: Apache-2.0 */
/* nvml.h - functions of NVIDIA's management library (libnvidia-ml.so.1), loaded at run time. */
#ifndef CM_BENCH_CUDA_NVML_H
#define CM_BENCH_CUDA_NVML_H

typedef struct nvmlDevice_st *nvml_device;

enum { NVML_CLOCK_SM = 1, NVML_CLOCK_MEMORY = 2, NVML_TEMPERATURE_GPU = 0 };

#define CM__NVML_CALLS(X)                                                                                              \
    X(nvmlInit, "nvmlInit_v2", (void))                                                                                 \
    X(nvmlShutdown, "nvmlShutdown", (void))                                                                            \
    X(nvmlSystemGetDriverVersion, "nvmlSystemGetDriverVersion", (char *text, unsigned size))                           \
    X(nvmlDeviceGetHandleByPciBusId, "nvmlDeviceGetHandleByPciBusId_v2", (const char *id, nvml_device *device))        \
    X(nvmlDeviceGetPowerUsage, "nvmlDeviceGetPowerUsage", (nvml_device device, unsigned *milliwatt))                   \
    X(nvmlDeviceGetEnforcedPowerLimit, "nvmlDeviceGetEnforcedPowerLimit", (nvml_device device, unsigned *milliwatt))   \
    X(nvmlDeviceGetTotalEnergyConsumption, "nvmlDeviceGetTotalEnergyConsumption",                                      \
        (nvml_device device, unsigned long long *millijoule))                                                          \
    X(nvmlDeviceGetClockInfo, "nvmlDeviceGetClockInfo", (nvml_device device, int clock, unsigned *megahertz))          \
    X(nvmlDeviceGetMaxClockInfo, "nvmlDeviceGetMaxClockInfo", (nvml_device device, int clock, unsigned *megahertz))    \
    X(nvmlDeviceGetTemperature, "nvmlDeviceGetTemperature", (nvml_device device, int sensor, unsigned *celsius))

typedef struct cm__nvml {
#define X(field, symbol, arguments) int(*field) arguments;
    CM__NVML_CALLS(X)
#undef X
} cm__nvml;

#endif
